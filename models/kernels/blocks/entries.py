"""The stored entries of a matrix that a solver reads many times: float32 values, or integers that stand for values."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...arrays import FloatArray, IntArray
from ..float32 import SingleArray

__all__ = ["Entries", "Tile"]

#: A block of entries as they are stored.
Tile: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Entries:
    """Q_ij = s_i s_j (step·t(e_ij) + shift) + δ_ij·loading_i with t(e) = table[e], or e itself; without signs Q_ij = e_ij.

    Parameters
    ----------
    kind : dtype
        Of e.
    table : ndarray of float32, optional
    signs, loading : ndarray (n,), optional
        Of all points, where e are not Q_ij themselves.
    step, shift : float
    """

    kind: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float32))
    table: SingleArray | None = None
    signs: SingleArray | None = None
    loading: FloatArray | None = None
    step: float = 1.0
    shift: float = 0.0

    @property
    def rounding(self) -> float:
        """Standard deviation of what values lose in whole numbers: that of a number that is anywhere in its step."""
        return self.step / math.sqrt(12.0) if self.table is None and self.kind.kind == "u" else 0.0

    def given(self, points: IntArray, weights: SingleArray) -> SingleArray:
        """The weights that the table's values are multiplied with."""
        return weights if self.signs is None else weights * self.signs[points]

    def finished(self, points: IntArray, sums: FloatArray, weights: FloatArray | SingleArray, total: float) -> FloatArray:
        """Q weights between the points, of the sums over t(e); ``total`` is the sum of what was `given`."""
        if self.signs is None or self.loading is None:
            return sums
        return (self.step * sums + self.shift * total) * self.signs[points] + self.loading[points] * weights
