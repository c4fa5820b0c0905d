"""Twin support vector machines to compare NPSVC++ (Zhang et al., 2024) with: Pin-TSVM (Xu, Yang and Pan, 2017) and NHSVM (Shao,
Chen and Deng, 2014). Each has a hyperplane f(x) = u'ψ(x) = 0 of one class, the *target*, over the features ψ of a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ....errors import InputError, UnsupportedModelError, count_text
from ...arrays import FloatArray, Points
from ...explanation import ON_MARGIN, PointExplanation, PointRow, primal_weights, two_classes
from ...kernels.kernels import Kernel, Linear
from ...model import Model
from ...record import DataKind, FormulationInfo, Parameter, kernel_is_linear, kernel_parameters
from ...statement import Line, Statement
from .hinge_quadratic import HingeQuadratic
from .npsvc import TargetModel, with_target
from .quadratic_factors import HingeFactor, Ridge, SignedFactor


@dataclass(frozen=True, eq=False, repr=False)
class PinballTwinSVM(TargetModel):
    """A hyperplane at a quantile of one class, the other classes on its negative side (Pin-TSVM of Xu, Yang, Pan 2017):

        min ½||u||² + ν/m Σ_{others} f(x_j) + c/k Σ_{target} max(-f(x_i), τ f(x_i)),    k points of the class, m others,

    f(x) = u'ψ(x). ψ is the feature map of `FeatureMap`; a constant column (or ``offset``) is the intercept, and is penalised
    like the rest, where the source's is free. Prediction: the nearest hyperplane, |f(x)|/||u||, one problem for each class.

    Parameters
    ----------
    X : array_like (n, p)
        Rows are samples; the n × n kernel matrix with ``kernel=Precomputed()``.
    y : array_like (n,)
        Class labels of any type.
    target : label
        The class whose hyperplane this is.
    c, nu : float
        c, ν > 0, weights of the class's pinball losses and of the others' mean f. A factor of both is a factor of the optimal u.
    tau : float
        τ ≥ 0, the loss's slope where f > 0.
    kernel : Kernel or callable
        The kernel of the features.
    ridge, offset : float
        ≥ 0, of the features: ψ_i'ψ_j = k(x_i, x_j) + offset + ridge·δ_ij; an offset > 0 is an intercept; no ridge if linear.

    Notes
    -----
    Form: `HingeQuadratic` over u with H = I and b = ν/m Σ_{others} ψ_j, rows ψ_i of the class: blocks ``u`` and ``xi``;
    constraints ``margin`` f + ξ ≥ 0 and, where τ > 0, ``overshoot`` ξ - τ f ≥ 0. In the dual λ, -τ c/k ≤ λ_i ≤ c/k,
    u = Σ λ_i ψ_i - ν/m Σ_{others} ψ_j.

    Raises
    ------
    InputError
        Wrong shapes, one class, a class of one point, parameters out of range, an unknown target.
    """

    X: Points
    y: npt.NDArray[Any]
    target: Any
    c: float = 1.0
    nu: float = 0.5
    tau: float = 0.5
    kernel: Kernel = field(default_factory=Linear)
    ridge: float = 1e-3
    offset: float = 0.0

    name = "PinballTwinSVM"
    _remedy = ("give another ratio of nu and c", "nu")
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "c/k where f < 0, and less where f = 0: the point's weight in u is margin - tau overshoot",
        "overshoot": "c/k where f > 0",
        "bounds": "the reduced cost of xi_i is c/k minus the multiplier of margin (tau = 0)",
    }

    def __post_init__(self) -> None:
        self._check_points({"c": False, "nu": False, "tau": True, "ridge": True, "offset": True})

    @property
    def _factor(self) -> HingeFactor | SignedFactor:
        """Return the factor of H = I and the rows of the class."""
        points = np.flatnonzero(self.inside)
        if self.kernel_rows is not None:
            return SignedFactor(self.kernel_rows, points, np.ones(points.size))
        p = self.features.dimension
        return HingeFactor(np.eye(p), self.features.rows[points], np.zeros((0, p)), self.base)

    @cached_property
    def program(self) -> HingeQuadratic:
        """Return the problem as a quadratic with pinball losses of target 0."""
        k = int(self.inside.sum())
        b = self.nu * self.features.rows[~self.inside].mean(axis=0)
        return HingeQuadratic(self._factor, b, np.zeros(k), np.full(k, self.c / k), np.full(k, self.tau), centre=b)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its f, and, for the class's points, the weight in u."""
        f = self.features.rows @ values["u"]
        weights = np.full(f.size, np.nan)
        if multipliers is not None and "margin" in multipliers:
            weights[self.inside] = self.program.multiplier(multipliers)
        rows = []
        for i, (score, weight) in enumerate(zip(f.tolist(), weights.tolist(), strict=True)):
            kind = ("of the class" if self.inside[i] else "another") + (", on the hyperplane" if abs(score) <= ON_MARGIN else "")
            rows.append(PointRow(i, self.class_label(self.y[i]), score, -abs(score), None if np.isnan(weight) else weight, kind))
        plotted = None if self.kernel.reads_matrix_rows else partial(self._scores, values)
        note = "weights are those of the class's points in u"
        return PointExplanation(tuple(rows), note, score="f", margin="-|f|", X=self.X, surface=plotted)

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the unit quadratic and the class's rows."""
        p, k = self.features.dimension, int(self.inside.sum())
        return 12 * p * p + 24 * k * (p + 1)

    @property
    def statement(self) -> Statement:
        """Return the problem as printed."""
        k = int(self.inside.sum())
        return Statement(
            title=f"Hyperplane at a quantile of class {self.class_label(self.target)}",
            problem_class="convex QP",
            sense="minimise",
            variables=Line("u", "u"),
            objective=Line(
                "1/2 ||u||^2 + nu/m sum_others f_j + c/k sum_target max(-f_i, tau f_i)",
                r"\tfrac12 \|u\|^2 + \frac{\nu}{m} \sum_{\mathrm{others}} f_j"
                r" + \frac{c}{k} \sum_{\mathrm{target}} \max(-f_i,\, \tau f_i),",
            ),
            constraints=(Line("f_i = u'psi_i", r"f_i = u^\top \psi_i", "margin"),),
            sizes=f"k = {count_text(k, 'point')} of the class, m = {self.X.shape[0] - k} others, "
            f"{count_text(self.features.dimension, 'feature')}, "
            f"c = {self.c:g}, nu = {self.nu:g}, tau = {self.tau:g}",
            notes=(f"{self.kernel}", "prediction: the nearest hyperplane, |f(x)|/||u||"),
            source="Xu, Yang, Pan: A novel twin support-vector machine with pinball loss, 2017",
        )


