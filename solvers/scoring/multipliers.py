"""Multipliers of pairs of opposite points, and what they prove of a node, in whole numbers of any size.

The rows and the bound are those of `solvers.scoring.check.pairs`, which verifies them; `PairProgram` finds the multipliers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...models.arrays import BoolArray, IntArray
from .reduced import ReducedScoringProblem

__all__ = ["Box", "Multipliers", "NodeBound", "Scores"]


@dataclass(frozen=True, eq=False)
class Box:
    """A node without ``more``: l ≤ ρ ≤ u, those in ``must`` not 0, and so tightened."""

    lower: IntArray
    upper: IntArray
    must: BoolArray

    @cached_property
    def free(self) -> BoolArray:
        """Coefficients that may be 0 and something else."""
        return np.asarray((self.lower <= 0) & (self.upper >= 0) & (self.lower < self.upper) & ~self.must)

    @property
    def single(self) -> bool:
        """Return whether one system is left."""
        return bool((self.lower == self.upper).all())


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Whole multipliers over a common denominator, of costs in units: pairs of rows, and the limit on the number of features."""

    denominator: int
    limit: int
    pairs: IntArray  #: (p, 2) rows of `Reduced.Z`
    cover: tuple[int, ...]
    margin: tuple[int, ...]


class NodeBound(NamedTuple):
    """The bound of an open node: the node above it whose multipliers prove it."""

    number: int
    multipliers: Multipliers


class Scores:
    """Rows in whole numbers, times the common denominator of their entries.

    Parameters
    ----------
    reduced : Reduced
    """

    def __init__(self, reduced: ReducedScoringProblem) -> None:
        self.reduced = reduced
        values = [np.unique(column).tolist() for column in reduced.Z.T]
        self.scale = max((Fraction(x).denominator for column in values for x in column), default=1)  # of doubles: powers of two
        self.apart = 2 * math.ceil(reduced.problem.threshold * self.scale)
        self._rows = np.empty(reduced.Z.shape, dtype=object)
        for j, (column, codes) in enumerate(zip(values, reduced.codes, strict=True)):
            self._rows[:, j] = np.array([int(Fraction(x) * self.scale) for x in column], dtype=object)[codes]

    def least(self, box: Box, held: Multipliers) -> int:
        """Return a lower bound of every system of the box, in units."""
        r, K = self.reduced, held.denominator * self.scale
        v = self._rows[held.pairs[:, 0]] - self._rows[held.pairs[:, 1]]
        low, high = box.lower.astype(object), box.upper.astype(object)
        most, fewest = np.maximum(low * v, high * v), np.minimum(low * v, high * v).sum(axis=1)
        valid = most[:, ~box.free].sum(axis=1) < self.apart
        cover, margin = np.array(held.cover, dtype=object) * valid * self.scale, np.array(held.margin, dtype=object)
        nu = held.limit * self.scale
        total = cover.sum() + self.apart * margin.sum() - nu * r.problem.most
        tilt = margin @ v
        helps = [cover @ (box.free & (side * v > 0)) for side in (1, -1)]
        zero = (box.lower <= 0) & (box.upper >= 0) & ~box.must
        for j, (l, u) in enumerate(zip(box.lower.tolist(), box.upper.tolist(), strict=True)):
            shares = [0] if zero[j] else []
            for side, least, largest in ((1, max(l, 1), u), (-1, max(-u, 1), -l)):
                shares += [
                    K * (r.price + r.size_price * size) + nu - helps[side < 0][j] - side * size * tilt[j]
                    for size in {least, largest}
                    if least <= largest
                ]
            total += min(shares)
        lacks = cover + margin * np.maximum(self.apart - fewest, 0)
        for cost, rows in ((r.positive, held.pairs[:, 0]), (r.negative, held.pairs[:, 1])):
            spent: dict[int, int] = {}
            for row, lack in zip(rows.tolist(), lacks.tolist(), strict=True):
                spent[row] = spent.get(row, 0) + lack
            total += sum(min(0, K * int(cost[row]) - lack) for row, lack in spent.items())
        return int(-(-total // K)) if r.exact else int(total // K)
