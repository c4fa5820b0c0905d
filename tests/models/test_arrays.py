"""Checks of data: what passes is kept as it is and read-only, what does not is named with what was given and needed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.errors import InputError
from marginopt.models.arrays import as_labels, as_points, as_positive, as_vector, entries, frozen, row_norms_squared, to_dense


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([1.0, 2.0], "X must have two dimensions (rows are samples); it has shape (2,)"),
        (3.0, "X must have two dimensions"),
        (np.zeros((2, 2, 2)), "it has shape (2, 2, 2)"),
        (np.zeros((0, 3)), "at least one row and one column; its shape is (0, 3)"),
        (np.zeros((3, 0)), "its shape is (3, 0)"),
        ([[1.0, 2.0], [3.0]], "rows of one length"),
        ([["a", "b"]], "numeric n × p matrix"),
        ([["1", "2"]], "numeric n × p matrix"),
        (np.array([[1j, 2]]), "complex128"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
        ([[None, 1.0]], "1 NaN or infinite values, the first at (0, 0)"),
        ([[1.0, np.nan], [np.inf, 1.0]], "it has 2 NaN or infinite values, the first at (0, 1)"),
        (sp.csr_array(np.array([[1.0, 0], [0, np.inf]])), "1 NaN or infinite values, the first at (1, 1)"),
        (sp.csr_array((0, 3)), "its shape is (0, 3)"),
        (sp.coo_array(np.array([1.0, 2.0])), "it has shape (2,)"),
        (sp.csr_array(np.array([[1j]])), "complex128"),
    ],
)
def test_bad_points(X: Any, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        as_points(X)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([1, -1], "y must have shape (3,), one label for each row of X; it has (2,)"),
        ([[1], [-1], [1]], "it has (3, 1)"),
        (1.0, "it has ()"),
        ([0, 1, 1], "the labels -1 and +1; it holds 0, 1. Instance.pair"),
        ([1, 2, 3], "it holds 1, 2, 3"),
        ([1, -1, np.nan], "it holds -1, 1, nan"),
        ([True, False, True], "it holds 0, 1"),
        ([1, 1, 1], "both classes; every label is +1"),
        ([-1, -1, -1], "every label is -1"),
        (["a", "b", "a"], "y must hold 3 labels -1 or +1"),
        (["1", "-1", "1"], "y must hold 3 labels -1 or +1"),
        (np.array([1j, -1, 1]), "complex"),
    ],
)
def test_bad_labels(y: Any, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        as_labels(y, 3)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "C "),
        (-1, "it is -1"),
        (np.nan, "it is nan"),
        (np.inf, "it is inf"),
        ("1", "it is the text '1'"),
        (None, "it is None"),
        (1j, "it is 1j"),
        ([1.0], "it is [1.0]"),
        (10**400, "C "),
    ],
)
def test_bad_numbers(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        as_positive(value, "C")


def test_numbers() -> None:
    assert as_positive(np.float32(0.5), "C") == 0.5
    assert as_positive(0, "kappa", zero=True) == 0.0
    with pytest.raises(InputError, match="≥ 0"):
        as_positive(-1e-300, "kappa", zero=True)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1.0, 2.0], "lam must have shape (3,); it has (2,)"),
        ([1.0, np.nan, 2.0], "lam "),
        ("abc", "lam must hold 3 numbers"),
        ([[1.0, 2.0, 3.0]], "it has (1, 3)"),
    ],
)
def test_bad_vectors(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        as_vector(value, 3, "lam")


def test_a_number_stands_for_equal_ones() -> None:
    np.testing.assert_array_equal(as_vector(2, 3, "lam"), [2.0, 2.0, 2.0])


def test_nothing_is_copied_that_need_not_be_and_the_owner_may_still_write() -> None:
    X = np.eye(3)
    kept = as_points(X)
    assert np.shares_memory(kept, X)
    assert not kept.flags.writeable
    assert X.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        kept[0, 0] = 2.0  # type: ignore[index]
    assert frozen(kept) is kept  # type: ignore[arg-type]
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
    with pytest.raises(InputError, match="X must have the model's 4 columns; it has 3"):
        as_points(np.ones((2, 3)), columns=4)


def test_small_helpers_agree_on_dense_and_sparse() -> None:
    X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    sparse = as_points(sp.csr_array(X))
    np.testing.assert_allclose(row_norms_squared(as_points(X)), row_norms_squared(sparse))
    np.testing.assert_array_equal(to_dense(sparse), X)
    assert (entries(as_points(X)), entries(sparse)) == (6, 3)
