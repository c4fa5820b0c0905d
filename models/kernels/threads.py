"""Threads for matrix computations: cut the work by points, run the parts on threads, and keep BLAS to one thread in each.

Kernel blocks are products with few features, then an exponential: BLAS shares out such products badly (its threads wait
actively for each other, and two took longer than one), and a compiled loop runs on one thread. So a computation is cut by its
points, and every thread computes the product and the exponential of its own part. There are as many threads as BLAS may use, so
that OPENBLAS_NUM_THREADS, OMP_NUM_THREADS and threadpoolctl's limits hold here too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..arrays import available_threads, reserve_threads

#: Entries of a matrix for which starting a thread saves time: they take a few tenths of a millisecond.
_LEAST = 1 << 19


def thread_count(entries: int) -> int:
    """Return the number of threads on which to compute this many matrix entries; 1 inside a thread of `run_on_threads`."""
    return max(1, min(available_threads(), entries // _LEAST))


def split_range(size: int, count: int) -> list[slice]:
    """Cut range(size) into ``count`` slices of about equal length."""
    edges = [size * k // count for k in range(count + 1)]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def run_on_threads(work: Callable[[int], object], count: int) -> None:
    """Run work(0), ..., work(count - 1) on threads; the work should release Python's lock."""
    if count == 1:
        work(0)
        return
    with reserve_threads(None), ThreadPoolExecutor(count - 1) as executor:
        futures = [executor.submit(_alone, work, k) for k in range(1, count)]
        _alone(work, 0)
        for other in futures:
            other.result()


def _alone(work: Callable[[int], object], k: int) -> None:
    with reserve_threads(1):
        work(k)
