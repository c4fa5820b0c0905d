"""Large neighbourhood search for incumbents: a random part of the best solution is fixed, the rest is searched."""

from __future__ import annotations

import time

import numpy as np

from ....models.arrays import FloatArray
from ..incumbent import stretched_rows
from ..loops import conflicts as k
from .dive import Dive, offer_kept
from .engine import NodeRate, SharedState

__all__ = ["LargeNeighbourhood"]


class LargeNeighbourhood:
    """A sequence of random neighbourhoods of the incumbent, each searched in slices.

    Parameters
    ----------
    shared : Shared
    rng : numpy Generator
    order : ndarray (n,)
        Branching priorities of the points: their hinge violations.
    """

    def __init__(self, shared: SharedState, rng: np.random.Generator, order: FloatArray) -> None:
        self._shared, self._rng = shared, rng
        rows = stretched_rows(shared.reduced, np.ones(len(order)), shared.upper)._replace(strict=False)
        self._dive = Dive(rows, shared.polish.rows, shared.reduced.weights, order)
        self._pace = NodeRate.guessed(shared.limits, rows.a.size)
        self._start_nodes = 0
        self.running = False
        self.failures = 0
        self.rounds = 0

    def plant(self) -> None:
        """Start a neighbourhood: fix random subsets of the violated points as deleted and of the kept points as kept."""
        shared, rng, dive = self._shared, self._rng, self._dive
        margins = shared.reduced.rows @ shared.reduced.contract(shared.incumbent.w)
        violated = margins < 1 - 1e-7
        keep_share, delete_share = rng.uniform(0.3, 0.9), rng.uniform(0.2, 0.9)
        draw = rng.random(len(margins))
        state = np.full(len(margins), k.FREE, dtype=np.int8)
        state[violated & (draw < delete_share)] = k.DELETED
        state[~violated & (draw < keep_share) & (margins > 1.0001)] = k.KEPT
        self.failures += 1
        self.rounds += 1
        dive.plant(state, 0.0, 0.0, shared.upper)
        self._start_nodes = dive.nodes
        self.running = True

    def search(self, nodes: int, most: int) -> float:
        """Search about ``nodes`` nodes of the current neighbourhood, ``most`` in all, and return the effort in nanoseconds."""
        shared, dive = self._shared, self._dive
        initial_effort, last_node = dive.effort, min(dive.nodes + nodes, self._start_nodes + most)
        while dive.running and dive.nodes < last_node and not self._pace.late:
            node_count, start = dive.nodes, time.perf_counter()
            code = dive.run(shared.upper * (1 - 1e-7), self._pace.nodes(last_node - node_count))
            self._pace.took(start, dive.nodes - node_count)
            if code == k.CANDIDATE and offer_kept(shared, dive):
                self.failures = 0
            if dive.nodes == node_count:
                self.running = False
                break
        self.running = self.running and dive.running and dive.nodes < self._start_nodes + most
        return dive.effort - initial_effort
