"""The primal heuristic of `supports-bb`: the incumbent, and compiled coordinate descents that improve it.

One coefficient at a time takes its best value, with the best intercept; at the end coefficients are swapped for others. In the
loops ``data`` is a `ScoringData`, ``rho`` the integer coefficients, and ``box`` the bounds (lower, upper, low, high) of the
coefficients and of the intercept. A point of class y = ±1 is right if y (intercept + score) ≥ t, the threshold; score is x'rho.
Minimised is the cost of the other points plus prices of non-zero coefficients, in integer units.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import IntArray
from ..interface.numba_flags import by_reference
from .bounds import INFEASIBLE, entry, inner, scoring_data
from .box_program import BoxSolution
from .reduced_problem import ReducedScoringProblem

#: Length of the range of intercepts up to which errors are counted by intercept; for a longer range points are sorted.
_SHORT = 1 << 14
#: Entries of the place in a descent: its phase, the next coefficient's number, whether the sweep improved, the swaps left, and
#: cost in units and intercept of the system.
PHASE, NEXT, IMPROVED, SWAPS, BEST, INTERCEPT = range(6)
#: The phases: before the first step, best values of one coefficient after another, and swaps.
START, SWEEP, SWAP = range(3)
#: Scores computed between two readings of the clock, about.
_READ = 1_000_000


@by_reference
class DescentWorkspace(NamedTuple):
    """Workspace of a descent for m rows."""

    hist: Any  #: (2, _SHORT) changes of the errors, in units, at each intercept of a short range
    turns: Any  #: (2 m,) for a long range: the intercepts at which the errors change
    gain: Any  #: (2 m,) the changes of the errors there, in units
    score: Any  #: (m,) scores of the current system without its intercept
    other: Any  #: (m,) scores with another value of one coefficient
    place: Any  #: (6,) the place in the descent: entries ``PHASE`` to ``INTERCEPT``


def new_workspace(reduced: ReducedScoringProblem) -> DescentWorkspace:
    """Return a workspace for the problem's rows."""
    m, place = len(reduced.Z), np.zeros(6, np.int64)
    hist, turns, gain = np.zeros((2, _SHORT), np.int64), np.zeros(2 * m), np.zeros(2 * m, np.int64)
    return DescentWorkspace(hist, turns, gain, np.zeros(m), np.zeros(m), place)


@inner
def _right_from(t: Any, score: Any) -> Any:
    """Return the least intercept at which a point of class +1 with this score is right, and the largest for class -1."""
    return np.ceil(t - score - 1e-9), np.floor(-t - score + 1e-9)


@inner
def _counted(data: Any, t: Any, low: Any, high: Any, score: Any, hist: Any) -> Any:
    """Return the best intercept by counting: (errors in units, intercept)."""
    width, wrong = high - low + 1, np.int64(0)
    for v in range(width + 1):
        hist[0, v] = hist[1, v] = 0
    for i in range(score.size):
        above, below = _right_from(t, score[i])
        if data.positive[i] > 0:
            hist[0, max(min(np.int64(above) - low, width), 0)] += data.positive[i]  # wrong below here
        if data.negative[i] > 0:
            hist[1, max(min(np.int64(below) - low + 1, width), 0)] += data.negative[i]  # wrong from here on
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
    """Sort the first ``count`` keys, and ``values`` with them, in place by Shell's method with odd gaps that halve."""
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
def _sorted(data: Any, t: Any, low: Any, high: Any, score: Any, workspace: Any) -> Any:
    """Return the best intercept of a long range: (errors in units, intercept)."""
    count, wrong = 0, np.int64(0)
    turns, gain = workspace.turns, workspace.gain
    for i in range(score.size):
        above, below = _right_from(t, score[i])
        if data.positive[i] > 0:
            turns[count], gain[count] = max(above, float(low)), -data.positive[i]
            wrong += data.positive[i]
            count += 1
        if data.negative[i] > 0:
            turns[count], gain[count] = max(below + 1.0, float(low)), data.negative[i]
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
def _offset(data: Any, t: Any, low: Any, high: Any, score: Any, workspace: Any) -> Any:
    """Return the best intercept for these scores: (errors in units, intercept)."""
    if high - low + 2 <= workspace.hist.shape[1]:
        return _counted(data, t, low, high, score, workspace.hist)
    return _sorted(data, t, low, high, score, workspace)


