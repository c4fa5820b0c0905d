"""How the kernels of the exact solver are compiled: flags that keep proofs valid, and one stamp for all their files.

Infinities and numbers that are none are met here, so that the flags of `solvers.interface.compiled` (``nnan``, ``arcp``) are not
allowed. Reassociation and contraction only reorder rounding: the kernels' error bounds hold for every order of summation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba as nb

__all__ = ["EPS", "entry", "inner"]

EPS = 2.0**-53
_FLAGS: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}, "no_cfunc_wrapper": True
}  # fmt: skip
_compiled: Any = nb.njit  # its options without a wrapper are not in the published types
F = TypeVar("F", bound=Callable[..., Any])


def _digest() -> bytes:
    """SHA-256 of every file of the kernels."""
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    return found.digest()


_STAMP = _digest()


def _stamped(dispatcher: Any) -> Any:
    """Compiled code on disk is fresh where no file of the kernels has changed.

    Numba asks only for the function's own file, and machine code of what it calls in others is part of it.
    """
    dispatcher._cache._cache_file._source_stamp = _STAMP
    return dispatcher


def entry(function: F) -> F:
    """A function that Python calls."""
    return cast("F", _stamped(_compiled(**_FLAGS)(function)))


def inner(function: F) -> F:
    """What compiled code alone calls: a wrapper for Python takes longer to compile than many of these."""
    return cast("F", _stamped(_compiled(**_FLAGS, no_cpython_wrapper=True)(function)))
