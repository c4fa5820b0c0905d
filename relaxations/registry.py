"""The registry of relaxations by name: the records ``RELAXATIONS`` of the modules of ``relaxations/bounds``, and of plug-ins."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from .. import extensions
from ..display import column_lines
from ..errors import InputError, short_text, unknown_name
from ..models.model import Model
from . import bounds
from .reduction import Reduction, Relaxation


class RelaxationTable(dict[str, Relaxation]):
    """Relaxations by name, the weaker bounds first; prints as a table.

    Parameters
    ----------
    records : mapping of str to Relaxation
        Records by name, in any order.
    """

    def __init__(self, records: Mapping[str, Relaxation]) -> None:
        super().__init__(sorted(records.items(), key=lambda item: (item[1].rank, item[0])))

    def __str__(self) -> str:
        rows = ([r.name, r.applicability, r.summary] for r in self.values())
        return "\n".join(column_lines([["name", "reads", "summary"], *rows]))

    __repr__ = __str__


@functools.cache
def _builtin() -> dict[str, Relaxation]:
    registered: dict[str, Relaxation] = {}
    for module in pkgutil.iter_modules(bounds.__path__):
        for record in getattr(importlib.import_module(f"{bounds.__name__}.{module.name}"), "RELAXATIONS", ()):
            if record.name in registered:
                raise RuntimeError(f"two relaxations are called {short_text(record.name)}")
            registered[record.name] = record
    return registered


def _accept(candidate: object) -> Relaxation | None:
    if isinstance(candidate, Reduction) or (isinstance(candidate, type) and issubclass(candidate, Reduction)):
        raise InputError(
            "a relaxation comes with its record: give Relaxation(name, summary, reduction, reference)", name="relaxation"
        )
    return candidate if isinstance(candidate, Relaxation) else None


#: Registry of the relaxations that plug-ins and the running session add.
EXTENSIONS: extensions.PluginRegistry[Relaxation] = extensions.PluginRegistry(
    "marginopt.relaxations", "a relaxation", _accept, name_of=lambda record: record.name, builtin_names=_builtin
)


def relaxations() -> RelaxationTable:
    """Return the record of every relaxation by name.

    Returns
    -------
    RelaxationTable
        A mapping of name to `Relaxation`, which prints as a table.
    """
    return RelaxationTable({**_builtin(), **EXTENSIONS.usable()})


def get_relaxation(name: str) -> Relaxation:
    """Return the record of the relaxation of this name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Relaxation

    Raises
    ------
    InputError
        No relaxation has this name; the message lists similar names.
    ExtensionError
        Another package promises it, and it cannot be used.
    """
    table = relaxations()
    if name not in table:
        EXTENSIONS.get(name)  # says why where a package promised it
        raise unknown_name("relaxation", name, table)
    return table[name]


def reduction_of(relaxation: Reduction[Any] | str) -> Reduction[Any]:
    """Return the reduction that is given, or that of the relaxation of a name; `InputError` for anything else."""
    if isinstance(relaxation, str):
        return get_relaxation(relaxation).reduction
    if not isinstance(relaxation, Reduction):
        raise InputError(
            f"a relaxation is an object, rx.Conic() say, or its name; got {type(relaxation).__name__}", name="relaxation"
        )
    return relaxation


def default_relaxations() -> tuple[Reduction[Any], ...]:
    """Return the reductions of a gap report that names none: big-M at several M, the hinge, the SDP, the SDP with big-M rows.

    Returns
    -------
    tuple of Reduction
        The weaker bounds first.
    """
    return tuple(record.reduction for record in relaxations().values() if record.default)


def bounding_relaxations(model: Model) -> tuple[Reduction[Any], ...]:
    """Return the reductions that read a model and have no caveat for it: their optima bound the model's from below."""
    original: Any = model
    reading = [record.reduction for record in relaxations().values() if not record.reduction.obstacle(model)]
    return tuple(reduction for reduction in reading if not reduction.caveat(original))


def applicable_names(model: Model) -> list[str]:
    """Return the names of the relaxations that read a model, in the order of `relaxations`."""
    return [record.name for record in relaxations().values() if not record.reduction.obstacle(model)]
