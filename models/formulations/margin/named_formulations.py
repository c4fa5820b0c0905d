"""Formulations of the literature that are a `Margin` of certain parts: hard-margin SVM, support vector regression, ν-SVM, and
data description.

Everywhere x_i are the rows of X, y_i the labels or targets, w the coefficients, ξ_i slacks, and α or β the dual variables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from ....data_names import LABELS_OF_X
from ....errors import InputError
from ...appraisal import Appraisal, ExactCost
from ...arrays import FloatArray, Points, as_points, as_share, as_vector
from ...explanation import PointExplanation
from ...kernels.gram import CentredPoints, centre_points
from ...kernels.kernels import Kernel, Linear
from ...model import Model, RowsToSeparate
from ...program.form import StandardForm
from ...program.lagrangian import Bound
from ...record import Arrays, DataKind, FormulationInfo, Parameter, ParameterValues, always
from ...restricted_bound import Tilt
from ...statement import Statement
from ..features import dense_signed_rows
from .level_losses import NuHinge, SoftBall
from .margin_losses import EpsilonInsensitive, HardMargin
from .model import Margin
from .parts_by_name import LOSSES
from .regularisers import L1, ElasticNet, SquaredNorm

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class NamedComposition(Model):
    """Base class of a formulation that is a `Margin` under a name of its own.

    Its form, structural views, bounds, scores, blocks and figures are those of its `composition`. A subclass that compiles
    another form (`compile`) must also define `bound`, `cutoff` and `form_with_fixed_integers` for that form.

    Attributes
    ----------
    title, source : str
        Name and publication, for the statement.
    meanings : mapping of str to str
        What the multipliers of a constraint mean, by the constraint's label; shown beside a result.
    """

    title: ClassVar[str]
    source: ClassVar[str]

    def __post_init__(self) -> None:
        composed = self.composition
        for field in ("X", "y", "kernel"):
            object.__setattr__(self, field, getattr(composed, field))

    @property
    @abstractmethod
    def composition(self) -> Margin:
        """Return the `Margin` of which this is the name."""

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the composition's form."""
        return self.composition.form_bytes

    def compile(self) -> StandardForm:
        """Return the composition's form under this name."""
        return self.composition.form.replace(name=self.name)

    def dual_value(self, multipliers: Mapping[str, FloatArray]) -> float:
        """Return the dual value in closed form (`Margin.dual_value`) at the form's multipliers, moved to where it is feasible."""
        return self.composition.dual_value(multipliers)

    def objective(self, w: FloatArray) -> float:
        """Return the stated objective at a w; other variables, such as slacks and ρ of `NuSVM`, are at their best for it."""
        return self.composition.objective(w)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns; none where w are coordinates of a kernel's feature space."""
        return () if self.composition.kernel is not None else super().feature_names

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the composition's scores of new rows."""
        return self.composition.decision_function(values, X)

    def _predictions(self, values: Mapping[str, FloatArray], X: object) -> np.ndarray[Any, Any]:
        """Return the classes of new rows; the scores themselves where the loss reads no classes."""
        reads_classes = self.composition.loss.reads_class_labels
        return super()._predictions(values, X) if reads_classes else self._decision_scores(values, X)

    @property
    def statement(self) -> Statement:
        """Return the composition's statement under this name."""
        return replace(self.composition.statement, title=self.title, problem_class="convex QP", source=self.source)

    # -- answers of the composition -----------------------------------------------------------------------------

    @property
    def no_view_reason(self) -> str:
        """Return why the composition has no structural view."""
        return self.composition.no_view_reason

    def view(self, kind: type[V]) -> V | None:
        """Return the composition's view of this kind."""
        return self.composition.view(kind)

    def origin(self, label: str) -> str:
        """Return the class of the part that brings a block or constraint."""
        return self.composition.origin(label)

    @property
    def has_nonnegative_objective(self) -> bool:
        """Return whether no point has a negative objective."""
        return self.composition.has_nonnegative_objective

    @property
    def bounded_below_reason(self) -> str:
        """Return why the objective has a lower bound on all points."""
        return self.composition.bounded_below_reason

    @property
    def value_at_zero(self) -> float:
        """Return the objective of w = 0."""
        return self.composition.value_at_zero

    @property
    def cutoff(self) -> float:
        """Return the objective up to which the form contains every point."""
        return self.composition.cutoff

    @property
    def has_given_big_m(self) -> bool:
        """Return whether big-M constants of the form are the user's."""
        return self.composition.has_given_big_m

    @property
    def loss_bounded_variables(self) -> tuple[int, ...]:
        """Return the indices of variables that only the loss bounds."""
        return self.composition.loss_bounded_variables

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the composition's lower bound of the optimum."""
        return self.composition.bound(x, multipliers)

    def tilted_bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray], tilt: Tilt) -> Bound | None:
        """Return the composition's lower bound of the objective less h'w."""
        return self.composition.tilted_bound(x, multipliers, tilt)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return objective, residuals and bound of a point without the form."""
        return self.composition.appraise(values, multipliers)

    def exact_cost(self, values: Mapping[str, FloatArray]) -> ExactCost | None:
        """Return the cost of the point's w from the data."""
        return self.composition.exact_cost(values)

    def exact_point(
        self, values: Mapping[str, FloatArray], box: tuple[FloatArray, FloatArray] | None = None
    ) -> dict[str, FloatArray]:
        """Return the nearby point of least cost in exact arithmetic."""
        return self.composition.exact_point(values, box)

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the values of all blocks of the form."""
        return self.composition.complete(values)

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point with all variables but w at their best for it."""
        return self.composition.with_best_auxiliaries(values)

    def complete_multipliers(self, multipliers: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return multipliers of all rows of the form."""
        return self.composition.complete_multipliers(multipliers)

    def form_with_fixed_integers(self, values: Mapping[str, FloatArray]) -> StandardForm | None:
        """Return the continuous problem with the integers fixed at those of a point."""
        return self.composition.form_with_fixed_integers(values)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its score, margin and multiplier."""
        return self.composition.explain_points(values, multipliers)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return figures of merit of a point."""
        return self.composition.summary(values)


#: Rounding of sums of the points' shares, which ν is compared with.
_NU_ROUNDING = 1e-12
#: Losses that the command line offers for `Margin`.
_OF_MARGINS = ("hinge", "squared-hinge", "logistic", "ramp", "zero-one", "nu", "conic")


def _build(arrays: Arrays, chosen: ParameterValues) -> Margin:
    mu = float(chosen["mu"])
    regulariser: dict[str, Any] = {"l2": SquaredNorm(mu), "l1": L1(mu), "elastic-net": ElasticNet(mu, mu)}
    return Margin(
        arrays["X"], arrays["y"], LOSSES[chosen["loss"]], regulariser[chosen["regulariser"]], sample_weight=float(chosen["lam"]),
    )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonSVR(NamedComposition):
    """Support vector regression, min ½||w||² + C Σ (|y_i - x_i'w| - ε)_+: Vapnik, 1995; Smola and Schölkopf, 2004, (3).

    Dual: max Σ y_i β_i - ε Σ|β_i| - ½||Σ β_i x_i||² over |β| ≤ C, and Σβ = 0 with a free intercept.

    Parameters
    ----------
    X, y, kernel
        Rows (n, p), the first column of ones where there is an intercept; targets, any numbers; a kernel in place of x_i'x_j, or
        None.
    C : float or array_like (n,)
        C ≥ 0, the cost of a unit of residual beyond ε: one for all points or one for each.
    epsilon : float
        ε ≥ 0, the residual that costs nothing: half the width of the tube around x'w.
    intercept : {"free", "penalised"}
        Whether ||w||² contains the coefficient of the first column.

    Raises
    ------
    InputError
        Data that `Margin` refuses; C < 0 or ε < 0.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    C: float | FloatArray = 1.0
    epsilon: float = 0.1
    intercept: Literal["free", "penalised"] = "free"
    kernel: Kernel | None = None

    name = "EpsilonSVR"
    title = "epsilon-SVR"
    source = "Smola, Schoelkopf: A tutorial on support vector regression, 2004, (3)"
    meanings: ClassVar[Mapping[str, str]] = {
        "below": "the weight of a point that lies above the tube; 0 inside it, C beyond it",
        "above": "the weight of a point that lies below the tube; 0 inside it, C beyond it",
    }

    @cached_property
    def composition(self) -> Margin:
        """Return the `Margin` of `EpsilonInsensitive` with ½||w||²."""
        loss = EpsilonInsensitive(self.epsilon)
        return Margin(self.X, self.y, loss, SquaredNorm(0.5), self.intercept, self.C, kernel=self.kernel)


def _small(rng: np.random.Generator) -> dict[str, Any]:
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    return {"X": X, "target": X @ [0.5, 1.0, -1.0] + 0.3 * rng.normal(size=12)}


def _objective(model: EpsilonSVR, values: Mapping[str, Any]) -> float:
    w = values["w"]
    excess = np.maximum(np.abs(model.y - np.asarray(model.X @ w)) - model.epsilon, 0.0)
    v = w[model.composition.penalised]
    return float(0.5 * v @ v + model.composition.costs @ excess)


@dataclass(frozen=True, eq=False, repr=False)
class NuSVM(NamedComposition):
    """The ν-SVM, min ½||w||² - νρ + (1/n) Σ ξ_i subject to y_i x_i'w ≥ ρ - ξ_i, ξ, ρ ≥ 0: Schölkopf, Smola, Williamson, Bartlett,
    2000, (3).

    ρ, the margin that points should have, is a variable. ν is at least the share of points whose margin is below ρ, and at most
    the share of support vectors (α_i > 0). The result's count of *margin violations* is that of margins below 1, whatever ρ is.
    Dual: max -½||Σ α_i y_i x_i||² over 0 ≤ α ≤ 1/n, Σα ≥ ν, and Σ α_i y_i = 0 with a free intercept. Points with weights s have
    s_i/Σs in place of 1/n, and shares of the weight.

    Parameters
    ----------
    X, y, kernel
        Rows (n, p), the first column of ones where there is an intercept; labels -1, +1; a kernel in place of x_i'x_j, or None.
    nu : float
        ν in (0, 1]. Where the classes overlap, no margin ρ > 0 pays for a small ν: the optimum is 0 at w = 0, which predicts one
        class (Chang and Lin, 2001). A larger ν has a classifier.
    intercept : {"free", "penalised"}
        Whether ||w||² contains the coefficient of the first column.
    sample_weight : float or array_like (n,)
        s ≥ 0, not all zero; only their ratios count.

    Raises
    ------
    InputError
        Data that `Margin` refuses; ν outside (0, 1]; a sample_weight that is all zero; with a free intercept a
        ν > 2 min(n₊, n₋)/n, for which the objective is unbounded.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    nu: float = 0.5
    intercept: Literal["free", "penalised"] = "free"
    kernel: Kernel | None = None
    sample_weight: float | FloatArray = 1.0

    name = "NuSVM"
    title = "nu-SVM"
    source = "Schoelkopf, Smola, Williamson, Bartlett: New support vector algorithms, 2000, (3)"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "alpha_i is 0 beyond the level rho, 1/n below it, and between them only on it; w = sum alpha_i y_i x_i",
    }

    @cached_property
    def composition(self) -> Margin:
        """Return the `Margin` of `NuHinge` with ½||w||² and costs that sum to 1."""
        X = as_points(self.X)
        weights = as_vector(self.sample_weight, X.shape[0], "sample_weight")
        if not (weights >= 0).all() or not weights.any():
            raise InputError(f"sample_weight must be ≥ 0 and not all zero; the least is {weights.min():g}", name="sample_weight")
        costs = 1.0 / X.shape[0] if np.ndim(self.sample_weight) == 0 else weights / weights.sum()
        composed = Margin(X, self.y, NuHinge(self.nu), SquaredNorm(0.5), self.intercept, costs, kernel=self.kernel)
        # Σ_i α_i y_i = 0 and α ≤ costs leave Σα at most twice the smaller class's share, and the dual needs Σα ≥ ν
        largest = 2.0 * min(float(composed.costs[composed.y == sign].sum()) for sign in (-1.0, 1.0))
        if self.intercept == "free" and self.nu > largest + _NU_ROUNDING:
            raise InputError(
                f"nu = {self.nu:g} makes the objective unbounded: with a free intercept nu must be at most {largest:.6g}, twice "
                "the smaller class's share of the points' weight; give a smaller nu, intercept='penalised', or classes of equal "
                "weight",
                name="nu",
            )
        return composed


def _nu_svm_objective(model: NuSVM, values: Mapping[str, Any]) -> float:
    w, rho = values["w"], float(values["rho"][0])
    slack = np.maximum(rho - model.y * np.asarray(model.X @ w), 0.0)
    v = w[model.composition.penalised]
    return float(0.5 * v @ v - model.nu * rho + model.composition.costs @ slack)


@dataclass(frozen=True, eq=False, repr=False)
class SVDD(NamedComposition):
    """Support vector data description, min R² + (1/(νn)) Σ ξ_i subject to ||x_i - w||² ≤ R² + ξ_i, ξ ≥ 0: Tax and Duin, 2004,
    (3).

    R is the radius, w the centre. Dual: max Σ α_i ||x_i||² - ||Σ α_i x_i||² over 0 ≤ α ≤ 1/(νn), Σα = 1; w = Σ α_i x_i. For
    ν ≤ 1/n it is the smallest ball that encloses all points, `MEBDual`.

    Parameters
    ----------
    X, kernel
        Rows (n, p) without a column for an intercept; a kernel in place of x_i'x_j, or None.
    nu : float
        ν in (0, 1] bounds the share of points outside from above.

    Notes
    -----
    Form: that of `SoftBall`, with the level t = R² - ||w||² in place of R². The score of x is R² - ||x - w||².
    Points far from the origin (dense, without a kernel) are moved near it, since x'x would lose their digits: ``w`` is then the
    ball's centre in the moved coordinates of `centred`, and `centre` returns it in those of X.

    Raises
    ------
    InputError
        Data that `Margin` refuses; ν outside (0, 1].
    """

    X: Points
    nu: float = 0.1
    kernel: Kernel | None = None

    name = "SVDD"
    title = "Support vector data description: the smallest ball with slack"
    source = "Tax, Duin: Support vector data description, 2004, (3)"
    meanings: ClassVar[Mapping[str, str]] = {
        "inside": "alpha_i is 0 inside the ball, 1/(nu n) outside, and between them only on it; the centre is sum alpha_i x_i",
    }

    def __post_init__(self) -> None:
        object.__setattr__(self, "nu", as_share(self.nu, "nu"))
        object.__setattr__(self, "X", as_points(self.X))
        object.__setattr__(self, "kernel", self.composition.kernel)

    @cached_property
    def centred(self) -> CentredPoints:
        """Return the points, moved near the origin if they are dense, far from it and without a kernel; the ball moves along."""
        return CentredPoints(self.X) if self.kernel is not None else centre_points(Linear(), self.X)

    @cached_property
    def composition(self) -> Margin:
        """Return the `Margin` of `SoftBall` with ||w||²; labels have no effect on it."""
        n = self.X.shape[0]
        costs = 1.0 / (self.nu * n)
        return Margin(self.centred.points, np.ones(n), SoftBall(), SquaredNorm(1.0), sample_weight=costs, kernel=self.kernel)

    def centre(self, values: Mapping[str, Any]) -> FloatArray:
        """Return the centre among the points as they were given."""
        return np.asarray(values["w"] if self.centred.centre is None else values["w"] + self.centred.centre)

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return R² - ||x - w||² of new rows, moved as the points were: negative outside."""
        return super()._decision_scores(values, X if self.centred.centre is None else self.centred.of(as_points(X)))

    def radius(self, values: Mapping[str, Any]) -> float:
        """Return the radius R."""
        w = values["w"]
        return float(np.sqrt(max(float(values["level"][0]) + float(w @ w), 0.0)))

    def summary(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Return the radius, and the share of points outside."""
        scores = self.decision_function(values, self.X)
        return {"radius": self.radius(values), "outside": float((scores < -1e-7 * (1.0 + np.abs(scores).max())).mean())}


def _svdd_objective(model: SVDD, values: Mapping[str, Any]) -> float:
    w, level = values["w"], float(values["level"][0])
    outside = np.maximum(((np.asarray(model.centred.points) - w) ** 2).sum(axis=1) - level - w @ w, 0.0)
    return float(level + w @ w + outside.sum() / (model.nu * model.X.shape[0]))


@dataclass(frozen=True, eq=False, repr=False)
class HardMarginSVM(NamedComposition):
    """The hard-margin SVM, min ½||w||² subject to y_i x_i'w ≥ 1, Frandi et al. (2013), (5): the widest margin, 1/||w||, of a
    hyperplane without errors.

    Dual: max Σα - ½||Σ α_i y_i x_i||² over α ≥ 0, and Σ α_i y_i = 0 with a free intercept.

    Parameters
    ----------
    X, y, kernel
        Rows (n, p), the first column of ones where there is an intercept; labels -1, +1; a kernel in place of x_i'x_j, or None.
    intercept : {"free", "penalised"}
        Whether ||w||² contains the coefficient of the first column.

    Notes
    -----
    Form: block ``w``, constraint ``margin``: y_i x_i'w - 1 ≥ 0. On data that no hyperplane separates the answer is INFEASIBLE,
    with a Farkas proof.

    Raises
    ------
    InputError
        Data that `Margin` refuses.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    intercept: Literal["free", "penalised"] = "free"
    kernel: Kernel | None = None

    name = "HardMarginSVM"
    title = "Hard-margin SVM"
    source = (
        "Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
        "Frank-Wolfe optimization methods, (3)-(5)"
    )
    meanings: ClassVar[Mapping[str, str]] = {"margin": "alpha_i prices the margin of point i; w = sum alpha_i y_i x_i"}

    @cached_property
    def composition(self) -> Margin:
        """Return the `Margin` of `HardMargin` with ½||w||²."""
        return Margin(self.X, self.y, HardMargin(), SquaredNorm(0.5), self.intercept, kernel=self.kernel)

    @property
    def rows_to_separate(self) -> RowsToSeparate | None:
        """Return the signed rows y_i x_i, which some hyperplane must separate for the model to be feasible."""
        signed = dense_signed_rows(self.composition.points, self.y)
        return RowsToSeparate(signed, "a hard margin asks that no margin be violated", self.kernel is not None)


def _hard_margin_small(rng: np.random.Generator) -> dict[str, Any]:
    y = np.repeat([-1.0, 1.0], 6)
    points = 0.4 * rng.normal(size=(12, 2)).clip(-2.0, 2.0) + 1.5 * y[:, None]
    return {"X": np.column_stack([np.ones(12), points]), "y": y}


def _hard_margin_objective(model: HardMarginSVM, values: Mapping[str, Any]) -> float:
    v = values["w"][model.composition.penalised]
    return float(0.5 * v @ v)


FORMULATIONS = (
    FormulationInfo(
        Margin,
        name="margin",
        summary="a loss and a regulariser by name; in Python any parts",
        reference="Teo et al.: Bundle methods for regularized risk minimization, 2010, (1)",
        data=DataKind.TWO_CLASSES,
        build=_build,
        parameters=(
            Parameter("loss", "the loss of a margin", str, "hinge", _OF_MARGINS),
            Parameter("regulariser", "the cost of coefficients", str, "l2", ("l2", "l1", "elastic-net")),
            Parameter("lam", "cost of one unit of loss", float, 1.0),
            Parameter("mu", "weight of the regulariser", float, 1.0),
        ),
        intercept=always,
    ),
    FormulationInfo(
        EpsilonSVR,
        name="epsilon-svr",
        summary="support vector regression with a tube of half-width ε",
        reference="Smola, Schölkopf: A tutorial on support vector regression, 2004, (3)",
        data=DataKind.ARRAYS,
        arrays=("X", "target"),
        small=_small,
        objective=_objective,
        parameters=(
            Parameter("C", "C, cost of a unit beyond the tube", float, 1.0),
            Parameter("epsilon", "ε, half the tube's width", float, 0.1),
            Parameter("intercept", "whether the intercept is part of the norm", str, "free", ("free", "penalised")),
        ),
    ),
    FormulationInfo(
        NuSVM,
        name="nu",
        summary="nu-SVM: the share of margin errors in place of their price",
        reference="Schölkopf, Smola, Williamson, Bartlett: New support vector algorithms, 2000, (3)",
        data=DataKind.TWO_CLASSES,
        objective=_nu_svm_objective,
        parameters=(
            Parameter("nu", "ν, share of points within the margin", float, 0.5),
            Parameter("intercept", "whether the intercept is part of the norm", str, "free", ("free", "penalised")),
        ),
        intercept=always,
    ),
    FormulationInfo(
        SVDD,
        name="svdd",
        summary="the smallest ball with slack: support vector data description",
        reference="Tax, Duin: Support vector data description, 2004, (3)",
        data=DataKind.POINTS,
        objective=_svdd_objective,
        parameters=(Parameter("nu", "ν, share of points outside", float, 0.3),),
    ),
    FormulationInfo(
        HardMarginSVM,
        name="hard-margin",
        summary="the widest margin of a hyperplane without errors",
        reference="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
        "Frank-Wolfe optimization methods, (3)-(5)",
        data=DataKind.TWO_CLASSES,
        objective=_hard_margin_objective,
        small=_hard_margin_small,
        parameters=(Parameter("intercept", "whether the intercept is part of the norm", str, "free", ("free", "penalised")),),
        intercept=always,
    ),
)
