"""Projected Newton steps on the free variables of a box QP (Bertsekas 1982): few, and exact once the free set is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpotrs

from ...models.arrays import BoolArray, FloatArray
from ...models.views import BoxQP

__all__ = ["FinishRun", "newton_steps", "restricted_solver"]

#: Multiple of the mean diagonal added to Q on the free variables, which may be singular there.
_SHIFT = 1e-12


@dataclass(frozen=True, eq=False)
class FinishRun:
    """The best point found by a finisher, its gap, the number of steps, and the scalar operations used."""

    a: FloatArray
    gap: float
    steps: int
    operations: float


def newton_steps(
    view: BoxQP, diagonal: FloatArray, a: FloatArray, gradient: FloatArray, aim: Callable[[], float], *, patient: bool = False
) -> FinishRun:
    """Take at most 30 steps from a, until the gap is at most ``aim()`` or no step lowers the objective.

    Unless ``patient``, stop as well if two steps lower the gap less than tenfold: far from the right free set the steps wander,
    and coordinate descent finds that set at a lower cost.
    """
    a, g = a.copy(), gradient.copy()
    best, best_gap, operations, steps = a, view.gap(a, g), 0.0, 0
    r = view.width
    gaps = [best_gap]
    free, solve = np.zeros(view.n, dtype=bool), None
    for _ in range(30):
        now = _free(view, a, g)
        operations += 6.0 * view.n * r
        if solve is None or (now != free).any():  # on the same free set a step is one of iterative refinement
            free = now
            size = int(np.count_nonzero(free))
            operations += size * size * ((0 if view.gram is not None else r) + size / 3.0)
            solve = restricted_solver(view, diagonal, free)
        moved = None if solve is None else _step(view, diagonal, a, g, free, solve)
        if moved is None:
            break
        steps += 1
        a, g = moved
        gap = view.gap(a, g)
        if gap < best_gap:
            best, best_gap = a, gap
        gaps.append(best_gap)
        if gap <= aim() or (not patient and steps >= 2 and best_gap > 0.1 * gaps[-3]):
            break
    return FinishRun(best, best_gap, steps, operations)


def _free(view: BoxQP, a: FloatArray, g: FloatArray) -> BoolArray:
    """Return the variables not held at (or within a small distance of) a bound by their gradient.

    The distance is as long as the projected gradient step (Bertsekas): it vanishes at the optimum. A fixed distance would hold a
    variable with a small positive value at its bound for ever.
    """
    move = float(np.abs(a - np.clip(a - g, view.lower, view.upper)).max(initial=0.0))
    distance = np.minimum(1e-3 * (view.upper - view.lower), move)
    return np.asarray(~(((a <= view.lower + distance) & (g > 0)) | ((a >= view.upper - distance) & (g < 0))))


def restricted_solver(view: BoxQP, diagonal: FloatArray, free: BoolArray) -> Callable[[FloatArray], FloatArray] | None:
    """Return the solver of Q on the free variables; None if Q is not positive definite there."""
    F = np.flatnonzero(free)
    if not F.size:
        return lambda b: b
    Q = view.among(F)
    Q[np.diag_indices(F.size)] += view.ridge[F] + _SHIFT * float(diagonal.mean())
    try:
        factor, _ = scipy.linalg.cho_factor(Q, lower=True, overwrite_a=True)
    except np.linalg.LinAlgError:
        return None
    return lambda b: np.asarray(dpotrs(factor, b, lower=1)[0])


def _step(
    view: BoxQP, diagonal: FloatArray, a: FloatArray, g: FloatArray, free: BoolArray, solve: Callable[[FloatArray], FloatArray]
) -> tuple[FloatArray, FloatArray] | None:
    """Return the point of one projected Newton step with Armijo's rule along the projection arc, and its gradient; None if no
    step descends.
    """
    d = np.zeros(view.n)
    bound_variables = ~free & (diagonal > 0)
    d[bound_variables] = -g[bound_variables] / diagonal[bound_variables]
    d[free] = -solve(g[free])
    f = view.objective(a, g)
    length = 1.0
    while length > 1e-7:
        moved = np.clip(a + length * d, view.lower, view.upper)
        change = moved - a
        turned = view.product(change) + view.ridge * change
        # f(moved) - f(a) = g'change + ½ change'Q change, without the cancellation of two large objectives
        rise = float(g @ change) + 0.5 * float(change @ turned)
        if rise < 0.0 and rise <= 1e-4 * float(g @ change) and abs(rise) > 1e-17 * abs(f):
            return moved, g + turned
        length *= 0.5
    return None
