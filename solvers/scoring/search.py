"""The search: open nodes by their bounds, the best one searched in depth for a while; incumbents in fractions; the log."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import FloatArray, IntArray
from ..exact.log_file import LogFile, LogWriter
from .bounds import ALL, entry, rows_of
from .box_program import BoxSolution, NodeBound, NodeProgram, PairMultipliers, ScoreBox, Scores, middle
from .check import FORMAT
from .descent import best_intercept, descend, workspace_for
from .reduced import ReducedScoringProblem
from .tree import CLOSED, HALVES, Stack, make_stack, search_below, split

# Bounds of boxes by linear programs over pairs of opposite points (`NodeProgram`).

# Pairs of opposite points whose rows a solution of the pairs' program violates.

#: Pairs a round, of either kind; of one row; rows of one class that are looked at; rows of one cell.
_PAIRS, _OF_ONE, _ROWS, _OF_CELL = 40, 3, 1500, 50
_NEAR = 1e-5
#: Numbers that cells may have before they are numbered anew.
_NUMBERS = 2**62


class _Cells(NamedTuple):
    """Cells of a class's rows: each from a start to an end, the rows that are least wrong first."""

    rows: IntArray
    starts: IntArray
    ends: IntArray
    wrong: FloatArray

    @property
    def first(self) -> IntArray:
        return self.rows[self.starts]

    def members(self, i: int) -> IntArray:
        """The rows of one that are least wrong."""
        rows = self.rows[self.starts[i] : self.ends[i]]
        return rows[self.wrong[rows] <= self.wrong[rows[0]] + _NEAR][:_OF_CELL]


