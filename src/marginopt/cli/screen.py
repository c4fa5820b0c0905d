"""Print commands' answers: as JSON, or as tables and texts that fit the screen, coloured on terminals unless NO_COLOR is set."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..display import sanitise
from ..errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

#: Colours of cells that hold one of these words.
_STYLES = {"optimal": "green", "proved": "green", "not run": "red", "not installed": "dim", "stalled": "yellow"}
#: Spaces between two columns, and the least width of a column of words on a narrow screen.
_BETWEEN, _READABLE = 2, 16
#: The last column of a line of text below which its continuation may be indented.
_FAR = 26


def print_answer(args: argparse.Namespace, record: Any, text: object) -> None:
    """Print a command's answer: the record as JSON if ``--json`` is given, else the text."""
    print_answer_by(args, record, lambda: print_text(text))


def print_answer_by(args: argparse.Namespace, record: Any, show: Callable[[], object]) -> None:
    """Print a command's answer: the record as JSON if ``--json`` is given, else by calling ``show``."""
    if args.json:
        print(json_text(record))
    else:
        show()


def json_text(value: Any) -> str:
    """Return a value as strict JSON, in which infinities and NaN are null."""
    return json.dumps(_strict(value), indent=2, default=str, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = (), title: str = "") -> None:
    """Print a table under its title; long cells break into lines.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequence of str
        The cells.
    right : iterable of int
        Indices of the columns of numbers, which are right-aligned.
    title : str
        The heading; empty for none.
    """
    print_tables(head, {title: list(rows)}, right=right)


def print_tables(head: Sequence[str], groups: Mapping[str, Sequence[Sequence[str]]], *, right: Iterable[int] = ()) -> None:
    """Print tables with the same columns (``groups`` maps titles to rows); a column has the same width in all of them.

    Numbers are not broken; columns of words share the remaining width, the first of them first. On a screen too narrow for that
    each cell is on a line of its own.
    """
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    numbers = frozenset(right)
    widths = _widths(console.width, [head, *(row for rows in groups.values() for row in rows)], numbers)
    with console.capture() as capture:
        for k, (title, rows) in enumerate(groups.items()):
            if title:
                console.print(("\n" if k else "") + title, style="bold", markup=False, soft_wrap=True)
            if widths:
                _print_columns(console, head, rows, widths, numbers)
            else:
                _print_records(console, head, rows)
    sys.stdout.write("".join(line.rstrip() + "\n" for line in capture.get().splitlines()))


def _widths(screen: int, cells: Sequence[Sequence[str]], numbers: frozenset[int]) -> list[int]:
    """Return the width of each column; an empty list where the screen is too narrow for columns."""
    natural_widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    widths = [w if k in numbers else min(w, _READABLE) for k, w in enumerate(natural_widths)]
    spare_width = screen - _BETWEEN * (len(natural_widths) - 1) - sum(widths)
    for k, w in enumerate(natural_widths):
        added_width = min(w - widths[k], max(spare_width, 0))
        widths[k] += added_width
        spare_width -= added_width
    return widths if spare_width >= 0 else []


def _print_columns(
    console: Console, head: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int], numbers: frozenset[int]
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(head))
    for k, (name, width) in enumerate(zip(head, widths, strict=True)):
        table.add_column(Text(name), justify="right" if k in numbers else "left", width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text(sanitise(cell), style=_STYLES.get(cell, "")) for cell in row))
    console.print(table)


def _print_records(console: Console, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print each row as lines: its first cell, then the others that are not empty, under their names."""
    from rich.padding import Padding
    from rich.text import Text

    for row in rows:
        console.print(Text(sanitise(row[0]), style="bold", overflow="fold"))
        for name, cell in zip(head[1:], row[1:], strict=True):
            if cell:
                console.print(
                    Padding(Text(sanitise(f"{name} {cell}"), style=_STYLES.get(cell, ""), overflow="fold"), (0, 0, 0, 2))
                )


def print_text(text: object) -> None:
    """Print a text; in a terminal its long lines are broken at words, and continuations are indented."""
    width = shutil.get_terminal_size().columns
    for line in sanitise(str(text)).splitlines():
        if not sys.stdout.isatty() or len(line) < width:
            print(line)
            continue
        print(
            textwrap.fill(line, width - 1, subsequent_indent=" " * _hanging(line), break_long_words=False, break_on_hyphens=False)
        )


def _hanging(line: str) -> int:
    """Return the indent of continuation lines: below the text after a label or a column near the left, else by 4."""
    start = len(line) - len(line.lstrip())
    label = re.match(r"\s*(?:[\w ]{1,20}: |- )", line)
    columns = [gap.end() for gap in re.finditer(r"(?<=\S) {2,}", line) if gap.end() <= _FAR]
    return min(label.end(), 16) if label else max(columns, default=start + 4)


def output_folder(name: str, option: str) -> Path:
    """Create a folder if it is missing and return its path; raise InputError, naming ``option``, if it is not writable."""
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{option}: the folder {folder} cannot be made: {error}") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option}: nothing can be written to the folder {folder}")
    return folder
