"""The L2-SVM as the distance between two normal convex hulls (L2-SVC-NCH), MaxMin (1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..arrays import FloatArray, as_points, nonzero_mask
from ..kernels.feature_map import CentredPoints, centre_points
from ..kernels.gram import KernelGram
from ..kernels.kernels import expansion
from ..record import DataKind, FormulationInfo, Parameter, kernel_parameters, with_kernel
from ..statement import DualStatement, Line, Statement
from ..views import SimplexQP
from .svm_duals import KernelSVMDual, SimplexModel


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
        > 0.
    kernel : Kernel or callable
    sample_weight : array_like (n,), optional
        s_i > 0: G + I/C becomes G + diag(1/(C s_i)). A point of weight k is worth k copies of it: copies share a_i.

    Notes
    -----
    Form: block ``a`` ≥ 0; constraint ``sum``: row 0 the positive class, row 1 the negative one; their multipliers are
    p = min_+ ∇ and q = min_- ∇ at an optimum. Gap at a feasible a: a'Qa - min_+ (Qa) - min_- (Qa), Q = G + I/C.
    Decision, MaxMin (4)-(6): sign(Σ y_i a_i k(x_i, x) - (p* + q*)/2), where p* and q* are the scores' edges of the two classes:
    p* is Σ_j y_j a_j k_ij + a_i/C averaged over the positive support vectors and q* is Σ_j y_j a_j k_ij - a_i/C averaged over
    the negative ones, so that rounding in one support vector does not decide. **Erratum**: p* of MaxMin (5) is -p of (13);
    q* = q.

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
        """The points, near the origin where digits would be lost: both hulls move with them."""
        return centre_points(self.kernel, self.X)

    @cached_property
    def simplex(self) -> SimplexQP:
        """Q = G + I/C, c = 0; group 0 is the positive class, group 1 the negative one."""
        gram = KernelGram(self.centred.points, self.kernel, signs=self.y, ridge=self.ridge)
        return SimplexQP(gram, np.zeros(self.X.shape[0]), (self.y < 0).astype(np.int64))

    def edges(self, a: FloatArray) -> tuple[float, float]:
        """p* and q* of MaxMin (5)-(6): averages over the support vectors of each class, weighted by a.

        The weights sum to one in each class and vanish off the support, so the average needs no threshold for what counts
        as a support vector and is as accurate as the duality gap.
        """
        scores = a * self.y * self.simplex.gram.product(a)
        return float(scores[self.y > 0].sum()), float(scores[self.y < 0].sum())

    def distance(self, values: Mapping[str, FloatArray]) -> float:
        """Distance between the closest points of the two hulls, √(a'Qa)."""
        a = values["a"]
        return float(np.sqrt(max(float(a @ self.simplex.gram.product(a)), 0.0)))

    def closest_points(self, values: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Σ_{+} a_i x_i and Σ_{-} a_i x_i: for the linear kernel, the closest points of the two reduced hulls."""
        a = values["a"]
        plus, minus = self.y > 0, self.y < 0
        return np.asarray(self.X[plus].T @ a[plus]), np.asarray(self.X[minus].T @ a[minus])

    def decision_function(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Σ y_i a_i k(x_i, x) - (p* + q*)/2 for new rows, MaxMin (4)."""
        a = values["a"]
        p, q = self.edges(a)
        rows = self.centred.of(as_points(X, columns=self.X.shape[1]))
        return expansion(self.kernel, rows, self.centred.points, a * self.y) - 0.5 * (p + q)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Distance between the hulls, support vectors and training errors."""
        p, q = self.edges(values["a"])
        f = self.simplex.gram.product(values["a"]) - values["a"] * self.ridge - 0.5 * (p + q) * self.y
        return {
            "distance": self.distance(values),
            "support_vectors": float(nonzero_mask(values["a"]).sum()),
            "misclassified": float((f < 0).sum()),
        }

    @property
    def statement(self) -> Statement:
        """MaxMin (1)."""
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
            sizes=f"n = {n} points ({positive} positive, {n - positive} negative), p = {p}, C = {self.C:g}",
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


def _objective(model: ConvexHullsDual, values: Mapping[str, FloatArray]) -> float:
    v = values["a"] * model.y
    ridge = np.ones(v.size) if model.sample_weight is None else 1.0 / model.sample_weight
    return 0.5 * float(v @ model.kernel.matrix(model.X, model.X) @ v + (v * ridge) @ v / model.C)


FORMULATIONS = (
    FormulationInfo(
        ConvexHullsDual,
        name="hulls",
        summary="L2-SVM as the distance between two convex hulls, on two unit simplices",
        reference="Luo, Yang, Peng, Wang, Chen: MaxMin-L2-SVC-NCH, (1)",
        data=DataKind.TWO_CLASSES,
        build=with_kernel(ConvexHullsDual),
        objective=_objective,
        parameters=(Parameter("C", "cost of squared slack", float, 1.0), *kernel_parameters()),
    ),
)
