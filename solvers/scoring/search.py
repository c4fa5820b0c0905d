"""The search: open nodes by their bounds, the best one searched in depth for a while; incumbents judged in fractions."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.arrays import FloatArray, IntArray
from .bounds import ALL, rows_of
from .descent import best_intercept, descend, room_for
from .reduced import Reduced
from .tree import Stack, below, stack_for

__all__ = ["Search"]

#: Nodes bounded below one open node before the next one is taken.
_STRETCH = 400
#: Features from which supports are decided before signs, where columns have few values.
_MANY, _FEW_VALUES = 17, 4
#: Systems from which a small support is descended.
_TRIES = 6


@dataclass(eq=False)
class Search:
    """Best-first over nodes, depth-first below each.

    Parameters
    ----------
    reduced : Reduced
    rng : numpy.random.Generator
        Of the incumbents' starting points.
    listener : callable, optional
        Receives every event (`tree.Stack.events`), in order.

    Attributes
    ----------
    rho0, rho, value
        The incumbent, and its objective as a fraction.
    cut
        A node whose bound reaches this many units holds nothing better.
    """

    reduced: Reduced
    rng: np.random.Generator
    listener: Callable[[IntArray], None] | None = None
    branching: str = "auto"
    rho0: int = 0
    rho: IntArray = field(init=False)
    value: Fraction = field(init=False)
    cut: int = field(init=False)
    heap: list[tuple[int, int, tuple[Any, ...]]] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        r, problem = self.reduced, self.reduced.problem
        d = r.Z.shape[1]
        self.rows = rows_of(r)
        self.stack: Stack = stack_for(r, greedy_order(r), _spread(r))
        self.by_support = self.branching == "supports" or (
            self.branching == "auto" and d >= _MANY and int(r.levels.max(initial=1)) <= _FEW_VALUES
        )
        self.lower, self.upper = problem.lower.astype(np.int64), problem.upper.astype(np.int64)
        self.box = (self.lower, self.upper, *map(np.int64, problem.intercept))
        self.t = float(problem.threshold) if not r.whole else r.apart / 2.0
        self.room = room_for(r)
        nothing = np.zeros(d, dtype=np.int64)
        intercept = self._intercept(nothing)
        self._take_incumbent(problem.value(intercept, nothing.astype(np.float64)), intercept, nothing)
        root = (self.lower.copy(), self.upper.copy(), np.zeros(d, dtype=np.bool_), 0)
        heapq.heappush(self.heap, (0, 0, root))
        self.stack.now.next = 1

    # -- incumbents ---------------------------------------------------------------------------------------------

    def _intercept(self, rho: IntArray) -> int:
        return int(best_intercept(self.rows, self.t, self.box[2], self.box[3], rho, self.room)[1])

    def offer(self, rho0: int, rho: IntArray) -> bool:
        """Take the system if it is feasible and better, by fractions."""
        problem, floats = self.reduced.problem, rho.astype(np.float64)
        if not problem.allows(rho0, floats):
            return False
        value = problem.value(rho0, floats)
        if value < self.value:
            self._take_incumbent(value, rho0, rho)
            return True
        return False

    def _take_incumbent(self, value: Fraction, rho0: int, rho: IntArray) -> None:
        self.value, self.rho0, self.rho = value, rho0, rho.copy()
        self.cut = min(self.reduced.units(value), int(ALL) - 1)

    def improve(self) -> None:
        """One descent: from 0 at first, then by turns from few features and from the incumbent, some coefficients drawn anew."""
        d, problem = self.rho.size, self.reduced.problem
        turn, self.rounds = self.rounds, self.rounds + 1
        if turn == 0:
            rho = np.zeros(d, dtype=np.int64)
        elif turn % 2:
            rho = self._small(turn // 2)
        else:
            rho = self.rho.copy()
            few = min(int(self.rng.integers(1, 5)), d)
            for j in self.rng.choice(d, size=few, replace=False):
                rho[j] = self.rng.integers(self.lower[j], self.upper[j] + 1) if self.rng.random() < 0.7 else 0
            used = np.flatnonzero(rho)
            if used.size > problem.most:
                rho[self.rng.choice(used, size=used.size - problem.most, replace=False)] = 0
        self._descend(rho, self.rng.permutation(d), 2 * d)

    def _small(self, turn: int) -> IntArray:
        """A good system on few features: the first ones of the greedy order, later drawn with a preference for them."""
        d, most = self.rho.size, min(self.reduced.problem.most, self.rho.size)
        few = min(1 + turn % 5, most)
        support = self.stack.order[:few]
        if turn >= 5:
            support = np.unique(self.stack.order[np.minimum(self.rng.geometric(0.2, size=few) - 1, d - 1)])
        best, chosen = None, np.zeros(d, dtype=np.int64)
        low, high = self.lower[support], self.upper[support] + 1
        for drawn in self.rng.integers(low, high, size=(_TRIES, support.size)):
            rho = np.zeros(d, dtype=np.int64)
            rho[support] = drawn
            units = self._descend(rho, support, 0)
            if best is None or units < best:
                best, chosen = units, rho
        return chosen

    def _descend(self, rho: IntArray, order: IntArray, swaps: int) -> int:
        """Improve rho in place and offer it: its cost in units."""
        units, rho0 = descend(self.rows, self.t, self.box, rho, order, swaps, self.room)
        if not self.reduced.whole or units < self.cut:  # whole scores are counted exactly: fractions would say the same
            self.offer(int(rho0), rho)
        return int(units)

    # -- the tree -----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Nodes bounded so far."""
        return int(self.stack.now.nodes)

    @property
    def open_nodes(self) -> int:
        """Nodes that are not closed."""
        return len(self.heap)

    @property
    def memory(self) -> int:
        """Bytes of the open nodes, about."""
        return len(self.heap) * (400 + 17 * self.rho.size)

    @property
    def bound(self) -> Fraction:
        """The proved lower bound."""
        return min(self.reduced.bound(self.heap[0][0]), self.value) if self.heap else self.value

    def step(self, most: int = _STRETCH) -> None:
        """Search below the open node of least bound."""
        units, number, (lower, upper, must, more) = heapq.heappop(self.heap)
        k = self.stack
        k.lower[0], k.upper[0], k.must[0], k.more[0], k.bound[0], k.number[0] = lower, upper, must, more, units, number
        k.now.top, end = 1, self.nodes + most
        while k.now.top > 0 and self.nodes < end:
            before = self.nodes
            below(self.rows, k, np.int64(self.cut), end - self.nodes, self.by_support)
            self._take()
            if self.nodes == before and k.now.top + 5 > k.bound.size:
                break
        for t in range(int(k.now.top)):
            node = (k.lower[t].copy(), k.upper[t].copy(), k.must[t].copy(), int(k.more[t]))
            heapq.heappush(self.heap, (int(k.bound[t]), int(k.number[t]), node))
        k.now.top = 0

    def _take(self) -> None:
        """Hand the events on, and look at the single systems in fractions."""
        k = self.stack
        if self.listener is not None and k.now.noted:
            self.listener(k.events[: k.now.noted])
        k.now.noted = 0
        for rho in k.found[: k.now.systems].copy():
            self.single(rho)
        k.now.systems = 0

    def single(self, rho: IntArray) -> None:
        """Offer a system with its best intercept; where scores are not whole, with each at which some point changes sides."""
        self.offer(self._intercept(rho), rho)
        if self.reduced.whole:
            return
        problem = self.reduced.problem
        scores, t = problem.X @ rho, float(problem.threshold)
        turns = np.where(problem.y > 0, np.ceil(t - scores), np.floor(-t - scores))
        near = {int(b) + s for b in np.unique(turns) for s in (-1, 0, 1)} | set(problem.intercept)
        for rho0 in near:
            self.offer(int(np.clip(rho0, *problem.intercept)), rho)