@inner
def _add(data: Any, score: Any, j: Any, value: Any) -> None:
    for i in range(score.size):
        score[i] += value * data.Z[i, j]


@inner
def _scores(data: Any, rho: Any, score: Any) -> None:
    for i in range(score.size):
        score[i] = 0.0
    for j in range(rho.size):
        if rho[j] != 0:
            _add(data, score, j, rho[j])


@entry
def best_intercept(data: Any, t: Any, low: Any, high: Any, rho: Any, workspace: Any) -> Any:
    """Return the least cost of errors in units over the intercepts from ``low`` to ``high``, and the best intercept."""
    _scores(data, rho, workspace.score)
    return _offset(data, t, low, high, workspace.score, workspace)


@inner
def _best_value(data: Any, t: Any, box: Any, rho: Any, j: Any, used: Any, workspace: Any) -> Any:
    """Return the best value of coefficient j as (cost, value, intercept); the scores hold the other coefficients only.

    The cost, in units, is that of the errors and the price of coefficient j.
    """
    lower, upper, low, high = box
    best, value, best_size = INFEASIBLE, 0, 0
    for v in range(lower[j], upper[j] + 1):
        if v != 0 and used >= data.max_nonzeros:
            continue
        size_cost = 0 if v == 0 else data.price + data.size_price * abs(v)
        if size_cost >= best:
            continue
        for i in range(workspace.score.size):
            workspace.other[i] = workspace.score[i] + v * data.Z[i, j]
        errors, b = _offset(data, t, low, high, workspace.other, workspace)
        if errors + size_cost < best:
            best, value, best_size = errors + size_cost, v, b
    return best, value, best_size


@inner
def _total(data: Any, rho: Any) -> Any:
    units, used = np.int64(0), 0
    for j in range(rho.size):
        if rho[j] != 0:
            units += data.price + data.size_price * abs(rho[j])
            used += 1
    return units, used


@inner
def _swap(data: Any, t: Any, box: Any, rho: Any, out: Any, best: Any, workspace: Any) -> Any:
    """Replace coefficient ``out`` by the first other one that lowers the cost; return (cost, intercept), or (``best``, 0)."""
    units, used = _total(data, rho)
    units -= data.price + data.size_price * abs(rho[out])
    _add(data, workspace.score, out, -rho[out])
    for j in range(rho.size):
        if rho[j] == 0:
            cost, value, size = _best_value(data, t, box, rho, j, used - 1, workspace)
            if cost + units < best and value != 0:
                rho[j], rho[out] = value, 0
                _add(data, workspace.score, j, value)
                return cost + units, size
    _add(data, workspace.score, out, rho[out])
    return best, np.int64(0)


@inner
def _improve_coefficient(data: Any, t: Any, box: Any, rho: Any, j: Any, workspace: Any) -> None:
    """Give a coefficient its best value."""
    place = workspace.place
    units, used = _total(data, rho)
    if rho[j] != 0:
        units -= data.price + data.size_price * abs(rho[j])
        used -= 1
        _add(data, workspace.score, j, -rho[j])
    cost, value, intercept = _best_value(data, t, box, rho, j, used, workspace)
    if cost + units < place[BEST]:
        place[BEST], rho[j], place[INTERCEPT], place[IMPROVED] = cost + units, value, intercept, 1
    _add(data, workspace.score, j, rho[j])


