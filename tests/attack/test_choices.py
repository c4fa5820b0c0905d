"""A part of the attacks on what is chosen beside a solve and on problems in disguise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attack_choices
import attack_disguises
import pytest
from effort import trials
from families import Family

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("family", dict.fromkeys(attack_choices.FAMILIES), ids=lambda family: str(family.__name__))
def test_choices_are_what_they_say(family: Family) -> None:
    assert not _faults(attack_choices.FAMILIES, attack_choices.attack, family, trials(1, 20))


@pytest.mark.parametrize("family", dict.fromkeys(attack_disguises.FAMILIES), ids=lambda family: str(family.__name__))
def test_a_problem_in_disguise_has_the_same_optimum(family: Family) -> None:
    assert not _faults(attack_disguises.FAMILIES, attack_disguises.attack, family, trials(2, 20))


def _faults(families: Sequence[Family], attack: Callable[[int], tuple[str, str]], family: Family, count: int) -> list[str]:
    place = families.index(family)
    tried = map(attack, range(place, place + count * len(families), len(families)))
    return [f"{what}: {fault}" for what, fault in tried if fault]
