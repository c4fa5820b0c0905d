"""Wild inputs to every formulation: what escapes is one of our errors."""

from __future__ import annotations

import attack_inputs as attack
import pytest


@pytest.mark.filterwarnings("ignore")
def test_wild_inputs_are_refused_in_our_words() -> None:
    escaped = [what for what in map(attack.attack, range(160)) if what[1]]
    assert not escaped
