"""A slice of the conflict search: open nodes of a pass, searched for a while in any process, and what came of it."""

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
from ..engines.engine import Limits, Shared
from ..incumbent import Incumbent, Polish, penalised_rows, stretched_rows
from ..kernels import conflicts as k
from ..reduced import Reduced
from .outcomes import check_counts, check_numbers, check_point, check_state, check_work

__all__ = ["ConflictFound", "ConflictGround", "ConflictNode", "ConflictSlice", "search_conflicts"]

#: A node: its bound, the proved cost of further deletions, the points' states.
ConflictNode: TypeAlias = tuple[float, float, bytes]
#: Nodes between two looks at the clock, for points times coordinates together.
_WORK = 1_250_000
#: What is counted, by its name and by the search's.
_COUNTED = {"nodes": "nodes", "hard_margin_solves": "solves", "conflicts": "conflicts", "forced_deletions": "forced"}


@dataclass(frozen=True, eq=False)
class ConflictGround:
    """What one conflict search stands on, in whatever process: rows that hold for solutions better than ``upper``."""

    reduced: Reduced
    upper: float
    rows: Any
    exact: Any
    weights: FloatArray
    order: FloatArray

    @classmethod
    def of(cls, reduced: Reduced, upper: float, order: FloatArray) -> ConflictGround:
        """The ground of a search that begins with an incumbent of value ``upper``, reduced."""
        tau = reduced.thresholds(upper)
        rows, exact = stretched_rows(reduced, tau, upper), penalised_rows(reduced, tau)
        return cls(reduced, upper, rows, exact, np.minimum(reduced.weights, upper), np.ascontiguousarray(order))

    def dive(self) -> Dive:
        """Arrays of one depth-first search."""
        return Dive(self.rows, self.exact, self.weights, self.order)

    @property
    def few(self) -> int:
        """Nodes between two looks at the clock."""
        return max(min(100, _WORK // max(self.rows.a.size, 1)), 1)


@dataclass(frozen=True, eq=False)
class ConflictSlice:
    """What a worker is given: nodes, the incumbent when they were handed out, the pass's target (reduced), the time."""

    ground: ConflictGround
    nodes: list[ConflictNode]
    w: FloatArray
    value: float
    target: float
    tol: float
    seconds: float


@dataclass(frozen=True, eq=False)
class ConflictFound:
    """What came of a slice: nodes below the cut that are still open, a better incumbent, leaves that could not be settled."""

    nodes: list[ConflictNode]
    w: FloatArray | None
    unresolved: float
    counts: dict[str, int]
    effort: float
    seconds: float
    busy: float
    who: str

    def check(self, ground: ConflictGround) -> None:
        """Of this kind, finite, of the ground's points; raises as `subtrees.outcomes` does."""
        for bound, extra, state in self.nodes:
            check_numbers(bound, extra)
            check_state(np.frombuffer(state, dtype=np.int8), len(ground.weights))
        check_numbers(self.unresolved)
        check_point(self.w, ground.reduced.problem.A.shape[1])
        check_counts(self.counts, _COUNTED)
        check_work(self.seconds, self.busy, self.effort, self.who)


def search_conflicts(task: ConflictSlice, threads: int | None) -> ConflictFound:
    """Work on a slice, with one thread: one node after the other, each depth-first."""
    begin, busy = time.perf_counter(), time.thread_time()
    ground = task.ground
    incumbent = Incumbent(task.w, task.value)
    shared = Shared(ground.reduced, incumbent, Polish.of(ground.reduced), Limits(task.tol))
    dive, todo, end = ground.dive(), task.nodes[::-1], begin + task.seconds
    while (todo or dive.running) and time.perf_counter() < end:
        cut = min(shared.cut, task.target)
        if not dive.running:
            bound, extra, state = todo.pop()
            if bound >= cut:
                continue
            dive.plant(np.frombuffer(state, dtype=np.int8), extra, bound, shared.upper)
        if dive.run(cut, ground.few) == k.CANDIDATE:
            offer_kept(shared, dive)
    left = [*frontier(dive), *todo]
    cut = min(shared.cut, task.target)
    return ConflictFound(
        [node for node in left if node[0] < cut],
        incumbent.w if incumbent.value < task.value else None,
        float(dive.stack.unresolved[0]),
        counted(dive),
        dive.effort,
        time.perf_counter() - begin,
        time.thread_time() - busy,
        f"{platform.node()}:{os.getpid()}",
    )


def frontier(dive: Dive) -> list[ConflictNode]:
    """The open nodes of a search, which is over afterwards."""
    return [(bound, extra, state.tobytes()) for bound, extra, state in dive.frontier()] if dive.running else []


def counted(dive: Dive) -> dict[str, int]:
    """Nodes, hard-margin problems solved, conflicts found, deletions forced."""
    return {name: int(dive.stack.now[at]) for name, at in _COUNTED.items()}


def least(nodes: list[ConflictNode]) -> float:
    """The least bound; ∞ without nodes."""
    return min((node[0] for node in nodes), default=math.inf)