def greedy_order(reduced: Reduced) -> IntArray:
    """Columns, each the one by which fewest errors are left in cells beside those before it."""
    codes, P, Q = reduced.codes, reduced.positive, reduced.negative
    left, order = list(range(len(codes))), []
    cells = np.zeros(codes.shape[1], dtype=np.int64)
    while left:
        finer = [np.unique(cells * reduced.levels[j] + codes[j], return_inverse=True)[1].ravel() for j in left]
        errors = [int(np.minimum(np.bincount(f, P), np.bincount(f, Q)).sum()) for f in finer]
        best = int(np.argmin(errors))
        order.append(left.pop(best))
        cells = finer[best]
        if errors[best] == 0:
            break
    return np.array([*order, *left], dtype=np.int64)


def _spread(reduced: Reduced) -> FloatArray:
    """Mean |x_j - x'_j| over rows of the two classes (a sample of them)."""
    pick = np.random.default_rng(0)
    sides = [np.flatnonzero(side > 0) for side in (reduced.positive, reduced.negative)]
    if not all(side.size for side in sides):
        return np.ones(reduced.Z.shape[1])
    a, b = (pick.choice(side, 4000) for side in sides)
    return np.asarray(np.abs(reduced.Z[a] - reduced.Z[b]).mean(axis=0) + 1e-12)
