"""Inner products and squared distances of points, and the rules for γ that are means of them.

Inner products and squared distances of dense and CSR points.

γ of kernels: the named rules, which are means of distances, and their numbers.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from ...errors import InputError
from ..arrays import FloatArray, Points, as_positive, row_norms_squared, to_dense
from ..rounding import gamma

__all__ = [
    "GAMMA_RULES",
    "GammaRule",
    "check_gamma",
    "coarse",
    "cross_products",
    "distance_error",
    "distances_by_differences",
    "distances_with_norms",
    "gamma_by_rule",
    "gamma_number",
    "mean_squared_distance",
    "shown_gamma",
    "squared_distances",
]

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


#: The three mean-squared-distance rules in use, which differ (see `gamma_by_rule`).
GammaRule: TypeAlias = Literal["frank-wolfe", "frank-wolfe-polynomial", "npsvc", "scale", "auto"]
GAMMA_RULES: tuple[GammaRule, ...] = ("frank-wolfe", "frank-wolfe-polynomial", "npsvc", "scale", "auto")


def mean_squared_distance(X: Points, weights: FloatArray | None = None) -> float:
    """Mean of ||x_i - x_j||² over all n² pairs, the diagonal included: twice the total variance.

    With ``weights`` a point of weight k counts as k points. The features are centred first: mean ||x||² - ||mean x||² would
    cancel where the mean is large.
    """
    s = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(s.sum())
    mean = np.asarray(X.T @ s) / total
    if isinstance(X, np.ndarray):
        return 2.0 * float(row_norms_squared(X - mean) @ s) / total
    of_entry = np.repeat(s, np.diff(X.indptr))
    stored = np.bincount(X.indices, weights=of_entry, minlength=X.shape[1])
    deviations = of_entry @ (X.data - mean[X.indices]) ** 2
    zeros = np.maximum(total - stored, 0.0) @ mean**2  # the entries that are not stored are at distance |mean| from it
    return 2.0 * float(deviations + zeros) / total


def _scikit_learn(rule: GammaRule, X: Points) -> float:
    """1/(p·Var X) over all entries, the zeros of sparse rows among them; 1/p."""
    n, p = X.shape
    if rule == "auto":
        return 1.0 / p
    mean = float(X.sum()) / (n * p)
    squares = float(row_norms_squared(X).sum()) / (n * p)
    deviations = X - mean if isinstance(X, np.ndarray) else X.data - mean
    variance = (float(np.vdot(deviations, deviations)) + (n * p - deviations.size) * mean**2) / (n * p)
    # equal entries leave the rounding errors of their mean
    if variance <= 1e3 * float(np.finfo(np.float64).eps) ** 2 * squares:
        raise InputError("the rule 'scale' needs entries that differ; all entries of X are equal")
    return 1.0 / (p * variance)


def gamma_by_rule(rule: GammaRule, X: Points, weights: FloatArray | None = None) -> float:
    """γ of a named rule on the data X (n × p), from the mean squared distance over all n² pairs, m.

    ``"frank-wolfe"``: FW sets σ² = m in exp(-||·||²/(2σ²)), so γ = 1/(2m). ``"frank-wolfe-polynomial"``: γ = 1/m, the
    rule of FW's polynomial kernels (Table 8). ``"npsvc"``: NPSVC++ uses exp(-||·||²/t), t = m, so γ = 1/m. scikit-learn's two are
    of the entries, without weights: ``"scale"`` is 1/(p·Var X), ``"auto"`` 1/p.
    """
    if rule in ("scale", "auto"):
        return _scikit_learn(rule, X)
    mean = mean_squared_distance(X, weights)
    # equal rows leave the rounding errors of their mean, some eps² of the squared norms
    if mean <= 1e3 * float(np.finfo(np.float64).eps) ** 2 * float(row_norms_squared(X).mean()):
        raise InputError(f"the rule {rule!r} needs points that differ; all rows of X are equal")
    return 1.0 / (2.0 * mean) if rule == "frank-wolfe" else 1.0 / mean


def check_gamma(gamma: float | str) -> None:
    """Raise `InputError` where γ is neither a number > 0 nor the name of a rule."""
    if isinstance(gamma, str):
        if gamma not in GAMMA_RULES:
            raise InputError(f"gamma must be a number > 0 or one of the rules {', '.join(GAMMA_RULES)}; it is {gamma!r}")
        return
    as_positive(gamma, "gamma")


def gamma_number(gamma: float | str) -> float:
    """The number; a rule has none before it has seen data."""
    if isinstance(gamma, str):
        raise InputError(f"gamma={gamma!r} is a rule: call kernel.fitted(X) to turn it into a number on your data")
    return float(gamma)


def shown_gamma(gamma: float | str) -> str:
    """The number or the rule's name, as formulas print it."""
    return gamma if isinstance(gamma, str) else f"{gamma:g}"
