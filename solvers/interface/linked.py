"""Functions that only compiled code calls, as Numba should compile them: typed, lowered, and left to their callers.

Numba makes a library of every function: optimised, emitted as machine code, and once more optimised as a part of each library
that calls it, directly or not. Python calls one function in ten of ours. Of the others no library is finished; the caller's
is, with all that it needs in it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["LINKED"]

#: Releases of Numba that this was run with. With others Numba does it all by itself: the same code, and longer to wait for it.
_KNOWN = {(0, 68)}


class _Part(JITCodeLibrary):
    """Code with all that it calls, for other libraries to take in."""

    def finalize(self) -> None:
        """Take in what is called; nothing is optimised and nothing emitted."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """What Python gets where it calls such a function after all: a TypeError."""
        self._ensure_finalized()
        return ctypes.cast(ctypes.pythonapi.PyErr_BadArgument, ctypes.c_void_p).value or 0

    @property
    def codegen(self) -> Any:
        """Itself: what is asked for is where to keep Python's objects for the function, and it has none."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set in code that is not loaded."""


class _PartCompiler(Compiler):
    """Numba's compiler, with such a library to put the code in."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        super().__init__(typingctx, targetctx, _Part(targetctx.codegen(), "part") if library is None else library, *rest)


def _release() -> tuple[int, int]:
    major, minor = numba.__version__.split(".")[:2]
    return int(major), int(minor)


#: Options of `numba.njit` for such functions.
LINKED: dict[str, Any] = {"no_cpython_wrapper": True}
if _release() in _KNOWN:
    LINKED["pipeline_class"] = _PartCompiler
