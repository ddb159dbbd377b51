#!/usr/bin/env python3
"""Runs the workloads on real Spark and writes `logs/` and `labels.json`.

    python3 validation/make.py [--cache DIR] [--version V]... [--missing] [--once | --more] [NAME]...

A name is a workload or the start of one; default all. Pairs run three times each, bad and good
in turn, so that a busy minute of the machine meets both; the log of the median run is kept.
Java 17 and the `zstd` command have to be installed, pyspark is put into a virtual environment
below the cache directory, as for the fixtures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPO = HERE.parent
sys.path[:0] = [str(REPO / "fixtures"), str(HERE / "workloads")]

import make as fixtures  # noqa: E402 - the fixtures' maker: environments, settings, packing
import check  # noqa: E402
import check_labels  # noqa: E402
import kit  # noqa: E402

WORK = Path("/tmp/emberscope-validation")
fixtures.WORK = WORK
LOGS = HERE / "logs"
LABELS = HERE / "labels.json"
PERSONAL = re.compile(check.PERSONAL.pattern)


def default_cache() -> Path:
    told = os.environ.get("EMBERSCOPE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(told) if told else (Path(base) if base else Path.home() / ".cache") / "emberscope"


def stage_scripts() -> Path:
    """Copy workloads and the fixtures' helpers to where call sites may name them."""
    place = WORK / "scenarios"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(HERE / "workloads", place, ignore=shutil.ignore_patterns("__pycache__"))
    for helper in ("common.py", "cluster.py"):
        shutil.copyfile(fixtures.SCENARIOS / helper, place / helper)
    return place


def environment(blank: fixtures.Fixture, venv: Path, conf_dir: Path, home: Path, archive: str) -> dict[str, str]:
    """The fixtures' environment, with a JVM that starts fast.

    A shared class archive wants a class path without files of its own, hence the empty
    configuration directory and a properties file instead of spark-defaults.conf.
    """
    empty = WORK / "empty"
    empty.mkdir(exist_ok=True)
    return fixtures.environment(blank, venv, empty, home) | {
        "PYSPARK_SUBMIT_ARGS": f"--properties-file {conf_dir / 'spark.conf'} pyspark-shell",
        "JDK_JAVA_OPTIONS": f"-XX:TieredStopAtLevel=1 -Xshare:auto {archive}",
    }


def archived(version: str, cache: Path) -> str:
    """The option that loads Spark's classes from an archive, which is made on first use."""
    archive = WORK / f"classes-{version}.jsa"
    if not archive.exists():
        launch(f"archive-{version}", version, cache, ["--warm"], archive=f"-XX:ArchiveClassesAtExit={archive}")
    return f"-XX:SharedArchiveFile={archive}" if archive.exists() else ""


def launch(name: str, version: str, cache: Path, arguments: list[str], exit_code: int = 0,
           archive: str | None = None) -> Path:
    """Run kit.py in the neutral environment; returns the directory with events and output."""
    archive = archived(version, cache) if archive is None else archive
    place = WORK / "runs" / name
    shutil.rmtree(place, ignore_errors=True)
    events, conf_dir, home = place / "events", place / "conf", WORK / "home"
    for directory in (events, conf_dir, home, WORK / "tmp", WORK / "data"):
        directory.mkdir(parents=True, exist_ok=True)
    venv = fixtures.ensure_venv(cache, version)
    blank = fixtures.Fixture(name, version, "kit.py", "", rolling=False)
    settings = fixtures.defaults(blank, events, home) | {"spark.driver.memory": "1g", "spark.ui.showConsoleProgress": "false"}
    settings["spark.driver.extraJavaOptions"] += f" -Dlog4j2.configurationFile={(conf_dir / 'log4j2.properties').as_uri()}"
    (conf_dir / "spark.conf").write_text("".join(f"{k} {v}\n" for k, v in settings.items()))
    (conf_dir / "log4j2.properties").write_text(
        "rootLogger.level=error\nrootLogger.appenderRef.c.ref=c\n"
        "appender.c.type=Console\nappender.c.name=c\nappender.c.target=SYSTEM_ERR\n"
        "appender.c.layout.type=PatternLayout\nappender.c.layout.pattern=%p %c{1}: %m%n\n")
    with open(place / "output.txt", "wb") as output:
        done = subprocess.run([str(venv / "bin" / "python"), str(WORK / "scenarios" / "kit.py"), *arguments],
                              cwd=home, stdout=output, stderr=subprocess.STDOUT, timeout=400,
                              env=environment(blank, venv, conf_dir, home, archive))
    if done.returncode != exit_code:
        tail = (place / "output.txt").read_text(errors="replace")[-3000:]
        raise RuntimeError(f"{name} exited {done.returncode}\n{tail}")
    fixtures.wait_for_jvms(place)
    return place


def prepare(workload: kit.Workload, version: str, cache: Path) -> None:
    """Write the workload's input once per machine."""
    if workload.data and not (WORK / "data" / f"{workload.data}.done").exists():
        shutil.rmtree(WORK / "data" / workload.data, ignore_errors=True)
        launch(f"data-{workload.data}", version, cache, ["--prepare", workload.data])
        (WORK / "data" / f"{workload.data}.done").touch()


def once(workload: kit.Workload, version: str, cache: Path, number: int, reuse: bool) -> tuple[int, Path]:
    """One run: its wall time by the log itself, and the log."""
    name = f"{workload.name}-{version}-{number}"
    place = WORK / "runs" / name
    if not (reuse and (place / "done").exists()):
        place = launch(name, version, cache, [workload.name], workload.exit_code)
        (place / "done").touch()
        shutil.rmtree(WORK / "scratch", ignore_errors=True)
    logs = [entry for entry in (place / "events").iterdir() if not entry.name.startswith(".")]
    if len(logs) != 1:
        raise RuntimeError(f"{workload.name} left {len(logs)} logs")
    return check_labels.wall_ms(logs[0]), logs[0]


