"""Some of the compositions of ``run.py``, with their proof logs, true and forged."""

from __future__ import annotations

import attack_compositions as compositions
import attack_levels as levels
import pytest
from effort import trials

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("part", range(trials(2, 3)))
def test_no_answer_and_no_forged_log_is_above_the_optimum(part: int) -> None:
    assert not [what for what in map(compositions.attack, range(20 * part, 20 * part + trials(3, 20))) if what[1]]


def test_w_is_counted_in_rationals() -> None:
    assert not [what for what in map(compositions.attack_counted, range(70_000, 70_000 + trials(12, 60))) if what[1]]


def test_levels_in_any_place_and_scale() -> None:
    assert not [what for what in map(levels.attack, range(trials(10, 40))) if what[1]]


def test_a_checker_s_boxes_are_no_wider_than_the_search_s() -> None:
    """Its bound of a node was 5e-6 short: it rounds otherwise, and in 23 rounds on one box that grew to a hundredth of it."""
    assert compositions.attack(19923)[1] == ""
