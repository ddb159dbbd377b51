"""Queries as they are written when nobody has looked at the plan; only scored (split `blind-2`)."""

from __future__ import annotations

from typing import Any

from kit import BOTH, expected, local, nap, noise, pair, slowly, standalone

KEEP = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}


def contract_days(spark: Any, daily: bool) -> None:
    """Premiums by month: each contract is exploded into its days, or into its months."""
    spark.range(0, 4000, 1, 12).selectExpr("id as contract", "id * 37 % 720 as first_day", "id % 90 + 10 as fee").createOrReplaceTempView("contracts")
    steps = "sequence(0, 359)" if daily else "sequence(0, 12)"
    month = "(first_day + step) div 30" if daily else "first_day div 30 + step"
    spark.sql(f"select contract, fee, {month} as month, step from contracts lateral view explode({steps}) s as step").createOrReplaceTempView("steps")
    rows = spark.table("steps").selectExpr("month", "fee", f"if(pmod(contract * 31 + step, 30) = 0, {nap(1)}, 0) as rated")
    rows.groupBy("month").agg({"fee": "sum", "rated": "sum"}).orderBy("month").collect()


def address_ranges(spark: Any, bucketed: bool) -> None:
    """Visits meet the address ranges of networks: between has no key; a bucket of both sides has one."""
    spark.range(0, 150000, 1, 6).selectExpr("id as visit", "id * 7919 % 6000000 as address", "id * 7919 % 6000000 div 1000 as bucket").createOrReplaceTempView("visits")
    spark.range(0, 6000, 1, 2).selectExpr("id as network", "id * 1000 as low", "id * 1000 + 700 as high", "id as bucket").createOrReplaceTempView("networks")
    also = "v.bucket = n.bucket and" if bucketed else ""
    rows = spark.sql(f"select n.network, v.visit from visits v join networks n on {also} v.address between n.low and n.high")
    rows.groupBy("network").count().agg({"count": "max"}).collect()


def wrong_side(spark: Any, hinted: str) -> None:
    """The hint sends all customers to everybody; today's orders would have been the small side."""
    spark.range(0, 20000, 1, 6).selectExpr("id * 17 % 300000 as customer", "id as order_id", "id % 90 as amount").createOrReplaceTempView("orders")
    spark.range(0, 300000, 1, 6).selectExpr(
        "id as customer", "repeat(sha2(cast(id as string), 512), 2) as profile", "concat('segment ', id % 40) as segment").createOrReplaceTempView("customers")
    spark.sql(f"""select /*+ broadcast({hinted}) */ segment, sum(amount) as amount, max(length(profile)) as longest
                  from orders join customers using (customer) group by segment order by amount desc""").collect()


def two_files(spark: Any, narrow: bool) -> None:
    """Two files are wanted: coalesce(2) takes the whole stage along, repartition(2) only the write."""
    from common import scratch

    spark.range(0, 7200, 1, 24).selectExpr("id % 13 as device", f"{nap(2)} as n").groupBy("device").count().collect()
    rows = spark.range(0, 6000, 1, 24).selectExpr("id", "id % 13 as device", f"{noise('id', 1)} as reading", f"{nap(3)} as calibrated")
    rows = rows.where("calibrated > 0")
    (rows.coalesce(2) if narrow else rows.repartition(2)).write.parquet(scratch("readings"))


def parsed_rows(spark: Any, python: bool) -> None:
    """User agents parsed row by row in mapInPandas, or by SQL functions; then a count of each kind."""
    rows = spark.range(0, 240000, 1, 6).selectExpr("id", "concat('Browser/', id % 17, '.', id % 5, ' (System ', id % 7, '; build ', id % 1013, ')') as agent")
    if python:
        import re

        def parse(batches: Any) -> Any:
            import pandas

            pattern = re.compile(r"(\w+)/(\d+)\.(\d+) \((\w+ \d+); build (\d+)\)")
            for batch in batches:
                found = []
                for _, row in batch.iterrows():
                    match = pattern.match(row["agent"])
                    name, major, minor, system, build = match.groups()
                    found.append({"major": int(major), "system": system.lower(), "build": sum(int(c) for c in build)})
                yield pandas.DataFrame(found)

        rows = rows.mapInPandas(parse, "major long, system string, build long")
    else:
        after = "substring_index(substring_index(agent, '{}', 1), '{}', -1)"
        rows = rows.selectExpr(f"cast({after.format('.', '/')} as long) as major", f"lower({after.format(';', '(')}) as system",
                               f"cast({after.format(')', 'build ')} as long) as build")
    rows.groupBy("system", "major").agg({"build": "avg"}).orderBy("system", "major").collect()


