"""Tables and figures of the papers by name, found by a scan of the papers' folders."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Sequence

from marginopt.errors import InputError, near_names

from .record import PAPERS, PaperFigure, PaperTable

_FOLDERS = ("conic", "max_min", "nonparallel", "frank_wolfe")
#: Other words for a paper, alone or before "-table-1".
_SHORT = {"fw": "frank-wolfe", "maxmin": "max-min", "npsvc++": "npsvc"}


@functools.cache
def _modules() -> tuple[object, ...]:
    home = __name__.rpartition(".")[0]
    folders = [importlib.import_module(f"{home}.{folder}") for folder in _FOLDERS]
    return tuple(
        importlib.import_module(f"{folder.__name__}.{module.name}")
        for folder in folders
        for module in pkgutil.iter_modules(folder.__path__)
    )


@functools.cache
def tables() -> dict[str, PaperTable]:
    """The tables by name, paper by paper."""
    table_list = [table for module in _modules() for table in getattr(module, "TABLES", ())]
    return {table.name: table for table in sorted(table_list, key=_order)}


@functools.cache
def figures() -> dict[str, PaperFigure]:
    """The figures by name, paper by paper."""
    figure_list = [figure for module in _modules() for figure in getattr(module, "FIGURES", ())]
    return {figure.name: figure for figure in sorted(figure_list, key=_order)}


def _order(one: PaperTable | PaperFigure) -> tuple[int, str]:
    return list(PAPERS).index(one.paper.name), one.name


def asked(names: Sequence[str]) -> tuple[list[PaperTable], list[PaperFigure]]:
    """Tables and figures of names: of a table, of a figure, of a paper (all that it has); all where none is given.

    "fw" is "frank-wolfe", "fw-table-2" its Table 2; "maxmin" and "npsvc++" are understood too.
    """
    long = [_long(name) for name in names]
    for name in long:
        if name not in PAPERS and name not in tables() and name not in figures():
            known = [*PAPERS, *tables(), *figures()]
            close = near_names(name, known, 4)
            hint = f"did you mean {' or '.join(close)}?" if close else f"papers are {', '.join(PAPERS)}."
            message = f"no paper, table or figure is called {name!r}; {hint} marginopt reproduce lists them"
            raise InputError(message, name=name, allowed=known)
    wanted = set(long)

    def chosen(one: PaperTable | PaperFigure) -> bool:
        return not wanted or one.name in wanted or one.paper.name in wanted

    return [t for t in tables().values() if chosen(t)], [f for f in figures().values() if chosen(f)]


def _long(name: str) -> str:
    """A name with the paper's own word in it."""
    first, dash, rest = name.partition("-")
    return f"{_SHORT.get(first, first)}{dash}{rest}"
