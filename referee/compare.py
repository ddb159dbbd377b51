#!/usr/bin/env python3
"""Compares the recorded answers with the fixtures' manifest.

Two opinions made independently, one by Spark's status store and one by `fixtures/check.py`,
have to agree before either is used to judge the product. Known differences of Spark's store
are listed in `DIFFERENCES` with their reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"

# (fixture, number) -> why the two differ
DIFFERENCES: dict[tuple[str, str], str] = {}


def load(path: Path) -> dict[str, Any]:
    packed = path.read_bytes()
    return json.loads(subprocess.run(["zstd", "-dcq"], input=packed, capture_output=True, check=True).stdout)


def spark_says(answer: dict[str, Any]) -> dict[str, int]:
    """The manifest's numbers, from the server's answer."""
    jobs = Counter(job["status"] for job in answer["jobs"])
    ran = [s for s in answer["stages"] if s["status"] not in ("SKIPPED", "PENDING")]
    tasks = Counter(task["status"] for rows in answer["tasks"].values() for task in rows)
    return {
        "jobs": sum(jobs.values()),
        "jobs_failed": jobs["FAILED"],
        "stage_attempts": len(ran),
        "task_attempts": sum(tasks.values()),
        "tasks_succeeded": tasks["SUCCESS"],
        "tasks_failed": tasks["FAILED"],
        "tasks_killed": tasks["KILLED"],
        "tasks_speculative": sum(t["speculative"] for rows in answer["tasks"].values() for t in rows),
        "executors": sum(e["id"] != "driver" for e in answer["executors"]),
        "sql": len(answer["sql"] or []),
        "run_time_ms": sum(s["executorRunTime"] for s in ran),
    }


def manifest_says(expected: dict[str, Any]) -> dict[str, int]:
    tasks = expected["tasks"]
    local = str(expected["application_id"]).startswith("local-")
    return {
        "jobs": expected["jobs"],
        "jobs_failed": expected["jobs_failed"],
        "stage_attempts": expected["stage_attempts"],
        "task_attempts": tasks["attempts"],
        "tasks_succeeded": tasks["succeeded"] + tasks["resubmitted"],  # a lost success stays a success there
        "tasks_failed": tasks["failed"],
        "tasks_killed": tasks["killed"],
        "tasks_speculative": tasks["speculative"],
        "executors": 0 if local else expected["executors_added"],
        "sql": expected["sql"],
        "run_time_ms": expected["all_work"]["run_time_ms"],
    }


def main() -> int:
    failed = compared = 0
    for entry in json.loads((FIXTURES / "manifest.json").read_text()):
        path = HERE / "answers" / f"{entry['name']}.json.zst"
        if not path.exists():
            print(f"{entry['name']}: no answer recorded")
            failed += 1
            continue
        theirs, ours = spark_says(load(path)), manifest_says(entry["expected"])
        compared += 1
        for key, value in ours.items():
            reason = DIFFERENCES.get((entry["name"], key))
            if theirs[key] != value and reason is None:
                failed += 1
                print(f"{entry['name']}: {key}: Spark {theirs[key]}, manifest {value}")
            elif theirs[key] == value and reason is not None:
                print(f"{entry['name']}: {key}: no longer differs")
    print(f"{compared} compared, {failed} differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
