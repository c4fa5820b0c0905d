"""Inner products and squared distances of dense and CSR points."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray, Points, row_norms_squared, to_dense

__all__ = ["cross_products", "distances_with_norms", "squared_distances"]

#: Ratio of squared norms below which points may be far from the origin, in units of their distances.
_ONE_NORM = 1.2


def cross_products(X: Points, Z: Points) -> FloatArray:
    """X Z' as a dense array, for dense and CSR data in any mixture."""
    if not isinstance(X, np.ndarray) and not isinstance(Z, np.ndarray) and Z.shape[1] <= 4 * X.shape[0]:
        return np.asarray(X @ Z.T.toarray())  # no larger than the result; SciPy's sparse products take three times as long
    return to_dense(X @ Z.T)


def squared_distances(X: Points, Z: Points) -> FloatArray:
    """||x_i - z_j||², never negative. Dense points far from the origin are moved there first."""
    rows, columns = row_norms_squared(X), row_norms_squared(Z)
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and _far(rows, columns):
        centre = Z[0]
        X, Z = X - centre, Z - centre
        rows, columns = row_norms_squared(X), row_norms_squared(Z)
    return distances_with_norms(X, Z, rows, columns)


def distances_with_norms(X: Points, Z: Points, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """The same of points where they are, whose squared norms are known: rows_i + columns_j - 2 x_i'z_j, never negative."""
    distances = cross_products(X, Z)
    distances *= -2.0
    distances += rows[:, None]
    distances += columns[None, :]
    return np.maximum(distances, 0.0, out=distances)


def _far(rows: FloatArray, columns: FloatArray) -> bool:
    """Whether all the points have nearly one norm, as they have where their distances are small beside it."""
    if not (rows.size and columns.size):
        return False
    return float(max(rows.max(), columns.max())) < _ONE_NORM * float(min(rows.min(), columns.min()))
