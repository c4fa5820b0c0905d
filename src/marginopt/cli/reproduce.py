"""``marginopt reproduce``: its options and what it does."""

from __future__ import annotations

import argparse
import sys

from .commands import SOLVED, json_text
from .parsing import Command

#: Names of `marginopt.reproduction.protocol_size.EFFORTS`; without a clone the options are printed all the same.
EFFORTS = ("quick", "reduced", "full")


def add_options(command: Command) -> None:
    """Add the options of ``marginopt reproduce``."""
    command.add_argument("names", nargs="*", help="papers, tables or figures; without any they are listed")
    command.add_argument("--all", action="store_true", help="every table and figure of every paper")
    much = command.add_mutually_exclusive_group()
    much.add_argument(
        "--effort", choices=EFFORTS, help="one row of each table; all rows, thinned; the paper's protocol (default)"
    )
    much.add_argument("--quick", action="store_true", help="the same as --effort quick; with no name, of every table")
    command.add_argument(
        "--row", action="append", default=[], metavar="ROW", dest="rows", help="measure this row alone, by its first label"
    )
    command.add_argument("--repetitions", type=int, metavar="R", help="at most so many in place of the effort's")
    command.add_argument("--out", default="out/papers", help="folder to write the pages to (default out/papers)")
    command.add_argument("--store", metavar="FILE", help="keeps every run that is done (default OUT/runs.db)")
    command.add_argument("--stored", action="store_true", help="write the pages from what the store has; run nothing")
    command.add_argument(
        "--update",
        action="store_true",
        help="keep the cells and figures that the pages in OUT have and this run has not, at whatever effort they were measured",
    )
    command.add_argument(
        "--ledger", action="store_true", help="count the cells of the pages in OUT again and write its README.md; run nothing"
    )
    command.add_argument("--jobs", type=int, help="runs at a time, -1 for all cores (default 1)")
    command.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler (tcp://host:8786): its workers measure")
    command.add_argument("--quiet", action="store_true", help="no progress lines")


def reproduce(a: argparse.Namespace) -> int:
    """List the tables, or run them and write their pages."""
    from ..reproduction.command import count_cells, list_tables, measure  # a clone has it; elsewhere the import says so

    data: object
    if a.ledger:
        data, text = count_cells(a)
    else:
        data, text = measure(a) if a.names or a.all or a.quick else list_tables()
    sys.stdout.write((json_text(data) if a.json else text) + "\n")
    return SOLVED
