"""How workloads are declared, and how one is run.

A theme module declares pairs (a pathology and the same job repaired) and controls. `make.py`
imports the declarations without pyspark; only a run starts Spark:

    python kit.py NAME
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from time import sleep
from typing import Any

THEMES = ("skew", "sizing", "memory", "slow_hosts", "losses", "waiting", "drivers", "reuse", "plans", "scans",
          "settings", "streams", "usage", "healthy", "unseen_queries", "unseen_clusters", "unseen_streams", "unseen_healthy",
          "unseen2_skew", "unseen2_queries", "unseen2_reuse", "unseen2_sources", "unseen2_clusters", "unseen2_losses",
          "unseen2_streams", "unseen2_healthy")

# Families that are only scored, never looked at while a threshold is chosen. By family, so that no variant of a
# pathology is seen on both sides.
HOLD_OUT = frozenset({
    "skew-group", "skew-null", "part-shuffle-tiny", "part-few", "spill-aggregate", "gc-churn", "straggler-task",
    "fail-executor", "sched-cold", "sched-locality", "driver-loop", "driver-collect", "plan-smallfiles-write",
    "plan-explosion", "plan-cartesian", "plan-expand", "plan-pushdown", "cfg-overhead", "stream-state", "util-driver",
    "control-hold-out",
})

# Families of this prefix were written without knowing how any detector decides, and are only scored.
BLIND = "blind-"

# The same once more, after the first blind families had been looked at.
BLIND_2 = "blind2-"


@dataclass(frozen=True)
class Cluster:
    """Where a workload runs: `local[cores]`, or a standalone cluster of one executor per worker."""

    cores: int
    workers: int = 0
    memory: str = "600m"
    late_s: float = 0

    @property
    def words(self) -> str:
        return f"standalone {self.workers}x{self.cores} {self.memory}" if self.workers else f"local[{self.cores}]"


def local(cores: int = 8) -> Cluster:
    return Cluster(cores)


def standalone(workers: int, cores: int, memory: str = "600m", late_s: float = 0) -> Cluster:
    """With `late_s` the workers start that long after the application."""
    return Cluster(cores, workers, memory, late_s)


@dataclass(frozen=True)
class Workload:
    """One application to run, and what its log must then show (`claims`, read by check_labels.py)."""

    name: str
    family: str
    role: str
    body: Callable[..., None]
    arguments: Mapping[str, Any]
    cluster: Cluster
    conf: Mapping[str, str]
    expect: tuple[dict[str, str], ...]
    allow: tuple[str, ...]
    claims: Mapping[str, str]
    pair: str | None = None
    saves: str = "wall"
    versions: tuple[str, ...] = ("4.3.0",)
    repeats: int = 1
    data: str | None = None
    exit_code: int = 0
    notes: str = ""
    forbid: tuple[str, ...] = ()

    @property
    def split(self) -> str:
        if self.family.startswith(BLIND):
            return "blind"
        if self.family.startswith(BLIND_2):
            return "blind-2"
        return "hold-out" if self.family in HOLD_OUT else "tune"


RUNS: dict[str, Workload] = {}
BOTH = ("4.3.0", "3.5.9")


def expected(tag: str, kind: str, stage: str = "", min_severity: str = "warning") -> dict[str, str]:
    """One finding that a report on the bad log must hold."""
    return {"tag": tag, "type": kind, "stage": stage, "min_severity": min_severity}


def pair(name: str, family: str, body: Callable[..., None], *, expect: Iterable[dict[str, str]],
         claims: Mapping[str, tuple[str, str]], cluster: Cluster = local(), conf: Mapping[str, str] | None = None,
         bad: Mapping[str, Any] | None = None, good: Mapping[str, Any] | None = None,
         bad_conf: Mapping[str, str] | None = None, good_conf: Mapping[str, str] | None = None,
         bad_cluster: Cluster | None = None, good_cluster: Cluster | None = None,
         allow: Iterable[str] = (), good_allow: Iterable[str] = (), saves: str = "wall",
         versions: tuple[str, ...] = ("4.3.0",), data: str | None = None, bad_exit: int = 0, notes: str = "",
         forbid: Iterable[str] = ()) -> None:
    """Declare a pathology and its repaired twin; `claims` gives what each side's log shows, `forbid` wrong causes."""
    sides = (("bad", bad, bad_conf, bad_cluster, tuple(expect), tuple(allow)),
             ("good", good, good_conf, good_cluster, (), tuple(good_allow)))
    for index, (role, arguments, extra, place, wanted, allowed) in enumerate(sides):
        other = "good" if role == "bad" else "bad"
        add(Workload(
            name=f"{name}-{role}", family=family, role=role, body=body, arguments=dict(arguments or {}),
            cluster=place or cluster, conf=dict(conf or {}) | dict(extra or {}), expect=wanted, allow=allowed,
            claims={key: both[index] for key, both in claims.items() if both[index]}, pair=f"{name}-{other}",
            saves=saves, versions=versions, repeats=3 if saves == "wall" else 1, data=data, exit_code=bad_exit if role == "bad" else 0, notes=notes,
            forbid=tuple(forbid)))


def control(name: str, body: Callable[..., None], *, claims: Mapping[str, str], cluster: Cluster = local(),
            conf: Mapping[str, str] | None = None, allow: Iterable[str] = (), versions: tuple[str, ...] = ("4.3.0",),
            family: str = "control", data: str | None = None, notes: str = "", forbid: Iterable[str] = ()) -> None:
    """Declare a healthy application, often one that only looks ill."""
    add(Workload(name=name, family=family, role="control", body=body, arguments={}, cluster=cluster, conf=dict(conf or {}),
                 expect=(), allow=tuple(allow), claims=dict(claims), saves="none", versions=versions, data=data, notes=notes,
                 forbid=tuple(forbid)))


