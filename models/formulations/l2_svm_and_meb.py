"""Quadratic duals on the unit simplex: the L2-SVM dual, FW (12), and the minimum-enclosing-ball dual, FW (15)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..arrays import FloatArray, Points, as_labels, as_points, as_positive, as_weights
from ..kernels.gram import KernelGram
from ..kernels.kernels import Kernel, Linear, as_kernel, expansion
from ..model import Bound, Model
from ..program.cones import Zero
from ..program.form import Block, Constraint, Quadratic, StandardForm
from ..statement import DualStatement, Line, Statement
from ..views import SimplexQP

__all__ = ["L2SVMDual", "MEBDual", "SimplexModel"]

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class SimplexModel(Model):
    """A quadratic program min ½a'Qa + c'a over one or several unit simplices, known through its `SimplexQP` view."""

    @property
    @abstractmethod
    def simplex(self) -> SimplexQP:
        """The structural view."""

    @property
    @abstractmethod
    def maximised(self) -> bool:
        """Whether the stated model maximises the negative of the form's objective."""

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
        sums = sp.csr_array((np.ones(n), (view.groups, np.arange(n))), shape=(k, n))
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
        """f(a) - [a'∇ - Σ_g min_{i in g} ∇_i] at the point moved exactly into the simplices; needs no multipliers."""
        if x is None:
            return Bound(-np.inf, "no point")
        view = self.simplex
        a = np.maximum(x, 0.0)
        mass = np.bincount(view.groups, weights=a, minlength=view.simplices)
        if not (mass > 0).all():
            return Bound(-np.inf, "the point has no positive weight in some simplex")
        if np.abs(mass - 1.0).max() > a.size * np.finfo(float).eps:  # less is the rounding of the sum itself
            a = a / mass[view.groups]
        product = view.gram.product(a)
        value = 0.5 * float(a @ product) + float(view.c @ a)
        return Bound(value - view.gap(a, product), "linearisation at the point (Frank-Wolfe gap), minimised over the simplex")


