"""The Chebyshev problem written down: the second-order cone program for a fixed projection P, and its multipliers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....arrays import FloatArray
from ....program.cones import Nonnegative, RotatedSecondOrder
from ....program.entries import Entries
from ....program.form import Block, Constraint, StandardForm
from .problem import ChebyshevProblem

__all__ = ["chebyshev_form", "chebyshev_multipliers"]


def chebyshev_form(model: ChebyshevProblem, P: FloatArray) -> StandardForm:
    """min ρ over ρ, U (K, features), V (K, d), ξ ≥ 0 (class by class).

    For each class k: ``margin_k``: ψ_i'u_k + ξ_i - 1 ≥ 0 for i in B, and ``objective_k``, a rotated cone
    (ρ/ϖ_k - cΣξ - μ/2 Tr(P'SP), 1, (Ψ_A u_k, √r1 (u_k - Pv_k), √r2 v_k)), which says ϖ_k J_k ≤ ρ.
    """
    psi, K = model.features.rows, model.K
    p, d = P.shape
    sizes = [int((~model.near(k)).sum()) for k in range(K)]
    starts = 1 + K * (p + d) + np.concatenate([[0], np.cumsum(sizes)])
    n = int(starts[-1])
    constraints: list[Constraint] = []
    for k in range(K):
        near = model.near(k)
        u, v, xi = 1 + k * p, 1 + K * p + k * d, int(starts[k])
        m = sizes[k]
        margin = Entries.beside([(Entries.of(psi[~near]), u), (Entries.identity(m), xi)], m, n)
        constraints.append(Constraint(f"margin_{k}", margin.csr, -np.ones(m), Nonnegative(m)))
        weight = float(np.asarray(model.weights)[k])
        root1, root2 = np.sqrt(model.r1), np.sqrt(model.r2)
        F = Entries.below(
            Entries.beside([(Entries.of(np.array([[1.0 / weight]])), 0), (Entries.of(np.full((1, m), -model.c)), xi)], 1, n),
            Entries.beside([], 1, n),
            Entries.beside([(Entries.of(psi[near]), u)], int(near.sum()), n),
            Entries.beside([(Entries.identity(p).times(root1), u), (Entries.of(-root1 * P), v)], p, n),
            Entries.beside([(Entries.identity(d).times(root2), v)], d, n),
        ).csr
        g = np.zeros(F.shape[0])
        g[0], g[1] = -model.smoothness(P), 1.0
        constraints.append(Constraint(f"objective_{k}", F, g, RotatedSecondOrder(F.shape[0])))
    q = np.zeros(n)
    q[0] = 1.0
    lower = np.full(n, -np.inf)
    lower[starts[0] :] = 0.0
    return StandardForm(
        name=model.name,
        blocks=(Block("rho", ()), Block("U", (K, p)), Block("V", (K, d)), Block("xi", (n - int(starts[0]),))),
        q=q,
        constraints=tuple(constraints),
        lower=lower,
        upper=np.full(n, np.inf),
        integer=np.zeros(n, dtype=bool),
    )


def chebyshev_multipliers(
    model: ChebyshevProblem, P: FloatArray, values: Mapping[str, FloatArray], k: int, lam: FloatArray
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Multipliers and reduced costs of the form, all weight on class k and λ of its own problem: complete if k is maximal."""
    others = [int((~model.near(j)).sum()) for j in range(model.K)]
    start = 1 + model.K * sum(P.shape)
    z, zeta = {}, np.zeros(start + sum(others))
    for j, m in enumerate(others):
        cone = np.zeros(2 + model.X.shape[0] - m + sum(P.shape))
        margin = np.zeros(m)
        if j == k:
            weight, near = float(np.asarray(model.weights)[k]), model.near(k)
            u, v = values["U"][k], values["V"][k]
            c = np.concatenate(
                [model.features.rows[near] @ u, np.sqrt(model.r1) * (u - P @ v), np.sqrt(model.r2) * np.asarray(v)]
            )
            cone = np.concatenate([[weight, 0.5 * weight * float(c @ c)], -weight * c])
            margin = weight * lam
            first = start + sum(others[:k])
            zeta[first : first + m] = weight * (model.c - lam)
        z[f"objective_{j}"], z[f"margin_{j}"] = cone, margin
    return z, zeta
