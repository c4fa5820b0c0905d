"""Conflicts as lazy cuts: sets of points that no better classifier keeps, found at the node's relaxation.

The problem is min Σ_j d_j w_j² + Σ_i λ_i z_i with z_i = 1 where point i's margin is given up (`models.views.ZeroOneProblem`). For
a set S of points let

    ν(S) = min Σ_j d_j w_j²  subject to  a_i'w ≥ 1 for i in S    (∞ where S cannot be kept).

*The cut is valid.* A solution that keeps S has an objective of at least ν(S), since costs are not negative. Let UB be the
objective of a known solution. If ν(S) > UB then no solution of objective at most UB keeps all of S, so that each of these, every
optimum among them, satisfies

    Σ_{i in S} z_i ≥ 1.

ν(S) is not computed: multipliers u ≥ 0 of the points prove ν(S) ≥ (Σu)²/||Σ u_i a_i||², every rounding error to the safe side
(the dual active-set method of `zero-one-bb`; pairs of points of the two classes eliminate a free intercept), and UB counts as a
millionth larger than the solver says, because its solutions hold to tolerances.

At most p + 1 points (2p with a free intercept) have u_i > 0. Points that the relaxation keeps (small z̄_i) are taken up
first, so that the S found has a small Σ z̄_i; what is violated, Σ_S z̄_i < 1, is added. Later conflicts of the same node leave out
the points of earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ...models.model import Model
from ...models.program.form import StandardForm
from ...models.views import ZeroOneProblem
from ..zero_one.incumbent import penalised_rows
from ..zero_one.reduced import Reduced, reduce_problem
from .priced import price_of
from .separator import Cut, Separator

__all__ = ["ConflictCuts"]

#: By how much the known objective counts as larger: a solver's solution holds to its tolerances.
_SAFE = 1e-6
#: Cuts at one node; least violation of one; z̄ from which a point counts as given up.
_MOST, _VIOLATED, _GIVEN_UP = 8, 1e-3, 0.999


@dataclass(frozen=True, eq=False)
class ConflictCuts(Separator):
    """The separator of one model.

    Parameters
    ----------
    reduced : Reduced
        The problem in the exact solver's coordinates.
    label : str
        Block of the form that holds z, one for each point.
    scale : float
        The form's objective is ``scale`` times that of the problem.
    """

    kind: ClassVar[str] = "conflicts"
    lazy: ClassVar[bool] = True
    epigraph: ClassVar[bool] = False

    reduced: Reduced
    label: str
    scale: float

    @cached_property
    def rows(self) -> Any:
        """The points as the dual method reads them; thresholds hold for every w that is no worse than a trivial one."""
        reduced = self.reduced
        return penalised_rows(reduced, np.ascontiguousarray(reduced.thresholds(reduced.trivial)))

    @classmethod
    def of(cls, model: Model, problem: ZeroOneProblem) -> ConflictCuts:
        """The separator of a 0-1 loss problem with a binary for each point.

        Raises
        ------
        InputError
            The form has no such binaries.
        """
        label, scale = price_of(model, problem, cls.kind)
        return cls(reduce_problem(problem), label, scale)

    def places(self, form: StandardForm) -> IntArray:
        """z."""
        place = form.slices[self.label]
        return np.arange(place.start, place.stop)

    def cuts(self, x: FloatArray, known: float) -> list[Cut]:
        """Σ z_i ≥ 1 over each set of `separate`."""
        return [Cut(points, np.ones(points.size), 1.0) for points in self.separate(x, known)]

    def separate(self, z: FloatArray, known: float) -> list[IntArray]:
        """Sets of points whose cut the relaxation's ``z`` violates, where a solution of objective ``known`` is known (∞: none).

        w = 0 (with b = ±1) is always known.
        """
        from ..zero_one.kernels.conflicts import CONFLICT, active_set, empty_scratch, no_active

        if not self.reduced.rows.size:
            return []
        rows, upper = self.rows, self._reduced(known)
        share, member = self._least(z)
        n, p = rows.a.shape
        found: list[IntArray] = []
        kept = share < _GIVEN_UP
        keen = 1.0 / (share + 0.02)
        scratch = empty_scratch(n, p)
        while len(found) < _MOST and kept.any():
            active = no_active(p)
            status, _ = active_set(rows, kept, keen, upper, active, scratch)
            if status != CONFLICT:
                break
            used = np.unique(active.pair[: int(active.count[0])][active.u[: int(active.count[0])] > 0.0])
            used = used[used >= 0]
            if share[used].sum() < 1.0 - _VIOLATED:
                found.append(np.sort(member[used]))
            kept[used] = False
        return found

    def _reduced(self, known: float) -> float:
        """What the reduced norm must reach to exceed the known objective for certain, or that of a trivial point."""
        reduced = self.reduced
        stated = (known / self.scale - reduced.constant) / reduced.unit
        least = min(stated, reduced.trivial)
        return float((least + _SAFE * max(abs(least), 1e-3)) / (1.0 - reduced.shrink))

    def _least(self, z: FloatArray) -> tuple[FloatArray, IntArray]:
        """The smallest z̄ among the points of each distinct row, and one point that has it: keeping it is keeping them all."""
        reduced = self.reduced
        share, member = np.full(len(reduced.weights), np.inf), np.zeros(len(reduced.weights), dtype=np.int64)
        for i in np.argsort(-z, kind="stable"):
            row = reduced.member[i]
            if row >= 0:
                share[row], member[row] = max(float(z[i]), 0.0), i
        return share, member
