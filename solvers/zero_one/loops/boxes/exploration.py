"""The tree search over boxes: best-first with dives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....exact.loops.matching import Pairs
from ....exact.loops.newton import Relaxation, ranges
from ..compiled import EPS, entry, inner
from .bound_tightening import tighten
from .branching import branch_coordinate, branch_point
from .edges import by_falling
from .pool import load, pop, push, store
from .proof_events import log_node, log_split
from .records import (
    BUDGET,
    CANDIDATE,
    DONE,
    FREE,
    GROW,
    KEPT,
    LEAF,
    PAGE,
    RESERVE,
    ROUNDS,
    VIOLATED,
    BoxData,
    BoxNode,
    BoxPool,
    BoxWorkspace,
    Log,
)

#: Number of free points up to which a node branches on a point.
BY_POINTS = 1
#: Relative distance of the branching value from the midpoint towards the relaxation's solution.
ASIDE = 0.2


@inner
def _scaled(data: BoxData, w: Any, total: float, margin: Any, P: Pairs) -> tuple[float, float]:
    """Return (objective, t) of the best multiple t w, by trying every crossing of a margin."""
    rows, weights = data.rows, data.weights
    n, p = rows.shape
    count: Any = np.int64(0)
    norm = 0.0
    for j in range(p - 1 if data.free else p):
        norm += w[j] * w[j]
    for i in range(n):
        u = 0.0
        for j in range(p):
            u += rows[i, j] * w[j]
        if u > 1e-9:
            margin[count] = u
            margin[n + count] = weights[i]
            count += 1
    by_falling(margin, count, P.queue, P)
    best, scale = total, 0.0
    cost = total
    for k in range(count):
        i = P.queue[k]
        cost -= margin[n + i]
        t = 1.0 / margin[i]
        value = t * t * norm + cost
        if value < best:
            best, scale = value, t
    return best, scale


@inner
def _remove_decided(data: BoxData, node: BoxNode, m: int, base: float, R: Relaxation) -> tuple[float, int]:
    """Remove the points that the box decides: return (base, remaining points), or (∞, 0) if a kept point cannot be kept."""
    lo, hi, idx, z, l, G, lam, norm = node.lo, node.hi, node.idx, node.z, node.l, node.G, node.lam, node.norm
    p, rows = lo.size, data.rows
    for i in range(m):
        for j in range(p):
            G[j, i] = rows[idx[i], j]
    ranges(G, m, lo, hi, R)
    k = 0
    for i in range(m):
        point = idx[i]
        err = 4.0 * EPS * (p + 2) * R.err[i]
        low, high = R.env[i] - err, R.most[i] + err
        state, lower = z[i], l[i]
        if state == FREE:
            lower = max(lower, low)
            if high < 1.0:
                state = VIOLATED
            elif lower >= 1.0:
                state = KEPT
        elif state == KEPT and high < 1.0:
            return np.inf, 0
        if state == KEPT and low >= 1.0:
            continue
        if state == VIOLATED and high <= 1.0:
            base += data.weights[point]
            continue
        idx[k], z[k], l[k] = point, state, lower
        lam[k], norm[k] = data.weights[point], data.norms[point]
        if k < i:
            for j in range(p):
                G[j, k] = G[j, i]
        k += 1
    return base, k


@inner
def _report_leaf(data: BoxData, pool: BoxPool, node: BoxNode, m: int, c: Any) -> None:
    """Write the states of all points of a leaf to ``leaf`` and its centre to ``found``."""
    lo, hi, idx, z = node.lo, node.hi, node.idx, node.z
    p = lo.size
    for i in range(data.weights.size):
        low = high = size = 0.0
        for j in range(p):
            a = data.rows[i, j]
            if a > 0.0:
                low += a * lo[j]
                high += a * hi[j]
            else:
                low += a * hi[j]
                high += a * lo[j]
            size += abs(a) * max(abs(lo[j]), abs(hi[j]))
        err = 4.0 * EPS * (p + 2) * size
        pool.leaf[i] = KEPT if low - err >= 1.0 else VIOLATED if high + err < 1.0 else FREE
    for i in range(m):
        pool.leaf[idx[i]] = z[i]
    for j in range(p):
        pool.found[j] = c[j]


@entry
def explore(data: BoxData, pool: BoxPool, room: BoxWorkspace, cut: float, nodes: int, sample: int, total: float) -> int:
    """Explore at most ``nodes`` nodes with bounds below ``cut`` and return the reason for stopping.

    The search is best-first with dives: after the best node of the heap the child that contains the relaxation's minimiser is
    next, and its sibling goes to the heap, until the dive ends. A node with at most `BY_POINTS` free points, or with a box at the
    limit of floating-point numbers, branches on a point. Every ``sample``-th node scales its minimiser into a candidate. In the
    frugal mode, where memory is short, nodes are taken from the end of the heap: nearly depth-first, and the heap stays valid.
    """
    n, p = data.rows.shape
    now = pool.now
    node, R, P, margin = room.node, room.relaxation, room.pairs, room.margin
    lo, hi, z, c = node.lo, node.hi, node.z, R.c
    pages_per_node = n // PAGE + 2
    log = Log(pool.log, now)
    for _ in range(nodes):
        logging = pool.log.size > 0
        reserve = 1 if now.frugal == 1 else RESERVE
        if now.records < 2 * reserve or now.pages < pages_per_node * reserve or now.waiting + 2 > pool.heap.size:
            return GROW
        if logging and now.log_at + (6 * (n + 1) + 8) * ROUNDS + 32 > pool.log.size:
            return GROW
        code = now.current
        if code < 0:
            if now.waiting == 0 or pool.key[pool.heap[0] >> 1, pool.heap[0] & 1] >= cut:
                return DONE
            if now.frugal == 1:
                code = np.int64(pool.heap[now.waiting - 1])
            else:
                code = pop(pool.heap, now.waiting, pool.key)
            now.waiting -= 1
            if pool.key[code >> 1, code & 1] >= cut:
                load(pool, code, node)
                continue
        now.current = -1
        parent, side, D = pool.ident[code >> 1], code & 1, pool.key[code >> 1, code & 1]
        base, m = load(pool, code, node)
        ident = now.next_id
        now.next_id += 1
        now.nodes += 1
        if logging:
            log_node(log, ident, parent, side)
        base, m = _remove_decided(data, node, m, base, R)
        if base >= cut:
            continue
        now.points += m
        bound = tighten(data, node, m, R, P, base * (1.0 - 4.0 * EPS * n), cut, log, ident)
        if bound >= cut:
            continue
        D = max(D, bound)
        if now.nodes % sample == 0:
            value, scale = _scaled(data, c, total, margin, P)
            if value < pool.found[p]:
                pool.found[p] = value
                for j in range(p):
                    pool.found[j] = scale * c[j]
                now.candidate = 1
        free = 0
        for i in range(m):
            free += z[i] == FREE
        if free == 0:
            _report_leaf(data, pool, node, m, c)
            pool.found[p + 1] = D
            return LEAF
        j = branch_coordinate(node, m)
        mid = 0.5 * (lo[j] + hi[j])
        mid += ASIDE * (c[j] - mid)
        degenerate = hi[j] - lo[j] <= 1e-9 * (abs(lo[j]) + abs(hi[j]))
        record = store(pool, node, m, base)
        first_child = 0
        if free <= BY_POINTS or degenerate:
            i = branch_point(node, m, c)
            pool.split[record] = -1 - i
            u = 0.0
            for k in range(p):
                u += node.G[k, i] * c[k]
            first_child = 0 if u > 0.5 * (1.0 + node.l[i]) else 1
            branching = -1.0 - node.idx[i]
        else:
            pool.split[record], pool.mid[record] = j, mid
            first_child = 0 if c[j] <= mid else 1
            branching = float(j)
        pool.key[record, 0] = pool.key[record, 1] = D
        pool.ident[record] = ident
        if logging:
            log_split(log, ident, branching, mid)
        now.current = 2 * record + first_child
        push(pool.heap, now.waiting, pool.key, 2 * record + 1 - first_child)
        now.waiting += 1
        if now.candidate == 1:
            now.candidate = 0
            return CANDIDATE
    return BUDGET
