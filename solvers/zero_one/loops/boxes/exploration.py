"""The tree search over boxes, best-first with dives: a pool of open nodes, branching rules, and the exploration of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....exact.loops.compiled import EPS
from ....exact.loops.heap import pop, push
from ....exact.loops.matching import Pairs
from ....exact.loops.newton import Relaxation, ranges
from ..compiled import entry, inner
from .bound_tightening import tighten
from .pairing import by_falling
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
    log_node,
    log_split,
)


@inner
def load(pool: BoxPool, code: int, node: BoxNode) -> tuple[float, int]:
    """Unpack an open node, release its record once both children are loaded, and return (base, number of points)."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    record, side = code >> 1, code & 1
    p = lo.size
    for j in range(p):
        lo[j], hi[j], w[j] = pool.lo[record, j], pool.hi[record, j], pool.w[record, j]
    m = pool.count[record]
    page = pool.page[record]
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link  # local: reads through the record are slow
    for i in range(m):
        k = i % PAGE
        if i > 0 and k == 0:
            page = link[page]
        idx[i], z[i], l[i] = points[page, k], states[page, k], lowers[page, k]
    split = pool.split[record]
    if split < 0:
        z[-1 - split] = side
    elif side == 0:
        hi[split] = min(hi[split], pool.mid[record])
    else:
        lo[split] = max(lo[split], pool.mid[record])
    pool.refs[record] -= 1
    if pool.refs[record] == 0:
        page = pool.page[record]
        while page >= 0:
            pool.free_pages[pool.now.pages] = page
            pool.now.pages += 1
            page = pool.link[page]
        pool.free_records[pool.now.records] = record
        pool.now.records += 1
    return pool.base[record], m


@inner
def store(pool: BoxPool, node: BoxNode, m: int, base: float) -> int:
    """Store a node that is about to be branched as a record and return its index."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    now = pool.now
    now.records -= 1
    record = pool.free_records[now.records]
    for j in range(lo.size):
        pool.lo[record, j], pool.hi[record, j], pool.w[record, j] = lo[j], hi[j], w[j]
    pool.base[record], pool.count[record], pool.refs[record], pool.page[record] = base, m, 2, -1
    page = -1
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link
    for i in range(m):
        k = i % PAGE
        if k == 0:
            now.pages -= 1
            new_page = pool.free_pages[now.pages]
            link[new_page] = -1
            if page < 0:
                pool.page[record] = new_page
            else:
                link[page] = new_page
            page = new_page
        points[page, k], states[page, k], lowers[page, k] = idx[i], z[i], l[i]
    return record


@entry
def move(node: BoxNode, source: BoxPool, target: BoxPool, count: int) -> None:
    """Move the last ``count`` open nodes of one heap to another pool with sufficient capacity; ``node`` is a buffer."""
    for _ in range(count):
        source.now.waiting -= 1
        code: Any = np.int64(source.heap[source.now.waiting])
        key, ident = source.key[code >> 1, code & 1], source.ident[code >> 1]
        base, m = load(source, code, node)
        record = store(target, node, m, base)
        target.refs[record], target.split[record], target.mid[record] = 1, 0, node.hi[0]
        target.key[record, 0] = target.key[record, 1] = key
        target.ident[record] = ident
        push(target.heap, target.now.waiting, target.key, 2 * record)
        target.now.waiting += 1


@entry
def gather(pool: BoxPool, records: Any, point: Any, state: Any, lower: Any) -> None:
    """Copy the points of these records from the pages, with their states and lower ends, into contiguous arrays."""
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link
    position = 0
    for record in records:
        page = pool.page[record]
        for i in range(pool.count[record]):
            k = i % PAGE
            if i > 0 and k == 0:
                page = link[page]
            point[position], state[position], lower[position] = points[page, k], states[page, k], lowers[page, k]
            position += 1


@entry
def spread(pool: BoxPool, counts: Any, point: Any, state: Any, lower: Any) -> None:
    """Copy contiguous points, ``counts`` of them per record, into the first pages of the pool."""
    points, states, lowers = pool.point, pool.state, pool.lower
    position, page = 0, -1
    for count in counts:
        for i in range(count):
            k = i % PAGE
            if k == 0:
                page += 1
            points[page, k], states[page, k], lowers[page, k] = point[position], state[position], lower[position]
            position += 1


@inner
def branch_coordinate(node: BoxNode, m: int) -> int:
    """Return the coordinate along which the margin of some free point has the widest range."""
    lo, hi, z, G = node.lo, node.hi, node.z, node.G
    best, widest = 0, -1.0
    for j in range(lo.size):
        largest = 0.0
        for i in range(m):
            if z[i] == FREE:
                largest = max(largest, abs(G[j, i]))
        if largest * (hi[j] - lo[j]) > widest:
            best, widest = j, largest * (hi[j] - lo[j])
    return best


@inner
def branch_point(node: BoxNode, m: int, c: Any) -> int:
    """Return the free point with the largest product of the two children's gains."""
    z, lam, norm, G, al = node.z, node.lam, node.norm, node.G, node.alpha
    best, best_score = -1, -1.0
    for i in range(m):
        if z[i] != FREE:
            continue
        u = 0.0
        for j in range(c.size):
            u += G[j, i] * c[j]
        a, size = al[i], norm[i] * norm[i]
        shifted = u - 0.5 * a * size
        kept_gain = max(1.0 - u, 0.0) ** 2 / size
        violated_gain = lam[i] - a * (1.0 - u) - 0.25 * a * a * size + max(shifted - 1.0, 0.0) ** 2 / size
        score = max(kept_gain, 1e-3 * lam[i]) * max(violated_gain, 1e-3 * lam[i])
        if score > best_score:
            best, best_score = i, score
    return best


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


# exempt (length): compiled as one function; a call would pass array by array
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
