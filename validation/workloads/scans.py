"""Reading and writing files."""

from __future__ import annotations

from typing import Any

from kit import BOTH, data_path, dataset, expected, local, nap, noise, pair, slowly


@dataset("small-files")
def small_files(spark: Any, place: str) -> None:
    """The same rows in 1500 files and in 8."""
    rows = spark.range(0, 60000, 1, 8).selectExpr("id", f"{noise('id', 1)} as text")
    rows.repartition(1500).write.parquet(f"{place}/many")
    rows.repartition(8).write.parquet(f"{place}/few")


def read_files(spark: Any, name: str) -> None:
    slowly(spark.read.schema("id long, text string").parquet(f"{data_path('small-files')}/{name}"), "if(id % 10 = 0, 1, 0)", "max(length(text))").collect()


def python_udf(spark: Any, python: bool) -> None:
    """A built-in function written again in Python."""
    from pyspark.sql.functions import expr, udf

    rows = spark.range(0, 1500000, 1, 8).selectExpr("id", "concat('order-', id, '-', id % 97) as ref")
    if python:
        digits = udf(lambda ref: sum(c.isdigit() for c in ref), "int")
        rows = rows.withColumn("digits", digits("ref"))
    else:
        rows = rows.withColumn("digits", expr("length(regexp_replace(ref, '[^0-9]', ''))"))
    rows.agg({"digits": "sum"}).collect()


pair("plan-smallfiles-read", "plan-smallfiles-read", read_files, versions=BOTH, data="small-files", bad={"name": "many"}, good={"name": "few"},
     expect=[expected("PLAN", "smallFiles", "the scan of 1500 files")], allow=["TINY", "PART"],
     claims={"plan.number-of-files-read": (">=1500", "<=8")}, notes="rows, and the sleep over them, are the same")
pair("plan-python-udf", "plan-python-udf", python_udf, bad={"python": True}, good={"python": False}, versions=BOTH, cluster=local(2),
     conf={"spark.sql.execution.pythonUDF.arrow.enabled": "false"},
     expect=[expected("PLAN", "pythonUdf", "BatchEvalPython over 1.5 million rows", "info")], allow=["STRAG"],
     claims={"plan.BatchEvalPython": ("==1", "==0")}, notes="CPU-bound: two slots on the machine's two cores")


@dataset("days")
def days(spark: Any, place: str) -> None:
    """Forty days, partitioned by day, with the time of day in a column of its own."""
    rows = spark.range(0, 400000, 1, 8).selectExpr(
        "id", f"{noise('id', 1)} as text", "timestamp_seconds(1767225600 + (id % 40) * 86400 + id % 86000) as ts",
        "date_add(date'2026-01-01', cast(id % 40 as int)) as day")
    rows.repartition(40, "day").write.partitionBy("day").parquet(place)


def one_day(spark: Any, pruned: bool) -> None:
    """The question is about one day; only a condition on the partition column skips the others."""
    rows = spark.read.schema("id long, text string, ts timestamp, day date").parquet(data_path("days"))
    if pruned:
        rows = rows.where("day = date'2026-01-15'")
    rows = rows.selectExpr("*", f"{nap('if(id % 20 = 0, 1, 0)')} as nap").where("to_date(ts) = date'2026-01-15'")
    rows.selectExpr("sum(nap)", "count(*)", "max(length(text))").collect()


@dataset("ordered")
def ordered(spark: Any, place: str) -> None:
    """Sorted by id, in small row groups, so that their statistics can skip most of the file."""
    rows = spark.range(0, 700000, 1, 4).selectExpr("id", f"{noise('id', 2)} as text")
    rows.write.option("parquet.block.size", str(1 << 20)).parquet(place)


def one_range(spark: Any, plain: bool) -> None:
    """A range of ids, asked for through a cast that Parquet knows nothing of."""
    rows = spark.read.schema("id long, text string").parquet(data_path("ordered"))
    condition = "id between 123000 and 123999" if plain else "cast(cast(id as string) as decimal(20,0)) between 123000 and 123999"
    for _ in range(10):
        rows.where(condition).selectExpr("count(*)", "max(text)").collect()


def write_days(spark: Any, arranged: bool) -> None:
    """Each task holds rows of every day and so writes a file for each."""
    from common import scratch

    rows = spark.range(0, 24000, 1, 10).selectExpr("id", f"{noise('id', 1)} as text", "date_add(date'2026-01-01', cast(id % 50 as int)) as day")
    if arranged:
        rows = rows.repartition(8, "day")
    rows.write.partitionBy("day").parquet(scratch("days"))


def one_file(spark: Any, name: str) -> None:
    slowly(spark.read.schema("file int, line int, value int").csv(f"{data_path('gz')}/{name}"), 1, "max(value)").collect()


pair("plan-missing-pruning", "plan-pruning", one_day, data="days", bad={"pruned": False}, good={"pruned": True}, versions=BOTH,
     expect=[expected("PLAN", "missingPruning", "the scan of 40 days: no condition on the partition column")], allow=["PART"],
     claims={"plan.partition-filters": ("==0", ">=1"), "plan.number-of-partitions-read": (">=40", "<=1")},
     notes="rows cost a little each before the condition on the time is met")
pair("plan-missing-pushdown", "plan-pushdown", one_range, data="ordered", bad={"plain": False}, good={"plain": True}, cluster=local(2),
     expect=[expected("PLAN", "missingPushdown", "the filter's cast keeps it out of the scan", "info")], allow=["CACHE"], good_allow=["CACHE"],
     claims={"plan.pushed-filters": ("==0", ">=1")}, notes="CPU-bound")
pair("plan-smallfiles-write", "plan-smallfiles-write", write_days, bad={"arranged": False}, good={"arranged": True},
     expect=[expected("PLAN", "smallFiles", "the write of 500 files")], allow=["DRIVER", "SLOW"],
     claims={"plan.number-of-written-files": (">=500", "<=50")})
pair("plan-unsplittable", "plan-unsplittable", one_file, data="gz", conf={"spark.sql.files.maxPartitionBytes": "4m"}, bad={"name": "single"}, good={"name": "plain"}, versions=BOTH,
     expect=[expected("PLAN", "unsplittableInput", "the scan of one gz file by one task of eight")], allow=["SHAPE", "PART", "SLOW", "UTIL"],
     claims={"main.tasks": ("==1", "==16"), "main.wall_s": (">=8", "<5")}, notes="the twin reads the same lines from sixteen plain files")
