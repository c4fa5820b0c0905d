"""The incumbent heuristic: local searches from many starts, then large neighbourhoods, in steps whose effort is counted.

The search and the heuristic take turns by counted effort (`Heuristic.due`), never by the clock, so that runs repeat. An easy
problem is proved before the heuristic has done much. Where the search has shown that a problem is not easy, the heuristic begins
again with more patience (`LEVELS`): what an incumbent at the optimum saves is then a share of a long search.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from ...models.arrays import FloatArray
from .engines.engine import Shared
from .incumbent import hinge_path
from .local_search import LocalSearch, line_minima

if TYPE_CHECKING:
    from .engines.neighbourhood import LargeNeighbourhood

__all__ = ["Heuristic"]

#: Directions in vain that end a level's local searches; a level is due where the search has taken so many times the effort of the
#: heuristic until then.
LEVELS, LATER = (40, 100, 250), 3.0
#: Restarts without a better incumbent that end a level's local searches.
VAIN = 10
#: Neighbourhoods for each local search.
ROUNDS = 3
#: Nodes of a neighbourhood's search, and of one step of it.
NODES, SLICE = 1500, 100
#: Nodes of the neighbourhood searched between two stretches of a long search.
SHORT = 300


class Heuristic:
    """Better and better incumbents.

    Parameters
    ----------
    shared : Shared
        Its incumbent is improved.
    rng : numpy Generator
    restarts : int
        Local searches, at most; `VAIN` in vain end those of a level sooner.
    neighbourhoods : int
        Large neighbourhoods, at most; a third of them in vain ends those of a level sooner.
    """

    def __init__(self, shared: Shared, rng: np.random.Generator, restarts: int, neighbourhoods: int) -> None:
        self._shared, self._rng = shared, rng
        self._restarts, self._neighbourhoods = restarts, neighbourhoods
        begun = time.perf_counter()
        self.starts = hinge_path(shared.reduced, shared.limits.deadline)
        self._first = time.perf_counter() - begun  # a hard-margin problem of all points takes no longer
        self._done = self._vain = self._level = 0
        self._search: LocalSearch | None = None
        self._hood: LargeNeighbourhood | None = None
        self.effort = 0.0
        self._settled = False  # the least norm that keeps every point costs no more than one violation: nothing is better
        self._begin()

    def _begin(self) -> None:
        """The multiples of the hinge path's points, the best of them polished, and the point that keeps everything."""
        shared = self._shared
        rows, p = shared.reduced.rows, shared.reduced.rows.shape[1]
        steps, values = line_minima(rows, shared.reduced.weights, shared.reduced.free, np.zeros(p), self.starts.T)
        best = self.starts[values.argmin()] * steps[values.argmin()]
        if time.perf_counter() + self._first >= shared.limits.deadline:  # the point as it is: no time for the least norm
            shared.incumbent.offer(shared.reduced, shared.reduced.expand(best))
            return
        shared.polish.improve(shared.incumbent, best)
        if shared.limits.expired:
            return
        everything = shared.polish.solve(np.ones(len(rows), dtype=bool), below=shared.upper)
        if everything is not None:
            shared.incumbent.offer(shared.reduced, everything)
            self._settled = shared.upper <= float(shared.reduced.weights.min())

    @property
    def order(self) -> FloatArray:
        """Hinge violation of every point: the conflict engine deletes the worst first."""
        return np.maximum(1.0 - self._shared.reduced.rows @ self.starts[3], 0.0) + 1e-3

    @property
    def _searched(self) -> bool:
        """Whether the local searches are over."""
        return self._search is None and (self._done >= self._restarts or self._vain >= VAIN)

    @property
    def _visited(self) -> bool:
        """Whether the neighbourhoods are over."""
        hood = self._hood
        if hood is None:
            return self._neighbourhoods == 0
        return not hood.running and (hood.rounds >= self._neighbourhoods or hood.failures > self._neighbourhoods // 3)

    @property
    def finished(self) -> bool:
        """Whether nothing is left of either part of this level; without coordinates w = 0 is all there is."""
        return not self._shared.reduced.rows.size or self._settled or (self._searched and self._visited)

    def due(self, allowed: float, searched: float) -> bool:
        """Whether the next step comes before the engine's next stretch, which allows that effort after that of the search."""
        level = self._level + 1
        if self.finished and level < len(LEVELS) and searched >= LATER * self.effort:
            self._level, self._vain = level, 0
            if self._hood is not None:
                self._hood.failures = 0
        return not self.finished and self.effort <= allowed

    def step(self) -> None:
        """A batch of lines, or a few nodes of a neighbourhood: by turns, `ROUNDS` neighbourhoods for each local search."""
        rounds = 0 if self._hood is None else self._hood.rounds
        if self._search is not None or (not self._searched and (self._visited or rounds >= ROUNDS * self._done)):
            self._local_step()
            return
        hood = self._neighbourhood()
        if not hood.running:
            hood.plant()
        self.effort += hood.search(max(min(SLICE, 1_250_000 // self._shared.reduced.rows.size), 1), NODES)

    def again(self, neighbourhood: bool) -> None:
        """A local search, and a short neighbourhood, between two stretches of a long search: a better incumbent prunes more."""
        if neighbourhood:
            hood = self._neighbourhood()
            hood.plant()
            self.effort += hood.search(SHORT, SHORT)
        if self._restarts and self._search is None:
            while self._local_step():
                pass

    def _neighbourhood(self) -> LargeNeighbourhood:
        from .engines.neighbourhood import LargeNeighbourhood

        if self._hood is None:
            self._hood = LargeNeighbourhood(self._shared, self._rng, self.order)
        return self._hood

    def _local_step(self) -> bool:
        """A batch of the search in hand, or of a new one; whether it goes on."""
        if self._search is None:
            reduced = self._shared.reduced
            patience = LEVELS[self._level]
            self._search = LocalSearch(reduced.rows, reduced.weights, reduced.free, self._start(), self._rng, patience)
            self._done += 1
        search = self._search
        search.step()
        self.effort += search.cost
        if not search.finished:
            return True
        self._search = None
        self._vain += 1
        incumbent, polish = self._shared.incumbent, self._shared.polish
        before = incumbent.value
        if search.value < self._shared.upper * (1 + 1e-2):
            self.effort += 5e5 + 50.0 * self._shared.reduced.rows.size
            if polish.improve(incumbent, search.w) and incumbent.value < before * (1 - 1e-6):
                self._vain = 0
        return False

    def _start(self) -> FloatArray:
        """A point of the hinge path first, then perturbed ones and perturbed incumbents by turns."""
        shared, starts, r, rng = self._shared, self.starts, self._done, self._rng
        if r < len(starts):
            return np.asarray(starts[r] + 1e-6 * rng.standard_normal(starts.shape[1]))
        if r % 2 == 0:
            v = shared.reduced.contract(shared.incumbent.w)
            return np.asarray(v + 0.3 * math.sqrt(v @ v / v.size) * rng.standard_normal(v.size))
        v = starts[rng.integers(len(starts))]
        return np.asarray(v + max(1.0, math.sqrt(v @ v / v.size)) * rng.standard_normal(v.size))
