"""Generated data files: our readers say what SciPy, scikit-learn and pandas say of them, or refuse them with a line."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from data_files import FUZZ
from facts import about, at, subjects
from hypothesis import given, strategies as st
from scipy.io import arff as scipy_arff
from sklearn.datasets import load_svmlight_file

from marginopt.errors import DataError, MarginoptWarning
from marginopt.instances import read
from marginopt.instances.arrays import as_number, encode_labels

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: f"{v:.6g}")
WORDS = st.sampled_from(["a", "b", "none", "None", "NA", "null", "x y", "a,b", "50%", "it's", "{z}", "?!", "tab\tword"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
HEAD = "@relation r\n@attribute a real\n@attribute cls {a,b}\n@data\n"


def quoted(word: str) -> str:
    """A value of ARFF in quotes."""
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


@FUZZ
@given(st.data())
def test_arff_is_what_was_written(put, data):
    """Every word is a value, however it looks; separators, comments, line ends and a byte-order mark change nothing."""
    classes = data.draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
    rows = data.draw(st.lists(st.tuples(NUMBERS, st.sampled_from(classes)), min_size=3, max_size=8))
    rows += [("1", classes[0]), ("2", classes[1])]
    gap, tail = data.draw(st.sampled_from([",", " , ", "\t", "  "])), data.draw(st.sampled_from(["", " % said, 'so", "\t%", ","]))
    sparse, end = data.draw(st.booleans()), data.draw(ENDS)
    lines = ["\ufeff@RELATION r % {", "@Attribute v NUMERIC", f"@attribute cls{{{', '.join(map(quoted, classes))}}}", "@DATA", ""]
    for value, word in rows:
        lines.append(f"{{0 {value}, 1 {quoted(word)}}} % x" if sparse else f"{value}{gap}{quoted(word)}{tail}")
    instance = read(put("a.arff", end.join(lines).encode()))
    assert instance.X[:, 0].tolist() == [float(value) for value, _ in rows]
    codes = dict(zip(sorted({word for _, word in rows}), instance.classes, strict=True))
    assert instance.y.tolist() == [codes[word] for _, word in rows]
    assert list(instance.labels) == sorted(codes)


@FUZZ
@given(st.lists(st.tuples(NUMBERS, st.sampled_from(["u", "v", "w"]), st.sampled_from(["p", "q"])), min_size=3, max_size=9))
def test_arff_is_what_scipy_reads(put, rows):
    rows = [*rows, ("0", "u", "p"), ("0", "v", "q")]
    head = "@relation r\n@attribute a real\n@attribute g {w,v,u}\n@attribute cls {p,q}\n@data\n"
    text = head + "".join(f"{a},{g},{c}\n" for a, g, c in rows)
    table, _ = scipy_arff.loadarff(io.StringIO(text))
    instance = read(put("a.arff", text), categories="indicators")
    column = instance.feature_names.index("a")
    assert instance.X[:, column].tolist() == table["a"].tolist()
    for name, values in zip(instance.feature_names, instance.X.T, strict=True):
        if name != "a":
            assert values.tolist() == [float(g.decode() == name[2:]) for g in table["g"]]
    assert [instance.labels[int(code > 0)] for code in instance.y] == [c.decode() for c in table["cls"]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD + "1,a\n2,A\n", 6),
        (HEAD + "1,a\n\n% x\n2,none\n", 8),
        (HEAD + "1,a\n2,,b\n", 6),
        (HEAD + "1,a\n2,'b\n", 6),
        (HEAD + "1,a\n2,b'c'\n", 6),
        (HEAD + "1,a\n2\n", 6),
        (HEAD + "1,a\n2,b,{x}\n", 6),
        (HEAD + "1,a\n2,b,3,4\n", 6),
        (HEAD + "1,a\n{0 1, 0 2, 1 b}\n", 6),
        (HEAD + "1,a\n{0 1, 1 c}\n", 6),
        (HEAD + "1,a\n{0 1, 1 b} 3\n", 6),
        (HEAD + "1,a\n?,b\n", 6),
        (HEAD + "1,a\n2,?\n", 6),
        (HEAD + "1,a\n1_0,b\n", 6),
        ("@relation r\n@attribute a real\n@attribute a real\n", 3),
        ("@relation r\n@attribute a {u,v\n", 2),
        ("@relation r\n@attribute a {u,u}\n", 2),
        ("@relation r\n@attribute a {1,1.0}\n", 2),
        ("@relation r\n@attribute bag relational\n", 2),
        ("@relation r\n@attribute a real {2}\n", 2),
        ("@relation r\n@database\n", 2),
    ],
)
def test_arff_refused_with_a_line(put, text, line):
    with pytest.raises(DataError, check=at("a.arff", line)):
        read(put("a.arff", text))


def test_roles_weights_dates_and_texts_of_arff(put):
    head = "@relation k\n@attribute cls {a,b}\n@attribute n integer [0, 9]\n@attribute m real[0.0,1.5]\n@attribute unused real\n"
    keel = put("k.arff", head + "@inputs n, m\n@outputs cls\n@data\na,1,0.5,7\nb,2,1.5,7\n")
    instance = read(keel)
    assert instance.feature_names == ("n", "m") and instance.labels == ("a", "b")
    with pytest.warns(MarginoptWarning) as caught:
        assert read(put("w.arff", HEAD + "1,a,{1}\n2,b,{5}\n")).X.tolist() == [[1.0], [2.0]]
    assert subjects(caught) == ["weights"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(put("w.arff", HEAD + "1,a,{1}\n2,b\n")).n == 2
    date = put("d.arff", '@attribute d date "yyyy"\n@attribute a real\n@attribute c {p,q}\n@data\n2020,1,p\n2021,2,q\n')
    for options in ({}, {"categories": "indicators"}):
        with pytest.raises(DataError, check=at("d.arff")):
            read(date, **options)
    assert read(date, leave_out="d").feature_names == ("a",)
    text = put("s.arff", "@attribute s string\n@attribute a real\n@attribute c {p,q}\n@data\n7,1,p\n8,2,q\n")
    with pytest.raises(DataError, check=at("s.arff", 5)):
        read(text)
    assert read(text, categories="indicators").feature_names == ("s=8", "a")
    assert read(text, leave_out="s").feature_names == ("a",)


@FUZZ
@given(st.data())
def test_csv_is_what_pandas_reads(put, data):
    """With and without the index that pandas writes, which is no feature."""
    n = data.draw(st.integers(3, 8))
    values = st.floats(-1e6, 1e6, allow_nan=False)
    frame = pd.DataFrame({"v": data.draw(st.lists(values, min_size=n, max_size=n)), "w": np.arange(n) + 0.5})
    words = data.draw(st.lists(st.sampled_from(["none", "x, y", 'say "so"', "two\nlines"]), min_size=n, max_size=n))
    frame["class"] = ["first", "none", *words[2:]]
    index, end = data.draw(st.booleans()), data.draw(st.sampled_from(["\n", "\r\n"]))
    separator = data.draw(st.sampled_from([",", ";", "\t"]))
    instance = read(put("a.csv", frame.to_csv(index=index, lineterminator=end, sep=separator).encode("utf-8-sig")))
    assert instance.feature_names == ("v", "w")
    assert np.array_equal(instance.X, frame[["v", "w"]].to_numpy())
    assert [instance.labels[instance.classes.index(code)] for code in instance.y] == frame["class"].tolist()
    assert ("names of rows" in instance.source) == index


def test_csv_headers_words_and_missing_cells(put):
    assert read(put("a.csv", "odor,class\nnone,p\nfoul,q\nnone,q\n"), categories="indicators").feature_names == ("odor=none",)
    rows = "".join(
        f"{k},{cell},{'uv'[k % 2]}\n" for k, cell in enumerate(["", "?", "NA", "N/A", "nan", "null", "Na", "none", "None"])
    )
    instance = read(put("b.csv", "k,g,y\n" + rows), missing="drop", categories="indicators")
    assert instance.feature_names == ("k", "g=Na", "g=None", "g=none") and instance.n == 3
    assert read(put("c.csv", '1 "a  b"\n2 "a b"\n')).labels == ("a  b", "a b")
    assert read(put("d.csv", '"x, y, z";y\n1;u\n2;v\n')).feature_names == ("x, y, z",)


@FUZZ
@given(st.data())
def test_libsvm_is_what_scikit_learn_reads(put, data):
    rows = data.draw(st.lists(st.dictionaries(st.integers(0, 6), NUMBERS, max_size=4), min_size=2, max_size=7))
    text = ""
    for k, row in enumerate([{1: "1"}, *rows]):
        entries = " ".join(f"{j}:{v}" for j, v in sorted(row.items()))
        text += f"{'+1' if k % 2 else '-1'}{' qid:3' if k % 3 == 0 else ''} {entries} # {k}:_\n"
    X, y = load_svmlight_file(io.BytesIO(text.encode()), zero_based="auto")
    end = data.draw(ENDS)
    instance = read(put("a.libsvm", b"\xef\xbb\xbf" + text.replace("\n", end).encode()))
    assert np.array_equal(instance.dense().X, X.toarray()) and np.array_equal(instance.y, y)


@pytest.mark.parametrize(
    "row", ["1 2:1 1:1", "1 1:1 1:2", "1:1 2:2", "1 1:inf", "1_0 1:1", "1 1_0:1", "1,2 1:1", "1 x:1", "1 1:1 2"]
)
def test_libsvm_refused_with_a_line(put, row):
    with pytest.raises(DataError, check=at("a.libsvm", 2)):
        read(put("a.libsvm", f"-1 1:1\n{row}\n"))


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    import marginopt as mo

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 1.5, 2.5], "kind": ["u", "v", "u"]})
    for index in (pd.RangeIndex(3), pd.Index([7, 8, 9]), pd.Index([7, 8, 9], name="id")):
        frame.set_index(index).to_parquet(tmp_path / "a.parquet")
        instance = read(tmp_path / "a.parquet")
        assert instance.feature_names == ("a", "b") and instance.labels == ("u", "v")
        opened = mo.instances.open_rows(tmp_path / "a.parquet", intercept=False)
        assert opened.X.shape == (3, 2) and opened.feature_names == ("a", "b")


def test_labels_in_memory_keep_their_words():
    codes, labels = encode_labels(["none", "low", "none"])
    assert labels == ("low", "none") and codes.tolist() == [1, -1, 1]
    assert encode_labels(["01", "x", "1"])[1] == ("01", "1", "x")
    for missing in (None, float("nan"), pd.NA, pd.NaT, "", "?"):
        with pytest.raises(DataError, check=about("labels")):
            encode_labels(["a", missing, "b"])
    assert [as_number(text) for text in ("1_0", "\u0661", " 2e1 ", "x")] == [None, None, 20.0, None]
