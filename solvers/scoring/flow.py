"""Compiled: the largest flow between the two classes of a node's cells, along pairs that are not both right."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import inner

__all__ = ["PAIRS", "flow"]

#: Pairs of cells beyond which only the heaviest cells are looked at.
PAIRS = 4_000_000
#: Pairs looked at for augmenting paths, about, before a smaller flow is taken as it is.
_WORK = 10_000_000


@inner
def _heaviest(chosen: Any, count: Any, weight: Any, most: Any) -> Any:
    """Keep at most so many of the chosen cells, the heaviest: above a weight that leaves few enough, found by halving."""
    if count <= most:
        return count
    low, high = np.int64(0), np.int64(0)
    for k in range(count):
        high = max(high, weight[chosen[k]])
    while low < high:
        middle = (low + high) // 2
        above = 0
        for k in range(count):
            above += weight[chosen[k]] > middle
        if above <= most:
            high = middle
        else:
            low = middle + 1
    kept, spare = 0, most
    for k in range(count):
        spare -= weight[chosen[k]] > low
    for k in range(count):
        equal = weight[chosen[k]] == low
        if weight[chosen[k]] > low or (equal and spare > 0):
            spare -= equal
            chosen[kept] = chosen[k]
            kept += 1
    return kept


@inner
def _pairs(rows: Any, l: Any, u: Any, active: Any, m: Any, k: Any, s: Any) -> Any:
    """Return the cells of class +1 (m of them) and of class -1 (k) that are not both right, with a first flow and its value."""
    Z, total = rows.Z, np.int64(0)
    for side in range(2):
        chosen, count, score = (s.plus, m, s.high) if side == 0 else (s.minus, k, s.low)
        for a in range(count):
            row = s.first[chosen[a]]
            centre = 0.0
            for t in range(active):
                j = s.active[t]
                centre += 0.5 * (l[j] + u[j]) * Z[row, j]
            score[a] = centre
    for a in range(m):
        x = s.first[s.plus[a]]
        for b in range(k):
            most = s.high[a] - s.low[b]
            if most < rows.apart:
                z = s.first[s.minus[b]]
                for t in range(active):
                    j = s.active[t]
                    most += 0.5 * (u[j] - l[j]) * abs(Z[x, j] - Z[z, j])
            s.pair[a, b] = most < rows.apart
            s.flow[a, b] = 0
            if s.pair[a, b] and s.left[a] > 0 and s.right[b] > 0:
                amount = min(s.left[a], s.right[b])
                s.flow[a, b] = amount
                s.left[a] -= amount
                s.right[b] -= amount
                total += amount
    return total


@inner
def _path(m: Any, k: Any, s: Any) -> Any:
    """A shortest augmenting path, by breadth: the cell of class -1 where it ends, or -1."""
    head, tail = 0, 0
    for b in range(k):
        s.from_plus[b] = -1
    for a in range(m):
        s.from_minus[a] = -2
        if s.left[a] > 0:
            s.queue[tail] = a
            tail += 1
            s.from_minus[a] = -1
    while head < tail:
        a = s.queue[head]
        head += 1
        for b in range(k):
            if s.pair[a, b] and s.from_plus[b] < 0:
                s.from_plus[b] = a
                if s.right[b] > 0:
                    return b
                for other in range(m):
                    if s.from_minus[other] == -2 and s.flow[other, b] > 0:
                        s.from_minus[other] = b
                        s.queue[tail] = other
                        tail += 1
    return -1


@inner
def _push(end: Any, s: Any) -> Any:
    """Send what fits along the path that ends here: how much."""
    amount, b = s.right[end], end
    a = s.from_plus[b]
    while s.from_minus[a] >= 0:
        b = s.from_minus[a]
        amount = min(amount, s.flow[a, b])
        a = s.from_plus[b]
    amount = min(amount, s.left[a])
    s.right[end] -= amount
    s.left[a] -= amount
    b = end
    a = s.from_plus[b]
    s.flow[a, b] += amount
    while s.from_minus[a] >= 0:
        b = s.from_minus[a]
        s.flow[a, b] -= amount
        a = s.from_plus[b]
        s.flow[a, b] += amount
    return amount


@inner
def flow(rows: Any, l: Any, u: Any, active: Any, count: Any, need: Any, s: Any) -> Any:
    """The largest flow between the cells' classes, or one that reaches ``need``."""
    m, k, base = 0, 0, np.int64(0)
    for c in range(count):
        m += s.P[c] > 0
        k += s.Q[c] > 0
    if m > s.pair.shape[0] or k > s.pair.shape[1]:  # too many: each cell's own pair first, the heaviest of what is left after it
        for c in range(count):
            own = min(s.P[c], s.Q[c])
            base += own
            s.P[c] -= own
            s.Q[c] -= own
    m, k = 0, 0
    for c in range(count):
        if s.P[c] > 0:
            s.plus[m] = c
            m += 1
        if s.Q[c] > 0:
            s.minus[k] = c
            k += 1
    m = _heaviest(s.plus, m, s.P, s.pair.shape[0])
    k = _heaviest(s.minus, k, s.Q, s.pair.shape[1])
    for a in range(m):
        s.left[a] = s.P[s.plus[a]]
    for b in range(k):
        s.right[b] = s.Q[s.minus[b]]
    total = base + _pairs(rows, l, u, active, m, k, s)
    paths = 5 + _WORK // (m * k + 1)
    while total < need and paths > 0:
        paths -= 1
        end = _path(m, k, s)
        if end < 0:
            break
        total += _push(end, s)
    return total
