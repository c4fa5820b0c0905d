"""`ChebyshevNPSVC`, (8) of Zhang et al., 2024 ("NPSVC++"): K-NPSVC++, hyperplanes of all classes with shared features.

Each class l has an objective J_l, and the largest weighted one is minimised, min max_l ϖ_l J_l (the Chebyshev scalarisation). Its
variables are a hyperplane u_l'ψ = 0 over the features ψ(x) of a kernel, coefficients v_l of learned features P'ψ, and the matrix
P with orthonormal columns, which all classes share; U and V have the rows u_l and v_l, Ψ the rows ψ_i = ψ(x_i). The solver
"kernel-npsvcpp" alternates steps in U (class by class), V, P and multipliers τ_l of the classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, final

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from ....data_names import LABELS_OF_X
from ....errors import InputError, TooLargeError, UnsupportedModelError, count_text, short_text
from ...appraisal import Appraisal
from ...arrays import FloatArray, IntArray, Points, as_classes, as_points, as_positive, as_vector, materialise_limit
from ...explanation import PointExplanation, PointRow
from ...kernels.feature_map import FeatureMap
from ...kernels.kernels import Kernel, Linear, Precomputed, as_kernel
from ...model import Model, decided_codes
from ...program.bridges import psd_factor
from ...program.cones import Bilinear, Nonnegative, RotatedSecondOrder
from ...program.csr_rows import CSRRows
from ...program.form import Block, Constraint, StandardForm
from ...program.lagrangian import Bound
from ...program.quadratic import Quadratic
from ...record import DataKind, FormulationInfo, Parameter, kernel_is_linear, kernel_parameters, with_kernel
from ...rounding import UNIT
from ...statement import Line, Statement
from ..stiefel import StiefelQP, as_orthonormal, orthonormality
from .hinge_quadratic import HingeQuadratic
from .neighbour_graph import neighbour_laplacian
from .quadratic_factors import (
    DowndatedFactor,
    HingeFactor,
    KernelRows,
    PointsFactor,
    Ridge,
    rmatvec_each,
    solve_each,
)


def _root(model: ChebyshevNPSVC) -> FloatArray:
    """Return √μ T with S = T'T."""
    return np.sqrt(model.mu) * psd_factor(Quadratic(matrix=0.5 * (model.S + model.S.T))).toarray()


def _rest(K: int, p: int, d: int, end: int, n: int) -> Constraint:
    """Return the rows U_ki - R_ki = Σ_j P_ij V_kj, one bilinear equality for each class and feature."""
    k, i = (part.ravel() for part in np.indices((K, p)))
    dim, across = 1 + 2 * d, np.arange(d)
    columns = np.column_stack(
        [1 + k * p + i, end + p * d + k * p + i, end + i[:, None] * d + across, 1 + K * p + k[:, None] * d + across]
    )
    rows = dim * np.arange(K * p)[:, None] + np.concatenate([[0, 0], np.arange(1, dim)])
    values = np.broadcast_to(np.concatenate([[1.0, -1.0], np.ones(2 * d)]), rows.shape)
    F = sp.csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=(dim * K * p, n))
    return Constraint("rest", F, np.zeros(dim * K * p), Bilinear(dim, K * p, equality=True))


def _bound_free(model: ChebyshevNPSVC, lower: FloatArray, upper: FloatArray, starts: IntArray) -> None:
    """Set the bounds of the form with P free: every objective is at most that of u = v = 0 and the smoothest P."""
    K, p, d = model.K, model.features.dimension, int(model.d or 1)
    weights, end, sizes = np.asarray(model.weights), int(starts[-1]), np.diff(starts)
    smoothest = 0.5 * model.mu * float(np.maximum(np.linalg.eigvalsh(model.S)[:d], 0.0).sum()) if model.mu else 0.0
    largest = float(np.max(weights * (model.c * sizes + smoothest))) * (1.0 + 1e-9)
    reach = largest / weights
    residual, projected = np.sqrt(2.0 * reach / model.r1), np.sqrt(2.0 * reach / model.r2)
    lower[0], upper[0] = 0.0, largest
    for first, size, bound in (
        (1, p, residual + projected), (1 + K * p, d, projected), (end + p * d, p, residual)
    ):  # fmt: skip
        upper[first : first + K * size] = np.repeat(bound, size)
        lower[first : first + K * size] = -np.repeat(bound, size)
    upper[starts[0] : end] = np.repeat(reach / model.c, sizes)
    P = np.tri(p, d)
    upper[end : end + p * d], lower[end : end + p * d] = P.ravel(), -(P - np.eye(p, d)).ravel()


