"""Symmetric matrices as vectors: the upper triangle stacked by columns, off-diagonal entries times √2.

With this scaling ``<A, B> = svec(A)'svec(B)``, so the PSD cone is self-dual as a cone of vectors.
"""

from __future__ import annotations

import functools

import numpy as np

from ..arrays import FloatArray, IntArray

__all__ = ["order_of", "smat", "svec", "svec_indices", "svec_rank_one", "svec_size"]

_SQRT2 = float(np.sqrt(2.0))


def svec_size(order: int) -> int:
    """Length of the svec of a symmetric matrix of this order: order·(order + 1)/2."""
    return order * (order + 1) // 2


def order_of(size: int) -> int:
    """Order of the matrix whose svec has this length."""
    order = int((np.sqrt(8 * size + 1) - 1) // 2)
    if svec_size(order) != size:
        raise ValueError(f"{size} is not the length of the svec of a symmetric matrix")
    return order


@functools.lru_cache(maxsize=64)
def svec_indices(order: int) -> tuple[IntArray, IntArray]:
    """Row and column (row ≤ column) of every entry of an svec, in its order: (0,0), (0,1), (1,1), (0,2), ..."""
    column, row = np.tril_indices(order)
    row.flags.writeable = column.flags.writeable = False
    return row, column


def svec(matrix: FloatArray) -> FloatArray:
    """Vector of a symmetric matrix (its upper triangle is read), or of a stack of them (..., p, p)."""
    row, column = svec_indices(matrix.shape[-1])
    return np.asarray(matrix[..., row, column] * np.where(row == column, 1.0, _SQRT2))


def smat(vector: FloatArray) -> FloatArray:
    """Symmetric matrix of an svec: the inverse and the adjoint of `svec`."""
    order = order_of(vector.shape[-1])
    row, column = svec_indices(order)
    matrix = np.zeros((*vector.shape[:-1], order, order))
    entries = vector * np.where(row == column, 1.0, 1.0 / _SQRT2)
    matrix[..., row, column] = entries
    matrix[..., column, row] = entries
    return matrix


def svec_rank_one(X: FloatArray) -> FloatArray:
    """Rows svec(x_i x_i'), n × p(p + 1)/2, so that ``svec_rank_one(X) @ svec(W)`` is x_i'W x_i."""
    row, column = svec_indices(X.shape[1])
    return np.asarray(X[:, row] * X[:, column] * np.where(row == column, 1.0, _SQRT2))
