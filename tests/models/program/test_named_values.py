"""Values by name: a variable may have the name of the block that it is in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import InputError

PROGRAM = """Maximize
 profit: 3 x + 2 y + 4 z
Subject To
 demand: x + y + z <= 10
Bounds
 0 <= x <= 5
 0 <= y <= 6
 0 <= z <= 7
End
"""


def test_a_variable_called_as_its_block_is_given_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.lp"
    path.write_text(PROGRAM)
    form = mo.read(path)
    label = form.blocks[0].label
    assert label in form.names()  # or the law says nothing
    by_name = mo.certify(form, {"x": 3.0, "y": 0.0, "z": 7.0})
    by_block = mo.certify(form, {label: np.array([3.0, 0.0, 7.0])})
    assert by_name.objective == by_block.objective
    assert abs(by_name.objective) == pytest.approx(37.0)
    for wrong in ({"x": 3.0}, {"x": 3.0, "y": 0.0}, {label: [3.0, 0.0]}):
        with pytest.raises(InputError):
            mo.certify(form, wrong)
