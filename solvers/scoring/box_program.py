"""The linear program over pairs of opposite points that bounds a box.

In a^+, a^- (whether a coefficient is > 0, < 0), its two parts r^+, r^-, and z (which rows of points are wrong)

    min Σ_j price (a_j^+ + a_j^-) + size price (r_j^+ + r_j^-) + Σ_i c_i z_i,   a ≤ r ≤ (largest size) a,

where each pair gives up to two rows (`solvers.scoring.check`): the scores differ by 2t, and some coefficient that is not
decided helps, or a point of it is wrong. Pairs are added as solutions violate them, and the dual simplex method goes on from the
basis that it has.

*Multipliers of pairs of opposite points, and what they prove of a node, in whole numbers of any size.* The rows and the bound
are those of `solvers.scoring.check`, which verifies them; `PairProgram` finds the multipliers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import scipy.sparse as sp

from ...models.arrays import BoolArray, FloatArray, IntArray
from ..interface.timeouts import call_outside_fork
from .reduced import ReducedScoringProblem


@dataclass(frozen=True, eq=False)
class ScoreBox:
    """A node without ``needs_feature``: l ≤ ρ ≤ u, those in ``forced`` not 0, and so tightened."""

    lower: IntArray
    upper: IntArray
    forced: BoolArray

    @cached_property
    def free(self) -> BoolArray:
        """Coefficients that may be 0 and something else."""
        return np.asarray((self.lower <= 0) & (self.upper >= 0) & (self.lower < self.upper) & ~self.forced)

    @property
    def single(self) -> bool:
        """Return whether one system is left."""
        return bool((self.lower == self.upper).all())


@dataclass(frozen=True, eq=False)
class PairMultipliers:
    """Whole multipliers over a common denominator, of costs in units: pairs of rows, and the limit on the number of features."""

    denominator: int
    limit: int
    pairs: IntArray  #: (p, 2) rows of `ReducedScoringProblem.Z`
    cover: tuple[int, ...]
    margin: tuple[int, ...]


class NodeBound(NamedTuple):
    """The bound of an open node: the node above it whose multipliers prove it."""

    number: int
    multipliers: PairMultipliers


class Scores:
    """Rows in whole numbers, times the common denominator of their entries.

    Parameters
    ----------
    reduced : ReducedScoringProblem
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced = reduced
        values = [np.unique(column).tolist() for column in reduced.Z.T]
        self.scale = max((Fraction(x).denominator for column in values for x in column), default=1)  # of doubles: powers of two
        self.separation = 2 * math.ceil(reduced.problem.threshold * self.scale)
        self._rows = np.empty(reduced.Z.shape, dtype=object)
        for j, (column, codes) in enumerate(zip(values, reduced.codes, strict=True)):
            self._rows[:, j] = np.array([int(Fraction(x) * self.scale) for x in column], dtype=object)[codes]

    def least(self, box: ScoreBox, multipliers: PairMultipliers) -> int:
        """Return a lower bound of every system of the box, in units."""
        r, K = self.reduced, multipliers.denominator * self.scale
        v = self._rows[multipliers.pairs[:, 0]] - self._rows[multipliers.pairs[:, 1]]
        low, high = box.lower.astype(object), box.upper.astype(object)
        largest_products, fewest = np.maximum(low * v, high * v), np.minimum(low * v, high * v).sum(axis=1)
        valid = largest_products[:, ~box.free].sum(axis=1) < self.separation
        cover, margin = np.array(multipliers.cover, dtype=object) * valid * self.scale, np.array(multipliers.margin, dtype=object)
        nu = multipliers.limit * self.scale
        total = cover.sum() + self.separation * margin.sum() - nu * r.problem.max_nonzeros
        tilt = margin @ v
        helps = [cover @ (box.free & (side * v > 0)) for side in (1, -1)]
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


#: Bits of multipliers beyond those of the cut.
_BITS = 44
_NEAR = 1e-6


def middle(box: ScoreBox) -> tuple[int, int]:
    """The widest coefficient, and its middle."""
    j = int(np.argmax(box.upper - box.lower))
    return j, int(box.lower[j] + box.upper[j]) // 2


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """A solution of the program of a box: its value in units, what it uses, and the pairs that matter."""

    value: float
    use: FloatArray  #: (2, d): a^+ and a^-
    rho: FloatArray  #: r^+ - r^-
    wrong: FloatArray  #: (2, m): z by row, for each class
    multipliers: PairMultipliers

    @property
    def integer_scores(self) -> bool:
        """Return whether it is a system."""
        return bool(max(np.abs(x - np.rint(x)).max() for x in (self.use, self.rho)) < _NEAR)

    def split(self, box: ScoreBox) -> tuple[int, int]:
        """Coefficient j and half h by which the solution is cut off, or the box shrinks: ρ_j ≤ h, ρ_j > h."""
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
        return middle(box)


@final
class NodeProgram:
    """The program of one box in HiGHS.

    Parameters
    ----------
    reduced : ReducedScoringProblem
    box : Box
    pairs : (p, 2) array
        Rows of ``reduced.Z``, one of each class, to begin with.

    Attributes
    ----------
    pairs
        All that it has.
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
        self._of_row = np.zeros((0, 2), dtype=np.int64)  # of each pair's row: the pair, and whether it is of the second kind
        self._uses()
        self.add(pairs)

    def _uses(self) -> None:
        """The columns a and r, and their rows: the limit on features, a ≤ r ≤ largest a, and one sign for each."""
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
        reach = np.maximum(box.lower * V, box.upper * V)[:, ~box.free].sum(axis=1)
        shortfall = np.maximum(r.separation - np.minimum(box.lower * V, box.upper * V).sum(axis=1), 0.0)
        signed, free = np.hstack([V, -V])[:, columns], np.tile(box.free, 2)[columns]
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

    def solve(self, cut: int) -> BoxSolution | None:
        """Return the solution; None where HiGHS has none. Multipliers are fine enough for bounds near ``cut``."""
        c, d, highs = self._columns.size, self.box.lower.size, self._highs
        if not c and not len(self.pairs):
            return None
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
        """Multipliers of the pairs that have one, rounded down."""
        denominator = 1 << max(0, _BITS - int(cut).bit_length())
        of_pairs = np.zeros((len(self.pairs), 2))
        of_pairs[*self._of_row.T] = np.floor(np.maximum(duals[self._base :], 0.0) * float(denominator))
        limit = int(max(-duals[0], 0.0) * denominator)
        used = (of_pairs > 0).any(axis=1)
        cover, margin = (tuple(map(int, side.tolist())) for side in of_pairs[used].T)
        return PairMultipliers(denominator, limit, self.pairs[used], cover, margin)
