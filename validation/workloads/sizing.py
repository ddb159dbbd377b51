"""Too many partitions, too few, or one."""

from __future__ import annotations

from typing import Any

from kit import BOTH, expected, local, nap, noise, pair, slowly, standalone


def tiny(spark: Any, partitions: int) -> None:
    """The same rows in many or few pieces."""
    spark.range(0, 8000, 1, partitions).selectExpr(f"{nap(1)} as n").agg({"n": "sum"}).collect()


def shuffle_tiny(spark: Any, partitions: int) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    spark.range(0, 40000, 1, 8).selectExpr("id % 8000 as k", "id as v").createOrReplaceTempView("rows")
    spark.sql("select k, max(v) as v from rows group by k").createOrReplaceTempView("groups")
    slowly(spark.table("groups"), 1, "max(v)").collect()


def few(spark: Any, partitions: int) -> None:
    spark.range(0, 14000, 1, partitions).selectExpr(f"{nap(1)} as n").agg({"n": "sum"}).collect()


def narrowed(spark: Any, coalesced: bool) -> None:
    """coalesce(1) before the write also takes the parallelism of everything before it."""
    from common import scratch

    rows = spark.range(0, 9000, 1, 16).selectExpr("id", f"{nap(1)} as n")
    (rows.coalesce(1) if coalesced else rows.repartition(1)).write.parquet(scratch("narrowed"))


def adaptive_single(spark: Any, coalescing: bool) -> None:
    """A join of little data with costly rows: AQE looks at bytes and leaves one partition."""
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", str(coalescing).lower())
    spark.range(0, 8000, 1, 8).selectExpr("id as k", "id * 3 as v").createOrReplaceTempView("a")
    spark.range(0, 8000, 1, 8).selectExpr("id as k", "id * 5 as w").createOrReplaceTempView("b")
    slowly(spark.sql("select * from a join b using (k)"), 1, "max(v + w)").collect()


def running_total(spark: Any, partitioned: bool) -> None:
    """A window without PARTITION BY moves everything into one partition."""
    spark.range(0, 9000, 1, 8).selectExpr("id", "id % 64 as shop", f"{noise('id', 1)} as about").createOrReplaceTempView("sales")
    by = "partition by shop" if partitioned else ""
    spark.sql(f"select id, about, sum(id) over ({by} order by id) as total from sales").createOrReplaceTempView("totals")
    slowly(spark.table("totals"), 1, "max(total)", "max(length(about))").collect()


pair("part-tiny", "part-tiny", tiny, versions=BOTH, bad={"partitions": 2000}, good={"partitions": 16},
     expect=[expected("TINY", "tinyTask", "the stage with 2000 tasks")], allow=["PART", "SCHED"],
     claims={"main.tasks": ("==2000", "==16"), "main.median_s": ("<0.1", ">0.3")},
     notes="4 ms of work in a task; the overhead uses the machine's real cores")
pair("part-shuffle-tiny", "part-shuffle-tiny", shuffle_tiny, bad={"partitions": 1600}, good={"partitions": 16},
     conf={"spark.sql.adaptive.coalescePartitions.enabled": "false"},
     expect=[expected("TINY", "tinyTask", "the shuffle stage with 1600 tasks")], allow=["PART", "SCHED", "SHFL"],
     claims={"any.tasks": ("==1600", "<=16")}, notes="spark.sql.shuffle.partitions far too high for the data")
pair("part-few", "part-few", few, versions=BOTH, bad={"partitions": 2}, good={"partitions": 16},
     expect=[expected("SHAPE", "stageShape", "the stage with 2 tasks on 8 cores: lowParallelism")], allow=["PART", "SLOW", "UTIL"],
     claims={"main.tasks": ("==2", "==16"), "main.wall_s": (">=6", "<4"), "app.executor_cores": ("==8", "==8")})
pair("part-coalesce-one", "part-single", narrowed, bad={"coalesced": True}, good={"coalesced": False},
     expect=[expected("SHAPE", "stageShape", "the write's only task: lowParallelism")], allow=["PART", "SLOW", "UTIL", "PLAN/singlePartition"],
     claims={"main.tasks": ("==1", "==16"), "main.wall_s": (">=8", "<4")},
     notes="coalesce(1) against repartition(1), which keeps the work before it parallel")
pair("part-aqe-coalesced", "part-coalesced", adaptive_single, versions=BOTH, bad={"coalescing": True}, good={"coalescing": False},
     conf={"spark.sql.shuffle.partitions": "16", "spark.sql.autoBroadcastJoinThreshold": "-1",
           "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1"},
     expect=[expected("SHAPE", "stageShape", "the join's only task: lowParallelism after AQE coalesced by bytes")],
     allow=["PART", "SLOW", "UTIL", "PLAN/underBroadcast"], good_allow=["PLAN/underBroadcast"],
     claims={"main.tasks": ("==1", "==16"), "main.wall_s": (">=7", "<4")})
pair("part-window-all", "part-window", running_total, versions=BOTH, bad={"partitioned": False}, good={"partitioned": True},
     conf={"spark.sql.shuffle.partitions": "16", "spark.sql.adaptive.coalescePartitions.enabled": "false"},
     expect=[expected("PLAN", "singlePartition", "the window's only task")], allow=["PART", "SHAPE", "SLOW", "UTIL"],
     claims={"main.tasks": ("==1", "==16"), "plan.Window": ("==1", "==1"), "main.wall_s": (">=8", "<4")},
     notes="a total over everything; repaired by a total per shop, which is what was meant")
pair("part-few-standalone", "part-few", few, cluster=standalone(4, 2), bad={"partitions": 2}, good={"partitions": 16},
     expect=[expected("SHAPE", "stageShape", "2 tasks on four executors: lowParallelism")], allow=["PART", "SLOW", "UTIL"],
     claims={"main.tasks": ("==2", "==16"), "main.wall_s": (">=6", "<5"), "app.executors": ("==4", "==4")})
