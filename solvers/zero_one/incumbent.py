"""Feasible points of `zero-one-bb`: the incumbent and its improvement by hard-margin problems, starting points; the rows that
conflict kernels read.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from .reduced import ReducedZeroOneProblem, evaluate_multiples

#: Share of the objective by which a stretched intercept may weaken a certificate of the conflict search.
_INTERCEPT_SHARE = 1e-4
#: Least norm of a row as a share of the median norm, when violations are scaled to distances: a point at the origin would have an
#: infinite distance.
_SHORTEST = 0.1


@dataclass
class Incumbent:
    """The best known point in original coordinates, with its true objective value."""

    w: FloatArray
    value: float

    def offer(self, reduced: ReducedZeroOneProblem, w: FloatArray) -> bool:
        """Accept w if it is better, scaled up so that margins near 1 are exactly met; return True if so."""
        improved = False
        for value, scaled in evaluate_multiples(reduced.problem, w):
            if value < self.value:
                self.w, self.value, improved = scaled, value, True
        return improved


@dataclass(frozen=True, eq=False)
class Polish:
    """The hard-margin problem on a chosen set of points, which improves incumbents; ``rows`` are `ConflictRows` with thresholds
    1.
    """

    reduced: ReducedZeroOneProblem
    rows: Any

    @classmethod
    def of(cls, reduced: ReducedZeroOneProblem) -> Polish:
        """Return the hard-margin problem of a reduced problem, with rows for the dual active-set method."""
        return cls(reduced, penalised_rows(reduced, np.ones(len(reduced.weights))))

    def solve(self, demanded: BoolArray, below: float = math.inf) -> FloatArray | None:
        """Return the w of least norm, in original coordinates, with margins of at least 1 on the reduced rows ``demanded``.

        None if that fails, or if the squared norm is proved to be at least ``below``, in reduced units.
        """
        from .loops.conflict_records import OPTIMUM

        rows, reduced = self.rows, self.reduced
        status, active = hard_margin(rows, demanded, below)
        if status != OPTIMUM:
            return None
        q = int(active.count[0])
        v = active.w
        if q:
            refined = np.linalg.lstsq(active.g[:q], np.ones(q), rcond=None)[0]
            if np.abs(rows.a[demanded] @ (refined - v)).max(initial=0.0) < 1e-6:
                v = refined
        if not reduced.free:
            return reduced.expand(v)
        margins = rows.a @ v
        low, high = 1.0 - margins[demanded & (rows.sign > 0)], margins[demanded & (rows.sign < 0)] - 1.0
        if low.size and high.size:
            b = 0.5 * (float(low.max()) + float(high.min()))
        else:
            b = float(low.max()) if low.size else float(high.min(initial=-1.0))
        return reduced.expand(np.append(v, b / reduced.stretch))

    def improve(self, incumbent: Incumbent, v: FloatArray, tolerance: float = 1e-7) -> bool:
        """Offer the point ``v`` of the reduced problem, then the one of least norm that keeps the same points (to
        ``tolerance``), while it improves.

        Return True if the incumbent improves.
        """
        reduced = self.reduced
        improved = incumbent.offer(reduced, reduced.expand(v))
        for _ in range(3):
            w = self.solve(reduced.rows @ v >= 1.0 - tolerance)
            if w is None or not incumbent.offer(reduced, w):
                break
            improved = True
            v = reduced.contract(incumbent.w)
        return improved


def hard_margin(rows: Any, demanded: BoolArray, below: float) -> tuple[int, Any]:
    """Solve the hard-margin problem of the rows ``demanded`` by the dual active-set method; return its status code and the
    final active set (an S-pair).

    The code is CONFLICT as soon as the squared norm is proved to be at least ``below``.
    """
    from .loops.active_set import active_set
    from .loops.conflict_records import empty_scratch, no_active

    n, p = rows.a.shape
    active = no_active(p)
    status, _ = active_set(rows, demanded, np.ones(n), below, active, empty_scratch(n, p))
    return int(status), active


def penalised_rows(reduced: ReducedZeroOneProblem, tau: FloatArray) -> Any:
    """Return the `ConflictRows` of the penalised coordinates: row i asks for a margin of at least tau_i. A free intercept is
    left to pairs of points.
    """
    from .loops.conflict_records import ConflictRows

    n = len(reduced.weights)
    a = np.ascontiguousarray(reduced.rows[:, :-1] if reduced.free else reduced.rows)
    sign = np.sign(reduced.rows[:, -1]) if reduced.free else np.zeros(n)
    pull = 1.0 / np.maximum(np.linalg.norm(a, axis=1), 1e-300)
    return ConflictRows(*_layouts(a, pull), sign, np.ascontiguousarray(tau), pull, reduced.free, 0.0, False)


def stretched_rows(reduced: ReducedZeroOneProblem, tau: FloatArray, upper: float) -> Any:
    """Return the `ConflictRows` with a free intercept as a further coordinate, scaled so that its square adds at most a small
    share of ``upper`` to the squared norm.
    """
    from .loops.conflict_records import ConflictRows

    if not reduced.free:
        exact = penalised_rows(reduced, tau)
        a, t, single, widest, size = _layouts(_padded(exact.a), exact.pull)
        return exact._replace(a=a, t=t, single=single, widest=widest, size=size)
    reach = reduced.intercept_bound(upper) * reduced.stretch
    stretch = reach / math.sqrt(_INTERCEPT_SHARE * upper)
    a = reduced.rows.copy()
    a[:, -1] = np.sign(a[:, -1]) * stretch
    norms = np.linalg.norm(a[:, :-1], axis=1)
    pull = 1.0 / np.maximum(norms, max(_SHORTEST * float(np.median(norms)), 1e-300))
    reach = reach / stretch * (1 + 1e-15)
    return ConflictRows(*_layouts(_padded(a), pull), np.zeros(len(a)), np.ascontiguousarray(tau), pull, False, reach, True)


def _padded(a: FloatArray) -> FloatArray:
    """Return the rows with leading zero coordinates, a multiple of four in all, for vector instructions without a remainder."""
    return np.pad(a, ((0, 0), (-a.shape[1] % 4, 0)))


def _layouts(a: FloatArray, pull: FloatArray) -> tuple[FloatArray, FloatArray, Any, FloatArray, FloatArray]:
    """Return the rows, their transpose, normalised rows in single precision, largest entries by coordinate, and squared norms."""
    t = np.ascontiguousarray(a.T)
    unit = t * pull
    widest = np.append(np.abs(unit).max(axis=1, initial=0.0), pull.max(initial=0.0))
    with np.errstate(over="ignore"):  # the kernels ignore ``single`` where ``widest`` overflows single precision
        single = unit.astype(np.float32)
    return np.ascontiguousarray(a), t, single, widest, np.square(a).sum(axis=1)


def trivial_incumbent(reduced: ReducedZeroOneProblem) -> Incumbent:
    """Return the better of w = 0 and, with a free intercept, b = ±1."""
    p = reduced.problem.penalised.size
    incumbent = Incumbent(np.zeros(p), math.inf)
    incumbent.offer(reduced, np.zeros(p))
    if reduced.free:
        for b in (-1.0, 1.0):
            incumbent.offer(reduced, np.where(reduced.problem.penalised, 0.0, b))
    return incumbent


def hinge_path(reduced: ReducedZeroOneProblem, deadline: float = math.inf) -> FloatArray:
    """Return the minimisers of the hinge problems with slopes λ_i/(1 - l), l in {0, -1, -3, -10, -30}: (5, k) starting points.

    Where the next solve would end after ``deadline`` (of ``time.perf_counter``) the last point found is repeated.
    """
    from ..exact.loops.newton import empty_relaxation, newton

    n, p = reduced.rows.shape
    width = np.full(p, 4.0 * math.sqrt(max(reduced.trivial, 1e-300)))
    if reduced.free:
        width[-1] = reduced.intercept_bound(reduced.trivial)
    relaxation = empty_relaxation(n, p)
    relaxation.rows[:], relaxation.b[:], relaxation.q[:] = reduced.rows.T, 1.0, 0.0
    starts, w, elapsed = [], np.zeros(p), 0.0
    for low in (0.0, -1.0, -3.0, -10.0, -30.0):
        relaxation.cap[:] = reduced.weights / (1.0 - low)
        for smoothing in (1.0, 0.1, 0.01):
            start = time.perf_counter()
            if start + 2.0 * elapsed >= deadline:  # the next solve may take twice as long as the last one
                break
            relaxation.h[:] = relaxation.cap / ((1.0 - low) * smoothing)
            newton(relaxation, n, 0.0, -width, width, w, np.inf, 1e-6)
            elapsed = time.perf_counter() - start
        starts.append(w.copy())
    return np.array(starts)
