"""A small piece of the attack on estimators, whose whole is ``run.py --only estimators``."""

from __future__ import annotations

import attack_estimators as estimators
from effort import trials


def test_estimators_on_moved_and_scaled_data() -> None:
    assert not [what for what in map(estimators.attack, range(trials(12, 48))) if what[1]]
