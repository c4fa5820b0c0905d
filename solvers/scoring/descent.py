"""Compiled coordinate descent over scoring systems, the primal heuristic of `supports-bb`.

One coefficient at a time takes its best value, with the best intercept; at the end coefficients are swapped for others. ``rows``
is a `ScoringData`, t the threshold, ``box`` the ends of the coefficients and of the intercept, rho the coefficients.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..interface.numba_flags import by_reference
from .bounds import INFEASIBLE, entry, inner
from .reduced_problem import ReducedScoringProblem

#: Length of the range of intercepts up to which errors are counted by intercept; for a longer range points are sorted.
_SHORT = 1 << 14


@by_reference
class DescentWorkspace(NamedTuple):
    """Workspace of a descent: changes of the errors by intercept, in a short range and in a long one, and scores."""

    hist: Any  #: (2, _SHORT)
    turns: Any  #: (2 m,) intercepts at which a row turns wrong or right, and by how many units errors change
    gain: Any
    score: Any  #: (m,) of the system, and of one with another value of a coefficient
    other: Any


def new_workspace(reduced: ReducedScoringProblem) -> DescentWorkspace:
    """Return a workspace for the problem's rows."""
    m = len(reduced.Z)
    return DescentWorkspace(np.zeros((2, _SHORT), np.int64), np.zeros(2 * m), np.zeros(2 * m, np.int64), np.zeros(m), np.zeros(m))


@inner
def _right_from(t: Any, score: Any) -> Any:
    """Return the least intercept at which a point of class +1 with this score is right, and the largest for class -1."""
    return np.ceil(t - score - 1e-9), np.floor(-t - score + 1e-9)


@inner
def _counted(rows: Any, t: Any, low: Any, high: Any, score: Any, hist: Any) -> Any:
    """Return the best intercept by counting: (errors in units, intercept)."""
    width, wrong = high - low + 1, np.int64(0)
    for v in range(width + 1):
        hist[0, v] = hist[1, v] = 0
    for i in range(score.size):
        above, below = _right_from(t, score[i])
        if rows.positive[i] > 0:
            hist[0, max(min(np.int64(above) - low, width), 0)] += rows.positive[i]  # wrong below here
        if rows.negative[i] > 0:
            hist[1, max(min(np.int64(below) - low + 1, width), 0)] += rows.negative[i]  # wrong from here on
    for v in range(width + 1):
        wrong += hist[0, v]
    best, best_value, has_best = wrong, low, False
    for v in range(width):
        wrong += hist[1, v] - hist[0, v]
        if not has_best or wrong < best:
            best, best_value, has_best = wrong, low + v, True
    return best, best_value


@inner
def _sort(keys: Any, values: Any, count: Any) -> None:
    """Sort so many keys, values with them, by Shell's method: gaps of a half, odd, which is short and needs no room."""
    gap = count // 2
    while gap > 0:
        gap |= 1
        for i in range(gap, count):
            key, value, k = keys[i], values[i], i
            while k >= gap and keys[k - gap] > key:
                keys[k], values[k] = keys[k - gap], values[k - gap]
                k -= gap
            keys[k], values[k] = key, value
        gap //= 2


@inner
def _sorted(rows: Any, t: Any, low: Any, high: Any, score: Any, workspace: Any) -> Any:
    """Return the best intercept of a long range: (errors in units, intercept)."""
    count, wrong = 0, np.int64(0)
    turns, gain = workspace.turns, workspace.gain
    for i in range(score.size):
        above, below = _right_from(t, score[i])
        if rows.positive[i] > 0:
            turns[count], gain[count] = max(above, float(low)), -rows.positive[i]
            wrong += rows.positive[i]
            count += 1
        if rows.negative[i] > 0:
            turns[count], gain[count] = max(below + 1.0, float(low)), rows.negative[i]
            count += 1
    _sort(turns, gain, count)
    best, best_value, is_sorted = wrong, low, False
    for v in range(count):
        if turns[v] > high:
            break
        if v == 0 and turns[0] > low:
            is_sorted = True
        wrong += gain[v]
        if (v + 1 == count or turns[v + 1] > turns[v]) and (not is_sorted or wrong < best):
            best, best_value, is_sorted = wrong, np.int64(turns[v]), True
    return best, best_value


