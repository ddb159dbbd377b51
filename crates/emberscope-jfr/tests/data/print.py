#!/usr/bin/env python3
"""Folds what the JDK prints of a recording, for the tests to compare with: print.py JAVA_HOME RECORDING EVENT > FOLDED.
A line is a stack from its root, `Class.method` with `;` between, then the number of its events."""

import collections
import json
import subprocess
import sys

java, recording, event = sys.argv[1:]
command = [f"{java}/bin/jfr", "print", "--json", "--stack-depth", "2048", "--events", event, recording]
printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
sums = collections.Counter()
for one in printed["recording"]["events"]:
    stack = one["values"]["stackTrace"] or {"frames": [], "truncated": False}
    frames = [frame["method"]["type"]["name"].replace("/", ".") + "." + frame["method"]["name"] for frame in stack["frames"]]
    names = ["[truncated]"] * stack["truncated"] + frames[::-1]
    sums[";".join(names or ["[no stack]"])] += 1
for stack, number in sorted(sums.items()):
    print(stack, number)