@final
class ChebyshevPieces:
    """A cache of the matrices that the alternating steps of a `ChebyshevNPSVC` share.

    It keeps the matrices that do not depend on P, for the model and all its ``at(P)``, and those of the last P. Class k has the
    rows A = Ψ_A of the points near which its hyperplane is to lie, and B of all others; r1, r2 and μ are weights in J_l.

    Parameters
    ----------
    model : ChebyshevNPSVC
        The model; its own P is not used, since methods take P as an argument.
    """

    def __init__(self, model: ChebyshevNPSVC) -> None:
        self._model = model
        self._factors: dict[int, HingeFactor | PointsFactor] = {}
        self._lowered: dict[int, DowndatedFactor] = {}
        self._product: tuple[FloatArray, FloatArray] | None = None
        self._projection: tuple[float, StiefelQP] | None = None

    @cached_property
    def features(self) -> FeatureMap:
        """Return the feature map, whose rows are Ψ."""
        model = self._model
        return FeatureMap(model.X, model.kernel, model.ridge, model.offset)

    @cached_property
    def S(self) -> FloatArray:
        """Return Ψ'LΨ of the neighbour graph's Laplacian L; zeros where μ = 0."""
        psi = self.features.rows
        if self._model.mu == 0.0:
            return np.zeros((psi.shape[1], psi.shape[1]))
        spread = neighbour_laplacian(self._model.X, self._model.neighbours) @ psi
        # of a kernel's Ψ, lower triangular, half of the work; .T: in Fortran's order, no copy
        S = psi.T @ spread if self.features.linear else scipy.linalg.blas.dtrmm(1.0, psi.T, spread.T, 1, 0, 1, overwrite_b=1)
        return np.asarray(0.5 * (S + S.T))

    @cached_property
    def _kernel_rows(self) -> KernelRows:
        return KernelRows(self.features.rows, self.features.gram, Ridge(self._model.r1))

    def factor(self, k: int) -> HingeFactor | PointsFactor:
        """Return the factor of H = A'A + r1 I with the rows B of class k; kept, since P does not enter."""
        if k not in self._factors and not self.features.linear:
            self._factors[k] = PointsFactor(self._kernel_rows, self._model.near_points(k))
        if k not in self._factors:
            psi, near_points = self.features.rows, self._model.near_points(k)
            A = psi[near_points]
            H = A.T @ A
            H[np.diag_indices(H.shape[0])] += self._model.r1
            self._factors[k] = HingeFactor(H, psi[~near_points], A, Ridge(self._model.r1))
        return self._factors[k]

    def program(self, k: int, P: FloatArray, v: FloatArray | None) -> HingeQuadratic:
        """Return class k's problem for fixed P: in u at the given v, or, where v is None, in (u, v) at once with v eliminated."""
        model, factor = self._model, self.factor(k)
        m = factor.shape[0]
        constant = self.smoothness(P)
        hinge = (np.ones(m), np.full(m, model.c), np.zeros(m))
        if v is None:
            return HingeQuadratic(self._lower(k, P), np.zeros(P.shape[0]), *hinge, constant)
        centre = P @ v
        constant += 0.5 * model.r1 * float(centre @ centre) + 0.5 * model.r2 * float(v @ v)
        return HingeQuadratic(factor, -model.r1 * centre, *hinge, constant)

    def programs(self, P: FloatArray, V: FloatArray) -> list[HingeQuadratic]:
        """Return every class's problem in u at the given V; over kernel features their H⁻¹b are found together."""
        programs = [self.program(k, P, V[k]) for k in range(self._model.K)]
        points = [program.factor for program in programs if isinstance(program.factor, PointsFactor)]
        if not points:
            return programs
        centres = solve_each(points, np.stack([program.b for program in programs]))
        return [replace(program, centre=centre) for program, centre in zip(programs, centres, strict=True)]

    def points(self, programs: Sequence[HingeQuadratic], lams: Sequence[FloatArray]) -> FloatArray:
        """Return U (K, features) at dual points λ of the problems that `programs` returns, over kernel features together."""
        points = [program.factor for program in programs if isinstance(program.factor, PointsFactor)]
        if not points:
            return np.stack([program.primal(lam) for program, lam in zip(programs, lams, strict=True)])
        centres = np.stack([np.asarray(program.centre) for program in programs])
        return solve_each(points, rmatvec_each(points, lams)) - centres

    def _lower(self, k: int, P: FloatArray) -> DowndatedFactor:
        """H - r1²/(r1 + r2) PP' of class k; over kernel features those of the last P are kept."""
        kappa = self._model.r1**2 / (self._model.r1 + self._model.r2)
        if self.features.linear:
            return DowndatedFactor(self.factor(k), P, kappa)
        if k not in self._lowered or not np.array_equal(self._lowered[k].P, P):
            self._lowered[k] = DowndatedFactor(self.factor(k), P, kappa)
        return self._lowered[k]

    def smoothed_columns(self, P: FloatArray) -> FloatArray:
        """Return SP; the product for the last P is kept, since all classes use it."""
        if self._product is None or not np.array_equal(P, self._product[0]):
            self._product = (P.copy(), self.S @ P)
        return self._product[1]

    def smoothness(self, P: FloatArray) -> float:
        """Return μ/2 Tr(P'SP)."""
        return 0.0 if self._model.mu == 0.0 else 0.5 * self._model.mu * float(np.sum(P * self.smoothed_columns(P)))

    def p_step_problem(self, share: float, E: FloatArray) -> StiefelQP:
        """Return the problem of the P-step, (19): ``share`` is Σ_l τ_l ϖ_l, ``E`` is r1 Σ_l τ_l ϖ_l u_l v_l', H = -share μS."""
        # H is checked and built again only where the share has changed
        if self._projection is None or abs(self._projection[0] - share) > 1e-14 * share:
            self._projection = (share, StiefelQP(-self._model.mu * share * self.S, E))
        return self._projection[1].with_linear(E)


