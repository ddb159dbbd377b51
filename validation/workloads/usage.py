"""Capacity that was held and not used."""

from __future__ import annotations

import time
from typing import Any

from kit import expected, local, nap, pair, standalone

METRICS = {"spark.eventLog.logStageExecutorMetrics": "true", "spark.executor.heartbeatInterval": "2s"}


def one_task(spark: Any) -> None:
    spark.range(0, 6000, 1, 1).selectExpr(f"{nap(2)} as n").agg({"n": "sum"}).collect()


def driver_only(spark: Any, alone: bool) -> None:
    """The cluster is held while the driver waits for something else."""
    spark.range(0, 2400, 1, 24).selectExpr(f"{nap(5)} as n").agg({"n": "sum"}).collect()
    if alone:
        time.sleep(10)
    spark.range(0, 2400, 1, 24).selectExpr(f"{nap(5)} as n").agg({"n": "sum"}).collect()


def even_work(spark: Any) -> None:
    spark.range(0, 4800, 1, 48).selectExpr(f"{nap(5)} as n").agg({"n": "sum"}).collect()


pair("util-idle-cores", "util-idle", one_task, bad_cluster=standalone(4, 2), good_cluster=standalone(1, 1), conf=METRICS, saves="core",
     expect=[expected("UTIL", "utilization", "one task at a time on eight cores", "info")], allow=["SHAPE", "PART", "MEM", "SLOW"], good_allow=["MEM"],
     claims={"app.busy_share": ("<0.2", ">=0.3"), "app.idle_core_s": (">=60", "<30")}, notes="the twin has one core, and takes as long")
pair("util-driver-only", "util-driver", driver_only, cluster=standalone(3, 2), bad={"alone": True}, good={"alone": False},
     expect=[expected("DRIVER", "driverBound", "ten seconds between two jobs"), expected("UTIL", "utilization", "", "info")], allow=["MEM"],
     claims={"app.no_job_longest_s": (">=9", "<3")})
pair("mem-over-provisioned", "mem-over", even_work, bad_cluster=standalone(2, 2, "2g"), good_cluster=standalone(2, 2, "500m"), conf=METRICS, saves="core",
     expect=[expected("MEM", "memoryUtilization", "heap of 2 GiB with little in it", "info")], allow=["UTIL"], good_allow=["MEM", "UTIL"],
     claims={"app.executors": ("==2", "==2")}, notes="peaks are in the log through logStageExecutorMetrics")
