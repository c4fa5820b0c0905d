"""Tables of words and holes: refused as they are, read as numbers where the caller says how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from facts import about, at

from marginopt.errors import DataError, InputError
from marginopt.instances import read

MESSY = """id,Sepal Len, colour,kind of plant
a1,5.1,red,setosa
a2,,blue,setosa
a3,4.0,,versi color
a4,7.3,green,versi color
a5,6.0,red,virginica
"""


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "messy.csv"
    path.write_text(MESSY, encoding="utf-8")
    return path


def test_rows_with_missing_values_are_left_out(messy: Path) -> None:
    data = read(messy, "kind of plant", missing="drop", categories="indicators", leave_out="id")
    assert list(data.feature_names or ()) == ["Sepal Len", "colour=red"]  # of green and red
    np.testing.assert_array_equal(data.X, [[5.1, 1], [7.3, 0], [6.0, 1]])
    assert "2 rows with missing values left out" in data.source and "without id" in data.source


def test_medians_and_no_category(messy: Path) -> None:
    """The median of what is there; a missing word is none of the categories."""
    data = read(messy, label=-1, missing="median", categories="indicators", leave_out=["id"])
    np.testing.assert_array_equal(data.X[:, 0], [5.1, np.median([5.1, 4.0, 7.3, 6.0]), 4.0, 7.3, 6.0])
    np.testing.assert_array_equal(data.X[2, 1:], 0.0)
    np.testing.assert_array_equal(data.X[:, 1:].sum(axis=1), [1, 1, 0, 1, 1])
    assert len(data.classes) == 3


def test_two_words_are_one_column(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("a,smokes,y\n1,no,u\n2,yes,v\n3,no,v\n", encoding="utf-8")
    data = read(path, categories="indicators")
    assert list(data.feature_names or ()) == ["a", "smokes=yes"]
    np.testing.assert_array_equal(data.X[:, 1], [0, 1, 0])


def test_nothing_is_done_unasked(messy: Path) -> None:
    for asked in ({}, {"categories": "indicators", "leave_out": "id"}, {"missing": "median", "leave_out": "id"}):
        with pytest.raises(DataError, check=at(messy, None)):
            read(messy, "kind of plant", **asked)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"missing": "mean"}, "missing"),
        ({"categories": 1}, "categories"),
        ({"leave_out": "kind of plant"}, "leave_out"),
    ],
)
def test_wrong_options(messy: Path, asked: dict[str, object], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        read(messy, "kind of plant", **asked)  # type: ignore[arg-type]
    with pytest.raises(DataError, check=about("leave_out", allowed=["kind of plant"])):
        read(messy, "kind of plant", leave_out="Id")


def test_names_of_rows_are_no_categories(tmp_path: Path) -> None:
    path = tmp_path / "named.csv"
    path.write_text("name,y\n" + "".join(f"n{k},{k % 2}\n" for k in range(60)), encoding="utf-8")
    with pytest.raises(DataError, check=about("name")):
        read(path, categories="indicators")
    with pytest.raises(InputError, check=about("missing")):
        read(tmp_path / "x.npz", missing="drop")


def test_arff_with_words(tmp_path: Path) -> None:
    path = tmp_path / "words.arff"
    lines = ["@relation r", "@attribute c {p,q}", "@attribute a real", "@attribute y {0,1}", "@data", "p,1,0", "q,?,1"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = read(path, categories="indicators", missing="median")
    np.testing.assert_array_equal(data.X, [[0.0, 1.0], [1.0, 1.0]])
