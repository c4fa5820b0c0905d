"""Silence for SCIP and its linear solver, which write to standard error past every parameter and message handler.

*SoPlex's warnings* go to C++'s ``std::cerr``. Where SCIP doubts a linear program it asks SoPlex for a thousandth of the
tolerances, 1e-12; a SoPlex built without GMP (that of the wheels) writes "Cannot set feasibility tolerance to small value" and
takes 1e-10, each time. Looser tolerances, with which SCIP would ask for 1e-10, would let a big M hide violations. *SCIP's
errors*, such as "unresolved numerical troubles in LP", name lines of its sources; what they lead to is an error of ours that says
what to do.

Standard error itself stays as it is: Python, loggers, other programs and a crash write there as before, in every thread. What is
lost meanwhile are words of other C++ libraries on ``std::cerr``, and errors of models that somebody else solves by SCIP in this
process.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeAlias

__all__ = ["unheard"]

#: Turns words off and on.
_Switch: TypeAlias = Callable[[bool], None]
#: std::ios_base::goodbit and badbit: what is written to a stream whose state is bad goes nowhere.
_GOOD, _BAD = 0, 1


def _cerr() -> _Switch | None:
    """``std::cerr.clear(state)`` of GNU's C++ library; None where SCIP stands on another one, and SoPlex is heard."""
    if sys.platform != "linux":
        return None
    try:
        runtime = ctypes.CDLL("libstdc++.so.6")  # the one that SCIP has loaded: libraries of one name are one
        stream = ctypes.addressof(ctypes.c_char.in_dll(runtime, "_ZSt4cerr"))
        clear = runtime["_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate"]
    except (OSError, ValueError, AttributeError):
        return None
    clear.argtypes, clear.restype = (ctypes.c_void_p, ctypes.c_int), None
    # The state belongs to the virtual base std::ios. Where that lies in the stream stands three words before what the stream's
    # pointer to its virtual table points at: the C++ ABI of all of Linux.
    table = ctypes.c_ssize_t.from_address(stream).value
    base = stream + ctypes.c_ssize_t.from_address(table - 3 * ctypes.sizeof(ctypes.c_ssize_t)).value
    return lambda off: clear(base, _BAD if off else _GOOD)


def _errors() -> _Switch | None:
    """SCIP's printing of errors: none, or its own; None where its library does not give these functions."""
    import pyscipopt.scip as extension

    try:
        library = ctypes.CDLL(extension.__file__)  # with what it is linked to
        choose, default = library.SCIPmessageSetErrorPrinting, library.SCIPmessageSetErrorPrintingDefault
    except (OSError, AttributeError):
        return None
    choose.argtypes, choose.restype = (ctypes.c_void_p, ctypes.c_void_p), None
    default.argtypes, default.restype = (), None
    return lambda off: choose(None, None) if off else default()


@cache
def _switches() -> tuple[_Switch, ...]:
    return tuple(switch for switch in (_cerr(), _errors()) if switch is not None)


class _Quiet:
    """The count of solves that are silenced at once; the last one restores the output."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def count(self, change: int) -> None:
        """One more, or one less."""
        with self._lock:
            self._count += change
            for switch in _switches():
                switch(self._count > 0)


_UNHEARD = _Quiet()


@contextmanager
def unheard() -> Iterator[None]:
    """SCIP's and SoPlex's words go nowhere within; several threads may be within at once."""
    _UNHEARD.count(1)
    try:
        yield
    finally:
        _UNHEARD.count(-1)
