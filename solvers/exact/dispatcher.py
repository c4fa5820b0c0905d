"""Dispatcher of a branch and bound with remote workers: sends batches of open nodes as subproblems and validates the results.

A result of a wrong type or shape, with a value that is not a number or an index that does not exist, comes from a faulty worker,
and its subproblem is dispatched again. A well-formed false result (a bound too high, a missing node) cannot be detected without
repeating the work. Only a proof log exposes it, since each of its lines is checked (``docs/how-to/cluster.md``).
"""

from __future__ import annotations

import math
import os
import platform
import time
import zlib
from collections.abc import Iterable, Mapping, Sized
from typing import Any, Protocol

import numpy as np

from ...errors import MarginoptError, SolverError
from ...files import describe_read_error, unpack_limit
from ..parallel.executor import AsynchronousExecutor, Job, TaskResult

#: Node numbers in the proof log that are reserved for each subproblem: its nodes are numbered from a multiple of this on.
NUMBERS_PER_SUBPROBLEM = 1 << 26
#: Time limits of a subproblem in seconds: the usual one, the least one (towards the end of a search), and the largest one (where
#: this process is the bottleneck). Shorter subproblems would cost more than the idle time that they avoid.
TARGET_SECONDS, LEAST_SECONDS, MOST_SECONDS = 1.5, 0.2, 30.0
#: Largest number of nodes of the first subproblems: enough that they seldom finish before their time limit.
FIRST_BATCH_NODES = 256
#: Number of batches per worker into which the pool is divided. Few suffice, since unfinished subproblems are divided anew.
_BATCHES_PER_WORKER = 1.25
#: Largest share of this process's time that the handling of subproblems (sending, receiving, dividing) may take.
HANDLING_SHARE = 0.1
#: Discount factor of past results in the estimate.
_DISCOUNT = 0.8


class BatchSize:
    """The number of nodes and the time limit of the next subproblems, estimated from past results.

    An open node is the root of a subtree of unknown size. Past results estimate the work per node. A batch has as many nodes as
    take its time limit, `TARGET_SECONDS` as a rule, and at most a worker's share of the pool (all open nodes). Towards the end
    the time limits fall, since a worker with a large subtree keeps the others waiting until its subproblem ends.

    Attributes
    ----------
    seconds_per_node : float
        Recent seconds of a worker per finished node; 0 before the first result.
    """

    def __init__(self) -> None:
        self.seconds_per_node = 0.0
        self._seconds = self._nodes = 0.0

    def update(self, size: int, left: int, seconds: float) -> None:
        """Update the estimate: a subproblem of ``size`` nodes has returned ``left`` open nodes after ``seconds``."""
        finished = size if left == 0 else max(size - left, 0.25 * size)  # one large subtree is not representative
        self._seconds = _DISCOUNT * self._seconds + seconds
        self._nodes = _DISCOUNT * self._nodes + finished
        self.seconds_per_node = self._seconds / self._nodes

    def next_batch(self, waiting: int, slots: int, handling: float) -> tuple[int, float]:
        """Return the number of nodes and the time limit in seconds of each of the next subproblems.

        Parameters
        ----------
        waiting : int
            Open nodes in the pool.
        slots : int
            Number of subproblems that the workers solve in parallel.
        handling : float
            Seconds of this process per subproblem. Shorter subproblems would make this process the bottleneck.
        """
        least_seconds = slots * handling
        fair = max(int(waiting / (_BATCHES_PER_WORKER * slots)), 1)
        if self.seconds_per_node == 0.0:
            return min(fair, FIRST_BATCH_NODES), max(LEAST_SECONDS, least_seconds)
        remaining = waiting * self.seconds_per_node / slots  # estimated remaining seconds of every worker
        seconds = min(
            max(
                min(TARGET_SECONDS, remaining),
                LEAST_SECONDS,
                least_seconds / HANDLING_SHARE if remaining > 2.0 * TARGET_SECONDS else least_seconds,
            ),
            MOST_SECONDS,
        )
        return max(min(int(seconds / self.seconds_per_node), fair), 1), seconds


#: Number of invalid results beyond which the search ends with SolverError.
MOST_INVALID_RESULTS = 8


