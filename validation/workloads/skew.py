"""One partition, key or file with most of the data."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from kit import BOTH, control, data_path, dataset, expected, local, nap, noise, pair, slowly, standalone

NO_COALESCE = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}
FILE_EACH = {"spark.sql.files.maxPartitionBytes": "4m"}  # the cost of opening a file: one file a task
SORT_MERGE = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1"}
JOIN = NO_COALESCE | SORT_MERGE | {"spark.sql.shuffle.partitions": "16"}


def facts(spark: Any, rows: int, hot: int, keys: int = 4000, payload: str | None = None) -> None:
    """A view of `rows` facts of which the first `hot` share key 0."""
    spark.range(0, rows, 1, 8).selectExpr(
        f"if(id < {hot}, 0, id % {keys}) as k", "id as v", f"{payload or noise('id', 4)} as payload"
    ).createOrReplaceTempView("facts")


def dimension(spark: Any, rows: int = 14000) -> None:
    """Too large to be worth a broadcast below the default threshold."""
    spark.range(0, rows, 1, 4).selectExpr("id as k", f"{noise('id')} as about").createOrReplaceTempView("dim")


def join_hot_key(spark: Any, salted: bool, payload: str | None = None) -> None:
    facts(spark, 16000, 9600, payload=payload)
    dimension(spark)
    if salted:
        spark.sql("select *, if(k = 0, v % 16, 0) as salt from facts").createOrReplaceTempView("facts")
        spark.sql("select *, explode(if(k = 0, sequence(0, 15), array(0))) as salt from dim").createOrReplaceTempView("dim")
    keys = "k, salt" if salted else "k"
    slowly(spark.sql(f"select * from facts join dim using ({keys})"), 1, "max(length(payload))", "max(length(about))").collect()


def group_window(spark: Any, hot: int) -> None:
    """Numbering the rows of each customer ships every row: nothing can be aggregated before."""
    facts(spark, 14000, hot)
    spark.sql("select k, v, payload, row_number() over (partition by k order by v) as n from facts").createOrReplaceTempView("numbered")
    slowly(spark.table("numbered"), 1, "max(n)", "max(length(payload))").collect()


def group_collect(spark: Any, hot: int) -> None:
    """collect_list merges its lists before the shuffle: the hot key is few records but most of the bytes."""
    facts(spark, 14000, hot, keys=600)
    spark.sql("select k, collect_list(payload) as all from facts group by k").createOrReplaceTempView("lists")
    slowly(spark.table("lists"), "size(all)").collect()


def null_keys(spark: Any, spread: bool) -> None:
    """An outer join sends every row without a key to one partition."""
    key = "if(id < 8000, null, id % 4000)"
    spark.range(0, 13000, 1, 8).selectExpr(f"{key} as k", "id as v", f"{noise('id', 4)} as payload").createOrReplaceTempView("facts")
    dimension(spark)
    on = "coalesce(f.k, -f.v) = d.k" if spread else "f.k = d.k"
    slowly(spark.sql(f"select * from facts f left join dim d on {on}"), 1, "max(length(payload))", "max(length(about))").collect()


def csv_files(place: str, sizes: list[int], plain: bool = False) -> None:
    """Text files, compressed so that they cannot be split, or plain."""
    Path(place).mkdir(parents=True)
    for number, lines in enumerate(sizes):
        path = f"{place}/part-{number:03}.csv"
        with open(path, "w") if plain else gzip.open(f"{path}.gz", "wt") as out:
            out.writelines(f"{number},{line},{line * 7919 % 104729}\n" for line in range(lines))


@dataset("gz")
def gz(spark: Any, place: str) -> None:
    csv_files(f"{place}/uneven", [300] * 15 + [9000])
    csv_files(f"{place}/even", [844] * 16)
    csv_files(f"{place}/single", [10000])
    csv_files(f"{place}/plain", [625] * 16, plain=True)


def read_gz(spark: Any, name: str) -> None:
    slowly(spark.read.schema("file int, line int, value int").csv(f"{data_path('gz')}/{name}"), 1, "max(value)").collect()


def aqe_split(spark: Any) -> None:
    join_hot_key(spark, salted=False)


def partial_aggregation(spark: Any) -> None:
    spark.range(0, 4000, 1, 8).selectExpr("if(id < 3000, 0, id) as k", f"{nap(2)} as n").groupBy("k").sum("n").agg({"sum(n)": "max"}).collect()


def count_distinct(spark: Any) -> None:
    spark.range(0, 400000, 1, 8).selectExpr("if(id < 300000, 0, id % 500) as k", "id % 60000 as buyer").createOrReplaceTempView("sales")
    spark.sql("select k, count(distinct buyer) as buyers from sales group by k").createOrReplaceTempView("buyers")
    slowly(spark.table("buyers"), 40, "sum(buyers)").collect()


SKEWED = [expected("SKEW", "skew", "the join's stage of 16 tasks: one hot key")]

pair("skew-join-hot-key", "skew-join", join_hot_key, conf=JOIN, versions=BOTH,
     bad={"salted": False}, good={"salted": True}, expect=SKEWED, allow=["STRAG", "SHAPE", "PART"],
     claims={"main.records_ratio": (">=8", "<3.5"), "main.time_ratio": (">=8", "<3.5"), "main.bytes_ratio": (">=3", "<3"),
             "main.tasks": ("==16", "==16"), "plan.SortMergeJoin": ("==1", "==1")},
     notes="60 % of the facts share one key; AQE leaves it alone because the partition is far below its threshold")
pair("skew-join-no-bytes", "skew-join", join_hot_key, conf=JOIN, versions=BOTH,
     bad={"salted": False, "payload": f"if(id < 9600, repeat('a', 300), {noise('id', 10)})"},
     good={"salted": True, "payload": f"if(id < 9600, repeat('a', 300), {noise('id', 10)})"},
     expect=SKEWED, allow=["STRAG", "SHAPE"],
     claims={"main.records_ratio": (">=8", "<3.5"), "main.bytes_ratio": ("<2.5", "<2.5"), "main.time_ratio": (">=8", "<3.5")},
     notes="the hot key's rows compress: skew by records and time, none by bytes")
pair("skew-join-standalone", "skew-join", join_hot_key, conf=JOIN, cluster=standalone(4, 2),
     bad={"salted": False}, good={"salted": True}, expect=SKEWED, allow=["STRAG", "SHAPE", "PART"],
     claims={"main.records_ratio": (">=8", "<3.5"), "main.time_ratio": (">=7", "<3.5"), "app.executors": ("==4", "==4")},
     notes="the same on four executors, with remote shuffle reads")
pair("skew-input-gz", "skew-input", read_gz, data="gz", conf=FILE_EACH, bad={"name": "uneven"}, good={"name": "even"},
     expect=[expected("SKEW", "skew", "the scan: one file holds two thirds of the lines")],
     allow=["STRAG", "SHAPE", "PLAN/unsplittableInput"], good_allow=["PLAN/unsplittableInput"],
     claims={"main.records_ratio": (">=8", "<2"), "main.time_ratio": (">=8", "<3"), "main.tasks": ("==16", "==16")},
     notes="sixteen gz files, which cannot be split; repaired by writing them evenly")
pair("skew-group-window", "skew-group", group_window, conf=NO_COALESCE | {"spark.sql.shuffle.partitions": "16"}, versions=BOTH,
     bad={"hot": 8000}, good={"hot": 0}, expect=[expected("SKEW", "skew", "the window's stage: one hot customer")],
     allow=["STRAG", "SHAPE", "PART"],
     claims={"main.records_ratio": (">=8", "<2"), "main.time_ratio": (">=8", "<3"), "plan.Window": ("==1", "==1")})
pair("skew-group-collect", "skew-group", group_collect, conf=NO_COALESCE | {"spark.sql.shuffle.partitions": "16"},
     bad={"hot": 8000}, good={"hot": 0}, expect=[expected("SKEW", "skew", "the stage that finishes collect_list")],
     allow=["STRAG", "SHAPE", "PART"],
     claims={"main.bytes_ratio": (">=5", "<2"), "main.time_ratio": (">=8", "<3"), "main.records_ratio": ("<2", "<2")},
     notes="map-side lists hide the records of the hot key; bytes and time show it")
pair("skew-null-keys", "skew-null", null_keys, conf=JOIN, bad={"spread": False}, good={"spread": True},
     expect=[expected("SKEW", "skew", "the outer join's stage: rows without a key")], allow=["STRAG", "SHAPE", "PART"],
     claims={"main.records_ratio": (">=7", "<2"), "main.time_ratio": (">=8", "<3")},
     notes="Three in five facts have no key; repaired by a key of its own for each of them")

control("control-aqe-skew-split", aqe_split, family="control-hold-out",
        conf=JOIN | {"spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1m",
                     "spark.sql.adaptive.advisoryPartitionSizeInBytes": "300k"},
        claims={"plan.skew-split": ">=1", "main.time_ratio": "<5"}, notes="a hot key that AQE has split")
control("control-partial-aggregation", partial_aggregation, versions=BOTH, conf=NO_COALESCE | {"spark.sql.shuffle.partitions": "16"},
        claims={"main.time_ratio": "<3", "app.wall_s": "<20"}, notes="a hot group key that partial aggregation takes away")
control("control-count-distinct", count_distinct, conf=NO_COALESCE | {"spark.sql.shuffle.partitions": "16"},
        claims={"main.time_ratio": "<4"}, family="control-hold-out", notes="a hot key under count(distinct), which has two stages")
