"""Tables and colours on the screen: as wide as it is, plain in a file, without colour where NO_COLOR asks for none."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

__all__ = ["print_table"]

#: Words that carry a colour of their own beside their meaning.
_STYLES = {"optimal": "green", "proved": "green", "not run": "red", "not installed": "dim", "stalled": "yellow"}


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), title: str = "") -> None:
    """A table on standard output; long cells are broken at words, and the columns named in ``right`` are numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    numbers = set(right)
    table = Table(
        title=Text(title) if title else None,
        box=None,
        pad_edge=False,
        title_justify="left",
        header_style="bold",
        show_header=any(head),
    )
    for k, name in enumerate(head):
        # names and numbers stay whole; the words of the last column take what is left
        whole = k in numbers or k == 0
        table.add_column(Text(name), justify="right" if k in numbers else "left", no_wrap=whole, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    console = Console(highlight=False, emoji=False)
    with console.capture() as drawn:
        console.print(table)
    sys.stdout.write("".join(line.rstrip() + "\n" for line in drawn.get().splitlines()))
