"""Equations A y = s: which moves y of multipliers change the slopes of unbounded variables by s, solved and shown to be solvable.

*Moves that are settled.* An equation with one move alone, a slack in its own row, says what that move is: y_k = s_j/A_jk. The
other equations keep the moves that are left, B y' = s' - C y_k, with fewer rows and columns: of a hinge loss as many as features,
not as many as points that are met with equality.

*A bound of ||y||.* The least-norm solution of B y' = t has ||y'||² = t'(BB')⁻¹t ≤ Σ t_j²/ℓ_j once BB' ⪰ diag(ℓ) is verified (by
Cholesky, errors included).

*Equations that follow from the others exactly.* Stationarity on variables S asks for s_j = (q - F'z)_j = 0, j in S. A direction d
on S that no row with a price sees, that costs nothing and has no curvature (F d = 0 where z is not zero or may move, q'd = 0,
P d = 0) has s'd = 0 whatever the prices are: the equation of one variable of d follows from those of its others. A constant
column beside two free levels is such a direction. In floating point such equations look like nearly dependent ones. Directions in
whole numbers are found from the null space and verified exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray, IntArray
from ..rounding import gamma, two_product
from .convexity import definite_on
from .entries import Entries
from .form import StandardForm

__all__ = ["Equations", "OutOfTimeError", "Rank", "solved_until"]

#: Eigenvalues of the scaled matrix that may be zero.
_NULL = 1e-9
#: Directions are whole numbers after multiplication by one of these.
_FACTORS = range(1, 13)
_NEAR = 1e-6
#: Seconds of the factorisations of k equations, by k³, and of the products with their entries, by their number.
_SECONDS, _SECONDS_OF_ENTRIES = 1e-10, 7e-8
#: When the clock (`time.perf_counter`) ends what is begun under a time limit.
_until: ContextVar[float] = ContextVar("marginopt_equations_until", default=math.inf)


class OutOfTimeError(Exception):
    """Equations were not begun, since they would not be solved in time; `models.program.lagrangian` takes it."""


@contextmanager
def solved_until(end: float) -> Iterator[None]:
    """Within it no equations are begun that will not be solved at ``end`` by the clock, as far as their number tells."""
    before = _until.set(end)
    try:
        yield
    finally:
        _until.reset(before)


@dataclass(frozen=True, eq=False)
class Rank:
    """Equations that the others follow from, and ℓ > 0 with BB' ⪰ diag(ℓ) on them."""

    left: IntArray
    least: FloatArray


@dataclass(frozen=True, eq=False)
class Equations:
    """A y = s, one equation for each variable in question (see the module's text).

    Parameters
    ----------
    A : Entries
        Without zeros.
    alone, settled : ndarray of int
        Equations with one move, and these moves.
    others : ndarray of int
        The other equations.
    B, C : Entries
        The other equations' entries: at moves that are left, and at settled ones.
    """

    A: Entries
    alone: IntArray
    settled: IntArray
    others: IntArray
    B: Entries
    C: Entries

    @classmethod
    def of(cls, A: Entries, *, apart: bool) -> Equations:
        """Return the equations with moves that are settled ``apart``, or with all equations alike."""
        kept = A.data != 0.0
        A = A if kept.all() else A.where(kept)
        alone = np.flatnonzero(A.counts == 1) if apart else np.zeros(0, dtype=np.intp)
        moves = A.indices[A.indptr[alone]]
        once = np.bincount(moves, minlength=1)[moves] == 1  # two for one move agree, or have no solution: `rank` finds that out
        alone, moves = alone[once], moves[once]
        if not alone.size:
            return cls(A, alone, moves, np.arange(A.rows), A, A)
        taken, rest = np.zeros(A.width, dtype=bool), np.ones(A.rows, dtype=bool)
        taken[moves], rest[alone] = True, False
        hit = taken[A.indices]
        B, C = A.where(~hit), A.where(hit)
        B = Entries(
            B.data, B.indices, np.concatenate([B.indptr[:1], B.indptr[1:][rest]]), A.width
        )  # rows that are left out are empty
        return cls(A, alone, moves, np.flatnonzero(rest), B, C.at(rest))

    def check_time(self, rounds: int) -> None:
        """Raise `OutOfTimeError` where there is no time to solve them so often."""
        once = _SECONDS * self.others.size**3 + _SECONDS_OF_ENTRIES * self.A.data.size
        if time.perf_counter() + rounds * once > _until.get():
            raise OutOfTimeError

    @property
    def pivots(self) -> FloatArray:
        """A_jk of the settled moves."""
        return self.A.data[self.A.indptr[self.alone]]

    @cached_property
    def gram(self) -> FloatArray:
        """BB'."""
        return self.B.gram()

    def rank(self, form: StandardForm, F: sp.csr_array, used: BoolArray, indices: IntArray) -> Rank | None:
        """Return the remaining equations with their distance from dependence; None where that is not shown.

        Parameters
        ----------
        form : StandardForm
        F : csr_array
            Rows of the form.
        used : ndarray of bool
            Rows that have a price, or whose price may move.
        indices : ndarray of int
            Variables of all equations.
        """
        M, some = self.gram, self.others.size
        if not (np.diagonal(M) > 0.0).all():
            return None
        if not some:
            return Rank(self.others, np.zeros(0))
        rounding = 4.0 * some * gamma(self.A.width + sum(F.shape) + 8)  # relative, of the products in M
        factor = definite_on(M, np.ones(some, dtype=bool), rounding)
        if factor is not None:
            return Rank(self.others, factor[0])
        left = _independent(form, F, used, indices[self.others], M)
        if left is None:
            return None
        factor = definite_on(M[np.ix_(left, left)], np.ones(int(left.sum()), dtype=bool), rounding)
        return None if factor is None else Rank(self.others[left], factor[0])

    def solution(self, right: FloatArray, *, definite: bool) -> FloatArray | None:
        """y in floating point, of least norm but for the settled moves; None where it is not found."""
        y = np.zeros(self.A.width)
        y[self.settled] = right[self.alone] / self.pivots
        if self.others.size:
            beside = right[self.others] - (self.C.dot(y) if self.alone.size else 0.0)
            weights = _solve(self.gram, beside, definite=definite)
            if weights is None:
                return None
            y += self.B.weighted_sum(weights)
        return y

    def distance(self, sizes: FloatArray, rank: Rank) -> float:
        """A bound of ||y|| for some y that meets the equations, for any s with |s_j| ≤ sizes_j; an infinite one says nothing."""
        with np.errstate(over="ignore"):
            own = sizes[self.alone] / np.abs(self.pivots)
            beside = sizes.copy()
            if self.alone.size:
                moved = np.zeros(self.A.width)
                moved[self.settled] = own
                beside[self.others] += self.C.absolute.dot(moved)
            squares = float(own @ own) + float(np.sum(beside[rank.left] ** 2 / rank.least))
        return math.sqrt(squares) * (1.0 + 1e-9) if np.isfinite(squares) else math.inf


