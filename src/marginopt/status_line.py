"""`StatusLine`: the line of a terminal, notebook or log file that shows a run's progress.

Every folder may import this module.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TextIO

#: Seconds between two states in a file, which double from the first gap to the largest, and between two events.
_FIRST_GAP, _LARGEST_GAP, _EVENT_GAP = 2.0, 15.0, 1.0
#: Seconds after which `show_while_waiting` shows its text, and between two of its states.
_WAIT = 10.0


class StatusLine:
    """The line of a terminal, notebook or log file that shows a run's progress.

    In a terminal (cut to its width) and in a notebook each text replaces the last one. In a file each text is a new line: states
    at growing intervals of at most some seconds, and at most one event a second. A line that stays is left out of a file where
    it repeats the state above it.

    Parameters
    ----------
    stream : text stream, optional
        The stream to write to; by default the current standard error.

    Attributes
    ----------
    stderr_is_read : bool
        Whether a person reads standard error although it is no terminal; `announce_compilations` sets it, so that compilations
        are announced there.
    """

    stderr_is_read: ClassVar[bool] = False

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._output: Any = None
        self._next, self._gap = 0.0, _FIRST_GAP
        self._next_event, self._held = 0.0, ""
        self._last_state = ""  # in a file, the state that was written last

    @property
    def stream(self) -> TextIO:
        """The stream to write to; by default the current standard error, which tests and notebooks replace."""
        return sys.stderr if self._stream is None else self._stream

    @property
    def is_terminal(self) -> bool:
        """True for a stream to a terminal that can rewrite its line."""
        return self.stream.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str) -> None:
        """Show the state of the run in place of the last one."""
        if self._in_notebook(text):
            return
        if self.is_terminal:
            self._write(f"\r{self._cut(text)}\x1b[K")
        elif time.monotonic() >= self._next:
            self._next, self._gap = time.monotonic() + self._gap, min(2.0 * self._gap, _LARGEST_GAP)
            self._last_state = text
            self._write(text + "\n")

    def write_line(self, text: str) -> None:
        """Write a line that stays: later texts begin on a new one."""
        if self._in_notebook(text):
            self._output = None  # what follows is another line
            return
        if self.is_terminal:
            self._write(f"\r{self._cut(text)}\x1b[K\n")
        elif text != self._last_state:
            self._write(text + "\n")
        self._last_state = ""

    def show_event(self, text: str) -> None:
        """Show one of many events: in a terminal in place of the last one, in a file at most one a second."""
        if self._in_notebook(text):
            return
        width = shutil.get_terminal_size().columns - 1
        if not self.is_terminal:
            self._held = text + "\n"
            if time.monotonic() >= self._next_event:
                self._release()
        elif len(text) <= width:
            self.show(text)
        else:
            end = width // 3
            self.show(f"{text[: max(width - end - 1, 0)]}…{text[len(text) - end :]}")

    def end(self) -> None:
        """Clear the line; in a file, write the last event."""
        if self.is_terminal:
            self._write("\r\x1b[K")
        else:
            self._release()

    def _release(self) -> None:
        self._next_event = time.monotonic() + _EVENT_GAP
        self._write(self._held)
        self._held = ""

    def _in_notebook(self, text: str) -> bool:
        """In a notebook, show the text as an output that later texts replace, and return True."""
        shell = sys.modules.get("IPython")
        if self._stream is not None or shell is None or type(shell.get_ipython()).__name__ != "ZMQInteractiveShell":
            return False
        shown = {"text/plain": text}
        if self._output is None:
            self._output = shell.display.display(shown, raw=True, display_id=True)
        else:
            self._output.update(shown, raw=True)
        return True

    def _cut(self, text: str) -> str:
        width = shutil.get_terminal_size().columns - 1  # the last column would break the line
        return text if len(text) <= width else text[: max(width - 1, 0)] + "…"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


@contextmanager
def announce_compilations(enabled: bool = True) -> Iterator[None]:
    """Report long compilations on standard error within the block, if ``enabled``, also where that is a file or a pipe."""
    before, StatusLine.stderr_is_read = StatusLine.stderr_is_read, StatusLine.stderr_is_read or enabled
    try:
        yield
    finally:
        StatusLine.stderr_is_read = before


@contextmanager
def show_while_waiting(text: str, enabled: bool = True) -> Iterator[None]:
    """Show the text and the seconds so far every ten seconds while the block runs, if ``enabled``; short blocks show nothing."""
    line, begin, done = StatusLine(), time.monotonic(), threading.Event()

    def show() -> None:
        while not done.wait(_WAIT):
            line.show(f"{text}: {time.monotonic() - begin:.0f} s")

    thread = threading.Thread(target=show, daemon=True)
    if enabled:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if enabled:
            thread.join()
            if time.monotonic() - begin >= _WAIT:
                line.end()
