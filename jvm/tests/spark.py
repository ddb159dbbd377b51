"""Real Spark, from a pyspark environment of the cache: an application with the companion, in a directory of its own."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = Path(os.environ.get("EMBERSCOPE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "emberscope")
JOB = ROOT / "jvm/tests/job.py"
SECRET = "hunter22"


def home(version):
    """The pyspark of a version; installed where pip can reach it."""
    venv = CACHE / f"venv-{version}"
    found = list(venv.glob("lib/python*/site-packages/pyspark"))
    if not found:
        subprocess.run(["python3", "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/pip", "install", "--quiet", f"pyspark=={version}"], check=True)
        found = list(venv.glob("lib/python*/site-packages/pyspark"))
    return found[0]


class Application:
    """An application that was started, and where its files are."""

    def __init__(self, version, jar, conf, arguments=("plain",), master="local[2]", binary=None, listener=False):
        self.dir = Path(tempfile.mkdtemp(prefix="companion-"))
        self.version = version
        (self.dir / "events").mkdir()
        self.env = environment(version)
        given = {
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{self.dir}/events",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.my.password": SECRET,
            "spark.driver.memory": "800m",
            "spark.emberscope.stream.file": str(self.dir / "fallback.jsonl"),
        }
        if binary:
            given["spark.emberscope.binary"] = str(binary)
        given.update({key: value.replace("DIR", str(self.dir)) for key, value in conf.items()})
        command = [home(version) / "bin/spark-submit", "--master", master, "--jars", jar]
        # A listener is made before jars are fetched.
        command += ["--driver-class-path", jar.replace(",", ":")] if listener else []
        for key, value in given.items():
            command += ["--conf", f"{key}={value}"]
        command += [JOB, *arguments]
        self.out = open(self.dir / "out.txt", "w")
        self.err = open(self.dir / "err.txt", "w")
        self.process = subprocess.Popen(command, env=self.env, cwd=self.dir, stdout=self.out, stderr=self.err)

    def output(self):
        return (self.dir / "out.txt").read_text()

    def log(self):
        return (self.dir / "err.txt").read_text()

    def wait(self, seconds=600):
        return self.process.wait(timeout=seconds)

    def until(self, what, is_so, seconds=300):
        start = time.time()
        while not is_so():
            assert self.process.poll() is None, f"ended before {what}: {self.log()[-2000:]}"
            assert time.time() - start < seconds, f"{what} did not happen"
            time.sleep(0.1)

    def kill_driver(self):
        """Kills Python and the JVM, as an out-of-memory killer would."""
        for pid in [self.process.pid, *children(self.process.pid)]:
            if "emberscope" not in command_line(pid).split("\0")[0]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.process.wait()

    def event_log(self):
        [log] = (self.dir / "events").iterdir()
        return log

    def event_lines(self):
        return [json.loads(line) for line in self.event_log().read_text().splitlines() if line.endswith("}")]

    def said(self):
        """What the companion said."""
        return [line for line in self.log().splitlines() if re.search(r" emberscope: | io\.emberscope: ", line)]

    def forget(self):
        shutil.rmtree(self.dir)


def environment(version):
    pyspark = home(version)
    python = CACHE / f"venv-{version}/bin/python"
    env = dict(os.environ, SPARK_HOME=str(pyspark), PYSPARK_PYTHON=str(python), PYSPARK_DRIVER_PYTHON=str(python))
    env.update(SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_HOSTNAME="localhost")
    return env


def children(pid):
    """All processes below one."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid:
                child = int(stat.parent.name)
                found += [child, *children(child)]
        except (OSError, IndexError):
            pass
    return found


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def rows(directory, table):
    """All rows of a table below a directory, files that are being written included."""
    found = []
    for path in sorted(Path(directory).rglob(f"*{table}-reports-*")):
        found += [json.loads(line) for line in path.read_text().splitlines()]
    return found


def reports(directory):
    """The finished files below a directory, by name, without what a log is called and how long it is: Spark changes a
    stage's description while its listeners write it, so that they may see it at different times."""
    files = {}
    for path in Path(directory).rglob("*-reports-*.json"):
        if not path.name.startswith("."):
            text = re.sub(r'^\{"source":"[^"]*"', '{"source":""', path.read_text())
            if path.name.startswith("data_quality"):
                text = re.sub(r'bytes(\\?)":\d+', r'bytes\1":0', text)
            files[path.name] = re.sub(r'\\"path\\":\\"[^"\\]*', r'\\"path\\":\\"', text)
    return files


class Cluster:
    """A standalone master with two workers of a core each."""

    def __init__(self, version, port=17077):
        self.dir = Path(tempfile.mkdtemp(prefix="cluster-"))
        self.master = f"spark://127.0.0.1:{port}"
        self.env = environment(version)
        spark_class = home(version) / "bin/spark-class"
        package = "org.apache.spark.deploy."
        host = ["--host", "127.0.0.1"]
        self.processes = [self.start(spark_class, [package + "master.Master", *host, "--port", str(port), "--webui-port", "18281"])]
        time.sleep(4)
        for n in range(2):
            worker = ["--cores", "1", "--memory", "1g", "--webui-port", str(18291 + n), "--work-dir", str(self.dir / f"work{n}")]
            self.processes.append(self.start(spark_class, [package + "worker.Worker", *host, *worker, self.master]))
        start = time.time()
        while self.logs().count("Successfully registered with master") < 2:
            if time.time() - start > 300:
                said = self.logs()[-2000:]
                # Else it would be in the way of the next one.
                self.stop()
                raise AssertionError(said)
            time.sleep(0.3)

    def start(self, spark_class, arguments):
        log = open(self.dir / f"{len(list(self.dir.glob('*.log')))}.log", "w")
        return subprocess.Popen([spark_class, *arguments], env=self.env, stdout=log, stderr=log)

    def logs(self):
        return "".join(path.read_text() for path in self.dir.glob("*.log"))

    def executors(self):
        """Process ids of executors by their ids."""
        found = {}
        for process in self.processes:
            for pid in children(process.pid):
                match = re.search(r"CoarseGrainedExecutorBackend.*\0--executor-id\0(\d+)\0", command_line(pid))
                if match:
                    found[match.group(1)] = pid
        return found

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
