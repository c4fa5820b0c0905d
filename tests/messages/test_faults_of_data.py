"""The sentences of errors in files of data and in data, with the file and the line that the error carries."""

from __future__ import annotations

import re

import joblib
import numpy as np
import pytest

from marginopt.errors import DataError
from marginopt.estimators import HingeSVC
from marginopt.instances import Instance, open_rows, read
from marginopt.instances.arrays import encode_labels
from marginopt.io import load_estimator


def _check(path, text, message):
    """Write the text, if there is one, read the file, and check the error: its line is that of the sentence."""
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    line = re.match(r"line (\d+)", message)
    assert caught.value.file == str(path) and (line is None or caught.value.line == int(line[1]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("1 1:2\nabc 1:2\n", "line 2: not 'label index:value"),
        ("1 1:2\n-1 1:x\n", "line 2: not"),
        ("1 1:2\n\n# c\n-1 1:2 2\n", "line 4: not"),
        ("1 2:2 1:1\n-1 1:1\n", "line 1: feature indices must increase"),
        ("1 1:1\n1 1:2\n", "only one class"),
        ("1 1:nan\n-1 1:2\n", "(line 1: not|nan at row 0)"),
        ("1\n-1\n", "no 'index:value' anywhere"),
    ],
)
def test_libsvm(tmp_path, text, message):
    _check(tmp_path / "a.libsvm", text, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no @attribute lines"),
        ("@relation r\n@attribute a real\n", "no @data section"),
        ("hello\n", "line 1: not an ARFF declaration: 'hello'"),
        ("@attribute a\n", "line 1: an attribute needs a name and a type"),
        ("@attribute a relational\n", "attribute 'a' has type 'relational'"),
        ("@attribute a real\n@attribute c {u,v}\n@data\n", "no rows"),
        ("@attribute a real\n@attribute c {u,v}\n@data\n1,u\n2\n", "line 5: 1 cells where the header has 2"),
        ("@attribute a real\n@attribute c {u,v}\n@data\n1,u\n?,v\n", "line 5: column 'a': the value is missing"),
        ("@attribute a {p,q}\n@attribute c {u,v}\n@data\np,u\nq,v\n", r"line 4: column 'a'.*'p' is not a number"),
        ("@attribute a real\n@attribute c {u,v}\n@data\n{5 1}\n", "line 4: '5 1' is not an index below 2"),
        ("@attribute a real\n@attribute c {u,v}\n@data\n{0 1\n", "must close"),
        ("@attribute a real\n@attribute c {u,v}\n@data\n1,u\n2,u\n", "only one class"),
    ],
)
def test_arff(tmp_path, text, message):
    _check(tmp_path / "a.arff", text, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("a,b\n", "no rows"),
        ("1\n2\n", "a label and at least one feature are needed"),
        ("1,2,3\n4,5\n", r"line 2: 2 cells where the first row has 3"),
        ("a,b,c\n1,2,3\n\n4,5,6,7\n", r"line 4: 4 cells where the header has 3"),
        ("a,b,c\n1,2,u\n3,oops,v\n", r"line 3: column 'b': 'oops' is not a number"),
        ("1,2,u\n3,,v\n", r"line 2: column 1, counting from 0: the value is missing"),
        ("1,2,u\n3,NA,v\n", r"line 2: column 1, counting from 0: the value is missing"),
        ("1,2,u\n3,nan,v\n", r"line 2: column 1, counting from 0: the value is missing"),
        ("1,2,u\n-inf,3,v\n", r"line 2: column 0, counting from 0: '-inf' is not a finite number"),
        ("a,y\n1,u\n2,\n", r"line 3: the label in column 'y' is missing"),
        ("1,u\n2,u\n", "label in column 1, counting from 0: only one class"),
        ('1,u\n2,"v\n', "line"),
    ],
)
def test_csv(tmp_path, text, message):
    _check(tmp_path / "a.csv", text, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,a,y\n1,2,u\n3,4,v\n", "more than one column is named 'a'"),
        ('a,b,y\n1,2,"u\nu"\n3,4\n', "line 4: 2 cells"),
        ("a,b,y\n1,2,u\n,,\n", "line 3: the label"),
        ("1,oops,u\n2,3,v\n4,5,u\n", "line 1: it holds words and numbers above numbers"),
        ("a,y\n1_000,u\n2,v\n", "line 2: column 'a': '1_000' is not a number"),
        ("a,y\nnone,u\n2,v\n3,v\n", "line 2: column 'a': 'none' is not a number"),
        ('1 "u\n2 v\n', "line 1: a quote that does not close"),
    ],
)
def test_csv_by_place(tmp_path, text, message):
    _check(tmp_path / "a.csv", text, message)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(2)}, "needs arrays X and y; it has X"),
        ({"y": [1, -1]}, "needs arrays X and y; it has y"),
        ({"X": np.eye(2), "y": [1, 2, 3]}, "one code for each of the 2 rows"),
        ({"X": np.array([[1, None]], dtype=object), "y": [1]}, "cannot be read as npz"),
        ({"X": [[1.0], [np.inf]], "y": [0, 1]}, "inf at row 1, column 0"),
        ({"X": np.eye(2), "y": [1, 2], "feature_names": ["a"]}, "feature_names"),
        (
            {"X_data": [1.0], "X_indices": [9], "X_indptr": [0, 1, 1], "X_shape": [2, 2], "y": [0, 1]},
            "not a valid sparse matrix",
        ),
        (
            {"X_data": [1.0], "X_indices": [1], "X_indptr": [0, 1], "X_shape": [2, 2], "y": [0, 1]},
            "no CSR matrix",
        ),
    ],
)
def test_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    _check(tmp_path / "a.npz", None, message)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["x", "y"], "b": [1, 2]}, r"column 0 \('a'\) is (large_)?string; features"),
        ({"a": [1.0, None], "b": [1, 2]}, r"row 1, counting from 0, column 0 \('a'\): the value is missing"),
        ({"a": [1.0, 2.0], "b": [None, 2]}, r"row 0, counting from 0, column 1 \('b'\)"),
        ({"a": [1.0, float("nan")], "b": [1, 2]}, "nan at row 1, column 0"),
        ({"a": [1.0, 2.0], "b": [1, 1]}, "only one class"),
        ({"a": [1.0, 2.0]}, "a label and at least one feature"),
        ({"a": np.zeros(0), "b": np.zeros(0)}, "no rows"),
    ],
)
def test_parquet(tmp_path, columns, message):
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    _check(tmp_path / "a.parquet", None, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X_data": [np.nan, 1.0]}, "X must be finite: row 0, column 0, counting from 0, is nan"),
        ({"X_indices": [0, 7]}, "column 7 in row 1; there are 2"),
        ({"X_indptr": [0, 2, 1]}, "row ends between rows 0 and 2 are no CSR matrix's"),
    ],
)
def test_rows_that_are_read_in_blocks(tmp_path, change, message):
    arrays = {"X_data": [1.0, 1.0], "X_indices": [0, 1], "X_indptr": [0, 1, 2], "X_shape": [2, 2]}
    np.savez(tmp_path / "a.npz", **{name: np.array(value) for name, value in (arrays | change).items()})
    with pytest.raises(DataError, match=message):
        open_rows(tmp_path / "a.npz", intercept=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: data.take(data.y > 0), "2 of the 4 rows of toy: only one class"),
        (
            lambda data: encode_labels([3.5, 4, 1.5]),
            "3 different labels, 1.5 among them: numbers that are not whole are measurements",
        ),
        (lambda data: encode_labels(["a", None, "b"]), "the label of row 1, counting from 0, is missing"),
    ],
)
def test_rows_and_labels(call, message):
    with pytest.raises(DataError, match=message):
        call(Instance(np.arange(8.0).reshape(4, 2), [1, 1, -1, -1], name="toy"))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [2.0]], [1, 1], "only one class"),
        ([[1.0], [2.0]], [-1, 1, 1], "one code for each of the 2 rows"),
        ([[1.0], [2.0]], [[-1], [1]], "one code for each"),
        ([[1.0], [2.0]], [0, 1], "-1 and \\+1"),
        ([[1.0], [2.0], [3.0]], [0, 1, 3], "-1 and \\+1"),
        ([[1.0], [2.0]], [-1, np.nan], "-1 and \\+1"),
        ([[1.0], [2.0]], ["a", "b"], "from_labels"),
        ([1.0, 2.0], [-1, 1], "two dimensions"),
        (np.zeros((2, 2, 2)), [-1, 1], "two dimensions"),
        (np.zeros((0, 3)), [], "empty: 0 rows and 3 features"),
        (np.zeros((2, 0)), [-1, 1], "empty: 2 rows and 0 features"),
        ([[1.0, np.nan], [2.0, 1.0]], [-1, 1], "nan at row 0, column 1"),
        ([[1.0, 2.0], [np.inf, -np.inf]], [-1, 1], r"inf at row 1, column 0.*2 such values"),
        ([[1.0, 2.0], [3.0]], [-1, 1], "rows of equal length"),
        ([["x"], ["y"]], [-1, 1], "matrix of numbers"),
    ],
)
def test_data_in_memory(X, y, message):
    with pytest.raises(DataError, match=message):
        Instance(X, y)


