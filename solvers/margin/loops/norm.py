"""The polyhedral norm of w, max p'w over the polar {p : |x_j'p| ≤ 1 for all atoms x_j}, with its maximiser p, by simplex steps.

`margin-bb` calls it for each relaxation and objective, if there are atoms. The simplex method begins at its last solution. A
vertex of the polar is given by a basis of atoms with signs, x_b'p = ±1. At the end p is scaled so that all products are at most
1, rounding included. So p'w never exceeds the norm.
"""

from __future__ import annotations

import math
from typing import Any

from ....models.arrays import FloatArray
from ...exact.loops import EPS
from .data_structures import LoopNode, LoopProblem, inner

#: Most exchanges of one call, a multiplier and a pivot that count as 0.
_EXCHANGES, _ZERO, _LEAST = 200, 1e-13, 1e-9


@inner
def _products(r: LoopProblem, p: FloatArray, u: Any) -> None:
    """Compute u_j = x_j'p."""
    atoms = r.atoms  # read through the record at every step the loops would not be vectors
    x = p[0]
    for a in range(u.size):
        u[a] = atoms[0, a] * x
    for j in range(1, p.size):
        x = p[j]
        for a in range(u.size):
            u[a] += atoms[j, a] * x


@inner
def scale_into_polar(r: LoopProblem, k: LoopNode, p: FloatArray) -> None:
    """Scale p down until |x_j'p| ≤ 1 for all atoms of the problem in its coordinates before rotation."""
    u, errors, size, largest = k.products, r.atom_errors, 0.0, 1.0
    for j in range(p.size):
        size += abs(p[j])
    _products(r, p, u)
    for a in range(u.size):
        largest = max(largest, abs(u[a]) + errors[a] * size)
    for j in range(p.size):
        p[j] = p[j] * (1.0 - 8.0 * EPS) / largest if size < math.inf else 0.0


@inner
def _inverse(r: LoopProblem, k: LoopNode) -> bool:
    """Invert the atoms of the basis by Gauss-Jordan; return False if they are dependent up to rounding."""
    M, L, q = k.inverse, k.factors, k.basis.size
    for i in range(q):
        for j in range(q):
            L[i, j], M[i, j] = r.atoms[r.norm_coordinates[j], k.basis[i]], 0.0
        M[i, i] = 1.0
    for c in range(q):
        best = c
        for i in range(c + 1, q):
            if abs(L[i, c]) > abs(L[best, c]):
                best = i
        if not abs(L[best, c]) > 0.0:
            return False
        for j in range(q):
            L[c, j], L[best, j] = L[best, j], L[c, j]
            M[c, j], M[best, j] = M[best, j], M[c, j]
        scale = 1.0 / L[c, c]
        for j in range(q):
            L[c, j] *= scale
            M[c, j] *= scale
        for i in range(q):
            factor = L[i, c]
            if i != c and factor != 0.0:
                for j in range(q):
                    L[i, j] -= factor * L[c, j]
                    M[i, j] -= factor * M[c, j]
    return True


@inner
def _leaving(r: LoopProblem, k: LoopNode, w: FloatArray) -> int:
    """Return the position in the basis of the least multiplier λ_b of w = Σ_b λ_b (±x_b); -1 if none is negative."""
    q, worst, least_multiplier, size = k.basis.size, -1, 0.0, 0.0
    for i in range(q):
        multiplier = 0.0
        for j in range(q):
            multiplier += k.inverse[j, i] * w[r.norm_coordinates[j]]
        multiplier *= k.signs[i]
        size += abs(multiplier)
        if multiplier < least_multiplier:
            worst, least_multiplier = i, multiplier
    return worst if least_multiplier < -_ZERO * size else -1


