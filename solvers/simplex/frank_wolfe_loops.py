"""Compiled steps of the Frank-Wolfe methods: `frank_wolfe` calls `run_steps` and `run_sampled_steps`.

The problem is min f(a) = ½a'Qa + c'a on the unit simplex; ∇ = Qa + c, and λ is the length of a step. A *toward* step moves a
toward the vertex e_i of the simplex with the least ∇_i, an *away* step away from the e_j of the support with the largest, and a
*pair* step moves weight from j to i. ``w`` is the `FrankWolfeIterate`: the point a = σâ (``scale`` σ, ``a`` â) with ĥ = Qâ
(``h``), its support, and cached columns of Q.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..interface.numba_flags import entry, inner

#: Entries whose least one is sought at once: they stay in the first-level cache.
_BLOCK = 512


@entry
def find_vertex(w: Any) -> None:
    """Set ``vertex`` to argmin_i ∇_i, ∇ = σĥ + c."""
    scale = w.scalars.scale
    n = w.h.size
    best, block = np.inf, 0
    for b in range(0, n, _BLOCK):
        h = w.h[b : min(n, b + _BLOCK)]
        c = w.c[b : min(n, b + _BLOCK)]
        smallest = np.inf
        for k in range(h.size):
            v = scale * h[k] + c[k]
            if v < smallest:
                smallest = v
        if smallest < best:
            best, block = smallest, b
    for k in range(block, min(n, block + _BLOCK)):
        if scale * w.h[k] + w.c[k] <= best:
            block = k
            break
    w.scalars.vertex = block


@entry
def fold_scale(w: Any) -> None:
    """Multiply the scale σ into â and ĥ, normalise Σa = 1, and recompute a'Qa and c'a from the support."""
    scale = w.scalars.scale
    total = 0.0
    for t in range(w.scalars.active):
        total += w.a[w.support[t]]
    w.scalars.scale = 1.0
    for t in range(w.scalars.active):
        w.a[w.support[t]] /= total
    for k in range(w.h.size):
        w.h[k] /= total
    quadratic, linear = 0.0, 0.0
    for t in range(w.scalars.active):
        k = w.support[t]
        quadratic += w.a[k] * w.h[k]
        linear += w.a[k] * w.c[k]
    w.scalars.quadratic, w.scalars.linear = quadratic, linear
    if scale != 1.0:
        find_vertex(w)


@inner
def _add_column(h: Any, step: float, column: Any) -> None:
    for k in range(h.size):
        h[k] += step * column[k]


@inner
def _add_to_support(w: Any, i: int, weight: float) -> None:
    """Add a weight to â_i, which joins the support if it was not in it."""
    if w.place[i] < 0:
        t = w.scalars.active
        w.place[i], w.support[t] = t, i
        w.scalars.active = t + 1
    w.a[i] += weight


@inner
def _remove_from_support(w: Any, j: int) -> None:
    """Remove j from the support: the last member takes its place."""
    t = w.scalars.active - 1
    last_point, hole = w.support[t], w.place[j]
    w.support[hole], w.place[last_point] = last_point, hole
    w.place[j] = -1
    w.scalars.active = t
    w.a[j] = 0.0


@inner
def _away_and_local_vertices(w: Any) -> tuple[int, int]:
    """Return the points of the support with the largest and the smallest ∇: the away vertex and the local vertex."""
    scale = w.scalars.scale
    high, low = -np.inf, np.inf
    j, i = w.support[0], w.support[0]
    for t in range(w.scalars.active):
        k = w.support[t]
        v = scale * w.h[k] + w.c[k]
        if v > high:
            high, j = v, k
        if v < low:
            low, i = v, k
    return j, i


@inner
def _cached_slot(w: Any, i: int) -> int:
    """Return the slot of column i and stamp its use; -1, with ``missing`` = i, if it is not cached."""
    s = w.slot[i]
    if s < 0:
        w.scalars.missing = i
        return -1
    w.scalars.clock += 1
    w.stamp[s] = w.scalars.clock
    return int(s)


# Methods: toward steps alone; toward or away, whichever descends more; pair steps; toward steps or pair steps within the support.
FW, MFW, PAIRWISE, BLENDED = 0, 1, 2, 3
# Reasons why a run returned: steps used up, a column missing, the stopping rule met, no descent left.
BUDGET, COLUMN, RULE, STUCK = 0, 1, 2, 3
# Kinds of step: places in `frank_wolfe.STEP_KINDS`.
_TOWARD, _AWAY, _DROP, _PAIR = 1, 2, 3, 4


@inner
def _note(scalars: Any, drop: bool, kind: int) -> None:
    """Count a step that takes weight away."""
    scalars.kind = _DROP if drop else kind
    if drop:
        scalars.drops += 1
    elif kind == _AWAY:
        scalars.aways += 1
    else:
        scalars.pairs += 1


@inner
def _toward_step(w: Any, i: int) -> bool:
    """a ← (1 - λ)a + λe_i, λ = [a'∇ - ∇_i]/(a'Qa - 2(Qa)_i + Q_ii) clipped to [0, 1]."""
    s = _cached_slot(w, i)
    if s < 0:
        return False
    scale, quadratic, linear = w.scalars.scale, w.scalars.quadratic, w.scalars.linear
    product = scale * w.h[i]
    slope = quadratic + linear - product - w.c[i]
    curvature = quadratic - 2.0 * product + w.diagonal[i]
    step = 1.0
    if curvature > slope:
        step = slope / curvature
    if step >= 1.0:
        while w.scalars.active > 0:
            _remove_from_support(w, w.support[w.scalars.active - 1])
        w.scalars.scale = 1.0
        column = w.columns[s]
        for k in range(w.h.size):
            w.h[k] = column[k]
        _add_to_support(w, i, 1.0)
        w.scalars.quadratic, w.scalars.linear = w.diagonal[i], w.c[i]
    else:
        w.scalars.scale = scale * (1.0 - step)
        weight = step / w.scalars.scale
        _add_to_support(w, i, weight)
        _add_column(w.h, weight, w.columns[s])
        w.scalars.quadratic = (1.0 - step) ** 2 * quadratic + 2.0 * step * (1.0 - step) * product + step**2 * w.diagonal[i]
        w.scalars.linear = (1.0 - step) * linear + step * w.c[i]
    w.scalars.kind = _TOWARD
    w.scalars.towards += 1
    return True


@inner
def _away_step(w: Any, j: int) -> bool:
    """a ← (1 + λ)a - λe_j, λ = [∇_j - a'∇]/(a'Qa - 2(Qa)_j + Q_jj) ≤ a_j/(1 - a_j): a drop where the bound holds."""
    s = _cached_slot(w, j)
    if s < 0:
        return False
    scale, quadratic, linear = w.scalars.scale, w.scalars.quadratic, w.scalars.linear
    weight = scale * w.a[j]
    product = scale * w.h[j]
    slope = product + w.c[j] - quadratic - linear
    curvature = quadratic - 2.0 * product + w.diagonal[j]
    longest = weight / (1.0 - weight)
    drop = slope >= longest * curvature
    step = longest if drop else slope / curvature
    w.scalars.scale = scale * (1.0 + step)
    change = -step / w.scalars.scale
    _add_column(w.h, change, w.columns[s])
    if drop:
        _remove_from_support(w, j)
    else:
        w.a[j] += change
    w.scalars.quadratic = (1.0 + step) ** 2 * quadratic - 2.0 * step * (1.0 + step) * product + step**2 * w.diagonal[j]
    w.scalars.linear = (1.0 + step) * linear - step * w.c[j]
    _note(w.scalars, drop, _AWAY)
    return True


@inner
def _pair_step(w: Any, i: int, j: int) -> bool:
    """a ← a + λ(e_i - e_j), λ = [∇_j - ∇_i]/(Q_ii + Q_jj - 2Q_ij) ≤ a_j: a drop where the bound holds."""
    s = _cached_slot(w, i)
    if s < 0:
        return False
    t = _cached_slot(w, j)
    if t < 0:
        return False
    scale = w.scalars.scale
    weight = scale * w.a[j]
    hi, hj = scale * w.h[i], scale * w.h[j]
    slope = hj + w.c[j] - hi - w.c[i]
    curvature = w.diagonal[i] + w.diagonal[j] - 2.0 * w.columns[s, j]
    drop = slope >= weight * curvature
    step = weight if drop else slope / curvature
    change = step / scale
    _add_column(w.h, change, w.columns[s])
    _add_column(w.h, -change, w.columns[t])
    _add_to_support(w, i, change)
    if drop:
        _remove_from_support(w, j)
    else:
        w.a[j] -= change
    w.scalars.quadratic += 2.0 * step * (hi - hj) + step**2 * curvature
    w.scalars.linear += step * (w.c[i] - w.c[j])
    _note(w.scalars, drop, _PAIR)
    return True


@inner
def _take_step(w: Any, method: int, other_steps: bool) -> int:
    """Take one step of a method from ``vertex``; return BUDGET, COLUMN if a column is missing, or STUCK."""
    i = w.scalars.vertex
    if method == FW or not other_steps or w.scalars.active < 2:
        return BUDGET if _toward_step(w, i) else COLUMN
    scale = w.scalars.scale
    mean = w.scalars.quadratic + w.scalars.linear
    j, local_vertex = _away_and_local_vertices(w)
    descent = mean - scale * w.h[i] - w.c[i]
    worst = scale * w.h[j] + w.c[j]
    if method == MFW:
        status = _toward_step(w, i) if descent >= worst - mean else _away_step(w, j)
        return BUDGET if status else COLUMN
    local = worst - scale * w.h[local_vertex] - w.c[local_vertex]
    if method == BLENDED and local < descent:
        return BUDGET if _toward_step(w, i) else COLUMN
    if method == BLENDED:
        i = local_vertex
    if i == j:
        return STUCK
    return BUDGET if _pair_step(w, i, j) else COLUMN


#: Steps after which σ is multiplied in, so that rounding does not add up.
_FOLD = 1000


@entry
def run_steps(w: Any, method: int, other_steps: bool, iterations: int, tol: float, delta: float, square: float) -> int:
    """Take up to ``iterations`` steps of ``method`` (`FW`, ...), and return the reason for the end, `BUDGET` to `STUCK`.

    ``vertex`` is the argmin of ∇ before and after. Stops where the gap g = a'∇ - min ∇ obeys g ≤ tol·max(|f|, |f - g|), or, for
    delta > 0, where g ≤ ½δ(Δ² - 2f) with the kernel's constant diagonal Δ² = ``square``, 0 for the dual of a ball. That is the
    rule γ²/r² ≤ 1 + δ of Frandi et al. (2013), Algorithms 2 and 3, for a ball of radius r whose farthest point is at distance γ.
    STUCK: the step along the best direction no longer descends in floating-point arithmetic. Without ``other_steps`` all are
    toward steps.
    """
    for _ in range(iterations):
        if w.scalars.iteration % _FOLD == _FOLD - 1 or w.scalars.scale < 1e-100 or w.scalars.scale > 1e100:
            fold_scale(w)
        i = w.scalars.vertex
        gap = w.scalars.quadratic + w.scalars.linear - w.scalars.scale * w.h[i] - w.c[i]
        f = 0.5 * w.scalars.quadratic + w.scalars.linear
        w.scalars.gap = gap
        if delta > 0.0:
            if gap <= 0.5 * delta * (square - 2.0 * f):
                return RULE
        elif gap <= tol * max(abs(f), abs(f - gap)):
            return RULE
        if gap <= 0.0:
            return STUCK
        code = _take_step(w, method, other_steps)
        if code != BUDGET:
            return code
        w.scalars.iteration += 1
        find_vertex(w)
    i = w.scalars.vertex
    w.scalars.gap = w.scalars.quadratic + w.scalars.linear - w.scalars.scale * w.h[i] - w.c[i]
    return BUDGET


@inner
def _candidates(w: Any, sample: Any, support: bool) -> int:
    """``vertex`` = the best of the drawn points (and the ``support``), ``gap`` by it; returns the away vertex."""
    scale = w.scalars.scale
    j, i = _away_and_local_vertices(w)
    i = i if support else sample[0]
    value = scale * w.h[i] + w.c[i]
    for t in range(sample.size):
        k = sample[t]
        v = scale * w.h[k] + w.c[k]
        if v < value:
            value, i = v, k
    w.scalars.vertex = i
    w.scalars.gap = max(w.scalars.quadratic + w.scalars.linear - value, 0.0)
    return j


@entry
def run_sampled_steps(
    w: Any, samples: Any, support: bool, other_steps: bool, confirmed: int, tol: float, delta: float, square: float
) -> int:
    """Take a step for each row of ``samples``, toward or, with ``other_steps``, away if that promises more; return the reason.

    A row holds the indices of random points. These are the candidates for the vertex, with ``support`` also the support's points.
    From iteration ``confirmed`` on the run stops by the rule of `run_steps` on the candidates' gap. No step is taken for the row
    at which it returns RULE or COLUMN; the row must be passed again. Qa is updated on all points.
    """
    for t in range(samples.shape[0]):
        if w.scalars.iteration % _FOLD == _FOLD - 1 or w.scalars.scale < 1e-100 or w.scalars.scale > 1e100:
            fold_scale(w)
        j = _candidates(w, samples[t], support)
        gap = w.scalars.gap
        if w.scalars.iteration >= confirmed:
            f = 0.5 * w.scalars.quadratic + w.scalars.linear
            if delta > 0.0:
                if gap <= 0.5 * delta * (square - 2.0 * f):
                    return RULE
            elif gap <= tol * max(abs(f), abs(f - gap)):
                return RULE
        worst = w.scalars.scale * w.h[j] + w.c[j]
        if other_steps and w.scalars.active > 1 and worst - w.scalars.quadratic - w.scalars.linear > gap:
            status = _away_step(w, j)
        else:
            status = _toward_step(w, w.scalars.vertex)
        if not status:
            return COLUMN
        w.scalars.iteration += 1
    return BUDGET
