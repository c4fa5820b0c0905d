"""Rows of linear and polynomial kernel matrices in float32, for solver steps, and products of sparse points in any precision.

The RBF kernel's rows are in `models.kernels.rbf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..arrays import IntArray, Points, SingleArray
from .kernels import Kernel, Linear, Polynomial

#: Cost of multiplying a stored number by a feature of `models.kernels.loops.LANES` dense points (`gather_rows`), in additions of
#: `scatter_rows`; measured.
_MEETING = 7.0
#: Features up to which `LANES` points may be made dense: they must stay in the second-level cache.
_FEATURES = 8192


@dataclass(frozen=True, eq=False)
class SparseProducts:
    """Inner products of some sparse points with all points X, as dense rows X[i] X', computed feature by feature.

    A row costs one addition for each pair of a feature of x_i and a point that has it: on average n Σ_f q_f² if a share q_f of
    the n points has feature f. If the rows of a group of `LANES` points cost several times the number n Σ_f q_f of stored
    numbers of X, these points are made dense, and one pass over X computes all their products. The choice is made for each
    group, since support vectors often have more features than other points.

    Parameters
    ----------
    X : csr_array (n, p)
        All points.
    """

    X: sp.csr_array

    @cached_property
    def _by_feature(self) -> Any:
        return self.X.tocsc()

    @cached_property
    def _additions(self) -> npt.NDArray[Any]:
        """Return the additions that each point's row takes, computed feature by feature."""
        counts = np.diff(self._by_feature.indptr).astype(np.float64)
        sums = np.concatenate([[0.0], np.cumsum(counts[self.X.indices])])
        return sums[self.X.indptr[1:]] - sums[self.X.indptr[:-1]]

    def rows(self, indices: IntArray, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return X[indices] X' as a C-contiguous len(indices) × n array; written into ``out`` where it is given."""
        from .loops import LANES

        X = self.X
        block = np.empty((len(indices), X.shape[0]), dtype=X.dtype) if out is None else out
        for start in range(0, len(indices), LANES):
            part = indices[start : start + LANES]
            is_dense = X.shape[1] <= _FEATURES and float(self._additions[part].sum()) > _MEETING * X.nnz
            (self._gather if is_dense else self._scatter)(part, block[start : start + LANES])
        return block

    def _scatter(self, indices: IntArray, out: npt.NDArray[Any]) -> None:
        from .loops import scatter_rows

        X, across = self.X, self._by_feature
        scatter_rows(indices, X.indptr, X.indices, X.data, across.indptr, across.indices, across.data, out)

    def _gather(self, indices: IntArray, out: npt.NDArray[Any]) -> None:
        from .loops import LANES, PANEL, gather_rows

        X = self.X
        dense = np.zeros((X.shape[1], LANES), dtype=X.dtype)
        dense[:, : len(indices)] = X[indices].toarray().T
        gather_rows(X.indptr, X.indices, X.data, dense, np.empty((PANEL, LANES), dtype=X.dtype), out)


def points_in_float32(X: Points) -> SingleArray | SparseProducts:
    """Return points in float32: dense ones in column order, which makes products of few points with all faster."""
    return SparseProducts(X.astype(np.float32)) if sp.issparse(X) else X.astype(np.float32, order="F")


def float32_kernel_rows(
    kernel: Kernel, points: SingleArray | SparseProducts, indices: IntArray, columns: IntArray | None = None
) -> SingleArray | None:
    """Return a linear or polynomial k(x_i, x_j), i in ``indices`` and every j (or j in ``columns``), in float32; else None."""
    if isinstance(kernel, Linear):
        return product_rows(points, indices, columns=columns)
    if isinstance(kernel, Polynomial):
        assert not isinstance(kernel.gamma, str)
        base = product_rows(points, indices, columns=columns)
        base *= np.float32(kernel.gamma)
        base += np.float32(kernel.coef0)
        power = base.copy()
        for _ in range(kernel.degree - 1):
            power *= base
        return power
    return None


def product_rows(
    X: SingleArray | SparseProducts, indices: IntArray, out: SingleArray | None = None, columns: IntArray | None = None
) -> SingleArray:
    """Return X[indices] X', dense, or X[indices] X[columns]'; written into ``out`` where it is given."""
    if isinstance(X, SparseProducts):
        if columns is None:
            return X.rows(indices, out)
        picked: Any = X.X[indices]
        block = np.asarray((X.X[columns] @ picked.T.toarray()).T, order="C")
    else:
        rows_of, X = X, X if columns is None else X[columns]
        if len(indices) != 1:
            return np.matmul(rows_of[indices], X.T, out=out)
        # OpenBLAS reads beyond short rows: what lies there may raise a floating-point flag, which matmul reports and dot does not
        block = np.dot(X, rows_of[indices[0]])[None, :]
    if out is None:
        return block
    out[:] = block
    return out
