"""Queries whose plan does more than the question asks for."""

from __future__ import annotations

from typing import Any

from kit import BOTH, expected, local, noise, pair, slowly

NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1"}
EVEN = {"spark.sql.adaptive.coalescePartitions.enabled": "false", "spark.sql.shuffle.partitions": "16"}


def small_table(spark: Any, hint: str = "") -> None:
    """A large table meets one of a few thousand rows."""
    spark.range(0, 3000000, 1, 8).selectExpr("id % 30000 as k", f"{noise('id', 1)} as text").createOrReplaceTempView("facts")
    spark.range(0, 30000, 1, 2).selectExpr("id as k", f"{noise('id', 1)} as about").createOrReplaceTempView("dim")
    spark.sql(f"select {hint} max(text), max(about) from facts join dim using (k)").collect()


def large_broadcast(spark: Any, hint: str = "") -> None:
    spark.range(0, 600000, 1, 8).selectExpr("id * 3 as k", "id as v").createOrReplaceTempView("facts")
    spark.range(0, 1200000, 1, 8).selectExpr("id as k", f"{noise('id', 1)} as about").createOrReplaceTempView("dim")
    spark.sql(f"select {hint} max(about), sum(v) from facts join dim using (k)").collect()


def intervals(spark: Any, bucketed: bool) -> None:
    """Which intervals a point lies in: compared with all of them, or only with those nearby."""
    spark.range(0, 180000, 1, 16).selectExpr("id % 60000 as x", "id % 60000 div 100 as bucket").createOrReplaceTempView("points")
    spark.range(0, 12000, 1, 8).selectExpr("id * 5 as lo", "id * 5 + 100 as hi").createOrReplaceTempView("spans")
    if bucketed:
        spark.sql("select *, explode(sequence(lo div 100, hi div 100)) as bucket from spans").createOrReplaceTempView("spans")
        spark.sql("select count(*), sum(x - lo) from points join spans using (bucket) where x between lo and hi").collect()
    else:
        spark.sql("select count(*), sum(x - lo) from points join spans on x between lo and hi").collect()


def similar_names(spark: Any, blocked: bool) -> None:
    """All pairs of names, or pairs with the same first character."""
    for name in ("left", "right"):
        spark.range(0, 1700, 1, 4).selectExpr("id", f"substring({noise('id', 1)}, 1, 24) as {name}_name",
                                              f"substring({noise('id', 1)}, 1, 1) as {name}_start").createOrReplaceTempView(f"names_{name}")
    on = "on left_start = right_start" if blocked else ""
    join = "join" if blocked else "cross join"
    spark.sql(f"select sum(levenshtein(left_name, right_name)) from names_left {join} names_right {on}").collect()


def many_to_many(spark: Any, unique: bool) -> None:
    """A dimension with fifty rows for each key multiplies the facts."""
    spark.range(0, 24000, 1, 16).selectExpr("id as f", "id % 600 as k").createOrReplaceTempView("facts")
    spark.range(0, 30000, 1, 8).selectExpr("id as d", "id % 600 as k").createOrReplaceTempView("dim")
    if unique:
        spark.sql("select k, max(d) as d from dim group by k").createOrReplaceTempView("dim")
    slowly(spark.sql("select f, d from facts join dim using (k)"), 1, "max(f + d)", when="pmod(f div 600 + d div 600, 40) = 0").collect()


def cube(spark: Any, everything: bool) -> None:
    """All 256 combinations of eight columns, of which three are looked at."""
    columns = [f"id % {n} as c{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9)]
    names = [c.split(" as ")[1] for c in columns]
    spark.range(0, 40000, 1, 8).selectExpr("id", *columns).createOrReplaceTempView("sales")
    sets = f"cube({', '.join(names)})" if everything else "grouping sets ((c2), (c3, c4), (c9))"
    spark.sql(f"select {', '.join(names if everything else ['c2', 'c3', 'c4', 'c9'])}, sum(id) as total from sales group by {sets}").agg({"total": "max"}).collect()


pair("plan-underbroadcast", "plan-underbroadcast", small_table, conf=NO_BROADCAST | EVEN, cluster=local(2), versions=BOTH,
     good={"hint": "/*+ broadcast(dim) */"}, expect=[expected("PLAN", "underBroadcast", "the sort-merge join with 30 000 rows on one side", "info")],
     allow=["SHFL"], claims={"plan.SortMergeJoin": ("==1", "==0"), "plan.BroadcastHashJoin": ("==0", "==1"), "any.shuffle_write_mib": (">=20", "<5")},
     notes="CPU-bound; automatic broadcasts are off, as in jobs that once ran out of driver memory")
pair("plan-overbroadcast", "plan-overbroadcast", large_broadcast, bad={"hint": "/*+ broadcast(dim) */"}, cluster=local(2), conf=EVEN | {"spark.driver.memory": "2g"},
     expect=[expected("PLAN", "overBroadcast", "the forced broadcast of about 200 MB", "info")], allow=["DRIVER", "GC", "UTIL"], good_allow=["SHFL"],
     claims={"plan.BroadcastHashJoin": ("==1", "==1"), "plan.data-size": (">=150000000", "<100000000")},
     notes="without the hint Spark broadcasts the smaller side; the fixed threshold of other tools is 1 GiB, too large for this cluster; build and collect time are in the node's metrics")
pair("plan-nested-loop", "plan-nested-loop", intervals, bad={"bucketed": False}, good={"bucketed": True}, cluster=local(2), versions=BOTH,
     expect=[expected("PLAN", "nestedLoopJoin", "BroadcastNestedLoopJoin of 180 000 and 12 000 rows")], allow=["PLAN/joinExplosion", "SHAPE"], good_allow=["PLAN/joinExplosion"],
     claims={"plan.BroadcastNestedLoopJoin": ("==1", "==0")}, notes="CPU-bound")
pair("plan-cartesian", "plan-cartesian", similar_names, bad={"blocked": False}, good={"blocked": True}, cluster=local(2), conf=NO_BROADCAST | EVEN,
     expect=[expected("PLAN", "nestedLoopJoin", "CartesianProduct of 1700 and 1700 rows")], allow=["PLAN/joinExplosion", "SHAPE", "CACHE"], good_allow=["PLAN/joinExplosion", "PLAN/underBroadcast"],
     claims={"plan.CartesianProduct": ("==1", "==0")}, notes="CPU-bound")
pair("plan-join-explosion", "plan-explosion", many_to_many, bad={"unique": False}, good={"unique": True}, conf=NO_BROADCAST | EVEN,
     expect=[expected("PLAN", "joinExplosion", "50 times more rows out of the join than in")], allow=["SHAPE", "PLAN/underBroadcast"], good_allow=["PLAN/underBroadcast"],
     claims={"plan.SortMergeJoin": ("==1", "==1"), "plan.number-of-output-rows": (">=1200000", "<300000")})
pair("plan-expand-cube", "plan-expand", cube, bad={"everything": True}, good={"everything": False}, cluster=local(2), conf={"spark.sql.shuffle.partitions": "16"},
     expect=[expected("PLAN", "expandExplosion", "cube of eight columns: 256 rows for each")], allow=["SHFL", "SPILL", "SHAPE"],
     claims={"plan.Expand": ("==1", "==1"), "plan.number-of-output-rows": (">=10000000", "<1000000")}, notes="CPU-bound")
