"""What is stored of a matrix whose entries a solver reads many times: float32 values, or whole numbers and a table."""

from __future__ import annotations

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
    """Q_ij = s_i s_j table[e_ij] + δ_ij·loading_i for stored whole numbers e_ij; without a table e_ij is the value itself.

    Parameters
    ----------
    kind : dtype
        Of e.
    table : ndarray of float32, optional
    signs, loading : ndarray (n,), optional
        Of all points, with a table only.
    """

    kind: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float32))
    table: SingleArray | None = None
    signs: SingleArray | None = None
    loading: FloatArray | None = None

    def given(self, points: IntArray, weights: SingleArray) -> SingleArray:
        """The weights that the table's values are multiplied with."""
        return weights if self.signs is None else weights * self.signs[points]

    def finished(self, points: IntArray, sums: FloatArray, weights: FloatArray | SingleArray) -> FloatArray:
        """Q weights between the points, of the sums over the table's values."""
        if self.signs is None or self.loading is None:
            return sums
        return sums * self.signs[points] + self.loading[points] * weights
