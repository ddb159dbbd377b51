#!/usr/bin/env python3
"""Makes a large event log of a small one, from real lines only.

    python3 bench/multiply.py LOG OUT --tasks N | --executions N

What belongs to the application (environment, executors, block managers) is written once. What
belongs to its work (jobs, stages, tasks, SQL) is written as often as needed, each copy as if the
application had gone on with the same queries: ids of jobs, stages, tasks, executions, RDDs,
accumulators, expressions and plans are renumbered by one step a copy, times are shifted by the
length of the log. So no two copies share an id or a plan text, and every line is one that Spark
wrote, but for these numbers. The result depends on LOG only.

Prints one JSON object: copies, tasks, executions, bytes.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

EVENT = re.compile(rb'\{"Event":"([^"]*)"')
ONCE_FIRST = {
    "SparkListenerLogStart", "SparkListenerApplicationStart", "SparkListenerEnvironmentUpdate",
    "SparkListenerResourceProfileAdded", "SparkListenerExecutorAdded", "SparkListenerBlockManagerAdded",
}
ONCE_LAST = {"SparkListenerApplicationEnd"}
# Executor metrics carry the time of a sample only; they repeat with the work.
WORK = {
    "SparkListenerJobStart", "SparkListenerJobEnd", "SparkListenerStageSubmitted", "SparkListenerStageCompleted",
    "SparkListenerTaskStart", "SparkListenerTaskEnd", "SparkListenerTaskGettingResult",
    "SparkListenerSQLExecutionStart", "SparkListenerSQLExecutionEnd", "SparkListenerSQLAdaptiveExecutionUpdate",
    "SparkListenerDriverAccumUpdates", "SparkListenerSQLAdaptiveSQLMetricUpdates", "SparkListenerUnpersistRDD",
}

# What each kind of number is called. A key inside a string is written \" and does not match.
NUMBERS: dict[str, bytes] = {
    "task": rb'"Task ID":(\d+)',
    "stage": rb'"Stage ID":(\d+)',
    "job": rb'"Job ID":(\d+)',
    "execution": rb'"(?:executionId|rootExecutionId)":(\d+)',
    "execution_text": rb'"spark\.sql\.execution\.(?:id|root\.id)":"(\d+)',
    "rdd": rb'"RDD ID":(\d+)',
    "accumulator": rb'"(?:ID|accumulatorId)":(\d+)',
    "expression": rb"#(\d+)",
    "plan": rb"plan_id=(\d+)",
    # 13 digits are milliseconds since 1970; 0 means "not yet" and stays.
    "time": rb'"(?:Launch Time|Finish Time|Getting Result Time|Submission Time|Completion Time|time|Timestamp)":(\d{13})',
}
# Lists of ids, told apart by what follows them.
LISTS: dict[str, bytes] = {
    "stage": rb'"Stage IDs":\[([\d,]+)\]',
    "stage_parents": rb'"Parent IDs":\[([\d,]+)\],"Details"',
    "rdd_parents": rb'"Parent IDs":\[([\d,]+)\],"Storage Level"',
    "updates": rb'"accumUpdates":\[(\[[\d,\[\]-]+\])\]',
}
QUERY_ID = rb'"(?:queryId|spark\.sql\.execution\.query\.id)":"([0-9a-f]{8})'
SAME_STEP = {"execution_text": "execution", "stage_parents": "stage", "rdd_parents": "rdd", "updates": "accumulator"}
PATTERN = re.compile(b"|".join([*NUMBERS.values(), *LISTS.values(), QUERY_ID]))
KINDS = [*NUMBERS, *LISTS, "query"]
TASK_PATTERN = re.compile(b"|".join(NUMBERS[kind] for kind in ("task", "stage", "accumulator", "time")))
TASK_KINDS = ["task", "stage", "accumulator", "time"]


def kind_of(line: bytes) -> str:
    """The short name of a line's event."""
    found = EVENT.match(line)
    if not found:
        raise SystemExit(f"not an event: {line[:80]!r}")
    return found[1].decode().rsplit(".", 1)[-1]


