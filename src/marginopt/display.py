"""The printed forms of objects: notebook views (`Display`), tables as data frames (`Tabular`), and text for screens.

Every folder may import this module.
"""

from __future__ import annotations

import decimal
import html
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .errors import MissingPackageError

#: The kind of the optimum that a bound is about: upper bounds are of a maximum, lower bounds of a minimum.
Sense: TypeAlias = Literal["maximum", "minimum"]

#: Characters that a terminal obeys: control characters but tab and line feed, and changes of the writing direction.
# exempt (text): signs in names that a screen obeys and does not show
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

#: Notebooks set tables to the right, which is for numbers.
_LEFT = ' style="text-align:left"'


def column_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line of text for each row of cells, with left-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def sanitise(text: str) -> str:
    """Return the text with a visible sign for control characters (but tab and line feed) and changes of writing direction."""
    return _OBEYED.sub("\N{REPLACEMENT CHARACTER}", text)


def bound_text(bound: float, sense: Sense, digits: int = 4) -> str:
    """Return a bound as text with ``digits`` significant digits, rounded up if it bounds a maximum, down if a minimum."""
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
        The heading, in bold.
    facts : tuple of (str, str)
        Label and text of each line below the title.
    head : tuple of str
        Names of the columns of the table below the facts.
    rows : tuple of tuples of str
        The table's rows. In a short row the last cell spans all further columns.
    latex : str
        Display formulas ``\\[...\\]``, which a notebook renders by MathJax.
    text : str
        Preformatted lines; folded behind "as text" where there is ``latex``.
    words : tuple of str
        Names of the columns of text, which are left-aligned; the others hold numbers.
    """

    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    latex: str = ""
    text: str = ""
    words: tuple[str, ...] = ()

    def as_text(self) -> str:
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


class Displayable(ABC):
    """The base class of objects with a notebook view, their `display`; at the prompt they show what ``print`` does.

    Classes with a ``__repr__`` of their own, in themselves or in another base, keep it.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        prints = [base.__str__ for base in cls.__mro__]
        if cls.__str__ is not object.__str__ and cls.__repr__ in (object.__repr__, *prints):
            cls.__repr__ = cls.__str__  # type: ignore[method-assign]

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
        """Return one mapping of column name to value for each row."""

    def to_frame(self) -> Any:
        """Return the rows as a pandas data frame.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        return data_frame(self.records())


def data_frame(records: Sequence[Mapping[str, Any]] | Mapping[str, Any], columns: Sequence[str] | None = None) -> Any:
    """Return a pandas data frame of records (one mapping a row), or of a mapping of column names to columns."""
    try:
        import pandas as pd
    except ImportError as error:
        message = "to_frame needs pandas, which is not installed"
        raise MissingPackageError(message, "pandas", 'pip install "marginopt[data]"') from error
    return pd.DataFrame(records if isinstance(records, Mapping) else list(records), columns=columns)
