"""Goldfarb and Idnani's dual active-set method, with certified norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import EPS, entry, inner
from .factors import back_solve, exclude, extend, include, orthogonalise
from .records import CONFLICT, KEEN_AWAY, LANES, OPTIMUM, TROUBLE, VIOLATE, Active, Rows, Scratch, Violations, dot

#: Violations that are none.
_NEAR = 1e-11
#: Share of the largest violation that makes a candidate; least share of its squared norm that counts as left of a row.
_WORTH, _FLAT = 0.5, 0.05
#: Single precision, how keenly it may count, and how many times its error the largest violation is to be.
SINGLE_EPS, _KEENEST, _CLEAR = 2.0**-24, KEEN_AWAY, 20.0


@inner
def asked(second: int) -> float:
    """The right side of a constraint of an S-pair: g'w ≥ 1, or -1 where the point is to be violated."""
    return -1.0 if second == VIOLATE else 1.0


@inner
def threshold(tau: float, second: int) -> float:
    """By what a point's row is divided in a constraint: 1 - η, or -(1 + η) where computed margins are at most 1 + η."""
    return tau if second != VIOLATE else -(2.0 - tau) * (1.0 + 4.0 * EPS)


@inner
def certified(active: Active, q: int, reach: float) -> float:
    """A proved lower bound of min{||w||² : g'w ≥ ±1 for the first q constraints} from u ≥ 0, whatever they are.

    (Σ±u - |v_b| reach)₊²/||v||², v = Σ u g without its intercept's part v_b, with every rounding error to the safe side (that
    of g itself included); ∞ where v vanishes.
    """
    p = active.w.size
    total = gain = size = 0.0
    for k in range(q):
        total += active.u[k]
        gain += active.u[k] * asked(active.pair[k, 1])
        norm = 0.0
        for j in range(p):
            norm += active.g[k, j] * active.g[k, j]
        size += active.u[k] * math.sqrt(norm)
    err = 4.0 * EPS * (q + p + 8) * size
    gain -= total * 2.0 * EPS * (q + 4)
    norm = 0.0
    for j in range(p):
        v = 0.0
        for k in range(q):
            v += active.u[k] * active.g[k, j]
        if reach > 0.0 and j == p - 1:
            gain -= (abs(v) + err) * reach * (1.0 + 4.0 * EPS)
        else:
            norm += v * v
    length = math.sqrt(norm) * (1.0 + EPS * (p + 8)) + err
    if gain <= 0.0:
        return 0.0
    if length <= 0.0:
        return np.inf
    ratio = gain / length
    return ratio * ratio * (1.0 - 8.0 * EPS)


@entry
def certified_norm(active: Active, reach: float) -> float:
    """`certified` of all constraints of an S-pair, for Python."""
    return certified(active, active.count[0], reach)


@inner
def _widest_pair(rows: Rows, ok: Any, keen: Any, w: Any, u: Any) -> tuple[int, int, float]:
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


@inner
def _weigh(rows: Rows, ok: Any, keen: Any, found: Violations) -> None:
    """How each point's violation counts, and what its margin is to reach."""
    scale, level, tau, pull = found.scale, found.level, rows.tau, rows.pull
    for i in range(ok.size):
        scale[i] = pull[i] * keen[i] if ok[i] else 0.0
        level[i] = tau[i] - _NEAR if keen[i] > 0.0 else _NEAR - threshold(tau[i], VIOLATE)


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
def _farthest(rows: Rows, ok: Any, keen: Any, active: Active, q: int, scratch: Scratch) -> tuple[int, int, float]:
    """The constraint to take up: (point, -1 or `VIOLATE`, violation); (-1, -1, 0) where all are met.

    In single precision where its error is small beside the largest violation: whatever is taken up, it is violated.
    """
    found = scratch.single
    most = _violate(rows.single, active.w, found)
    if most > _CLEAR * _single_error(rows, active.w):
        first = _steepest(rows, active, q, found.grid, found.tops, _WORTH * most)
        scale = found.scale[first]
        return first, -1 if scale > 0.0 else VIOLATE, found.value[first] / abs(scale) + _NEAR
    exact = scratch.double
    _weigh(rows, ok, keen, exact)
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
        gain = tops[k] * tops[k]
        if gain * per > best * rest:
            first, best, per = i, gain, rest
    return first


