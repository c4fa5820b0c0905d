"""The formulations, one file each, and their collection: ``models.formulations()``.

Nothing is listed by hand: every module below this package that defines ``FORMULATIONS`` is found by looking. What comes from
elsewhere is added by `register`.
"""

from __future__ import annotations

import difflib
import functools
import html
import importlib
import pkgutil
import sys
import types
from collections.abc import Iterable, Iterator, Mapping

from ...errors import InputError
from ..record import FormulationInfo

__all__ = ["FormulationTable", "all_formulations", "find_formulation", "get_formulation", "register"]

_REGISTERED: list[FormulationInfo] = []


class FormulationTable(Mapping[str, FormulationInfo]):
    """Records by name at the prompt; printable."""

    def __init__(self, records: Iterable[FormulationInfo]) -> None:
        self._records: dict[str, FormulationInfo] = {}
        keys: set[str] = set()
        for info in records:
            if info.name in self._records or info.key in keys:
                raise InputError(f"two formulations are called {info.name!r} or {info.key}; names and classes must differ")
            keys.add(info.key)
            self._records[info.name] = info

    def __getitem__(self, name: str) -> FormulationInfo:
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        """One dictionary for each formulation, for tables and JSON."""
        return tuple(
            {
                "name": info.name,
                "class": info.key,
                "stated on": info.data.value if not info.arrays else ", ".join(info.arrays),
                "parameters": ", ".join(p.name for p in info.parameters),
                "summary": info.summary,
                "reference": info.reference,
            }
            for info in self.values()
        )

    def __str__(self) -> str:
        columns = ("name", "class", "stated on", "summary", "reference")
        widths = {c: max([len(c), *(len(row[c]) for row in self.rows)]) for c in columns}
        lines = ["  ".join(c.ljust(widths[c]) for c in columns).rstrip()]
        lines += ["  ".join(row[c].ljust(widths[c]) for c in columns).rstrip() for row in self.rows]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{c}</th>" for c in self.rows[0])
        body = "".join("<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in row.values()) + "</tr>" for row in self.rows)
        return f"<table><tr>{head}</tr>{body}</table>"


@functools.cache
def _built_in() -> tuple[FormulationInfo, ...]:
    """The records of every module below this package."""
    modules = pkgutil.walk_packages(__path__, __name__ + ".")
    found = [info for m in modules for info in getattr(importlib.import_module(m.name), "FORMULATIONS", ())]
    return tuple(sorted(found, key=lambda info: info.name))


def _records() -> Iterator[FormulationInfo]:
    """Every record there is: our own, then those from elsewhere."""
    yield from _built_in()
    yield from _REGISTERED


def all_formulations() -> FormulationTable:
    """Every formulation by its name at the prompt."""
    return FormulationTable(_records())


def register(info: FormulationInfo) -> None:
    """Add a formulation for this session.

    Raises
    ------
    InputError
        Its name or its class is taken.
    """
    FormulationTable((*_records(), info))  # refuses what is taken
    _REGISTERED.append(info)


def get_formulation(name: str) -> FormulationInfo:
    """The formulation of this name at the prompt, or of this class.

    Raises
    ------
    InputError
        There is none; names the nearest that exist.
    """
    table = all_formulations()
    if name in table:
        return table[name]
    for info in table.values():
        if info.key == name:
            return info
    near = difflib.get_close_matches(str(name), table, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise InputError(f"there is no formulation {name!r}; {hint}known: {', '.join(table)}")


def find_formulation(name: str) -> FormulationInfo | None:
    """The record whose public names hold this one. Ours come first, so that no other package is loaded for them."""
    return next((info for info in _records() if name in info.public), None)


class _CallablePackage(types.ModuleType):
    """The package itself, callable: ``models.formulations()`` is the table, ``models.formulations.x`` its modules."""

    def __call__(self) -> FormulationTable:
        return all_formulations()


sys.modules[__name__].__class__ = _CallablePackage
