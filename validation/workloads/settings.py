"""Settings that contradict each other, do nothing, or lack something. They cost no time here."""

from __future__ import annotations

from typing import Any

from kit import BOTH, expected, local, nap, pair, standalone


def query(spark: Any) -> None:
    spark.range(0, 1600, 1, 16).selectExpr("id % 10 as k", f"{nap(4)} as n").groupBy("k").sum("n").agg({"sum(n)": "max"}).collect()


def rdd_job(spark: Any) -> None:
    """A shuffle outside SQL, where the serializer matters."""
    pairs = spark.sparkContext.parallelize(range(40000), 8).map(lambda n: (n % 100, str(n)))
    pairs.groupByKey(8).mapValues(len).collect()


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}

pair("cfg-no-shuffle-service", "cfg-shuffle-service", query, saves="none",
     bad_conf=DYNAMIC | {"spark.dynamicAllocation.shuffleTracking.enabled": "false", "spark.shuffle.service.enabled": "false"},
     good_conf=DYNAMIC | {"spark.dynamicAllocation.shuffleTracking.enabled": "true", "spark.dynamicAllocation.maxExecutors": "8"},
     expect=[expected("CFG", "configAudit", "dynamic allocation without shuffle service, tracking or decommissioning", "info")], allow=["CFG", "UTIL"],
     claims={"conf.spark.dynamicAllocation.shuffleTracking.enabled": ("==false", "==true"), "conf.spark.dynamicAllocation.enabled": ("==true", "==true")},
     notes="in local mode: on a cluster Spark refuses to start with these settings, so that only here a log can hold them")
pair("cfg-inverted-bounds", "cfg-bounds", query, saves="none",
     bad_conf=DYNAMIC | {"spark.dynamicAllocation.minExecutors": "10", "spark.dynamicAllocation.maxExecutors": "2"},
     good_conf=DYNAMIC | {"spark.dynamicAllocation.minExecutors": "2", "spark.dynamicAllocation.maxExecutors": "10"},
     expect=[expected("CFG", "configAudit", "minExecutors above maxExecutors", "info")], allow=["CFG", "UTIL"],
     claims={"conf.spark.dynamicAllocation.minExecutors": ("==10", "==2"), "conf.spark.dynamicAllocation.maxExecutors": ("==2", "==10")},
     notes="in local mode, for the same reason")
pair("cfg-java-serializer", "cfg-serializer", rdd_job, saves="none", versions=BOTH,
     good_conf={"spark.serializer": "org.apache.spark.serializer.KryoSerializer"},
     expect=[expected("CFG", "configAudit", "Java serialization with shuffles outside SQL", "info")], allow=["UTIL"],
     claims={"conf.spark.serializer": ("", "==org.apache.spark.serializer.KryoSerializer"), "app.jobs": (">=1", ">=1")},
     notes="the rows are Python's, so the gain would be small; the setting is a fact all the same")
pair("cfg-overhead", "cfg-overhead", query, saves="none", cluster=standalone(2, 2, "900m"),
     bad_conf={"spark.executor.memoryOverhead": "64m"}, good_conf={"spark.executor.memoryOverhead": "512m"},
     expect=[expected("CFG", "configAudit", "memoryOverhead of 64 MiB, below the floor of 384 MiB", "info")], allow=["UTIL", "MEM"],
     claims={"conf.spark.executor.memoryOverhead": ("==64m", "==512m")}, notes="standalone clusters do not enforce the overhead; the setting is what is judged")
