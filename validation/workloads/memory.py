"""Too little memory: spill, and a collector that works more than the tasks."""

from __future__ import annotations

from typing import Any

from kit import expected, local, noise, pair, slowly, standalone


def sorted_rows(spark: Any, partitions: int) -> None:
    """A sort of wide rows by a shuffle into `partitions`."""
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    rows = spark.range(0, 1000000, 1, 8).selectExpr("id * 7919 % 1000003 as k", f"repeat({noise('id', 1)}, 3) as text")
    rows.repartition(partitions, "k").sortWithinPartitions("k").selectExpr("first(text)", "last(k)").collect()  # order matters to these, so the sort stays


def distinct_lists(spark: Any, partitions: int) -> None:
    """Many groups with a list each: the aggregation falls back to sorting and spills."""
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    rows = spark.range(0, 900000, 1, 4).selectExpr("id % 90000 as k", f"{noise('id', 1)} as text")
    rows.groupBy("k").agg({"text": "collect_set"}).selectExpr("max(size(`collect_set(text)`))").collect()


def held_objects(spark: Any, rows: int) -> None:
    """Fill the heap with small objects that stay, as an application with a large state of its own does.

    System properties are a map of strings that any JVM has; nothing else is done with them.
    """
    held = "length(reflect('java.lang.System', 'setProperty', concat('held-', id), repeat('x', 120)))"
    spark.range(0, rows, 1, 8).selectExpr(f"{held} as n").agg({"n": "sum"}).collect()
    churn = spark.range(0, 12000, 1, 32).selectExpr("id", "aggregate(transform(sequence(1, 400), x -> concat(id, '-', x)), 0, (a, s) -> a + length(s)) as n")
    churn.agg({"n": "sum"}).collect()


SMALL = {"spark.memory.fraction": "0.08", "spark.memory.storageFraction": "0.1"}

pair("spill-sort", "spill", sorted_rows, cluster=local(2), bad={"partitions": 2}, good={"partitions": 32},
     conf=SMALL | {"spark.sql.adaptive.coalescePartitions.enabled": "false"},
     expect=[expected("SPILL", "spill", "the sort after the repartition", "info")], allow=["PART", "SHAPE", "SHFL", "GC"],
     good_allow=["SHFL", "GC"], claims={"any.spill_disk_mib": (">=50", "==0"), "any.spill_mem_mib": (">=100", "==0")},
     saves="none",
     notes="90 MB spilled to a warm page cache: the repair saves a third of a second, within the noise")
pair("spill-aggregate", "spill-aggregate", distinct_lists, cluster=local(2), bad_conf=SMALL,
     bad={"partitions": 4}, good={"partitions": 4}, conf={"spark.sql.adaptive.coalescePartitions.enabled": "false"},
     expect=[expected("SPILL", "spill", "collect_set's final stage", "info")], allow=["PART", "SHFL", "GC"], good_allow=["SHFL", "GC"],
     claims={"any.spill_disk_mib": (">=20", "==0")}, saves="none",
     notes="the twin has the default memory fraction; this little spill costs next to nothing, which a report should know too")
pair("gc-small-heap", "gc", held_objects, bad={"rows": 1300000}, good={"rows": 1300000}, conf={"spark.executor.extraJavaOptions": "-XX:+UseParallelGC"},
     bad_cluster=standalone(1, 2, "560m"), good_cluster=standalone(1, 2, "2g"),
     expect=[expected("GC", "gc", "the second job's stage: heap full of live objects")], allow=["STRAG", "SLOW"], good_allow=["MEM", "GC"],
     claims={"main.gc_share": (">=0.5", ""), "app.gc_task_s": (">=8", "<5")}, notes="the same objects in 560 MiB and in 2 GiB")
pair("gc-serial", "gc-churn", held_objects, bad={"rows": 1400000}, good={"rows": 1400000}, conf={"spark.executor.extraJavaOptions": "-XX:+UseSerialGC"},
     bad_cluster=standalone(1, 2, "600m"), good_cluster=standalone(1, 2, "2g"),
     expect=[expected("GC", "gc", "the second job's stage: heap full of live objects")], allow=["STRAG", "SLOW"], good_allow=["MEM", "GC"],
     claims={"main.gc_share": (">=0.5", ""), "app.gc_task_s": (">=8", "<5")}, notes="the same with the serial collector and another heap")
