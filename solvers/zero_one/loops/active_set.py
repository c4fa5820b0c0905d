"""Goldfarb and Idnani's dual active-set method for the least norm of a w that keeps given points, with certified lower bounds.

It solves min ½||w||² subject to constraints g'w ≥ 1 (keep a point) or g'w ≥ -1 (violate it). An `ActiveSet` holds rows g of
active constraints, multipliers u ≥ 0, the point w = Σ u g, and the factors of g = (V'R)': V orthonormal, R triangular. Below, q
(k in the factorisation) is the number of active constraints, p that of coordinates, and ``ok`` the mask of the points whose
constraints apply.

The conflict search solves several such problems at each node: a set is a norm-conflict if its least ||w||² reaches the cutoff.
The choice of the entering constraint takes most of the time, and is made in single precision if its error permits: the method
is correct with any violated constraint. The choice determines the number of points in a conflict, and so the number of nodes of
a search.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...exact.loops import EPS, EPS_SINGLE
from . import entry, inner
from .conflict_records import (
    CONFLICT,
    LANES,
    OPTIMUM,
    TROUBLE,
    VIOLATE,
    VIOLATED_PRIORITY,
    ActiveSet,
    ConflictRows,
    DualWorkspace,
    Violations,
    dot,
)

#: Share of a row's norm below which its orthogonal part is orthogonalised a second time.
_REORTHOGONALISE = 0.1


@inner
def orthogonalise(g: Any, V: Any, R: Any, k: int, z: Any) -> float:
    """Write the part of row k of ``g`` orthogonal to V[:k] to z, and its coefficients to R[:k, k]; return ||z||."""
    p = z.size
    squared_norm = squared_rest = 0.0
    for j in range(p):
        z[j] = g[k, j]
        squared_norm += z[j] * z[j]
    for a in range(k):
        R[a, k] = 0.0
    for _ in range(2):
        for a in range(k):
            t = dot(V[a], z)
            R[a, k] += t
            for j in range(p):
                z[j] -= t * V[a, j]
        squared_rest = dot(z, z)
        if squared_rest >= _REORTHOGONALISE * _REORTHOGONALISE * squared_norm:
            break
    return math.sqrt(squared_rest)


@inner
def add_row(g: Any, V: Any, R: Any, k: int, z: Any) -> None:
    """Add row k of ``g`` to the orthogonal factorisation g[:k + 1] = (V[:k + 1]'R)'; z is a buffer."""
    _add_orthogonal_part(V, R, k, z, orthogonalise(g, V, R, k, z))


@inner
def _add_orthogonal_part(V: Any, R: Any, k: int, z: Any, remainder: float) -> None:
    """Add row k of g, whose part orthogonal to V[:k] is z, of norm ``remainder``, to the factorisation."""
    R[k, k] = max(remainder, 1e-300)
    for j in range(z.size):
        V[k, j] = z[j] / R[k, k]


@inner
def remove_row(g: Any, V: Any, R: Any, k: int, drop: int, z: Any) -> float:
    """Remove row ``drop`` from the k factored rows; the later rows, and row k, whose orthogonal part is z, move up by one.

    Plane rotations make R triangular again. The component of row k along the direction that V loses is added to z; return ||z||.
    """
    p = z.size
    for a in range(drop, k):
        for j in range(p):
            g[a, j] = g[a + 1, j]
        for b in range(min(a + 2, k)):
            R[b, a] = R[b, a + 1]
    for a in range(drop, k - 1):
        x, y = R[a, a], R[a + 1, a]
        size = math.sqrt(x * x + y * y)
        c, s = (x / size, y / size) if size > 0.0 else (1.0, 0.0)
        R[a, a] = max(size, 1e-300)
        for b in range(a + 1, k):
            x, y = R[a, b], R[a + 1, b]
            R[a, b], R[a + 1, b] = c * x + s * y, c * y - s * x
        for j in range(p):
            x, y = V[a, j], V[a + 1, j]
            V[a, j], V[a + 1, j] = c * x + s * y, c * y - s * x
    t = R[k - 1, k - 1]
    for j in range(p):
        z[j] += t * V[k - 1, j]
    return math.sqrt(dot(z, z))


@inner
def back_solve(R: Any, k: int, r: Any) -> None:
    """Compute r = R[:k, :k]⁻¹ R[:k, k], the coefficients of the combination of the k factored rows nearest to row k."""
    for a in range(k - 1, -1, -1):
        t = R[a, k]
        for b in range(a + 1, k):
            t -= R[a, b] * r[b]
        r[a] = t / R[a, a]


#: Violation of a margin that counts as none: the accuracy of the method.
_TOL = 1e-11
#: Least violation of a candidate as a share of the largest one; floor on the squared share of a row's norm that is orthogonal to
#: the active rows.
_CANDIDATE_SHARE, _LEAST_REST = 0.5, 0.05
#: Least ratio of the largest violation to its error in single precision; overflow threshold.
_LEAST_RATIO, _OVERFLOW = 20.0, 1e30


@inner
def row_divisor(tau: float, second: int) -> float:
    """Return the divisor of a point's row in a constraint: τ, or -(1 + η) if ``second`` is VIOLATE.

    The threshold is τ = 1 - η, with a reserve η for rounding; a margin that is to be violated is at most 1 + η.
    """
    return tau if second != VIOLATE else -(2.0 - tau) * (1.0 + 4.0 * EPS)


@inner
def set_scales(rows: ConflictRows, ok: Any, priority: Any, violations: Violations, unit: bool) -> None:
    """Set scale and level of each point, whose violation is scale × (level - margin); with ``unit`` the rows have norm 1."""
    scale, level, tau, pull = violations.scale, violations.level, rows.tau, rows.pull
    for i in range(ok.size):
        size = pull[i] if unit else 1.0
        scale[i] = pull[i] / size * priority[i] if ok[i] else 0.0
        level[i] = size * (tau[i] - _TOL if priority[i] > 0.0 else _TOL - row_divisor(tau[i], VIOLATE))


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
def _single_error(rows: ConflictRows, w: Any) -> float:
    """Return a bound on the error of a scaled violation in single precision, a dot product of p terms at the largest priority."""
    p = w.size
    size = rows.widest[p]
    for j in range(p):
        size += abs(w[j]) * rows.widest[j]
    return VIOLATED_PRIORITY * EPS_SINGLE * (p + 4) * size


@inner
def entering_constraint(
    rows: ConflictRows, ok: Any, priority: Any, active: ActiveSet, q: int, scratch: DualWorkspace
) -> tuple[int, int, float]:
    """Select the constraint that enters: return (point, -1 or `VIOLATE`, violation), or (-1, -1, 0) if all are satisfied.

    Single precision suffices if its error is small relative to the largest violation, since any violated constraint is correct.
    """
    single = scratch.single
    largest = _compute_violations(rows.single, active.w, single)
    if _LEAST_RATIO * _single_error(rows, active.w) < largest < _OVERFLOW:
        first = _steepest(rows, active, q, single.grid, single.tops, _CANDIDATE_SHARE * largest)
        scale = single.scale[first] * rows.pull[first]
        return first, -1 if scale > 0.0 else VIOLATE, single.value[first] / abs(scale) + _TOL
    double = scratch.double
    set_scales(rows, ok, priority, double, False)
    largest = _compute_violations(rows.t, active.w, double)
    if not largest > 0.0:
        return -1, -1, 0.0
    first = _steepest(rows, active, q, double.grid, double.tops, _CANDIDATE_SHARE * largest)
    return first, -1 if double.scale[first] > 0.0 else VIOLATE, double.value[first] / abs(double.scale[first]) + _TOL


@inner
def _steepest(rows: ConflictRows, active: ActiveSet, q: int, grid: Any, tops: Any, lower: float) -> int:
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
def _most_violated_pair(rows: ConflictRows, ok: Any, priority: Any, w: Any, u: Any) -> tuple[int, int, float]:
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


@inner
def right_side(second: int) -> float:
    """Return the right side of a constraint, by the second entry of its pair: 1 for g'w ≥ 1, -1 for a point to be violated."""
    return -1.0 if second == VIOLATE else 1.0


@inner
def certified_bound(active: ActiveSet, q: int, reach: float) -> float:
    """Return a proved lower bound of min{||w||² : g'w ≥ ±1 for the first q constraints}, for any multipliers u ≥ 0.

    ``reach`` is a bound of a stretched intercept (the last coordinate, outside the norm), 0 without one. The bound is (Σ±u -
    |v_b| reach)₊²/||v||², where v = Σ u g without its intercept's part v_b. All rounding errors, including those of g itself, are
    on the safe side. The bound is ∞ if v vanishes.
    """
    p = active.w.size
    total = gain = size = 0.0
    for k in range(q):
        total += active.u[k]
        gain += active.u[k] * right_side(active.pair[k, 1])
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
def certified_squared_norm(active: ActiveSet, reach: float) -> float:
    """Return `certified_bound` of all constraints of an active set, for Python."""
    return certified_bound(active, active.count[0], reach)


@inner
def _constraint(rows: ConflictRows, first: int, second: int, g: Any) -> None:
    p = g.size
    if second < 0:
        scale = row_divisor(rows.tau[first], second)
        for j in range(p):
            g[j] = rows.a[first, j] / scale
    else:
        scale = rows.tau[first] + rows.tau[second]
        for j in range(p):
            g[j] = (rows.a[first, j] + rows.a[second, j]) / scale


# exempt (length): compiled as one function; a call would pass array by array
@entry
def minimise_norm(
    rows: ConflictRows, ok: Any, priority: Any, T: float, active: ActiveSet, scratch: DualWorkspace
) -> tuple[int, float]:
    """Minimise ½||w||² subject to the constraints of the points ``ok``, from an active set, until ||w||² is proved to reach T.

    Return (CONFLICT, N) as soon as the multipliers prove ||w||² ≥ N ≥ T, (OPTIMUM, ||w||²) at the solution, and TROUBLE with a
    number of no meaning if rounding prevents both. ``active`` is updated in place. ``priority`` scales the violations in the
    choice of the next constraint. A negative entry means that the point is to be violated instead of kept.
    """
    p = active.w.size
    w, g, u, pair = active.w, active.g, active.u, active.pair
    q = active.count[0]
    V, R, r, z = active.V, active.R, scratch.r, scratch.z
    for a in range(active.ready[0], q):
        add_row(g, V, R, a, z)
    active.ready[0] = q
    if not rows.free:
        set_scales(rows, ok, priority, scratch.single, True)
    for _ in range(60 * (p + 4)):
        if rows.free:
            first, second, violation = _most_violated_pair(rows, ok, priority, w, scratch.double.value)
        else:
            first, second, violation = entering_constraint(rows, ok, priority, active, q, scratch)
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
            violation = right_side(second) - dot(g[q], w)
            independent = rest_norm > 1e-12 * size and q < p
            t2 = max(violation, 0.0) / (rest_norm * rest_norm) if independent else np.inf
            if t1 == np.inf and t2 == np.inf:
                # Farkas: the multipliers -r, with 1 for the new constraint, combine the rows to (nearly) zero.
                for a in range(q):
                    u[a] = max(-r[a], 0.0)
                u[q] = 1.0
                active.count[0] = q + 1
                N = certified_bound(active, q + 1, rows.intercept_bound)
                return (CONFLICT if N >= T else TROUBLE), N
            step = min(t1, t2)
            step_up += step
            if independent:
                for j in range(p):
                    w[j] += step * z[j]
            total = step_up * right_side(second)
            for a in range(q):
                u[a] = max(u[a] - step * r[a], 0.0)
                total += u[a] * right_side(pair[a, 1])
            u[q] = step_up
            norm = dot(w, w)
            if rows.intercept_bound > 0.0:
                norm -= w[p - 1] * w[p - 1]
                total -= abs(w[p - 1]) * rows.intercept_bound
            if total > 0.0 and total * total >= T * norm:
                N = certified_bound(active, q + 1, rows.intercept_bound)
                if N >= T:
                    active.count[0] = q + 1
                    return CONFLICT, N
            if t1 < t2:
                rest_norm = remove_row(g, V, R, q, dropped, z)
                q -= 1
                for a in range(dropped, q):
                    u[a] = u[a + 1]
                    pair[a, 0], pair[a, 1] = pair[a + 1, 0], pair[a + 1, 1]
                active.ready[0] = q
                continue
            _add_orthogonal_part(V, R, q, z, rest_norm)
            q += 1
            active.ready[0] = q
            break
    active.count[0] = q
    return TROUBLE, 0.0
