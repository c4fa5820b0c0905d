"""`StiefelQP`, a quadratic over matrices with orthonormal columns (Stiefel manifold): (19) of Zhang et al., 2024 ("NPSVC++").

It is the step in the projection P of `ChebyshevNPSVC`. `polar` projects on the manifold, `stiefel_gradient` on its tangent
spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from ..appraisal import Appraisal
from ..arrays import FloatArray, as_array
from ..model import Model
from ..program.cones import Bilinear
from ..program.form import Block, Constraint, StandardForm
from ..program.quadratic import Quadratic
from ..record import Arrays, DataKind, FormulationInfo
from ..statement import Line, Statement
from ..views import StiefelProblem

V = TypeVar("V")


def polar(M: FloatArray) -> FloatArray:
    """Return the nearest matrix with orthonormal columns, M (M'M)^-½: the maximiser of <M, P> over P'P = I.

    By the d × d Gram matrix, n d² operations; by the SVD of M where its singular values differ by a factor of 1e5 or more. Where
    M has no full column rank any completion maximises; the SVD gives one.

    Parameters
    ----------
    M : ndarray (n, d)
        d ≤ n; the maximiser is unique for rank d.

    Returns
    -------
    ndarray (n, d)
        A matrix with orthonormal columns.
    """
    values, vectors = np.linalg.eigh(M.T @ M)
    if values[0] > 1e-10 * values[-1]:
        P = M @ ((vectors / np.sqrt(values)) @ vectors.T)
        # one Newton-Schulz step removes what the Gram matrix lost
        return np.asarray(P @ (1.5 * np.eye(M.shape[1]) - 0.5 * (P.T @ P)))
    left, _, right = np.linalg.svd(M, full_matrices=False)
    return np.asarray(left @ right)


def stiefel_gradient(P: FloatArray, G: FloatArray) -> FloatArray:
    """Return the Riemannian gradient G - ½P(P'G + G'P) of a function with Euclidean gradient G (embedded metric)."""
    S = P.T @ G
    return np.asarray(G - 0.5 * (P @ (S + S.T)))


def as_orthonormal(P: object, name: str, shape: tuple[int, int]) -> FloatArray:
    """Check a matrix of this shape with P'P = I, to 1e-8, and return it as float64."""
    matrix = as_array(P, name)
    if matrix.shape != shape or not np.isfinite(matrix).all():
        raise InputError(f"{name} must be a finite matrix of shape {shape}; its shape is {matrix.shape}", name=name)
    deviation = float(np.abs(matrix.T @ matrix - np.eye(shape[1])).max())
    if deviation > 1e-8:
        raise InputError(f"{name} must have orthonormal columns; {name}'{name} differs from I by {deviation:.2g}", name=name)
    return matrix


def orthonormality(label: str, shape: tuple[int, int], width: int, first: int = 0) -> Constraint:
    """Return the constraint P'P = I as bilinear equalities p_i'p_j = δ_ij, i ≤ j.

    P has the given shape (n, d) and lies, row by row, from variable ``first`` on of the ``width`` variables of the form.
    """
    n, d = shape
    i, j = np.triu_indices(d)
    dim, entries = 1 + 2 * n, first + d * np.arange(n)
    columns = np.hstack([entries + i[:, None], entries + j[:, None]])
    rows = dim * np.arange(i.size)[:, None] + np.arange(1, dim)
    F = sp.csr_array((np.ones(rows.size), (rows.ravel(), columns.ravel())), shape=(dim * i.size, width))
    g = np.zeros(dim * i.size)
    g[::dim] = i == j
    return Constraint(label, F, g, Bilinear(dim, i.size, equality=True))


@dataclass(frozen=True, eq=False, repr=False)
class StiefelQP(Model):
    """The problem max Tr(P'HP) + 2Tr(P'E) over n × d matrices with P'P = I, NPSVC++ (19); stated and reported as a minimum.

    Nonconvex: an answer is a stationary point. For E = 0 the maximum is the sum of the d largest eigenvalues of H. No P is
    feasible for d > n.

    Parameters
    ----------
    H : array_like (n, n)
        Matrix of the quadratic, symmetric; definite or not.
    E : array_like (n, d)
        Matrix of the linear term; 1 ≤ d ≤ n.

    Notes
    -----
    Form: the objective is a quadratic of the block ``P`` (n, d); ``orthonormal`` are the bilinear equalities p_i'p_j = δ_ij,
    i ≤ j: Gurobi, SCIP and nonlinear solvers take it. The certificate holds the objective -Tr(P'HP) - 2Tr(P'E), the residual
    max |P'P - I|, and as dual residual ||grad|| / max(1, ||2(HP + E)||), grad the Riemannian gradient (`stiefel_gradient`).

    Raises
    ------
    InputError
        Shapes that do not fit, H not symmetric, values that are not finite, d > n.
    """

    H: FloatArray
    E: FloatArray

    name = "StiefelQP"
    meanings: ClassVar[Mapping[str, str]] = {
        "orthonormal": "no multipliers: the symmetric part of P'(HP + E) is theirs, up to its sign",
    }

    certified_by_appraisal = True  # no multipliers certify a point

    def __post_init__(self) -> None:
        H, E = as_array(self.H, "H"), as_array(self.E, "E")
        if H.ndim != 2 or H.shape[0] != H.shape[1] or E.ndim != 2 or E.shape[0] != H.shape[0]:
            raise InputError(f"H must be n × n and E n × d; they are {H.shape} and {E.shape}", name="H")
        if not 1 <= E.shape[1] <= E.shape[0]:
            raise InputError(f"P needs 1 ≤ d ≤ n orthonormal columns; n = {E.shape[0]}, d = {E.shape[1]}", name="d")
        if not (np.isfinite(H).all() and np.isfinite(E).all()):
            raise InputError("H and E must be finite", name="H")
        if np.abs(H - H.T).max() > 1e-10 * max(float(np.abs(H).max()), 1.0):
            raise InputError(f"H must be symmetric; it differs from its transpose by {np.abs(H - H.T).max():.3g}", name="H")
        object.__setattr__(self, "H", 0.5 * (H + H.T))
        object.__setattr__(self, "E", E)

    def with_linear(self, E: FloatArray) -> StiefelQP:
        """Return the problem with another E; H is shared and not checked again.

        Parameters
        ----------
        E : ndarray (n, d)

        Returns
        -------
        StiefelQP

        Raises
        ------
        InputError
            E has another shape, or entries that are not finite.
        """
        if E.shape != self.E.shape or not np.isfinite(E).all():
            raise InputError(f"E must be a finite matrix of shape {self.E.shape}; its shape is {E.shape}", name="E")
        other = object.__new__(StiefelQP)
        object.__setattr__(other, "H", self.H)
        object.__setattr__(other, "E", E)
        return other

    @cached_property
    def problem(self) -> StiefelProblem:
        """Return the data that algorithms on the manifold read."""
        return StiefelProblem(self.H, self.E)

    def view(self, kind: type[V]) -> V | None:
        """Return the `StiefelProblem` view, None for another kind."""
        return self.problem if kind is StiefelProblem else None  # type: ignore[return-value]

    @property
    def form_bytes(self) -> int:
        """Return the bytes of the objective's matrix and the rows."""
        n, d = self.E.shape
        return 12 * d * n * (n + d + 1)

    def zero_objective_point(self) -> None:
        """Return None: the origin has no orthonormal columns."""

    def compile(self) -> StandardForm:
        """Return a quadratic objective under bilinear equalities, with the bounds |P_ij| ≤ 1 that searches over boxes need."""
        n, d = self.E.shape
        ones = np.ones(n * d)
        return StandardForm(
            name=self.name,
            blocks=(Block("P", (n, d)),),
            q=-2.0 * self.E.ravel(),
            constraints=(orthonormality("orthonormal", (n, d), n * d),),
            lower=-ones,
            upper=ones,
            integer=np.zeros(n * d, dtype=bool),
            quadratic=Quadratic(matrix=sp.csc_array(sp.kron(-2.0 * self.H, sp.eye_array(d)))),
        )

    def stationarity(self, P: FloatArray) -> float:
        """Return the relative gradient norm ||grad|| / max(1, ||2(HP + E)||), in Frobenius norms."""
        problem, size = self.problem.scaled()
        G = problem.gradient(P)
        return float(np.linalg.norm(stiefel_gradient(P, G)) / max(1.0 / size, float(np.linalg.norm(G))))

    def appraise(self, values: Mapping[str, FloatArray], multipliers: Mapping[str, FloatArray] | None) -> Appraisal:
        """Return objective, violation of P'P = I, and relative Riemannian gradient of P."""
        P = np.asarray(values["P"], dtype=np.float64)
        deviation = float(np.abs(P.T @ P - np.eye(P.shape[1])).max())
        return Appraisal(
            objective=-self.problem.objective(P),
            primal_residual=deviation,
            violations={"orthonormal": deviation},
            stationarity=self.stationarity(P),
            argument="nonconvex: no bound",
        )

    @property
    def statement(self) -> Statement:
        """Return NPSVC++ (19)."""
        n, d = self.E.shape
        return Statement(
            title="Quadratic over matrices with orthonormal columns",
            problem_class="nonconvex: Stiefel manifold",
            sense="minimise",
            variables=Line("P", r"P\in\mathbb{R}^{n\times d}"),
            objective=Line("-Tr(P'HP) - 2 Tr(P'E)", r"-\operatorname{Tr}(P^\top H P) - 2\operatorname{Tr}(P^\top E)"),
            constraints=(Line("P'P = I", r"P^\top P = I", "orthonormal"),),
            sizes=f"n = {n}, d = {d}",
            notes=("an answer is a stationary point: its Riemannian gradient is the certificate",),
            source="Zhang, Lai, Zhou, Liang: NPSVC++, (19)",
        )


def _small(rng: np.random.Generator) -> Arrays:
    H = rng.normal(size=(6, 6))
    return {"H": H + H.T, "E": rng.normal(size=(6, 2))}


def _objective(model: StiefelQP, values: Mapping[str, FloatArray]) -> float:
    return -model.problem.objective(values["P"])


FORMULATIONS = (
    FormulationInfo(
        StiefelQP,
        name="stiefel",
        summary="quadratic over matrices with orthonormal columns",
        reference="Zhang, Lai, Zhou, Liang: NPSVC++, (19)",
        data=DataKind.ARRAYS,
        objective=_objective,
        arrays=("H", "E"),
        small=_small,
        also=("polar",),
    ),
)
