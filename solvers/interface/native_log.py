"""Logs of off-the-shelf solvers: in a file, or on the standard output that Python code sees.

Compiled code writes to the process's own standard output, whatever `sys.stdout` is: in a notebook that is the server's terminal,
and under `contextlib.redirect_stdout` the wrong stream.
"""

from __future__ import annotations

import ctypes
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path

from ..records import Options

__all__ = ["native_log"]


@contextmanager
def native_log(name: str, options: Options) -> Iterator[Options]:
    """Options under which a library runs whose log goes to ``log_file``, or to the `sys.stdout` of a notebook.

    The process has one standard output: what other threads write meanwhile goes with it.

    Parameters
    ----------
    name : str
        Of the solver, the heading in the file.
    options : Options
    """
    if options.log_file is None and (not options.verbose or _is_standard_output()):
        yield options
        return
    with tempfile.TemporaryFile() if options.log_file is None else Path(options.log_file).open("ab") as target:
        if options.log_file is not None:
            target.write(f"{name}\n".encode())
            target.flush()
        saved = _redirected(target.fileno())
        words = io.TextIOWrapper(target, encoding="utf-8", write_through=True)
        try:
            with redirect_stdout(words):  # some libraries write there
                yield replace(options, verbose=True, log_file=None)
        finally:
            words.detach()
            os.close(_redirected(saved))
            os.close(saved)
            if options.log_file is None:
                target.seek(0)
                sys.stdout.write(target.read().decode("utf-8", errors="replace"))


def _is_standard_output() -> bool:
    try:
        return sys.stdout.fileno() == 1
    except (AttributeError, OSError, ValueError):
        return False


def _redirected(descriptor: int) -> int:
    """Let standard output be a file, and return a descriptor of what it was; what libraries hold back is written before."""
    if _is_standard_output():
        sys.stdout.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
    saved = os.dup(1)
    os.dup2(descriptor, 1)
    return saved
