"""Executors killed for memory, a service that throttles, a result that is too large; only scored (split `blind-2`)."""

from __future__ import annotations

import time
from typing import Any

from kit import BOTH, expected, nap, noise, pair, standalone


def killed_for_memory(spark: Any, killing: bool) -> None:
    """The kernel kills two executors in the reduce stage, one after the other, as it does when a container is full."""
    from common import scratch

    marks = scratch("killed")

    def produce(index: int, rows: Any) -> Any:
        time.sleep(1.2)
        return ((n % 24, n) for n in rows)

    def consume(index: int, rows: Any) -> Any:
        import os
        import signal

        total = sum(value for _, value in rows)
        time.sleep(0.9)
        if killing and index in (4, 15) and not os.path.exists(f"{marks}-{index}"):
            open(f"{marks}-{index}", "w").close()
            daemon = os.getppid()
            with open(f"/proc/{daemon}/stat") as status:
                os.kill(int(status.read().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
            time.sleep(5)
        time.sleep(0.3)
        return iter([total])

    keyed = spark.sparkContext.parallelize(range(3600), 18).mapPartitionsWithIndex(produce).partitionBy(24)
    keyed.mapPartitionsWithIndex(consume).sum()


def throttled(spark: Any, greedy: bool) -> None:
    """Rows are sent to a service that answers 429 to a third of the partitions, late, twice."""
    from pyspark import TaskContext

    def send(rows: Any) -> None:
        context = TaskContext.get()
        time.sleep(0.004 * sum(1 for _ in rows))
        if greedy and context.partitionId() % 3 == 1 and context.attemptNumber() < 2:
            raise RuntimeError(f"429 Too Many Requests, partition {context.partitionId()}")

    spark.range(0, 2400, 1, 12).selectExpr("id % 20 as tariff", f"{nap(3)} as n").groupBy("tariff").sum("n").collect()
    spark.range(0, 7200, 1, 18).selectExpr("id", "concat('meter ', id) as body").foreachPartition(send)


def large_result(spark: Any, collecting: bool) -> None:
    """The driver asks for more than spark.driver.maxResultSize, is refused near the end, and writes the rows instead."""
    from common import scratch

    rows = spark.range(0, 24000, 1, 24).selectExpr("id", f"if(id % 6 = 0, {nap(8)}, 0) as matched", f"{noise('id', 4)} as text")
    spark.range(0, 1800, 1, 12).selectExpr(f"{nap(4)} as n").agg({"n": "sum"}).collect()
    if collecting:
        try:
            rows.collect()
        except Exception as error:  # noqa: BLE001 - as applications do
            print("too much:", type(error).__name__)
    rows.write.parquet(scratch("matches"))


pair("unseen2-killed", "blind2-lost-executors", killed_for_memory, bad={"killing": True}, good={"killing": False}, cluster=standalone(3, 2), versions=BOTH,
     expect=[expected("RETRY", "retryWaste", "two executors are killed (137) with their shuffle files: fetch failures, the map stage again")],
     allow=["FAIL", "SFAIL", "COLD", "JOBS", "UTIL", "SHAPE", "STRAG", "SCHED", "SLOW"], forbid=["SKEW", "HOST", "CHRN"],
     claims={"app.executors_lost": (">=2", "==0"), "app.failed_tasks": (">=2", "==0"), "app.failed_jobs": ("==0", "==0")}, notes="no heap runs out: the kernel ends the process from outside")
pair("unseen2-throttled", "blind2-flaky", throttled, bad={"greedy": True}, good={"greedy": False}, conf={"spark.master": "local[6, 4]"},
     expect=[expected("FAIL", "failures", "foreachPartition: six of eighteen partitions fail twice with 429")], allow=["STRAG", "SHAPE", "SLOW", "RETRY"], forbid=["SKEW", "HOST", "GC", "SFAIL"],
     claims={"app.failed_tasks": ("==12", "==0"), "app.failed_jobs": ("==0", "==0")}, notes="an attempt fails after 1.6 s of work")
pair("unseen2-large-result", "blind2-result-size", large_result, bad={"collecting": True}, good={"collecting": False}, conf={"spark.master": "local[6]", "spark.driver.maxResultSize": "8m"},
     versions=BOTH, expect=[expected("SFAIL", "stageFailed", "the collect's stage: results above spark.driver.maxResultSize", "critical")],
     allow=["JOBS", "FAIL", "CACHE", "DRIVER", "RETRY", "UTIL"], forbid=["SKEW", "HOST", "GC"], claims={"app.failed_jobs": ("==1", "==0"), "app.failed_stages": ("==1", "==0")},
     notes="no task fails for its own sake; the repair does not collect")
