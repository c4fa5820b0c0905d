"""Wild inputs to every formulation: what escapes is one of our errors."""

from __future__ import annotations

import attack_inputs as attack
import pytest


@pytest.mark.filterwarnings("ignore")
def test_wild_inputs_are_refused_in_our_words() -> None:
    escaped = [what for what in map(attack.attack, range(160)) if what[1]]
    assert not escaped


@pytest.mark.filterwarnings("ignore")
def test_inputs_that_escaped_once() -> None:
    """Labels of unequal lengths, data whose squares overflow, weights that are no numbers."""
    for number in (810, 3324, 4530):
        what, fault = attack.attack(number)
        assert not fault, (what, fault)
