"""Data of the conic SVM's interior-point method ``conic-ipm``: scaled problem, primal-dual iterate, scaling of cones, and step.

The program is (21) of Cepeda, Gómez and Han, *Robust SVMs via conic optimization* (2024): min Tr W [+ λΣz] for rows a_i = y_i x_i
over w, W ⪰ ww' and shares z_i of the 0-1 losses; brackets hold what only the λ form (cost λ) or the κ form (budget κn) has.

Primal: V = W - ww' ≻ 0, ρ_i > r_i = 1 - u_i, u_i = a_i'w, z_i q_i > ρ_i² with q_i = r_i² + a_i'V a_i (= a_i'W a_i - 2u_i + 1)
[, Σz < κn].
Dual: γ, ζ > 0, τ [, μ] with S̄ = [τ g'/2; g/2 S] ≻ 0, S = I - Σγ_i a_i a_i', g = Σ(2γ_i - ζ_i)a_i, 4γ_iβ > ζ_i², β = λ or μ, the
multiplier of the budget.

(21) also has a branch for r_i < 0 and the bound z ≤ 1. Both may be left out: at every optimum z = (r)_+²/q ≤ 1, and q ≥ r² by
V ⪰ 0.
All slacks are functions of the free unknowns (w, V, z, ρ) and (γ, ζ, τ, μ), so no equation is ever violated. Rounding in a Newton
system only makes the next point less central, and the gap, a sum of complementarities, is proved at any time.

The lifted cone, of the matrices [1 w'; w W], is expressed relative to the current w. With P = [1 0; w I] the matrix is
P diag(1, V) P', and S̄ becomes P'S̄P, whose entries vanish together with those of V. Without this shear W - ww' would suffer from
cancellation where the relaxation is nearly exact.

*The 2 × 2 semidefinite cones of all points.* Point i requires q z ≥ ρ², i.e. [q ρ; ρ z] ⪰ 0, with dual [γ -ζ/2; -ζ/2 β] ⪰ 0.
Arrays hold one entry per point; a stack of symmetric matrices is the triple (11, 22, 12). For 2 × 2 matrices all formulas are
algebraic, without loops or eigenvalue routines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ...models.arrays import BoolArray, FloatArray
from ...models.conic_bound import (
    ConicBound,
    ConicPoint,
    Coordinates,
    certified_bound,
    conic_multipliers,
    conic_reduced_costs,
    coordinates,
    primal_point,
)
from ...models.views import ConicProblem
from ..records import Answer


class Symmetric2x2(NamedTuple):
    """A stack of n symmetric 2 × 2 matrices [a c; c b], one for each point."""

    a: FloatArray  #: (n,) entries 11
    b: FloatArray  #: (n,) entries 22
    c: FloatArray  #: (n,) entries 12

    def det(self) -> FloatArray:
        """Return ab - c²."""
        return self.a * self.b - self.c * self.c

    def dot(self, other: Symmetric2x2) -> FloatArray:
        """Return tr(S Y) for each point."""
        return self.a * other.a + self.b * other.b + 2.0 * self.c * other.c

    def plus(self, other: Symmetric2x2, t: float) -> Symmetric2x2:
        """Return S + tY."""
        return Symmetric2x2(self.a + t * other.a, self.b + t * other.b, self.c + t * other.c)

    def inside(self) -> bool:
        """Return True if every matrix is positive definite."""
        return bool((self.a > 0).all() and (self.b > 0).all() and (self.det() > 0).all())


def max_step(S: Symmetric2x2, D: Symmetric2x2) -> float:
    """Return the largest t (or ∞) with S + tD ⪰ 0 for every point, from the smaller root of det(D - xS) = 0."""
    det = S.det()
    b = S.a * D.b + S.b * D.a - 2.0 * S.c * D.c
    c = D.det()
    root = np.sqrt(np.maximum(b * b - 4.0 * det * c, 0.0))
    # x_min = (b - root)/(2 det), written without cancellation for b > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        smallest = np.where(b > 0.0, 2.0 * c / (b + root), (b - root) / (2.0 * det))
    worst = float(np.nanmin(smallest, initial=0.0))
    return np.inf if worst >= 0.0 else -1.0 / worst


class PointScaling:
    """The Nesterov-Todd scaling Θ_i = S_i # Y_i⁻¹ (geometric mean, so Θ Y Θ = S) of every point; Θ = GG', G lower triangular.

    Parameters
    ----------
    S, Y : Symmetric2x2
        The points' primal and dual matrices, positive definite.

    Attributes
    ----------
    theta : Symmetric2x2
        Θ.
    det : ndarray (n,)
        det Θ.
    g1, g2, g3 : ndarray (n,)
        G = [g1 0; g2 g3].
    scaled : Symmetric2x2
        Λ = G'YG = G⁻¹SG⁻ᵀ.
    """

    def __init__(self, S: Symmetric2x2, Y: Symmetric2x2) -> None:
        det_s, det_y = np.sqrt(S.det()), np.sqrt(Y.det())
        # Θ = √(α/y)·M/√det M with M = S/α + adj(Y)/y, det M = 2 + tr(SY)/(αy), without cancellation
        factor = np.sqrt(det_s / det_y) / np.sqrt(2.0 + S.dot(Y) / (det_s * det_y))
        self.theta = Symmetric2x2(
            factor * (S.a / det_s + Y.b / det_y), factor * (S.b / det_s + Y.a / det_y), factor * (S.c / det_s - Y.c / det_y)
        )
        self.det = det_s / det_y
        self.g1 = np.sqrt(self.theta.a)
        self.g2 = self.theta.c / self.g1
        self.g3 = np.sqrt(self.det) / self.g1
        self.S, self.Y = S, Y
        self.scaled = self.scale_dual(Y)
        self._det = det_s * det_y  # of Λ
        self._trace = self.scaled.a + self.scaled.b

    def scale_dual(self, Y: Symmetric2x2) -> Symmetric2x2:
        """Return G'YG."""
        g1, g2, g3 = self.g1, self.g2, self.g3
        return Symmetric2x2(g1 * g1 * Y.a + 2.0 * g1 * g2 * Y.c + g2 * g2 * Y.b, g3 * g3 * Y.b, g3 * (g1 * Y.c + g2 * Y.b))

    def scale_primal(self, S: Symmetric2x2) -> Symmetric2x2:
        """Return G⁻¹SG⁻ᵀ."""
        i1, i3 = 1.0 / self.g1, 1.0 / self.g3
        k = -self.g2 * i1 * i3  # G⁻¹ = [i1 0; k i3]
        return Symmetric2x2(i1 * i1 * S.a, k * k * S.a + 2.0 * k * i3 * S.c + i3 * i3 * S.b, i1 * (k * S.a + i3 * S.c))

    def _unscale_primal(self, R: Symmetric2x2) -> Symmetric2x2:
        """Return GRG'."""
        g1, g2, g3 = self.g1, self.g2, self.g3
        return Symmetric2x2(g1 * g1 * R.a, g2 * g2 * R.a + 2.0 * g2 * g3 * R.c + g3 * g3 * R.b, g1 * (g2 * R.a + g3 * R.c))

    def _unscale_dual(self, R: Symmetric2x2) -> Symmetric2x2:
        """Return G⁻ᵀRG⁻¹."""
        i1, i3 = 1.0 / self.g1, 1.0 / self.g3
        k = -self.g2 * i1 * i3
        return Symmetric2x2(i1 * i1 * R.a + 2.0 * i1 * k * R.c + k * k * R.b, i3 * i3 * R.b, i3 * (i1 * R.c + k * R.b))

    def target(
        self, centre: float, dS: Symmetric2x2 | None = None, dY: Symmetric2x2 | None = None
    ) -> tuple[Symmetric2x2, Symmetric2x2]:
        """Return R and P = ΘRΘ of the step equations dY + Θ⁻¹dSΘ⁻¹ = R, dS + ΘdYΘ = P.

        They are equivalent to Λ∘(Λ + dS̃ + dỸ) = centre·I - dS̃∘dỸ with scaled rates dS̃, dỸ and X∘Y = ½(XY + YX), the last term
        only if ``dS`` and ``dY`` are given. P is not computed from R, since entries of Θ grow like 1/√ν as the complementarity ν
        falls, and those of P are small.
        """
        zero = np.zeros_like(self.g1)
        right = Symmetric2x2(zero + centre, zero + centre, zero)
        if dS is not None and dY is not None:
            s, y = self.scale_primal(dS), self.scale_dual(dY)
            right = Symmetric2x2(
                centre - s.a * y.a - s.c * y.c,
                centre - s.b * y.b - s.c * y.c,
                -0.5 * (s.a * y.c + s.c * y.b + y.a * s.c + y.c * s.b),
            )
        scaled = self._lyapunov(right)
        return self._unscale_dual(scaled).plus(self.Y, -1.0), self._unscale_primal(scaled).plus(self.S, -1.0)

    def _lyapunov(self, Q: Symmetric2x2) -> Symmetric2x2:
        """Return the X with ½(ΛX + XΛ) = Q: X = (det Λ·Q + adj Λ·Q·adj Λ)/(det Λ·tr Λ)."""
        a, b, c = self.scaled
        scale = 1.0 / (self._det * self._trace)
        # adj Λ = [b -c; -c a]
        aa = b * b * Q.a - 2.0 * b * c * Q.c + c * c * Q.b
        bb = c * c * Q.a - 2.0 * a * c * Q.c + a * a * Q.b
        ab = -b * c * Q.a + (a * b + c * c) * Q.c - a * c * Q.b
        return Symmetric2x2(scale * (self._det * Q.a + aa), scale * (self._det * Q.b + bb), scale * (self._det * Q.c + ab))


