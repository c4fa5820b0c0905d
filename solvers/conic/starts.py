"""Strictly feasible starting points of the interior-point method: cold, and warm from a given (w, W).

For given w, V ≻ 0, β = λ or μ and ν the centre of a point's cone is a closed form: with q = r² + a'Va,

    ρ(ρ - r) = νq/(2β),   z = ρ²/q + ν/β,   γ = βz/q,   ζ = 2βρ/q,

the solution of [q ρ; ρ z][γ -ζ/2; -ζ/2 β] = νI and (ρ - r)ζ = ν. Then γ and ζ are scaled down until S ≻ 0.
"""

from __future__ import annotations

import numpy as np

from ...models.arrays import FloatArray
from .iterate import ConicData, Iterate

__all__ = ["cold_start", "warm_start"]

#: Barrier costs of a warm start as shares of the objective, tried until the point is near the central path.
_BARRIER_SHARES = (1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Largest ratio of a warm start's gap to the gap of a central point with the same ν.
_CENTRALITY = 6.0


def cold_start(data: ConicData) -> Iterate:
    """Return the point with w = 0 and V = tI, with every cone central for its q_i = 1 + t||a_i||²."""
    n, p = data.A.shape
    norms = np.einsum("ij,ij->i", data.A, data.A)
    t = _initial_spread(data, norms)
    q = 1.0 + t * norms
    nu = t / (1.0 + 1.5 * n / p)
    mu = data.lam if data.lam is not None else nu
    while True:
        assert mu is not None
        z, _, _, _ = _centres(np.ones(n), q, mu, nu)
        if data.budget is None or z.sum() < 0.7 * data.budget:
            break
        mu *= 2.0
    return _complete_iterate(data, np.zeros(p), t * np.eye(p), nu, mu, nu / t)


def warm_start(data: ConicData, w: FloatArray, V: FloatArray) -> Iterate | None:
    """Return a strictly feasible point near (w, V + tI) with the least t > 0 near the central path; None without such a point.

    Parameters
    ----------
    data : ConicData
    w : ndarray (p,)
    V : ndarray (p, p)
        Symmetric; projected onto the semidefinite cone.
    """
    p = w.size
    values, vectors = np.linalg.eigh(V)
    V = np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
    r = 1.0 - data.A @ w
    size = float(w @ w + np.trace(V))
    if data.lam is not None:
        square = np.maximum(r, 0.0) ** 2
        q = np.maximum(r * r + np.einsum("ij,ij->i", data.A @ V, data.A), 1e-300)
        size += data.lam * float((square / q).sum())
    for share in _BARRIER_SHARES:
        nu, t = share * size / data.degree, share * size / p
        if not nu > 0.0:
            return None
        spread = (1.0 + share) * V + t * np.eye(p)
        mu = data.lam if data.lam is not None else _budget_multiplier(data, r, spread, nu)
        if mu is None:
            continue
        point = _complete_iterate(data, w, spread, nu, mu, nu / float(np.linalg.eigvalsh(spread)[-1]))
        if point.inside() and point.gap <= _CENTRALITY * nu * data.degree:
            return point
    return None


def _centres(r: FloatArray, q: FloatArray, beta: float, nu: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return (z, ρ, γ, ζ) of the module's docstring, with ρ free of cancellation for r < 0."""
    product = 0.5 * nu * q / beta
    root = np.sqrt(0.25 * r * r + product)
    rho = np.where(r >= 0.0, 0.5 * r + root, product / np.maximum(root - 0.5 * r, 1e-300))
    z = rho * rho / q + nu / beta
    return z, rho, beta * z / q, 2.0 * beta * rho / q


def _complete_iterate(data: ConicData, w: FloatArray, V: FloatArray, nu: float, mu: float, margin: float) -> Iterate:
    """Return the iterate at (w, V): γ, ζ scaled until S ⪰ min(½, margin)·I, the lifted cone's corner ν above its minimum."""
    A, p = data.A, w.size
    r = 1.0 - A @ w
    q = r * r + np.einsum("ij,ij->i", A @ V, A)
    z, rho, gamma, zeta = _centres(r, q, mu, nu)
    largest = float(np.linalg.eigvalsh((A * gamma[:, None]).T @ A)[-1])
    scale = min(1.0, (1.0 - min(0.5, margin)) / largest) if largest > 0 else 1.0
    gamma, zeta = scale * gamma, scale * zeta
    S = np.eye(p) - (A * gamma[:, None]).T @ A
    # corner - (η + Sw)'S⁻¹(η + Sw) = ν, and η + Sw = w + Σ(γr - ζ/2)a
    edge = w + A.T @ (gamma * r - 0.5 * zeta)
    corner = float(edge @ np.linalg.solve(S, edge)) + nu
    return Iterate(data, w, V, z, rho, gamma, zeta, corner, mu)


def _budget_multiplier(data: ConicData, r: FloatArray, V: FloatArray, nu: float) -> float | None:
    """Return the μ whose centres leave a slack ν/μ of the budget, Σz + ν/μ = κn; None if V is too small for any μ."""
    assert data.budget is not None
    q = r * r + np.einsum("ij,ij->i", data.A @ V, data.A)

    def excess(log_mu: float) -> float:
        mu = float(np.exp(log_mu))
        return float(_centres(r, q, mu, nu)[0].sum()) + nu / mu - data.budget  # type: ignore[operator]

    low = high = float(np.log(nu))
    while excess(high) > 0.0:
        high += 2.0
        if high > low + 80.0:
            return None
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return float(np.exp(high))


def _initial_spread(data: ConicData, norms: FloatArray) -> float:
    """Return t of V = tI: twice the minimiser of tp + λΣ1/(1 + t||a||²), or the root of Σ1/(1 + t||a||²) = κn/4."""
    p = data.A.shape[1]
    t = 1.0
    if data.budget is not None:
        while (1.0 / (1.0 + t * norms)).sum() > 0.25 * data.budget:
            t *= 1.5
        return t
    assert data.lam is not None
    while data.lam * (norms / (1.0 + t * norms) ** 2).sum() > p:
        t *= 1.5
    return 2.0 * t
