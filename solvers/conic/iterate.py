"""The primal-dual iterate of the conic SVM and its step: both points are feasible by construction at every iteration.

Primal: V = W - ww' ≻ 0, ρ_i > r_i = 1 - u_i, z_i q_i > ρ_i² with q_i = r_i² + a_i'V a_i (= x_i'W x_i - 2u_i + 1) [, Σz < κn].
Dual: γ, ζ > 0, τ [, μ] with S̄ = [τ g'/2; g/2 S] ≻ 0, S = I - Σγ_i a_i a_i', g = Σ(2γ_i - ζ_i)a_i, 4γ_iβ > ζ_i², β = λ or μ.

This is Conic (21) without its r⁻ branch and without z ≤ 1, which hold at every optimum: z = (r)_+²/q ≤ 1, and q ≥ r² by V ⪰ 0.
All slacks are functions of the free unknowns (w, V, z, ρ) and (γ, ζ, τ, μ), so no equation is ever violated. Rounding in a Newton
system only makes the next point less central, and the gap, a sum of complementarities, is proved at any time.

The lifted cone is expressed relative to the current w. With P = [1 0; w I], [1 w'; w W] = P diag(1, V) P', and S̄ becomes P'S̄P,
whose entries vanish together with those of V. Without this shear W - ww' would suffer from cancellation where the relaxation is
nearly exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...models.arrays import FloatArray
from .point_cones import Sym2

__all__ = ["ConicData", "Iterate", "Step"]


@dataclass(frozen=True, eq=False)
class ConicData:
    """Scaled data: rows a_i (n × p, metric the identity), λ or the budget κn."""

    A: FloatArray
    lam: float | None
    budget: float | None

    @property
    def degree(self) -> int:
        """Barrier degree: p + 1 of the lifted cone, two of every cone, one of every row ρ ≥ r, one of the budget."""
        n, p = self.A.shape
        return p + 1 + 3 * n + (self.budget is not None)


@dataclass(frozen=True, eq=False)
class Iterate:
    """A primal point (w, V, z, ρ) and a dual point (γ, ζ, ``corner``, μ), with slacks and values derived from them.

    ``corner`` = (1, w)'S̄(1, w) = τ + 2η'w + w'Sw replaces τ: it is the complementarity of the lifted cone's first entry.
    """

    data: ConicData
    w: FloatArray
    V: FloatArray
    z: FloatArray
    rho: FloatArray
    gamma: FloatArray
    zeta: FloatArray
    corner: float
    mu: float
    S: FloatArray = field(init=False)
    r: FloatArray = field(init=False)
    primal: Sym2 = field(init=False)
    dual: Sym2 = field(init=False)
    slack: FloatArray = field(init=False)
    room: float = field(init=False)

    def __post_init__(self) -> None:
        A, p = self.data.A, self.w.size
        r = 1.0 - A @ self.w
        q = r * r + np.einsum("ij,ij->i", A @ self.V, A)
        S = np.empty((p + 1, p + 1))
        S[1:, 1:] = np.eye(p) - (A * self.gamma[:, None]).T @ A
        # η + Sw = w + Σ(γr - ζ/2)a
        S[0, 1:] = S[1:, 0] = self.w + A.T @ (self.gamma * r - 0.5 * self.zeta)
        S[0, 0] = self.corner
        budget_slack = np.inf if self.data.budget is None else self.data.budget - float(self.z.sum())
        derived = {
            "S": S,
            "r": r,
            "primal": Sym2(q, self.z, self.rho),
            "dual": Sym2(self.gamma, np.full(q.size, self.mu), -0.5 * self.zeta),
            "slack": self.rho - r,
            "room": budget_slack,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def dual_point(self) -> tuple[FloatArray, FloatArray, float]:
        """The dual point (γ, v, μ)."""
        return self.gamma, self.zeta, self.mu

    @cached_property
    def objective(self) -> float:
        """Primal objective Tr W [+ λΣz]."""
        value = float(self.w @ self.w + np.trace(self.V))
        return value if self.data.lam is None else value + self.data.lam * float(self.z.sum())

    @cached_property
    def bound(self) -> float:
        """Dual objective -τ + Σ(ζ - γ) [- μκn]: a lower bound, since S̄ ⪰ 0."""
        w, eta = self.w, 0.5 * self.data.A.T @ (2.0 * self.gamma - self.zeta)
        tau = self.corner - float(2.0 * (eta @ w) + w @ self.S[1:, 1:] @ w)
        value = float((self.zeta - self.gamma).sum()) - tau
        return value if self.data.budget is None else value - self.mu * self.data.budget

    @cached_property
    def gap(self) -> float:
        """Sum of the complementarities, equal to objective - bound without its cancellation."""
        lifted = self.corner + float((self.S[1:, 1:] * self.V).sum())
        total = lifted + float(self.primal.dot(self.dual).sum() + (self.slack * self.zeta).sum())
        return total if self.data.budget is None else total + self.mu * self.room

    @cached_property
    def relative_gap(self) -> float:
        """Gap over max(|objective|, |bound|)."""
        return self.gap / max(abs(self.objective), abs(self.bound), 1e-300)

    def inside(self) -> bool:
        """Return True if primal and dual point are strictly feasible in floating-point arithmetic."""
        if not (self.primal.inside() and self.dual.inside() and (self.slack > 0).all() and (self.zeta > 0).all()):
            return False
        return self.room > 0 and self.mu > 0 and _is_positive_definite(self.V) and _is_positive_definite(self.S)

    def moved(self, step: Step, primal: float, dual: float) -> Iterate:
        """Return the iterate after steps of these lengths. W moves linearly, so V has the additional term -primal²·dw dw'."""
        V = self.V + primal * step.V - primal**2 * np.outer(step.w, step.w)
        S = self.S + dual * step.S
        shift = primal * step.w  # the frame moves with w
        return Iterate(
            self.data,
            self.w + shift,
            V,
            self.z + primal * step.z,
            self.rho + primal * step.rho,
            self.gamma + dual * step.gamma,
            self.zeta + dual * step.zeta,
            float(S[0, 0] + 2.0 * (S[0, 1:] @ shift) + shift @ S[1:, 1:] @ shift),
            self.mu + dual * step.mu,
        )


@dataclass(frozen=True, eq=False)
class Step:
    """A direction in all unknowns, relative to w: V = dW - w dw' - dw w', S = P'dS̄P, and q, u the rates of change."""

    w: FloatArray
    V: FloatArray
    z: FloatArray
    rho: FloatArray
    gamma: FloatArray
    zeta: FloatArray
    S: FloatArray
    mu: float
    q: FloatArray
    u: FloatArray

    @cached_property
    def Z(self) -> FloatArray:
        """The direction of the lifted cone, [0 dw'; dw dV]."""
        Z = np.zeros_like(self.S)
        Z[0, 1:] = Z[1:, 0] = self.w
        Z[1:, 1:] = self.V
        return Z

    @cached_property
    def primal(self) -> Sym2:
        """Rates of the points' primal matrices."""
        return Sym2(self.q, self.z, self.rho)

    @cached_property
    def dual(self) -> Sym2:
        """Rates of the points' dual matrices."""
        return Sym2(self.gamma, np.full(self.gamma.size, self.mu), -0.5 * self.zeta)


def _is_positive_definite(M: FloatArray) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True
