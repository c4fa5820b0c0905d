"""The factors of an S-pair's constraints, g = (V'R)' with orthonormal rows of V: one constraint more, one less."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import inner
from .records import dot

#: Where less than this share of a constraint is left it is orthogonalised once more.
_CANCELLED = 0.1


@inner
def orthogonalise(g: Any, V: Any, R: Any, k: int, z: Any) -> float:
    """Row k of ``g`` against the orthonormal V[:k]: R[:k, k] and the rest z (Gram-Schmidt, twice where much cancels); ||z||."""
    p = z.size
    whole = rest = 0.0
    for j in range(p):
        z[j] = g[k, j]
        whole += z[j] * z[j]
    for a in range(k):
        R[a, k] = 0.0
    for _ in range(2):
        for a in range(k):
            t = dot(V[a], z)
            R[a, k] += t
            for j in range(p):
                z[j] -= t * V[a, j]
        rest = dot(z, z)
        if rest >= _CANCELLED * _CANCELLED * whole:
            break
    return math.sqrt(rest)


@inner
def extend(g: Any, V: Any, R: Any, k: int, z: Any) -> None:
    """Make row k of ``g`` part of the factorisation g[:k + 1] = (V[:k + 1]'R)'."""
    include(V, R, k, z, orthogonalise(g, V, R, k, z))


@inner
def include(V: Any, R: Any, k: int, z: Any, rest: float) -> None:
    """Row k of ``g``, of which z with ||z|| = ``rest`` is orthogonal to V[:k], becomes part of the factorisation."""
    R[k, k] = max(rest, 1e-300)
    for j in range(z.size):
        V[k, j] = z[j] / R[k, k]


@inner
def exclude(g: Any, V: Any, R: Any, k: int, drop: int, z: Any) -> float:
    """Take row ``drop`` from the k factored ones; row k, whose rest is z, and those after ``drop`` move up by one.

    Plane rotations make R triangular again; of row k the direction that V loses joins the rest, whose norm is returned.
    """
    p = z.size
    for a in range(drop, k):
        for j in range(p):
            g[a, j] = g[a + 1, j]
        for b in range(min(a + 2, k)):
            R[b, a] = R[b, a + 1]
    for a in range(drop, k - 1):
        x, y = R[a, a], R[a + 1, a]
        size = math.sqrt(x * x + y * y)
        c, s = (x / size, y / size) if size > 0.0 else (1.0, 0.0)
        R[a, a] = max(size, 1e-300)
        for b in range(a + 1, k):
            x, y = R[a, b], R[a + 1, b]
            R[a, b], R[a + 1, b] = c * x + s * y, c * y - s * x
        for j in range(p):
            x, y = V[a, j], V[a + 1, j]
            V[a, j], V[a + 1, j] = c * x + s * y, c * y - s * x
    t = R[k - 1, k - 1]
    for j in range(p):
        z[j] += t * V[k - 1, j]
    return math.sqrt(dot(z, z))


@inner
def back_solve(R: Any, k: int, r: Any) -> None:
    """r = R[:k, :k]⁻¹ R[:k, k]: the combination of the factored constraints nearest to constraint k."""
    for a in range(k - 1, -1, -1):
        t = R[a, k]
        for b in range(a + 1, k):
            t -= R[a, b] * r[b]
        r[a] = t / R[a, a]
