"""The search of `supports-bb`: the queue of open nodes, branching rule, incumbents by coordinate descent, and the proof log."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ..exact.log_file import LogFile, LogWriter
from .bounds import INFEASIBLE, scoring_data
from .box_program import BoxSolution, NodeCertificate, PairMultipliers, PairRelaxation, ScoreBox, bisection
from .check import FORMAT
from .descent import best_intercept, descend, new_workspace
from .reduced_problem import ReducedScoringProblem
from .tree import CLOSED, HALVES, Stack, new_stack, search_below, split_node

# The branching rule: by supports, signs or pairs; the order of features.

#: Features from which supports are decided before signs, or pairs are looked at, where most columns have few values.
_MANY, _FEW_VALUES = 17, 4
#: Where opposite points with equal rows cost at most one in so many of the smaller class, pairs of points say more than cells.
_ALIKE = 10


def choose_branching(reduced: ReducedScoringProblem) -> str:
    """Return the branching rule: "signs" if features are few or most have many values, else "pairs" or "supports".

    Columns of many values tell nearly all points apart. If most columns do, linear programs over pairs cost more time than they
    save (`branching="pairs"` asks for them).
    """
    r = reduced
    d = r.Z.shape[1]
    if d < _MANY or 2 * np.count_nonzero(r.levels > _FEW_VALUES) > d:
        return "signs"
    alike, smaller_class = int(np.minimum(r.positive, r.negative).sum()), min(int(r.positive.sum()), int(r.negative.sum()))
    return "pairs" if alike * _ALIKE <= smaller_class else "supports"


def greedy_feature_order(reduced: ReducedScoringProblem) -> IntArray:
    """Return the features in an order in which each one, with those before it, leaves the fewest errors in cells."""
    r = reduced
    order, candidates = [], list(range(len(r.codes)))
    cells, count = np.zeros(r.codes.shape[1], dtype=np.int64), 1

    def numbered(j: int) -> IntArray:
        """Return the cells, each parted by the column's values."""
        finer = cells * int(r.levels[j]) + r.codes[j]
        return finer if count * int(r.levels[j]) <= 4 * finer.size else np.unique(finer, return_inverse=True)[1].ravel()

    while candidates:
        finer = [numbered(j) for j in candidates]
        errors = [int(np.minimum(np.bincount(f, r.positive), np.bincount(f, r.negative)).sum()) for f in finer]
        best = int(np.argmin(errors))
        order.append(candidates.pop(best))
        _, cells = np.unique(finer[best], return_inverse=True)
        cells, count = cells.ravel(), int(cells.max()) + 1
        if errors[best] == 0:
            break
    return np.array([*order, *candidates], dtype=np.int64)


def class_spread(reduced: ReducedScoringProblem) -> FloatArray:
    """Return the mean |x_j - x'_j| of each feature over a sample of pairs of rows of the two classes."""
    pick = np.random.default_rng(0)
    sides = [np.flatnonzero(side > 0) for side in (reduced.positive, reduced.negative)]
    if not all(side.size for side in sides):
        return np.ones(reduced.Z.shape[1])
    a, b = (pick.choice(side, 4000) for side in sides)
    return np.asarray(np.abs(reduced.Z[a] - reduced.Z[b]).mean(axis=0) + 1e-12)


