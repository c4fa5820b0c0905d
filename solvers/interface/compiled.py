"""How the loops of the algorithms are compiled: one set of flags, and nothing compiled that Python never calls.

State that a loop shares with Python is a named tuple of arrays and of one structured scalar, whose fields both read and write
by name (`named_scalars`). A loop's helpers need no wrapper for Python (`inner`); one that is called at a single place becomes
part of its caller before types are inferred (`inlined`), which saves its own passage through the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba as nb

__all__ = ["entry", "inlined", "inner"]

#: Its two options without a wrapper are not in the published types.
_njit: Any = nb.njit
F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "nnan", "arcp"},
    "no_cfunc_wrapper": True,
}


def entry(function: F) -> F:
    """A loop that Python calls."""
    return cast("F", _njit(**_FLAGS)(function))


def inner(function: F) -> F:
    """A function that only compiled code calls."""
    return cast("F", _njit(**_FLAGS, no_cpython_wrapper=True)(function))


def inlined(function: F) -> F:
    """The same, called at one place."""
    return cast("F", _njit(**_FLAGS, no_cpython_wrapper=True, inline="always")(function))