@inner
def _constraint(rows: Rows, first: int, second: int, g: Any) -> None:
    p = g.size
    if second < 0:
        scale = threshold(rows.tau[first], second)
        for j in range(p):
            g[j] = rows.a[first, j] / scale
    else:
        scale = rows.tau[first] + rows.tau[second]
        for j in range(p):
            g[j] = (rows.a[first, j] + rows.a[second, j]) / scale


@entry
def active_set(rows: Rows, ok: Any, keen: Any, T: float, active: Active, scratch: Scratch) -> tuple[int, float]:
    """Goldfarb and Idnani's dual method for min ½||w||² over the constraints of the points ``ok``, from an S-pair.

    Returns (CONFLICT, N) as soon as the multipliers prove a norm N ≥ T, (OPTIMUM, ||w||²) at the solution, (TROUBLE, ·)
    where rounding stops both. ``keen`` scales the violations by which the next constraint is chosen; a point is to be violated,
    not kept, where it is negative.
    """
    p = active.w.size
    w, g, u, pair = active.w, active.g, active.u, active.pair
    q = active.count[0]
    V, R, r, z = active.V, active.R, scratch.r, scratch.z
    for a in range(active.ready[0], q):
        extend(g, V, R, a, z)
    active.ready[0] = q
    if not rows.free:
        _weigh(rows, ok, keen, scratch.single)
    for _ in range(60 * (p + 4)):
        if rows.free:
            first, second, short = _widest_pair(rows, ok, keen, w, scratch.double.value)
        else:
            first, second, short = _farthest(rows, ok, keen, active, q, scratch)
        if first < 0:
            active.count[0] = q
            return OPTIMUM, dot(w, w)
        for a in range(q):
            if pair[a, 0] == first and pair[a, 1] == second:
                active.count[0] = q
                return (OPTIMUM, dot(w, w)) if short < 1e-7 else (TROUBLE, 0.0)
        step_up = 0.0
        _constraint(rows, first, second, g[q])
        size = math.sqrt(dot(g[q], g[q]))
        rest = orthogonalise(g, V, R, q, z)
        while True:
            pair[q, 0], pair[q, 1] = first, second
            back_solve(R, q, r)
            drop, t1 = -1, np.inf
            for a in range(q):
                if r[a] > 1e-12 and u[a] < t1 * r[a]:
                    t1, drop = u[a] / r[a], a
            short = asked(second) - dot(g[q], w)
            independent = rest > 1e-12 * size and q < p
            t2 = max(short, 0.0) / (rest * rest) if independent else np.inf
            if t1 == np.inf and t2 == np.inf:
                # Farkas: the multipliers -r with 1 on the new constraint combine the rows to (nearly) nothing.
                for a in range(q):
                    u[a] = max(-r[a], 0.0)
                u[q] = 1.0
                active.count[0] = q + 1
                N = certified(active, q + 1, rows.reach)
                return (CONFLICT if N >= T else TROUBLE), N
            step = min(t1, t2)
            step_up += step
            if independent:
                for j in range(p):
                    w[j] += step * z[j]
            total = step_up * asked(second)
            for a in range(q):
                u[a] = max(u[a] - step * r[a], 0.0)
                total += u[a] * asked(pair[a, 1])
            u[q] = step_up
            norm = dot(w, w)
            if rows.reach > 0.0:
                norm -= w[p - 1] * w[p - 1]
                total -= abs(w[p - 1]) * rows.reach
            if total > 0.0 and total * total >= T * norm:
                N = certified(active, q + 1, rows.reach)
                if N >= T:
                    active.count[0] = q + 1
                    return CONFLICT, N
            if t1 < t2:
                rest = exclude(g, V, R, q, drop, z)
                q -= 1
                for a in range(drop, q):
                    u[a] = u[a + 1]
                    pair[a, 0], pair[a, 1] = pair[a + 1, 0], pair[a + 1, 1]
                active.ready[0] = q
                continue
            include(V, R, q, z, rest)
            q += 1
            active.ready[0] = q
            break
    active.count[0] = q
    return TROUBLE, 0.0
