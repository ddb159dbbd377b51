"""The application that the companion's tests run: SQL with a shuffle, RDDs, a task that fails once, a query plan."""

import os
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

mode = sys.argv[1] if len(sys.argv) > 1 else "plain"
spark = SparkSession.builder.appName("companion").getOrCreate()
sc = spark.sparkContext
print("APP", sc.applicationId, flush=True)


def query(label, rows):
    sc.setJobDescription(label)
    spark.range(0, rows, 1, 4).groupBy((F.col("id") % 7).alias("k")).agg(F.sum("id").alias("s")).orderBy("k").collect()


def spinning(seconds):
    def spin(rows):
        end = time.time() + seconds
        while time.time() < end:
            sum(range(1000))
        return [sum(rows)]

    return spin


if mode == "short-tasks":
    tasks = int(sys.argv[2])
    started = time.time()
    rounds = 10
    for round in range(rounds):
        # Without a shuffle, whose files would take longer to remove than the job.
        ids = spark.range(0, tasks, 1, tasks // rounds).selectExpr("id * 2")
        ids.write.format("noop").mode("overwrite").save()
    print("SECONDS", time.time() - started, flush=True)
    # Whoever measures looks at the JVM's threads now.
    while not os.path.exists("measured") and time.time() - started < 600:
        time.sleep(0.1)
elif mode == "burst":
    spark.range(0, 2000, 1, 2000).write.format("noop").mode("overwrite").save()
elif mode == "by-code":
    sc.setLogLevel("WARN")
    sc.parallelize(range(2)).count()
    companion = sc._jvm.io.emberscope
    files = companion.JsonSink(os.getcwd() + "/reports/{{spark.app.id}}")
    builder = getattr(companion, "PerfGazer$Builder")().sqlEnabled(False).sink(files)
    listener = builder.build(sc._jsc.sc().getConf())
    sc._jsc.sc().addSparkListener(listener)
    sc.parallelize(range(2)).count()
    sc.parallelize(range(2)).count()
    started = time.time()
    while companion.PerfGazer.instance().get().getSnippets().isEmpty() and time.time() - started < 20:
        time.sleep(0.2)
    print("SNIPPETS", listener.getSnippets().size(), flush=True)
    sc._jsc.sc().removeSparkListener(listener)
    listener.close()
    sc.parallelize(range(2)).count()
else:
    query("first query", 100_000)
    if mode == "busy":
        sc.setJobDescription("busy")
        sc.parallelize(range(8), 8).mapPartitions(spinning(float(sys.argv[2]))).collect()
        spark.range(0, 40_000_000, 1, 4).selectExpr("sum(id * id % 7)").collect()
    sc.setJobGroup("group", "an rdd")
    sc.parallelize(range(1000), 4).map(lambda x: (x % 5, x)).reduceByKey(lambda a, b: a + b).collect()
    try:
        sc.parallelize(range(2), 2).map(lambda x: 1 // x).count()
    except Exception as error:
        print("FAILED AS EXPECTED", type(error).__name__, flush=True)
    query("last query", 1000)
    if mode == "wait":
        print("READY", os.getpid(), flush=True)
        time.sleep(120)
print("DONE", flush=True)
spark.stop()
