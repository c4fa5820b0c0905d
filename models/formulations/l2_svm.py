"""The dual of the L2-SVM on the unit simplex, FW (12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..arrays import FloatArray, as_points, nonzero_mask
from ..kernels.gram import KernelGram
from ..kernels.kernels import expansion
from ..record import DataKind, FormulationInfo, Parameter, kernel_parameters, with_kernel
from ..statement import DualStatement, Line, Statement
from ..views import SimplexQP
from .svm_duals import KernelSVMDual, SimplexModel


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

    name = "L2SVMDual"
    meanings: ClassVar[Mapping[str, str]] = {
        "sum": "rho = a'K~a, the margin of the primal; a_i > 0 marks support vectors, whose slack is xi_i = a_i/C",
        "bounds": "the reduced cost of a_i is (K~a)_i - rho: by how much point i clears the margin",
    }

    @cached_property
    def simplex(self) -> SimplexQP:
        """Q = K̃, c = 0."""
        gram = KernelGram(self.X, self.kernel, signs=self.y, offset=1.0, ridge=self.ridge)
        n = self.X.shape[0]
        return SimplexQP(gram, np.zeros(n), np.zeros(n, dtype=np.int64))

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
        return {"support_vectors": float(nonzero_mask(values["a"]).sum()), "misclassified": float((f < 0).sum())}

    @property
    def statement(self) -> Statement:
        """FW (12)."""
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
            sizes=f"n = {n} points, p = {p}, C = {self.C:g}",
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


def _objective(model: L2SVMDual, values: Mapping[str, FloatArray]) -> float:
    v = values["a"] * model.y
    ridge = np.ones(v.size) if model.sample_weight is None else 1.0 / model.sample_weight
    return 0.5 * float(v @ (model.kernel.matrix(model.X, model.X) + 1.0) @ v + (v * ridge) @ v / model.C)


FORMULATIONS = (
    FormulationInfo(
        L2SVMDual,
        name="l2svm",
        summary="dual of the SVM with squared slacks, on the unit simplex",
        reference="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
        "Frank-Wolfe optimization methods, (12)",
        data=DataKind.TWO_CLASSES,
        build=with_kernel(L2SVMDual),
        objective=_objective,
        parameters=(Parameter("C", "cost of squared slack", float, 1.0), *kernel_parameters()),
    ),
)
