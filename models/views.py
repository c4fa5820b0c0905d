"""Structural views: what hand-written algorithms read in place of the standard form.

A model exposes the views that it has through ``model.view(kind)``; a solver declares the kinds that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray, SingleArray
from .kernels.gram import GramOperator
from .linear_view import LinearProblem
from .margin_view import MarginProblem

__all__ = [
    "BoxPoint", "BoxQP", "CoarseFactor", "ConicProblem", "LinearProblem", "MarginProblem", "SimplexQP", "StiefelProblem", "View",
    "ZeroOneProblem",
]  # fmt: skip

# The view of problems over boxes: min ½a'(ZZ' + D)a + q'a, its factor in single precision, and what its points mean.


@dataclass(frozen=True, eq=False)
class BoxPoint:
    """A point of a box QP in its model's form: values and multipliers by label, reduced costs."""

    values: Mapping[str, FloatArray]
    multipliers: Mapping[str, FloatArray]
    reduced: FloatArray


@dataclass(frozen=True, eq=False)
class CoarseFactor:
    """Z rounded to single precision, which gives the directions of a box QP, and what its float64 gradients come from.

    Parameters
    ----------
    Z : ndarray of float32 (m, r)
        C order.
    product : callable
        a to ZZ'a, in float64 from the data.
    exact : callable
        Z in float64, computed when asked for.
    """

    Z: SingleArray
    product: Callable[[FloatArray], FloatArray]
    exact: Callable[[], FloatArray]


@dataclass(frozen=True, eq=False)
class BoxQP:
    """min ½a'(ZZ' + D)a + q'a over lower ≤ a ≤ upper, in factor form.

    Parameters
    ----------
    Z : ndarray (m, r)
        Factor, C order; not read, and may have no columns, where ``gram`` or ``coarse`` is given.
    q : ndarray (m,)
    lower, upper : ndarray (m,)
        Finite.
    ridge : ndarray (m,)
        Diagonal D ≥ 0.
    recover : callable
        The model's point that a belongs to.
    gram : ndarray (m, m), optional
        ZZ', in place of its factor: worth its m² numbers from about r = m on.
    offset : float, optional
        The model's form is the *dual* of this program: its optimum is ``offset`` - min f. None where the form is this program.
    coarse : CoarseFactor, optional
        In place of Z where computing it is most of the work: half of that, half of the memory.
    """

    Z: FloatArray
    q: FloatArray
    lower: FloatArray
    upper: FloatArray
    ridge: FloatArray
    recover: Callable[[FloatArray], BoxPoint]
    offset: float | None = None
    gram: FloatArray | None = None
    coarse: CoarseFactor | None = None

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.q.size)

    @property
    def width(self) -> int:
        """Scalar multiplications for each variable of a product with ZZ', halved: r, or m/2 where ZZ' is kept."""
        if self.coarse is not None:
            return int(self.coarse.Z.shape[1])
        return int(self.Z.shape[1]) if self.gram is None else (self.n + 1) // 2

    def exactly(self) -> BoxQP:
        """The same program with Z in float64."""
        return self if self.coarse is None else replace(self, Z=self.coarse.exact(), coarse=None)

    def product(self, a: FloatArray) -> FloatArray:
        """ZZ'a."""
        if self.coarse is not None:
            return self.coarse.product(a)
        return np.asarray(self.Z @ (self.Z.T @ a) if self.gram is None else self.gram @ a)

    def among(self, chosen: IntArray | BoolArray) -> FloatArray:
        """The rows and columns of ZZ' that are chosen, semidefinite; rounded where ``coarse`` is given. A copy."""
        if self.gram is not None:
            return np.asarray(self.gram[np.ix_(chosen, chosen)])
        rows = self.Z[chosen] if self.coarse is None else self.coarse.Z[chosen].astype(np.float64)
        return np.asarray(rows @ rows.T)

    @cached_property
    def diagonal(self) -> FloatArray:
        """Diagonal of ZZ' + D."""
        Z = self.Z if self.coarse is None else self.coarse.Z
        squares = np.einsum("ij,ij->i", Z, Z).astype(np.float64) if self.gram is None else np.diagonal(self.gram)
        return np.asarray(squares + self.ridge)

    def gradient(self, a: FloatArray) -> FloatArray:
        """(ZZ' + D)a + q, in float64 from the data."""
        return np.asarray(self.product(a) + self.ridge * a + self.q)

    def objective(self, a: FloatArray, gradient: FloatArray | None = None) -> float:
        """½a'(ZZ' + D)a + q'a = ½a'(∇ + q)."""
        g = self.gradient(a) if gradient is None else gradient
        return 0.5 * float(a @ (g + self.q))

    def gap(self, a: FloatArray, gradient: FloatArray | None = None) -> float:
        """Duality gap at a feasible a: Σ_i ∇_i a_i - min over the box of ∇_i x.

        Minimising the linearisation at a over the box bounds the optimum from below by f(a) - gap.
        """
        g = self.gradient(a) if gradient is None else gradient
        return float(np.sum(np.where(g > 0, g * (a - self.lower), g * (a - self.upper))))


