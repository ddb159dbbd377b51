"""RDDs, clusters and drivers in shapes no other theme has; their families are only scored (split `blind`)."""

from __future__ import annotations

import time
from typing import Any

from kit import BOTH, add_worker, executors, expected, local, nap, noise, pair, slowly, standalone

KEEP = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def bots(spark: Any, salted: bool) -> None:
    """Clicks of each visitor, in Python without SQL; two visitors are robots. A healthy count comes first."""
    import hashlib

    def clicks(index: int, rows: Any) -> Any:
        for n in rows:
            user = "robot-1" if n % 20 < 8 else "robot-2" if n % 20 < 12 else f"user-{n * 31 % 3000}"
            yield user, (n, hashlib.sha512(str(n).encode()).hexdigest() * 3)

    def sessions(rows: Any) -> Any:
        for key, hits in rows:
            count = sum(1 for _ in hits)
            time.sleep(0.002 * count)
            yield key[0], count

    log = spark.sparkContext.parallelize(range(10800), 18).mapPartitionsWithIndex(clicks)
    log.map(lambda click: (click[1][0] % 24, 1)).reduceByKey(lambda a, b: a + b, 6).collect()
    keyed = log.map(lambda click: ((click[0], click[1][0] % 9 if salted else 0), click[1]))
    grouped = keyed.groupByKey(24, lambda key: hash(key[0][-6:]) * 7 + key[1]).mapPartitions(sessions)
    grouped.reduceByKey(lambda a, b: a + b, 6).map(lambda user: user[1]).max()


def parsed_again(spark: Any, kept: bool) -> None:
    """Four actions on the same parsed lines: each parses them again."""

    def parse(index: int, rows: Any) -> Any:
        time.sleep(0.55)
        return ((n % 17, n % 1000, index) for n in rows)

    lines = spark.sparkContext.parallelize(range(24000), 24).mapPartitionsWithIndex(parse).setName("parsed lines")
    if kept:
        lines.persist()
    lines.count()
    lines.map(lambda line: (line[0], line[1])).reduceByKey(max, 6).collect()
    lines.filter(lambda line: line[1] > 990).map(lambda line: line[2]).distinct(6).count()
    lines.map(lambda line: line[1]).stats()


def kept_for_nothing(spark: Any, kept: bool) -> None:
    """An intermediate result is stored on disk; one action reads it, the next ones start from elsewhere."""
    from pyspark import StorageLevel

    def enrich(index: int, rows: Any) -> Any:
        time.sleep(0.6)
        return ((n % 50, f"{n:040}") for n in rows)

    rich = spark.sparkContext.parallelize(range(60000), 16).mapPartitionsWithIndex(enrich).setName("enriched")
    if kept:
        rich.persist(StorageLevel.DISK_ONLY)
    rich.map(lambda row: (row[0], len(row[1]))).reduceByKey(max, 8).collect()
    spark.range(0, 9000, 1, 18).selectExpr("id % 9 as k", f"{nap(2)} as n").groupBy("k").sum("n").collect()


def narrowed_middle(spark: Any, reducers: int) -> None:
    """Two reducers feed a costly step; what comes before and after them is well spread."""

    def load(index: int, rows: Any) -> Any:
        time.sleep(0.5)
        return ((n % 600, n) for n in rows)

    def model(rows: Any) -> Any:
        for key, total in rows:
            time.sleep(0.03)
            yield key % 12, total

    loaded = spark.sparkContext.parallelize(range(18000), 18).mapPartitionsWithIndex(load)
    loaded.reduceByKey(lambda a, b: a + b, reducers).mapPartitions(model).groupByKey(12).mapValues(len).collect()


def slow_disk(spark: Any, slow: bool) -> None:
    """One host takes four times as long for each row, in the scan, the join and the aggregation."""
    from common import executor_pid

    pid = executor_pid(spark.sparkContext.applicationId, max(executors(spark), key=int))
    pace = f"if(reflect('java.lang.ProcessHandle', 'current') = '{pid}', 16, 4)" if slow else "4"
    spark.range(0, 3000, 1, 12).selectExpr("id", "id % 600 as k", f"{nap(pace)} as read").createOrReplaceTempView("facts")
    spark.range(0, 600, 1, 2).selectExpr("id as k", "id % 240 as g").createOrReplaceTempView("dim")
    joined = spark.sql("select /*+ merge(dim) */ g, f.id, read from facts f join dim using (k)").selectExpr("g", "id", "read", f"{nap(pace)} as joined")
    totals = joined.groupBy("g", "id").agg({"read": "sum", "joined": "max"}).toDF("g", "id", "read", "joined")
    slowly(totals, pace, "max(read)", "max(joined)", "count(distinct g)").collect()


