"""Subproblems of the conflict search: open nodes of a pass, searched for a limited time in any process, and the result."""

from __future__ import annotations

import math
import os
import platform
import time
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ....models.arrays import FloatArray
from ..engines.dive import Dive, offer_kept
from ..engines.engine import Limits, SharedState
from ..incumbent import Incumbent, Polish, penalised_rows, stretched_rows
from ..loops import conflicts as k
from ..reduced import ReducedZeroOneProblem
from .reply_checks import check_counts, check_numbers, check_point, check_state, check_work

__all__ = ["ConflictNode", "ConflictSearchData", "ConflictSubproblem", "ConflictSubproblemResult", "search_conflicts"]

#: An open node: lower bound, proved cost of further deletions, states of the points.
ConflictNode: TypeAlias = tuple[float, float, bytes]
#: Work between two readings of the clock, in nodes × points × coordinates.
_WORK_PER_CHECK = 1_250_000
#: Names of the counters and of their fields in `kernels.conflicts.NOW`.
_COUNTER_FIELDS = {"nodes": "nodes", "hard_margin_solves": "solves", "conflicts": "conflicts", "forced_deletions": "forced"}


@dataclass(frozen=True, eq=False)
class ConflictSearchData:
    """The problem data of one conflict search, in every process: rows that are valid for solutions better than ``upper``."""

    reduced: ReducedZeroOneProblem
    upper: float
    rows: Any
    exact: Any
    weights: FloatArray
    order: FloatArray

    @classmethod
    def of(cls, reduced: ReducedZeroOneProblem, upper: float, order: FloatArray) -> ConflictSearchData:
        """Return the data of a search that begins with an incumbent of value ``upper``, in reduced units."""
        tau = reduced.thresholds(upper)
        rows, exact = stretched_rows(reduced, tau, upper), penalised_rows(reduced, tau)
        return cls(reduced, upper, rows, exact, np.minimum(reduced.weights, upper), np.ascontiguousarray(order))

    def dive(self) -> Dive:
        """Return a depth-first search with its arrays."""
        return Dive(self.rows, self.exact, self.weights, self.order)

    @property
    def few(self) -> int:
        """Number of nodes between two readings of the clock."""
        return max(min(100, _WORK_PER_CHECK // max(self.rows.a.size, 1)), 1)


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
    busy: float
    who: str

    def check(self, ground: ConflictSearchData) -> None:
        """Raise an error of `subtrees.outcomes` unless the result is well formed, finite, and about the points of ``ground``."""
        for bound, extra, state in self.nodes:
            check_numbers(bound, extra)
            check_state(np.frombuffer(state, dtype=np.int8), len(ground.weights))
        check_numbers(self.unresolved)
        check_point(self.w, ground.reduced.problem.A.shape[1])
        check_counts(self.counts, _COUNTER_FIELDS)
        check_work(self.seconds, self.busy, self.effort, self.who)


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
            dive.plant(np.frombuffer(state, dtype=np.int8), extra, bound, shared.upper)
        if dive.run(cutoff, ground.few) == k.CANDIDATE:
            offer_kept(shared, dive)
    open_nodes = [*frontier(dive), *pending]
    cutoff = min(shared.cut, task.target)
    return ConflictSubproblemResult(
        [node for node in open_nodes if node[0] < cutoff],
        incumbent.w if incumbent.value < task.value else None,
        float(dive.stack.unresolved[0]),
        counted(dive),
        dive.effort,
        time.perf_counter() - start,
        time.thread_time() - processor_start,
        f"{platform.node()}:{os.getpid()}",
    )


def frontier(dive: Dive) -> list[ConflictNode]:
    """Return the open nodes of a search and end the search."""
    return [(bound, extra, state.tobytes()) for bound, extra, state in dive.frontier()] if dive.running else []


def counted(dive: Dive) -> dict[str, int]:
    """Return the counts of nodes, hard-margin solves, conflicts and forced deletions."""
    return {name: int(dive.stack.now[field]) for name, field in _COUNTER_FIELDS.items()}


def least(nodes: list[ConflictNode]) -> float:
    """Return the least bound; ∞ without nodes."""
    return min((node[0] for node in nodes), default=math.inf)
