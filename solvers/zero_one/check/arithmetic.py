"""Outward-rounded arithmetic of the independent checker, and its error: a unit in the last place to the safe side, exact sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "InvalidProofError", "round_down", "round_up", "sum_down", "sum_up"]

Array = npt.NDArray[np.float64]


class InvalidProofError(Exception):
    """The log does not prove its claim; the message says why."""


def round_up(x: Any) -> Any:
    """The next number above."""
    return np.nextafter(x, np.inf)


def round_down(x: Any) -> Any:
    """The next number below."""
    return np.nextafter(x, -np.inf)


def sum_down(x: Array) -> float:
    """Σx, rounded down."""
    return math.nextafter(math.fsum(x.tolist()), -math.inf)


def sum_up(x: Array) -> float:
    """Σx, rounded up."""
    return math.nextafter(math.fsum(x.tolist()), math.inf)
