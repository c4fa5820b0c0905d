"""Every reader: round trips, and every kind of bad file named with its place."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings, strategies as st

from marginopt.errors import DataError, InputError, MissingPackageError
from marginopt.instances import read, read_arff, read_csv, read_libsvm, read_npz, read_parquet

FUZZ = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
PACKERS = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


@pytest.fixture
def put(tmp_path):
    """Write a file and return its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def random_matrix(n=12, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * 10.0 ** rng.integers(-8, 8, size=(n, p)), np.where(np.arange(n) % 3, 1, -1)


def same(data, X, y):
    assert np.array_equal(data.dense().X, X)
    assert np.array_equal(data.y, y)


class TestDispatch:
    def test_unknown_suffix(self, put):
        with pytest.raises(DataError, match=r"suffix '\.doc' says no format.*\.libsvm"):
            read(put("a.doc", "x"))
        with pytest.raises(DataError, match="suffix ''"):
            read(put("a", "x"))

    @pytest.mark.parametrize("name", ["a.csv", "a.libsvm", "a.arff", "a.npz", "a.parquet", "a.csv.gz"])
    def test_missing_file_and_directory(self, tmp_path, name):
        with pytest.raises(DataError, match="no such file"):
            read(tmp_path / name)
        (tmp_path / name).mkdir()
        with pytest.raises(DataError, match="is a directory"):
            read(tmp_path / name)

    @pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
    def test_broken_compression(self, put, ending):
        with pytest.raises(DataError, match="cannot be read"):
            read(put(f"a.csv{ending}", "1,2,3"))
        whole = PACKERS[ending](b"1,2\n" * 1000)
        with pytest.raises(DataError, match="cannot be read"):
            read(put(f"b.csv{ending}", whole[: len(whole) // 2]))

    def test_not_a_path(self):
        with pytest.raises(InputError, match="path must be"):
            read(5)

    def test_not_utf8(self, put):
        with pytest.raises(DataError, match=r"not UTF-8 text.*byte 2"):
            read(put("a.csv", b"1,\xff\n"))

    def test_names(self, put):
        path = put("Some.data.csv", "1,2,a\n3,4,b\n")
        assert read(path).name == "Some.data"
        assert read(path, name="other").name == "other"
        assert read(path).source == str(path)


class TestLibsvm:
    @pytest.mark.parametrize("ending", list(PACKERS))
    @pytest.mark.parametrize("suffix", [".libsvm", ".svm", ".t"])
    def test_round_trip(self, put, ending, suffix):
        X, y = random_matrix()
        text = "".join(
            f"{label} {' '.join(f'{j}:{float(v)!r}' for j, v in enumerate(row, 1))}\n" for row, label in zip(X, y, strict=True)
        )
        data = read(put(f"a{suffix}{ending}", PACKERS[ending](text.encode())))
        same(data, X, y)
        assert data.name == "a"

    def test_sparse_stays_sparse_and_width_can_be_given(self, put):
        path = put("a.libsvm", "+1 1:1 20:2\n-1 3:1\n+1\n")
        data = read(path)
        assert sp.issparse(data.X)
        assert data.X.shape == (3, 20)
        assert read_libsvm(path, n_features=25).X.shape == (3, 25)
        assert isinstance(read_libsvm(path, dense=True).X, np.ndarray)

    def test_comments_and_classes(self, put):
        data = read(put("a.libsvm", "# head\n3 1:1 # tail\n5 1:2\n9 1:4\n"))
        assert data.labels == (3, 5, 9)
        assert data.y.tolist() == [0, 1, 2]

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
    def test_bad_text(self, put, text, message):
        with pytest.raises(DataError, match=message):
            read(put("a.libsvm", text))

    def test_index_beyond_the_given_width(self, put):
        with pytest.raises(DataError, match=r"features"):
            read_libsvm(put("a.libsvm", "1 5:1\n-1 1:1\n"), n_features=2)

    def test_label_has_no_meaning(self, put):
        with pytest.raises(InputError, match="labels first"):
            read(put("a.libsvm", "1 1:1\n-1 1:2\n"), label=0)

    @FUZZ
    @given(st.binary(max_size=60) | st.text("01-+:. #nae\n", max_size=60).map(str.encode))
    @example(b"1 1:1e999\n-1 1:2")
    @example(b"1 99999999999999999999:1\n-1 1:1\n")
    def test_any_text_is_data_or_a_data_error(self, put, content):
        try:
            assert read(put("a.libsvm", content)).n >= 2
        except DataError as error:
            assert "a.libsvm" in str(error)


class TestCsv:
    @pytest.mark.parametrize("ending", list(PACKERS))
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    @pytest.mark.parametrize("header", [False, True])
    def test_round_trip(self, put, ending, delimiter, header):
        X, y = random_matrix()
        lines = [delimiter.join(["a", "b", "c", "result"])] if header else []
        lines += [delimiter.join([*(repr(float(v)) for v in row), str(label)]) for row, label in zip(X, y, strict=True)]
        data = read(put(f"a.csv{ending}", PACKERS[ending]("\n".join(lines).encode())))
        same(data, X, y)
        assert data.feature_names == (("a", "b", "c") if header else None)

    def test_tsv_spaces_quotes_and_marks(self, put):
        same(read(put("a.tsv", "1\t2\tx y\n3\t4\tz\n")), [[1, 2], [3, 4]], [-1, 1])
        same(read(put("a.csv", " 1  2 u\n3 4  v\n")), [[1, 2], [3, 4]], [-1, 1])
        data = read(put("b.csv", '\ufeff"a, b",c\r\n1,"yes"\r\n\r\n2,"no"\r\n'))
        assert data.feature_names == ("a, b",)
        assert data.labels == ("no", "yes")

    def test_label_by_name_index_or_rule(self, put):
        path = put("a.csv", "Class,b,c\n1,2,3\n4,5,7\n6,8,7\n")
        assert read(path).labels == (1, 4, 6)
        assert read(path, label="c").labels == (3, 7)
        assert read(path, label=1).feature_names == ("Class", "c")
        assert read(path, label=-1).labels == (3, 7)
        assert read(path, label="2").labels == (3, 7)
        assert read(put("b.csv", "1,a\n2,b\n")).labels == ("a", "b")

    @pytest.mark.parametrize(
        ("label", "message"),
        [
            ("nope", "no column named 'nope' for the label; its columns are a, b"),
            (2, r"label column 2 is not one of the 2 columns 0\.\.1"),
            (-3, "label column -3"),
            ("7", "label column '7'"),
            (True, "label column True"),
            (1.5j, "name or index"),
        ],
    )
    def test_bad_label(self, put, label, message):
        with pytest.raises(InputError, match=message):
            read(put("a.csv", "a,b\n1,2\n3,4\n"), label=label)

    def test_label_name_without_header_or_twice(self, put):
        with pytest.raises(DataError, match="it has no header"):
            read(put("a.csv", "1,2\n3,4\n"), label="y")
        with pytest.raises(DataError, match="more than one column named 'a'"):
            read(put("b.csv", "a,a\n1,2\n3,4\n"), label="a")

    def test_header_can_be_said(self, put):
        path = put("a.csv", "1,2,3\n4,5,6\n7,8,9\n")
        assert read_csv(path).n == 3
        assert read_csv(path, header=True).feature_names == ("1", "2")
        with pytest.raises(InputError, match="one character"):
            read_csv(path, delimiter="::")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no rows"),
            ("a,b\n", "no rows"),
            ("1\n2\n", "a label and at least one feature are needed"),
            ("1,2,3\n4,5\n", r"line 2: 2 cells where the first row has 3"),
            ("a,b,c\n1,2,3\n\n4,5,6,7\n", r"line 4: 4 cells where the header has 3"),
            ("a,b,c\n1,2,u\n3,oops,v\n", r"line 3, column 1 \('b'\): 'oops' is not a number"),
            ("1,2,u\n3,,v\n", r"line 2, column 1: '' is missing"),
            ("1,2,u\n3,NA,v\n", r"line 2, column 1: 'NA' is missing"),
            ("1,2,u\n3,nan,v\n", r"line 2, column 1: 'nan' is not a finite number"),
            ("1,2,u\n-inf,3,v\n", r"line 2, column 0: '-inf' is not a finite number"),
            ("a,y\n1,u\n2,\n", r"line 3: the label in column 1 \('y'\) is missing"),
            ("1,u\n2,u\n", "label in column 1: only one class"),
            ('1,u\n2,"v\n', "line"),
        ],
    )
    def test_bad_text(self, put, text, message):
        with pytest.raises(DataError, match=message):
            read(put("a.csv", text))

    @FUZZ
    @given(st.binary(max_size=60) | st.text('0123.-,;\t "\nabnif', max_size=80).map(str.encode))
    def test_any_text_is_data_or_a_data_error(self, put, content):
        try:
            assert read(put("a.csv", content)).n >= 2
        except DataError as error:
            assert "a.csv" in str(error)

    @FUZZ
    @given(st.lists(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2), min_size=2, max_size=8))
    def test_every_float_survives(self, put, rows):
        text = "\n".join(f"{a!r},{b!r},{'uv'[k % 2]}" for k, (a, b) in enumerate(rows))
        assert np.array_equal(read(put("a.csv", text)).X, np.array(rows))


ARFF = """% a comment
@RELATION toy
@attribute 'first value' numeric
@ATTRIBUTE b real
@attribute kind {'it''s', "no, never"}

@data
1.5, -2, no
3,4e1,yes
"""


class TestArff:
    @pytest.mark.parametrize("ending", list(PACKERS))
    def test_round_trip(self, put, ending):
        X, y = random_matrix()
        head = "@relation r\n" + "".join(f"@attribute x{j} numeric\n" for j in range(3))
        rows = "".join(",".join([*(repr(float(v)) for v in row), str(label)]) + "\n" for row, label in zip(X, y, strict=True))
        text = f"{head}@attribute class {{-1,1}}\n@data\n{rows}"
        data = read(put(f"a.arff{ending}", PACKERS[ending](text.encode())))
        same(data, X, y)
        assert data.feature_names == ("x0", "x1", "x2")

    def test_comments_cases_and_quotes(self, put):
        data = read_arff(put("a.arff", ARFF))
        same(data, [[1.5, -2.0], [3.0, 40.0]], [-1, 1])
        assert data.feature_names == ("first value", "b")
        assert data.labels == ("no", "yes")
        quoted = ARFF.replace("1.5, -2, no", "1.5, -2, 'a, \\'b\\''")
        assert read_arff(put("b.arff", quoted)).labels == ("a, 'b'", "yes")

    def test_sparse_rows(self, put):
        text = "@attribute a real\n@attribute b real\n@attribute c {u,v}\n@data\n{1 2.5}\n{0 1, 2 v}\n{ }\n"
        same(read(put("a.arff", text)), [[0, 2.5], [1, 0], [0, 0]], [-1, 1, -1])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no @attribute lines"),
            ("@relation r\n@attribute a real\n", "no @data section"),
            ("hello\n", "line 1: not an ARFF declaration: 'hello'"),
            ("@attribute a\n", "line 1: an attribute needs a name and a type"),
            ("@attribute a date\n", "attribute 'a' has type 'date'"),
            ("@attribute a real\n@attribute c {u,v}\n@data\n", "no rows"),
            ("@attribute a real\n@attribute c {u,v}\n@data\n1,u\n2\n", "line 5: 1 cells where the header has 2"),
            ("@attribute a real\n@attribute c {u,v}\n@data\n1,u\n?,v\n", r"line 5, column 0 \('a'\): '\?' is missing"),
            ("@attribute a {p,q}\n@attribute c {u,v}\n@data\np,u\nq,v\n", r"line 4, column 0.*'p' is not a number"),
            ("@attribute a real\n@attribute c {u,v}\n@data\n{5 1}\n", "line 4: '5 1' is not an index below 2"),
            ("@attribute a real\n@attribute c {u,v}\n@data\n{0 1\n", "must close"),
            ("@attribute a real\n@attribute c {u,v}\n@data\n1,u\n2,u\n", "only one class"),
        ],
    )
    def test_bad_text(self, put, text, message):
        with pytest.raises(DataError, match=message):
            read(put("a.arff", text))

    @FUZZ
    @given(st.text("{}',\"01 ?%\\uv\n", max_size=60))
    def test_any_rows_are_data_or_a_data_error(self, put, rows):
        try:
            read(put("a.arff", f"@attribute a real\n@attribute c {{u,v}}\n@data\n{rows}"))
        except DataError as error:
            assert "a.arff" in str(error)


