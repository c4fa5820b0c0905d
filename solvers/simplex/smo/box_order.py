"""The order of the points in SMO on a box: the active ones first, and kernel columns in that order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....models.arrays import FloatArray, IntArray
from ....models.kernels.float32 import SingleArray
from ....models.kernels.gram import GramOperator
from ....models.views import BoxEqualityQP
from ..column_cache import ColumnCache
from . import box_loops as loops

__all__ = ["OrderedGram", "shrink"]

#: The share of the active points that must be ready to leave: moving columns about costs as much as a few steps.
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class OrderedGram(GramOperator):
    """K_ij = s_i s_j Q_ij of a box problem, with the points in the given order.

    Parameters
    ----------
    view : BoxEqualityQP
    order : ndarray of int (n,)
        The point at each place; changed in place by `shrink`.
    """

    view: BoxEqualityQP
    order: IntArray

    @property
    def n(self) -> int:
        """Number of points."""
        return self.view.n

    @property
    def diagonal(self) -> FloatArray:
        """K_ii = Q_ii."""
        return self.view.gram.diagonal[self.order]

    @cached_property
    def _signs(self) -> SingleArray:
        return self.view.signs.astype(np.float32)

    @property
    def _moved(self) -> bool:
        return bool((self.order != np.arange(self.n)).any())

    def columns(self, indices: IntArray) -> FloatArray:
        """Columns of K, float64."""
        chosen, signs = self.order[indices], self.view.signs
        block = self.view.gram.columns(chosen) * (signs[:, None] * signs[chosen])
        return np.asarray(block[self.order])

    def single_columns(self, indices: IntArray, out: SingleArray | None = None) -> SingleArray:
        """Columns of K as rows, float32."""
        chosen, signs = self.order[indices], self._signs
        moved = self._moved
        block = self.view.gram.single_columns(chosen, None if moved else out)
        block *= signs
        block *= signs[chosen][:, None]
        if not moved:
            return block
        return np.take(block, self.order, axis=1, out=out)


def shrink(work: Any, cache: ColumnCache, order: IntArray) -> bool:
    """Move the points that cannot take part in a violating pair behind the active ones; whether there were enough of them."""
    active = int(work.now.active)
    keep = np.empty(active, dtype=np.bool_)
    leaving = loops.removable(work, keep)
    if leaving < max(1, _SHARE * active) or leaving > active - 2:
        return False
    rest = active - leaving
    front, back = np.flatnonzero(~keep[:rest]), rest + np.flatnonzero(keep[rest:])
    for array in (order, work.diagonal, work.short, work.upper, work.s, work.a, work.d, work.rise, work.fall, work.slot):
        array[front], array[back] = array[back], array[front]
    for place in (front, back):
        cached = place[work.slot[place] >= 0]
        cache.owner[work.slot[cached]] = cached
    loops.swap_columns(cache.columns, cache.used, front, back)
    work.now.active = rest
    return True
