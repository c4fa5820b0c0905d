"""Projected Newton steps on the free variables of a box QP (Bertsekas 1982): few, and exact once the free set is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ...models.arrays import BoolArray, FloatArray
from ...models.views import BoxQP

__all__ = ["FinishRun", "newton_steps"]

#: Multiple of the mean diagonal added to Q on the free variables, which may be singular there.
_SHIFT = 1e-12


@dataclass(frozen=True, eq=False)
class FinishRun:
    """Best point found by a finisher, its gap, steps taken, and scalar operations used."""

    a: FloatArray
    gap: float
    steps: int
    operations: float


def newton_steps(
    view: BoxQP, diagonal: FloatArray, a: FloatArray, gradient: FloatArray, aim: Callable[[], float], *, patient: bool = False
) -> FinishRun:
    """At most 30 steps from a, until the gap is at most ``aim()`` or no step lowers the objective.

    Unless ``patient``, also until two steps lower the gap less than tenfold: far from the right free set the steps wander, and
    coordinate descent finds it for less.
    """
    a, g = a.copy(), gradient.copy()
    best, best_gap, operations, steps = a, view.gap(a, g), 0.0, 0
    r = view.width
    gaps = [best_gap]
    for _ in range(30):
        free = _free(view, a, g)
        size = int(np.count_nonzero(free))
        operations += size * size * ((0 if view.gram is not None else r) + size / 3.0) + 6.0 * view.n * r
        moved = _step(view, diagonal, a, g, free)
        if moved is None:
            break
        steps += 1
        a = moved
        g = view.gradient(a)
        gap = view.gap(a, g)
        if gap < best_gap:
            best, best_gap = a, gap
        gaps.append(best_gap)
        if gap <= aim() or (not patient and steps >= 2 and best_gap > 0.1 * gaps[-3]):
            break
    return FinishRun(best, best_gap, steps, operations)


def _free(view: BoxQP, a: FloatArray, g: FloatArray) -> BoolArray:
    """Variables not held at (or within a whisker of) a bound by their gradient."""
    near = np.minimum(1e-3 * (view.upper - view.lower), float(np.abs(g).max(initial=0.0)))
    return np.asarray(~(((a <= view.lower + near) & (g > 0)) | ((a >= view.upper - near) & (g < 0))))


def _step(view: BoxQP, diagonal: FloatArray, a: FloatArray, g: FloatArray, free: BoolArray) -> FloatArray | None:
    """One projected Newton step with Armijo's rule along the projection arc; None where no step lowers the objective."""
    d = np.zeros(view.n)
    held = ~free & (diagonal > 0)
    d[held] = -g[held] / diagonal[held]
    F = np.flatnonzero(free)
    if F.size:
        Q = view.among(F)
        Q[np.diag_indices(F.size)] += view.ridge[F] + _SHIFT * float(diagonal.mean())
        try:
            d[F] = -scipy.linalg.cho_solve(scipy.linalg.cho_factor(Q, lower=True, overwrite_a=True), g[F])
        except np.linalg.LinAlgError:
            return None
    f = view.objective(a, g)
    length = 1.0
    while length > 1e-7:
        moved = np.clip(a + length * d, view.lower, view.upper)
        change = moved - a
        # f(moved) - f(a) = g'change + ½ change'Q change, without the cancellation of two large objectives
        rise = float(g @ change) + 0.5 * float(change @ (view.product(change) + view.ridge * change))
        if rise < 0.0 and rise <= 1e-4 * float(g @ change) and abs(rise) > 1e-17 * abs(f):
            return moved
        length *= 0.5
    return None
