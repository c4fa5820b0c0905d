"""The plug-in's formulation, `HuberSVM`: the SVM with the Huber loss, quadratic near the margin and linear beyond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from marginopt.errors import InputError
from marginopt.models import (
    Block,
    Bound,
    BoxQP,
    Constraint,
    DataKind,
    FormulationInfo,
    Line,
    Model,
    Nonnegative,
    Parameter,
    Quadratic,
    StandardForm,
    Statement,
)
from marginopt.models.arrays import FloatArray, Points, as_labels, as_points, as_positive, as_vector
from marginopt.models.explanation import PointExplanation, primal_weights, two_classes
from marginopt.models.record import Arrays, ParameterValues, always
from marginopt.models.views import BoxPoint

__all__ = ["HUBER", "HuberSVM"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class HuberSVM(Model):
    """The SVM with the Huber loss: min ||w||² + Σ λ_i h((1 - y_i x_i'w)_+), h(t) = t²/(2δ) for t ≤ δ and t - δ/2 beyond.

    It is that of Rosset and Zhu (2007).

    Parameters
    ----------
    X : array_like (n, p)
        Points; an intercept is a constant column among them, penalised like the rest.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,)
        λ > 0, the cost of the loss.
    delta : float
        δ > 0: where the loss becomes linear; with δ → 0 it is the hinge loss.

    Notes
    -----
    h is the least s²/(2δ) + r over s + r = t, s, r ≥ 0. Form: blocks ``w`` (p), ``s`` (n) ≥ 0, ``r`` (n) ≥ 0; constraint
    ``margin``: y_i x_i'w + s_i + r_i - 1 ≥ 0, multipliers α. Dual: max Σα - ¼||Σ α_i y_i x_i||² - Σ δ α_i²/(2λ_i) over 0 ≤ α ≤ λ,
    with w = ½ Σ α_i y_i x_i, s = δα/λ.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, λ ≤ 0, δ ≤ 0.
    """

    X: Points
    y: FloatArray
    lam: float | FloatArray = 1.0
    delta: float = 1.0

    name = "HuberSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "alpha_i is the slope of the loss at point i: lam where it is linear, 0 beyond the margin"
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        weights = as_vector(self.lam, X.shape[0], "lam")
        if not (weights > 0).all():
            raise InputError(f"lam must be > 0; it is {weights.min():g}")
        object.__setattr__(self, "lam", float(weights[0]) if np.ndim(self.lam) == 0 else weights)
        object.__setattr__(self, "delta", as_positive(self.delta, "delta"))

    @cached_property
    def sample_weight(self) -> FloatArray:
        """The costs λ_i, (n,)."""
        return as_vector(self.lam, self.X.shape[0], "lam")

    @cached_property
    def signed(self) -> FloatArray:
        """The rows y_i x_i, (n, p)."""
        X = self.X.toarray() if sp.issparse(self.X) else self.X
        return np.ascontiguousarray(self.y[:, None] * X)

    @property
    def form_bytes(self) -> int:
        """Return the estimated bytes of the form."""
        return 16 * self.X.shape[0] * self.X.shape[1] + 100 * self.X.shape[0]

    def compile(self) -> StandardForm:
        """Return the form that the class's notes describe."""
        n, p = self.X.shape
        eye = sp.eye_array(n)
        F = sp.csr_array(sp.hstack([sp.csr_array(self.signed), eye, eye], format="csr"))
        diagonal = np.concatenate([np.full(p, 2.0), self.sample_weight / self.delta, np.zeros(n)])
        free = np.full(p, np.inf)
        return StandardForm(
            name=self.name,
            blocks=(Block("w", (p,)), Block("s", (n,)), Block("r", (n,))),
            q=np.concatenate([np.zeros(p + n), self.sample_weight]),
            constraints=(Constraint("margin", F, -np.ones(n), Nonnegative(n)),),
            lower=np.concatenate([-free, np.zeros(2 * n)]),
            upper=np.full(p + 2 * n, np.inf),
            integer=np.zeros(p + 2 * n, dtype=bool),
            quadratic=Quadratic(matrix=sp.csc_array(sp.diags_array(diagonal))),
        )

    @cached_property
    def box(self) -> BoxQP:
        """The dual as a box QP, by which every solver that reads one solves this model."""
        n = self.X.shape[0]
        return BoxQP(
            Z=self.signed / np.sqrt(2.0),
            q=-np.ones(n),
            lower=np.zeros(n),
            upper=self.sample_weight.copy(),
            ridge=self.delta / self.sample_weight,
            recover=self.recover,
            offset=0.0,
        )

    def recover(self, alpha: FloatArray) -> BoxPoint:
        """Return the primal point and the multipliers of a dual point α; r takes what s leaves."""
        w = 0.5 * (self.signed.T @ alpha)
        short = np.maximum(1.0 - self.signed @ w, 0.0)
        s = np.minimum(short, self.delta)
        reduced = np.concatenate([np.zeros(w.size), self.sample_weight * s / self.delta - alpha, self.sample_weight - alpha])
        return BoxPoint({"w": w, "s": s, "r": short - s}, {"margin": alpha}, reduced)

    def view(self, kind: type[V]) -> V | None:
        """Return the dual if the kind is `BoxQP`; else None."""
        return self.box if kind is BoxQP else None  # type: ignore[return-value]

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the dual value at the multipliers ``margin`` clipped to [0, λ], which is feasible."""
        if multipliers is None or "margin" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        alpha = np.clip(multipliers["margin"], 0.0, self.sample_weight)
        v = self.signed.T @ alpha
        value = float(alpha.sum() - 0.25 * (v @ v) - 0.5 * self.delta * (alpha * alpha / self.sample_weight).sum())
        return Bound(value, "dual value with α clipped to [0, λ]")

    def objective(self, w: FloatArray) -> float:
        """Return the objective of a classifier w."""
        t = np.maximum(1.0 - self.y * np.asarray(self.X @ w), 0.0)
        loss = np.where(t <= self.delta, t * t / (2.0 * self.delta), t - 0.5 * self.delta)
        return float(w @ w + self.sample_weight @ loss)

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores x'w of new rows."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ values["w"])

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return scores, margins and multipliers of the points."""
        weights = primal_weights(multipliers, "margin", self.y.size)
        return two_classes(self.X, self.y, lambda X: np.asarray(X @ values["w"]), weights)

    @property
    def statement(self) -> Statement:
        """Return the program as text and LaTeX."""
        n, p = self.X.shape
        return Statement(
            title="SVM with the Huber loss",
            problem_class="convex QP",
            sense="minimise",
            variables=Line("w, s, r", r"w\in\mathbb{R}^p,\ s, r\in\mathbb{R}^n"),
            objective=Line(
                f"||w||^2 + lam sum_i (s_i^2 / {2 * self.delta:g} + r_i)",
                rf"\|w\|_2^2 + \lambda\sum_{{i=1}}^n \Bigl(\tfrac{{s_i^2}}{{{2 * self.delta:g}}} + r_i\Bigr)",
            ),
            constraints=(
                Line("y_i x_i'w >= 1 - s_i - r_i", r"y_i x_i^\top w \ge 1 - s_i - r_i,\quad i=1,\dots,n", "margin"),
                Line("s_i, r_i >= 0", r"s_i,\ r_i \ge 0"),
            ),
            sizes=f"n = {n} points, p = {p} features (a constant one included), lam = {np.min(self.sample_weight):g}, "
            f"delta = {self.delta:g}",
            source="Rosset, Zhu: Piecewise linear regularized solution paths, 2007, section 3",
        )


def _build(arrays: Arrays, chosen: ParameterValues) -> HuberSVM:
    return HuberSVM(arrays["X"], arrays["y"], lam=chosen["lam"], delta=chosen["delta"])


def _objective(model: HuberSVM, values: Mapping[str, Any]) -> float:
    return model.objective(values["w"])


#: Named in pyproject.toml under the same name.
HUBER = FormulationInfo(
    HuberSVM,
    name="huber",
    summary="SVM with the Huber loss, linear",
    reference="Rosset, Zhu: Piecewise linear regularized solution paths, 2007, section 3",
    data=DataKind.TWO_CLASSES,
    build=_build,
    parameters=(
        Parameter("lam", "λ, cost of the loss", float, 1.0),
        Parameter("delta", "δ, where the loss becomes linear", float, 1.0),
    ),
    intercept=always,
    objective=_objective,
)
