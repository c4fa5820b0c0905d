"""Gap reports as CSV: one line for each row, exact solve or κ, raw numbers; intervals take two columns.

A spreadsheet reads a text that begins with =, +, - or @ (after tabs or line ends, too) as a formula: such texts stand on one line
and get an apostrophe before them. Numbers are written as they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....errors import InputError
from ..columns import COLUMNS, EXACT_COLUMNS, KAPPA_COLUMNS, Column, exact_rows
from ..data import Interval, ReportData
from ..document import Document
from .format import Format

__all__ = ["FORMAT", "render_csv"]

#: With their wide forms, which some spreadsheets read alike.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def render_csv(report: ReportData, table: str = "rows") -> str:
    """Header and rows; numbers in full precision, missing ones empty.

    Raises
    ------
    InputError
        Another table than "rows", "exacts" and "kappas".
    """
    tables: Mapping[str, tuple[Sequence[Column], Iterable[Any]]] = {
        "rows": (COLUMNS, report.rows),
        "exacts": (EXACT_COLUMNS, exact_rows(report)),
        "kappas": (KAPPA_COLUMNS, report.kappas),
    }
    if table not in tables:
        raise InputError(f"table must be one of {', '.join(tables)}; it is {table!r}", name="table")
    columns, rows = tables[table]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([name for c in columns for name in ([f"{c.key}_low", f"{c.key}_high"] if c.interval else [c.key])])
    for row in rows:
        writer.writerow([cell for c in columns for cell in _cells(c, row)])
    return buffer.getvalue()


def _cells(column: Column, row: Any) -> list[object]:
    value = column.value(row)
    if column.interval:
        return [value.low, value.high] if isinstance(value, Interval) else ["", ""]
    return ["" if value is None else _text(value) if isinstance(value, str) else value]


def _text(value: str) -> str:
    """Text on one line that no spreadsheet takes for a formula."""
    line = "".join(c if c.isprintable() else " " for c in value)
    # exempt (text): a cell that a spreadsheet would run
    return f"'{line}" if line.lstrip().startswith(_FORMULA) else line


def _files(document: Document, stem: str) -> dict[str, str]:
    data = document.data
    files = {f"{stem}.csv": render_csv(data)}
    if data.exacts:
        files[f"{stem}-exact.csv"] = render_csv(data, "exacts")
    if data.kappas:
        files[f"{stem}-kappa.csv"] = render_csv(data, "kappas")
    return files


FORMAT = Format(".csv", "CSV: rows, exact solves, sweep over κ", _files, rank=30)
