"""The compiled coordinate descent of ``boxqp``, and `BoxState`, the state of a run between its calls: point, gradient and gap.

The program is min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper, with a diagonal D. An *epoch* is a pass over the active variables.
A *round* is one call of the compiled loop: epochs until the spread of the projected gradients, the *violation*, is small enough
or the work is used up, after which gradient and gap are computed in float64.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, IntArray
from ...models.rounding import UNIT
from ...models.views import BoxQP
from ..interface.named_scalars import integers_and_floats
from ..interface.numba_flags import by_reference, entry, inlined, inner
from ..records import relative_gap


@inlined
def _shuffle(order: Any, active: int, scalars: Any) -> None:
    """Shuffle the active part (Fisher-Yates) by a 31-bit linear congruential generator."""
    x = scalars.stream
    for s in range(active - 1):
        x = (1103515245 * x + 12345) & 0x7FFFFFFF
        k = s + (x >> 8) % (active - s)
        t = order[s]
        order[s] = order[k]
        order[k] = t
    scalars.stream = x


@inner
def _epoch(p: Any, gram: bool) -> None:
    """Make one pass over the active set; with ``gram``, Z is the m × m matrix ZZ' and w = ZZ'a."""
    Z, q, lower, upper, ridge, diagonal, a, w, order, scalars = (
        p.Z, p.q, p.lower, p.upper, p.ridge, p.diagonal, p.a, p.w, p.order, p.scalars,
    )  # fmt: skip
    r = Z.shape[1]
    active = scalars.active
    _shuffle(order, active, scalars)
    scalars.work += active * (10 if gram else 2 * r + 20)
    high, low = -np.inf, np.inf
    s = 0
    while s < active:
        i = order[s]
        g = q[i] + ridge[i] * a[i]
        if gram:
            g += w[i]
        else:
            inner = Z.dtype.type(0.0)
            for j in range(r):
                inner += Z[i, j] * w[j]
            g += inner
        projected = g
        if a[i] <= lower[i]:
            if g > scalars.high or lower[i] >= upper[i]:
                active -= 1
                order[s] = order[active]
                order[active] = i
                continue
            projected = min(g, 0.0)
        elif a[i] >= upper[i]:
            if g < scalars.low:
                active -= 1
                order[s] = order[active]
                order[active] = i
                continue
            projected = max(g, 0.0)
        high, low = max(high, projected), min(low, projected)
        if projected != 0.0:
            if diagonal[i] > 0.0:
                new = min(max(a[i] - g / diagonal[i], lower[i]), upper[i])
            else:
                new = lower[i] if g > 0.0 else upper[i]
            d = new - a[i]
            if d != 0.0:
                a[i] = new
                scalars.updates += 1
                scalars.work += 2 * r
                step = Z.dtype.type(d)
                for j in range(r):
                    w[j] += step * Z[i, j]
        s += 1
    scalars.active = active
    scalars.epochs += 1
    scalars.high = high
    scalars.low = low


@entry
def descend(p: Any, gram: bool, violation: float, work: int) -> bool:
    """Run epochs until the spread of the projected gradients of *all* variables is at most ``violation``; return whether it is.

    ``p`` is a `_LoopProgram`, ``gram`` says whether ``p.Z`` is ZZ' itself, and ``work`` limits the scalar operations.
    """
    m, scalars = p.q.size, p.scalars
    stop = scalars.work + work
    while scalars.work < stop:
        _epoch(p, gram)
        spread = scalars.high - scalars.low if scalars.active > 0 else 0.0
        all_active = scalars.active == m
        if spread <= violation:
            # an epoch that began with every variable and dropped some has visited all of them
            scalars.active = m
            scalars.high, scalars.low = np.inf, -np.inf
            if all_active:
                return True
            _epoch(p, gram)
            if scalars.high - scalars.low <= violation:
                scalars.active = m
                scalars.high, scalars.low = np.inf, -np.inf
                return True
        if not scalars.high > 0.0:
            scalars.high = np.inf
        if not scalars.low < 0.0:
            scalars.low = -np.inf
        if scalars.active == 0:
            scalars.active = m
    return False


#: Numbers of the loop: active variables (the first ones in ``order``), epochs, scalar operations, changes of a variable, the
#: random generator's state; the largest and the smallest projected gradient of the last epoch.
_SCALARS = integers_and_floats("active epochs work updates stream", "high low")


@by_reference
class _LoopProgram(NamedTuple):
    """The program min ½a'(ZZ' + D)a + q'a over the box as the compiled loop reads it; it changes a, w, order and scalars."""

    Z: Any  #: (m, r), or (m, m) if ZZ' itself is stored
    q: Any  #: (m,) linear term
    lower: Any  #: (m,) lower bounds
    upper: Any  #: (m,) upper bounds
    ridge: Any  #: (m,) D
    diagonal: Any  #: (m,) diagonal of ZZ' + D
    a: Any  #: (m,) the point
    w: Any  #: Z'a, or ZZ'a if ZZ' is stored
    order: Any  #: (m,) variables, the active ones first
    scalars: Any  #: the numbers, by name (`_SCALARS`)


