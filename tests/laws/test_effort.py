"""A part of many cells is spread over all of them, has every kind, and is all of them at full effort."""

from __future__ import annotations

from itertools import product

import effort
import pytest


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "FULL", False)


@pytest.mark.usefixtures("quick")
def test_a_part_goes_from_the_first_to_the_last() -> None:
    for count, few in product(range(1, 30), range(1, 12)):
        chosen = effort.part(range(count), few)
        assert len(chosen) == min(few, count) and chosen == sorted(set(chosen))
        assert chosen[0] == 0 and (few == 1 or chosen[-1] == count - 1)


@pytest.mark.usefixtures("quick")
def test_every_row_and_every_column_is_there() -> None:
    cells = effort.part(product("abcd", range(4)), 1, kind=lambda cell: cell[0])
    assert cells == [("a", 0), ("b", 1), ("c", 2), ("d", 3)]
    turned = [effort.part(range(12), 3, turn=turn) for turn in range(6)]
    assert {cell for chosen in turned for cell in chosen} == set(range(12)) and all(len(set(chosen)) == 3 for chosen in turned)


def test_all_is_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "FULL", True)
    assert effort.part(iter(range(9)), 2, kind=lambda cell: cell % 2, turn=1) == list(range(9)) and effort.trials(1, 5) == 5
