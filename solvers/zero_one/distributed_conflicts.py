"""The conflict search of `zero-one-bb` with remote workers: each pass begins here, and its open nodes become subproblems.

The problem is min Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}. The tree search branches on norm-conflicts: sets of points of which
no w below the cutoff keeps all, a_i'w ≥ 1. It runs in *passes*, each of which proves a rising *target* as a lower bound.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...models.arrays import FloatArray
from ..exact.dispatcher import Dispatcher, check_counts, check_numbers, check_point, check_worker_fields, worker_name
from ..exact.options import Limits
from ..interface.algorithm import Outcome
from ..parallel.executor import AsynchronousExecutor
from .conflict_engine import COUNTERS, ConflictNode, ConflictSearchData, PassTargets, offer_candidate
from .conflict_log import check_point_states
from .engine import Engine, SharedState
from .incumbent import HardMarginSolver, Incumbent
from .loops.conflict_search import CANDIDATE


@dataclass(frozen=True, eq=False)
class ConflictSubproblem:
    """A task for a worker: search some open nodes of a pass for a limited time."""

    search_data: ConflictSearchData  #: data of the search, equal for all subproblems
    nodes: list[ConflictNode]  #: the open nodes
    w: FloatArray  #: the incumbent at the time of dispatch
    value: float  #: the incumbent's objective
    target: float  #: target of the pass, in reduced units
    tol: float  #: tolerance of the search
    seconds: float  #: time limit


@dataclass(frozen=True, eq=False)
class ConflictSubproblemResult:
    """The result of a `ConflictSubproblem`."""

    nodes: list[ConflictNode]  #: open nodes with bounds below the worker's final cutoff
    w: FloatArray | None  #: a better classifier than the task's incumbent
    unresolved: float  #: least lower bound of the leaves that rounding left unresolved
    counts: dict[str, int]  #: counters by the names of `COUNTERS`
    effort: float  #: counted work, about nanoseconds
    seconds: float  #: wall time of the worker
    processor_seconds: float  #: processor time of the worker
    worker: str  #: machine and process


def solve_subproblem(task: ConflictSubproblem, threads: int | None) -> ConflictSubproblemResult:
    """Search the nodes of a subproblem until its time is over: one node after the other, each depth-first.

    One thread searches, whatever ``threads`` says.
    """
    start, processor_start = time.perf_counter(), time.thread_time()
    search_data = task.search_data
    incumbent = Incumbent(task.w, task.value)
    shared = SharedState(search_data.reduced, incumbent, HardMarginSolver.of(search_data.reduced), Limits(task.tol))
    dive, pending, end = search_data.new_depth_first_search(), task.nodes[::-1], start + task.seconds
    while (pending or dive.running) and time.perf_counter() < end:
        cutoff = min(shared.cutoff, task.target)
        if not dive.running:
            bound, extra, state = pending.pop()
            if bound >= cutoff:
                continue
            dive.start_search(np.frombuffer(state, dtype=np.int8), extra, bound, shared.upper)
        if dive.run(cutoff, dive.nodes_per_round) == CANDIDATE:
            offer_candidate(shared, dive)
    open_nodes = [*dive.take_open_nodes(), *pending]
    cutoff = min(shared.cutoff, task.target)
    return ConflictSubproblemResult(
        [node for node in open_nodes if node[0] < cutoff], incumbent.w if incumbent.value < task.value else None,
        float(dive.stack.unresolved[0]), dive.counts(), dive.effort,
        time.perf_counter() - start, time.thread_time() - processor_start, worker_name(),
    )  # fmt: skip


#: Effort, about nanoseconds, of a pass in this process before its nodes are dispatched, so that short passes stay local.
DISPATCH_EFFORT = 1e8


class DistributedConflictEngine(Engine):
    """Branch and bound on norm-conflicts by remote workers; `ConflictEngine` explains the passes.

    At any time every solution below the cutoff of the pass lies in a node of the pool, of the local search, or of a subproblem in
    progress (as dispatched). So the least of their bounds is a lower bound.

    Parameters
    ----------
    shared : SharedState
        Problem, incumbent, limits and bound of the run.
    branching_priority : ndarray (m,)
        Branching priorities of the reduced points: their hinge violations.
    executor : AsynchronousExecutor
        The workers.

    Attributes
    ----------
    search_data : ConflictSearchData
        The data that all nodes share.
    """

    name: ClassVar[str] = "conflicts"

    def __init__(self, shared: SharedState, branching_priority: FloatArray, executor: AsynchronousExecutor) -> None:
        super().__init__(shared)
        self.search_data = ConflictSearchData.of(shared.reduced, shared.upper, branching_priority)
        self._dive = self.search_data.new_depth_first_search()
        self._dispatcher = Dispatcher(executor, self, solve_subproblem)
        self._heap: list[tuple[float, int, ConflictNode]] = []
        self._sequence = itertools.count()
        self._counts: Counter[str] = Counter()
        self._effort = 0.0
        self._unresolved_bound = math.inf
        self._passes = PassTargets(shared.cutoff)
        self._start_pass()

    def _start_pass(self) -> None:
        self._dive.start_search(self.search_data.root(), 0.0, 0.0, self._shared.upper)
        self._dive.stack.unresolved[0] = self._unresolved_bound = math.inf
        self._dispatch_effort = self._dive.effort + DISPATCH_EFFORT

    @property
    def nodes(self) -> int:
        """The number of nodes of this process and of finished subproblems."""
        return self._dive.nodes + self._counts["nodes"]

    @property
    def effort(self) -> float:
        """The counted work of this process and of finished subproblems."""
        return self._dive.effort + self._effort

    @property
    def open_count(self) -> int:
        """The number of nodes in the pool and in subproblems, plus one for a local search in progress."""
        return self.queue_length + sum(len(nodes) for nodes in self._dispatcher.in_progress.values()) + int(self._dive.running)

    @property
    def queue_length(self) -> int:
        """The number of nodes in the pool."""
        return len(self._heap)

    @property
    def _cutoff(self) -> float:
        return min(self._shared.cutoff, self._passes.target)

    def _least_unresolved_bound(self) -> float:
        return min(self._unresolved_bound, float(self._dive.stack.unresolved[0]))

    def _bound(self) -> float:
        dispatched = [node[0] for nodes in self._dispatcher.in_progress.values() for node in nodes]
        return min(
            [self._least_unresolved_bound(), self._cutoff, self._dive.bound(), *dispatched, *(node[0] for node in self._heap[:1])]
        )

    def statistics(self) -> dict[str, float]:
        """Return the counts of all searches and those of the dispatcher by name."""
        counts = {name: value + self._counts[name] for name, value in self._dive.counts().items() if name != "nodes"}
        return {**counts, **self._dispatcher.statistics()}

    @property
    def at_checkpoint(self) -> bool:
        """True: there are no slices, since the order of results depends on the cluster."""
        return True

    def begin_slice(self) -> None:
        """Do nothing: a distributed search has no slices."""

    def work(self, seconds: float) -> Outcome:
        """Search in this process at the start of a pass, later exchange subproblems and results for about ``seconds``."""
        outcome = Outcome.RUNNING
        if self._dive.running:
            self._search_locally()
        elif self._heap or self._dispatcher.in_progress:
            self._dispatcher.exchange(seconds)
        else:
            outcome = self._finish_pass()
        limit = self._shared.limits.nodes
        if outcome is Outcome.RUNNING and limit is not None and self.nodes >= limit:
            outcome = Outcome.NODE_LIMIT
        return self._conclude(self._bound(), outcome)

    def _search_locally(self) -> None:
        if self._dive.run(self._cutoff, self._dive.nodes_per_round) == CANDIDATE:
            offer_candidate(self._shared, self._dive)
        if self._dive.effort >= self._dispatch_effort:
            for node in self._dive.take_open_nodes():
                self._push(node)

    def _push(self, node: ConflictNode) -> None:
        if node[0] < self._cutoff:
            heapq.heappush(self._heap, (node[0], next(self._sequence), node))

    def _finish_pass(self) -> Outcome:
        """Start the next pass, or conclude after the last one."""
        cutoff, unresolved_bound = self._shared.cutoff, self._least_unresolved_bound()
        if self._cutoff >= cutoff:
            return Outcome.CONVERGED if unresolved_bound >= cutoff else Outcome.STALLED
        self._improve_bound(self._bound())
        self._passes.advance(self.nodes, cutoff, unresolved_bound >= self._passes.target)
        self._start_pass()
        return Outcome.RUNNING

    def exchange(self) -> None:
        """Exchange subproblems and results, without waiting."""
        if not self._dive.running:
            self._dispatcher.exchange(0.0)

    def release(self) -> None:
        """Cancel the subproblems in progress; their nodes count as open."""
        self._dispatcher.release()

    def take_nodes(self, limit: int) -> list[ConflictNode]:
        """Remove at most ``limit`` nodes with the least bounds from the pool and return them."""
        nodes: list[ConflictNode] = []
        while self._heap and len(nodes) < limit:
            node = heapq.heappop(self._heap)[2]
            if node[0] < self._cutoff:
                nodes.append(node)
        return nodes

    def task(self, number: int, nodes: list[ConflictNode], seconds: float) -> ConflictSubproblem:
        """Return the subproblem of these nodes as a message to a worker."""
        shared = self._shared
        incumbent = shared.incumbent
        return ConflictSubproblem(
            self.search_data, nodes, incumbent.w, incumbent.value, self._passes.target, shared.limits.tol, seconds
        )

    def check_result(self, outcome: ConflictSubproblemResult) -> None:
        """Raise an error of malformed data unless the result is well formed, finite, and about the problem's points."""
        for bound, extra, state in outcome.nodes:
            check_numbers(bound, extra)
            check_point_states(np.frombuffer(state, dtype=np.int8), len(self.search_data.weights))
        check_numbers(outcome.unresolved)
        check_point(outcome.w, self.search_data.reduced.problem.A.shape[1])
        check_counts(outcome.counts, COUNTERS)
        check_worker_fields(outcome.seconds, outcome.processor_seconds, outcome.effort, outcome.worker)

    def add_result(self, number: int, outcome: ConflictSubproblemResult) -> None:
        """Add a result: its open nodes, its classifier with a recomputed value, its counts."""
        shared = self._shared
        if outcome.w is not None:
            shared.incumbent.offer(shared.reduced, outcome.w)
        self._unresolved_bound = min(self._unresolved_bound, outcome.unresolved)
        for node in outcome.nodes:
            self._push(node)
        self._counts.update(outcome.counts)
        self._effort += outcome.effort