#: Rounds in a row without progress that end a run, and the share of the gap that counts as progress of the objective.
_IDLE, _SLOW = 10, 1e-6


@dataclass(eq=False)
class BoxState:
    """State of a run: a, its float64 gradient and gap, and the work arrays of the compiled loop.

    The loop minimises ½a'(ZZ' + D)a + linear'a. With a factor in single precision ZZ' acts only on the step from the last a
    whose gradient was computed: linear is then that gradient less D a, w is zero there, and rounding affects digits of the step
    alone.
    """

    view: BoxQP  #: the box QP
    tol: float  #: relative gap to be reached
    limit: float  #: largest number of epochs and steps of the finishers (Newton's and interior-point methods)
    a: FloatArray  #: (m,) the point
    #: (r,) Z'a, or (m,) ZZ'a if ZZ' is stored; with a factor in single precision, Z' times the step from the last refreshed a
    w: FloatArray
    linear: FloatArray  #: (m,) linear term of the loop
    gradient: FloatArray  #: (m,) float64 gradient at a
    diagonal: FloatArray  #: (m,) diagonal of ZZ' + D
    order: IntArray  #: (m,) variables in the order of the next epoch, the active ones first
    scalars: Any  #: numbers of the loop, by name (`_SCALARS`)
    violation: float  #: spread of the projected gradients at which the loop stops next
    deadline: float = float("inf")  #: by the clock of `time.perf_counter`; a finisher that would end later is not begun
    gap: float = float("inf")  #: duality gap at a
    objective: float = float("nan")  #: at a, in the form of the view
    finish_seconds: float = 0.0  #: estimated time of the finishers so far
    finish_steps: int = 0  #: Newton, active-set and interior-point steps so far
    newton_gap: float = float("inf")  #: gap at the last run of Newton's method
    interior: bool = False  #: whether the interior-point method was run
    stalled_rounds: int = 0  #: rounds at the smallest violation that did not lower the gap
    best: tuple[float, float] = (float("inf"), float("inf"))  #: least objective and gap after rounds that used up their work
    line_start: FloatArray | None = None  #: where the line of `extend_round` starts; None: at the next round's start
    idle_rounds: int = 0  #: rounds in a row, among those of ``best``, that lowered neither significantly
    step: str = ""  #: kind of the last step, for the trace

    @property
    def objective_and_bound(self) -> tuple[float, float]:
        """Objective and bound in the sense of the model's form."""
        return self._pair(self.objective, self.gap)

    def _pair(self, objective: float, gap: float) -> tuple[float, float]:
        """Return objective and bound of any point."""
        offset = self.view.offset
        return (objective, objective - gap) if offset is None else (offset - objective + gap, offset - objective)

    def converged(self) -> bool:
        """Return whether the relative gap is within the tolerance, or the gap itself at most 1e-15 (an optimum of zero)."""
        return self.meets_tolerance(self.objective, self.gap)

    def meets_tolerance(self, objective: float, gap: float) -> bool:
        """Return whether a point with this objective and gap would have converged."""
        return relative_gap(*self._pair(objective, gap)) <= self.tol or gap <= 1e-15

    def target_gap(self) -> float:
        """Return the gap that a finisher must reach."""
        return 0.5 * self.tol * max(map(abs, self.objective_and_bound))

    def refresh(self) -> None:
        """Recompute gradient, objective and gap in float64 from the data, and the loop's w and linear term.

        With a factor in single precision w becomes zero, and the linear term the float64 gradient less D a.
        """
        view = self.view
        self.linear = view.q
        if view.coarse is not None:
            self.w = np.zeros(view.width, dtype=np.float32)
            product = view.product(self.a) if self.a.any() else np.zeros(view.n)
            self.linear = product + view.q
        elif view.gram is None:
            self.w = view.Z.T @ self.a
            product = view.Z @ self.w
        else:
            product = self.w = view.gram @ self.a
        self.gradient = product + view.ridge * self.a + view.q
        self.objective = view.objective(self.a, self.gradient)
        self.gap = max(view.gap(self.a, self.gradient), 0.0)

    def refresh_and_bound_error(self) -> float:
        """Refresh, and return the error of the loop's gradient that rounding of Z causes; 0 if Z is in float64."""
        coarse = self.view.coarse
        if coarse is None:
            self.refresh()
            return 0.0
        coarse_gradient = self.linear + self.view.ridge * self.a + coarse.Z @ self.w
        self.refresh()
        return float(np.abs(coarse_gradient - self.gradient).max(initial=0.0))

    def rounding(self) -> float:
        """Return the rounding error of a gradient in float64, below which no violation can be reached."""
        view = self.view
        curved = float(self.a @ (self.gradient - view.q))  # a'(ZZ' + D)a, which bounds ||Z'a||²
        product = np.sqrt(float(self.diagonal.max(initial=0.0)) * max(curved, 0.0))
        size = float(product) + float(np.abs(view.q).max(initial=0.0)) + float(np.abs(view.ridge * self.a).max(initial=0.0))
        return 4.0 * UNIT * float(np.sqrt(view.width + 2.0)) * size

    def descend(self, work: int) -> bool:
        """Run the compiled loop for about ``work`` scalar operations; return whether it reached the violation."""
        view = self.view
        dense = view.Z if view.gram is None else view.gram
        problem = _LoopProgram(
            Z=dense if view.coarse is None else view.coarse.Z,
            q=self.linear,
            lower=view.lower,
            upper=view.upper,
            ridge=view.ridge,
            diagonal=self.diagonal,
            a=self.a,
            w=self.w,
            order=self.order,
            scalars=self.scalars,
        )
        return bool(descend(problem, view.gram is not None, self.violation, work))

    def extend_round(self, start: FloatArray) -> bool:
        """Minimise along the step of this round and earlier ones, within the box; return whether recent rounds made progress.

        The step starts at the round in which the last line began, so that it grows from round to round. A line ends with a search
        that does not improve, that is shorter than the step, or that meets the box. If `_IDLE` rounds in a row lower neither
        objective nor gap significantly, float64 gives no better point.
        """
        self.line_start = start if self.line_start is None else self.line_start
        step, improved = self.a - self.line_start, False
        for length in self._lengths(step):
            previous_point, objective = self.a.copy(), self.objective
            self.a[:] = np.clip(self.a + length * step, self.view.lower, self.view.upper)
            self.refresh()
            improved = self.objective < objective
            if improved:
                break
            self.a[:] = previous_point
            self.refresh()
        if not improved or length < 1.0 or ((self.a == self.view.lower) | (self.a == self.view.upper))[step != 0.0].any():
            self.line_start = None
        idle = self._idle()
        self.idle_rounds = self.idle_rounds + 1 if idle else 0
        self.best = min(self.best[0], self.objective), min(self.best[1], self.gap)
        if improved or idle:
            self.restart()
        return self.idle_rounds < _IDLE

    def _idle(self) -> bool:
        """Return whether the last round lowered neither objective nor gap significantly.

        If the terms of a gradient round by more than the violation, its sign is random. A decrease of the objective is then
        significant if a million of it would close the gap.
        """
        objective, gap = self.best
        if objective == np.inf or self.gap < 0.9 * gap:
            return False
        view, fall = self.view, objective - self.objective
        if fall <= 4.0 * UNIT * abs(objective):
            return True
        terms = np.abs(view.Z) @ (np.abs(view.Z).T @ np.abs(self.a)) if view.gram is None else np.abs(view.gram) @ np.abs(self.a)
        return fall < _SLOW * self.gap and self.violation < UNIT * float(np.max(terms, initial=0.0))

    def _lengths(self, step: FloatArray) -> tuple[float, ...]:
        """Return candidate step lengths: minimisers of the objective, projected onto the box, and up to its boundary."""
        view = self.view
        slope = float(self.gradient @ step)
        if not slope < 0.0:
            return ()
        curvature = float(step @ (view.product(step) + view.ridge * step))
        minimiser = -slope / curvature if curvature > 0.0 else np.inf
        moving = step != 0.0
        limits = np.where(step > 0.0, view.upper - self.a, self.a - view.lower)[moving] / np.abs(step[moving])
        return min(minimiser, float(limits.max())), min(minimiser, float(limits.min()))

    def restart(self) -> None:
        """Make every variable active again."""
        self.scalars.active, self.scalars.high, self.scalars.low = self.view.n, np.inf, -np.inf

    def use_float64(self) -> None:
        """Continue with Z in float64."""
        if self.view.coarse is not None:
            self.view = self.view.in_double_precision()
            self.diagonal = self.view.diagonal
            self.refresh()


