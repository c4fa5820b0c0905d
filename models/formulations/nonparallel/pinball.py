"""A hyperplane through one class's quantile, away from the others: Xu, Yang, Pan 2017."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...arrays import FloatArray, Points
from ...explanation import ON_MARGIN, PointExplanation, PointRow
from ...kernels.kernels import Kernel, Linear
from ...record import DataKind, FormulationInfo, Parameter, kernel_is_linear, kernel_parameters
from ...statement import Line, Statement
from .hinge_quadratic import HingeQuadratic
from .npsvc import TargetModel, with_target
from .quadratic_factors import HingeFactor, SignedFactor


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
        > 0, weights of the class's pinball losses and of the others' mean f. Both times a number is u times that number.
    tau : float
        τ ≥ 0, the loss's slope where f > 0.
    kernel : Kernel or callable
    ridge, offset : float
        Of `FeatureMap`.

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
        """H = I and the rows of the class."""
        points = np.flatnonzero(self.inside)
        if self.kernel_rows is not None:
            return SignedFactor(self.kernel_rows, points, np.ones(points.size))
        p = self.features.features
        return HingeFactor(np.eye(p), self.features.rows[points], np.zeros((0, p)), self.base)

    @cached_property
    def program(self) -> HingeQuadratic:
        """The problem as a quadratic with pinball losses of target 0."""
        k = int(self.inside.sum())
        b = self.nu * self.features.rows[~self.inside].mean(axis=0)
        return HingeQuadratic(self._factor, b, np.zeros(k), np.full(k, self.c / k), np.full(k, self.tau), centre=b)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """f of every point, and the weight in u of the class's own."""
        f = self.features.rows @ values["u"]
        weights = np.full(f.size, np.nan)
        if multipliers is not None and "margin" in multipliers:
            weights[self.inside] = self.program.multiplier(multipliers)
        rows = []
        for i, (score, weight) in enumerate(zip(f.tolist(), weights.tolist(), strict=True)):
            kind = ("of the class" if self.inside[i] else "another") + (", on the hyperplane" if abs(score) <= ON_MARGIN else "")
            rows.append(PointRow(i, self.class_label(self.y[i]), score, -abs(score), None if np.isnan(weight) else weight, kind))
        plotted = None if self.kernel.of_rows else partial(self._scores, values)
        note = "weights are those of the class's points in u"
        return PointExplanation(tuple(rows), note, score="f", margin="-|f|", X=self.X, surface=plotted)

    @property
    def form_bytes(self) -> int:
        """The unit quadratic and the class's rows."""
        p, k = self.features.features, int(self.inside.sum())
        return 12 * p * p + 24 * k * (p + 1)

    @property
    def statement(self) -> Statement:
        """The problem as printed."""
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
            sizes=f"k = {k} points of the class, m = {self.X.shape[0] - k} others, {self.features.features} features, "
            f"c = {self.c:g}, nu = {self.nu:g}, tau = {self.tau:g}",
            notes=(f"{self.kernel}", "prediction: the nearest hyperplane, |f(x)|/||u||"),
            source="Xu, Yang, Pan: A novel twin support-vector machine with pinball loss, 2017",
        )


def _objective(model: PinballTwinSVM, values: Mapping[str, FloatArray]) -> float:
    u = values["u"]
    f = model.features.rows @ u
    losses = np.maximum(-f, model.tau * f)[model.inside]
    return float(0.5 * u @ u + model.nu * f[~model.inside].mean() + model.c * losses.mean())


FORMULATIONS = (
    FormulationInfo(
        PinballTwinSVM,
        name="nonparallel-pinball",
        summary="a hyperplane at a quantile of one class, the others on its negative side",
        reference="Xu, Yang, Pan: A novel twin support-vector machine with pinball loss, IEEE TNNLS 28 (2017) (Pin-TSVM)",
        data=DataKind.CLASSES,
        build=with_target(PinballTwinSVM),
        objective=_objective,
        parameters=(
            Parameter("target", "code of the class whose hyperplane it is; the first where it is not given", int),
            Parameter("c", "weight of the class's pinball losses", float, 1.0),
            Parameter("nu", "weight of the others' mean", float, 0.5),
            Parameter("tau", "slope of the loss where f > 0", float, 0.5),
            *kernel_parameters("linear"),
        ),
        intercept=kernel_is_linear,
    ),
)
