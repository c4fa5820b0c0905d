"""Open nodes in arrays: a heap by bound, records of boxes, linked pages of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import entry, inner
from .records import PAGE, BoxNode, BoxPool


@inner
def push(heap: Any, size: int, key: Any, code: int) -> None:
    """Add an open node to a heap of ``size`` nodes."""
    k = size
    x = key[code >> 1, code & 1]
    while k > 0:
        above = (k - 1) >> 1
        if key[heap[above] >> 1, heap[above] & 1] <= x:
            break
        heap[k] = heap[above]
        k = above
    heap[k] = code


@inner
def pop(heap: Any, size: int, key: Any) -> Any:
    """Remove and return the open node with the least bound of a heap of ``size`` nodes."""
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
