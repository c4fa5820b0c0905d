"""Time limits on calls into libraries: a call that ignores its limit, or Ctrl-C, is abandoned in its thread or process.

A library's loop in C checks no clock and no signal: it returns to Python when it is done, and a signal handler waits until then.
In a thread of its own the call can be abandoned: the caller goes on, and the thread ends when the call does. The objects that the
call works on must then not be touched any more. A call that holds Python's lock can be abandoned only in a process of its own,
which is ended.

A fork copies a library's memory without its threads: a library that waits for one of them waits for ever in the child.
`forked_with` tells which libraries the parent had loaded, and `call_outside_fork` gives pools that belong to a thread a fresh
start.
"""

from __future__ import annotations

import atexit
import functools
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import replace
from typing import TypeVar

import cloudpickle

from ...models.deadline import OutOfTimeError
from ..records import Answer, Options, Status
from .recorder import interrupt_flag

#: Seconds before the first poll of the event, most seconds between two polls, and seconds for a call to end after the event.
_FIRST, _LOOK, _GRACE = 0.001, 0.05, 0.1
#: Factor of the time limit, and seconds more, after which a call is abandoned: solvers check their clock between iterations.
_LATE, _LATER = 1.05, 0.2
#: Factor of the limit, and seconds more, up to which a run counts as within its limit.
_ALLOWED = 1.1, 0.5
#: Seconds that the interpreter waits, when it ends, for abandoned calls: one that returns into an interpreter that is being
#: taken down can end the process by a signal.
_LAST = 5.0
#: The native status of a call that did not return at its limit.
ABANDONED_STATUS = "abandoned at the limit"

T = TypeVar("T")
_abandoned: list[threading.Thread] = []
#: Names of the modules that were loaded when this process was forked; empty in a process that was not forked.
_before_fork: set[str] = set()
if sys.platform != "win32":
    os.register_at_fork(after_in_child=lambda: _before_fork.update(sys.modules))


class CallTimeout(OutOfTimeError):
    """The call did not end in time and was abandoned; the objects that it works on must not be touched any more.

    Parameters
    ----------
    status : Status
        TIME_LIMIT or INTERRUPTED.
    """

    def __init__(self, status: Status) -> None:
        super().__init__(ABANDONED_STATUS)
        self.status = status


def forked_with(module: str) -> bool:
    """Return whether this process is a fork of one that had the module loaded: its library may miss its threads."""
    return module in _before_fork


def call_outside_fork(module: str, call: Callable[[], T]) -> T:
    """Return the result of a call; in a fork of a process that had the module loaded, in a new thread.

    HiGHS keeps its pool of threads for each thread that calls it: a new one waits for none that the fork has left behind.
    """
    if not forked_with(module):
        return call()
    results: list[T] = []
    run_until(lambda: results.append(call()), threading.Event())
    return results[0]


def abandon_time(begin: float, limit: float | None) -> float:
    """Return the time at which a call that began at ``begin`` is abandoned, on `time.perf_counter`'s clock."""
    return math.inf if limit is None else begin + _LATE * limit + _LATER


def time_allowance(limit: float) -> float:
    """Return the time up to which a run counts as within its limit: 1.1·limit + 0.5 s."""
    return _ALLOWED[0] * limit + _ALLOWED[1]


def time_limit_remark(answer: Answer, options: Options, reason: str) -> str:
    """Return the remark on a solver that took longer than `time_allowance` of its limit; empty otherwise.

    ``reason`` is the phase in which the solver does not check the limit (`SolverInfo.time_limit_caveat`).
    """
    limit, spent = options.time_limit, answer.build_seconds + answer.solve_seconds
    if limit is None or spent <= time_allowance(limit):
        return ""
    return f"took {spent:.2g} s for a time limit of {limit:.2g} s" + (
        f": it does not look at the clock in {reason}" if reason else ""
    )


