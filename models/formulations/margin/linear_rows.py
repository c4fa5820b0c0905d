"""Linear restrictions low ≤ Aw ≤ high of the coefficients: the bounds that they imply, and a point of nearly the least norm."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray

#: Slack that inequalities are asked for beyond rounding, relative to their size.
_SLACK = 1e-9


def tightened(
    lower: FloatArray, upper: FloatArray, A: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of w tightened by the rows that have one coefficient of 1 alone."""
    single = ((A != 0.0).sum(axis=1) == 1) & (A.max(axis=1, initial=0.0) == 1.0)
    places = np.argmax(A[single], axis=1)
    lower, upper = lower.copy(), upper.copy()
    np.maximum.at(lower, places, low[single])
    np.minimum.at(upper, places, high[single])
    return lower, upper


def least_norm_point(A: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray | None:
    """Return a point of low ≤ Aw ≤ high of nearly the least norm; None where none is found.

    Lawson and Hanson's least distance programming: non-negative least squares of the multipliers.
    Rows that fix one coefficient (one non-zero entry, low = high) are substituted, so that the point has exactly the value.
    The others hold up to rounding: the caller checks them.

    Parameters
    ----------
    A : ndarray (k, p)
    low, high : ndarray (k,)
    """
    import scipy.optimize  # a quarter of a second, for restricted problems alone

    w = np.zeros(A.shape[1])
    equal = (low == high) & ((A != 0.0).sum(axis=1) == 1)
    places = np.argmax(A[equal] != 0.0, axis=1)
    w[places] = low[equal] / A[equal, places]
    free = np.setdiff1d(np.arange(w.size), places)
    others, shift = A[~equal][:, free], A[~equal] @ w
    lower, upper = low[~equal] - shift, high[~equal] - shift
    G = np.vstack([others[np.isfinite(lower)], -others[np.isfinite(upper)]])
    h = np.concatenate([lower[np.isfinite(lower)], -upper[np.isfinite(upper)]])
    if not (h > 0.0).any():  # w = 0 in the free coefficients
        return w
    h = h + _SLACK * (1.0 + np.abs(h))
    target = np.zeros(free.size + 1)
    target[-1] = 1.0
    try:
        multipliers, _ = scipy.optimize.nnls(np.vstack([G.T, h]), target)
    except RuntimeError:  # its iteration limit
        return None
    residual = np.append(G.T @ multipliers, h @ multipliers - 1.0)
    if not residual[-1] < -np.finfo(float).eps:
        return None
    w[free] = -residual[:-1] / residual[-1]
    return w
