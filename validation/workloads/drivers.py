"""Time in which the driver works and the executors wait."""

from __future__ import annotations

import time
from typing import Any

from kit import BOTH, expected, local, nap, pair


def between_jobs(spark: Any, pauses: bool) -> None:
    """Plain Python between jobs, as a call to a service or a loop over rows."""
    for _ in range(3):
        spark.range(0, 2000, 1, 16).selectExpr(f"{nap(2)} as n").agg({"n": "sum"}).collect()
        if pauses:
            time.sleep(3.0)


def one_by_one(spark: Any, loop: bool) -> None:
    """A job for each customer instead of one for all."""
    sales = spark.range(0, 2400, 1, 8).selectExpr("id", "id % 50 as customer", f"{nap(1)} as n").cache()
    sales.agg({"n": "sum"}).collect()
    if loop:
        for customer in range(50):
            sales.where(f"customer = {customer}").agg({"id": "max"}).collect()
    else:
        sales.groupBy("customer").agg({"id": "max"}).collect()


def to_driver(spark: Any, everything: bool) -> None:
    """All rows to the driver, and the sum in Python."""
    rows = spark.range(0, 1600000, 1, 8).selectExpr("id % 1000 as k", "id as v", "concat('customer number ', id) as about")
    if everything:
        totals: dict[int, int] = {}
        for row in rows.collect():
            totals[row["k"]] = totals.get(row["k"], 0) + row["v"]
    else:
        rows.groupBy("k").agg({"v": "sum"}).collect()


def wide_plan(spark: Any, loop: bool) -> None:
    """A column at a time: each call analyses the whole plan again."""
    rows = spark.range(0, 800, 1, 8).selectExpr("id", f"{nap(1)} as n", *[f"id % {i + 3} as c{i}" for i in range(40)])
    if loop:
        for step in range(220):
            rows = rows.withColumn(f"d{step}", rows[f"c{step % 40}"] + step)
    else:
        rows = rows.selectExpr("*", *[f"c{step % 40} + {step} as d{step}" for step in range(220)])
    rows.agg({"n": "sum", **{f"d{step}": "max" for step in range(0, 220, 4)}}).collect()


pair("driver-pauses", "driver-gap", between_jobs, versions=BOTH, bad={"pauses": True}, good={"pauses": False},
     expect=[expected("DRIVER", "driverBound", "three gaps of three seconds after jobs")], allow=["UTIL"],
     claims={"app.no_job_gap_s": (">=5.5", "<3"), "app.jobs": ("==6", "==6")})
pair("driver-job-loop", "driver-loop", one_by_one, bad={"loop": True}, good={"loop": False},
     expect=[expected("DRIVER", "driverBound", "planning and scheduling of 50 small jobs")], allow=["UTIL", "TINY", "CACHE", "SCHED"],
     claims={"app.jobs": (">=50", "<10")}, notes="the time goes into planning, scheduling and results of small jobs, between and in them")
pair("driver-collect", "driver-collect", to_driver, bad={"everything": True}, good={"everything": False}, conf={"spark.driver.memory": "2g"},
     expect=[expected("DRIVER", "driverBound", "after the collect of 1.6 million rows")], allow=["UTIL", "GC"],
     claims={"main.result_mib": (">=15", "<1")}, notes="rows are turned into Python objects in the driver after the job has ended")
pair("driver-huge-plan", "plan-huge", wide_plan, bad={"loop": True}, good={"loop": False},
     expect=[expected("DRIVER", "driverBound", "before the first job")], allow=["UTIL", "PLAN/hugePlan"], good_allow=["PLAN/hugePlan"],
     claims={"app.first_task_s": (">=6", "")}, notes="220 withColumn calls; the plan itself is the same")
