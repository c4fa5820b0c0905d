"""The formulations, one or a few related ones in a file, and their registry: ``models.formulations()`` is the table of all.

Nothing is listed by hand: every module below this package that defines ``FORMULATIONS`` is found by a scan. Formulations of
other packages and of the session are in the registry `EXTENSIONS`. Docstrings and statements abbreviate four sources: *Conic*
(Cepeda, Gómez and Han, 2024), *FW* (Frandi et al., 2013), *MaxMin* (Luo et al., 2023) and *NPSVC++* (Zhang et al., 2024);
records hold the full references.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from inspect import isabstract

from ... import extensions
from ...display import Display, Displayable, Tabular, column_lines
from ...errors import InputError, short_text, unknown_name
from ..model import Model
from ..record import FormulationInfo

__all__ = [
    "EXTENSIONS",
    "FormulationTable",
    "all_formulations",
    "find_formulation",
    "get_formulation",
    "public_formulations",
    "table",
]


class FormulationTable(Displayable, Tabular, Mapping[str, FormulationInfo]):
    """The table of formulations: their records by name; printable.

    Parameters
    ----------
    records : iterable of FormulationInfo
    failures : mapping of str to str, optional
        For each formulation of another package that did not load, the sentence that says why.
    """

    def __init__(self, records: Iterable[FormulationInfo], failures: Mapping[str, str] | None = None) -> None:
        self._records = {info.name: info for info in records}
        self.failures = dict(failures or {})

    def __getitem__(self, name: str) -> FormulationInfo:
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def rows(self) -> tuple[dict[str, str], ...]:
        """Return one dictionary for each formulation, for tables and JSON."""
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
        lines = column_lines([columns, *(tuple(row[c] for c in columns) for row in self.rows)])
        return "\n".join([*lines, *self.failures.values()])

    def records(self) -> tuple[dict[str, str], ...]:
        """Return the rows."""
        return self.rows

    def display(self) -> Display:
        """Return the notebook view."""
        head = tuple(self.rows[0])
        return Display(head=head, words=head, rows=tuple(tuple(row.values()) for row in self.rows))


@functools.cache
def built_in() -> tuple[FormulationInfo, ...]:
    """Return the records of marginopt's own formulations, from every module below this package."""
    modules = pkgutil.walk_packages(__path__, __name__ + ".")
    records = [info for m in modules for info in getattr(importlib.import_module(m.name), "FORMULATIONS", ())]
    for labels in ([info.name for info in records], [info.key for info in records]):
        if len(set(labels)) < len(labels):
            raise RuntimeError(
                f"two formulations are called {short_text(next(name for name in labels if labels.count(name) > 1))}"
            )
    return tuple(sorted(records, key=lambda info: info.name))


def _accept(candidate: object) -> FormulationInfo | None:
    if isinstance(candidate, Model) or (isinstance(candidate, type) and issubclass(candidate, Model)):
        name = candidate.__name__ if isinstance(candidate, type) else type(candidate).__name__
        raise InputError(
            f"a formulation is added by its record: FormulationInfo({name}, name=..., build=..., ...)", name="formulation"
        )
    if not isinstance(candidate, FormulationInfo):
        return None
    if isabstract(candidate.model):
        raise InputError(
            f"{candidate.key} is abstract: it lacks {', '.join(sorted(candidate.model.__abstractmethods__))}", name=candidate.key
        )
    if any(candidate.key == info.key and candidate is not info for info in built_in()):
        raise InputError(
            f"the class {candidate.key} has the name of one of marginopt's own, which result files use; choose another",
            name=candidate.key,
        )
    return candidate


#: Formulations of other packages and of the session.
EXTENSIONS: extensions.PluginRegistry[FormulationInfo] = extensions.PluginRegistry(
    "marginopt.formulations",
    "a formulation",
    _accept,
    name_of=lambda info: info.name,
    builtin_names=lambda: {info.name for info in built_in()},
)


def all_formulations() -> FormulationTable:
    """Return the table of all formulations: marginopt's own, then those of other packages and of the session."""
    return FormulationTable((*built_in(), *EXTENSIONS.usable().values()), EXTENSIONS.failures())


def get_formulation(name: str) -> FormulationInfo:
    """Return the record of the formulation with this name, or with this class.

    Raises
    ------
    InputError
        No formulation has this name or class; the message names the nearest ones.
    ExtensionError
        Another package registers the formulation, but it cannot be loaded.
    """
    for info in built_in():
        if name in (info.name, info.key):
            return info
    outside = EXTENSIONS.get(name)
    if outside is not None:
        return outside
    table = all_formulations()
    for info in table.values():
        if info.key == name:
            return info
    raise unknown_name("formulation", name, table)


def public_formulations() -> tuple[FormulationInfo, ...]:
    """Return the records whose classes are names of ``marginopt``: its own and the session's, not those of other packages."""
    return (*built_in(), *EXTENSIONS.session.values())


def find_formulation(name: str) -> FormulationInfo | None:
    """Return the record of `public_formulations` that exports this name; None without one."""
    return next((info for info in public_formulations() if name in info.public), None)


#: The table of formulations, as type checkers read the call of this package.
table = all_formulations
extensions.make_package_callable(__name__, table)
