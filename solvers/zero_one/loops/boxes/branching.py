"""Branching rules of the box search: on the coordinate with the widest range of a margin, finally on a point."""

from __future__ import annotations

from typing import Any

from ..compiled import inner
from .records import FREE, BoxNode


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
