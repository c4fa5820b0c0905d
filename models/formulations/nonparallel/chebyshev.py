"""The multi-objective nonparallel classifier K-NPSVC++: its Chebyshev problem (8), the dual (9), and what a point of it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ....errors import InputError, TooLargeError, UnsupportedModelError
from ...arrays import FloatArray, Points, as_array, as_points, as_positive, as_vector
from ...kernel_names import kernel_parameters, named_kernel
from ...kernels.feature_map import FeatureMap
from ...kernels.kernels import Kernel, Linear, Precomputed, as_kernel
from ...looks.explained import Explained, PointRow
from ...memory import materialise_limit
from ...model import Appraisal, Bound, Model
from ...program.form import StandardForm
from ...record import Arrays, Chosen, Data, FormulationInfo, Parameter
from ...rounding import UNIT
from ...statement import Statement
from .chebyshev_form import chebyshev_form, chebyshev_multipliers, chebyshev_statement
from .chebyshev_steps import ChebyshevPieces
from .class_labels import as_classes
from .hinge_quadratic import HingeQuadratic

__all__ = ["ChebyshevNPSVC", "Orientation"]

V = TypeVar("V")
#: Whose points are near hyperplane l: those of class l, as printed, or all others, as in the released code.
Orientation: TypeAlias = Literal["one", "rest"]


@dataclass(frozen=True, eq=False, repr=False)
class ChebyshevNPSVC(Model):
    """min over U, V, P'P = I of max_l ϖ_l J_l, NPSVC++ (8), with features learned by P and shared by all classes.

    J_l = ½||Ψ_A u_l||² + c Σ_{i in B}[1 - ψ_i'u_l]_+ + r1/2||u_l - Pv_l||² + r2/2||v_l||² + μ/2 Tr(P'SP), S = Ψ'LΨ,
    where A is class l and B the rest (``orientation="one"``, as printed), or the reverse (``"rest"``, the released code's
    default, which the published accuracies need). f_l(x) = u_l'ψ(x); features in the rows ψ_i of `FeatureMap`.

    Parameters
    ----------
    X : array_like (n, p)
    labels : array_like (n,)
    c, r1, r2 : float
        > 0.
    mu : float
        μ ≥ 0.
    d : int, optional
        Columns of P, 1 ≤ d ≤ features; min(2K, features - 1) where it is not given.
    weights : array_like (K,)
        ϖ_l > 0.
    orientation : {"one", "rest"}
    kernel : Kernel or callable
    ridge, offset : float
        Of `FeatureMap`.
    neighbours : int, optional
        Of the graph (A.12), ⌊log2 n⌋ where it is not given.
    P : array_like (features, d), optional
        Fixes the projection: the model is then a second-order cone program.

    Notes
    -----
    With P free the problem is not convex and has no form: "kernel-npsvcpp" solves it, and its answer is certified by ``at(P)``,
    the model with its final P. Form for fixed P: see `chebyshev_form`. It is *separable*: ρ* = max_l ϖ_l min J_l, so a solver
    leaves (u_l, v_l) of the other classes arbitrary; ``class_program(l)`` is each class's own problem. Dual (9) for fixed P:
    Σ τ_l ϖ_l min J_l over the simplex; Σ τ_l ϖ_l J_l at a point that is not optimal in U, V is *not* a bound.

    Raises
    ------
    InputError
        Wrong shapes, one class, a class of one point, parameters out of range, P without orthonormal columns.
    """

    X: Points
    labels: npt.NDArray[Any]
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
        object.__setattr__(self, "labels", as_classes(self.labels, X.shape[0]))
        for name in ("c", "r1", "r2", "mu", "ridge", "offset"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name, zero=name in ("mu", "ridge", "offset")))
        if self.orientation not in ("one", "rest"):
            raise InputError(f"orientation must be 'one' or 'rest'; it is {self.orientation!r}")
        weights = as_vector(self.weights, self.K, "weights")
        if not (weights > 0).all():
            raise InputError(f"weights must be > 0; the least is {weights.min():g}")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "kernel", as_kernel(self.kernel, X))
        if self.mu > 0 and isinstance(self.kernel, Precomputed):
            raise InputError("mu > 0 needs points for its graph, and a precomputed kernel matrix has none: give mu = 0")
        size = self.features.features
        d = max(1, min(2 * self.K, size - 1)) if self.d is None else self.d
        if isinstance(d, bool) or not isinstance(d, (int, np.integer)) or not 1 <= d <= size:
            raise InputError(f"d must be an integer between 1 and the {size} features; it is {self.d!r}")
        object.__setattr__(self, "d", int(d))
        if self.P is not None:
            object.__setattr__(self, "P", _orthonormal(self.P, size, int(d)))

    # -- the pieces ---------------------------------------------------------------------------------------------

    @cached_property
    def classes(self) -> npt.NDArray[Any]:
        """Sorted class labels."""
        return np.unique(self.labels)

    @property
    def K(self) -> int:
        """Number of classes."""
        return int(self.classes.size)

    @cached_property
    def pieces(self) -> ChebyshevPieces:
        """What every P shares, and what the alternating steps keep."""
        return ChebyshevPieces(self)

    @property
    def features(self) -> FeatureMap:
        """Ψ."""
        return self.pieces.features

    @property
    def S(self) -> FloatArray:
        """Ψ'LΨ; zeros where μ = 0."""
        return self.pieces.S

    def smoothness(self, P: FloatArray) -> float:
        """μ/2 Tr(P'SP)."""
        return self.pieces.smoothness(P)

    def near(self, k: int) -> npt.NDArray[np.bool_]:
        """Points of A for class number k: those that its hyperplane is to be near."""
        inside = np.asarray(self.labels == self.classes[k])
        return inside if self.orientation == "one" else ~inside

    def at(self, P: FloatArray) -> ChebyshevNPSVC:
        """The same model with P fixed; shares features, graph and factors."""
        fixed = replace(self, P=P)
        for name in ("pieces", "classes"):
            object.__setattr__(fixed, name, getattr(self, name))
        return fixed

    def settled(self, moved: Mapping[str, Any]) -> Model:
        """The model at the P that was found, where P is free."""
        return self.at(moved["P"]) if self.P is None and "P" in moved else self

    def class_program(self, k: int, P: FloatArray | None = None, v: FloatArray | None = None) -> HingeQuadratic:
        """Class k's problem for fixed P: in u at the given v (the u-step, (14)-(16)), or in (u, v) at once, v eliminated.

        In u: H = A'A + r1 I, linear term -r1 (Pv)'u. **Errata** of the printed dual: (16) and (A.9) lack the factor r1 of BQPv,
        (A.5) has -K_{-l}λ where + is right, (A.6) K_l' for K_{-l}'. At once: v = r1/(r1 + r2) P'u, which leaves
        H = A'A + r1 I - r1²/(r1 + r2) PP'.
        """
        return self.pieces.program(k, self._fixed(P), v)

    def v_step(self, P: FloatArray, U: FloatArray) -> FloatArray:
        """V = r1/(r1 + r2) U P, one row for each class, NPSVC++ (17)."""
        return np.asarray(self.r1 / (self.r1 + self.r2) * (U @ P))

    def objectives(self, U: FloatArray, V: FloatArray, P: FloatArray | None = None) -> FloatArray:
        """J_l at U (K, features), V (K, d)."""
        P = self._fixed(P)
        F = self.features.rows @ U.T
        common = self.pieces.smoothness(P)
        J = np.empty(self.K)
        for k in range(self.K):
            near = self.near(k)
            rest = U[k] - P @ V[k]
            J[k] = 0.5 * float(F[near, k] @ F[near, k]) + self.c * float(np.maximum(1.0 - F[~near, k], 0.0).sum())
            J[k] += 0.5 * self.r1 * float(rest @ rest) + 0.5 * self.r2 * float(V[k] @ V[k]) + common
        return J

    def gradients(self, U: FloatArray, V: FloatArray, P: FloatArray) -> FloatArray:
        """Euclidean gradients of ϖ_l J_l in P, ϖ_l (μSP - r1 u_l v_l'), (K, features, d); ||Pv||² is constant as P'P = I."""
        weights = np.asarray(self.weights)
        shared = np.zeros(P.shape) if self.mu == 0.0 else self.mu * self.pieces.smoothed(P)
        outer = U[:, :, None] * V[:, None, :]
        return np.asarray(weights[:, None, None] * (shared - self.r1 * outer))

    def _fixed(self, P: FloatArray | None) -> FloatArray:
        fixed = self.P if P is None else P
        if fixed is None:
            raise UnsupportedModelError(_FREE)
        return fixed

    # -- values -------------------------------------------------------------------------------------------------

    def values(self, U: FloatArray, V: FloatArray) -> dict[str, FloatArray]:
        """The form's point of U, V: its slacks, and ρ = max ϖ_l J_l."""
        F = self.features.rows @ U.T
        xi = [np.maximum(1.0 - F[~self.near(k), k], 0.0) for k in range(self.K)]
        rho = np.max(np.asarray(self.weights) * self.objectives(U, V))
        return {"rho": np.asarray(rho), "U": U, "V": V, "xi": np.concatenate(xi)}

    def scores(self, values: Mapping[str, FloatArray], X: object) -> FloatArray:
        """|f_l(x)| / sqrt(||u_l - Pv_l||² + ||v_l||²) for new rows, one column for each class, NPSVC++ (21)."""
        U, V_, P = values["U"], values["V"], self._fixed(None)
        rest = U - V_ @ P.T
        norms = np.sqrt(np.sum(rest * rest, axis=1) + np.sum(V_ * V_, axis=1))
        if not (norms > 0).all():
            raise InputError("the hyperplane of some class is u = v = 0, which has no distance: give a larger c")
        return np.abs(self.features.project(U.T, X)) / norms

    def predict(self, values: Mapping[str, FloatArray], X: object) -> npt.NDArray[Any]:
        """The class with the smallest score, NPSVC++ (21); with ``orientation="rest"`` the one with the largest."""
        scores = self.scores(values, X)
        return self.classes[np.argmin(scores, axis=1) if self.orientation == "one" else np.argmax(scores, axis=1)]

    def transform(self, X: object) -> FloatArray:
        """The learned features P'ψ(x) of new rows, (n, d)."""
        return self.features.project(self._fixed(None), X)

    def explain_points(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Explained:
        """Score of the own class, and by how much it beats the best of the others."""
        scores = self.scores(values, self.X)
        turn = 1.0 if self.orientation == "one" else -1.0  # the smallest score wins, or the largest
        number = np.searchsorted(self.classes, self.labels)
        own = scores[np.arange(number.size), number]
        rest = turn * scores
        rest[np.arange(number.size), number] = np.inf
        margins = rest.min(axis=1) - turn * own
        rows = []
        for i, m in enumerate(margins.tolist()):
            kind = "misclassified" if m < 0 else "right class"
            rows.append(PointRow(i, str(self.labels[i]), float(own[i]), m, None, kind, m < 0))

        def surface(grid: FloatArray) -> FloatArray:
            return np.searchsorted(self.classes, self.predict(values, grid)).astype(np.float64)

        levels = tuple((k + 0.5, "solid") for k in range(self.K - 1))
        drawn = None if self.kernel.of_rows else surface
        return Explained(tuple(rows), "no weights of points", score="own score", X=self.X, surface=drawn, levels=levels)

    def summary(self, values: Mapping[str, FloatArray]) -> dict[str, float]:
        """Largest and smallest ϖ_l J_l."""
        J = np.asarray(self.weights) * self.objectives(values["U"], values["V"])
        return {"largest_objective": float(J.max()), "smallest_objective": float(J.min())}

    # -- the program for fixed P --------------------------------------------------------------------------------

    def view(self, kind: type[V]) -> V | None:
        """The model itself while P is free."""
        return self if kind is ChebyshevNPSVC and self.P is None else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """K copies of the rows, split between cones and margins, and of P."""
        p = self.features.features
        return 12 * self.K * (self.X.shape[0] * p + p * (int(self.d or 1) + 1))

    def check_memory(self) -> None:
        """Refuse where the matrices of the alternating steps would not fit: O(n²) for all classes, and |B|² for each.

        With features Ψ of p columns the p × p matrices are the same in number, and each class has two of them.

        Raises
        ------
        TooLargeError
            Says how many bytes they would need, and what to do.
        """
        n, p = self.X.shape[0], self.features.features
        outside = [int((~self.near(k)).sum()) for k in range(self.K)]
        if self.features.linear:
            numbers = n * p + (3 + 2 * self.K) * p * p + 2 * p * sum(outside)
        else:
            shared = 1 if min(outside) * 2 < n else 0
            numbers = (6 + shared) * n * n + sum(m * m for m in outside) + 2 * max(outside) ** 2
        limit = materialise_limit()
        if 8 * numbers > limit:
            need = f"{8 * numbers:,} bytes ({8 * numbers / 2**30:.1f} GiB)"
            raise TooLargeError(
                f"{self.name} with n = {n} points and {p} features would need {need} for its matrices; the limit is {limit:,} "
                "(half of this machine's memory, or MARGINOPT_MAX_BYTES). Give fewer points, or features in place of the kernel: "
                "KernelNPSVC(approximation='nystroem' or 'fourier')"
            )

    def compile(self) -> StandardForm:
        """The second-order cone program of `chebyshev_form`.

        Raises
        ------
        UnsupportedModelError
            P is free.
        """
        return chebyshev_form(self, self._fixed(None))

    def bound(self, x: FloatArray | None, multipliers: Mapping[str, FloatArray] | None) -> Bound:
        """max_l ϖ_l D_l(λ_l): the dual value of each class's own problem at multipliers clipped to their boxes."""
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
        """Each class has constraints of its own, ``margin_0``, ``margin_1``, ..., with one meaning."""
        own = {f"{stem}_{k}": sentence for stem, sentence in self.meanings.items() for k in range(self.K)}
        return {**self.meanings, **own}.get(label, "")

    def multipliers(self, values: Mapping[str, FloatArray], k: int, lam: FloatArray) -> tuple[dict[str, FloatArray], FloatArray]:
        """Multipliers and reduced costs of the form, all weight on class k and λ of its own problem: complete if k is maximal."""
        return chebyshev_multipliers(self, self._fixed(None), values, k, lam)

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal | None:
        """Objective, slacks and bound without the form, for models too large for it."""
        if self.P is None:
            return None
        F = self.features.rows @ values["U"].T
        short = np.concatenate([1.0 - F[~self.near(k), k] for k in range(self.K)]) - values["xi"]
        high = float(np.max(np.asarray(self.weights) * self.objectives(values["U"], values["V"]))) - float(values["rho"])
        violations = {"margin": float(max(short.max(), 0.0)), "objective": max(high, 0.0)}
        bound = self.bound(None, multipliers)
        return Appraisal(
            objective=float(values["rho"]),
            primal_residual=max(violations["margin"] / 2.0, violations["objective"] / (1.0 + abs(float(values["rho"])))),
            violations=violations,
            bound=bound.value,
            argument=bound.argument,
        )

    @property
    def statement(self) -> Statement:
        """NPSVC++ (8)."""
        return chebyshev_statement(self)


_FREE = (
    "ChebyshevNPSVC with P free is not convex and has no conic form: solve(model, 'kernel-npsvcpp') finds P; model.at(P) is the "
    "second-order cone program for a fixed one"
)


def _orthonormal(P: object, size: int, d: int) -> FloatArray:
    given = as_array(P, "P")
    if given.shape != (size, d) or not np.isfinite(given).all():
        raise InputError(f"P must be a finite matrix of shape ({size}, {d}); its shape is {given.shape}")
    off = float(np.abs(given.T @ given - np.eye(d)).max())
    if off > 1e-8:
        raise InputError(f"P must have orthonormal columns; P'P differs from I by {off:.2g}")
    return given


def _build(arrays: Arrays, chosen: Chosen) -> ChebyshevNPSVC:
    return ChebyshevNPSVC(
        arrays["X"],
        arrays["y"],
        c=chosen["c"],
        r1=chosen["r1"],
        r2=chosen["r2"],
        mu=chosen["mu"],
        d=chosen["d"],
        orientation=chosen["orientation"],
        kernel=named_kernel(chosen),
    )


def _linear(chosen: Chosen) -> bool:
    return bool(chosen["kernel"] == "linear")


FORMULATIONS = (
    FormulationInfo(
        ChebyshevNPSVC,
        name="chebyshev",
        summary="hyperplanes of all classes at once, with features learned and shared",
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, (8)",
        data=Data.CLASSES,
        build=_build,
        parameters=(
            Parameter("c", "weight of the other classes' losses", float, 1.0),
            Parameter("r1", "weight of what the projection leaves", float, 1.0),
            Parameter("r2", "weight of the projected norm", float, 1.0),
            Parameter("mu", "μ, weight of the neighbour graph", float, 0.0),
            Parameter("d", "columns of the projection; min(2K, features - 1) where it is not given", int),
            Parameter("orientation", "whose points are near hyperplane l", str, "one", ("one", "rest")),
            *kernel_parameters("linear"),
        ),
        intercept=_linear,
    ),
)