@inner
def _exchange(r: LoopProblem, k: LoopNode, i: int) -> None:
    """Leave the i-th basic atom's face along an edge, up to the first blocking atom."""
    q, p, u, along = k.basis.size, k.maximiser, k.products, k.along
    for j in range(p.size):
        k.edge[j] = 0.0
    for j in range(q):
        k.edge[r.norm_coordinates[j]] = -k.signs[i] * k.inverse[j, i]
    _products(r, k.edge, along)
    entering, step = k.basis[i], 2.0
    for a in range(u.size):
        if abs(along[a]) > _LEAST and 1.0 - (u[a] if along[a] > 0.0 else -u[a]) < step * abs(along[a]):
            entering, step = a, max(1.0 - (u[a] if along[a] > 0.0 else -u[a]), 0.0) / abs(along[a])
    for a in range(u.size):
        u[a] += step * along[a]
    for j in range(p.size):
        p[j] += step * k.edge[j]
    if entering == k.basis[i]:  # its opposite face
        k.signs[i] = -k.signs[i]
        return
    for b in range(q):
        k.pivots[b] = 0.0
        for j in range(q):
            k.pivots[b] += r.atoms[r.norm_coordinates[j], entering] * k.inverse[j, b]
    for j in range(q):
        k.inverse[j, i] /= k.pivots[i]
        for b in range(q):
            if b != i:
                k.inverse[j, b] -= k.inverse[j, i] * k.pivots[b]
    k.basis[i], k.signs[i] = entering, 1.0 if along[entering] > 0.0 else -1.0


@inner
def vertex_of_box(r: LoopProblem, k: LoopNode) -> int:
    """Set ``k.polar`` to a vertex of a polar that is a parallelepiped, and ``k.moves`` to edges D_t; return their number.

    The edges are those from the vertex along which p'w may grow in the node's box.
    """
    moves = 0
    for j in range(k.w.size):
        k.polar[j] = 0.0
    for t in range(r.half_edges.shape[0]):
        middle, reach = 0.0, 0.0
        for j in range(k.w.size):
            middle += r.half_edges[t, j] * k.mid[j]
            reach += abs(r.half_edges[t, j]) * (k.half[j] + 8.0 * k.w.size * EPS * abs(k.mid[j]))
        sign = 1.0 if middle >= reach else -1.0
        for j in range(k.w.size):
            k.polar[j] += sign * r.half_edges[t, j]
            k.moves[moves, j] = 2.0 * r.half_edges[t, j]
        moves += 1 if abs(middle) < reach else 0
    return moves


@inner
def _vertex(r: LoopProblem, k: LoopNode, w: FloatArray) -> None:
    """Store the vertex of the polar that maximises p'w in ``k.maximiser``: by simplex steps, or by signs for a parallelepiped."""
    p, q = k.maximiser, k.basis.size
    for j in range(p.size):
        p[j] = 0.0
    if r.half_edges.shape[0] > 0:
        for t in range(r.half_edges.shape[0]):
            product = 0.0
            for j in range(p.size):
                product += r.half_edges[t, j] * w[j]
            for j in range(p.size):
                p[j] += r.half_edges[t, j] if product >= 0.0 else -r.half_edges[t, j]
        return
    if not _inverse(r, k):
        for i in range(q):
            k.basis[i], k.signs[i] = r.basis[i], r.signs[i]
        _inverse(r, k)
    for j in range(q):
        for i in range(q):
            p[r.norm_coordinates[j]] += k.inverse[j, i] * k.signs[i]
    _products(r, p, k.products)
    for _ in range(_EXCHANGES):
        i = _leaving(r, k, w)
        if i < 0:
            break
        _exchange(r, k, i)


@inner
def norm_at(r: LoopProblem, k: LoopNode, w: FloatArray) -> float:
    """Return max p'w, which never exceeds the norm of w, and store the p in ``k.maximiser``."""
    value = 0.0
    if k.basis.size > 0:
        _vertex(r, k, w)
        scale_into_polar(r, k, k.maximiser)
        for j in range(w.size):
            value += k.maximiser[j] * w[j]
    return value
