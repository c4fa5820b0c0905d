"""Equations among those of the unbounded variables that follow from the others exactly.

Stationarity on variables S asks for s_j = (q - F'z)_j = 0, j in S. A direction d on S that no row with a price sees, that costs
nothing and has no curvature (F d = 0 where z is not zero or may move, q'd = 0, P d = 0) has s'd = 0 whatever the prices are: the
equation of one variable of d follows from those of its others. A constant column beside two free levels is such a direction. In
floating point such equations look like nearly dependent ones. Directions in whole numbers are found from the null space and
verified exactly.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..arrays import BoolArray, FloatArray, IntArray
from ..rounding import two_product
from .entries import Entries
from .form import StandardForm

__all__ = ["independent"]

#: Eigenvalues of the scaled matrix that may be zero.
_NULL = 1e-9
#: Directions are whole numbers after multiplication by one of these.
_FACTORS = range(1, 13)
_NEAR = 1e-6


def independent(form: StandardForm, F: sp.csr_array, used: BoolArray, indices: IntArray, M: FloatArray) -> BoolArray | None:
    """Which of the equations of the variables ``indices`` are left; None where none is shown to follow from others.

    Parameters
    ----------
    form : StandardForm
    F : csr_array
        Rows of the form.
    used : ndarray of bool
        Rows that have a price, or whose price may move.
    indices : ndarray of int
    M : ndarray
        The Gram matrix of the equations, positive on the diagonal.
    """
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
    """Whether P is zero on these variables."""
    P = form.quadratic
    if P is None:
        return True
    if P.diagonal[indices].any():
        return False
    return P.matrix is None or abs(P.matrix[:, indices]).max() == 0.0


def _whole(direction: FloatArray) -> FloatArray | None:
    for factor in _FACTORS:
        scaled = factor * direction
        found = np.round(scaled)
        if np.abs(scaled - found).max() <= _NEAR and np.abs(found).max() <= 1e6:
            return found
    return None


def _unseen(columns: Entries, direction: FloatArray) -> bool:
    """Whether every row's product with the direction is exactly zero."""
    ends = columns.indptr.tolist()
    return all(_sum(columns.data[a:b], direction[columns.indices[a:b]]) == 0.0 for a, b in pairwise(ends))


def _sum(a: FloatArray, b: FloatArray) -> float:
    products, rests = two_product(np.asarray(a, dtype=np.float64), b)
    return math.fsum([*products.tolist(), *rests.tolist()])
