"""Cuts of the 0-1 loss for the branch and bound of another package (SCIP): sets of points that no better classifier keeps.

`ConflictCuts.separate` finds such sets at the relaxation of a node, by the compiled loops of the exact 0-1 solver.

The problem is min Σ_j d_j w_j² + Σ_i λ_i z_i with d_j = 1 for a penalised weight, 0 for a free intercept, and z_i = 1 if the
margin of point i is violated, a_i'w < 1 with a_i = y_i x_i. Else the point is *kept*. For a set S of points let

    ν(S) = min Σ_j d_j w_j²  subject to  a_i'w ≥ 1 for i in S    (∞ if S cannot be kept).

*The cut is valid.* A solution that keeps S has an objective of at least ν(S), since costs are not negative. Let UB be the
objective of a known solution. If ν(S) > UB then no solution of objective at most UB keeps all of S. So every such solution, and
in particular every optimum, satisfies

    Σ_{i in S} z_i ≥ 1.

ν(S) is not computed. Multipliers u ≥ 0 of the points prove ν(S) ≥ (Σu)²/||Σ u_i a_i||², with every rounding error on the safe
side (the dual active-set method of `zero-one-bb`; pairs of points of the two classes eliminate a free intercept). UB is
increased by a millionth, because the solver's solutions are feasible only to tolerances.

At most p + 1 points (2p with a free intercept) have u_i > 0. Let z̄_i be the relaxation's value of z_i. Points that the
relaxation keeps (small z̄_i) enter first, so that S has a small Σ z̄_i. The cut is added if it is violated, Σ_S z̄_i < 1. Later
sets of the same node exclude the points of earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, IntArray
from ...models.model import Model
from ...models.program.form import StandardForm
from ...models.views import ZeroOneProblem
from .reduced import ReducedZeroOneProblem, reduce_problem

#: Relative increase of the known objective, since a solver's solution is feasible only to its tolerances.
_SAFETY = 1e-6
#: Largest number of cuts per node; least violation of a cut; relaxation's value of z_i from which point i is excluded.
_MAX_CUTS, _LEAST_VIOLATION, _EXCLUDED = 8, 1e-3, 0.999


@dataclass(frozen=True, eq=False)
class ConflictCuts:
    """The separator of conflict cuts for one 0-1 loss model: it returns the cuts that a relaxation's solution violates."""

    reduced: ReducedZeroOneProblem  #: the problem in the exact solver's coordinates
    label: str  #: label of the form's block of z, one variable per point
    scale: float  #: ratio of the form's objective to that of the problem

    @cached_property
    def rows(self) -> Any:
        """The distinct points for the dual method, with thresholds that are valid for every w no worse than a trivial one."""
        from .loops.conflict_records import penalised_rows

        reduced = self.reduced
        return penalised_rows(reduced, np.ascontiguousarray(reduced.thresholds(reduced.trivial_value)))

    @classmethod
    def of(cls, model: Model, problem: ZeroOneProblem) -> ConflictCuts:
        """Return the separator of a 0-1 loss problem with a binary variable for each point.

        Raises
        ------
        InputError
            The form has no such binaries.
        """
        label, scale = _binaries_of(model, problem)
        return cls(reduce_problem(problem), label, scale)

    def binary_indices(self, form: StandardForm) -> IntArray:
        """Return the indices, among the variables of a form, of the binaries z of the points."""
        place = form.slices[self.label]
        return np.arange(place.start, place.stop)

    def separate(self, z: FloatArray, incumbent_value: float) -> list[IntArray]:
        """Return sets of points whose cuts the relaxation's ``z`` violates.

        Each set holds indices of points. ``incumbent_value`` is the objective of a known solution, ∞ without one. w = 0 (with b =
        ±1) is always known.
        """
        from .loops.active_set import minimise_norm
        from .loops.conflict_records import CONFLICT, empty_active_set, empty_dual_workspace

        if not self.reduced.rows.size:
            return []
        rows, upper = self.rows, self._norm_threshold(incumbent_value)
        z_by_row, member = self._least_z_by_row(z)
        n, p = rows.a.shape
        conflicts: list[IntArray] = []
        remaining = z_by_row < _EXCLUDED
        priority = 1.0 / (z_by_row + 0.02)
        scratch = empty_dual_workspace(n, p)
        while len(conflicts) < _MAX_CUTS and remaining.any():
            active = empty_active_set(p)
            status, _ = minimise_norm(rows, remaining, priority, upper, active, scratch)
            if status != CONFLICT:
                break
            support = np.unique(active.pair[: int(active.count[0])][active.u[: int(active.count[0])] > 0.0])
            support = support[support >= 0]
            if z_by_row[support].sum() < 1.0 - _LEAST_VIOLATION:
                conflicts.append(np.sort(member[support]))
            remaining[support] = False
        return conflicts

    def _norm_threshold(self, incumbent_value: float) -> float:
        """Return the reduced squared norm that certainly exceeds the known objective, or that of a trivial point."""
        reduced = self.reduced
        reduced_objective = (incumbent_value / self.scale - reduced.constant) / reduced.unit
        upper = min(reduced_objective, reduced.trivial_value)
        return float((upper + _SAFETY * max(abs(upper), 1e-3)) / (1.0 - reduced.shrink))

    def _least_z_by_row(self, z: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return the least z̄ among the points of each distinct row, and a point that attains it: keeping it keeps all of them."""
        reduced = self.reduced
        z_by_row, member = np.full(len(reduced.weights), np.inf), np.zeros(len(reduced.weights), dtype=np.int64)
        for i in np.argsort(-z, kind="stable"):
            row = reduced.member[i]
            if row >= 0:
                z_by_row[row], member[row] = max(float(z[i]), 0.0), i
        return z_by_row, member


def _binaries_of(model: Model, problem: ZeroOneProblem) -> tuple[str, float]:
    """Return the label of the block with one binary for each point, and the ratio of its costs to the λ_i."""
    form, n = model.form, problem.weights.size
    for block in form.blocks:
        place = form.slices[block.label]
        binary = form.integer[place].all() and (form.lower[place] >= 0).all() and (form.upper[place] <= 1).all()
        if block.size == n and binary:
            ratio = form.q[place] / problem.weights
            if (ratio > 0).all() and np.ptp(ratio) <= 1e-12 * ratio[0]:
                return block.label, float(ratio[0])
    raise InputError(
        f"cuts='conflicts' needs a binary for each point with the cost of the point; the form of {model.name} has none",
        name="cuts",
    )