V = TypeVar("V")
#: The points that hyperplane l is near to: those of class l, as printed, or all others, as in the released code.
Orientation: TypeAlias = Literal["one", "rest"]


@dataclass(frozen=True, eq=False, repr=False)
class ChebyshevNPSVC(Model):
    """The classifier K-NPSVC++: min over U, V, P'P = I of max_l ϖ_l J_l, NPSVC++ (8), with features learned by P and shared by
    all classes.

    J_l = ½||Ψ_A u_l||² + c Σ_{i in B}[1 - ψ_i'u_l]_+ + r1/2||u_l - Pv_l||² + r2/2||v_l||² + μ/2 Tr(P'SP), S = Ψ'LΨ,
    where A is class l and B the rest (``orientation="one"``, as printed), or the reverse (``"rest"``, the released code's
    default, which the published accuracies need). f_l(x) = u_l'ψ(x); features in the rows ψ_i of `FeatureMap`.

    Parameters
    ----------
    X : array_like (n, p)
        Rows are samples; the n × n kernel matrix with ``kernel=Precomputed()``.
    y : array_like (n,)
        Class labels of any type.
    c, r1, r2 : float
        c, r1, r2 > 0, weights in J_l as above.
    mu : float
        μ ≥ 0, weight of the neighbour graph.
    d : int, optional
        Columns of P, 1 ≤ d ≤ features; min(2K, features - 1) where it is not given.
    weights : float or array_like (K,)
        ϖ_l > 0, one for all classes or one each.
    orientation : {"one", "rest"}
        Whether hyperplane l is near the points of class l, or near all others.
    kernel : Kernel or callable
        The kernel of the features.
    ridge, offset : float
        ≥ 0, of the features: ψ_i'ψ_j = k(x_i, x_j) + offset + ridge·δ_ij; an offset > 0 is an intercept; no ridge if linear.
    neighbours : int, optional
        Number of neighbours in the graph (A.12); ⌊log2 n⌋ where it is not given.
    P : array_like (features, d), optional
        Fixes the projection: the model is then a second-order cone program.

    Notes
    -----
    With P free the problem is not convex: "kernel-npsvcpp" ends in a stationary point, certified by ``at(P)``, the model with its
    final P; Gurobi and SCIP search small problems for a global optimum. Form: see `compile`. For fixed P it is
    *separable*: the optimum is ρ* = max_l ϖ_l min J_l, so a solver leaves (u_l, v_l) of the classes below the maximum arbitrary;
    ``class_program(l)`` is each class's own problem. Dual (9) for fixed P: the maximum of Σ τ_l ϖ_l min J_l over τ in the unit
    simplex; Σ τ_l ϖ_l J_l at a point that is not optimal in U, V is *not* a bound.

    Raises
    ------
    InputError
        Wrong shapes, one class, a class of one point, parameters out of range, P without orthonormal columns, μ > 0 with a
        precomputed kernel.
    """

    X: Points
    y: npt.NDArray[Any] = LABELS_OF_X
    c: float = 1.0
    r1: float = 1.0
    r2: float = 1.0
    mu: float = 0.0
    d: int | None = None
    weights: FloatArray | float = 1.0
    orientation: Orientation = "one"
    kernel: Kernel = field(default_factory=Linear)
    ridge: float = 1e-3
    offset: float = 0.0
    neighbours: int | None = None
    P: FloatArray | None = None

    name = "ChebyshevNPSVC"
    meanings: ClassVar[Mapping[str, str]] = {
        "objective": "its first entry over varpi_l is tau_l: these sum to 1, and only the largest objectives have one",
        "margin": "for P as found: at most c varpi_l tau_l, reached where the point falls short of the margin",
    }

    def __post_init__(self) -> None:
        X = as_points(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", as_classes(self.y, X.shape[0]))
        for name in ("c", "r1", "r2", "mu", "ridge", "offset"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name, zero=name in ("mu", "ridge", "offset")))
        if self.orientation not in ("one", "rest"):
            raise InputError(f"orientation must be 'one' or 'rest'; it is {short_text(self.orientation)}", name="orientation")
        weights = as_vector(self.weights, self.K, "weights")
        if not (weights > 0).all():
            raise InputError(f"weights must be > 0; the least is {weights.min():g}", name="weights")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        if self.mu > 0 and isinstance(self.kernel, Precomputed):
            raise InputError(
                "mu > 0 needs points for its graph, and a precomputed kernel matrix has none: give mu = 0", name="mu"
            )
        size = self.features.dimension
        d = max(1, min(2 * self.K, size - 1)) if self.d is None else self.d
        if isinstance(d, bool) or not isinstance(d, (int, np.integer)) or not 1 <= d <= size:
            raise InputError(f"d must be an integer between 1 and the {size} features; it is {short_text(self.d)}", name="d")
        object.__setattr__(self, "d", int(d))
        if self.P is not None:
            object.__setattr__(self, "P", as_orthonormal(self.P, "P", (size, int(d))))

    @property
    def certified_by_appraisal(self) -> bool:
        """Return whether P is free, so that points are certified by `appraise`."""
        return self.P is None

    # -- the pieces ---------------------------------------------------------------------------------------------

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        """Return the sorted class labels."""
        return np.unique(self.y)

    @property
    def K(self) -> int:
        """Return the number of classes."""
        return int(self.classes.size)

    @cached_property
    def pieces(self) -> ChebyshevPieces:
        """Return the cache of matrices that the steps of the solver share."""
        return ChebyshevPieces(self)

    @property
    def features(self) -> FeatureMap:
        """Return the feature map, whose rows are Ψ."""
        return self.pieces.features

    @property
    def S(self) -> FloatArray:
        """Return Ψ'LΨ of the neighbour graph's Laplacian L; zeros where μ = 0."""
        return self.pieces.S

    def smoothness(self, P: FloatArray) -> float:
        """Return μ/2 Tr(P'SP)."""
        return self.pieces.smoothness(P)

    def near_points(self, k: int) -> npt.NDArray[np.bool_]:
        """Return the mask of the set A of class number k: the points near which its hyperplane is to lie."""
        inside = np.asarray(self.y == self.classes[k])
        return inside if self.orientation == "one" else ~inside

    def at(self, P: FloatArray) -> ChebyshevNPSVC:
        """Return the same model with P fixed; it shares features, graph and factors."""
        fixed = replace(self, P=P)
        for name in ("pieces", "classes"):
            object.__setattr__(fixed, name, getattr(self, name))
        return fixed

    def at_solution(self, optimised: Mapping[str, Any]) -> Model:
        """Return the model at the P that was found, where P is free."""
        return self.at(optimised["P"]) if self.P is None and "P" in optimised else self

    def class_program(self, k: int, P: FloatArray | None = None, v: FloatArray | None = None) -> HingeQuadratic:
        """Return class k's problem for fixed P: in u at the given v (the u-step, (14)-(16)), or, without v, in (u, v) at once.

        In u: H = A'A + r1 I with the rows Ψ_A as A, linear term -r1 (Pv)'u. **Errata** of the printed dual: (16) and (A.9) lack
        the factor r1 of BQPv, (A.5) has -K_{-l}λ where + is right, (A.6) K_l' for K_{-l}'. At once: v = r1/(r1 + r2) P'u, which
        leaves H = A'A + r1 I - r1²/(r1 + r2) PP'.
        """
        return self.pieces.program(k, self._fixed(P), v)

    def v_step(self, P: FloatArray, U: FloatArray) -> FloatArray:
        """Return V = r1/(r1 + r2) U P, one row for each class, NPSVC++ (17)."""
        return np.asarray(self.r1 / (self.r1 + self.r2) * (U @ P))

    def objectives(self, U: FloatArray, V: FloatArray, P: FloatArray | None = None) -> FloatArray:
        """Return J_l of every class, (K,), at U (K, features), V (K, d)."""
        P = self._fixed(P)
        F = self.features.rows @ U.T
        common = self.smoothness(P)
        J = np.empty(self.K)
        for k in range(self.K):
            near_points = self.near_points(k)
            residual = U[k] - P @ V[k]
            J[k] = 0.5 * float(F[near_points, k] @ F[near_points, k]) + self.c * float(
                np.maximum(1.0 - F[~near_points, k], 0.0).sum()
            )
            J[k] += 0.5 * self.r1 * float(residual @ residual) + 0.5 * self.r2 * float(V[k] @ V[k]) + common
        return J

    def gradients(self, U: FloatArray, V: FloatArray, P: FloatArray) -> FloatArray:
        """Return the Euclidean gradients of ϖ_l J_l in P, ϖ_l (μSP - r1 u_l v_l'), (K, features, d); ||Pv||² is constant as P'P =
        I.
        """
        weights = np.asarray(self.weights)
        shared = 0.0 if self.mu == 0.0 else self.mu * self.pieces.smoothed_columns(P)
        outer = U[:, :, None] * V[:, None, :]
        return np.asarray(weights[:, None, None] * (shared - self.r1 * outer))

    def _fixed(self, P: FloatArray | None) -> FloatArray:
        fixed = self.P if P is None else P
        if fixed is None:
            raise UnsupportedModelError(_FREE)
        return fixed

    # -- values -------------------------------------------------------------------------------------------------

    def values(self, U: FloatArray, V: FloatArray) -> dict[str, FloatArray]:
        """Return the form's point of U, V, with its slacks and ρ = max ϖ_l J_l."""
        F = self.features.rows @ U.T
        xi = [np.maximum(1.0 - F[~self.near_points(k), k], 0.0) for k in range(self.K)]
        rho = np.max(np.asarray(self.weights) * self.objectives(U, V))
        return {"rho": np.asarray(rho), "U": U, "V": V, "xi": np.concatenate(xi)}

    def scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return |f_l(x)| / sqrt(||u_l - Pv_l||² + ||v_l||²) for new rows, one column for each class, NPSVC++ (21).

        Parameters
        ----------
        values : mapping of label to ndarray
            ``U`` (K, features), ``V`` (K, d) and, unless it is fixed, ``P`` (features, d).
        X : array_like (m, p)
            New rows, as the data were given.

        Returns
        -------
        ndarray (m, K)
            Distances from the hyperplanes, ≥ 0.

        Raises
        ------
        InputError
            A class whose hyperplane is u = v = 0.
        """
        U, V_, P = values["U"], values["V"], self._fixed(values.get("P") if self.P is None else None)
        residual = U - V_ @ P.T
        norms = np.sqrt(np.sum(residual * residual, axis=1) + np.sum(V_ * V_, axis=1))
        if not (norms > 0).all():
            raise InputError("the hyperplane of some class is u = v = 0, which has no distance: give a larger c", name="c")
        return np.abs(self.features.project(U.T, X)) / norms

    def _decision_scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """Return `scores` with the sign that makes the largest the class, NPSVC++ (21): minus with ``orientation="one"``."""
        return -self.scores(values, X) if self.orientation == "one" else self.scores(values, X)

    def class_values(self, scores: int) -> npt.NDArray[Any]:
        """Return the names of the classes, else their labels."""
        return super().class_values(scores) if self.class_names else self.classes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the columns of X, which U has coefficients for; none with a kernel, or an offset."""
        return super().feature_names if self.features.linear and self.offset == 0.0 else ()

    @property
    def named_axes(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """Return the names of classes and features of U."""
        return {"U": (tuple(map(str, self.class_values(self.K))), self.feature_names)}

    def transform(self, X: object) -> FloatArray:
        """Return the learned features P'ψ(x) of new rows, (n, d)."""
        return self.features.project(self._fixed(None), X)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> PointExplanation:
        """Return one row for each point: the score of its own class, and its lead over the best score of the others."""
        scores, number = self.scores(values, self.X), np.searchsorted(self.classes, self.y)

        def surface(grid: FloatArray) -> FloatArray:
            return decided_codes(self.decision_function(values, grid)).astype(np.float64)

        turn = 1.0 if self.orientation == "one" else -1.0  # the smallest score wins, or the largest
        own_scores = scores[np.arange(number.size), number]
        signed_scores = turn * scores
        signed_scores[np.arange(number.size), number] = np.inf
        margins = signed_scores.min(axis=1) - turn * own_scores
        rows = []
        for i, m in enumerate(margins.tolist()):
            kind = "misclassified" if m < 0 else "right class"
            rows.append(PointRow(i, self.class_label(self.y[i]), float(own_scores[i]), m, None, kind, m < 0))
        levels = tuple((k + 0.5, "solid") for k in range(self.K - 1))
        plotted = None if self.kernel.reads_matrix_rows else surface
        return PointExplanation(tuple(rows), "no weights of points", score="own score", X=self.X, surface=plotted, levels=levels)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Return the largest and the smallest ϖ_l J_l."""
        J = np.asarray(self.weights) * self.objectives(values["U"], values["V"], values.get("P"))
        return {"largest_objective": float(J.max()), "smallest_objective": float(J.min())}

    # -- the program for fixed P --------------------------------------------------------------------------------

    def view(self, kind: type[V]) -> V | None:
        """Return the model itself while P is free, for the alternating algorithm; None for another kind."""
        return self if kind is ChebyshevNPSVC and self.P is None else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """Return the bytes of K copies of the rows, split between cones and margins, and of P."""
        p = self.features.dimension
        return 12 * self.K * (self.X.shape[0] * p + p * (int(self.d or 1) + 1))

    def check_memory(self) -> None:
        """Raise an error where the kernel matrices would need too much memory: O(n²) for all classes, and |B|² for each.

        With features Ψ of p columns the p × p matrices are the same in number, and each class has two of them.

        Raises
        ------
        TooLargeError
            The matrices need more bytes than `materialise_limit`.
        """
        n, p = self.X.shape[0], self.features.dimension
        outside = [int((~self.near_points(k)).sum()) for k in range(self.K)]
        if self.features.linear:
            numbers = n * p + (3 + 2 * self.K) * p * p + 2 * p * sum(outside)
        else:
            shared = 1 if min(outside) * 2 < n else 0
            numbers = (6 + shared) * n * n + sum(m * m for m in outside) + 2 * max(outside) ** 2
        limit = materialise_limit()
        if 8 * numbers > limit:
            memory_text = f"{8 * numbers:,} bytes ({8 * numbers / 2**30:.1f} GiB)"
            raise TooLargeError(
                f"{self.name} with n = {count_text(n, 'point')} and "
                f"{count_text(p, 'feature')} would need {memory_text} for its matrices; "
                f"the limit is {limit:,} "
                "(half of the usable memory, or MARGINOPT_MAX_BYTES). Give fewer points, or features in place of the kernel: "
                "KernelNPSVC(approximation='nystroem' or 'fourier')",
                name="X",
            )

    def compile(self) -> StandardForm:
        """Return the second-order cone program min ρ over ρ, U (K, features), V (K, d), ξ ≥ 0 (class by class).

        For each class k: ``margin_k``: ψ_i'u_k + ξ_i - 1 ≥ 0 for i in B, and ``objective_k``, a rotated cone
        (ρ/ϖ_k - cΣξ - μ/2 Tr(P'SP), 1, (Ψ_A u_k, √r1 (u_k - Pv_k), √r2 v_k)), which says ϖ_k J_k ≤ ρ.

        With P free, P and R = U - VP' are blocks too, under the bilinear equalities ``rest`` and ``orthonormal``; √μ T P, S =
        T'T, joins the cones' tails. U, V, ξ and R have the bounds that follow from ρ ≤ ρ(u = v = 0). P may be turned by any
        orthogonal matrix, V with it: the bounds of P admit only those with zeros above the diagonal and numbers ≥ 0 on it.
        """
        psi, K, P = self.features.rows, self.K, self.P
        p, d = self.features.dimension, int(self.d or 1)
        sizes = [int((~self.near_points(k)).sum()) for k in range(K)]
        starts = 1 + K * (p + d) + np.concatenate([[0], np.cumsum(sizes)])
        end = int(starts[-1])
        n = end if P is not None else end + p * d + K * p
        root1, root2 = np.sqrt(self.r1), np.sqrt(self.r2)
        constraints: list[Constraint] = []
        graph = None if P is not None or self.mu == 0.0 else CSRRows.from_matrix(np.kron(_root(self), np.eye(d)))
        for k in range(K):
            near_points, m = self.near_points(k), sizes[k]
            u, v, xi = 1 + k * p, 1 + K * p + k * d, int(starts[k])
            margin = CSRRows.hstack([(CSRRows.from_matrix(psi[~near_points]), u), (CSRRows.identity(m), xi)], m, n)
            constraints.append(Constraint(f"margin_{k}", margin.csr, -np.ones(m), Nonnegative(m)))
            weight = float(np.asarray(self.weights)[k])
            terms = [(CSRRows.identity(p).scale_rows(root1), end + p * d + k * p)]
            if P is not None:
                terms = [(CSRRows.identity(p).scale_rows(root1), u), (CSRRows.from_matrix(-root1 * P), v)]
            F = CSRRows.vstack(
                CSRRows.hstack(
                    [(CSRRows.from_matrix(np.array([[1.0 / weight]])), 0), (CSRRows.from_matrix(np.full((1, m), -self.c)), xi)],
                    1,
                    n,
                ),
                CSRRows.hstack([], 1, n),
                CSRRows.hstack([(CSRRows.from_matrix(psi[near_points]), u)], int(near_points.sum()), n),
                CSRRows.hstack(terms, p, n),
                CSRRows.hstack([(CSRRows.identity(d).scale_rows(root2), v)], d, n),
                *([] if graph is None else [CSRRows.hstack([(graph, end)], graph.csr.shape[0], n)]),
            ).csr
            g = np.zeros(F.shape[0])
            g[0], g[1] = 0.0 if P is None else -self.smoothness(P), 1.0
            constraints.append(Constraint(f"objective_{k}", F, g, RotatedSecondOrder(F.shape[0])))
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        lower[starts[0] : end] = 0.0
        blocks = [Block("rho", ()), Block("U", (K, p)), Block("V", (K, d)), Block("xi", (end - int(starts[0]),))]
        if P is None:
            blocks += [Block("P", (p, d)), Block("R", (K, p))]
            constraints += [_rest(K, p, d, end, n), orthonormality("orthonormal", (p, d), n, end)]
            _bound_free(self, lower, upper, starts)
        return StandardForm(
            name=self.name,
            blocks=tuple(blocks),
            q=(np.arange(n) == 0).astype(np.float64),
            constraints=tuple(constraints),
            lower=lower,
            upper=upper,
            integer=np.zeros(n, dtype=bool),
        )

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """Return max_l ϖ_l D_l(λ_l), D_l the dual value of class l's own problem at its multipliers λ_l clipped to their box;
        -inf while P is free.

        Any one class bounds the maximum.
        """
        if multipliers is None or self.P is None:
            return Bound(-np.inf, "no multipliers")
        best = -np.inf
        for k in range(self.K):
            cone, margin = multipliers.get(f"objective_{k}"), multipliers.get(f"margin_{k}")
            if cone is None or margin is None or not cone[0] > 0:
                continue
            lam = {"margin": np.asarray(margin) / float(cone[0])}
            value = float(np.asarray(self.weights)[k]) * self.class_program(k).bound(None, lam).value
            best = max(best, value - 2.0 * UNIT * abs(value))
        return Bound(best, "largest weighted dual value of the classes' own problems, multipliers clipped to their boxes")

    def meaning(self, label: str) -> str:
        """Return the meaning of a constraint's multipliers; each class has constraints ``margin_0``, ``margin_1``, ..., with one
        meaning.
        """
        sentences = {f"{stem}_{k}": sentence for stem, sentence in self.meanings.items() for k in range(self.K)}
        return {**self.meanings, **sentences}.get(label, "")

    def multipliers(self, values: Mapping[str, FloatArray], k: int, lam: FloatArray) -> tuple[dict[str, FloatArray], FloatArray]:
        """Return multipliers and reduced costs of the form with all weight on class k, from λ of its own problem; they prove the
        optimum if ϖ_k J_k is the largest.
        """
        P, other_counts = self._fixed(None), [int((~self.near_points(j)).sum()) for j in range(self.K)]
        start = 1 + self.K * sum(P.shape)
        z, zeta = {}, np.zeros(start + sum(other_counts))
        for j, m in enumerate(other_counts):
            cone = np.zeros(2 + self.X.shape[0] - m + sum(P.shape))
            margin = np.zeros(m)
            if j == k:
                weight, near_points = float(np.asarray(self.weights)[k]), self.near_points(k)
                u, v = values["U"][k], values["V"][k]
                c = np.concatenate(
                    [self.features.rows[near_points] @ u, np.sqrt(self.r1) * (u - P @ v), np.sqrt(self.r2) * np.asarray(v)]
                )
                cone = np.concatenate([[weight, 0.5 * weight * float(c @ c)], -weight * c])
                margin = weight * lam
                first = start + sum(other_counts[:k])
                zeta[first : first + m] = weight * (self.c - lam)
            z[f"objective_{j}"], z[f"margin_{j}"] = cone, margin
        return z, zeta

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Return objective, residuals and bound of a point without the form: it may be too large, or not convex with P free."""
        P = values["P"] if self.P is None else self.P
        objectives, bound = self.objectives(values["U"], values["V"], P), self.bound(None, multipliers)
        F = self.features.rows @ values["U"].T
        short = np.concatenate([1.0 - F[~self.near_points(k), k] for k in range(self.K)]) - values["xi"]
        high = float(np.max(np.asarray(self.weights) * objectives)) - float(values["rho"])
        violations = {"margin": float(max(short.max(), 0.0)), "objective": max(high, 0.0)}
        residual = max(violations["margin"] / 2.0, violations["objective"] / (1.0 + abs(float(values["rho"]))))
        argument = bound.argument
        if self.P is None:
            violations["orthonormal"] = float(np.abs(P.T @ P - np.eye(P.shape[1])).max())
            residual, argument = max(residual, violations["orthonormal"]), "nonconvex: no bound"
        return Appraisal(float(values["rho"]), residual, violations, bound=bound.value, argument=argument)

    @property
    def statement(self) -> Statement:
        """Return NPSVC++ (8) as printed."""
        near_class, far_class = ("class l", "the others") if self.orientation == "one" else ("the others", "class l")
        spread = (" + mu/2 Tr(P'SP)", r" + \tfrac\mu2\operatorname{Tr}(P^\top SP)") if self.mu else ("", "")
        return Statement(
            title="Multi-objective nonparallel classifier (K-NPSVC++), Chebyshev problem",
            problem_class="nonconvex: P on the Stiefel manifold" if self.P is None else "second-order cone program (P fixed)",
            sense="minimise",
            variables=Line("rho, U, V" + (", P" if self.P is None else ""), r"\rho, U, V" + (", P" if self.P is None else "")),
            objective=Line("rho", r"\rho"),
            constraints=(
                Line(
                    "w_l [1/2 ||Psi_A u_l||^2 + c sum_B (1 - psi_i'u_l)_+ + r1/2 ||u_l - P v_l||^2 "
                    f"+ r2/2 ||v_l||^2{spread[0]}] <= rho",
                    r"\varpi_l\bigl[\tfrac12\|\Psi_A u_l\|^2 + c\textstyle\sum_{B}[1-\psi_i^\top u_l]_+"
                    r" + \tfrac{r_1}2\|u_l - Pv_l\|^2 \\ &\qquad"
                    rf" + \tfrac{{r_2}}2\|v_l\|^2{spread[1]}\bigr] \le \rho,\ l=1,\dots,K",
                    "objective_l",
                ),
                Line("P'P = I" + ("" if self.P is None else ", given"), r"P^\top P = I"),
            ),
            sizes=f"n = {count_text(self.X.shape[0], 'point')}, K = {count_text(self.K, 'class', 'classes')}, "
            f"{count_text(self.features.dimension, 'feature')}, d = {self.d}, "
            f"c = {self.c:g}, r1 = {self.r1:g}, r2 = {self.r2:g}" + (f", mu = {self.mu:g}" if self.mu else ""),
            notes=(
                f"orientation {self.orientation!r}: A is {near_class}, B is {far_class}; {self.kernel}",
                "for fixed P: separable, rho = max_l w_l min J_l; dual: sum_l tau_l w_l min J_l over the simplex",
            ),
            source="Zhang, Lai, Zhou, Liang: NPSVC++, (8)-(9), (13)",
        )


_FREE = (
    "ChebyshevNPSVC with P free has no multipliers, and no classifier without P: solve(model, 'kernel-npsvcpp') finds one, and "
    "model.at_solution(result.optimised_parameters) is the model at that"
)


FORMULATIONS = (
    FormulationInfo(
        ChebyshevNPSVC,
        name="chebyshev",
        summary="hyperplanes of all classes at once, with features learned and shared",
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, (8)",
        data=DataKind.CLASSES,
        build=with_kernel(ChebyshevNPSVC),
        parameters=(
            Parameter("c", "weight of the other classes' losses", float, 1.0),
            Parameter("r1", "weight of what the projection leaves", float, 1.0),
            Parameter("r2", "weight of the projected norm", float, 1.0),
            Parameter("mu", "μ, weight of the neighbour graph", float, 0.0),
            Parameter("d", "columns of the projection; min(2K, features - 1) where it is not given", int),
            Parameter("orientation", "whose points are near hyperplane l", str, "one", ("one", "rest")),
            *kernel_parameters("linear"),
        ),
        intercept=kernel_is_linear,
    ),
)
