"""Reads reports with a real reader and checks names, types and values.

readers.py spark|duckdb|pandas DIR SCHEMA: DIR holds <format>/<run>/attempt=7/ and <run>-<format>.sql.
"""

import glob
import json
import os
import sys

reader, base, schema = sys.argv[1:]
views = {view["name"]: view["fields"] for view in json.load(open(schema))["views"]}
RUNS = ["sql-aqe-4.3.0", "executor-loss-4.3.0"]
FORMATS = ["json", "parquet"]


def lines(run, table):
    path = os.path.join(base, "json", run, "attempt=7", f"{table}-reports-*.json")
    return [json.loads(line) for name in sorted(glob.glob(path)) for line in open(name)]


def plain(text):
    return text.replace(" ", "").replace("`", "").upper()


def spark():
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1").config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.memory", "512m").getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    checked = 0
    for run in RUNS:
        for form in FORMATS:
            text = open(os.path.join(base, f"{run}-{form}.sql")).read()
            for statement in text.split(";\n"):
                spark.sql(statement.strip().rstrip(";"))
            for table, fields in views.items():
                frame = spark.table(table)
                found = [(f.name, plain(f.dataType.simpleString())) for f in frame.schema.fields]
                wanted = [(f["name"], plain(f["type"])) for f in fields]
                assert found == wanted, (table, form, found, wanted)
                rows = [json.loads(row) for row in frame.toJSON().collect()]
                expected = lines(run, table)
                assert len(rows) == len(expected), (table, form, len(rows), len(expected))
                drop = lambda v: {k: drop(x) for k, x in v.items() if x is not None} if isinstance(v, dict) else [drop(x) for x in v] if isinstance(v, list) else v
                key = lambda row: json.dumps(drop(row), sort_keys=True)
                assert sorted(map(key, rows)) == sorted(map(key, expected)), (table, form)
                checked += len(rows)
            joined = spark.sql(
                "SELECT count(*) FROM job j JOIN stage s ON array_contains(j.stages, s.stageId)"
                " JOIN task t ON t.stageId = s.stageId AND t.stageAttempt = s.attempt"
            ).first()[0]
            assert joined > 0
            spark.sql("SELECT sqlId, node.nodeName, FROM_JSON(TO_JSON(node.metrics), 'MAP<STRING, STRING>') AS metrics"
                      " FROM (SELECT sqlId, EXPLODE(nodes) AS node FROM sql) WHERE node.nodeName LIKE '%Join%'").collect()
    # What a basePath does to the column `attempt`, as the documentation warns.
    place = os.path.join(base, "parquet", "executor-loss-4.3.0")
    over = spark.read.option("basePath", place).parquet(place + "/*/stage-reports-*.parquet")
    attempts = sorted({row[0] for row in over.select("attempt").collect()})
    print(f"spark {spark.version}: {checked} rows equal; with basePath stage.attempt reads {attempts}")


def duckdb():
    import duckdb

    checked = 0
    for run in RUNS:
        for table, fields in views.items():
            expected = lines(run, table)
            for form in FORMATS:
                path = os.path.join(base, form, run, "attempt=7", f"{table}-reports-*.{form}")
                source = f"read_parquet('{path}', hive_partitioning=false)" if form == "parquet" else f"read_json('{path}', format='newline_delimited', hive_partitioning=false, columns={{{columns(fields)}}})"
                names = [row[0] for row in duckdb.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()]
                assert names == [f["name"] for f in fields], (table, form, names)
                rows = duckdb.sql(f"SELECT * FROM {source}").fetchall()
                assert len(rows) == len(expected), (table, form, len(rows), len(expected))
                for n, field in enumerate(fields):
                    if field["type"] in ("INT", "BIGINT", "STRING", "BOOLEAN"):
                        ours = sorted(map(str, (row[n] for row in rows)))
                        assert ours == sorted(map(str, (row[field["name"]] for row in expected))), (table, form, field)
                checked += len(rows)
    print(f"duckdb {duckdb.__version__}: {checked} rows")


def columns(fields):
    def one(text):
        if text.startswith("ARRAY<STRUCT"):
            inner = ("sqlId BIGINT, jobName VARCHAR, nodeName VARCHAR, coordinates VARCHAR,"
                     " metrics MAP(VARCHAR, VARCHAR), isLeaf BOOLEAN, parentNodeName VARCHAR")
            return f"STRUCT({inner})[]"
        if text.startswith("ARRAY<"):
            return one(text[6:-1]) + "[]"
        if text.startswith("MAP<"):
            key, value = text[4:-1].split(", ")
            return f"MAP({one(key)}, {one(value)})"
        return {"STRING": "VARCHAR", "INT": "INTEGER"}.get(text, text)

    return ", ".join(f"'{f['name']}': '{one(f['type'])}'" for f in fields)


def pandas():
    import pandas

    checked = 0
    for run in RUNS:
        for table, fields in views.items():
            expected = lines(run, table)
            for form in FORMATS:
                path = os.path.join(base, form, run, "attempt=7", f"{table}-reports-0.{form}")
                frame = pandas.read_parquet(path, partitioning=None) if form == "parquet" else pandas.read_json(path, lines=True)
                assert len(frame) == len(expected), (table, form)
                if expected or form == "parquet":
                    assert list(frame.columns) == [f["name"] for f in fields], (table, form, list(frame.columns))
                checked += len(frame)
    print(f"pandas {pandas.__version__}: {checked} rows")


{"spark": spark, "duckdb": duckdb, "pandas": pandas}[reader]()
