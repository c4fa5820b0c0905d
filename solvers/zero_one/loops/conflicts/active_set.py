"""Goldfarb and Idnani's dual active-set method, with certified norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import EPS, entry, inner
from .factors import back_solve, exclude, extend, include, orthogonalise
from .pricing import farthest, threshold, weigh, widest_pair
from .records import CONFLICT, OPTIMUM, TROUBLE, VIOLATE, Active, Rows, Scratch, dot


@inner
def reached_target(second: int) -> float:
    """Return the right side of a constraint of an S-pair: 1 for g'w ≥ 1, -1 for a point that is to be violated."""
    return -1.0 if second == VIOLATE else 1.0


@inner
def certified(active: Active, q: int, reach: float) -> float:
    """Return a proved lower bound of min{||w||² : g'w ≥ ±1 for the first q constraints}, for any multipliers u ≥ 0.

    The bound is (Σ±u - |v_b| reach)₊²/||v||², where v = Σ u g without its intercept's part v_b. All rounding errors, including
    those of g itself, are on the safe side. The bound is ∞ if v vanishes.
    """
    p = active.w.size
    total = gain = size = 0.0
    for k in range(q):
        total += active.u[k]
        gain += active.u[k] * reached_target(active.pair[k, 1])
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
    """Return `certified` of all constraints of an S-pair, for Python."""
    return certified(active, active.count[0], reach)


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
def active_set(rows: Rows, ok: Any, priority: Any, T: float, active: Active, scratch: Scratch) -> tuple[int, float]:
    """Minimise ½||w||² over the constraints of the points ``ok`` by Goldfarb and Idnani's dual method, from an S-pair.

    Returns (CONFLICT, N) as soon as the multipliers prove a norm N ≥ T, (OPTIMUM, ||w||²) at the solution, and (TROUBLE, ·) if
    rounding prevents both. ``priority`` scales the violations in the choice of the next constraint. A negative entry means that
    the point is to be violated instead of kept.
    """
    p = active.w.size
    w, g, u, pair = active.w, active.g, active.u, active.pair
    q = active.count[0]
    V, R, r, z = active.V, active.R, scratch.r, scratch.z
    for a in range(active.ready[0], q):
        extend(g, V, R, a, z)
    active.ready[0] = q
    if not rows.free:
        weigh(rows, ok, priority, scratch.single, True)
    for _ in range(60 * (p + 4)):
        if rows.free:
            first, second, violation = widest_pair(rows, ok, priority, w, scratch.double.value)
        else:
            first, second, violation = farthest(rows, ok, priority, active, q, scratch)
        if first < 0:
            active.count[0] = q
            return OPTIMUM, dot(w, w)
        for a in range(q):
            if pair[a, 0] == first and pair[a, 1] == second:
                active.count[0] = q
                return (OPTIMUM, dot(w, w)) if violation < 1e-7 else (TROUBLE, 0.0)
        step_up = 0.0
        _constraint(rows, first, second, g[q])
        size = math.sqrt(dot(g[q], g[q]))
        rest_norm = orthogonalise(g, V, R, q, z)
        while True:
            pair[q, 0], pair[q, 1] = first, second
            back_solve(R, q, r)
            dropped, t1 = -1, np.inf
            for a in range(q):
                if r[a] > 1e-12 and u[a] < t1 * r[a]:
                    t1, dropped = u[a] / r[a], a
            violation = reached_target(second) - dot(g[q], w)
            independent = rest_norm > 1e-12 * size and q < p
            t2 = max(violation, 0.0) / (rest_norm * rest_norm) if independent else np.inf
            if t1 == np.inf and t2 == np.inf:
                # Farkas: the multipliers -r, with 1 for the new constraint, combine the rows to (nearly) zero.
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
            total = step_up * reached_target(second)
            for a in range(q):
                u[a] = max(u[a] - step * r[a], 0.0)
                total += u[a] * reached_target(pair[a, 1])
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
                rest_norm = exclude(g, V, R, q, dropped, z)
                q -= 1
                for a in range(dropped, q):
                    u[a] = u[a + 1]
                    pair[a, 0], pair[a, 1] = pair[a + 1, 0], pair[a + 1, 1]
                active.ready[0] = q
                continue
            include(V, R, q, z, rest_norm)
            q += 1
            active.ready[0] = q
            break
    active.count[0] = q
    return TROUBLE, 0.0
