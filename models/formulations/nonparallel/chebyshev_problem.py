"""The Chebyshev problem of all classes: its parameters, its form, the appraisal of its points, and the memory that it needs.

The parameters of `ChebyshevNPSVC` that the form, the statement and the steps of the Chebyshev problem read.

The Chebyshev problem written down: the second-order cone program for a fixed projection P, and its multipliers.

The appraisal of a point of the Chebyshev problem: the classes' objectives, their gradients in P, residuals without the
form.

A check that the matrices of the alternating steps fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

import numpy as np

from ....errors import TooLargeError
from ...appraisal import Appraisal, Bound
from ...arrays import BoolArray, FloatArray, Points, materialise_limit
from ...kernels.feature_map import FeatureMap
from ...kernels.kernels import Kernel
from ...program.cones import Nonnegative, RotatedSecondOrder
from ...program.entries import Entries
from ...program.form import Block, Constraint, StandardForm
from ...rounding import UNIT
from .hinge_quadratic import HingeQuadratic

__all__ = [
    "ChebyshevProblem",
    "appraised",
    "chebyshev_form",
    "chebyshev_multipliers",
    "check_memory",
    "class_objectives",
    "projection_gradients",
    "weighted_bound",
]


class ChebyshevProblem(Protocol):
    """Data and parameters of NPSVC++ (8)."""

    name: ClassVar[str]

    @property
    def X(self) -> Points:
        """Points (n, p)."""

    @property
    def K(self) -> int:
        """Number of classes."""

    @property
    def features(self) -> FeatureMap:
        """Ψ."""

    @property
    def kernel(self) -> Kernel:
        """Kernel of the features."""

    @property
    def P(self) -> FloatArray | None:
        """The projection, where it is fixed."""

    @property
    def weights(self) -> FloatArray | float:
        """ϖ."""

    @property
    def orientation(self) -> str:
        """The points that are near hyperplane l, in words."""

    @property
    def c(self) -> float:
        """Weight of the others' losses."""

    @property
    def r1(self) -> float:
        """Weight of u - Pv."""

    @property
    def r2(self) -> float:
        """Weight of v."""

    @property
    def mu(self) -> float:
        """Weight of the graph."""

    @property
    def d(self) -> int | None:
        """Columns of P."""

    @property
    def ridge(self) -> float:
        """Ridge of the features."""

    @property
    def offset(self) -> float:
        """Offset of the features."""

    @property
    def neighbours(self) -> int | None:
        """Neighbours in the graph."""

    def near(self, k: int) -> BoolArray:
        """Points that hyperplane k is to be near."""

    def smoothness(self, P: FloatArray) -> float:
        """μ/2 Tr(P'SP)."""


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


def class_objectives(model: ChebyshevProblem, U: FloatArray, V: FloatArray, P: FloatArray) -> FloatArray:
    """J_l at U (K, features), V (K, d)."""
    F = model.features.rows @ U.T
    common = model.smoothness(P)
    J = np.empty(model.K)
    for k in range(model.K):
        near = model.near(k)
        rest = U[k] - P @ V[k]
        J[k] = 0.5 * float(F[near, k] @ F[near, k]) + model.c * float(np.maximum(1.0 - F[~near, k], 0.0).sum())
        J[k] += 0.5 * model.r1 * float(rest @ rest) + 0.5 * model.r2 * float(V[k] @ V[k]) + common
    return J


def projection_gradients(model: ChebyshevProblem, smoothed: FloatArray | None, U: FloatArray, V: FloatArray) -> FloatArray:
    """Euclidean gradients of ϖ_l J_l in P, ϖ_l (μSP - r1 u_l v_l'), given SP; ||Pv||² is constant as P'P = I."""
    weights = np.asarray(model.weights)
    shared = 0.0 if smoothed is None else model.mu * smoothed
    outer = U[:, :, None] * V[:, None, :]
    return np.asarray(weights[:, None, None] * (shared - model.r1 * outer))


def appraised(model: ChebyshevProblem, values: Mapping[str, FloatArray], objectives: FloatArray, bound: Bound) -> Appraisal:
    """Objective and residuals of a point for fixed P, given J_l and the bound."""
    F = model.features.rows @ values["U"].T
    short = np.concatenate([1.0 - F[~model.near(k), k] for k in range(model.K)]) - values["xi"]
    high = float(np.max(np.asarray(model.weights) * objectives)) - float(values["rho"])
    violations = {"margin": float(max(short.max(), 0.0)), "objective": max(high, 0.0)}
    return Appraisal(
        objective=float(values["rho"]),
        primal_residual=max(violations["margin"] / 2.0, violations["objective"] / (1.0 + abs(float(values["rho"])))),
        violations=violations,
        bound=bound.value,
        argument=bound.argument,
    )


def weighted_bound(
    model: ChebyshevProblem, program: Callable[[int], HingeQuadratic], multipliers: Mapping[str, FloatArray]
) -> Bound:
    """max_l ϖ_l D_l(λ_l) for fixed P, each class's own problem given by ``program``: any one class bounds the maximum."""
    best = -np.inf
    for k in range(model.K):
        cone, margin = multipliers.get(f"objective_{k}"), multipliers.get(f"margin_{k}")
        if cone is None or margin is None or not cone[0] > 0:
            continue
        lam = {"margin": np.asarray(margin) / float(cone[0])}
        value = float(np.asarray(model.weights)[k]) * program(k).bound(None, lam).value
        best = max(best, value - 2.0 * UNIT * abs(value))
    return Bound(best, "largest weighted dual value of the classes' own problems, multipliers clipped to their boxes")


def check_memory(model: ChebyshevProblem) -> None:
    """Refuse where they would not: O(n²) for all classes, and |B|² for each.

    With features Ψ of p columns the p × p matrices are the same in number, and each class has two of them.

    Raises
    ------
    TooLargeError
        Says how many bytes they would need, and what to do.
    """
    n, p = model.X.shape[0], model.features.features
    outside = [int((~model.near(k)).sum()) for k in range(model.K)]
    if model.features.linear:
        numbers = n * p + (3 + 2 * model.K) * p * p + 2 * p * sum(outside)
    else:
        shared = 1 if min(outside) * 2 < n else 0
        numbers = (6 + shared) * n * n + sum(m * m for m in outside) + 2 * max(outside) ** 2
    limit = materialise_limit()
    if 8 * numbers > limit:
        need = f"{8 * numbers:,} bytes ({8 * numbers / 2**30:.1f} GiB)"
        raise TooLargeError(
            f"{model.name} with n = {n} points and {p} features would need {need} for its matrices; the limit is {limit:,} "
            "(half of this machine's memory, or MARGINOPT_MAX_BYTES). Give fewer points, or features in place of the kernel: "
            "KernelNPSVC(approximation='nystroem' or 'fourier')"
        )
