#!/usr/bin/env python3
"""What Spark SQL says about the fixtures' reports, and whether Emberscope says the same.

Spark reads the reports through the views of `emberscope sql --snippets`, from Parquet and from NDJSON, and
runs the statements that `emberscope sql --show NAME --dialect spark` prints. Its rows are kept in
`referee/sql/`, so that CI compares without Spark; this script asks Spark again and compares both.

    python3 referee/sql.py                 ask Spark, compare with what is kept and with Emberscope
    python3 referee/sql.py --bless         keep what Spark says now

Statements about the dialect alone (`referee/dialect.sql`) are asked of one fixture, and Spark's rows kept in
`referee/dialect.json`.

EMBERSCOPE and EMBERSCOPE_SQL name the programs; Spark's Python is that of `--venv`.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "referee" / "sql"
FIXTURES = [
    "empty-4.3.0",  # no SQL, no tasks
    "executor-loss-4.3.0",
    "failures-4.3.0",
    "plans-4.3.0",  # joins and scans of all kinds
    "python-udf-4.3.0",
    "rdd-4.3.0",  # no SQL
    "spill-4.3.0",
    "sql-aqe-4.3.0",  # skew
    "sql-noaqe-3.5.9",
]
# The fixture that statements about the dialect are asked of.
OF_DIALECT = "sql-aqe-4.3.0"
DIALECT = ROOT / "referee" / "dialect.sql"
# The fixtures together, asked the statements for several runs.
ALL = "all-runs"


def emberscope(*args):
    program = os.environ.get("EMBERSCOPE", "emberscope")
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"emberscope {' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def names():
    lines = emberscope("sql", "--list").split("\n\n")[0].splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith(" ")]


def statements(text):
    """The statements of a text, without comments."""
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]


def statement(name, several):
    shown = statements(emberscope("sql", "--show", name, "--dialect", "spark"))
    return shown[-1 if several else 0]


def plain(value):
    """A value of Spark's as JSON has it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if hasattr(value, "asDict"):
        return {key: plain(inner) for key, inner in zip(value.__fields__, value)}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return float(value)  # a decimal


def ask_spark(spark, views, asked):
    """The rows of each statement, over these views."""
    for view in statements(views):
        spark.sql(view)
    answers = {}
    for name, text in asked.items():
        frame = spark.sql(text)
        answers[name] = {"columns": frame.columns, "rows": [[plain(v) for v in row] for row in frame.collect()]}
    return answers


