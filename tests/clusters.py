"""Dask and Ray clusters on this machine, as processes that communicate by the loopback interface."""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

#: Seconds that a process may take to start.
PATIENCE = 120.0
_WORDS = ("--host", "127.0.0.1", "--no-dashboard")
#: Forks Dask's processes: to import Dask and the package takes each of them longer than its work. It has started no thread.
_SERVER = """
import json, os, sys
from distributed.cli.dask_scheduler import main as scheduler
from distributed.cli.dask_worker import main as worker
import marginopt.estimators, marginopt.relaxations, marginopt.reproduction.task, marginopt.selection
import marginopt.solvers.zero_one.algorithm, sklearn.model_selection
answers = os.fdopen(os.dup(1), "w")
ended = {}
for line in sys.stdin:
    kind, *words = json.loads(line)
    if kind == "ended":
        pid = words[0]
        if pid not in ended:
            ended_pid, status = os.waitpid(pid, os.WNOHANG)
            if ended_pid:
                ended[pid] = os.waitstatus_to_exitcode(status)
        answer = ended.get(pid)
    else:
        answer = os.fork()
        if answer == 0:
            break
    print(json.dumps(answer), file=answers, flush=True)
else:
    sys.exit()
answers.close()
nice, log, *words = words
os.nice(nice)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
os.dup2(1, 2)
{"scheduler": scheduler, "worker": worker}[kind](words)
"""


class _Server:
    """The process that forks, and a question to it."""

    def __init__(self) -> None:
        # the working directory's folders (models, solvers) are not packages of their own here
        environment = {**os.environ, "PYTHONPATH": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", env=environment
        )
        self._lock = threading.Lock()
        atexit.register(self._process.communicate)

    def ask(self, *words: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(words) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())


_server = cache(_Server)


class Process:
    """A forked process of Dask, with some of the methods of `subprocess.Popen`."""

    def __init__(self, kind: str, nice: int, log: Path, *words: str) -> None:
        self.pid: int = _server().ask(kind, nice, str(log), *words)

    def poll(self) -> int | None:
        return _server().ask("ended", self.pid)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.poll() is None:
            assert time.monotonic() < end, "it does not end"
            time.sleep(0.01)


@dataclass
class DaskCluster:
    """A running Dask cluster."""

    address: str  #: address of the scheduler
    folder: Path  #: folder of logs and workers' files
    workers: list[Process] = field(default_factory=list)  #: all workers, also those that have ended

    def add(self, nice: int = 0) -> Process:
        """Start and return one more worker, with this niceness."""
        name = f"w{len(self.workers)}"
        words = ("--nthreads", "1", "--no-nanny", "--name", name, "--local-directory", str(self.folder), self.address)
        self.workers.append(_started("worker", self.folder / f"{name}.log", r"Registered to:", words, nice)[0])
        return self.workers[-1]


def kill(process: Process) -> None:
    """Kill the process at once, as the loss of its machine would."""
    process.kill()
    process.wait(10)


def _started(kind: str, log: Path, says: str, words: tuple[str, ...], nice: int = 0) -> tuple[Process, str]:
    """A process of Dask that has said something, and what it has said."""
    process, end = Process(kind, nice, log, *_WORDS, *words), time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        output = log.read_text(encoding="utf-8") if log.exists() else ""
        if re.search(says, output):
            return process, output
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        process.kill()
    raise RuntimeError(log.read_text(encoding="utf-8"))


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[DaskCluster]:
    """Yield a cluster with this number of workers, and end all its processes afterwards."""
    scheduler, output = _started("scheduler", folder / "scheduler.log", r"Scheduler at:.*\n", ("--port", "0", "--no-jupyter"))
    address = re.search(r"tcp://127\.0\.0\.1:\d+", output)
    assert address is not None
    cluster = DaskCluster(address[0], folder)
    try:
        for _ in range(workers):
            cluster.add()
        yield cluster
    finally:
        for process in (*cluster.workers, scheduler):
            with suppress(ProcessLookupError):
                process.kill()
            process.wait(10)


@contextmanager
def ray_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start Ray on this machine with two processors, and end it afterwards."""
    import ray

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(
            num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1", object_store_memory=80_000_000
        )
        try:
            yield
        finally:
            ray.shutdown()
