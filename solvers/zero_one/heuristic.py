"""Primal heuristic of the exact 0-1 solver: local searches from many starting points, and large neighbourhoods of the incumbent.

The 0-1 objective is ||w_pen||² + Σ_i λ_i 1{g_i'w < 1} in reduced coordinates, where w_pen is w without a free intercept.

The heuristic and the tree search alternate by counted effort (`Heuristic.is_due`), never by the clock, so that runs repeat. An
easy problem is solved before the heuristic has done much. On a hard problem the heuristic restarts with more patience
(`LEVELS`), since an optimal incumbent then saves a share of a long search.

The local search minimises the 0-1 objective exactly along many lines at once. Along w + t d the objective is a parabola plus a
step at every crossing of a margin. So its global minimiser is the vertex or a crossing, found by sorting the crossings and
summing the steps. A batch of directions takes one matrix product and one sort in NumPy, with arrays large enough that compiled
loops would be no faster.

Margins within `_NEAR` of 1 count as kept here; `solvers.zero_one.incumbent` makes them exact and evaluates the true objective.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ...models.arrays import FloatArray
from ...models.views import ZeroOneProblem
from ..exact.options import Limits
from .engine import SharedState
from .incumbent import HardMarginSolver, trivial_incumbent
from .reduced import ReducedZeroOneProblem, reduce_problem

if TYPE_CHECKING:
    from .conflict_engine import LargeNeighbourhood

#: Distance below 1 at which a margin counts as kept: a w that is scaled onto a crossing misses it by rounding.
_NEAR = 1e-9
#: Directions of a batch; least relative improvement that counts. Smaller ones only reduce the norm, and one quadratic program
#: finds the least norm that keeps the same points (`incumbent.HardMarginSolver`).
_BATCH, _LEAST_IMPROVEMENT = 20, 1e-3
#: Share of random directions; the others (nearly) preserve the margins that are closest to 1.
_RANDOM_SHARE = 0.4
#: Largest number of entries in a batch's matrices: problems with many points use fewer directions.
_MAX_ELEMENTS = 500_000


class LocalSearch:
    """Local search for a small 0-1 objective from one point, batch by batch of directions.

    Parameters
    ----------
    rows : ndarray (n, p)
        Reduced rows g_i.
    weights : ndarray (n,)
        Costs λ_i of violations.
    free : bool
        Whether the last coordinate, a free intercept, is not part of the norm.
    start : ndarray (p,)
        Starting point; the search begins at its best multiple.
    rng : numpy Generator
        Source of the directions.
    patience : int
        Number of consecutive unsuccessful directions that ends the search.

    Attributes
    ----------
    w : ndarray (p,)
        The current point.
    value : float
        Its objective.
    """

    def __init__(
        self, rows: FloatArray, weights: FloatArray, free: bool, start: FloatArray, rng: np.random.Generator, patience: int
    ) -> None:
        self._rows, self._weights, self._free, self._rng, self._patience = rows, weights, free, rng, patience
        step, _ = _line_minima(rows, weights, free, np.zeros(rows.shape[1]), start[:, None])
        self._set_point(start * float(step[0]))
        self._failures = 0
        self._batch = max(min(_BATCH, _MAX_ELEMENTS // rows.size), 4)

    @property
    def finished(self) -> bool:
        """True if the last ``patience`` directions were unsuccessful."""
        return self._failures >= self._patience

    def step(self) -> None:
        """Minimise along a batch of lines through the current point, and move to the best minimiser if it is better."""
        directions = self._directions()
        steps, values = _line_minima(self._rows, self._weights, self._free, self.w, directions)
        best = int(values.argmin())
        candidate = self.w + float(steps[best]) * directions[:, best]
        self._failures += self._batch
        value = self._value(candidate)
        if value < self.value * (1.0 - _LEAST_IMPROVEMENT):
            self._failures = 0
        if value < self.value:
            self._set_point(candidate)

    @property
    def cost(self) -> float:
        """The effort of a batch, about its nanoseconds, counted from the sizes: independent of the clock."""
        n, p = self._rows.shape
        return self._batch * (n * (2.0 * p + 150.0) + 0.5 * p**3) + 2e5

    def _set_point(self, w: FloatArray) -> None:
        self.w, self.value = w, self._value(w)
        n, p = self._rows.shape
        self._nearest = np.argsort(np.abs(self._rows @ w - 1.0), kind="stable")[: min(n, 2 * p + 4)]

    def _value(self, w: FloatArray) -> float:
        """Return ||w_pen||² + Σ λ_i 1{g_i'w < 1 - _NEAR}."""
        penalised = w[:-1] if self._free else w
        return float(penalised @ penalised) + float(self._weights[self._rows @ w < 1.0 - _NEAR].sum())

    def _directions(self) -> FloatArray:
        """Return unit directions (p, batch), random or (nearly) preserving p - 1 of the margins that are closest to 1."""
        p, count = self._rows.shape[1], self._batch
        directions = self._rng.standard_normal((count, p))
        tight = (self._rng.random(count) >= _RANDOM_SHARE).nonzero()[0] if p > 1 else np.zeros(0, dtype=np.int64)
        if tight.size:
            chosen = self._rows[self._nearest[self._rng.integers(0, self._nearest.size, (tight.size, p - 1))]]
            gram = chosen.transpose(0, 2, 1) @ chosen
            trace = gram.trace(axis1=1, axis2=2)
            gram += (1e-10 * trace + 1e-300)[:, None, None] * np.eye(p)
            directions[tight] = np.linalg.solve(gram, directions[tight][:, :, None])[:, :, 0]
        with np.errstate(over="ignore"):  # norms that are not finite are replaced
            norms = np.sqrt((directions * directions).sum(axis=1))
        usable = np.isfinite(norms) & (norms > 0.0)
        directions[~usable], norms[~usable] = 1.0, math.sqrt(p)
        return np.ascontiguousarray((directions / norms[:, None]).T)


def _line_minima(
    rows: FloatArray, weights: FloatArray, free: bool, w: FloatArray, directions: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the global minimisers t of the 0-1 objective along w + t d for the columns d of ``directions``, and their values.

    ``rows`` (n, p) and ``weights`` (n,) are the g_i and λ_i, ``w`` is (p,), ``directions`` (p, k), and both results are (k,).
    With ``free`` the last coordinate is not part of the norm.
    """
    penalised = slice(0, -1) if free else slice(None)
    base, d = w[penalised], directions[penalised]
    a0, a1, a2 = float(base @ base), base @ d, (d * d).sum(axis=0)
    margins, slopes = (rows @ w)[:, None], rows @ directions
    flat = np.abs(slopes) < 1e-13
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.where(flat, np.inf, (1.0 - margins) / slopes)
        vertex = np.where(a2 > 0.0, -a1 / a2, 0.0)
    # at t = -∞ rising margins are violated and falling ones kept; a margin of exactly 1 is kept
    rises = slopes > 0.0
    cost = (weights[:, None] * np.where(flat, margins < 1.0 - _NEAR, rises)).sum(axis=0)
    order = np.argsort(crossings, axis=0, kind="stable")
    columns = np.arange(order.shape[1])
    crossings = crossings[order, columns]
    jump = np.where(flat, 0.0, np.where(rises, -weights[:, None], weights[:, None]))[order, columns]
    total = np.cumsum(jump, axis=0)
    # a falling margin is still kept at its crossing
    step_values = cost + total - np.maximum(jump, 0.0)
    finite_crossings = np.where(np.isfinite(crossings), crossings, 0.0)
    values = np.where(np.isfinite(crossings), a0 + finite_crossings * (2.0 * a1 + finite_crossings * a2) + step_values, np.inf)
    best = values.argmin(axis=0)
    steps, crossing_values = finite_crossings[best, columns], values[best, columns]
    vertex_values = a0 + vertex * (2.0 * a1 + vertex * a2) + weights @ (margins + vertex * slopes < 1.0 - _NEAR)
    vertex_better = vertex_values < crossing_values
    return np.where(vertex_better, vertex, steps), np.where(vertex_better, vertex_values, crossing_values)


def hinge_path(reduced: ReducedZeroOneProblem, deadline: float = math.inf) -> FloatArray:
    """Return starting points (5, k), minimisers of hinge problems: the loss of a point reaches its cost λ_i at the margin l.

    Its slope is λ_i/(1 - l), for l = 0, -1, -3, -10, -30 in turn.

    If the next solve would end after ``deadline``, a value of ``time.perf_counter``, the last point is repeated instead.
    """
    from ..exact.loops.newton import empty_relaxation, newton

    n, p = reduced.rows.shape
    width = np.full(p, 4.0 * math.sqrt(max(reduced.trivial_value, 1e-300)))
    if reduced.free:
        width[-1] = reduced.intercept_bound(reduced.trivial_value)
    relaxation = empty_relaxation(n, p)
    relaxation.rows[:], relaxation.b[:], relaxation.q[:] = reduced.rows.T, 1.0, 0.0
    starts, w, elapsed = [], np.zeros(p), 0.0
    for low in (0.0, -1.0, -3.0, -10.0, -30.0):
        relaxation.cap[:] = reduced.weights / (1.0 - low)
        for smoothing in (1.0, 0.1, 0.01):
            start = time.perf_counter()
            if start + 2.0 * elapsed >= deadline:  # the next solve may take twice as long as the last one
                break
            relaxation.h[:] = relaxation.cap / ((1.0 - low) * smoothing)
            newton(relaxation, n, 0.0, -width, width, w, np.inf, 1e-6)
            elapsed = time.perf_counter() - start
        starts.append(w.copy())
    return np.array(starts)


#: Patience of the local searches at each level, and the ratio of the tree search's effort to the heuristic's at which the next
#: level begins.
LEVELS, _LEVEL_RATIO = (40, 100, 250), 3.0
#: Number of unsuccessful local searches that ends those of a level.
_MAX_FAILURES = 10
#: Number of neighbourhoods for each local search.
_NEIGHBOURHOODS_PER_SEARCH = 3
#: Largest number of nodes of a neighbourhood's search, and of one step of it.
_NEIGHBOURHOOD_NODES, _NODES_PER_STEP = 1500, 100
#: Largest number of nodes × points × coordinates of one step, so that it is short where points are many.
_STEP_WORK = 1_250_000
#: Effort of a polish, about nanoseconds: a part of any size, and one for each coordinate of a point.
_POLISH_EFFORT, _POLISH_EFFORT_PER_ENTRY = 5e5, 50.0
#: Largest number of nodes of a neighbourhood that is searched between two slices of a long tree search.
_SHORT_NEIGHBOURHOOD_NODES = 300


class Heuristic:
    """The primal heuristic of one run; each `step` may improve the shared incumbent.

    Parameters
    ----------
    shared : SharedState
        Data of the search, with the incumbent to improve.
    rng : numpy Generator
        Source of directions and neighbourhoods.
    restarts : int
        Maximum number of local searches; `_MAX_FAILURES` failures end those of a level sooner.
    neighbourhoods : int
        Maximum number of large neighbourhoods; a third of them without success ends those of a level sooner.

    Attributes
    ----------
    starts : ndarray (5, k)
        Starting points of the first local searches (`hinge_path`).
    effort : float
        Counted work so far, about nanoseconds.
    """

    def __init__(self, shared: SharedState, rng: np.random.Generator, restarts: int, neighbourhoods: int) -> None:
        self._shared, self._rng = shared, rng
        self._restarts, self._neighbourhoods = restarts, neighbourhoods
        start = time.perf_counter()
        self.starts = hinge_path(shared.reduced, shared.limits.deadline)
        self._hinge_seconds = time.perf_counter() - start  # an upper estimate of the time of a hard-margin problem of all points
        self._restart_count = self._failures = self._level = 0
        self._local_search: LocalSearch | None = None
        self._neighbourhood_search: LargeNeighbourhood | None = None
        self.effort = 0.0
        self._optimal = False  # keeping every point costs at most one violation: no better solution exists
        self._offer_starts()

    def _offer_starts(self) -> None:
        """Offer the best multiple of the hinge path's points, polished, and the least norm that keeps every point."""
        shared = self._shared
        rows, p = shared.reduced.rows, shared.reduced.rows.shape[1]
        steps, values = _line_minima(rows, shared.reduced.weights, shared.reduced.free, np.zeros(p), self.starts.T)
        best = self.starts[values.argmin()] * steps[values.argmin()]
        if time.perf_counter() + self._hinge_seconds >= shared.limits.deadline:  # no time to polish
            shared.incumbent.offer(shared.reduced, shared.reduced.to_original(best))
            return
        shared.polish.improve(shared.incumbent, best)
        if shared.limits.expired:
            return
        w = shared.polish.solve(np.ones(len(rows), dtype=bool), below=shared.upper)
        if w is not None:
            shared.incumbent.offer(shared.reduced, w)
            self._optimal = shared.upper <= float(shared.reduced.weights.min())

    @property
    def hinge_violations(self) -> FloatArray:
        """Hinge loss of every point (n,) at a minimiser of the hinge path, plus 1e-3: priorities of the conflict engine."""
        return np.maximum(1.0 - self._shared.reduced.rows @ self.starts[3], 0.0) + 1e-3

    @property
    def _local_search_finished(self) -> bool:
        return self._local_search is None and (self._restart_count >= self._restarts or self._failures >= _MAX_FAILURES)

    @property
    def _neighbourhoods_finished(self) -> bool:
        search = self._neighbourhood_search
        if search is None:
            return self._neighbourhoods == 0
        return not search.running and (search.rounds >= self._neighbourhoods or search.failures > self._neighbourhoods // 3)

    @property
    def finished(self) -> bool:
        """True if both parts of the level are finished or the incumbent is optimal; without coordinates only w = 0 exists."""
        return (
            not self._shared.reduced.rows.size or self._optimal or (self._local_search_finished and self._neighbourhoods_finished)
        )

    def is_due(self, allowed: float, tree_effort: float) -> bool:
        """Return whether the next step precedes the tree search's next slice; begin the next level if the search has become long.

        Parameters
        ----------
        allowed : float
            Effort allowed for the heuristic.
        tree_effort : float
            Effort of the tree search so far.
        """
        level = self._level + 1
        if self.finished and level < len(LEVELS) and tree_effort >= _LEVEL_RATIO * self.effort:
            self._level, self._failures = level, 0
            if self._neighbourhood_search is not None:
                self._neighbourhood_search.failures = 0
        return not self.finished and self.effort <= allowed

    def step(self) -> None:
        """Run a batch of a local search, or some nodes of a neighbourhood, in turn."""
        rounds = 0 if self._neighbourhood_search is None else self._neighbourhood_search.rounds
        if self._local_search is not None or (
            not self._local_search_finished
            and (self._neighbourhoods_finished or rounds >= _NEIGHBOURHOODS_PER_SEARCH * self._restart_count)
        ):
            self._local_step()
            return
        search = self._get_neighbourhood()
        if not search.running:
            search.start_search()
        self.effort += search.search(
            max(min(_NODES_PER_STEP, _STEP_WORK // self._shared.reduced.rows.size), 1), _NEIGHBOURHOOD_NODES
        )

    def run_between_slices(self, neighbourhood: bool) -> None:
        """Run a complete local search, and optionally a short neighbourhood, between two slices of a long tree search."""
        if neighbourhood:
            search = self._get_neighbourhood()
            search.start_search()
            self.effort += search.search(_SHORT_NEIGHBOURHOOD_NODES, _SHORT_NEIGHBOURHOOD_NODES)
        if self._restarts and self._local_search is None:
            while self._local_step():
                pass

    def _get_neighbourhood(self) -> LargeNeighbourhood:
        from .conflict_engine import LargeNeighbourhood

        if self._neighbourhood_search is None:
            self._neighbourhood_search = LargeNeighbourhood(self._shared, self._rng, self.hinge_violations)
        return self._neighbourhood_search

    def _local_step(self) -> bool:
        """Run a batch of the local search and return True if that search continues."""
        if self._local_search is None:
            reduced = self._shared.reduced
            patience = LEVELS[self._level]
            self._local_search = LocalSearch(
                reduced.rows, reduced.weights, reduced.free, self._starting_point(), self._rng, patience
            )
            self._restart_count += 1
        search = self._local_search
        search.step()
        self.effort += search.cost
        if not search.finished:
            return True
        self._local_search = None
        self._failures += 1
        incumbent, polish = self._shared.incumbent, self._shared.polish
        initial_value = incumbent.value
        if search.value < self._shared.upper * (1 + 1e-2):
            self.effort += _POLISH_EFFORT + _POLISH_EFFORT_PER_ENTRY * self._shared.reduced.rows.size
            if polish.improve(incumbent, search.w) and incumbent.value < initial_value * (1 - 1e-6):
                self._failures = 0
        return False

    def _starting_point(self) -> FloatArray:
        """Return the next starting point: those of the hinge path, then perturbed incumbents and path points in turn."""
        shared, starts, restart, rng = self._shared, self.starts, self._restart_count, self._rng
        if restart < len(starts):
            return np.asarray(starts[restart] + 1e-6 * rng.standard_normal(starts.shape[1]))
        if restart % 2 == 0:
            point = shared.reduced.to_reduced(shared.incumbent.w)
            return np.asarray(point + 0.3 * math.sqrt(point @ point / point.size) * rng.standard_normal(point.size))
        point = starts[rng.integers(len(starts))]
        return np.asarray(point + max(1.0, math.sqrt(point @ point / point.size)) * rng.standard_normal(point.size))


def good_classifier(
    problem: ZeroOneProblem, rng: np.random.Generator, rounds: int, starts: Iterable[FloatArray] = ()
) -> FloatArray:
    """Return a w of small 0-1 objective, without a bound: the primal heuristic run to its end.

    Parameters
    ----------
    problem : ZeroOneProblem
        The problem in original coordinates.
    rng : numpy Generator
        Source of directions and neighbourhoods.
    rounds : int
        Maximum numbers of local searches and of large neighbourhoods; failures end them sooner.
    starts : iterable of ndarray (p,)
        Starting points: the best multiple of each is polished.
    """
    reduced = reduce_problem(problem)
    shared = SharedState(reduced, trivial_incumbent(reduced), HardMarginSolver.of(reduced), Limits())
    if not reduced.rows.size:
        return shared.incumbent.w
    origin = np.zeros(reduced.rows.shape[1])
    for w in starts:
        v = reduced.to_reduced(w)
        steps, _ = _line_minima(reduced.rows, reduced.weights, reduced.free, origin, v[:, None])
        shared.polish.improve(shared.incumbent, v * steps[0])
    heuristic = Heuristic(shared, rng, rounds, rounds)
    while not heuristic.finished:
        heuristic.step()
    return shared.incumbent.w
