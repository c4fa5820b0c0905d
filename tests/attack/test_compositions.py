"""Some of the compositions of ``run.py``, with their proof logs, true and forged."""

from __future__ import annotations

import attack_compositions as compositions
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("part", range(3))
def test_no_answer_and_no_forged_log_is_above_the_optimum(part: int) -> None:
    assert not [what for what in map(compositions.attack, range(20 * part, 20 * part + 20)) if what[1]]
