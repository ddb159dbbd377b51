"""Work that was done and lost: failed tasks, lost executors, failed jobs, copies that lose."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from kit import BOTH, executors, expected, local, pair, standalone


def flaky(spark: Any, failing: bool) -> None:
    """Some tasks fail late and are tried again, as with a service that drops connections."""
    from pyspark import TaskContext

    def work(index: int, rows: Any) -> Any:
        time.sleep(2.0)
        if failing and index % 2 == 0 and TaskContext.get().attemptNumber() < 2:
            raise ConnectionResetError("the service closed the connection")
        return iter([sum(rows)])

    spark.sparkContext.parallelize(range(800), 16).mapPartitionsWithIndex(work).sum()


def killed_executor(spark: Any, kill: bool) -> None:
    """An executor dies while its shuffle output is being read: fetch failures, then the map stage again."""
    from common import executor_pid, in_thread, wait_until

    def produce(index: int, rows: Any) -> Any:
        time.sleep(2.0)
        return ((n % 16, n) for n in rows)

    def consume(rows: Any) -> Any:
        total = sum(value for _, value in rows)
        time.sleep(2.0)
        return iter([total])

    sc = spark.sparkContext
    keyed = sc.parallelize(range(1600), 8).mapPartitionsWithIndex(produce).partitionBy(16)
    job = in_thread(lambda: keyed.mapPartitions(consume).sum())
    status = sc.statusTracker()
    wait_until(lambda: (info := status.getStageInfo(1)) is not None and info.numActiveTasks > 0, 60)
    time.sleep(1.0)
    if kill:
        pid = executor_pid(sc.applicationId, min(executors(spark), key=int))
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
    job.join()


def failing_job(spark: Any, failing: bool) -> None:
    """The last of three jobs meets a bad record after six seconds of work."""
    from common import quietly

    rows = spark.range(0, 1600, 1, 16)
    rows.selectExpr("length(reflect('java.lang.Thread', 'sleep', 10L)) as n").agg({"n": "sum"}).collect()
    check = "if(id = 1450, raise_error('bad record'), '')" if failing else "''"
    parsed = rows.selectExpr("length(reflect('java.lang.Thread', 'sleep', 15L)) as n", f"{check} as checked").agg({"n": "sum", "checked": "max"})
    quietly(parsed.collect) if failing else parsed.collect()


def speculating(spark: Any) -> None:
    """Tasks of uneven but natural length; eager copies of the longer ones only cost slots."""

    def work(index: int, rows: Any) -> Any:
        time.sleep(1.0 + 2.5 * (index * 7 % 8) / 8)
        return ((n % 4, n) for n in rows)

    spark.sparkContext.parallelize(range(480), 24).mapPartitionsWithIndex(work).reduceByKey(max, 4).collect()
    time.sleep(3)  # a killed Python worker takes two seconds to die, and only then its task ends


EAGER = {"spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.multiplier": "1.1",
         "spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "100ms"}

pair("fail-task-retries", "fail-task", flaky, versions=BOTH, conf={"spark.master": "local[8, 4]"}, bad={"failing": True}, good={"failing": False},
     expect=[expected("FAIL", "failures", "the stage of 16 tasks: 16 attempts fail")], allow=["RETRY", "STRAG"],
     claims={"app.failed_tasks": ("==16", "==0"), "app.failed_jobs": ("==0", "==0"), "app.failed_task_s": (">=25", "==0")},
     notes="each second task fails twice after two seconds")
pair("fail-executor-killed", "fail-executor", killed_executor, cluster=standalone(4, 2), bad={"kill": True}, good={"kill": False},
     conf={"spark.shuffle.io.maxRetries": "1", "spark.shuffle.io.retryWait": "1s"}, versions=BOTH,
     expect=[expected("FAIL", "failures", "executor killed (137), its tasks and map output lost"),
             expected("RETRY", "retryWaste", "stage attempts after the first")], allow=["SFAIL", "STRAG", "LOCAL", "HOST"],
     claims={"app.executors_lost": (">=1", "==0"), "app.fetch_failures": (">=1", "==0"), "app.stage_retries": (">=1", "==0"),
             "app.failed_jobs": ("==0", "==0")})
pair("fail-job", "fail-job", failing_job, versions=BOTH, bad={"failing": True}, good={"failing": False}, saves="none",
     expect=[expected("SFAIL", "stageFailed", "the second job's stage", "critical")], allow=["JOBS", "FAIL", "RETRY"],
     claims={"app.failed_jobs": ("==1", "==0"), "app.failed_stages": ("==1", "==0"), "app.broken_sql": ("==1", "==0")},
     notes="the driver catches the error and ends normally; nothing to compare in time")
pair("spec-waste", "spec-waste", speculating, cluster=standalone(3, 2), bad_conf=EAGER,
     expect=[expected("SPEC", "speculationWaste", "the map stage: copies that lose", "info")], allow=["STRAG", "HOST"],
     claims={"app.speculative": (">=4", "==0"), "app.killed_s": (">=3", "==0")}, saves="core",
     notes="losing copies take slots; the twin does not speculate")
