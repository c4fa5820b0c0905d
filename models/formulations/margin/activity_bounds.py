"""Bounds of the coefficients and margins of an optimal classifier, from which `Margin` takes valid big-M constants.

`Margin` minimises R(w) + Σ_i s_i ℓ(a_i) over w in its domain: R is the regulariser, ℓ the loss, s_i ≥ 0 the weight of point i,
and a = Aw + c are the arguments of the loss, such as the margins a_i = y_i x_i'w. Big-M constants are bounds of arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...program.lagrangian import Bound
from .loss import Loss
from .regularisers import Regulariser

#: Relative accuracy of `largest_valid`, and the value at which its search ends: constants that are valid there always are.
LEVEL_TOLERANCE, _HUGE = 1e-12, 1e280
#: Slack of the inequalities at a least-norm point, relative to their size: well above rounding.
_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class ActivityBounds:
    """Bounds of an optimal w and of its margins, from the domain and from R(w) ≤ cutoff, the value of some feasible point.

    Parameters
    ----------
    loss : Loss
        The loss ℓ.
    regulariser : Regulariser
        R.
    penalised : ndarray of bool (p,)
        The coefficients that the regulariser contains.
    A, c : ndarray (n, p), (n,)
        The loss's arguments are Aw + c.
    lower, upper : ndarray (p,)
        Bounds of w by the domain and restrictions of single coefficients.
    cutoff : float or None
        An upper bound of R(w); None where none is known.
    saturation : float
        A t such that some optimal free intercept has absolute value at most t + max |x_i'w| over ``weighted``; infinite where
        none is known.
    weighted : ndarray of bool (n,)
        The arguments that cost something or that a restriction may count. The others do not bound an intercept.
    """

    loss: Loss
    regulariser: Regulariser
    penalised: BoolArray
    A: FloatArray
    c: FloatArray
    lower: FloatArray
    upper: FloatArray
    cutoff: float | None
    saturation: float
    weighted: BoolArray

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of |w_j| and of |argument_i|; infinite where none is known."""
        span = np.maximum(np.abs(self.lower), np.abs(self.upper))
        if self.cutoff is not None:
            axis_reach = self.regulariser.support_function(self.cutoff, np.eye(int(self.penalised.sum())))
            span[self.penalised] = np.minimum(span[self.penalised], axis_reach)
        with np.errstate(invalid="ignore"):
            by_span = np.where(self.A != 0, np.abs(self.A) * span, 0.0).sum(axis=1)
        if self.cutoff is None:
            return span, by_span + np.abs(self.c)
        reach = self.regulariser.support_function(self.cutoff, self.A[:, self.penalised])
        if not self.penalised.all():
            span[0] = min(span[0], self.saturation + float(reach[self.weighted].max(initial=0.0)))
            reach = reach + span[0] * np.abs(self.A[:, 0])
        return span, np.minimum(by_span, reach) + np.abs(self.c)


def largest_valid(valid_at: Callable[[float], bool]) -> float:
    """Return the largest objective value at which given big-M constants are valid, by bisection; infinite if they always are, 0
    if they never are. ``valid_at`` tells whether they are valid at an objective value.
    """
    high = 1.0
    while high < _HUGE and valid_at(high):
        high *= 16.0
    if high >= _HUGE:
        return np.inf
    low = 0.0
    while high - low > LEVEL_TOLERANCE * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if valid_at(middle) else (low, middle)
    return low


def capped_bound(bound: Bound, cutoff: float) -> Bound:
    """Return the bound, capped at the value up to which given big-M constants are valid: the form may lack costlier points."""
    if bound.value <= cutoff:
        return bound
    return replace(bound, value=cutoff, argument=f"{bound.argument}; up to the level of the given M")


def tighten_bounds(
    lower: FloatArray, upper: FloatArray, A: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of w tightened by those rows of low ≤ Aw ≤ high whose only non-zero entry is a 1."""
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
        The rows.
    low, high : ndarray (k,)
        Their bounds; infinite where a row has none.
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
