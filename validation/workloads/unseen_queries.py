"""Queries whose shapes no other theme has; their families are only scored (split `blind`)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from kit import BOTH, data_path, dataset, expected, local, nap, noise, pair, slowly

STATIC = {"spark.sql.adaptive.enabled": "false"}
KEEP = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def star_two_hot(spark: Any, spread: bool) -> None:
    """Orders meet shops (broadcast) and products (sort-merge); two products have half of the orders. Then a write."""
    from common import scratch

    spark.range(0, 15000, 1, 12).selectExpr(
        "id as order_id", "id % 40 as shop", f"{noise('id', 3)} as basket",
        "case when id % 10 < 3 then 17 when id % 10 < 5 then 903 else id % 20000 end as product").createOrReplaceTempView("orders")
    spark.range(0, 20000, 1, 4).selectExpr("id as product", f"{noise('id', 1)} as title").createOrReplaceTempView("products")
    spark.range(0, 40).selectExpr("id as shop", "concat('city ', id % 7) as city").createOrReplaceTempView("shops")
    keys = "product"
    if spread:
        keys = "product, part"
        spark.sql("select *, if(product in (17, 903), order_id % 60, 0) as part from orders").createOrReplaceTempView("orders")
        spark.sql("select *, explode(if(product in (17, 903), sequence(0, 59), array(0))) as part from products").createOrReplaceTempView("products")
    rows = spark.sql(f"select * from orders join products using ({keys}) join shops using (shop)")
    rows = rows.selectExpr("city", "length(basket) + length(title) as size", f"{nap(2)} as priced")
    rows.groupBy("city").agg({"size": "max", "priced": "sum"}).toDF("city", "size", "priced").write.parquet(scratch("cities"))


def unknown_campaign(spark: Any, guarded: bool) -> None:
    """Both sides call what they do not know 'unknown', and all of those meet each other."""
    spark.range(0, 16000, 1, 16).selectExpr(
        "id as visit", "if(id % 7 = 0, 'unknown', concat('c', id % 900)) as campaign").createOrReplaceTempView("visits")
    spark.range(0, 1400, 1, 2).selectExpr(
        "id as ad", "if(id >= 900, 'unknown', concat('c', id)) as campaign").createOrReplaceTempView("ads")
    spark.sql(f"""
        select v.visit, a.ad from visits v left join ads a
        on v.campaign = a.campaign {"and v.campaign <> 'unknown'" if guarded else ""}""").createOrReplaceTempView("attributed")
    slowly(spark.table("attributed"), 1, "max(ad)", "count(distinct visit)", when="pmod(visit * 31 + coalesce(ad, 0), 24) = 0").collect()


def either_side(spark: Any, split: bool) -> None:
    """Transfers of watched accounts, as sender or receiver: an OR in the condition leaves no key to hash."""
    spark.range(0, 110000, 1, 6).selectExpr("id as tx", "id * 7919 % 500009 as sender", "id * 104729 % 500009 as receiver").createOrReplaceTempView("transfers")
    spark.range(0, 8000, 1, 2).selectExpr("id * 61 as account").createOrReplaceTempView("watched")
    if split:
        rows = spark.sql("""select tx, account from transfers join watched on sender = account
                            union select tx, account from transfers join watched on receiver = account""")
    else:
        rows = spark.sql("select tx, account from transfers join watched on sender = account or receiver = account")
    rows.groupBy("account").count().agg({"count": "max"}).collect()


def distinct_counts(spark: Any, exact: bool) -> None:
    """Twelve distinct counts in one query: each row is copied once for each of them."""
    columns = [f"(id * {7919 + n}) % {40000 + 501 * n} as c{n}" for n in range(12)]
    spark.range(0, 110000, 1, 4).selectExpr("id % 30 as branch", *columns).createOrReplaceTempView("events")
    how = "count(distinct c{})" if exact else "approx_count_distinct(c{})"
    spark.sql(f"select branch, {', '.join(how.format(n) for n in range(12))} from events group by branch").collect()


def one_csv(spark: Any, early: bool) -> None:
    """One CSV is wanted; the repartition comes before the costly column, or after it."""
    from common import scratch

    spark.range(0, 9000, 1, 24).selectExpr("id", "id % 11 as region", f"{nap(1)} as n").groupBy("region").count().collect()
    rows = spark.range(0, 4500, 1, 24).selectExpr("id", "id % 11 as region", f"{noise('id', 1)} as about")
    if early:
        rows = rows.repartition(1)
    rows = rows.selectExpr("id", "region", "about", f"{nap(2)} as score")
    if not early:
        rows = rows.repartition(1)
    rows.write.option("header", True).csv(scratch("export"))


def year_on_year(spark: Any, staged: bool) -> None:
    """Sales of a month against the month before and the year before: the same rated sales three times."""
    from common import scratch

    rated = spark.range(0, 7200, 1, 16).selectExpr("id % 60 as month", "id as sale", f"{nap(3)} as rated")
    if staged:
        place = scratch("rated")
        rated.write.parquet(place)
        rated = spark.read.schema("month long, sale long, rated int").parquet(place)
    rated.createOrReplaceTempView("rated")
    totals = "select month + {} as month, sum(sale) as sales, sum(rated) as rated from rated group by month + {}"
    spark.sql(f"""
        select n.month, n.sales - p.sales + n.rated - p.rated as monthly, n.sales - y.sales + n.rated - y.rated as yearly
        from ({totals.format(0, 0)}) n join ({totals.format(1, 1)}) p using (month) join ({totals.format(12, 12)}) y using (month)
        order by month""").collect()


def three_dimensions(spark: Any) -> None:
    """A fact table and three dimensions of some thousand rows."""
    spark.range(0, 1400000, 1, 6).selectExpr(
        "id % 4000 as product", "id * 31 % 3000 as client", "id * 17 % 2000 as branch", "id % 97 as amount").createOrReplaceTempView("lines")
    for name, rows in (("product", 4000), ("client", 3000), ("branch", 2000)):
        spark.range(0, rows, 1, 2).selectExpr(f"id as {name}", f"concat('{name} ', id % 50) as {name}_group").createOrReplaceTempView(f"{name}s")
    spark.sql("""select product_group, client_group, sum(amount) as amount from lines join products using (product)
                 join clients using (client) join branchs using (branch) where branch_group <> 'branch 3'
                 group by product_group, client_group order by amount desc limit 20""").collect()


@dataset("unseen-ledger")
def ledger(spark: Any, place: str) -> None:
    """Six regions, twelve days each, in one file for each of them."""
    rows = spark.range(0, 24000, 1, 4).selectExpr(
        "id", f"{noise('id', 1)} as entry", "timestamp_seconds(1769904000 + (id % 12) * 86400 + id % 80000) as booked_at",
        "id div 12 % 6 as region", "date_add(date'2026-02-01', cast(id % 12 as int)) as day")
    rows.repartition(12, "region", "day").write.partitionBy("region", "day").parquet(place)


def upsert(spark: Any, by_partition: bool) -> None:
    """MERGE by hand: the corrections of one day are joined with the table, and the day is written again."""
    from common import scratch

    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    current = spark.read.schema("id long, entry string, booked_at timestamp, region int, day date").parquet(data_path("unseen-ledger"))
    if by_partition:
        current = current.where("day = date'2026-02-05'")
    current = current.selectExpr("*", f"{nap(2)} as checked").where("cast(booked_at as date) = date'2026-02-05'")
    current.createOrReplaceTempView("current")
    spark.range(4, 30000, 12, 2).selectExpr("id", f"{noise('id + 1', 1)} as entry", "id div 12 % 6 as region").createOrReplaceTempView("corrections")
    merged = spark.sql("""select id, coalesce(n.entry, c.entry) as entry, coalesce(c.checked, 0) as checked,
                          cast(coalesce(n.region, c.region) as int) as region, date'2026-02-05' as day
                          from current c full join corrections n using (id)""")
    merged.write.mode("overwrite").partitionBy("region", "day").parquet(scratch("ledger"))


@dataset("unseen-json")
def json_files(spark: Any, place: str) -> None:
    """The same documents in three compressed files and in eighteen."""
    for name, files in (("three", 3), ("eighteen", 18)):
        Path(f"{place}/{name}").mkdir(parents=True)
        for number in range(files):
            with gzip.open(f"{place}/{name}/export-{number:02}.json.gz", "wt") as out:
                out.writelines(json.dumps({"id": n, "kind": f"k{n % 9}", "ref": f"{n * 7919 % 1000003:x}"}) + "\n" for n in range(number, 12600, files))


def landed_json(spark: Any, name: str) -> None:
    """Documents as a partner delivers them, checked one by one, counted by kind, with the names of the kinds."""
    rows = spark.read.schema("id long, kind string, ref string").json(f"{data_path('unseen-json')}/{name}")
    rows = rows.where("ref is not null").selectExpr("kind", "length(ref) as size", f"{nap(2)} as checked")
    kinds = spark.range(0, 9).selectExpr("concat('k', id) as kind", "concat('kind ', id) as label")
    rows.groupBy("kind").agg({"size": "avg", "checked": "sum"}).join(kinds, "kind").orderBy("label").collect()


@dataset("unseen-row-groups")
def row_groups(spark: Any, place: str) -> None:
    """Ten files; the eleventh has three fifths of the rows, in one row group or in many."""
    small = spark.range(0, 3600, 1, 10).selectExpr("id", f"{noise('id', 2)} as text")
    large = spark.range(3600, 9000, 1, 1).selectExpr("id", f"{noise('id', 2)} as text")
    for name, size in (("one", 64 << 20), ("many", 96 << 10)):
        small.write.parquet(f"{place}/{name}")
        large.write.mode("append").option("parquet.block.size", str(size)).option("parquet.page.size", "16384").parquet(f"{place}/{name}")


def one_row_group(spark: Any, name: str) -> None:
    rows = spark.read.schema("id long, text string").parquet(f"{data_path('unseen-row-groups')}/{name}")
    slowly(rows.where("text is not null"), 2, "max(length(text))", "count(distinct id % 100)").collect()


def silver(spark: Any, arranged: bool) -> None:
    """Every task writes into every country and month; the next query reads what was written."""
    from common import scratch

    place = scratch("silver")
    rows = spark.range(0, 60000, 1, 8).selectExpr("id", "id * 7 % 12 as country", "id * 11 % 5 as month", "id % 2000 as account", f"{noise('id', 1)} as text")
    rows = rows.groupBy("account", "country", "month").agg({"text": "max", "id": "count"}).toDF("account", "country", "month", "text", "visits")
    if arranged:
        rows = rows.repartition(16, "country", "month")
    rows.write.partitionBy("country", "month").parquet(place)
    read = spark.read.schema("account long, text string, visits long, country int, month int").parquet(place)
    slowly(read, "if(account % 10 = 0, 3, 0)", "max(length(text))", "sum(visits)").collect()


def many_shuffle_parts(spark: Any, partitions: int) -> None:
    """A join and an aggregation of little data in hundreds of partitions each, without AQE."""
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    spark.range(0, 50000, 1, 6).selectExpr("id % 9000 as k", "id as v").createOrReplaceTempView("left_rows")
    spark.range(0, 9000, 1, 4).selectExpr("id as k", "id % 700 as g").createOrReplaceTempView("right_rows")
    spark.sql("select /*+ merge(right_rows) */ g, sum(v) as v from left_rows join right_rows using (k) group by g").agg({"v": "max"}).collect()


def scored(spark: Any, python: bool) -> None:
    """A score for each row, in pandas with a Python loop in it, or as SQL; then the healthy rest of the query."""
    import pandas
    from pyspark.sql.functions import expr, pandas_udf

    rows = spark.range(0, 700000, 1, 6).selectExpr("id", "id % 500 as shop", "concat(id % 37, '-', id % 1013, '-', id % 7) as code")
    if python:
        def score(code: Any) -> Any:
            return code.map(lambda text: sum(int(part) for part in text.split("-")) % 101)

        score.__annotations__ = {"code": pandas.Series, "return": pandas.Series}
        rows = rows.withColumn("score", pandas_udf(score, "long")("code"))
    else:
        rows = rows.withColumn("score", expr("(id % 37 + id % 1013 + id % 7) % 101"))
    rows.where("score > 10").groupBy("shop").agg({"score": "avg", "code": "max"}).orderBy("shop").collect()


def store_forecast(spark: Any, regional: bool) -> None:
    """A model for each store in pandas; one store is the web shop, which may be fitted by region."""
    import time

    def fit(group: Any) -> Any:
        time.sleep(0.002 * len(group))
        return group.head(1)[["store", "region"]]

    rows = spark.range(0, 9000, 1, 12).selectExpr("if(id % 9 < 5, 3, id % 120) as store", "if(id % 9 < 5, id % 18, 0) as region", f"{noise('id', 1)} as basket")
    rows = rows.mapInPandas(lambda batches: batches, "store long, region long, basket string").persist()
    rows.count()
    fitted = rows.groupBy("store", *(["region"] if regional else [])).applyInPandas(fit, "store long, region long")
    fitted.groupBy("store").count().collect()


def union_of_days(spark: Any, loop: bool) -> None:
    """A year of days: a union of a query for each, or one query for all."""
    if loop:
        rows = spark.range(0).selectExpr("id", "0 as day", "0 as load")
        for day in range(80):
            rows = rows.union(spark.range(0, 40, 1, 1).selectExpr("id", f"{day} as day", f"cast(id * {day} % 31 as int) as load").where("load < 30"))
        rows = rows.coalesce(8)
    else:
        rows = spark.range(0, 3200, 1, 8).selectExpr("id % 40 as id", "id div 40 as day", "cast(id % 40 * (id div 40) % 31 as int) as load").where("load < 30")
    for column in ("day", "load", "id"):
        slowly(rows.selectExpr(column, "load as l"), "if(l = 3, 4, 0)", f"max({column})", "sum(l)").collect()


pair("unseen-star-two-hot", "blind-skew-star", star_two_hot, versions=BOTH, bad={"spread": False}, good={"spread": True},
     conf=STATIC | {"spark.sql.shuffle.partitions": "24", "spark.sql.autoBroadcastJoinThreshold": "64k"},
     expect=[expected("SKEW", "skew", "the sort-merge join's stage of 24 tasks: two hot products")], allow=["STRAG", "SHAPE", "PART", "PLAN/underBroadcast"],
     good_allow=["PLAN/underBroadcast"], forbid=["HOST", "SPILL", "GC", "COLD"],
     claims={"main.records_ratio": (">=4", "<2.5"), "main.time_ratio": (">=6", "<3.5"), "main.tasks": ("==24", "==24"), "plan.SortMergeJoin": ("==1", "==1")},
     notes="AQE is off; the rows of the other side make the partitions look more alike than their work is")
pair("unseen-unknown-key", "blind-explosion", unknown_campaign, versions=BOTH, bad={"guarded": False}, good={"guarded": True},
     expect=[expected("PLAN", "joinExplosion", "the broadcast left join: 2286 x 500 rows called 'unknown'")], allow=["SHAPE"], forbid=["PLAN/nestedLoopJoin", "HOST", "PLAN/underBroadcast"],
     claims={"plan.BroadcastHashJoin": ("==1", "==1"), "plan.number-of-output-rows": (">=1000000", "<300000")},
     notes="an outer join by broadcast, even over the tasks; no skew to see")
pair("unseen-or-join", "blind-loop", either_side, bad={"split": False}, good={"split": True}, cluster=local(2),
     expect=[expected("PLAN", "nestedLoopJoin", "BroadcastNestedLoopJoin for sender = account or receiver = account")], allow=["SHAPE"], forbid=["PLAN/joinExplosion", "SKEW"],
     claims={"plan.BroadcastNestedLoopJoin": ("==1", "==0")}, notes="CPU-bound; repaired by a union of two equality joins")
pair("unseen-distinct-counts", "blind-expand", distinct_counts, bad={"exact": True}, good={"exact": False}, cluster=local(2),
     expect=[expected("PLAN", "expandExplosion", "Expand for twelve distinct counts", "info")], allow=["SHFL", "SPILL", "SHAPE"], forbid=["SKEW", "HOST"],
     claims={"plan.Expand": ("==1", "==0"), "plan.number-of-output-rows": (">=1300000", "<400000")}, notes="CPU-bound; repaired by approximate counts")
pair("unseen-one-csv", "blind-single", one_csv, bad={"early": True}, good={"early": False}, versions=BOTH,
     expect=[expected("PLAN", "singlePartition", "the export's only task, behind repartition(1)")], allow=["SHAPE", "PART", "SLOW", "UTIL", "STRAG"], forbid=["SKEW", "HOST"],
     claims={"slowest.tasks": ("==1", ">=2"), "slowest.max_s": (">=8", "<4")}, notes="a healthy query comes before; the repair moves repartition(1) behind the costly column")
pair("unseen-year-on-year", "blind-duplicate", year_on_year, bad={"staged": False}, good={"staged": True}, conf={"spark.sql.shuffle.partitions": "12"},
     expect=[expected("PLAN", "duplicatePlanSubtree", "the rated sales, computed for each of three sides of a self join")], allow=["CACHE", "UTIL", "PLAN/underBroadcast"],
     forbid=["SKEW", "PLAN/joinExplosion"], claims={"plan.Range": (">=3", "==1"), "app.task_s": (">=65", "<45")},
     notes="with AQE; repaired by a staging table")
pair("unseen-three-dims", "blind-underbroadcast", three_dimensions, cluster=local(2), bad_conf=STATIC | {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": "8"},
     good_conf=STATIC | {"spark.sql.shuffle.partitions": "8"},
     expect=[expected("PLAN", "underBroadcast", "three sort-merge joins with dimensions of 2000 to 4000 rows", "info")], allow=["SHFL"], forbid=["SKEW", "PLAN/joinExplosion"],
     claims={"plan.SortMergeJoin": ("==3", "==0"), "plan.BroadcastHashJoin": ("==0", "==3")}, notes="CPU-bound, without AQE; broadcasts were switched off for the whole application")
pair("unseen-upsert", "blind-pruning", upsert, data="unseen-ledger", bad={"by_partition": False}, good={"by_partition": True}, conf=KEEP | {"spark.sql.shuffle.partitions": "8"},
     expect=[expected("PLAN", "missingPruning", "the scan of 72 partitions for the corrections of one day")], allow=["PART", "PLAN/smallFiles", "PLAN/underBroadcast"],
     good_allow=["PLAN/underBroadcast", "PLAN/smallFiles"], forbid=["SKEW", "PLAN/joinExplosion"],
     claims={"plan.partition-filters": ("==0", ">=1"), "plan.number-of-partitions-read": (">=72", "<=6")}, notes="MERGE by hand: full join, dynamic overwrite")
pair("unseen-three-gz", "blind-unsplittable", landed_json, data="unseen-json", cluster=local(6), bad={"name": "three"}, good={"name": "eighteen"}, versions=BOTH,
     expect=[expected("PLAN", "unsplittableInput", "the scan of three json.gz files by six cores")], allow=["SHAPE", "PART", "SLOW", "UTIL"], forbid=["SKEW", "STRAG", "HOST", "PLAN/smallFiles"],
     claims={"main.tasks": ("==3", ">=6"), "main.wall_s": (">=7", "<7")}, notes="the twin reads the same documents from eighteen files; a join and a sort follow")
pair("unseen-row-group", "blind-skew-file", one_row_group, data="unseen-row-groups", bad={"name": "one"}, good={"name": "many"},
     conf={"spark.sql.files.maxPartitionBytes": "128k", "spark.sql.files.openCostInBytes": "0"},
     expect=[expected("SKEW", "skew", "the scan: one file's only row group holds three fifths of the rows")], allow=["STRAG", "SHAPE", "PART", "TINY", "PLAN/unsplittableInput"],
     good_allow=["PART", "PLAN/smallFiles"], forbid=["HOST", "GC", "SPILL"],
     claims={"main.records_ratio": (">=6", ""), "main.max_s": (">=9", "<5")}, notes="the file can be split, its row group cannot: the other splits of it are empty")
pair("unseen-silver", "blind-smallfiles", silver, bad={"arranged": False}, good={"arranged": True}, conf=KEEP | {"spark.sql.shuffle.partitions": "12"},
     expect=[expected("PLAN", "smallFiles", "the write of 12 files into each of 60 directories")], allow=["DRIVER", "SLOW", "PART", "TINY", "SHAPE"], good_allow=["PLAN/smallFiles"], forbid=["SKEW", "HOST"],
     claims={"plan.number-of-written-files": (">=700", "<=60"), "plan.number-of-files-read": (">=700", "<=60")}, notes="written and then read by the next query; 60 files of 100 kB are small too, but as few as the layout allows")
pair("unseen-shuffle-parts", "blind-tiny", many_shuffle_parts, bad={"partitions": 220}, good={"partitions": 8}, conf=STATIC, cluster=local(4),
     expect=[expected("TINY", "tinyTask", "the join's and the aggregation's stages of 220 tasks")], allow=["PART", "SCHED", "SHFL", "PLAN/underBroadcast"], good_allow=["PLAN/underBroadcast"], forbid=["SKEW", "STRAG", "HOST"],
     claims={"any.tasks": ("==220", "<=8")}, notes="CPU-bound, without AQE")
pair("unseen-pandas-score", "blind-python", scored, bad={"python": True}, good={"python": False}, cluster=local(2),
     expect=[expected("PLAN", "pythonUdf", "ArrowEvalPython over 700 000 rows", "info")], allow=["STRAG"], forbid=["SKEW", "HOST"],
     claims={"plan.ArrowEvalPython": (">=1", "==0")}, notes="CPU-bound; a filter and an aggregation follow")
pair("unseen-store-forecast", "blind-skew-pandas", store_forecast, bad={"regional": False}, good={"regional": True}, cluster=local(4), conf=KEEP | {"spark.sql.shuffle.partitions": "24"},
     expect=[expected("SKEW", "skew", "applyInPandas' stage of 24 tasks: one store has five ninths of the rows")], allow=["STRAG", "SHAPE", "PART", "PLAN/pythonUdf"], good_allow=["PLAN/pythonUdf"], forbid=["HOST", "GC"],
     claims={"any.records_ratio": (">=10", "<6"), "slowest.max_s": (">=9", "")}, notes="the time is spent in Python, by sleeping for each row; the twin fits the web shop by region")
pair("unseen-union-days", "blind-huge-plan", union_of_days, bad={"loop": True}, good={"loop": False},
     expect=[expected("PLAN", "hugePlan", "a union of 81 queries", "info")], allow=["DRIVER", "UTIL", "CACHE", "PLAN/duplicatePlanSubtree"], good_allow=["CACHE", "DRIVER"], forbid=["SKEW", "HOST"],
     claims={"plan.nodes": (">=200", "<30")}, notes="three actions on the same union; the time is analysis, planning and code generation in the driver")
