"""`ParetoQP`, (20) of Zhang et al., 2024 ("NPSVC++"): weights of objectives whose combined gradient descends in each of them.

The objectives J_l of several classes share variables, such as a matrix P with P'P = I; grad_l is the gradient of J_l in these,
and τ_l is its weight. The solver of K-NPSVC++ (`ChebyshevNPSVC`) chooses its weights so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from ...errors import InputError, count_text, short_text
from ..arrays import ZERO, FloatArray, as_array, as_positive, as_vector, frozen, nonzero_mask
from ..explanation import PointExplanation, PointRow
from ..kernels.gram import MatrixGram
from ..record import Arrays, DataKind, FormulationInfo, Parameter
from ..statement import DualStatement, Line, Statement
from ..views import SimplexQP
from .stiefel import stiefel_gradient
from .svm_duals import SimplexModel

#: Names of the gradients of `manifold_gradient`: that of the embedded metric, and the one that the paper prints.
GradientKind: TypeAlias = Literal["embedded", "printed"]


def manifold_gradient(P: FloatArray, G: FloatArray, kind: GradientKind = "embedded") -> FloatArray:
    """Return the gradient on the Stiefel manifold, P'P = I, of a function whose Euclidean gradient at P is G.

    ``"embedded"``: G - ½P(P'G + G'P), the projection of G on the tangent space. ``"printed"``: (GP' - PG')P, the gradient of the
    canonical metric. **Erratum**: with (GP' - PG')P, which is printed, and the Frobenius norm of (20), Theorem 2 fails (see
    `ParetoQP`), since <G, Δ> is not <grad, Δ> then: the combination may raise an objective. Another ``kind`` raises `InputError`.
    """
    if kind == "embedded":
        return stiefel_gradient(P, G)
    if kind == "printed":
        return np.asarray(G @ (P.T @ P) - P @ (G.T @ P))
    raise InputError(f"gradient must be 'embedded' or 'printed'; it is {short_text(kind)}", name="gradient")


@dataclass(frozen=True, eq=False, repr=False)
class ParetoQP(SimplexModel):
    """The problem min ½||Σ τ_l grad_l||² - γ Σ τ_l J_l over τ in the unit simplex, NPSVC++ (20).

    With γ = 0 (Theorem 2) either the optimum is 0 and the point is Pareto stationary, or Δ = -Σ τ_l grad_l has
    <grad_l, Δ> ≤ -||Δ||² for every l: a common descent direction. γ > 0 also gives weight to objectives J_l that are large.

    Parameters
    ----------
    gradients : array_like (K, ...)
        grad_l of each objective at the shared variables, tangent vectors of one metric.
    objectives : array_like (K,)
        J_l.
    gamma : float
        γ ≥ 0.

    Notes
    -----
    Form: block ``a`` (τ) ≥ 0 with ``sum``: Στ = 1; Q_lm = <grad_l, grad_m>, c = -γJ.

    Raises
    ------
    InputError
        Shapes that do not fit, values that are not finite, γ < 0.
    """

    gradients: FloatArray
    objectives: FloatArray
    gamma: float = 0.0

    name = "ParetoQP"
    meanings: ClassVar[Mapping[str, str]] = {
        "sum": "-t, t the largest slope of an objective along Delta (plus gamma J_l)",
        "bounds": "the reduced cost of tau_l is t - <grad_l, Delta> - gamma J_l: how much faster objective l descends",
    }

    def __post_init__(self) -> None:
        gradients = as_array(self.gradients, "gradients")
        if gradients.ndim < 2 or not gradients.size or not np.isfinite(gradients).all():
            raise InputError(
                f"gradients must be a finite array (K, ...), one for each objective; its shape is {gradients.shape}",
                name="gradients",
            )
        object.__setattr__(self, "gradients", frozen(gradients))
        object.__setattr__(self, "objectives", as_vector(self.objectives, gradients.shape[0], "objectives"))
        object.__setattr__(self, "gamma", as_positive(self.gamma, "gamma", zero=True))

    @cached_property
    def simplex(self) -> SimplexQP:
        """Return the QP as solvers read it: min ½τ'Qτ + c'τ over the unit simplex, Q_lm = <grad_l, grad_m> and c = -γJ."""
        rows = self.gradients.reshape(self.gradients.shape[0], -1)
        Q = rows @ rows.T
        gram = MatrixGram(0.5 * (Q + Q.T), "the Gram matrix of the gradients")
        return SimplexQP(gram, -self.gamma * self.objectives, np.zeros(rows.shape[0], dtype=np.int64))

    def direction(self, tau: FloatArray) -> FloatArray:
        """Return Δ = -Σ τ_l grad_l, in the gradients' own shape."""
        return np.asarray(-np.tensordot(np.asarray(tau), self.gradients, axes=1))

    def stationarity(self, tau: FloatArray) -> float:
        """Return ||Σ τ_l grad_l|| relative to the largest ||grad_l||: 0 exactly at Pareto stationary points (for the best τ)."""
        largest = float(np.sqrt(self.simplex.gram.diagonal.max()))
        return float(np.linalg.norm(self.direction(tau))) / largest if largest > 0 else 0.0

    def scaled(self) -> ParetoQP:
        """Return the problem, with the same τ, whose longest gradient has length 1, or less where γ max |J_l| is then above 1: no
        number is large.

        Beyond the longest gradient's length only powers of two are divided out, so that nothing more is rounded.
        """
        rows = self.gradients.reshape(self.gradients.shape[0], -1)
        largest, size = float(np.sqrt(np.sum(rows**2, axis=1).max())), float(np.abs(self.objectives).max())
        linear = self.gamma * size / largest**2 if largest**2 > 0.0 else np.inf
        if np.isinf(linear):  # nothing but the objectives counts
            return ParetoQP(np.zeros_like(self.gradients), self.objectives / max(size, 1e-300), min(self.gamma, 1.0))
        halvings = math.ceil(0.5 * math.log2(linear)) if linear > 1.0 else 0
        unit = math.ldexp(1.0, -halvings)
        return ParetoQP(self.gradients / largest * unit, self.objectives, self.gamma / largest**2 * unit**2)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each objective: its value J_l and its descent (minus the slope) along Δ = -Σ τ_l grad_l."""
        tau = values["a"]
        slopes = np.tensordot(self.gradients, self.direction(tau), axes=self.gradients.ndim - 1)
        weighed = nonzero_mask(tau)
        tolerance = ZERO * float(self.simplex.gram.diagonal.max())
        rows = []
        for k, slope in enumerate(slopes):
            direction = "descends" if slope < -tolerance else "stands still" if slope <= tolerance else "ascends"
            kind = f"{direction} along Delta" + (", weighed" if weighed[k] else "")
            rows.append(PointRow(k, "", float(self.objectives[k]), float(-slope), float(tau[k]), kind))
        return PointExplanation(
            tuple(rows), "weights are tau", noun="objective", score="J", margin="descent", weighted_noun="weighed objective"
        )

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the stationarity and the largest slope of an objective along Δ (negative where all descend)."""
        tau = values["a"]
        slopes = np.tensordot(self.gradients, self.direction(tau), axes=self.gradients.ndim - 1)
        return {"stationarity": self.stationarity(tau), "largest_slope": float(slopes.max())}

    @property
    def statement(self) -> Statement:
        """Return NPSVC++ (20)."""
        K = self.objectives.size
        objective_term, more_tex = (" + gamma J_l", r" + \gamma J_l") if self.gamma else ("", "")
        return Statement(
            title="Weights of several objectives",
            problem_class="convex QP on the unit simplex",
            sense="minimise",
            variables=Line("tau", r"\tau\in\mathbb{R}^K"),
            objective=Line(
                "1/2 ||sum_l tau_l grad_l||^2" + (" - gamma sum_l tau_l J_l" if self.gamma else ""),
                r"\tfrac12 \bigl\|\textstyle\sum_l \tau_l \nabla J_l\bigr\|_F^2"
                + (r" - \gamma \sum_l \tau_l J_l" if self.gamma else ""),
            ),
            constraints=(
                Line("sum_l tau_l = 1", r"\textstyle\sum_l \tau_l = 1", "sum"),
                Line("tau_l >= 0", r"\tau_l \ge 0"),
            ),
            sizes=f"K = {count_text(K, 'objective')}, "
            f"{count_text(self.gradients[0].size, 'shared variable')}, gamma = {self.gamma:g}",
            notes=("gamma = 0: optimum 0 certifies Pareto stationarity, else -sum tau_l grad_l descends every J_l (Theorem 2)",),
            source="Zhang, Lai, Zhou, Liang: NPSVC++, (20)",
            dual=DualStatement(
                sense="maximise",
                variables=Line("D, t", r"\Delta,\ t"),
                objective=Line("-1/2 ||D||^2 - t", r"-\tfrac12\|\Delta\|_F^2 - t"),
                constraints=(
                    Line(
                        f"<grad_l, D>{objective_term} <= t",
                        rf"\langle \nabla J_l, \Delta\rangle{more_tex} \le t,\quad l=1,\dots,K",
                    ),
                ),
                kkt=(
                    Line("D = -sum_l tau_l grad_l", r"\Delta = -\textstyle\sum_l \tau_l \nabla J_l"),
                    Line(
                        f"tau_l (t - <grad_l, D>{objective_term.replace('+', '-')}) = 0",
                        rf"\tau_l\,(t - \langle \nabla J_l, \Delta\rangle{more_tex.replace('+', '-')}) = 0",
                    ),
                ),
            ),
        )


def _small(rng: np.random.Generator) -> Arrays:
    return {"gradients": rng.normal(size=(4, 5, 2)), "objectives": rng.random(4)}


def _objective(model: ParetoQP, values: Mapping[str, FloatArray]) -> float:
    tau = values["a"]
    mixed = np.tensordot(tau, model.gradients, axes=1)
    return 0.5 * float(np.sum(mixed * mixed)) - model.gamma * float(tau @ model.objectives)


FORMULATIONS = (
    FormulationInfo(
        ParetoQP,
        name="pareto",
        summary="weights of several objectives whose combined gradient is shortest",
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, (20)",
        data=DataKind.ARRAYS,
        objective=_objective,
        parameters=(Parameter("gamma", "γ, weight of the objectives' values", float, 0.0),),
        arrays=("gradients", "objectives"),
        small=_small,
    ),
)
