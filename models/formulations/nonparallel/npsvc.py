"""Nonparallel SVMs, one problem for each class: a hyperplane near the points of the class and far from the others.

`TargetModel` is the base class of these models, and `NonparallelSVM` the problem (2) of Zhang et al., 2024 ("NPSVC++"),

    min over u of  Σ_{target} ℓ_s(f(x_i)) + c Σ_{others} ℓ_d(f(x_i)) + r/2 ||u||²,     f(x) = u'ψ(x),

with a similarity loss ℓ_s, a dissimilarity loss ℓ_d, features ψ of a kernel, and c, r > 0. A point goes to the class whose
hyperplane is nearest (`nearest_hyperplane`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ....errors import InputError, UnsupportedModelError, count_text, short_text
from ...arrays import ZERO, BoolArray, FloatArray, Points, as_classes, as_points, as_positive
from ...explanation import ON_MARGIN, PointExplanation, PointRow
from ...kernels.feature_map import FeatureMap
from ...kernels.kernels import Kernel, Linear, Precomputed, as_kernel
from ...model import Model
from ...program.form import StandardForm
from ...program.lagrangian import Bound
from ...record import (
    Arrays,
    DataKind,
    FormulationInfo,
    Parameter,
    ParameterValues,
    kernel_is_linear,
    kernel_parameters,
    with_kernel,
)
from ...rounding import gamma
from ...statement import Line, Statement
from ...views import BoxQP
from .concave_losses import CappedProgram, ConcaveProgram, CorrentropyProgram
from .hinge_quadratic import HingeQuadratic
from .neighbour_graph import neighbour_laplacian
from .quadratic_factors import DenseRegulariser, HingeFactor, KernelRows, PointsFactor, Ridge, SignedFactor

#: The pairs of losses of NPSVC++, Table 1, by the methods' names.
PairLoss: TypeAlias = Literal["twsvm", "lstsvm", "npsvm", "pinball", "correntropy", "capped"]
#: The similarity loss of each pair, which the class's own points cost, as text and LaTeX.
_SIMILARITY = {
    "twsvm": ("a^2/2", r"\tfrac12 a^2"),
    "lstsvm": ("a^2/2", r"\tfrac12 a^2"),
    "npsvm": ("(|a| - epsilon)_+", r"[|a| - \epsilon]_+"),
    "pinball": ("a^2/2", r"\tfrac12 a^2"),
    "correntropy": ("1 - exp(-gamma |a|)", r"1 - e^{-\gamma |a|}"),
    "capped": ("min(|a|, epsilon)", r"\min(|a|, \epsilon)"),
}
#: The dissimilarity loss of each pair, which the other points cost; `_HINGE` where it is not here.
_DISSIMILARITY = {
    "lstsvm": ("(s - a)^2/2", r"\tfrac12 (s - a)^2"),
    "pinball": ("max(s - a, -tau (s - a))", r"\max(s - a, -\tau(s - a))"),
}
#: The dissimilarity loss of most pairs.
_HINGE = ("(s - a)_+", "[s - a]_+")
#: The pairs whose similarity loss is not convex.
_NONCONVEX = ("correntropy", "capped")
#: The printed note on how the form states a similarity loss that is not convex.
_FORMS = {
    "capped": "form: ls(f_i) = min xi_i + epsilon z_i, |f_i| <= xi_i + M_i z_i, z_i in {0, 1}, M_i = ||psi_i|| sqrt(2 c s m/r)",
    "correntropy": "form: ls(f_i) = min 1 - d_i, |f_i| <= xi_i, g_i >= exp(gamma xi_i), d_i g_i <= 1",
}


def _hinged(model: NonparallelSVM, factor: HingeFactor | PointsFactor) -> HingeQuadratic:
    """Squares on the class, hinges (with a slope τ beyond the margin) on the others."""
    m, p = factor.shape
    tau = np.full(m, model.tau if model.loss == "pinball" else 0.0)
    return HingeQuadratic(factor, np.zeros(p), np.full(m, model.margin), np.full(m, model.c), tau)


def _squares(model: NonparallelSVM, A: FloatArray, B: FloatArray) -> HingeQuadratic:
    """Squares on both sides: no hinge is left, and one linear system solves it."""
    m, p = B.shape
    H = model.regulariser + A.T @ A + model.c * (B.T @ B)
    empty, factor = np.zeros(0), HingeFactor(H, np.zeros((0, p)), np.vstack([A, np.sqrt(model.c) * B]), model.base)
    pull = model.c * model.margin
    rounding = gamma(m + 4) * pull * float(np.linalg.norm(B, axis=1).sum())
    constant = 0.5 * model.c * m * model.margin**2
    return HingeQuadratic(factor, -pull * B.sum(axis=0), empty, empty, empty, constant, b_error=rounding)


def _insensitive(model: NonparallelSVM) -> HingeQuadratic:
    """Similarity loss Σ (|a_i| - ε)_+: two hinges for each point, -a ≥ -ε and a ≥ -ε."""
    (rows, p), m = model.all_rows.shape, int((~model.inside).sum())
    h = np.where(np.arange(rows) < m, model.margin, -model.epsilon)
    w = np.where(np.arange(rows) < m, model.c, 1.0)
    return HingeQuadratic(model.all_rows, np.zeros(p), h, w, np.zeros(rows))


def _concave(model: NonparallelSVM, size: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ℓ_s and its slope as functions of |a|; 0 of the flat side at the capped loss's kink."""
    if model.loss == "correntropy":
        decay = np.exp(-model.gamma * size)
        return 1.0 - decay, model.gamma * decay
    return np.minimum(size, model.epsilon), np.where(size < model.epsilon, 1.0, 0.0)


