"""Relax and tighten a node: its bound, a smaller box, points that are decided."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..compiled import EPS, inner
from .levels import THETA, beyond_levels, relax
from .newton import margins, ranges
from .pairing import pair_up
from .proof_events import log_multipliers, log_pairs, log_scale
from .records import FREE, KEPT, ROUNDS, VIOLATED, Data, Log, Node, Pairs, Relaxation


@inner
def shrink_box(lo: Any, hi: Any, c: Any, s: Any, ds: Any, R2: float, ec: float) -> bool:
    """Cut the box to {w : Σ_j (w_j - c_j)² + slope_j |w_j - c_j| ≤ R2}, coordinate by coordinate; False where empty."""
    R = math.sqrt(R2) * (1.0 + 1e-15) + ec
    for j in range(c.size):
        pad = 1e-14 * (abs(c[j]) + R) + ec
        up = down = R + pad
        rise = abs(2.0 * c[j] - s[j]) - ds[j]
        if rise > 0.0:
            x = 2.0 * R2 / (rise + math.sqrt(rise * rise + 4.0 * R2)) * (1.0 + 1e-14) + pad
            if c[j] <= lo[j]:
                up = min(up, x)
            else:
                down = min(down, x)
        lo[j] = max(lo[j], c[j] - down)
        hi[j] = min(hi[j], c[j] + up)
        if lo[j] > hi[j]:
            return False
    return True


@inner
def _covered(R: Relaxation, m: int, lo: Any, hi: Any, r: float) -> bool:
    """Whether the ball about c of radius √r holds the whole box, and no point costs as much as r: it can fix nothing.

    What the box itself decides is decided in the children as well.
    """
    far = largest = 0.0
    for j in range(lo.size):
        reach = max(hi[j] - R.c[j], R.c[j] - lo[j])
        far += reach * reach
    for i in range(m):
        largest = max(largest, R.left[i])
    return far < r and largest < r


@inner
def fix_points(node: Node, m: int, R: Relaxation, D: float, cut: float, ec: float) -> float:
    """Decide what the ball and the box decide; returns how much changed, or -1 where nothing remains.

    With r = cut - D and u = g_i'c: z_i = 0 needs (1 - u)²/||g_i||² < r; z_i = 1 needs β_i + (u' - 1)²/||g_i||² < r with
    β_i = λ_i - α_i(1 - u) - α_i²||g_i||²/4, u' = u - α_i||g_i||²/2, and then g_i'w > u' - ||g_i||√(r - β_i). Every test
    moves by its own rounding error to the safe side: ``err`` bounds that of u.
    """
    G, z, l, norm, al, lo, hi, lam, c = node.G, node.z, node.l, node.norm, node.alpha, node.lo, node.hi, R.left, R.c
    p = c.size
    change = 0.0
    r = (cut - D) * (1.0 + 1e-14)
    if _covered(R, m, lo, hi, r):
        return 0.0
    margin, least, most, sizes = R.u, R.env, R.most, R.err
    margins(G, m, c, margin)
    ranges(G, m, lo, hi, R)
    for i in range(m):
        if z[i] != FREE:
            continue
        u, low, high, size = margin[i], least[i], most[i], sizes[i]
        err = norm[i] * ec + 4.0 * EPS * (p + 2) * size
        low -= err
        high += err
        t = max(1.0 - u - err, 0.0) / norm[i]
        kept_out = high < 1.0 or t * t * (1.0 - 1e-15) >= r
        a = al[i]
        turn = u - 0.5 * a * norm[i] * norm[i]
        beta = lam[i] - a * (1.0 - u) - 0.25 * (a * norm[i]) ** 2
        beta -= a * err + 8.0 * EPS * (lam[i] + a * (1.0 + abs(u)) + (a * norm[i]) ** 2)
        off = err + 8.0 * EPS * (abs(u) + a * norm[i] * norm[i])
        t = max(turn - 1.0 - off, 0.0) / norm[i]
        violated_out = low >= 1.0 or beta + t * t * (1.0 - 1e-15) >= r
        if kept_out and violated_out:
            return -1.0
        if kept_out:
            z[i] = VIOLATED
            change += 0.3
        elif violated_out:
            z[i] = KEPT
            change += 0.3
        else:
            new = max(low, turn - norm[i] * math.sqrt(max(r - beta, 0.0)) * (1.0 + 1e-14) - off)
            if new > l[i]:
                change += (new - l[i]) / (1.0 - l[i])
                l[i] = new
                if new >= 1.0:
                    z[i] = KEPT
    return change


@inner
def _take(R: Relaxation, k: int, al: Any) -> None:
    """The multipliers of the k rows by the node's positions."""
    for t in range(k):
        al[R.position[t]] = R.alpha[t]


@inner
def tighten(data: Data, node: Node, m: int, R: Relaxation, P: Pairs, base: float, cut: float, log: Log, ident: int) -> float:
    """Relax and tighten in turn. Returns a proved lower bound of the node (∞ where the node is empty)."""
    now = log.now
    lo, hi, w, idx, z, G, al = node.lo, node.hi, node.w, node.idx, node.z, node.G, node.alpha
    A, b, q, left, act = R.rows, R.b, R.q, R.left, R.position
    p = w.size
    D = -np.inf
    for turn in range(ROUNDS):
        for j in range(p):
            w[j] = min(max(w[j], lo[j]), hi[j])
        const = base
        for i in range(m):
            if z[i] == VIOLATED:
                const += data.weights[idx[i]]
        loss = lo[p - 1] * hi[p - 1] if data.free else 0.0
        paid, count = pair_up(data, node, m, R, P)
        if log.buffer.size > 0:
            log_pairs(log, ident, idx, P, count)
        if paid == np.inf:
            return np.inf
        const += paid + loss
        k: Any = np.int64(0)  # a literal 0 would compile `newton` once more
        for i in range(m):
            al[i] = 0.0
            if z[i] == FREE and left[i] <= 0.0:
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
        new = relax(data, node, k, R, const, cut, 1.0, now)
        _take(R, k, al)
        if new < cut and beyond_levels(data, node, k, R, const - loss, loss, new, cut, now):
            if log.buffer.size > 0:
                _take(R, k, al)
                log_scale(log, ident, THETA)
                log_multipliers(log, ident, idx, z, al, m)
            return np.inf
        if log.buffer.size > 0:
            log_multipliers(log, ident, idx, z, al, m)
        if new >= cut:
            return new
        last = turn > 0 and new - D < 0.02 * (cut - new)
        D = max(new, D)
        ec = 0.0
        for j in range(p):
            ec += R.ds[j]
        ec += 1e-15 * math.sqrt(cut)
        if not shrink_box(lo, hi, R.c, R.s, R.ds, cut - new, ec):
            return np.inf
        change = fix_points(node, m, R, new, cut, ec)
        if change < 0.0:
            return np.inf
        if last or change < 0.5:
            break
    return D
