"""The box search of `zero-one-bb` with remote workers: this process keeps the pool of open nodes and dispatches subproblems.

The problem is min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}; a node is a box of w with the points that it leaves undecided.
The search begins in this process while the workers load their code. When the first worker is ready, the open nodes become the
pool. Every worker receives a few nodes with the least bounds, the incumbent and a time limit, and returns the nodes that remain
open. These are divided anew, with better incumbents, so that idle workers soon take over work of busy ones; time limits are short
where the pool is nearly empty. A killed worker loses one subproblem, which another worker repeats: the result of a subproblem
depends on nothing else, and only the first result counts.
"""

from __future__ import annotations

import heapq
import itertools
import time
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from ...models.arrays import FloatArray
from ..exact.dispatcher import (
    NUMBERS_PER_SUBPROBLEM,
    Dispatcher,
    check_counts,
    check_numbers,
    check_point,
    check_worker_fields,
    unpack_log_lines,
    worker_name,
)
from ..exact.options import Limits
from ..interface.algorithm import Outcome
from ..parallel.executor import AsynchronousExecutor
from ..parallel.serialisation import TaskArrays
from .box_engine import COUNTER_NAMES, BoxEngine, BoxSearchData, BoxSearchSnapshot
from .box_log import BoxLogWriter, BoxRecords
from .engine import Engine, SharedState
from .incumbent import HardMarginSolver, Incumbent, trivial_incumbent
from .loops.box_records import DEFAULT_MEMORY
from .open_nodes import OpenNodes
from .reduced import reduce_problem, rotate_for_boxes, warm_up_problem

#: Tolerance of the warm-up problem that loads the compiled loops.
_LOAD_TOL = 1e-6
#: Bytes of a worker's open nodes beyond which it searches nearly depth-first: all of them are sent back.
_MEMORY_LIMIT = 1.5e8
#: Seconds of a call of the engine in a worker, so that a subproblem ends in time.
_INTERVAL = 0.1


@dataclass(frozen=True, eq=False)
class BoxSubproblem:
    """A task for a worker: search some open nodes for a limited time."""

    search_data: BoxSearchData  #: data of the search, equal for all subproblems: its large arrays are sent once
    nodes: TaskArrays  #: the arrays of the open nodes
    w: FloatArray  #: the incumbent at the time of dispatch
    value: float  #: the incumbent's objective
    tol: float  #: tolerance of the search
    seconds: float  #: time limit
    number: int  #: number of the subproblem, from 1; its nodes have numbers from ``number * NUMBERS_PER_SUBPROBLEM`` on
    logged: bool  #: whether the worker writes a part of the proof log


@dataclass(frozen=True, eq=False)
class BoxSubproblemResult:
    """The result of a `BoxSubproblem`."""

    nodes: OpenNodes  #: open nodes with bounds below the worker's final cutoff
    w: FloatArray | None  #: a better classifier than the task's incumbent
    unresolved: float  #: least lower bound of the leaves that rounding left unresolved
    counts: dict[str, int]  #: numbers of nodes, relaxations, Newton steps and points
    effort: float  #: counted work, about nanoseconds
    seconds: float  #: wall time of the worker
    processor_seconds: float  #: processor time of the worker
    log: bytes  #: lines of the proof log, compressed
    worker: str  #: machine and process


def load_code(search_data: BoxSearchData, threads: int | None) -> None:
    """Load the compiled loops in a worker by solving the warm-up problem; ``search_data`` makes it fetch the search's data.

    ``threads`` is part of the executors' interface and is not used.
    """
    reduced = rotate_for_boxes(reduce_problem(warm_up_problem()))
    incumbent = trivial_incumbent(reduced)
    engine = BoxEngine(SharedState(reduced, incumbent, HardMarginSolver.of(reduced), Limits(_LOAD_TOL)))
    solve_subproblem(
        BoxSubproblem(
            engine.search_data, TaskArrays(engine.open_nodes.arrays()), incumbent.w, incumbent.value, _LOAD_TOL, 1.0, 1, False
        ),
        threads,
    )


def solve_subproblem(task: BoxSubproblem, threads: int | None) -> BoxSubproblemResult:
    """Search the nodes of a subproblem until its time is over, with one thread whatever ``threads`` says."""
    start, processor_start = time.perf_counter(), time.thread_time()
    search_data = task.search_data
    incumbent = Incumbent(task.w, task.value)
    shared = SharedState(
        search_data.reduced, incumbent, HardMarginSolver.of(search_data.reduced), Limits(task.tol, memory=_MEMORY_LIMIT)
    )
    log = BoxRecords() if task.logged else None
    nodes = OpenNodes.from_arrays(task.nodes.arrays)
    engine = BoxEngine(shared, 1, log, BoxSearchSnapshot(search_data, nodes, first_id=task.number * NUMBERS_PER_SUBPROBLEM))
    engine.slice_end = NUMBERS_PER_SUBPROBLEM - 200_000  # one step of the engine may exceed it
    end, outcome = start + task.seconds, Outcome.RUNNING
    while outcome is Outcome.RUNNING and (remaining := end - time.perf_counter()) > 0.0:
        outcome = engine.work(min(remaining, _INTERVAL))
    lines = b"" if log is None else zlib.compress(log.text().encode(), 1)
    return BoxSubproblemResult(
        engine.open_nodes, incumbent.w if incumbent.value < task.value else None, engine.unresolved,
        engine.counts(), engine.effort,
        time.perf_counter() - start, time.thread_time() - processor_start, lines, worker_name(),
    )  # fmt: skip


