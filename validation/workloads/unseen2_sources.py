"""A database, a directory of text and settings of another age; only scored (split `blind-2`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit import data_path, dataset, expected, local, nap, pair

DRIVER = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}


def database(create: bool = False) -> str:
    """A Derby database in a directory: it is among Spark's own jars, and is read by JDBC like any other."""
    return f"jdbc:derby:{data_path('unseen2-erp')}" + (";create=true" if create else "")


@dataset("unseen2-erp")
def erp(spark: Any, place: str) -> None:
    invoices = spark.range(0, 4800, 1, 1).selectExpr("id", "cast(id % 17 as int) as debtor", "cast(id * 31 % 977 as int) as amount")
    invoices.write.jdbc(database(create=True), "invoices", properties=DRIVER)
    moves = spark.range(0, 150000, 1, 1).selectExpr(
        "id", "concat(substring('ABCDEFGHIJ', cast(id % 10 as int) + 1, 1), id div 10 % 10, '-', id) as code", "cast(id % 450 as int) as quantity")
    moves.write.option("createTableColumnTypes", "code varchar(24)").jdbc(database(), "moves", properties=DRIVER)


def invoices(spark: Any, partitions: int) -> None:
    """Invoices from the ERP's database, over one connection or over twelve."""
    split = {"column": "id", "lowerBound": 0, "upperBound": 4800, "numPartitions": partitions} if partitions > 1 else {}
    rows = spark.read.jdbc(database(), "invoices", properties=DRIVER, **split)
    rows = rows.selectExpr("debtor", "amount", f"{nap(2)} as rated")
    debtors = spark.range(0, 17).selectExpr("cast(id as int) as debtor", "concat('debtor ', id) as name")
    rows.groupBy("debtor").agg({"amount": "sum", "rated": "max"}).join(debtors, "debtor").orderBy("name").collect()


def moves(spark: Any, pushed: bool) -> None:
    """Stock moves of one kind of article: a function of the column is no filter for the database, a prefix is."""
    rows = spark.read.jdbc(database(), "moves", column="id", lowerBound=0, upperBound=150000, numPartitions=4, properties=DRIVER)
    rows = rows.where("code like 'A7%'" if pushed else "upper(substring(code, 1, 2)) = 'A7'")
    rows.groupBy("quantity").count().orderBy("quantity").collect()


@dataset("unseen2-log-lines")
def log_lines(spark: Any, place: str) -> None:
    """Five files of text lines, 7 MB in all."""
    Path(place).mkdir(parents=True)
    for number in range(5):
        lines = (f"{n},{n * 7919 % 1000003:08},{n % 41},{'GET' if n % 3 else 'PUT'} /item/{n * 31 % 5003}/{'x' * (n % 60)}\n" for n in range(number, 100000, 5))
        Path(f"{place}/day-{number}.csv").write_text("".join(lines))


def requests(spark: Any) -> None:
    """Requests by shard; a cluster-wide setting from another job cuts the files into splits of 16 kB."""
    rows = spark.read.schema("id long, client string, shard int, request string").csv(data_path("unseen2-log-lines"))
    rows.where("request like 'GET%'").groupBy("shard").agg({"client": "max", "request": "count"}).orderBy("shard").collect()


def report(spark: Any) -> None:
    spark.range(0, 4200, 1, 24).selectExpr("id % 12 as desk", f"{nap(6)} as n").groupBy("desk").sum("n").orderBy("desk").collect()


pair("unseen2-invoices", "blind2-jdbc-one", invoices, data="unseen2-erp", bad={"partitions": 1}, good={"partitions": 12}, cluster=local(6),
     expect=[expected("PLAN", "unsplittableInput", "the JDBC scan of one partition on six cores")], allow=["SHAPE", "PART", "SLOW", "UTIL"],
     forbid=["SKEW", "STRAG", "HOST", "DRIVER"], claims={"slowest.tasks": ("==1", ">=6"), "slowest.max_s": (">=9", "<4")}, notes="the twin reads ranges of the id over twelve connections")
pair("unseen2-moves", "blind2-jdbc-filter", moves, data="unseen2-erp", bad={"pushed": False}, good={"pushed": True}, cluster=local(4), saves="none",
     expect=[expected("PLAN", "missingPushdown", "all 150000 moves leave the database, one in a hundred is wanted", "info")], allow=["SLOW"],
     forbid=["SKEW", "PLAN/unsplittableInput"], claims={"main.records": (">=140000", "<20000")}, notes="upper(substring(code, 1, 2)) is not passed on to the database; like 'A7%' is")
pair("unseen2-splits", "blind2-tiny-scan", requests, data="unseen2-log-lines", cluster=local(4),
     bad_conf={"spark.sql.files.maxPartitionBytes": "16k", "spark.sql.files.openCostInBytes": "0"},
     expect=[expected("TINY", "tinyTask", "the scan of hundreds of splits of 16 kB")], allow=["PART", "SCHED", "PLAN/smallFiles", "CFG"], forbid=["SKEW", "STRAG", "HOST"],
     claims={"any.tasks": (">=300", "<=20")}, notes="CPU-bound")
pair("unseen2-old-settings", "blind2-settings", report, cluster=local(6), saves="none", conf={"spark.sql.shuffle.partitions": "12"},
     bad_conf={"spark.shuffle.memoryFraction": "0.4", "spark.storage.memoryFraction": "0.3", "spark.yarn.executor.memoryOverhead": "1024",
               "spark.speculation.multiplier": "1.3", "spark.shuffle.consolidateFiles": "true"},
     expect=[expected("CFG", "configAudit", "names that Spark has not read for years; a detail of speculation while that is off", "info")], allow=["UTIL"], forbid=["SPEC", "MEM", "SKEW"],
     claims={"conf.spark.shuffle.memoryFraction": ("==0.4", ""), "conf.spark.speculation.multiplier": ("==1.3", "")}, notes="spark-defaults of a cluster that was migrated twice")
