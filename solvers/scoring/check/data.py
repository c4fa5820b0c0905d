"""The checker's own account of a problem: whole numbers, equal rows merged, and what a node costs at least."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from ....models.arrays import IntArray
from ....models.formulations.margin.scoring_problem import ScoringProblem
from ...exact.check.arithmetic import InvalidProofError
from .node import CheckedNode

__all__ = ["LoggedScoringProblem", "Whole"]

#: Whole numbers of any size: an array of int64, or of Python's integers.
Whole = Any
#: Digits in which scores must be whole to be held in 64 bits.
_LARGEST = 2**62
#: Sets of columns whose cells are kept.
_KEPT = 1024


@dataclass(frozen=True, eq=False)
class LoggedScoringProblem:
    """The problem in whole numbers: scores times ``scale``, costs times ``unit``; distinct rows, their costs by class."""

    rows: Whole
    codes: IntArray
    sides: tuple[IntArray, IntArray]
    row_of: IntArray
    scale: int
    unit: int
    threshold: int
    problem: ScoringProblem
    _cells: dict[tuple[int, ...], tuple[IntArray, IntArray, IntArray]] = field(default_factory=dict)

    @staticmethod
    def of(problem: ScoringProblem) -> LoggedScoringProblem:
        """Exactly, or not at all."""
        distinct, back = np.unique(problem.X, axis=0, return_inverse=True)
        coded = [np.unique(column, return_inverse=True) for column in distinct.T]
        entries = [[Fraction(x) for x in values.tolist()] for values, _ in coded]
        scale = math.lcm(*{x.denominator for values in entries for x in values})
        sizes = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
        reach = scale * (float((np.abs(problem.X) @ sizes).max()) + max(map(abs, problem.intercept)) + 2.0)
        costs = [Fraction(repr(c)) for c in problem.weights.tolist()]
        unit = math.lcm(*{c.denominator for c in costs})
        if sum(costs) * unit >= 2**31:
            raise InvalidProofError("costs have too many digits to be checked in whole numbers")
        rows = np.empty(distinct.shape, dtype=object if reach * 4 > _LARGEST else np.int64)
        for j, (values, (_, code)) in enumerate(zip(entries, coded, strict=True)):
            rows[:, j] = np.array([int(x * scale) for x in values], dtype=rows.dtype)[code.ravel()]
        cost = np.array([int(c * unit) for c in costs], dtype=np.int64)
        back = back.ravel()
        plus, minus = (_sums(back[problem.y == c], cost[problem.y == c], len(rows)) for c in (1, -1))
        codes = np.array([code.ravel() for _, code in coded], dtype=np.int64).reshape(distinct.shape[::-1])
        return LoggedScoringProblem(rows, codes, (plus, minus), back, scale, unit, math.ceil(problem.threshold * scale), problem)

    @property
    def apart(self) -> int:
        """Scores of two points of opposite classes that are both right differ by so much."""
        return 2 * self.threshold

    def cells(self, active: list[int]) -> tuple[IntArray, IntArray, IntArray]:
        """Rows that agree on these columns: one of each, and what the two classes cost there."""
        known = self._cells.get(tuple(active))
        if known is not None:
            return known
        first, cell, count = np.zeros(1, dtype=np.int64), np.zeros(len(self.rows), dtype=np.int64), 1
        for j in active:
            finer = cell * (int(self.codes[j].max()) + 1) + self.codes[j]
            _, first, cell = np.unique(finer, return_index=True, return_inverse=True)
            cell, count = cell.ravel(), first.size
        merged = first, _sums(cell, self.sides[0], count), _sums(cell, self.sides[1], count)
        if len(self._cells) >= _KEPT:
            self._cells.clear()
        self._cells[tuple(active)] = merged
        return merged

    def least(self, node: CheckedNode, bound: Fraction) -> Fraction:
        """A lower bound of a node that is tightened, exact where that matters."""
        price = self.problem.price * (len(node.used()) + node.more)
        price += self.problem.size_price * (sum(max(1, node.lower[j], -node.upper[j]) for j in node.used()) + node.more)
        if price >= bound:
            return price
        active = [j for j, (a, b) in enumerate(zip(node.lower, node.upper, strict=True)) if a or b]
        first, positive, negative = self.cells(active)
        least_cost = price + Fraction(int(np.minimum(positive, negative).sum()), self.unit)
        if least_cost >= bound:
            return least_cost
        low, high = (np.array([side[j] for j in active], dtype=np.int64) for side in (node.lower, node.upper))
        rows = self.rows[first][:, active]
        if (low == high).all():
            return price + Fraction(self.errors(rows @ low, positive, negative), self.unit)
        return price + Fraction(self.flow(rows, positive, negative, low, high), self.unit)

    def flow(self, rows: Whole, positive: IntArray, negative: IntArray, low: IntArray, high: IntArray) -> int:
        """Return the value of a flow from points of class +1 to points of class -1, along pairs that are not both right."""
        plus, minus = np.flatnonzero(positive), np.flatnonzero(negative)
        most = np.zeros((plus.size, minus.size), dtype=rows.dtype)
        for column, a, b in zip(rows.T, low.tolist(), high.tolist(), strict=True):
            apart = column[plus][:, None] - column[minus][None, :]
            most += np.maximum(a * apart, b * apart)
        a, b = np.nonzero(most < self.apart)
        m, k = plus.size, minus.size
        capacity = np.minimum(positive[plus][a], negative[minus][b])
        ends = np.concatenate([np.zeros(m, np.int64), a + 1, np.arange(m + 1, m + k + 1)])
        heads = np.concatenate([np.arange(1, m + 1), b + m + 1, np.full(k, m + k + 1)])
        amounts = np.concatenate([positive[plus], capacity, negative[minus]]).astype(np.int32)
        graph = sp.csr_array((amounts, (ends, heads)), shape=(m + k + 2, m + k + 2))
        flow = sp.coo_array(maximum_flow(graph, 0, m + k + 1).flow)
        inside = (flow.data > 0) & (flow.row >= 1) & (flow.row <= m) & (flow.col > m) & (flow.col <= m + k)
        i, j, amount = flow.row[inside] - 1, flow.col[inside] - m - 1, flow.data[inside].astype(np.int64)
        sent, received = np.bincount(i, amount, m), np.bincount(j, amount, k)
        if (most[i, j] >= self.apart).any() or (sent > positive[plus]).any() or (received > negative[minus]).any():
            raise InvalidProofError("SciPy's flow is none")
        return int(amount.sum())

    def errors(self, scores: Whole, positive: IntArray, negative: IntArray) -> int:
        """The fewest errors of one system over the intercepts that are allowed."""
        low, high = self.problem.intercept
        above = -((scores - self.threshold) // self.scale)
        below = (-self.threshold - scores) // self.scale
        tried = np.unique(np.clip(np.concatenate([above, below, np.array([low, high])]), low, high))
        wrong = (above[:, None] > tried).T @ positive + (below[:, None] < tried).T @ negative
        return int(wrong.min())


def _sums(cell: IntArray, cost: IntArray, count: int) -> IntArray:
    """Costs by cell, in whole numbers."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, cell, cost)
    return sums