def make_state(view: BoxQP, start: FloatArray | None, tol: float, limit: float, seed: int) -> BoxState:
    """Return the state of a new run at a start, by default at 0, clipped to the box.

    The other arguments are the fields of `BoxState`; ``seed`` is that of the random order of the variables.
    """
    if not (np.isfinite(view.lower).all() and np.isfinite(view.upper).all()):
        raise InputError("boxqp needs finite bounds on every variable")
    a = np.zeros(view.n) if start is None else np.asarray(start, dtype=np.float64)
    if a.shape != (view.n,) or not np.isfinite(a).all():
        raise InputError(f"the start of boxqp must hold {view.n} finite numbers; it has shape {a.shape}", name="start")
    a = np.clip(a, view.lower, view.upper)
    scalars = np.zeros(1, _SCALARS)[0]
    scalars.stream = seed
    state = BoxState(
        view, tol, limit, a, np.zeros(0), view.q, np.zeros(view.n), view.diagonal, np.arange(view.n), scalars, violation=1.0
    )
    state.restart()
    state.refresh()
    state.violation = 0.1 * max(float(np.abs(state.gradient).max(initial=0.0)), 1e-300)
    return state


@functools.cache
def load_descent(*, single: bool = False) -> None:
    """Compile the loop, or load it from the cache on disk, for Z in float32 (``single``) or float64."""
    ones, kind = np.ones(1), np.float32 if single else np.float64
    scalars = np.zeros(1, _SCALARS)[0]
    scalars.active = scalars.stream = 1
    Z, w = np.ones((1, 1), dtype=kind), np.zeros(1, dtype=kind)
    descend(
        _LoopProgram(Z, -ones, 0.0 * ones, ones, 0.0 * ones, ones, 0.0 * ones, w, np.zeros(1, dtype=np.int64), scalars),
        False,
        1e-9,
        1,
    )
