"""Structural views: what hand-written algorithms read in place of the standard form.

A model exposes the views that it has through ``model.view(kind)``; a solver declares the kinds that it reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .gram import GramOperator

__all__ = ["ConicProblem", "SimplexQP", "View", "ZeroOneProblem"]


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
    """

    gram: GramOperator
    c: FloatArray
    groups: IntArray
    label: str = "a"

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
        smallest = np.full(self.simplices, np.inf)
        np.minimum.at(smallest, self.groups, gradient)
        return float(a @ gradient - smallest.sum())


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


View: TypeAlias = SimplexQP | ZeroOneProblem | ConicProblem
