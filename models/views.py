"""Structural views: what hand-written algorithms read in place of the standard form.

A model exposes the views that it has through ``model.view(kind)``; a solver declares the kinds that it reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .box_view import BoxPoint, BoxQP, CoarseFactor
from .kernels.gram import GramOperator
from .linear_view import LinearProblem
from .margin_view import MarginProblem

__all__ = [
    "BoxPoint", "BoxQP", "CoarseFactor", "ConicProblem", "LinearProblem", "MarginProblem", "SimplexQP", "StiefelProblem", "View",
    "ZeroOneProblem",
]  # fmt: skip


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
