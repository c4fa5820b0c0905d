"""A predictor-corrector step: the scaled equations at an iterate, their direction, and the step lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...models.arrays import FloatArray
from .iterate import Iterate, Step
from .newton import Compliance, NewtonSystem
from .point_cones import PointScaling, Sym2, max_step

__all__ = ["newton_step"]


def newton_step(point: Iterate, system: NewtonSystem) -> tuple[Iterate, float, float]:
    """Take one predictor-corrector step (Mehrotra, Nesterov-Todd direction): return the new point and both step lengths.

    Raises
    ------
    numpy.linalg.LinAlgError
        The scaling or the Newton system breaks down in floating-point arithmetic.
    """
    linear = _Linearised(point, system)
    affine = linear.step(0.0, None)
    primal, dual = linear.lengths(affine)
    nu = point.gap / point.data.degree
    target = max(linear.gap_after(affine, min(primal, 1.0), min(dual, 1.0)) / point.data.degree, 0.0)
    recentring = (1.0 - min(primal, dual, 1.0)) ** 3  # dominates for a point far from the central path
    centring = min(max((target / nu) ** 3, recentring, 1e-8), 1.0)
    step = linear.step(centring * nu, affine)
    primal, dual = linear.lengths(step)
    damping = 0.9 + 0.09 * min(primal, dual, 1.0)
    primal, dual = min(1.0, damping * primal), min(1.0, damping * dual)
    for _ in range(30):
        trial = point.moved(step, primal, dual)
        if trial.inside():
            return trial, primal, dual
        primal, dual = 0.8 * primal, 0.8 * dual
    raise np.linalg.LinAlgError("no step keeps the iterate inside the cones")


class _Linearised:
    """The step equations at a point: scalings, compliances, the factored system and the sensitivity to the budget."""

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
        half_det = 0.5 * self.cones.det
        self.compliance = Compliance(
            a * a, -a * c, 1.0 / self.h + 0.5 * (a * b + c * c), 1.0 / (a * a), 1.0 / (1.0 / self.h + half_det), c / a
        )
        corner = float(self.G[0] @ self.G[0])
        system.factor(corner, self.G_inverse.T @ self.G_inverse, point.r, self.compliance)
        self.sensitivity: Step | None = None
        if point.data.budget is not None:
            zero = np.zeros_like(a)
            one = Sym2(zero, zero - 1.0, zero)  # R - dY for dβ = 1
            primal_rate = Sym2(-c * c, -b * b, -b * c)
            self.sensitivity = self._solve(np.zeros_like(point.S), one, primal_rate, zero, 1.0)

    def step(self, centre: float, affine: Step | None) -> Step:
        """Return the direction to complementarities of ``centre``, with the second-order terms of ``affine``."""
        point = self.point
        singular_values = self.scaled
        right = np.diag(centre - singular_values * singular_values)
        row = centre - point.slack * point.zeta
        budget_target = centre - point.mu * point.room if point.data.budget is not None else 0.0
        if affine is not None:
            dZ = self.G_inverse @ affine.Z @ self.G_inverse.T
            dS = self.G.T @ affine.S @ self.G
            product = dZ @ dS
            right = right - 0.5 * (product + product.T)
            row = row - (affine.rho + affine.u) * affine.zeta
            if point.data.budget is not None:
                budget_target += affine.mu * float(affine.z.sum())
        right = 2.0 * right / (singular_values[:, None] + singular_values)
        R = self.G_inverse.T @ right @ self.G_inverse
        rates = (None, None) if affine is None else (affine.primal, affine.dual)
        base = self._solve(0.5 * (R + R.T), *self.cones.target(centre, *rates), row / point.slack, 0.0)
        if self.sensitivity is None:
            return base
        # dμ + (μ/room)·(-Σdz) = room/room₀ with dz affine in dμ
        ratio = point.mu / point.room
        dmu = (budget_target / point.room + ratio * float(base.z.sum())) / (1.0 - ratio * float(self.sensitivity.z.sum()))
        return _combine(base, self.sensitivity, dmu)

    def _solve(self, R: FloatArray, dual: Sym2, primal: Sym2, row: FloatArray, dmu: float) -> Step:
        """Return the step for given right-hand sides: R of Z, (R, P) of the points, ``row`` of dζ + h(dρ + du), dβ = dμ.

        dρ and dz follow from the row and from the β entry of dY + Θ⁻¹dSΘ⁻¹ = R, whose coefficients are of order one. The other
        equations would amplify rounding by 1/ν.
        """
        ratio = self.compliance.c
        dw, dV, e_gamma, e_zeta, dS = self.system.solve(R, primal.a, row / self.h - primal.c)
        dq, du = self.system.rates(dw, dV)
        drho = (row + e_zeta) / self.h - du
        weight = (self.cones.det / self.cones.theta.a) ** 2
        dz = weight * dual.b + ratio * (2.0 * drho - ratio * dq)
        return Step(dw, dV, dz, drho, -e_gamma, -e_zeta, dS, dmu, dq, du)

    def lengths(self, step: Step) -> tuple[float, float]:
        """Return the largest primal and dual step lengths that stay in the cones."""
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
        """Return the complementarity after a step, which is bilinear in the step lengths."""
        moved = self.point.moved(step, primal, dual)
        return moved.objective - moved.bound if moved.gap < 0 else moved.gap


def _ratio(value: FloatArray, rate: FloatArray) -> float:
    decreasing = rate < 0.0
    return float((-value[decreasing] / rate[decreasing]).min(initial=np.inf))


def _combine(base: Step, sensitivity: Step, t: float) -> Step:
    """Return base + t·sensitivity, where the sensitivity was computed for dμ = 1."""
    names = ("w", "V", "z", "rho", "gamma", "zeta", "S", "q", "u")
    return replace(base, mu=t, **{name: getattr(base, name) + t * getattr(sensitivity, name) for name in names})
