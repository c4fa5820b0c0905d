"""Branching of a search: by supports, signs or pairs; the order of columns, and how much each moves scores."""

from __future__ import annotations

import numpy as np

from ...models.arrays import FloatArray, IntArray
from .reduced import ReducedScoringProblem

__all__ = ["branching_for", "greedy_order", "spread_of"]

#: Features from which supports are decided before signs, or pairs are looked at, where most columns have few values.
_MANY, _FEW_VALUES = 17, 4
#: Where opposite points with equal rows cost at most one in so many of the smaller class, pairs of points say more than cells.
_ALIKE = 10


def branching_for(reduced: ReducedScoringProblem) -> str:
    """By signs where features are few or most have many values; else by pairs if opposite points are hardly alike, or by support.

    Columns of many values tell nearly all points apart: where most are such, linear programs over pairs bound more and cost
    more than they save (`branching="pairs"` asks for them).
    """
    r = reduced
    d = r.Z.shape[1]
    if d < _MANY or 2 * np.count_nonzero(r.levels > _FEW_VALUES) > d:
        return "signs"
    alike, few = int(np.minimum(r.positive, r.negative).sum()), min(int(r.positive.sum()), int(r.negative.sum()))
    return "pairs" if alike * _ALIKE <= few else "supports"


def greedy_order(reduced: ReducedScoringProblem) -> IntArray:
    """Columns, each the one by which fewest errors are left in cells beside those before it."""
    r = reduced
    order, left = [], list(range(len(r.codes)))
    cells, count = np.zeros(r.codes.shape[1], dtype=np.int64), 1

    def numbered(j: int) -> IntArray:
        """The cells, each parted by the column's values."""
        finer = cells * int(r.levels[j]) + r.codes[j]
        return finer if count * int(r.levels[j]) <= 4 * finer.size else np.unique(finer, return_inverse=True)[1].ravel()

    while left:
        finer = [numbered(j) for j in left]
        errors = [int(np.minimum(np.bincount(f, r.positive), np.bincount(f, r.negative)).sum()) for f in finer]
        best = int(np.argmin(errors))
        order.append(left.pop(best))
        _, cells = np.unique(finer[best], return_inverse=True)
        cells, count = cells.ravel(), int(cells.max()) + 1
        if errors[best] == 0:
            break
    return np.array([*order, *left], dtype=np.int64)


def spread_of(reduced: ReducedScoringProblem) -> FloatArray:
    """Mean |x_j - x'_j| over rows of the two classes (a sample of them)."""
    pick = np.random.default_rng(0)
    sides = [np.flatnonzero(side > 0) for side in (reduced.positive, reduced.negative)]
    if not all(side.size for side in sides):
        return np.ones(reduced.Z.shape[1])
    a, b = (pick.choice(side, 4000) for side in sides)
    return np.asarray(np.abs(reduced.Z[a] - reduced.Z[b]).mean(axis=0) + 1e-12)
