"""The search: open nodes by their bounds, the best one searched in depth for a while; incumbents judged in fractions."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.arrays import IntArray
from .bounds import ALL, rows_of
from .box_program import Relaxed, middle
from .choices import branching_for, greedy_order, spread_of
from .descent import best_intercept, descend, workspace_for
from .multipliers import Box, Multipliers, NodeBound
from .pairs import PairProgram
from .reduced import ReducedScoringProblem
from .tree import HALVES, Stack, below, split, stack_for

__all__ = ["Search"]

#: Nodes bounded below one open node before the next one is taken.
_STRETCH = 400
#: Entries of the rows that nodes read between two looks at the clock, about.
_READ = 2_000_000
#: Nodes, at least, between two looks at the deadline, after which a run ends: they may be slow where flows have many pairs.
_FEW = 4
#: Bytes of a node's multipliers, about.
_OF_PAIRS = 20_000
#: Share of a feature from which a solution over pairs uses it.
_USED = 0.1
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
    certifier : callable, optional
        Receives a node's number and multipliers, where what lies below it is closed by them.
    deadline : float
        By the clock of `time.perf_counter`: a stretch is left then, its nodes stay open.

    Attributes
    ----------
    rho0, rho, value
        The incumbent, and its objective as a fraction.
    cut
        A node whose bound reaches this many units holds nothing better.
    """

    reduced: ReducedScoringProblem
    rng: np.random.Generator
    listener: Callable[[IntArray], None] | None = None
    branching: str = "auto"
    certifier: Callable[[int, Multipliers], None] | None = None
    deadline: float = math.inf
    rho0: int = 0
    rho: IntArray = field(init=False)
    value: Fraction = field(init=False)
    cut: int = field(init=False)
    heap: list[tuple[int, int, tuple[Any, ...]]] = field(default_factory=list)
    rounds: int = 0
    _until: int = 0

    def __post_init__(self) -> None:
        r, problem = self.reduced, self.reduced.problem
        d = r.Z.shape[1]
        self.rows = rows_of(r)
        self.stack: Stack = stack_for(r, greedy_order(r), spread_of(r))
        if self.branching == "auto":
            self.branching = branching_for(r)
        self.program = PairProgram(r) if self.branching == "pairs" else None
        self.lower, self.upper = problem.lower.astype(np.int64), problem.upper.astype(np.int64)
        self.box = (self.lower, self.upper, *map(np.int64, problem.intercept))
        self.t = float(problem.threshold) if not r.whole else r.apart / 2.0
        self.room = workspace_for(r)
        nothing = np.zeros(d, dtype=np.int64)
        intercept = self._intercept(nothing)
        self._take_incumbent(problem.value(intercept, nothing.astype(np.float64)), intercept, nothing)
        root = (self.lower.copy(), self.upper.copy(), np.zeros(d, dtype=np.bool_), 0, None)
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
    def done(self) -> bool:
        """Return whether no node is open."""
        return not self.heap and not self.stack.now.top

    @property
    def open_nodes(self) -> int:
        """Nodes that are not closed."""
        return len(self.heap) + int(self.stack.now.top)

    @property
    def memory(self) -> int:
        """Bytes of the open nodes, about."""
        return len(self.heap) * (400 + 17 * self.rho.size + (0 if self.program is None else _OF_PAIRS))

    @property
    def bound(self) -> Fraction:
        """The proved lower bound."""
        k = self.stack
        units = [int(u) for u in k.bound[: k.now.top]] + [node[0] for node in self.heap[:1]]
        return min(self.reduced.bound(min(units)), self.value) if units else self.value

    @property
    def held(self) -> list[NodeBound]:
        """The bounds of the open nodes beyond those that the checker finds itself."""
        return [node[-1] for _, _, node in self.heap if node[-1] is not None]

    def step(self, most: int = _STRETCH) -> None:
        """Search below the open node of least bound, a part of a stretch if nodes take long; by pairs, that node alone."""
        k, held = self.stack, None
        if not k.now.top:
            held = self._open()
        if self.program is not None:
            held = self._bounded_by_pairs(self.program, Box(k.lower[0].copy(), k.upper[0].copy(), k.must[0].copy()), held)
        elif self._below(min(most, max(1, _READ // max(self.reduced.Z.size, 1)))):
            return
        for t in range(int(k.now.top)):
            node = (k.lower[t].copy(), k.upper[t].copy(), k.must[t].copy(), int(k.more[t]), held)
            heapq.heappush(self.heap, (int(k.bound[t]), int(k.number[t]), node))
        k.now.top = 0

    def _open(self) -> NodeBound | None:
        """Take the open node of least bound, and begin a stretch."""
        k = self.stack
        units, number, (lower, upper, must, more, held) = heapq.heappop(self.heap)
        k.lower[0], k.upper[0], k.must[0], k.more[0], k.bound[0], k.number[0] = lower, upper, must, more, units, number
        k.now.top, self._until = int(self.program is None), self.nodes + _STRETCH
        return held

    def _below(self, most: int) -> bool:
        """Search below the nodes on the stack, in depth, for at most so many nodes; whether the stretch goes on."""
        k, end, few = self.stack, min(self.nodes + most, self._until), max(_FEW, most // 16)
        while k.now.top > 0 and self.nodes < end and time.perf_counter() < self.deadline:
            before = self.nodes
            below(self.rows, k, np.int64(self.cut), min(few, end - before), self.branching == "supports")
            self._take()
            if self.nodes == before and k.now.top + 5 > k.bound.size:
                return False
        return bool(k.now.top) and self.nodes < self._until

    def _bounded_by_pairs(self, program: PairProgram, box: Box, held: NodeBound | None) -> NodeBound | None:
        """Put what is left of the first node's children on the stack, and say what bounds them."""
        k = self.stack
        if k.bound[0] < self.cut and box.single:
            self.single(box.lower)
            return held
        relaxed: Relaxed | None = None
        if k.bound[0] < self.cut:
            units, relaxed = program.bound(box, held, self.cut, self.deadline)
            if relaxed is not None:
                self._round(relaxed)
                if units > k.bound[0]:
                    k.bound[0], held = units, NodeBound(int(k.number[0]), relaxed.held)
        if k.bound[0] >= self.cut:
            if held is not None and self.certifier is not None:
                self.certifier(held.number, held.multipliers)
            return held
        j, half = middle(box) if relaxed is None else relaxed.split(box)
        split(self.rows, k, np.int64(HALVES), np.int64(j), np.int64(half), np.int64(self.cut))
        self._take()
        return held

    def _round(self, relaxed: Relaxed) -> None:
        """Descend from the system that is nearest to a solution, on the features that this uses."""
        rho = np.clip(np.rint(relaxed.rho), self.lower, self.upper).astype(np.int64)
        used = relaxed.use.sum(axis=0)
        support = np.flatnonzero(used > _USED)
        support = support[np.argsort(-used[support], kind="stable")[: self.reduced.problem.most]]
        chosen = np.zeros_like(rho)
        chosen[support] = rho[support]
        self._descend(chosen, support, 0)

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
