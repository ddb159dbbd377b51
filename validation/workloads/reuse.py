"""The same work done more than once, and results kept that nobody reads."""

from __future__ import annotations

from typing import Any

from kit import BOTH, expected, local, nap, pair


def four_actions(spark: Any, cached: bool) -> None:
    """Four questions to one expensive result."""
    rows = spark.range(0, 8000, 1, 16).selectExpr("id", "id % 10 as k", f"{nap(2)} as n")
    rows = rows.groupBy("k").agg({"n": "sum", "id": "max"}).selectExpr("k", "`sum(n)` as n", "`max(id)` as top")
    if cached:
        rows = rows.cache()
    rows.selectExpr("max(n)").collect()
    rows.selectExpr("min(top)", "max(n)").collect()
    rows.where("k > 3").agg({"n": "avg"}).collect()
    rows.selectExpr("sum(top)", "sum(n)").collect()


def unused_cache(spark: Any, cached: bool) -> None:
    """A result is cached and filled by a count, and never read again."""
    rows = spark.range(0, 8000, 1, 16).selectExpr("id", "id % 10 as k", f"{nap(3)} as n")
    if cached:
        rows.cache().count()
    spark.range(0, 4000, 1, 16).selectExpr(f"{nap(3)} as n").agg({"n": "sum"}).collect()


def two_branches(spark: Any, cached: bool) -> None:
    """Two branches of one query each compute the same slow rows; their aggregations differ, so nothing is reused."""
    rows = spark.range(0, 8000, 1, 16).selectExpr("id", "id % 100 as k", f"{nap(3)} as n").where("n > 0")
    if cached:
        rows = rows.cache()
    rows.createOrReplaceTempView("slow")
    spark.sql("""
        select 'highest' as what, k, max(id + n) as v from slow group by k
        union all select 'sum' as what, k, sum(id - n) as v from slow group by k
        union all select 'lowest' as what, k, min(id * n) as v from slow group by k
    """).agg({"v": "sum"}).collect()


FEW = {"spark.sql.shuffle.partitions": "16"}

pair("cache-four-actions", "cache-recompute", four_actions, versions=BOTH, conf=FEW, bad={"cached": False}, good={"cached": True},
     expect=[expected("CACHE", "cachingOpportunity", "the aggregation that four queries compute")], allow=["UTIL", "CSTOR"], good_allow=["CSTOR"],
     claims={"plan.InMemoryTableScan": ("==0", ">=4"), "app.task_s": (">=50", "<45")})
pair("cache-unused", "cache-unused", unused_cache, bad={"cached": True}, good={"cached": False}, conf={"spark.eventLog.logBlockUpdates.enabled": "true"},
     expect=[expected("CACHE", "cacheUnused", "the cached result that only its count has read", "info")], allow=["UTIL", "CSTOR"],
     claims={"app.block_updates": (">=16", "<16"), "plan.InMemoryTableScan": (">=1", "==0")}, notes="with block updates in the log")
pair("plan-duplicate-branches", "plan-duplicate", two_branches, versions=BOTH, conf=FEW, bad={"cached": False}, good={"cached": True},
     expect=[expected("PLAN", "duplicatePlanSubtree", "three branches over the same slow projection")], allow=["CACHE", "UTIL", "CSTOR"], good_allow=["CSTOR", "CACHE"],
     claims={"plan.repeated-subtree": (">=3", ""), "plan.InMemoryTableScan": ("==0", ">=3"), "plan.Range": (">=3", "")})