def run_with_timeout(call: Callable[[], T], options: Options, begin: float, *, catches_interrupts: bool = False) -> T:
    """Return the call's value if the call ends within the time limit that began at ``begin``.

    Without a limit the call runs in this thread. A call that holds Python's lock while it works cannot be abandoned.
    ``catches_interrupts`` says that the library installs a handler of its own for Ctrl-C, which any thread of BLAS or of the
    user's may run. The call then runs in another thread, beside which Python's handler is installed again at each poll.

    Raises
    ------
    CallTimeout
        The call was abandoned, at `abandon_time`.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if catches_interrupts and in_main_thread else None
    if options.time_limit is None and handler is None:
        return call()
    on_poll = None if handler is None else functools.partial(signal.signal, signal.SIGINT, handler)
    outcome: list[T] = []
    if not run_until(lambda: outcome.append(call()), threading.Event(), abandon_time(begin, options.time_limit), on_poll):
        raise CallTimeout(Status.TIME_LIMIT)
    return outcome[0]


def run_in_subprocess(call: Callable[[], Answer], options: Options, begin: float) -> Answer:
    """Run a call that holds Python's lock in a process of its own, which is ended when the call is abandoned.

    The process is a fresh interpreter, not a fork, whose locks may be held for ever by threads that it does not have. To start it
    takes about a second of processor time. Ctrl-C abandons the call as the time limit does.

    Raises
    ------
    CallTimeout
        The call was abandoned, at `abandon_time` or at Ctrl-C.
    Exception
        The error that the call raised.
    """
    deadline = abandon_time(begin, options.time_limit)
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
            completed = run_until(lambda: outcome.append(process.communicate(task)[0]), stop, deadline)
    finally:
        process.kill()  # does nothing to a process that has ended
    if not completed:
        raise CallTimeout(Status.INTERRUPTED if stop.is_set() else Status.TIME_LIMIT)
    if process.returncode:
        word = f"its process ended with code {process.returncode}"
        return Answer(Status.FAILED, word, solve_seconds=time.perf_counter() - begin)
    answer = pickle.loads(outcome[0])
    if isinstance(answer, Exception):
        raise answer
    # the start of the process counts as build time
    return replace(answer, build_seconds=time.perf_counter() - begin - answer.solve_seconds)


def _serve(seconds: float | None) -> None:
    """Make the call that standard input holds, in a separate process, and write its answer to standard output.

    The alarm ends the process if its parent was killed before it could, and needs no lock. The output of libraries goes to
    standard error.
    """
    if seconds is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, max(seconds, _LOOK))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    call = pickle.load(sys.stdin.buffer)
    try:
        answer = call()
    except Exception as error:  # noqa: BLE001 - raised again by `run_in_subprocess`
        answer = error
    with output:
        cloudpickle.dump(answer, output)


def run_until(
    call: Callable[[], None], stop: threading.Event, deadline: float = math.inf, on_poll: Callable[[], object] | None = None
) -> bool:
    """Run ``call`` until it returns, ``stop`` is set or the deadline passes.

    Parameters
    ----------
    call : callable
        The function that runs in a daemon thread; it releases Python's lock while it works.
    stop : threading.Event
        Set by a signal handler, or by the user's callback.
    deadline : float
        The deadline on `time.perf_counter`'s clock.
    on_poll : callable, optional
        Called at each poll while the call runs, in the caller's thread.

    Returns
    -------
    bool
        False if the call was abandoned: it may still run.

    Raises
    ------
    BaseException
        The error that the call raised.
    """
    raised: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            raised.append(error)

    run = copy_context().run  # a new thread has no deadline of its own
    thread = threading.Thread(target=run, args=(work,), name="marginopt: a solver's call", daemon=True)
    thread.start()
    pause = _FIRST
    try:
        while thread.is_alive() and not stop.is_set() and time.perf_counter() < deadline:
            thread.join(min(pause, max(deadline - time.perf_counter(), 0.0)))
            pause = min(2.0 * pause, _LOOK)
            if on_poll is not None and thread.is_alive():
                on_poll()
        if thread.is_alive():
            thread.join(_GRACE)
    finally:  # Ctrl-C abandons the call, too
        if thread.is_alive():
            _abandoned[:] = [thread, *(other for other in _abandoned if other.is_alive())]
    if raised:
        raise raised[0]
    return not thread.is_alive()


@atexit.register
def _wait() -> None:
    """Give abandoned calls some time to return while there is an interpreter to return to."""
    deadline = time.monotonic() + _LAST
    for thread in _abandoned:
        thread.join(max(deadline - time.monotonic(), 0.0))
