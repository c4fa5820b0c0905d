"""Checks of data: what passes is kept as it is and read-only, what does not is named with what was given and needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about

from marginopt.errors import InputError
from marginopt.models.arrays import as_labels, as_points, as_positive, as_vector, entry_count, frozen, row_norms_squared, to_dense


@pytest.mark.parametrize(
    ("X", "name"),
    [
        ([1.0, 2.0], "X"),
        (3.0, "X"),
        (np.zeros((2, 2, 2)), "X"),
        (np.zeros((0, 3)), "X"),
        (np.zeros((3, 0)), "X"),
        ([[1.0, 2.0], [3.0]], "X"),
        ([["a", "b"]], "X"),
        ([["1", "2"]], "X"),
        (np.array([[1j, 2]]), "X"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "X"),
        ([[None, 1.0]], "X"),
        ([[1.0, np.nan], [np.inf, 1.0]], "X"),
        (sp.csr_array(np.array([[1.0, 0], [0, np.inf]])), "X"),
        (sp.csr_array((0, 3)), "X"),
        (sp.coo_array(np.array([1.0, 2.0])), "X"),
        (sp.csr_array(np.array([[1j]])), "X"),
    ],
)
def test_bad_points(X: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        as_points(X)


@pytest.mark.parametrize(
    ("y", "name"),
    [
        ([1, -1], "y"),
        ([[1], [-1], [1]], "y"),
        (1.0, "y"),
        ([0, 1, 1], "y"),
        ([1, 2, 3], "y"),
        ([1, -1, np.nan], "y"),
        ([True, False, True], "y"),
        ([1, 1, 1], "y"),
        ([-1, -1, -1], "y"),
        (["a", "b", "a"], "y"),
        (["1", "-1", "1"], "y"),
        (np.array([1j, -1, 1]), "y"),
    ],
)
def test_bad_labels(y: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        as_labels(y, 3)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (0.0, "C"),
        (-1, "C"),
        (np.nan, "C"),
        (np.inf, "C"),
        ("1", "C"),
        (None, "C"),
        (1j, "C"),
        ([1.0], "C"),
        (10**400, "C"),
    ],
)
def test_bad_numbers(value: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        as_positive(value, "C")


def test_numbers() -> None:
    assert as_positive(np.float32(0.5), "C") == 0.5
    assert as_positive(0, "kappa", zero=True) == 0.0
    with pytest.raises(InputError, check=about("kappa")):
        as_positive(-1e-300, "kappa", zero=True)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ([1.0, 2.0], "lam"),
        ([1.0, np.nan, 2.0], "lam"),
        ("abc", "lam"),
        ([[1.0, 2.0, 3.0]], "lam"),
    ],
)
def test_bad_vectors(value: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        as_vector(value, 3, "lam")


def test_a_number_stands_for_equal_ones() -> None:
    np.testing.assert_array_equal(as_vector(2, 3, "lam"), [2.0, 2.0, 2.0])


def test_nothing_is_copied_that_need_not_be_and_the_owner_may_still_write() -> None:
    X = np.eye(3)
    points = as_points(X)
    assert np.shares_memory(points, X)
    assert not points.flags.writeable
    assert X.flags.writeable
    with pytest.raises(ValueError):
        points[0, 0] = 2.0  # type: ignore[index]
    assert frozen(points) is points  # type: ignore[arg-type]
    sparse = sp.csr_array(X)
    assert np.shares_memory(as_points(sparse).data, sparse.data)


def test_other_containers() -> None:
    for X in (
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.int8),
        np.asfortranarray([[1.0, 2], [3, 4]]),
        [[True, 2], [3, 4]],
    ):
        points = as_points(X)
        assert points.dtype == np.float64
        assert points.flags.c_contiguous
        assert points[1, 1] == 4.0
    for kind in (sp.csc_matrix, sp.coo_array, sp.lil_array, sp.dok_array):
        assert isinstance(as_points(kind([[1.0, 2], [3, 4]])), sp.csr_array)


def test_unsorted_and_repeated_entries_are_summed_in_a_copy() -> None:
    X = sp.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = (X.data.copy(), X.indices.copy(), X.indptr.copy())
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False  # any write fails
    points = as_points(X)
    np.testing.assert_array_equal(points.toarray(), [[0, 3], [5, 0]])
    np.testing.assert_array_equal(row_norms_squared(points), [9, 25])
    assert all(np.array_equal(a, b) for a, b in zip(before, (X.data, X.indices, X.indptr), strict=True))


def test_new_rows_must_fit() -> None:
    with pytest.raises(InputError, check=about("X")):
        as_points(np.ones((2, 3)), columns=4)


def test_small_helpers_agree_on_dense_and_sparse() -> None:
    X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    sparse = as_points(sp.csr_array(X))
    np.testing.assert_allclose(row_norms_squared(as_points(X)), row_norms_squared(sparse))
    np.testing.assert_array_equal(to_dense(sparse), X)
    assert (entry_count(as_points(X)), entry_count(sparse)) == (6, 3)
