"""What workers send back, looked at before it counts.

What is of another kind or shape, no number, or about points that there are not comes from a broken worker, and its slice goes out
again. What is well formed and false (a bound too high, a node left out) nobody can see without doing the work again: that is what
a proof log is for, whose lines are checked by themselves (``docs/cluster.md``).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["check_counts", "check_numbers", "check_point", "check_state", "check_work", "lines_of"]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def check_numbers(*values: Any, least: float = -math.inf) -> None:
    """Every one a number (infinite perhaps, but no whole number beyond 64 bits) and at least ``least``."""
    for value in values:
        _require(isinstance(value, float) or (type(value) is int and abs(value) < 1 << 60), f"{value!r} is no number")
        _require(value >= least, f"{value!r} is none of its numbers")


def check_work(seconds: Any, busy: Any, effort: Any, who: Any) -> None:
    """What the desk learns from."""
    check_numbers(seconds, busy, effort, least=0.0)
    _require(math.isfinite(seconds + busy + effort) and type(who) is str, "times or a name that are none")


def check_counts(counts: Mapping[str, Any], known: Iterable[str]) -> None:
    """Whole numbers by these names."""
    _require(set(counts) == set(known), "other counts than a slice has")
    _require(all(type(count) is int and 0 <= count < 1 << 60 for count in counts.values()), "counts that are none")


def check_point(w: Any, length: int) -> None:
    """None, or a point of this length: what it costs is computed anew."""
    if w is not None:
        _require(type(w) is np.ndarray and w.dtype == np.float64 and w.shape == (length,), "an incumbent of another shape")
        _require(bool(np.isfinite(w).all()), "an incumbent that is not finite")


def check_state(state: Any, points: int) -> None:
    """Free, kept or deleted: the states of all points."""
    _require(type(state) is np.ndarray and state.dtype == np.int8 and state.shape == (points,), "states of other points")
    _require(bool(np.isin(state, (-1, 0, 1)).all()), "states that are none")


def lines_of(packed: Any) -> str:
    """Lines of a proof log as they travelled."""
    _require(type(packed) is bytes, "a part of a log that is no text")
    try:
        text = zlib.decompress(packed).decode() if packed else ""
    except zlib.error as error:
        raise ValueError(f"a part of a log that cannot be unpacked: {error}") from error
    _require(text[-1:] in ("", "\n"), "a part of a log that ends within a line")
    return text
