"""Primal-dual active sets on a box QP (Hintermüller, Ito, Kunisch 2002), a semismooth Newton method: few steps, often exact.

A step holds the variables of two sets at their bounds, minimises over all others as if these had no bounds, and moves to the
held set whoever passed a bound, to the others whoever's gradient points inwards. Sets that stay as they are solve the program.
Unlike projected steps (`newton`) it goes through points outside of the box, and so changes thousands of variables in one step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.views import BoxQP
from .newton import FinishRun, restricted_solver

__all__ = ["active_set_steps"]

_STEPS = 30
#: Steps on end that may leave as many changes of the sets as there were, before the method is given up.
_PATIENCE = 2


@dataclass(frozen=True, eq=False)
class _Sets:
    """The variables held at their lower and at their upper bounds; the others are free."""

    low: BoolArray
    high: BoolArray

    @classmethod
    def at(cls, view: BoxQP, diagonal: FloatArray, a: FloatArray, g: FloatArray) -> _Sets:
        """Return the sets of variables whose single step leaves the box or that are fixed."""
        alone = a - g / np.where(diagonal > 0.0, diagonal, 1.0)
        return cls._of(view, alone <= view.lower, alone >= view.upper)

    def after(self, view: BoxQP, x: FloatArray, g: FloatArray) -> _Sets:
        """The sets that the minimiser x and its gradient ask for."""
        free = ~(self.low | self.high)
        low = np.where(free, x < view.lower, self.low & (g > 0.0))
        return self._of(view, low, np.where(free, x > view.upper, self.high & (g < 0.0)))

    @classmethod
    def _of(cls, view: BoxQP, low: BoolArray, high: BoolArray) -> _Sets:
        low = low | (view.lower >= view.upper)
        return cls(low, high & ~low)

    def changes(self, other: _Sets) -> int:
        """Return the number of variables that are held elsewhere in the other."""
        return int(np.count_nonzero((self.low != other.low) | (self.high != other.high)))


def active_set_steps(
    view: BoxQP,
    diagonal: FloatArray,
    a: FloatArray,
    gradient: FloatArray,
    enough: Callable[[float, float], bool],
    deadline: float = math.inf,
) -> FinishRun:
    """Steps from a until the objective and twice the gap of the point in the box are ``enough``, or the sets no longer settle.

    That the changes of the sets become fewer is what convergence looks like: gaps rise by orders on the way. It is known for
    M-matrices and their like, and not for others, so a run may end without a better point than a. A step that would end after
    ``deadline``, by the clock of `time.perf_counter`, if it took as long as the longest so far, is not begun.
    """
    best, best_gap = a, view.gap(a, gradient)
    sets, x, free = _Sets.at(view, diagonal, a, gradient), a, _Free(view, diagonal)
    least, failures, steps = view.n + 1, 0, 0
    began, longest = time.perf_counter(), 0.0
    while steps < _STEPS and began + longest <= deadline and free.take(~(sets.low | sets.high)):
        steps += 1
        x = free.minimiser(np.where(sets.low, view.lower, np.where(sets.high, view.upper, x)))
        inside = np.clip(x, view.lower, view.upper)
        g = view.gradient(inside)
        gap = view.gap(inside, g)
        if gap < best_gap:
            best, best_gap = inside, gap
        if enough(view.objective(inside, g), 2.0 * gap):
            break
        wanted = sets.after(view, x, g if (inside == x).all() else view.gradient(x))
        changes = wanted.changes(sets)
        failures = 0 if changes < least else failures + 1
        if failures > _PATIENCE:
            break
        least, sets = min(least, changes), wanted
        began, longest = time.perf_counter(), max(longest, time.perf_counter() - began)
    return FinishRun(best, best_gap, steps, free.operations + 12.0 * view.n * view.width * steps)


@dataclass(eq=False)
class _Free:
    """The free variables, and the factor of their matrix."""

    view: BoxQP
    diagonal: FloatArray
    chosen: BoolArray | None = None
    solve: Callable[[FloatArray], FloatArray] | None = None
    operations: float = 0.0

    def take(self, chosen: BoolArray) -> bool:
        """Make these the free ones; whether their matrix has a factor. The one at hand is kept where they are the same."""
        if self.chosen is None or (chosen != self.chosen).any():
            size, width = int(np.count_nonzero(chosen)), 0 if self.view.gram is not None else self.view.width
            self.operations += size * size * (width + size / 3.0)
            self.chosen, self.solve = chosen, restricted_solver(self.view, self.diagonal, chosen)
        return self.solve is not None

    def minimiser(self, x: FloatArray) -> FloatArray:
        """Over the free variables, the others as in x; from the minimiser itself it is a step of iterative refinement."""
        assert self.chosen is not None
        assert self.solve is not None
        x[self.chosen] -= self.solve(self.view.gradient(x)[self.chosen])
        return x
