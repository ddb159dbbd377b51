#!/usr/bin/env python3
"""The Spark History Server MCP server asks Emberscope what it asks the History Server, and hears the same.

Every tool of `mcp-apache-spark-history-server` (PyPI, Python 3.12 or newer) is called, unchanged, once with
`emberscope serve --open` and once with Spark's own History Server over the same fixtures; the answers are compared.

    python3 referee/mcp_tools.py            needs Java, pyspark's environment and Python 3.12

EMBERSCOPE names the program. The MCP server is installed into `venv-mcp` of the cache.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import history_server as spark

FIXTURES = ["sql-aqe-4.3.0", "failures-4.3.0", "executor-loss-4.3.0", "streaming-4.3.0", "spill-4.3.0", "empty-4.3.0"]
# Depends on when and where a server runs, or is kept back on purpose: addresses of a cluster that is gone.
VOLATILE = {"lastUpdated", "lastUpdatedEpoch", "executorLogs", "logSourceName", "logSourceFullPath"}
# Sets that the History Server tells in any order.
SETS = {"stageIds", "successJobIds"}
# Places that differ, and why.
EXPLAINED = {
    "classpathEntries": "the model does not keep the classpath",
    "hadoopProperties": "more is masked than Spark masks: keys and values that look like secrets",
    "sparkProperties": "more is masked than Spark masks: keys and values that look like secrets",
    "details": "of a stage that never ran the model keeps name, tasks and first RDD",
    "rddIds": "of a stage that never ran the model keeps name, tasks and first RDD",
    "peakExecutorMetrics": "a heartbeat told of the stage after its end; the server had closed it by then",
    "peakMemoryMetrics": "a heartbeat told of the stage after its end; the server had closed it by then",
}


@contextmanager
def emberscope(logs):
    port = spark.free_port()
    command = [os.environ.get("EMBERSCOPE", "emberscope"), "serve", str(logs), "--open", "--no-browser", "--port", str(port)]
    with open(logs.parent / "emberscope.log", "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        address = f"http://{spark.HOST}:{port}"
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{address}/healthz").read()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def environment(cache):
    """The environment that has the MCP server."""
    venv = cache / "venv-mcp"
    if not (venv / "bin/spark-mcp").exists():
        python = next((found for name in ("python3.12", "python3.13", "python3.14") if (found := shutil.which(name))), None)
        if python is None:
            sys.exit("the MCP server needs Python 3.12 or newer, and none is here")
        subprocess.run([python, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/pip", "install", "--quiet", "mcp-apache-spark-history-server"], check=True)
    return venv


def calls(base, apps):
    """Each tool with arguments that its description allows, over several applications."""
    ids = [app["id"] for app in apps]
    first, second = ids[0], ids[1]
    yield "list_applications", {}
    yield "list_applications", {"status": ["COMPLETED"], "limit": 2}
    yield "list_applications", {"app_id": first}
    for app in ids:
        yield "list_jobs", {"app_id": app}
        yield "list_jobs", {"app_id": app, "status": ["FAILED"]}
        yield "list_jobs", {"app_id": app, "sort_by": "duration", "offset": 1, "length": 2}
        yield "list_stages", {"app_id": app}
        yield "list_stages", {"app_id": app, "with_summaries": True, "length": 3}
        yield "get_environment", {"app_id": app}
        yield "get_environment", {"app_id": app, "section": "spark_properties"}
        yield "list_executors", {"app_id": app, "include_inactive": True}
        yield "list_executors", {"app_id": app, "sort_by": "duration"}
        yield "get_executor_summary", {"app_id": app}
        yield "get_executor_thread_dump", {"app_id": app, "executor_id": "driver"}
        yield "list_sql_executions", {"app_id": app, "limit": 0}
        yield "list_sql_executions", {"app_id": app, "sort_by": "id", "limit": 2}
        yield "get_job_bottlenecks", {"app_id": app}
        yield "get_resource_usage_timeline", {"app_id": app}
        stages = spark.get(f"{base}/applications/{app}/stages?details=false") or []
        for stage in [stage for stage in stages if stage["status"] != "SKIPPED"][:4]:
            yield "get_stage", {"app_id": app, "stage_id": stage["stageId"]}
            yield "get_stage", {"app_id": app, "stage_id": stage["stageId"], "attempt_id": stage["attemptId"], "with_summaries": True}
            yield "list_stage_task_failures", {"app_id": app, "stage_id": stage["stageId"]}
            yield "compare_stages", {"app_id1": app, "stage_id1": stage["stageId"], "app_id2": app, "stage_id2": stages[-1]["stageId"]}
        for execution in (spark.get(f"{base}/applications/{app}/sql?details=false") or [])[:3]:
            yield "get_sql_execution", {"app_id": app, "execution_id": execution["id"]}
            yield "get_sql_execution", {
                "app_id": app, "execution_id": execution["id"], "include_plan": True, "include_initial_plan": True,
                "include_aggregated_metrics": True, "include_stages": True, "plan_max_length": 500}
    yield "compare_sql_executions", {"app_id1": first, "app_id2": second}
    yield "compare_sql_executions", {"app_id1": first, "app_id2": second, "include_plan_diff": True}
    yield "compare_job_environments", {"app_id1": first, "app_id2": second}
    yield "compare_job_performance", {"app_id1": first, "app_id2": second}


def cleaned(value):
    if isinstance(value, dict):
        kept = {key: cleaned(item) for key, item in value.items() if key not in VOLATILE}
        return {key: sorted(item) if key in SETS and item else item for key, item in kept.items()}
    return [cleaned(item) for item in value] if isinstance(value, list) else value


def body(answer):
    """What a tool said: parsed where it is JSON."""
    texts = [part.text for part in answer.content]
    parsed = []
    for text in texts:
        try:
            parsed.append(cleaned(json.loads(text)))
        except ValueError:
            parsed.append(text)
    return parsed


def differing(ours, theirs, path=""):
    """Places at which two answers differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            yield from differing(ours.get(key), theirs.get(key), f"{path}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for n, (one, other) in enumerate(zip(ours, theirs)):
            yield from differing(one, other, f"{path}/{n}")
    elif ours != theirs:
        yield f"{path}: {str(ours)[:120]!r} here, {str(theirs)[:120]!r} there"


async def ask(base, addresses, folder):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    config = folder / "mcp.yaml"
    servers = "".join(f"  {name}:\n    url: {url}\n" for name, url in addresses.items())
    config.write_text(f"servers:\n{servers}mcp:\n  transport: stdio\n")
    command = StdioServerParameters(
        command=str(Path(sys.prefix) / "bin/spark-mcp"), args=["--config", str(config)], env=dict(os.environ))
    tools, answered, failed, explained = set(), 0, 0, 0
    with open(folder / "mcp.log", "w") as log:
        async with stdio_client(command, errlog=log) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            known = {tool.name for tool in (await session.list_tools()).tools}
            for tool, arguments in calls(base, spark.applications(base)):
                tools.add(tool)
                said = {}
                for server in addresses:
                    answer = await session.call_tool(tool, {**arguments, "server": server})
                    said[server] = (bool(answer.isError), body(answer))
                (ours_failed, ours), (theirs_failed, theirs) = said["emberscope"], said["spark"]
                all_places = list(differing(ours, theirs))
                places = [place for place in all_places if not any(part in EXPLAINED for part in place.split(":")[0].split("/"))]
                explained += len(all_places) - len(places)
                # Both may refuse, each in words that hold its address.
                if ours_failed and theirs_failed:
                    places = []
                answered += not ours_failed
                if ours_failed != theirs_failed or places:
                    failed += 1
                    print(f"{tool} {json.dumps(arguments)}: {len(places)} places differ")
                    for place in places[:6]:
                        print(f"    {place}")
    if known - tools:
        failed += 1
        print(f"never called: {', '.join(sorted(known - tools))}")
    print(f"{len(tools)} tools, {answered} answers, {failed} calls differ, {explained} values by listed reasons")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/emberscope")
    args = parser.parse_args()
    venv = environment(args.cache)
    if Path(sys.prefix) != venv:
        os.execv(venv / "bin/python", [str(venv / "bin/python"), *sys.argv])
    with tempfile.TemporaryDirectory() as place:
        logs = Path(place) / "logs"
        logs.mkdir()
        chosen = spark.fixture_logs(FIXTURES)
        for log in chosen:
            spark.lay_out(log, logs)
        with emberscope(logs) as ours, spark.history_server(args.cache / "venv-4.3.0", logs) as base:
            listed = spark.wait_for(base, len(chosen))
            if len(listed) < len(chosen):
                sys.exit(f"the History Server lists {len(listed)} of {len(chosen)} applications")
            addresses = {"emberscope": ours, "spark": base.removesuffix("/api/v1")}
            sys.exit(1 if asyncio.run(ask(base, addresses, Path(place))) else 0)


if __name__ == "__main__":
    main()
