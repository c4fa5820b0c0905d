"""`HingeSVM`, the SVM with the hinge loss and ||w||², on dense or sparse data or on rows read in blocks from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ...data_names import LABELS_OF_X
from ...errors import count_text
from ...rows import Rows
from ..appraisal import Appraisal, ExactCost
from ..arrays import (
    FloatArray,
    Points,
    as_costs,
    as_labels,
    as_points,
    as_row_blocks,
    as_rows,
    as_vector,
    entry_count,
    in_memory,
    row_norms_squared,
)
from ..explanation import PointExplanation, primal_weights, two_classes
from ..model import Model
from ..program.form import StandardForm
from ..program.lagrangian import Bound
from ..record import DataKind, FormulationInfo, Parameter, always
from ..rounding import UNIT, dot, gamma, total
from ..statement import DualStatement, Line, Statement, lam_sum_line, lam_text, plus
from ..views import LinearLoss, LinearProblem
from .features import linear_summary, warn_about_features
from .margin.margin_losses import Hinge
from .margin.model import Margin

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class HingeSVM(Model):
    """The SVM with the hinge loss: min ||w||² + Σ_i λ_i (1 - y_i x_i'w)_+, (2) of Cepeda, Gómez and Han, 2024 ("Conic").

    Relation to the usual parameter: dividing by two gives ½||w||² + C Σ ξ with C = λ/2. The intercept, a constant
    column of X, is penalised like every other weight.

    Parameters
    ----------
    X : array_like (n, p) or Rows
        Rows are samples; dense or CSR, or rows that come in blocks (`marginopt.instances.open_rows`). Taken literally:
        no scaling, no intercept is added.
    y : array_like (n,)
        Labels -1, +1.
    lam : float or array_like (n,)
        λ > 0; with one for each point, λ/M_i is the continuous relaxation of `ZeroOneSVM` with big-M constants M_i, Conic (4).

    Notes
    -----
    Form: blocks ``w`` (p), ``xi`` (n) ≥ 0; constraint ``margin``: y_i x_i'w + ξ_i - 1 ≥ 0, multipliers α. Dual:
    max Σα - ¼||Σ α_i y_i x_i||² over 0 ≤ α ≤ λ, w = ½ Σ α_i y_i x_i.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, λ ≤ 0.
    """

    X: Points | Rows
    y: FloatArray = LABELS_OF_X
    lam: float | FloatArray = 1.0

    name = "HingeSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "alpha_i is 0 beyond the margin, lam inside it or on the wrong side, and between them only on it; "
        "w = 1/2 sum alpha_i y_i x_i",
        "bounds": "the reduced cost of xi_i is lam - alpha_i: what is left of the penalty",
    }

    def __post_init__(self) -> None:
        X = as_rows(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        object.__setattr__(self, "lam", as_costs(self.lam, X.shape[0], "lam", zero=False))
        warn_about_features(X)

    @cached_property
    def sample_weight(self) -> FloatArray:
        """Return λ_i, one for each point."""
        n = self.X.shape[0]
        return np.broadcast_to(np.float64(self.lam), n) if np.ndim(self.lam) == 0 else as_vector(self.lam, n, "lam")

    @property
    def value_at_zero(self) -> float:
        """Return the objective Σ λ_i of w = 0."""
        return float(self.sample_weight.sum())

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the form's rows."""
        return 12 * entry_count(self.X) + 100 * self.X.shape[0]

    def compile(self) -> StandardForm:
        """Return the form of the notes above."""
        free = np.full(self.X.shape[1], np.inf)
        return self.composition.form_with(self.name, -free, free)

    @cached_property
    def composition(self) -> Margin:
        """Return the same problem as a `Margin`: the hinge with ||w||²."""
        return Margin.of_checked(
            in_memory(self.X, f"the composition of {self.name}"), self.y, Hinge(), sample_weight=self.sample_weight
        )

    def exact_cost(self, values: Mapping[str, FloatArray]) -> ExactCost | None:
        """Return the cost of w in exact arithmetic; None where the rows come in blocks, which exact sums do not read."""
        return None if isinstance(self.X, Rows) else super().exact_cost(values)

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return the point beside this one that costs the least in exact arithmetic; the point itself for rows in blocks."""
        return dict(values) if isinstance(self.X, Rows) else super().exact_point(values, box)

    @property
    def linear_problem(self) -> LinearProblem:
        """Return the problem's data, rows, labels and costs λ_i, as solvers read them in blocks of rows."""
        return LinearProblem(as_row_blocks(self.X), self.y, self.sample_weight, 1.0, LinearLoss.HINGE)

    def view(self, kind: type[V]) -> V | None:
        """Return the problem as a `LinearProblem`, which solvers read in place of the form; None for another kind."""
        return self.linear_problem if kind is LinearProblem else None  # type: ignore[return-value]

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return objective and dual value of a point, computed by blocks of rows."""
        return self.linear_problem.appraise(values, multipliers)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point with the slacks that w needs, where they are missing."""
        return dict(values) if "xi" in values or "w" not in values else self.with_best_auxiliaries(values)

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point with the slacks that w needs."""
        return {**values, "xi": np.maximum(1.0 - self.y * np.asarray(self.X @ values["w"]), 0.0)}

    def with_parameter(self, parameter: str, value: Any) -> Self:
        """Return the model with one field changed; λ is the cost of ξ alone, so rows and quadratic part are shared."""
        other = super().with_parameter(parameter, value)
        if parameter == "lam" and "form" in vars(self):
            vars(other)["form"] = self.form.replace(q=np.concatenate([np.zeros(self.X.shape[1]), other.sample_weight]))
        return other

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the dual value at the multipliers of ``margin``, clipped to the dual's feasible set [0, λ]."""
        if multipliers is None or "margin" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        alpha = np.clip(multipliers["margin"], 0.0, self.sample_weight)
        v = self.X.T @ (alpha * self.y)
        # the sums in v are off by at most γ_n Σ α_i |x_i|
        sum_rounding = gamma(alpha.size + 4) * float(self._norms @ alpha)
        squares = dot(v, v)
        norm = float(np.sqrt(squares.upper)) * (1.0 + 4.0 * UNIT)
        value = total(alpha) - squares.times(0.25)
        rounding = (0.5 * norm * sum_rounding + 0.25 * sum_rounding * sum_rounding) * (1.0 + 1e-12)
        argument = "dual value Σα - ¼||Σ α_i y_i x_i||² with α clipped to [0, λ]"
        return Bound(value.lower - rounding, argument, value.error + rounding)

    @cached_property
    def _norms(self) -> FloatArray:
        return np.sqrt(row_norms_squared(in_memory(self.X, f"the form's bound of {self.name}"))) * (1.0 + 1e-12)

    def primal_from_dual(self, alpha: FloatArray) -> dict[str, FloatArray]:
        """Return w = ½ Σ α_i y_i x_i and the slacks that it needs."""
        w = 0.5 * (self.X.T @ (np.asarray(alpha) * self.y))
        return self.with_best_auxiliaries({"w": w})

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores x'w of new rows."""
        return np.asarray(as_points(X, columns=self.X.shape[1]) @ values["w"])

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its score, margin and multiplier."""
        weights = primal_weights(multipliers, "margin", self.y.size)
        in_memory(self.X, "a table of all points")
        return two_classes(self.X, self.y, partial(self.decision_function, values), weights)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return ||w|| and the numbers of margin violations (y_i x_i'w < 1) and misclassified points (y_i x_i'w < 0)."""
        return linear_summary(self.X, self.y, values["w"])

    @property
    def statement(self) -> Statement:
        """Return Conic (2) and its dual."""
        n, p = self.X.shape
        lam, tex = ("lam", r"\lambda") if np.ndim(self.lam) == 0 else ("lam_i", r"\lambda_i")
        return Statement(
            title="Hinge-loss SVM",
            problem_class="convex QP",
            sense="minimise",
            variables=Line("w, xi", r"w\in\mathbb{R}^p,\ \xi\in\mathbb{R}^n"),
            objective=plus(Line("||w||^2", r"\|w\|_2^2"), lam_sum_line(self.lam, Line("xi_i", r"\xi_i"))),
            constraints=(
                Line("y_i x_i'w + xi_i >= 1", r"y_i x_i^\top w + \xi_i \ge 1,\quad i=1,\dots,n", "margin"),
                Line("xi_i >= 0", r"\xi_i \ge 0"),
            ),
            sizes=f"n = {count_text(n, 'point')}, p = {count_text(p, 'feature')} "
            f"(a constant one included, if any), {lam_text(self.lam)}",
            notes=("the intercept, a constant column of X, is penalised like every other weight",),
            source="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (2)",
            equivalences=(
                "1/2 ||w||^2 + C sum_i xi_i with C = lam/2: the same w, half the objective",
                "the continuous relaxation of a ZeroOneSVM whose lam_i/M_i are these lam_i, where no z_i reaches 1, Conic (4)",
            ),
            dual=DualStatement(
                sense="maximise",
                variables=Line("alpha", r"\alpha\in\mathbb{R}^n"),
                objective=Line(
                    "sum_i alpha_i - 1/4 ||sum_i alpha_i y_i x_i||^2",
                    r"\textstyle\sum_{i=1}^n \alpha_i - \tfrac14\bigl\|\sum_{i=1}^n \alpha_i y_i x_i\bigr\|_2^2",
                ),
                constraints=(Line(f"0 <= alpha_i <= {lam}", rf"0 \le \alpha_i \le {tex},\quad i=1,\dots,n"),),
                kkt=(
                    Line("w = 1/2 sum_i alpha_i y_i x_i", r"w = \tfrac12\textstyle\sum_{i=1}^n \alpha_i y_i x_i"),
                    Line("alpha_i (y_i x_i'w + xi_i - 1) = 0", r"\alpha_i\,(y_i x_i^\top w + \xi_i - 1) = 0"),
                    Line(f"({lam} - alpha_i) xi_i = 0", rf"({tex} - \alpha_i)\,\xi_i = 0"),
                ),
            ),
        )


def _objective(model: HingeSVM, values: Mapping[str, FloatArray]) -> float:
    w = values["w"]
    short = np.maximum(1.0 - model.y * np.asarray(model.X @ w), 0.0)
    return float(w @ w + model.sample_weight @ short)


FORMULATIONS = (
    FormulationInfo(
        HingeSVM,
        name="hinge",
        summary="SVM with the hinge loss, linear",
        reference="Cepeda, Gomez, Han: Robust SVMs via conic optimization, (2)",
        data=DataKind.TWO_CLASSES,
        objective=_objective,
        parameters=(Parameter("lam", "λ, cost of slack", float, 1.0),),
        intercept=always,
    ),
)
