"""Every reader: round trips, and every kind of bad file named with its place."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import FUZZ, PACKERS, random_matrix, same
from facts import about, at, missing
from hypothesis import example, given, strategies as st

from marginopt.errors import DataError, InputError, MissingPackageError
from marginopt.instances import read, read_arff, read_libsvm, read_npz, read_parquet


class TestDispatch:
    def test_unknown_suffix(self, put):
        with pytest.raises(DataError, check=at("a.doc")):
            read(put("a.doc", "x"))
        with pytest.raises(DataError, check=at("a")):
            read(put("a", "x"))

    @pytest.mark.parametrize("name", ["a.csv", "a.libsvm", "a.arff", "a.npz", "a.parquet", "a.csv.gz"])
    def test_missing_file_and_directory(self, tmp_path, name):
        with pytest.raises(DataError, check=at(name)):
            read(tmp_path / name)
        (tmp_path / name).mkdir()
        with pytest.raises(DataError, check=at(name)):
            read(tmp_path / name)

    @pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
    def test_broken_compression(self, put, ending):
        with pytest.raises(DataError, check=at(f"a.csv{ending}")):
            read(put(f"a.csv{ending}", "1,2,3"))
        whole = PACKERS[ending](b"1,2\n" * 1000)
        with pytest.raises(DataError, check=at(f"b.csv{ending}")):
            read(put(f"b.csv{ending}", whole[: len(whole) // 2]))

    def test_not_a_path(self):
        with pytest.raises(InputError, check=about("path")):
            read(5)

    def test_not_utf8(self, put):
        with pytest.raises(DataError, check=at("a.csv")):
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

    def test_index_beyond_the_given_width(self, put):
        with pytest.raises(DataError, check=at("a.libsvm")):
            read_libsvm(put("a.libsvm", "1 5:1\n-1 1:1\n"), n_features=2)

    def test_label_has_no_meaning(self, put):
        with pytest.raises(InputError, check=about("label")):
            read(put("a.libsvm", "1 1:1\n-1 1:2\n"), label=0)

    @FUZZ
    @given(st.binary(max_size=60) | st.text("01-+:. #nae\n", max_size=60).map(str.encode))
    @example(b"1 1:1e999\n-1 1:2")
    @example(b"1 99999999999999999999:1\n-1 1:1\n")
    def test_any_text_is_data_or_a_data_error(self, put, content):
        try:
            assert read(put("a.libsvm", content)).n >= 2
        except DataError as error:
            assert at("a.libsvm", error.line)(error)


ARFF = """% a comment
@RELATION toy
@attribute 'first value' numeric
@ATTRIBUTE b real
@attribute kind {no, 'a, \\'b\\'', yes}

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

    @FUZZ
    @given(st.text("{}',\"01 ?%\\uv\n", max_size=60))
    def test_any_rows_are_data_or_a_data_error(self, put, rows):
        try:
            read(put("a.arff", f"@attribute a real\n@attribute c {{u,v}}\n@data\n{rows}"))
        except DataError as error:
            assert at("a.arff", error.line)(error)


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

    def test_not_parquet(self, put):
        pytest.importorskip("pyarrow", reason="needs pyarrow")
        with pytest.raises(DataError, check=at("a.parquet")):
            read(put("a.parquet", "nonsense"))

    def test_missing_package(self, put, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingPackageError, check=missing("pyarrow")):
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

    def test_not_an_archive(self, put, tmp_path):
        with pytest.raises(DataError, check=at("a.npz")):
            read(put("a.npz", "nonsense"))
        with pytest.raises(DataError, check=at("c.npz")):
            read(put("c.npz", b"PK\x03\x04 and then nothing"))
        np.save(tmp_path / "b.npy", np.eye(2))
        with pytest.raises(DataError, check=at("b.npz")):
            read(put("b.npz", (tmp_path / "b.npy").read_bytes()))
        with pytest.raises(InputError, check=about("label")):
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
            assert at("a.npz", error.line)(error)
