"""The distributed conflict search: each pass begins in this process, and its open nodes go to workers as subproblems."""

from __future__ import annotations

import heapq
import itertools
import math
import os
import platform
import time
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...models.arrays import FloatArray
from ..exact.dispatcher import Dispatcher, check_counts, check_numbers, check_point, check_state, check_work
from ..exact.options import Limits
from ..interface.algorithm import Outcome
from ..parallel.executor import AsynchronousExecutor
from .conflict_engine import COUNTERS, ConflictNode, ConflictSearchData, Passes, offer_kept
from .engine import Engine, SharedState
from .incumbent import Incumbent, Polish
from .loops.conflict_search import CANDIDATE

# Subproblems of the conflict search: open nodes of a pass, searched for a limited time in any process, and the result.


@dataclass(frozen=True, eq=False)
class ConflictSubproblem:
    """A subproblem for a worker: open nodes, the incumbent, the target of the pass in reduced units, tolerance and time limit."""

    ground: ConflictSearchData
    nodes: list[ConflictNode]
    w: FloatArray
    value: float
    target: float
    tol: float
    seconds: float


@dataclass(frozen=True, eq=False)
class ConflictSubproblemResult:
    """The result of a subproblem: open nodes below the cutoff, a better incumbent, least bound of unresolved leaves, counts."""

    nodes: list[ConflictNode]
    w: FloatArray | None
    unresolved: float
    counts: dict[str, int]
    effort: float
    seconds: float
    busy_seconds: float
    worker: str


def search_conflicts(task: ConflictSubproblem, threads: int | None) -> ConflictSubproblemResult:
    """Solve a subproblem with one thread: one node after the other, each depth-first."""
    start, processor_start = time.perf_counter(), time.thread_time()
    ground = task.ground
    incumbent = Incumbent(task.w, task.value)
    shared = SharedState(ground.reduced, incumbent, Polish.of(ground.reduced), Limits(task.tol))
    dive, pending, end = ground.dive(), task.nodes[::-1], start + task.seconds
    while (pending or dive.running) and time.perf_counter() < end:
        cutoff = min(shared.cut, task.target)
        if not dive.running:
            bound, extra, state = pending.pop()
            if bound >= cutoff:
                continue
            dive.start_search(np.frombuffer(state, dtype=np.int8), extra, bound, shared.upper)
        if dive.run(cutoff, dive.nodes_per_round) == CANDIDATE:
            offer_kept(shared, dive)
    open_nodes = [*dive.frontier(), *pending]
    cutoff = min(shared.cut, task.target)
    return ConflictSubproblemResult(
        [node for node in open_nodes if node[0] < cutoff],
        incumbent.w if incumbent.value < task.value else None,
        float(dive.stack.unresolved[0]),
        dive.counts(),
        dive.effort,
        time.perf_counter() - start,
        time.thread_time() - processor_start,
        f"{platform.node()}:{os.getpid()}",
    )


#: Effort (about nanoseconds) of a pass in this process before its nodes are dispatched, so that short passes stay local.
HEAD = 1e8


