#!/usr/bin/env python3
"""Proves the labels from the logs: a pathology must be in its log, and its twin must lack it.

    python3 validation/check_labels.py [NAME]...     verify (default: all labels)
    python3 validation/check_labels.py --show NAME   print what a log measures

Shares nothing with the product: it reads JSON and counts. A claim is `scope.measure`: a
comparison. Scopes: `main` is the stage with the most task time, `slowest` the one with the longest
task, `any` the largest value over all stages, `app` the application, `plan` the final SQL plans, `conf` the logged settings.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fixtures"))

import check  # noqa: E402 - the fixtures' oracle: decoding, and which attempts count

MIB = 1024 * 1024
SPLITS = ("tune", "hold-out", "blind", "blind-2")
Event = dict[str, Any]


def ratio(values: list[float]) -> float:
    """Largest against median; a median of nothing counts as one unit."""
    return max(values) / max(statistics.median(values), 1) if values else 0.0


def union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merged intervals."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def span_s(spans: list[tuple[int, int]]) -> float:
    return sum(end - start for start, end in union(spans)) / 1000


def read_of(metrics: Event, what: str) -> int:
    """Input and shuffle input of a task, in bytes or records."""
    shuffle = metrics.get("Shuffle Read Metrics", {})
    if what == "records":
        return metrics.get("Input Metrics", {}).get("Records Read", 0) + shuffle.get("Total Records Read", 0)
    return (metrics.get("Input Metrics", {}).get("Bytes Read", 0)
            + shuffle.get("Remote Bytes Read", 0) + shuffle.get("Local Bytes Read", 0))


class Log(check.Log):
    """Measures of one log."""

    def ends(self) -> list[Event]:
        return [e for e in self.of("SparkListenerTaskEnd") if check.reason_of(e) != "Resubmitted"]

    def start_ms(self) -> int:
        return self.of("SparkListenerApplicationStart")[0]["Timestamp"]

    def end_ms(self) -> int:
        return self.of("SparkListenerApplicationEnd")[-1]["Timestamp"]

    def stages(self) -> list[dict[str, float]]:
        """Per stage the measures over the attempts that counted."""
        tasks: dict[int, list[Event]] = defaultdict(list)
        for end in check.useful(self):
            tasks[end["Stage ID"]].append(end)
        submitted: dict[int, int] = {}
        for event in self.of("SparkListenerStageSubmitted"):
            info = event["Stage Info"]
            submitted.setdefault(info["Stage ID"], info.get("Submission Time", 0))
        return [self.stage(stage, ends, submitted.get(stage, 0)) for stage, ends in sorted(tasks.items())]

    def stage(self, number: int, ends: list[Event], submitted: int) -> dict[str, float]:
        metrics = [e["Task Metrics"] for e in ends]
        spans = [(e["Task Info"]["Launch Time"], e["Task Info"]["Finish Time"]) for e in ends]
        run = [m["Executor Run Time"] for m in metrics]
        by_host: dict[str, list[float]] = defaultdict(list)
        for end, time in zip(ends, run, strict=True):
            by_host[end["Task Info"]["Host"]].append(time)
        hosts = sorted((statistics.median(times) for times in by_host.values()), reverse=True)
        total = max(sum(run), 1)
        return {
            "id": number,
            "tasks": len(ends),
            "run_s": sum(run) / 1000,
            "max_s": max(run) / 1000,
            "median_s": statistics.median(run) / 1000,
            "wall_s": (max(e for _, e in spans) - min(s for s, _ in spans)) / 1000,
            "time_ratio": ratio([float(r) for r in run]),
            "records": sum(read_of(m, "records") for m in metrics),
            "records_ratio": ratio([float(read_of(m, "records")) for m in metrics]),
            "bytes_ratio": ratio([float(read_of(m, "bytes")) for m in metrics]),
            "shuffle_read_mib": sum(read_of(m, "bytes") - m.get("Input Metrics", {}).get("Bytes Read", 0) for m in metrics) / MIB,
            "shuffle_write_mib": sum(m.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0) for m in metrics) / MIB,
            "output_records": sum(m.get("Output Metrics", {}).get("Records Written", 0) for m in metrics),
            "spill_mem_mib": sum(m["Memory Bytes Spilled"] for m in metrics) / MIB,
            "spill_disk_mib": sum(m["Disk Bytes Spilled"] for m in metrics) / MIB,
            "gc_share": sum(m["JVM GC Time"] for m in metrics) / total,
            "cpu_share": sum(m["Executor CPU Time"] for m in metrics) / 1e6 / total,
            "fetch_share": sum(m.get("Shuffle Read Metrics", {}).get("Fetch Wait Time", 0) for m in metrics) / total,
            "deserialize_max_s": max(m["Executor Deserialize Time"] for m in metrics) / 1000,
            "result_mib": sum(m["Result Size"] for m in metrics) / MIB,
            "slow_host_ratio": hosts[0] / max(hosts[1], 1) if len(hosts) > 1 else 1.0,
            "hosts": len(hosts),
            "wait_s": (min(s for s, _ in spans) - submitted) / 1000 if submitted else 0.0,
            "nonlocal_share": sum(e["Task Info"]["Locality"] in ("ANY", "RACK_LOCAL") for e in ends) / len(ends),
        }

    def app(self) -> dict[str, float]:
        ends = self.ends()
        reasons = Counter(check.reason_of(e) for e in ends)
        start, end = self.start_ms(), self.end_ms()
        spans = [(e["Task Info"]["Launch Time"], e["Task Info"]["Finish Time"]) for e in ends]
        finished = {e["Job ID"]: e for e in self.of("SparkListenerJobEnd")}
        jobs = [(j["Submission Time"], finished[j["Job ID"]]["Completion Time"])
                for j in self.of("SparkListenerJobStart") if j["Job ID"] in finished]
        no_job = [] if not jobs else gaps(jobs)
        alive = self.alive(end)
        held = sum(e - s for s, e in spans) / 1000
        peak = max((e["Executor Info"]["Total Cores"] for e in self.of("SparkListenerExecutorAdded")), default=0)
        removed = [e["Removed Reason"] for e in self.of("SparkListenerExecutorRemoved")]
        added = sorted(e["Timestamp"] for e in self.of("SparkListenerExecutorAdded"))
        submitted = [e["Stage Info"].get("Submission Time", 0) for e in self.of("SparkListenerStageSubmitted")]
        return {
            "wall_s": (end - start) / 1000,
            "task_s": held,
            "jobs": len(self.of("SparkListenerJobStart")),
            "stages": len(self.stages()),
            "tasks": len(ends),
            "executors": len(self.of("SparkListenerExecutorAdded")),
            "executors_lost": sum("killed by driver" not in r.lower() for r in removed),
            "executor_cores": peak,
            "busy_share": held / max(alive, 0.001),
            "idle_core_s": alive - held,
            "failed_tasks": sum(n for r, n in reasons.items() if r not in {"Success", *check.KILLED}),
            "failed_task_s": sum(e["Task Info"]["Finish Time"] - e["Task Info"]["Launch Time"] for e in ends
                                 if check.reason_of(e) not in {"Success", *check.KILLED}) / 1000,
            "fetch_failures": reasons["FetchFailed"],
            "killed_tasks": reasons["TaskKilled"],
            "resubmitted": sum(check.reason_of(e) == "Resubmitted" for e in self.of("SparkListenerTaskEnd")),
            "speculative": sum(bool(e["Task Info"].get("Speculative")) for e in ends),
            "gc_task_s": sum(e["Task Metrics"]["JVM GC Time"] for e in ends if e.get("Task Metrics")) / 1000,
            "killed_s": sum(e["Task Info"]["Finish Time"] - e["Task Info"]["Launch Time"] for e in ends
                            if check.reason_of(e) == "TaskKilled") / 1000,
            "failed_jobs": sum(e["Job Result"]["Result"] != "JobSucceeded" for e in finished.values()),
            "failed_stages": sum(bool(e["Stage Info"].get("Failure Reason")) for e in self.of("SparkListenerStageCompleted")),
            "stage_retries": len({(i["Stage ID"], i["Stage Attempt ID"]) for i in
                                  (e["Stage Info"] for e in self.of("SparkListenerStageSubmitted")) if i["Stage Attempt ID"] > 0}),
            "no_job_gap_s": sum(no_job) / 1000,
            "no_job_longest_s": max(no_job, default=0) / 1000,
            "no_task_s": (end - start) / 1000 - span_s(spans),
            "first_task_s": (min((s for s, _ in spans), default=start) - start) / 1000,
            "first_executor_wait_s": max(0, added[0] - min(submitted)) / 1000 if added and submitted else 0,
            "last_executor_s": (added[-1] - min(submitted)) / 1000 if added and submitted else 0,
            "parallel": held / max(span_s(spans), 0.001),
            "broken_sql": sum(bool(e.get("errorMessage")) for e in self.of("SparkListenerSQLExecutionEnd")),
            "persisted": len({r["RDD ID"] for e in self.of("SparkListenerStageCompleted") for r in e["Stage Info"]["RDD Info"]
                              if r["Storage Level"]["Use Memory"] or r["Storage Level"]["Use Disk"]}),
            "block_updates": len(self.of("SparkListenerBlockUpdated")),
            "batches": len(self.progress()),
            "batch_max_s": max((p["durationMs"].get("triggerExecution", 0) for p in self.progress()), default=0) / 1000,
            "batch_median_s": statistics.median([p["durationMs"].get("triggerExecution", 0) for p in self.progress()] or [0]) / 1000,
            "watermarks": len({p["eventTime"]["watermark"] for p in self.progress() if p.get("eventTime", {}).get("watermark")}),
            "batch_growth": self.batch_growth(),
            "state_rows": max((sum(o["numRowsTotal"] for o in p.get("stateOperators", [])) for p in self.progress()), default=0),
            "state_growth": self.state_growth(),
            "plan_text_kib": max((len(e.get("physicalPlanDescription", "")) for e in self.of("SparkListenerSQLExecutionStart")), default=0) / 1024,
        }

    def alive(self, end: int) -> float:
        """Core seconds that executors were there."""
        gone = {e["Executor ID"]: e["Timestamp"] for e in self.of("SparkListenerExecutorRemoved")}
        return sum(e["Executor Info"]["Total Cores"] * (gone.get(e["Executor ID"], end) - e["Timestamp"])
                   for e in self.of("SparkListenerExecutorAdded")) / 1000

    def progress(self) -> list[Event]:
        found = []
        for event in self.of("StreamingQueryListener$QueryProgressEvent"):
            progress = event["progress"]
            found.append(json.loads(progress) if isinstance(progress, str) else progress)
        return found

    def batch_growth(self) -> float:
        """Rows of the last data batch against the second: a backlog makes batches grow."""
        rows = [sum(s["numInputRows"] for s in p["sources"]) for p in self.progress()]
        rows = [r for r in rows if r]
        return rows[-1] / rows[1] if len(rows) > 2 else 1.0

    def state_growth(self) -> float:
        rows = [sum(o["numRowsTotal"] for o in p.get("stateOperators", [])) for p in self.progress() if p.get("stateOperators")]
        rows = [r for r in rows if r]
        return rows[-1] / rows[len(rows) // 2] if len(rows) > 3 else 1.0

    def plans(self) -> dict[int, Event]:
        """The last plan of each execution."""
        last: dict[int, Event] = {}
        for event in self.of("SparkListenerSQLExecutionStart") + self.of("SparkListenerSQLAdaptiveExecutionUpdate"):
            last[event["executionId"]] = event["sparkPlanInfo"]
        return last

    def plan(self) -> dict[str, float]:
        """Counts of operators, and sums of named SQL metrics, over the final plans."""
        counts: Counter[str] = Counter()
        named: dict[int, str] = {}
        repeated = 0
        for root in self.plans().values():
            shapes: Counter[str] = Counter()
            for node in walk(root):
                counts[node["nodeName"].split(" ")[0].replace("(skew=true)", "")] += 1
                if "skew=true" in node["nodeName"]:
                    counts["skew-split"] += 1
                counts["pushed-filters"] += bool(re.search(r"PushedFilters: \[[^\]]*(Than|EqualTo|In\(|StartsWith)", node["simpleString"]))
                counts["partition-filters"] += bool(re.search(r"PartitionFilters: \[[^\]]+\]", node["simpleString"]))
                counts["single-partition"] += "SinglePartition" in node["simpleString"] and node["nodeName"].startswith("Exchange")
                for metric in node["metrics"]:
                    named[metric["accumulatorId"]] = metric["name"]
                if size_of(node) >= 3 and not node["nodeName"].startswith("ReusedExchange"):
                    shapes[shape(node)] += 1
            repeated = max(repeated, max((n for n in shapes.values()), default=0))
        values = self.accumulators()
        sums: Counter[str] = Counter()
        for number, name in named.items():
            sums[name] += values.get(number, 0)
        found: dict[str, float] = dict(counts)
        found |= {name.replace(" ", "-"): value for name, value in sums.items()}
        found["repeated-subtree"] = repeated
        found["nodes"] = max((size_of(p) for p in self.plans().values()), default=0)
        return found

    def accumulators(self) -> dict[int, float]:
        """Final values: task updates summed, driver updates as they are."""
        values: dict[int, float] = defaultdict(float)
        for end in self.ends():
            for item in end["Task Info"].get("Accumulables", []):
                try:
                    values[item["ID"]] += float(item.get("Update", 0))
                except (TypeError, ValueError):
                    continue
        for event in self.of("SparkListenerDriverAccumUpdates"):
            for number, value in event["accumUpdates"]:
                values[number] = value
        return values

    def conf(self) -> dict[str, str]:
        return dict(self.of("SparkListenerEnvironmentUpdate")[-1]["Spark Properties"])


def gaps(spans: list[tuple[int, int]]) -> list[int]:
    """Time between spans, from the first start to the last end."""
    merged = union(spans)
    return [after[0] - before[1] for before, after in zip(merged, merged[1:], strict=False)]


def walk(node: Event) -> list[Event]:
    return [node, *(n for child in node["children"] for n in walk(child))]


def size_of(node: Event) -> int:
    return len(walk(node))


def shape(node: Event) -> str:
    """Text of a subtree without the numbers Spark gives to attributes."""
    return "|".join(re.sub(r"#\d+L?|plan_id=\d+|\[id=#?\d+\]|\(\d+\)", "", n["simpleString"]) for n in walk(node))


def measure(log: Log) -> dict[str, dict[str, float]]:
    """All scopes of a log."""
    stages = log.stages()
    main = max(stages, key=lambda s: s["run_s"], default={})
    slowest = max(stages, key=lambda s: s["max_s"], default={})
    anywhere = {key: max(s[key] for s in stages) for key in main}
    return {"main": main, "slowest": slowest, "any": anywhere, "app": log.app(), "plan": log.plan()}


def holds(value: float, claim: str) -> bool:
    sign, bound = re.fullmatch(r"(>=|<=|==|<|>)(.+)", claim).groups()  # type: ignore[union-attr]
    number = float(bound)
    return {">=": value >= number, "<=": value <= number, "==": value == number, "<": value < number, ">": value > number}[sign]


def contradictions(entry: dict[str, Any]) -> list[str]:
    """What a label says twice, or in a word that the others do not know."""
    found = [] if entry["split"] in SPLITS else [f"a split called {entry['split']}"]
    wanted = {f"{e['tag']}/{e['type']}" for e in entry["expect"]}
    for word in entry.get("forbid", []):
        meant = wanted | set(entry["allow"])
        if any(word == m or m.startswith(f"{word}/") or word.startswith(f"{m}/") for m in meant):
            found.append(f"{word} is forbidden, and expected or allowed")
    return found


def problems(entry: dict[str, Any]) -> list[str]:
    """What a log fails to show of its claims, and what a label contradicts itself in."""
    log = Log(HERE / entry["log"])
    scopes = measure(log)
    found = contradictions(entry)
    for key, claim in entry["claims"].items():
        scope, name = key.split(".", 1)
        if scope == "conf":
            value = log.conf().get(name)
            if value != (claim[2:] if claim.startswith("==") else claim):
                found.append(f"{name} is {value}, not {claim}")
            continue
        number = scopes[scope].get(name, 0)
        if not holds(number, claim):
            found.append(f"{key} is {number:.4g}, not {claim}")
    return found


def wall_ms(path: Path) -> int:
    """Application end minus start, by the log."""
    log = Log(path)
    return log.end_ms() - log.start_ms()


def active_ms(path: Path) -> int:
    """From the first job or query to the application's end: the wall time without the start of Spark."""
    log = Log(path)
    first = [e["Submission Time"] for e in log.of("SparkListenerJobStart")] + [e["time"] for e in log.of("SparkListenerSQLExecutionStart")]
    return log.end_ms() - min(first, default=log.start_ms())


