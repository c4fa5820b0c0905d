"""Open nodes in arrays: a heap of them by bound, records of boxes, linked pages of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import entry, inner
from .records import PAGE, Node, Pool


@inner
def push(heap: Any, size: int, key: Any, code: int) -> None:
    """Add an open node to a heap of ``size``."""
    k = size
    x = key[code >> 1, code & 1]
    while k > 0:
        up = (k - 1) >> 1
        if key[heap[up] >> 1, heap[up] & 1] <= x:
            break
        heap[k] = heap[up]
        k = up
    heap[k] = code


@inner
def pop(heap: Any, size: int, key: Any) -> Any:
    """Remove the open node with the least key from a heap of ``size``."""
    top = heap[0]
    code = heap[size - 1]
    size -= 1
    x = key[code >> 1, code & 1]
    k = 0
    while True:
        c = 2 * k + 1
        if c >= size:
            break
        if c + 1 < size and key[heap[c + 1] >> 1, heap[c + 1] & 1] < key[heap[c] >> 1, heap[c] & 1]:
            c += 1
        if key[heap[c] >> 1, heap[c] & 1] >= x:
            break
        heap[k] = heap[c]
        k = c
    heap[k] = code
    return np.int64(top)


@inner
def load(pool: Pool, code: int, node: Node) -> tuple[float, int]:
    """Unpack an open node and release its share of the record: (base, number of points)."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    r, side = code >> 1, code & 1
    p = lo.size
    for j in range(p):
        lo[j], hi[j], w[j] = pool.lo[r, j], pool.hi[r, j], pool.w[r, j]
    m = pool.count[r]
    page = pool.page[r]
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link  # read once, not at every step of the loop
    for i in range(m):
        k = i % PAGE
        if i > 0 and k == 0:
            page = link[page]
        idx[i], z[i], l[i] = points[page, k], states[page, k], lowers[page, k]
    split = pool.split[r]
    if split < 0:
        z[-1 - split] = side
    elif side == 0:
        hi[split] = min(hi[split], pool.mid[r])
    else:
        lo[split] = max(lo[split], pool.mid[r])
    pool.refs[r] -= 1
    if pool.refs[r] == 0:
        page = pool.page[r]
        while page >= 0:
            pool.free_pages[pool.now.pages] = page
            pool.now.pages += 1
            page = pool.link[page]
        pool.free_records[pool.now.records] = r
        pool.now.records += 1
    return pool.base[r], m


@inner
def store(pool: Pool, node: Node, m: int, base: float) -> int:
    """Make a record of a node that is about to be branched."""
    lo, hi, w, idx, z, l = node.lo, node.hi, node.w, node.idx, node.z, node.l
    now = pool.now
    now.records -= 1
    r = pool.free_records[now.records]
    for j in range(lo.size):
        pool.lo[r, j], pool.hi[r, j], pool.w[r, j] = lo[j], hi[j], w[j]
    pool.base[r], pool.count[r], pool.refs[r], pool.page[r] = base, m, 2, -1
    page = -1
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link
    for i in range(m):
        k = i % PAGE
        if k == 0:
            now.pages -= 1
            new = pool.free_pages[now.pages]
            link[new] = -1
            if page < 0:
                pool.page[r] = new
            else:
                link[page] = new
            page = new
        points[page, k], states[page, k], lowers[page, k] = idx[i], z[i], l[i]
    return r


@entry
def move(node: Node, source: Pool, target: Pool, count: int) -> None:
    """Hand the last ``count`` open nodes of one heap to another pool, which must have room for them; ``node`` is room for one."""
    for _ in range(count):
        source.now.waiting -= 1
        code: Any = np.int64(source.heap[source.now.waiting])
        key, ident = source.key[code >> 1, code & 1], source.ident[code >> 1]
        base, m = load(source, code, node)
        r = store(target, node, m, base)
        target.refs[r], target.split[r], target.mid[r] = 1, 0, node.hi[0]
        target.key[r, 0] = target.key[r, 1] = key
        target.ident[r] = ident
        push(target.heap, target.now.waiting, target.key, 2 * r)
        target.now.waiting += 1


@entry
def gather(pool: Pool, records: Any, point: Any, state: Any, lower: Any) -> None:
    """The points of these records one after the other, their states and lower ends: out of the pages."""
    points, states, lowers, link = pool.point, pool.state, pool.lower, pool.link
    at = 0
    for r in records:
        page = pool.page[r]
        for i in range(pool.count[r]):
            k = i % PAGE
            if i > 0 and k == 0:
                page = link[page]
            point[at], state[at], lower[at] = points[page, k], states[page, k], lowers[page, k]
            at += 1


@entry
def spread(pool: Pool, counts: Any, point: Any, state: Any, lower: Any) -> None:
    """So many points for each record, one after the other: into the pool's first pages."""
    points, states, lowers = pool.point, pool.state, pool.lower
    at, page = 0, -1
    for count in counts:
        for i in range(count):
            k = i % PAGE
            if k == 0:
                page += 1
            points[page, k], states[page, k], lowers[page, k] = point[at], state[at], lower[at]
            at += 1
