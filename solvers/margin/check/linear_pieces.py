"""A piecewise linear lower bound of a loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....models.margin_view import Corners
from ...exact.check.arithmetic import Array

__all__ = ["LinearPieces"]

_EPS, _TINY = 2.0**-52, 2.0**-1000


@dataclass(frozen=True, eq=False)
class LinearPieces:
    """Pieces of a lower bound of the bounded part of a loss: each to the left of its corner, the last one right of all corners.

    In each it is the greater of base_k - slope_k (m - anchor_k) and floor_k.
    """

    corners: Corners
    anchor: Array
    base: Array
    slope: Array
    floor: Array

    @classmethod
    def of(cls, loss: Corners) -> LinearPieces:
        """Return the pieces of a loss."""
        t, below, at = loss.margins, loss.below, loss.at
        base = np.concatenate([below[:1], at[:-1] - 8.0 * _EPS * at[:-1] - _TINY, [0.0]])
        slope = np.concatenate([[0.0], (at[:-1] - below[1:]) / np.diff(t), [0.0]])
        return cls(loss, np.concatenate([t[:1], t]), base, slope, np.concatenate([below, [0.0]]))

    def lower_bound(self, m: Array) -> Array:
        """Return a lower bound of the bounded part at m."""
        k = np.searchsorted(self.corners.margins, m, side="right")
        return np.asarray(np.fmax(self.base[k] - self.slope[k] * (m - self.anchor[k]), self.floor[k]))
