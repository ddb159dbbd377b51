"""Applications with nothing wrong, several of which look as if there were."""

from __future__ import annotations

from typing import Any

from kit import BOTH, control, local, nap, noise, slowly, standalone

EVEN = {"spark.sql.adaptive.coalescePartitions.enabled": "false", "spark.sql.shuffle.partitions": "16"}


def balanced_join(spark: Any) -> None:
    spark.range(0, 10000, 1, 16).selectExpr("id % 5000 as k", "id as v", f"{noise('id', 4)} as payload").createOrReplaceTempView("facts")
    spark.range(0, 14000, 1, 8).selectExpr("id as k", f"{noise('id')} as about").createOrReplaceTempView("dim")
    slowly(spark.sql("select * from facts join dim using (k)"), 3, "max(length(payload))", "max(length(about))").collect()


def aggregation(spark: Any) -> None:
    spark.range(0, 12000, 1, 32).selectExpr("id % 1000 as k", f"{nap(3)} as n").groupBy("k").sum("n").agg({"sum(n)": "max"}).collect()


def broadcast_join(spark: Any) -> None:
    spark.range(0, 12000, 1, 16).selectExpr("id % 100 as k", "id as v").createOrReplaceTempView("facts")
    spark.range(0, 100, 1, 1).selectExpr("id as k", "concat('shop ', id) as about").createOrReplaceTempView("dim")
    slowly(spark.sql("select * from facts join dim using (k)"), 3, "max(about)").collect()


def cached_pipeline(spark: Any) -> None:
    rows = spark.range(0, 12000, 1, 16).selectExpr("id", "id % 10 as k", f"{nap(4)} as n").cache()
    rows.count()
    rows.groupBy("k").count().collect()
    rows.agg({"n": "sum"}).collect()
    rows.unpersist()


def windows(spark: Any) -> None:
    spark.range(0, 10000, 1, 16).selectExpr("id", "id % 320 as shop", f"{noise('id', 1)} as about").createOrReplaceTempView("sales")
    spark.sql("select id, about, sum(id) over (partition by shop order by id) as total from sales").createOrReplaceTempView("totals")
    slowly(spark.table("totals"), 3, "max(total)", "max(length(about))").collect()


def log_normal(spark: Any) -> None:
    """Task times that vary as real ones do: sigma 0.3."""
    times = "cast(900 * exp(0.3 * randn(7)) as bigint)"
    spark.range(0, 64, 1, 64).selectExpr(f"{nap(times)} as n").agg({"n": "sum"}).collect()


def etl(spark: Any) -> None:
    from common import scratch

    place = scratch("etl")
    rows = spark.range(0, 400000, 1, 8).selectExpr("id", "id % 3 as k", f"{noise('id', 1)} as about", f"if(id % 100 = 0, {nap(8)}, 0) as n")
    rows.repartition(4).write.parquet(place)
    slowly(spark.read.parquet(place).where("k = 1"), "if(id % 50 = 0, 5, 0)").collect()


def small(spark: Any) -> None:
    spark.range(0, 1000, 1, 4).selectExpr("sum(id)").collect()


def cold_wave(spark: Any) -> None:
    """The first wave of each executor loads classes; later waves do not."""
    spark.range(0, 9600, 1, 48).selectExpr("id % 100 as k", f"{nap(4)} as n").groupBy("k").sum("n").agg({"sum(n)": "max"}).collect()


control("control-balanced-join", balanced_join, versions=BOTH, claims={"main.time_ratio": "<2", "plan.SortMergeJoin": "==1"},
        conf=EVEN | {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1"})
control("control-aggregation", aggregation, cluster=standalone(2, 4), claims={"main.time_ratio": "<3", "app.executors": "==2"}, conf=EVEN)
control("control-broadcast-join", broadcast_join, claims={"plan.BroadcastHashJoin": "==1", "main.time_ratio": "<2.5"})
control("control-cached-pipeline", cached_pipeline, versions=BOTH, claims={"main.time_ratio": "<2.5", "plan.InMemoryTableScan": ">=3"}, conf=EVEN)
control("control-windows", windows, family="control-hold-out", claims={"main.time_ratio": "<2.5", "plan.Window": "==1"}, conf=EVEN)
control("control-log-normal", log_normal, versions=BOTH, claims={"main.time_ratio": "<4", "main.tasks": "==64"},
        notes="64 tasks of about a second, log-normal with sigma 0.3")
control("control-etl", etl, cluster=standalone(2, 2), family="control-hold-out", claims={"main.time_ratio": "<4", "any.output_records": ">=1"})
control("control-small", small, claims={"any.run_s": "<8", "app.jobs": "<=2"}, notes="a job of one second after the start of Spark")
control("control-cold-wave", cold_wave, cluster=standalone(4, 2), versions=BOTH, claims={"app.executors": "==4", "main.records_ratio": "<1.2"},
        notes="the first tasks of each executor are slow for want of loaded classes, not for their data")
