"""Linear programs over pairs of points of opposite classes, which bound the boxes of `supports-bb` with ``branching="pairs"``.

A scoring system ρ classifies a point x of class y = ±1 correctly if y (ρ_0 + x'ρ) ≥ t. The variables are a^+, a^- (whether a
coefficient is > 0, < 0), its positive and negative part r^+, r^-, and z (which rows are misclassified, at the costs c):

    min Σ_j price (a_j^+ + a_j^-) + size price (r_j^+ + r_j^-) + Σ_i c_i z_i,   a ≤ r ≤ (largest size) a,

where each pair of points of opposite classes adds up to two rows (`solvers.scoring.check`). *Margin*: the scores differ by at
least 2t, or one of the two points is misclassified. *Cover*: an undecided coefficient increases the difference, or one of the two
points is misclassified; it is valid where the decided coefficients do not reach 2t. In each round the program is solved, pairs
whose rows the solution violates are added (`PairSeparator`), and the dual simplex method continues from its last basis.

A node's bound is that of its multipliers (`PairMultipliers`), computed in integers of any size (`ExactPairBound`). The checker
computes it again.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import scipy.sparse as sp

from ...models.arrays import BoolArray, FloatArray, IntArray
from ..interface.timeouts import call_outside_fork
from .bounds import entry
from .reduced_problem import ReducedScoringProblem


@dataclass(frozen=True, eq=False)
class ScoreBox:
    """A node of the search: the coefficients lower ≤ ρ ≤ upper of which the ``forced`` ones are not 0."""

    lower: IntArray  #: (d,) lower bounds of ρ
    upper: IntArray  #: (d,) upper bounds of ρ
    forced: BoolArray  #: (d,) mask of the coefficients that are not 0

    @cached_property
    def undecided(self) -> BoolArray:
        """The mask of the coefficients that may be 0 or not."""
        return np.asarray((self.lower <= 0) & (self.upper >= 0) & (self.lower < self.upper) & ~self.forced)

    @property
    def is_single_system(self) -> bool:
        """True if the box holds a single system."""
        return bool((self.lower == self.upper).all())


@dataclass(frozen=True, eq=False)
class PairMultipliers:
    """Dual multipliers of the pairs' rows and of the limit on the number of features: integers over a common denominator."""

    denominator: int  #: multipliers are the integers divided by it, for costs in units
    limit: int  #: multiplier of the limit on the number of features
    pairs: IntArray  #: (p, 2) the pairs: a row of `ReducedScoringProblem.Z` of class +1, and one of class -1
    cover: tuple[int, ...]  #: (p,) multipliers of the cover rows
    margin: tuple[int, ...]  #: (p,) multipliers of the margin rows


class NodeCertificate(NamedTuple):
    """The multipliers that prove an open node's bound, and the number of the node that they were computed for."""

    number: int  #: the number of the node itself, or of an ancestor
    multipliers: PairMultipliers


