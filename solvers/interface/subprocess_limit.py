"""A call of a library that looks at no clock and hears no signal, in a thread of its own beside which Python does both.

A library's loop in C returns to Python when it is done, and a signal handler waits until then. In a thread of its own it can be
*left*: the caller goes on, and the thread ends when the call does. What it works on must then not be touched any more.
A call that holds Python's lock can be left in a process of its own alone, which is ended.

A fork copies a library's memory without its threads: a library that waits for one of them waits for ever in the child.
`forked_with` tells which libraries the parent had loaded, and `beyond_fork` gives pools that belong to a thread a fresh start.
"""

from __future__ import annotations

import atexit
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import cloudpickle

from ..records.answer import Answer
from ..records.options import Options
from ..records.status import Status
from .recorder import interrupt_flag

__all__ = [
    "LEFT",
    "CallTimeout",
    "allowed",
    "beyond_fork",
    "ended",
    "forked_with",
    "polling",
    "run_in_subprocess",
    "run_with_timeout",
    "time_limit_remark",
    "timeout_at",
]  # fmt: skip

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
#: Names of the modules that were loaded when this process was forked; empty in a process that was not.
_before_fork: set[str] = set()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=lambda: _before_fork.update(sys.modules))


class CallTimeout(Exception):
    """The call did not end when it was to; what it works on is not to be touched any more."""

    def __init__(self, status: Status) -> None:
        super().__init__(LEFT)
        self.status = status


def forked_with(module: str) -> bool:
    """Return whether this process is a fork of one that had the module loaded: its library may miss its threads."""
    return module in _before_fork


def beyond_fork(module: str, call: Callable[[], T]) -> T:
    """Return the result of a call; in a fork of a process that had the module loaded, in a new thread.

    HiGHS keeps its pool of threads for each thread that calls it: a new one waits for none that the fork has left behind.
    """
    if not forked_with(module):
        return call()
    results: list[T] = []
    ended(lambda: results.append(call()), threading.Event())
    return results[0]


def timeout_at(begin: float, limit: float | None) -> float:
    """Return the time at which a call that began at ``begin`` is left, on `time.perf_counter`'s clock."""
    return math.inf if limit is None else begin + _LATE * limit + _LATER


def polling(options: Options, begin: float) -> Callable[[], None]:
    """A function for loops of our own that build a library's model: it raises `CallTimeout` from `timeout_at` on."""
    deadline = timeout_at(begin, options.time_limit)

    def look() -> None:
        if time.perf_counter() > deadline:
            raise CallTimeout(Status.TIME_LIMIT)

    return look


def allowed(limit: float) -> float:
    """Seconds within which a run has kept its time limit."""
    return _ALLOWED[0] * limit + _ALLOWED[1]


def time_limit_remark(answer: Answer, options: Options, why: str) -> str:
    """Return the remark on a solver that took more than its limit, a tenth of it and half a second; empty otherwise.

    ``why`` is what of the solver does not look at the limit (`SolverInfo.time_limit_caveat`).
    """
    limit, spent = options.time_limit, answer.build_seconds + answer.solve_seconds
    if limit is None or spent <= allowed(limit):
        return ""
    return f"took {spent:.2g} s for a time limit of {limit:.2g} s" + (f": it does not look at the clock in {why}" if why else "")


def run_with_timeout(call: Callable[[], T], options: Options, begin: float) -> T:
    """Return the call's value if the call ends within the time limit that began at ``begin``.

    Without a limit the call runs in this thread. A call that holds Python's lock while it works cannot be left.

    Raises
    ------
    LeftCall
        It was left, at `timeout_at`.
    """
    if options.time_limit is None:
        return call()
    outcome: list[T] = []
    if not ended(lambda: outcome.append(call()), threading.Event(), timeout_at(begin, options.time_limit)):
        raise CallTimeout(Status.TIME_LIMIT)
    return outcome[0]


def run_in_subprocess(call: Callable[[], Answer], options: Options, begin: float) -> Answer:
    """Run a call that holds Python's lock in a process of its own, which is ended when the call is left.

    The process is a fresh interpreter, not a fork, whose locks may be held for ever by threads that it does not have. To start it
    takes about a second of processor time. Ctrl-C leaves the call as the time limit does.

    Raises
    ------
    LeftCall
        It was left, at `timeout_at` or at Ctrl-C.
    Exception
        What the call raised.
    """
    deadline = timeout_at(begin, options.time_limit)
    if time.perf_counter() > deadline:
        raise CallTimeout(Status.TIME_LIMIT)
    task = cloudpickle.dumps(call)
    seconds = deadline - time.perf_counter()
    alarm = seconds if math.isfinite(seconds) else None
    start = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import _serve; _serve({alarm})"
    process = subprocess.Popen(
        [sys.executable, "-c", start], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    outcome: list[bytes] = []
    try:
        with interrupt_flag() as stop:
            whole = ended(lambda: outcome.append(process.communicate(task)[0]), stop, deadline)
    finally:
        process.kill()  # says nothing to one that has ended
    if not whole:
        raise CallTimeout(Status.INTERRUPTED if stop.is_set() else Status.TIME_LIMIT)
    if process.returncode:
        word = f"its process ended with code {process.returncode}"
        return Answer(Status.FAILED, word, solve_seconds=time.perf_counter() - begin)
    answer = pickle.loads(outcome[0])
    if isinstance(answer, Exception):
        raise answer
    # what it took to start the process counts
    return replace(answer, build_seconds=time.perf_counter() - begin - answer.solve_seconds)


def _serve(seconds: float | None) -> None:
    """In the process of its own: make the call that standard input holds and write what it gives to standard output.

    The alarm ends the process where its parent was killed before it could, and needs no lock. What libraries print goes to
    standard error.
    """
    if seconds is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _LOOK))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    call = pickle.load(sys.stdin.buffer)
    try:
        answer = call()
    except Exception as error:  # noqa: BLE001 - raised again by `apart`
        answer = error
    with output:
        cloudpickle.dump(answer, output)


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
