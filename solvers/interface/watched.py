"""A call of a library that looks at no clock and hears no signal, in a thread of its own beside which Python does both.

A library's loop in C returns to Python when it is done, and a signal handler waits until then. In a thread of its own it can be
*left*: the caller goes on, and the thread ends when the call does. What it works on must then not be touched any more.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

__all__ = ["ended"]

#: Seconds between two looks at the event, and those that a call has to end by itself once it is set.
_LOOK, _GRACE = 0.05, 0.1


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
    return not thread.is_alive()
