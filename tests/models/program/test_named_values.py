"""Values by name: a variable may have the name of the block that it is in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import StandardForm
from marginopt.models.program.cones import Nonnegative
from marginopt.models.program.form import Block, Constraint

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
    names = [f"open{k}" for k in range(4)] + [f"ship{k}" for k in range(32)]
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


INDEXED = """Maximize
 profit: 3 x[1] + 2 x[2] + 4 y - z(a,b) - 2 z(a,c)
Subject To
 cap[1]: x[1] + x[2] + y <= 10
 cap[2]: x[2] + z(a,b) >= 1
 total: y - z(a,c) <= 2
Bounds
 x[1] <= 8
End
"""


def _read(path: Path) -> StandardForm:
    form = mo.read(path)
    assert isinstance(form, StandardForm)
    return form


def _as_blocks() -> StandardForm:
    """The program of `INDEXED` with a block for each variable, as imports of Pyomo and Gurobi have it."""
    names = ["x[1]", "x[2]", "y", "z(a,b)", "z(a,c)"]
    rows = Constraint("cap", np.array([[-1.0, -1, -1, 0, 0], [0, 1, 0, 1, 0]]), np.array([10.0, -1.0]), Nonnegative(2))
    last = Constraint("total", np.array([[0.0, 0, -1, 0, 1]]), np.array([2.0]), Nonnegative(1))
    upper = np.array([8.0, *4 * [np.inf]])
    q = -np.array([3.0, 2, 4, -1, -2])
    blocks = tuple(Block(name, ()) for name in names)
    return StandardForm("plan", blocks, q, (rows, last), np.zeros(5), upper, np.zeros(5, dtype=bool), maximise=True)


@pytest.fixture(params=["file", "blocks"])
def indexed(request: pytest.FixtureRequest, tmp_path: Path) -> StandardForm:
    if request.param == "blocks":
        return _as_blocks()
    (tmp_path / "a.lp").write_text(INDEXED)
    return _read(tmp_path / "a.lp")


def test_an_indexed_variable_is_known_by_its_name_wherever_names_are_taken(indexed: StandardForm) -> None:
    result = mo.solve(indexed, "highs")
    x, z = result.values["x"], result.values["z"]
    assert x.tolist() == [result.values["x[1]"], result.values["x[2]"]] and x.shape == (2,)
    assert z.tolist() == [result.values["z(a,b)"], result.values["z(a,c)"]]
    assert result.multipliers is not None
    assert result.multipliers["cap"].shape == (2,)
    point = {"x": x, "y": result.values["y"], "z": z}
    assert mo.certify(indexed, point).objective == pytest.approx(result.objective)
    by_index = {"x": {1: x[0], 2: x[1]}, "y": result.values["y"], "z": {("a", "b"): z[0], "a,c": z[1]}}
    assert mo.proofs.check_point(indexed, by_index).objective == pytest.approx(result.objective)
    assert mo.solve(indexed, "scip", start=point).objective == pytest.approx(result.objective)


def test_an_indexed_variable_is_fixed_and_restricted_by_its_name(indexed: StandardForm) -> None:
    for fixed in ({"x": [np.nan, 0.5]}, {"x": {2: 0.5}}, {"x[2]": 0.5}):
        result = mo.solve(indexed.with_fixed(fixed), "highs")
        assert result.values["x[2]"] == pytest.approx(0.5) and result.values["x"][0] > 1.0
    below = mo.solve(indexed.with_constraint(lambda v: [v["x"] <= np.array([1.0, 0.25])]), "highs")
    assert below.values["x"] == pytest.approx([1.0, 0.25])


@pytest.mark.parametrize("wrong", [{"x": 1.0}, {"x": [1.0, 2, 3]}, {"x": {3: 1.0}}, {"xx": 1.0}])
def test_wrong_values_of_an_indexed_variable_are_refused_by_its_name(indexed: StandardForm, wrong: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        indexed.with_fixed(wrong)
    assert "x" in str(caught.value)


def test_rows_of_a_file_with_an_index_are_known_by_their_name(tmp_path: Path) -> None:
    """The stack of a file's rows has a label of ours, which is none of the file's own: ``x``, ``greater``, ``equal``."""
    text = INDEXED.replace("cap[", "greater[").replace(" total:", " equal[k]:")
    (tmp_path / "a.lp").write_text(text)
    form = _read(tmp_path / "a.lp")
    assert not {"x", "greater", "equal"} & {*form.slices, *(c.label for c in form.constraints)}
    multipliers = mo.solve(form, "highs").multipliers
    assert multipliers is not None
    assert multipliers["greater"].shape == (2,) and multipliers["equal"].shape == (1,)