@dataclass
class Line:
    """One line of work, cut at its numbers: `texts[i]` comes before the value of `values[i]`."""

    texts: list[bytes] = field(default_factory=list)
    values: list[tuple[str, bytes]] = field(default_factory=list)

    @staticmethod
    def cut(line: bytes, kind: str) -> Line:
        is_task = kind in {"SparkListenerTaskStart", "SparkListenerTaskEnd"}
        pattern, kinds = (TASK_PATTERN, TASK_KINDS) if is_task else (PATTERN, KINDS)
        cut, at = Line(), 0
        for found in pattern.finditer(line):
            group = found.lastindex
            assert group is not None
            start, end = found.span(group)
            name = kinds[group - 1]
            cut.texts.append(line[at:start])
            cut.values.append((SAME_STEP.get(name, name) if name != "updates" else name, line[start:end]))
            at = end
        cut.texts.append(line[at:])
        return cut

    def write(self, change: dict[str, Callable[[bytes], bytes]]) -> bytes:
        parts = []
        for text, (kind, value) in zip(self.texts, self.values):
            parts.append(text)
            parts.append(change[kind](value))
        parts.append(self.texts[-1])
        return b"".join(parts)


def numbers(kind: str, value: bytes) -> Iterator[int]:
    """The ids inside a value, which may be a list or a list of pairs."""
    if kind == "updates":
        yield from (int(pair.split(b",")[0]) for pair in re.findall(rb"\[(\d+,-?\d+)\]", value))
    else:
        yield from map(int, value.split(b","))


def steps(lines: list[Line]) -> dict[str, int]:
    """By how much each kind grows from one copy to the next."""
    least: dict[str, int] = {}
    most: dict[str, int] = {}
    for line in lines:
        for kind, value in line.values:
            if kind == "query":
                continue
            name = SAME_STEP.get(kind, kind)
            for number in numbers(kind, value):
                least[name] = min(number, least.get(name, number))
                most[name] = max(number, most.get(name, number))
    step = {name: most[name] + 1 for name in most}
    if "time" in most:
        step["time"] = most["time"] - least["time"] + 100
    return step


def changes(step: dict[str, int], copy: int) -> dict[str, Callable[[bytes], bytes]]:
    """How the values of each kind change in one copy."""

    def plain(by: int) -> Callable[[bytes], bytes]:
        return lambda value: b",".join(b"%d" % (int(part) + by) for part in value.split(b","))

    def updates(value: bytes) -> bytes:
        by = step.get("accumulator", 0) * copy
        return re.sub(rb"\[(\d+),", lambda pair: b"[%d," % (int(pair[1]) + by), value)

    made = {name: plain(by * copy) for name, by in step.items()}
    made["updates"] = updates
    made["query"] = lambda value: b"%08x" % ((int(value, 16) + copy * 0x10001) & 0xFFFFFFFF)
    return made


def count(log: Path, name: bytes) -> int:
    """How many events of a kind a log has."""
    with open(log, "rb") as lines:
        return sum(1 for line in lines if name + b'"' in line[:200])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("out", type=Path)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--tasks", type=int, help="at least this many task ends")
    wanted.add_argument("--executions", type=int, help="at least this many SQL executions")
    arguments = parser.parse_args()

    unit = count(arguments.log, b"SparkListenerTaskEnd" if arguments.tasks else b"SparkListenerSQLExecutionStart")
    if not unit:
        raise SystemExit("the log has none of what is wanted")
    copies = max(1, -(-(arguments.tasks or arguments.executions) // unit))

    first: list[bytes] = []
    last: list[bytes] = []
    work: list[Line] = []
    counts = {"SparkListenerTaskEnd": 0, "SparkListenerSQLExecutionStart": 0}
    with open(arguments.log, "rb") as log:
        for text in log:
            kind = kind_of(text)
            if kind in ONCE_FIRST:
                first.append(text)
            elif kind in ONCE_LAST:
                last.append(text)
            elif kind in WORK:
                work.append(Line.cut(text, kind))
                counts[kind] = counts.get(kind, 0) + 1
            else:
                raise SystemExit(f"{kind}: nobody has said how to renumber it")
    tasks, executions = counts["SparkListenerTaskEnd"], counts["SparkListenerSQLExecutionStart"]
    step = steps(work)
    size = 0
    partial = arguments.out.with_name("." + arguments.out.name + ".partial")
    with open(partial, "wb", buffering=1 << 20) as out:
        size += sum(map(out.write, first))
        for copy in range(copies):
            change = changes(step, copy)
            for line in work:
                size += out.write(line.write(change))
        end = changes({"time": step["time"]}, copies - 1)
        size += sum(out.write(Line.cut(text, "").write({**end})) for text in last)
    partial.rename(arguments.out)
    told = {"copies": copies, "tasks": copies * tasks, "executions": copies * executions, "bytes": size}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
