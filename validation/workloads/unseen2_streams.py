"""Streams whose sinks and sources cause the trouble; only scored (split `blind-2`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kit import expected, nap, pair
from unseen_streams import ENDED, drive, rate

STREAM = {"spark.sql.shuffle.partitions": "4"}


def appended(spark: Any, files: int) -> None:
    """Each micro-batch is appended to a table, by as many writers as the cluster of production has cores, or by one."""
    from common import scratch

    table = scratch("appended")

    def append(rows: Any, batch: int) -> None:
        rows.repartition(files).write.mode("append").parquet(table)

    rows = rate(spark, 500).selectExpr("value as id", "timestamp as at", f"if(value % 10 = 0, {nap(2)}, 0) as enriched")
    drive(rows.writeStream.foreachBatch(append).trigger(processingTime="2 seconds"), 22)


def merged(spark: Any, whole_table: bool) -> None:
    """Rows that are not in the table yet are appended; the look into the table takes longer with every batch."""
    from common import scratch

    table = scratch("merged")
    spark.range(0, 200, 1, 2).selectExpr("id").write.parquet(table)

    def upsert(rows: Any, batch: int) -> None:
        fresh = rows.coalesce(4)
        if whole_table:
            known = spark.read.schema("id long").parquet(table).repartition(8).selectExpr("id", f"{nap(7)} as looked_up").where("looked_up > 0")
            fresh = fresh.join(known.select("id"), "id", "left_anti")
        fresh.coalesce(2).write.mode("append").parquet(table)

    drive(rate(spark, 300).selectExpr("value + 1000 as id").writeStream.foreachBatch(upsert).trigger(processingTime="2 seconds"), 30)


def idle_source(spark: Any) -> None:
    """Two sources in one query: one delivers, the other has had one file; the older watermark counts, or the newer."""
    from common import scratch

    inbox = Path(scratch("idle"))
    inbox.mkdir(parents=True)
    (inbox / "0.json").write_text("".join(json.dumps({"device": n, "at": "2026-02-01T08:00:00"}) + "\n" for n in range(40)))
    live = rate(spark, 300).selectExpr("value % 900 as device", "timestamp as at").withWatermark("at", "1 second")
    idle = spark.readStream.schema("device long, at timestamp").json(str(inbox)).withWatermark("at", "1 second")
    counts = live.union(idle).groupBy("device", "at").count()
    drive(counts.writeStream.format("noop").outputMode("append").trigger(processingTime="1 second"), 26)


pair("unseen2-appended", "blind2-stream-files", appended, bad={"files": 24}, good={"files": 1}, conf=STREAM, saves="none",
     expect=[expected("PLAN", "smallFiles", "24 files of a few kB in every batch", "info")], allow=["UTIL", "TINY", "STREAM/triggerOverrun", "DRIVER", *ENDED],
     good_allow=["UTIL", "STREAM/triggerOverrun", "DRIVER", "SHAPE", "PLAN/singlePartition", *ENDED], forbid=["SKEW", "HOST", "STREAM/stateGrowth"],
     claims={"plan.number-of-written-files": (">=120", "<=24"), "app.batches": (">=5", ">=5")}, notes="no batch writes many files, all of them together do")
pair("unseen2-merged", "blind2-stream-slower", merged, bad={"whole_table": True}, good={"whole_table": False}, conf=STREAM, saves="none",
     expect=[expected("STREAM", "triggerOverrun", "batches take longer and longer than their two seconds")], allow=["STREAM/batchBacklog", "SLOW", "PLAN/smallFiles", "UTIL", "CACHE", *ENDED],
     good_allow=["UTIL", "PLAN/smallFiles", "DRIVER", "SHAPE", *ENDED], forbid=["STREAM/stateGrowth", "STREAM/watermarkStuck", "SKEW", "HOST"],
     claims={"app.batch_max_s": (">=4", "<8"), "app.batch_median_s": (">=2.2", "<2"), "app.batches": (">=4", ">=8")}, notes="the stream reads its own sink in every batch")
pair("unseen2-idle-source", "blind2-stream-idle", idle_source, conf=STREAM, good_conf={"spark.sql.streaming.multipleWatermarkPolicy": "max"}, saves="none",
     expect=[expected("STREAM", "watermarkStuck", "the watermark of a source without new rows holds that of the query", "info")], allow=["STREAM/stateGrowth", "STREAM/triggerOverrun", "UTIL", *ENDED],
     good_allow=["STREAM/triggerOverrun", "UTIL", *ENDED], forbid=["STREAM/batchBacklog", "SKEW"], claims={"app.watermarks": ("<=2", ">=4"), "app.batches": (">=8", ">=8")},
     notes="two sources, one query; rows come in and no count goes out")
