"""The relaxation by single-point hulls (`SinglePoint`): the convex hull of each point's 0-1 loss with ||w||², without an SDP.

It is Theorem 1 of Cepeda, Gómez and Han (2024), *Robust support vector machines via conic optimization* ("Conic"), for all points
at once. The problem is min ||w||² + λ Σ z_i with z_i = 0 ⇒ u_i ≥ 1, u_i = y_i x_i'w, z binary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import count_text
from ...models.arrays import FloatArray, as_positive
from ...models.formulations.margin.assembly import Affine, Assembly
from ...models.formulations.margin.conic_losses import require_perspectives
from ...models.formulations.zero_one import ZeroOneSVM
from ...models.program.cones import RotatedSecondOrder
from ...models.program.form import StandardForm
from ...models.statement import Line, Statement
from ..reduction import LiftedDual, Relaxation
from .convexification import CertifiedConvexification, ConvexificationModel, certified_dual


def single_point_gammas(A: FloatArray) -> FloatArray:
    """Return γ_i = 1/||x_i||², the largest γ of each point alone, for the rows of A; 0 for a row of zeros.

    All of them at once are in general not in Γ = {γ ≥ 0 : Σ γ_i x_i x_i' ⪯ I}: I - Σ γ_i x_i x_i' has trace p - n for n rows that
    are not zero, negative for n > p.
    """
    squares = np.einsum("ij,ij->i", A, A)
    return np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class SinglePointRelaxation(ConvexificationModel):
    """min τ + λ Σz with τ ≥ ||w||² + γ_i h_i(w, z_i) for each i, γ_i = 1/||x_i||²: Conic Theorem 1 for one point at a time.

    h_i = (r_i)_+²/z_i + (r_i)_-²/(1 - z_i) - r_i², r_i = 1 - u_i; ||w||² - γ_i r_i² is convex since I - γ_i x_i x_i' ⪰ 0. Every
    constraint is the closed convex hull of {(w, z_i, τ) : τ ≥ ||w||², z_i = 0 ⇒ u_i ≥ 1} for its point.

    *Below the SDP.* With multipliers μ of the n constraints, Σμ = 1, the Lagrangian is that of Conic (13) at γ with entries
    μ_i γ_i, and Σ μ_i γ_i x_i x_i' ⪯ Σ μ_i I = I: this γ is in Γ. So the optimum is the maximum of Conic (13) over the convex
    hull of 0 and the γ_i e_i, a part of Γ, and the closed-form dual value of the SDP proves it.

    Parameters
    ----------
    X : array_like (n, p)
        Points; an intercept is a column of ones among them.
    y : array_like (n,)
        Labels -1, +1.
    lam : float
        λ > 0, the cost of a violation.

    Notes
    -----
    Form: blocks ``w``, ``tau``, ``z``, ``r_plus``, ``r_minus``, ``s``, ``t``; constraints ``hull``:
    (½(τ - γ_i(s_i + t_i + 2u_i - 1)), 1, (I - x_i x_i'/||x_i||²)w) in rotated cones; ``split``: r⁺ - r⁻ = 1 - u;
    ``violated``: s_i z_i ≥ (r_i⁺)²; ``kept``: t_i (1 - z_i) ≥ (r_i⁻)².

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels, λ ≤ 0.
    """

    lam: float = 1.0

    name = "SinglePointRelaxation"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lam", as_positive(self.lam, "lam"))

    @property
    def form_bytes(self) -> int:
        """Return the estimated bytes of the form: those of the n projections."""
        n, p = self.X.shape
        return 12 * n * (p * p + 10 * p)

    def compile(self) -> StandardForm:
        """Return the form with one cone for each point."""
        A = self.signed
        n, p = A.shape
        gamma = single_point_gammas(A)
        builder = Assembly(self.name)
        w, tau, z = builder.variables("w", p), builder.variables("tau", 1, shape=()), builder.variables("z", n, 0.0, 1.0)
        parts = [builder.variables(label, n, 0.0) for label in ("r_plus", "r_minus", "s", "t")]
        u, unit = w.premultiplied(A), A * np.sqrt(gamma)[:, None]
        half_tau, reduction = tau.premultiplied(np.full((n, 1), 0.5)), u.scaled(gamma) + (parts[2] + parts[3]).scaled(0.5 * gamma)
        projections = (w.premultiplied(row - unit[:, [j]] * unit) for j, row in enumerate(np.eye(p)))
        head, one = half_tau - reduction + 0.5 * gamma, Affine({}, np.ones(n))
        builder.require("hull", Affine.interleaved(head, one, *projections), RotatedSecondOrder(p + 2, n))
        require_perspectives(builder, -u + 1.0, z, parts)
        builder.cost(1.0, tau)
        builder.cost(self.lam, z)
        return builder.form()

    def certify(self, multipliers: Mapping[str, FloatArray], w: FloatArray | None = None) -> LiftedDual:
        """Return the dual value in closed form at γ_i = μ_i/||x_i||², μ ≥ 0 from the multipliers of the ``hull`` cones, scaled to
        Σμ ≤ 1; a search for the multipliers of ``split`` starts at ``w``.
        """
        first = np.asarray(multipliers["hull"], dtype=np.float64).reshape(self.X.shape[0], -1)[:, 0]
        mu = np.maximum(0.5 * first, 0.0)
        gamma = mu / max(float(mu.sum()), 1.0) * single_point_gammas(self.signed)
        return certified_dual(
            self.problem, gamma, multipliers, "closed-form dual value at a convex combination of the points' γ", w
        )

    @property
    def statement(self) -> Statement:
        """Return the statement of Theorem 1 for each point."""
        n, p = self.X.shape
        return Statement(
            title="Single-point hulls (relaxation of the 0-1 loss)",
            problem_class="second-order cone program",
            sense="minimise",
            variables=Line("w, tau, z", r"w\in\mathbb{R}^p,\ \tau\in\mathbb{R},\ z\in[0,1]^n"),
            objective=Line(f"tau + {self.lam:g} sum_i z_i", r"\tau+\lambda\textstyle\sum_i z_i"),
            constraints=(
                Line(
                    "tau >= ||w||^2 + ((1-u_i)_+^2/z_i + (1-u_i)_-^2/(1-z_i) - (1-u_i)^2) / ||x_i||^2",
                    r"\tau \ge \|w\|^2 + \tfrac{1}{\|x_i\|^2}\Bigl(\tfrac{(1-u_i)_+^2}{z_i}"
                    r"+\tfrac{(1-u_i)_-^2}{1-z_i}-(1-u_i)^2\Bigr),\quad i=1,\dots,n",
                    "hull",
                ),
            ),
            sizes=f"n = {count_text(n, 'point')}, p = {p}",
            notes=("at most the SDP: multipliers mu of the hulls give gamma_i = mu_i/||x_i||^2 in Gamma",),
            source="Cepeda, Gomez, Han: Robust SVMs via conic optimization, Theorem 1",
        )


@dataclass(frozen=True)
class SinglePoint(CertifiedConvexification[SinglePointRelaxation]):
    """The relaxation by single-point hulls, `SinglePointRelaxation`: second-order cones, a bound of at most the SDP's."""

    name = "single-point hulls"

    def target(self, model: ZeroOneSVM) -> SinglePointRelaxation:
        """Return the relaxation with the same data and λ."""
        return SinglePointRelaxation(model.X, model.y, float(model.sample_weight[0]))


#: The records of these relaxations, which `relaxations.registry` collects.
RELAXATIONS = (
    Relaxation(
        "single-point",
        "the convex hull of each point's loss with ||w||², all n together: second-order cones in place of the SDP",
        SinglePoint(),
        "Conic Theorem 1",
        rank=60,
    ),
)
