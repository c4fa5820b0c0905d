"""Threads for matrix computations: cut the work by points, run the parts on threads, and keep BLAS to one thread in each.

Kernel blocks are products with few features, then an exponential: BLAS shares out such products badly (its threads wait
actively for each other, and two took longer than one), and a compiled loop runs on one thread. So a computation is cut by its
points, and every thread computes the product and the exponential of its own part. There are as many threads as BLAS may use, so
that OPENBLAS_NUM_THREADS, OMP_NUM_THREADS and threadpoolctl's limits hold here too.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from threadpoolctl import ThreadpoolController

#: Entries of a matrix for which starting a thread saves time: they take a few tenths of a millisecond.
_LEAST = 1 << 19
#: Order of a system of equations from which several BLAS threads save time.
LARGE_SYSTEM = 1500
#: Threads that `thread_count` may return; None for as many as BLAS may use.
_allowed: ContextVar[int | None] = ContextVar("marginopt_workers", default=None)


@functools.cache
def blas_controller() -> Any:
    """Return the controller of the loaded BLAS libraries (threadpoolctl), found once."""
    return ThreadpoolController().select(user_api="blas")


def blas_threads(order: int, threads: int | None) -> AbstractContextManager[Any]:
    """Return a context that limits BLAS to ``threads``; by default to one thread for systems of an order below `LARGE_SYSTEM`.

    NumPy and SciPy each bring their own BLAS. Two thread pools that wait for each other actively make small factorisations tens
    of times slower on a busy machine.
    """
    if threads is None and order >= LARGE_SYSTEM:
        return nullcontext()
    if (threads or 1) == 1:
        return _single_blas()
    limited: AbstractContextManager[Any] = blas_controller().limit(limits=threads)
    return limited


def _threads_of_blas() -> int:
    counts = [library.num_threads for library in blas_controller().lib_controllers]
    return max(counts) if counts else os.cpu_count() or 1


def _single_blas() -> AbstractContextManager[object]:
    """Return a context that limits BLAS to one thread, for the whole process; if the limit is 1 already, it changes nothing."""
    limited: AbstractContextManager[object] = blas_controller().limit(limits=1) if _threads_of_blas() > 1 else nullcontext()
    return limited


def thread_count(entries: int) -> int:
    """Return the number of threads on which to compute this many matrix entries; 1 inside a thread of `run_on_threads`."""
    allowed = _allowed.get()
    return max(1, min(_threads_of_blas() if allowed is None else allowed, entries // _LEAST))


@contextmanager
def reserve_threads(threads: int | None) -> Generator[None]:
    """Limit BLAS to one thread inside the ``with`` block, and let `thread_count` return up to ``threads``.

    None stands for the number that an enclosing block reserved, or else for the number of BLAS threads.
    """
    token = _allowed.set(threads or _allowed.get() or _threads_of_blas())
    try:
        with _single_blas():
            yield
    finally:
        _allowed.reset(token)


def split_range(size: int, count: int) -> list[slice]:
    """Cut range(size) into ``count`` slices of about equal length."""
    edges = [size * k // count for k in range(count + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def run_on_threads(work: Callable[[int], object], count: int) -> None:
    """Run work(0), ..., work(count - 1) on threads; the work should release Python's lock."""
    if count == 1:
        work(0)
        return
    with _single_blas(), ThreadPoolExecutor(count - 1) as executor:
        futures = [executor.submit(_alone, work, k) for k in range(1, count)]
        _alone(work, 0)
        for other in futures:
            other.result()


def _alone(work: Callable[[int], object], k: int) -> None:
    token = _allowed.set(1)
    try:
        work(k)
    finally:
        _allowed.reset(token)
