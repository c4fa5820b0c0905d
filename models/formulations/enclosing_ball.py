"""`MEBDual`, the dual of the minimum enclosing ball of points, (15) of Frandi et al., 2013 ("FW").

Core vector machines solve it. The ball is min r² over the centre c and r with ||φ_i - c||² ≤ r², φ_i the image of x_i in the
kernel's feature space. Its dual variables a_i ≥ 0 sum to 1; K is the kernel matrix, K_ij = k_ij = φ_i'φ_j.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...errors import InputError, count_text
from ..arrays import FloatArray, Points, as_divisor, as_labels, as_points, nonzero_mask
from ..explanation import ON_MARGIN, PointExplanation, PointRow
from ..kernels.gram import CentredPoints, KernelGram, centre_points
from ..kernels.kernels import Kernel, Linear, as_kernel
from ..record import DataKind, FormulationInfo, kernel_parameters, with_kernel
from ..statement import DualStatement, Line, Statement
from ..views import SimplexQP
from .svm_duals import SimplexModel


@dataclass(frozen=True, eq=False, repr=False)
class MEBDual(SimplexModel):
    """Dual of the minimum enclosing ball: max Φ(a) = Σ a_i k_ii - a'Ka over the unit simplex, K_ij = k_ij = φ_i'φ_j, FW (15).

    The optimal value is the squared radius r*²; the centre is c = Σ a_i φ_i. **Erratum**: FW (16) prints r*² = Σ a_i a_j φ_i'φ_j,
    which is ||c*||²; r*² = Φ(a*).

    Parameters
    ----------
    X : array_like (n, p)
        Dense or CSR; the kernel matrix with ``kernel=Precomputed()``.
    kernel : Kernel or callable
        k, the inner product of feature space.
    y, C : optional
        Both given: the ball of the points (y_i φ_i, y_i, e_i/√C), e_i the i-th unit vector, whose kernel is that of `L2SVMDual`
        (`MEBDual.labelled`).

    Notes
    -----
    The form minimises ½a'(2K)a - Σ a_i k_ii and records that the model maximises.

    Raises
    ------
    InputError
        Wrong shapes, non-finite data, labels that are not -1 and +1, C ≤ 0, or only one of y and C given.
    """

    X: Points
    kernel: Kernel = field(default_factory=Linear)
    y: FloatArray | None = None
    C: float | None = None

    name = "MEBDual"
    maximised = True  # the optimal value is r²
    meanings: ClassVar[Mapping[str, str]] = {
        "sum": "||c||^2 - r^2; a_i > 0 marks the points on the sphere",
        "bounds": "the reduced cost of a_i is r^2 - ||phi_i - c||^2: how far inside the ball point i is",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        if (self.y is None) != (self.C is None):
            raise InputError("give both y and C (the labelled kernel of FW (12)) or neither (the ball of the points)", name="C")
        if self.y is not None:
            object.__setattr__(self, "y", as_labels(self.y, X.shape[0]))
            object.__setattr__(self, "C", as_divisor(self.C, "C"))

    @classmethod
    def labelled(cls, X: object, y: object, C: float, kernel: object) -> MEBDual:
        """Return the model of the ball with the kernel K̃_ij = y_i y_j (k_ij + 1) + δ_ij/C of the L2-SVM, FW (12)."""
        return cls(X, kernel, y, C)  # type: ignore[arg-type]

    @cached_property
    def centred(self) -> CentredPoints:
        """Return the points: without labels moved near the origin, which saves digits, since the ball moves with them."""
        return centre_points(self.kernel, self.X) if self.y is None else CentredPoints(self.X)

    @cached_property
    def gram(self) -> KernelGram:
        """Return K of the `centred` points, or K̃ where the points have labels."""
        if self.y is None:  # a ball moves with its points
            return KernelGram(self.centred.points, self.kernel)
        assert self.C is not None
        return KernelGram(self.X, self.kernel, signs=self.y, offset=1.0, ridge=1.0 / self.C)

    @cached_property
    def simplex(self) -> SimplexQP:
        """Return the problem min ½a'Qa + c'a over the simplex, as solvers read it: Q = 2K and c = -diag K; halves are exact."""
        K = self.gram
        double = KernelGram(K.X, K.kernel, K.signs, K.offset, K.ridge, scale=2.0)
        return SimplexQP(double, -0.5 * double.diagonal, np.zeros(K.n, dtype=np.int64), c_error=0.5 * double.diagonal_error)

    def radius(self, values: Mapping[str, FloatArray]) -> float:
        """Return r = √Φ(a): the radius at the optimum, a lower bound of it at any feasible a."""
        return float(np.sqrt(max(-self.simplex.objective(values["a"]), 0.0)))

    def squared_distances(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Return ||φ(x_i) - c||² of every point to the centre c = Σ a_i φ(x_i)."""
        a, view = values["a"], self.simplex
        product = view.gram.product(a)  # 2Ka
        return np.asarray(0.5 * float(a @ product) - view.c - product)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point: its squared distance to the centre, and the squared radius Φ(a) less that."""
        a, distances = values["a"], self.squared_distances(values)
        square = float(a @ distances)
        supports = nonzero_mask(a)
        rows = []
        for i, distance in enumerate(distances):
            slack = square - float(distance)
            kind = "on the sphere" if abs(slack) <= ON_MARGIN * square else "inside" if slack > 0 else "outside"
            kind = f"{kind}, support vector" if supports[i] else kind
            rows.append(PointRow(i, "" if self.y is None else float(self.y[i]), float(distance), slack, float(a[i]), kind))
        surface = None
        if self.y is None and not self.kernel.reads_matrix_rows:
            centre = float(a @ self.gram.product(a))

            def surface(grid: FloatArray) -> FloatArray:
                """||φ(x) - c||² - r²."""
                rows = self.centred.of(grid)
                return self.kernel.diagonal(rows) - 2.0 * self.kernel.matrix(rows, self.centred.points) @ a + centre - square

        return PointExplanation(
            tuple(rows), "weights are a", score="distance^2", margin="r^2 - d^2", X=self.X, surface=surface, pad=0.5
        )

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the radius of the dual point, the radius about its centre that encloses every point, and the number of support
        vectors.
        """
        enclosing = float(np.sqrt(max(self.squared_distances(values).max(), 0.0)))
        return {
            "radius": self.radius(values),
            "enclosing_radius": enclosing,
            "support_vectors": float(nonzero_mask(values["a"]).sum()),
        }

    @property
    def statement(self) -> Statement:
        """Return FW (15) and its primal."""
        n, p = self.X.shape
        labelled = self.y is not None
        entry = "k_ij = y_i y_j (k(x_i,x_j) + 1) + delta_ij/C" if labelled else "k_ij = k(x_i,x_j)"
        return Statement(
            title="Minimum enclosing ball, dual",
            problem_class="concave QP on the unit simplex (a maximum: convex)",
            sense="maximise",
            variables=Line("a", r"a\in\mathbb{R}^n"),
            objective=Line("sum_i a_i k_ii - a'Ka", r"\textstyle\sum_{i=1}^n a_i k_{ii} - a^\top K a"),
            constraints=(
                Line("sum_i a_i = 1", r"\textstyle\sum_{i=1}^n a_i = 1", "sum"),
                Line("a_i >= 0", r"a_i \ge 0,\quad i=1,\dots,n"),
            ),
            sizes=f"n = {count_text(n, 'point')}, p = {p}" + (f", C = {self.C:g}" if labelled else ""),
            notes=(
                f"{entry}, {self.kernel}",
                "optimal value = r^2 (FW (16) prints ||c||^2: erratum)",
            ),
            source="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
            "Frank-Wolfe optimization methods, (15)",
            equivalences=(("L2SVMDual(X, y, C, kernel): the same a where k_ii is constant, FW (17)",) if labelled else ()),
            dual=DualStatement(
                sense="minimise",
                variables=Line("c, r^2", r"c,\,r^2"),
                objective=Line("r^2", r"r^2"),
                constraints=(Line("||phi_i - c||^2 <= r^2", r"\|\varphi_i - c\|^2 \le r^2,\quad i=1,\dots,n"),),
                kkt=(
                    Line("c = sum_i a_i phi_i", r"c = \textstyle\sum_i a_i\varphi_i"),
                    Line("a_i (r^2 - ||phi_i - c||^2) = 0", r"a_i\,\bigl(r^2 - \|\varphi_i - c\|^2\bigr) = 0"),
                ),
            ),
        )


def _objective(model: MEBDual, values: Mapping[str, FloatArray]) -> float:
    a, K = values["a"], model.kernel.matrix(model.X, model.X)
    if model.y is not None and model.C is not None:  # of the points (y_i φ_i, y_i, e_i/√C)
        K = np.outer(model.y, model.y) * (K + 1.0) + np.eye(a.size) / model.C
    return float(a @ np.diag(K) - a @ K @ a)


FORMULATIONS = (
    FormulationInfo(
        MEBDual,
        name="meb",
        summary="dual of the minimum enclosing ball, on the unit simplex",
        reference="Frandi, Nanculef, Gasparo, Lodi, Sartori: Training support vector machines using "
        "Frank-Wolfe optimization methods, (15)",
        data=DataKind.POINTS,
        build=with_kernel(MEBDual),
        objective=_objective,
        parameters=kernel_parameters(),
    ),
)