@dataclass(frozen=True, eq=False, repr=False)
class L2SVMDual(SimplexModel):
    """Dual of the L2-SVM: min ½a'K̃a over the unit simplex, FW (12).

    K̃_ij = y_i y_j (k(x_i, x_j) + 1) + δ_ij/C. Primal, FW (7): min ½(||w||² + b² + C Σξ²) - ρ with
    y_i f(x_i) ≥ ρ - ξ_i. **Erratum**: the feature map of K̃ is (y_i φ_i, y_i, e_i/√C); FW prints it without the
    root of C.

    Parameters
    ----------
    X : array_like (n, p)
        Dense or CSR; the n × n kernel matrix with ``kernel=Precomputed()``.
    y : array_like (n,)
        Labels -1, +1.
    C : float
        > 0.
    kernel : Kernel or callable
    sample_weight : array_like (n,), optional
        s_i > 0: ξ_i² costs C s_i, so K̃ has δ_ij/(C s_i). A point of weight k is worth k copies of it: copies share a_i.

    Notes
    -----
    The primal point of any feasible a is w = Σ a_i y_i φ_i, b = Σ a_i y_i, ξ_i = a_i/(C s_i), ρ = min_i (K̃a)_i, so the duality
    gap is a'K̃a - min_i (K̃a)_i. Decision, FW (13): Σ a_i y_i (k(x_i, x) + 1).

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, C ≤ 0, a weight ≤ 0, not a kernel.
    """

    X: Points
    y: FloatArray
    C: float = 1.0
    kernel: Kernel = field(default_factory=Linear)
    sample_weight: FloatArray | None = None

    name = "L2SVMDual"

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        object.__setattr__(self, "C", as_positive(self.C, "C"))
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        object.__setattr__(self, "sample_weight", as_weights(self.sample_weight, X.shape[0]))

    @cached_property
    def ridge(self) -> float | FloatArray:
        """1/C, or 1/(C s_i) of every point."""
        return 1.0 / self.C if self.sample_weight is None else 1.0 / (self.C * self.sample_weight)

    @cached_property
    def simplex(self) -> SimplexQP:
        """Q = K̃, c = 0."""
        gram = KernelGram(self.X, self.kernel, signs=self.y, offset=1.0, ridge=self.ridge)
        n = self.X.shape[0]
        return SimplexQP(gram, np.zeros(n), np.zeros(n, dtype=np.int64))

    @property
    def maximised(self) -> bool:
        """False."""
        return False

    def primal_from_dual(self, a: FloatArray) -> dict[str, FloatArray]:
        """b, ξ, ρ of the primal FW (7), and the coefficients β_i = a_i y_i of w = Σ β_i φ_i."""
        product = self.simplex.gram.product(a)
        return {"beta": a * self.y, "b": np.asarray(a @ self.y), "xi": a * self.ridge, "rho": np.asarray(product.min())}

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Σ a_i y_i (k(x_i, x) + 1), FW (13), for new rows (their kernel columns if precomputed)."""
        coefficients = values["a"] * self.y
        rows = as_points(X, columns=self.X.shape[1])
        return expansion(self.kernel, rows, self.X, coefficients) + coefficients.sum()

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Support vectors and training errors; y_i f(x_i) = (K̃a)_i - a_i/(C s_i) needs no kernel matrix."""
        f = self.simplex.gram.product(values["a"]) - values["a"] * self.ridge
        return {"support_vectors": float((values["a"] > 0).sum()), "misclassified": float((f < 0).sum())}

    @property
    def statement(self) -> Statement:
        """FW (12)."""
        n, p = self.X.shape
        s_i = "" if self.sample_weight is None else " s_i"
        return Statement(
            title="L2-SVM dual",
            problem_class="convex QP on the unit simplex",
            sense="minimise",
            over=Line("a", r"a\in\mathbb{R}^n"),
            objective=Line("1/2 a'K~a", r"\tfrac12\, a^\top \tilde K a"),
            constraints=(
                Line("sum_i a_i = 1", r"\textstyle\sum_{i=1}^n a_i = 1", "sum"),
                Line("a_i >= 0", r"a_i \ge 0,\quad i=1,\dots,n"),
            ),
            sizes=f"n = {n} points, p = {p}, C = {self.C:g}",
            notes=(
                f"K~_ij = y_i y_j (k_ij + 1) + delta_ij/{'C' if not s_i else f'(C{s_i})'}, {self.kernel}",
                "duality gap at any feasible a: a'K~a - min_i (K~a)_i",
            ),
            source="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training SVMs using Frank-Wolfe optimization methods, (12)",
            equivalences=("MEBDual.labelled(X, y, C, kernel): the same a where k~_ii is constant, FW (17)",),
            dual=DualStatement(
                sense="maximise",
                over=Line("w, b, xi, rho", r"w,\,b,\,\xi,\,\rho"),
                objective=Line(
                    f"rho - 1/2 (||w||^2 + b^2 + C sum_i{s_i} xi_i^2)",
                    rf"\rho - \tfrac12\bigl(\|w\|^2 + b^2 + C\textstyle\sum_{{i=1}}^n{s_i} \xi_i^2\bigr)",
                ),
                constraints=(
                    Line(
                        "y_i (w'phi(x_i) + b) >= rho - xi_i",
                        r"y_i(w^\top\varphi(x_i) + b) \ge \rho - \xi_i,\quad i=1,\dots,n",
                    ),
                ),
                kkt=(
                    Line(
                        "w = sum_i a_i y_i phi(x_i), b = sum_i a_i y_i",
                        r"w = \textstyle\sum_i a_i y_i\varphi(x_i),\quad b = \sum_i a_i y_i",
                    ),
                    Line(
                        f"xi_i = a_i/{'C' if not s_i else '(C s_i)'}, rho = a'K~a",
                        rf"\xi_i = a_i/{'C' if not s_i else '(C s_i)'},\quad \rho = a^\top\tilde K a",
                    ),
                    Line("a_i ((K~a)_i - rho) = 0", r"a_i\,\bigl((\tilde K a)_i - \rho\bigr) = 0"),
                ),
            ),
        )


