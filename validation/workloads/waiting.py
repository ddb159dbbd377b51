"""Tasks that wait for executors, for other jobs, or for a place near their data."""

from __future__ import annotations

import time
from typing import Any

from kit import add_worker, executors, expected, local, nap, pair, standalone


def work(spark: Any, wait_for: int = 0) -> None:
    """72 tasks of half a second, started when `wait_for` executors are there."""
    from common import wait_until

    wait_until(lambda: len(executors(spark)) >= wait_for, 60)
    spark.range(0, 7200, 1, 72).selectExpr(f"{nap(5)} as n").agg({"n": "sum"}).collect()


def two_jobs(spark: Any) -> None:
    """A small job is submitted a second after a large one."""
    from common import in_thread

    fair = spark.sparkContext.getConf().get("spark.scheduler.mode", "FIFO") == "FAIR"

    def job(pool: str, tasks: int, milliseconds: int) -> None:
        if fair:
            spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
        spark.range(0, tasks, 1, tasks).selectExpr(f"{nap(milliseconds)} as n").agg({"n": "sum"}).collect()

    large = in_thread(lambda: job("large", 80, 900))
    time.sleep(2.0)
    small = in_thread(lambda: job("small", 8, 300))
    large.join()
    small.join()


def near_data(spark: Any) -> None:
    """All cached blocks are on the first executor; the second one comes later and is empty."""
    from common import wait_until

    rows = spark.range(0, 3600, 1, 36).cache()
    rows.count()
    add_worker(spark, 2, 2)
    wait_until(lambda: len(executors(spark)) == 2, 60)
    rows.selectExpr(f"{nap(8)} as n").agg({"n": "sum"}).collect()


RAMP = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "1", "spark.dynamicAllocation.maxExecutors": "4"}

pair("sched-late-executors", "sched-cold", work, bad_cluster=standalone(3, 2, late_s=10), good_cluster=standalone(3, 2),
     expect=[expected("COLD", "coldStart", "the first stage is submitted long before the first executor comes")], allow=["UTIL", "SCHED", "DRIVER"],
     claims={"app.first_executor_wait_s": (">=7", "<2"), "app.executors": ("==3", "==3")},
     notes="the cluster has no free worker for ten seconds")
pair("sched-slow-ramp", "sched-ramp", work, cluster=standalone(4, 2), conf=RAMP, good={"wait_for": 4},
     bad_conf={"spark.dynamicAllocation.schedulerBacklogTimeout": "3s", "spark.dynamicAllocation.sustainedSchedulerBacklogTimeout": "4s"},
     good_conf={"spark.dynamicAllocation.initialExecutors": "4", "spark.dynamicAllocation.executorIdleTimeout": "60s"},
     expect=[expected("COLD", "coldStart", "executors come in steps while tasks wait")], allow=["SCHED", "UTIL", "CHRN", "CFG"], good_allow=["CFG"],
     claims={"app.last_executor_s": (">=5", "<2"), "app.executors": (">=3", "==4")},
     notes="dynamic allocation from one executor, backlog timeouts of 3 and 4 s; the twin starts with four")
pair("sched-fifo-queue", "sched-queue", two_jobs, good_conf={"spark.scheduler.mode": "FAIR"}, saves="none",
     expect=[expected("SCHED", "schedulingWait", "the small job's stage waits behind the large job", "info")], allow=["UTIL"],
     claims={"any.wait_s": (">=5", "<3")}, notes="FIFO against FAIR; the run takes as long, only the small job does not")
pair("sched-locality-wait", "sched-locality", near_data, cluster=standalone(1, 2),
     bad_conf={"spark.locality.wait": "15s"}, good_conf={"spark.locality.wait": "0s"},
     expect=[expected("SCHED", "schedulingWait", "36 tasks on one executor while the other is empty: locality wait")], allow=["UTIL", "LOCAL", "SHAPE", "CSTOR"],
     good_allow=["LOCAL"], claims={"main.nonlocal_share": ("<0.2", ">=0.2"), "main.tasks": ("==36", "==36"), "app.executors": ("==2", "==2")})
