"""The distributed box search: this process keeps the pool of open nodes and dispatches subproblems to workers.

The search begins in this process while the workers load their code. When the first worker is ready, the open nodes become the
pool. Every worker receives a few nodes with the least bounds, the incumbent and a time limit, and returns the nodes that remain
open. These are divided anew, with better incumbents, so that idle workers soon take over work of busy ones; time limits are short
where the pool is nearly empty. A killed worker loses one subproblem, which another worker repeats. The pool, the subproblems in
progress and the incumbent are the whole state of the search, which a checkpoint saves.

*Subproblems of the box search.* A subproblem is a value, and its result depends on nothing else. So the subproblem of a lost
worker is given to another one, and only the first result counts.

*Checkpoints of the box search*, in this process alone or with workers: open nodes, incumbent and proved bound.
"""

from __future__ import annotations

import heapq
import itertools
import os
import platform
import time
import zlib
from collections import Counter
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ...models.arrays import FloatArray
from ...models.model import fingerprint
from ...models.views import ZeroOneProblem
from ..exact.checkpoint import Checkpoint, CheckpointContent
from ..exact.dispatcher import NODES, Dispatcher, check_counts, check_numbers, check_point, check_work, lines_of
from ..exact.log_file import LogPosition
from ..exact.options import Limits
from ..interface.algorithm import Outcome
from ..parallel.executor import AsynchronousExecutor
from ..parallel.serialisation import TaskArrays
from .box_engine import COUNTS, BoxEngine, ResumedBoxes, SearchData
from .box_log import BoxRecords, ProofWriter
from .engine import Engine, SharedState
from .incumbent import Incumbent, Polish, trivial_incumbent
from .open_nodes import MEMORY, OpenNodes
from .reduced import ReducedZeroOneProblem, for_boxes, reduce_problem, smallest_problem

#: Tolerance of the problem that loads the compiled kernels.
_LOAD_TOL = 1e-6
#: Bytes of a worker's open nodes beyond which it searches nearly depth-first, since it sends them all back.
_MEMORY_LIMIT = 1.5e8
#: Seconds between two estimates of the node rate, so that a subproblem ends in time.
_INTERVAL = 0.1


@dataclass(frozen=True, eq=False)
class Subproblem:
    """A subproblem for a worker."""

    ground: SearchData  #: equal for all subproblems: its large arrays are sent once
    nodes: TaskArrays  #: the arrays of the open nodes
    #: the incumbent and its value at the time of dispatch
    w: FloatArray
    value: float
    #: tolerance of the search; time limit of the subproblem
    tol: float
    seconds: float
    number: int  #: number of the subproblem, from 1; its nodes have numbers from ``number * NODES`` on
    logged: bool  #: whether the worker writes a part of the proof log


@dataclass(frozen=True, eq=False)
class SubproblemResult:
    """The result of a subproblem."""

    nodes: OpenNodes  #: open nodes with bounds below the worker's final cutoff
    w: FloatArray | None  #: a better incumbent, if there is one
    unresolved: float  #: least lower bound of the leaves that rounding left unresolved
    counts: dict[str, int]  #: numbers of nodes, relaxations, Newton steps and points
    #: counted work; wall time and processor time of the worker
    effort: float
    seconds: float
    busy_seconds: float
    log: bytes  #: lines of the proof log, compressed
    worker: str  #: machine and process


def load(ground: SearchData, threads: int | None) -> None:
    """Load the compiled kernels by a subproblem of the warm-up instance; receiving ``ground`` has fetched the data."""
    reduced = for_boxes(reduce_problem(smallest_problem()))
    incumbent = trivial_incumbent(reduced)
    engine = BoxEngine(SharedState(reduced, incumbent, Polish.of(reduced), Limits(_LOAD_TOL)))
    search(
        Subproblem(engine.ground, TaskArrays(engine.open.arrays()), incumbent.w, incumbent.value, _LOAD_TOL, 1.0, 1, False),
        threads,
    )