def add(workload: Workload) -> None:
    if workload.name in RUNS:
        raise ValueError(f"two workloads are called {workload.name}")
    RUNS[workload.name] = workload


DATA: dict[str, Callable[[Any, str], None]] = {}


def dataset(name: str) -> Callable[[Callable[[Any, str], None]], Callable[[Any, str], None]]:
    """Register a table that is written once, by an application of its own, before a workload reads it."""

    def register(write: Callable[[Any, str], None]) -> Callable[[Any, str], None]:
        DATA[name] = write
        return write

    return register


def data_path(name: str) -> str:
    from common import WORK

    return str(WORK / "data" / name)


def declare() -> None:
    """Import every theme that exists, which fills RUNS and DATA."""
    for theme in THEMES:
        try:
            import_module(theme)
        except ModuleNotFoundError as error:
            if error.name != theme:
                raise


def nap(milliseconds: int | str) -> str:
    """SQL that sleeps in the JVM, once per row, and is 4 (the length of "null").

    A stand-in for work that takes the time but not this machine's cores, so that eight slots on
    two cores behave like eight cores. Non-deterministic for Spark, hence never folded or shared.
    """
    return f"length(reflect('java.lang.Thread', 'sleep', cast({milliseconds} as bigint)))"


def slowly(rows: Any, milliseconds: int | str, *outputs: str, when: str = "true") -> Any:
    """A sleep for each row, then one row of aggregates; the aggregates keep columns from being pruned.

    `when` spares rows the call itself: a sleep of 0 still gives the processor away.
    """
    sleep = nap(milliseconds) if when == "true" else f"if({when}, {nap(milliseconds)}, 0)"
    return rows.selectExpr("*", f"{sleep} as nap").selectExpr("sum(nap)", *outputs)


def noise(column: str, pieces: int = 8) -> str:
    """SQL for text that does not compress, 128 characters a piece."""
    return "concat(" + ", ".join(f"sha2(concat({column}, '-{i}'), 512)" for i in range(pieces)) + ")"


def executors(spark: Any) -> set[str]:
    """Ids of the executors that the driver believes in."""
    found = spark.sparkContext._jsc.sc().getExecutorIds()
    return {str(found.apply(i)) for i in range(found.size())}


_added: list[Any] = []


def add_worker(spark: Any, number: int, cores: int) -> None:
    """Start one more worker of the application's cluster, on an address of its own."""
    import cluster as clusters
    from common import WORK

    _added.append(clusters.spawn("org.apache.spark.deploy.worker.Worker", "--host", f"127.0.0.{number}", "--webui-port",
                                 str(clusters.free_port()), "--cores", str(cores), "--memory", "3g",
                                 "--work-dir", str(WORK / "worker"), spark.sparkContext.master))


def end_workers() -> None:
    """End the workers that `add_worker` started, with their executors."""
    for process in _added:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(workload: Workload) -> None:
    """Start what the workload needs, run it, and stop the application."""
    import cluster as clusters
    from common import in_thread, session, wait_until

    place = workload.cluster
    with ExitStack() as stack:
        if place.workers:
            master = stack.enter_context(clusters.standalone(0 if place.late_s else place.workers, place.cores, "3g"))
            stack.callback(end_workers)
            settings = {"spark.executor.memory": place.memory, "spark.executor.cores": str(place.cores)} | dict(workload.conf)
        else:
            master = f"local[{place.cores}]"
            settings = dict(workload.conf)
        master = settings.pop("spark.master", master)
        spark = session(workload.name, master=master, **{k.removeprefix("spark.").replace(".", "__"): v for k, v in settings.items()})
        if place.late_s:
            in_thread(lambda: (sleep(place.late_s), [add_worker(spark, n + 1, place.cores) for n in range(place.workers)]))
        elif place.workers and settings.get("spark.dynamicAllocation.enabled") != "true":
            wait_until(lambda: len(executors(spark)) == place.workers, 60)
        workload.body(spark, **workload.arguments)
        spark.stop()


def prepare(name: str) -> None:
    """Write a data set; the application that does so leaves no event log."""
    from common import session

    spark = session(name, master="local[2]", eventLog__enabled="false")
    DATA[name](spark, data_path(name))
    spark.stop()


def warm() -> None:
    """Load the classes that most workloads use; what is loaded goes into the shared archive."""
    from common import scratch, session

    spark = session("warm", master="local[2]", sql__autoBroadcastJoinThreshold=-1)
    spark.range(0, 100, 1, 2).selectExpr("id as k", f"{nap(1)} as n", f"{noise('id', 2)} as t").createOrReplaceTempView("a")
    place = scratch("warm")
    spark.sql("select k, count(distinct n) c, max(t) t from a join a b using (k, n, t) group by k").write.parquet(place)
    spark.read.parquet(place).cache().selectExpr("sum(c) over (order by k)", "*").collect()
    spark.stop()


if __name__ == "__main__":
    import kit  # the themes register with the module of that name, not with __main__

    kit.declare()
    if sys.argv[1] == "--prepare":
        kit.prepare(sys.argv[2])
    elif sys.argv[1] == "--warm":
        kit.warm()
    else:
        kit.run(kit.RUNS[sys.argv[1]])
