#!/usr/bin/env python3
"""The server beside Spark's History Server: first answer about a large log, opening it again, many logs, many clients.

First answer: both programs start on the same log in turn and are asked for the log's stages until they answer.
Again: the server starts once more with its cache, and is asked for the summary. Clients: so many threads ask a server
over so many runs (fixtures under new ids) for random things at once. Runs by `cargo xtask bench --only serve`;
EMBERSCOPE names the program, --log the log.
"""

import argparse
import collections
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "fixtures"))

import unpack  # noqa: E402 - found through the line above

TOKEN = "of-the-benchmark"
FIXTURES = ["sql-aqe-4.3.0", "executor-loss-3.5.9", "failures-4.3.0", "spill-4.3.0", "streaming-3.5.9", "plans-4.3.0", "rdd-4.3.0", "cache-3.5.9", "delta-3.5.9", "python-udf-4.3.0"]
# What a client may ask of a run, by the run's id here and the application's.
OURS = ["summary", "findings", "timeline", "stages", "sql", "executors"]
SPARK = ["jobs", "stages", "stages?details=true", "executors", "allexecutors", "sql?details=true", "environment", "storage/rdd"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, timeout=900):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.read()


def cpu_s(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def peak_mb(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


class Server:
    """A server that is ended with the block."""

    def __init__(self, command, **more):
        self.began = time.monotonic()
        self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()

    def until(self, url, has):
        """Seconds from the start to an answer that holds this, and CPU seconds up to then."""
        while time.monotonic() - self.began < 900:
            try:
                if has in get(url):
                    return time.monotonic() - self.began, cpu_s(self.child.pid)
            except OSError:
                pass
            time.sleep(0.01)
        sys.exit(f"no answer from {url}")


def ours(place, logs, cache):
    port = free_port()
    command = [os.environ["EMBERSCOPE"], "serve", str(logs), "--no-browser", "--port", str(port)]
    server = Server(command, env={**os.environ, "EMBERSCOPE_TOKEN": TOKEN, "EMBERSCOPE_CACHE": str(cache)}, cwd=place)
    return server, f"http://127.0.0.1:{port}"


def history_server(place, logs, spark):
    port = free_port()
    conf = place / "history.conf"
    conf.write_text(f"spark.history.fs.logDirectory file://{logs}\nspark.history.ui.port {port}\n")
    env = {**os.environ, "SPARK_HOME": str(spark), "SPARK_CONF_DIR": str(place), "SPARK_DAEMON_MEMORY": "4g", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [str(spark / "bin/spark-class"), "org.apache.spark.deploy.history.HistoryServer", "--properties-file", str(conf)]
    return Server(command, env=env), f"http://127.0.0.1:{port}"


def first_answers(log, spark, runs):
    application = log.name
    best = {}
    for number in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary)
            logs = place / "logs"
            logs.mkdir()
            link(log, logs / log.name)
            programs = {"emberscope": lambda: ours(place, logs, place / "cache"), "history server": lambda: history_server(place, logs, spark)}
            for name, start in programs.items():
                server, address = start()
                with server:
                    wall, cpu = server.until(f"{address}/api/v1/applications/{application}/stages", b'"stageId"')
                    print(f"  run {number} {name:15} {wall:7.2f} s wall {cpu:7.2f} s CPU {peak_mb(server.child.pid):7.0f} MB", flush=True)
                    best.setdefault(name, []).append((wall, cpu))
                    if name == "emberscope":
                        # Written beside the answer.
                        wait_for_cache(place / "cache")
            server, address = ours(place, logs, place / "cache")
            with server:
                server.until(f"{address}/healthz", b"ok")
                run = json.loads(get(f"{address}/api/emberscope/v1/runs"))["runs"][0]["id"]
                began = time.monotonic()
                get(f"{address}/api/emberscope/v1/runs/{run}/summary")
                again = time.monotonic() - began
                print(f"  run {number} opened again     {again:7.3f} s", flush=True)
                best.setdefault("again", []).append((again, 0))
    middle = {name: sorted(all_of)[len(all_of) // 2] for name, all_of in best.items()}
    wall = middle["history server"][0] / middle["emberscope"][0]
    cpu = middle["history server"][1] / middle["emberscope"][1]
    verdict = "PASS" if wall >= 20 else "MISS"
    print(f"{verdict}  first answer {wall:.0f} times sooner than the History Server's ({cpu:.0f} times less CPU), goal 20")
    verdict = "PASS" if middle["again"][0] < 0.15 else "MISS"
    print(f"{verdict}  opened again in {middle['again'][0] * 1000:.0f} ms, goal 150 ms")


def link(log, to):
    """The same file under another name; a copy where the places are on two disks."""
    try:
        os.link(log, to)
    except OSError:
        shutil.copyfile(log, to)


def wait_for_cache(cache):
    """Until nothing is written any more."""
    seen = None
    for _ in range(300):
        now = sorted((str(path), path.stat().st_size) for path in cache.rglob("*") if path.is_file()) if cache.exists() else []
        if now and now == seen:
            return
        seen = now
        time.sleep(0.2)
    sys.exit("the cache was not written")


def many_runs(logs, count):
    """Fixtures in plain text under new ids."""
    for number in range(count):
        name = FIXTURES[number % len(FIXTURES)]
        files = [path for path in sorted((ROOT / "fixtures/logs" / name).rglob("*")) if path.is_file() and not path.name.startswith("appstatus")]
        text = b"".join(unpack.decode(path.read_bytes())[0] for path in files)
        start = next(json.loads(line) for line in text.splitlines() if b'"SparkListenerApplicationStart"' in line)
        new = f"app-20261130000000-{number:04}"
        (logs / new).write_bytes(text.replace(start["App ID"].encode(), new.encode()))


def many_logs(count):
    """Seconds from the start to a list of so many small logs."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        logs = place / "logs"
        logs.mkdir()
        (source,) = [path for path in (ROOT / "fixtures/logs/empty-4.3.0").rglob("*") if path.is_file() and "appstatus" not in path.name]
        text = unpack.decode(source.read_bytes())[0]
        start = next(json.loads(line) for line in text.splitlines() if b'"SparkListenerApplicationStart"' in line)
        for number in range(count):
            new = f"app-20261130000000-{number:05}"
            (logs / new).write_bytes(text.replace(start["App ID"].encode(), new.encode()))
        server, address = ours(place, logs, place / "cache")
        with server:
            wall, cpu = server.until(f"{address}/api/emberscope/v1/runs?limit=1", f'"total":{count}'.encode())
            verdict = "PASS" if wall < 2 else "MISS"
            print(f"{verdict}  {count:,} logs listed {wall:.2f} s after the start ({cpu:.2f} s CPU), goal 2 s", flush=True)


def many_clients(clients, runs, seconds):
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        logs = place / "logs"
        logs.mkdir()
        many_runs(logs, runs)
        server, address = ours(place, logs, place / "cache")
        with server:
            server.until(f"{address}/healthz", b"ok")
            listed = json.loads(get(f"{address}/api/emberscope/v1/runs?limit=1000"))["runs"]
            if len(listed) != runs:
                sys.exit(f"{len(listed)} of {runs} runs are listed")
            took, errors = [], collections.Counter()
            until = time.monotonic() + seconds

            def client(seed):
                chance = random.Random(seed)
                while time.monotonic() < until:
                    run = chance.choice(listed)
                    if chance.random() < 0.5:
                        path = f"/api/emberscope/v1/runs/{run['id']}/{chance.choice(OURS)}"
                    else:
                        attempt = f"/{run['attempt_id']}" if run["attempt_id"] else ""
                        path = f"/api/v1/applications/{run['application_id']}{attempt}/{chance.choice(SPARK)}"
                    began = time.monotonic()
                    try:
                        get(address + path, 60)
                        took.append(time.monotonic() - began)
                    except (OSError, urllib.error.HTTPError) as error:
                        errors[f"{path.rsplit('/', 1)[1]}: {error}"] += 1

            threads = [threading.Thread(target=client, args=(seed,)) for seed in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            took.sort()
            peak = peak_mb(server.child.pid)
            print(f"  {len(took)} answers in {seconds} s; median {took[len(took) // 2] * 1000:.0f} ms, 99 % in {took[len(took) * 99 // 100] * 1000:.0f} ms, longest {took[-1] * 1000:.0f} ms; peak {peak:.0f} MB")
            for error, times in errors.most_common(10):
                print(f"  {times} times {error}")
            verdict = "PASS" if not errors and peak < 1500 else "MISS"
            print(f"{verdict}  {clients} clients on {runs} runs: {sum(errors.values())} errors, memory {peak:.0f} MB, goal 0 errors below 1,500 MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, required=True, help="a large log, named by its application")
    parser.add_argument("--spark", type=Path, required=True, help="SPARK_HOME")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--log-count", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--run-count", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=20)
    args = parser.parse_args()
    first_answers(args.log.resolve(), args.spark, args.runs)
    many_logs(args.log_count)
    many_clients(args.clients, args.run_count, args.seconds)


if __name__ == "__main__":
    main()
