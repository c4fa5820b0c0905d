"""Support vector machines for several classes in one program: Crammer and Singer's, Weston and Watkins's, and the 0-1 loss.

Each of the K classes has a score w_k'x, W is the matrix with the rows w_k, m_ik = (w_{y_i} - w_k)'x_i is the margin of point i
against another class k, and c_i the point's cost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from ...data_names import LABELS_OF_X
from ...errors import InputError, count_text, short_text
from ..appraisal import Appraisal
from ..arrays import FloatArray, IntArray, Points, as_classes, as_costs, as_points, as_vector, entry_count, row_norms_squared
from ..explanation import PointExplanation, PointRow
from ..kernels.kernels import Kernel, as_kernel
from ..model import Model
from ..program.form import StandardForm
from ..program.lagrangian import Bound
from ..record import Arrays, DataKind, FormulationInfo, Parameter, ParameterValues, always
from ..statement import DualStatement, Line, Statement, listed
from ..views import MulticlassProblem
from .features import Features, KernelFeatures, RawFeatures, warn_about_features
from .margin.assembly import Affine, Assembly
from .margin.parts_by_name import part_by_name

V = TypeVar("V")


# Losses of a point with several classes, as functions of its margins m_ik = (w_{y_i} - w_k)'x_i against the other classes k.


class ClassLoss(ABC):
    """Base class of a cost of the margins m_ik, k ≠ y_i, of each point; they come as an array with K - 1 columns.

    Attributes
    ----------
    convex : bool
        Whether the loss is convex in the margins.
    shared : bool
        Whether one slack serves all the classes of a point.
    title, source : str
        Name and publication, for the statement.
    cost : Line
        The printed loss in the objective.
    variables : Line
        The printed variables that the loss adds.
    constraints : tuple of Line
        The printed rows and bounds of its variables.
    dual : Line or None
        The printed upper bounds of the multipliers α_ik ≥ 0 of the margins, or of their sums; None where there is no dual.
    """

    convex: ClassVar[bool] = True
    shared: ClassVar[bool] = True
    title: ClassVar[str]
    source: ClassVar[str]
    cost: ClassVar[Line]
    variables: ClassVar[Line]
    constraints: ClassVar[tuple[Line, ...]]
    dual: ClassVar[Line | None] = None

    @abstractmethod
    def values(self, margins: FloatArray) -> FloatArray:
        """Return the loss of each point, (n,), from the margins, n × (K - 1)."""

    @abstractmethod
    def add(self, builder: Assembly, margins: Affine, costs: FloatArray, rows_per_point: int, big_m: FloatArray) -> None:
        """Add variables, rows ``margin`` and cost; ``rows_per_point`` rows of ``margins`` belong to each point.

        ``big_m`` (n,) are constants M_i, which the 0-1 loss reads.
        """

    @abstractmethod
    def repaired_multipliers(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Return multipliers, n × (K - 1), moved into the dual's feasible set."""

    @abstractmethod
    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """Return the best values of the loss's variables at the given margins, n × (K - 1), by label."""


def _repeated(n: int, rows_per_point: int) -> sp.csr_array:
    """Return the matrix that repeats one number for each point in each of the point's rows."""
    return sp.csr_array(sp.kron(sp.eye_array(n), np.ones((rows_per_point, 1)), format="csr"))