class ViolatedPairs:
    """Looks for violated rows among all pairs.

    Rows that agree on the columns in use are one cell; of a cell's rows the pair is taken that fewest other coefficients help.

    Parameters
    ----------
    reduced : ReducedScoringProblem
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced = reduced
        self._of_class = (np.flatnonzero(reduced.positive > 0), np.flatnonzero(reduced.negative > 0))

    def pairs(self, box: ScoreBox, use: FloatArray, rho: FloatArray, wrong: FloatArray, known_rows: IntArray) -> IntArray:
        """New pairs (p, 2), the most violated first."""
        decided = ~box.free & ((box.lower != 0) | (box.upper != 0))
        columns = np.flatnonzero((use.sum(axis=0) > 1e-9) | (rho != 0) | decided)
        scores = self.reduced.Z[:, columns] @ rho[columns]
        plus, minus = (self._cells(c, columns, scores * side, wrong[c]) for c, side in ((0, 1), (1, -1)))
        a, b = plus.first, minus.first
        if not a.size or not b.size:
            return np.zeros((0, 2), dtype=np.int64)
        shortfalls = self._lacking(box, columns, use, scores, wrong, a, b)
        known_pairs, new_pairs = set(map(tuple, known_rows.tolist())), []
        for shortfall in shortfalls:
            counts: dict[tuple[int, int], int] = {}
            violated = np.flatnonzero(shortfall > _NEAR)
            order = violated[np.argsort(-shortfall.ravel()[violated], kind="stable")[: 100 * _PAIRS]]
            count = 0
            for i, k in zip(*(indices.tolist() for indices in np.unravel_index(order, shortfall.shape)), strict=True):
                if count == _PAIRS:
                    break
                if max(counts.get((0, i), 0), counts.get((1, k), 0)) >= _OF_ONE:
                    continue
                pair = self._nearest(box, plus.members(i), minus.members(k))
                if pair in known_pairs:
                    continue
                known_pairs.add(pair)
                new_pairs.append(pair)
                count += 1
                counts[0, i], counts[1, k] = counts.get((0, i), 0) + 1, counts.get((1, k), 0) + 1
        return np.array(new_pairs, dtype=np.int64).reshape(-1, 2)

    def _cells(self, c: int, columns: IntArray, scores: FloatArray, wrong: FloatArray) -> _Cells:
        """The cells of a class, of least score first."""
        rows, r = self._of_class[c], self.reduced
        cell, count = np.zeros(rows.size, dtype=np.int64), 1
        for j in columns:
            if count * int(r.levels[j]) > _NUMBERS:
                _, cell = np.unique(cell, return_inverse=True)
                cell, count = cell.ravel(), int(cell.max(initial=0)) + 1
            cell, count = cell * int(r.levels[j]) + r.codes[j, rows], count * int(r.levels[j])
        order = np.lexsort((wrong[rows], cell))
        starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
        ends, rows = np.append(starts[1:], rows.size), rows[order]
        best = np.argsort(scores[rows[starts]], kind="stable")[:_ROWS]
        return _Cells(rows, starts[best], ends[best], wrong)

    def _lacking(
        self, box: ScoreBox, columns: IntArray, use: FloatArray, scores: FloatArray, wrong: FloatArray,
        a: IntArray, b: IntArray,
    ) -> FloatArray:  # fmt: skip
        """By how much the two rows of each pair are violated; the second one as a share of what it may lack."""
        Z, separation = self.reduced.Z, self.reduced.separation
        z, slack = wrong[0][a][:, None] + wrong[1][b], separation - (scores[a][:, None] - scores[b])
        if z.any():
            columns = np.flatnonzero((box.lower != 0) | (box.upper != 0))
        P, Q = np.ascontiguousarray(Z[np.ix_(a, columns)]), np.ascontiguousarray(Z[np.ix_(b, columns)].T)
        limits = box.lower[columns].astype(float), box.upper[columns].astype(float), box.free[columns]
        shortfalls, scratch = np.empty((2, *z.shape)), np.empty((2, b.size))
        _lack(P, Q, separation, limits, np.ascontiguousarray(use[:, columns]), np.stack([slack, z]), shortfalls, scratch)
        return shortfalls

    def _nearest(self, box: ScoreBox, plus: IntArray, minus: IntArray) -> tuple[int, int]:
        """The pair of these rows that fewest coefficients which are not decided help."""
        if plus.size == minus.size == 1:
            return int(plus[0]), int(minus[0])
        free = np.flatnonzero(box.free)
        Z, Q = self.reduced.Z, np.ascontiguousarray(self.reduced.Z[np.ix_(minus, free)].T)
        helpers = np.zeros((plus.size, minus.size))
        _helpers(np.ascontiguousarray(Z[np.ix_(plus, free)]), Q, np.stack([box.upper > 0, box.lower < 0])[:, free] + 0.0, helpers)
        i, k = divmod(int(np.argmin(helpers)), minus.size)
        return int(plus[i]), int(minus[k])


@entry
def _lack(P: Any, Q: Any, separation: Any, box: Any, use: Any, sums: Any, shortfalls: Any, scratch: Any) -> None:
    """Compiled: by how much both rows of each pair of a row of P and a column of Q are violated; by pieces that vectorise."""
    lower, upper, free = box
    slack, z = sums
    ceilings, reach = scratch
    for i in range(len(P)):
        covered, parted = shortfalls[0, i], shortfalls[1, i]
        for k in range(ceilings.size):
            ceilings[k], reach[k], covered[k] = separation, 0.0, z[i, k]
        for j in range(len(Q)):
            l, u, up, down = lower[j], upper[j], use[0, j], use[1, j]
            for k in range(ceilings.size):
                v = P[i, j] - Q[j, k]
                ceilings[k] -= min(l * v, u * v)
            if not free[j]:
                for k in range(ceilings.size):
                    v = P[i, j] - Q[j, k]
                    reach[k] += max(l * v, u * v)
            elif up + down > 0.0:
                for k in range(ceilings.size):
                    v = P[i, j] - Q[j, k]
                    covered[k] += up * (v > 0.0) + down * (v < 0.0)
        for k in range(ceilings.size):
            covered[k] = 1.0 - covered[k] if reach[k] < separation else 0.0
            parted[k] = slack[i, k] / max(ceilings[k], 1.0) - z[i, k]


@entry
def _helpers(P: Any, Q: Any, candidates: Any, helpers: Any) -> None:
    """Compiled: how many coefficients can part a row of P and a column of Q to the right side."""
    for i in range(len(P)):
        for j in range(len(Q)):
            p, up, down = P[i, j], candidates[0, j], candidates[1, j]
            for k in range(Q.shape[1]):
                helpers[i, k] += up * (p > Q[j, k]) + down * (p < Q[j, k])


#: Share of the gap that two rounds must close for another one, where the solution is not whole anyway.
_PROGRESS = 0.01
_ROUNDS = 40


class PairProgram:
    """Bounds of boxes by linear programs.

    Parameters
    ----------
    reduced : ReducedScoringProblem
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced, self.scores, self.violated = reduced, Scores(reduced), ViolatedPairs(reduced)

    def bound(
        self, box: ScoreBox, node_bound: NodeBound | None, cut: int, deadline: float = math.inf
    ) -> tuple[int, BoxSolution | None]:
        """Return a lower bound of every system of the box, in units, and the program's solution; first with the pairs held.

        No round is begun after the deadline, by the clock of `time.perf_counter`.
        """
        best, values = None, []
        program = NodeProgram(
            self.reduced, box, np.zeros((0, 2), dtype=np.int64) if node_bound is None else node_bound.multipliers.pairs
        )
        for _ in range(_ROUNDS):
            if time.perf_counter() > deadline:
                break
            solved = program.solve(cut)
            if solved is None:
                break
            best = solved
            values.append(solved.value)
            if solved.value >= cut:
                break
            slow = len(values) > 2 and values[-1] - values[-3] < _PROGRESS * (cut - values[-1])
            if slow and not solved.integer_scores:
                break
            new = self.violated.pairs(box, solved.use, solved.rho, solved.wrong, program.pairs)
            if not new.size:
                break
            program.add(new)
        return (0, None) if best is None else (self.scores.least(box, best.multipliers), best)


