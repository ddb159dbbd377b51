#!/usr/bin/env python3
"""Findings from a History Server's answers are those from the log, but for listed reasons.

    python3 referee/rest_findings.py [--spark VERSION]... [--only NAME]...

Each server serves the fixtures of its own version, and 4.3.0 a log of 5,000 tasks in one stage that is made here.
Between the server and Emberscope stands a gate that refuses `/logs`, so that all comes from the monitoring API, and that counts
requests. Every difference is printed with its reason from `rest_differences.json`; one without fails, as does a
reason that no difference needs when everything is compared. EMBERSCOPE names the program.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import history_server as spark

REASONS = spark.HERE / "rest_differences.json"
MANY_TASKS = 5000
MANY = f"""
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").appName("many tasks").config("spark.ui.enabled", "false")
         .config("spark.ui.showConsoleProgress", "false").config("spark.eventLog.enabled", "true")
         .config("spark.eventLog.rolling.enabled", "false").config("spark.eventLog.dir", sys.argv[1]).getOrCreate())
spark.range(0, 200000, 1, {MANY_TASKS}).selectExpr("id % 50 k").groupBy("k").count().collect()
spark.stop()
"""


class Gate(BaseHTTPRequestHandler):
    """Passes requests on, but for those of event logs."""

    protocol_version = "HTTP/1.1"
    upstream = ""
    asked: Counter[str] = Counter()

    def do_GET(self) -> None:  # noqa: N802 - the name is the library's
        path = self.path.split("?")[0]
        last = path.rstrip("/").rsplit("/", 1)[-1]
        Gate.asked[last if not last.isdigit() else "id"] += 1
        status, kind, body = 404, "text/plain", b"refused by the gate"
        if last != "logs":
            try:
                with urllib.request.urlopen(Gate.upstream + self.path, timeout=300) as reply:
                    status, kind, body = reply.status, reply.headers.get_content_type(), reply.read()
            except urllib.error.HTTPError as error:
                status, kind, body = error.code, error.headers.get_content_type(), error.read()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@contextmanager
def gate(upstream: str) -> Iterator[str]:
    Gate.upstream = upstream
    server = ThreadingHTTPServer((spark.HOST, 0), Gate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{spark.HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()


def tell(command: str, source: str) -> dict[str, Any]:
    arguments = [command, source, "-q", *(["--json"] if command == "summary" else ["--format", "json"])]
    done = subprocess.run([os.environ.get("EMBERSCOPE", "emberscope"), *arguments], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def key(finding: dict[str, Any]) -> tuple[Any, ...]:
    scope = finding["scope"]
    return (finding["type"], *(scope.get(part) for part in ("stage_id", "stage_attempt", "sql_id", "executor_id", "job_id")))


def place(of: tuple[Any, ...]) -> str:
    names = ("stage", "attempt", "SQL", "executor", "job")
    return " ".join(f"{name} {value}" for name, value in zip(names, of[1:]) if value is not None) or "the run"


def numbered(findings: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """By type and place; several of one place by their number."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = {}
    for finding in findings:
        of = key(finding)
        seen[of] += 1
        found[*of, seen[of]] = finding
    return found


