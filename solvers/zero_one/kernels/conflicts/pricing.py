"""Pricing: which constraint the dual method takes up, in single precision where that tells.

Whatever violated constraint is taken up serves. Which one decides how many points a conflict has, and so how many nodes a search
needs; finding it is most of the method's time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import EPS, inner
from .records import KEEN_AWAY, LANES, VIOLATE, Active, Rows, Scratch, Violations, dot

#: Violations that are none.
_NEAR = 1e-11
#: Share of the largest violation that makes a candidate; least share of its squared norm that counts as left of a row.
_WORTH, _FLAT = 0.5, 0.05
#: Single precision, how keenly it may count, how many times its error the largest violation is to be, and what is too large.
SINGLE_EPS, _KEENEST, _CLEAR, _WIDEST = 2.0**-24, KEEN_AWAY, 20.0, 1e30


@inner
def threshold(tau: float, second: int) -> float:
    """By what a point's row is divided in a constraint: 1 - η, or -(1 + η) where computed margins are at most 1 + η."""
    return tau if second != VIOLATE else -(2.0 - tau) * (1.0 + 4.0 * EPS)


@inner
def weigh(rows: Rows, ok: Any, keen: Any, found: Violations, unit: bool) -> None:
    """How each point's violation counts, and what its margin is to reach; ``unit``: rows of norm 1."""
    scale, level, tau, pull = found.scale, found.level, rows.tau, rows.pull
    for i in range(ok.size):
        size = pull[i] if unit else 1.0
        scale[i] = pull[i] / size * keen[i] if ok[i] else 0.0
        level[i] = size * (tau[i] - _NEAR if keen[i] > 0.0 else _NEAR - threshold(tau[i], VIOLATE))


@inner
def _violate(t: Any, w: Any, found: Violations) -> float:
    """By how much the points are violated at w, scaled; the largest, 0 where none is. Few branches: speed."""
    # Arrays of their own: read through the records at every step the loops below take four times as long.
    v, u, grid, tops, scale, level = found.w, found.value, found.grid, found.tops, found.scale, found.level
    p, n = t.shape
    for j in range(p):
        v[j] = w[j]
    for i in range(n):
        u[i] = level[i]
    j = 0  # four coordinates in a pass: the loop waits for ``u``, not for the arithmetic
    while j + 3 < p:
        a, b, c, d = v[j], v[j + 1], v[j + 2], v[j + 3]
        for i in range(n):
            u[i] -= a * t[j, i] + b * t[j + 1, i] + c * t[j + 2, i] + d * t[j + 3, i]
        j += 4
    while j < p:
        a = v[j]
        for i in range(n):
            u[i] -= a * t[j, i]
        j += 1
    for i in range(n):
        u[i] *= scale[i]
    for k in range(LANES):
        tops[k] = 0.0
    for r in range(grid.shape[0]):
        for k in range(LANES):
            tops[k] = max(tops[k], grid[r, k])
    most = 0.0
    for k in range(LANES):
        most = max(most, tops[k])
    return most


@inner
def _single_error(rows: Rows, w: Any) -> float:
    """By how much a scaled violation in single precision may be off: of a dot product of p terms, counted most keenly."""
    p = w.size
    size = rows.widest[p]
    for j in range(p):
        size += abs(w[j]) * rows.widest[j]
    return _KEENEST * SINGLE_EPS * (p + 4) * size


@inner
def farthest(rows: Rows, ok: Any, keen: Any, active: Active, q: int, scratch: Scratch) -> tuple[int, int, float]:
    """The constraint to take up: (point, -1 or `VIOLATE`, violation); (-1, -1, 0) where all are met.

    In single precision where its error is small beside the largest violation: whatever is taken up, it is violated.
    """
    found = scratch.single
    most = _violate(rows.single, active.w, found)
    if _CLEAR * _single_error(rows, active.w) < most < _WIDEST:
        first = _steepest(rows, active, q, found.grid, found.tops, _WORTH * most)
        scale = found.scale[first] * rows.pull[first]
        return first, -1 if scale > 0.0 else VIOLATE, found.value[first] / abs(scale) + _NEAR
    exact = scratch.double
    weigh(rows, ok, keen, exact, False)
    most = _violate(rows.t, active.w, exact)
    if not most > 0.0:
        return -1, -1, 0.0
    first = _steepest(rows, active, q, exact.grid, exact.tops, _WORTH * most)
    return first, -1 if exact.scale[first] > 0.0 else VIOLATE, exact.value[first] / abs(exact.scale[first]) + _NEAR


@inner
def _steepest(rows: Rows, active: Active, q: int, grid: Any, tops: Any, least: float) -> int:
    """Of the most violated points of each lane, those violated by ``least``, the one that raises the norm the most.

    A step along what the active constraints leave of a_i, of norm r_i, gains (violation/r_i)²: steepest edge. Conflicts have
    fewer points so, and more of them fit into a packing.
    """
    a, size, pull, V = rows.a, rows.size, rows.pull, active.V
    first, best, per = 0, -1.0, 1.0  # the steepest so far, its gain as best/per: nothing is divided
    for k in range(LANES):
        if not tops[k] >= least:
            continue
        r = 0
        while grid[r, k] != tops[k]:
            r += 1
        i = r * LANES + k
        rest = size[i]
        for c in range(q):
            x = dot(V[c], a[i])
            rest -= x * x
        rest = min(max(rest * pull[i] * pull[i], _FLAT), 1.0)
        gain = 1.0 * tops[k]  # in double precision
        gain *= gain
        if gain * per > best * rest:
            first, best, per = i, gain, rest
    return first


@inner
def widest_pair(rows: Rows, ok: Any, keen: Any, w: Any, u: Any) -> tuple[int, int, float]:
    """The most violated pair of points, for a free intercept: (one, the other, violation); (-1, -1, 0) where all are met."""
    across, tau, sign, pull = rows.t, rows.tau, rows.sign, rows.pull
    p, n = across.shape
    low0 = low1 = np.inf
    for i in range(n):
        u[i] = -tau[i]
    for j in range(p):
        f = w[j]
        if f != 0.0:
            for i in range(n):
                u[i] += f * across[j, i]
    for i in range(n):
        if ok[i] and keen[i] > 0.0:
            t = u[i]
            if sign[i] >= 0:
                low0 = min(low0, t)
            else:
                low1 = min(low1, t)
    if not low0 + low1 < -2.0 * _NEAR:
        return -1, -1, 0.0
    b = 0.5 * (low1 - low0)
    first = second = -1
    most0 = most1 = 0.0
    for i in range(n):
        if ok[i] and keen[i] > 0.0:
            t = -(u[i] + sign[i] * b) * pull[i] * keen[i]
            if sign[i] >= 0:
                if t > most0:
                    most0, first = t, i
            elif t > most1:
                most1, second = t, i
    if second < 0:
        return -1, -1, 0.0
    return first, second, -0.5 * (low0 + low1)
