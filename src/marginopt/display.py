"""Notebook views: one record and one renderer for all objects, names escaped; tables as data frames.

A leaf that every folder may import.
"""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import MissingPackageError

__all__ = ["Display", "Displayed", "Tabular", "frame", "legible"]

#: What a screen obeys and does not show: controls but tab and line feed, and those that turn the direction of what follows.
# exempt (text): signs in names that a screen obeys and does not show
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

#: Notebooks set tables to the right, which is for numbers.
_LEFT = ' style="text-align:left"'


def legible(text: str) -> str:
    """Text in which no name moves the cursor, colours the screen or turns the words around it: a sign stands for what would."""
    return _OBEYED.sub("\N{REPLACEMENT CHARACTER}", text)


def _escaped(text: str) -> str:
    return html.escape(legible(text))


@dataclass(frozen=True)
class Display:
    r"""A thing as a notebook shows it.

    Parameters
    ----------
    title : str
    facts : tuple of pairs
        Label and words, one on a line.
    head : tuple of str
        Columns of the table below the facts.
    rows : tuple of tuples of str
        Its rows; a short one ends with a cell over the columns that are left.
    latex : str
        Displays ``\\[...\\]``, which a notebook sets with its own MathJax.
    text : str
        Lines of equal width, folded below the mathematics where there is some.
    words : tuple of str
        Columns of words; the others are numbers.
    """

    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    latex: str = ""
    text: str = ""
    words: tuple[str, ...] = ()

    def html(self) -> str:
        """HTML in which nothing but the renderer's own words is mark-up."""
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
            left = len(self.head) - len(row)
            cells = [f"<td{side}>{_escaped(value)}</td>" for value, side in zip(row[:-1], sides, strict=False)]
            last = f"{_LEFT} colspan={left + 1}" if left else sides[-1]
            cells += [f"<td{last}>{_escaped(value)}</td>" for value in row[-1:]]
            body += f"<tr>{''.join(cells)}</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Displayed(ABC):
    """Shown by notebooks as its `display` says."""

    __slots__ = ()

    @abstractmethod
    def display(self) -> Display:
        """Return the notebook view."""

    def _repr_html_(self) -> str:
        return self.display().html()


class Tabular(ABC):
    """A table of one record a row."""

    __slots__ = ()

    @abstractmethod
    def records(self) -> Sequence[Mapping[str, Any]]:
        """One mapping for each row."""

    def to_frame(self) -> Any:
        """The rows as a pandas data frame.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        return frame(self.records())


def frame(records: Sequence[Mapping[str, Any]] | Mapping[str, Any], columns: Sequence[str] | None = None) -> Any:
    """A pandas data frame of records, or of columns by name.

    Raises
    ------
    MissingPackageError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError('to_frame needs pandas, which is not installed: pip install "marginopt[data]"') from error
    return pd.DataFrame(records if isinstance(records, Mapping) else list(records), columns=columns)
