"""BLAS threads of the conic solvers: one for small systems, where a second thread costs more than it brings."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...models.kernels.threads import blas_controller

__all__ = ["LARGE_SYSTEM", "blas_threads"]

#: Order of a Newton system from which several BLAS threads pay.
LARGE_SYSTEM = 1500


def blas_threads(order: int, threads: int | None) -> AbstractContextManager[Any]:
    """Limit BLAS to ``threads``; where it is not given, to one for systems of an order below `LARGE_SYSTEM`.

    NumPy and SciPy bring a BLAS of their own each; with two thread pools that wait for each other actively, small
    factorisations become tens of times slower on a busy machine.
    """
    if threads is None and order >= LARGE_SYSTEM:
        return nullcontext()
    limited: AbstractContextManager[Any] = blas_controller().limit(limits=threads or 1)
    return limited
