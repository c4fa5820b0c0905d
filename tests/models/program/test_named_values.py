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
    assert label not in form.names()
    by_name = mo.certify(form, {"x": 3.0, "y": 0.0, "z": 7.0})
    by_block = mo.certify(form, {label: np.array([3.0, 0.0, 7.0])})
    assert by_name.objective == by_block.objective
    assert abs(by_name.objective) == pytest.approx(37.0)
    for wrong in ({"x": 3.0}, {"x": 3.0, "y": 0.0}, {label: [3.0, 0.0]}):
        with pytest.raises(InputError):
            mo.certify(form, wrong)


def test_print_tells_types_and_bounds_of_many_named_variables_apart(tmp_path: Path) -> None:
    """A block with integers is not integer: a row of the print for each type and pair of bounds, which names its variables."""
    names = [f"open{k}" for k in range(4)] + [f"ship{k}" for k in range(16)]
    terms = " + ".join(names)
    text = (
        f"Minimize\n obj: {terms}\nSubject To\n total: {terms} >= 3\nBounds\n ship3 <= 7\nBinaries\n {' '.join(names[:4])}\nEnd\n"
    )
    (tmp_path / "plan.lp").write_text(text)
    lines = [line.split() for line in str(mo.read(tmp_path / "plan.lp")).splitlines()]
    kinds = {tuple(line[line.index("in") :][:3]): line for line in lines if "in" in line and "[0," in line}
    assert [kind[2] for kind in kinds] == ["1]:", "inf):", "7]:"] and "integer," in kinds["in", "[0,", "1]:"]
    assert "open3" in kinds["in", "[0,", "1]:"] and "ship3" in kinds["in", "[0,", "7]:"]
    assert all("integer," not in line for kind, line in kinds.items() if kind[2] != "1]:")
