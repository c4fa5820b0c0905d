"""Updates of the factorisation g = (V'R)' of an S-pair's constraints, with orthonormal rows of V."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import inner
from .records import dot

#: Share of a constraint's norm below which it is orthogonalised a second time.
_REORTHOGONALISE = 0.1


@inner
def orthogonalise(g: Any, V: Any, R: Any, k: int, z: Any) -> float:
    """Orthogonalise row k of ``g`` against V[:k] by Gram-Schmidt, twice after cancellation: fill R[:k, k] and z, return ||z||."""
    p = z.size
    squared_norm = squared_rest = 0.0
    for j in range(p):
        z[j] = g[k, j]
        squared_norm += z[j] * z[j]
    for a in range(k):
        R[a, k] = 0.0
    for _ in range(2):
        for a in range(k):
            t = dot(V[a], z)
            R[a, k] += t
            for j in range(p):
                z[j] -= t * V[a, j]
        squared_rest = dot(z, z)
        if squared_rest >= _REORTHOGONALISE * _REORTHOGONALISE * squared_norm:
            break
    return math.sqrt(squared_rest)


@inner
def extend(g: Any, V: Any, R: Any, k: int, z: Any) -> None:
    """Add row k of ``g`` to the factorisation g[:k + 1] = (V[:k + 1]'R)'."""
    include(V, R, k, z, orthogonalise(g, V, R, k, z))


@inner
def include(V: Any, R: Any, k: int, z: Any, rest: float) -> None:
    """Add row k of ``g``, with the part z of norm ``rest`` orthogonal to V[:k], to the factorisation."""
    R[k, k] = max(rest, 1e-300)
    for j in range(z.size):
        V[k, j] = z[j] / R[k, k]


@inner
def exclude(g: Any, V: Any, R: Any, k: int, drop: int, z: Any) -> float:
    """Remove row ``drop`` from the k factored rows, and shift the later rows and row k, whose rest is z, up by one.

    Plane rotations make R triangular again. The component of row k along the direction that V loses is added to z; return ||z||.
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
    """Compute r = R[:k, :k]⁻¹ R[:k, k], the combination of the factored constraints nearest to constraint k."""
    for a in range(k - 1, -1, -1):
        t = R[a, k]
        for b in range(a + 1, k):
            t -= R[a, b] * r[b]
        r[a] = t / R[a, a]
