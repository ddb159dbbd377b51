#!/usr/bin/env python3
"""Records what Spark's own History Server says about event logs.

    python3 referee/history_server.py [--only NAME]...            the committed fixtures
    python3 referee/history_server.py --corpus DIR --out DIR      any other logs

The answers are a second opinion for tests: jobs, stages, tasks, executors and SQL as
Spark's status store replays them. One file per application attempt,
`answers/<name>.json.zst`, holding one object with sorted keys:

    application   the entry of /applications, with the one attempt
    jobs, executors, rdds, sql, resource_profiles      as served
    stages        one per stage attempt, skipped ones included
    tasks         "<stage>/<attempt>" -> list of task attempts in task id order
    task_summary  "<stage>/<attempt>" -> quantiles 0, .25, .5, .75, 1 of successful tasks
    server        version of the server
    log           path of the log, relative to the fixtures or the corpus

Beside them, for a few logs and for all of a corpus, `requests/<name>.json.zst`: status, type and body of requests with all
parameters, faulty ones included, by path and query below the application.

Left out: log URLs and whatever depends on when or where the server ran. Retention limits are
raised, since a default server forgets early jobs and tasks.
Needs the virtual environments of `fixtures/make.py`, Java 17 and the `zstd` command.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
sys.path.insert(0, str(FIXTURES))

import unpack  # noqa: E402 - found through the line above

HOST = "127.0.0.1"
MANY = "10000000"
VOLATILE = {"lastUpdated", "lastUpdatedEpoch", "executorLogs", "logUrls", "attributes"}
QUANTILES = "0.0,0.25,0.5,0.75,1.0"


@dataclass(frozen=True)
class Log:
    """A log to serve: where it is, what its answers are called, which application it holds."""

    name: str
    path: Path
    shown: str
    application: str | None
    attempt: str | None


# ---------------------------------------------------------------------------- finding logs


def first_text(path: Path, limit: int = 2_000_000) -> bytes:
    """The beginning of a log, decoded; enough to hold the application start event."""
    source = path
    if path.is_dir():
        files = ordered(path)
        if not files:
            return b""
        source = files[0]
    data = source.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)[:limit]
    return unpack.decode(data)[0][:limit]


def ordered(folder: Path) -> list[Path]:
    """Files of a rolled or Databricks folder in reading order; the latter's bare name is last."""
    rolled = sorted(folder.glob("events_*"), key=lambda p: int(p.name.split("_")[1]))
    return rolled or [*sorted(folder.glob("eventlog-*")), *folder.glob("eventlog")]


def identity(path: Path) -> tuple[str | None, str | None]:
    """Application and attempt id as the log states them."""
    for line in first_text(path).split(b"\n"):
        if b"SparkListenerApplicationStart" in line:
            try:
                event = json.loads(line)
            except ValueError:
                return None, None
            return event.get("App ID"), event.get("App Attempt ID")
    return None, None


def fixture_logs(names: list[str]) -> list[Log]:
    entries = json.loads((FIXTURES / "manifest.json").read_text())
    wanted = [e for e in entries if not names or any(e["name"].startswith(n) for n in names)]
    return [
        Log(e["name"], FIXTURES / e["path"], e["path"], *identity(FIXTURES / e["path"])) for e in wanted
    ]


def corpus_logs(root: Path) -> list[Log]:
    """Every file and every folder of members below a directory."""
    found: list[Path] = []

    def walk(folder: Path) -> None:
        for path in sorted(folder.iterdir()):
            if path.name.startswith("."):
                continue
            if path.is_dir() and not ordered(path):
                walk(path)
            else:
                found.append(path)

    walk(root)
    return [Log(str(p.relative_to(root)).replace("/", "__"), p, str(p.relative_to(root)), *identity(p)) for p in found]


def batches(logs: list[Log]) -> list[list[Log]]:
    """Groups without two logs of one application attempt: a server shows only one of them."""
    groups: list[list[Log]] = []
    for log in logs:
        for group in groups:
            if all((other.application, other.attempt) != (log.application, log.attempt) for other in group):
                group.append(log)
                break
        else:
            groups.append([log])
    return groups


