"""The bounding rule of `ramp-bb`: how a node is bounded and split, and how incumbents are found.

The problem is min ||w|| + Σ_i c_i ρ(a_i'w) with the norm of atoms, costs c_i, and a ramp ρ: 0 from the margin r on, h at q < r,
linear between.
"""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.views import MarginProblem, PiecewiseLinearLoss
from ..exact.search import BoundingRule, Branching, Incumbent, Node, NodeArrays, TreeSearch
from ..margin.check.logged_problem import least_combination
from ..margin.proof import header_fields
from .check import FORMAT, VERSION
from .dual import RampProblem, initial_margin_bounds
from .program import RampProgram, RampSolution, with_root_conflicts

#: Most rounds of bounding margins at the root; least share of the gap that a round closes, or by which it lowers the σ of
#: `RampProblem.shortfall_per_loss` on average, if another one follows.
#: Rounds in all other nodes would save two thirds of the nodes and take longer in all.
_ROUNDS, _WORTH, _SHRUNK = 40, 0.02, 0.25
#: Descents before the search, nodes between two of them, and share of the points that are given up at first.
_STARTS, _BETWEEN, _PART = 10, 20, 0.3
#: A point's loss and its share of the relaxation that differ by less than this share of the cutoff count as equal.
_EQUAL = 1e-10
#: Share of the tolerance by which the value that margins are bounded with exceeds the cutoff.
_SHARE = 0.1

#: The split of a node that is closed.
_CLOSED = -1


class _Record:
    """A node's record in the log: multipliers that bound margins, in their order, and those that bound the node."""

    def __init__(self) -> None:
        self.margins: list[list[Any]] = []
        self.bound: list[Any] = []

    def values(self, split: int) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {"margins": self.margins, "bound": self.bound, "split": split}


