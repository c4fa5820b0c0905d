"""The cache on disk of functions that Numba compiled, so that later processes need not compile them again.

Numba chooses the folder: the package's own, the user's cache directory, or ``NUMBA_CACHE_DIR``.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial
from typing import Any, ClassVar, TypeVar, cast, final

import numba as nb

F = TypeVar("F", bound=Callable[..., Any])


@final
class CodeCache:
    """The cache of compiled code on disk.

    If no folder can be written, as in a container with a read-only file system, every process compiles its functions anew.

    Attributes
    ----------
    on_disk : bool
        Whether every function so far could be cached; False if no folder can be written.
    """

    on_disk: ClassVar[bool] = True

    @classmethod
    def enable(cls, dispatcher: Any, sources: bytes | None = None) -> bool:
        """Cache the compiled code of a Numba function on disk.

        Parameters
        ----------
        dispatcher : Dispatcher
            The function that Numba compiles.
        sources : bytes, optional
            A stamp of the source code: cached code is used while it is unchanged. By default the stamp of the function's file.

        Returns
        -------
        bool
            Whether the code is cached.
        """
        if nb.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return False
        try:
            dispatcher.enable_caching()
        except RuntimeError:  # Numba's, where no folder can be written
            cls.on_disk = False
            return False
        file = dispatcher._cache._cache_file
        if sources is not None:
            file._source_stamp = sources
        # Numba unpickles an index before it checks the stamp of the sources. An index of other sources may name classes that no
        # longer exist, so the stamp is made a part of the version, which Numba checks first.
        file._version = f"{file._version} {file._source_stamp!r}"
        file._load_index = partial(_loaded_index, file._load_index)
        return True


def _loaded_index(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """Return Numba's index of cached code; empty if it refers to a class or module of an earlier version of the package."""
    try:
        return load()
    except (ImportError, AttributeError):
        return {}


def cached_njit(fastmath: Set[str]) -> Callable[[F], F]:
    """Return a decorator that compiles a loop with these LLVM fast-math flags, such as "reassoc", and caches its code on disk."""

    def compiled(function: F) -> F:
        njit: Any = nb.njit
        dispatcher = njit(nogil=True, error_model="numpy", fastmath=set(fastmath))(function)
        CodeCache.enable(dispatcher)
        return cast("F", dispatcher)

    return compiled
