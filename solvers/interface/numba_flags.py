"""Compilation of the algorithms' loops: one set of flags, and no function compiled that Python never calls.

State that a loop shares with Python is a named tuple of arrays, passed by reference (`by_reference`), and of one structured
scalar, whose fields both read and write by name (`named_scalars`). Loops make no arrays where it can be helped: what they need is
in the tuple. So they are compiled without reference counts, which were a quarter of the time that compiling took.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Any, TypeVar, cast, final

import numba as nb

from ...code_cache import CodeCache
from .lean_compiler import CALLED, LINKED

__all__ = ["FAST", "Loops", "entry", "inlined", "inner"]

#: What the compiler may do to arithmetic where infinities and numbers that are none do not occur.
FAST = frozenset({"reassoc", "contract", "nsz", "nnan", "arcp"})

#: Some options are not in the published types.
_njit: Any = nb.njit
F = TypeVar("F", bound=Callable[..., Any])


@final
class Loops:
    """Decorators for the compiled functions of one folder.

    Parameters
    ----------
    fastmath : set of str
        What the compiler may do to arithmetic, beyond IEEE 754.
    *folders : Path
        Where functions that call each other are. Compiled code on disk is fresh where no file of them has changed. Without any
        Numba asks only for the function's own file, so that its callees must be in there.
    arrays : bool
        Whether the functions make arrays, and so count references.
    """

    def __init__(self, fastmath: Set[str], *folders: Path, arrays: bool = False) -> None:
        self._flags: dict[str, Any] = {
            "nogil": True, "error_model": "numpy", "fastmath": set(fastmath), "no_cfunc_wrapper": True, "_nrt": arrays
        }  # fmt: skip
        self._part: dict[str, Any] = CALLED | {"no_cpython_wrapper": True} if arrays else LINKED
        self._stamp = _digest(folders) if folders else None

    def entry(self, function: F) -> F:
        """A loop that Python calls."""
        dispatcher = _njit(**self._flags, **CALLED)(function)
        CodeCache.keep(dispatcher, self._stamp)
        return cast("F", dispatcher)

    def inner(self, function: F) -> F:
        """A function that only compiled code calls."""
        return cast("F", _njit(**self._flags, **self._part)(function))

    def inlined(self, function: F) -> F:
        """The same, called at one place: it becomes part of its caller before types are inferred."""
        return cast("F", _njit(**self._flags, **self._part, inline="always")(function))


def _digest(folders: Iterable[Path]) -> bytes:
    """SHA-256 of every file of Python in the folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


_loops = Loops(FAST)
entry, inner, inlined = _loops.entry, _loops.inner, _loops.inlined
