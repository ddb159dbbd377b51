"""Skew in shapes that no other theme has; the families are only scored (split `blind-2`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kit import BOTH, data_path, dataset, expected, local, nap, noise, pair, slowly

EVEN = {"spark.sql.shuffle.partitions": "24", "spark.sql.adaptive.coalescePartitions.enabled": "false"}


def guest_orders(spark: Any) -> None:
    """Orders of guests all carry customer 0; whether AQE splits their partition is a matter of its thresholds."""
    spark.range(0, 12000, 1, 12).selectExpr(
        "id as order_id", "if(id % 10 < 4, 0, id % 3000) as customer", f"{noise('id', 3)} as basket").createOrReplaceTempView("orders")
    spark.range(0, 3000, 1, 4).selectExpr("id as customer", f"{noise('id', 1)} as about").createOrReplaceTempView("customers")
    slowly(spark.sql("select * from orders join customers using (customer)"), 2, "max(length(basket))", "max(length(about))").collect()


def by_country(spark: Any, salted: bool) -> None:
    """A table partitioned by country, one writer for each: the home market has three fifths of the rows."""
    from common import scratch

    spark.range(0, 2400, 1, 12).selectExpr("id % 30 as shop", f"{nap(4)} as n").groupBy("shop").sum("n").collect()
    rows = spark.range(0, 9600, 1, 12).selectExpr(
        "id", "if(id % 10 < 6, 'DE', concat('c', id % 19)) as country", f"{noise('id', 2)} as document")
    part = "if(country = 'DE', id % 16, 0)" if salted else "0"
    rows = rows.selectExpr("*", f"{part} as part").repartition(24, "country", "part")
    rows.selectExpr("id", "country", "document", f"{nap(2)} as signed").write.partitionBy("country").parquet(scratch("documents"))


@dataset("unseen2-claims")
def claims(spark: Any, place: str) -> None:
    """Twelve files of claims, each one JSON array over many lines; one insurer sends half of them, or all send as much."""
    for name, shares in (("uneven", [4800] + [400] * 11), ("even", [767] * 11 + [763])):
        Path(f"{place}/{name}").mkdir(parents=True)
        first = 0
        for number, count in enumerate(shares):
            documents = [{"claim": n, "branch": n % 14, "text": f"{n * 7919 % 1000003:x}" * 50} for n in range(first, first + count)]
            Path(f"{place}/{name}/insurer-{number:02}.json").write_text(json.dumps(documents, indent=1))
            first += count


def read_claims(spark: Any, name: str) -> None:
    """Documents that need the whole file to be read, checked one by one and counted by branch."""
    rows = spark.read.schema("claim long, branch int, text string").option("multiLine", True).json(f"{data_path('unseen2-claims')}/{name}")
    rows.selectExpr("branch", "length(text) as size", f"{nap(2)} as checked").groupBy("branch").agg({"size": "avg", "checked": "sum"}).orderBy("branch").collect()


def sorted_export(spark: Any, unique: bool) -> None:
    """A sorted table for a partner: the range of one status takes half of the rows, whatever the number of partitions."""
    from common import scratch

    rows = spark.range(0, 9600, 1, 12).selectExpr(
        "id", "if(id % 20 < 9, 'shipped', concat('state ', id % 400)) as status", f"{noise('id', 2)} as parcel")
    rows = rows.orderBy("status", *(["id"] if unique else []))
    rows.selectExpr("id", "status", "parcel", f"{nap(2)} as signed").write.parquet(scratch("parcels"))


pair("unseen2-guest-orders", "blind2-skew-aqe", guest_orders, versions=BOTH, conf=EVEN | {"spark.sql.autoBroadcastJoinThreshold": "-1"},
     good_conf={"spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "512k", "spark.sql.adaptive.advisoryPartitionSizeInBytes": "192k"},
     expect=[expected("SKEW", "skew", "the join's stage of 24 tasks: orders of guests, below AQE's thresholds")],
     allow=["STRAG", "SHAPE", "PART", "PLAN/underBroadcast"], good_allow=["PLAN/underBroadcast"], forbid=["HOST", "GC", "SPILL"],
     claims={"main.records_ratio": (">=8", "<5"), "main.time_ratio": (">=8", ""), "plan.skew-split": ("==0", ">=1"), "main.max_s": (">=9", "<5")},
     notes="AQE is on in both; the twin lowers its thresholds and it splits the partition")
pair("unseen2-by-country", "blind2-skew-write", by_country, bad={"salted": False}, good={"salted": True}, cluster=local(6), conf=EVEN,
     expect=[expected("SKEW", "skew", "the write's stage: one country has three fifths of the rows")],
     allow=["STRAG", "SHAPE", "PART", "PLAN/smallFiles"], good_allow=["PLAN/smallFiles"], forbid=["HOST", "GC", "TINY"],
     claims={"slowest.records_ratio": (">=8", ""), "slowest.max_s": (">=9", "<5"), "slowest.output_records": ("==9600", "")},
     notes="repartition by the column of partitionBy; the twin gives the home market 16 files instead of one")
pair("unseen2-claims", "blind2-skew-multiline", read_claims, data="unseen2-claims", bad={"name": "uneven"}, good={"name": "even"}, cluster=local(6),
     expect=[expected("SKEW", "skew", "the scan: one file has half of the documents")], allow=["STRAG", "SHAPE", "PART", "PLAN/unsplittableInput"],
     good_allow=["PLAN/unsplittableInput"], forbid=["HOST", "GC", "TINY"], claims={"main.records_ratio": (">=4", "<2"), "main.max_s": (">=9", "<6")},
     notes="multiLine JSON is read by the file; the same documents in twelve even files")
pair("unseen2-sorted-export", "blind2-skew-range", sorted_export, versions=BOTH, bad={"unique": False}, good={"unique": True}, cluster=local(6), conf=EVEN,
     expect=[expected("SKEW", "skew", "the sorted write: one status has 45 % of the rows")], allow=["STRAG", "SHAPE", "PART"], forbid=["HOST", "GC", "PLAN/singlePartition"],
     claims={"main.records_ratio": (">=8", "<4"), "main.max_s": (">=8", "<5")}, notes="a range partitioning cannot cut through equal keys; the twin sorts by status and id")
