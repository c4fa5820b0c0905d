"""Lower bounds of the nodes of `sparse-bb` from dual points: of a node, of its children, and of the largest coefficient.

The problem is min Σ_i c_i ℓ(a_i'w) + Σ_j q_j w_j²/2 + π_j 1{w_j ≠ 0} over l ≤ w ≤ u with at most k counted coefficients that are
not 0 (all but a free intercept count), a_i = y_i x_i. A dual point is a multiplier α_i of each loss, ℓ* the loss's conjugate.
With v = Σ α_i a_i and g_j = sup {v_j w - q_j w²/2 : l_j ≤ w ≤ u_j} - π_j, every w whose coefficients of the set I count as used
(pay π_j and a place of the k) and whose coefficients of the set O are 0 costs at least

    -Σ c_i ℓ*(-α_i/c_i) - g_0 - Σ_{j in I} g_j - Σ of the k - |I| largest (g_j)_+ over j outside I and O,

g_0 that of a free intercept: Fenchel's inequality for each loss, and for each coefficient; the best support takes the largest
gains. It is the dual of the perspective relaxation, in closed form. One sort therefore bounds all children of a node.

The same α bounds the points whose largest counted coefficient is s w_j = t, s = ±1: all others then lie in [-t, t]. With q the
least q_j of the counted features and h_i(t) = max {|v_i| w - q w²/2 : 0 ≤ w ≤ t}, these cost at least

    φ(t) = -Σ c_i ℓ*(-α_i/c_i) - g_0 + q t²/2 - s v_j t - Σ_{i in T} h_i(t),

T the other features of I, and the largest |v_i| up to k - 1 features. φ is q-strongly convex, so that min φ ≥ φ(t) - φ'(t)²/(2q)
at any t > 0, and φ reaches a cutoff outside of an interval. A node is closed once the intervals of different α have no common
point, for each feature and sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...models.arrays import BoolArray, FloatArray, IntArray
from ...models.formulations.margin.problems import SparseProblem
from ...models.rounding import gamma
from ..exact.log_file import DualPoint

#: States of a feature in a node: undecided, in the support, or 0.
FREE, IN, OUT = 0, 1, 2
#: The states of all features (p,).
FeatureStates = npt.NDArray[np.int8]


def dual_point(problem: SparseProblem, alpha: FloatArray) -> DualPoint:
    """Return multipliers ``alpha`` (n,) rounded to a point that is feasible for the dual.

    Where a free intercept has an infinite bound the classes must balance exactly: multipliers of the heavier class are lowered,
    those farthest from their bounds first, since the dual value is flat in these.
    """
    limits = problem.costs if problem.loss.bounded else np.full(problem.costs.size, math.inf)
    point = DualPoint.nearest(alpha, limits)
    numbers = point.numbers.copy()
    for j in np.flatnonzero(~problem.counted & ~(np.isfinite(problem.lower) & np.isfinite(problem.upper))):
        _balance(numbers, problem.A[:, j], np.minimum(numbers, np.ldexp(limits, -point.exponent) - numbers))
    return DualPoint(numbers, point.exponent)


def _balance(numbers: IntArray, y: FloatArray, slack: FloatArray) -> None:
    """Lower the heavier class's multipliers until the classes balance, in the order of decreasing ``slack``."""
    excess = int(numbers[y > 0].sum() - numbers[y < 0].sum())
    rows = np.flatnonzero(y > 0 if excess > 0 else y < 0)
    remainder = abs(excess)
    for i in rows[np.argsort(-slack[rows], kind="stable")].tolist():
        if remainder == 0:
            return
        decrease = min(remainder, int(numbers[i]))
        numbers[i] -= decrease
        remainder -= decrease


@dataclass(frozen=True, eq=False)
class FeatureGains:
    """The terms of a dual point's bound: the gain g_j by which feature j lowers it, and the rest; rounded to the safe side."""

    base: float  #: -Σ c_i ℓ*(-α_i/c_i) - g_0
    values: FloatArray  #: (p,) upper bounds of g_j
    size: float  #: sum of the absolute values of the terms of ``base``, for the reserve for rounding
    low: FloatArray  #: (p,) lower bounds of v = Σ α_i a_i
    high: FloatArray  #: (p,) upper bounds of v