def differences(log: dict[str, Any], rest: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What differs: type of the finding, kind of the difference, in words."""
    a, b = (numbered(one["findings"]) for one in (log, rest))
    for of in sorted(a.keys() | b.keys(), key=str):
        if of not in b:
            yield of[0], "only log", f"{place(of)}: {a[of]['severity']}: {a[of]['title']}"
        elif of not in a:
            yield of[0], "only answers", f"{place(of)}: {b[of]['severity']}: {b[of]['title']}"
        elif a[of]["severity"] != b[of]["severity"]:
            yield of[0], "severity", f"{place(of)}: {a[of]['severity']} in the log, {b[of]['severity']} in answers"


def reason(reasons: list[dict[str, str]], kind: str, how: str, name: str) -> dict[str, str] | None:
    def holds(one: dict[str, str]) -> bool:
        return one["type"] in (kind, "*") and how in one["how"].split("|") and any(name.startswith(n) for n in one["fixtures"].split("|"))

    return next((one for one in reasons if holds(one)), None)


def made_once(cache: Path, name: str, source: str) -> spark.Log:
    """The log of a script on Spark 4.3.0, made once."""
    place = cache / name
    script, logs = place / "many.py", place / "logs"
    if not script.exists() or script.read_text() != source or not list(logs.glob("local-*[!s]")):
        shutil.rmtree(place, ignore_errors=True)
        logs.mkdir(parents=True)
        script.write_text(source)
        python = cache / "venv-4.3.0" / "bin" / "python"
        subprocess.run([str(python), str(script), logs.as_uri()], check=True, cwd=place, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=dict(os.environ, SPARK_LOCAL_IP=spark.HOST), timeout=1800)
    (log,) = [path for path in logs.iterdir() if not path.name.startswith(".")]
    return spark.Log(name, log, log.name, *spark.identity(log))


def many_tasks(cache: Path) -> spark.Log:
    """A log of a stage with many tasks."""
    return made_once(cache, "many-tasks", MANY)


def compare(version: str, logs: list[spark.Log], cache: Path, reasons: list[dict[str, str]], used: set[str]) -> list[str]:
    problems = []
    for group in spark.batches(logs):
        by_identity = {(log.application, log.attempt): log for log in group}
        with tempfile.TemporaryDirectory(prefix="emberscope-history-") as folder:
            served = Path(folder) / "logs"
            served.mkdir()
            for log in group:
                spark.lay_out(log, served)
            with spark.history_server(cache / f"venv-{version}", served) as base, gate(base.removesuffix("/api/v1")) as address:
                for app in spark.wait_for(base, len(group), seconds=900, quiet=300):
                    for attempt in app["attempts"]:
                        log = by_identity.pop((app["id"], attempt.get("attemptId")))
                        problems += one(version, log, f"{address}/history/{app['id']}/{attempt.get('attemptId') or ''}", reasons, used)
        problems += [f"{log.name}: not served by {version}" for log in by_identity.values()]
    return problems


def one(version: str, log: spark.Log, address: str, reasons: list[dict[str, str]], used: set[str]) -> list[str]:
    problems = []
    Gate.asked.clear()
    from_log, from_rest = tell("diagnose", str(log.path)), tell("diagnose", address)
    pages = Gate.asked["taskList"]
    counts = [tell("summary", source)["totals"]["tasks"] for source in (str(log.path), address)]
    found = list(differences(from_log, from_rest))
    print(f"{version} {log.name}: {len(from_log['findings'])} findings in the log, {len(from_rest['findings'])} in answers, "
          f"{len(found)} differ; {counts[1]['attempts']} task attempts in {pages} answers", flush=True)
    for kind, how, words in found:
        why = reason(reasons, kind, how, log.name)
        if why is None:
            problems.append(f"{log.name}: {kind} {how}: {words}")
        else:
            used.add(json.dumps(why))
        print(f"    {kind} ({how}) {words}\n        {why['why'] if why else 'NOT EXPLAINED'}")
    if log.name == "many-tasks":
        if counts[0]["attempts"] != counts[1]["attempts"] or counts[1]["attempts"] < MANY_TASKS:
            problems.append(f"{log.name}: {counts[0]['attempts']} task attempts in the log, {counts[1]['attempts']} in answers")
        if pages < 3:
            problems.append(f"{log.name}: {pages} answers are no paging")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "emberscope")
    parser.add_argument("--spark", action="append", metavar="VERSION", help="versions [default: 3.4.4, 3.5.9, 4.3.0]")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a fixture, or the start of its name")
    arguments = parser.parse_args()
    reasons, used = json.loads(REASONS.read_text()), set()
    problems: list[str] = []
    for version in arguments.spark or ["3.4.4", "3.5.9", "4.3.0"]:
        logs = [log for log in spark.fixture_logs(arguments.only) if log.name.endswith(version)]
        if version == "4.3.0" and (not arguments.only or "many-tasks" in arguments.only):
            logs.append(many_tasks(arguments.cache))
        problems += compare(version, logs, arguments.cache, reasons, used)
    if not arguments.spark and not arguments.only:
        problems += [f"no difference needs the reason for {one['type']} of {one['fixtures']}" for one in reasons if json.dumps(one) not in used]
    print("\n".join(f"FAIL {problem}" for problem in problems) or f"{len(used)} reasons explain every difference")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