def test_every_column_with_too_many_words_is_named_at_once(tmp_path):
    path = tmp_path / "credit.csv"
    rows = [f"K{k},2024-01-{k % 28 + 1:02d}-{k},{k % 7},{'no' if k % 3 else 'yes'}\n" for k in range(60)]
    path.write_text("customer,opened,late,label\n" + "".join(rows), encoding="utf-8")
    with pytest.raises(DataError, match=r"'customer' has 60 .* 'opened' has 60 .* Leave them out"):
        read(path, label="label", categories="indicators")
    with pytest.raises(DataError, match=r"'opened' has 60 different words; .* Leave it out"):
        read(path, label="label", categories="indicators", leave_out="customer")


def test_every_column_that_is_no_feature_is_named_at_once(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("label,a,b,c\n1,2,x,y\n0,3,4,z\n1,,5,6\n", encoding="utf-8")
    sentence = "column 'b': 'x' is not a number; column 'c': 'y' is not a number; column 'a': the value is missing; features must"
    with pytest.raises(DataError, match=sentence) as caught:
        read(path, label="label")
    assert caught.value.line == 2


def test_every_date_of_a_frame_is_named_at_once():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    days = pandas.date_range("2024-01-01", periods=4)
    table = pandas.DataFrame({"opened": days, "closed": days, "late": [0, 1, 2, 3], "label": ["a", "b", "a", "b"]})
    with pytest.raises(DataError, match="'opened' and column 'closed' are dates; leave them out"):
        read(table, label="label")


def test_files_of_joblib_are_told_from_files_that_may_run_code(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 2))
    file = tmp_path / "fitted.joblib"
    joblib.dump(HingeSVC().fit(X, np.sign(X[:, 0])), file)
    with pytest.raises(DataError, match=r"joblib\.load reads it"):
        load_estimator(file)
