"""Inner products and squared distances of dense and CSR points, and the named rules for γ, which are means of such distances."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from ...errors import InputError
from ..arrays import FloatArray, Points, row_norms_squared, to_dense

__all__ = [
    "GAMMA_RULES",
    "GammaRule",
    "cross_products",
    "distances_with_norms",
    "gamma_by_rule",
    "mean_squared_distance",
    "squared_distances",
]

#: The three mean-squared-distance rules in use, which differ (see `gamma_by_rule`).
GammaRule: TypeAlias = Literal["frank-wolfe", "frank-wolfe-polynomial", "npsvc", "scale", "auto"]
GAMMA_RULES: tuple[GammaRule, ...] = ("frank-wolfe", "frank-wolfe-polynomial", "npsvc", "scale", "auto")

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
    variance = squares - mean**2
    if variance <= 1e3 * float(np.finfo(np.float64).eps) * squares:
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