def late_two(spark: Any, late: bool) -> None:
    """One executor is there when the work starts; the other workers of the cluster come seven seconds later."""
    from common import in_thread, wait_until

    if late:
        in_thread(lambda: (time.sleep(7), add_worker(spark, 2, 2), add_worker(spark, 3, 2)))
    else:
        wait_until(lambda: len(executors(spark)) == 3, 60)
    for seed in (1, 2):
        spark.range(0, 4800, 1, 48).selectExpr(f"(id + {seed}) % 20 as k", f"{nap(5)} as n").groupBy("k").sum("n").collect()


def bursts(spark: Any) -> None:
    """Work comes in bursts with pauses of three seconds; executors that leave in a pause have to be started again."""
    for _ in range(3):
        spark.range(0, 2400, 1, 18).selectExpr("id % 6 as k", f"{nap(5)} as n").groupBy("k").sum("n").collect()
        time.sleep(3.0)


def bad_record(spark: Any, lenient: bool) -> None:
    """A cast fails near the end of a file, three times; the application then reads everything again with try_cast."""
    spark.range(0, 5400, 1, 18).selectExpr(
        "id", "id % 30 as branch", "if(id = 3290, 'n/a', cast(id % 500 as string)) as amount").createOrReplaceTempView("raw")

    def load(how: str) -> None:
        rows = spark.sql(f"select branch, {nap(6)} as parsed, {how}(amount as int) as amount from raw")
        rows.groupBy("branch").agg({"amount": "sum", "parsed": "sum"}).collect()

    spark.range(0, 1800, 1, 18).selectExpr(f"{nap(4)} as n").agg({"n": "sum"}).collect()
    if not lenient:
        try:
            load("cast")
        except Exception as error:  # noqa: BLE001 - as applications do
            print("falling back:", type(error).__name__)
    load("try_cast")


def hung_call(spark: Any, hanging: bool) -> None:
    """Rows go to a service in foreachPartition; one call hangs until its time-out, its partition is like the others."""
    from pyspark import TaskContext

    def send(rows: Any) -> None:
        count = sum(1 for _ in rows)
        time.sleep(0.0015 * count)
        if hanging and TaskContext.get().partitionId() == 19:
            time.sleep(8)

    rows = spark.range(0, 9600, 1, 24).selectExpr("id", "id % 40 as k", f"{nap(1)} as checked")
    rows.groupBy("k").agg({"checked": "sum"}).collect()
    spark.range(0, 9600, 1, 24).selectExpr("id", "concat('order ', id) as body").foreachPartition(send)


def python_groups(spark: Any) -> None:
    """groupByKey holds its groups in Python workers, which spill by a limit of their own."""
    import hashlib

    pairs = spark.sparkContext.parallelize(range(200000), 8).map(lambda n: (n * 7919 % 20011, hashlib.sha512(str(n).encode()).hexdigest()))
    pairs.groupByKey(4).mapValues(lambda rows: max(len(r) for r in rows)).values().sum()


def tight_fetch(spark: Any) -> None:
    """A shuffle of many small blocks between three executors, asked for one after another or together."""
    rows = spark.range(0, 100000, 1, 96).selectExpr("id", f"{noise('id', 1)} as text")
    rows.repartition(36, "id").selectExpr("max(text)", "count(*)").collect()


def day_by_day(spark: Any, loop: bool) -> None:
    """A back-fill that counts, filters and appends one day after another, or all days in one query."""
    from common import scratch

    place = scratch("days")
    rows = spark.range(0, 24000, 1, 6).selectExpr("id", "id % 16 as day", "id % 300 as account", f"if(id % 6 = 0, {nap(2)}, 0) as n").persist()
    rows.count()
    if loop:
        for day in range(16):
            one = rows.where(f"day = {day}")
            if one.limit(1).count():
                one.coalesce(1).selectExpr("id", "account", "day").write.mode("append").parquet(place)
    else:
        rows.selectExpr("id", "account", "day").repartition(6, "day").write.partitionBy("day").parquet(place)


def dead_settings(spark: Any) -> None:
    spark.range(0, 3600, 1, 24).selectExpr("id % 40 as k", f"{nap(6)} as n").groupBy("k").sum("n").agg({"sum(n)": "max"}).collect()