def child(job):
    """Runs under Spark's Python: takes a job of views and statements, gives rows."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
    # Where Emberscope gives null for a division by zero, Spark's ANSI mode gives up.
    spark = builder.config("spark.sql.ansi.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    task = json.loads(Path(job).read_text())
    told = {}
    for key, part in task["parts"].items():
        told[key] = ask_spark(spark, part["views"], part["statements"])
        told[key]["__types"] = {
            table: {field.name: field.dataType.simpleString() for field in spark.table(table).schema}
            for table in part["tables"]
        }
    Path(task["out"]).write_text(json.dumps(told))
    spark.stop()


def ask_dialect(source, asked):
    told = {}
    for text in asked:
        rows = json.loads(emberscope("sql", *source, text, "--quiet", "--format", "json"))
        told[text] = {"columns": list(rows[0]) if rows else None, "rows": [list(row.values()) for row in rows]}
    return told


def ask_emberscope(source, asked):
    told = {}
    for name in asked:
        rows = json.loads(emberscope("sql", *source, "--quiet", "--named", name, "--format", "json"))
        told[name] = {"columns": list(rows[0]) if rows else None, "rows": [list(row.values()) for row in rows]}
    return told


def same(ours, theirs):
    if isinstance(ours, float) or isinstance(theirs, float):
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (ours, theirs)):
            return False
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        # Spark's maps lose their order on the way to Python.
        return set(ours) == set(theirs) and all(same(ours[key], theirs[key]) for key in ours)
    return type(ours) is type(theirs) and ours == theirs


def differences(ours, theirs):
    """What differs between two answers whose rows may come in any order of equals."""
    if len(ours["rows"]) != len(theirs["rows"]):
        return f"{len(ours['rows'])} rows, Spark has {len(theirs['rows'])}"
    if ours["columns"] and [name.split(".")[-1] for name in ours["columns"]] != theirs["columns"]:
        return f"columns {ours['columns']}, Spark has {theirs['columns']}"
    key = lambda row: json.dumps(row, sort_keys=True)
    for mine, other in zip(sorted(ours["rows"], key=key), sorted(theirs["rows"], key=key)):
        if not same(mine, other):
            return f"a row {json.dumps(mine)[:300]}\n      Spark has {json.dumps(other)[:300]}"
    return None


def keep(path, answers):
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name], ensure_ascii=False)}" for name in answers]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def documented():
    """Types of all columns as documented, in Spark's short form."""
    schema = json.loads((ROOT / "docs/schema/emberscope-schema.json").read_text())
    short = lambda text: text.lower().replace(" ", "").replace("\n", "")
    return {v["name"]: {f["name"]: short(f["type"]) for f in v["fields"]} for v in schema["views"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bless", action="store_true", help="keep what Spark says")
    parser.add_argument("--venv", default=Path.home() / ".cache/emberscope/venv-4.3.0", type=Path)
    parser.add_argument("--only", nargs="*", default=FIXTURES + [ALL])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child)
    asked = names()
    failures = 0
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        parts = {}
        tables = list(documented())
        for fixture in args.only:
            logs = [ROOT / "fixtures/logs" / name for name in (FIXTURES if fixture == ALL else [fixture])]
            for form in ("parquet", "ndjson"):
                out = place / form / fixture
                # What is left of one run is partial, which is no failure here.
                emberscope("report", *logs, "--quiet", "--out", out, "--tasks", "--format", form)
                texts = {name: statement(name, fixture == ALL) for name in asked}
                views = emberscope("sql", "--snippets", out)
                parts[f"{fixture} {form}"] = {"views": views, "statements": texts, "tables": tables}
        if OF_DIALECT in args.only:
            of_dialect = statements(DIALECT.read_text())
            for form in ("parquet", "ndjson"):
                views = parts[f"{OF_DIALECT} {form}"]["views"]
                asked_too = {text: text for text in of_dialect}
                parts[f"dialect {form}"] = {"views": views, "statements": asked_too, "tables": []}
        job, told = place / "job.json", place / "told.json"
        job.write_text(json.dumps({"parts": parts, "out": str(told)}))
        subprocess.run([args.venv / "bin/python", __file__, "--child", job], check=True)
        told = json.loads(told.read_text())
        ANSWERS.mkdir(exist_ok=True)
        compared = 0
        for fixture in args.only:
            spark, of_json = told[f"{fixture} parquet"], told[f"{fixture} ndjson"]
            for table, columns in documented().items():
                given = {name: text.lower() for name, text in spark["__types"][table].items()}
                if given != columns:
                    failures += 1
                    print(f"{fixture}: types of {table} are not as documented: {spark['__types'][table]}")
            del spark["__types"], of_json["__types"]
            kept = ANSWERS / f"{fixture}.json"
            if args.bless:
                keep(kept, spark)
            before = json.loads(kept.read_text())
            # The log itself, and its reports in both forms, must all give Spark's rows.
            source = [ROOT / "fixtures/logs" / name for name in (FIXTURES if fixture == ALL else [fixture])]
            doors = {
                "the log": ask_emberscope(source, asked),
                "Parquet": ask_emberscope([place / "parquet" / fixture], asked),
                "NDJSON": ask_emberscope([place / "ndjson" / fixture], asked),
                "Spark on NDJSON": of_json,
                "Spark as kept": before,
            }
            for door, answers in doors.items():
                for name in asked:
                    compared += 1
                    found = differences(answers[name], spark[name])
                    if found:
                        failures += 1
                        print(f"{fixture}: {name}, {door}: {found}")
        if OF_DIALECT in args.only:
            spark, of_json = told["dialect parquet"], told["dialect ndjson"]
            del spark["__types"], of_json["__types"]
            kept = DIALECT.with_suffix(".json")
            if args.bless:
                keep(kept, spark)
            doors = {
                "the log": ask_dialect([ROOT / "fixtures/logs" / OF_DIALECT], of_dialect),
                "Parquet": ask_dialect([place / "parquet" / OF_DIALECT], of_dialect),
                "NDJSON": ask_dialect([place / "ndjson" / OF_DIALECT], of_dialect),
                "Spark on NDJSON": of_json,
                "Spark as kept": json.loads(kept.read_text()),
            }
            for door, answers in doors.items():
                for text in of_dialect:
                    compared += 1
                    found = differences(answers[text], spark[text]) if text in answers else "not kept"
                    if found:
                        failures += 1
                        print(f"dialect: {text}, {door}: {found}")
        print(f"{compared} answers compared, {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