class RampRule(BoundingRule[RampProblem]):
    """The bounding rule of `ramp-bb`; a node decides which points are given up and which are kept.

    A given-up point pays the whole ramp: its margin is at most q (`RampProblem.full_loss_margin`), that of a kept point at
    least q. The arrays of a node are the mask of the points that are ``given_up`` and ``lower``, lower bounds of all margins. Its
    relaxation is a linear program. At the root each margin is minimised over the w whose relaxation is below the cutoff, and the
    multipliers prove the minimum as a lower bound. A node is split by the point whose loss the relaxation underestimates most:
    it is kept in one child and given up in the other.
    """

    format, version = FORMAT, VERSION
    lower_bound = 0.0  # of the objective, no term of which is negative

    def __init__(self, problem: RampProblem) -> None:
        super().__init__(problem)
        self._program = RampProgram(problem)
        if problem.conflicts:
            self._program.add_conflicts(problem.conflict_arrays)
        self._visits = 0

    @classmethod
    def load(cls) -> None:
        """Solve a small problem, so that HiGHS is imported before the clock starts."""
        _load()

    def header(self) -> dict[str, Any]:
        """Return the problem and its conflicts (points that no w keeps together, `dual`) for the header of a proof log."""
        conflicts = [[point.exponent, point.text] for point in self.problem.conflicts]
        return {**header_fields(self.problem.view), "conflicts": conflicts}

    def first_point(self) -> FloatArray:
        """Return the point 0."""
        return np.zeros(self.problem.view.A.shape[1])

    def root(self) -> NodeArrays:
        """Return the arrays of the root: no point is given up, and no margin has a finite lower bound."""
        n = len(self.problem.view.A)
        return {"lower": np.full(n, -np.inf), "given_up": np.zeros(n, dtype=np.bool_)}

    def accepts(self, arrays: NodeArrays) -> bool:
        """Return whether a checkpoint's node is valid: its lower bounds are numbers or -∞."""
        return not bool((np.isnan(arrays["lower"]) | (arrays["lower"] == np.inf)).any())

    def objective(self, w: FloatArray) -> float:
        """Return the objective of a point."""
        return self._losses(w) + float(np.abs(least_combination(self.problem.view.atoms, w)).sum())

    def _losses(self, w: FloatArray) -> float:
        view = self.problem.view
        return float(view.costs @ view.loss.values(view.A @ w))

    def _offer(self, solution: RampSolution, incumbent: Incumbent) -> float:
        """Offer the point of a solution; return its objective, in which the norm is that of the solution."""
        value = self._losses(solution.w) + solution.norm
        if value < incumbent.value:
            incumbent.offer(solution.w, self.objective(solution.w))
        return value

    def improve(self, w: FloatArray, incumbent: Incumbent) -> None:
        """Offer w and the ends of convex-concave descents: from w, and at the first call from random sets of given-up points."""
        first = not math.isfinite(incumbent.value)
        incumbent.offer(w, self.objective(w))
        self._descend(w, incumbent)
        if first:
            rng, n = np.random.default_rng(0), len(self.problem.view.A)
            for _ in range(_STARTS):
                solution = self._program.fit(rng.random(n) < _PART)
                if solution is not None and solution.w.size:
                    self._descend(solution.w, incumbent)

    def _descend(self, w: FloatArray, incumbent: Incumbent) -> None:
        """Give up the points with margins below q, solve for the others, and repeat as long as the objective falls."""
        before = math.inf
        while True:
            solution = self._program.fit(self.problem.view.A @ w < self.problem.full_loss_margin)
            if solution is None or not solution.w.size:
                return
            w, value = solution.w, self._offer(solution, incumbent)
            if not value < before * (1.0 - _EQUAL):
                return
            before = value

    def branch(self, node: Node, incumbent: Incumbent) -> Branching:
        """Bound a node by its linear program and split it; at the root, first raise the lower bounds of all margins."""
        record, self._visits = _Record(), self._visits + 1
        lower, given_up = node.arrays["lower"], node.arrays["given_up"]
        is_root = not np.isfinite(lower).any()
        level = _level(incumbent)
        if is_root:
            lower = np.maximum(lower, initial_margin_bounds(self.problem, level))
        bound, solution = self._bound(lower, given_up, record)
        if solution is not None:
            self._offer(solution, incumbent)
            if is_root or self._visits % _BETWEEN == 0:
                self._descend(solution.w, incumbent)
        if is_root and solution is not None:
            bound, solution = self._tighten(bound, lower, given_up, incumbent, level, record)
        bound = max(bound, node.bound)
        points = np.zeros(0, dtype=np.int64) if solution is None else self._by_difference(solution, lower, given_up)
        if bound >= incumbent.cutoff or not points.size:
            return Branching(bound, record=record.values(_CLOSED), closed_bound=level if is_root else math.inf)
        children = self._children(int(points[0]), bound, lower, given_up)
        return Branching(bound, children, record.values(int(points[0])), level if is_root else math.inf)

    def _tighten(
        self, bound: float, lower: FloatArray, given_up: BoolArray, incumbent: Incumbent, level: float, record: _Record
    ) -> tuple[float, RampSolution | None]:
        """Raise the lower bounds of all margins of points below ``level`` in place; return the node's bound and relaxation.

        Rounds follow as long as they close a share of the gap or lower the σ.
        """
        problem, solution = self.problem, None
        for _ in range(_ROUNDS):
            before, slack = bound, problem.shortfall_per_loss(lower)
            self._raise(np.flatnonzero(lower < problem.full_loss_margin), lower, given_up, level, record)
            bound, solution = self._bound(lower, given_up, record)
            if bound >= incumbent.cutoff or solution is None:
                break
            self._offer(solution, incumbent)
            shrunk = 1.0 - float((problem.shortfall_per_loss(lower) / slack).mean())
            if bound - before < _WORTH * (incumbent.cutoff - before) and shrunk < _SHRUNK:
                break
        return bound, solution

    def _children(self, i: int, bound: float, lower: FloatArray, given_up: BoolArray) -> list[tuple[float, NodeArrays]]:
        """Return the parts of a node in which a point is kept, and given up."""
        above, below = lower.copy(), given_up.copy()
        above[i], below[i] = self.problem.full_loss_margin, True
        return [(bound, {"lower": above, "given_up": given_up}), (bound, {"lower": lower, "given_up": below})]

    def _by_difference(self, solution: RampSolution, lower: FloatArray, given_up: BoolArray) -> Any:
        """Return the open points whose losses exceed those of the relaxation, the largest differences first."""
        problem, view = self.problem, self.problem.view
        is_open = ~given_up & (lower < problem.full_loss_margin)
        losses = view.costs * view.loss.values(view.A @ solution.w)
        difference = np.where(is_open, losses - solution.losses, 0.0)
        order = np.argsort(-difference, kind="stable")
        return order[difference[order] > _EQUAL * max(solution.value, 1e-300)]

    def _bound(self, lower: FloatArray, given_up: BoolArray, record: _Record) -> tuple[float, RampSolution | None]:
        """Return the proved bound of a node and its relaxation, None where that has no point."""
        problem = self.problem
        self._program.set_node(lower, given_up)
        if (solution := self._program.relax()) is None:
            return -math.inf, None
        if (point := problem.rounded_multipliers(solution.multipliers, np.where(given_up, -1.0, 1.0))) is None:
            return -math.inf, solution if solution.w.size else None
        value, theta = problem.certified_bound(point, solution.theta, lower, given_up)
        record.bound = [point.exponent, point.text, solution.theta]
        bound = value / theta + problem.height * float(problem.view.costs[given_up].sum())
        return bound - 1e-13 * abs(bound), solution if solution.w.size else None

    def _raise(self, points: Any, lower: FloatArray, given_up: BoolArray, level: float, record: _Record) -> None:
        """Raise the lower bounds of these points' margins, until the deadline."""
        problem = self.problem
        paid = problem.height * float(problem.view.costs[given_up].sum())
        self._program.set_node(lower, given_up)
        for i in points.tolist():
            if time.perf_counter() >= self.deadline:
                return
            solution = self._program.least_margin(i, level)
            if solution is None or not solution.w.size:
                continue
            if (point := problem.rounded_multipliers(solution.multipliers, np.where(given_up, -1.0, 1.0), i)) is None:
                continue
            value, theta = problem.certified_bound(point, solution.theta, lower, given_up, i)
            margin = value - theta * (level - paid) * (1.0 + 1e-12)
            if margin > lower[i]:
                record.margins.append([i, point.exponent, point.text, solution.theta])
                lower[i] = margin


def _level(incumbent: Incumbent) -> float:
    """Return the value below which margin bounds hold: above the cutoff, so that rounding leaves the gap within the tolerance."""
    return incumbent.cutoff + _SHARE * incumbent.tol * abs(incumbent.value)


@functools.cache
def _load() -> None:
    A = np.array([[1.0, 0.5], [1.0, -0.4], [-1.0, 0.3]])
    loss = PiecewiseLinearLoss.ramp(2.0, 2.0)
    view = MarginProblem.unrestricted(A, np.full(3, 0.4), loss, np.zeros(2), np.eye(2)[1:], intercept=True)
    search = TreeSearch(RampRule(with_root_conflicts(RampProblem(view))), Incumbent(1e-6))
    while not search.done:
        search.process_node()