class SubproblemOutcome(Protocol):
    """Protocol of a subproblem's result: the attributes that the dispatcher reads."""

    @property
    def nodes(self) -> Sized:
        """The nodes that the worker left open."""

    @property
    def seconds(self) -> float:
        """Wall seconds that the worker took."""

    @property
    def processor_seconds(self) -> float:
        """Processor seconds that the worker took."""

    @property
    def worker(self) -> str:
        """Name of the worker: its machine and process."""


class NodePool(Protocol):
    """Protocol of a search's pool of open nodes, from which a `Dispatcher` takes nodes and to which it returns results."""

    @property
    def queue_length(self) -> int:
        """Number of open nodes in the pool, without those of subproblems in progress."""

    def take_nodes(self, limit: int) -> Any:
        """Remove at most ``limit`` nodes from the pool and return them, those with the least bounds first."""

    def task(self, number: int, nodes: Any, seconds: float) -> Any:
        """Return the subproblem of these nodes as a message to a worker."""

    def check_result(self, outcome: Any) -> None:
        """Raise ValueError, or another error of malformed data, unless ``outcome`` is a valid result."""

    def add_result(self, number: int, outcome: Any) -> None:
        """Add the result of subproblem ``number``: its open nodes, its incumbent, its part of the proof."""


class Dispatcher:
    """The dispatcher of one search, which keeps every worker of an executor busy with subproblems of a pool.

    Parameters
    ----------
    executor : AsynchronousExecutor
        The workers.
    pool : NodePool
        The search.
    job : callable
        The function that a worker calls with a subproblem and a number of threads.

    Attributes
    ----------
    in_progress : dict
        Nodes of the subproblems that workers have not answered yet, as dispatched, by the number of the subproblem.
    last_number : int
        Number of the subproblem that was dispatched last.
    has_ready_worker : bool
        Whether a worker has answered `preload_workers`, so that a subproblem would begin at once.
    """

    def __init__(self, executor: AsynchronousExecutor, pool: NodePool, job: Job) -> None:
        self._executor, self._pool, self._job = executor, pool, job
        self._batch_size = BatchSize()
        self.in_progress: dict[int, Any] = {}
        self.last_number, self.has_ready_worker = 0, False
        self._dispatched = self._failures = self._preload_count = 0
        self._processor_seconds = self._wall_seconds = self._handling_seconds = 0.0
        self._workers: set[str] = set()

    def statistics(self) -> dict[str, float]:
        """Return the numbers of dispatched subproblems and of workers, and the seconds that this process and the workers took.

        "handling" is this process's wall time; "worker_seconds" and "worker_wall" are the workers' processor and wall times.
        """
        counts = {"subproblems": self._dispatched, "workers": len(self._workers), "handling": self._handling_seconds}
        return {**counts, "worker_seconds": self._processor_seconds, "worker_wall": self._wall_seconds}

    def preload_workers(self, job: Job, task: Any) -> None:
        """Make every worker load its code and fetch the data before its first subproblem; later calls do nothing."""
        if self._preload_count:
            return
        for _ in range(self._executor.slots):
            self._preload_count += 1
            self._executor.submit(-self._preload_count, job, task)

    def exchange(self, seconds: float) -> None:
        """Dispatch subproblems, wait at most ``seconds`` for results, add them to the pool, and dispatch again."""
        start = time.perf_counter()
        self._dispatch()
        self._handling_seconds += time.perf_counter() - start
        results = self._executor.collect(seconds) if self.in_progress or not self.has_ready_worker else []
        start = time.perf_counter()
        for completed in results:
            self._receive(completed)
        self._dispatch()
        self._handling_seconds += time.perf_counter() - start

    def _receive(self, completed: TaskResult) -> None:
        number = completed.number
        if number < 0:  # the value of a preload is irrelevant: a faulty worker shows in its subproblems
            self.has_ready_worker = True
            return
        try:
            result: SubproblemOutcome = completed.result()
            self._pool.check_result(result)
        except MarginoptError:
            raise
        except Exception as error:  # noqa: BLE001 - a faulty worker may raise or return anything
            self._retry(number, error)
            return
        self._batch_size.update(len(self.in_progress.pop(number)), len(result.nodes), result.seconds)
        self._processor_seconds += result.processor_seconds
        self._wall_seconds += result.seconds
        self._workers.add(result.worker)
        self._pool.add_result(number, result)

    def _retry(self, number: int, error: Exception) -> None:
        """Dispatch the nodes of an invalid result once more, as a new subproblem; raise SolverError if too many were invalid."""
        self._failures += 1
        if self._failures > MOST_INVALID_RESULTS:
            message = f"workers of the cluster are broken: {self._failures} subproblems came back without a valid result"
            raise SolverError(f"{message}: {describe_read_error(error)}") from error
        self._submit(self.in_progress.pop(number), LEAST_SECONDS)

    def _submit(self, nodes: Any, seconds: float) -> None:
        self.last_number += 1
        self.in_progress[self.last_number] = nodes
        self._dispatched += 1
        self._executor.submit(self.last_number, self._job, self._pool.task(self.last_number, nodes, seconds))

    def _dispatch(self) -> None:
        """Submit subproblems until every worker has one in work and ``executor.ahead`` more in the cluster's queue."""
        waiting = self._pool.queue_length
        if not waiting:
            return
        slots = self._executor.size
        missing = (1 + self._executor.ahead) * slots - len(self.in_progress)
        if missing <= 0:
            return
        batch, seconds = self._batch_size.next_batch(waiting, slots, self._handling_seconds / max(self._dispatched, 1))
        for _ in range(missing):
            nodes = self._pool.take_nodes(batch)
            if not len(nodes):
                break
            self._submit(nodes, seconds)

    def release(self) -> None:
        """Cancel the subproblems in progress; their nodes stay open."""
        self._executor.cancel()


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def check_numbers(*values: Any, minimum: float = -math.inf) -> None:
    """Raise ValueError unless every value is a float or an integer within 60 bits, and at least ``minimum``."""
    for value in values:
        _require(isinstance(value, float) or (type(value) is int and abs(value) < 1 << 60), f"{value!r} is no number")
        _require(value >= minimum, f"{value!r} is below {minimum:g}")


