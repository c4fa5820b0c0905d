"""Duals of support vector machines with kernels: of the L1-SVM, of the L2-SVM, and the nearest points of two convex hulls.

`SimplexModel` is the base class of convex quadratic programs over unit simplices, `KernelSVMDual` that of duals with a kernel.
Equations are those of Frandi et al., 2013 ("FW") and of Luo et al., 2023 ("MaxMin"). φ_i is the image of x_i in the kernel's
feature space, k_ij = φ_i'φ_j, e_i the i-th unit vector, a_i the dual weight of point i, and ∇ the gradient of the objective. A
*view* is the record of a problem that solvers read in place of the standard form.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from ...data_names import LABELS_OF_X
from ...errors import count_text
from ..arrays import FloatArray, Points, as_divisor, as_labels, as_points, as_positive, as_weights, nonzero_mask
from ..explanation import PointExplanation, dual_weights, two_classes
from ..kernels.gram import CentredPoints, KernelGram, centre_points
from ..kernels.kernels import Kernel, Linear, as_kernel, expansion
from ..model import Model
from ..program.cones import Zero
from ..program.form import Block, Constraint, StandardForm
from ..program.lagrangian import Bound
from ..program.quadratic import Quadratic
from ..record import DataKind, FormulationInfo, Parameter, kernel_parameters, with_kernel
from ..rounding import UNIT, Rounded, dot, gamma, total
from ..statement import DualStatement, Line, Statement
from ..views import BoxEqualityQP, SimplexQP

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class SimplexModel(Model):
    """Base class of models min ½a'Qa + c'a over unit simplices, which builds form and bound from `simplex`."""

    #: Whether the stated model maximises the negative of the form's objective.
    maximised: ClassVar[bool] = False

    @property
    @abstractmethod
    def simplex(self) -> SimplexQP:
        """Return the `SimplexQP` view of the problem: Q, c and the simplices."""

    @property
    def form_bytes(self) -> int:
        """Return the bytes of a few vectors: the n × n matrix stays an operator until a reader materialises it."""
        return 64 * self.simplex.n

    def view(self, kind: type[V]) -> V | None:
        """Return the `SimplexQP` view, None for another kind."""
        return self.simplex if kind is SimplexQP else None  # type: ignore[return-value]

    def compile(self) -> StandardForm:
        """Return the form with the block ``a`` ≥ 0 and the constraint ``sum``: Σa - 1 = 0, one row for each simplex."""
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
        """Return the bound -½a'Qa + Σ_g min_{i in g} (Qa + c)_i over the simplices g, at the point moved into them; multipliers
        are not read.

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
        product, error = view.gram.rounded_product(a)
        slope = product + view.c
        smallest = view.least_per_simplex(slope - (error + view.c_error + UNIT * np.abs(slope)) * (1.0 + 1e-12))
        plain = view.least_per_simplex(slope)
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
    """Base class of the duals of SVMs with kernels, which checks their data.

    Parameters
    ----------
    X, y
        Points (n, p), and labels -1, +1.
    C : float
        Cost of slack, or of squared slack, > 0.
    kernel : Kernel or callable
        k, the inner product of feature space.
    sample_weight : array_like (n,), optional
        Factors s_i > 0 of C for each point.
    """

    X: Points
    y: FloatArray = LABELS_OF_X
    C: float = 1.0
    kernel: Kernel = field(default_factory=Linear)
    sample_weight: FloatArray | None = None

    #: Whether 1/C stands in the program and must be finite as well.
    _needs_reciprocal: ClassVar[bool] = True
    #: Whether the margin is 1, so that points are inside it, on it or beyond.
    _unit_margin: ClassVar[bool] = False

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
        object.__setattr__(self, "C", (as_divisor if self._needs_reciprocal else as_positive)(self.C, "C"))
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        object.__setattr__(self, "sample_weight", as_weights(self.sample_weight, X.shape[0]))

    @cached_property
    def ridge(self) -> float | FloatArray:
        """Return 1/C, or 1/(C s_i) for every point, which squared slack adds to the diagonal of the kernel matrix."""
        return 1.0 / self.C if self.sample_weight is None else 1.0 / (self.C * self.sample_weight)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point with its score, margin and weight a_i."""
        decide = partial(self.decision_function, values)
        return two_classes(self.X, self.y, decide, dual_weights(values), 1.0 if self._unit_margin else None)


@dataclass(frozen=True, eq=False, repr=False)
class L1SVMDual(KernelSVMDual):
    """Dual of the L1-SVM: min ½a'Qa - 1'a over 0 ≤ a ≤ C, y'a = 0, Q_ij = y_i y_j k(x_i, x_j).

    Primal: min ½||w||² + C Σ ξ_i with y_i(w'φ_i + b) ≥ 1 - ξ_i, ξ ≥ 0; b is not penalised (FW section 2.4; Chang and Lin's
    LIBSVM). `HingeSVM` penalises b and has no kernel; `L2SVMDual` squares the slacks.

    Parameters
    ----------
    X : array_like (n, p)
        Dense or CSR; the n × n kernel matrix with ``kernel=Precomputed()``.
    y : array_like (n,)
        Labels -1, +1.
    C : float
        C > 0.
    kernel : Kernel or callable
        k.
    sample_weight : array_like (n,), optional
        s_i > 0: ξ_i costs C s_i, so a_i ≤ C s_i.

    Notes
    -----
    w = Σ a_i y_i φ_i; b = -ν for the multiplier ν of y'a = 0. For any feasible a the optimum is at least
    -½a'Qa + max_ν Σ_i C min(0, ∇_i - ν y_i), ∇ = Qa - 1: the primal value at w and the best b, negated.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, C ≤ 0, a weight ≤ 0, not a kernel.
    """

    name = "L1SVMDual"
    _needs_reciprocal = False
    _unit_margin = True
    meanings: ClassVar[Mapping[str, str]] = {
        "balance": "-b, the intercept with its sign turned",
        "bounds": "the reduced cost of a_i is y_i f(x_i) - 1: how far beyond the margin (a_i = 0) or inside it (a_i = C)",
    }

    @cached_property
    def centred(self) -> CentredPoints:
        """Return the points moved near the origin, which saves digits: with y'a = 0 only their differences count."""
        return centre_points(self.kernel, self.X)

    @cached_property
    def box(self) -> BoxEqualityQP:
        """Return the view with Q, c = -1, the upper bounds C (C s_i where points have weights) and the signs y."""
        n = self.X.shape[0]
        upper = np.full(n, self.C) if self.sample_weight is None else self.C * self.sample_weight
        return BoxEqualityQP(KernelGram(self.centred.points, self.kernel, signs=self.y), -np.ones(n), upper, self.y)

    @property
    def form_bytes(self) -> int:
        """Return the bytes of a few vectors: the n × n matrix stays an operator until a reader materialises it."""
        return 64 * self.box.n

    def view(self, kind: type[V]) -> V | None:
        """Return the `BoxEqualityQP` view, None for another kind."""
        return self.box if kind is BoxEqualityQP else None  # type: ignore[return-value]

    def compile(self) -> StandardForm:
        """Return the form with the block ``a`` in [0, C] ([0, C s_i] with weights) and the constraint ``balance``: y'a = 0."""
        view = self.box
        n = view.n
        return StandardForm(
            name=self.name,
            blocks=(Block("a", (n,)),),
            q=view.c,
            constraints=(Constraint("balance", sp.csr_array(self.y[None, :]), np.zeros(1), Zero(1)),),
            lower=np.zeros(n),
            upper=view.upper,
            integer=np.zeros(n, dtype=bool),
            quadratic=Quadratic(operator=view.gram),
        )

    def with_parameter(self, parameter: str, value: Any) -> Self:
        """Return the model with one field changed; a new C changes the upper bounds alone and shares the kernel matrix."""
        other = super().with_parameter(parameter, value)
        if parameter == "C" and "form" in vars(self):
            n = self.X.shape[0]
            upper = np.full(n, other.C) if other.sample_weight is None else other.C * other.sample_weight
            vars(other)["box"] = replace(self.box, upper=upper)
            vars(other)["form"] = self.form.replace(upper=upper)
        return other

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return the better of the bounds -½a'Qa + min ∇'x' over the feasible x' at the point a and at (1 + ε)a, ε of the size of
        the rounding errors; multipliers are not read.
        """
        if x is None:
            return Bound(-np.inf, "no point")
        convexity = self.form.convexity
        if convexity.is_refuted:
            return Bound(-np.inf, convexity.argument, condition=convexity.condition)
        view = self.box
        product, error = view.gram.rounded_product(x)
        # any point gives a bound: at (1 + ε)a the margins are met beyond rounding, which costs 2ε in place of C for each error
        bounds = [self._tangent(x, product, error, stretch) for stretch in (0.0, 4.0 * float(error.max()))]
        value = max(bounds, key=lambda bound: bound.lower)
        reach = np.maximum(np.abs(x), np.abs(view.upper - x)) * 1.001
        rounding = abs(float(view.signs @ x)) + gamma(x.size) * float(np.abs(x).sum())
        deficit = 0.5 * convexity.penalty * (1.001 * rounding) ** 2
        if convexity.deficit is not None:
            deficit += 0.5 * float(convexity.deficit @ reach**2)
        plain = view.minimise_linear(product + view.c)[0] - 0.5 * float(x @ product)
        return Bound(
            value.lower - deficit * (1.0 + 1e-9),
            "linearisation at the point, minimised over the box and the equality; " + convexity.argument,
            max(plain - value.lower, 0.0) + deficit,
            convexity.condition,
        )

    def _tangent(self, x: FloatArray, product: FloatArray, error: FloatArray, stretch: float) -> Rounded:
        """Return -½a'Qa + min ∇'x' over the feasible x', the tangent taken at a = (1 + ε)x, errors included."""
        view, scale = self.box, 1.0 + min(stretch, 1e-3)
        product, error, a = scale * product, (scale * error + 2.0 * UNIT * np.abs(product)) * (1.0 + 1e-12), scale * x
        slope = product + view.c
        nu = view.minimise_linear(slope)[1]
        reduced = slope - nu * view.signs
        uncertain = (error + 2.0 * UNIT * (np.abs(slope) + np.abs(reduced))) * (1.0 + 1e-12)
        tangent_minimum = dot(view.upper, np.minimum(0.0, reduced - uncertain))
        return tangent_minimum - dot(a, product, error + 2.0 * UNIT * np.abs(product)).times(0.5)

    def intercept(self, values: Mapping[str, FloatArray]) -> float:
        """Return the b that minimises the primal objective at w = Σ a_i y_i φ_i."""
        return -self.box.minimise_linear(self.box.gram.product(values["a"]) + self.box.c)[1]

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores Σ a_i y_i k(x_i, x) + b of new rows (their kernel columns if precomputed)."""
        rows = self.centred.of(as_points(X, columns=self.X.shape[1]))
        return expansion(self.kernel, rows, self.centred.points, values["a"] * self.y) + self.intercept(values)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the numbers of support vectors, of those at the upper bound, and of training errors (y_i f(x_i) < 0)."""
        a = values["a"]
        f = self.box.gram.product(a) + self.y * self.intercept(values)
        bounded = a >= self.box.upper * (1.0 - 1e-12)
        return {
            "support_vectors": float(nonzero_mask(a).sum()),
            "bounded": float(bounded.sum()),
            "misclassified": float((f < 0).sum()),
        }

    @property
    def statement(self) -> Statement:
        """Return LIBSVM's problem and its primal."""
        n, p = self.X.shape
        weighted = self.sample_weight is not None
        cap = "C s_i" if weighted else "C"
        return Statement(
            title="L1-SVM dual",
            problem_class="convex QP on a box with one equality",
            sense="minimise",
            variables=Line("a", r"a\in\mathbb{R}^n"),
            objective=Line("1/2 a'Qa - sum_i a_i", r"\tfrac12\, a^\top Q a - \textstyle\sum_{i=1}^n a_i"),
            constraints=(
                Line("y'a = 0", r"y^\top a = 0", "balance"),
                Line(f"0 <= a_i <= {cap}", rf"0 \le a_i \le {cap},\quad i=1,\dots,n"),
            ),
            sizes=f"n = {count_text(n, 'point')}, p = {p}, C = {self.C:g}",
            notes=(
                f"Q_ij = y_i y_j k_ij, {self.kernel}",
                "hinge loss with an intercept that is not penalised (LIBSVM's problem)",
            ),
            source="Chang, Lin: LIBSVM: a library for support vector machines (2011), (2); FW section 2.4, (6)",
            dual=DualStatement(
                sense="maximise",
                variables=Line("w, b, xi", r"w,\ b,\ \xi\in\mathbb{R}^n"),
                objective=Line(
                    f"-1/2 ||w||^2 - sum_i {cap} xi_i", rf"-\tfrac12\|w\|_2^2 - \textstyle\sum_{{i=1}}^n {cap}\, \xi_i"
                ),
                constraints=(
                    Line(
                        "y_i (w'phi(x_i) + b) >= 1 - xi_i, xi_i >= 0",
                        r"y_i\,(w^\top \varphi(x_i) + b) \ge 1 - \xi_i,\quad \xi_i \ge 0,\quad i=1,\dots,n",
                    ),
                ),
                kkt=(
                    Line("w = sum_i a_i y_i phi(x_i)", r"w = \textstyle\sum_{i=1}^n a_i y_i \varphi(x_i)"),
                    Line(
                        "a_i (y_i (w'phi(x_i) + b) - 1 + xi_i) = 0",
                        r"a_i\,\bigl(y_i\,(w^\top \varphi(x_i) + b) - 1 + \xi_i\bigr) = 0",
                    ),
                    Line(f"({cap} - a_i) xi_i = 0", rf"({cap} - a_i)\,\xi_i = 0"),
                ),
            ),
        )


