"""Find the papers' tables and figures by name: the records ``TABLES`` and ``FIGURES`` of the modules in the papers' folders."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Sequence

from marginopt.errors import InputError, near_names

from .record import PAPERS, PaperFigure, PaperTable

#: Other words for a paper, alone or before "-table-1".
_SHORT = {"fw": "frank-wolfe", "maxmin": "max-min", "npsvc++": "npsvc"}


@functools.cache
def _modules() -> tuple[object, ...]:
    home = __name__.rpartition(".")[0]
    folders = [importlib.import_module(f"{home}.{name.replace('-', '_')}") for name in PAPERS]
    return tuple(
        importlib.import_module(f"{folder.__name__}.{module.name}")
        for folder in folders
        for module in pkgutil.iter_modules(folder.__path__)
    )


@functools.cache
def paper_tables() -> dict[str, PaperTable]:
    """Return all tables by name, paper by paper."""
    table_list = [table for module in _modules() for table in getattr(module, "TABLES", ())]
    return {table.name: table for table in sorted(table_list, key=_order)}


@functools.cache
def paper_figures() -> dict[str, PaperFigure]:
    """Return all figures by name, paper by paper."""
    figure_list = [figure for module in _modules() for figure in getattr(module, "FIGURES", ())]
    return {figure.name: figure for figure in sorted(figure_list, key=_order)}


def _order(one: PaperTable | PaperFigure) -> tuple[int, str]:
    return list(PAPERS).index(one.paper.name), one.name


def tables_and_figures(names: Sequence[str]) -> tuple[list[PaperTable], list[PaperFigure]]:
    """Return the tables and figures that names select: a paper's name selects all of its own, no name selects everything.

    "fw" is "frank-wolfe", "fw-table-2" its Table 2; "maxmin" and "npsvc++" are understood too.
    """
    long = [_long(name) for name in names]
    for name in long:
        if name not in PAPERS and name not in paper_tables() and name not in paper_figures():
            known = [*PAPERS, *paper_tables(), *paper_figures()]
            close = near_names(name, known, 4)
            hint = f"did you mean {' or '.join(close)}?" if close else f"papers are {', '.join(PAPERS)}."
            message = f"no paper, table or figure is called {name!r}; {hint} marginopt reproduce lists them"
            raise InputError(message, name=name, allowed=known)
    wanted = set(long)

    def chosen(one: PaperTable | PaperFigure) -> bool:
        return not wanted or one.name in wanted or one.paper.name in wanted

    return [t for t in paper_tables().values() if chosen(t)], [f for f in paper_figures().values() if chosen(f)]


def _long(name: str) -> str:
    """A name with the paper's own word in it."""
    first, dash, rest = name.partition("-")
    return f"{_SHORT.get(first, first)}{dash}{rest}"
