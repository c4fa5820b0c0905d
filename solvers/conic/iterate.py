"""The primal-dual iterate of the conic SVM and its step: both points are feasible by construction at every iteration.

Primal: V = W - ww' ≻ 0, ρ_i > r_i = 1 - u_i, z_i q_i > ρ_i² with q_i = r_i² + a_i'V a_i (= x_i'W x_i - 2u_i + 1) [, Σz < κn].
Dual: γ, ζ > 0, τ [, μ] with S̄ = [τ g'/2; g/2 S] ≻ 0, S = I - Σγ_i a_i a_i', g = Σ(2γ_i - ζ_i)a_i, 4γ_iβ > ζ_i², β = λ or μ.

This is Conic (21) without its r⁻ branch and z ≤ 1, which hold at every optimum: z = (r)_+²/q ≤ 1, and q ≥ r² by V ⪰ 0.
All slacks are functions of the free unknowns (w, V, z, ρ) and (γ, ζ, τ, μ), so no equation is ever violated; rounding
in a Newton system only makes the next point less central, and the gap, a sum of complementarities, is proved at any time.

The lifted cone is seen from the current w: with P = [1 0; w I], [1 w'; w W] = P diag(1, V) P' and S̄ becomes P'S̄P, whose
entries vanish where those of V do not. Without this shear W - ww' would cancel wherever the relaxation is nearly exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...models.arrays import FloatArray
from .newton import Compliance, NewtonSystem
from .point_cones import PointScaling, Sym2, max_step

__all__ = ["ConicData", "Iterate", "Step", "newton_step"]


@dataclass(frozen=True, eq=False)
class ConicData:
    """Scaled data: rows a_i (n × p, metric the identity), λ or the budget κn."""

    A: FloatArray
    lam: float | None
    budget: float | None

    @property
    def degree(self) -> int:
        """Barrier degree: p + 1 of Z, two of every cone, one of every row ρ ≥ r, one of the budget."""
        n, p = self.A.shape
        return p + 1 + 3 * n + (self.budget is not None)


@dataclass(frozen=True, eq=False)
class Iterate:
    """(w, V, z, ρ) and (γ, ζ, ``corner``, μ); slacks and values are recomputed from them.

    ``corner`` = (1, w)'S̄(1, w) = τ + 2η'w + w'Sw stands for τ: it is the complementarity of the lifted cone's first entry.
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
        room = np.inf if self.data.budget is None else self.data.budget - float(self.z.sum())
        derived = {
            "S": S,
            "r": r,
            "primal": Sym2(q, self.z, self.rho),
            "dual": Sym2(self.gamma, np.full(q.size, self.mu), -0.5 * self.zeta),
            "slack": self.rho - r,
            "room": room,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def dual_point(self) -> tuple[FloatArray, FloatArray, float]:
        """(γ, v, μ)."""
        return self.gamma, self.zeta, self.mu

    @cached_property
    def objective(self) -> float:
        """Tr W [+ λΣz]."""
        value = float(self.w @ self.w + np.trace(self.V))
        return value if self.data.lam is None else value + self.data.lam * float(self.z.sum())

    @cached_property
    def bound(self) -> float:
        """-τ + Σ(ζ - γ) [- μκn]: a lower bound, as S̄ ⪰ 0."""
        w, eta = self.w, 0.5 * self.data.A.T @ (2.0 * self.gamma - self.zeta)
        tau = self.corner - float(2.0 * (eta @ w) + w @ self.S[1:, 1:] @ w)
        value = float((self.zeta - self.gamma).sum()) - tau
        return value if self.data.budget is None else value - self.mu * self.data.budget

    @cached_property
    def gap(self) -> float:
        """Sum of the complementarities: objective - bound without its cancellation."""
        lifted = self.corner + float((self.S[1:, 1:] * self.V).sum())
        total = lifted + float(self.primal.dot(self.dual).sum() + (self.slack * self.zeta).sum())
        return total if self.data.budget is None else total + self.mu * self.room

    @cached_property
    def relative_gap(self) -> float:
        """Gap over max(|objective|, |bound|)."""
        return self.gap / max(abs(self.objective), abs(self.bound), 1e-300)

    def inside(self) -> bool:
        """Whether primal and dual point are strictly feasible in floating-point arithmetic."""
        if not (self.primal.inside() and self.dual.inside() and (self.slack > 0).all() and (self.zeta > 0).all()):
            return False
        return self.room > 0 and self.mu > 0 and _positive(self.V) and _positive(self.S)

    def moved(self, step: Step, primal: float, dual: float) -> Iterate:
        """The iterate after a step of these lengths; W moves linearly, so V bends by -primal²·dw dw'."""
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
    """A direction in all unknowns, in the frame of the iterate: V = dW - w dw' - dw w', S = P'dS̄P, and q, u the rates."""

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
        """[0 dw'; dw dV]."""
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


def _positive(M: FloatArray) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True


def newton_step(point: Iterate, system: NewtonSystem) -> tuple[Iterate, float, float]:
    """One predictor-corrector step (Mehrotra, Nesterov-Todd direction): the new point and both step lengths.

    Raises
    ------
    numpy.linalg.LinAlgError
        The scaling or the Newton system broke down in floating-point arithmetic.
    """
    linear = _Linearised(point, system)
    affine = linear.step(0.0, None)
    primal, dual = linear.lengths(affine)
    nu = point.gap / point.data.degree
    target = max(linear.gap_after(affine, min(primal, 1.0), min(dual, 1.0)) / point.data.degree, 0.0)
    blocked = (1.0 - min(primal, dual, 1.0)) ** 3  # far from the central path: go back to it first
    centring = min(max((target / nu) ** 3, blocked, 1e-8), 1.0)
    step = linear.step(centring * nu, affine)
    primal, dual = linear.lengths(step)
    shorten = 0.9 + 0.09 * min(primal, dual, 1.0)
    primal, dual = min(1.0, shorten * primal), min(1.0, shorten * dual)
    for _ in range(30):
        trial = point.moved(step, primal, dual)
        if trial.inside():
            return trial, primal, dual
        primal, dual = 0.8 * primal, 0.8 * dual
    raise np.linalg.LinAlgError("no step keeps the iterate inside the cones")


class _Linearised:
    """The step equations at a point: scalings, compliances, the factored system and the budget's sensitivity."""

    def __init__(self, point: Iterate, system: NewtonSystem) -> None:
        self.point, self.system = point, system
        L, R = np.zeros_like(point.S), np.linalg.cholesky(point.S)
        L[0, 0], L[1:, 1:] = 1.0, np.linalg.cholesky(point.V)
        U, self.scaled, Vt = np.linalg.svd(R.T @ L)
        root = np.sqrt(self.scaled)
        self.G = (L @ Vt.T) / root  # G⁻¹ diag(1, V) G⁻ᵀ = G'SG = diag(scaled)
        self.G_inverse = (U / root).T @ R.T
        self.cones = PointScaling(point.primal, point.dual)
        a, b, c = self.cones.theta
        self.h = point.zeta / point.slack
        bend = 0.5 * self.cones.det
        self.compliance = Compliance(
            a * a, -a * c, 1.0 / self.h + 0.5 * (a * b + c * c), 1.0 / (a * a), 1.0 / (1.0 / self.h + bend), c / a
        )
        corner = float(self.G[0] @ self.G[0])
        system.factor(corner, self.G_inverse.T @ self.G_inverse, point.r, self.compliance)
        self.sensitivity: Step | None = None
        if point.data.budget is not None:
            zero = np.zeros_like(a)
            one = Sym2(zero, zero - 1.0, zero)  # R - dY for dβ = 1
            moved = Sym2(-c * c, -b * b, -b * c)
            self.sensitivity = self._solve(np.zeros_like(point.S), one, moved, zero, 1.0)

    def step(self, centre: float, affine: Step | None) -> Step:
        """Direction to complementarities of ``centre`` (second-order terms of ``affine`` included)."""
        point = self.point
        corner = self.scaled
        right = np.diag(centre - corner * corner)
        row = centre - point.slack * point.zeta
        room = centre - point.mu * point.room if point.data.budget is not None else 0.0
        if affine is not None:
            dZ = self.G_inverse @ affine.Z @ self.G_inverse.T
            dS = self.G.T @ affine.S @ self.G
            product = dZ @ dS
            right = right - 0.5 * (product + product.T)
            row = row - (affine.rho + affine.u) * affine.zeta
            if point.data.budget is not None:
                room += affine.mu * float(affine.z.sum())
        right = 2.0 * right / (corner[:, None] + corner)
        R = self.G_inverse.T @ right @ self.G_inverse
        rates = (None, None) if affine is None else (affine.primal, affine.dual)
        base = self._solve(0.5 * (R + R.T), *self.cones.target(centre, *rates), row / point.slack, 0.0)
        if self.sensitivity is None:
            return base
        # dμ + (μ/room)·(-Σdz) = room/room₀ with dz affine in dμ
        pull = point.mu / point.room
        dmu = (room / point.room + pull * float(base.z.sum())) / (1.0 - pull * float(self.sensitivity.z.sum()))
        return _combine(base, self.sensitivity, dmu)

    def _solve(self, R: FloatArray, dual: Sym2, primal: Sym2, row: FloatArray, dmu: float) -> Step:
        """The step for given right-hand sides: R of Z, (R, P) of the points, ``row`` of dζ + h(dρ + du), dβ = dμ.

        dρ and dz follow from the row and from the β entry of dY + Θ⁻¹dSΘ⁻¹ = R, whose coefficients are of order one; the
        other equations would amplify rounding by 1/ν.
        """
        ratio = self.compliance.c
        dw, dV, e_gamma, e_zeta, dS = self.system.solve(R, primal.a, row / self.h - primal.c)
        dq, du = self.system.rates(dw, dV)
        drho = (row + e_zeta) / self.h - du
        weight = (self.cones.det / self.cones.theta.a) ** 2
        dz = weight * dual.b + ratio * (2.0 * drho - ratio * dq)
        return Step(dw, dV, dz, drho, -e_gamma, -e_zeta, dS, dmu, dq, du)

    def lengths(self, step: Step) -> tuple[float, float]:
        """Largest primal and dual step lengths that stay in the cones."""
        point = self.point
        with np.errstate(over="ignore"):
            primal = min(
                self._matrix_step(self.G_inverse @ step.Z @ self.G_inverse.T),
                max_step(point.primal, step.primal),
                _ratio(point.slack, step.rho + step.u),
            )
            dual = min(
                self._matrix_step(self.G.T @ step.S @ self.G),
                max_step(point.dual, step.dual),
                _ratio(point.zeta, step.zeta),
            )
        if point.data.budget is not None:
            primal = min(primal, _ratio(np.array([point.room]), np.array([-step.z.sum()])))
            dual = min(dual, _ratio(np.array([point.mu]), np.array([step.mu])))
        return primal, dual

    def _matrix_step(self, scaled: FloatArray) -> float:
        root = 1.0 / np.sqrt(self.scaled)
        smallest = float(np.linalg.eigvalsh(root[:, None] * scaled * root)[0])
        return np.inf if smallest >= 0.0 else -1.0 / smallest

    def gap_after(self, step: Step, primal: float, dual: float) -> float:
        """Complementarity after a step: the gap is bilinear."""
        moved = self.point.moved(step, primal, dual)
        return moved.objective - moved.bound if moved.gap < 0 else moved.gap


def _ratio(value: FloatArray, rate: FloatArray) -> float:
    falling = rate < 0.0
    return float((-value[falling] / rate[falling]).min(initial=np.inf))


def _combine(base: Step, sensitivity: Step, t: float) -> Step:
    """Base + t·sensitivity (the sensitivity was solved for dμ = 1)."""
    names = ("w", "V", "z", "rho", "gamma", "zeta", "S", "q", "u")
    return replace(base, mu=t, **{name: getattr(base, name) + t * getattr(sensitivity, name) for name in names})
