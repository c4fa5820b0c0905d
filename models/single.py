"""Kernel columns in float32: half the memory and a fraction of the time, good for steps, never for certificates.

Rows of the data are centred before they are rounded where the kernel depends on differences only (RBF), so that
||x||² + ||z||² - 2x'z loses no digits to a common offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import FloatArray, IntArray, Points, row_norms_squared
from .kernels import RBF, Kernel, Linear, Polynomial

__all__ = ["SingleArray", "SingleData", "single_values"]

SingleArray: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SingleData:
    """Data in float32: as given, and centred with its squared norms (sparse data are not centred)."""

    X: Points

    @classmethod
    def of(cls, X: Points) -> SingleData:
        """The data, converted on first use."""
        return cls(X)

    @cached_property
    def plain(self) -> SingleArray | sp.csr_array:
        """X in float32."""
        return self.X.astype(np.float32)

    @cached_property
    def centred(self) -> tuple[SingleArray | sp.csr_array, SingleArray]:
        """X - mean (dense) or X (sparse), and the squared norms of its rows, in float32."""
        if sp.issparse(self.X):
            return self.plain, row_norms_squared(self.X).astype(np.float32)
        shifted: FloatArray = self.X - self.X.mean(axis=0)
        return shifted.astype(np.float32), row_norms_squared(shifted).astype(np.float32)


def single_values(kernel: Kernel, data: SingleData, indices: IntArray) -> SingleArray | None:
    """k(x_i, x_j) for the given i and every j, len(indices) × n in float32; None for kernels without a float32 path."""
    if isinstance(kernel, RBF):
        assert not isinstance(kernel.gamma, str)
        X, norms = data.centred
        block = _products(X, indices)
        gamma = np.float32(kernel.gamma)
        block *= 2 * gamma
        block -= gamma * norms
        block -= (gamma * norms[indices])[:, None]
        np.minimum(block, np.float32(0), out=block)
        return np.exp(block, out=block)
    if isinstance(kernel, Linear):
        return _products(data.plain, indices)
    if isinstance(kernel, Polynomial):
        assert not isinstance(kernel.gamma, str)
        base = _products(data.plain, indices)
        base *= np.float32(kernel.gamma)
        base += np.float32(kernel.coef0)
        power = base.copy()
        for _ in range(kernel.degree - 1):
            power *= base
        return power
    return None


def _products(X: SingleArray | sp.csr_array, indices: IntArray) -> SingleArray:
    """X[indices] X', dense."""
    if sp.issparse(X):
        picked: Any = X[indices]
        return np.ascontiguousarray((X @ picked.T.toarray()).T)
    if len(indices) == 1:
        return (X @ X[indices[0]])[None, :]
    return X[indices] @ X.T