def lay_out(log: Log, folder: Path) -> None:
    """Copy a log under a name the server accepts; its codec is taken from the suffix."""
    app = log.application or "unknown"
    if log.path.is_dir() and list(log.path.glob("events_*")):
        shutil.copytree(log.path, folder / f"eventlog_v2_{app}")
        return
    data = b"".join(
        gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        for raw in (p.read_bytes() for p in (ordered(log.path) if log.path.is_dir() else [log.path]))
    )
    codec = unpack.codec_of(data)
    name = app + (f"_{log.attempt}" if log.attempt else "") + ("" if codec == "none" else f".{codec}")
    (folder / (name + (".inprogress" if log.path.name.endswith(".inprogress") else ""))).write_bytes(data)


# ---------------------------------------------------------------------------- the server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def settings(logs: Path, port: int, kept: str) -> dict[str, str]:
    """Nothing is compacted or cleaned, so many of each kind are kept, and only this machine can connect."""
    return {
        "spark.history.fs.logDirectory": logs.as_uri(),
        "spark.history.ui.port": str(port),
        "spark.history.fs.update.interval": "2s",
        "spark.history.fs.endEventReparseChunkSize": "0",
        "spark.history.fs.cleaner.enabled": "false",
        "spark.ui.retainedJobs": kept,
        "spark.ui.retainedStages": kept,
        "spark.ui.retainedTasks": kept,
        "spark.ui.retainedDeadExecutors": kept,
        "spark.sql.ui.retainedExecutions": kept,
    }


@contextmanager
def history_server(venv: Path, logs: Path, kept: str = MANY) -> Iterator[str]:
    """A server over a directory for the duration of a block; yields its address. It forgets nothing unless told to."""
    port = free_port()
    home = next(venv.glob("lib/python3*/site-packages/pyspark"))
    conf = logs.parent / "history.conf"
    conf.write_text("".join(f"{key} {value}\n" for key, value in settings(logs, port, kept).items()))
    environment = dict(os.environ, SPARK_HOME=str(home), SPARK_LOCAL_IP=HOST, SPARK_LOCAL_HOSTNAME="localhost",
                       SPARK_DAEMON_MEMORY="2g", SPARK_CONF_DIR=str(logs.parent))
    with open(logs.parent / "server.log", "wb") as output:
        server = subprocess.Popen(
            [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer",
             "--properties-file", str(conf)],
            stdout=output, stderr=output, env=environment, start_new_session=True)
        try:
            yield f"http://{HOST}:{port}/api/v1"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def get(address: str) -> Any:
    """A parsed answer, or None where the server has nothing (404) or cannot (500)."""
    try:
        with urllib.request.urlopen(address, timeout=300) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        if error.code in (404, 500):
            return None
        raise


def applications(base: str) -> list[dict[str, Any]]:
    try:
        return get(f"{base}/applications?limit=100000") or []
    except OSError:
        return []


def wait_for(base: str, expected: int, seconds: float = 240, quiet: float = 45) -> list[dict[str, Any]]:
    """The list once it has all attempts, or once it has stopped growing for a while."""
    deadline, changed, seen = time.monotonic() + seconds, time.monotonic(), 0
    while True:
        listed = applications(base)
        attempts = sum(len(app["attempts"]) for app in listed)
        if attempts != seen:
            seen, changed = attempts, time.monotonic()
        now = time.monotonic()
        if attempts >= expected or now > deadline or now - changed > quiet:
            return listed
        time.sleep(0.5)


# ---------------------------------------------------------------------------- the answers


def cleaned(value: Any) -> Any:
    """An answer without what changes from server to server."""
    if isinstance(value, dict):
        return {key: cleaned(item) for key, item in value.items() if key not in VOLATILE}
    return [cleaned(item) for item in value] if isinstance(value, list) else value


def application_of(app: dict[str, Any], attempt: dict[str, Any]) -> dict[str, Any]:
    """The listing's entry, with one attempt; the duration of one without an end is 0."""
    return {**{key: value for key, value in app.items() if key != "attempts"}, "attempt": attempt}


def address_of(base: str, app: dict[str, Any], attempt: dict[str, Any]) -> str:
    root = f"{base}/applications/{urllib.parse.quote(app['id'])}"
    return f"{root}/{attempt['attemptId']}" if attempt.get("attemptId") else root


