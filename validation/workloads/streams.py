"""Structured Streaming queries that fall behind or grow, and one that does not."""

from __future__ import annotations

import time
from typing import Any

from kit import control, expected, local, nap, pair

STREAM = {"spark.sql.shuffle.partitions": "4"}


def rate(spark: Any, rows: int) -> Any:
    return spark.readStream.format("rate").option("rowsPerSecond", rows).option("numPartitions", 8).load()


def run_for(rows: Any, seconds: float, mode: str = "append", trigger: str = "1 second") -> None:
    """Write to nowhere for a while."""
    from common import scratch

    query = (rows.writeStream.format("noop").outputMode(mode).option("checkpointLocation", scratch("checkpoint"))
             .trigger(processingTime=trigger).start())
    deadline = time.monotonic() + seconds
    while query.isActive and time.monotonic() < deadline:
        time.sleep(0.2)
    query.stop()


def enriching(spark: Any, milliseconds: int) -> None:
    """Each row costs `milliseconds`; eight slots do 8000 / milliseconds rows in a second."""
    run_for(rate(spark, 800).selectExpr("value", f"{nap(milliseconds)} as n"), 18)


def deduplicating(spark: Any, bounded: bool) -> None:
    """Without a watermark every key ever seen stays in the state."""
    rows = rate(spark, 3000)
    if bounded:
        rows = rows.withWatermark("timestamp", "1 second").dropDuplicatesWithinWatermark(["value"])
    else:
        rows = rows.dropDuplicates(["value"])
    run_for(rows, 24, trigger="2 seconds")


def healthy(spark: Any) -> None:
    counts = rate(spark, 50).withWatermark("timestamp", "2 seconds").groupBy("timestamp").count()
    run_for(counts, 16, trigger="4 seconds")


pair("stream-backlog", "stream-backlog", enriching, conf=STREAM, bad={"milliseconds": 14}, good={"milliseconds": 1}, saves="none",
     expect=[expected("STREAM", "triggerOverrun", "batches take longer than the trigger's second"),
             expected("STREAM", "batchBacklog", "batches grow, because rows come faster than they are done")], allow=["SLOW"],
     good_allow=["UTIL"], claims={"app.batch_max_s": (">=3", "<2.5"), "app.batches": (">=3", ">=6")}, notes="runs for a fixed time; the first batch of both is slow for its start")
pair("stream-state", "stream-state", deduplicating, conf=STREAM, bad={"bounded": False}, good={"bounded": True}, saves="none",
     expect=[expected("STREAM", "stateGrowth", "dropDuplicates without a watermark", "info")], allow=["STREAM/triggerOverrun"], good_allow=["STREAM/triggerOverrun"],
     claims={"app.state_growth": (">=1.4", "<1.4"), "app.batches": (">=4", ">=4")})
control("control-streaming", healthy, conf=STREAM, claims={"app.batches": ">=3", "app.batch_max_s": "<8"}, allow=["UTIL"],
        notes="the first batch loads classes and may take longer than its trigger")
