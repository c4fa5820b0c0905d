"""Pricing: the choice of the constraint that enters the dual method, in single precision if its error permits.

The method is correct with any violated constraint. The choice determines the number of points in a conflict, and so the number of
nodes of a search. It takes most of the method's time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import EPS, inner
from .records import KEEN_AWAY, LANES, VIOLATE, Active, Rows, Scratch, Violations, dot

#: Tolerance of violations.
_TOL = 1e-11
#: Least share of the largest violation for candidates; lower bound of the relative squared rest of a row.
_CANDIDATE_SHARE, _LEAST_REST = 0.5, 0.05
#: Unit roundoff of single precision; largest priority; least ratio of the largest violation to its error; overflow threshold.
SINGLE_EPS, _LARGEST_PRIORITY, _LEAST_RATIO, _OVERFLOW = 2.0**-24, KEEN_AWAY, 20.0, 1e30


@inner
def threshold(tau: float, second: int) -> float:
    """Return the divisor of a point's row in a constraint: 1 - η, or -(1 + η) if the margin is to be at most 1 + η."""
    return tau if second != VIOLATE else -(2.0 - tau) * (1.0 + 4.0 * EPS)


@inner
def weigh(rows: Rows, ok: Any, priority: Any, found: Violations, unit: bool) -> None:
    """Set the scale of each point's violation, and the level for its margin; with ``unit`` the rows have norm 1."""
    scale, level, tau, pull = found.scale, found.level, rows.tau, rows.pull
    for i in range(ok.size):
        size = pull[i] if unit else 1.0
        scale[i] = pull[i] / size * priority[i] if ok[i] else 0.0
        level[i] = size * (tau[i] - _TOL if priority[i] > 0.0 else _TOL - threshold(tau[i], VIOLATE))


@inner
def _compute_violations(t: Any, w: Any, violations: Violations) -> float:
    """Compute the scaled violations of all points at w and return the largest, at least 0; branch-free for speed."""
    # Local references: reads through the record at every step would slow the loops down.
    v, u, grid, tops, scale, level = (
        violations.w,
        violations.value,
        violations.grid,
        violations.tops,
        violations.scale,
        violations.level,
    )
    p, n = t.shape
    for j in range(p):
        v[j] = w[j]
    for i in range(n):
        u[i] = level[i]
    j = 0  # four coordinates per pass, since memory access to ``u`` dominates
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
    largest = 0.0
    for k in range(LANES):
        largest = max(largest, tops[k])
    return largest


@inner
def _single_error(rows: Rows, w: Any) -> float:
    """Return a bound on the error of a scaled violation in single precision, a dot product of p terms at the largest priority."""
    p = w.size
    size = rows.widest[p]
    for j in range(p):
        size += abs(w[j]) * rows.widest[j]
    return _LARGEST_PRIORITY * SINGLE_EPS * (p + 4) * size


@inner
def farthest(rows: Rows, ok: Any, priority: Any, active: Active, q: int, scratch: Scratch) -> tuple[int, int, float]:
    """Return the entering constraint (point, -1 or `VIOLATE`, violation), or (-1, -1, 0) if all constraints are satisfied.

    Single precision suffices if its error is small relative to the largest violation, since any violated constraint is correct.
    """
    single = scratch.single
    largest = _compute_violations(rows.single, active.w, single)
    if _LEAST_RATIO * _single_error(rows, active.w) < largest < _OVERFLOW:
        first = _steepest(rows, active, q, single.grid, single.tops, _CANDIDATE_SHARE * largest)
        scale = single.scale[first] * rows.pull[first]
        return first, -1 if scale > 0.0 else VIOLATE, single.value[first] / abs(scale) + _TOL
    double = scratch.double
    weigh(rows, ok, priority, double, False)
    largest = _compute_violations(rows.t, active.w, double)
    if not largest > 0.0:
        return -1, -1, 0.0
    first = _steepest(rows, active, q, double.grid, double.tops, _CANDIDATE_SHARE * largest)
    return first, -1 if double.scale[first] > 0.0 else VIOLATE, double.value[first] / abs(double.scale[first]) + _TOL


@inner
def _steepest(rows: Rows, active: Active, q: int, grid: Any, tops: Any, lower: float) -> int:
    """Return the point that raises the norm most, among each lane's most violated one with a violation of at least ``lower``.

    This is the steepest-edge rule: a step along the part of a_i orthogonal to the active constraints, of norm r_i, gains
    (violation/r_i)². Its conflicts have fewer points, and more of them fit into a packing.
    """
    a, size, pull, V = rows.a, rows.size, rows.pull, active.V
    first, numerator, denominator = 0, -1.0, 1.0  # best point so far, and its gain as numerator/denominator, without division
    for k in range(LANES):
        if not tops[k] >= lower:
            continue
        r = 0
        while grid[r, k] != tops[k]:
            r += 1
        i = r * LANES + k
        relative_rest = size[i]
        for c in range(q):
            x = dot(V[c], a[i])
            relative_rest -= x * x
        relative_rest = min(max(relative_rest * pull[i] * pull[i], _LEAST_REST), 1.0)
        gain = 1.0 * tops[k]  # in double precision
        gain *= gain
        if gain * denominator > numerator * relative_rest:
            first, numerator, denominator = i, gain, relative_rest
    return first


@inner
def widest_pair(rows: Rows, ok: Any, priority: Any, w: Any, u: Any) -> tuple[int, int, float]:
    """Return the most violated pair (first, second, violation) for a free intercept, or (-1, -1, 0) if all are satisfied."""
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
        if ok[i] and priority[i] > 0.0:
            t = u[i]
            if sign[i] >= 0:
                low0 = min(low0, t)
            else:
                low1 = min(low1, t)
    if not low0 + low1 < -2.0 * _TOL:
        return -1, -1, 0.0
    b = 0.5 * (low1 - low0)
    first = second = -1
    most0 = most1 = 0.0
    for i in range(n):
        if ok[i] and priority[i] > 0.0:
            t = -(u[i] + sign[i] * b) * pull[i] * priority[i]
            if sign[i] >= 0:
                if t > most0:
                    most0, first = t, i
            elif t > most1:
                most1, second = t, i
    if second < 0:
        return -1, -1, 0.0
    return first, second, -0.5 * (low0 + low1)