def _solve(M: FloatArray, right: FloatArray, *, definite: bool) -> FloatArray | None:
    """M⁻¹ right, scaled, with a touch of regularisation: the steps are repeated. Least squares where M may be singular.

    None where numbers overflow, where LAPACK's SVD does not end, and where it refuses an argument, a ValueError of SciPy that
    the attack met once.
    """
    root = np.sqrt(np.diagonal(M))
    if not (np.isfinite(root).all() and np.isfinite(M).all()):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a move of 1e-300 beside others: judged below
        scaled, side = M / root / root[:, None] + 1e-14 * np.eye(root.size), right / root
    if not (np.isfinite(scaled).all() and np.isfinite(side).all()):
        return None
    try:
        if definite:
            return np.asarray(scipy.linalg.solve(scaled, side, assume_a="pos", check_finite=False) / root)
        return np.asarray(scipy.linalg.lstsq(scaled, side, check_finite=False)[0] / root)
    except (np.linalg.LinAlgError, ValueError):
        return None


def _independent(form: StandardForm, F: sp.csr_array, used: BoolArray, indices: IntArray, M: FloatArray) -> BoolArray | None:
    """Return the mask of equations that `Equations.rank` keeps, M their Gram matrix; None where none is shown to follow."""
    if not _flat(form, indices):
        return None
    root = np.sqrt(np.diagonal(M))
    values, vectors = np.linalg.eigh(M / root / root[:, None])
    null = vectors[:, values < _NULL] / root[:, None]
    count = null.shape[1]
    if not 0 < count < indices.size:
        return None
    columns, left = Entries.of(F).at(used).among(indices), np.ones(indices.size, dtype=bool)
    pivots = scipy.linalg.qr(null.T, mode="r", pivoting=True)[1][:count]
    try:
        basis = np.linalg.solve(null[pivots].T, null.T).T  # the identity on the pivots
    except np.linalg.LinAlgError:
        return None
    for pivot, direction in zip(pivots.tolist(), basis.T, strict=True):
        whole = _whole(direction)
        if whole is not None and _unseen(columns, whole) and _sum(form.q[indices], whole) == 0.0:
            left[pivot] = False  # the other pivots are not in this direction
    return None if left.all() else left


def _flat(form: StandardForm, indices: IntArray) -> bool:
    """Return whether P is zero on these variables."""
    P = form.quadratic
    if P is None:
        return True
    if P.diagonal[indices].any():
        return False
    return P.matrix is None or abs(P.matrix[:, indices]).max() == 0.0


def _whole(direction: FloatArray) -> FloatArray | None:
    for factor in _FACTORS:
        scaled = factor * direction
        rounded = np.round(scaled)
        if np.abs(scaled - rounded).max() <= _NEAR and np.abs(rounded).max() <= 1e6:
            return rounded
    return None


def _unseen(columns: Entries, direction: FloatArray) -> bool:
    """Return whether every row's product with the direction is exactly zero."""
    ends = columns.indptr.tolist()
    return all(_sum(columns.data[a:b], direction[columns.indices[a:b]]) == 0.0 for a, b in pairwise(ends))


def _sum(a: FloatArray, b: FloatArray) -> float:
    products, rests = two_product(np.asarray(a, dtype=np.float64), b)
    return math.fsum([*products.tolist(), *rests.tolist()])