def check_worker_fields(seconds: Any, processor_seconds: Any, effort: Any, worker: Any) -> None:
    """Raise ValueError unless times and effort (counted work) are finite and nonnegative and the worker's name is a string."""
    check_numbers(seconds, processor_seconds, effort, minimum=0.0)
    _require(math.isfinite(seconds + processor_seconds + effort) and type(worker) is str, "invalid times or an invalid name")


def check_counts(counts: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise ValueError unless the counts have exactly these names and are nonnegative integers within 60 bits."""
    _require(set(counts) == set(names), "other counts than a subproblem has")
    _require(all(type(count) is int and 0 <= count < 1 << 60 for count in counts.values()), "invalid counts")


def check_point(w: Any, length: int) -> None:
    """Raise ValueError unless w is None or a finite float64 vector of this length."""
    if w is not None:
        _require(type(w) is np.ndarray and w.dtype == np.float64 and w.shape == (length,), "an incumbent of another shape")
        _require(bool(np.isfinite(w).all()), "an incumbent that is not finite")


def worker_name() -> str:
    """Return the name of this process in results: its machine and process number."""
    return f"{platform.node()}:{os.getpid()}"


def unpack_log_lines(packed: Any) -> str:
    """Return the lines of a proof log from their zlib form; raise ValueError for a damaged or oversized text."""
    _require(type(packed) is bytes, "a part of a log that is no text")
    try:
        unpacking, limit = zlib.decompressobj(), unpack_limit(len(packed))
        text = (unpacking.decompress(packed, limit) if packed else b"").decode()
    except zlib.error as error:
        raise ValueError(f"a part of a log that cannot be unpacked: {error}") from error
    _require(not packed or unpacking.eof, "a part of a log that ends early, or unpacks to far more than its size")
    _require(text[-1:] in ("", "\n"), "a part of a log that ends within a line")
    return text


def bound_caveat(workers: int, proof: object) -> str:
    """Return the caveat for a bound found by so many remote workers, with advice on the proof log.

    Only a proof log exposes a worker that returned a wrong result.
    """
    advice = "check_proof verifies the log without them" if proof is not None else "with proof=path anybody can check it"
    return f"the bound rests on what {workers} worker{'s' * (workers > 1)} sent back: {advice}"