class TestParquet:
    @pytest.fixture
    def table(self, tmp_path):
        pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
        pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")

        def write(columns):
            path = tmp_path / "a.parquet"
            pq.write_table(pa.table(columns), path)
            return path

        return write

    def test_round_trip(self, table):
        X, y = random_matrix()
        data = read(table({"b": X[:, 0], "class": y, "c": X[:, 1], "d": X[:, 2]}))
        same(data, X, y)
        assert data.feature_names == ("b", "c", "d")
        same(read(table({"a": [True, False], "b": [1, 2], "z": ["u", "v"]})), [[1, 1], [0, 2]], [-1, 1])
        assert read_parquet(table({"a": [1, 2], "b": [5, 7]}), label="a").labels == (1, 2)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"a": ["x", "y"], "b": [1, 2]}, r"column 0 \('a'\) is (large_)?string; features must be numbers"),
            ({"a": [1.0, None], "b": [1, 2]}, r"row 1, counting from 0, column 0 \('a'\): the value is missing"),
            ({"a": [1.0, 2.0], "b": [None, 2]}, r"row 0, counting from 0, column 1 \('b'\)"),
            ({"a": [1.0, float("nan")], "b": [1, 2]}, "nan at row 1, column 0"),
            ({"a": [1.0, 2.0], "b": [1, 1]}, "only one class"),
            ({"a": [1.0, 2.0]}, "a label and at least one feature"),
            ({"a": np.zeros(0), "b": np.zeros(0)}, "no rows"),
        ],
    )
    def test_bad_tables(self, table, columns, message):
        with pytest.raises(DataError, match=message):
            read(table(columns))

    def test_not_parquet(self, put):
        pytest.importorskip("pyarrow", reason="needs pyarrow")
        with pytest.raises(DataError, match="cannot be read as Parquet"):
            read(put("a.parquet", "nonsense"))

    def test_missing_package(self, put, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingPackageError, match=r'pip install "marginopt\[parquet\]"'):
            read(put("a.parquet", "x"))


