"""The dual of the hinge-loss SVM with an intercept: LIBSVM's problem, a box with one equality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from ..arrays import FloatArray, as_points, nonzero_mask
from ..kernels.feature_map import CentredPoints, centre_points
from ..kernels.gram import KernelGram
from ..kernels.kernels import expansion
from ..program.cones import Zero
from ..program.form import Block, Constraint, Quadratic, StandardForm
from ..program.lagrangian import Bound
from ..record import DataKind, FormulationInfo, Parameter, kernel_parameters, with_kernel
from ..rounding import UNIT, Rounded, dot, gamma
from ..statement import DualStatement, Line, Statement
from ..views import BoxEqualityQP
from .svm_duals import KernelSVMDual

V = TypeVar("V")


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
        > 0.
    kernel : Kernel or callable
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
    _divides = False
    _unit_margin = True
    meanings: ClassVar[Mapping[str, str]] = {
        "balance": "-b, the intercept with its sign turned",
        "bounds": "the reduced cost of a_i is y_i f(x_i) - 1: how far beyond the margin (a_i = 0) or inside it (a_i = C)",
    }

    @cached_property
    def centred(self) -> CentredPoints:
        """The points, near the origin where digits would be lost: with y'a = 0 only their differences count."""
        return centre_points(self.kernel, self.X)

    @cached_property
    def box(self) -> BoxEqualityQP:
        """Q, c = -1, u = C (C s_i where points have weights), s = y."""
        n = self.X.shape[0]
        upper = np.full(n, self.C) if self.sample_weight is None else self.C * self.sample_weight
        return BoxEqualityQP(KernelGram(self.centred.points, self.kernel, signs=self.y), -np.ones(n), upper, self.y)

    @property
    def form_bytes(self) -> int:
        """A few vectors: the n × n matrix stays an operator until a reader materialises it."""
        return 64 * self.box.n

    def view(self, kind: type[V]) -> V | None:
        """The `BoxEqualityQP` view."""
        return self.box if kind is BoxEqualityQP else None  # type: ignore[return-value]

    def compile(self) -> StandardForm:
        """Block ``a`` in [0, C]; constraint ``balance``: y'a = 0."""
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
        """C bounds a and no more: the kernel matrix is shared."""
        other = super().with_parameter(parameter, value)
        if parameter == "C" and "form" in vars(self):
            n = self.X.shape[0]
            upper = np.full(n, other.C) if other.sample_weight is None else other.C * other.sample_weight
            vars(other)["box"] = replace(self.box, upper=upper)
            vars(other)["form"] = self.form.replace(upper=upper)
        return other

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """-½a'Qa + min ∇'x' over the feasible x', at the point itself (feasible or not); needs no multipliers."""
        if x is None:
            return Bound(-np.inf, "no point")
        convexity = self.form.convexity
        if convexity.is_refuted:
            return Bound(-np.inf, convexity.argument, condition=convexity.condition)
        view = self.box
        product, error = view.gram.product(x), view.gram.product_error(x)
        # any point gives a bound: at (1 + ε)a the margins are met beyond rounding, which costs 2ε in place of C for each error
        bounds = [self._tangent(x, product, error, stretch) for stretch in (0.0, 4.0 * float(error.max()))]
        value = max(bounds, key=lambda bound: bound.lower)
        reach = np.maximum(np.abs(x), np.abs(view.upper - x)) * 1.001
        rounding = abs(float(view.signs @ x)) + gamma(x.size) * float(np.abs(x).sum())
        deficit = 0.5 * convexity.penalty * (1.001 * rounding) ** 2
        if convexity.deficit is not None:
            deficit += 0.5 * float(convexity.deficit @ reach**2)
        plain = view.level(product + view.c)[0] - 0.5 * float(x @ product)
        return Bound(
            value.lower - deficit * (1.0 + 1e-9),
            "linearisation at the point, minimised over the box and the equality; " + convexity.argument,
            max(plain - value.lower, 0.0) + deficit,
            convexity.condition,
        )

    def _tangent(self, x: FloatArray, product: FloatArray, error: FloatArray, stretch: float) -> Rounded:
        """-½a'Qa + min ∇'x' over the feasible x', the tangent taken at a = (1 + ε)x, errors included."""
        view, scale = self.box, 1.0 + min(stretch, 1e-3)
        product, error, a = scale * product, (scale * error + 2.0 * UNIT * np.abs(product)) * (1.0 + 1e-12), scale * x
        slope = product + view.c
        nu = view.level(slope)[1]
        reduced = slope - nu * view.signs
        uncertain = (error + 2.0 * UNIT * (np.abs(slope) + np.abs(reduced))) * (1.0 + 1e-12)
        tangent_minimum = dot(view.upper, np.minimum(0.0, reduced - uncertain))
        return tangent_minimum - dot(a, product, error + 2.0 * UNIT * np.abs(product)).times(0.5)

    def intercept(self, values: Mapping[str, FloatArray]) -> float:
        """The b that minimises the primal at w = Σ a_i y_i φ_i."""
        return -self.box.level(self.box.gram.product(values["a"]) + self.box.c)[1]

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Σ a_i y_i k(x_i, x) + b for new rows (their kernel columns if precomputed)."""
        rows = self.centred.of(as_points(X, columns=self.X.shape[1]))
        return expansion(self.kernel, rows, self.centred.points, values["a"] * self.y) + self.intercept(values)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Support vectors, those at the bound, training errors; y_i f(x_i) = (Qa)_i + y_i b."""
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
        """LIBSVM's problem."""
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
            sizes=f"n = {n} points, p = {p}, C = {self.C:g}",
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


def _objective(model: L1SVMDual, values: Mapping[str, FloatArray]) -> float:
    v = values["a"] * model.y
    return 0.5 * float(v @ model.kernel.matrix(model.X, model.X) @ v) - float(values["a"].sum())


FORMULATIONS = (
    FormulationInfo(
        L1SVMDual,
        name="l1svm",
        summary="dual of the hinge-loss SVM with an intercept, in a box with one equality",
        reference="Chang, Lin: LIBSVM, a library for support vector machines (2011), (2)",
        data=DataKind.TWO_CLASSES,
        build=with_kernel(L1SVMDual),
        objective=_objective,
        parameters=(Parameter("C", "cost of slack", float, 1.0), *kernel_parameters()),
    ),
)