def search(task: Subproblem, threads: int | None) -> SubproblemResult:
    """Solve a subproblem with one thread."""
    start, processor_start = time.perf_counter(), time.thread_time()
    ground = task.ground
    incumbent = Incumbent(task.w, task.value)
    shared = SharedState(ground.reduced, incumbent, Polish.of(ground.reduced), Limits(task.tol, memory=_MEMORY_LIMIT))
    log = BoxRecords() if task.logged else None
    nodes = OpenNodes.of_arrays(task.nodes.arrays)
    engine = BoxEngine(shared, 1, log, ResumedBoxes(ground, nodes, first_id=task.number * NODES))
    engine.pause = NODES - 200_000  # one step of the engine may exceed it
    end, outcome = start + task.seconds, Outcome.RUNNING
    while outcome is Outcome.RUNNING and (remaining := end - time.perf_counter()) > 0.0:
        outcome = engine.work(min(remaining, _INTERVAL))
    lines = b"" if log is None else zlib.compress(log.text().encode(), 1)
    return SubproblemResult(
        engine.open,
        incumbent.w if incumbent.value < task.value else None,
        engine.unresolved,
        engine.counts(),
        engine.effort,
        time.perf_counter() - start,
        time.thread_time() - processor_start,
        lines,
        f"{platform.node()}:{os.getpid()}",
    )


#: Nodes, or effort (about nanoseconds), of the local search after which nodes are dispatched even if no worker is ready. An easy
#: problem finishes before, without waiting for workers that load compiled code.
HEAD, EFFORT = 1500, 1e9
#: Nodes, or effort, after which the workers begin to load their code; shorter searches need no workers.
CALL, CALL_EFFORT = 50, 1e7
#: Number of local nodes between two checks for ready workers.
FEW = 8


