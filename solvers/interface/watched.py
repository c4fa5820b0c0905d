"""A call of a library that looks at no clock and hears no signal, in a thread of its own beside which Python does both.

A library's loop in C returns to Python when it is done, and a signal handler waits until then. In a thread of its own it can be
*left*: the caller goes on, and the thread ends when the call does. What it works on must then not be touched any more.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from ..records.answer import Answer
from ..records.options import Options
from ..records.status import Status

__all__ = ["LEFT", "LeftCall", "ended", "lateness", "leaving_time", "looking", "within"]

#: Seconds between two looks at the event, and those that a call has to end by itself once it is set.
_LOOK, _GRACE = 0.05, 0.1
#: Share of the time limit, and seconds, after which a call is left: solvers look at their own clock between iterations.
_LATE, _LATER = 1.05, 0.2
#: Share of the limit, and seconds, within which a run has kept it.
_ALLOWED = 1.1, 0.5
#: Seconds that the interpreter waits, when it ends, for calls that were left: one that returns into an interpreter that is being
#: taken down can end the process by a signal.
_LAST = 5.0
#: What the native status is called where a call was left.
LEFT = "left"

T = TypeVar("T")
_left: list[threading.Thread] = []


class LeftCall(Exception):
    """The call did not end when it was to; what it works on is not to be touched any more."""

    def __init__(self, status: Status) -> None:
        super().__init__(LEFT)
        self.status = status


def leaving_time(begin: float, limit: float | None) -> float:
    """When a call is left that began to count its time limit at ``begin``, on `time.perf_counter`'s clock."""
    return math.inf if limit is None else begin + _LATE * limit + _LATER


def looking(options: Options, begin: float) -> Callable[[], None]:
    """A function for loops of our own that build a library's model: it raises `LeftCall` from `leaving_time` on."""
    deadline = leaving_time(begin, options.time_limit)

    def look() -> None:
        if time.perf_counter() > deadline:
            raise LeftCall(Status.TIME_LIMIT)

    return look


def lateness(answer: Answer, options: Options, why: str) -> str:
    """What a result says where a solver took more than its limit, a tenth of it and half a second; empty where it did not.

    ``why`` is what of the solver does not look at the limit (`SolverInfo.late`).
    """
    limit, spent = options.time_limit, answer.build_seconds + answer.solve_seconds
    if limit is None or spent <= _ALLOWED[0] * limit + _ALLOWED[1]:
        return ""
    return f"took {spent:.2g} s for a time limit of {limit:.2g} s" + (f": it does not look at the clock in {why}" if why else "")


def within(call: Callable[[], T], options: Options, begin: float) -> T:
    """What the call returns, where it ends within the time limit that began at ``begin``.

    Without a limit the call runs in this thread. A call that holds Python's lock while it works cannot be left.

    Raises
    ------
    LeftCall
        It was left, at `leaving_time`.
    """
    if options.time_limit is None:
        return call()
    found: list[T] = []
    if not ended(lambda: found.append(call()), threading.Event(), leaving_time(begin, options.time_limit)):
        raise LeftCall(Status.TIME_LIMIT)
    return found[0]


def ended(call: Callable[[], None], stop: threading.Event, deadline: float = math.inf) -> bool:
    """Run ``call`` until it returns, ``stop`` is set or the deadline passes.

    Parameters
    ----------
    call : callable
        Runs in a daemon thread; releases Python's lock while it works.
    stop : threading.Event
        Set by a signal handler, or by the user's callback.
    deadline : float
        On `time.perf_counter`'s clock.

    Returns
    -------
    bool
        False where the call was left: it may still run.

    Raises
    ------
    BaseException
        What the call raised.
    """
    raised: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            raised.append(error)

    thread = threading.Thread(target=work, name="marginopt: a solver's call", daemon=True)
    thread.start()
    while thread.is_alive() and not stop.is_set() and time.perf_counter() < deadline:
        thread.join(min(_LOOK, max(deadline - time.perf_counter(), 0.0)))
    if thread.is_alive():
        thread.join(_GRACE)
    if raised:
        raise raised[0]
    if thread.is_alive():
        _left[:] = [thread, *(other for other in _left if other.is_alive())]
    return not thread.is_alive()


@atexit.register
def _wait() -> None:
    """Give calls that were left some time to return while there is an interpreter to return to."""
    deadline = time.monotonic() + _LAST
    for thread in _left:
        thread.join(max(deadline - time.monotonic(), 0.0))
