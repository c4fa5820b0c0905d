"""The incumbent of the exact 0-1 solver, and the hard-margin problems that improve it.

The objective is Σ_{penalised} w_j² + Σ_i λ_i 1{a_i'w < 1}, a_i = y_i x_i. The *hard-margin problem* of a set of points is to
minimise the norm Σ_{penalised} w_j² over the w that keep all of them, a_i'w ≥ 1. The w that solves it for the points that a
classifier keeps has at most the classifier's objective: this step is the *polish* of an incumbent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.views import ZeroOneProblem
from .reduced import ReducedZeroOneProblem, reduce_problem, scale_and_evaluate, scale_and_evaluate_all


@dataclass
class Incumbent:
    """The best known classifier."""

    w: FloatArray  #: (p,) weights in original coordinates
    value: float  #: its objective; ∞ without a classifier

    def offer(self, reduced: ReducedZeroOneProblem, w: FloatArray) -> bool:
        """Scale w up so that margins near 1 are met exactly; replace the incumbent if w is better, and return whether it is."""
        improved = False
        for value, scaled in scale_and_evaluate_all(reduced.problem, w):
            if value < self.value:
                self.w, self.value, improved = scaled, value, True
        return improved


@dataclass(frozen=True, eq=False)
class HardMarginSolver:
    """Solver of hard-margin problems on sets of the reduced problem's points, by which incumbents are improved."""

    reduced: ReducedZeroOneProblem  #: the problem in reduced coordinates
    rows: Any  #: `ConflictRows`: the points with thresholds 1, as the compiled dual active-set method reads them

    @classmethod
    def of(cls, reduced: ReducedZeroOneProblem) -> HardMarginSolver:
        """Return the solver for the points of a reduced problem."""
        from .loops.conflict_records import penalised_rows

        return cls(reduced, penalised_rows(reduced, np.ones(len(reduced.weights))))

    def solve(self, demanded: BoolArray, below: float = math.inf) -> FloatArray | None:
        """Return the w of least norm, in original coordinates, that keeps the reduced points of the mask ``demanded``.

        Return None if the method fails, or proves a squared norm of at least ``below``, in reduced units.
        """
        from .loops.conflict_records import OPTIMUM

        rows, reduced = self.rows, self.reduced
        status, active = solve_hard_margin(rows, demanded, below)
        if status != OPTIMUM:
            return None
        q = int(active.count[0])
        v = active.w
        if q:
            refined = np.linalg.lstsq(active.g[:q], np.ones(q), rcond=None)[0]
            if np.abs(rows.a[demanded] @ (refined - v)).max(initial=0.0) < 1e-6:
                v = refined
        if not reduced.free:
            return reduced.to_original(v)
        margins = rows.a @ v
        low, high = 1.0 - margins[demanded & (rows.sign > 0)], margins[demanded & (rows.sign < 0)] - 1.0
        if low.size and high.size:
            b = 0.5 * (float(low.max()) + float(high.min()))
        else:
            b = float(low.max()) if low.size else float(high.min(initial=-1.0))
        return reduced.to_original(np.append(v, b / reduced.stretch))

    def improve(self, incumbent: Incumbent, v: FloatArray, tolerance: float = 1e-7) -> bool:
        """Offer the point ``v`` of the reduced problem and its polish to the incumbent; return whether the incumbent improves.

        The polish keeps the points with margins of at least 1 - ``tolerance``. It is repeated while it improves the incumbent,
        three times at most.
        """
        reduced = self.reduced
        improved = incumbent.offer(reduced, reduced.to_original(v))
        for _ in range(3):
            w = self.solve(reduced.rows @ v >= 1.0 - tolerance)
            if w is None or not incumbent.offer(reduced, w):
                break
            improved = True
            v = reduced.to_reduced(incumbent.w)
        return improved


def solve_hard_margin(rows: Any, demanded: BoolArray, below: float) -> tuple[int, Any]:
    """Solve the hard-margin problem of the points of the mask ``demanded``; return the status code and the final `ActiveSet`.

    ``rows`` are `ConflictRows`. The code is one of `minimise_norm`: CONFLICT if the squared norm is proved to be at least
    ``below``.
    """
    from .loops.active_set import minimise_norm
    from .loops.conflict_records import empty_active_set, empty_dual_workspace

    n, p = rows.a.shape
    active = empty_active_set(p)
    status, _ = minimise_norm(rows, demanded, np.ones(n), below, active, empty_dual_workspace(n, p))
    return int(status), active


def trivial_incumbent(reduced: ReducedZeroOneProblem) -> Incumbent:
    """Return the incumbent w = 0 or, with a free intercept, w = 0 and b = ±1, whichever is best."""
    p = reduced.problem.penalised.size
    incumbent = Incumbent(np.zeros(p), math.inf)
    incumbent.offer(reduced, np.zeros(p))
    if reduced.free:
        for b in (-1.0, 1.0):
            incumbent.offer(reduced, np.where(reduced.problem.penalised, 0.0, b))
    return incumbent


#: Margins within this distance below 1 are raised to 1 by scaling w: the accuracy of the active-set method.
_NEAR = 1e-7


@dataclass(frozen=True, eq=False)
class LeastNormSolver:
    """Solver of min Σ_{penalised} w_j² subject to a_i'w ≥ 1 on any subset of a 0-1 problem's points, in original coordinates."""

    polish: HardMarginSolver  #: solver in reduced coordinates

    @classmethod
    def of(cls, problem: ZeroOneProblem) -> LeastNormSolver:
        """Return the solver for subsets of a problem, which is reduced once."""
        return cls(HardMarginSolver.of(reduce_problem(problem)))

    def solve(self, demanded: BoolArray) -> FloatArray | None:
        """Return the w (p,) of least norm whose margins on the points of the mask ``demanded`` (n,) are exactly at least 1.

        Return None if such a w does not exist or has a norm beyond the method's accuracy.
        """
        reduced = self.polish.reduced
        problem, rows = reduced.problem, reduced.member[demanded]
        if not rows.size:
            return np.zeros(problem.A.shape[1])
        if (rows < 0).any():  # no w keeps a row of zeros
            return None
        row_mask = np.zeros(len(reduced.weights), dtype=bool)
        row_mask[rows] = True
        solution = self.polish.solve(row_mask)
        if solution is None:
            return None
        _, w = scale_and_evaluate(problem, solution, _NEAR)
        return w if (problem.A[demanded] @ w >= 1.0).all() else None