@dataclass(frozen=True, eq=False, repr=False)
class L2SVMDual(KernelSVMDual, SimplexModel):
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
        C > 0.
    kernel : Kernel or callable
        k.
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

    name = "L2SVMDual"
    meanings: ClassVar[Mapping[str, str]] = {
        "sum": "rho = a'K~a, the margin of the primal; a_i > 0 marks support vectors, whose slack is xi_i = a_i/C",
        "bounds": "the reduced cost of a_i is (K~a)_i - rho: by how much point i clears the margin",
    }

    @cached_property
    def simplex(self) -> SimplexQP:
        """Return the view with Q = K̃ and c = 0."""
        gram = KernelGram(self.X, self.kernel, signs=self.y, offset=1.0, ridge=self.ridge)
        n = self.X.shape[0]
        return SimplexQP(gram, np.zeros(n), np.zeros(n, dtype=np.int64))

    def primal_from_dual(self, a: FloatArray) -> dict[str, FloatArray]:
        """Return b, ξ, ρ of the primal FW (7), and the coefficients β_i = a_i y_i of w = Σ β_i φ_i."""
        product = self.simplex.gram.product(a)
        return {"beta": a * self.y, "b": np.asarray(a @ self.y), "xi": a * self.ridge, "rho": np.asarray(product.min())}

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores Σ a_i y_i (k(x_i, x) + 1), FW (13), of new rows (their kernel columns if precomputed)."""
        coefficients = values["a"] * self.y
        rows = as_points(X, columns=self.X.shape[1])
        return expansion(self.kernel, rows, self.X, coefficients) + coefficients.sum()

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the numbers of support vectors and of training errors; y_i f(x_i) = (K̃a)_i - a_i/(C s_i) needs no kernel
        matrix.
        """
        f = self.simplex.gram.product(values["a"]) - values["a"] * self.ridge
        return {"support_vectors": float(nonzero_mask(values["a"]).sum()), "misclassified": float((f < 0).sum())}

    @property
    def statement(self) -> Statement:
        """Return FW (12) and its primal."""
        n, p = self.X.shape
        s_i = "" if self.sample_weight is None else " s_i"
        return Statement(
            title="L2-SVM dual",
            problem_class="convex QP on the unit simplex",
            sense="minimise",
            variables=Line("a", r"a\in\mathbb{R}^n"),
            objective=Line("1/2 a'K~a", r"\tfrac12\, a^\top \tilde K a"),
            constraints=(
                Line("sum_i a_i = 1", r"\textstyle\sum_{i=1}^n a_i = 1", "sum"),
                Line("a_i >= 0", r"a_i \ge 0,\quad i=1,\dots,n"),
            ),
            sizes=f"n = {count_text(n, 'point')}, p = {p}, C = {self.C:g}",
            notes=(
                f"K~_ij = y_i y_j (k_ij + 1) + delta_ij/{'C' if not s_i else f'(C{s_i})'}, {self.kernel}",
                "duality gap at any feasible a: a'K~a - min_i (K~a)_i",
            ),
            source="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
            "Frank-Wolfe optimization methods, (12)",
            equivalences=("MEBDual.labelled(X, y, C, kernel): the same a where k~_ii is constant, FW (17)",),
            dual=DualStatement(
                sense="maximise",
                variables=Line("w, b, xi, rho", r"w,\,b,\,\xi,\,\rho"),
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
class ConvexHullsDual(KernelSVMDual, SimplexModel):
    """Nearest points of the two classes' convex hulls: min ½a'(G + I/C)a over two unit simplices, MaxMin (1).

    G_ij = y_i y_j k(x_i, x_j), Σ_{y_i=+1} a_i = Σ_{y_i=-1} a_i = 1, a ≥ 0. The hulls are those of the points
    (φ_i, y_i e_i/√C), so √(2·optimum) is the distance between them; it is positive even where the classes' own hulls
    meet (the 1/C part alone keeps them apart).

    Parameters
    ----------
    X : array_like (n, p)
        Dense or CSR; the kernel matrix with ``kernel=Precomputed()``.
    y : array_like (n,)
        Labels -1, +1.
    C : float
        C > 0.
    kernel : Kernel or callable
        k.
    sample_weight : array_like (n,), optional
        s_i > 0: G + I/C becomes G + diag(1/(C s_i)). A point of weight k is worth k copies of it: copies share a_i.

    Notes
    -----
    Form: block ``a`` ≥ 0; constraint ``sum``: row 0 the positive class, row 1 the negative one; their multipliers are
    p = min_+ ∇ and q = min_- ∇ at an optimum, the least entries of the positive and of the negative points. Gap at a feasible a:
    a'Qa - min_+ (Qa) - min_- (Qa), Q = G + I/C. Decision, MaxMin (4)-(6): sign(Σ y_i a_i k(x_i, x) - (p* + q*)/2), where p* and
    q* are the scores' edges of the two classes: p* is the mean of Σ_j y_j a_j k_ij + a_i/C over the positive points and q* the
    mean of Σ_j y_j a_j k_ij - a_i/C over the negative ones, both weighted by a, so that rounding in one support vector does not
    decide. **Erratum**: p* of MaxMin (5) is -p of (13); q* = q.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, C ≤ 0, a weight ≤ 0, not a kernel.
    """

    name = "ConvexHullsDual"
    meanings: ClassVar[Mapping[str, str]] = {
        "sum": "p and q, the smallest scores (Qa)_i of the two classes; twice the optimum is p + q",
        "bounds": "the reduced cost of a_i is (Qa)_i - p (or q): by how much point i clears its class's edge",
    }

    @cached_property
    def centred(self) -> CentredPoints:
        """Return the points moved near the origin, which saves digits: both hulls move with them."""
        return centre_points(self.kernel, self.X)

    @cached_property
    def simplex(self) -> SimplexQP:
        """Return the view with Q = G + I/C and c = 0; simplex 0 is the positive class, simplex 1 the negative one."""
        gram = KernelGram(self.centred.points, self.kernel, signs=self.y, ridge=self.ridge)
        return SimplexQP(gram, np.zeros(self.X.shape[0]), (self.y < 0).astype(np.int64))

    def edges(self, a: FloatArray) -> tuple[float, float]:
        """Return p* and q* of MaxMin (5)-(6): averages of the scores over each class's support vectors, weighted by a.

        The weights sum to one in each class and vanish off the support, so the average needs no threshold for what counts
        as a support vector and is as accurate as the duality gap.
        """
        scores = a * self.y * self.simplex.gram.product(a)
        return float(scores[self.y > 0].sum()), float(scores[self.y < 0].sum())

    def distance(self, values: Mapping[str, FloatArray]) -> float:
        """Return the distance √(a'Qa) between the closest points of the two hulls."""
        a = values["a"]
        return float(np.sqrt(max(float(a @ self.simplex.gram.product(a)), 0.0)))

    def closest_points(self, values: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return Σ_{+} a_i x_i and Σ_{-} a_i x_i: for the linear kernel, the closest points without their parts e_i/√C."""
        a = values["a"]
        plus, minus = self.y > 0, self.y < 0
        return np.asarray(self.X[plus].T @ a[plus]), np.asarray(self.X[minus].T @ a[minus])

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return the scores Σ y_i a_i k(x_i, x) - (p* + q*)/2 of new rows, MaxMin (4)."""
        a = values["a"]
        p, q = self.edges(a)
        rows = self.centred.of(as_points(X, columns=self.X.shape[1]))
        return expansion(self.kernel, rows, self.centred.points, a * self.y) - 0.5 * (p + q)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the distance between the hulls and the numbers of support vectors and of training errors."""
        p, q = self.edges(values["a"])
        f = self.simplex.gram.product(values["a"]) - values["a"] * self.ridge - 0.5 * (p + q) * self.y
        return {
            "distance": self.distance(values),
            "support_vectors": float(nonzero_mask(values["a"]).sum()),
            "misclassified": float((f < 0).sum()),
        }

    @property
    def statement(self) -> Statement:
        """Return MaxMin (1) and its primal."""
        n, p = self.X.shape
        positive = int((self.y > 0).sum())
        s_i, divisor = ("", "C") if self.sample_weight is None else (" s_i", "(C s_i)")
        weighted = () if self.sample_weight is None else ("sample weights s_i: I/C stands for diag(1/(C s_i))",)
        return Statement(
            title="L2-SVM between two normal convex hulls, dual",
            problem_class="convex QP on two unit simplices",
            sense="minimise",
            variables=Line("a", r"a\in\mathbb{R}^n"),
            objective=Line("1/2 a'(G + I/C)a", r"\tfrac12\, a^\top (G + \tfrac1C I)\, a"),
            constraints=(
                Line("sum over y_i = +1 of a_i = 1", r"\textstyle\sum_{y_i=+1} a_i = 1", "sum[0]"),
                Line("sum over y_i = -1 of a_i = 1", r"\textstyle\sum_{y_i=-1} a_i = 1", "sum[1]"),
                Line("a_i >= 0", r"a_i \ge 0,\quad i=1,\dots,n"),
            ),
            sizes=f"n = {count_text(n, 'point')} ({positive} positive, {n - positive} negative), p = {p}, C = {self.C:g}",
            notes=(
                f"G_ij = y_i y_j k_ij, {self.kernel}",
                *weighted,
                "geometry: the closest points of the hulls of the two classes' images (phi_i, y_i e_i/sqrt(C)); "
                "their distance is sqrt(2 x optimum)",
                "duality gap at any feasible a: a'Qa - min_+ (Qa) - min_- (Qa), Q = G + I/C",
            ),
            source="Luo, Yang, Peng, Wang, Chen: MaxMin-L2-SVC-NCH, (1)",
            dual=DualStatement(
                sense="maximise",
                variables=Line("w, p, q, xi", r"w,\,p,\,q,\,\xi"),
                objective=Line(
                    f"p + q - 1/2 (||w||^2 + C sum_i{s_i} xi_i^2)",
                    rf"p + q - \tfrac12\bigl(\|w\|^2 + C\textstyle\sum_{{i=1}}^n{s_i} \xi_i^2\bigr)",
                ),
                constraints=(
                    Line("w'phi(x_i) >= p - xi_i where y_i = +1", r"w^\top\varphi(x_i) \ge p - \xi_i,\quad y_i = +1"),
                    Line("-w'phi(x_i) >= q - xi_i where y_i = -1", r"-w^\top\varphi(x_i) \ge q - \xi_i,\quad y_i = -1"),
                ),
                kkt=(
                    Line("w = sum_i a_i y_i phi(x_i)", r"w = \textstyle\sum_i a_i y_i\varphi(x_i)"),
                    Line(
                        f"xi_i = a_i/{divisor}, p = min_+ Qa, q = min_- Qa",
                        rf"\xi_i = a_i/{divisor},\quad p = \min_{{y_i=+1}} (Qa)_i,\quad q = \min_{{y_i=-1}} (Qa)_i",
                    ),
                ),
            ),
        )


def _l1_objective(model: L1SVMDual, values: Mapping[str, FloatArray]) -> float:
    v = values["a"] * model.y
    return 0.5 * float(v @ model.kernel.matrix(model.X, model.X) @ v) - float(values["a"].sum())


def _l2_objective(offset: float, model: L2SVMDual | ConvexHullsDual, values: Mapping[str, FloatArray]) -> float:
    """Return the objective with the kernel k + offset: 1 for the penalised intercept of the L2-SVM, 0 for two hulls."""
    v = values["a"] * model.y
    ridge = np.ones(v.size) if model.sample_weight is None else 1.0 / model.sample_weight
    return 0.5 * float(v @ (model.kernel.matrix(model.X, model.X) + offset) @ v + (v * ridge) @ v / model.C)


FORMULATIONS = (
    FormulationInfo(
        L1SVMDual,
        name="l1svm",
        summary="dual of the hinge-loss SVM with an intercept, in a box with one equality",
        reference="Chang, Lin: LIBSVM, a library for support vector machines (2011), (2)",
        data=DataKind.TWO_CLASSES,
        build=with_kernel(L1SVMDual),
        objective=_l1_objective,
        parameters=(Parameter("C", "cost of slack", float, 1.0), *kernel_parameters()),
    ),
    FormulationInfo(
        L2SVMDual,
        name="l2svm",
        summary="dual of the SVM with squared slacks, on the unit simplex",
        reference="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
        "Frank-Wolfe optimization methods, (12)",
        data=DataKind.TWO_CLASSES,
        build=with_kernel(L2SVMDual),
        objective=partial(_l2_objective, 1.0),
        parameters=(Parameter("C", "cost of squared slack", float, 1.0), *kernel_parameters()),
    ),
    FormulationInfo(
        ConvexHullsDual,
        name="hulls",
        summary="L2-SVM as the distance between two convex hulls, on two unit simplices",
        reference="Luo, Yang, Peng, Wang, Chen: MaxMin-L2-SVC-NCH, (1)",
        data=DataKind.TWO_CLASSES,
        build=with_kernel(ConvexHullsDual),
        objective=partial(_l2_objective, 0.0),
        parameters=(Parameter("C", "cost of squared slack", float, 1.0), *kernel_parameters()),
    ),
)
