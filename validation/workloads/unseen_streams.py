"""Structured Streaming from files and joins; the families are only scored (split `blind`)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from kit import expected, nap, pair

STREAM = {"spark.sql.shuffle.partitions": "4"}
ENDED = ("SFAIL", "FAIL", "JOBS")  # a query that is stopped may cancel the batch it is in


def rate(spark: Any, rows: int) -> Any:
    return spark.readStream.format("rate").option("rowsPerSecond", rows).option("numPartitions", 4).load()


def drive(writer: Any, seconds: float) -> None:
    """Run a query for a while."""
    from common import scratch

    query = writer.option("checkpointLocation", scratch("checkpoint")).start()
    deadline = time.monotonic() + seconds
    while query.isActive and time.monotonic() < deadline:
        time.sleep(0.2)
    query.stop()


def landing(spark: Any, milliseconds: int) -> None:
    """Files arrive, two each second; every batch is enriched and appended to a table by foreachBatch."""
    from common import in_thread, scratch

    inbox, table = Path(scratch("inbox")), scratch("table")
    inbox.mkdir(parents=True)
    done: list[bool] = []

    def deliver() -> None:
        number = 0
        while not done:
            draft = inbox / f".{number}.json"
            draft.write_text("".join(json.dumps({"id": number * 200 + n, "kind": n % 5}) + "\n" for n in range(200)))
            draft.rename(inbox / f"{number:05}.json")
            number += 1
            time.sleep(0.5)

    def append(rows: Any, batch: int) -> None:
        rows.repartition(8, "id").selectExpr("id", "kind", f"{nap(milliseconds)} as enriched").write.mode("append").parquet(table)

    courier = in_thread(deliver)
    rows = spark.readStream.schema("id long, kind int").json(str(inbox))
    drive(rows.writeStream.foreachBatch(append).trigger(processingTime="2 seconds"), 22)
    done.append(True)
    courier.join()


def matching(spark: Any, bounded: bool) -> None:
    """Impressions meet clicks; without watermarks and a bound in time both sides are kept for ever."""
    seen = rate(spark, 700).selectExpr("value as ad", "timestamp as seen_at")
    clicked = rate(spark, 700).selectExpr("value * 3 as ad_clicked", "timestamp as clicked_at")
    if bounded:
        seen, clicked = seen.withWatermark("seen_at", "1 second"), clicked.withWatermark("clicked_at", "1 second")
    within = "and clicked_at between seen_at - interval 1 second and seen_at + interval 1 second" if bounded else ""
    from pyspark.sql.functions import expr

    joined = seen.join(clicked, expr(f"ad = ad_clicked {within}"))
    drive(joined.writeStream.format("noop").trigger(processingTime="2 seconds"), 24)


def frozen_clock(spark: Any, frozen: bool) -> None:
    """One device reports the same time for ever: an event time that never moves holds all windows open."""
    event_time = "timestamp'2026-02-01 10:00:00'" if frozen else "timestamp"
    rows = rate(spark, 400).selectExpr("value % 5000 as device", f"{event_time} as reported_at").withWatermark("reported_at", "1 second")
    counts = rows.groupBy("device", "reported_at").count()
    drive(counts.writeStream.format("noop").outputMode("append").trigger(processingTime="2 seconds"), 20)


pair("unseen-landing", "blind-stream-late", landing, conf=STREAM, bad={"milliseconds": 14}, good={"milliseconds": 1}, saves="none",
     expect=[expected("STREAM", "triggerOverrun", "batches of the file source take longer than their two seconds")],
     allow=["STREAM/batchBacklog", "SLOW", "PLAN/smallFiles", *ENDED], good_allow=["UTIL", "PLAN/smallFiles", "DRIVER", *ENDED], forbid=["STREAM/stateGrowth", "STREAM/watermarkStuck", "SKEW"],
     claims={"app.batch_max_s": (">=3.5", "<8"), "app.batch_median_s": (">=2.5", "<2"), "app.batches": (">=3", ">=6")}, notes="foreachBatch; runs for a fixed time, and its end may cancel a batch")
pair("unseen-stream-join", "blind-stream-state", matching, conf=STREAM, bad={"bounded": False}, good={"bounded": True}, saves="none",
     expect=[expected("STREAM", "stateGrowth", "both sides of a stream-stream join without watermark", "info")], allow=["STREAM/triggerOverrun", "UTIL", *ENDED], good_allow=["STREAM/triggerOverrun", "UTIL", *ENDED],
     forbid=["STREAM/watermarkStuck", "SKEW"], claims={"app.state_growth": (">=1.4", "<1.4"), "app.batches": (">=5", ">=5")})
pair("unseen-frozen-clock", "blind-stream-watermark", frozen_clock, conf=STREAM, bad={"frozen": True}, good={"frozen": False}, saves="none",
     expect=[expected("STREAM", "watermarkStuck", "the event time is the same in every row", "info")], allow=["STREAM/stateGrowth", "STREAM/triggerOverrun", "UTIL", *ENDED], good_allow=["STREAM/triggerOverrun", "UTIL", *ENDED],
     forbid=["STREAM/batchBacklog", "SKEW"], claims={"app.watermarks": ("<=2", ">=3"), "app.batches": (">=4", ">=4")}, notes="all rows arrive, none is ever put out")
