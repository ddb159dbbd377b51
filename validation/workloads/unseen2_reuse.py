"""The same work again and again, and drivers that do what executors could; only scored (split `blind-2`)."""

from __future__ import annotations

from typing import Any

from kit import BOTH, expected, local, nap, noise, pair, standalone


KEEP = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def training(spark: Any, kept: bool) -> None:
    """Six steps of a descent over features that come from a join and an aggregation."""
    spark.range(0, 3600, 1, 12).selectExpr("id % 600 as user", "id % 23 as pages", f"{nap(3)} as weight").createOrReplaceTempView("visits")
    spark.range(0, 600, 1, 2).selectExpr("id as user", "id % 7 as segment").createOrReplaceTempView("users")
    features = spark.sql("""select user, segment, sum(pages) as pages, sum(weight) as weight, count(*) as visits
                            from visits join users using (user) group by user, segment""")
    if kept:
        features = features.persist()
    slope = 0.5
    for step in range(6):
        row = features.selectExpr(f"(pages - {slope}D * weight - segment) as error", "weight").selectExpr("avg(error * weight) as gradient", "avg(error * error) as loss").first()
        slope += 0.0001 * row.gradient / (step + 1)


def components(spark: Any, cut: bool) -> None:
    """Connected components: each round joins the labels of the round before, which nothing keeps."""
    edges = spark.range(0, 1500, 1, 6).selectExpr("id as src", "if(id % 50 = 0, id, id - 1) as dst")
    edges.createOrReplaceTempView("edges")
    labels = spark.range(0, 1500, 1, 6).selectExpr("id as node", "id as label")
    for _ in range(5):
        labels.createOrReplaceTempView("labels")
        sent = spark.sql(f"select dst, least(label, dst) as label, {nap(1)} as hop from edges join labels on src = node")
        labels = sent.where("hop > 0").groupBy("dst").agg({"label": "min"}).toDF("node", "label")
        if cut:
            labels = labels.localCheckpoint()
        labels.where("label % 50 > 0").count()


def large_cache(spark: Any, level: str) -> None:
    """Three questions to a persisted table that is larger than the memory for it."""
    from pyspark import StorageLevel

    rows = spark.range(0, 900000, 1, 16).selectExpr(
        "id", "id % 31 as k", f"{noise('id', 3)} as text", f"if(id % 100 = 0, {nap(3)}, 0) as cleaned")
    rows.persist(getattr(StorageLevel, level))
    rows.groupBy("k").agg({"cleaned": "sum"}).collect()
    rows.where("k = 3").agg({"text": "max"}).collect()
    rows.agg({"text": "min", "cleaned": "max"}).collect()


def one_by_one(spark: Any, iterate: bool) -> None:
    """Rows for a report: toLocalIterator runs a job for each partition and waits for it."""
    rows = spark.range(0, 2400, 1, 24).selectExpr("id", "id % 12 as desk", f"{nap(5)} as valued")
    total = 0
    for row in rows.toLocalIterator() if iterate else rows.collect():
        total += row.valued


def branch_by_branch(spark: Any, loop: bool) -> None:
    """Figures for each of forty branches: a query for each, or one for all."""
    spark.range(0, 24000, 1, 6).selectExpr("id", "id % 40 as branch", "id * 31 % 977 as amount").persist().createOrReplaceTempView("bookings")
    spark.table("bookings").count()
    figures = {}
    if loop:
        for branch in range(40):
            row = spark.sql(f"select count(distinct amount) as amounts, sum(amount) as total from bookings where branch = {branch}").first()
            figures[branch] = (row.amounts, row.total)
    else:
        for row in spark.sql("select branch, count(distinct amount) as amounts, sum(amount) as total from bookings group by branch").collect():
            figures[row.branch] = (row.amounts, row.total)


pair("unseen2-training", "blind2-cache-loop", training, bad={"kept": False}, good={"kept": True}, cluster=local(6), versions=BOTH, conf={"spark.sql.shuffle.partitions": "12"},
     expect=[expected("CACHE", "cachingOpportunity", "the features, which six queries compute with other numbers on top")], allow=["UTIL"],
     forbid=["SKEW", "DRIVER", "PLAN/duplicatePlanSubtree"], claims={"app.task_s": (">=60", "<50"), "app.persisted": ("==0", ">=1")}, notes="a training loop on DataFrames")
pair("unseen2-components", "blind2-lineage", components, bad={"cut": False}, good={"cut": True}, cluster=local(6), conf=KEEP | {"spark.sql.shuffle.partitions": "6"},
     expect=[expected("CACHE", "cachingOpportunity", "the labels of each round, which all later rounds compute again")], allow=["UTIL", "DRIVER", "PLAN/hugePlan", "PLAN/duplicatePlanSubtree"],
     good_allow=["UTIL", "DRIVER"], forbid=["SKEW", "HOST", "PLAN/joinExplosion"], claims={"app.task_s": (">=30", "<28"), "app.persisted": ("==0", ">=1")},
     notes="an iterative algorithm whose lineage grows; the twin cuts it by localCheckpoint")
pair("unseen2-large-cache", "blind2-cache-size", large_cache, bad={"level": "MEMORY_ONLY"}, good={"level": "MEMORY_AND_DISK"}, cluster=standalone(2, 2, "512m"),
     conf={"spark.eventLog.logBlockUpdates.enabled": "true"},
     expect=[expected("CSTOR", "cacheUtilization", "the persisted table, parts of which never fit")], allow=["SLOW", "STRAG", "GC"], good_allow=["CSTOR", "GC", "SLOW"],
     forbid=["SKEW", "HOST", "CACHE"], claims={"app.persisted": (">=1", ">=1"), "app.block_updates": (">=40", ">=40")}, notes="what does not fit is computed again by each query; the twin puts it on disk")
pair("unseen2-one-by-one", "blind2-iterator", one_by_one, bad={"iterate": True}, good={"iterate": False}, cluster=local(6),
     expect=[expected("UTIL", "utilization", "24 jobs of one task each, one after another, on six cores", "info")], allow=["DRIVER", "SHAPE", "SCHED", "SLOW", "MEM"],
     forbid=["SKEW", "STRAG", "CACHE"], claims={"app.jobs": (">=20", "<=2"), "app.parallel": ("<1.5", ">=3")}, notes="one core works, the driver waits for each partition")
pair("unseen2-branches", "blind2-driver-series", branch_by_branch, bad={"loop": True}, good={"loop": False}, cluster=local(6),
     expect=[expected("DRIVER", "driverBound", "forty small queries of one place in the program, one after another")], allow=["UTIL", "TINY", "SCHED", "SHAPE"],
     forbid=["SKEW", "HOST", "CACHE"], claims={"app.jobs": (">=40", "<10"), "app.no_job_gap_s": (">=2", "")}, notes="CPU-bound; the rows are cached, the time is planning and starting")