@dataclass(frozen=True, eq=False, repr=False)
class MEBDual(SimplexModel):
    """Dual of the minimum enclosing ball: max Φ(a) = Σ a_i k_ii - a'Ka over the unit simplex, FW (15).

    The optimal value is the squared radius; the centre is c = Σ a_i φ(x_i). **Erratum**: FW (16) prints
    r*² = Σ a_i a_j φ_i'φ_j, which is ||c*||²; r*² = Φ(a*).

    Parameters
    ----------
    X : array_like (n, p)
        Dense or CSR; the kernel matrix with ``kernel=Precomputed()``.
    kernel : Kernel or callable
    y, C : optional
        Both given: the ball of the points (y_i φ_i, y_i, e_i/√C), whose kernel is the L2-SVM's K̃
        (`MEBDual.labelled`).

    Notes
    -----
    The form minimises ½a'(2K)a - Σ a_i k_ii and records that the model maximises.

    Raises
    ------
    InputError
        As `L2SVMDual`; or only one of y and C given.
    """

    X: Points
    kernel: Kernel = field(default_factory=Linear)
    y: FloatArray | None = None
    C: float | None = None

    name = "MEBDual"

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        if (self.y is None) != (self.C is None):
            raise InputError("give both y and C (the labelled kernel of FW (12)) or neither (the ball of the points)")
        if self.y is not None:
            object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
            object.__setattr__(self, "C", as_positive(self.C, "C"))

    @classmethod
    def labelled(cls, X: object, y: object, C: float, kernel: object) -> MEBDual:
        """The ball whose kernel is K̃_ij = y_i y_j (k_ij + 1) + δ_ij/C, FW (12)."""
        return cls(X, kernel, y, C)  # type: ignore[arg-type]

    @cached_property
    def gram(self) -> KernelGram:
        """K, or K̃ when labelled."""
        if self.y is None:
            return KernelGram(self.X, self.kernel)
        assert self.C is not None
        return KernelGram(self.X, self.kernel, signs=self.y, offset=1.0, ridge=1.0 / self.C)

    @cached_property
    def simplex(self) -> SimplexQP:
        """Q = 2K, c = -diag K."""
        K = self.gram
        double = KernelGram(K.X, K.kernel, K.signs, K.offset, K.ridge, scale=2.0)
        return SimplexQP(double, -K.diagonal, np.zeros(K.n, dtype=np.int64))

    @property
    def maximised(self) -> bool:
        """True: the optimal value is r²."""
        return True

    def radius(self, values: Mapping[str, FloatArray]) -> float:
        """r = √Φ(a): the radius at the optimum, a lower bound of it at any feasible a."""
        return float(np.sqrt(max(-self.simplex.objective(values["a"]), 0.0)))

    def squared_distances(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """||φ(x_i) - c||² of every point to the centre c = Σ a_i φ(x_i)."""
        a = values["a"]
        product = self.gram.product(a)
        return np.asarray(self.gram.diagonal - 2.0 * product + float(a @ product))

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Radius of the dual point, and the radius about its centre that encloses every point."""
        enclosing = float(np.sqrt(max(self.squared_distances(values).max(), 0.0)))
        return {"radius": self.radius(values), "enclosing_radius": enclosing, "support_vectors": float((values["a"] > 0).sum())}

    @property
    def statement(self) -> Statement:
        """FW (15)."""
        n, p = self.X.shape
        labelled = self.y is not None
        entry = "k_ij = y_i y_j (k(x_i,x_j) + 1) + delta_ij/C" if labelled else "k_ij = k(x_i,x_j)"
        return Statement(
            title="Minimum enclosing ball, dual",
            problem_class="concave QP on the unit simplex (a maximum: convex)",
            sense="maximise",
            over=Line("a", r"a\in\mathbb{R}^n"),
            objective=Line("sum_i a_i k_ii - a'Ka", r"\textstyle\sum_{i=1}^n a_i k_{ii} - a^\top K a"),
            constraints=(
                Line("sum_i a_i = 1", r"\textstyle\sum_{i=1}^n a_i = 1", "sum"),
                Line("a_i >= 0", r"a_i \ge 0,\quad i=1,\dots,n"),
            ),
            sizes=f"n = {n} points, p = {p}" + (f", C = {self.C:g}" if labelled else ""),
            notes=(
                f"{entry}, {self.kernel}",
                "optimal value = r^2 (FW (16) prints ||c||^2: erratum)",
            ),
            source="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training SVMs using Frank-Wolfe optimization methods, (15)",
            equivalences=(("L2SVMDual(X, y, C, kernel): the same a where k_ii is constant, FW (17)",) if labelled else ()),
            dual=DualStatement(
                sense="minimise",
                over=Line("c, r^2", r"c,\,r^2"),
                objective=Line("r^2", r"r^2"),
                constraints=(Line("||phi_i - c||^2 <= r^2", r"\|\varphi_i - c\|^2 \le r^2,\quad i=1,\dots,n"),),
                kkt=(
                    Line("c = sum_i a_i phi_i", r"c = \textstyle\sum_i a_i\varphi_i"),
                    Line("a_i (r^2 - ||phi_i - c||^2) = 0", r"a_i\,\bigl(r^2 - \|\varphi_i - c\|^2\bigr) = 0"),
                ),
            ),
        )
