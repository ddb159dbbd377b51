#!/usr/bin/env python3
"""SQL over 10 million task rows in 200 runs: Emberscope, Spark and DuckDB on the same files.

The files are one real report, its ids changed for every run and its tasks repeated. All three get the statements
that `emberscope sql --show` prints for several runs (DuckDB in its own spelling), and their answers are compared row
by row. Two tables come of it: warm, where each keeps one session for all statements (`emberscope sql --prompt`, a
connection of DuckDB's, a session of Spark's), and cold, where Emberscope and Python with DuckDB start anew for each
statement. All are asked in turns, and the best of the runs counts. Runs by `cargo xtask bench --only sql`; EMBERSCOPE
and EMBERSCOPE_SQL name the programs.
"""

import argparse
import json
import math
import os
import re
import resource
import subprocess
import sys
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
# What a start alone takes.
NOTHING = "SELECT 1 AS one"
# Any rows will do.
ANY_ROWS = {"first 20 tasks"}


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


def usage(pid):
    """CPU seconds of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def ended(run):
    """Runs a process to its end: wall seconds, CPU seconds, output."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


class Ours:
    """`emberscope sql`, a start for each statement."""

    name = "emberscope"

    def __init__(self, reports):
        self.reports = reports

    def ask(self, statement):
        run = [os.environ["EMBERSCOPE"], "sql", str(self.reports), statement, "--quiet", "--format", "ndjson"]
        wall, cpu, text = ended(run)
        return wall, cpu, [list(json.loads(line).values()) for line in text.splitlines()]


