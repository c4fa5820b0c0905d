"""Compiled runs of the Frank-Wolfe family: steps until a stopping rule holds, on all points or on samples."""

from __future__ import annotations

from typing import Any

from ....interface.numba_flags import entry, inner
from .steps import BUDGET, COLUMN, RULE, STUCK, away, step_of, toward
from .support import extremes, fold, scan

__all__ = ["run", "run_sampled"]

#: Steps between two foldings of σ.
_FOLD = 1000


@entry
def run(w: Any, method: int, allowed: bool, iterations: int, tol: float, delta: float, square: float) -> int:
    """Up to ``iterations`` steps; ``vertex`` must be the argmin of ∇ on entry, as it is on return.

    Stops where the gap g = a'∇ - min ∇ obeys g ≤ tol·max(|f|, |f - g|), or, for delta > 0, where g ≤ ½δ(Δ² - 2f)
    (``square`` = Δ²), which is γ²/r² - 1 ≤ δ of FW's algorithms 2 and 3. STUCK: the step along the best direction
    no longer descends in floating-point arithmetic.
    """
    for _ in range(iterations):
        if w.now.iteration % _FOLD == _FOLD - 1 or w.now.scale < 1e-100 or w.now.scale > 1e100:
            fold(w)
        i = w.now.vertex
        gap = w.now.quadratic + w.now.linear - w.now.scale * w.h[i] - w.c[i]
        f = 0.5 * w.now.quadratic + w.now.linear
        w.now.gap = gap
        if delta > 0.0:
            if gap <= 0.5 * delta * (square - 2.0 * f):
                return RULE
        elif gap <= tol * max(abs(f), abs(f - gap)):
            return RULE
        if gap <= 0.0:
            return STUCK
        code = step_of(w, method, allowed)
        if code != BUDGET:
            return code
        w.now.iteration += 1
        scan(w)
    i = w.now.vertex
    w.now.gap = w.now.quadratic + w.now.linear - w.now.scale * w.h[i] - w.c[i]
    return BUDGET


@inner
def _candidates(w: Any, drawn: Any, support: bool) -> int:
    """``vertex`` = the best of the drawn points (and the ``support``), ``gap`` by it; returns the away vertex."""
    scale = w.now.scale
    j, i = extremes(w)
    i = i if support else drawn[0]
    value = scale * w.h[i] + w.c[i]
    for t in range(drawn.size):
        k = drawn[t]
        v = scale * w.h[k] + w.c[k]
        if v < value:
            value, i = v, k
    w.now.vertex = i
    w.now.gap = max(w.now.quadratic + w.now.linear - value, 0.0)
    return j


@entry
def run_sampled(w: Any, drawn: Any, support: bool, allowed: bool, confirmed: int, tol: float, delta: float, square: float) -> int:
    """One toward step, or away step where ``allowed`` and it promises more, for each row of ``drawn``; Qa is kept on all points.

    The candidates are the row's points, and the ``support`` where it is asked for. From iteration ``confirmed`` on it stops by
    the rule of `run` on their gap. The step behind RULE is not taken, nor that behind COLUMN, whose row is to be given again.
    """
    for t in range(drawn.shape[0]):
        if w.now.iteration % _FOLD == _FOLD - 1 or w.now.scale < 1e-100 or w.now.scale > 1e100:
            fold(w)
        j = _candidates(w, drawn[t], support)
        gap = w.now.gap
        if w.now.iteration >= confirmed:
            f = 0.5 * w.now.quadratic + w.now.linear
            if delta > 0.0:
                if gap <= 0.5 * delta * (square - 2.0 * f):
                    return RULE
            elif gap <= tol * max(abs(f), abs(f - gap)):
                return RULE
        worst = w.now.scale * w.h[j] + w.c[j]
        if allowed and w.now.active > 1 and worst - w.now.quadratic - w.now.linear > gap:
            done = away(w, j)
        else:
            done = toward(w, w.now.vertex)
        if not done:
            return COLUMN
        w.now.iteration += 1
    return BUDGET