@dataclass(frozen=True, eq=False)
class ConicData:
    """Scaled data, with the norm w'w: rows a_i (n × p), λ or the budget κn."""

    A: FloatArray  #: (n, p)
    lam: float | None  #: λ; None in the κ form
    budget: float | None  #: κn less the cost of rows of zeros; None in the λ form

    @property
    def degree(self) -> int:
        """Barrier degree: p + 1 of the lifted cone, two of every cone, one of every row ρ ≥ r, one of the budget."""
        n, p = self.A.shape
        return p + 1 + 3 * n + (self.budget is not None)


@dataclass(frozen=True, eq=False)
class Iterate:
    """A primal point (w, V, z, ρ) and a dual point (γ, ζ, ``corner``, μ), with slacks and values derived from them.

    ``corner`` = (1, w)'S̄(1, w) = τ + g'w + w'Sw replaces τ: it is the complementarity of the lifted cone's first entry.
    """

    data: ConicData  #: the scaled problem
    w: FloatArray  #: (p,)
    V: FloatArray  #: (p, p)
    z: FloatArray  #: (n,)
    rho: FloatArray  #: (n,) ρ
    gamma: FloatArray  #: (n,) γ
    zeta: FloatArray  #: (n,) ζ
    corner: float  #: (1, w)'S̄(1, w)
    mu: float  #: λ in the λ form, else the multiplier μ of the budget
    S: FloatArray = field(init=False)  #: (p + 1, p + 1) S̄ in coordinates relative to w, with ``corner`` first
    r: FloatArray = field(init=False)  #: (n,) 1 - Aw
    primal: Symmetric2x2 = field(init=False)  #: the points' matrices [q ρ; ρ z]
    dual: Symmetric2x2 = field(init=False)  #: the points' dual matrices [γ -ζ/2; -ζ/2 μ]
    slack: FloatArray = field(init=False)  #: (n,) ρ - r
    budget_slack: float = field(init=False)  #: κn - Σz; ∞ in the λ form

    def __post_init__(self) -> None:
        A, p = self.data.A, self.w.size
        r = 1.0 - A @ self.w
        q = r * r + np.einsum("ij,ij->i", A @ self.V, A)
        S = np.empty((p + 1, p + 1))
        S[1:, 1:] = np.eye(p) - (A * self.gamma[:, None]).T @ A
        # η + Sw = w + Σ(γr - ζ/2)a with η = g/2
        S[0, 1:] = S[1:, 0] = self.w + A.T @ (self.gamma * r - 0.5 * self.zeta)
        S[0, 0] = self.corner
        budget_slack = np.inf if self.data.budget is None else self.data.budget - float(self.z.sum())
        derived = {
            "S": S,
            "r": r,
            "primal": Symmetric2x2(q, self.z, self.rho),
            "dual": Symmetric2x2(self.gamma, np.full(q.size, self.mu), -0.5 * self.zeta),
            "slack": self.rho - r,
            "budget_slack": budget_slack,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def dual_point(self) -> tuple[FloatArray, FloatArray, float]:
        """The dual point (γ, ζ, μ); `models.conic_bound` calls ζ v."""
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
        return total if self.data.budget is None else total + self.mu * self.budget_slack

    @cached_property
    def relative_gap(self) -> float:
        """Gap over max(|objective|, |bound|)."""
        return self.gap / max(abs(self.objective), abs(self.bound), 1e-300)

    def inside(self) -> bool:
        """Return True if primal and dual point are strictly feasible in floating-point arithmetic."""
        if not (self.primal.inside() and self.dual.inside() and (self.slack > 0).all() and (self.zeta > 0).all()):
            return False
        return self.budget_slack > 0 and self.mu > 0 and _is_positive_definite(self.V) and _is_positive_definite(self.S)

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
    """The direction of an interior-point step: rates of change of the unknowns of `Iterate` and of q and u, relative to w."""

    w: FloatArray  #: (p,) dw
    V: FloatArray  #: (p, p) dW - w dw' - dw w'
    z: FloatArray  #: (n,) dz
    rho: FloatArray  #: (n,) dρ
    gamma: FloatArray  #: (n,) dγ
    zeta: FloatArray  #: (n,) dζ
    S: FloatArray  #: (p + 1, p + 1) dS̄ in coordinates relative to w
    mu: float  #: dμ
    q: FloatArray  #: (n,) dq
    u: FloatArray  #: (n,) change of the margins u

    @cached_property
    def Z(self) -> FloatArray:
        """The direction of the lifted cone, [0 dw'; dw dV]."""
        Z = np.zeros_like(self.S)
        Z[0, 1:] = Z[1:, 0] = self.w
        Z[1:, 1:] = self.V
        return Z

    @cached_property
    def primal(self) -> Symmetric2x2:
        """Rates of the points' primal matrices."""
        return Symmetric2x2(self.q, self.z, self.rho)

    @cached_property
    def dual(self) -> Symmetric2x2:
        """Rates of the points' dual matrices."""
        return Symmetric2x2(self.gamma, np.full(self.gamma.size, self.mu), -0.5 * self.zeta)


def _is_positive_definite(M: FloatArray) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class PreparedProblem:
    """The problem in scaled coordinates: the norm w'Mw as w'w (M is the metric), p ≤ n, no rows of zeros, rows divided by σ.

    The mean squared norm of the rows is then one, and the objective is σ² times the problem's. A row of zeros has u = 0 and z = 1
    for every w: it costs λ, or one unit of the budget.
    """

    problem: ConicProblem  #: the problem in its own coordinates
    space: Coordinates  #: maps between these coordinates and the problem's own
    used: BoolArray  #: (n,) rows that are not zero
    sigma2: float  #: σ²
    data: ConicData  #: scaled rows, with σ²λ or the remaining budget

    @staticmethod
    def of(problem: ConicProblem) -> PreparedProblem:
        """Prepare a problem.

        Raises
        ------
        InputError
            Every row is zero or has a square beneath float64, or κ ≤ 0.
        """
        if problem.kappa is not None and problem.kappa <= 0.0:
            raise InputError(
                f"kappa must be > 0 for the semidefinite program; it is {problem.kappa:g}. κ = 0 is the hard-margin QP",
                name="kappa",
            )
        space = coordinates(problem.A, problem.metric)
        squares = np.einsum("ij,ij->i", space.rows, space.rows)
        used = squares > 0.0
        if not used.any():
            raise InputError("every row of the data is zero: there is nothing to separate", name="X")
        sigma2 = float(squares[used].mean())
        if sigma2 < 1.0 / np.finfo(np.float64).max:
            largest = float(np.abs(space.rows).max())
            raise InputError(f"squares of the data leave float64 (largest entry {largest:.3g}): scale the features", name="X")
        A = np.ascontiguousarray(space.rows[used] / np.sqrt(sigma2))
        return PreparedProblem(problem, space, used, sigma2, ConicData(A, None, None)).at(problem.lam, problem.kappa)

    def at(self, lam: float | None, kappa: float | None) -> PreparedProblem:
        """Return the same data with another λ or κ."""
        zeros = int(self.used.size - self.used.sum())
        budget = None if kappa is None else kappa * self.used.size - zeros
        data = replace(self.data, lam=None if lam is None else lam * self.sigma2, budget=budget)
        return replace(self, problem=replace(self.problem, lam=lam, kappa=kappa), data=data)

    @property
    def feasible(self) -> bool:
        """True if the rows of zeros leave a positive budget."""
        return self.data.budget is None or self.data.budget > 0.0

    def offset(self) -> float:
        """Return the contribution of the rows of zeros to the objective."""
        return 0.0 if self.problem.lam is None else self.problem.lam * float((~self.used).sum())

    def read_start(self, start: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return (w, V) of the user's values w and W in these coordinates; V = 0 without W.

        Raises
        ------
        InputError
            w is missing, or a value has a wrong shape or numbers that are not finite.
        """
        if "w" not in start:
            raise InputError(
                f"start must give w (and W, where it is known) to conic-ipm; it gives {', '.join(start) or 'nothing'}",
                name="start",
            )
        p = self.problem.A.shape[1]
        w, W = np.asarray(start["w"], dtype=np.float64), start.get("W")
        if w.shape != (p,) or not np.isfinite(w).all():
            raise InputError(f"start['w'] must hold {p} finite numbers; it has shape {w.shape}", name="start")
        scaled = self.space.reduce(w) * np.sqrt(self.sigma2)
        if W is None:
            return scaled, np.zeros((scaled.size, scaled.size))
        W = np.asarray(W, dtype=np.float64)
        if W.shape != (p, p) or not np.isfinite(W).all():
            raise InputError(f"start['W'] must be a finite {p} × {p} matrix; it has shape {W.shape}", name="start")
        return scaled, self.space.reduce_matrix(0.5 * (W + W.T) - np.outer(w, w)) * self.sigma2

    def answer(self, point: ConicPoint, bound: ConicBound, details: Mapping[str, Any]) -> Answer:
        """Return the answer of a feasible point and a certified bound, with repaired multipliers of every constraint."""
        mu = None if self.problem.kappa is None else bound.mu
        multipliers, reduced = (
            conic_multipliers(self.problem, bound.gamma, bound.v, mu),
            conic_reduced_costs(self.problem, bound.v),
        )
        return Answer(
            values=point.values, multipliers=multipliers, reduced=reduced, bound=bound.value, proved=True, details=dict(details)
        )

    def point(self, w: FloatArray, V: FloatArray) -> ConicPoint:
        """Return the primal point in the problem's own coordinates, with the best z for its w and V = W - ww'."""
        w = self.space.lift(w) / np.sqrt(self.sigma2)
        return primal_point(self.problem, w, self.space.lift_matrix(V) / self.sigma2 + np.outer(w, w))

    def bound(
        self, gamma: FloatArray, v: FloatArray, mu: float, point: ConicPoint, tolerance: float, *, improve: bool = True
    ) -> ConicBound:
        """Repair the dual point (γ, v = ζ, μ) and evaluate it from the data; improve it only if it misses the tolerance."""
        full_gamma, full_v, mu = np.zeros(self.used.size), np.zeros(self.used.size), mu / self.sigma2
        full_gamma[self.used], full_v[self.used] = gamma / self.sigma2, v / self.sigma2
        # a row of zeros adds λ to the dual objective and does not change S
        full_gamma[~self.used], full_v[~self.used] = mu, 2.0 * mu
        target = point.objective - tolerance * abs(point.objective)
        fixed_mu = None if self.problem.kappa is None else mu
        w = point.values["w"]
        return certified_bound(self.problem, full_gamma, w, fixed_mu, full_v, target=target, improve=improve)
