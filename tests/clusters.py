"""Real clusters on this machine: a scheduler by address and workers that are processes of their own, loopback only."""

from __future__ import annotations

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
from pathlib import Path
from queue import Queue

import pytest

_SCHEDULER = ("-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter")
_WORKER = ("-m", "distributed.cli.dask_worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny")
#: Seconds that a process may take to say that it is there.
PATIENCE = 120.0


@dataclass
class DaskCluster:
    """A scheduler's address and its workers."""

    address: str
    folder: Path
    workers: list[subprocess.Popen[str]] = field(default_factory=list)

    def add(self, nice: int = 0) -> subprocess.Popen[str]:
        """One more worker."""
        name = f"w{len(self.workers)}"
        words = (*_WORKER, "--name", name, "--local-directory", str(self.folder), self.address)
        self.workers.append(_started(words, r"Registered to:", nice)[0])
        return self.workers[-1]


def kill(process: subprocess.Popen[str]) -> None:
    """End the process as the loss of its machine would."""
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def _started(words: tuple[str, ...], says: str, nice: int = 0) -> tuple[subprocess.Popen[str], str]:
    """A Python process that has said something, and the line."""
    # the working directory's folders (models, solvers) are not packages of their own here
    environment = {**os.environ, "PYTHONPATH": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/", env=environment,
        preexec_fn=(lambda: os.nice(nice)) if nice else None,
    )  # fmt: skip
    lines: Queue[str] = Queue()
    threading.Thread(target=_read, args=(process, lines), daemon=True).start()
    end, seen = time.monotonic() + PATIENCE, []
    while time.monotonic() < end and process.poll() is None:
        with suppress(Exception):
            seen.append(lines.get(timeout=0.5))
            if re.search(says, seen[-1]):
                return process, seen[-1]
    process.kill()
    raise RuntimeError("".join(seen))


def _read(process: subprocess.Popen[str], lines: Queue[str]) -> None:
    assert process.stdout is not None
    with process.stdout as said:  # closed here, since who closes what another thread reads raises an error there
        for line in said:
            lines.put(line)


@contextmanager
def dask_cluster(folder: Path, workers: int = 2) -> Iterator[DaskCluster]:
    """A scheduler and its workers, all of them gone afterwards."""
    scheduler, line = _started(_SCHEDULER, r"Scheduler at:")
    address = re.search(r"tcp://127\.0\.0\.1:\d+", line)
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
    """Ray on this machine, two processors."""
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
