"""Progress on a stream: one line that changes where somebody looks, whole lines and no carriage returns in a file."""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Any, TextIO

__all__ = ["StatusLine"]

#: Seconds between two lines in a file: at first, and at most; it doubles.
_FIRST, _MOST = 2.0, 60.0


class StatusLine:
    """A line of progress.

    In a terminal each text takes the last one's place, cut to the width; in a notebook too, as an output that changes.
    Elsewhere texts are lines of their own: fewer and fewer of them, so that a log of a day stays short.

    Parameters
    ----------
    stream : text stream, optional
        Standard error where it is not given.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._output: Any = None
        self._next, self._gap = 0.0, _FIRST

    @property
    def stream(self) -> TextIO:
        """The stream to write to: standard error at the time of the call, which tests and notebooks replace."""
        return sys.stderr if self._stream is None else self._stream

    @property
    def alive(self) -> bool:
        """Return whether somebody looks at a line that can change: the stream is a terminal that is more than a typewriter."""
        return self.stream.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str) -> None:
        """The state of things."""
        if self._in_notebook(text):
            return
        if self.alive:
            self._write(f"\r{self._cut(text)}\x1b[K")
        elif time.monotonic() >= self._next:
            self._next, self._gap = time.monotonic() + self._gap, min(2.0 * self._gap, _MOST)
            self._write(text + "\n")

    def keep(self, text: str) -> None:
        """A text that stays, whatever comes after it."""
        if self._in_notebook(text):
            self._output = None  # what follows is another line
            return
        self._write(f"\r{self._cut(text)}\x1b[K\n" if self.alive else text + "\n")

    def note(self, text: str) -> None:
        """One of many events: in a terminal it takes the last one's place and loses its middle where it is long."""
        if self._in_notebook(text):
            return
        width = shutil.get_terminal_size().columns - 1
        if not self.alive:
            self._write(text + "\n")
        elif len(text) <= width:
            self.show(text)
        else:
            end = width // 3
            self.show(f"{text[: max(width - end - 1, 0)]}…{text[len(text) - end :]}")

    def end(self) -> None:
        """Leaves an empty line where the state stood; nothing in a file."""
        if self.alive:
            self._write("\r\x1b[K")

    def _in_notebook(self, text: str) -> bool:
        """Shows the text as the notebook's output, one that changes, where the session is a notebook's."""
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
