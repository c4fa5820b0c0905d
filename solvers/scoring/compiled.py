"""How the loops of the search are compiled: by IEEE 754, and able to make arrays, which `solvers.interface.compiled` is not.

Scores that are whole numbers are exact in whatever order they are summed; for others bounds leave room for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba as nb

__all__ = ["entry", "inner"]

_njit: Any = nb.njit
F = TypeVar("F", bound=Callable[..., Any])


def entry(function: F) -> F:
    """A loop that Python calls."""
    return cast("F", _njit(cache=True, nogil=True, error_model="numpy")(function))


def inner(function: F) -> F:
    """A function that only compiled code calls."""
    return cast("F", _njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)(function))