def show(entry: dict[str, Any]) -> None:
    log = Log(HERE / entry["log"])
    scopes = measure(log)
    print(entry["name"], entry["wall_ms"])
    for scope in ("app", "plan"):
        print(" ", scope, {k: round(v, 2) for k, v in scopes[scope].items() if v})
    for stage in log.stages():
        print("   ", {k: round(v, 2) for k, v in stage.items() if v})


def noise(walls: list[int]) -> float:
    """Spread of the repeats, as a share of their median."""
    return (max(walls) - min(walls)) / statistics.median(walls) if len(walls) > 1 else 0.0


def table(entries: list[dict[str, Any]]) -> list[str]:
    """Pairs with their measured saving and their noise."""
    by_name = {e["name"]: e for e in entries}
    lines = []
    for entry in entries:
        if entry["role"] != "bad":
            continue
        twin = by_name[entry["pair"]]
        cells = [entry["name"].replace("-bad", ""), entry["split"], entry["saves"], str(len(entry["wall_ms"]))]
        for key in ("wall_ms", "active_ms"):
            bad, good = statistics.median(entry[key]), statistics.median(twin[key])
            cells += [f"{bad / 1000:.1f}", f"{good / 1000:.1f}", f"{(bad - good) / 1000:.1f}",
                      f"{max(noise(entry[key]), noise(twin[key])):.0%}" if len(entry[key]) > 1 else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    words = sys.argv[1:]
    entries = json.loads((HERE / "labels.json").read_text())
    if words and words[0] == "--table":
        print("| pair | split | saves | runs | wall: bad s | good s | saved s | noise | active: bad s | good s | saved s | noise |")
        print("|" + "---|" * 12)
        print("\n".join(table(entries)))
        return 0
    if words and words[0] == "--show":
        for entry in entries:
            if any(entry["name"].startswith(w) for w in words[1:]):
                show(entry)
        return 0
    wrong = 0
    for entry in entries:
        if words and not any(entry["name"].startswith(w) for w in words):
            continue
        found = problems(entry)
        wrong += bool(found)
        for line in found:
            print(f"{entry['name']}: {line}")
    logs = {f"logs/{p.name}" for p in (HERE / "logs").iterdir()}
    for stray in sorted(logs ^ {e["log"] for e in entries}):
        wrong += 1
        print(f"{stray}: a log without a label, or a label without its log")
    print(f"{len(entries)} labels, {wrong} not proven")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
