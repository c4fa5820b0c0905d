"""Edited results, reports, books and estimators, packed logs, odd options: nothing false is claimed, all errors are ours."""

from __future__ import annotations

from collections.abc import Callable

import attack_options
import attack_stores
import pytest
from effort import trials

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("attack", "cases"),
    [
        (attack_stores.attack_results, trials(15, 60)),
        (attack_stores.attack_reports, trials(5, 15)),
        (attack_stores.attack_pages, trials(15, 60)),
        (attack_stores.attack_book, trials(10, 40)),
        (attack_stores.attack_fitted, trials(15, 60)),
        (attack_stores.attack_bombs, 3),
        (attack_options.attack, trials(15, 60)),
    ],
    ids=["results", "reports", "pages", "book", "fitted", "bombs", "options"],
)
def test_stores_and_options(attack: Callable[[int], tuple[str, str]], cases: int) -> None:
    faults = [f"{what}: {fault}" for what, fault in map(attack, range(cases)) if fault]
    assert not faults, faults
