#!/usr/bin/env python3
"""Runs real Spark and leaves one plain event log of many small SQL tasks, or of large plans.

    python bench/make_log.py tasks OUT [--tasks N] [--seconds S]
    python bench/make_log.py plans OUT [--bytes N]

Needs `pyspark` and Java 17. `tasks` runs joins and aggregations over hundreds of partitions until
N tasks have run or S seconds have passed, whichever is first; `multiply.py` makes up the rest.
`plans` runs one adaptive query whose plan events hold about N bytes together.
OUT is the directory the log is written to, under the name Spark gives it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def session(name: str, out: Path, **conf: str) -> SparkSession:
    """A local session that writes a plain, single event log and no console chatter."""
    builder = (
        SparkSession.builder.appName(name)
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.eventLog.dir", out.as_uri())
        .config("spark.sql.autoBroadcastJoinThreshold", "-1")
        .config("spark.sql.adaptive.coalescePartitions.enabled", "false")
        # Events wait for the log rather than being dropped: a log with gaps measures nothing.
        .config("spark.scheduler.listenerbus.eventqueue.capacity", "200000")
    )
    for key, value in conf.items():
        builder = builder.config("spark." + key.replace("__", "."), value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def many_tasks(spark: SparkSession, round_: int) -> None:
    """A sort-merge join of two shuffled sides, an aggregation over it and a final sort."""
    left = spark.range(0, 6000, 1, 80).select(
        (F.col("id") % 997).alias("k"), F.col("id"), F.md5(F.col("id").cast("string")).alias("text")
    )
    right = spark.range(0, 3000, 1, 60).select((F.col("id") % 997).alias("k"), (F.col("id") * 3).alias("w"))
    joined = left.where(F.col("id") % (round_ % 7 + 2) != 0).join(right, "k")
    grouped = joined.groupBy((F.col("k") % 50).alias("g")).agg(
        F.sum("w"), F.max("text"), F.countDistinct("id"), F.avg("w")
    )
    grouped.orderBy(F.desc("g")).collect()


def make_tasks(spark: SparkSession, tasks: int, seconds: float) -> None:
    """Rounds of the same shape until there are enough tasks or no time is left."""
    started, round_ = time.monotonic(), 0
    tracker = spark.sparkContext._jsc.sc().statusStore()
    while time.monotonic() - started < seconds:
        spark.sparkContext.setJobGroup(f"round-{round_}", f"round {round_}")
        many_tasks(spark, round_)
        round_ += 1
        done = tracker.executorSummary("driver").completedTasks()
        print(f"round {round_}: {done} tasks, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        if done >= tasks:
            return


def wide_plan(spark: SparkSession, branches: int) -> DataFrame:
    """Many joins and aggregations with long expressions in one plan."""
    rows = spark.range(0, 20, 1, 1).select(
        "id", *[(F.col("id") * n + n).alias(f"column_{n:02}_of_the_wide_table") for n in range(20)]
    )
    names = [name for name in rows.columns if name != "id"]
    parts = []
    for branch in range(branches):
        conditions = F.lit(branch)
        for n, name in enumerate(names[:12]):
            conditions = F.when(F.col(name) > n + branch, F.col(name) * (n + 1)).otherwise(conditions)
        part = rows.where(F.col("id") != branch).withColumn("picked", conditions)
        parts.append(part.groupBy((F.col("id") % 3).alias("g")).agg(
            F.sum("picked").alias("picked"), *[F.max(name).alias(name) for name in names]))
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    return whole.groupBy("g").agg(F.sum("picked"))


def plan_bytes(out: Path) -> int:
    """Bytes of the log's lines that carry plans."""
    log = next(path for path in out.iterdir() if not path.name.startswith("."))
    with open(log, "rb") as lines:
        return sum(len(line) for line in lines if b'"sparkPlanInfo"' in line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tasks", "plans"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", type=int, default=160_000)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--branches", type=int, default=8, help="size of the plan, in branches of its union")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if arguments.what == "tasks":
        spark = session("many tasks", out, sql__shuffle__partitions="200")
        make_tasks(spark, arguments.tasks, arguments.seconds)
    else:
        spark = session("large plans", out, sql__shuffle__partitions="1", sql__maxMetadataStringLength="10000",
                        sql__debug__maxToStringFields="1000")
        wide_plan(spark, arguments.branches).collect()
    spark.stop()
    if arguments.what == "plans":
        print(f"{plan_bytes(out)} bytes of plan events", file=sys.stderr)


if __name__ == "__main__":
    main()
