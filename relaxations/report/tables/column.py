"""Columns and tables of a report: how a value is got from a row, how it is shown and sorted; shared by every format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..gaps import Interval

__all__ = ["Column", "Table", "align", "interval", "percent", "shown", "sort_key"]


@dataclass(frozen=True)
class Column:
    """A column: how to get its value from a row, and what it means.

    Parameters
    ----------
    key : str
        Name in CSV.
    title, explanation : str
    value : callable
        Row to number, word, `Interval` or None.
    form : {"text", "count", "mean", "value", "percent", "seconds", "ratio"}
    interval : bool
        Whether values may be intervals, which take two columns in CSV.
    drawn : bool
        Whether a picture of the page shows it, so that the page's table need not.
    """

    key: str
    title: str
    explanation: str
    value: Callable[[Any], Any]
    form: str = "text"
    interval: bool = False
    drawn: bool = False

    def values(self, row: Any) -> dict[str, Any]:
        """The value by name; an interval's two ends."""
        value = self.value(row)
        if not self.interval:
            return {self.key: value}
        low, high = (value.low, value.high) if isinstance(value, Interval) else (None, None)
        return {f"{self.key}_low": low, f"{self.key}_high": high}

    @property
    def numeric(self) -> bool:
        """Return whether it sorts as a number."""
        return self.form != "text"


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a report.

    Parameters
    ----------
    name, title : str
    columns : sequence of Column
    rows : sequence
    note : str
        What to know before reading it.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    note: str = ""


def percent(value: float, digits: int) -> str:
    """100 value, never a negative zero."""
    return f"{round(100.0 * value, digits) + 0.0:.{digits}f}%"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "text": str,
    "count": lambda v: f"{v:,}",
    "mean": lambda v: f"{v:,.0f}" if abs(v) >= 100.0 else f"{v:.3g}",  # of counts
    "value": lambda v: f"{v:.7g}",
    "percent": lambda v: percent(v, 2),
    "seconds": lambda v: f"{v:.3g}" if v >= 1e-3 else np.format_float_positional(v, precision=2, fractional=False, trim="-"),
    "ratio": lambda v: f"{v:.2g}",
}
#: The ends of an interval: in fewer digits, since they differ.
_ENDS: dict[str, Callable[[float, float], str]] = {
    "value": lambda low, high: f"[{low:.5g}, {high:.5g}]",
    "percent": lambda low, high: f"[{percent(low, 1)[:-1]}, {percent(high, 1)[:-1]}]%",
}


def shown(column: Column, row: Any) -> str:
    """The cell as readers see it; empty for None, [low, high] for an interval that is not a number."""
    value = column.value(row)
    if value is None:
        return ""
    if isinstance(value, Interval) and not value.exact:
        return interval(column.form, value)
    return _SHOWN[column.form](value.high if isinstance(value, Interval) else value)


def interval(form: str, value: Interval) -> str:
    """[low, high] of values or percentages."""
    return _ENDS[form](value.low, value.high)


def sort_key(column: Column, row: Any) -> float | str:
    """Return the key that the cell sorts by: a number for numeric columns (an interval by its upper end; missing ones last)."""
    value = column.value(row)
    if isinstance(value, Interval):
        return value.high
    if value is None:
        return "" if not column.numeric else float("inf")
    return float(value) if column.numeric else str(value)


def align(table: Iterable[list[str]]) -> str:
    """Cells in columns of equal width."""
    lines = list(table)
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
