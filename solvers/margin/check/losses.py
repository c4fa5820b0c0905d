"""Lower bounds of losses on a box: of pairs of them, and of each by a slope.

A loss is a tail and a bounded part that pairs may pay. Costs are those of the terms: the points, then for each budget and each of
its points a loss 1{m < 1} that costs the budget's price.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....models.arrays import BoolArray, IntArray
from ...exact.check.arithmetic import Array, InvalidProofError, round_down, round_up
from .boxes import CheckedBox, margins, sum_error
from .coordinates import RotatedProblem
from .linear_pieces import LinearPieces

__all__ = ["BoxLosses", "box_losses", "least_costs", "pair_bound", "pay_pairs"]

_EPS = 2.0**-52
_BELOW, _ABOVE = 1.0 - 2.0**-48, 1.0 + 2.0**-48


@dataclass(eq=False)
class BoxLosses:
    """Terms that cost at least ``fixed_cost``, and each left·(bounded part) + cost·tail.

    Parameters
    ----------
    fixed_cost : float
        Payment of the pairs.
    costs, unpaid : ndarray (N,)
        The costs, and their unpaid parts.
    low, high : ndarray (N,)
        Margins over the box, at least 1 for demanded points.
    size : ndarray (n,)
        Upper bounds of Σ_j |g_ij v_j| for the points.
    """

    fixed_cost: float
    costs: Array
    unpaid: Array
    low: Array
    high: Array
    size: Array


def box_losses(problem: RotatedProblem, box: CheckedBox, theta: Array) -> BoxLosses:
    """Return all terms, those of budgets at these prices."""
    sizes = [budget.points.size for budget in problem.stated.budgets]
    costs = np.concatenate([problem.stated.costs, np.repeat(theta, sizes)])
    low, high, size = margins(problem, box)
    low = np.where(box.demanded, np.maximum(low, 1.0), low)
    high = np.maximum(low, high)
    return BoxLosses(0.0, costs, costs.copy(), low[problem.terms], high[problem.terms], size)


def pair_bound(first: LinearPieces, second: LinearPieces, top: Array) -> Array:
    """Return min{ρ(x) + ρ'(y) : x + y ≤ top} of the bounded parts, or less.

    On x + y = top, as neither rises. Between corners of the two losses the sum is linear in x, and it is lower semicontinuous. So
    it is least at a corner of one of them, or far out, at the height of the one and 0 of the other.
    """
    minimum = np.full(top.shape, min(first.corners.height, second.corners.height))
    for one, other in ((first, second), (second, first))[: 1 if first is second else 2]:
        for corner, value in zip(one.corners.margins.tolist(), one.corners.at.tolist(), strict=True):
            minimum = np.fmin(minimum, round_down(value + other.lower_bound(round_up(top - corner))))
    return np.maximum(minimum, 0.0)


def pay_pairs(problem: RotatedProblem, box: CheckedBox, loss: BoxLosses, levels: list[list[int]]) -> None:
    """Pay by pairs (i, j), level by level, the remaining lesser cost, times the least value of the two losses."""
    for level in levels:
        named = np.array(level, dtype=np.int64)
        if named.size % 2 or (named < 0).any() or (named >= loss.unpaid.size).any() or np.bincount(named).max(initial=0) > 1:
            raise InvalidProofError("pairs of a level must be of terms that exist, each once")
        i, j = named[0::2], named[1::2]
        point_i, point_j = problem.terms[i], problem.terms[j]
        rows = problem.g[point_i] + problem.g[point_j]
        top = np.maximum(rows, 0.0) @ box.hi + np.minimum(rows, 0.0) @ box.lo
        error = sum_error(2 * box.lo.size + 6, loss.size[point_i] + loss.size[point_j])
        top = round_up(top + error * _ABOVE + (problem.e[point_i] + problem.e[point_j]) * _ABOVE + 4.0 * _EPS * np.abs(top))
        costs = _of_pairs(problem, i, j, top)
        price = np.where(costs > 0.0, np.minimum(loss.unpaid[i], loss.unpaid[j]), 0.0)
        paid = price * costs * _BELOW
        loss.fixed_cost += float(paid.sum() - sum_error(paid.size, paid.sum()))
        for side in (i, j):
            loss.unpaid[side] = np.maximum(loss.unpaid[side] - price, 0.0) * _BELOW
    loss.fixed_cost = max(loss.fixed_cost, 0.0)


def _of_pairs(problem: RotatedProblem, i: IntArray, j: IntArray, top: Array) -> Array:
    """Return the least cost of pairs of terms with margins of ``top`` together."""
    n, rho, count = len(problem.g), problem.rho, problem.count
    if not problem.stated.budgets:
        return pair_bound(rho, rho, top)
    costs = np.zeros(i.size)
    for first, of_first in ((rho, i < n), (count, i >= n)):
        for second, of_second in ((rho, j < n), (count, j >= n)):
            selected = of_first & of_second
            costs[selected] = pair_bound(first, second, top[selected])
    return costs


def least_costs(problem: RotatedProblem, loss: BoxLosses, alpha: Array) -> Array:
    """Return a lower bound of left·bounded(m) + cost·tail(m) + α m of every term on its margins.

    The function is piecewise linear and lower semicontinuous: least at an end, at a corner, or at the start of the tail.
    """
    n = len(problem.g)
    points, budget_terms = slice(0, n), slice(n, None)
    minima = _lowest(problem.rho, loss, alpha, points)
    return minima if loss.unpaid.size == n else np.concatenate([minima, _lowest(problem.count, loss, alpha, budget_terms)])


def _lowest(pieces: LinearPieces, loss: BoxLosses, alpha: Array, indices: slice) -> Array:
    rho = pieces.corners
    low, high, unpaid, slope = loss.low[indices], loss.high[indices], loss.unpaid[indices], alpha[indices]
    steep = loss.costs[indices] * rho.tail if rho.tail > 0.0 else None

    def at(m: Any, bounded: Any, inside: BoolArray | bool) -> Array:
        terms = [unpaid * bounded, slope * m]
        if steep is not None:
            terms.append(steep * np.maximum(rho.again - m, 0.0))
        value = sum(terms) - sum_error(6, sum(np.abs(term) for term in terms))
        return np.where(inside, value, np.inf)

    minimum = np.minimum(at(low, pieces.lower_bound(low), True), at(high, pieces.lower_bound(high), True))
    corners = zip(rho.margins.tolist(), rho.at.tolist(), strict=True)
    turns = [*corners, *([(rho.again, float(pieces.lower_bound(np.array(rho.again))))] if steep is not None else [])]
    for corner, value in turns:
        minimum = np.minimum(minimum, at(corner, value, (low <= corner) & (corner <= high)))
    return minimum