class SubtreeEngine(Engine):
    """Branch and bound over boxes by a team of workers. The order of the nodes depends on timing, the proved bound does not.

    Parameters
    ----------
    shared : SharedState
    first : BoxEngine
        The local search, from the root or from a checkpoint.
    executor : AsynchronousExecutor
    writer : ProofWriter, optional
        Writer of the proof log, which merges the parts of the workers.
    """

    name: ClassVar[str] = "boxes"

    def __init__(self, shared: SharedState, first: BoxEngine, executor: AsynchronousExecutor, writer: ProofWriter | None) -> None:
        super().__init__(shared)
        self._first, self._writer = first, writer
        self.ground = first.ground
        self._dispatcher = Dispatcher(executor, self, search)
        self._parts: list[tuple[float, int, OpenNodes, int]] = []  # a heap of (least bound, sequence number, nodes, bytes)
        self._sequence = itertools.count()
        self._distributed = False
        self._counts: Counter[str] = Counter()
        self._effort = 0.0
        self._unresolved_bound = float("inf")
        self._no_nodes = first.open.chosen(slice(0, 0))

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Number of nodes of this process and of finished subproblems."""
        return self._first.nodes + self._counts["nodes"]

    @property
    def effort(self) -> float:
        """Counted work of this process and of finished subproblems."""
        return self._first.effort + self._effort

    @property
    def open_nodes(self) -> int:
        """Number of nodes in the pool and in subproblems."""
        if not self._distributed:
            return self._first.open_nodes
        return self.waiting + sum(len(part) for part in self._dispatcher.flying.values())

    @property
    def waiting(self) -> int:
        """Number of nodes in the pool."""
        return sum(len(part) for _, _, part, _ in self._parts)

    @property
    def open(self) -> OpenNodes:
        """All open nodes, including those of subproblems in progress as dispatched."""
        if not self._distributed:
            return self._first.open
        parts = [*(part for _, _, part, _ in self._parts), *self._dispatcher.flying.values()]
        return OpenNodes.joined([self._no_nodes, *parts]).below(self._shared.cut)

    @property
    def resumed(self) -> ResumedBoxes:
        """The state from which another process continues. Its node numbers follow those of all subproblems."""
        first_id = (self._dispatcher.number + 1) * NODES if self._distributed else self._first.next_id
        return ResumedBoxes(self.ground, self.open, self.unresolved, first_id)

    @property
    def unresolved(self) -> float:
        """Least lower bound of the leaves that rounding left unresolved; ∞ without such leaves."""
        return min(self._unresolved_bound, self._first.unresolved)

    @property
    def own_bound(self) -> float:
        """The lower bound of this tree alone, in original units."""
        return min(self._shared.reduced.proved(self._bound()), self._shared.incumbent.value)

    def _bound(self) -> float:
        if not self._distributed:
            return self._first.bound
        bounds = [*(key for key, *_ in self._parts), *(part.least for part in self._dispatcher.flying.values())]
        return min([self.unresolved, self._shared.cut, *bounds])

    def figures(self) -> dict[str, float]:
        """Return the counts of all searches and of the dispatcher."""
        counts = {name: value + self._counts[name] for name, value in self._first.counts().items()}
        points = counts.pop("points") / max(counts.pop("nodes"), 1)
        return {**counts, "points_per_node": points, **self._dispatcher.figures()}

    # -- control ------------------------------------------------------------------------------------------------

    @property
    def at_checkpoint(self) -> bool:
        """True if no local slice is in progress. Once distributed, the search has no slices: its order depends on the cluster."""
        return self._distributed or self._first.at_checkpoint

    def begin_stretch(self) -> None:
        """Start a slice of the local search."""
        if not self._distributed:
            self._first.begin_stretch()
            self._first.pause = min(self._first.pause, self._first.nodes + FEW)

    def work(self, seconds: float) -> Outcome:
        """Search locally; once distributed, exchange subproblems and results for about ``seconds``."""
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
        if not self._parts and not self._dispatcher.flying:
            return Outcome.CONVERGED if self.unresolved >= shared.cut else Outcome.STALLED
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return Outcome.NODE_LIMIT
        return Outcome.MEMORY_LIMIT if self._bytes() > self._memory_limit else Outcome.RUNNING

    @property
    def _memory_limit(self) -> float:
        return self._shared.limits.memory_or(MEMORY)

    def _bytes(self) -> int:
        return sum(memory for *_, memory in self._parts)

    def _ready_to_distribute(self) -> bool:
        """Call the workers if it is time, and return True once nodes should be dispatched."""
        nodes, effort = self._first.nodes, self._first.effort
        if nodes >= CALL or effort >= CALL_EFFORT:
            self._dispatcher.start_workers(load, self.ground)
            self._dispatcher.exchange(0.0)
        return self._dispatcher.awake or nodes >= HEAD or effort >= EFFORT

    def _distribute(self) -> None:
        self._distributed = True
        self._dispatcher.number = self._first.next_id // NODES
        self._push(self._first.open)

    def _push(self, nodes: OpenNodes, memory: int = 0) -> None:
        """Add nodes to the pool: views into ``memory`` bytes, copied if that is more than twice their own size."""
        if not len(nodes):
            return
        if memory > 2 * nodes.nbytes:
            nodes, memory = nodes.copied_nodes(), 0
        heapq.heappush(self._parts, (nodes.least, next(self._sequence), nodes, max(memory, nodes.nbytes)))

    def exchange(self, seconds: float = 0.0) -> None:
        """Exchange subproblems and results."""
        if self._distributed:
            self._dispatcher.exchange(seconds)

    def release(self) -> None:
        """Release the cluster; subproblems in progress count as open nodes."""
        self._dispatcher.release()

    # -- the dispatcher's pool ----------------------------------------------------------------------------------

    def task(self, number: int, nodes: OpenNodes, seconds: float) -> Subproblem:
        """Return the subproblem of these nodes, with the current incumbent."""
        shared, logged = self._shared, self._writer is not None
        incumbent = shared.incumbent
        return Subproblem(
            self.ground, TaskArrays(nodes.arrays()), incumbent.w, incumbent.value, shared.limits.tol, seconds, number, logged
        )

    def take_nodes(self, count: int) -> OpenNodes:
        """Remove ``count`` nodes with the least bounds from the pool and return them.

        Where memory is short the nodes with the greatest bounds are taken, which is nearly depth-first.
        """
        parts: list[OpenNodes] = []
        if self._parts and self._bytes() > 0.5 * self._memory_limit:
            self._parts.sort()
            *_, part, memory = self._parts.pop()
            heapq.heapify(self._parts)
            self._push(part.chosen(slice(0, max(len(part) - count, 0))), memory)
            return part.chosen(slice(max(len(part) - count, 0), None))
        while self._parts and count > 0:
            *_, part, memory = heapq.heappop(self._parts)
            part = part.below(self._shared.cut)
            parts.append(part.chosen(slice(0, count)))
            self._push(part.chosen(slice(count, None)), memory)
            count -= len(parts[-1])
        return OpenNodes.joined(parts) if parts else self._no_nodes

    def check(self, outcome: SubproblemResult) -> None:
        """Raise an error of malformed data unless the result is well formed, finite, and about the problem's points."""
        reduced = self.ground.reduced
        outcome.nodes.check(*reduced.rows.shape)
        check_numbers(outcome.unresolved)
        check_point(outcome.w, reduced.problem.A.shape[1])
        check_counts(outcome.counts, COUNTS)
        check_work(outcome.seconds, outcome.busy_seconds, outcome.effort, outcome.worker)
        lines_of(outcome.log)

    def add_result(self, number: int, outcome: SubproblemResult) -> None:
        """Add a result: its open nodes, its incumbent with a recomputed value, its counts, its part of the proof."""
        shared = self._shared
        if outcome.w is not None:
            shared.incumbent.offer(shared.reduced, outcome.w)
        self._unresolved_bound = min(self._unresolved_bound, outcome.unresolved)
        self._push(outcome.nodes.below(shared.cut), outcome.nodes.nbytes)
        self._counts.update(outcome.counts)
        self._effort += outcome.effort
        if self._writer is not None:
            self._writer.merge(lines_of(outcome.log))


