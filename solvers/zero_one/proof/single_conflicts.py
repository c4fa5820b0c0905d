"""Norm-conflicts one at a time, with the multipliers that prove them: for searches that are steered from Python.

A set S of points is a conflict at T if no w with ||w||² < T keeps all of it; the compiled dual method finds one and its
multipliers (`kernels.conflicts.active_set`, `kernels.conflicts.certified`). ``docs/zero-one-bb.md`` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....models.arrays import BoolArray, FloatArray, IntArray
from ..incumbent import penalised_rows, stretched_rows
from ..reduced import ReducedZeroOneProblem

__all__ = ["Conflict", "ConflictFinder", "ConflictSearchResult"]

#: How much more keenly the dual method takes up kept points than free ones: conflicts then have fewer free points.
_KEEN = 5.0


@dataclass(frozen=True, eq=False)
class Conflict:
    """Points that cannot all be kept, and multipliers α ≥ 0 of their rows a_i'w ≥ 1 that prove it: a norm of at least ``norm``.

    (Σα - |Σ α_i y_i| max|b|)₊²/||Σ α_i a_i||² without the intercept's part.
    """

    points: IntArray
    alpha: FloatArray
    norm: float


@dataclass(frozen=True, eq=False)
class ConflictSearchResult:
    """The outcome of a search for a conflict: a conflict, or the least norm that keeps the points, or neither (rounding)."""

    conflict: Conflict | None
    optimum: float | None
    active: Any


class ConflictFinder:
    """Conflicts among the reduced points.

    Parameters
    ----------
    reduced : Reduced
    upper : float
        Reduced value (or squared norm) below which solutions are of interest: it bounds the intercept and the rounding errors.
    """

    def __init__(self, reduced: ReducedZeroOneProblem, upper: float) -> None:
        from ..loops.conflicts import empty_workspace

        tau = reduced.thresholds(upper)
        self.rows = stretched_rows(reduced, tau, upper)
        self.exact = penalised_rows(reduced, tau)
        n = len(tau)
        self._keen = np.ones(n)
        self.room = empty_workspace(n, self.rows.a.shape[1], self.exact.a.shape[1])

    def start(self) -> Any:
        """The S-pair of no points."""
        from ..loops.conflicts import no_active

        return no_active(self.rows.a.shape[1])

    def find(self, ok: BoolArray, kept: BoolArray, T: float, start: Any, exact: bool = True) -> ConflictSearchResult:
        """A conflict at T among the points ``ok``, preferably with many of ``kept``; from the S-pair ``start`` (left as it is).

        ``exact`` also looks without the intercept's stretched column (pairs of points), where the first attempt finds none.
        """
        from ..loops.conflicts import CONFLICT, OPTIMUM, active_set, no_active

        self._keen[:] = np.where(kept, _KEEN, 1.0)
        active = _copied(start)
        status, norm = active_set(self.rows, ok, self._keen, T, active, self.room.scratch)
        if status == CONFLICT:
            return ConflictSearchResult(self._conflict(active, self.rows.tau, norm), None, active)
        own = self.norm_of(active)
        if own >= T:  # the S-pair that it began with was one already
            return ConflictSearchResult(self._conflict(active, self.rows.tau, own), None, active)
        if exact and self.exact.free:
            pairs = no_active(self.exact.a.shape[1])
            status, norm = active_set(self.exact, ok, self._keen, T, pairs, self.room.exact)
            if status == CONFLICT:
                return ConflictSearchResult(self._conflict(pairs, self.exact.tau, norm), None, active)
        return ConflictSearchResult(None, float(norm) if status == OPTIMUM else None, active)

    def norm_of(self, active: Any) -> float:
        """The norm that an S-pair certifies."""
        from ..loops.conflicts import certified_norm

        return float(certified_norm(active, self.rows.reach))

    def certificate(self, active: Any) -> Conflict:
        """An S-pair of single points with its multipliers, whatever norm they prove."""
        return self._conflict(active, self.rows.tau, self.norm_of(active))

    def _conflict(self, active: Any, tau: FloatArray, norm: float) -> Conflict:
        alpha: dict[int, float] = {}
        for c in range(int(active.count[0])):
            i, j = int(active.pair[c, 0]), int(active.pair[c, 1])
            u = float(active.u[c])
            if u <= 0.0:
                continue
            scale = float(tau[i] if j < 0 else tau[i] + tau[j])
            for point in (i, j) if j >= 0 else (i,):
                alpha[point] = alpha.get(point, 0.0) + u / scale
        points = np.array(sorted(alpha), dtype=np.int64)
        return Conflict(points, np.array([alpha[int(i)] for i in points], dtype=np.float64), float(norm))


def _copied(active: Any) -> Any:
    return type(active)(*(np.array(part) for part in active))
