"""Inner products and squared distances of dense and CSR points."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray, Points, row_norms_squared, to_dense
from ...rounding import gamma

__all__ = ["coarse", "cross_products", "distance_error", "distances_by_differences", "distances_with_norms", "squared_distances"]

#: Squared distance of Z's farthest row from Z's mean, over the mean's squared norm, below which points are moved.
_NEAR = 0.04
#: Error of a kernel's value from which distances are computed by differences: of few operations, and of many.
_ERROR, _LARGE_ERROR = 1e-10, 1e-7
#: Operations that are few, and numbers that sparse rows may hold as dense ones.
_FEW, _DENSE = 4e8, 5e7


def cross_products(X: Points, Z: Points) -> FloatArray:
    """X Z' as a dense array, for dense and CSR data in any mixture."""
    if not isinstance(X, np.ndarray) and not isinstance(Z, np.ndarray) and Z.shape[1] <= 4 * X.shape[0]:
        return np.asarray(X @ Z.T.toarray())  # no larger than the result; SciPy's sparse products take three times as long
    return to_dense(X @ Z.T)


def squared_distances(X: Points, Z: Points, steepness: float = 0.0) -> FloatArray:
    """Return ||x_i - z_j||², never negative. Dense points are moved to the mean of Z where that is far from the origin.

    Where inner products would leave a function of this ``steepness`` too few digits, the distances are those of the differences.
    """
    rows, columns = X, Z
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and len(Z):
        centre = Z.mean(axis=0)
        moved = Z - centre
        if float(row_norms_squared(moved).max()) < _NEAR * float(centre @ centre):
            rows, columns = X - centre, moved
    squares = row_norms_squared(rows), row_norms_squared(columns)
    error = steepness * distance_error(X.shape[1], max(float(norms.max(initial=0.0)) for norms in squares))
    if coarse(error, len(squares[0]) * len(squares[1]) * X.shape[1], X):
        return distances_by_differences(X, Z)
    return distances_with_norms(rows, columns, *squares)


def distance_error(features: int, largest: float) -> float:
    """Return a bound of the error of ||x||² + ||z||² - 2x'z: ``largest`` is the largest squared norm of the points.

    Both may be about a point up to √1.2 times as far off, as `squared_distances` and the RBF kernel's loops move them.
    """
    return 5.0 * gamma(features + 8) * largest


def coarse(error: float, operations: float, X: Points) -> bool:
    """Return whether a kernel's values with this error are worth the differences, which take ten times as long as products."""
    dense = isinstance(X, np.ndarray) or X.shape[0] * X.shape[1] <= _DENSE
    return dense and error > (_ERROR if operations <= _FEW else _LARGE_ERROR)


def distances_by_differences(X: Points, Z: Points) -> FloatArray:
    """Return ||x_i - z_j||² with a small relative error, 0 of equal points; CSR rows are made dense."""
    from scipy.spatial.distance import cdist  # imported here: it takes a fifth of a second, and few problems need it

    return np.asarray(cdist(to_dense(X), to_dense(Z), "sqeuclidean"))


def distances_with_norms(X: Points, Z: Points, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """The same of points where they are, whose squared norms are known: rows_i + columns_j - 2 x_i'z_j, never negative."""
    distances = cross_products(X, Z)
    distances *= -2.0
    distances += rows[:, None]
    distances += columns[None, :]
    return np.maximum(distances, 0.0, out=distances)
