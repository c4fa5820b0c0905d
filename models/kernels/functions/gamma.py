"""γ of kernels: the named rules, which are means of distances, and their numbers."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from ....errors import InputError
from ...arrays import FloatArray, Points, as_positive, row_norms_squared

__all__ = ["GAMMA_RULES", "GammaRule", "check_gamma", "gamma_by_rule", "gamma_number", "mean_squared_distance", "shown_gamma"]

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
