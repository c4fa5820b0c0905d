"""The Instance: validation, immutability, preparation, choosing rows."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about, subjects
from hypothesis import given, settings, strategies as st

from marginopt.errors import DataError, InputError, MarginoptWarning
from marginopt.instances import Instance, gaussian_clusters


def two_classes(n=20, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return Instance(rng.normal(3.0, 2.0, (n, p)), np.where(np.arange(n) % 4 == 0, 1, -1), name="toy")


def three_classes(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return Instance.from_labels(rng.normal(size=(n, 2)), ["a", "b", "c"] * (n // 3), name="abc")


class TestValidation:
    def test_errors_are_value_errors(self):
        with pytest.raises(ValueError, check=about("y")):
            Instance([[1.0]], [1])

    def test_sparse_not_finite_says_where(self):
        X = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0], [np.nan, 2.0]]))
        with pytest.raises(DataError, check=about("X")):
            Instance(X, [-1, 1, 1])

    def test_sparse_shapes(self):
        with pytest.raises(DataError, check=about("X")):
            Instance(sp.coo_array(np.array([1.0, 2.0])), [-1, 1])
        with pytest.raises(DataError, check=about("X")):
            Instance(sp.csr_array(np.array([[1j], [2.0]])), [-1, 1])

    def test_sparse_indices_out_of_range(self):
        X = sp.csr_array(np.eye(2))
        X.indices[1] = 7
        with pytest.raises(DataError, check=about("X")):
            Instance(X, [-1, 1])

    def test_flags_and_names(self):
        with pytest.raises(DataError, check=about("feature_names")):
            Instance([[1.0], [2.0]], [-1, 1], feature_names=("a", "b"))
        with pytest.raises(DataError, check=about("intercept")):
            Instance([[1.0], [2.0]], [-1, 1], intercept=True)
        with pytest.raises(InputError, check=about("scaling")):
            Instance([[1.0], [2.0]], [-1, 1], scaling="yes")
        with pytest.raises(DataError, check=about("labels")):
            Instance([[1.0], [2.0]], [-1, 1], labels=("a", "a"))

    def test_a_part_may_lack_a_class_of_many(self):
        data = three_classes()
        part = data.take(np.flatnonzero(data.y != 1))
        assert part.classes == (0, 1, 2)
        assert part.sizes() == {"a": 10, "b": 0, "c": 10}


class TestLabels:
    @pytest.mark.parametrize(
        ("labels", "codes", "classes"),
        [
            (["spam", "ham", "spam"], [1, -1, 1], ("ham", "spam")),
            ([10, 9, 9], [1, -1, -1], (9, 10)),
            (["10", " 9", "9.0"], [1, -1, -1], (9, 10)),
            ([True, False, True], [1, -1, 1], (0, 1)),
            (["2", "10", "x"], [1, 0, 2], ("10", "2", "x")),
            ([15.0, 5.0, 25.0], [1, 0, 2], (5, 15, 25)),
        ],
    )
    def test_coding(self, labels, codes, classes):
        data = Instance.from_labels(np.eye(3), labels)
        assert data.y.tolist() == codes
        assert data.labels == classes
        assert data.y.dtype == (np.float64 if len(classes) == 2 else np.int64)

    @pytest.mark.parametrize("missing", ["", "?", None, np.nan])
    def test_missing_label(self, missing):
        with pytest.raises(DataError, check=about("labels")):
            Instance.from_labels(np.eye(3), np.array(["a", missing, "b"], dtype=object))

    def test_one_class_and_measurements(self):
        with pytest.raises(DataError, check=about("labels")):
            Instance.from_labels(np.eye(2), ["a", "a"])
        with pytest.raises(DataError, check=about("labels")):
            Instance.from_labels(np.ones((50, 1)), np.linspace(0, 1, 50))
        with pytest.raises(DataError, check=about("labels")):
            Instance.from_labels(np.eye(3), ["1.5", "2", "2.5"])
        assert Instance.from_labels(np.eye(2), [0.5, -0.5]).labels == (-0.5, 0.5)
        assert Instance.from_labels(np.eye(3), ["1.5", "low", "2"]).labels == ("1.5", "2", "low")
        with pytest.raises(DataError, check=about("labels")):
            Instance.from_labels(np.eye(2), [1.0, np.inf])
        with pytest.raises(DataError, check=about("labels")):
            Instance.from_labels(np.eye(2), [[1], [2]])

    @given(st.lists(st.sampled_from(["x", "y", "z", "w"]), min_size=4).filter(lambda c: len(set(c)) > 1))
    def test_codes_lead_back_to_labels(self, labels):
        data = Instance.from_labels(np.ones((len(labels), 1)), labels)
        back = [data.labels[data.classes.index(int(code))] for code in data.y]
        assert back == labels


class TestImmutability:
    @pytest.mark.parametrize("make", [np.array, sp.csr_array])
    def test_given_arrays_are_neither_shared_nor_locked(self, make):
        X, y = make([[1.0, 2.0], [3.0, 4.0]]), np.array([-1.0, 1.0])
        data = Instance(X, y)
        X[0, 0] = y[0] = 99.0
        assert (data.X[0, 0], data.y[0]) == (1.0, -1.0)

    def test_nothing_can_be_written(self):
        data = two_classes()
        with pytest.raises(ValueError):
            data.X[0, 0] = 1.0
        with pytest.raises(ValueError):
            data.y[0] = 1.0
        with pytest.raises(dataclasses.FrozenInstanceError):
            data.name = "other"

    def test_sparse_parts_are_locked_and_canonical(self):
        raw = sp.csr_array((np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
        data = Instance(raw, [-1, 1])
        assert (data.X.nnz, data.X[0, 1]) == (1, 3.0)
        assert raw.nnz == 3
        for part in (data.X.data, data.X.indices, data.X.indptr):
            assert not part.flags.writeable

    def test_methods_leave_the_instance_alone(self):
        data = two_classes()
        X, y = data.X.copy(), data.y.copy()
        data.prepared()
        data.subsample(8, seed=0)
        data.split([0.5, 0.5], seed=0)
        data.with_label_noise(0.3, seed=0)
        assert np.array_equal(data.X, X)
        assert np.array_equal(data.y, y)


class TestPreparation:
    def test_standardised_with_the_intercept_first(self):
        data = dataclasses.replace(two_classes(), feature_names=("a", "b", "c"))
        done = data.prepared()
        assert done.X.shape == (20, 4)
        assert np.all(done.X[:, 0] == 1.0)
        np.testing.assert_allclose(done.X[:, 1:].mean(axis=0), 0.0, atol=1e-14)
        np.testing.assert_allclose(done.X[:, 1:].std(axis=0), 1.0, rtol=1e-14)
        assert done.feature_names == ("intercept", "a", "b", "c")
        assert (done.intercept, done.standardised, done.scaling) == (True, True, "standardised")

    def test_each_switch_alone(self):
        data = two_classes()
        scaled = data.prepared(intercept=False)
        assert scaled.X.shape == (20, 3)
        assert scaled.standardised
        assert not scaled.intercept
        ones = data.prepared(standardise=False)
        assert np.array_equal(ones.X[:, 1:], data.X)
        assert (ones.scaling, ones.intercept) == ("none", True)

    def test_prepared_twice_is_prepared_once(self):
        once = two_classes().prepared()
        assert np.array_equal(once.prepared().X, once.X)

    def test_existing_intercept_is_kept_and_not_scaled(self):
        data = gaussian_clusters(50, 2, 0.5, seed=1)
        done = data.prepared()
        assert done.X.shape == (50, 3)
        assert np.all(done.X[:, 0] == 1.0)
        np.testing.assert_allclose(done.X[:, 1:].std(axis=0), 1.0)

    @pytest.mark.parametrize("constant", [0.0, 0.1, -1e9])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_constant_columns_are_dropped_with_a_warning(self, constant, sparse):
        X = np.array(two_classes(n=23).X)
        X[:, 1] = constant
        y = np.where(np.arange(23) > 5, 1, -1)
        data = Instance(sp.csr_array(X) if sparse else X, y, feature_names=("a", "b", "c"))
        with pytest.warns(MarginoptWarning) as caught:
            done = data.prepared()
        assert subjects(caught) == ["standardise"]
        assert caught[0].filename == __file__
        assert done.feature_names == ("intercept", "a", "c")
        assert done.X.shape == (23, 3)

    def test_all_constant(self):
        with (
            pytest.warns(MarginoptWarning),
            pytest.raises(DataError, check=about("X")),
        ):
            Instance(np.ones((3, 2)), [-1, 1, 1]).prepared()

    def test_too_large_to_standardise(self):
        with pytest.raises(DataError, check=about("X")):
            Instance([[1e308], [-1e308], [1e308]], [-1, 1, 1]).prepared()

    def test_sparse_is_scaled_and_not_centred(self):
        dense = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 4.0], [1.0, 0.0]])
        done = Instance(sp.csr_array(dense), [-1, 1, 1, -1]).prepared()
        assert sp.issparse(done.X)
        np.testing.assert_allclose(done.X.toarray()[:, 1:], dense / dense.std(axis=0), rtol=1e-14)
        assert done.scaling == "scaled"
        assert done.standardised
        assert "not centred" in repr(done)
        assert np.all(done.X.toarray()[:, 0] == 1.0)

    def test_dense_brings_a_sparse_matrix_to_an_array(self):
        data = Instance(sp.csr_array(np.eye(3)), [-1, 1, 1])
        assert np.array_equal(data.dense().X, np.eye(3))

    def test_fit_on_uses_the_other_statistics(self):
        train, test = two_classes(seed=1), two_classes(seed=2)
        done = test.prepared(fit_on=train)
        np.testing.assert_allclose(done.X[:, 1:], (test.X - train.X.mean(axis=0)) / train.X.std(axis=0))

    def test_fit_on_must_fit(self):
        train = two_classes()
        with pytest.raises(InputError, check=about("fit_on")):
            two_classes(p=2).prepared(fit_on=train)
        with pytest.raises(InputError, check=about("fit_on")):
            train.prepared(fit_on=train.prepared(intercept=False))

    @settings(max_examples=40)
    @given(st.integers(0, 10**6), st.floats(1e-6, 1e6), st.floats(-1e6, 1e6))
    def test_preparation_undoes_any_affine_map(self, seed, scale, shift):
        X = np.random.default_rng(seed).normal(size=(12, 2))
        y = [-1, 1] * 6
        one, other = Instance(X, y).prepared(), Instance(scale * X + shift, y).prepared()
        # Shifting by s loses about |s| / scale units in the last place of the differences.
        np.testing.assert_allclose(one.X, other.X, atol=1e-13 * (10 + abs(shift) / scale))


class TestRows:
    def test_subsample_is_stratified_seeded_and_without_replacement(self):
        data = Instance(np.arange(100.0)[:, None], np.where(np.arange(100) < 80, -1, 1))
        part = data.subsample(20, seed=3)
        assert part.sizes() == {-1: 16, 1: 4}
        assert np.unique(part.X).size == 20
        assert np.array_equal(part.X, data.subsample(20, seed=3).X)
        assert not np.array_equal(part.X, data.subsample(20, seed=4).X)

    def test_stratified_keeps_rare_classes(self):
        data = Instance(np.arange(100.0)[:, None], np.where(np.arange(100) < 99, -1, 1))
        assert data.subsample(5, seed=0).sizes() == {-1: 4, 1: 1}

    def test_plain_subsample_may_leave_one_class(self):
        data = Instance(np.arange(100.0)[:, None], np.where(np.arange(100) < 99, -1, 1))
        with pytest.raises(DataError, check=about("y")):
            data.subsample(2, seed=0, stratified=False)

    def test_generator_is_advanced(self):
        data, rng = two_classes(), np.random.default_rng(0)
        assert not np.array_equal(data.subsample(8, rng).X, data.subsample(8, rng).X)

    @pytest.mark.parametrize("rng", [None, -1, 1.5, "0", True])
    def test_bad_rng(self, rng):
        with pytest.raises(InputError, check=about("seed")):
            two_classes().subsample(5, rng)

    @pytest.mark.parametrize("n", [1, 21, 2.5, "3", True])
    def test_bad_n(self, n):
        with pytest.raises(InputError, check=about("n")):
            two_classes().subsample(n, seed=0)

    @settings(max_examples=50)
    @given(st.integers(0, 1000), st.integers(8, 60), st.booleans(), st.integers(1, 5))
    def test_split_is_a_partition(self, seed, n, stratified, parts):
        data = Instance(np.arange(float(3 * n))[:, None], np.arange(3 * n) % 3)
        fractions = np.full(parts + 1, 1.0 / (parts + 1))
        pieces = data.split(fractions, seed, stratified)
        assert sorted(np.concatenate([piece.X.ravel() for piece in pieces])) == list(range(3 * n))
        for piece in pieces:
            assert abs(piece.n - 3 * n / (parts + 1)) <= 1
            if stratified:
                assert np.ptp(list(piece.sizes().values())) <= 2

    def test_split_35_35_30(self):
        data = Instance(np.arange(200.0)[:, None], np.where(np.arange(200) < 120, -1, 1))
        train, valid, test = data.split((0.35, 0.35, 0.3), seed=0)
        assert [train.n, valid.n, test.n] == [70, 70, 60]
        for part, positive in ((train, 28), (valid, 28), (test, 24)):
            assert abs(part.sizes()[1] - positive) <= 1
        assert train.name == "data[1/3]"
        assert not np.array_equal(train.X, data.split((0.35, 0.35, 0.3), seed=1)[0].X)

    @pytest.mark.parametrize("fractions", [(1.0,), (), (0.5, 0.6), (0.5, 0.4), (1.5, -0.5), (0.0, 1.0), (np.nan, 1), ("a", "b")])
    def test_bad_fractions(self, fractions):
        with pytest.raises(InputError, check=about("every fraction", "fractions")):
            two_classes().split(fractions, seed=0)

    def test_empty_part(self):
        with pytest.raises(InputError, check=about("fractions")):
            two_classes().split((0.99, 0.01), seed=0)

    def test_take(self):
        data = two_classes()
        assert np.array_equal(data.take([3, 0, -1]).X, data.X[[3, 0, -1]])
        part = data.take(np.arange(20) < 9, name="x")
        assert (part.n, part.name) == (9, "x")
        assert np.array_equal(part.y, data.y[:9])
        with pytest.raises(DataError, check=about("y")):
            data.take(data.y > 0)

    @pytest.mark.parametrize("indices", [[], [20], [-21], [0.5], [[0]], "a", [True, False], 3])
    def test_bad_indices(self, indices):
        with pytest.raises(InputError, check=about("indices")):
            two_classes().take(indices)

    def test_pair(self):
        data = three_classes()
        pair = data.pair("c", "a")
        assert pair.labels == ("c", "a")
        assert pair.name == "abc-c-a"
        assert np.array_equal(pair.X[pair.y == -1], data.X[data.y == 2])
        assert np.array_equal(pair.X[pair.y == 1], data.X[data.y == 0])
        assert pair.pair("a", "c").labels == ("a", "c")

    def test_pair_reads_numbers_as_text(self):
        data = Instance(np.eye(3), [0, 1, 2], labels=(3, 5, 8))
        assert data.pair("3", "8").labels == (3, 8)

    def test_bad_pair(self):
        with pytest.raises(InputError, check=about("d")):
            three_classes().pair("a", "d")
        with pytest.raises(InputError, check=about("b")):
            three_classes().pair("a", "a")


class TestNoise:
    def test_flips_about_tau_of_the_labels(self):
        data = Instance(np.zeros((20000, 1)), np.where(np.arange(20000) % 2, 1, -1))
        noisy = data.with_label_noise(0.2, seed=0)
        # Binomial(20000, 0.2): five standard deviations are 0.0141.
        assert abs(np.mean(noisy.y != data.y) - 0.2) < 0.0142
        assert np.array_equal(noisy.X, data.X)
        assert np.array_equal(noisy.y, data.with_label_noise(0.2, seed=0).y)

    def test_several_classes_move_to_every_other(self):
        data = Instance(np.zeros((9000, 1)), np.arange(9000) % 3)
        noisy = data.with_label_noise(0.3, seed=1)
        for code in range(3):
            counts = np.bincount(noisy.y[data.y == code], minlength=3) / 3000
            np.testing.assert_allclose(np.delete(counts, code), 0.15, atol=0.035)

    def test_zero_changes_nothing(self):
        data = two_classes()
        assert np.array_equal(data.with_label_noise(0.0, seed=0).y, data.y)

    @pytest.mark.parametrize("tau", [-0.1, 0.6, np.nan, "x", None])
    def test_bad_tau(self, tau):
        with pytest.raises(InputError, check=about("tau")):
            two_classes().with_label_noise(tau, seed=0)


def test_the_frame_has_the_original_label_of_each_row():
    pytest.importorskip("pandas")
    three = three_classes()
    first_and_last = three.take([0, 2, 3, 5])  # no row of the second class
    pair = three.pair("a", "c")
    for data, labels in ((three, ["a", "b", "c"] * 10), (first_and_last, ["a", "c"] * 2), (pair, ["a", "c"] * 10)):
        assert data.to_frame()["label"].tolist() == labels
    assert set(two_classes().to_frame()["label"]) == {-1, 1}


def test_repr_says_what_there_is():
    text = repr(gaussian_clusters(30, 2, 0.2, seed=0).prepared())
    for part in ("30 rows", "3 columns with the intercept first", "2 classes", "standardised", "§5.1.1"):
        assert part in text
    assert "CSR 50.0% filled" in repr(Instance(sp.csr_array(np.eye(2)), [-1, 1]))


def test_import_is_light():
    code = "import sys, marginopt.instances; print([m for m in ('sklearn', 'pandas', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
