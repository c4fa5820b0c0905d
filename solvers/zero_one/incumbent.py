"""Feasible points: the multi-start heuristic, the exact polish, and the record of the best one."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from .reduced import Reduced, evaluate

__all__ = ["Incumbent", "Polish", "hinge_path", "penalised_rows", "stretched_rows", "trivial_incumbent"]

#: What "nearly 1" may mean: rounding of a good solve, of a bad one, of an iterative method.
_NEAR = (1e-12, 1e-9, 1e-7)


#: Share of the objective by which a stretched intercept may weaken a certificate of the conflict search.
_LEAK = 1e-4
#: Share of the median norm below which a row counts as no shorter: violations are compared as distances, and a point at the
#: origin is at an infinite one.
_SHORTEST = 0.1


@dataclass
class Incumbent:
    """The best point so far, in stated coordinates, with its true objective."""

    w: FloatArray
    value: float

    def offer(self, reduced: Reduced, w: FloatArray) -> bool:
        """Take w, scaled up so that margins nearly 1 (to each of `_NEAR`) are exactly met, if it is better."""
        better = False
        for near in _NEAR:
            value, scaled = evaluate(reduced.problem, w, near)
            if value < self.value:
                self.w, self.value, better = scaled, value, True
        return better


@dataclass(frozen=True, eq=False)
class Polish:
    """Hard-margin re-solve: the least norm that keeps a given set of points."""

    reduced: Reduced
    rows: Any

    @classmethod
    def of(cls, reduced: Reduced) -> Polish:
        """The reduced rows as the dual active-set method reads them."""
        return cls(reduced, penalised_rows(reduced, np.ones(len(reduced.weights))))

    def solve(self, kept: BoolArray, below: float = math.inf) -> FloatArray | None:
        """Stated w of least norm with margins at least 1 on the reduced rows ``kept``.

        None where that fails, or where the squared norm is found to be at least ``below`` (reduced).
        """
        from .kernels.conflicts import OPTIMUM, active_set, empty_scratch, no_active

        rows, reduced = self.rows, self.reduced
        n, p = rows.a.shape
        active = no_active(p)
        status, _ = active_set(rows, kept, np.ones(n), below, active, empty_scratch(n, p))
        if status != OPTIMUM:
            return None
        q = int(active.count[0])
        v = active.w
        if q:
            refined = np.linalg.lstsq(active.g[:q], np.ones(q), rcond=None)[0]
            if np.abs(rows.a[kept] @ (refined - v)).max(initial=0.0) < 1e-6:
                v = refined
        if not reduced.free:
            return reduced.expand(v)
        margins = rows.a @ v
        low, high = 1.0 - margins[kept & (rows.sign > 0)], margins[kept & (rows.sign < 0)] - 1.0
        if low.size and high.size:
            b = 0.5 * (float(low.max()) + float(high.min()))
        else:
            b = float(low.max()) if low.size else float(high.min(initial=-1.0))
        return reduced.expand(np.append(v, b / reduced.stretch))

    def improve(self, incumbent: Incumbent, v: FloatArray, near: float = 1e-7) -> bool:
        """Offer T v, then the least norm that keeps what T v keeps (to ``near``), until nothing improves."""
        reduced = self.reduced
        found = incumbent.offer(reduced, reduced.expand(v))
        for _ in range(3):
            w = self.solve(reduced.rows @ v >= 1.0 - near)
            if w is None or not incumbent.offer(reduced, w):
                break
            found = True
            v = reduced.contract(incumbent.w)
        return found


def penalised_rows(reduced: Reduced, tau: FloatArray) -> Any:
    """`kernels.conflicts.Rows` of the reduced rows with thresholds ``tau``."""
    from .kernels.conflicts import Rows

    n = len(reduced.weights)
    a = np.ascontiguousarray(reduced.rows[:, :-1] if reduced.free else reduced.rows)
    sign = np.sign(reduced.rows[:, -1]) if reduced.free else np.zeros(n)
    pull = 1.0 / np.maximum(np.linalg.norm(a, axis=1), 1e-300)
    return Rows(*_layouts(a, pull), sign, np.ascontiguousarray(tau), pull, reduced.free, 0.0, False)


def stretched_rows(reduced: Reduced, tau: FloatArray, upper: float) -> Any:
    """The same with the intercept as a coordinate whose square, at most a 1e-5th of ``upper``, stays in the norm."""
    from .kernels.conflicts import Rows

    if not reduced.free:
        exact = penalised_rows(reduced, tau)
        a, t, single, widest, size = _layouts(_padded(exact.a), exact.pull)
        return exact._replace(a=a, t=t, single=single, widest=widest, size=size)
    reach = reduced.intercept_bound(upper) * reduced.stretch
    stretch = reach / math.sqrt(_LEAK * upper)
    a = reduced.rows.copy()
    a[:, -1] = np.sign(a[:, -1]) * stretch
    norms = np.linalg.norm(a[:, :-1], axis=1)
    pull = 1.0 / np.maximum(norms, max(_SHORTEST * float(np.median(norms)), 1e-300))
    reach = reach / stretch * (1 + 1e-15)
    return Rows(*_layouts(_padded(a), pull), np.zeros(len(a)), np.ascontiguousarray(tau), pull, False, reach, True)


def _padded(a: FloatArray) -> FloatArray:
    """With coordinates of zeros before the others, a multiple of four in all: what is left of vectors of four costs more."""
    return np.pad(a, ((0, 0), (-a.shape[1] % 4, 0)))


def _layouts(a: FloatArray, pull: FloatArray) -> tuple[FloatArray, FloatArray, Any, FloatArray, FloatArray]:
    """The rows, transposed, those of norm 1 in single precision, their largest entries by coordinate, and squared norms."""
    t = np.ascontiguousarray(a.T)
    unit = t * pull
    widest = np.append(np.abs(unit).max(axis=1, initial=0.0), pull.max(initial=0.0))
    with np.errstate(over="ignore"):  # where ``widest`` is beyond single precision nothing is read from it
        single = unit.astype(np.float32)
    return np.ascontiguousarray(a), t, single, widest, np.square(a).sum(axis=1)


def trivial_incumbent(reduced: Reduced) -> Incumbent:
    """w = 0 and, with a free intercept, b = ±1."""
    p = reduced.problem.penalised.size
    best = Incumbent(np.zeros(p), math.inf)
    best.offer(reduced, np.zeros(p))
    if reduced.free:
        for b in (-1.0, 1.0):
            best.offer(reduced, np.where(reduced.problem.penalised, 0.0, b))
    return best


def hinge_path(reduced: Reduced, deadline: float = math.inf) -> FloatArray:
    """Minimisers of the hinge problems with slopes λ_i/(1 - l), l in {0, -1, -3, -10, -30}: (5, k) starts.

    Where the next would end after ``deadline`` (of ``time.perf_counter``) those that are left are the last point found.
    """
    from .kernels.boxes import empty_relaxation, newton

    n, p = reduced.rows.shape
    width = np.full(p, 4.0 * math.sqrt(max(reduced.trivial, 1e-300)))
    if reduced.free:
        width[-1] = reduced.intercept_bound(reduced.trivial)
    relaxation = empty_relaxation(n, p)
    relaxation.rows[:], relaxation.b[:], relaxation.q[:] = reduced.rows.T, 1.0, 0.0
    starts, w, took = [], np.zeros(p), 0.0
    for low in (0.0, -1.0, -3.0, -10.0, -30.0):
        relaxation.cap[:] = reduced.weights / (1.0 - low)
        for smooth in (1.0, 0.1, 0.01):
            begun = time.perf_counter()
            if begun + 2.0 * took >= deadline:  # they may take twice as long as the one before
                break
            relaxation.h[:] = relaxation.cap / ((1.0 - low) * smooth)
            newton(relaxation, n, 0.0, -width, width, w, np.inf, 1e-6)
            took = time.perf_counter() - begun
        starts.append(w.copy())
    return np.array(starts)
