"""Find variables and rows by the names that users write: ``w[age]``, ``age``, or ``open`` for all of ``open[north]``,
``open[south]``.

A Pyomo model, a gurobipy model and a file name the entries of an indexed variable ``open[north]`` and ``open[south]``, or with
parentheses. The form may hold them as blocks of their own or inside a larger block; ``open`` names them all, in the form's order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from ...errors import InputError, unknown_name

#: Brackets that packages and files put around an index.
_BRACKETS = (("[", "]"), ("(", ")"))


class NamedEntries(Protocol):
    """The protocol of what has a label and names of its entries: a block of variables or a constraint."""

    @property
    def label(self) -> str:
        """Return the label of the block or constraint."""

    def names(self) -> list[str]:
        """Return one name for each entry."""


NamedT = TypeVar("NamedT", bound=NamedEntries)


def find_entry(blocks: Sequence[NamedT], name: str, noun: str = "block or variable") -> tuple[NamedT, int]:
    """Return the block that has an entry of this name, ``w[age]``, and the entry's place in the block; likewise for rows of
    constraints.

    What is in the brackets, ``age``, is enough where one variable has it.

    Raises
    ------
    InputError
        No variable has this name; suggests the nearest ones.
    """
    names: dict[str, list[str]] = {b.label: b.names() for b in blocks}
    for full_names in ([name for _ in blocks], [f"{block.label}[{name}]" for block in blocks]):
        places = [(b, names[b.label].index(full)) for b, full in zip(blocks, full_names, strict=True) if full in names[b.label]]
        if len(places) == 1:
            return places[0]
    entries = [entry for block_names in names.values() for entry in block_names]
    raise unknown_name(noun, name, dict.fromkeys([*filter(None, map(indexed_variable_of, entries)), *names, *entries]))


def find_indexed_entries(blocks: Iterable[NamedT], name: str) -> list[tuple[NamedT, int]]:
    """Return all entries of an indexed variable, each as its block and its place there; empty if no variable has this name."""
    if not name:
        return []
    return [
        (b, place)
        for b in blocks
        if b.label != name
        for place, entry in enumerate(b.names())
        if indexed_variable_of(entry) == name
    ]


def split_indexed_values(blocks: Sequence[NamedEntries], values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the values of indexed variables by one value for each entry: ``{"open": [1, 0]}``, or ``{"open": {"north": 1}}``.

    Raises
    ------
    InputError
        Another number of values than the indexed variable has entries, or an index that it does not have.
    """
    labels = {block.label for block in blocks}
    flat: dict[str, Any] = {}
    for name, value in values.items():
        entries = [] if name in labels else [block.names()[place] for block, place in find_indexed_entries(blocks, name)]
        flat |= _by_entry(name, entries, value) if entries else {name: value}
    return flat


def _by_entry(name: str, entries: list[str], value: Any) -> dict[str, Any]:
    """Return the values of the entries of one indexed variable by their names."""
    if isinstance(value, Mapping):
        indices = {entry[len(name) + 1 : -1]: entry for entry in entries}
        by_index = {",".join(map(str, index)) if isinstance(index, tuple) else str(index): v for index, v in value.items()}
        for index in by_index.keys() - indices.keys():
            raise unknown_name(f"index of {name}", index, indices)
        return {indices[index]: v for index, v in by_index.items()}
    numbers = np.asarray(value)
    if numbers.size != len(entries):
        raise InputError(
            f"{name} has {len(entries)} entries, {entries[0]} the first: give as many values, not {numbers.size}", name=name
        )
    return dict(zip(entries, numbers.ravel().tolist(), strict=True))


def indexed_variable_of(name: str) -> str:
    """Return the indexed variable of an entry's name, ``open`` of ``open[north]``; empty for a name without an index."""
    # exempt (text): a variable's name, another package's or a file's
    return next((name.partition(left)[0] for left, right in _BRACKETS if name.endswith(right) and left in name), "")
