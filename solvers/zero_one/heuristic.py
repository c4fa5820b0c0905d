"""The primal heuristic: local searches from many starts, then large neighbourhoods, in steps of counted effort.

The heuristic and the tree search alternate by counted effort (`Heuristic.due`), never by the clock, so that runs repeat. An easy
problem is solved before the heuristic has done much. On a hard problem the heuristic restarts with more patience (`LEVELS`),
since an optimal incumbent then saves a share of a long search.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from ...models.arrays import FloatArray
from .engines.engine import SharedState
from .incumbent import hinge_path
from .local_search import LocalSearch, line_minima

if TYPE_CHECKING:
    from .engines.neighbourhood import LargeNeighbourhood

__all__ = ["Heuristic"]

#: Unsuccessful directions that end a local search, by level; ratio of the search's effort to the heuristic's effort at which the
#: next level begins.
LEVELS, LATER = (40, 100, 250), 3.0
#: Unsuccessful restarts that end the local searches of a level.
VAIN = 10
#: Neighbourhoods per local search.
ROUNDS = 3
#: Nodes of the search of a neighbourhood, and of one step of it.
NODES, SLICE = 1500, 100
#: Nodes of a neighbourhood between two slices of a long search.
SHORT = 300


class Heuristic:
    """The primal heuristic, which improves the incumbent step by step.

    Parameters
    ----------
    shared : Shared
        Data of the search, with the incumbent to improve.
    rng : numpy Generator
    restarts : int
        Maximum number of local searches; `VAIN` failures end those of a level sooner.
    neighbourhoods : int
        Maximum number of large neighbourhoods; a third of them without success ends those of a level sooner.
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
        steps, values = line_minima(rows, shared.reduced.weights, shared.reduced.free, np.zeros(p), self.starts.T)
        best = self.starts[values.argmin()] * steps[values.argmin()]
        if time.perf_counter() + self._hinge_seconds >= shared.limits.deadline:  # no time to polish
            shared.incumbent.offer(shared.reduced, shared.reduced.expand(best))
            return
        shared.polish.improve(shared.incumbent, best)
        if shared.limits.expired:
            return
        hard_margin = shared.polish.solve(np.ones(len(rows), dtype=bool), below=shared.upper)
        if hard_margin is not None:
            shared.incumbent.offer(shared.reduced, hard_margin)
            self._optimal = shared.upper <= float(shared.reduced.weights.min())

    @property
    def order(self) -> FloatArray:
        """Hinge violation of every point: the conflict engine deletes points with the largest violation first."""
        return np.maximum(1.0 - self._shared.reduced.rows @ self.starts[3], 0.0) + 1e-3

    @property
    def _local_search_finished(self) -> bool:
        """True if the local searches of this level are finished."""
        return self._local_search is None and (self._restart_count >= self._restarts or self._failures >= VAIN)

    @property
    def _neighbourhoods_finished(self) -> bool:
        """True if the neighbourhoods of this level are finished."""
        search = self._neighbourhood_search
        if search is None:
            return self._neighbourhoods == 0
        return not search.running and (search.rounds >= self._neighbourhoods or search.failures > self._neighbourhoods // 3)

    @property
    def finished(self) -> bool:
        """True if both parts of this level are finished, or the incumbent is optimal; without coordinates only w = 0 exists."""
        return (
            not self._shared.reduced.rows.size or self._optimal or (self._local_search_finished and self._neighbourhoods_finished)
        )

    def due(self, allowed: float, tree_effort: float) -> bool:
        """Return True if the next step precedes the engine's next slice, and raise the level of a long search.

        Parameters
        ----------
        allowed : float
            Effort allowed for the heuristic.
        tree_effort : float
            Effort of the tree search so far.
        """
        level = self._level + 1
        if self.finished and level < len(LEVELS) and tree_effort >= LATER * self.effort:
            self._level, self._failures = level, 0
            if self._neighbourhood_search is not None:
                self._neighbourhood_search.failures = 0
        return not self.finished and self.effort <= allowed

    def step(self) -> None:
        """Run a batch of a local search, or some nodes of a neighbourhood: `ROUNDS` neighbourhoods per local search."""
        rounds = 0 if self._neighbourhood_search is None else self._neighbourhood_search.rounds
        if self._local_search is not None or (
            not self._local_search_finished and (self._neighbourhoods_finished or rounds >= ROUNDS * self._restart_count)
        ):
            self._local_step()
            return
        search = self._get_neighbourhood()
        if not search.running:
            search.plant()
        self.effort += search.search(max(min(SLICE, 1_250_000 // self._shared.reduced.rows.size), 1), NODES)

    def again(self, neighbourhood: bool) -> None:
        """Run a complete local search, and optionally a short neighbourhood, between two slices of a long tree search."""
        if neighbourhood:
            search = self._get_neighbourhood()
            search.plant()
            self.effort += search.search(SHORT, SHORT)
        if self._restarts and self._local_search is None:
            while self._local_step():
                pass

    def _get_neighbourhood(self) -> LargeNeighbourhood:
        from .engines.neighbourhood import LargeNeighbourhood

        if self._neighbourhood_search is None:
            self._neighbourhood_search = LargeNeighbourhood(self._shared, self._rng, self.order)
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
            self.effort += 5e5 + 50.0 * self._shared.reduced.rows.size
            if polish.improve(incumbent, search.w) and incumbent.value < initial_value * (1 - 1e-6):
                self._failures = 0
        return False

    def _starting_point(self) -> FloatArray:
        """Return the next starting point: first those of the hinge path, then perturbed path points and incumbents in turn."""
        shared, starts, restart, rng = self._shared, self.starts, self._restart_count, self._rng
        if restart < len(starts):
            return np.asarray(starts[restart] + 1e-6 * rng.standard_normal(starts.shape[1]))
        if restart % 2 == 0:
            point = shared.reduced.contract(shared.incumbent.w)
            return np.asarray(point + 0.3 * math.sqrt(point @ point / point.size) * rng.standard_normal(point.size))
        point = starts[rng.integers(len(starts))]
        return np.asarray(point + max(1.0, math.sqrt(point @ point / point.size)) * rng.standard_normal(point.size))