def penalty_conjugate(v: FloatArray, q: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the conjugate of each coefficient's square at v, sup {v w - q w²/2 : l ≤ w ≤ u}; ∞ if it is unbounded."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        best = np.where(q > 0.0, v / q, np.where(v > 0.0, math.inf, np.where(v < 0.0, -math.inf, 0.0)))
        w = np.clip(best, lower, upper)
        value = v * w - 0.5 * q * w * w
    return np.where(np.isinf(w), math.inf, value)


def feature_gains(problem: SparseProblem, columns: FloatArray, point: DualPoint) -> FeatureGains:
    """Return the gains of all features; ``columns`` holds the largest absolute value of each column of A.

    The reserve for rounding is twice that of the checker, so that it accepts each bound.
    """
    alpha, n = point.alpha, point.numbers.size
    terms = problem.loss.dual_terms(alpha, problem.costs)
    v = problem.A.T @ alpha
    error = 2.0 * gamma(n) * columns * float(alpha.sum()) + 2e-290
    free = ~problem.counted
    v[free] = np.ldexp((problem.A[:, free].T @ point.numbers.astype(np.float64)), point.exponent)  # whole numbers: exact
    error[free] = 0.0
    sides = [penalty_conjugate(v + side * error, problem.curvature, problem.lower, problem.upper) for side in (-1.0, 1.0)]
    gains = np.maximum(*sides) - problem.price
    gains += 64.0 * 2.0**-53 * (np.abs(gains) + problem.price)
    fixed = float(gains[free].sum())
    base = terms.value - 2.0 * terms.error - fixed
    return FeatureGains(base, gains, abs(terms.value) + abs(fixed), v - error, v + error)


@dataclass(frozen=True, eq=False)
class ChildBounds:
    """Lower bounds of a node and of its possible children; those of a decided feature are the node's."""

    node: float  #: of the node
    inside: FloatArray  #: (p,) of the child with feature j in the support
    outside: FloatArray  #: (p,) of the child with feature j at 0


def child_bounds(problem: SparseProblem, gains: FeatureGains, state: FeatureStates) -> ChildBounds:
    """Return the bounds of a node and of its children from one dual point."""
    g, free = gains.values, np.flatnonzero((state == FREE) & problem.counted)
    chosen_features = (state == IN) & problem.counted
    count = min(problem.max_nonzeros - int(chosen_features.sum()), free.size)
    if count < 0:
        return ChildBounds(math.inf, np.full(g.size, math.inf), np.full(g.size, math.inf))
    positive = np.maximum(g[free], 0.0)
    order = np.argsort(-positive, kind="stable")
    top = order[:count]
    reserve = 4.0 * gamma(g.size + 8) * (gains.size + float(np.abs(g[chosen_features]).sum()) + float(positive[top].sum()))
    node = gains.base - float(g[chosen_features].sum()) - float(positive[top].sum()) - reserve
    inside, outside = np.full(g.size, node), np.full(g.size, node)
    last = float(positive[top[-1]]) if count else -math.inf
    following = float(positive[order[count]]) if count < free.size else 0.0
    chosen = np.zeros(free.size, dtype=np.bool_)
    chosen[top] = True
    inside[free] = node + np.where(chosen & (g[free] >= 0.0), 0.0, last - g[free]) if count else math.inf
    outside[free] = node + np.where(chosen, positive - following, 0.0)
    if count == 0:
        inside[free] = math.inf
    return ChildBounds(node, inside, outside)


def largest_coefficient_interval(
    problem: SparseProblem, gains: FeatureGains, state: FeatureStates, code: int, cut: float
) -> tuple[float, float]:
    """Return an interval of the size of the largest coefficient of any point of the node below ``cut``; empty if its ends agree.

    Parameters
    ----------
    problem, gains, state
        The problem, the terms of a dual point's bound, and the node.
    code : int
        The largest coefficient: 2 j for a positive w_j, 2 j + 1 for a negative one; feature j is not `OUT`.
    cut : float
        Only points with an objective below it are considered.
    """
    counted, j = problem.counted, code // 2
    q = float(problem.curvature[counted].min())
    v = float(-gains.low[j] if code % 2 else gains.high[j])
    size = np.maximum(gains.high, -gains.low)
    inside = np.flatnonzero((state == IN) & counted)
    free = np.flatnonzero((state == FREE) & counted)
    inside, free = inside[inside != j], free[free != j]
    sizes = np.concatenate([size[inside], np.sort(size[free])[::-1][: max(problem.max_nonzeros - 1 - inside.size, 0)]])
    reach = gains.size + abs(gains.base)

    def slope(t: float) -> float:
        return float(q * t - v - np.maximum(sizes - q * t, 0.0).sum())

    def value(t: float) -> float:
        w = np.minimum(t, sizes / q)
        total = float((sizes * w - 0.5 * q * w * w).sum())
        return gains.base + 0.5 * q * t * t - v * t - total - 1e-11 * (reach + 0.5 * q * t * t + abs(v) * t + total)

    minimiser = _crossing(lambda t: slope(t) >= 0.0, 0.0, (abs(v) + float(sizes.sum())) / q)
    rounding = 64.0 * 2.0**-53 * (q * minimiser + abs(v) + 2.0 * float(sizes.sum()))
    lowest = value(minimiser)
    if lowest - (abs(slope(minimiser)) + rounding) ** 2 / q >= cut:
        return minimiser, minimiser
    if value(0.0) >= cut and slope(0.0) > rounding:
        return 0.0, 0.0
    highest = minimiser + math.sqrt(2.0 * max(cut - lowest, 0.0) / q) * 1.01 + 1e-6
    low = 0.0 if value(0.0) < cut else -_crossing(lambda t: value(-t) >= cut, -minimiser, 0.0)
    high = _crossing(lambda t: value(t) >= cut, minimiser, highest)
    # next to the minimiser the sign of the slope is not certain
    return low if slope(low) < -rounding else 0.0, high if slope(high) > rounding and value(high) >= cut else math.inf


def _crossing(condition: Callable[[float], bool], low: float, high: float) -> float:
    """Return a number, about the least one, at which a condition holds that is monotone from ``low`` to ``high``."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


def features_in_state(state: FeatureStates, counted: BoolArray, value: int) -> IntArray:
    """Return the counted features whose state is ``value``."""
    return np.flatnonzero((state == value) & counted)
