"""Registry of the relaxations: every module of ``relaxations/bounds`` that defines ``RELAXATIONS``, and those of plug-ins.

Nothing is listed by hand: a relaxation is one file, which holds its reduction, its proof and its `Relaxation` record.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

from .. import extensions
from ..errors import InputError, unknown_name
from ..models.model import Model
from . import bounds
from .reduction import Reduction, Relaxation


class RelaxationTable(Mapping[str, Relaxation]):
    """Relaxations by name, the weaker bounds first.

    Parameters
    ----------
    records : mapping of str to Relaxation
        Records by name, in any order.
    """

    def __init__(self, records: Mapping[str, Relaxation]) -> None:
        self._records = dict(sorted(records.items(), key=lambda item: (item[1].rank, item[0])))

    def __getitem__(self, name: str) -> Relaxation:
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __str__(self) -> str:
        rows = [("name", "reads", "summary"), *((r.name, r.applicability, r.summary) for r in self.values())]
        widths = [max(len(row[k]) for row in rows) for k in (0, 1)]
        return "\n".join(f"{name.ljust(widths[0])}  {reads.ljust(widths[1])}  {summary}" for name, reads, summary in rows)

    __repr__ = __str__


@functools.cache
def _found() -> dict[str, Relaxation]:
    registered: dict[str, Relaxation] = {}
    for module in pkgutil.iter_modules(bounds.__path__):
        for record in getattr(importlib.import_module(f"{bounds.__name__}.{module.name}"), "RELAXATIONS", ()):
            if record.name in registered:
                raise RuntimeError(f"two relaxations are called {record.name!r}")
            registered[record.name] = record
    return registered


def _accept(candidate: object) -> Relaxation | None:
    if isinstance(candidate, Reduction) or (isinstance(candidate, type) and issubclass(candidate, Reduction)):
        raise InputError(
            "a relaxation comes with its record: give Relaxation(name, summary, reduction, reference)", name="relaxation"
        )
    return candidate if isinstance(candidate, Relaxation) else None


#: Relaxations of other packages and of the session.
EXTENSIONS: extensions.PluginRegistry[Relaxation] = extensions.PluginRegistry(
    "marginopt.relaxations", "a relaxation", _accept, name_of=lambda record: record.name, builtin_names=_found
)


def relaxations() -> RelaxationTable:
    """Return every relaxation by name: what it solves and what it reads.

    Returns
    -------
    RelaxationTable
        A mapping of name to `Relaxation`, which prints as a table.
    """
    return RelaxationTable({**_found(), **EXTENSIONS.usable()})


def get_relaxation(name: str) -> Relaxation:
    """The relaxation of this name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Relaxation

    Raises
    ------
    InputError
        There is none; names the nearest that exist.
    ExtensionError
        Another package promises it, and it cannot be used.
    """
    table = relaxations()
    if name not in table:
        EXTENSIONS.get(name)  # says why where a package promised it
        raise unknown_name("relaxation", name, table)
    return table[name]


def reduction_of(relaxation: Reduction[Any] | str) -> Reduction[Any]:
    """A reduction as it is, or the one of a relaxation's name."""
    if isinstance(relaxation, str):
        return get_relaxation(relaxation).reduction
    if not isinstance(relaxation, Reduction):
        raise InputError(
            f"a relaxation is an object, rx.Conic() say, or its name; got {type(relaxation).__name__}", name="relaxation"
        )
    return relaxation


def default_relaxations() -> tuple[Reduction[Any], ...]:
    """Return the relaxations of a report that names none: big-M at several M, the hinge as it is used, the SDP, and the SDP with
    big-M rows.

    Returns
    -------
    tuple of Reduction
        The weaker bounds first.
    """
    return tuple(record.reduction for record in relaxations().values() if record.default)


def bounding(model: Model) -> tuple[Reduction[Any], ...]:
    """Every relaxation that reads a model and whose optimum bounds the model's from below."""
    original: Any = model
    reading = [record.reduction for record in relaxations().values() if not record.reduction.obstacle(model)]
    return tuple(reduction for reduction in reading if not reduction.caveat(original))


def readers(model: Model) -> list[str]:
    """Names of the relaxations that read a model."""
    return [record.name for record in relaxations().values() if not record.reduction.obstacle(model)]
