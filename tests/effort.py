"""Effort of the tests: a part of the cases by default, all of them with ``MARGINOPT_TEST_EFFORT=full`` (`make test-full`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

import pytest

Cell = TypeVar("Cell")

#: Whether all cases are tested.
FULL = os.environ.get("MARGINOPT_TEST_EFFORT", "") == "full"
#: Mark of an expensive test that runs at full effort only; a cheaper case of it always runs.
at_full_effort = pytest.mark.skipif(not FULL, reason="at full effort alone: make test-full")


def trials(few: int, full: int) -> int:
    """Return the number of trials of a test: ``full`` at full effort, ``few`` otherwise."""
    return full if FULL else few


def part(cells: Iterable[Cell], few: int, kind: Callable[[Cell], Hashable] | None = None, turn: int = 0) -> list[Cell]:
    """Return ``few`` of the cases ``cells``, evenly spread and in their order; all of them at full effort.

    With ``kind``, so many of each kind are returned. ``turn`` shifts the choice, for each further kind by one more, so that calls
    with different turns choose different cases.
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
