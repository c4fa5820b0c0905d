"""Nothing but our own words on the screen: solvers write past Python to the process's own streams."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["own_words_only"]


@contextmanager
def own_words_only() -> Iterator[None]:
    """Python's standard streams write where they did; what compiled code writes to the process's own goes nowhere.

    For a process of ours alone, since file descriptors belong to all of its threads. Streams that are no files stay as they are.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    streams = sys.stdout, sys.stderr
    saved: list[tuple[int, int]] = []
    try:
        sys.stdout, sys.stderr = (_moved(stream, descriptor, saved) for stream, descriptor in zip(streams, (1, 2), strict=True))
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        for descriptor, copy in saved:
            os.dup2(copy, descriptor)
            os.close(copy)
        sys.stdout, sys.stderr = streams


def _moved(stream: TextIO, at: int, saved: list[tuple[int, int]]) -> TextIO:
    """The stream on a copy of its descriptor, whose own place leads nowhere now."""
    try:
        if stream.fileno() != at:
            return stream
    except (AttributeError, OSError, ValueError):
        return stream
    copy = os.dup(at)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, at)
    os.close(nowhere)
    saved.append((at, copy))
    return open(copy, "w", encoding=stream.encoding, errors=stream.errors, buffering=1, closefd=False)