@dataclass(frozen=True, eq=False, repr=False)
class JointHyperplanesSVM(TargetModel):
    """A hyperplane near one class and one near the others, by one problem (NHSVM of Shao, Chen, Deng 2014):

        min ½ Σ_{target} f(x_i)² + ½ Σ_{others} g(x_i)² + r/2 (||u||² + ||v||²) + c Σ_i [s - y_i (f(x_i) - g(x_i))]_+,

    f(x) = u'ψ(x), g(x) = v'ψ(x), y_i = -1 on the target class and +1 on the others: f is near 0 on the target class and at
    least s above g on the others. ψ is the feature map of `FeatureMap`; a constant column (or ``offset``) is the intercept, and
    is penalised like the rest. The source's c1 = 1/r and c2 = c/r, after a division by r. Prediction: the nearest hyperplane,
    |f(x)|/||u||, one problem for each of several classes.

    Parameters
    ----------
    X : array_like (n, p)
        Rows are samples; the n × n kernel matrix with ``kernel=Precomputed()``.
    y : array_like (n,)
        Class labels of any type.
    target : label
        The class whose hyperplane f is.
    c, r : float
        c, r > 0, weights of the hinge losses and of the norms.
    margin : float
        s > 0, by which g is to exceed f on the target class, and f to exceed g on the others.
    kernel : Kernel or callable
        The kernel of the features.
    ridge, offset : float
        ≥ 0, of the features: ψ_i'ψ_j = k(x_i, x_j) + offset + ridge·δ_ij; an offset > 0 is an intercept; no ridge if linear.

    Notes
    -----
    Form: `HingeQuadratic` over (u, v), with the quadratic block-diagonal and rows y_i(ψ_i, -ψ_i): blocks ``u`` (both
    hyperplanes, f's first) and ``xi``; constraint ``margin``, whose multipliers are in [0, c].

    Raises
    ------
    InputError
        Wrong shapes, one class, a class of one point, parameters out of range, an unknown target.
    """

    X: Points
    y: npt.NDArray[Any]
    target: Any
    c: float = 1.0
    r: float = 1.0
    margin: float = 1.0
    kernel: Kernel = field(default_factory=Linear)
    ridge: float = 1e-3
    offset: float = 0.0

    name = "JointHyperplanesSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "0 where the two hyperplanes' values differ by more than s in the right order, c where by less",
        "bounds": "the reduced cost of xi_i is c minus the multiplier of margin",
    }

    def __post_init__(self) -> None:
        self._check_points({"c": False, "r": False, "margin": False, "ridge": True, "offset": True})

    @property
    def signs(self) -> FloatArray:
        """Return y: -1 on the target class, +1 on the others."""
        return np.where(self.inside, -1.0, 1.0)

    @cached_property
    def program(self) -> HingeQuadratic:
        """Return the problem over (u, v) as a quadratic with hinge losses."""
        psi, y, p = self.features.rows, self.signs, self.features.dimension
        A, B = psi[self.inside], psi[~self.inside]
        H = scipy.linalg.block_diag(*(self.r * np.eye(p) + part.T @ part for part in (A, B)))
        root = scipy.linalg.block_diag(A, B)
        factor = HingeFactor(H, y[:, None] * np.hstack([psi, -psi]), root, Ridge(self.r))
        n = y.size
        return HingeQuadratic(factor, np.zeros(2 * p), np.full(n, self.margin), np.full(n, self.c), np.zeros(n))

    def hyperplanes(self, values: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return u and v, the two halves of the block ``u``."""
        u, v = np.split(np.asarray(values["u"], dtype=np.float64), 2)
        return u, v

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        """Return the labels that occur, in order."""
        return np.unique(self.y)

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of the features of u, f's hyperplane first."""
        f, g = self.class_label(self.target), "others"
        return {"u": (tuple(f"{plane},{name}" for plane in (f, g) for name in self.feature_names),)}

    @property
    def side(self) -> float:
        """Return the sign of the score at the target class: +1 for the second of two classes, else -1."""
        return 1.0 if self.classes.size == 2 and self.target == self.classes[1] else -1.0

    def class_values(self, scores: int) -> npt.NDArray[Any]:
        """Return the names of the classes, else their labels; ``scores`` is the number of columns of scores."""
        return super().class_values(scores) if self.class_names else self.classes

    def _predictions(self, values: Mapping[str, FloatArray], X: object) -> npt.NDArray[Any]:
        """Return the class of the nearer hyperplane, of two classes.

        Raises
        ------
        UnsupportedModelError
            There are more classes, which one hyperplane stands for.
        """
        if self.classes.size > 2:
            raise UnsupportedModelError(
                f"{self.name} tells class {self.class_label(self.target)} from {self.classes.size - 1} others together: "
                "decision_function(values, X) is negative where that class is the nearer"
            )
        return Model._predictions(self, values, X)

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the difference of the distances |f(x)|/||u|| and |g(x)|/||v|| of new rows.

        It is positive where the second of two classes is the nearer one; of more classes, negative where the target is. Raises
        `InputError` for a hyperplane u = 0 or v = 0.
        """
        planes = np.column_stack(self.hyperplanes(values))
        norms = np.linalg.norm(planes, axis=0)
        if (norms == 0.0).any():
            raise InputError("a hyperplane has no normal vector, so no distance: give a larger c or a smaller r", name="c")
        distances = np.abs(self.features.project(planes, X)) / norms
        return np.asarray(self.side * (distances[:, 1] - distances[:, 0]))

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its y(f - g) and multiplier; the second of two classes has the positive scores."""
        u, v = self.hyperplanes(values)
        turn = -self.side

        def difference(rows: Any) -> FloatArray:
            return np.asarray(turn * self.features.project((u - v)[:, None], rows)[:, 0])

        weights = primal_weights(multipliers, "margin", self.signs.size)
        return two_classes(self.X, turn * self.signs, difference, weights, self.margin)

    @property
    def form_bytes(self) -> int:
        """Return the bytes of H and the losses' rows."""
        p = self.features.dimension
        return 48 * p * p + 48 * self.X.shape[0] * p

    @property
    def statement(self) -> Statement:
        """Return the problem as printed."""
        inside = int(self.inside.sum())
        return Statement(
            title=f"Two hyperplanes by one problem, of class {self.class_label(self.target)} and of the others",
            problem_class="convex QP",
            sense="minimise",
            variables=Line("u, v", "u, v"),
            objective=Line(
                "1/2 sum_target f_i^2 + 1/2 sum_others g_i^2 + r/2 (||u||^2 + ||v||^2) + c sum_i (s - y_i (f_i - g_i))_+",
                r"\tfrac12 \sum_{y_i=-1} f_i^2 + \tfrac12 \sum_{y_i=1} g_i^2 + \tfrac r2 (\|u\|^2 + \|v\|^2)"
                r" + c \sum_i [s - y_i (f_i - g_i)]_+",
            ),
            constraints=(Line("f_i = u'psi_i, g_i = v'psi_i", r"f_i = u^\top \psi_i,\ g_i = v^\top \psi_i", "margin"),),
            sizes=f"{count_text(inside, 'point')} of the class, {self.X.shape[0] - inside} others, "
            f"{count_text(self.features.dimension, 'feature')}, "
            f"c = {self.c:g}, r = {self.r:g}, s = {self.margin:g}",
            notes=(f"{self.kernel}", "prediction: the nearest hyperplane, |f(x)|/||u|| against |g(x)|/||v||"),
            source="Shao, Chen, Deng: Nonparallel hyperplane support vector machine for binary classification problems, 2014",
        )


def _pinball_objective(model: PinballTwinSVM, values: Mapping[str, FloatArray]) -> float:
    u = values["u"]
    f = model.features.rows @ u
    losses = np.maximum(-f, model.tau * f)[model.inside]
    return float(0.5 * u @ u + model.nu * f[~model.inside].mean() + model.c * losses.mean())


def _joint_objective(model: JointHyperplanesSVM, values: Mapping[str, FloatArray]) -> float:
    u, v = model.hyperplanes(values)
    f, g = model.features.rows @ u, model.features.rows @ v
    short = np.maximum(model.margin - model.signs * (f - g), 0.0).sum()
    near_distances = np.sum(f[model.inside] ** 2) + np.sum(g[~model.inside] ** 2)
    return float(0.5 * near_distances + 0.5 * model.r * (u @ u + v @ v) + model.c * short)


FORMULATIONS = (
    FormulationInfo(
        PinballTwinSVM,
        name="nonparallel-pinball",
        summary="a hyperplane at a quantile of one class, the others on its negative side",
        reference="Xu, Yang, Pan: A novel twin support-vector machine with pinball loss, IEEE TNNLS 28 (2017) (Pin-TSVM)",
        data=DataKind.CLASSES,
        build=with_target(PinballTwinSVM),
        objective=_pinball_objective,
        parameters=(
            Parameter("target", "code of the class whose hyperplane it is; the first where it is not given", int),
            Parameter("c", "weight of the class's pinball losses", float, 1.0),
            Parameter("nu", "weight of the others' mean", float, 0.5),
            Parameter("tau", "slope of the loss where f > 0", float, 0.5),
            *kernel_parameters("linear"),
        ),
        intercept=kernel_is_linear,
    ),
    FormulationInfo(
        JointHyperplanesSVM,
        name="nonparallel-joint",
        summary="a hyperplane near one class and one near the others, by one problem",
        reference="Shao, Chen, Deng: Nonparallel hyperplane support vector machine for binary classification "
        "problems, 2014 (NHSVM)",
        data=DataKind.CLASSES,
        build=with_target(JointHyperplanesSVM),
        objective=_joint_objective,
        parameters=(
            Parameter("target", "code of the class whose hyperplane it is; the first where it is not given", int),
            Parameter("c", "weight of the hinge losses", float, 1.0),
            Parameter("r", "weight of the norms", float, 1.0),
            Parameter("margin", "s, by which the hyperplanes' values are to differ", float, 1.0),
            *kernel_parameters("linear"),
        ),
        intercept=kernel_is_linear,
    ),
)
