"""A table's cells in the printed arrangement: rows and columns in the order of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from .comparison import ComparedCell
from .reproduce import TableResult

__all__ = ["Grid", "grid_of"]


@dataclass(frozen=True)
class Grid:
    """Rows of cells.

    Parameters
    ----------
    headings : tuple of str
        Of the labels that name the rows.
    columns : tuple of str
    rows : tuple of (labels, cells)
        The cells in the order of the columns; None where the table has none there.
    """

    headings: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[ComparedCell | None, ...]], ...]


def grid_of(result: TableResult) -> Grid:
    """The cells by row and column, both in the order in which they first appear; one column where the table has no columns."""
    table = result.table
    split = len(table.headings) - table.across
    cells = {cell.entry.labels: cell for cell in result.cells}
    columns = list(dict.fromkeys(labels[split:] for labels in cells))
    rows = list(dict.fromkeys(labels[:split] for labels in cells))
    return Grid(
        table.headings[:split],
        tuple(", ".join(column) if column else "published, measured" for column in columns),
        tuple((row, tuple(cells.get((*row, *column)) for column in columns)) for row in rows),
    )