class ExactPairBound:
    """Exact lower bounds of boxes from pair multipliers, in integers of any size.

    Attributes
    ----------
    scale : int
        The common denominator of the entries of ``reduced.Z``, by which rows and scores are multiplied.
    separation : int
        2 ⌈t scale⌉: the least difference of the scores, times the scale, of two correctly classified points of opposite classes.
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced = reduced
        values = [np.unique(column).tolist() for column in reduced.Z.T]
        self.scale = max((Fraction(x).denominator for column in values for x in column), default=1)  # of doubles: powers of two
        self.separation = 2 * math.ceil(reduced.problem.threshold * self.scale)
        self._rows = np.empty(reduced.Z.shape, dtype=object)
        for j, (column, codes) in enumerate(zip(values, reduced.codes, strict=True)):
            self._rows[:, j] = np.array([int(Fraction(x) * self.scale) for x in column], dtype=object)[codes]

    def lower_bound(self, box: ScoreBox, multipliers: PairMultipliers) -> int:
        """Return the lower bound in units that the multipliers prove for every system of the box."""
        r, K = self.reduced, multipliers.denominator * self.scale
        v = self._rows[multipliers.pairs[:, 0]] - self._rows[multipliers.pairs[:, 1]]
        low, high = box.lower.astype(object), box.upper.astype(object)
        largest_products, fewest = np.maximum(low * v, high * v), np.minimum(low * v, high * v).sum(axis=1)
        valid = largest_products[:, ~box.undecided].sum(axis=1) < self.separation
        cover, margin = np.array(multipliers.cover, dtype=object) * valid * self.scale, np.array(multipliers.margin, dtype=object)
        nu = multipliers.limit * self.scale
        total = cover.sum() + self.separation * margin.sum() - nu * r.problem.max_nonzeros
        tilt = margin @ v
        helps = [cover @ (box.undecided & (side * v > 0)) for side in (1, -1)]
        zero = (box.lower <= 0) & (box.upper >= 0) & ~box.forced
        for j, (l, u) in enumerate(zip(box.lower.tolist(), box.upper.tolist(), strict=True)):
            shares = [0] if zero[j] else []
            for side, smallest, largest in ((1, max(l, 1), u), (-1, max(-u, 1), -l)):
                shares += [
                    K * (r.price + r.size_price * size) + nu - helps[side < 0][j] - side * size * tilt[j]
                    for size in {smallest, largest}
                    if smallest <= largest
                ]
            total += min(shares)
        lacks = cover + margin * np.maximum(self.separation - fewest, 0)
        for cost, rows in ((r.positive, multipliers.pairs[:, 0]), (r.negative, multipliers.pairs[:, 1])):
            spent: dict[int, int] = {}
            for row, shortfall in zip(rows.tolist(), lacks.tolist(), strict=True):
                spent[row] = spent.get(row, 0) + shortfall
            total += sum(min(0, K * int(cost[row]) - shortfall) for row, shortfall in spent.items())
        return int(-(-total // K)) if r.exact else int(total // K)


#: Bits of the multipliers' denominator and of the cut together.
_BITS = 44
#: Distance from an integer up to which a number counts as one.
_NEAR = 1e-6


def bisection(box: ScoreBox) -> tuple[int, int]:
    """Return the coefficient with the widest range, and the middle of the range: the split without a solution."""
    j = int(np.argmax(box.upper - box.lower))
    return j, int(box.lower[j] + box.upper[j]) // 2


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """A solution of the linear program of a box, with its multipliers."""

    value: float  #: objective in units
    use: FloatArray  #: (2, d) a^+ and a^-
    rho: FloatArray  #: (d,) the coefficients r^+ - r^-
    wrong: FloatArray  #: (2, m) z of each row for points of class +1, and of class -1
    multipliers: PairMultipliers  #: dual multipliers, rounded down

    @property
    def is_integral(self) -> bool:
        """True if coefficients and their use are integers, up to `_NEAR`."""
        return bool(max(np.abs(x - np.rint(x)).max() for x in (self.use, self.rho)) < _NEAR)

    def split(self, box: ScoreBox) -> tuple[int, int]:
        """Return a split that cuts off the solution, or else halves the box: j and h, for ρ_j ≤ h and ρ_j > h."""
        d = self.rho.size
        fractional_use = np.minimum(self.use, 1.0 - self.use) * (box.lower < box.upper)
        fractional_use[0, box.lower > 0] = fractional_use[1, box.upper < 0] = 0.0
        if fractional_use.max() > _NEAR:
            k = int(np.argmax(fractional_use))
            return k % d, 0 if k < d else -1
        fractional_rho = np.abs(self.rho - np.rint(self.rho)) * (box.lower < box.upper)
        j = int(np.argmax(fractional_rho))
        if fractional_rho[j] > _NEAR:
            return j, int(np.floor(self.rho[j]))
        return bisection(box)


@final
class BoxProgram:
    """The linear program of one box in HiGHS.

    Parameters
    ----------
    reduced : ReducedScoringProblem
        The problem.
    box : ScoreBox
        The box of its coefficients.
    pairs : (p, 2) array
        The first pairs: rows of ``reduced.Z``, one of class +1 and one of class -1.

    Attributes
    ----------
    pairs
        All pairs whose rows the program has.
    """

    def __init__(self, reduced: ReducedScoringProblem, box: ScoreBox, pairs: IntArray) -> None:
        import highspy  # imported here: it is slow, and few problems need it

        native: Any = highspy
        self.reduced, self.box = reduced, box
        self.pairs = np.zeros((0, 2), dtype=np.int64)
        self._unit = float(max(reduced.price, reduced.size_price, 1))
        self._optimal, self._highs = native.HighsModelStatus.kOptimal, native.Highs()
        for name, value in (("output_flag", False), ("solver", "simplex"), ("threads", 1)):
            self._highs.setOptionValue(name, value)
        self._of_point = np.full((2, len(reduced.Z)), -1)  # the column of a point's z
        self._of_row = np.zeros((0, 2), dtype=np.int64)  # of each row: its pair, and 0 (cover) or 1 (margin)
        self._uses()
        self.add(pairs)

    def _uses(self) -> None:
        """Add the columns a and r, and their rows: the limit on features, a ≤ r ≤ largest a, and one sign for each."""
        r, box, d = self.reduced, self.box, self.box.lower.size
        largest = np.concatenate([np.maximum(box.upper, 0), np.maximum(-box.lower, 0)]).astype(float)
        smallest = np.concatenate([np.maximum(box.lower, 0), np.maximum(-box.upper, 0)]).astype(float)
        used = (np.tile(box.forced, 2) & (np.roll(largest, d) == 0)) | (smallest > 0)
        self._columns = k = np.flatnonzero(largest)
        prices = np.repeat([r.price, r.size_price], k.size) / self._unit
        self._add_columns(prices, np.concatenate([used[k], smallest[k]]), np.concatenate([np.ones(k.size), largest[k]]))
        one, zeros, signs = np.eye(k.size), np.zeros((d, k.size)), (k % d == np.arange(d)[:, None]).astype(float)
        capacity = np.concatenate([[float(r.problem.max_nonzeros)], np.zeros(2 * k.size), np.ones(d)])
        self._base = capacity.size
        rows = [[np.ones((1, k.size)), zeros[:1]], [one, -one], [-np.diag(largest[k]), one], [signs, zeros]]
        self._add_rows(np.block(rows), np.full(capacity.size, -np.inf), capacity)

    def add(self, pairs: IntArray) -> None:
        """Add the rows of pairs, and the columns of points that are new."""
        r, box, columns, p = self.reduced, self.box, self._columns, len(pairs)
        for points, side, cost in zip(self._of_point, pairs.T, (r.positive, r.negative), strict=True):
            new = np.unique(side[points[side] < 0])
            points[new] = self._highs.getNumCol() + np.arange(new.size)
            self._add_columns(cost[new] / self._unit, np.zeros(new.size), np.ones(new.size))
        V = r.Z[pairs[:, 0]] - r.Z[pairs[:, 1]]
        reach = np.maximum(box.lower * V, box.upper * V)[:, ~box.undecided].sum(axis=1)
        shortfall = np.maximum(r.separation - np.minimum(box.lower * V, box.upper * V).sum(axis=1), 0.0)
        signed, free = np.hstack([V, -V])[:, columns], np.tile(box.undecided, 2)[columns]
        rows = np.zeros((2, p, self._highs.getNumCol()))
        rows[0, :, : columns.size] = (signed > 0) & free
        rows[1, :, columns.size : 2 * columns.size] = signed
        for points, side in zip(self._of_point, pairs.T, strict=True):
            rows[0, np.arange(p), points[side]] = 1.0
            rows[1, np.arange(p), points[side]] = shortfall
        helped, parted = np.flatnonzero(reach < r.separation), np.flatnonzero(shortfall > 0)
        lower_sides = np.repeat([1.0, r.separation], [helped.size, parted.size])
        self._add_rows(np.vstack([rows[0, helped], rows[1, parted]]), lower_sides, np.full(lower_sides.size, np.inf))
        kind = np.repeat([0, 1], [helped.size, parted.size])
        pair = np.concatenate([helped, parted]) + len(self.pairs)
        self._of_row = np.concatenate([self._of_row, np.column_stack([pair, kind])])
        self.pairs = np.concatenate([self.pairs, pairs])

    def _add_columns(self, costs: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        empty = np.zeros(0, dtype=np.int32)
        starts = np.zeros(costs.size, dtype=np.int32)
        self._highs.addCols(costs.size, costs, lower.astype(float), upper, 0, starts, empty, np.zeros(0))

    def _add_rows(self, rows: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        A = sp.csr_array(rows)
        self._highs.addRows(lower.size, lower, upper, A.nnz, A.indptr[:-1], A.indices, A.data)

    def solve(self, cut: int, deadline: float = math.inf) -> BoxSolution | None:
        """Return the solution, or None if HiGHS finds none by the deadline; its multipliers are rounded for bounds near ``cut``.

        ``cut`` is in units, and the deadline a value of `time.perf_counter`.
        """
        c, d, highs = self._columns.size, self.box.lower.size, self._highs
        if not c and not len(self.pairs):
            return None
        if deadline < math.inf:  # HiGHS counts the seconds of all runs of an object
            highs.setOptionValue("time_limit", highs.getRunTime() + max(deadline - time.perf_counter(), 0.0))
        call_outside_fork("highspy", highs.run)
        if highs.getModelStatus() != self._optimal:
            return None
        solution = highs.getSolution()
        x, duals = np.array(solution.col_value), np.array(solution.row_dual) * self._unit
        use, parts = np.zeros(2 * d), np.zeros(2 * d)
        use[self._columns], parts[self._columns] = x[:c], x[c : 2 * c]
        wrong = np.where(self._of_point >= 0, x[self._of_point], 0.0)
        value = highs.getInfo().objective_function_value * self._unit
        return BoxSolution(value, use.reshape(2, d), parts[:d] - parts[d:], wrong, self._whole(duals, cut))

    def _whole(self, duals: FloatArray, cut: int) -> PairMultipliers:
        """Return multipliers of the pairs that have one, rounded down."""
        denominator = 1 << max(0, _BITS - int(cut).bit_length())
        of_pairs = np.zeros((len(self.pairs), 2))
        of_pairs[*self._of_row.T] = np.floor(np.maximum(duals[self._base :], 0.0) * float(denominator))
        limit = int(max(-duals[0], 0.0) * denominator)
        used = (of_pairs > 0).any(axis=1)
        cover, margin = (tuple(map(int, side.tolist())) for side in of_pairs[used].T)
        return PairMultipliers(denominator, limit, self.pairs[used], cover, margin)


# Pairs of opposite points whose rows a solution of the program violates.

#: Largest numbers: pairs added for either kind of rows in a round, pairs of these for one cell, cells of a class, rows of a cell.
_PAIRS, _OF_ONE, _ROWS, _OF_CELL = 40, 3, 1500, 50
#: Violation of a row (right side less left side) above which its pair is added.
_VIOLATED = 1e-5
#: Largest number of a cell before cells are numbered anew.
_NUMBERS = 2**62


class _Cells(NamedTuple):
    """Cells of a class's rows: ``rows[starts[i]:ends[i]]`` is cell i, its least misclassified rows first."""

    rows: IntArray  #: rows of ``reduced.Z``, cell after cell
    starts: IntArray  #: place of each cell's first row
    ends: IntArray  #: place after each cell's last row
    wrong: FloatArray  #: (m,) z of each row of ``reduced.Z`` in the solution

    @property
    def first(self) -> IntArray:
        return self.rows[self.starts]

    def members(self, i: int) -> IntArray:
        """Return the rows of cell i whose z is least, up to `_VIOLATED`, at most `_OF_CELL` of them."""
        rows = self.rows[self.starts[i] : self.ends[i]]
        return rows[self.wrong[rows] <= self.wrong[rows[0]] + _VIOLATED][:_OF_CELL]


