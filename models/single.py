"""Kernel columns in float32: half the memory and a fraction of the time, good for steps, never for certificates.

Linear and polynomial kernels; the RBF kernel's are in `exponents`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import IntArray, Points
from .kernels import Kernel, Linear, Polynomial

__all__ = ["SingleArray", "SingleData", "products", "single_values"]

SingleArray: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SingleData:
    """Data in float32."""

    X: Points

    @classmethod
    def of(cls, X: Points) -> SingleData:
        """The data, converted on first use."""
        return cls(X)

    @cached_property
    def plain(self) -> SingleArray | sp.csr_array:
        """X in float32."""
        return self.X.astype(np.float32)


def single_values(kernel: Kernel, data: SingleData, indices: IntArray) -> SingleArray | None:
    """k(x_i, x_j) for the given i and every j, len(indices) × n in float32; None for kernels without a float32 path."""
    if isinstance(kernel, Linear):
        return products(data.plain, indices)
    if isinstance(kernel, Polynomial):
        assert not isinstance(kernel.gamma, str)
        base = products(data.plain, indices)
        base *= np.float32(kernel.gamma)
        base += np.float32(kernel.coef0)
        power = base.copy()
        for _ in range(kernel.degree - 1):
            power *= base
        return power
    return None


def products(X: SingleArray | sp.csr_array, indices: IntArray, out: SingleArray | None = None) -> SingleArray:
    """X[indices] X', dense; into ``out`` where it is given."""
    if sp.issparse(X):
        picked: Any = X[indices]
        block = np.asarray((X @ picked.T.toarray()).T, order="C")
    elif len(indices) == 1:
        block = (X @ X[indices[0]])[None, :]
    else:
        return np.matmul(X[indices], X.T, out=out)
    if out is None:
        return block
    out[:] = block
    return out
