"""Healthy applications, most of which look suspicious at first; the family is only scored (split `blind-2`)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from kit import BOTH, control, data_path, dataset, executors, local, nap, noise, slowly, standalone

HEALTHY = "blind2-control"
KEEP = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def large_shuffle(spark: Any) -> None:
    """Two large tables of the same size meet by an even key: hundreds of megabytes are shuffled, and have to be."""
    for name, seed in (("left_rows", 1), ("right_rows", 2)):
        spark.range(0, 400000, 1, 12).selectExpr("id as k", f"{noise(f'id + {seed}', 2)} as {name}_text").createOrReplaceTempView(name)
    spark.sql("select k, left_rows_text, right_rows_text from left_rows join right_rows using (k)").selectExpr(
        "max(left_rows_text)", "max(right_rows_text)", "count(*)").collect()


def nightly_steps(spark: Any) -> None:
    """Three steps of a nightly job; between them the driver reads a configuration and writes a word into a registry."""
    from common import scratch

    bronze, silver = scratch("bronze"), scratch("silver")
    time.sleep(0.7)
    spark.range(0, 5400, 1, 18).selectExpr("id", "id % 90 as account", f"{nap(5)} as parsed", f"{noise('id', 1)} as text").write.parquet(bronze)
    time.sleep(0.6)
    rows = spark.read.schema("id long, account long, parsed int, text string").parquet(bronze)
    rows.repartition(12, "account").selectExpr("*", f"{nap(4)} as checked").write.parquet(silver)
    time.sleep(0.6)
    rows = spark.read.schema("id long, account long, parsed int, text string, checked int").parquet(silver)
    rows.groupBy("account").agg({"checked": "sum", "text": "max"}).orderBy("account").collect()


def dashboard(spark: Any) -> None:
    """A dashboard is refreshed: forty small questions to a cached table, six at a time, as its users see them."""
    from concurrent.futures import ThreadPoolExecutor

    spark.range(0, 30000, 1, 6).selectExpr("id", "id % 24 as hour", "id % 7 as day", "id * 31 % 977 as amount", f"if(id % 10 = 0, {nap(6)}, 0) as n").persist().createOrReplaceTempView("sales")
    spark.table("sales").count()
    tiles = [f"select {what}({column}) from sales where day = {day}" for day in range(5) for what in ("sum", "max", "avg", "count") for column in ("amount", "hour")]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda text: spark.sql(text).collect(), tiles))


def dense_grid(spark: Any) -> None:
    """Days without sales must show as zero: shops times days by a cross join, then what was sold."""
    spark.range(0, 9000, 1, 18).selectExpr("id % 160 as shop", "id * 7 % 90 as day", "id % 50 as amount", f"{nap(4)} as n").createOrReplaceTempView("sales")
    spark.range(0, 160, 1, 2).selectExpr("id as shop").createOrReplaceTempView("shops")
    spark.range(0, 90, 1, 2).selectExpr("id as day").createOrReplaceTempView("days")
    spark.sql("""select shop, sum(coalesce(amount, 0)) as total, count(amount) as sold from shops cross join days
                 left join (select shop, day, sum(amount) as amount, sum(n) as n from sales group by shop, day) using (shop, day)
                 group by shop order by total desc""").collect()


def filtered_late(spark: Any) -> None:
    """Both sides are shuffled before AQE sees that one is small after its filter: it broadcasts that one itself."""
    spark.range(0, 9000, 1, 18).selectExpr("id", "id % 5000 as article", f"{nap(4)} as n", f"{noise('id', 1)} as text").createOrReplaceTempView("lines")
    spark.range(0, 200000, 1, 4).selectExpr("id as article", "concat('group ', id % 900) as name", f"{noise('id', 1)} as about").createOrReplaceTempView("articles")
    spark.sql("""select name, count(*) as lines, max(length(text)) as longest, sum(n) as checked from lines
                 join (select article, name, max(about) as about from articles where substring(about, 1, 2) = 'a7' group by article, name) using (article)
                 group by name order by lines desc""").collect()


def parallel_loads(spark: Any) -> None:
    """Four tables are loaded at once, first come, first served: tasks queue, and no core is ever idle."""
    from common import in_thread, scratch

    def load(table: int) -> None:
        rows = spark.range(0, 2400, 1, 12).selectExpr("id", f"id * {table + 3} % 91 as k", f"{nap(4)} as parsed", f"{noise('id', 1)} as text")
        rows.write.parquet(scratch(f"table-{table}"))

    for thread in [in_thread(lambda table=table: load(table)) for table in range(4)]:
        thread.join()


def rescued(spark: Any) -> None:
    """One host is slow, speculation is on, and its copies win: what the setting is there for."""
    from common import executor_pid

    pid = executor_pid(spark.sparkContext.applicationId, max(executors(spark), key=int))
    pace = f"if(reflect('java.lang.ProcessHandle', 'current') = '{pid}', 60, 8)"
    for _ in range(2):
        spark.range(0, 3000, 1, 30).selectExpr("id % 9 as k", f"{nap(pace)} as n").groupBy("k").sum("n").collect()


def early_giant(spark: Any) -> None:
    """One key has four times the rows of the others, in the first wave of eight: it is done long before the stage."""
    hot = "if(id % 9200 < 700, 49, id % 1200)"  # 49 belongs to partition 1 of 48
    spark.range(0, 9200, 1, 12).selectExpr(f"{hot} as device", "id", f"{noise('id', 1)} as message").createOrReplaceTempView("messages")
    rows = spark.table("messages").repartition(48, "device")
    slowly(rows, 5, "max(length(message))", "max(device)").collect()


def catch_up(spark: Any) -> None:
    """A stream with trigger availableNow: it takes what is there in four batches, one right after the other, and ends."""
    from common import scratch

    inbox = Path(scratch("catch-up"))
    inbox.mkdir(parents=True)
    for number in range(16):
        (inbox / f"{number:02}.json").write_text("".join(f'{{"id": {number * 150 + n}, "kind": {n % 6}}}\n' for n in range(150)))
    rows = spark.readStream.schema("id long, kind int").option("maxFilesPerTrigger", 4).json(str(inbox))
    rows = rows.repartition(8, "id").selectExpr("id", "kind", f"{nap(10)} as checked")
    rows.writeStream.format("parquet").option("path", scratch("caught")).option("checkpointLocation", scratch("checkpoint")).trigger(availableNow=True).start().awaitTermination()


def breathing(spark: Any) -> None:
    """Dynamic allocation as it should be: executors come for the large stage and are kept over a short pause."""
    for _ in range(2):
        spark.range(0, 4200, 1, 42).selectExpr("id % 15 as k", f"{nap(7)} as n").groupBy("k").sum("n").collect()
        time.sleep(1.5)


def one_summary(spark: Any) -> None:
    """Forty rows in one CSV: coalesce(1) behind the aggregation, where it takes nothing along."""
    from common import scratch

    rows = spark.range(0, 7200, 1, 24).selectExpr("id", "id % 40 as region", f"{nap(4)} as n").groupBy("region").agg({"n": "sum", "id": "count"}).toDF("region", "n", "visits").persist()
    rows.count()
    rows.coalesce(1).write.option("header", True).csv(scratch("summary"))
    spark.sql("select 1 as done").collect()


def compaction(spark: Any) -> None:
    """Many small files become three: the repair itself."""
    from common import scratch

    rows = spark.read.schema("id long, client long, text string").parquet(data_path("unseen2-landed"))
    rows.selectExpr("*", f"if(id % 4 = 0, {nap(3)}, 0) as checked").repartition(3).write.parquet(scratch("compacted"))


@dataset("unseen2-landed")
def landed(spark: Any, place: str) -> None:
    """Two hundred and forty files of forty rows."""
    rows = spark.range(0, 9600, 1, 8).selectExpr("id", "id % 220 as client", f"{noise('id', 1)} as text")
    rows.repartition(240).write.parquet(place)


def fitted(spark: Any) -> None:
    """k-means by hand: eight rounds over cached points, each two small jobs."""
    points = spark.range(0, 4800, 1, 12).selectExpr("id", "id * 7919 % 997 as x", "id * 31 % 1009 as y", f"{nap(4)} as weight").persist()
    points.count()
    centres = [(100.0, 100.0), (500.0, 500.0), (900.0, 200.0)]
    for _ in range(8):
        distances = [f"struct(pow(x - {x}, 2) + pow(y - {y}, 2) as d, {number} as c)" for number, (x, y) in enumerate(centres)]
        rows = points.selectExpr("x", "y", f"array_min(array({', '.join(distances)})).c as c").groupBy("c").agg({"x": "avg", "y": "avg"}).collect()
        centres = [(row["avg(x)"], row["avg(y)"]) for row in rows]
    slowly(points, 4, "max(x)").collect()


def first_look(spark: Any) -> None:
    """show() of a costly table asks for one partition, then for a few: one task at a time, and over soon."""
    rows = spark.range(0, 4800, 1, 48).selectExpr("id", "id % 500 as client", f"{nap(6)} as parsed")
    rows.where("client < 3").show(5)
    rows.where("id % 10 = 3").limit(20).collect()
    rows.groupBy("client").agg({"parsed": "sum"}).orderBy("client").limit(10).collect()


def scored_sample(spark: Any) -> None:
    """A pandas UDF on the few rows that need it, behind a join and an aggregation that take the time."""
    import pandas
    from pyspark.sql.functions import pandas_udf

    def grade(total: Any) -> Any:
        return (total / total.max()).fillna(0.0)

    grade.__annotations__ = {"total": pandas.Series, "return": pandas.Series}
    rows = spark.range(0, 8000, 1, 20).selectExpr("id % 900 as client", f"{nap(5)} as n", "id % 31 as amount")
    clients = spark.range(0, 900, 1, 2).selectExpr("id as client", "concat('client ', id) as name")
    totals = rows.groupBy("client").agg({"n": "sum", "amount": "sum"}).toDF("client", "n", "amount").join(clients, "client")
    totals.withColumn("grade", pandas_udf(grade, "double")("amount")).orderBy("name").collect()


DYNAMIC = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.shuffleTracking.enabled": "true", "spark.dynamicAllocation.minExecutors": "2",
           "spark.dynamicAllocation.initialExecutors": "3", "spark.dynamicAllocation.maxExecutors": "3", "spark.dynamicAllocation.executorIdleTimeout": "60s"}

control("control-unseen2-shuffle", large_shuffle, family=HEALTHY, cluster=standalone(2, 2, "1g"), conf={"spark.sql.shuffle.partitions": "32", "spark.sql.autoBroadcastJoinThreshold": "-1"} | KEEP, forbid=["SKEW", "SPILL", "PART"],
        allow=["SLOW"], claims={"any.shuffle_write_mib": ">=90", "any.spill_disk_mib": "==0", "main.records_ratio": "<1.5", "plan.SortMergeJoin": "==1"},
        notes="CPU-bound: large and even, two sides of the same size; that the work itself is all there is may be said")
control("control-unseen2-nightly", nightly_steps, family=HEALTHY, cluster=local(6), versions=BOTH, forbid=["DRIVER", "CACHE"],
        claims={"app.no_job_gap_s": "<4", "app.failed_tasks": "==0", "main.time_ratio": "<3"}, notes="pauses of six tenths of a second in the driver, as any scheduler or registry needs")
control("control-unseen2-dashboard", dashboard, family=HEALTHY, cluster=local(6), forbid=["DRIVER", "CACHE", "TINY", "SCHED"], allow=["UTIL"],
        claims={"app.jobs": ">=40", "app.persisted": ">=1"}, notes="many small queries on purpose, six at a time, over a cache")
control("control-unseen2-grid", dense_grid, family=HEALTHY, cluster=local(6), versions=BOTH, forbid=["PLAN"], claims={"plan.number-of-output-rows": "<200000", "main.time_ratio": "<3"},
        notes="14400 rows by a cross join that is wanted")
control("control-unseen2-late-filter", filtered_late, family=HEALTHY, cluster=local(6), versions=BOTH, forbid=["PLAN/underBroadcast", "SHAPE", "SKEW"], claims={"plan.BroadcastHashJoin": ">=1", "plan.SortMergeJoin": "==0"},
        notes="AQE changes the join itself; the shuffle of the other side had already begun")
control("control-unseen2-loads", parallel_loads, family=HEALTHY, cluster=local(6), forbid=["SCHED", "SHAPE", "UTIL"], claims={"app.jobs": "==4", "app.parallel": ">=4.5", "any.wait_s": ">=1"},
        notes="48 tasks on six cores: somebody has to wait, and nothing would be gained by another order")
control("control-unseen2-rescued", rescued, family=HEALTHY, cluster=standalone(4, 2), conf={"spark.speculation": "true", "spark.speculation.interval": "200ms", "spark.speculation.multiplier": "2",
        "spark.speculation.quantile": "0.6", "spark.sql.shuffle.partitions": "8"} | KEEP, allow=["HOST", "STRAG", "SHAPE"], forbid=["SPEC", "SKEW", "FAIL"], claims={"app.speculative": ">=1", "app.killed_tasks": ">=1"},
        notes="the host is slow, which may be said; the copies are no waste")
control("control-unseen2-giant", early_giant, family=HEALTHY, cluster=local(8), conf=KEEP, versions=BOTH, forbid=["SKEW", "STRAG", "SHAPE"], claims={"main.records_ratio": ">=3", "main.time_ratio": ">=3", "main.tasks": "==48", "main.max_s": "<6"},
        notes="skew that costs nothing: the large task starts first and ends with the fourth wave")
control("control-unseen2-catch-up", catch_up, family=HEALTHY, cluster=local(8), conf={"spark.sql.shuffle.partitions": "8"}, forbid=["STREAM"], allow=["UTIL", "PLAN/smallFiles"], claims={"app.batches": ">=4"},
        notes="batches without a pause are what availableNow means; their inputs are as large as the limit lets them be")
control("control-unseen2-breathing", breathing, family=HEALTHY, cluster=standalone(3, 2), conf=DYNAMIC, forbid=["CHRN", "FAIL", "RETRY"], allow=["COLD", "UTIL", "MEM"],
        claims={"app.executors": "==3", "app.executors_lost": "==0"}, notes="executors start with the application, which takes its seconds")
control("control-unseen2-summary", one_summary, family=HEALTHY, cluster=local(6), versions=BOTH, conf={"spark.sql.shuffle.partitions": "6"}, forbid=["PLAN/singlePartition", "SHAPE", "PART"], claims={"plan.Coalesce": ">=1", "main.tasks": "==24", "main.time_ratio": "<3"},
        notes="one task that writes forty rows")
control("control-unseen2-compaction", compaction, family=HEALTHY, cluster=local(6), data="unseen2-landed", forbid=["PLAN/smallFiles", "SHAPE", "SKEW"], claims={"plan.number-of-files-read": "==240", "plan.number-of-written-files": "==3"},
        notes="it reads small files because it is what removes them")
control("control-unseen2-fitted", fitted, family=HEALTHY, cluster=local(6), forbid=["CACHE", "PLAN"], allow=["UTIL", "DRIVER"], claims={"app.jobs": ">=10", "app.persisted": ">=1"},
        notes="small rounds over cached points; the last query does the work")
control("control-unseen2-first-look", first_look, family=HEALTHY, cluster=local(6), forbid=["SHAPE", "UTIL", "CACHE", "PLAN"], claims={"app.jobs": ">=4", "main.time_ratio": "<3"},
        notes="take() widens its search step by step; the three questions need different rows of the same table")
control("control-unseen2-sample", scored_sample, family=HEALTHY, cluster=local(6), forbid=["PLAN", "SKEW", "SHAPE"], claims={"plan.ArrowEvalPython": "==1", "main.time_ratio": "<3"},
        notes="nine hundred rows go through Python")
