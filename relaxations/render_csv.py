"""Gap reports as CSV: one line for each row, raw numbers; intervals take two columns."""

from __future__ import annotations

import csv
import io

from .columns import COLUMNS
from .gaps import Interval
from .report import GapReport

__all__ = ["render_csv"]

_INTERVALS = ("gap", "closed")


def render_csv(report: GapReport) -> str:
    """Header and rows; numbers in full precision, missing ones empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    header: list[str] = []
    for column in COLUMNS:
        header += [f"{column.key}_low", f"{column.key}_high"] if column.key in _INTERVALS else [column.key]
    writer.writerow(header)
    for row in report.rows:
        cells: list[object] = []
        for column in COLUMNS:
            value = column.value(row)
            if column.key in _INTERVALS:
                cells += [value.low, value.high] if isinstance(value, Interval) else ["", ""]
            else:
                cells.append("" if value is None else value)
        writer.writerow(cells)
    return buffer.getvalue()
