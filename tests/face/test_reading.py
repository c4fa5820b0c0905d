"""``mo.read``: forms and data sets by suffix; npz by what is in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from facts import about, at

import marginopt as mo


def _model() -> mo.HingeSVM:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(8), rng.normal(size=(8, 2))])
    return mo.HingeSVM(X, np.array([1.0, -1] * 4))


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".nl", ".qplib", ".mof.json", ".npz"])
def test_programs_read_as_forms(suffix: str, tmp_path: Path) -> None:
    model = _model()
    form = mo.read(model.write(tmp_path / f"model{suffix}"))
    assert isinstance(form, mo.StandardForm)
    assert form.equals(model.form)


def test_data_reads_as_instances(tmp_path: Path) -> None:
    table = tmp_path / "data.csv"
    table.write_text("a,b,label\n1,2,x\n3,4,y\n5,7,x\n", encoding="utf-8")
    instance = mo.read(table, label="label", name="mine")
    assert isinstance(instance, mo.instances.Instance)
    assert instance.name == "mine"
    np.savez(tmp_path / "data.npz", X=np.eye(3), y=np.array([1, -1, 1]))
    assert isinstance(mo.read(tmp_path / "data.npz"), mo.instances.Instance)


def test_programs_have_no_label_column(tmp_path: Path) -> None:
    path = _model().write(tmp_path / "model.npz")
    with pytest.raises(mo.errors.InputError, check=about("label")):
        mo.read(path, label="y")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK nothing")
    for path in (broken, tmp_path / "missing.npz", tmp_path / "missing.cbf", tmp_path / "what.xyz"):
        with pytest.raises(mo.errors.DataError, check=at(path)):
            mo.read(path)


def test_a_frame_reads_as_the_file_that_it_writes(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "Unnamed: 0": range(12),
        "age": rng.normal(40.0, 9.0, 12),
        "town": rng.choice(["Graz", "Oslo", "Lyon"], 12),
        "rank": pd.array([1, None, *range(10)], dtype="Int64"),
        "repaid": np.tile(["no", "yes"], 6),
    })  # fmt: skip
    table.loc[3, "age"], table.loc[5, "town"] = np.nan, None
    tidied = {"missing": "median", "categories": "indicators"}
    table.to_csv(path := tmp_path / "loans.csv", index=False)
    paths = [path]
    if pytest.importorskip("pyarrow"):
        table.drop(columns="Unnamed: 0").to_parquet(path := tmp_path / "loans.parquet", index=False)
        paths.append(path)
    framed = mo.read(table, "repaid", **tidied)
    assert "town as 3 categories, 1 missing in none of them" in framed.source
    for path in paths:
        stored = mo.read(path, "repaid", **tidied)
        assert np.array_equal(framed.X, stored.X) and np.array_equal(framed.y, stored.y)
        assert framed.feature_names == stored.feature_names and framed.labels == stored.labels
    dropped = mo.read(table.assign(paid=table["repaid"] == "yes"), "repaid", leave_out=["town", "rank"], missing="drop")
    assert dropped.n == 11 and dropped.feature_names == ("age", "paid")
    for wrong, name in ({"missing": "mean"}, "missing"), ({"label": "repayed", **tidied}, "label"):
        with pytest.raises(mo.errors.InputError, check=about(name)):
            mo.read(table, **wrong)
    with pytest.raises(mo.errors.DataError, check=at("the data frame", 1)):
        mo.read(table, "repaid")
