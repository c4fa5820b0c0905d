"""Points of models that a translation does not change, moved to the origin where their digits would be lost otherwise.

x'z of points at distance D from the origin is rounded by 1e-16·D², whatever the distances between the points are. A model whose
feasible weights sum to zero (or, with a diagonal that goes along, to one) does not see where the origin is, so for the linear
kernel it may take x - c for x; for kernels of x - z any model may.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, Points, frozen, to_dense
from .kernels import Kernel, Linear

__all__ = ["Place", "placed"]

#: ||mean||² over the mean squared distance to it from which on the points are moved: below, two digits are lost at most.
_FAR = 1e2


@dataclass(frozen=True, eq=False)
class Place:
    """The points less their centre; ``centre`` is None where they stay."""

    points: Points
    centre: FloatArray | None = None

    def of(self, rows: Points) -> Points:
        """Other rows, moved in the same way."""
        return rows if self.centre is None else to_dense(rows) - self.centre


def placed(kernel: Kernel, X: Points) -> Place:
    """The points of a translation-invariant model with this kernel, dense data only (sparse data would become dense)."""
    if not isinstance(X, np.ndarray) or not (isinstance(kernel, Linear) or kernel.translation_invariant):
        return Place(X)
    centre = X.mean(axis=0)
    moved = X - centre
    if not float(centre @ centre) > _FAR * float(np.vdot(moved, moved)) / len(X):
        return Place(X)
    return Place(frozen(moved), frozen(centre))
