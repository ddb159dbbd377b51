#!/usr/bin/env python3
"""SQL over 10 million task rows in 200 runs: Emberscope, Spark and DuckDB on the same files.

The files are one real report, its ids changed for every run and its tasks repeated. All three get the statements
that `emberscope sql --show` prints for several runs (DuckDB in its own spelling). Spark and DuckDB keep one warm
session for all statements, Emberscope starts its processes anew for each; all are asked in turns, and the best of
the runs counts. Runs by `cargo xtask bench --only sql`; EMBERSCOPE and EMBERSCOPE_SQL name the programs.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "fixtures/logs/sql-aqe-4.3.0"
TABLES = ["job", "sql", "stage", "task"]
QUESTIONS = [
    "jobs-by-cpu-usage",
    "jobs-by-io-volumes",
    "jobs-with-spill",
    "joins-with-cpu-and-io",
    "join-node-metrics",
    "scan-node-metrics",
    "wall-clock-duration-of-jobs",
    "skew-detection",
]
# Besides the ready-made ones: all tasks with stage and job, counted since 40 million rows are nothing to read,
# and a look at some rows.
MORE = {
    "tasks with stage and job": """SELECT COUNT(1) AS n, SUM(t.executorRunTime) AS runMs FROM job j
  JOIN stage s ON s.applicationId = j.applicationId AND s.applicationAttempt <=> j.applicationAttempt
              AND ARRAY_CONTAINS(j.stages, s.stageId)
  JOIN task t ON t.applicationId = s.applicationId AND t.applicationAttempt <=> s.applicationAttempt
             AND t.stageId = s.stageId AND t.stageAttempt = s.attempt""",
    "first 20 tasks": "SELECT * FROM task LIMIT 20",
}


def make(place, rows, runs):
    """The reports of `runs` runs with `rows` task rows in all."""
    import duckdb

    done = place / f"reports-{rows}-{runs}"
    if done.exists():
        return done
    report = place / "one"
    run = [os.environ["EMBERSCOPE"], "report", str(LOG), "--quiet", "--out", str(report), "--tasks", "--format", "parquet"]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    making = place / "making"
    db = duckdb.connect()
    for table in TABLES:
        db.execute(f"CREATE TABLE {table} AS FROM read_parquet('{report}/*/*/{table}-reports-*.parquet', hive_partitioning = false)")
    tasks = db.execute("SELECT COUNT(*) FROM task").fetchone()[0]
    copies = -(-rows // (runs * tasks))
    for run in range(runs):
        app = f"app-20261130000000-{run:04}"
        dir = making / f"applicationId={app}" / "attempt=0"
        dir.mkdir(parents=True)
        for table in TABLES:
            what = f"SELECT * REPLACE ('{app}' AS applicationId) FROM {table}"
            if table == "task":
                # Times differ as those of real tasks do; ids are unique in the run.
                what = f"""SELECT t.* REPLACE ('{app}' AS applicationId, t.taskId + {tasks} * c.copy AS taskId,
                    t.executorRunTime + (hash(t.taskId, c.copy, {run}) % 200)::BIGINT AS executorRunTime)
                    FROM task t, range({copies}) c(copy) ORDER BY t.stageId, taskId"""
            db.execute(f"COPY ({what}) TO '{dir}/{table}-reports-0.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)")
    making.rename(done)
    return done


def statements():
    told = dict(MORE)
    for name in QUESTIONS:
        shown = subprocess.run([os.environ["EMBERSCOPE"], "sql", "--show", name], capture_output=True, text=True, check=True)
        lines = [line for line in shown.stdout.splitlines() if not line.startswith("--")]
        told[name] = [part.strip() for part in "\n".join(lines).split(";") if part.strip()][-1]
    return told


def for_duckdb(statement):
    for spark, duck in [
        (r"<=>", "IS NOT DISTINCT FROM"),
        (r"ARRAY_CONTAINS\(", "list_contains("),
        (r"PERCENTILE\(", "quantile_cont("),
        (r"LATERAL VIEW EXPLODE\(sq\.nodes\) AS n", ", UNNEST(sq.nodes) AS u(n)"),
        (r"EXPLODE\(nodes\)", "UNNEST(nodes)"),
        (r"FROM_JSON\(TO_JSON\((.*?)\), '.*?'\)", r"\1"),
    ]:
        statement = re.sub(spark, duck, statement)
    return statement


class Ours:
    name = "emberscope"

    def __init__(self, reports):
        self.reports = reports
        self.peak = 0

    def ask(self, statement):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "q.sql"
            file.write_text(statement)
            run = [os.environ["EMBERSCOPE"], "sql", str(self.reports), "--file", str(file), "--quiet", "--format", "csv"]
            done = subprocess.run(run, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        wall = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.peak = max(self.peak, after.ru_maxrss * 1024)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, cpu, done.stdout.count("\n") - 1


class Other:
    """A process that keeps its session: a line with a statement in, a line with what it took out."""

    def __init__(self, name, python, reports):
        self.name = name
        run = [str(python), __file__, "--child", name, "--reports", str(reports)]
        self.child = subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, statement):
        self.child.stdin.write(json.dumps(statement) + "\n")
        self.child.stdin.flush()
        for line in self.child.stdout:
            if line.startswith("[["):
                return tuple(json.loads(line)[0])
        sys.exit(f"{self.name} ended")


def child(name, reports):
    """Answers statements until its input ends."""
    if name == "duckdb":
        import duckdb

        db = duckdb.connect()
        db.execute("SET threads = 2")
        for table in TABLES:
            db.execute(f"CREATE VIEW {table} AS FROM read_parquet('{reports}/*/*/{table}-reports-*.parquet', hive_partitioning = false)")
        cpu = lambda: (lambda u: u.ru_utime + u.ru_stime)(resource.getrusage(resource.RUSAGE_SELF))
        ask = lambda statement: len(db.execute(for_duckdb(statement)).fetchall())
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.memory", "4g").config("spark.sql.ansi.enabled", "false")
        spark = builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()
        for table in TABLES:
            spark.sql(f'CREATE OR REPLACE TEMPORARY VIEW {table} USING parquet OPTIONS (path "{reports}/*/*/{table}-reports-*.parquet")')
        jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())

        def cpu():
            words = Path(f"/proc/{jvm}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

        # A join of all with all in one column's name would not be collected.
        ask = lambda statement: len(spark.sql(statement).collect())
    for line in sys.stdin:
        statement = json.loads(line)
        before, began = cpu(), time.monotonic()
        rows = ask(statement)
        print(json.dumps([[time.monotonic() - began, cpu() - before, rows]]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/emberscope")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--run-count", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3, help="how often each statement is asked")
    parser.add_argument("--without", nargs="*", default=[], help="spark, duckdb")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--reports", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child, args.reports)
    venv = args.cache / "venv-duckdb"
    python = venv / "bin/python"
    if Path(sys.prefix) != venv:
        if not list(venv.glob("lib/*/site-packages/duckdb")):
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            subprocess.run([venv / "bin/pip", "install", "--quiet", "duckdb"], check=True)
        os.execv(python, [str(python), *sys.argv])
    place = args.cache / "bench" / "sql"
    place.mkdir(parents=True, exist_ok=True)
    reports = make(place, args.rows, args.run_count)
    ours = Ours(reports)
    programs = [ours]
    if "spark" not in args.without:
        programs.append(Other("spark", args.cache / "venv-4.3.0/bin/python", reports))
    if "duckdb" not in args.without:
        programs.append(Other("duckdb", python, reports))
    print(f"{args.rows:,} task rows in {args.run_count} runs, seconds wall (CPU), best of {args.runs}; x: times ours")
    print(f"{'':28}" + "".join(f"{program.name:>24}" for program in programs))
    for name, statement in statements().items():
        best = {}
        for _ in range(args.runs):
            for program in programs:
                took = program.ask(statement)
                best[program.name] = min(best.get(program.name, took), took)
        rows = {took[2] for took in best.values()}
        if len(rows) > 1:
            sys.exit(f"{name}: not as many rows from all: {best}")
        cells = []
        for program in programs:
            wall, cpu, _ = best[program.name]
            ratio = "" if program is ours else f" {wall / best[ours.name][0]:5.1f}x"
            cells.append(f"{wall:8.2f} ({cpu:6.2f}){ratio}")
        print(f"{name:28}" + "".join(f"{cell:>24}" for cell in cells), flush=True)
    print(f"peak memory of Emberscope's process: {ours.peak / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
