#!/usr/bin/env python3
"""The companion on real Spark, loaded by configuration alone.

    jvm/tests/companion.py --binary BIN --jar JAR            one version, local mode: what CI runs
    jvm/tests/companion.py --binary BIN --jar JAR --full     Spark 3.4, 3.5 and 4.3, local and a cluster
    jvm/tests/companion.py --binary BIN --jar JAR --overhead what it costs on a job of 50,000 short tasks

Needs Java, and pyspark, which is installed into the cache where pip can reach it.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import overhead
from spark import ROOT, SECRET, Application, Cluster, home, reports, rows

VERSIONS = ["3.4.4", "3.5.9", "4.3.0"]
PLUGIN = {"spark.plugins": "io.emberscope.Plugin"}
STREAM = {
    **PLUGIN,
    "spark.emberscope.stream.enabled": "true",
    "spark.emberscope.reports.destination": "DIR/reports",
    "spark.emberscope.reports.tasks.enabled": "true",
    "spark.emberscope.reports.flushInterval": "500ms",
}
THREADS = {"spark.profiler.executor.taskThreadEvent.enabled": "true"}
PERFGAZER = {
    "spark.extraListeners": "io.emberscope.PerfGazer",
    "spark.perfgazer.sink.class": "com.amadeus.perfgazer.JsonSink",
    "spark.perfgazer.sink.json.destination": "DIR/reports/day={{perfgazer.now.day}}/applicationId={{spark.app.id}}",
    "spark.perfgazer.tasks.enabled": "true",
    "spark.perfgazer.max.cache.size": "100",
}


class Tests:
    def __init__(self, binary, jar):
        self.binary, self.jar = binary, jar

    def start(self, version, conf, *arguments, **more):
        more.setdefault("binary", self.binary)
        return Application(version, more.pop("jar", self.jar), conf, arguments or ("plain",), **more)

    def emberscope(self, *arguments, **more):
        return subprocess.run([self.binary, *map(str, arguments)], check=True, capture_output=True, text=True, **more).stdout

    def offline(self, application):
        """The reports of the application's event log."""
        place = application.dir / "offline"
        self.emberscope("report", application.event_log(), "--tasks", "--out", place, "-q")
        return reports(place)

    def same_as_offline(self, application, least=12):
        live, offline = reports(application.dir / "reports"), self.offline(application)
        assert len(live) >= least, sorted(live)
        for name, text in live.items():
            assert text == offline[name], f"{name} differs in {application.dir}"
        return len(live)

    def ran(self, application):
        assert application.wait() == 0 and "DONE" in application.output(), application.log()[-3000:]

    def everything(self, version):
        """All parts at once, by configuration alone; live reports are those of the finished log."""
        profile = {"spark.profiler.driver.enabled": "true", "spark.profiler.dfsDir": "file://DIR/profiles",
                   "spark.profiler.localDir": "DIR/local", "spark.emberscope.profiler.kind": "jdk"}
        application = self.start(version, {**STREAM, **THREADS, **profile})
        self.ran(application)
        tables = self.same_as_offline(application)
        lines = application.event_lines()
        mappings = [line for line in lines if line["Event"] == "io.emberscope.TaskThreadEvent"]
        ended = [line for line in lines if line["Event"] == "SparkListenerTaskEnd"]
        assert {line["taskId"] for line in mappings} == {line["Task Info"]["Task ID"] for line in ended}, len(mappings)
        assert all(set(line) == {"Event", "taskId", "executorId", "javaThreadId", "startTime", "endTime"} for line in mappings)
        [profiles] = (application.dir / "profiles").iterdir()
        assert [path.name for path in profiles.glob("*.jfr")] == ["profile-driver.jfr"]
        told = self.emberscope("flame", profiles, "--log", application.event_log(), "--stage", "0", "--format", "json")
        assert json.loads(told), told
        # A password of the configuration is nowhere, but on the command line that every user of the machine sees.
        for path in application.dir.rglob("*-reports-*"):
            assert SECRET not in path.read_text(), path
        assert not (application.dir / "fallback.jsonl").exists(), application.said()
        application.forget()
        return f"{tables} tables live as offline, {len(mappings)} tasks with their threads, driver profiled"

    def unwritable(self, version):
        """A sink that cannot write leaves the application alone; a file takes over."""
        conf = {**STREAM, "spark.emberscope.reports.destination": "DIR/out.txt/reports"}
        application = self.start(version, conf)
        self.ran(application)
        events = json.loads(self.emberscope("summary", application.dir / "fallback.jsonl", "--json", "-q"))
        logged = json.loads(self.emberscope("summary", application.event_log(), "--json", "-q"))
        assert events["totals"]["tasks"] == logged["totals"]["tasks"], (events["totals"], logged["totals"])
        warnings = [line for line in application.said() if " WARN " in line]
        assert len(warnings) == 1, warnings
        application.forget()
        return "the file that took over has all tasks, one warning"

    def no_binary(self, version):
        """Neither does a missing program, or a place for its file that is none either."""
        conf = {**STREAM, "spark.emberscope.stream.file": "DIR/out.txt/events.jsonl"}
        application = self.start(version, conf, binary="/nowhere/emberscope")
        self.ran(application)
        assert any("discarded" in line for line in application.said()), application.said()
        application.forget()
        return "told, and nothing else"

    def killed_driver(self, version):
        """A driver that is killed loses at most the last flush: its reports are finished by who outlives it."""
        application = self.start(version, STREAM, "wait")
        application.until("the last job", lambda: "READY" in application.output())
        time.sleep(2)
        live = rows(application.dir / "reports", "job")
        application.kill_driver()
        start = time.time()
        while len(reports(application.dir / "reports")) < 12:
            assert time.time() - start < 30, "the reports were not finished"
            time.sleep(0.1)
        ended = [line for line in application.event_lines() if line["Event"] == "SparkListenerJobEnd"]
        [run] = rows(application.dir / "reports", "application")
        jobs = rows(application.dir / "reports", "job")
        assert run["status"] in ("incomplete", "failed") and len(jobs) == len(ended) == len(live), (run, len(jobs))
        application.forget()
        return f"{len(live)} jobs before the kill, {len(jobs)} after it"

    def perfgazer(self, version):
        """The listener under the properties of the one that it replaces."""
        application = self.start(version, PERFGAZER, listener=True)
        self.ran(application)
        assert set(reports(application.dir / "reports")) == {f"{kind}-reports-0.json" for kind in ("job", "sql", "stage", "task")}
        self.same_as_offline(application, least=4)
        assert "CREATE OR REPLACE TEMPORARY VIEW job" in application.log()
        application.forget()
        return "4 tables live as offline, views logged"

    def log_sink(self, version):
        """Rows on the driver's log."""
        conf = {**PERFGAZER, "spark.perfgazer.sink.class": "log"}
        application = self.start(version, conf, listener=True)
        self.ran(application)
        offline = rows(self.dir_of_offline(application), "job")
        lines = application.log().splitlines()
        logged = [json.loads(line.split("emberscope: job ", 1)[1]) for line in lines if "emberscope: job " in line]
        last = {row["jobId"]: row for row in logged}
        assert [last[row["jobId"]] for row in offline] == offline, len(logged)
        application.forget()
        return f"{len(last)} jobs"

    def user_sink(self, version):
        """A class of the user's own."""
        with tempfile.TemporaryDirectory() as work:
            classpath = f"{self.jar}:{home(version)}/jars/*"
            subprocess.run(["javac", "--release", "8", "-Xlint:-options", "-proc:none", "-cp", classpath, "-d", work,
                            ROOT / "jvm/tests/UserSink.java"], check=True, capture_output=True)
            jar = f"{work}/user.jar"
            subprocess.run(["jar", "cf", jar, "-C", work, "user"], check=True)
            conf = {**PERFGAZER, "spark.perfgazer.sink.class": "user.UserSink", "spark.user.file": "DIR/rows.txt"}
            application = self.start(version, conf, jar=f"{self.jar},{jar}", listener=True)
            self.ran(application)
        *lines, end = (application.dir / "rows.txt").read_text().splitlines()
        kinds = [line.split("\t")[0] for line in lines]
        assert end == "closed" and {"job", "sql", "stage", "task"} == set(kinds), set(kinds)
        jobs = {json.loads(line.split("\t")[1])["jobId"] for line in lines if line.startswith("job")}
        assert jobs == {row["jobId"] for row in rows(self.dir_of_offline(application), "job")}
        assert "-- view of task" in application.log()
        application.forget()
        return f"{len(lines)} rows given, closed once"

    def by_code(self, version):
        """A listener that is added to a running application, and closed before that ends."""
        application = self.start(version, {}, "by-code", listener=True)
        self.ran(application)
        jobs = rows(application.dir / "reports", "job")
        [place] = application.output().split("APP ")[1].split("\n")[:1]
        assert len(jobs) == 2 and all(job["applicationId"] == place for job in jobs), jobs
        assert "SNIPPETS 2" in application.output(), application.output()
        application.forget()
        return "2 jobs of its time, views known"

    def dir_of_offline(self, application):
        self.offline(application)
        return application.dir / "offline"

    def remote(self, version):
        """A destination that only Hadoop's file systems reach, here one of its own that leads to a directory."""
        conf = {**PERFGAZER, "spark.perfgazer.sink.json.destination": "viewfs://far/reports/{{spark.app.id}}",
                "spark.perfgazer.sink.json.stagingDir": "DIR/staging/{{spark.app.id}}",
                "spark.hadoop.fs.viewfs.mounttable.far.link./reports": "file://DIR/reports"}
        application = self.start(version, conf, listener=True)
        (application.dir / "reports").mkdir()
        self.ran(application)
        self.same_as_offline(application, least=4)
        left = [path for path in (application.dir / "staging").rglob("*") if path.is_file()]
        assert not left, left
        assert "viewfs://far/reports/" in application.log().split("views of the reports", 1)[1]
        application.forget()
        return "promoted, staging empty"

    def overflow(self, version):
        """Events beyond the ring's size are counted, and the reports say so."""
        conf = {**STREAM, "spark.emberscope.stream.to": "file", "spark.emberscope.stream.bufferSize": "20k"}
        application = self.start(version, conf)
        self.ran(application)
        summary = json.loads(self.emberscope("summary", application.dir / "fallback.jsonl", "--json", "-q"))
        missing = summary["trust"]["missing_members"]
        assert any("dropped for want of room" in text for text in missing), missing
        application.forget()
        return "; ".join(missing)[:60]

    def socket(self, version):
        """Events go to whoever listens, here to what `nc -l PORT | emberscope follow -` is."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            conf = {**STREAM, "spark.emberscope.stream.to": f"socket:127.0.0.1:{server.getsockname()[1]}"}
            application = self.start(version, conf)
            server.settimeout(120)
            connection, _ = server.accept()
        # The first lines wait in the connection while the follower starts.
        with connection:
            connection.setblocking(True)
            command = [self.binary, "follow", "-", "--no-findings", "--quiet", "--tasks", "--out", application.dir / "reports"]
            follower = subprocess.Popen(command, stdin=connection.fileno())
        self.ran(application)
        assert follower.wait(timeout=60) == 0
        tables = self.same_as_offline(application)
        assert not application.said() and not (application.dir / "fallback.jsonl").exists(), application.said()
        application.forget()
        return f"{tables} tables of the connection as offline"

    def closed_socket(self, version):
        """Nobody listens: the file takes over."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        application = self.start(version, {**STREAM, "spark.emberscope.stream.to": f"socket:127.0.0.1:{port}"})
        self.ran(application)
        events = json.loads(self.emberscope("summary", application.dir / "fallback.jsonl", "--json", "-q"))
        logged = json.loads(self.emberscope("summary", application.event_log(), "--json", "-q"))
        assert events["totals"]["tasks"] == logged["totals"]["tasks"], (events["totals"], logged["totals"])
        application.forget()
        return "the file that took over has all tasks"

    def full_file(self, version):
        """A file of limited size takes no more than that, and the application goes on."""
        conf = {**STREAM, "spark.emberscope.stream.to": "file", "spark.emberscope.stream.fileSizeLimit": "150k"}
        application = self.start(version, conf)
        self.ran(application)
        size = (application.dir / "fallback.jsonl").stat().st_size
        warnings = [line for line in application.said() if " WARN " in line]
        assert 50_000 < size <= 150 * 1024 and len(warnings) == 1, (size, warnings)
        assert self.emberscope("summary", application.dir / "fallback.jsonl", "-q")
        application.forget()
        return f"{size} bytes, one warning"

    def outgrown(self, version):
        """A run that outgrows the follower's memory is reported as far as it is known, and the file takes over."""
        # A little more than it takes before it has read anything.
        with subprocess.Popen([self.binary, "follow", "-", "--quiet"], stdin=subprocess.PIPE) as idle:
            idle.stdin.write(b'{"Event":"SparkListenerLogStart"}\n')
            idle.stdin.flush()
            time.sleep(2)
            status = Path(f"/proc/{idle.pid}/status").read_text()
            idle.kill()
        kib = int(status.split("VmRSS:")[1].split()[0])
        application = self.start(version, {**STREAM, "spark.emberscope.follow.memory": f"{kib + 300}KiB"})
        self.ran(application)
        [run] = rows(application.dir / "reports", "application")
        assert run["status"] in ("incomplete", "unknown") and len(reports(application.dir / "reports")) >= 12, run
        warnings = [line for line in application.said() if " WARN " in line]
        assert len(warnings) == 1 and (application.dir / "fallback.jsonl").exists(), warnings
        application.forget()
        return "tables of the beginning, one warning"

    def tail(self, version):
        """An application that ends while its last events are still in Spark's queues: none is lost."""
        application = self.start(version, STREAM, "burst")
        self.ran(application)
        tables = self.same_as_offline(application)
        application.forget()
        return f"{tables} tables live as offline"

    def parts(self, version):
        """A recording that is too large to be copied once more stays in parts, and none of it on the local disk."""
        conf = {**PLUGIN, **THREADS, "spark.profiler.driver.enabled": "true", "spark.profiler.dfsDir": "file://DIR/profiles",
                "spark.profiler.localDir": "DIR/local", "spark.emberscope.profiler.kind": "jdk",
                "spark.profiler.dfsWriteInterval": "2", "spark.emberscope.profiler.wholeSizeLimit": "100k"}
        application = self.start(version, conf, "busy", "3")
        self.ran(application)
        [directory] = (application.dir / "profiles").iterdir()
        names = {path.name for path in directory.glob("*.jfr")}
        assert names == {f"profile-driver.{n}.jfr" for n in range(len(names))} and len(names) >= 3, sorted(names)
        assert not list((application.dir / "local").glob("*.jfr")), list((application.dir / "local").iterdir())
        told = json.loads(self.emberscope("flame", directory, "--log", application.event_log(), "--event", "cpu", "--format", "json"))
        assert told["sum"] > 0, told
        application.forget()
        return f"{len(names)} parts, {told['sum']} CPU samples, nothing left behind"

    def cluster(self, version):
        """Two executors, of which one is killed while it works: both are profiled, and the reports are whole."""
        cluster = Cluster(version)
        try:
            conf = {**STREAM, **THREADS, "spark.profiler.executor.enabled": "true", "spark.profiler.executor.fraction": "1.0",
                    "spark.profiler.dfsDir": "file://DIR/profiles", "spark.profiler.dfsWriteInterval": "2",
                    "spark.emberscope.profiler.kind": "jdk", "spark.executor.memory": "600m",
                    "spark.executor.cores": "1", "spark.cores.max": "2"}
            application = self.start(version, conf, "busy", "3", master=cluster.master)
            profiles = application.dir / "profiles"
            parts = lambda: {path.name.split(".")[0] for path in profiles.rglob("profile-exec-*.jfr")}
            application.until("profiles of both", lambda: len(parts()) >= 2)
            time.sleep(3)
            victim = sorted(cluster.executors())[0]
            os.kill(cluster.executors()[victim], signal.SIGKILL)
            assert application.wait() == 0 and "DONE" in application.output(), application.log()[-3000:]
            tables = self.same_as_offline(application)
            time.sleep(2)
            [directory] = profiles.iterdir()
            names = sorted(path.name for path in directory.glob("*.jfr"))
            assert any(name.startswith(f"profile-exec-{victim}.") for name in names), names
            for executor in sorted({name.split(".")[0] for name in names}):
                files = [directory / name for name in names if name.split(".")[0] == executor]
                assert " sample" in self.emberscope("flame", *files), files
            told = self.emberscope("flame", directory, "--log", application.event_log(), "--stage", "4", "--event", "cpu")
            assert " sample" in told, told
            mappings = [line for line in application.event_lines() if line["Event"] == "io.emberscope.TaskThreadEvent"]
            ended = [line for line in application.event_lines() if line["Event"] == "SparkListenerTaskEnd"]
            assert len(mappings) >= 0.7 * len(ended), (len(mappings), len(ended))
            application.forget()
            return f"{tables} tables live as offline, executor {victim} killed, {len(names)} recordings, {len(mappings)} of {len(ended)} tasks mapped"
        finally:
            cluster.stop()


SHORT = ["everything", "unwritable", "killed_driver"]
LOCAL = SHORT + ["no_binary", "perfgazer", "log_sink", "user_sink", "by_code", "remote", "overflow", "socket",
                 "closed_socket", "full_file", "outgrown", "tail", "parts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--version", action="append", help="of Spark; may be repeated")
    parser.add_argument("--only", action="append", help="a test; may be repeated")
    args = parser.parse_args()
    tests = Tests(args.binary.resolve(), str(Path(args.jar).resolve()))
    if args.overhead:
        overhead.measure(tests, (args.version or ["3.5.9"])[0], args.pairs)
        return
    failed = 0
    for version in args.version or (VERSIONS if args.full else ["4.3.0"]):
        for name in args.only or (LOCAL + ["cluster"] if args.full else SHORT):
            start = time.time()
            try:
                told = "ok      " + getattr(tests, name)(version)
            except (AssertionError, subprocess.SubprocessError, OSError, ValueError) as error:
                failed += 1
                told = f"FAILED  {error}"
            print(f"{version}  {name:14} {time.time() - start:5.1f} s  {told}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
