"""The state of a run on the budget form: its points, bound and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....models.arrays import FloatArray
from ....models.formulations.zero_one.budget import ZeroOneBudget
from ...interface.algorithm import Outcome
from ...records.options import Options
from ..incumbent import Polish
from ..proof.conflict_recorder import ConflictRecorder
from ..proof.single_conflicts import ConflictFinder
from ..reduced import ReducedZeroOneProblem, evaluate
from .search import BudgetSearch

if TYPE_CHECKING:
    from ..algorithm import ZeroOneState

__all__ = [
    "BudgetState",
    "Point",
    "budget_search",
    "closed",
    "improve_bound",
    "inner_tolerance",
    "nodes_left",
    "offer",
    "order",
    "out_of_nodes",
]  # fmt: skip


@dataclass(eq=False)
class Point:
    """A point with its number of violations and its squared norm."""

    w: FloatArray
    violated: float
    norm: float


@dataclass(eq=False)
class BudgetState:
    """The state of a run: the hull's end points, the lower bound, and the searches in progress."""

    view: ZeroOneBudget
    reduced: ReducedZeroOneProblem
    polish: Polish
    options: Options
    tol: float
    rng: np.random.Generator
    far: float
    high: Point  #: the end of the hull with too many violations
    best: Point | None = None
    lower_bound: float = 0.0
    lam: float = 0.0
    problems: int = 0
    hull_done: bool = False
    inner: ZeroOneState | None = None
    search: BudgetSearch | None = None
    nodes: int = 0
    checkpoint: bool = True  #: whether every repeated run passes through this state
    ended: Outcome | None = None  #: outcome of the search, while its proof is written
    recorder: ConflictRecorder | None = None


def offer(state: BudgetState, w: FloatArray) -> Point:
    """Polish w, keep it if it is feasible and better, and return the best resulting point."""
    view = state.view
    problem = state.reduced.problem
    candidates = [evaluate(problem, w, near)[1] for near in (1e-12, 1e-9, 1e-7)]
    polished = state.polish.solve(state.reduced.rows @ state.reduced.contract(w) >= 1.0 - 1e-7)
    if polished is not None:
        candidates += [evaluate(problem, polished, near)[1] for near in (1e-12, 1e-9, 1e-7)]
    points = [Point(c, float((view.A @ c < 1.0).sum()), float(c[view.penalised] @ c[view.penalised])) for c in candidates]
    points = [point for point in points if math.isfinite(point.norm)]
    feasible = [point for point in points if point.violated <= view.budget]
    if feasible:
        best = min(feasible, key=lambda point: point.norm)
        if state.best is None or best.norm < state.best.norm:
            state.best = best
        return best
    return min(points, key=lambda point: (point.violated, point.norm))


def improve_bound(state: BudgetState, bound: float) -> None:
    """Improve the lower bound, with a margin for the rounding of - λk and of the tree's bound."""
    bound = bound - 1e-15 * abs(bound) - 1e-15 * state.lam * state.view.budget
    state.lower_bound = max(state.lower_bound, bound if state.best is None else min(bound, state.best.norm))


def closed(state: BudgetState) -> bool:
    """Return True if the gap is within the tolerance."""
    assert state.best is not None
    return state.best.norm - state.lower_bound <= state.tol * state.best.norm


def inner_tolerance(state: BudgetState) -> float:
    """Return the tolerance of the λ problem, whose value contains λk, which is not part of the norm."""
    if state.best is None:
        return 1e-3
    value = state.best.norm + state.lam * state.view.budget
    return max(0.3 * state.tol * state.best.norm / value, 1e-10) if state.best.norm > 0 else 1e-6


def nodes_left(state: BudgetState, nodes: int) -> int:
    """Return the number of nodes within the node limit, at least one."""
    limit = state.options.node_limit
    return nodes if limit is None else max(min(nodes, limit - state.nodes), 1)


def out_of_nodes(state: BudgetState) -> bool:
    """Return True if the node limit is reached."""
    limit = state.options.node_limit
    nodes = state.nodes + (0 if state.search is None else state.search.nodes)
    return limit is not None and nodes >= limit


def budget_search(state: BudgetState) -> BudgetSearch:
    """Return the tree search, in units of the reduced problem with weights of one."""
    reduced = state.reduced
    upper = (state.far if state.best is None else state.best.norm) / reduced.unit
    counts = np.rint(reduced.weights * reduced.unit)
    budget = state.view.budget - round(reduced.constant)

    def current_cutoff() -> float:
        return upper if state.best is None else state.best.norm * (1.0 - 0.9 * state.tol) / reduced.unit

    def improve(keep: FloatArray) -> float:
        w = state.polish.solve(np.asarray(keep, dtype=bool))
        if w is not None:
            offer(state, w)
        return current_cutoff()

    return BudgetSearch(ConflictFinder(reduced, upper), counts, float(budget), order(state), improve, current_cutoff())


def order(state: BudgetState) -> FloatArray:
    """Return branching priorities: the violations of the best point."""
    reduced = state.reduced
    margins = reduced.rows @ reduced.contract(state.high.w if state.best is None else state.best.w)
    return np.maximum(1.0 - margins, 0.0) + 1e-3