DYNAMIC = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true", "spark.dynamicAllocation.minExecutors": "0",
           "spark.dynamicAllocation.initialExecutors": "0", "spark.dynamicAllocation.maxExecutors": "2", "spark.dynamicAllocation.shuffleTracking.timeout": "1s"}
ONE_BY_ONE = {"spark.reducer.maxReqsInFlight": "1", "spark.reducer.maxBlocksInFlightPerAddress": "1", "spark.reducer.maxSizeInFlight": "64k"}

pair("unseen-rdd-bots", "blind-skew-rdd", bots, cluster=standalone(3, 2), bad={"salted": False}, good={"salted": True}, versions=BOTH,
     expect=[expected("SKEW", "skew", "groupByKey's reduce stage of 24 tasks: two robots have three fifths of the clicks")], allow=["STRAG", "SHAPE", "PART", "CACHE"], good_allow=["CACHE"],
     forbid=["HOST", "GC"], claims={"slowest.time_ratio": (">=6", ""), "slowest.tasks": ("==24", ""), "slowest.max_s": (">=7", ""), "any.bytes_ratio": (">=8", "<4"), "any.tasks": ("==24", "==24")},
     notes="Python's shuffle records are batches of rows, so that records say little; the time is spent in Python")
pair("unseen-parsed-again", "blind-cache", parsed_again, cluster=local(6), bad={"kept": False}, good={"kept": True},
     expect=[expected("CACHE", "cachingOpportunity", "the parsed lines, which four jobs compute, without SQL")], allow=["UTIL", "CSTOR", "CFG"], good_allow=["CSTOR"], forbid=["SKEW", "PLAN"],
     claims={"app.jobs": ("==4", "==4"), "app.task_s": (">=55", ""), "app.persisted": ("==0", "==1")})
pair("unseen-kept", "blind-cache-unused", kept_for_nothing, cluster=local(6), bad={"kept": True}, good={"kept": False}, saves="none",
     expect=[expected("CACHE", "cacheUnused", "the RDD 'enriched', on disk for one job", "info")], allow=["UTIL", "CSTOR"], forbid=["CACHE/cachingOpportunity", "SKEW"],
     claims={"app.persisted": (">=1", "==0")}, notes="no block updates in the log: the storage level in the stages' RDD infos, and which jobs used it, are all there is")
pair("unseen-two-reducers", "blind-few", narrowed_middle, cluster=standalone(3, 2), bad={"reducers": 2}, good={"reducers": 18},
     expect=[expected("SHAPE", "stageShape", "the stage of two reducers on six cores: lowParallelism")], allow=["PART", "SLOW", "UTIL"], forbid=["SKEW", "STRAG", "HOST"],
     claims={"slowest.tasks": ("==2", "==18"), "slowest.max_s": (">=8", "<6")}, notes="an RDD job whose other stages have 18 and 12 tasks")
pair("unseen-slow-disk", "blind-host", slow_disk, cluster=standalone(3, 2), bad={"slow": True}, good={"slow": False}, versions=BOTH, conf=KEEP | {"spark.sql.shuffle.partitions": "12"},
     expect=[expected("HOST", "slowHost", "one host of three, in each of the stages of 12 tasks")], allow=["STRAG", "SHAPE", "PLAN/underBroadcast"], good_allow=["PLAN/underBroadcast"], forbid=["SKEW", "GC"],
     claims={"main.slow_host_ratio": (">=2", "<1.5"), "main.hosts": ("==3", "==3"), "main.records_ratio": ("<2", "<2")}, notes="rows cost 16 ms there and 4 ms elsewhere")
pair("unseen-late-two", "blind-cold", late_two, bad_cluster=standalone(1, 2), good_cluster=standalone(3, 2), bad={"late": True}, good={"late": False},
     expect=[expected("COLD", "coldStart", "two of three executors come seven seconds after the work")], allow=["SCHED", "UTIL", "SHAPE"], forbid=["SKEW", "HOST"],
     claims={"app.last_executor_s": (">=6", "<2"), "app.executors": ("==3", "==3")}, notes="static allocation: the application takes executors as workers appear")
pair("unseen-bursts", "blind-churn", bursts, cluster=standalone(2, 3), conf=DYNAMIC, bad_conf={"spark.dynamicAllocation.executorIdleTimeout": "1s"},
     good_conf={"spark.dynamicAllocation.executorIdleTimeout": "60s"},
     expect=[expected("CHRN", "autoscalingChurn", "executors leave in each pause and are started again", "info")], allow=["COLD", "UTIL", "DRIVER", "SCHED", "CFG"], good_allow=["DRIVER", "UTIL", "COLD", "CFG"],
     forbid=["FAIL", "RETRY", "HOST"], claims={"app.executors": (">=5", "<=2")}, notes="the pauses themselves are in both twins, and are the driver's")
