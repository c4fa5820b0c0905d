"""Inner products and squared distances of dense and CSR points."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray, Points, row_norms_squared, to_dense

__all__ = ["cross_products", "distances_with_norms", "squared_distances"]

#: Squared distance of Z's farthest row from Z's mean, over the mean's squared norm, below which points are moved.
_NEAR = 0.04


def cross_products(X: Points, Z: Points) -> FloatArray:
    """X Z' as a dense array, for dense and CSR data in any mixture."""
    if not isinstance(X, np.ndarray) and not isinstance(Z, np.ndarray) and Z.shape[1] <= 4 * X.shape[0]:
        return np.asarray(X @ Z.T.toarray())  # no larger than the result; SciPy's sparse products take three times as long
    return to_dense(X @ Z.T)


def squared_distances(X: Points, Z: Points) -> FloatArray:
    """Return ||x_i - z_j||², never negative. Dense points are moved to the mean of Z where that is far from the origin."""
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and len(Z):
        centre = Z.mean(axis=0)
        moved = Z - centre
        if float(row_norms_squared(moved).max()) < _NEAR * float(centre @ centre):
            X, Z = X - centre, moved
    return distances_with_norms(X, Z, row_norms_squared(X), row_norms_squared(Z))


def distances_with_norms(X: Points, Z: Points, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """The same of points where they are, whose squared norms are known: rows_i + columns_j - 2 x_i'z_j, never negative."""
    distances = cross_products(X, Z)
    distances *= -2.0
    distances += rows[:, None]
    distances += columns[None, :]
    return np.maximum(distances, 0.0, out=distances)
