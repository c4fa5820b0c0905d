"""Relaxation and bound tightening at a node: its lower bound, a smaller box, decided points.

The relaxation of a node, and the pruning test for losses that are whole multiples of a step.

If every λ_i is a whole multiple of u and ν ≤ ||w||² on the box, a solution below the cutoff has a loss j·u with
j ≤ k = ⌊(cut - ν)/u⌋. So for every θ ≥ 1

    ||w||² + θ·loss < cut + (θ - 1)·j·u ≤ cut + (θ - 1)·k·u.

A lower bound of the left side that reaches the right side prunes the node. A large θ excludes losses above k·u however small the
excess: fractional losses of the relaxation count as whole ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....exact.loops.compiled import EPS
from ....exact.loops.matching import Pairs
from ....exact.loops.newton import Relaxation, margins, newton, ranges, reduced_cost_tightening, rounding
from ..compiled import inner
from .pairing import pair_up
from .records import FREE, KEPT, ROUNDS, VIOLATED, BoxData, BoxNode, Log, log_multipliers, log_pairs, log_scale

#: Initial smoothing of the hinge in every round.
SMOOTHING = 0.1
#: Factor θ on the losses in the pruning test.
THETA = 8.0


@inner
def relax(data: BoxData, node: BoxNode, k: int, R: Relaxation, const: float, cut: float, theta: float, now: Any) -> float:
    """Solve the relaxation of the k rows with losses times θ and return a proved lower bound; α, s and c remain in ``R``.

    The smoothing decreases until the gap of the smoothed problem decides whether the bound reaches the cutoff.
    """
    lo, hi, w, z, l = node.lo, node.hi, node.w, node.z, node.l
    b, cap, h, act = R.b, R.cap, R.h, R.position
    unit = theta * data.unit
    smoothing = SMOOTHING
    while True:
        for t in range(k):
            i = act[t]
            if z[i] == FREE:
                C = max(1.0 - l[i], 1e-9)
                cap[t] = theta * R.left[i] / C * (1.0 - 4.0 * EPS)
                h[t] = cap[t] / (C * smoothing)
            else:
                cap[t] = math.inf
                h[t] = unit / (smoothing * smoothing)
        bound, iterations = newton(R, k, const, lo, hi, w, cut, 0.02 * smoothing * unit)
        now.relaxations += 1
        now.newton_steps += iterations
        bound -= rounding(R, k, const)
        slack = 0.0
        for t in range(k):
            shortfall, a = max(b[t] - R.u[t], 0.0), R.alpha[t]
            slack += cap[t] * shortfall - a * shortfall if z[act[t]] == FREE else a * shortfall
        if bound >= cut or bound + slack < cut or smoothing < 1e-6:
            break
        smoothing *= 0.1
    return float(bound)


# exempt (arguments): compiled, array by array
@inner
def beyond_levels(
    data: BoxData, node: BoxNode, k: int, R: Relaxation, sure: float, other: float, D: float, cut: float, now: Any
) -> bool:
    """Return True if the levels of the losses exclude every solution below the cutoff from the box.

    ``sure`` is the loss in the relaxation's constant, ``other`` the intercept's part, D the bound at θ = 1. As a function of
    μ = 1/θ, μD_θ less its threshold is concave, with slope (the non-loss part at c) - σ at μ = 1, σ = cut - k·u. So the test
    can only succeed if D + σ - (non-loss part) ≥ cut. After a failure the relaxation's solution is restored.
    """
    if data.step <= 0.0:
        return False
    lo, hi, w, saved = node.lo, node.hi, node.w, R.saved
    p = w.size
    norm_bound, other_part = 0.0, other
    for j in range(p):
        other_part += R.c[j] * (R.c[j] + R.q[j])
        if j < p - 1 or not data.free:
            nearest = max(lo[j], -hi[j], 0.0)
            norm_bound += nearest * nearest
    # round up to a level within the rounding of the quotient; with many levels an absolute margin would be too small
    levels = (cut - norm_bound * (1.0 - 8.0 * EPS * p)) / data.step
    largest_loss = math.floor(levels + 1e-12 * abs(levels) + 1e-9) * data.step
    if D + 0.8 * (cut - largest_loss - other_part) < cut:
        return False
    for j in range(p):
        saved[0, j], saved[1, j], saved[2, j], saved[3, j] = w[j], R.c[j], R.s[j], R.ds[j]
    threshold = (cut + (THETA - 1.0) * largest_loss) * (1.0 + 1e-12)
    if relax(data, node, k, R, THETA * sure * (1.0 - 4.0 * EPS) + other, threshold, THETA, now) >= threshold:
        return True
    for j in range(p):
        w[j], R.c[j], R.s[j], R.ds[j] = saved[0, j], saved[1, j], saved[2, j], saved[3, j]
    return False


@inner
def _cannot_fix(R: Relaxation, m: int, lo: Any, hi: Any, r: float) -> bool:
    """Return True if no point can be decided: the ball about c of radius √r holds the whole box, and no point costs r.

    Decisions by the box alone are made in the children as well.
    """
    squared_distance = largest = 0.0
    for j in range(lo.size):
        distance = max(hi[j] - R.c[j], R.c[j] - lo[j])
        squared_distance += distance * distance
    for i in range(m):
        largest = max(largest, R.left[i])
    return squared_distance < r and largest < r


@inner
def fix_points(node: BoxNode, m: int, R: Relaxation, D: float, cut: float, ec: float) -> float:
    """Decide points by the ball and the box: return the amount of change, or -1 if the node is empty.

    With r = cut - D and u = g_i'c: z_i = 0 needs (1 - u)²/||g_i||² < r; z_i = 1 needs β_i + (u' - 1)²/||g_i||² < r with
    β_i = λ_i - α_i(1 - u) - α_i²||g_i||²/4, u' = u - α_i||g_i||²/2, and then g_i'w > u' - ||g_i||√(r - β_i). Every test is
    shifted by its own rounding error to the safe side, where ``err`` bounds the error of u.
    """
    G, z, l, norm, al, lo, hi, lam, c = node.G, node.z, node.l, node.norm, node.alpha, node.lo, node.hi, R.left, R.c
    p = c.size
    change = 0.0
    r = (cut - D) * (1.0 + 1e-14)
    if _cannot_fix(R, m, lo, hi, r):
        return 0.0
    margin, minimum, maximum, sizes = R.u, R.env, R.most, R.err
    margins(G, m, c, margin)
    ranges(G, m, lo, hi, R)
    for i in range(m):
        if z[i] != FREE:
            continue
        u, low, high, size = margin[i], minimum[i], maximum[i], sizes[i]
        err = norm[i] * ec + 4.0 * EPS * (p + 2) * size
        low -= err
        high += err
        t = max(1.0 - u - err, 0.0) / norm[i]
        cannot_keep = high < 1.0 or t * t * (1.0 - 1e-15) >= r
        a = al[i]
        shifted = u - 0.5 * a * norm[i] * norm[i]
        beta = lam[i] - a * (1.0 - u) - 0.25 * (a * norm[i]) ** 2
        beta -= a * err + 8.0 * EPS * (lam[i] + a * (1.0 + abs(u)) + (a * norm[i]) ** 2)
        shift_error = err + 8.0 * EPS * (abs(u) + a * norm[i] * norm[i])
        t = max(shifted - 1.0 - shift_error, 0.0) / norm[i]
        cannot_violate = low >= 1.0 or beta + t * t * (1.0 - 1e-15) >= r
        if cannot_keep and cannot_violate:
            return -1.0
        if cannot_keep:
            z[i] = VIOLATED
            change += 0.3
        elif cannot_violate:
            z[i] = KEPT
            change += 0.3
        else:
            lower = max(low, shifted - norm[i] * math.sqrt(max(r - beta, 0.0)) * (1.0 + 1e-14) - shift_error)
            if lower > l[i]:
                change += (lower - l[i]) / (1.0 - l[i])
                l[i] = lower
                if lower >= 1.0:
                    z[i] = KEPT
    return change


@inner
def _scatter_multipliers(R: Relaxation, k: int, al: Any) -> None:
    """Scatter the multipliers of the k rows to the positions in the node."""
    for t in range(k):
        al[R.position[t]] = R.alpha[t]


# exempt (arguments): compiled, array by array
@inner
def tighten(
    data: BoxData, node: BoxNode, m: int, R: Relaxation, P: Pairs, base: float, cut: float, log: Log, ident: int
) -> float:
    """Alternate relaxation and bound tightening, and return a proved lower bound of the node (∞ if it is empty)."""
    now = log.now
    lo, hi, w, idx, z, G, al = node.lo, node.hi, node.w, node.idx, node.z, node.G, node.alpha
    A, b, q, residual, act = R.rows, R.b, R.q, R.left, R.position
    p, D = w.size, -np.inf
    for round_number in range(ROUNDS):
        for j in range(p):
            w[j] = min(max(w[j], lo[j]), hi[j])
        const = base
        for i in range(m):
            if z[i] == VIOLATED:
                const += data.weights[idx[i]]
        intercept_loss = lo[p - 1] * hi[p - 1] if data.free else 0.0
        pair_cost, count = pair_up(data, node, m, R, P)
        if log.buffer.size > 0:
            log_pairs(log, ident, idx, P, count)
        if pair_cost == np.inf:
            return np.inf
        const += pair_cost + intercept_loss
        k: Any = np.int64(0)  # an int64, since a literal 0 would compile `newton` for another type
        for i in range(m):
            al[i] = 0.0
            if z[i] == FREE and residual[i] <= 0.0:
                continue
            act[k] = i
            b[k] = -1.0 if z[i] == VIOLATED else 1.0
            for j in range(p):
                A[j, k] = b[k] * G[j, i]
            k += 1
        for j in range(p):
            q[j] = 0.0
        if data.free:
            q[p - 1] = -(lo[p - 1] + hi[p - 1])
        bound = relax(data, node, k, R, const, cut, 1.0, now)
        _scatter_multipliers(R, k, al)
        if bound < cut and beyond_levels(data, node, k, R, const - intercept_loss, intercept_loss, bound, cut, now):
            if log.buffer.size > 0:
                _scatter_multipliers(R, k, al)
                log_scale(log, ident, THETA)
                log_multipliers(log, ident, idx, z, al, m)
            return np.inf
        if log.buffer.size > 0:
            log_multipliers(log, ident, idx, z, al, m)
        if bound >= cut:
            return bound
        final = round_number > 0 and bound - D < 0.02 * (cut - bound)
        D = max(bound, D)
        ec = 1e-15 * math.sqrt(cut)
        for j in range(p):
            ec += R.ds[j]
        if not reduced_cost_tightening(lo, hi, R.c, R.s, R.ds, cut - bound, ec):
            return np.inf
        change = fix_points(node, m, R, bound, cut, ec)
        if change < 0.0:
            return np.inf
        if final or change < 0.5:
            break
    return D