def keep(log: Path, target: Path) -> None:
    """Pack a log into one frame, as small as zstd makes it, and refuse what must not be told."""
    text, whole = check.text_of(log)
    if not whole:
        raise RuntimeError(f"{log.name} is damaged")
    told = PERSONAL.search(text)
    if told:
        raise RuntimeError(f"{log.name} tells where it was made: {text[max(0, told.start() - 60):told.end() + 40]!r}")
    target.parent.mkdir(exist_ok=True)
    subprocess.run(["zstd", "-19", "-qf", "-o", str(target)], input=text, check=True)


def label(workload: kit.Workload, version: str, walls: list[int], actives: list[int]) -> dict[str, Any]:
    """What is said about one log."""
    return {
        "name": f"{workload.name}-{version}",
        "log": f"logs/{workload.name}-{version}.zst",
        "family": workload.family,
        "split": workload.split,
        "spark_version": version,
        "cluster": workload.cluster.words,
        "role": workload.role,
        "pair": f"{workload.pair}-{version}" if workload.pair else None,
        "saves": workload.saves,
        "expect": list(workload.expect),
        "allow": list(workload.allow),
        "wall_ms": walls,
        "active_ms": actives,
        "claims": dict(workload.claims),
        "notes": workload.notes,
    } | ({"forbid": list(workload.forbid)} if workload.forbid else {})


def store(entries: list[dict[str, Any]]) -> None:
    """Put entries into labels.json, in the order of the declarations."""
    known = {e["name"]: e for e in json.loads(LABELS.read_text())} if LABELS.exists() else {}
    known |= {e["name"]: e for e in entries}
    order = {name: index for index, name in enumerate(kit.RUNS)}
    kept = [e for e in known.values() if e["name"].rsplit("-", 1)[0] in order]
    kept.sort(key=lambda e: (order[e["name"].rsplit("-", 1)[0]], e["name"]))
    draft = LABELS.with_suffix(".tmp")
    draft.write_text("[\n" + ",\n".join(json.dumps(e, ensure_ascii=False) for e in kept) + "\n]\n")
    draft.replace(LABELS)


def make(group: list[kit.Workload], version: str, cache: Path, repeats: int | None, reuse: bool) -> int:
    """Run a pair, or a control, and keep what it left; returns the number of unproven claims."""
    runs: dict[str, list[tuple[int, Path]]] = {w.name: [] for w in group}
    for workload in group:
        prepare(workload, version, cache)
    for number in range(repeats or group[0].repeats):
        for workload in group:
            try:
                run = once(workload, version, cache, number, reuse)
            except RuntimeError as error:
                print(f"{error}\n  again", file=sys.stderr, flush=True)  # clusters of many JVMs fail to start now and then
                run = once(workload, version, cache, number, reuse)
            runs[workload.name].append(run)
    bad = 0
    for workload in group:
        walls = [wall for wall, _ in runs[workload.name]]
        middle = statistics.median_low(walls)
        entry = label(workload, version, walls, [check_labels.active_ms(log) for _, log in runs[workload.name]])
        keep(next(log for wall, log in runs[workload.name] if wall == middle), HERE / entry["log"])
        store([entry])
        problems = check_labels.problems(entry)
        bad += len(problems)
        size = (HERE / entry["log"]).stat().st_size
        print(f"{entry['name']:42} {walls} {size // 1000} kB", *problems, sep="\n  - " if problems else " ", flush=True)
    return bad


def groups(names: list[str], version: str, missing: bool) -> list[list[kit.Workload]]:
    """Pairs together, controls alone, in the order of the declarations."""
    known = {e["name"] for e in json.loads(LABELS.read_text())} if LABELS.exists() else set()
    chosen: list[list[kit.Workload]] = []
    for workload in kit.RUNS.values():
        if workload.role == "good" or version not in workload.versions:
            continue
        if names and not any(workload.name.startswith(n) for n in names):
            continue
        group = [workload] + ([kit.RUNS[workload.pair]] if workload.pair else [])
        if missing and all(f"{w.name}-{version}" in known for w in group):
            continue
        chosen.append(group)
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--version", action="append", metavar="V", help="only this version of Spark")
    parser.add_argument("--missing", action="store_true", help="only what labels.json does not have yet")
    parser.add_argument("--once", action="store_true", help="one run each, to try a workload")
    parser.add_argument("--more", action="store_true", help="keep the runs that are still in the working directory, add the repeats")
    parser.add_argument("--relabel", action="store_true", help="run nothing; write the declarations' words into labels.json")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    kit.declare()
    if arguments.relabel:
        known = json.loads(LABELS.read_text())
        for entry in known:
            base, version = entry["name"].rsplit("-", 1)
            if base in kit.RUNS:
                store([label(kit.RUNS[base], version, entry["wall_ms"],
                             entry.get("active_ms") or [check_labels.active_ms(HERE / entry["log"])])])
        return 0
    WORK.mkdir(parents=True, exist_ok=True)
    stage_scripts()
    failed = 0
    for version in arguments.version or kit.BOTH:
        for group in groups(arguments.names, version, arguments.missing):
            started = time.monotonic()
            try:
                failed += bool(make(group, version, arguments.cache, 1 if arguments.once else None, arguments.more))
            except (RuntimeError, subprocess.SubprocessError, OSError) as error:
                failed += 1
                print(f"{group[0].name}-{version}: {error}", file=sys.stderr, flush=True)
            print(f"  {time.monotonic() - started:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
