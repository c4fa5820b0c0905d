"""The relaxation by single-point hulls: each point's own convex hull, Conic Theorem 1, as a constraint of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...models.arrays import FloatArray, Points
from ...models.formulations.conic.bound import ConicBound, certified_bound
from ...models.formulations.conic.model import ConicSVM
from ...models.formulations.zero_one.model import ZeroOneSVM
from ...models.model import Bound, Model
from ...models.program.cones import RotatedSecondOrder, Zero
from ...models.program.form import Block, Constraint, StandardForm
from ...models.statement import Line, Statement
from ...models.views import ConicProblem
from ..reduction import ONE_COST, PENALISED, LiftedDual, Need, Reduction, without_warnings
from ..relaxation import Relaxation

__all__ = ["SinglePoint", "SinglePointRelaxation", "single_gamma"]


def single_gamma(A: FloatArray) -> FloatArray:
    """γ_i = 1/||x_i||² of each point's hull, Theorem 1 with Q = I; 0 for a row of zeros, which has no hull to speak of.

    *All of them at once are not in Γ*: I - Σ γ_i x_i x_i' has trace p - n. Each is the largest multiple for its point alone.
    """
    squares = np.einsum("ij,ij->i", A, A)
    return np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class SinglePointRelaxation(Model):
    """min τ + λ Σz with τ ≥ ||w||² + γ_i h_i(w, z_i) for each i, γ_i = 1/||x_i||²: Conic Theorem 1 for one point at a time.

    h_i = (r_i)_+²/z_i + (r_i)_-²/(1 - z_i) - r_i², r_i = 1 - u_i; ||w||² - γ_i r_i² is convex since I - γ_i x_i x_i' ⪰ 0. Every
    constraint is the closed convex hull of {(w, z_i, τ) : τ ≥ ||w||², z_i = 0 ⇒ u_i ≥ 1} for its point.

    *Below the SDP.* With multipliers μ of the n constraints, Σμ = 1, the Lagrangian is that of Conic (13) at γ with entries
    μ_i γ_i, and Σ μ_i γ_i x_i x_i' ⪯ Σ μ_i I = I: that γ is in Γ. So the optimum is the maximum over the part of Γ that is the
    convex hull of 0 and the γ_i e_i, and the same closed-form dual value proves it.

    Parameters
    ----------
    X : array_like (n, p)
    y : array_like (n,)
        Labels -1, +1.
    lam : float
        λ > 0.

    Notes
    -----
    Form: blocks ``w``, ``tau``, ``z``, ``r_plus``, ``r_minus``, ``s``, ``t``; constraints ``hull``:
    (½(τ - γ_i(s_i + t_i + 2u_i - 1)), 1, (I - x_i x_i'/||x_i||²)w) in rotated cones; ``split``, ``violated``, ``kept`` as in
    `ConicSVM`.

    Raises
    ------
    InputError
        As `ConicSVM`.
    """

    X: Points
    y: FloatArray
    lam: float = 1.0

    name = "SinglePointRelaxation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", self.conic.X)
        object.__setattr__(self, "y", self.conic.y)

    @cached_property
    def conic(self) -> ConicSVM:
        """The SDP on the same data: checked data, signed rows."""
        return ConicSVM(self.X, self.y, lam=self.lam)

    @cached_property
    def problem(self) -> ConicProblem:
        """The data of the dual value."""
        found = self.conic.view(ConicProblem)
        assert found is not None
        return found

    @property
    def form_bytes(self) -> int:
        """Bytes of the n projections."""
        n, p = self.X.shape
        return 12 * n * (p * p + 10 * p)

    def compile(self) -> StandardForm:
        """The form of the notes."""
        A = self.conic.signed
        n, p = A.shape
        gamma = single_gamma(A)
        labels = ("w", "tau", "z", "r_plus", "r_minus", "s", "t")
        sizes = dict(zip(labels, (p, 1, n, n, n, n, n), strict=True))
        eye = sp.eye_array(n, format="csr")

        def rows(count: int, **parts: object) -> sp.csr_array:
            pieces = [parts.get(label, sp.csr_array((count, sizes[label]))) for label in labels]
            return sp.csr_array(sp.hstack(pieces, format="csr"))

        def interleaved(parts: list[sp.csr_array]) -> sp.csr_array:
            """Rows of several matrices, point by point; each has the same number of rows for every point."""
            each = [part.shape[0] // n for part in parts]
            starts = np.cumsum([0, *(part.shape[0] for part in parts)])
            order = np.concatenate([starts[k] + i * each[k] + np.arange(each[k]) for i in range(n) for k in range(len(parts))])
            return sp.csr_array(sp.vstack(parts, format="csr")[order])

        scaled = sp.diags_array(gamma, format="csr")
        first = rows(n, w=sp.csr_array(-gamma[:, None] * A), tau=np.full((n, 1), 0.5), s=-0.5 * scaled, t=-0.5 * scaled)
        unit = A * np.sqrt(gamma)[:, None]
        projections = np.eye(p) - unit[:, :, None] * unit[:, None, :]
        tails = rows(n * p, w=sp.csr_array(projections.reshape(n * p, p)))
        g = np.zeros((n, p + 2))
        g[:, 0], g[:, 1] = 0.5 * gamma, 1.0
        ones = np.zeros((n, 3))
        ones[:, 1] = 1.0
        cone, triple = RotatedSecondOrder(p + 2, n), RotatedSecondOrder(3, n)
        constraints = (
            Constraint("hull", interleaved([first, rows(n), tails]), g.ravel(), cone),
            Constraint("split", rows(n, w=sp.csr_array(A), r_plus=eye, r_minus=-eye), -np.ones(n), Zero(n)),
            Constraint(
                "violated", interleaved([rows(n, s=0.5 * eye), rows(n, z=eye), rows(n, r_plus=eye)]), np.zeros(3 * n), triple
            ),
            Constraint("kept", interleaved([rows(n, t=0.5 * eye), rows(n, z=-eye), rows(n, r_minus=eye)]), ones.ravel(), triple),
        )
        total = sum(sizes.values())
        lower, upper = np.full(total, -np.inf), np.full(total, np.inf)
        lower[p + 1 :], upper[p + 1 : p + 1 + n] = 0.0, 1.0
        blocks = (Block("w", (p,)), Block("tau", ()), *(Block(label, (n,)) for label in labels[2:]))
        q = np.concatenate([np.zeros(p), [1.0], np.full(n, self.lam), np.zeros(4 * n)])
        return StandardForm(self.name, blocks, q, constraints, lower, upper, np.zeros(total, dtype=bool))

    def certify(self, multipliers: Mapping[str, FloatArray], w: FloatArray | None = None) -> ConicBound:
        """The dual value at γ_i = μ_i/||x_i||² with μ ≥ 0 from the ``hull`` cones, scaled to Σμ ≤ 1."""
        first = np.asarray(multipliers["hull"], dtype=np.float64).reshape(self.X.shape[0], -1)[:, 0]
        mu = np.maximum(0.5 * first, 0.0)
        gamma = mu / max(float(mu.sum()), 1.0) * single_gamma(self.conic.signed)
        return certified_bound(self.problem, gamma, w=w, v=multipliers.get("split"))

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Closed-form dual value; see `certify`."""
        if multipliers is None or "hull" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        found = self.certify(multipliers, None if x is None else self.form.split(x)["w"])
        return Bound(found.value, "closed-form dual value at the convex combination of the points' gamma, which is in Gamma")

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Margin violations, misclassified points and Σz."""
        figures = self.conic.summary({**values, "W": np.outer(values["w"], values["w"])})
        del figures["rank_ratio"]
        return figures

    @property
    def statement(self) -> Statement:
        """Theorem 1 for each point."""
        n, p = self.X.shape
        return Statement(
            title="Single-point hulls (relaxation of the 0-1 loss)",
            problem_class="second-order cone program",
            sense="minimise",
            over=Line("w, tau, z", r"w\in\mathbb{R}^p,\ \tau\in\mathbb{R},\ z\in[0,1]^n"),
            objective=Line(f"tau + {self.lam:g} sum_i z_i", r"\tau+\lambda\textstyle\sum_i z_i"),
            constraints=(
                Line(
                    "tau >= ||w||^2 + ((1-u_i)_+^2/z_i + (1-u_i)_-^2/(1-z_i) - (1-u_i)^2) / ||x_i||^2",
                    r"\tau \ge \|w\|^2 + \tfrac{1}{\|x_i\|^2}\Bigl(\tfrac{(1-u_i)_+^2}{z_i}"
                    r"+\tfrac{(1-u_i)_-^2}{1-z_i}-(1-u_i)^2\Bigr),\quad i=1,\dots,n",
                    "hull",
                ),
            ),
            sizes=f"n = {n} points, p = {p}",
            notes=("at most the SDP: multipliers mu of the hulls give gamma_i = mu_i/||x_i||^2 in Gamma",),
            source="Cepeda, Gomez, Han: Robust SVMs via conic optimization, Theorem 1",
        )


@dataclass(frozen=True)
class SinglePoint(Reduction[SinglePointRelaxation]):
    """`SinglePointRelaxation`: stronger than nothing, weaker than the SDP, without a semidefinite cone."""

    @property
    def name(self) -> str:
        """Name for tables."""
        return "single-point hulls"

    @property
    def needs(self) -> tuple[Need, ...]:
        """As `Conic`."""
        return (*super().needs, PENALISED, ONE_COST)

    def apply(self, model: ZeroOneSVM) -> SinglePointRelaxation:
        """The relaxation with the same data and λ.

        Raises
        ------
        UnsupportedModelError
            A free intercept, or weights λ_i that differ.
        """
        self.check(model)
        with without_warnings():
            return SinglePointRelaxation(model.X, model.y, float(model.weights[0]))

    def lift(self, model: ZeroOneSVM, target: SinglePointRelaxation, multipliers: Mapping[str, FloatArray]) -> LiftedDual:
        """γ in Γ from the hulls' multipliers, and v."""
        found = target.certify(multipliers)
        return LiftedDual(
            found.value,
            {"hull": found.gamma, "split": found.v},
            "closed-form dual value at a gamma in Gamma (S checked by Cholesky)",
        )


RELAXATIONS = (
    Relaxation(
        "single-point",
        "the convex hull of each point's loss with ||w||², all n together: second-order cones in place of the SDP",
        SinglePoint(),
        "Conic Theorem 1",
        rank=60,
    ),
)
