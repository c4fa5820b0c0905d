"""Base classes of duals: `KernelSVMDual`, an SVM's dual with a kernel, and `SimplexModel`, a convex QP over unit simplices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from ...labelled import LABELS_OF_X
from ..arrays import FloatArray, Points, as_divisor, as_labels, as_points, as_positive, as_weights
from ..explanation import PointExplanation, dual_weights, two_classes
from ..kernels.kernels import Kernel, Linear, as_kernel
from ..model import Model
from ..program.cones import Zero
from ..program.form import Block, Constraint, Quadratic, StandardForm
from ..program.lagrangian import Bound
from ..rounding import UNIT, dot, total
from ..views import SimplexQP

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class SimplexModel(Model):
    """A quadratic program min ½a'Qa + c'a over one or several unit simplices: its form and its bound follow from `simplex`."""

    #: Whether the stated model maximises the negative of the form's objective.
    maximised: ClassVar[bool] = False

    @property
    @abstractmethod
    def simplex(self) -> SimplexQP:
        """Q, c and the simplices, as algorithms read them."""

    @property
    def form_bytes(self) -> int:
        """A few vectors: the n × n matrix stays an operator until a reader materialises it."""
        return 64 * self.simplex.n

    def view(self, kind: type[V]) -> V | None:
        """The `SimplexQP` view."""
        return self.simplex if kind is SimplexQP else None  # type: ignore[return-value]

    def compile(self) -> StandardForm:
        """Block ``a`` ≥ 0; constraint ``sum``: Σa - 1 = 0, one row for each simplex."""
        view = self.simplex
        n, k = view.n, view.simplices
        ends = np.concatenate([[0], np.cumsum(np.bincount(view.groups, minlength=k))])
        sums = sp.csr_array((np.ones(n), np.argsort(view.groups, kind="stable"), ends), shape=(k, n))
        return StandardForm(
            name=self.name,
            blocks=(Block("a", (n,)),),
            q=view.c,
            constraints=(Constraint("sum", sums, -np.ones(k), Zero(k)),),
            lower=np.zeros(n),
            upper=np.full(n, np.inf),
            integer=np.zeros(n, dtype=bool),
            quadratic=Quadratic(operator=view.gram),
            maximise=self.maximised,
        )

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """-½a'Qa + Σ_g min_{i in g} (Qa + c)_i at the point moved into the simplices; needs no multipliers.

        The tangent at a lies below a convex quadratic, and its least value on a simplex is at a vertex: the Frank-Wolfe gap.
        """
        if x is None:
            return Bound(-np.inf, "no point")
        view = self.simplex
        a = np.maximum(x, 0.0)
        mass = np.bincount(view.groups, weights=a, minlength=view.simplices)
        if not (mass > 0).all():
            return Bound(-np.inf, "the point has no positive weight in some simplex")
        if np.abs(mass - 1.0).max() > a.size * np.finfo(float).eps:  # less is the rounding of the sum itself
            a = a / mass[view.groups]
        convexity = self.form.convexity
        if convexity.is_refuted:
            return Bound(-np.inf, convexity.argument, condition=convexity.condition)
        product = view.gram.product(a)
        error = view.gram.product_error(a)
        slope = product + view.c
        smallest = view.least(slope - (error + view.c_error + UNIT * np.abs(slope)) * (1.0 + 1e-12))
        plain = view.least(slope)
        tangent_minimum = total(smallest)
        value = tangent_minimum - dot(a, product, error).times(0.5)
        # no two points of a simplex are further apart than √2; the sums of a are 1 to n roundings
        deficit = view.simplices * (convexity.largest_deficit + convexity.penalty * (a.size * 4.0 * UNIT) ** 2)
        spread = float(np.maximum(plain - smallest, 0.0).sum())
        return Bound(
            value.lower - deficit,
            "linearisation at the point (Frank-Wolfe gap), minimised over the simplex; " + convexity.argument,
            value.error + spread + deficit,
            convexity.condition,
        )


@dataclass(frozen=True, eq=False, repr=False)
class KernelSVMDual(Model):
    """The dual of an SVM with a kernel: points, labels -1 and +1, a cost C of slack, and weights of the points."""

    X: Points
    y: FloatArray = LABELS_OF_X
    C: float = 1.0
    kernel: Kernel = field(default_factory=Linear)
    sample_weight: FloatArray | None = None

    #: Whether 1/C stands in the program and must be finite as well.
    _divides: ClassVar[bool] = True
    #: Whether the margin is 1, so that points are inside it, on it or beyond.
    _unit_margin: ClassVar[bool] = False

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        object.__setattr__(self, "C", (as_divisor if self._divides else as_positive)(self.C, "C"))
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        object.__setattr__(self, "sample_weight", as_weights(self.sample_weight, X.shape[0]))

    @cached_property
    def ridge(self) -> float | FloatArray:
        """1/C, or 1/(C s_i) of every point: what squared slack adds to the kernel's diagonal."""
        return 1.0 / self.C if self.sample_weight is None else 1.0 / (self.C * self.sample_weight)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Points by their margins."""
        decide = partial(self.decision_function, values)
        return two_classes(self.X, self.y, decide, dual_weights(values), 1.0 if self._unit_margin else None)
