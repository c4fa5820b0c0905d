"""Pairs of opposite points whose rows a solution of the pairs' program violates."""

from __future__ import annotations

import numpy as np

from ...models.arrays import BoolArray, FloatArray, IntArray
from .multipliers import Box
from .reduced import Reduced

__all__ = ["Violated"]

#: Pairs a round, of either kind; of one row; rows of one class that are looked at; rows of one cell.
_PAIRS, _OF_ONE, _ROWS, _OF_CELL = 40, 3, 1500, 50
_NEAR = 1e-5


class Violated:
    """Looks for violated rows among all pairs.

    Rows that agree on the columns in use are one cell; of a cell's rows the pair is taken that fewest other coefficients help.

    Parameters
    ----------
    reduced : Reduced
    """

    def __init__(self, reduced: Reduced) -> None:
        self.reduced = reduced
        self._of_class = (np.flatnonzero(reduced.positive > 0), np.flatnonzero(reduced.negative > 0))

    def pairs(self, box: Box, use: FloatArray, rho: FloatArray, wrong: FloatArray, known: IntArray) -> IntArray:
        """New pairs (p, 2), the most violated first."""
        decided = ~box.free & ((box.lower != 0) | (box.upper != 0))
        columns = np.flatnonzero((use.sum(axis=0) > 1e-9) | (rho != 0) | decided)
        scores = self.reduced.Z[:, columns] @ rho[columns]
        first = [self._cells(c, columns, scores * side, wrong[c]) for c, side in ((0, 1), (1, -1))]
        a, b = (np.array([cell[0] for cell in cells], dtype=np.int64) for cells in first)
        if not a.size or not b.size:
            return np.zeros((0, 2), dtype=np.int64)
        lacking = self._lacking(box, columns, use, scores, wrong, a, b)
        seen, found = set(map(tuple, known.tolist())), []
        for lack in lacking:
            taken: dict[tuple[int, int], int] = {}
            order = np.argsort(-lack, axis=None, kind="stable")[: 100 * _PAIRS]
            here = 0
            for i, k in zip(*np.unravel_index(order, lack.shape), strict=True):
                if lack[i, k] <= _NEAR or here == _PAIRS:
                    break
                if max(taken.get((0, i), 0), taken.get((1, k), 0)) >= _OF_ONE:
                    continue
                pair = self._nearest(box, first[0][i], first[1][k])
                if pair in seen:
                    continue
                seen.add(pair)
                found.append(pair)
                here += 1
                taken[0, i], taken[1, k] = taken.get((0, i), 0) + 1, taken.get((1, k), 0) + 1
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def _cells(self, c: int, columns: IntArray, scores: FloatArray, wrong: FloatArray) -> list[IntArray]:
        """The rows of a class by cell, of least score first; those of a cell that are least wrong."""
        rows, r = self._of_class[c], self.reduced
        cell = np.zeros(rows.size, dtype=np.int64)
        for j in columns:
            _, cell = np.unique(cell * int(r.levels[j]) + r.codes[j, rows], return_inverse=True)
            cell = cell.ravel()
        order = np.lexsort((wrong[rows], cell))
        starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
        cells = []
        for members in np.split(rows[order], starts[1:]):
            least = members[wrong[members] <= wrong[members[0]] + _NEAR]
            cells.append(least[:_OF_CELL])
        cells.sort(key=lambda members: float(scores[members[0]]))
        return cells[:_ROWS]

    def _lacking(
        self, box: Box, columns: IntArray, use: FloatArray, scores: FloatArray, wrong: FloatArray,
        a: IntArray, b: IntArray,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """By how much the two rows of each pair are violated; the second one as a share of what it may lack."""
        Z, apart = self.reduced.Z, self.reduced.apart
        covered = wrong[0][a][:, None] + wrong[1][b][None]
        lack = np.full(covered.shape, apart)
        reach, slack = np.zeros_like(covered), apart - (scores[a][:, None] - scores[b][None])
        free, z = box.free, covered.copy()
        for j in np.flatnonzero((box.lower != 0) | (box.upper != 0)) if covered.any() else columns:
            v = Z[a, j][:, None] - Z[b, j][None]
            lack -= np.minimum(box.lower[j] * v, box.upper[j] * v)
            if free[j] and use[:, j].any():
                covered += use[0, j] * (v > 0) + use[1, j] * (v < 0)
            elif not free[j]:
                reach += np.maximum(box.lower[j] * v, box.upper[j] * v)
        helped = np.where(reach < apart, 1.0 - covered, 0.0)
        lack = np.maximum(lack, 1.0)
        return helped, slack / lack - z

    def _nearest(self, box: Box, plus: IntArray, minus: IntArray) -> tuple[int, int]:
        """The pair of these rows that fewest coefficients which are not decided help."""
        if plus.size == minus.size == 1:
            return int(plus[0]), int(minus[0])
        Z, helpers = self.reduced.Z, np.zeros((plus.size, minus.size))
        up: BoolArray = box.free & (box.upper > 0)
        down: BoolArray = box.free & (box.lower < 0)
        for j in np.flatnonzero(box.free):
            v = Z[plus, j][:, None] - Z[minus, j][None]
            helpers += (v > 0) * up[j] + (v < 0) * down[j]
        i, k = divmod(int(np.argmin(helpers)), minus.size)
        return int(plus[i]), int(minus[k])
