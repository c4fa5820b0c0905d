"""Validation of the results that workers return, before they are used.

An outcome of a wrong type or shape, with a value that is not a number or an unknown point, comes from a faulty worker, and its
subproblem is dispatched again. A well-formed false result (a bound too high, a missing node) cannot be detected without repeating
the work. Only a proof log exposes it, since each of its lines is checked (``docs/cluster.md``).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["check_counts", "check_numbers", "check_point", "check_state", "check_work", "lines_of"]


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def check_numbers(*values: Any, least: float = -math.inf) -> None:
    """Check that every value is a float or an integer within 60 bits, and at least ``least``."""
    for value in values:
        _require(isinstance(value, float) or (type(value) is int and abs(value) < 1 << 60), f"{value!r} is no number")
        _require(value >= least, f"{value!r} is none of its numbers")


def check_work(seconds: Any, busy: Any, effort: Any, who: Any) -> None:
    """Check the times, the effort and the name of a worker."""
    check_numbers(seconds, busy, effort, least=0.0)
    _require(math.isfinite(seconds + busy + effort) and type(who) is str, "times or a name that are none")


def check_counts(counts: Mapping[str, Any], known: Iterable[str]) -> None:
    """Check that the counts are nonnegative integers with the ``known`` names."""
    _require(set(counts) == set(known), "other counts than a slice has")
    _require(all(type(count) is int and 0 <= count < 1 << 60 for count in counts.values()), "counts that are none")


def check_point(w: Any, length: int) -> None:
    """Check that w is None or a finite point of this length. Its objective value is recomputed."""
    if w is not None:
        _require(type(w) is np.ndarray and w.dtype == np.float64 and w.shape == (length,), "an incumbent of another shape")
        _require(bool(np.isfinite(w).all()), "an incumbent that is not finite")


def check_state(state: Any, points: int) -> None:
    """Check that the states of all points are free, kept or deleted."""
    _require(type(state) is np.ndarray and state.dtype == np.int8 and state.shape == (points,), "states of other points")
    _require(bool(np.isin(state, (-1, 0, 1)).all()), "states that are none")


def lines_of(packed: Any) -> str:
    """Return the lines of a proof log from their compressed form."""
    _require(type(packed) is bytes, "a part of a log that is no text")
    try:
        text = zlib.decompress(packed).decode() if packed else ""
    except zlib.error as error:
        raise ValueError(f"a part of a log that cannot be unpacked: {error}") from error
    _require(text[-1:] in ("", "\n"), "a part of a log that ends within a line")
    return text