class ConflictTeamEngine(Engine):
    """Branch and bound on norm-conflicts by a team of workers; `ConflictEngine` explains the passes.

    At any time every solution below the cutoff of the pass lies in a node of the pool, of the local search, or of a subproblem in
    progress (as dispatched). So the least of their bounds is a lower bound.

    Parameters
    ----------
    shared : SharedState
    order : ndarray (m,)
        Hinge violation of every point: points with the largest violation are deleted first.
    executor : AsynchronousExecutor
    """

    name: ClassVar[str] = "conflicts"

    def __init__(self, shared: SharedState, order: FloatArray, executor: AsynchronousExecutor) -> None:
        super().__init__(shared)
        self.ground = ConflictSearchData.of(shared.reduced, shared.upper, order)
        self._dive = self.ground.dive()
        self._dispatcher = Dispatcher(executor, self, search_conflicts)
        self._heap: list[tuple[float, int, ConflictNode]] = []
        self._sequence = itertools.count()
        self._counts: Counter[str] = Counter()
        self._effort = 0.0
        self._unresolved_bound = math.inf
        self._passes = Passes(shared.cut)
        self._start_pass()

    def _start_pass(self) -> None:
        self._dive.start_search(self.ground.root(), 0.0, 0.0, self._shared.upper)
        self._dive.stack.unresolved[0] = self._unresolved_bound = math.inf
        self._dispatch_effort = self._dive.effort + HEAD

    # -- state --------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Number of nodes of this process and of finished subproblems."""
        return self._dive.nodes + self._counts["nodes"]

    @property
    def effort(self) -> float:
        """Counted work of this process and of finished subproblems."""
        return self._dive.effort + self._effort

    @property
    def open_nodes(self) -> int:
        """Number of nodes in the pool and in subproblems, plus one for a local search in progress."""
        return self.waiting + sum(len(nodes) for nodes in self._dispatcher.flying.values()) + int(self._dive.running)

    @property
    def waiting(self) -> int:
        """Number of nodes in the pool."""
        return len(self._heap)

    @property
    def _cutoff(self) -> float:
        return min(self._shared.cut, self._passes.target)

    def _least_unresolved_bound(self) -> float:
        return min(self._unresolved_bound, float(self._dive.stack.unresolved[0]))

    def _bound(self) -> float:
        dispatched = [node[0] for nodes in self._dispatcher.flying.values() for node in nodes]
        return min(
            [self._least_unresolved_bound(), self._cutoff, self._dive.bound(), *dispatched, *(node[0] for node in self._heap[:1])]
        )

    def figures(self) -> dict[str, float]:
        """Return the counts of all searches and of the dispatcher."""
        counts = {name: value + self._counts[name] for name, value in self._dive.counts().items() if name != "nodes"}
        return {**counts, **self._dispatcher.figures()}

    # -- control ------------------------------------------------------------------------------------------------

    @property
    def at_checkpoint(self) -> bool:
        """Always true: there are no slices, since the order of the results depends on the cluster."""
        return True

    def begin_stretch(self) -> None:
        """Do nothing: a distributed search has no slices."""

    def work(self, seconds: float) -> Outcome:
        """Start a pass in this process, or exchange subproblems and results for about ``seconds``."""
        outcome = Outcome.RUNNING
        if self._dive.running:
            self._search_locally()
        elif self._heap or self._dispatcher.flying:
            self._dispatcher.exchange(seconds)
        else:
            outcome = self._finish_pass()
        limit = self._shared.limits.nodes
        if outcome is Outcome.RUNNING and limit is not None and self.nodes >= limit:
            outcome = Outcome.NODE_LIMIT
        return self._conclude(self._bound(), outcome)

    def _search_locally(self) -> None:
        if self._dive.run(self._cutoff, self._dive.nodes_per_round) == CANDIDATE:
            offer_kept(self._shared, self._dive)
        if self._dive.effort >= self._dispatch_effort:
            for node in self._dive.frontier():
                self._push(node)

    def _push(self, node: ConflictNode) -> None:
        if node[0] < self._cutoff:
            heapq.heappush(self._heap, (node[0], next(self._sequence), node))

    def _finish_pass(self) -> Outcome:
        """Start the next pass, or conclude after the last one."""
        cutoff, unresolved_bound = self._shared.cut, self._least_unresolved_bound()
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
        """Release the cluster."""
        self._dispatcher.release()

    # -- the dispatcher's pool ----------------------------------------------------------------------------------

    def take_nodes(self, limit: int) -> list[ConflictNode]:
        """Remove at most ``limit`` nodes with the least bounds from the pool and return them."""
        nodes: list[ConflictNode] = []
        while self._heap and len(nodes) < limit:
            node = heapq.heappop(self._heap)[2]
            if node[0] < self._cutoff:
                nodes.append(node)
        return nodes

    def task(self, number: int, nodes: list[ConflictNode], seconds: float) -> ConflictSubproblem:
        """Return the subproblem of these nodes, with the current incumbent."""
        shared = self._shared
        incumbent = shared.incumbent
        return ConflictSubproblem(
            self.ground, nodes, incumbent.w, incumbent.value, self._passes.target, shared.limits.tol, seconds
        )

    def check(self, outcome: ConflictSubproblemResult) -> None:
        """Raise an error of malformed data unless the result is well formed, finite, and about the problem's points."""
        for bound, extra, state in outcome.nodes:
            check_numbers(bound, extra)
            check_state(np.frombuffer(state, dtype=np.int8), len(self.ground.weights))
        check_numbers(outcome.unresolved)
        check_point(outcome.w, self.ground.reduced.problem.A.shape[1])
        check_counts(outcome.counts, COUNTERS)
        check_work(outcome.seconds, outcome.busy_seconds, outcome.effort, outcome.worker)

    def add_result(self, number: int, outcome: ConflictSubproblemResult) -> None:
        """Add a result: its open nodes, its incumbent with a recomputed value, its counts."""
        shared = self._shared
        if outcome.w is not None:
            shared.incumbent.offer(shared.reduced, outcome.w)
        self._unresolved_bound = min(self._unresolved_bound, outcome.unresolved)
        for node in outcome.nodes:
            self._push(node)
        self._counts.update(outcome.counts)
        self._effort += outcome.effort