@entry
def descend(data: Any, t: Any, box: Any, rho: Any, order: Any, steps: Any, workspace: Any) -> Any:
    """Improve rho in place by ``steps`` coefficients of ``order``, one after another; return whether the descent goes on.

    ``workspace.place`` has the place in the descent, with the cost of rho in units and its intercept. A swap replaces a non-zero
    coefficient by another one, where no other value of one coefficient helps.
    """
    place = workspace.place
    if place[PHASE] == START:
        _scores(data, rho, workspace.score)
        errors, intercept = _offset(data, t, box[2], box[3], workspace.score, workspace)
        place[BEST], place[INTERCEPT] = errors + _total(data, rho)[0], intercept
        place[PHASE], place[NEXT], place[IMPROVED] = SWEEP, 0, 0
    for _ in range(steps):
        if place[NEXT] == order.size:
            if place[PHASE] == SWAP:
                return False
            if place[IMPROVED] == 0:
                place[PHASE] = SWAP
            place[NEXT], place[IMPROVED] = 0, 0
        if order.size == 0:
            return False
        j = order[place[NEXT]]
        place[NEXT] += 1
        if place[PHASE] == SWEEP:
            _improve_coefficient(data, t, box, rho, j, workspace)
        elif rho[j] != 0 and place[SWAPS] > 0:
            place[SWAPS] -= 1
            cost, intercept = _swap(data, t, box, rho, j, place[BEST], workspace)
            if cost < place[BEST]:
                place[BEST], place[INTERCEPT] = cost, intercept
                place[PHASE], place[NEXT] = SWEEP, 0
    return True


#: Number of random systems on a small support that are improved on that support; a descent starts from the best one.
_TRIES = 6
#: Share a^+ + a^- of a feature in a linear program's solution above which the rounded system uses the feature.
_USED = 0.1


