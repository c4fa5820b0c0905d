"""Where a node branches: on the coordinate along which a margin ranges most, at the end on a point."""

from __future__ import annotations

from typing import Any

from ..compiled import inner
from .records import FREE, Node


@inner
def branch_coordinate(node: Node, m: int) -> int:
    """The coordinate to halve: the one along which the margin of some free point ranges most."""
    lo, hi, z, G = node.lo, node.hi, node.z, node.G
    best, most = 0, -1.0
    for j in range(lo.size):
        largest = 0.0
        for i in range(m):
            if z[i] == FREE:
                largest = max(largest, abs(G[j, i]))
        if largest * (hi[j] - lo[j]) > most:
            best, most = j, largest * (hi[j] - lo[j])
    return best


@inner
def branch_point(node: Node, m: int, c: Any) -> int:
    """The free point with the largest product of the two children's gains."""
    z, lam, norm, G, al = node.z, node.lam, node.norm, node.G, node.alpha
    best, most = -1, -1.0
    for i in range(m):
        if z[i] != FREE:
            continue
        u = 0.0
        for j in range(c.size):
            u += G[j, i] * c[j]
        a, size = al[i], norm[i] * norm[i]
        turn = u - 0.5 * a * size
        kept = max(1.0 - u, 0.0) ** 2 / size
        violated = lam[i] - a * (1.0 - u) - 0.25 * a * a * size + max(turn - 1.0, 0.0) ** 2 / size
        score = max(kept, 1e-3 * lam[i]) * max(violated, 1e-3 * lam[i])
        if score > most:
            best, most = i, score
    return best
