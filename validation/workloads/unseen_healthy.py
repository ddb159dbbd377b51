"""Healthy applications that are a little ugly, as real ones are; the family is only scored (split `blind`)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from kit import BOTH, control, dataset, data_path, local, nap, noise, slowly, standalone
from unseen_streams import STREAM, drive

HEALTHY = "blind-control"
KEEP = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


@dataset("unseen-bronze")
def bronze(spark: Any, place: str) -> None:
    """Twenty-two files, some of them very small."""
    rows = spark.range(0, 9000, 1, 14).selectExpr("id", "if(id % 40 = 0, 7, id % 220) as client", f"{noise('id', 2)} as text")
    rows.write.parquet(place)
    rows.where("id % 90 = 0").repartition(8).write.mode("append").parquet(place)


def nightly(spark: Any) -> None:
    """Files to a table by way of a join and a window: uneven clients, one task that fails at once, and few files out."""
    from common import scratch
    from pyspark import TaskContext

    def probe(index: int, rows: Any) -> Any:
        time.sleep(0.15)
        if index == 5 and TaskContext.get().attemptNumber() == 0:
            raise TimeoutError("no answer yet")
        return iter([sum(rows)])

    spark.sparkContext.parallelize(range(120), 12).mapPartitionsWithIndex(probe).sum()
    rows = spark.read.schema("id long, client long, text string").parquet(data_path("unseen-bronze"))
    rows.selectExpr("*", f"{nap('1 + id % 3')} as cleaned").createOrReplaceTempView("cleaned")
    spark.range(0, 220, 1, 2).selectExpr("id as client", "concat('client ', id) as name").createOrReplaceTempView("clients")
    spark.sql("select *, row_number() over (partition by client order by id desc) as n from cleaned join clients using (client)").createOrReplaceTempView("ranked")
    rows = spark.sql(f"select id, client, name, text, cleaned, {nap(2)} as checked from ranked where n <= 60")
    rows.repartition(6, "client").write.parquet(scratch("gold"))


def star(spark: Any) -> None:
    """Two broadcast joins and an aggregation that AQE gives one small task at the end."""
    spark.range(0, 9000, 1, 24).selectExpr("id", "cast(pow(id % 97, 2) as int) % 60 as shop", "id * 31 % 400 as product", f"{nap('2 + id % 2')} as read").createOrReplaceTempView("sales")
    spark.range(0, 60).selectExpr("id as shop", "concat('town ', id % 9) as town").createOrReplaceTempView("shops")
    spark.range(0, 400, 1, 2).selectExpr("id as product", f"{noise('id', 1)} as title").createOrReplaceTempView("products")
    spark.sql("""select town, count(distinct product) as products, sum(read) as amount, max(title) as title
                 from sales join shops using (shop) join products using (product) group by town order by amount desc""").collect()
    spark.sql("select town, count(*) from sales join shops using (shop) where shop < 20 group by town").collect()


def notebook(spark: Any) -> None:
    """Somebody looks at a table: small questions, half a second of thinking between them, a hundred rows to pandas."""
    spark.range(0, 4800, 1, 12).selectExpr("id", "id % 37 as k", f"{nap(2)} as n", f"{noise('id', 1)} as text").cache().createOrReplaceTempView("t")
    for query in ("select count(*) from t", "select k, count(*) as c from t group by k order by c desc limit 5", "select avg(n) from t where k > 5",
                  "select max(length(text)) from t where id % 3 = 0"):
        spark.sql(query).collect()
        time.sleep(0.5)
    spark.sql("select id, k from t where id % 48 = 0").toPandas().describe()
    slowly(spark.table("t"), 5, "max(length(text))").collect()
    spark.table("t").unpersist()


def lines_counted(spark: Any) -> None:
    """Words by RDDs: natural task times, a sort that samples first, and a partition with somewhat more."""
    import random

    def words(index: int, rows: Any) -> Any:
        dice = random.Random(index)
        time.sleep(0.8 * dice.lognormvariate(0, 0.3))
        for n in rows:
            yield f"word-{min(int(dice.paretovariate(0.8)), 4000)}", 1

    counted = spark.sparkContext.parallelize(range(30000), 36).mapPartitionsWithIndex(words).reduceByKey(lambda a, b: a + b, 12)
    counted.map(lambda pair: (pair[1], pair[0])).sortByKey(False, 6).take(10)


def little_sins(spark: Any) -> None:
    """A Python UDF on forty groups, a cross join with three rows, a window over everything that is left: all of it tiny."""
    from pyspark.sql.functions import udf

    totals = spark.range(0, 8000, 1, 24).selectExpr("id % 40 as k", f"{nap(4)} as n").groupBy("k").agg({"n": "sum"}).toDF("k", "n")
    named = totals.withColumn("name", udf(lambda k: f"group {k}")("k"))
    named.createOrReplaceTempView("totals")
    spark.range(0, 3).selectExpr("id as scenario", "1 + id * 0.1 as factor").createOrReplaceTempView("scenarios")
    spark.sql("""select name, scenario, n * factor as value, rank() over (order by n * factor desc, name, scenario) as place
                 from totals cross join scenarios""").where("place <= 20").collect()


def inbox(spark: Any) -> None:
    """Files, one each second, deduplicated within a watermark; the first batch is slow for its start."""
    from common import in_thread, scratch

    place, done = Path(scratch("inbox")), []
    place.mkdir(parents=True)

    def deliver() -> None:
        number = 0
        while not done:
            draft = place / f".{number}.json"
            at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
            draft.write_text("".join(json.dumps({"id": number * 50 + n % 48, "at": at}) + "\n" for n in range(50)))
            draft.rename(place / f"{number:05}.json")
            number += 1
            time.sleep(1)

    courier = in_thread(deliver)
    rows = spark.readStream.schema("id long, at timestamp").json(str(place)).withWatermark("at", "2 seconds")
    rows = rows.dropDuplicatesWithinWatermark(["id"]).selectExpr("id", f"{nap(3)} as n")
    drive(rows.writeStream.format("noop").trigger(processingTime="3 seconds"), 18)
    done.append(True)
    courier.join()


control("control-unseen-nightly", nightly, family=HEALTHY, data="unseen-bronze", cluster=local(6), conf={"spark.master": "local[6, 4]", "spark.sql.shuffle.partitions": "12"} | KEEP, versions=BOTH,
        claims={"app.failed_tasks": "==1", "app.failed_jobs": "==0", "any.records_ratio": "<4", "any.gc_share": "<0.4"},
        notes="One task fails after a sixth of a second and is tried again; some clients have more rows, eight files are tiny")
control("control-unseen-star", star, family=HEALTHY, cluster=standalone(2, 3), claims={"plan.BroadcastHashJoin": ">=3", "main.time_ratio": "<3", "app.executors": "==2"},
        notes="AQE gives the last stages one task each, which is right for sixty rows")
control("control-unseen-notebook", notebook, family=HEALTHY, cluster=local(6), claims={"app.no_job_longest_s": "<2", "main.time_ratio": "<3", "app.jobs": ">=6"},
        notes="half-second pauses, as between the cells of a notebook", allow=["UTIL"])
control("control-unseen-words", lines_counted, family=HEALTHY, cluster=standalone(3, 2), claims={"main.time_ratio": "<8", "plan.nodes": "==0", "app.executors": "==3"},
        notes="an RDD job with sampling, skipped stages and log-normal task times; the first wave starts the Python workers")
control("control-unseen-little-sins", little_sins, family=HEALTHY, cluster=local(6), versions=BOTH, conf={"spark.sql.shuffle.partitions": "8"},
        claims={"plan.Window": ">=1", "plan.single-partition": ">=1", "main.time_ratio": "<3"},
        notes="a cross join, a Python UDF and a window without keys over 40 and 120 rows")
control("control-unseen-inbox", inbox, family=HEALTHY, conf=STREAM, claims={"app.batches": ">=4", "app.batch_max_s": "<9", "app.state_growth": "<2.5"}, allow=["UTIL"],
        notes="a stream of files with a watermark; nothing grows")