def _placed(model: NonparallelSVM, i: int, f: float, weight: float | None, top: float) -> PointRow:
    """Return the row of point i, with f and its weight (the largest is ``top``)."""
    label = model.class_label(model.y[i])
    if model.inside[i]:
        return PointRow(i, label, f, -abs(f), weight, "of the class" + (", on its hyperplane" if abs(f) <= ON_MARGIN else ""))
    slack = f - model.margin
    kind = (
        "on its margin" if abs(slack) <= ON_MARGIN * model.margin else "beyond its margin" if slack > 0 else "short of its margin"
    )
    supports = weight is not None and abs(weight) > ZERO * top
    return PointRow(i, label, f, slack, weight, f"another, {kind}" + (", support vector" if supports else ""))


V = TypeVar("V")


class TargetModel(Model):
    """Base class of models with the hyperplane f(x) = u'ψ(x) = 0 of one class: a problem for each class, on the same features.

    Parameters
    ----------
    X, y
        The points and their class labels.
    target : label
        The class whose hyperplane it is.
    kernel, ridge, offset
        Those of the features: ψ_i'ψ_j = k(x_i, x_j) + offset + ridge·δ_ij; an offset > 0 is an intercept; no ridge if linear.
    """

    X: Points
    y: npt.NDArray[Any]
    target: Any
    kernel: Kernel
    ridge: float
    offset: float

    #: What to do about a hyperplane u = 0, and the parameter to change.
    _remedy: ClassVar[tuple[str, str]] = ("give a larger c or a smaller r", "c")

    def _check_points(self, numbers: Mapping[str, bool]) -> None:
        """Set points, labels, kernel and numbers (by name, whether 0 is allowed), and the target, a class by label or name."""
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        labels = as_classes(self.y, X.shape[0])
        object.__setattr__(self, "y", labels)
        if isinstance(self.target, str) and self.data_names is not None and self.data_names.classes:
            object.__setattr__(self, "target", self.data_names.code(self.target))
        if np.ndim(self.target) != 0 or not (labels == self.target).any():
            label_list = ", ".join(map(str, np.unique(labels)[:8]))
            raise InputError(f"target must be one of the labels {label_list}; it is {short_text(self.target)}", name="target")
        for name, zero in numbers.items():
            object.__setattr__(self, name, as_positive(getattr(self, name), name, zero=zero))
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))

    @classmethod
    def one_per_class(cls, X: object, y: object, **parameters: Any) -> tuple[Self, ...]:
        """Return the problems of all classes, in the order of ``numpy.unique(y)``; they share the feature map and the graph."""
        points = as_points(X)
        labels = as_classes(y, points.shape[0])
        classes = np.unique(labels)
        state: Callable[..., Self] = cls
        first = state(points, labels, classes[0], **parameters)
        other_models = tuple(first.replace("target", k) for k in classes[1:])
        for model in other_models:  # cached properties: computed once, on first use, for all
            object.__setattr__(model, "_shared", first)
        return (first, *other_models)

    @property
    def _first(self) -> Self | None:
        """The problem of another class on the same data, whose features and graph are this one's."""
        return self.__dict__.get("_shared")

    @property
    def inside(self) -> BoolArray:
        """Return the mask of the points of the target class."""
        return np.asarray(self.y == self.target)

    @cached_property
    def features(self) -> FeatureMap:
        """Return the feature map, whose rows are Ψ."""
        return self._first.features if self._first else FeatureMap(self.X, self.kernel, self.ridge, self.offset)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns of X, which u has coefficients for; none with a kernel, or an offset."""
        return super().feature_names if self.features.linear and self.offset == 0.0 else ()

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of the features of u."""
        return {"u": (self.feature_names,)}

    def _predictions(self, values: Mapping[str, FloatArray], X: object) -> npt.NDArray[Any]:
        """Raise UnsupportedModelError: the hyperplane of one class decides no class."""
        raise UnsupportedModelError(
            f"{self.name} has the hyperplane of class {self.class_label(self.target)} alone, which decides no class: the nearest "
            "one of all classes does, in estimators.NonparallelSVC, or by decision_function(values, X) of each class's model"
        )

    @property
    def base(self) -> Ridge | DenseRegulariser:
        """Return the matrix R of the regulariser ½u'Ru: I by default."""
        return Ridge(1.0)

    @cached_property
    def kernel_rows(self) -> KernelRows | None:
        """Return the kernel features of all points, which the problems of the classes share; None for the linear kernel."""
        if self._first:
            return self._first.kernel_rows
        return None if self.features.linear else KernelRows(self.features.rows, self.features.gram, self.base)

    @property
    @abstractmethod
    def program(self) -> HingeQuadratic:
        """Return the problem as a quadratic with piecewise-linear losses."""

    def compile(self) -> StandardForm:
        """Return the form of `HingeQuadratic`, under this model's name."""
        return self.program.form.replace(name=self.name)

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the dual value of `program` at the multipliers, a lower bound of the optimum."""
        return self.program.bound(x, multipliers)

    def view(self, kind: type[V]) -> V | None:
        """Return the `BoxQP` view of the dual, None for another kind."""
        return self.program.box if kind is BoxQP else None  # type: ignore[return-value]

    def objective(self, u: FloatArray) -> float:
        """Return the stated objective at u."""
        return self.program.value(u)

    def _scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return f(x) = u'ψ(x) of new rows."""
        return np.asarray(self.features.project(values["u"][:, None], X)[:, 0])

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the signed distances f(x)/||u|| of new rows from the class's hyperplane, the intercept included in ||u||.

        Raises
        ------
        InputError
            u = 0.
        """
        norm = float(np.linalg.norm(values["u"]))
        if norm == 0.0:
            remedy, name = self._remedy
            raise InputError(f"the hyperplane is u = 0, which has no distance: {remedy}", name=name)
        return self._scores(values, X) / norm


@dataclass(frozen=True, eq=False, repr=False)
class NonparallelSVM(TargetModel):
    """One class's problem of NPSVC++ (2): min Σ_{target} ℓ_s(f(x_i)) + c Σ_{others} ℓ_d(f(x_i)) + r/2||u||² (+ μ/2 f'Lf).

    ``loss`` names the pair (ℓ_s, ℓ_d) of Table 1: ``"twsvm"`` (a²/2, hinge), ``"lstsvm"`` (a²/2, (s-a)²/2), ``"npsvm"``
    ((|a|-ε)_+, hinge), ``"pinball"`` (a²/2, pinball), ``"correntropy"`` (1-exp(-γ|a|), hinge), ``"capped"`` (min(|a|,ε),
    hinge). f(x) = u'ψ(x) with the feature map of `FeatureMap`; a constant column (or ``offset``) is the intercept, and is
    penalised like the rest. One such problem for each class: `one_per_class`; prediction: `nearest_hyperplane`.

    Parameters
    ----------
    X : array_like (n, p)
        Rows are samples; the n × n kernel matrix with ``kernel=Precomputed()``.
    y : array_like (n,)
        Class labels of any type.
    target : label
        The class whose hyperplane this is.
    loss : str
        See above.
    c, r : float
        c, r > 0, weights of the other points' losses and of the norm.
    margin : float
        s > 0, the value of f that the other points are to reach.
    epsilon : float
        ε ≥ 0 of "npsvm", > 0 of "capped".
    tau : float
        τ ≥ 0 of "pinball".
    gamma : float
        γ > 0 of "correntropy".
    manifold : float
        μ ≥ 0: weight of f'Lf, L the Laplacian (A.12) of the graph of nearest neighbours.
    kernel : Kernel or callable
        The kernel of the features.
    ridge, offset : float
        ≥ 0, of the features: ψ_i'ψ_j = k(x_i, x_j) + offset + ridge·δ_ij; an offset > 0 is an intercept; no ridge if linear.

    Notes
    -----
    The four convex pairs compile to the form of `HingeQuadratic` (blocks ``u``, ``xi``) and have the `BoxQP` dual. The two
    others are concave in |a|: ``majorant(u)`` replaces ℓ_s(a) by its tangent in |a| at u, a convex
    problem that touches the objective at u and lies nowhere below it; the solver "npsvc-mm" repeats that. Its result carries the
    certificate of the majorant at the final point: an optimum of that majorant is a stationary point of the model. ``"capped"``
    also has a mixed-integer form with valid big-M constants (`CappedProgram`: blocks ``u``, ``xi``, ``z``), ``"correntropy"`` one
    with exponential cones and bilinear rows (`CorrentropyProgram`: ``u``, ``xi``, ``decay``, ``growth``); their optima are
    global.

    Raises
    ------
    InputError
        Wrong shapes, one class, a class of one point, parameters out of range, an unknown loss or target, μ > 0 with a
        precomputed kernel.
    """

    X: Points
    y: npt.NDArray[Any]
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
        "above": "integer variables: no multipliers; z_i = 1 marks the points of the class that cost epsilon",
        "below": "as above, with the other sign of f",
        "bounds": "the reduced cost of xi_j is what is left of the loss's weight",
    }

    def __post_init__(self) -> None:
        if not isinstance(self.loss, str) or self.loss not in _SIMILARITY:
            raise InputError(f"loss must be one of {', '.join(_SIMILARITY)}; it is {short_text(self.loss)}", name="loss")
        positive = {"c", "r", "margin", "gamma"} | ({"epsilon"} if self.loss == "capped" else set())
        names = ("c", "r", "margin", "gamma", "epsilon", "tau", "manifold", "ridge", "offset")
        self._check_points({name: name not in positive for name in names})
        if self.manifold > 0 and isinstance(self.kernel, Precomputed):
            raise InputError(
                "manifold > 0 needs points for its graph, and a precomputed kernel matrix has none: give manifold = 0",
                name="manifold",
            )

    # -- the pieces ---------------------------------------------------------------------------------------------

    @cached_property
    def smoothness(self) -> FloatArray | None:
        """Return μΨ'LΨ, L the neighbour graph's Laplacian; None for μ = 0."""
        if self._first:
            return self._first.smoothness
        if self.manifold == 0.0:
            return None
        psi = self.features.rows
        return np.asarray(self.manifold * (psi.T @ (neighbour_laplacian(self.X) @ psi)))

    @property
    def convex(self) -> bool:
        """Return whether both losses are convex."""
        return self.loss not in _NONCONVEX

    @cached_property
    def regulariser(self) -> FloatArray:
        """Return rI + μΨ'LΨ as a matrix."""
        if self._first:
            return self._first.regulariser
        H = self.r * np.eye(self.features.dimension)
        return H if self.smoothness is None else H + 0.5 * (self.smoothness + self.smoothness.T)

    @property
    def base(self) -> Ridge | DenseRegulariser:
        """Return the regulariser R = rI + μΨ'LΨ, as the quadratics' factors read it."""
        return Ridge(self.r) if self.smoothness is None else DenseRegulariser(self.regulariser)

    @cached_property
    def program(self) -> HingeQuadratic:
        """Return the convex problem as a quadratic with piecewise-linear losses.

        Raises
        ------
        UnsupportedModelError
            The similarity loss is not convex.
        """
        if not self.convex:
            raise UnsupportedModelError(
                f"the loss pair {short_text(self.loss)} is not convex, so the problem is no convex one; "
                "solve(model, 'npsvc-mm') finds a stationary point, and model.majorant(u) is the convex problem that "
                "it solves last",
                name="loss",
            )
        psi = self.features.rows
        if self.loss in ("twsvm", "pinball") and self.manifold == 0.0 and self.kernel_rows is not None:
            return _hinged(self, PointsFactor(self.kernel_rows, self.inside))
        A, B = psi[self.inside], psi[~self.inside]
        if self.loss == "npsvm":
            return _insensitive(self)
        if self.loss == "lstsvm":
            return _squares(self, A, B)
        return _hinged(self, HingeFactor(self.regulariser + A.T @ A, B, A, self.base))

    @cached_property
    def all_rows(self) -> HingeFactor | SignedFactor:
        """Return the factor of H = R with the rows of the losses: the other points' rows, and the class's in both signs
        (insensitive loss) or once (non-convex losses).
        """
        both_signs = self.convex
        if self.kernel_rows is not None:
            inside, others = np.flatnonzero(self.inside), np.flatnonzero(~self.inside)
            parts = [others, inside, inside] if both_signs else [others, inside]
            signs = [1.0, -1.0, 1.0] if both_signs else [1.0, 1.0]
            return SignedFactor(self.kernel_rows, np.concatenate(parts), np.repeat(signs, [part.size for part in parts]))
        psi = self.features.rows
        A, B = psi[self.inside], psi[~self.inside]
        rows = np.vstack([B, -A, A] if both_signs else [B, A])
        return HingeFactor(self.regulariser, rows, np.zeros((0, rows.shape[1])), self.base)

    def majorant(self, u: FloatArray) -> HingeQuadratic:
        """Return the convex problem with ℓ_s(a_i) ≤ ℓ_s(ā_i) + ω_i(|a_i| - |ā_i|), ω_i = ℓ_s'(|ā_i|), ā = f at u (non-convex
        losses).

        At the kink of the capped loss, |ā| = ε, the slope 0 of the flat side is taken.
        ω|a| is the pinball loss of target 0 and τ = 1: one row for each point, and a dual matrix that is regular.

        Parameters
        ----------
        u : ndarray (features,)
            The point at which both problems agree.

        Returns
        -------
        HingeQuadratic

        Raises
        ------
        InputError
            The loss is convex: the problem is its own majorant.
        """
        if self.convex:
            raise InputError(f"the loss pair {short_text(self.loss)} is convex: its problem is model.program", name="loss")
        size = np.abs(self.features.rows[self.inside] @ np.asarray(u, dtype=np.float64))
        value, slope = _concave(self, size)
        (rows, p), m = self.all_rows.shape, int((~self.inside).sum())
        outside = np.arange(rows) < m
        w = np.concatenate([np.full(m, self.c), slope])
        constant = float(np.sum(value - slope * size))
        return HingeQuadratic(
            self.all_rows, np.zeros(p), np.where(outside, self.margin, 0.0), w, np.where(outside, 0.0, 1.0), constant
        )

    # -- values -------------------------------------------------------------------------------------------------

    def objective(self, u: FloatArray) -> float:
        """Return the stated objective at u, for every loss."""
        if self.convex:
            return super().objective(u)
        f = self.features.rows @ u
        similarity = _concave(self, np.abs(f[self.inside]))[0].sum()
        short = np.maximum(self.margin - f[~self.inside], 0.0).sum()
        return float(similarity + self.c * short + 0.5 * self.base.quadratic_product(u).quadratic.value)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its score f: points of the class are to be near 0, the others beyond s."""
        f = self.features.rows @ values["u"]
        outside = np.flatnonzero(~self.inside)
        z = None if multipliers is None else multipliers.get("margin")
        weights = None
        if z is not None and z.size >= outside.size:  # the rows of the other points come first
            weights = np.full(f.size, np.nan)
            weights[outside] = z[: outside.size]
        top = 0.0 if weights is None else float(np.nanmax(np.abs(weights), initial=0.0))
        rows = []
        for i in range(f.size):
            weight = None if weights is None or self.inside[i] else float(weights[i])
            rows.append(_placed(self, i, float(f[i]), weight, top))
        note = "no multipliers, so no weights" if weights is None else "weights are the multipliers of margin"
        levels = ((0.0, "solid"), (self.margin, "dashed"))
        plotted = None if self.kernel.reads_matrix_rows else partial(self._scores, values)
        return PointExplanation(tuple(rows), note, score="f", margin="left", X=self.X, surface=plotted, levels=levels)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return ||u||, the mean |f| on the target class and the share of the other points beyond the margin."""
        f = self.features.rows @ values["u"]
        return {
            "norm": float(np.linalg.norm(values["u"])),
            "mean_abs_inside": float(np.abs(f[self.inside]).mean()),
            "beyond_margin": float((f[~self.inside] >= self.margin * (1 - 1e-9)).mean()),
        }

    # -- the model ----------------------------------------------------------------------------------------------

    def view(self, kind: type[V]) -> V | None:
        """Return the `BoxQP` dual of a convex pair; of another pair the model itself, which "npsvc-mm" reads; else None."""
        if kind is BoxQP and self.convex:
            return super().view(kind)
        return self if kind is NonparallelSVM and not self.convex else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """Return the bytes of H and the losses' rows."""
        p = self.features.dimension
        return 12 * p * p + 24 * self.X.shape[0] * p

    def compile(self) -> StandardForm:
        """Return the form of `HingeQuadratic` under this model's name; that of a `ConcaveProgram` for non-convex losses."""
        return super().compile() if self.convex else self._concave_program.form(self.name)

    @property
    def _concave_program(self) -> ConcaveProgram:
        parts = (self.features.rows, self.inside, self.regulariser, self.r, self.c, self.margin)
        return CappedProgram(*parts, self.epsilon) if self.loss == "capped" else CorrentropyProgram(*parts, self.gamma)

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the dual value of `HingeQuadratic`; the form's Lagrangian bound where the loss is not convex."""
        return super().bound(x, multipliers) if self.convex else Model.bound(self, x, multipliers)

    @property
    def value_at_zero(self) -> float:
        """Return the objective c s m of u = 0, m the number of other points, of the nonconvex pairs; infinite for the others."""
        return super().value_at_zero if self.convex else self.c * self.margin * float((~self.inside).sum())

    @property
    def cutoff(self) -> float:
        """Return the objective of u = 0, from which bounds in the form of a nonconvex pair follow; infinite for convex pairs."""
        return super().cutoff if self.convex else self.value_at_zero

    def complete(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return all blocks; those of a nonconvex pair's form are computed from ``u`` where only it is given."""
        return dict(values) if self.convex or len(values) > 1 else self._concave_program.values(values["u"])

    @property
    def statement(self) -> Statement:
        """Return NPSVC++ (2) as printed."""
        similar, similar_latex = _SIMILARITY[self.loss]
        other, other_latex = _DISSIMILARITY.get(self.loss, _HINGE)
        inside = int(self.inside.sum())
        graph = "" if self.manifold == 0 else " + mu/2 f'Lf"
        graph_latex = "" if self.manifold == 0 else r" + \tfrac{\mu}{2} f^\top L f"
        return Statement(
            title=f"Nonparallel classifier ({self.loss}), hyperplane of class {self.class_label(self.target)}",
            problem_class=self._problem_class,
            sense="minimise",
            variables=Line("u", r"u"),
            objective=Line(
                f"sum_target ls(f_i) + c sum_others ld(f_i) + r/2 ||u||^2{graph}",
                r"\sum_{y_i=l} \ell_s(f_i) + c \sum_{y_i\ne l} \ell_d(f_i) + \tfrac{r}{2}\|u\|^2" + graph_latex,
            ),
            constraints=(
                Line(f"ls(a) = {similar}", rf"\ell_s(a) = {similar_latex}"),
                Line(f"ld(a) = {other}, s = {self.margin:g}", rf"\ell_d(a) = {other_latex}", "margin"),
            ),
            sizes=f"{count_text(inside, 'point')} of the class, {self.X.shape[0] - inside} others, "
            f"{count_text(self.features.dimension, 'feature')}, "
            f"c = {self.c:g}, r = {self.r:g}" + (f", mu = {self.manifold:g}" if self.manifold else ""),
            notes=(
                f"f_i = u'psi_i, {self.kernel}",
                "prediction: the class whose hyperplane is nearest, |f_l(x)|/||u_l||",
                *(note for loss, note in _FORMS.items() if loss == self.loss),
            ),
            source="Zhang, Lai, Zhou, Liang: NPSVC++, (2) and Table 1",
        )

    @property
    def _problem_class(self) -> str:
        if self.convex:
            return "convex QP"
        mixed = "mixed-integer convex QP; " if self.loss == "capped" else ""
        return f"{mixed}nonconvex: similarity loss concave in |a|"


def nearest_hyperplane(models: Sequence[TargetModel], values: Sequence[Mapping[str, FloatArray]], X: object) -> npt.NDArray[Any]:
    """Return the class of the nearest hyperplane, argmin_l |f_l(x)|/||u_l||, for new rows; one model and one solution for each
    class.

    Parameters
    ----------
    models : sequence of TargetModel
        One for each class.
    values : sequence of mappings
        The solution of each model.
    X : array (m, p)
        New rows.

    Returns
    -------
    ndarray (m,)
        Class labels.

    Raises
    ------
    InputError
        Another number of solutions than of models.
    """
    if len(models) != len(values) or not models:
        raise InputError(f"one solution is needed for each class: {len(models)} models, {len(values)} solutions", name="values")
    distances = [np.abs(model.decision_function(value, X)) for model, value in zip(models, values, strict=True)]
    return np.asarray([model.target for model in models])[np.argmin(distances, axis=0)]


def with_target(model: Callable[..., Model]) -> Callable[[Arrays, ParameterValues], Model]:
    """Return the function that builds ``model`` from command-line parameters, with their kernel and the class ``target``, the
    first class where none is chosen: the ``build`` of a `FormulationInfo`.
    """
    build = with_kernel(model)

    def build_on_class(arrays: Arrays, chosen: ParameterValues) -> Model:
        labels = as_classes(arrays["y"], as_points(arrays["X"]).shape[0])
        return build(arrays, {**chosen, "target": np.unique(labels)[0] if chosen["target"] is None else chosen["target"]})

    return build_on_class


FORMULATIONS = (
    FormulationInfo(
        NonparallelSVM,
        name="nonparallel",
        summary="hyperplane near one class and away from the others",
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, (2)",
        data=DataKind.CLASSES,
        build=with_target(lambda X, y, decay, **others: NonparallelSVM(X, y, gamma=decay, **others)),
        objective=lambda model, values: float(model.objective(values["u"])),
        parameters=(
            Parameter("target", "code of the class whose hyperplane it is; the first where it is not given", int),
            Parameter("loss", "pair of losses", str, "twsvm", tuple(_SIMILARITY)),
            Parameter("c", "weight of the other classes' losses", float, 1.0),
            Parameter("r", "weight of the norm", float, 1.0),
            Parameter("margin", "s, where the other classes are to be", float, 1.0),
            Parameter("epsilon", "ε of npsvm and capped", float, 0.1),
            Parameter("tau", "τ of pinball", float, 0.5),
            Parameter("decay", "γ of correntropy", float, 1.0),
            Parameter("manifold", "μ, weight of the neighbour graph", float, 0.0),
            *kernel_parameters("linear"),
        ),
        intercept=kernel_is_linear,
        also=("nearest_hyperplane",),
    ),
)
