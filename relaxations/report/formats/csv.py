"""Gap reports as CSV: one line for each row, exact solve or κ, raw numbers; intervals take two columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....errors import InputError
from ..gaps import Interval
from ..table import GapReport
from ..tables.exacts import EXACT_COLUMNS, KAPPA_COLUMNS, exact_rows
from ..tables.relaxations import COLUMNS, Column

__all__ = ["render_csv"]

_INTERVALS = ("gap", "closed")  # of the rows


def render_csv(report: GapReport, table: str = "rows") -> str:
    """Header and rows; numbers in full precision, missing ones empty."""
    tables: Mapping[str, tuple[Sequence[Column], Iterable[Any]]] = {
        "rows": (COLUMNS, report.rows),
        "exacts": (EXACT_COLUMNS, exact_rows(report)),
        "kappas": (KAPPA_COLUMNS, report.kappas),
    }
    if table not in tables:
        raise InputError(f"table must be one of {', '.join(tables)}; it is {table!r}")
    columns, rows = tables[table]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    header: list[str] = []
    for column in columns:
        header += [f"{column.key}_low", f"{column.key}_high"] if column.key in _INTERVALS else [column.key]
    writer.writerow(header)
    for row in rows:
        cells: list[object] = []
        for column in columns:
            value = column.value(row)
            if column.key in _INTERVALS:
                cells += [value.low, value.high] if isinstance(value, Interval) else ["", ""]
            else:
                cells.append("" if value is None else value)
        writer.writerow(cells)
    return buffer.getvalue()
