"""Rows of X X' for sparse data X, by features: only the points that share a feature with the row's point are touched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..arrays import IntArray

__all__ = ["FeatureProducts"]

#: Mean frequency of a stored number's feature up to which blocks go by features too, and the size of a block.
_FREQUENT, _BLOCK = 0.25, 8


@dataclass(frozen=True, eq=False)
class FeatureProducts:
    """X[i] X' as dense rows: Σ_f x_if X_·f, one pass over the points that have feature f.

    A row costs Σ_f (points that have f) over the features of its point: for features of frequency p_f about n Σ p_f², against
    n Σ p_f for the product of CSR data with one dense vector. Where most of the stored numbers are in frequent features, blocks
    of points are made dense instead, whose products SciPy vectorises.

    Parameters
    ----------
    X : csr_array (n, p)
    """

    X: sp.csr_array

    @cached_property
    def _by_feature(self) -> Any:
        return self.X.tocsc()

    @cached_property
    def _rare(self) -> bool:
        counts = np.bincount(self.X.indices, minlength=self.X.shape[1]).astype(np.float64)
        return bool(counts @ counts <= _FREQUENT * self.X.shape[0] * counts.sum())

    def rows(self, indices: IntArray, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """X[indices] X' as a C-contiguous len(indices) × n array; written into ``out`` where it is given."""
        from .blocks.sparse_loops import scatter_rows

        X = self.X
        if len(indices) >= _BLOCK and not self._rare:
            block = np.ascontiguousarray((X @ X[indices].T.toarray()).T)
            if out is None:
                return block
            out[:] = block
            return out
        across = self._by_feature
        block = np.empty((len(indices), X.shape[0]), dtype=X.dtype) if out is None else out
        scatter_rows(indices, X.indptr, X.indices, X.data, across.indptr, across.indices, across.data, block)
        return block
