"""Compiled steps of the Frank-Wolfe family on the unit simplex: toward, away, pair, with exact line search."""

from __future__ import annotations

from typing import Any

from ....interface.numba_flags import inner
from .support import axpy, column_of, enter, extremes, leave

__all__ = ["BLENDED", "BUDGET", "COLUMN", "FW", "MFW", "PAIRWISE", "RULE", "STUCK", "away", "step_of", "toward"]

# Methods.
FW, MFW, PAIRWISE, BLENDED = 0, 1, 2, 3
# Why a run returned.
BUDGET, COLUMN, RULE, STUCK = 0, 1, 2, 3
# Kinds of step: places in `iteration.STEPS`.
TOWARD, AWAY, DROP, PAIR = 1, 2, 3, 4


@inner
def _note(now: Any, drop: bool, kind: int) -> None:
    """Count a step that takes weight away."""
    now.kind = DROP if drop else kind
    if drop:
        now.drops += 1
    elif kind == AWAY:
        now.aways += 1
    else:
        now.pairs += 1


@inner
def toward(w: Any, i: int) -> bool:
    """a ← (1 - λ)a + λe_i, λ = [a'∇ - ∇_i]/(a'Qa - 2(Qa)_i + Q_ii) clipped to [0, 1]."""
    s = column_of(w, i)
    if s < 0:
        return False
    scale, quadratic, linear = w.now.scale, w.now.quadratic, w.now.linear
    product = scale * w.h[i]
    slope = quadratic + linear - product - w.c[i]
    curvature = quadratic - 2.0 * product + w.diagonal[i]
    step = 1.0
    if curvature > slope:
        step = slope / curvature
    if step >= 1.0:
        while w.now.active > 0:
            leave(w, w.support[w.now.active - 1])
        w.now.scale = 1.0
        column = w.columns[s]
        for k in range(w.h.size):
            w.h[k] = column[k]
        enter(w, i, 1.0)
        w.now.quadratic, w.now.linear = w.diagonal[i], w.c[i]
    else:
        w.now.scale = scale * (1.0 - step)
        weight = step / w.now.scale
        enter(w, i, weight)
        axpy(w.h, weight, w.columns[s])
        w.now.quadratic = (1.0 - step) ** 2 * quadratic + 2.0 * step * (1.0 - step) * product + step**2 * w.diagonal[i]
        w.now.linear = (1.0 - step) * linear + step * w.c[i]
    w.now.kind = TOWARD
    w.now.towards += 1
    return True


@inner
def away(w: Any, j: int) -> bool:
    """a ← (1 + λ)a - λe_j, λ = [∇_j - a'∇]/(a'Qa - 2(Qa)_j + Q_jj) ≤ a_j/(1 - a_j): a drop where the bound holds."""
    s = column_of(w, j)
    if s < 0:
        return False
    scale, quadratic, linear = w.now.scale, w.now.quadratic, w.now.linear
    weight = scale * w.a[j]
    product = scale * w.h[j]
    slope = product + w.c[j] - quadratic - linear
    curvature = quadratic - 2.0 * product + w.diagonal[j]
    longest = weight / (1.0 - weight)
    drop = slope >= longest * curvature
    step = longest if drop else slope / curvature
    w.now.scale = scale * (1.0 + step)
    change = -step / w.now.scale
    axpy(w.h, change, w.columns[s])
    if drop:
        leave(w, j)
    else:
        w.a[j] += change
    w.now.quadratic = (1.0 + step) ** 2 * quadratic - 2.0 * step * (1.0 + step) * product + step**2 * w.diagonal[j]
    w.now.linear = (1.0 + step) * linear - step * w.c[j]
    _note(w.now, drop, AWAY)
    return True


@inner
def pair(w: Any, i: int, j: int) -> bool:
    """a ← a + λ(e_i - e_j), λ = [∇_j - ∇_i]/(Q_ii + Q_jj - 2Q_ij) ≤ a_j: a drop where the bound holds."""
    s = column_of(w, i)
    if s < 0:
        return False
    t = column_of(w, j)
    if t < 0:
        return False
    scale = w.now.scale
    weight = scale * w.a[j]
    hi, hj = scale * w.h[i], scale * w.h[j]
    slope = hj + w.c[j] - hi - w.c[i]
    curvature = w.diagonal[i] + w.diagonal[j] - 2.0 * w.columns[s, j]
    drop = slope >= weight * curvature
    step = weight if drop else slope / curvature
    change = step / scale
    axpy(w.h, change, w.columns[s])
    axpy(w.h, -change, w.columns[t])
    enter(w, i, change)
    if drop:
        leave(w, j)
    else:
        w.a[j] -= change
    w.now.quadratic += 2.0 * step * (hi - hj) + step**2 * curvature
    w.now.linear += step * (w.c[i] - w.c[j])
    _note(w.now, drop, PAIR)
    return True


@inner
def step_of(w: Any, method: int, allowed: bool) -> int:
    """One step of a method from the vertex found by `scan`; COLUMN where one is missing."""
    i = w.now.vertex
    if method == FW or not allowed or w.now.active < 2:
        return BUDGET if toward(w, i) else COLUMN
    scale = w.now.scale
    mean = w.now.quadratic + w.now.linear
    j, near = extremes(w)
    descent = mean - scale * w.h[i] - w.c[i]
    worst = scale * w.h[j] + w.c[j]
    if method == MFW:
        done = toward(w, i) if descent >= worst - mean else away(w, j)
        return BUDGET if done else COLUMN
    local = worst - scale * w.h[near] - w.c[near]
    if method == BLENDED and local < descent:
        return BUDGET if toward(w, i) else COLUMN
    if method == BLENDED:
        i = near
    if i == j:
        return STUCK
    return BUDGET if pair(w, i, j) else COLUMN