_ARRAY_FIELDS = ("rows", "weights", "T", "member", "residual")


@dataclass(frozen=True, eq=False)
class StoppedSearch:
    """An interrupted search: its state, incumbent, lower bound, number of nodes, and the mark of its proof log."""

    resumed: ResumedBoxes
    w: FloatArray
    lower_bound: float
    nodes: int
    log: LogPosition | None = None


class ZeroOneCheckpoint(Checkpoint[StoppedSearch]):
    """The checkpoint file of a box search."""

    solver = "zero-one-bb"
    numbers = ("layout", "tol", "upper", "floor", "nodes", "unit", "constant", "shrink", "free", "unresolved")

    def __init__(self, path: str | os.PathLike[str], problem: ZeroOneProblem, tol: float) -> None:
        super().__init__(path, fingerprint((problem.A, problem.weights, problem.penalised)), tol)
        self._problem = problem

    @staticmethod
    def content(shared: SharedState, resumed: ResumedBoxes, count: int, log: LogPosition | None = None) -> CheckpointContent:
        """Return the content of the file of a search, with the position of its log."""
        reduced = resumed.ground.reduced
        numbers = {
            "upper": resumed.ground.upper, "floor": shared.lower_bound, "nodes": count, "unit": reduced.unit,
            "constant": reduced.constant, "shrink": reduced.shrink, "free": reduced.free, "unresolved": resumed.unresolved,
        }  # fmt: skip
        arrays: dict[str, Any] = {name: getattr(reduced, name) for name in _ARRAY_FIELDS} | {"w": shared.incumbent.w}
        arrays |= {f"open_{name}": array for name, array in resumed.nodes.arrays().items()}
        return CheckpointContent(numbers, arrays, log, resumed.first_id)

    def parse(self, saved: CheckpointContent) -> StoppedSearch:
        """Return the search of a file's content."""
        arrays, numbers = saved.arrays, saved.numbers
        reduced = ReducedZeroOneProblem(
            **{name: np.array(arrays[name]) for name in _ARRAY_FIELDS},
            unit=numbers["unit"],
            constant=numbers["constant"],
            shrink=numbers["shrink"],
            free=bool(numbers["free"]),
            problem=self._problem,
        )
        nodes = OpenNodes.of_arrays({f.name: arrays[f"open_{f.name}"] for f in fields(OpenNodes)})
        nodes.check(*reduced.rows.shape)
        resumed = ResumedBoxes(SearchData.of(reduced, numbers["upper"]), nodes, numbers["unresolved"], saved.next_id)
        w = np.array(arrays["w"], dtype=np.float64)
        return StoppedSearch(resumed, w, numbers["floor"], int(numbers["nodes"]), saved.log)