# Branching of a search: by supports, signs or pairs; the order of columns, and how much each moves scores.

#: Features from which supports are decided before signs, or pairs are looked at, where most columns have few values.
_MANY, _FEW_VALUES = 17, 4
#: Where opposite points with equal rows cost at most one in so many of the smaller class, pairs of points say more than cells.
_ALIKE = 10


def branching_for(reduced: ReducedScoringProblem) -> str:
    """Choose a branching: signs where features are few or most have many values, else pairs or supports.

    Columns of many values tell nearly all points apart: where most are such, linear programs over pairs bound more and cost
    more than they save (`branching="pairs"` asks for them).
    """
    r = reduced
    d = r.Z.shape[1]
    if d < _MANY or 2 * np.count_nonzero(r.levels > _FEW_VALUES) > d:
        return "signs"
    alike, smaller_class = int(np.minimum(r.positive, r.negative).sum()), min(int(r.positive.sum()), int(r.negative.sum()))
    return "pairs" if alike * _ALIKE <= smaller_class else "supports"


def greedy_order(reduced: ReducedScoringProblem) -> IntArray:
    """Columns, each the one by which fewest errors are left in cells beside those before it."""
    r = reduced
    order, candidates = [], list(range(len(r.codes)))
    cells, count = np.zeros(r.codes.shape[1], dtype=np.int64), 1

    def numbered(j: int) -> IntArray:
        """The cells, each parted by the column's values."""
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