@dataclass(frozen=True)
class CrammerSinger(ClassLoss):
    """The loss max_k (1 - m_ik)_+ of the worst other class."""

    title = "Crammer and Singer"
    source = "Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines, 2001, (8)"
    cost = Line("sum_i c_i xi_i", r"\textstyle\sum_i c_i\xi_i")
    variables = Line("xi >= 0", r"\xi\ge 0", "xi")
    constraints = (
        Line("(w_(y_i) - w_k)'x_i >= 1 - xi_i, k != y_i", r"(w_{y_i} - w_k)^\top x_i \ge 1 - \xi_i,\quad k\ne y_i", "margin"),
        Line("xi_i >= 0", r"\xi_i \ge 0"),
    )
    dual = Line("sum_k alpha_ik <= c_i", r"\textstyle\sum_{k\ne y_i} \alpha_{ik} \le c_i")

    def values(self, margins: FloatArray) -> FloatArray:
        """Return max_k (1 - m_ik)_+."""
        return np.maximum(1.0 - margins, 0.0).max(axis=1)

    def add(self, builder: Assembly, margins: Affine, costs: FloatArray, rows_per_point: int, big_m: FloatArray) -> None:
        """Add one ξ for each point."""
        xi = builder.variables("xi", costs.size, 0.0)
        builder.require_nonnegative("margin", margins + xi.premultiplied(_repeated(costs.size, rows_per_point)) - 1.0)
        builder.cost(costs, xi)

    def repaired_multipliers(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Return the multipliers clipped at 0, each point's scaled down where their sum is more than c_i."""
        clipped = np.maximum(alpha, 0.0)
        total = clipped.sum(axis=1) * (1.0 + 4e-16 * clipped.shape[1])
        factor = np.where(total > costs, costs / np.where(total > 0, total, 1.0), 1.0)
        return np.asarray(clipped * (factor * np.where(total > costs, 1.0 - 1e-15, 1.0))[:, None])

    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """Return ξ."""
        return {"xi": self.values(margins)}


@dataclass(frozen=True)
class WestonWatkins(ClassLoss):
    """The loss Σ_k (1 - m_ik)_+ over all other classes."""

    shared = False
    title = "Weston and Watkins"
    source = (
        "Weston, Watkins: Support vector machines for multi-class pattern recognition, 1999, (3), with margin 1 in place of 2"
    )
    cost = Line("sum_i c_i sum_(k != y_i) xi_ik", r"\textstyle\sum_i c_i\sum_{k\ne y_i}\xi_{ik}")
    variables = Line("xi >= 0", r"\xi\ge 0", "xi")
    constraints = (
        Line(
            "(w_(y_i) - w_k)'x_i >= 1 - xi_ik, k != y_i",
            r"(w_{y_i} - w_k)^\top x_i \ge 1 - \xi_{ik},\quad k\ne y_i",
            "margin",
        ),
        Line("xi_ik >= 0", r"\xi_{ik} \ge 0"),
    )
    dual = Line("alpha_ik <= c_i", r"\alpha_{ik} \le c_i")

    def values(self, margins: FloatArray) -> FloatArray:
        """Return Σ_k (1 - m_ik)_+."""
        return np.maximum(1.0 - margins, 0.0).sum(axis=1)

    def add(self, builder: Assembly, margins: Affine, costs: FloatArray, rows_per_point: int, big_m: FloatArray) -> None:
        """Add one ξ for each row."""
        xi = builder.variables("xi", margins.rows, 0.0)
        builder.require_nonnegative("margin", margins + xi - 1.0)
        builder.cost(np.repeat(costs, rows_per_point), xi)

    def repaired_multipliers(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Return the multipliers clipped to [0, c_i]."""
        return np.clip(alpha, 0.0, costs[:, None])

    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """Return ξ, row by row."""
        return {"xi": np.maximum(1.0 - margins, 0.0).ravel()}


@dataclass(frozen=True)
class ZeroOneClasses(ClassLoss):
    """The 0-1 loss 1{some m_ik < 1}: a point costs c_i unless its own class's score beats every other one by 1.

    The mixed-integer program is (3) of Cepeda, Gómez and Han, 2024 ("Conic"), with the margins of Crammer and Singer.
    """

    convex = False
    title = "0-1 loss"
    source = "Conic (3) with the margins of Crammer and Singer (8)"
    cost = Line("sum_i c_i z_i", r"\textstyle\sum_i c_i z_i")
    variables = Line("z in {0, 1}^n", r"z\in\{0,1\}^n", "z")
    constraints = (
        Line(
            "(w_(y_i) - w_k)'x_i >= 1 - M_i z_i, k != y_i",
            r"(w_{y_i} - w_k)^\top x_i \ge 1 - M_i z_i,\quad k\ne y_i",
            "margin",
        ),
        Line("z_i in {0, 1}", r"z_i\in\{0,1\}"),
    )

    def values(self, margins: FloatArray) -> FloatArray:
        """Return 1{min_k m_ik < 1}; margins within 1e-9 of 1 count as met."""
        return (margins.min(axis=1) < 1.0 - 1e-9).astype(np.float64)

    def add(self, builder: Assembly, margins: Affine, costs: FloatArray, rows_per_point: int, big_m: FloatArray) -> None:
        """Add one z for each point, and a row for each other class."""
        z = builder.binaries("z", costs.size)
        builder.switch(
            "margin", z.premultiplied(_repeated(costs.size, rows_per_point)), margins - 1.0, np.repeat(big_m, rows_per_point)
        )
        builder.cost(costs, z)

    def repaired_multipliers(self, alpha: FloatArray, costs: FloatArray) -> FloatArray:
        """Return zeros: the 0-1 loss has no dual in closed form."""
        return np.zeros_like(alpha)

    def slack(self, margins: FloatArray) -> dict[str, FloatArray]:
        """Return z."""
        return {"z": self.values(margins)}


#: The losses of `MulticlassSVM` by name.
CLASS_LOSSES: Mapping[str, ClassLoss] = {
    "crammer-singer": CrammerSinger(),
    "weston-watkins": WestonWatkins(),
    "zero-one": ZeroOneClasses(),
}


def _dual(condition: Line | None) -> DualStatement | None:
    if condition is None:
        return None
    point = Line(
        "w_c = sum_(i, k) alpha_ik (1{y_i = c} - 1{k = c}) x_i",
        r"w_c = \textstyle\sum_{i,k} \alpha_{ik}\,(1_{y_i=c} - 1_{k=c})\, x_i",
    )
    return DualStatement(
        sense="maximise",
        variables=Line("alpha_ik, k != y_i", r"\alpha_{ik},\ k\ne y_i"),
        objective=Line("sum alpha_ik - 1/2 sum_c ||w_c||^2", r"\textstyle\sum_{i,k}\alpha_{ik} - \tfrac12\sum_c\|w_c\|_2^2"),
        constraints=(Line("alpha_ik >= 0", r"\alpha_{ik}\ge 0"), condition, point),
        kkt=(point,),
    )


@dataclass(frozen=True, eq=False, repr=False)
class MulticlassSVM(Model):
    """The problem min ½ Σ_k ||w_k||² + Σ_i c_i ℓ(m_i), with the margins m_ik = (w_{y_i} - w_k)'x_i against every other class k.

    Parameters
    ----------
    X : array_like (n, p)
        Rows are samples, taken literally; a constant column is the intercepts', penalised like every other weight.
    y : array_like (n,)
        Labels of two or more classes, of any kind; ``classes`` holds the different ones in order.
    loss : {"crammer-singer", "weston-watkins", "zero-one"}
        max_k (1 - m_ik)_+; Σ_k (1 - m_ik)_+; or 1{some m_ik < 1}, with binaries.
    sample_weight : float or array_like (n,)
        c_i > 0, one for all points or one for each.
    kernel : Kernel, optional
        As in `Margin`, x_i is replaced by coordinates in the kernel's feature space, after a one for the intercept.

    Notes
    -----
    Form: blocks ``W`` (K × p) and the loss's slack ``xi`` or binaries ``z``; constraint ``margin``, K - 1 rows for each point, by
    points, the other classes in order. Dual of the convex two: max Σα - ½ Σ_k ||w_k(α)||² with
    w_c(α) = Σ_ik α_ik (1{y_i = c} - 1{k = c}) x_i, over α ≥ 0 and Σ_k α_ik ≤ c_i, or α_ik ≤ c_i. *Valid M* of the 0-1 loss: where
    z_i = 1 an optimal W has ½||W||² ≤ UB - c_i with UB = Σ c of W = 0, and |m_ik| ≤ √2 ||x_i|| ||W||.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, one class only, sample_weight ≤ 0, an unknown loss.
    """

    X: Points
    y: Any = LABELS_OF_X
    loss: ClassLoss | str = "crammer-singer"
    sample_weight: float | FloatArray = 1.0
    kernel: Kernel | None = None

    name = "MulticlassSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "alpha_ik pushes the scores of point i's own class and of class k apart; "
        "w_c = sum alpha_ik (1{y_i = c} - 1{k = c}) x_i",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "loss", part_by_name(self.loss, CLASS_LOSSES, "loss of several classes"))
        if not isinstance(self.loss, ClassLoss):
            raise InputError(f"loss must be one of {', '.join(CLASS_LOSSES)}; it is {short_text(self.loss)}", name="loss")
        object.__setattr__(self, "y", as_classes(self.y, X.shape[0], smallest=1))
        object.__setattr__(self, "sample_weight", as_costs(self.sample_weight, X.shape[0], "sample_weight", zero=False))
        if self.kernel is None:
            warn_about_features(X)
        else:
            object.__setattr__(self, "kernel", as_kernel(self.kernel, X))

    # -- data -----------------------------------------------------------------------------------------------------

    @cached_property
    def classes(self) -> np.ndarray:
        """Return the labels that occur, in order."""
        return np.unique(self.y)

    @cached_property
    def codes(self) -> IntArray:
        """Return the index of each point's label in ``classes``."""
        return np.searchsorted(self.classes, self.y)

    @cached_property
    def costs(self) -> FloatArray:
        """Return c, one for each point."""
        return as_vector(self.sample_weight, self.X.shape[0], "sample_weight")

    @cached_property
    def features(self) -> Features:
        """Return the features of the program's rows: the data, or their images under a kernel."""
        return RawFeatures(self.X) if self.kernel is None else KernelFeatures(self.X, self.kernel, True)

    @cached_property
    def _problem(self) -> MulticlassProblem:
        """Return the data as arrays, whatever the loss."""
        rows = self.features.rows
        if isinstance(rows, np.ndarray):
            rows = np.ascontiguousarray(rows)
        elif not rows.has_canonical_format:
            rows = sp.csr_array(rows, copy=True)
            rows.sum_duplicates()
        return MulticlassProblem(rows, self.codes, self.classes.size, self.costs, self._loss.shared)

    def view(self, kind: type[V]) -> V | None:
        """Return the `MulticlassProblem` view of the convex losses; None for another kind."""
        return self._problem if kind is MulticlassProblem and self._loss.convex else None  # type: ignore[return-value]

    @cached_property
    def _rows(self) -> sp.csr_array:
        """m = F vec(W), K - 1 rows for each point: x_i in the columns of its own class, -x_i in those of the other."""
        K, X = self.classes.size, sp.csr_array(self.features.rows)
        other_classes = np.broadcast_to(np.arange(K), (X.shape[0], K))[~self._problem.own_class(slice(None))]
        repeated = X[np.repeat(np.arange(X.shape[0]), K - 1)]
        lengths = np.diff(repeated.indptr)
        shape = (repeated.shape[0], K * X.shape[1])

        def placed(classes: IntArray) -> sp.csr_array:
            indices = repeated.indices + np.repeat(classes * X.shape[1], lengths)
            return sp.csr_array((repeated.data, indices, repeated.indptr), shape=shape)

        return placed(np.repeat(self.codes, K - 1)) - placed(other_classes)

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the form's rows."""
        n, K = self.X.shape[0], self.classes.size
        return 120 * (K - 1) * ((entry_count(self.X) if self.kernel is None else n * (n + 1)) + n)

    # -- the program ----------------------------------------------------------------------------------------------

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns of X, which W has coefficients for; none with a kernel."""
        return () if self.kernel is not None else super().feature_names

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of classes and features of W."""
        return {"W": (tuple(map(str, self.class_values(self.classes.size))), self.feature_names)}

    def class_values(self, scores: int) -> np.ndarray:
        """Return the names of the classes, else their labels, in the order of the ``scores`` columns of scores."""
        return super().class_values(scores) if self.class_names else self.classes

    def compile(self) -> StandardForm:
        """Return the form of the notes."""
        builder = Assembly(self.name)
        W = builder.variables("W", self._rows.shape[1], shape=(self.classes.size, self.features.rows.shape[1]))
        builder.cost_of_squares(0.5, W)
        self._loss.add(builder, W.premultiplied(self._rows), self.costs, self.classes.size - 1, self.big_m_values)
        return builder.form()

    @property
    def _loss(self) -> ClassLoss:
        assert isinstance(self.loss, ClassLoss)
        return self.loss

    @property
    def big_m_values(self) -> FloatArray:
        """Return M_i of the 0-1 loss, by the argument of the notes."""
        budget = np.maximum(self.costs.sum() - self.costs, 0.0)
        return 1.0 + 2.0 * np.sqrt(row_norms_squared(self.features.rows) * budget)

    @property
    def cutoff(self) -> float:
        """Return the objective of W = 0, from which M follows; infinite for the convex losses, which need no M."""
        return float("inf") if self._loss.convex else float(self.costs.sum())

    def margins(self, W: FloatArray) -> FloatArray:
        """Return the margins m_ik, n × (K - 1)."""
        return 1.0 - self._problem.without_own_class(self._problem.shortfalls(W, slice(None)))

    def objective(self, W: FloatArray) -> float:
        """Return ½||W||² + Σ c_i ℓ_i, from the data."""
        return 0.5 * float(np.sum(W * W)) + float(self.costs @ self._loss.values(self.margins(W)))

    @property
    def value_at_zero(self) -> float:
        """Return the losses of W = 0."""
        return self.objective(np.zeros((self.classes.size, self.features.rows.shape[1])))

    def primal_from_dual(self, alpha: FloatArray) -> dict[str, FloatArray]:
        """Return the block ``W`` (K, p) at dual multipliers α, one for each row of ``margin``, and the slack that it needs."""
        W = self._problem.coefficients(self._problem.with_own_class(np.asarray(alpha)))
        return {"W": W, **self._loss.slack(self.margins(W))}

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return all blocks, computed from ``W`` where only it is given."""
        return dict(values) if len(values) > 1 else self.with_best_auxiliaries(values)

    def with_best_auxiliaries(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the point with the slacks that ``W`` needs."""
        return {"W": values["W"], **self._loss.slack(self.margins(values["W"]))}

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the dual value at the multipliers of ``margin``, moved into the dual's feasible set; for the 0-1 loss the
        Lagrangian's bound.
        """
        if not self._loss.convex:
            return super().bound(x, multipliers)
        if multipliers is None or "margin" not in multipliers:
            return Bound(-np.inf, "no multipliers")
        alpha = self._loss.repaired_multipliers(np.reshape(multipliers["margin"], (-1, self.classes.size - 1)), self.costs)
        dual = self._problem.dual(self._problem.with_own_class(alpha))
        return Bound(dual.lower, "dual value Σα - ½||W(α)||² with α moved into its bounds", dual.error)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return the objective at W and the dual value at the multipliers of ``margin``, without the form; None for 0-1 loss."""
        if not self._loss.convex:
            return None
        objective, bound = self._problem.objective(values["W"]), self.bound(None, multipliers)
        return Appraisal(
            objective.value, 0.0, {"margin": 0.0}, bound=bound.value, argument=bound.argument, error=objective.error,
            bound_error=bound.error,
        )  # fmt: skip

    # -- scores and explanations ----------------------------------------------------------------------------------

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores w_k'x of new rows, one column for each of ``classes``; the largest is the class."""
        return np.column_stack([self.features.products(w, X) for w in values["W"]])

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point: its own class's score and its lead min_k m_ik over the best other class."""
        W = values["W"]
        lead = self.margins(W).min(axis=1)
        own_scores = np.asarray(self.features.rows @ W.T)[np.arange(lead.size), self.codes]
        z = None if multipliers is None else multipliers.get("margin")
        alpha = None if z is None else np.reshape(z, (lead.size, -1)).sum(axis=1)
        kinds = np.select([lead < 0, lead < 1 - 1e-6], ["misclassified", "inside the margin"], "beyond the margin")
        rows = [
            PointRow(
                index=i,
                label=self.class_label(self.y[i]),
                score=float(own_scores[i]),
                margin=float(lead[i]),
                weight=None if alpha is None else float(alpha[i]),
                kind=str(kinds[i]),
                misclassified=bool(lead[i] < 0),
            )
            for i in range(lead.size)
        ]
        note = "no multipliers, so no weights" if alpha is None else "weights are sums of the multipliers of margin"
        return PointExplanation(tuple(rows), note, score="own score", margin="lead")

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return ||W|| and the numbers of points with a smallest margin min_k m_ik below 1, and below 0 (misclassified)."""
        lead = self.margins(values["W"]).min(axis=1)
        return {
            "norm": float(np.linalg.norm(values["W"])),
            "margin_violations": float((lead < 1.0 - 1e-9).sum()),
            "misclassified": float((lead < 0.0).sum()),
        }

    @property
    def statement(self) -> Statement:
        """Return the printed program, and its dual where it is convex."""
        loss, cost, (n, p) = self._loss, self._loss.cost, self.features.rows.shape
        images = () if self.kernel is None else (f"x_i are images under the kernel {self.kernel}, after a one for the intercept",)
        return Statement(
            title=f"Multiclass SVM, {loss.title}",
            problem_class="convex QP" if loss.convex else "mixed-integer convex QP",
            sense="minimise",
            variables=listed([Line("W in R^K x p", r"W\in\mathbb{R}^{K\times p}", "W"), loss.variables]),
            objective=Line(f"1/2 sum_k ||w_k||^2 + {cost.text}", rf"\tfrac12\textstyle\sum_k\|w_k\|_2^2 + {cost.latex}"),
            constraints=loss.constraints,
            sizes=f"n = {count_text(n, 'point')}, p = {count_text(p, 'feature')} (a constant one included, "
            f"if any), K = {count_text(self.classes.size, 'class', 'classes')}",
            notes=("intercepts, a constant column of X, are penalised like every other weight", *images),
            source=loss.source,
            dual=_dual(loss.dual),
        )


def _build(arrays: Arrays, chosen: ParameterValues) -> MulticlassSVM:
    return MulticlassSVM(arrays["X"], arrays["y"], chosen["loss"], sample_weight=chosen["lam"])


def _objective(model: MulticlassSVM, values: Mapping[str, FloatArray]) -> float:
    """The stated objective from the data; binaries as they are, since a margin of 1 within rounding may be kept."""
    W = values["W"]
    loss = values["z"] if "z" in values else model._loss.values(model.margins(W))
    return 0.5 * float(np.sum(W * W)) + float(model.costs @ loss)


FORMULATIONS = (
    FormulationInfo(
        MulticlassSVM,
        name="multiclass",
        summary="SVM of several classes at once: Crammer-Singer, Weston-Watkins or 0-1",
        reference="Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines, 2001, (8)",
        data=DataKind.CLASSES,
        build=_build,
        objective=_objective,
        parameters=(
            Parameter("loss", "the loss of a point's margins", str, "crammer-singer", tuple(CLASS_LOSSES)),
            Parameter("lam", "cost of one unit of loss", float, 1.0),
        ),
        intercept=always,
    ),
)
