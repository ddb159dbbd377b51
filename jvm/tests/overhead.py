"""What the companion costs: CPU seconds of its threads and its child on a job of 50,000 short tasks."""

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from spark import children, command_line

TASKS = 50_000
TICKS = os.sysconf("SC_CLK_TCK")
STREAM = {
    "spark.plugins": "io.emberscope.Plugin",
    "spark.emberscope.stream.enabled": "true",
    "spark.emberscope.reports.destination": "DIR/reports",
    "spark.emberscope.reports.tasks.enabled": "true",
    "spark.profiler.executor.taskThreadEvent.enabled": "true",
}
# The child under a shell that tells its times. It is not the child's own text that counts, so that it may be killed.
WRAPPER = """#!/bin/bash
trap '' INT TERM HUP
"{binary}" "$@"
code=$?
times > {times}
exit $code
"""


def cpu_seconds(pid):
    """Of a process that lives."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
    except OSError:
        return 0.0


def threads(jvm):
    """CPU seconds of the companion's threads."""
    told = subprocess.run(["jcmd", str(jvm), "Thread.print"], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, ms in re.findall(r'^"([^"]*emberscope[^"]*)".*? cpu=([\d.]+)ms', told, re.MULTILINE):
        found[name] = found.get(name, 0) + float(ms) / 1000
    return found


def run(tests, version, with_companion):
    """CPU seconds of the application, of the companion's threads, and of its child."""
    conf = dict(STREAM) if with_companion else {}
    work = Path(tempfile.gettempdir()) / f"overhead-{os.getpid()}"
    work.mkdir(exist_ok=True)
    wrapper, times = work / "emberscope", work / "times"
    wrapper.write_text(WRAPPER.format(binary=tests.binary, times=times))
    wrapper.chmod(0o755)
    times.unlink(missing_ok=True)
    application = tests.start(version, conf, "short-tasks", str(TASKS), binary=wrapper)
    application.until("the job", lambda: "SECONDS" in application.output(), seconds=900)
    pids = [application.process.pid, *children(application.process.pid)]
    own = [pid for pid in pids if "emberscope\0follow" in command_line(pid)]
    total = sum(cpu_seconds(pid) for pid in pids if pid not in own)
    jvm = next(pid for pid in pids if "org.apache.spark.deploy.SparkSubmit" in command_line(pid))
    ours = threads(jvm) if with_companion else {}
    (application.dir / "measured").touch()
    assert application.wait(seconds=600) == 0, application.log()[-2000:]
    child = 0.0
    if with_companion:
        minutes = re.findall(r"(\d+)m([\d.]+)s", times.read_text().splitlines()[1])
        child = sum(60 * int(m) + float(s) for m, s in minutes)
        dropped = (application.dir / "reports").rglob("data_quality-reports-*.json")
        assert all("dropped for want of room" not in path.read_text() for path in dropped), "events were dropped"
    application.forget()
    shutil.rmtree(work)
    return total, ours, child


def measure(tests, version, pairs):
    shares, differences = [], []
    for pair in range(pairs):
        # Interleaved, and each goes first as often as the other.
        order = [True, False] if pair % 2 else [False, True]
        told = {with_companion: run(tests, version, with_companion) for with_companion in order}
        total, ours, child = told[True]
        plain = told[False][0]
        share = (sum(ours.values()) + child) / plain
        shares.append(share)
        differences.append((total + child - plain) / plain)
        detail = ", ".join(f"{name} {seconds:.2f}" for name, seconds in sorted(ours.items()))
        print(f"pair {pair}: plain {plain:.1f} s CPU, with {total:.1f}; ours: {detail}; child {child:.2f}; share {share:.2%}", flush=True)
    print(f"{TASKS} short tasks, Spark {version}, {pairs} pairs: threads and child take {statistics.median(shares):.2%} of the "
          f"application's CPU (median; {min(shares):.2%} to {max(shares):.2%}); the whole difference is "
          f"{statistics.median(differences):+.2%} (median; {min(differences):+.2%} to {max(differences):+.2%})")