def spread_of(reduced: ReducedScoringProblem) -> FloatArray:
    """Mean |x_j - x'_j| over rows of the two classes (a sample of them)."""
    pick = np.random.default_rng(0)
    sides = [np.flatnonzero(side > 0) for side in (reduced.positive, reduced.negative)]
    if not all(side.size for side in sides):
        return np.ones(reduced.Z.shape[1])
    a, b = (pick.choice(side, 4000) for side in sides)
    return np.asarray(np.abs(reduced.Z[a] - reduced.Z[b]).mean(axis=0) + 1e-12)


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

    Attributes
    ----------
    rho0, rho, value
        The incumbent, and its objective as a fraction.
    cut
        A node whose bound reaches this many units holds nothing better.
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
    rounds: int = 0
    _until: int = 0

    def __post_init__(self) -> None:
        r, problem = self.reduced, self.reduced.problem
        d = r.Z.shape[1]
        self.rows = rows_of(r)
        self.stack: Stack = make_stack(r, greedy_order(r), spread_of(r))
        if self.branching == "auto":
            self.branching = branching_for(r)
        self.program = PairProgram(r) if self.branching == "pairs" else None
        self.lower, self.upper = problem.lower.astype(np.int64), problem.upper.astype(np.int64)
        self.box = (self.lower, self.upper, *map(np.int64, problem.intercept))
        self.t = float(problem.threshold) if not r.integer_scores else r.separation / 2.0
        self.workspace = workspace_for(r)
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
            count = min(int(self.rng.integers(1, 5)), d)
            for j in self.rng.choice(d, size=count, replace=False):
                rho[j] = self.rng.integers(self.lower[j], self.upper[j] + 1) if self.rng.random() < 0.7 else 0
            used = np.flatnonzero(rho)
            if used.size > problem.max_nonzeros:
                rho[self.rng.choice(used, size=used.size - problem.max_nonzeros, replace=False)] = 0
        self._descend(rho, self.rng.permutation(d), 2 * d)

    def _small(self, turn: int) -> IntArray:
        """A good system on few features: the first ones of the greedy order, later drawn with a preference for them."""
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
        """Improve rho in place and offer it: its cost in units."""
        units, rho0 = descend(self.rows, self.t, self.box, rho, order, swaps, self.workspace)
        if not self.reduced.integer_scores or units < self.cut:  # whole scores are counted exactly: fractions would say the same
            self.offer(int(rho0), rho)
        return int(units)

    # -- the tree -----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Nodes bounded so far."""
        return int(self.stack.scalars.nodes)

    @property
    def done(self) -> bool:
        """Return whether no node is open."""
        return not self.heap and not self.stack.scalars.top

    @property
    def open_nodes(self) -> int:
        """Nodes that are not closed."""
        return len(self.heap) + int(self.stack.scalars.top)

    @property
    def memory(self) -> int:
        """Bytes of the open nodes, about."""
        return len(self.heap) * (400 + 17 * self.rho.size + (0 if self.program is None else _OF_PAIRS))

    @property
    def bound(self) -> Fraction:
        """The proved lower bound."""
        k = self.stack
        units = [int(u) for u in k.bound[: k.scalars.top]] + [node[0] for node in self.heap[:1]]
        return min(self.reduced.bound(min(units)), self.value) if units else self.value

    @property
    def multipliers(self) -> list[NodeBound]:
        """The bounds of the open nodes beyond those that the checker finds itself."""
        return [node[-1] for _, _, node in self.heap if node[-1] is not None]

    def step(self, node_limit: float = math.inf) -> None:
        """Search below the open node of least bound, a part of a stretch if nodes take long; by pairs, that node alone."""
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

    def _open(self) -> NodeBound | None:
        """Take the open node of least bound, and begin a stretch."""
        k = self.stack
        units, number, (lower, upper, forced, needs_feature, node_bound) = heapq.heappop(self.heap)
        k.lower[0], k.upper[0], k.forced[0], k.needs_feature[0], k.bound[0], k.number[0] = (
            lower,
            upper,
            forced,
            needs_feature,
            units,
            number,
        )
        k.scalars.top, self._until = int(self.program is None), self.nodes + _STRETCH
        return node_bound

    def _below(self, node_limit: int) -> bool:
        """Search below the nodes on the stack, in depth, for at most so many nodes; whether the stretch goes on."""
        k, end, batch = self.stack, min(self.nodes + node_limit, self._until), max(_FEW, node_limit // 16)
        while k.scalars.top > 0 and self.nodes < end and time.perf_counter() < self.deadline:
            before = self.nodes
            search_below(self.rows, k, np.int64(self.cut), min(batch, end - before), self.branching == "supports")
            self._take()
            if self.nodes == before and k.scalars.top + 5 > k.bound.size:
                return False
        return bool(k.scalars.top) and self.nodes < self._until

    def _bounded_by_pairs(self, program: PairProgram, box: ScoreBox, node_bound: NodeBound | None) -> NodeBound | None:
        """Put what is left of the first node's children on the stack, and say what bounds them."""
        k = self.stack
        if k.bound[0] < self.cut and box.single:
            self.single(box.lower)
            return node_bound
        relaxed: BoxSolution | None = None
        if k.bound[0] < self.cut:
            units, relaxed = program.bound(box, node_bound, self.cut, self.deadline)
            if relaxed is not None:
                self._round(relaxed)
                if units > k.bound[0]:
                    k.bound[0], node_bound = units, NodeBound(int(k.number[0]), relaxed.multipliers)
        if k.bound[0] >= self.cut:
            if node_bound is not None and self.certifier is not None:
                self.certifier(node_bound.number, node_bound.multipliers)
            return node_bound
        j, half = middle(box) if relaxed is None else relaxed.split(box)
        split(self.rows, k, np.int64(HALVES), np.int64(j), np.int64(half), np.int64(self.cut))
        self._take()
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

    def _take(self) -> None:
        """Hand the events on, and look at the single systems in fractions."""
        k = self.stack
        if self.listener is not None and k.scalars.noted:
            self.listener(k.events[: k.scalars.noted])
        k.scalars.noted = 0
        for rho in k.candidates[: k.scalars.systems].copy():
            self.single(rho)
        k.scalars.systems = 0

    def single(self, rho: IntArray) -> None:
        """Offer a system with its best intercept; where scores are not whole, with each at which some point changes sides."""
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

    Splits and multipliers are written as they come. Which nodes are closed follows from the splits: those that are not split.

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

    def take(self, events: IntArray) -> None:
        """Append the splits among these events."""
        splits = events[events[:, 0] != CLOSED].tolist()
        if splits:
            self._file.write([{"splits": splits}])

    def certify(self, number: int, multipliers: PairMultipliers) -> None:
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