class OursWarm:
    """`emberscope sql --prompt`, one session for all statements."""

    name = "emberscope"
    # The prompt's help, which is asked for after each statement, shows where an answer ends.
    END, END_LINES = "Statements end with", 5

    def __init__(self, reports):
        run = [os.environ["EMBERSCOPE"], "sql", str(reports), "--prompt", "--quiet", "--format", "ndjson"]
        self.child = subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()

    def processes(self):
        pid = self.child.pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def cpu(self):
        return sum(map(usage, self.processes()))

    def ask(self, statement):
        before, began = self.cpu(), time.monotonic()
        self.child.stdin.write(" ".join(statement.split()) + ";\n\\?\n")
        self.child.stdin.flush()
        lines = []
        for line in self.child.stdout:
            if line.startswith(self.END):
                break
            lines.append(line)
        took = time.monotonic() - began, self.cpu() - before
        for _ in range(self.END_LINES - 1):
            self.child.stdout.readline()
        # The last line says how long it took.
        return *took, [list(json.loads(line).values()) for line in lines[:-1]]

    def peak(self):
        """Most memory the process that answers has held, bytes."""
        status = Path(f"/proc/{self.processes()[-1]}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


class Other:
    """A process that keeps its session: a line with a statement in, a line with what it took out."""

    def __init__(self, name, python, reports):
        self.name = name
        self.run = [str(python), __file__, "--child", name, "--reports", str(reports)]
        self.child = subprocess.Popen(self.run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, statement):
        self.child.stdin.write(json.dumps(statement) + "\n")
        self.child.stdin.flush()
        for line in self.child.stdout:
            if line.startswith("[["):
                return tuple(json.loads(line)[0])
        sys.exit(f"{self.name} ended")


class OtherCold:
    """A process for each statement."""

    def __init__(self, name, python, reports):
        self.name = name
        self.run = [str(python), __file__, "--child", name, "--reports", str(reports), "--one"]

    def ask(self, statement):
        wall, cpu, text = ended([*self.run, statement])
        answer = next(line for line in text.splitlines() if line.startswith("[["))
        return wall, cpu, json.loads(answer)[0][2]


def plain(value):
    """A value as JSON has it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if hasattr(value, "asDict"):
        return {key: plain(inner) for key, inner in zip(value.__fields__, value)}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    try:
        return float(value)  # a decimal
    except (TypeError, ValueError):
        return str(value)


def child(name, reports, one):
    """Answers statements until its input ends, or one."""
    if name == "duckdb":
        import duckdb

        db = duckdb.connect()
        db.execute("SET threads = 2")
        for table in TABLES:
            db.execute(f"CREATE VIEW {table} AS FROM read_parquet('{reports}/*/*/{table}-reports-*.parquet', hive_partitioning = false)")
        cpu = lambda: (lambda u: u.ru_utime + u.ru_stime)(resource.getrusage(resource.RUSAGE_SELF))
        ask = lambda statement: db.execute(for_duckdb(statement)).fetchall()
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.memory", "4g").config("spark.sql.ansi.enabled", "false")
        spark = builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()
        for table in TABLES:
            spark.sql(f'CREATE OR REPLACE TEMPORARY VIEW {table} USING parquet OPTIONS (path "{reports}/*/*/{table}-reports-*.parquet")')
        jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())
        cpu = lambda: usage(jvm)
        ask = lambda statement: spark.sql(statement).collect()
    for statement in [one] if one else map(json.loads, sys.stdin):
        before, began = cpu(), time.monotonic()
        rows = ask(statement)
        took = time.monotonic() - began, cpu() - before
        print(json.dumps([[*took, [plain(list(row)) for row in rows]]]), flush=True)


def same(one, two):
    """Whether two values are equal; texts of numbers, as in maps of texts, count as numbers."""
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        # Of two digits after the point, as the statements ask for; the programs round halves otherwise.
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=0.0100001)
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, str) != isinstance(two, str) and one is not None and two is not None:
        return str(one) == str(two)
    return one == two


def compare(name, answers):
    """Ends the program if two programs give other rows."""
    (first, rows), *others = answers.items()
    key = lambda row: json.dumps([value if isinstance(value, (str, int)) else "" for value in row])
    for other, theirs in others:
        if len(rows) != len(theirs):
            sys.exit(f"{name}: {len(rows)} rows from {first}, {len(theirs)} from {other}")
        if name in ANY_ROWS:
            continue
        for mine, row in zip(sorted(rows, key=key), sorted(theirs, key=key)):
            if not same(mine, row):
                sys.exit(f"{name}: {first} has {json.dumps(mine)[:400]}\n{other} has {json.dumps(row)[:400]}")


def measure(title, programs, asked, runs):
    """Asks all in turns, compares answers, prints a table; whether ours is the fastest by wall and by CPU."""
    print(f"{title}, seconds wall (CPU), best of {runs}; x: times ours")
    print(f"{'':28}" + "".join(f"{program.name:>30}" for program in programs))
    ours = programs[0].name
    won = {program.name: [0, 0] for program in programs[1:]}
    for name, statement in asked.items():
        best, answers = {}, {}
        for _ in range(runs):
            for program in programs:
                wall, cpu, rows = program.ask(statement)
                before = best.get(program.name, (wall, cpu))
                best[program.name] = min(before[0], wall), min(before[1], cpu)
                answers[program.name] = rows
        compare(name, answers)
        cells = []
        for program in programs:
            wall, cpu = best[program.name]
            ratio = ""
            if program.name != ours:
                of_wall, of_cpu = (theirs / max(mine, 0.001) for theirs, mine in zip((wall, cpu), best[ours]))
                ratio = f" {of_wall:5.1f}x ({of_cpu:4.1f}x)"
                won[program.name][0] += of_wall > 1
                won[program.name][1] += of_cpu > 1
            cells.append(f"{wall:8.2f} ({cpu:5.2f}){ratio}")
        print(f"{name:28}" + "".join(f"{cell:>30}" for cell in cells), flush=True)
    for name, (wall, cpu) in won.items():
        print(f"of {len(asked)} statements faster than {name}: {wall} by wall, {cpu} by CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/emberscope")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--run-count", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3, help="how often each statement is asked")
    parser.add_argument("--without", nargs="*", default=[], help="spark, duckdb")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--reports", help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child, args.reports, args.one)
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
    asked = statements()
    print(f"{args.rows:,} task rows in {args.run_count} runs; rows of all answers compared")
    ours = OursWarm(reports)
    warm, cold = [ours], [Ours(reports)]
    if "spark" not in args.without:
        warm.append(Other("spark", args.cache / "venv-4.3.0/bin/python", reports))
    if "duckdb" not in args.without:
        warm.append(Other("duckdb", python, reports))
        cold.append(OtherCold("duckdb", python, reports))
    measure("warm", warm, asked, args.runs)
    peak = ours.peak()
    print(f"peak memory of Emberscope's session: {peak / 1e6:.0f} MB")
    measure("cold", cold, {"start alone": NOTHING, **asked}, args.runs)
    return 0 if peak < 1e9 else 1


if __name__ == "__main__":
    sys.exit(main())
