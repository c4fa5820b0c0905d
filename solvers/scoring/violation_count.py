"""Pairs of opposite points whose rows a solution of the pairs' program violates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...models.arrays import FloatArray, IntArray
from .compiled import entry
from .multipliers import Box
from .reduced import ReducedScoringProblem

__all__ = ["Violated"]

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
        """The first row of each."""
        return self.rows[self.starts]

    def members(self, i: int) -> IntArray:
        """The rows of one that are least wrong."""
        rows = self.rows[self.starts[i] : self.ends[i]]
        return rows[self.wrong[rows] <= self.wrong[rows[0]] + _NEAR][:_OF_CELL]


class Violated:
    """Looks for violated rows among all pairs.

    Rows that agree on the columns in use are one cell; of a cell's rows the pair is taken that fewest other coefficients help.

    Parameters
    ----------
    reduced : Reduced
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced = reduced
        self._of_class = (np.flatnonzero(reduced.positive > 0), np.flatnonzero(reduced.negative > 0))

    def pairs(self, box: Box, use: FloatArray, rho: FloatArray, wrong: FloatArray, known: IntArray) -> IntArray:
        """New pairs (p, 2), the most violated first."""
        decided = ~box.free & ((box.lower != 0) | (box.upper != 0))
        columns = np.flatnonzero((use.sum(axis=0) > 1e-9) | (rho != 0) | decided)
        scores = self.reduced.Z[:, columns] @ rho[columns]
        plus, minus = (self._cells(c, columns, scores * side, wrong[c]) for c, side in ((0, 1), (1, -1)))
        a, b = plus.first, minus.first
        if not a.size or not b.size:
            return np.zeros((0, 2), dtype=np.int64)
        lacking = self._lacking(box, columns, use, scores, wrong, a, b)
        seen, found = set(map(tuple, known.tolist())), []
        for lack in lacking:
            taken: dict[tuple[int, int], int] = {}
            violated = np.flatnonzero(lack > _NEAR)
            order = violated[np.argsort(-lack.ravel()[violated], kind="stable")[: 100 * _PAIRS]]
            here = 0
            for i, k in zip(*(at.tolist() for at in np.unravel_index(order, lack.shape)), strict=True):
                if here == _PAIRS:
                    break
                if max(taken.get((0, i), 0), taken.get((1, k), 0)) >= _OF_ONE:
                    continue
                pair = self._nearest(box, plus.members(i), minus.members(k))
                if pair in seen:
                    continue
                seen.add(pair)
                found.append(pair)
                here += 1
                taken[0, i], taken[1, k] = taken.get((0, i), 0) + 1, taken.get((1, k), 0) + 1
        return np.array(found, dtype=np.int64).reshape(-1, 2)

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
        self, box: Box, columns: IntArray, use: FloatArray, scores: FloatArray, wrong: FloatArray,
        a: IntArray, b: IntArray,
    ) -> FloatArray:  # fmt: skip
        """By how much the two rows of each pair are violated; the second one as a share of what it may lack."""
        Z, apart = self.reduced.Z, self.reduced.apart
        z, slack = wrong[0][a][:, None] + wrong[1][b], apart - (scores[a][:, None] - scores[b])
        if z.any():
            columns = np.flatnonzero((box.lower != 0) | (box.upper != 0))
        P, Q = np.ascontiguousarray(Z[np.ix_(a, columns)]), np.ascontiguousarray(Z[np.ix_(b, columns)].T)
        limits = box.lower[columns].astype(float), box.upper[columns].astype(float), box.free[columns]
        lacking, scratch = np.empty((2, *z.shape)), np.empty((2, b.size))
        _lack(P, Q, apart, limits, np.ascontiguousarray(use[:, columns]), np.stack([slack, z]), lacking, scratch)
        return lacking

    def _nearest(self, box: Box, plus: IntArray, minus: IntArray) -> tuple[int, int]:
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
def _lack(P: Any, Q: Any, apart: Any, box: Any, use: Any, sums: Any, lacking: Any, scratch: Any) -> None:
    """Compiled: by how much both rows of each pair of a row of P and a column of Q are violated; by pieces that vectorise."""
    lower, upper, free = box
    slack, z = sums
    most, reach = scratch
    for i in range(len(P)):
        covered, parted = lacking[0, i], lacking[1, i]
        for k in range(most.size):
            most[k], reach[k], covered[k] = apart, 0.0, z[i, k]
        for j in range(len(Q)):
            l, u, up, down = lower[j], upper[j], use[0, j], use[1, j]
            for k in range(most.size):
                v = P[i, j] - Q[j, k]
                most[k] -= min(l * v, u * v)
            if not free[j]:
                for k in range(most.size):
                    v = P[i, j] - Q[j, k]
                    reach[k] += max(l * v, u * v)
            elif up + down > 0.0:
                for k in range(most.size):
                    v = P[i, j] - Q[j, k]
                    covered[k] += up * (v > 0.0) + down * (v < 0.0)
        for k in range(most.size):
            covered[k] = 1.0 - covered[k] if reach[k] < apart else 0.0
            parted[k] = slack[i, k] / max(most[k], 1.0) - z[i, k]


@entry
def _helpers(P: Any, Q: Any, may: Any, helpers: Any) -> None:
    """Compiled: how many coefficients can part a row of P and a column of Q to the right side."""
    for i in range(len(P)):
        for j in range(len(Q)):
            p, up, down = P[i, j], may[0, j], may[1, j]
            for k in range(Q.shape[1]):
                helpers[i, k] += up * (p > Q[j, k]) + down * (p < Q[j, k])
