"""Tasks that are slow though their data is not larger."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

from kit import BOTH, executors, expected, local, nap, pair, standalone


def one_slow_host(spark: Any, slow: bool) -> None:
    """One executor gets a fifth of the time: stopped and continued, as by a greedy neighbour."""
    from common import executor_pid

    rows = spark.range(0, 24000, 1, 24).selectExpr("id % 40 as k", f"{nap(2)} as n")
    done = threading.Event()
    pid = executor_pid(spark.sparkContext.applicationId, max(executors(spark), key=int))
    assert pid is not None

    def hold() -> None:
        while not done.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.2)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.05)

    neighbour = threading.Thread(target=hold) if slow else None
    if neighbour:
        neighbour.start()
    try:
        rows.agg({"n": "sum"}).collect()
    finally:
        done.set()
        if neighbour:
            neighbour.join()


def one_slow_task(spark: Any, slow: bool) -> None:
    """One task waits seven seconds for something outside Spark; its rows are as many as the others'."""
    wait = "if(id = 3333, 7000, 2)" if slow else "2"
    spark.range(0, 8000, 1, 32).selectExpr(f"{nap(wait)} as n").agg({"n": "sum"}).collect()


pair("straggler-slow-host", "straggler-host", one_slow_host, cluster=standalone(4, 2), versions=BOTH, bad={"slow": True}, good={"slow": False},
     expect=[expected("HOST", "slowHost", "the stage of 24 tasks; one of four hosts")], allow=["STRAG", "SHAPE"],
     claims={"main.slow_host_ratio": (">=2.5", "<1.6"), "main.records_ratio": ("<1.2", "<1.2"), "main.hosts": ("==4", "==4")},
     notes="SIGSTOP for 200 of 250 ms, so the tasks' CPU time stays normal")
pair("straggler-one-task", "straggler-task", one_slow_task, versions=BOTH, bad={"slow": True}, good={"slow": False},
     expect=[expected("STRAG", "straggler", "the stage of 32 tasks: one waits, unexplained")], allow=["SHAPE"],
     claims={"main.time_ratio": (">=8", "<3"), "main.records_ratio": ("<1.2", "<1.2"), "main.cpu_share": ("<0.5", "")})
