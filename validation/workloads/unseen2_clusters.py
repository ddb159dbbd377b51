"""Executors that are slow, gone too early, or busy with copies; only scored (split `blind-2`)."""

from __future__ import annotations

import time
from typing import Any

from kit import BOTH, executors, expected, nap, pair, standalone

KEEP = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def slow_mount(spark: Any, slow: bool) -> None:
    """Each task on one host of four waits for a mount before its first row; its rows are as fast as everywhere."""
    from common import executor_pid

    pid = executor_pid(spark.sparkContext.applicationId, max(executors(spark), key=int)) if slow else 0
    first = "pmod(monotonically_increasing_id(), 8589934592) = 0"
    wait = f"if({first}, if(reflect('java.lang.ProcessHandle', 'current') = '{pid}', 2000, 5), 5)"
    spark.range(0, 4000, 1, 40).selectExpr("id * 7 as reading", "id % 400 as sensor", f"{nap(wait)} as read").createOrReplaceTempView("readings")
    rows = spark.sql("select sensor, reading, max(read) as read from readings group by sensor, reading")
    rows.selectExpr("sensor", "read", f"{nap(wait)} as checked").agg({"read": "sum", "checked": "sum", "sensor": "max"}).collect()


def two_phases(spark: Any) -> None:
    """Load, eight seconds of waiting for an approval, then the large part."""
    spark.range(0, 3200, 1, 32).selectExpr("id % 12 as lot", f"{nap(8)} as n").groupBy("lot").sum("n").collect()
    time.sleep(8)
    spark.range(0, 6400, 1, 64).selectExpr("id % 12 as lot", f"{nap(12)} as n").groupBy("lot").sum("n").collect()


def solver(spark: Any) -> None:
    """Monte Carlo in six rounds: what a task takes is up to its dice, and a copy throws the same dice."""
    import random

    def simulate(index: int, rows: Any) -> Any:
        rows = list(rows)
        time.sleep(random.Random(f"{rows[0]} {index}").uniform(0.7, 3.2))
        return iter([sum(rows)])

    for first in range(0, 600, 100):
        spark.sparkContext.parallelize(range(first, first + 1200), 12).mapPartitionsWithIndex(simulate).map(lambda total: (total % 7, total)).reduceByKey(max, 6).collect()


PHASES = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true", "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
          "spark.dynamicAllocation.minExecutors": "1", "spark.dynamicAllocation.initialExecutors": "4", "spark.dynamicAllocation.maxExecutors": "4",
          "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout": "3s"}

pair("unseen2-slow-mount", "blind2-host", slow_mount, bad={"slow": True}, good={"slow": False}, cluster=standalone(4, 2), versions=BOTH,
     conf=KEEP | {"spark.sql.shuffle.partitions": "40"},
     expect=[expected("HOST", "slowHost", "one host of four, in both stages of 40 tasks: 2 s more for each task")], allow=["STRAG", "SHAPE"],
     forbid=["SKEW", "GC", "COLD"], claims={"main.slow_host_ratio": (">=2", "<1.6"), "main.hosts": ("==4", "==4"), "main.records_ratio": ("<1.6", "<1.6")},
     notes="a constant for each task, not for each row")
pair("unseen2-two-phases", "blind2-cold-again", two_phases, cluster=standalone(4, 2), conf=PHASES, bad_conf={"spark.dynamicAllocation.executorIdleTimeout": "2s"},
     good_conf={"spark.dynamicAllocation.executorIdleTimeout": "60s"},
     expect=[expected("COLD", "coldStart", "three executors leave in the pause; the second phase waits for others")], allow=["CHRN", "SCHED", "UTIL", "SHAPE", "DRIVER", "MEM"],
     good_allow=["DRIVER", "UTIL", "MEM", "COLD"], forbid=["FAIL", "RETRY", "SKEW", "HOST"], claims={"app.executors": (">=6", "==4"), "app.last_executor_s": (">=12", "")},
     notes="the pause is in both twins")
pair("unseen2-solver", "blind2-speculation", solver, cluster=standalone(3, 2), saves="core", conf={"spark.speculation": "true", "spark.speculation.interval": "100ms"},
     bad_conf={"spark.speculation.quantile": "0.3", "spark.speculation.multiplier": "1.05"},
     expect=[expected("SPEC", "speculationWaste", "copies of tasks that are as slow as their originals", "info")], allow=["CFG", "STRAG", "UTIL", "SLOW"], good_allow=["SPEC", "SLOW"],
     forbid=["SKEW", "HOST", "FAIL"], claims={"app.speculative": (">=8", "<8"), "app.killed_s": (">=4", "")}, notes="task times are random from 0.7 to 3.2 s; the twin has the default quantile and multiplier")
