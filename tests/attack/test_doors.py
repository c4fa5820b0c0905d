"""Other libraries' problems, rows on disk, checkpoints, depths, proofs, reports, kernels of parts: answers or our own errors."""

from __future__ import annotations

import attack_doors as attack
import pytest


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", range(len(attack.FAMILIES)), ids=[f.__name__ for f in attack.FAMILIES])
def test_nothing_but_our_errors_escapes_and_what_is_claimed_is_so(family: int) -> None:
    numbers = range(family, 8 * len(attack.FAMILIES), len(attack.FAMILIES))
    assert not [what for what in map(attack.attack, numbers) if what[1]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [34, 57, 137, 158, 200, 350, 386, 485, 705])
def test_what_escaped_once(number: int) -> None:
    """Objects as points, a problem without a list, numbers as relaxations and bounds, a kernel matrix of 1e308, bounds of inf."""
    what, fault = attack.attack(number)
    assert not fault, (what, fault)