class ScoringIncumbent:
    """The best scoring system found so far, with its objective as a fraction, and the descents that improve it.

    Parameters
    ----------
    reduced : ReducedScoringProblem
        The problem.
    rng : numpy Generator
        Source of the descents' starting points.
    order : ndarray of int (d,)
        The features by usefulness (`greedy_feature_order`); starting points on few features prefer the first ones.
    deadline : float
        Value of `time.perf_counter` at which a descent ends where it is.

    Attributes
    ----------
    rho0 : int
        Intercept.
    rho : ndarray of int (d,)
        Coefficients.
    value : Fraction
        Objective.
    cut : int
        The objective in units, rounded up, below `INFEASIBLE`: a node whose bound reaches it holds no better system.
    descents : int
        Number of descents so far.
    """

    def __init__(
        self, reduced: ReducedScoringProblem, rng: np.random.Generator, order: IntArray, deadline: float = math.inf
    ) -> None:
        problem = reduced.problem
        self._reduced, self._rng, self._order, self._deadline = reduced, rng, order, deadline
        self._data, self._workspace = scoring_data(reduced), new_workspace(reduced)
        self._lower, self._upper = problem.lower.astype(np.int64), problem.upper.astype(np.int64)
        self._box = (self._lower, self._upper, *map(np.int64, problem.intercept))
        largest = len(reduced.Z) * int((self._upper - self._lower + 1).max(initial=1))
        self._steps = np.int64(max(1, _READ // max(largest, 1)))
        self._t = float(problem.threshold) if not reduced.integer_scores else reduced.separation / 2.0
        self.descents = 0
        zeros = np.zeros(reduced.Z.shape[1], dtype=np.int64)
        intercept = self._intercept(zeros)
        self._replace(problem.value(intercept, zeros.astype(np.float64)), intercept, zeros)

    def _intercept(self, rho: IntArray) -> int:
        return int(best_intercept(self._data, self._t, self._box[2], self._box[3], rho, self._workspace)[1])

    def offer(self, rho0: int, rho: IntArray) -> bool:
        """Make a system the incumbent if it is feasible and better, in exact arithmetic; return whether it is."""
        problem, floats = self._reduced.problem, rho.astype(np.float64)
        if not problem.allows(rho0, floats):
            return False
        value = problem.value(rho0, floats)
        if value < self.value:
            self._replace(value, rho0, rho)
            return True
        return False

    def _replace(self, value: Fraction, rho0: int, rho: IntArray) -> None:
        self.value, self.rho0, self.rho = value, rho0, rho.copy()
        self.cut = min(self._reduced.to_units(value), int(INFEASIBLE) - 1)

    def run_descent(self) -> None:
        """Run one descent: the first from 0, then in turn from a system on few features and from the perturbed incumbent."""
        d, problem = self.rho.size, self._reduced.problem
        turn, self.descents = self.descents, self.descents + 1
        if turn == 0:
            rho = np.zeros(d, dtype=np.int64)
        elif turn % 2:
            rho = self._small(turn // 2)
        else:
            rho = self.rho.copy()
            count = min(int(self._rng.integers(1, 5)), d)
            for j in self._rng.choice(d, size=count, replace=False):
                rho[j] = self._rng.integers(self._lower[j], self._upper[j] + 1) if self._rng.random() < 0.7 else 0
            used = np.flatnonzero(rho)
            if used.size > problem.max_nonzeros:
                rho[self._rng.choice(used, size=used.size - problem.max_nonzeros, replace=False)] = 0
        self._descend(rho, self._rng.permutation(d), 2 * d)

    def _small(self, turn: int) -> IntArray:
        """Return a good system on few features: the first ones of the greedy order, later drawn with a preference for them."""
        d = self.rho.size
        count = min(1 + turn % 5, self._reduced.problem.max_nonzeros, d)
        support = self._order[:count]
        if turn >= 5:
            support = np.unique(self._order[np.minimum(self._rng.geometric(0.2, size=count) - 1, d - 1)])
        best, chosen = None, np.zeros(d, dtype=np.int64)
        low, high = self._lower[support], self._upper[support] + 1
        for coefficients in self._rng.integers(low, high, size=(_TRIES, support.size)):
            rho = np.zeros(d, dtype=np.int64)
            rho[support] = coefficients
            units = self._descend(rho, support, 0)
            if best is None or units < best:
                best, chosen = units, rho
        return chosen

    def _descend(self, rho: IntArray, order: IntArray, swaps: int) -> int:
        """Improve rho in place, until the deadline, and offer it; return its cost in units."""
        place = self._workspace.place
        place[PHASE], place[SWAPS] = START, swaps
        while descend(self._data, self._t, self._box, rho, order, self._steps, self._workspace):
            if time.perf_counter() >= self._deadline:
                break
        units, rho0 = int(place[BEST]), int(place[INTERCEPT])
        if not self._reduced.integer_scores or units < self.cut:  # integer scores are counted exactly
            self.offer(rho0, rho)
        return units

    def descend_from_solution(self, relaxed: BoxSolution) -> None:
        """Round the solution of a box's linear program to integers, and descend from there on the features that it uses."""
        rho = np.clip(np.rint(relaxed.rho), self._lower, self._upper).astype(np.int64)
        used = relaxed.use.sum(axis=0)
        support = np.flatnonzero(used > _USED)
        support = support[np.argsort(-used[support], kind="stable")[: self._reduced.problem.max_nonzeros]]
        chosen = np.zeros_like(rho)
        chosen[support] = rho[support]
        self._descend(chosen, support, 0)

    def offer_coefficients(self, rho: IntArray) -> None:
        """Offer coefficients with their best intercept and, if scores are not integers, with all near which the errors change."""
        self.offer(self._intercept(rho), rho)
        if self._reduced.integer_scores:
            return
        problem = self._reduced.problem
        scores, t = problem.X @ rho, float(problem.threshold)
        turns = np.where(problem.y > 0, np.ceil(t - scores), np.floor(-t - scores))
        intercepts = {int(b) + s for b in np.unique(turns) for s in (-1, 0, 1)} | set(problem.intercept)
        for rho0 in intercepts:
            self.offer(int(np.clip(rho0, *problem.intercept)), rho)