def statements(spark: Any, partitions: int) -> None:
    """The statement before this one, for each account, on executors with little memory."""
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    spark.range(0, 900000, 1, 8).selectExpr("id % 4000 as account", "id * 7919 % 1000003 as booked", "repeat(sha2(cast(id as string), 512), 4) as statement").createOrReplaceTempView("statements")
    rows = spark.sql("select account, statement, lag(statement) over (partition by account order by booked) as before from statements")
    rows.selectExpr("count_if(statement > before)", "max(length(before))").collect()


pair("unseen2-contract-days", "blind2-explode", contract_days, bad={"daily": True}, good={"daily": False}, cluster=local(6),
     expect=[expected("PLAN", "expandExplosion", "explode: 360 rows for each of 4000 contracts", "info")], allow=["SHAPE", "SLOW"],
     forbid=["SKEW", "HOST", "PLAN/joinExplosion"], claims={"plan.Generate": ("==1", "==1"), "plan.number-of-output-rows": (">=1400000", "<300000")},
     notes="one exploded row in thirty costs a millisecond")
pair("unseen2-address-ranges", "blind2-range-join", address_ranges, bad={"bucketed": False}, good={"bucketed": True}, cluster=local(2),
     expect=[expected("PLAN", "nestedLoopJoin", "BroadcastNestedLoopJoin for address between low and high")], allow=["SHAPE", "SLOW"],
     forbid=["SKEW", "PLAN/joinExplosion"], claims={"plan.BroadcastNestedLoopJoin": ("==1", "==0")}, notes="CPU-bound: 900 million pairs")
pair("unseen2-wrong-side", "blind2-overbroadcast", wrong_side, bad={"hinted": "customers"}, good={"hinted": "orders"}, cluster=local(4),
     expect=[expected("PLAN", "overBroadcast", "300000 customers of 270 bytes are broadcast for 20000 orders")], allow=["DRIVER", "GC", "UTIL", "SHAPE"],
     forbid=["SKEW", "PLAN/underBroadcast"], claims={"plan.BroadcastHashJoin": ("==1", "==1"), "plan.data-size": (">=100000000", "<40000000"), "plan.time-to-collect": (">=1000", "<900")}, notes="CPU-bound; a hint that was right once")
pair("unseen2-two-files", "blind2-coalesce", two_files, bad={"narrow": True}, good={"narrow": False}, cluster=local(6), versions=BOTH,
     expect=[expected("SHAPE", "stageShape", "the write's stage of two tasks on six cores: lowParallelism")], allow=["PART", "SLOW", "UTIL"],
     forbid=["SKEW", "STRAG", "HOST"], claims={"slowest.tasks": ("==2", ""), "slowest.max_s": (">=8", "<4")}, notes="coalesce(2) narrows the costly columns before it")
pair("unseen2-parsed-rows", "blind2-python", parsed_rows, bad={"python": True}, good={"python": False}, cluster=local(2),
     expect=[expected("PLAN", "pythonUdf", "MapInPandas with a loop over 240000 rows", "info")], allow=["STRAG", "SLOW"], forbid=["SKEW", "HOST"],
     claims={"plan.MapInPandas": ("==1", "==0")}, notes="CPU-bound, a loop over the rows of each batch")
pair("unseen2-statements", "blind2-spill", statements, bad={"partitions": 4}, good={"partitions": 48}, cluster=standalone(2, 2), conf=KEEP, saves="none",
     expect=[expected("SPILL", "spill", "the window's sort in four partitions", "info")], allow=["PART", "SHFL", "GC", "SLOW", "SHAPE"], good_allow=["SHFL", "GC", "SLOW"],
     forbid=["SKEW", "HOST"], claims={"any.spill_disk_mib": (">=20", "==0"), "main.records_ratio": ("<2", "")}, notes="CPU-bound; executors of 600 MB with default fractions")