#: Nodes, or effort (counted work, about nanoseconds), of the local search after which nodes are dispatched even if no worker is
#: ready. Easy problems finish earlier, without waiting for workers that load compiled code.
DISPATCH_NODES, DISPATCH_EFFORT = 1500, 1e9
#: Nodes, or effort, after which the workers begin to load their code; shorter searches need no workers.
PRELOAD_NODES, PRELOAD_EFFORT = 50, 1e7
#: Number of local nodes between two looks for ready workers.
NODES_BETWEEN_CHECKS = 8


class DistributedBoxEngine(Engine):
    """Branch and bound over boxes by remote workers. The order of the nodes depends on timing, the bound's validity does not.

    Parameters
    ----------
    shared : SharedState
        Problem, incumbent, limits and bound of the run.
    first : BoxEngine
        The local search, from the root or from a checkpoint.
    executor : AsynchronousExecutor
        The workers.
    writer : BoxLogWriter, optional
        Writer of the proof log, which merges the parts of the workers.

    Attributes
    ----------
    search_data : BoxSearchData
        The data that all nodes share.
    """

    name: ClassVar[str] = "boxes"

    def __init__(
        self, shared: SharedState, first: BoxEngine, executor: AsynchronousExecutor, writer: BoxLogWriter | None
    ) -> None:
        super().__init__(shared)
        self._first, self._writer = first, writer
        self.search_data = first.search_data
        self._dispatcher = Dispatcher(executor, self, solve_subproblem)
        self._parts: list[tuple[float, int, OpenNodes, int]] = []  # a heap of (least bound, sequence number, nodes, bytes)
        self._sequence = itertools.count()
        self._distributed = False
        self._counts: Counter[str] = Counter()
        self._effort = 0.0
        self._unresolved_bound = float("inf")
        self._no_nodes = first.open_nodes.select(slice(0, 0))

    @property
    def nodes(self) -> int:
        """The number of nodes of this process and of finished subproblems."""
        return self._first.nodes + self._counts["nodes"]

    @property
    def effort(self) -> float:
        """The counted work of this process and of finished subproblems."""
        return self._first.effort + self._effort

    @property
    def open_count(self) -> int:
        """The number of nodes in the pool and in subproblems in progress."""
        if not self._distributed:
            return self._first.open_count
        return self.queue_length + sum(len(part) for part in self._dispatcher.in_progress.values())

    @property
    def queue_length(self) -> int:
        """The number of nodes in the pool."""
        return sum(len(part) for _, _, part, _ in self._parts)

    @property
    def open_nodes(self) -> OpenNodes:
        """All open nodes; those of subproblems in progress as they were dispatched."""
        if not self._distributed:
            return self._first.open_nodes
        parts = [*(part for _, _, part, _ in self._parts), *self._dispatcher.in_progress.values()]
        return OpenNodes.concatenate([self._no_nodes, *parts]).below(self._shared.cutoff)

    @property
    def snapshot(self) -> BoxSearchSnapshot:
        """The state from which another process continues the search."""
        first_id = (self._dispatcher.last_number + 1) * NUMBERS_PER_SUBPROBLEM if self._distributed else self._first.next_id
        return BoxSearchSnapshot(self.search_data, self.open_nodes, self.unresolved, first_id)

    @property
    def unresolved(self) -> float:
        """Least lower bound of the leaves that rounding left unresolved; ∞ without such leaves."""
        return min(self._unresolved_bound, self._first.unresolved)

    @property
    def own_bound(self) -> float:
        """The lower bound of this tree alone, in original units."""
        return min(self._shared.reduced.original_bound(self._bound()), self._shared.incumbent.value)

    def _bound(self) -> float:
        if not self._distributed:
            return self._first.bound
        bounds = [*(key for key, *_ in self._parts), *(part.least_bound for part in self._dispatcher.in_progress.values())]
        return min([self.unresolved, self._shared.cutoff, *bounds])

    def statistics(self) -> dict[str, float]:
        """Return the counts of all searches and those of the dispatcher by name."""
        counts = {name: value + self._counts[name] for name, value in self._first.counts().items()}
        points = counts.pop("points") / max(counts.pop("nodes"), 1)
        return {**counts, "points_per_node": points, **self._dispatcher.statistics()}

    @property
    def at_checkpoint(self) -> bool:
        """True if no local slice is in progress; true once distributed, since the order of results depends on the cluster."""
        return self._distributed or self._first.at_checkpoint

    def begin_slice(self) -> None:
        """Start a slice of the local search."""
        if not self._distributed:
            self._first.begin_slice()
            self._first.slice_end = min(self._first.slice_end, self._first.nodes + NODES_BETWEEN_CHECKS)

    def work(self, seconds: float) -> Outcome:
        """Search in this process or, once distributed, exchange subproblems and results for about ``seconds``."""
        if not self._distributed:
            outcome = self._first.work(seconds)
            if outcome is Outcome.RUNNING and self._first.at_checkpoint and self._ready_to_distribute():
                self._distribute()
            return outcome
        self.exchange(seconds)
        return self._conclude(self._bound(), self._outcome())

    def _outcome(self) -> Outcome:
        shared, limits = self._shared, self._shared.limits
        if self._writer is not None and self._writer.write_error is not None:
            return Outcome.UNWRITTEN
        if not self._parts and not self._dispatcher.in_progress:
            return Outcome.CONVERGED if self.unresolved >= shared.cutoff else Outcome.STALLED
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.MEMORY_LIMIT if self._bytes() > self._memory_limit else Outcome.RUNNING

    @property
    def _memory_limit(self) -> float:
        return self._shared.limits.memory_or(DEFAULT_MEMORY)

    def _bytes(self) -> int:
        return sum(memory for *_, memory in self._parts)

    def _ready_to_distribute(self) -> bool:
        """Call the workers if it is time, and return True once nodes should be dispatched."""
        nodes, effort = self._first.nodes, self._first.effort
        if nodes >= PRELOAD_NODES or effort >= PRELOAD_EFFORT:
            self._dispatcher.preload_workers(load_code, self.search_data)
            self._dispatcher.exchange(0.0)
        return self._dispatcher.has_ready_worker or nodes >= DISPATCH_NODES or effort >= DISPATCH_EFFORT

    def _distribute(self) -> None:
        self._distributed = True
        self._dispatcher.last_number = self._first.next_id // NUMBERS_PER_SUBPROBLEM
        self._push(self._first.open_nodes)

    def _push(self, nodes: OpenNodes, memory: int = 0) -> None:
        """Add nodes to the pool: views into ``memory`` bytes, copied if that is more than twice their own size."""
        if not len(nodes):
            return
        if memory > 2 * nodes.nbytes:
            nodes, memory = nodes.copy(), 0
        heapq.heappush(self._parts, (nodes.least_bound, next(self._sequence), nodes, max(memory, nodes.nbytes)))

    def exchange(self, seconds: float = 0.0) -> None:
        """Exchange subproblems and results for at most ``seconds``."""
        if self._distributed:
            self._dispatcher.exchange(seconds)

    def release(self) -> None:
        """Cancel the subproblems in progress; their nodes count as open."""
        self._dispatcher.release()

    def task(self, number: int, nodes: OpenNodes, seconds: float) -> BoxSubproblem:
        """Return the subproblem of these nodes as a message to a worker."""
        shared, logged = self._shared, self._writer is not None
        incumbent = shared.incumbent
        return BoxSubproblem(
            self.search_data, TaskArrays(nodes.arrays()), incumbent.w, incumbent.value, shared.limits.tol, seconds, number, logged
        )

    def take_nodes(self, count: int) -> OpenNodes:
        """Remove at most ``count`` nodes with the least bounds from the pool and return them.

        Where memory is short the nodes with the greatest bounds are taken, which is nearly depth-first.
        """
        parts: list[OpenNodes] = []
        if self._parts and self._bytes() > 0.5 * self._memory_limit:
            self._parts.sort()
            *_, part, memory = self._parts.pop()
            heapq.heapify(self._parts)
            self._push(part.select(slice(0, max(len(part) - count, 0))), memory)
            return part.select(slice(max(len(part) - count, 0), None))
        while self._parts and count > 0:
            *_, part, memory = heapq.heappop(self._parts)
            part = part.below(self._shared.cutoff)
            parts.append(part.select(slice(0, count)))
            self._push(part.select(slice(count, None)), memory)
            count -= len(parts[-1])
        return OpenNodes.concatenate(parts) if parts else self._no_nodes

    def check_result(self, outcome: BoxSubproblemResult) -> None:
        """Raise an error of malformed data unless the result is well formed, finite, and about the problem's points."""
        reduced = self.search_data.reduced
        outcome.nodes.check(*reduced.rows.shape)
        check_numbers(outcome.unresolved)
        check_point(outcome.w, reduced.problem.A.shape[1])
        check_counts(outcome.counts, COUNTER_NAMES)
        check_worker_fields(outcome.seconds, outcome.processor_seconds, outcome.effort, outcome.worker)
        unpack_log_lines(outcome.log)

    def add_result(self, number: int, outcome: BoxSubproblemResult) -> None:
        """Add a result: its open nodes, its classifier with a recomputed value, its counts, its lines of the log."""
        shared = self._shared
        if outcome.w is not None:
            shared.incumbent.offer(shared.reduced, outcome.w)
        self._unresolved_bound = min(self._unresolved_bound, outcome.unresolved)
        self._push(outcome.nodes.below(shared.cutoff), outcome.nodes.nbytes)
        self._counts.update(outcome.counts)
        self._effort += outcome.effort
        if self._writer is not None:
            self._writer.merge(unpack_log_lines(outcome.log))