@inner
def _offset(rows: Any, t: Any, low: Any, high: Any, score: Any, workspace: Any) -> Any:
    """Return the best intercept for these scores: (errors in units, intercept)."""
    if high - low + 2 <= workspace.hist.shape[1]:
        return _counted(rows, t, low, high, score, workspace.hist)
    return _sorted(rows, t, low, high, score, workspace)


@inner
def _add(rows: Any, score: Any, j: Any, value: Any) -> None:
    for i in range(score.size):
        score[i] += value * rows.Z[i, j]


@inner
def _scores(rows: Any, rho: Any, score: Any) -> None:
    for i in range(score.size):
        score[i] = 0.0
    for j in range(rho.size):
        if rho[j] != 0:
            _add(rows, score, j, rho[j])


@entry
def best_intercept(rows: Any, t: Any, low: Any, high: Any, rho: Any, workspace: Any) -> Any:
    """Return the least cost of errors in units over the intercepts from ``low`` to ``high``, and the best intercept."""
    _scores(rows, rho, workspace.score)
    return _offset(rows, t, low, high, workspace.score, workspace)


@inner
def _best_value(rows: Any, t: Any, box: Any, rho: Any, j: Any, used: Any, workspace: Any) -> Any:
    """Return (cost of errors and of it, value, intercept) of the best value of a coefficient that the scores do not hold."""
    lower, upper, low, high = box
    best, value, best_size = INFEASIBLE, 0, 0
    for v in range(lower[j], upper[j] + 1):
        if v != 0 and used >= rows.max_nonzeros:
            continue
        size_cost = 0 if v == 0 else rows.price + rows.size_price * abs(v)
        if size_cost >= best:
            continue
        for i in range(workspace.score.size):
            workspace.other[i] = workspace.score[i] + v * rows.Z[i, j]
        errors, b = _offset(rows, t, low, high, workspace.other, workspace)
        if errors + size_cost < best:
            best, value, best_size = errors + size_cost, v, b
    return best, value, best_size


@inner
def _total(rows: Any, rho: Any) -> Any:
    units, used = np.int64(0), 0
    for j in range(rho.size):
        if rho[j] != 0:
            units += rows.price + rows.size_price * abs(rho[j])
            used += 1
    return units, used


@inner
def _swap(rows: Any, t: Any, box: Any, rho: Any, out: Any, best: Any, workspace: Any) -> Any:
    """Put another coefficient in the place of this one, the first that helps: return (cost, intercept), or ``best``."""
    units, used = _total(rows, rho)
    units -= rows.price + rows.size_price * abs(rho[out])
    _add(rows, workspace.score, out, -rho[out])
    for j in range(rho.size):
        if rho[j] == 0:
            cost, value, size = _best_value(rows, t, box, rho, j, used - 1, workspace)
            if cost + units < best and value != 0:
                rho[j], rho[out] = value, 0
                _add(rows, workspace.score, j, value)
                return cost + units, size
    _add(rows, workspace.score, out, rho[out])
    return best, np.int64(0)


@entry
def descend(rows: Any, t: Any, box: Any, rho: Any, order: Any, swaps: Any, workspace: Any) -> Any:
    """Improve rho in place, coordinates in the given order; return its cost in units and its intercept.

    At most ``swaps`` coefficients are tried to be replaced by another one.
    """
    _scores(rows, rho, workspace.score)
    errors, intercept = _offset(rows, t, box[2], box[3], workspace.score, workspace)
    units, used = _total(rows, rho)
    best, improved = errors + units, True
    while improved:
        improved = False
        for k in range(order.size):
            j = order[k]
            units, used = _total(rows, rho)
            if rho[j] != 0:
                units -= rows.price + rows.size_price * abs(rho[j])
                used -= 1
                _add(rows, workspace.score, j, -rho[j])
            cost, value, value_at = _best_value(rows, t, box, rho, j, used, workspace)
            if cost + units < best:
                best, rho[j], intercept, improved = cost + units, value, value_at, True
            _add(rows, workspace.score, j, rho[j])
        if improved:
            continue
        for k in range(order.size):
            out = order[k]
            if rho[out] == 0 or swaps <= 0:
                continue
            swaps -= 1
            cost, value_at = _swap(rows, t, box, rho, out, best, workspace)
            if cost < best:
                best, intercept, improved = cost, value_at, True
                break
    return best, intercept