def record(base: str, app: dict[str, Any], attempt: dict[str, Any]) -> dict[str, Any]:
    """Everything kept about one application attempt."""
    root = address_of(base, app, attempt)
    jobs = get(f"{root}/jobs")  # the first request makes the server replay the log
    listed = get(f"{root}/stages?details=false") or []
    stages, tasks, summaries = [], {}, {}
    for stage in listed:
        key = f"{stage['stageId']}/{stage['attemptId']}"
        stages.append(get(f"{root}/stages/{key}?details=false") or stage)
        rows = get(f"{root}/stages/{key}/taskList?offset=0&length=1000000") or []
        if rows:
            tasks[key] = sorted(rows, key=lambda row: row["taskId"])
            summaries[key] = get(f"{root}/stages/{key}/taskSummary?quantiles={QUANTILES}")
    stages.sort(key=lambda s: (s["stageId"], s["attemptId"]))
    environment = get(f"{root}/environment") or {}
    return {
        "application": application_of(app, attempt),
        "jobs": jobs,
        "stages": stages,
        "tasks": tasks,
        "task_summary": summaries,
        "executors": get(f"{root}/allexecutors"),
        "sql": get(f"{root}/sql?details=true&planDescription=false&offset=0&length=100000"),
        "rdds": get(f"{root}/storage/rdd"),
        "resource_profiles": environment.get("resourceProfiles"),
    }


# Logs whose requests are recorded one by one, and what is asked of each.
ASKED = ("executor-loss-4.3.0", "failures-4.3.0", "speculation-4.3.0", "cache-4.3.0", "sql-aqe-4.3.0",
         "nested-sql-4.3.0", "streaming-4.3.0", "resource-profiles-4.3.0", "formats-4.3.0")
REQUESTS = (
    "", "environment", "jobs", "jobs?status=succeeded", "jobs?status=failed&status=running", "jobs?status=wrong",
    "jobs/0", "jobs/1", "jobs/99999", "jobs/none", "executors", "allexecutors", "storage/rdd", "storage/rdd/31",
    "storage/rdd/99999", "executors/driver/threads", "allmiscellaneousprocess",
    "stages", "stages?status=complete", "stages?status=failed&status=skipped", "stages?status=wrong",
    "stages?details=true", "stages?withSummaries=true", "stages?withSummaries=true&quantiles=0.1,0.9",
    "stages?details=true&taskStatus=failed", "stages/0", "stages/0?details=false", "stages/0?taskStatus=success",
    "stages/0?withSummaries=true&quantiles=0.5", "stages/99999", "stages/none", "stages/0/0", "stages/1/0",
    "stages/0/0?details=false", "stages/0/0?withSummaries=true", "stages/0/7", "stages/99999/0",
    "stages/0/0/taskSummary", "stages/0/0/taskSummary?quantiles=0.01,0.5,0.99", "stages/0/0/taskSummary?quantiles=x",
    "stages/0/0/taskSummary?quantiles=0.5,,", "stages/99999/0/taskSummary", "stages/0/7/taskSummary",
    "stages/0/0/taskList", "stages/0/0/taskList?offset=1&length=3", "stages/0/0/taskList?length=2&sortBy=runtime",
    "stages/0/0/taskList?length=3&sortBy=-runtime", "stages/0/0/taskList?length=3&sortBy=decreasing_runtime",
    "stages/0/0/taskList?sortBy=wrong", "stages/0/0/taskList?length=x", "stages/0/0/taskList?status=success",
    "stages/0/0/taskList?status=failed", "stages/0/0/taskList?status=wrong", "stages/99999/0/taskList",
    "stages/0/0/taskList?offset=1000", "sql", "sql?details=false", "sql?details=false&planDescription=true",
    "sql?offset=1&length=1&details=false", "sql?offset=-1&length=2&details=false", "sql?offset=x", "sql/0", "sql/1",
    "sql/0?details=false", "sql/1?planDescription=false", "sql/99999", "sql/none", "sqlx", "streaming/statistics",
    "streaming/receivers",
)
LISTINGS = (
    "version", "applications", "applications?limit=2", "applications?limit=0", "applications?status=completed",
    "applications?status=running", "applications?status=wrong", "applications?minDate=2026-11-30T06:35:00.000GMT",
    "applications?maxDate=2026-11-30T06:35:00.000GMT", "applications?minDate=2026-11-30", "applications?maxDate=2026-11-29",
    "applications?minEndDate=2026-11-30T06:40:00.000GMT", "applications?maxEndDate=2026-11-30T06:35:00.000GMT",
    "applications?minDate=yesterday", "applications?limit=x", "applications/none", "applications/none/jobs",
    "applications/none/1", "applications/none/1/jobs",
)