#: Number of nodes bounded below one open node before the next one is taken.
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
class SupportsSearch:
    """Branch and bound: open nodes by least bound, and a depth-first search below each.

    Attributes
    ----------
    rho0, rho, value
        Intercept and coefficients of the incumbent, and its objective as a fraction.
    cut
        Nodes whose bound reaches this many units are closed.
    heap
        Open nodes: bound in units, number, and the box with its marks.
    """

    reduced: ReducedScoringProblem
    rng: np.random.Generator  #: of the incumbents' starting points
    listener: Callable[[IntArray], None] | None = None  #: receives every event (`tree.Stack.events`), in order
    branching: str = "auto"
    #: receives a node's number and multipliers, where what lies below it is closed by them
    certifier: Callable[[int, PairMultipliers], None] | None = None
    deadline: float = math.inf  #: by the clock of `time.perf_counter`: a stretch is left then, its nodes stay open
    rho0: int = 0
    rho: IntArray = field(init=False)
    value: Fraction = field(init=False)
    cut: int = field(init=False)
    heap: list[tuple[int, int, tuple[Any, ...]]] = field(default_factory=list)
    descents: int = 0  #: number of descents so far
    _until: int = 0

    def __post_init__(self) -> None:
        r, problem = self.reduced, self.reduced.problem
        d = r.Z.shape[1]
        self.rows = scoring_data(r)
        self.stack: Stack = new_stack(r, greedy_feature_order(r), class_spread(r))
        if self.branching == "auto":
            self.branching = choose_branching(r)
        self.program = PairRelaxation(r) if self.branching == "pairs" else None
        self.lower, self.upper = problem.lower.astype(np.int64), problem.upper.astype(np.int64)
        self.box = (self.lower, self.upper, *map(np.int64, problem.intercept))
        self.t = float(problem.threshold) if not r.integer_scores else r.separation / 2.0
        self.workspace = new_workspace(r)
        zeros = np.zeros(d, dtype=np.int64)
        intercept = self._intercept(zeros)
        self._take_incumbent(problem.value(intercept, zeros.astype(np.float64)), intercept, zeros)
        root = (self.lower.copy(), self.upper.copy(), np.zeros(d, dtype=np.bool_), 0, None)
        heapq.heappush(self.heap, (0, 0, root))
        self.stack.scalars.next = 1

    # -- incumbents ---------------------------------------------------------------------------------------------

    def _intercept(self, rho: IntArray) -> int:
        return int(best_intercept(self.rows, self.t, self.box[2], self.box[3], rho, self.workspace)[1])

    def offer(self, rho0: int, rho: IntArray) -> bool:
        """Make a system the incumbent if it is feasible and better, in exact arithmetic; return whether it is."""
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
        self.cut = min(self.reduced.to_units(value), int(INFEASIBLE) - 1)

    def run_descent(self) -> None:
        """Run one descent: the first from 0, then by turns from few features and from the perturbed incumbent."""
        d, problem = self.rho.size, self.reduced.problem
        turn, self.descents = self.descents, self.descents + 1
        if turn == 0:
            rho = np.zeros(d, dtype=np.int64)
        elif turn % 2:
            rho = self._small(turn // 2)
        else:
            rho = self.rho.copy()
            count = min(int(self.rng.integers(1, 5)), d)
            for j in self.rng.choice(d, size=count, replace=False):
                rho[j] = self.rng.integers(self.lower[j], self.upper[j] + 1) if self.rng.random() < 0.7 else 0
            used = np.flatnonzero(rho)
            if used.size > problem.max_nonzeros:
                rho[self.rng.choice(used, size=used.size - problem.max_nonzeros, replace=False)] = 0
        self._descend(rho, self.rng.permutation(d), 2 * d)

    def _small(self, turn: int) -> IntArray:
        """Return a good system on few features: the first ones of the greedy order, later drawn with a preference for them."""
        d, support_limit = self.rho.size, min(self.reduced.problem.max_nonzeros, self.rho.size)
        count = min(1 + turn % 5, support_limit)
        support = self.stack.order[:count]
        if turn >= 5:
            support = np.unique(self.stack.order[np.minimum(self.rng.geometric(0.2, size=count) - 1, d - 1)])
        best, chosen = None, np.zeros(d, dtype=np.int64)
        low, high = self.lower[support], self.upper[support] + 1
        for coefficients in self.rng.integers(low, high, size=(_TRIES, support.size)):
            rho = np.zeros(d, dtype=np.int64)
            rho[support] = coefficients
            units = self._descend(rho, support, 0)
            if best is None or units < best:
                best, chosen = units, rho
        return chosen

    def _descend(self, rho: IntArray, order: IntArray, swaps: int) -> int:
        """Improve rho in place and offer it; return its cost in units."""
        units, rho0 = descend(self.rows, self.t, self.box, rho, order, swaps, self.workspace)
        if not self.reduced.integer_scores or units < self.cut:  # whole scores are counted exactly: fractions would say the same
            self.offer(int(rho0), rho)
        return int(units)

    # -- the tree -----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Return the number of nodes bounded so far."""
        return int(self.stack.scalars.nodes)

    @property
    def done(self) -> bool:
        """Return whether no node is open."""
        return not self.heap and not self.stack.scalars.top

    @property
    def open_nodes(self) -> int:
        """Return the number of open nodes."""
        return len(self.heap) + int(self.stack.scalars.top)

    @property
    def memory(self) -> int:
        """Return about the number of bytes of the open nodes."""
        return len(self.heap) * (400 + 17 * self.rho.size + (0 if self.program is None else _OF_PAIRS))

    @property
    def bound(self) -> Fraction:
        """Return the proved lower bound of the optimum."""
        k = self.stack
        units = [int(u) for u in k.bound[: k.scalars.top]] + [node[0] for node in self.heap[:1]]
        return min(self.reduced.from_units(min(units)), self.value) if units else self.value

    @property
    def multipliers(self) -> list[NodeCertificate]:
        """Return the multipliers of the open nodes, which the log needs beside the bounds that the checker finds itself."""
        return [node[-1] for _, _, node in self.heap if node[-1] is not None]

    def step(self, node_limit: float = math.inf) -> None:
        """Search below the open node of least bound, for up to ``node_limit`` nodes; by pairs, bound and split that node."""
        k, node_bound = self.stack, None
        if not k.scalars.top:
            node_bound = self._open()
        if self.program is not None:
            node_bound = self._bounded_by_pairs(
                self.program, ScoreBox(k.lower[0].copy(), k.upper[0].copy(), k.forced[0].copy()), node_bound
            )
        elif self._below(min(int(min(node_limit, _STRETCH)), max(1, _READ // max(self.reduced.Z.size, 1)))):
            return
        for t in range(int(k.scalars.top)):
            node = (k.lower[t].copy(), k.upper[t].copy(), k.forced[t].copy(), int(k.needs_feature[t]), node_bound)
            heapq.heappush(self.heap, (int(k.bound[t]), int(k.number[t]), node))
        k.scalars.top = 0

    def _open(self) -> NodeCertificate | None:
        """Take the open node of least bound, and begin a stretch."""
        k = self.stack
        k.bound[0], k.number[0], (*marked_box, node_bound) = heapq.heappop(self.heap)
        k.lower[0], k.upper[0], k.forced[0], k.needs_feature[0] = marked_box
        k.scalars.top, self._until = int(self.program is None), self.nodes + _STRETCH
        return node_bound

    def _below(self, node_limit: int) -> bool:
        """Search below the nodes on the stack, in depth, for at most so many nodes; return whether the stretch goes on."""
        k, end, batch = self.stack, min(self.nodes + node_limit, self._until), max(_FEW, node_limit // 16)
        while k.scalars.top > 0 and self.nodes < end and time.perf_counter() < self.deadline:
            before = self.nodes
            search_below(self.rows, k, np.int64(self.cut), min(batch, end - before), self.branching == "supports")
            self._process_events()
            if self.nodes == before and k.scalars.top + 5 > k.bound.size:
                return False
        return bool(k.scalars.top) and self.nodes < self._until

    def _bounded_by_pairs(
        self, program: PairRelaxation, box: ScoreBox, node_bound: NodeCertificate | None
    ) -> NodeCertificate | None:
        """Put what is left of the first node's children on the stack; return what bounds them."""
        k = self.stack
        if k.bound[0] < self.cut and box.is_single_system:
            self.offer_coefficients(box.lower)
            return node_bound
        relaxed: BoxSolution | None = None
        if k.bound[0] < self.cut:
            units, relaxed = program.bound(box, node_bound, self.cut, self.deadline)
            if relaxed is not None:
                self._round(relaxed)
                if units > k.bound[0]:
                    k.bound[0], node_bound = units, NodeCertificate(int(k.number[0]), relaxed.multipliers)
        if k.bound[0] >= self.cut:
            if node_bound is not None and self.certifier is not None:
                self.certifier(node_bound.number, node_bound.multipliers)
            return node_bound
        j, half = bisection(box) if relaxed is None else relaxed.split(box)
        split_node(self.rows, k, np.int64(HALVES), np.int64(j), np.int64(half), np.int64(self.cut))
        self._process_events()
        return node_bound

    def _round(self, relaxed: BoxSolution) -> None:
        """Descend from the system that is nearest to a solution, on the features that this uses."""
        rho = np.clip(np.rint(relaxed.rho), self.lower, self.upper).astype(np.int64)
        used = relaxed.use.sum(axis=0)
        support = np.flatnonzero(used > _USED)
        support = support[np.argsort(-used[support], kind="stable")[: self.reduced.problem.max_nonzeros]]
        chosen = np.zeros_like(rho)
        chosen[support] = rho[support]
        self._descend(chosen, support, 0)

    def _process_events(self) -> None:
        """Pass the events to the listener, and offer the single systems."""
        k = self.stack
        if self.listener is not None and k.scalars.noted:
            self.listener(k.events[: k.scalars.noted])
        k.scalars.noted = 0
        for rho in k.candidates[: k.scalars.systems].copy():
            self.offer_coefficients(rho)
        k.scalars.systems = 0

    def offer_coefficients(self, rho: IntArray) -> None:
        """Offer a system with its best intercept; if scores are not integers, with each at which some point changes sides."""
        self.offer(self._intercept(rho), rho)
        if self.reduced.integer_scores:
            return
        problem = self.reduced.problem
        scores, t = problem.X @ rho, float(problem.threshold)
        turns = np.where(problem.y > 0, np.ceil(t - scores), np.floor(-t - scores))
        intercepts = {int(b) + s for b in np.unique(turns) for s in (-1, 0, 1)} | set(problem.intercept)
        for rho0 in intercepts:
            self.offer(int(np.clip(rho0, *problem.intercept)), rho)


class SupportsLog(LogWriter):
    """The proof log: the problem, the splits of the tree, the claim and a seal (`solvers.scoring.check`).

    Splits and multipliers are written as they come. Nodes that are not split are closed.

    Parameters
    ----------
    path : str
    reduced : ReducedScoringProblem
    """

    def __init__(self, path: str, reduced: ReducedScoringProblem) -> None:
        p = reduced.problem
        super().__init__(LogFile(path), {
            "format": FORMAT, "version": 2, "X": p.X.tolist(), "y": p.y.tolist(), "weights": p.weights.tolist(),
            "lower": p.lower.tolist(), "upper": p.upper.tolist(), "intercept": list(p.intercept), "price": str(p.price),
            "size_price": str(p.size_price), "most": p.max_nonzeros, "threshold": str(p.threshold),
        })  # fmt: skip
        self._reduced, self._written = reduced, set[int]()

    def append_splits(self, events: IntArray) -> None:
        """Append the splits among these events."""
        splits = events[events[:, 0] != CLOSED].tolist()
        if splits:
            self._file.write([{"splits": splits}])

    def append_multipliers(self, number: int, multipliers: PairMultipliers) -> None:
        """Write a node's multipliers, once: pairs of points in the place of pairs of rows."""
        if number in self._written:
            return
        self._written.add(number)
        plus, minus = (self._reduced.points[c][multipliers.pairs[:, c]].tolist() for c in (0, 1))
        pairs = [list(pair) for pair in zip(plus, minus, multipliers.cover, multipliers.margin, strict=True)]
        denominator = str(multipliers.denominator * self._reduced.unit)
        record = {"node": number, "denominator": denominator, "limit": multipliers.limit, "pairs": pairs}
        self._file.write([{"multipliers": [record]}])

    def finish(self, bound: Fraction, rho0: int, rho: IntArray) -> None:
        """Write the claim and the seal."""
        self._seal({"bound": str(bound), "rho0": rho0, "rho": rho.tolist()})
