"""Incumbents by large neighbourhoods: most of the best solution is fixed at random, the rest searched."""

from __future__ import annotations

import time

import numpy as np

from ....models.arrays import FloatArray
from ..incumbent import stretched_rows
from ..kernels import conflicts as k
from .dive import Dive, offer_kept
from .engine import Pace, Shared

__all__ = ["LargeNeighbourhood"]


class LargeNeighbourhood:
    """Neighbourhoods of the incumbent, one after the other, each searched in slices.

    Parameters
    ----------
    shared : Shared
    rng : numpy Generator
    order : ndarray (n,)
        Hinge violations: larger first among the points to branch on.
    """

    def __init__(self, shared: Shared, rng: np.random.Generator, order: FloatArray) -> None:
        self._shared, self._rng = shared, rng
        rows = stretched_rows(shared.reduced, np.ones(len(order)), shared.upper)._replace(strict=False)
        self._dive = Dive(rows, shared.polish.rows, shared.reduced.weights, order)
        self._pace = Pace.guessed(shared.limits, rows.a.size)
        self._planted = 0
        self.running = False
        self.failures = 0
        self.rounds = 0

    def plant(self) -> None:
        """Begin a neighbourhood: some of the violated points are deleted, some of the kept ones stay so, the others are free."""
        shared, rng, dive = self._shared, self._rng, self._dive
        margins = shared.reduced.rows @ shared.reduced.contract(shared.incumbent.w)
        violated = margins < 1 - 1e-7
        keep, drop = rng.uniform(0.3, 0.9), rng.uniform(0.2, 0.9)
        draw = rng.random(len(margins))
        state = np.full(len(margins), k.FREE, dtype=np.int8)
        state[violated & (draw < drop)] = k.DELETED
        state[~violated & (draw < keep) & (margins > 1.0001)] = k.KEPT
        self.failures += 1
        self.rounds += 1
        dive.plant(state, 0.0, 0.0, shared.upper)
        self._planted = dive.nodes
        self.running = True

    def search(self, nodes: int, most: int) -> float:
        """About ``nodes`` nodes of the neighbourhood in hand, which ends after ``most``: the effort, about nanoseconds."""
        shared, dive = self._shared, self._dive
        before, end = dive.effort, min(dive.nodes + nodes, self._planted + most)
        while dive.running and dive.nodes < end and not self._pace.late:
            at, begun = dive.nodes, time.perf_counter()
            code = dive.run(shared.upper * (1 - 1e-7), self._pace.nodes(end - at))
            self._pace.took(begun, dive.nodes - at)
            if code == k.CANDIDATE and offer_kept(shared, dive):
                self.failures = 0
            if dive.nodes == at:
                self.running = False
                break
        self.running = self.running and dive.running and dive.nodes < self._planted + most
        return dive.effort - before
