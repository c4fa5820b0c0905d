"""Relaxation and bound tightening at a node: its lower bound, a smaller box, decided points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....exact.loops.matching import Pairs
from ....exact.loops.newton import Relaxation, margins, ranges, reduced_cost_tightening
from ..compiled import EPS, inner
from .levels import THETA, beyond_levels, relax
from .pairing import pair_up
from .proof_events import log_multipliers, log_pairs, log_scale
from .records import FREE, KEPT, ROUNDS, VIOLATED, BoxData, BoxNode, Log


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
