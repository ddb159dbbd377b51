#!/usr/bin/env python3
"""Task rows of an event log by Spark SQL: what one does without Emberscope.

    spark-submit bench/spark_tasks.py LOG OUT FORMAT

Reads LOG as JSON lines with a schema of just the fields that the rows need, keeps the ends of tasks and
writes one row each, with the columns of PerfGazer's task report, as FORMAT (parquet or json) to OUT.
Prints the number of rows.
"""

from __future__ import annotations

import sys

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

INFO = {"taskId": "Task ID", "taskLaunchTime": "Launch Time", "taskFinishTime": "Finish Time"}
METRICS = {
    "executorRunTime": "Executor Run Time",
    "executorCpuTime": "Executor CPU Time",
    "executorDeserializeTime": "Executor Deserialize Time",
    "executorDeserializeCpuTime": "Executor Deserialize CPU Time",
    "resultSize": "Result Size",
    "diskBytesSpilled": "Disk Bytes Spilled",
    "memoryBytesSpilled": "Memory Bytes Spilled",
    "jvmGCTime": "JVM GC Time",
    "peakExecutionMemory": "Peak Execution Memory",
    "resultSerializationTime": "Result Serialization Time",
}
GROUPS = {
    "Input Metrics": {"bytesRead": "Bytes Read", "recordsRead": "Records Read"},
    "Output Metrics": {"bytesWritten": "Bytes Written", "recordsWritten": "Records Written"},
    "Shuffle Read Metrics": {
        "fetchWaitTime": "Fetch Wait Time",
        "localBlocksFetched": "Local Blocks Fetched",
        "localBytesRead": "Local Bytes Read",
        "remoteBlocksFetched": "Remote Blocks Fetched",
        "remoteBytesRead": "Remote Bytes Read",
        "remoteBytesReadToDisk": "Remote Bytes Read To Disk",
        "totalRecordsRead": "Total Records Read",
        "remoteRequestsDuration": "Remote Requests Duration",
    },
    "Shuffle Write Metrics": {
        "shuffleBytesWritten": "Shuffle Bytes Written",
        "shuffleRecordsWritten": "Shuffle Records Written",
        "shuffleWriteTime": "Shuffle Write Time",
    },
}


def longs(names: dict[str, str]) -> list[StructField]:
    return [StructField(name, LongType()) for name in names.values()]


def main() -> None:
    log, out, kind = sys.argv[1:4]
    metrics = longs(METRICS) + [StructField(group, StructType(longs(names))) for group, names in GROUPS.items()]
    schema = StructType([
        StructField("Event", StringType()),
        StructField("Stage ID", LongType()),
        StructField("Task Info", StructType(longs(INFO))),
        StructField("Task Metrics", StructType(metrics)),
    ])
    spark = SparkSession.builder.appName("task rows").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = Observation("rows")
    ends = spark.read.schema(schema).json(log).where(F.col("Event") == "SparkListenerTaskEnd")
    columns = [F.col("`Stage ID`").alias("stageId")]
    columns += [F.col(f"`Task Info`.`{field}`").alias(name) for name, field in INFO.items()]
    duration = F.col("`Task Info`.`Finish Time`") - F.col("`Task Info`.`Launch Time`")
    columns.append(duration.alias("taskDuration"))
    columns += [F.col(f"`Task Metrics`.`{field}`").alias(name) for name, field in METRICS.items()]
    for group, names in GROUPS.items():
        columns += [F.col(f"`Task Metrics`.`{group}`.`{field}`").alias(name) for name, field in names.items()]
    ends.select(columns).observe(rows, F.count(F.lit(1)).alias("n")).write.mode("overwrite").format(kind).save(out)
    print(rows.get["n"])
    spark.stop()


if __name__ == "__main__":
    main()
