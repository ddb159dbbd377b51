#!/usr/bin/env python3
"""Large runs behind a History Server: all pages are asked for, and what the server has forgotten is told.

    python3 referee/rest_limits.py [--cache DIR]

Real Spark 4.3.0 makes a run of 2,500 SQL executions and one whose stage has 5,000 tasks. A server that forgets
nothing must give the counts of the logs, page by page; one that keeps 1,000 of each kind must give no more, and
Emberscope must say how many it does not know. EMBERSCOPE names the program.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import history_server as spark
import rest_findings as rest

VERSION = "4.3.0"
QUERIES = 2_500
KEPT = 1_000
SCRIPT = f"""
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").appName("many queries").config("spark.ui.enabled", "false")
         .config("spark.ui.showConsoleProgress", "false").config("spark.eventLog.enabled", "true")
         .config("spark.eventLog.rolling.enabled", "false").config("spark.eventLog.dir", sys.argv[1]).getOrCreate())
for n in range({QUERIES}):
    spark.range(0, 10, 1, 2).selectExpr("id + %d" % n).collect()
spark.stop()
"""


def counts(summary: dict[str, Any]) -> dict[str, int]:
    totals = summary["totals"]
    return {"jobs": totals["jobs"], "stage attempts": totals["stage_attempts"],
            "queries": totals["sql_executions"], "task attempts": totals["tasks"]["attempts"]}


def check(problems: list[str], holds: bool, words: str) -> None:
    print(f"  {'ok  ' if holds else 'FAIL'} {words}", flush=True)
    if not holds:
        problems.append(words)


def ask(logs: list[spark.Log], cache: Path, kept: str, problems: list[str]) -> None:
    print(f"a server that keeps {'all' if kept == spark.MANY else kept}")
    with tempfile.TemporaryDirectory(prefix="emberscope-history-") as folder:
        served = Path(folder) / "logs"
        served.mkdir()
        for log in logs:
            spark.lay_out(log, served)
        with spark.history_server(cache / f"venv-{VERSION}", served, kept) as base, \
                rest.gate(base.removesuffix("/api/v1")) as address:
            spark.wait_for(base, len(logs), seconds=900, quiet=300)
            for log in logs:
                rest.Gate.asked.clear()
                told = rest.tell("summary", f"{address}/history/{log.application}/")
                compare(log, told, kept, problems)


def compare(log: spark.Log, told: dict[str, Any], kept: str, problems: list[str]) -> None:
    exact, known, asked = counts(rest.tell("summary", str(log.path))), counts(told), dict(rest.Gate.asked)
    forgotten = " | ".join(file.get("reason") or "" for file in told["trust"]["files"])
    if kept == spark.MANY:
        check(problems, known == exact, f"{log.name}: {known} in {sum(asked.values())} requests")
        check(problems, "forgotten" not in forgotten, f"{log.name}: nothing is said to be forgotten")
        pages = asked.get("sql" if exact["queries"] > KEPT else "taskList", 0)
        check(problems, pages > 2, f"{log.name}: {pages} pages of the long list")
        return
    for what, limit in (("jobs", "spark.ui.retainedJobs"), ("queries", "spark.sql.ui.retainedExecutions")):
        if exact[what] > KEPT:
            check(problems, 0 < known[what] <= KEPT, f"{log.name}: {known[what]} of {exact[what]} {what} are known")
            words = f"{exact[what] - known[what]} of {exact[what]} {what} ({limit})"
            check(problems, words in forgotten, f"{log.name}: told as forgotten: {words}")
    if exact["queries"] < KEPT:
        check(problems, "of 5000 are known" in forgotten, f"{log.name}: told as forgotten: {forgotten}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "emberscope")
    cache = parser.parse_args().cache
    logs, problems = [rest.made_once(cache, "many-queries", SCRIPT), rest.many_tasks(cache)], []
    for kept in (spark.MANY, str(KEPT)):
        ask(logs, cache, kept, problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