@dataclass(frozen=True, eq=False)
class SimplexQP:
    """min ½a'Qa + c'a over a ≥ 0 with Σ_{i in group g} a_i = 1 for every group.

    Parameters
    ----------
    gram : GramOperator
        Q, by columns.
    c : ndarray (n,)
        Linear term.
    groups : ndarray of int (n,)
        Number of the simplex that each variable belongs to, 0, 1, ...; all zero for one simplex.
    label : str
        Label of the variable's block in the model's form.
    c_error : ndarray (n,) or float
        Bound of the rounding errors that c comes with.
    """

    gram: GramOperator
    c: FloatArray
    groups: IntArray
    label: str = "a"
    c_error: FloatArray | float = 0.0

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.gram.n

    @property
    def simplices(self) -> int:
        """Number of simplices."""
        return int(self.groups.max()) + 1

    def objective(self, a: FloatArray) -> float:
        """½a'Qa + c'a, in float64 from the data."""
        return 0.5 * float(a @ self.gram.product(a)) + float(self.c @ a)

    def gap(self, a: FloatArray, product: FloatArray | None = None) -> float:
        """Duality gap at a feasible a: a'∇ - Σ_g min_{i in g} ∇_i, ∇ = Qa + c.

        Minimising the linearisation at a over the simplices bounds the optimum from below by
        f(a) - gap (the Frank-Wolfe gap; for FW (12) it is a'K̃a - min_i (K̃a)_i).
        """
        gradient = (self.gram.product(a) if product is None else product) + self.c
        return float(a @ gradient - self.least(gradient).sum())

    def least(self, values: FloatArray) -> FloatArray:
        """The least of the values in each simplex."""
        if self.simplices == 1:
            return np.asarray(values.min(keepdims=True))
        smallest = np.full(self.simplices, np.inf)
        np.minimum.at(smallest, self.groups, values)
        return smallest


@dataclass(frozen=True, eq=False)
class BoxEqualityQP:
    """min ½a'Qa + c'a over 0 ≤ a ≤ u with s'a = 0, s_i = ±1.

    Parameters
    ----------
    gram : GramOperator
        Q, by columns.
    c, upper : ndarray (n,)
        Linear term; u_i > 0.
    signs : ndarray (n,)
        s.
    label : str
        Label of the variable's block in the model's form.
    """

    gram: GramOperator
    c: FloatArray
    upper: FloatArray
    signs: FloatArray
    label: str = "a"

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.gram.n

    def objective(self, a: FloatArray) -> float:
        """½a'Qa + c'a, in float64 from the data."""
        return 0.5 * float(a @ self.gram.product(a)) + float(self.c @ a)

    def level(self, gradient: FloatArray) -> tuple[float, float]:
        """min ∇'x over the feasible x, and the multiplier ν of s'x = 0 that attains it.

        By duality it is max_ν Σ_i u_i min(0, ∇_i - ν s_i), concave and piecewise linear in ν with kinks at s_i ∇_i:
        the slope Σ_{s=-1} u starts at -∞ and each kink lowers it by u_i.
        """
        kinks = self.signs * gradient
        order = np.argsort(kinks)
        slope = float(self.upper[self.signs < 0].sum()) - np.cumsum(self.upper[order])
        nu = float(kinks[order[min(int(np.searchsorted(-slope, 0.0)), self.n - 1)]])
        return float(self.upper @ np.minimum(0.0, gradient - nu * self.signs)), nu

    def gap(self, a: FloatArray, product: FloatArray | None = None) -> float:
        """Duality gap at a feasible a: a'∇ - min ∇'x over the feasible x (`level`)."""
        gradient = (self.gram.product(a) if product is None else product) + self.c
        return float(a @ gradient) - self.level(gradient)[0]


@dataclass(frozen=True, eq=False)
class ZeroOneProblem:
    """min Σ_j d_j w_j² + Σ_i λ_i 1{a_i'w < 1}: the 0-1 loss problem, Conic (3).

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i.
    weights : ndarray (n,)
        λ_i > 0.
    penalised : ndarray of bool (p,)
        d_j: False for a free intercept, whose column of A is y.
    """

    A: FloatArray
    weights: FloatArray
    penalised: BoolArray

    def objective(self, w: FloatArray, tol: float = 0.0) -> float:
        """True objective of w; margins within ``tol`` of 1 count as met."""
        norm = float(w[self.penalised] @ w[self.penalised])
        return norm + float(self.weights[self.A @ w < 1.0 - tol].sum())


@dataclass(frozen=True, eq=False)
class ConicProblem:
    """The conic relaxation's data: max over γ in Γ of min_w ||w||² + Σ_i φ_i(w), Conic (13)-(21).

    Exactly one of ``lam`` (λ form) and ``kappa`` (κ form) is given.

    Parameters
    ----------
    A : ndarray (n, p)
        Signed rows a_i = y_i x_i (for the kernel form: the signed columns K_i, with ``metric`` = K).
    lam, kappa : float or None
    metric : ndarray (p, p), optional
        Metric of the norm w'Kw of the kernel form; the identity where it is not given.
    """

    A: FloatArray
    lam: float | None
    kappa: float | None
    metric: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class StiefelProblem:
    """max Tr(P'HP) + 2Tr(P'E) over n × d matrices P with P'P = I, NPSVC++ (19).

    Parameters
    ----------
    H : ndarray (n, n)
        Symmetric.
    E : ndarray (n, d)
    """

    H: FloatArray
    E: FloatArray

    def objective(self, P: FloatArray) -> float:
        """Tr(P'HP) + 2Tr(P'E)."""
        return float(np.sum(P * (self.H @ P + 2.0 * self.E)))

    def gradient(self, P: FloatArray) -> FloatArray:
        """Euclidean gradient, 2(HP + E)."""
        return np.asarray(2.0 * (self.H @ P + self.E))


View: TypeAlias = SimplexQP | BoxEqualityQP | ZeroOneProblem | ConicProblem | BoxQP | StiefelProblem | LinearProblem