pair("unseen-bad-record", "blind-failed-stage", bad_record, bad={"lenient": False}, good={"lenient": True}, conf={"spark.master": "local[6, 3]", "spark.sql.ansi.enabled": "true"}, versions=BOTH,
     expect=[expected("SFAIL", "stageFailed", "the stage with the cast, after three attempts of one task", "critical")], allow=["JOBS", "FAIL", "RETRY", "CACHE", "UTIL", "STRAG", "SHAPE"],
     forbid=["SKEW", "HOST"], claims={"app.failed_jobs": ("==1", "==0"), "app.failed_tasks": ("==3", "==0"), "app.failed_stages": ("==1", "==0")},
     notes="the driver catches the error and does the work again; the twin is lenient at once")
pair("unseen-hung-call", "blind-straggler", hung_call, cluster=local(6), bad={"hanging": True}, good={"hanging": False},
     expect=[expected("STRAG", "straggler", "foreachPartition's stage of 24 tasks: one waits eight seconds")], allow=["SHAPE"], forbid=["SKEW", "HOST", "GC", "COLD"],
     claims={"slowest.time_ratio": (">=6", ""), "slowest.max_s": (">=8", "<6"), "slowest.records_ratio": ("<1.3", "<1.3")}, notes="the wait is in a Python worker, of which the log has no CPU time")
pair("unseen-python-spill", "blind-spill", python_groups, cluster=local(2), bad_conf={"spark.python.worker.memory": "24m"},
     good_conf={"spark.python.worker.memory": "900m"},
     expect=[expected("SPILL", "spill", "groupByKey in Python workers of 24 MiB", "info")], allow=["CFG", "SHFL", "PART"], good_allow=["CFG", "SHFL"], forbid=["SKEW", "GC"],
     claims={"any.spill_disk_mib": (">=8", "==0")}, notes="CPU-bound; the workers report what they spill, Spark's own memory is not short")
pair("unseen-tight-fetch", "blind-fetch", tight_fetch, cluster=standalone(3, 2), bad_conf=ONE_BY_ONE, conf=KEEP, saves="none",
     expect=[expected("SHFL", "shuffle", "the stage of 36 tasks that waits for its blocks", "info")], allow=["PART", "TINY", "STRAG", "CFG"], good_allow=["PART", "TINY", "SHFL"], forbid=["SKEW", "SPILL", "HOST"],
     claims={"any.fetch_share": (">=0.5", "<0.45"), "any.tasks": ("==96", "==96")}, notes="one request at a time for each small block; CPU-bound, on one machine, where waiting leaves the cores to others")
pair("unseen-day-by-day", "blind-driver", day_by_day, cluster=local(6), bad={"loop": True}, good={"loop": False},
     expect=[expected("DRIVER", "driverBound", "planning, committing and starting of 32 small jobs")], allow=["UTIL", "TINY", "SCHED", "PLAN/smallFiles", "CACHE", "SHAPE"], good_allow=["PLAN/smallFiles"], forbid=["SKEW", "HOST"],
     claims={"app.jobs": (">=32", "<10"), "app.no_job_gap_s": (">=2", "<2")}, notes="CPU-bound; the time lies between the jobs as much as in them")
pair("unseen-dead-settings", "blind-settings", dead_settings, cluster=local(6), saves="none",
     bad_conf={"spark.sql.adaptive.enabled": "false", "spark.sql.adaptive.skewJoin.enabled": "true", "spark.sql.adaptive.coalescePartitions.enabled": "true",
               "spark.dynamicAllocation.enabled": "false", "spark.dynamicAllocation.maxExecutors": "40", "spark.sql.shuffle.partitions": "12"},
     good_conf={"spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.skewJoin.enabled": "true", "spark.sql.shuffle.partitions": "12"},
     expect=[expected("CFG", "configAudit", "adaptive settings while AQE is off; a bound of dynamic allocation while that is off", "info")], allow=["UTIL"], forbid=["SKEW", "HOST", "PART"],
     claims={"conf.spark.sql.adaptive.enabled": ("==false", "==true"), "conf.spark.dynamicAllocation.maxExecutors": ("==40", "")})