def reply(address: str) -> dict[str, Any]:
    """Status, type and body of any answer; JSON parsed, a page of HTML only named."""
    try:
        with urllib.request.urlopen(address, timeout=300) as answer:
            status, kind, body = answer.status, answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as error:
        status, kind, body = error.code, error.headers.get_content_type(), error.read()
    if kind == "application/json" and status == 200:
        return {"status": status, "type": kind, "body": without_class_path(cleaned(json.loads(body)))}
    return {"status": status, "type": kind, "body": "" if kind == "text/html" else body.decode()}


def without_class_path(body: Any) -> Any:
    """An environment lists hundreds of jars, which say nothing of a run."""
    return {**body, "classpathEntries": []} if isinstance(body, dict) and "classpathEntries" in body else body


def record_requests(root: str) -> dict[str, dict[str, Any]]:
    return {asked: reply(f"{root}/{asked}" if asked else root) for asked in REQUESTS}


def write(answer: dict[str, Any], target: Path) -> int:
    """Compact and packed hard; these are read far more often than written."""
    text = json.dumps(answer, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    packed = subprocess.run(["zstd", "-19", "-cq"], input=text, capture_output=True, check=True).stdout
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(packed)
    return len(packed)


def summary(name: str, answer: dict[str, Any], size: int) -> str:
    tasks = sum(map(len, answer["tasks"].values()))
    return (f"{name:34} jobs {len(answer['jobs'] or []):4} stages {len(answer['stages']):4} tasks {tasks:6} "
            f"executors {len(answer['executors'] or []):3} sql {len(answer['sql'] or []):4} {size:8} bytes")


def serve(group: list[Log], venv: Path, version: str, out: Path, ask_all: bool) -> int:
    """Record one group of logs; returns how many of them the server did not show.

    With `ask_all` the requests of every log are recorded, not of those in `ASKED` alone.
    """
    by_identity = {(log.application, log.attempt): log for log in group}
    done: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="emberscope-history-") as place:
        logs = Path(place) / "logs"
        logs.mkdir()
        for log in group:
            lay_out(log, logs)
        with history_server(venv, logs) as base:
            for app in wait_for(base, len(group)):
                for attempt in app["attempts"]:
                    log = by_identity.get((app["id"], attempt.get("attemptId")))
                    if log is None:
                        print(f"{app['id']}: served, but not asked for")
                        continue
                    answer = cleaned({**record(base, app, attempt), "server": version, "log": log.shown})
                    print(summary(log.name, answer, write(answer, out / f"{log.name}.json.zst")), flush=True)
                    if ask_all or log.name in ASKED:
                        replies = record_requests(address_of(base, app, attempt))
                        asked = {"server": version, "log": log.shown, "replies": replies}
                        write(asked, out / "requests" / f"{log.name}.json.zst")
                    done.add(log.name)
            if set(ASKED) <= done:
                listed = {"server": version, "logs": sorted(log.shown for log in group if log.name in done),
                          "replies": {asked: reply(f"{base}/{asked}") for asked in LISTINGS}}
                write(listed, out / "requests" / "listing.json.zst")
    missing = [log for log in group if log.name not in done]
    for log in missing:
        print(f"{log.name:34} not listed by the server")
    return len(missing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "emberscope")
    parser.add_argument("--spark", default="4.3.0", metavar="VERSION", help="the server's version")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a fixture, or the start of its name")
    parser.add_argument("--corpus", type=Path, help="logs of other origin, instead of the fixtures")
    parser.add_argument("--out", type=Path, help="where answers go; with --corpus the cache by default")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped then too
    corpus: Path | None = arguments.corpus
    logs = corpus_logs(corpus) if corpus else fixture_logs(arguments.only)
    out = arguments.out or (arguments.cache / "answers" / arguments.spark if corpus else HERE / "answers")
    venv = arguments.cache / f"venv-{arguments.spark}"
    missing = sum(serve(group, venv, arguments.spark, out, bool(corpus)) for group in batches(logs))
    return 1 if missing and not corpus else 0


if __name__ == "__main__":
    sys.exit(main())
