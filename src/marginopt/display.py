"""Notebook views of objects (`Display`), tables as data frames (`Tabular`), and the progress line of a run (`StatusLine`).

Every folder may import this module.
"""

from __future__ import annotations

import decimal
import html
import math
import os
import re
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TextIO, TypeAlias

from .errors import MissingPackageError

#: The direction of the optimum that a bound is about: it is an upper bound of a maximum, a lower bound of a minimum.
Sense: TypeAlias = Literal["maximum", "minimum"]

#: Characters that a terminal obeys: control characters but tab and line feed, and changes of the writing direction.
# exempt (text): signs in names that a screen obeys and does not show
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

#: Notebooks set tables to the right, which is for numbers.
_LEFT = ' style="text-align:left"'


def column_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines of text, one a row, with left-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def sanitise(text: str) -> str:
    """Return the text with a visible sign for each control character and each change of writing direction."""
    return _OBEYED.sub("\N{REPLACEMENT CHARACTER}", text)


def bound_text(bound: float, sense: Sense, digits: int = 4) -> str:
    """Return a bound as text of so many digits, rounded up if it bounds a maximum and down if it bounds a minimum."""
    if not math.isfinite(bound):
        return f"{bound:g}"
    rounding = decimal.ROUND_CEILING if sense == "maximum" else decimal.ROUND_FLOOR
    return f"{decimal.Context(prec=digits, rounding=rounding).create_decimal_from_float(bound).normalize():f}"


def _escaped(text: str) -> str:
    return html.escape(sanitise(text))


@dataclass(frozen=True)
class Display:
    r"""The notebook view of an object.

    Parameters
    ----------
    title : str
    facts : tuple of pairs
        Label and words, one on a line.
    head : tuple of str
        Names of the columns of the table below the facts.
    rows : tuple of tuples of str
        The table's rows. In a short row the last cell spans all further columns.
    latex : str
        Displays ``\\[...\\]``, which a notebook sets with its own MathJax.
    text : str
        Preformatted lines; folded behind "as text" where there is ``latex``.
    words : tuple of str
        The columns that hold words and are set to the left; the others hold numbers.
    """

    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    latex: str = ""
    text: str = ""
    words: tuple[str, ...] = ()

    def lines(self) -> str:
        """Return title and facts as lines of text, the labels in one column."""
        width = max(len(label) for label, _ in self.facts)
        return "\n".join([self.title, *(f"  {label.ljust(width)}  {words}" for label, words in self.facts)])

    def html(self) -> str:
        """Return the view as HTML; texts are escaped."""
        parts = [f"<b>{_escaped(self.title)}</b>"] if self.title else []
        parts += [f"<div>{_escaped(self.latex)}</div>"] if self.latex else []
        if self.facts:
            rows = "".join(f"<tr><th{_LEFT}>{_escaped(k)}</th><td{_LEFT}>{_escaped(v)}</td></tr>" for k, v in self.facts)
            parts.append(f"<table>{rows}</table>")
        if self.head:
            parts.append(self._table())
        if self.text:
            lines = f'<pre style="line-height:1.35;font-family:monospace">{_escaped(self.text)}</pre>'
            parts.append(f"<details><summary>as text</summary>{lines}</details>" if self.latex else lines)
        return f'<div class="marginopt">{"".join(parts)}</div>'

    def _table(self) -> str:
        sides = [_LEFT if name in self.words else "" for name in self.head]
        head = "".join(f"<th{side}>{_escaped(name)}</th>" for name, side in zip(self.head, sides, strict=True))
        body = ""
        for row in self.rows:
            missing_cells = len(self.head) - len(row)
            cells = [f"<td{side}>{_escaped(value)}</td>" for value, side in zip(row[:-1], sides, strict=False)]
            last = f"{_LEFT} colspan={missing_cells + 1}" if missing_cells else sides[-1]
            cells += [f"<td{last}>{_escaped(value)}</td>" for value in row[-1:]]
            body += f"<tr>{''.join(cells)}</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Displayed(ABC):
    """The base class of objects with a notebook view, their `display`."""

    __slots__ = ()

    @abstractmethod
    def display(self) -> Display:
        """Return the notebook view."""

    def _repr_html_(self) -> str:
        return self.display().html()


class Tabular(ABC):
    """The base class of tables with one record for each row."""

    __slots__ = ()

    @abstractmethod
    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return one mapping for each row."""

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        return data_frame(self.records())


def data_frame(records: Sequence[Mapping[str, Any]] | Mapping[str, Any], columns: Sequence[str] | None = None) -> Any:
    """Return a pandas data frame of records, or of columns by name."""
    try:
        import pandas as pd
    except ImportError as error:
        message = "to_frame needs pandas, which is not installed"
        raise MissingPackageError(message, "pandas", 'pip install "marginopt[data]"') from error
    return pd.DataFrame(records if isinstance(records, Mapping) else list(records), columns=columns)


#: Seconds between two states in a file, first and largest (they double), and between two events.
_FIRST, _MOST, _EVENTS = 2.0, 60.0, 1.0


class StatusLine:
    """The line of a terminal, notebook or log that tells of a run's progress.

    In a terminal and in a notebook each text replaces the last one, cut to the width of a terminal. In a file each text is a line
    of its own: states at growing intervals, so that a log of a day stays short, and at most one event a second.

    Parameters
    ----------
    stream : text stream, optional
        Standard error where it is not given.

    Attributes
    ----------
    read : bool
        Whether somebody reads standard error though it is no terminal: the command line, and reports that tell of progress.
    """

    read: ClassVar[bool] = False

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._output: Any = None
        self._next, self._gap = 0.0, _FIRST
        self._next_event, self._held = 0.0, ""

    @property
    def stream(self) -> TextIO:
        """The stream to write to: standard error at the time of the call, which tests and notebooks replace."""
        return sys.stderr if self._stream is None else self._stream

    @property
    def alive(self) -> bool:
        """True for a stream to a terminal that can rewrite its line."""
        return self.stream.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str) -> None:
        """Show the state of the run in place of the last one."""
        if self._in_notebook(text):
            return
        if self.alive:
            self._write(f"\r{self._cut(text)}\x1b[K")
        elif time.monotonic() >= self._next:
            self._next, self._gap = time.monotonic() + self._gap, min(2.0 * self._gap, _MOST)
            self._write(text + "\n")

    def keep(self, text: str) -> None:
        """Write a line that later states do not replace."""
        if self._in_notebook(text):
            self._output = None  # what follows is another line
            return
        self._write(f"\r{self._cut(text)}\x1b[K\n" if self.alive else text + "\n")

    def note(self, text: str) -> None:
        """Show one of many events: in a terminal in place of the last one, in a file at most one a second."""
        if self._in_notebook(text):
            return
        width = shutil.get_terminal_size().columns - 1
        if not self.alive:
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
        if self.alive:
            self._write("\r\x1b[K")
        else:
            self._release()

    def _release(self) -> None:
        self._next_event = time.monotonic() + _EVENTS
        self._write(self._held)
        self._held = ""

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


@contextmanager
def announce_compilations(enabled: bool = True) -> Iterator[None]:
    """Report long compilations on standard error within the block, also where that is a file or a pipe."""
    before, StatusLine.read = StatusLine.read, StatusLine.read or enabled
    try:
        yield
    finally:
        StatusLine.read = before
