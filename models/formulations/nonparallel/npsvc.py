"""The nonparallel classifiers of NPSVC++ (2), Table 1: a hyperplane near each class and away from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from ....errors import InputError, UnsupportedModelError
from ...arrays import BoolArray, FloatArray, Points, as_points, as_positive
from ...inspection.point_explanation import PointExplanation
from ...kernels.feature_map import FeatureMap
from ...kernels.kernels import Kernel, Linear, Precomputed, as_kernel
from ...model import Bound, Model
from ...program.form import StandardForm
from ...statement import Statement
from ...views import BoxQP
from .class_labels import as_classes
from .class_problem.programs import convex_program, majorant_program, rows_of_all, stated_objective
from .class_problem.statement import class_statement, explained_points
from .evaluation import Base, Ridge
from .hinge_factor import HingeFactor, KernelRows, SharedRows, SignedFactor
from .hinge_quadratic import HingeQuadratic
from .neighbour_graph import neighbour_laplacian
from .pair_losses import NONCONVEX, SIMILARITY, PairLoss

__all__ = ["NonparallelSVM", "nearest_hyperplane"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class NonparallelSVM(Model):
    """One class's problem of NPSVC++ (2): min Σ_{target} ℓ_s(f(x_i)) + c Σ_{others} ℓ_d(f(x_i)) + r/2||u||² (+ μ/2 f'Lf).

    ``loss`` names the pair (ℓ_s, ℓ_d) of Table 1: ``"twsvm"`` (a²/2, hinge), ``"lstsvm"`` (a²/2, (s-a)²/2), ``"npsvm"``
    ((|a|-ε)_+, hinge), ``"pinball"`` (a²/2, pinball), ``"correntropy"`` (1-exp(-γ|a|), hinge), ``"capped"`` (min(|a|,ε),
    hinge). f(x) = u'ψ(x) with the feature map of `FeatureMap`; a constant column (or ``offset``) is the intercept, and is
    penalised like the rest. One such problem for each class: `one_per_class`; prediction: `nearest_hyperplane`.

    Parameters
    ----------
    X : array_like (n, p)
        Rows are samples; the n × n kernel matrix with ``kernel=Precomputed()``.
    labels : array_like (n,)
        Class labels of any type.
    target : label
        The class whose hyperplane this is.
    loss : str
        See above.
    c, r : float
        > 0.
    margin : float
        s > 0.
    epsilon : float
        ε ≥ 0 of "npsvm", > 0 of "capped".
    tau : float
        τ ≥ 0 of "pinball".
    gamma : float
        γ > 0 of "correntropy".
    manifold : float
        μ ≥ 0: weight of the graph regulariser of (A.12), as in RMTBSVM.
    kernel : Kernel or callable
    ridge, offset : float
        Of `FeatureMap`.

    Notes
    -----
    The four convex pairs compile to the form of `HingeQuadratic` (blocks ``u``, ``xi``) and have the `BoxQP` dual. The two
    others are concave in |a| and have no convex form: ``majorant(u)`` replaces ℓ_s(a) by its tangent in |a| at u, a convex
    problem that touches the objective at u and lies above it elsewhere; the solver "npsvc-mm" repeats that. A result carries the
    certificate of the majorant at its own point: optimal for it means stationary for the model.

    Raises
    ------
    InputError
        Wrong shapes, one class, a class of one point, parameters out of range, an unknown loss or target.
    """

    X: Points
    labels: npt.NDArray[Any]
    target: Any
    loss: PairLoss = "twsvm"
    c: float = 1.0
    r: float = 1.0
    margin: float = 1.0
    epsilon: float = 0.1
    tau: float = 0.5
    gamma: float = 1.0
    manifold: float = 0.0
    kernel: Kernel = field(default_factory=Linear)
    ridge: float = 1e-3
    offset: float = 0.0

    name = "NonparallelSVM"
    meanings: ClassVar[Mapping[str, str]] = {
        "margin": "0 where f clears its target, the loss's weight where it falls short, and between them only on it",
        "bounds": "the reduced cost of xi_j is what is left of the loss's weight",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        labels = as_classes(self.labels, X.shape[0])
        object.__setattr__(self, "labels", labels)
        if not isinstance(self.loss, str) or self.loss not in SIMILARITY:
            raise InputError(f"loss must be one of {', '.join(SIMILARITY)}; it is {self.loss!r}")
        if np.ndim(self.target) != 0 or not (labels == self.target).any():
            raise InputError(
                f"target must be one of the labels {', '.join(map(str, np.unique(labels)[:8]))}; it is {self.target!r}"
            )
        positive = {"c", "r", "margin", "gamma"} | ({"epsilon"} if self.loss == "capped" else set())
        for name in ("c", "r", "margin", "gamma", "epsilon", "tau", "manifold", "ridge", "offset"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name, zero=name not in positive))
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        if self.manifold > 0 and isinstance(self.kernel, Precomputed):
            raise InputError(
                "manifold > 0 needs points for its graph, and a precomputed kernel matrix has none: give manifold = 0"
            )

    @classmethod
    def one_per_class(cls, X: object, labels: object, **parameters: Any) -> tuple[NonparallelSVM, ...]:
        """The problems of every class, in the order of ``numpy.unique(labels)``; they share the feature map and the graph."""
        points = as_points(X)
        given = as_classes(labels, points.shape[0])
        classes = np.unique(given)
        first = cls(points, given, classes[0], **parameters)
        others = tuple(replace(first, target=k) for k in classes[1:])
        for model in others:  # cached properties: computed once, on first use, for all
            object.__setattr__(model, "_shared", first)
        return (first, *others)

    # -- the pieces ---------------------------------------------------------------------------------------------

    @property
    def _first(self) -> NonparallelSVM | None:
        """The problem of another class on the same data, whose features and graph are this one's."""
        return self.__dict__.get("_shared")

    @cached_property
    def features(self) -> FeatureMap:
        """Ψ."""
        return self._first.features if self._first else FeatureMap(self.X, self.kernel, self.ridge, self.offset)

    @cached_property
    def smoothness(self) -> FloatArray | None:
        """μΨ'LΨ; None without manifold regularisation."""
        if self._first:
            return self._first.smoothness
        if self.manifold == 0.0:
            return None
        psi = self.features.rows
        return np.asarray(self.manifold * (psi.T @ (neighbour_laplacian(self.X) @ psi)))

    @cached_property
    def kernel_rows(self) -> KernelRows | None:
        """The rows that the classes' quadratics share with a kernel and no graph; else None."""
        if self._first:
            return self._first.kernel_rows
        if self.features.linear or self.manifold > 0.0:
            return None
        return KernelRows(self.features.rows, self.features.gram, self.r)

    @cached_property
    def shared_rows(self) -> SharedRows | None:
        """The rows of all points that the quadratics share with a kernel; None for the linear one."""
        if self._first:
            return self._first.shared_rows
        return None if self.features.linear else SharedRows(self.features.rows, self.features.gram, self.base)

    @property
    def convex(self) -> bool:
        """Return whether both losses are convex."""
        return self.loss not in NONCONVEX

    @property
    def inside(self) -> BoolArray:
        """Points of the target class."""
        return np.asarray(self.labels == self.target)

    @cached_property
    def regulariser(self) -> FloatArray:
        """rI + μΨ'LΨ."""
        if self._first:
            return self._first.regulariser
        H = self.r * np.eye(self.features.features)
        return H if self.smoothness is None else H + 0.5 * (self.smoothness + self.smoothness.T)

    @property
    def base(self) -> Ridge | Base:
        """The same, as the quadratics' factors read it."""
        return Ridge(self.r) if self.smoothness is None else Base(self.regulariser)

    @cached_property
    def program(self) -> HingeQuadratic:
        """The convex problem as a quadratic with piecewise-linear losses.

        Raises
        ------
        UnsupportedModelError
            The similarity loss is not convex.
        """
        if not self.convex:
            raise UnsupportedModelError(
                f"the loss pair {self.loss!r} is not convex, so the problem has no convex form; solve(model, 'npsvc-mm') finds a "
                "stationary point, and model.majorant(u) is the convex problem that it solves last"
            )
        return convex_program(self)

    @cached_property
    def all_rows(self) -> HingeFactor | SignedFactor:
        """The quadratic of the insensitive loss, the class's rows in both signs; or the one that every majorant has."""
        return rows_of_all(self)

    def majorant(self, u: FloatArray) -> HingeQuadratic:
        """The convex problem with ℓ_s(a_i) ≤ ℓ_s(ā_i) + ω_i(|a_i| - |ā_i|), ω_i = ℓ_s'(|ā_i|), ā = f at u (non-convex losses).

        At the kink of the capped loss, |ā| = ε, the slope 0 of the flat side is taken.
        """
        if self.convex:
            raise InputError(f"the loss pair {self.loss!r} is convex: its problem is model.program")
        return majorant_program(self, u)

    # -- values -------------------------------------------------------------------------------------------------

    def objective(self, u: FloatArray) -> float:
        """The stated objective at u, for every loss."""
        return self.program.value(u) if self.convex else stated_objective(self, u)

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Signed distances f(x)/||u|| of new rows from the class's hyperplane (||w||: the whole u, intercept included)."""
        u = values["u"]
        norm = float(np.linalg.norm(u))
        if norm == 0.0:
            raise InputError("the hyperplane is u = 0, which has no distance: give a larger c or a smaller r")
        return self.features.project(u[:, None], X)[:, 0] / norm

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """f of every point; the class's own are to be near 0, the others beyond s."""
        return explained_points(self, values, multipliers)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Mean |f| on the target class and share of the other points beyond the margin."""
        f = self.features.rows @ values["u"]
        return {
            "norm": float(np.linalg.norm(values["u"])),
            "mean_abs_inside": float(np.abs(f[self.inside]).mean()),
            "beyond_margin": float((f[~self.inside] >= self.margin * (1 - 1e-9)).mean()),
        }

    # -- the model ----------------------------------------------------------------------------------------------

    def view(self, kind: type[V]) -> V | None:
        """`BoxQP`, the dual of the convex pairs; the model itself for the majorisation of the others."""
        if kind is BoxQP and self.convex:
            return self.program.box  # type: ignore[return-value]
        return self if kind is NonparallelSVM and not self.convex else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """H and the losses' rows."""
        p = self.features.features
        return 12 * p * p + 24 * self.X.shape[0] * p

    def compile(self) -> StandardForm:
        """The form of `HingeQuadratic`, under this model's name."""
        return self.program.form.replace(name=self.name)

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """The dual value of `HingeQuadratic`."""
        return self.program.bound(x, multipliers)

    @property
    def statement(self) -> Statement:
        """NPSVC++ (2)."""
        return class_statement(self)


def nearest_hyperplane(
    models: Sequence[NonparallelSVM], values: Sequence[Mapping[str, FloatArray]], X: object
) -> npt.NDArray[Any]:
    """Class of the nearest hyperplane, argmin_l |f_l(x)|/||u_l||, for new rows; one model and one solution for each class."""
    if len(models) != len(values) or not models:
        raise InputError(f"one solution is needed for each class: {len(models)} models, {len(values)} solutions")
    distances = [np.abs(model.decision_function(value, X)) for model, value in zip(models, values, strict=True)]
    return np.asarray([model.target for model in models])[np.argmin(distances, axis=0)]