class TestNpz:
    def test_round_trip(self, tmp_path):
        X, y = random_matrix()
        np.savez(tmp_path / "a.npz", X=X, y=y, feature_names=["a", "b", "c"])
        data = read(tmp_path / "a.npz")
        same(data, X, y)
        assert data.feature_names == ("a", "b", "c")
        np.savez_compressed(tmp_path / "b.npz", X=X, target=np.where(y > 0, "u", "v"))
        assert read(tmp_path / "b.npz", label="target").labels == ("u", "v")

    def test_sparse_round_trip(self, tmp_path):
        X = sp.random_array((10, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
        np.savez(tmp_path / "a.npz", X_data=X.data, X_indices=X.indices, X_indptr=X.indptr, X_shape=X.shape, y=np.arange(10) % 2)
        data = read_npz(tmp_path / "a.npz")
        assert sp.issparse(data.X)
        assert np.array_equal(data.X.toarray(), X.toarray())

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
    def test_bad_archives(self, tmp_path, arrays, message):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(DataError, match=message) as caught:
            read(tmp_path / "a.npz")
        assert "a.npz" in str(caught.value)

    def test_not_an_archive(self, put, tmp_path):
        with pytest.raises(DataError, match="cannot be read as npz"):
            read(put("a.npz", "nonsense"))
        with pytest.raises(DataError, match="cannot be read as npz"):
            read(put("c.npz", b"PK\x03\x04 and then nothing"))
        np.save(tmp_path / "b.npy", np.eye(2))
        with pytest.raises(DataError, match="single array"):
            read(put("b.npz", (tmp_path / "b.npy").read_bytes()))
        with pytest.raises(InputError, match="name of an array"):
            read(put("d.npz", b""), label=1)

    @FUZZ
    @given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4), st.booleans())
    def test_any_damage_is_data_or_a_data_error(self, put, changes, compressed):
        stream = io.BytesIO()
        (np.savez_compressed if compressed else np.savez)(stream, X=np.eye(3), y=np.arange(3))
        content = bytearray(stream.getvalue())
        for place, value in changes:
            content[place % len(content)] = value
        try:
            assert read(put("a.npz", bytes(content))).n >= 2
        except DataError as error:
            assert "a.npz" in str(error)
