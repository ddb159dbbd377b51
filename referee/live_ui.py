#!/usr/bin/env python3
"""What Emberscope says of an application while it runs, from its own Spark UI.

    python3 referee/live_ui.py [--spark VERSION]...      needs Java and the environments of fixtures/make.py

Starts an application with one finished job, and a query whose tasks take a while; asks its UI with `emberscope summary` and
`diagnose` in the middle, asks the UI itself just before and after, and checks that what was said lies between. The
text has to say that the application runs, and nothing may be called finished that is not. EMBERSCOPE names the
program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import history_server as spark

TASKS = 24
SECONDS_A_TASK = 1.5
APPLICATION = f"""
import sys, time
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
spark = (SparkSession.builder.master("local[2]").appName("live").config("spark.ui.port", sys.argv[1])
         .config("spark.ui.showConsoleProgress", "false")
         .config("spark.sql.execution.pythonUDF.arrow.enabled", "false").getOrCreate())
spark.range(100).repartition(3).count()
@F.udf("bigint")
def slow(row):
    time.sleep({SECONDS_A_TASK})
    return row
spark.sparkContext.setJobDescription("SELECT slow(id) % 7 k, count(*) n FROM range({TASKS}) GROUP BY k")
spark.range(0, {TASKS}, 1, {TASKS}).select((slow("id") % 7).alias("k")).groupBy("k").count().collect()
"""


def ask(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=20) as reply:
        return json.load(reply)


def wait_for_tasks(base: str, least: int, log: Path, seconds: float = 600) -> str:
    """The API of the application once so many tasks of its slow stage are done."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            (app,) = ask(f"{base}/api/v1/applications")
            api = f"{base}/api/v1/applications/{app['id']}"
            slow = [stage for stage in ask(f"{api}/stages?status=active") if stage["numTasks"] == TASKS]
            if slow and slow[0]["numCompleteTasks"] >= least:
                return api
        except (OSError, ValueError):
            pass
        time.sleep(0.2)
    raise SystemExit(f"the application did not get that far\n{log.read_text(errors='replace')[-2000:]}")


def counts(api: str) -> dict[str, int]:
    """What the UI counts itself."""
    stages, jobs = ask(f"{api}/stages"), ask(f"{api}/jobs")
    # A stage's own counts lag behind its tasks.
    ran = [stage for stage in stages if stage["status"] not in ("SKIPPED", "PENDING")]
    lists = [ask(f"{api}/stages/{stage['stageId']}/{stage['attemptId']}/taskList?length=1000") for stage in ran]
    statuses = [task["status"] for tasks in lists for task in tasks]
    return {
        "succeeded": statuses.count("SUCCESS"),
        "running": statuses.count("RUNNING"),
        "jobs": len(jobs),
        "jobs_running": sum(job["status"] == "RUNNING" for job in jobs),
        "sql": len(ask(f"{api}/sql?offset=0&length=100")),
    }


def tell(arguments: list[str]) -> str:
    program = os.environ.get("EMBERSCOPE", "emberscope")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr if "--format" not in arguments and "--json" not in arguments else done.stdout


def check(version: str, cache: Path) -> list[str]:
    problems: list[str] = []

    def expect(holds: bool, what: str) -> None:
        print(f"  {'ok    ' if holds else 'WRONG '} {what}")
        if not holds:
            problems.append(f"{version}: {what}")

    port = spark.free_port()
    with tempfile.TemporaryDirectory(prefix="emberscope-live-") as place:
        script = Path(place) / "live.py"
        script.write_text(APPLICATION)
        with open(Path(place) / "spark.log", "wb") as log:
            environment = dict(os.environ, SPARK_LOCAL_IP=spark.HOST)
            python = cache / f"venv-{version}" / "bin" / "python"
            application = subprocess.Popen([str(python), str(script), str(port)], stdout=log, stderr=log, env=environment, cwd=place)
        try:
            base = f"http://{spark.HOST}:{port}"
            api = wait_for_tasks(base, 4, Path(place) / "spark.log")
            before = counts(api)
            summary = json.loads(tell(["summary", base, "--json", "-q"]))
            after = counts(api)
            diagnosis = json.loads(tell(["diagnose", base, "--format", "json", "-q"]))
            text = tell(["diagnose", f"{base}/SQL/", "--no-progress"])
            last = counts(api)
        finally:
            application.terminate()
            application.wait(60)
    tasks, totals = summary["totals"]["tasks"], summary["totals"]
    running = tasks["attempts"] - tasks["succeeded"] - tasks["failed"] - tasks["killed"]
    between = lambda name, value: before[name] <= value <= after[name]  # noqa: E731 - three times the same
    expect(after["running"] == 2 and last["running"] >= 1, f"the application was still at it: {before} {after} {last}")
    expect(summary["application"]["status"] in ("incomplete", "unknown", "running"), f"status {summary['application']['status']}")
    expect(between("succeeded", tasks["succeeded"]), f"succeeded: {before['succeeded']} <= {tasks['succeeded']} <= {after['succeeded']}")
    expect(running == 2, f"{running} of {tasks['attempts']} attempts run")
    expect(tasks["failed"] == 0 and tasks["killed"] == 0, "none failed, none killed")
    expect(totals["jobs"] == before["jobs"] and totals["jobs_failed"] == 0, f"{totals['jobs']} jobs, none failed")
    expect(totals["sql_executions"] == before["sql"], f"{totals['sql_executions']} queries")
    expect("api" in json.dumps(summary["trust"]).lower(), "the trust block names the monitoring API")
    told = diagnosis["verdict"]["headline"] + " " + " ".join(diagnosis["verdict"].get("notes", []))
    expect("run" in text.lower() and any(word in text.lower() for word in ("still run", "running", "has not ended", "no end")),
           "the text says that it runs")
    print(f"  verdict: {told}")
    print("  " + "\n  ".join(text.splitlines()[:30]))
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "emberscope")
    parser.add_argument("--spark", action="append", metavar="VERSION", help="versions [default: 3.4.4, 3.5.9, 4.3.0]")
    arguments = parser.parse_args()
    problems: list[str] = []
    for version in arguments.spark or ["3.4.4", "3.5.9", "4.3.0"]:
        print(version)
        problems += check(version, arguments.cache)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
