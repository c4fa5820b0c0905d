"""The deadline of the running solve, which computations on large matrices check so that they stop in time, and its clock.

A solver's own clock starts when it has its model. Before that, matrices are computed, scanned and factored, which takes seconds
from some thousands of variables on: such code checks the deadline. `cholesky` stops at it, and `eigendecomposition` does not
start if it would end later. Work on small matrices does not check it, so that a limit of a microsecond still brings an answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import scipy.linalg

from .arrays import FloatArray, blas_threads

#: Columns of a matrix that are computed or factored between two checks of the deadline.
PANEL = 512
#: Seconds to scan an entry, and seconds of an eigendecomposition of order n over n³: the least of the processors measured.
_SCAN, _EIGENVALUES = 1e-8, 5e-10
#: Entries up to which a matrix is scanned without a check.
_SMALL = 1_000_000
_end: ContextVar[float] = ContextVar("marginopt_deadline", default=math.inf)
_repair_end: ContextVar[float] = ContextVar("marginopt_repair_deadline", default=math.inf)
_loaded: ContextVar[float] = ContextVar("marginopt_loaded_seconds", default=0.0)


class OutOfTimeError(Exception):
    """The deadline has passed, or would pass before the computation ends."""


def limit_clock() -> float:
    """Return seconds of a clock for time limits: `time.perf_counter` less the time that `loading` blocks of this context took."""
    return time.perf_counter() - _loaded.get()


@contextmanager
def loading() -> Iterator[None]:
    """Stop `limit_clock` inside the ``with`` block, which loads modules or compiled code, or looks for a licence.

    The first solve of a process loads its solver's packages, which takes up to seconds and says nothing of the problem.
    """
    before, begin = _loaded.get(), time.perf_counter()
    try:
        yield
    finally:
        _loaded.set(before + time.perf_counter() - begin)  # blocks inside this one are part of it


@contextmanager
def deadline(end: float) -> Iterator[None]:
    """Set the deadline of all computations inside the ``with`` block.

    Parameters
    ----------
    end : float
        In seconds, on `limit_clock`; infinite for no deadline.
    """
    before = _end.set(end)
    try:
        yield
    finally:
        _end.reset(before)


@contextmanager
def repair_deadline(end: float) -> Iterator[None]:
    """Set the deadline of multiplier repairs inside the ``with`` block.

    A repair moves multipliers to where they prove a bound (`models.program.multiplier_repair`). A repair that would end later is
    left out: the certificate is computed from the multipliers as they are.

    Parameters
    ----------
    end : float
        In seconds, on `limit_clock`; infinite for no deadline.
    """
    before = _repair_end.set(end)
    try:
        yield
    finally:
        _repair_end.reset(before)


def check_repair(seconds: float) -> None:
    """Raise `OutOfTimeError` where a repair of so many seconds ends after the deadline of repairs."""
    if limit_clock() + seconds > _repair_end.get():
        raise OutOfTimeError


def repairs_are_over() -> bool:
    """Return whether the deadline of repairs has passed, so that an iterative repair ends with what it has."""
    return limit_clock() > _repair_end.get()


def remaining_seconds() -> float:
    """Return the seconds until the deadline: infinite without one, negative after it."""
    end = _end.get()
    return end if math.isinf(end) else end - limit_clock()


def check_deadline(seconds: float = 0.0) -> None:
    """Raise `OutOfTimeError` where a computation of so many seconds ends after the deadline."""
    if remaining_seconds() < seconds:
        raise OutOfTimeError


def check_scan(entries: int) -> None:
    """Raise `OutOfTimeError` where a scan of so many entries ends after the deadline."""
    if entries > _SMALL:
        check_deadline(_SCAN * entries)


def cholesky(matrix: FloatArray) -> FloatArray | None:
    """Return the lower Cholesky factor of a dense matrix, which may be overwritten; None where a pivot is not positive.

    The factorisation goes panel by panel, `PANEL` columns each, and checks the deadline after each but the last.

    Raises
    ------
    OutOfTimeError
        The deadline has passed.
    """
    n = matrix.shape[0]
    L = np.asfortranarray(matrix if matrix.flags.f_contiguous else matrix.T)  # symmetric: not copied
    for start in range(0, n, PANEL):
        stop = min(start + PANEL, n)
        corner, failed = scipy.linalg.lapack.dpotrf(L[start:stop, start:stop], lower=1, clean=1)
        if failed:
            return None
        L[start:stop, start:stop], L[:start, start:stop] = corner, 0.0
        if stop == n:
            break
        below = scipy.linalg.blas.dtrsm(1.0, corner, L[stop:, start:stop], side=1, lower=1, trans_a=1)
        L[stop:, start:stop] = below
        for first in range(stop, n, PANEL):
            last = min(first + PANEL, n)
            L[first:, first:last] -= below[first - stop :] @ below[first - stop : last - stop].T
        check_deadline()
    return L


def eigendecomposition(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns.

    Raises
    ------
    OutOfTimeError
        The matrix has more than `PANEL` rows, and the deadline would pass before the decomposition ends.
    """
    n = matrix.shape[0]
    if n > PANEL:
        check_deadline(_EIGENVALUES * n**3)
    with blas_threads(n):
        values, vectors = np.linalg.eigh(matrix)
    return values, vectors