class PairSeparator:
    """Separation of pairs: `find` returns pairs whose rows a solution of the program violates.

    Rows that agree on the features in use form a cell. Of the pairs of two cells it takes one whose difference of scores the
    fewest other coefficients can increase.
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced = reduced
        self._of_class = (np.flatnonzero(reduced.positive > 0), np.flatnonzero(reduced.negative > 0))

    def find(self, box: ScoreBox, use: FloatArray, rho: FloatArray, wrong: FloatArray, pairs: IntArray) -> IntArray:
        """Return pairs, other than ``pairs`` (p, 2), whose rows a `BoxSolution`'s use, rho and wrong violate.

        The most violated pairs of each kind of rows come first.
        """
        decided = ~box.undecided & ((box.lower != 0) | (box.upper != 0))
        columns = np.flatnonzero((use.sum(axis=0) > 1e-9) | (rho != 0) | decided)
        scores = self.reduced.Z[:, columns] @ rho[columns]
        plus, minus = (self._cells(c, columns, scores * side, wrong[c]) for c, side in ((0, 1), (1, -1)))
        a, b = plus.first, minus.first
        if not a.size or not b.size:
            return np.zeros((0, 2), dtype=np.int64)
        shortfalls = self._violations(box, columns, use, scores, wrong, a, b)
        known_pairs, new_pairs = set(map(tuple, pairs.tolist())), []
        for shortfall in shortfalls:
            counts: dict[tuple[int, int], int] = {}
            violated = np.flatnonzero(shortfall > _VIOLATED)
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
        """Return the cells of class c in increasing order of ``scores``, at most `_ROWS` of them."""
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

    def _violations(
        self, box: ScoreBox, columns: IntArray, use: FloatArray, scores: FloatArray, wrong: FloatArray,
        a: IntArray, b: IntArray,
    ) -> FloatArray:  # fmt: skip
        """Return the violations (2, a, b) of the cover row and the margin row of each pair of rows of ``a`` and ``b``.

        The violation of a margin row is divided by its coefficient of z.
        """
        Z, separation = self.reduced.Z, self.reduced.separation
        z, slack = wrong[0][a][:, None] + wrong[1][b], separation - (scores[a][:, None] - scores[b])
        if z.any():
            columns = np.flatnonzero((box.lower != 0) | (box.upper != 0))
        P, Q = np.ascontiguousarray(Z[np.ix_(a, columns)]), np.ascontiguousarray(Z[np.ix_(b, columns)].T)
        limits = box.lower[columns].astype(float), box.upper[columns].astype(float), box.undecided[columns]
        shortfalls, scratch = np.empty((2, *z.shape)), np.empty((2, b.size))
        _shortfalls(P, Q, separation, limits, np.ascontiguousarray(use[:, columns]), np.stack([slack, z]), shortfalls, scratch)
        return shortfalls

    def _nearest(self, box: ScoreBox, plus: IntArray, minus: IntArray) -> tuple[int, int]:
        """Return the pair of these rows whose difference of scores the fewest undecided coefficients can increase."""
        if plus.size == minus.size == 1:
            return int(plus[0]), int(minus[0])
        free = np.flatnonzero(box.undecided)
        Z, Q = self.reduced.Z, np.ascontiguousarray(self.reduced.Z[np.ix_(minus, free)].T)
        helpers = np.zeros((plus.size, minus.size))
        _helpers(np.ascontiguousarray(Z[np.ix_(plus, free)]), Q, np.stack([box.upper > 0, box.lower < 0])[:, free] + 0.0, helpers)
        i, k = divmod(int(np.argmin(helpers)), minus.size)
        return int(plus[i]), int(minus[k])


@entry
def _shortfalls(P: Any, Q: Any, separation: Any, box: Any, use: Any, sums: Any, shortfalls: Any, scratch: Any) -> None:
    """Write the violations of the cover and the margin row of each pair of a row of P and a column of Q to ``shortfalls``.

    The loops over columns are short and without branches, so that the compiler vectorises them.
    """
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
    """Add to ``helpers`` the number of coefficients that can raise the score of a row of P above that of a column of Q."""
    for i in range(len(P)):
        for j in range(len(Q)):
            p, up, down = P[i, j], candidates[0, j], candidates[1, j]
            for k in range(Q.shape[1]):
                helpers[i, k] += up * (p > Q[j, k]) + down * (p < Q[j, k])


#: Share of the gap to the cut that two rounds must close for another round, if the solution is not integral; most rounds.
_PROGRESS = 0.01
_ROUNDS = 40


class PairRelaxation:
    """Lower bounds of boxes by linear programs, to which violated pairs are added round by round."""

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self._reduced, self._exact_bound, self._separator = reduced, ExactPairBound(reduced), PairSeparator(reduced)

    def bound(
        self, box: ScoreBox, certificate: NodeCertificate | None, cut: int, deadline: float = math.inf
    ) -> tuple[int, BoxSolution | None]:
        """Return a lower bound in units of every system of the box, and the solution; (0, None) without a solution in time.

        The first program has the pairs of ``certificate``. Rounds end once the program's value reaches ``cut``; no round begins
        or goes on after the deadline, a value of `time.perf_counter`.
        """
        best, values = None, []
        program = BoxProgram(
            self._reduced, box, np.zeros((0, 2), dtype=np.int64) if certificate is None else certificate.multipliers.pairs
        )
        for _ in range(_ROUNDS):
            if time.perf_counter() > deadline:
                break
            solved = program.solve(cut, deadline)
            if solved is None:
                break
            best = solved
            values.append(solved.value)
            if solved.value >= cut:
                break
            slow = len(values) > 2 and values[-1] - values[-3] < _PROGRESS * (cut - values[-1])
            if slow and not solved.is_integral:
                break
            new = self._separator.find(box, solved.use, solved.rho, solved.wrong, program.pairs)
            if not new.size:
                break
            program.add(new)
        return (0, None) if best is None else (self._exact_bound.lower_bound(box, best.multipliers), best)
