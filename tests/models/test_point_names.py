"""The index of a frame names points: in rows of the form, multipliers, explanations, conflicts and restrictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marginopt as mo
from marginopt.errors import DataError, InputError

NAMES = ["ann", "bob", "cho", "dee", "eve", "fay"]
FRAME = pd.DataFrame({"one": 1.0, "age": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, index=NAMES)
Y = ["no", "no", "no", "yes", "yes", "yes"]


def rows(model: mo.Model) -> list[str]:
    """Names of the rows of the form."""
    return [name for constraint in model.form.constraints for name in constraint.names()]


def test_rows_multipliers_and_explanations_have_the_names() -> None:
    model = mo.HingeSVM(FRAME, Y, 1.0)
    result = mo.solve(model)
    assert "margin[dee]" in rows(model)
    multipliers = result.multipliers
    assert multipliers is not None
    assert multipliers["margin[dee]"] == multipliers["margin"][3]
    explanation = model.explain(result)
    assert [point.name for point in explanation.points] == NAMES
    assert all(name in str(explanation) for name in NAMES)


def test_conflicts_name_their_points() -> None:
    labels = ["no", "yes", "no", "yes", "yes", "yes"]
    conflict = mo.Margin(FRAME, labels, "hinge", subject_to=mo.keep(["ann", "bob", "cho"])).conflict()
    assert conflict.point_names == ("ann", "bob", "cho")
    assert "keep[bob]" in conflict.elements and "ann, bob, cho" in str(conflict)


def test_restrictions_take_the_names() -> None:
    by_name = mo.Margin(FRAME, Y, "zero-one", subject_to=[mo.keep(["fay"]), mo.error_budget(["ann", "bob"], 0.5)])
    by_place = mo.Margin(FRAME, Y, "zero-one", subject_to=[mo.keep([5]), mo.error_budget([0, 1], 0.5)])
    assert mo.solve(by_name).objective == mo.solve(by_place).objective
    with pytest.raises(InputError):
        mo.Margin(FRAME, Y, "zero-one", subject_to=mo.keep(["gus"]))


@pytest.mark.parametrize("index", [range(6), ["a", "a", "b", "c", "d", "e"], [5, 0, 3, 2, 1, 7]])
def test_numbers_and_names_that_repeat_name_nobody(index: object) -> None:
    model = mo.HingeSVM(pd.DataFrame(FRAME.to_numpy(), columns=FRAME.columns, index=index), Y, 1.0)
    assert model.point_names == ()
    assert "margin[3]" in rows(model)


def test_a_data_set_keeps_the_names_of_its_rows(tmp_path: Path) -> None:
    frame = FRAME.assign(group=["a", "b", "a", "b", "a", "b"], label=Y)
    frame.loc["bob", "age"] = np.nan
    data = mo.read(frame, label="label", missing="drop", categories="indicators", leave_out=["one"])
    left = tuple(name for name in NAMES if name != "bob")
    assert data.point_names == left
    frame.to_csv(tmp_path / "people.csv")
    read = mo.read(tmp_path / "people.csv", label="label", missing="drop", categories="indicators", leave_out=["one"])
    assert read.point_names == left
    prepared = data.prepared()
    assert prepared.point_names == left and tuple(prepared.to_frame().index) == left
    assert data.take([4, 0]).point_names == ("fay", "ann")
    assert data.take([4, 0, 0]).point_names is None
    for part in (data.subsample(4, 0), *data.subsamples(3, range(2))):
        assert [data.X[left.index(name)].tolist() for name in part.point_names] == part.X.tolist()
    model = mo.HingeSVM(prepared, lam=1.0)
    assert model.point_names == left and "margin[dee]" in rows(model)
    assert mo.instances.Instance.from_labels(FRAME, Y).point_names == tuple(NAMES)
    with pytest.raises(DataError):
        mo.instances.Instance(FRAME.to_numpy(), [-1, -1, -1, 1, 1, 1], point_names=("ann",) * 6)


def test_row_numbers_of_a_table_name_nobody(tmp_path: Path) -> None:
    FRAME.assign(label=Y).reset_index(drop=True).to_csv(tmp_path / "numbers.csv")
    assert mo.read(tmp_path / "numbers.csv", label="label").point_names is None
