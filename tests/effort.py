"""How much of a law is tried: a part by default, and all of it with ``MARGINOPT_TEST_EFFORT=full`` (`make test-full`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import pytest

Cell = TypeVar("Cell")

FULL = os.environ.get("MARGINOPT_TEST_EFFORT", "") == "full"
#: A dear test whose law has a cheaper cell that always runs.
at_full_effort = pytest.mark.skipif(not FULL, reason="at full effort alone: make test-full")


def trials(few: int, full: int) -> int:
    """Return the number of trials of a law: ``full`` where the environment asks for it, ``few`` otherwise."""
    return full if FULL else few


def part(cells: Iterable[Cell], few: int, kind: Callable[[Cell], Hashable] | None = None, turn: int = 0) -> list[Cell]:
    """Return ``few`` cells, evenly spread from the first to the last, in their order; all where the environment asks for it.

    With ``kind``, each kind of cell has so many; a kind with fewer has all of its own. ``turn`` moves all of them on, each kind
    by one more: rows that take some of the same columns each take others.
    """
    cells = list(cells)
    if FULL:
        return cells
    kinds: dict[Hashable, list[int]] = {}
    for place, cell in enumerate(cells):
        kinds.setdefault(kind(cell) if kind is not None else None, []).append(place)
    chosen = (place for number, places in enumerate(kinds.values()) for place in _spread(places, few, turn + number))
    return [cells[place] for place in sorted(chosen)]


def _spread(places: list[int], few: int, turn: int) -> list[int]:
    if few >= len(places):
        return places
    last = len(places) - 1
    return [places[(k * last // max(few - 1, 1) + turn) % len(places)] for k in range(few)]
