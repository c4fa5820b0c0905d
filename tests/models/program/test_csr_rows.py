"""`CSRRows` holds the arrays that SciPy makes, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models.program.csr_rows import CSRRows
from marginopt.models.program.quadratic import Quadratic


def drawn(rng: np.random.Generator, rows: int, columns: int) -> sp.csr_array:
    return sp.csr_array(np.where(rng.random((rows, columns)) < 0.4, rng.standard_normal((rows, columns)), 0.0))


def same(entries: CSRRows, wanted: object) -> None:
    """The same arrays in the same order, of the same type."""
    ours, theirs = entries.csr, sp.csr_array(wanted)
    theirs.sort_indices()  # SciPy's products leave them in any order
    assert ours.shape == theirs.shape
    for name in ("data", "indices", "indptr"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("seed", range(5))
def test_they_are_what_scipy_makes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = (int(k) for k in rng.integers(1, 12, 2))
    A, B = drawn(rng, rows, columns), drawn(rng, rows, 4)
    a, b = CSRRows.from_matrix(A), CSRRows.from_matrix(B)
    same(CSRRows.from_matrix(A.toarray()), A)
    same(CSRRows.identity(rows), sp.eye_array(rows, format="csr"))
    same(-a, -A)
    factors = rng.standard_normal(rows)
    same(a.scale_rows(factors), sp.diags_array(factors).tocsr() @ A)
    same(a.scale_rows(2.5), 2.5 * A)
    for chosen in (rng.random(rows) < 0.5, np.flatnonzero(rng.random(rows) < 0.5), slice(1, None)):
        same(a.take_rows(chosen), A[chosen])
    some = np.flatnonzero(rng.random(columns) < 0.5)
    same(a.take_columns(some), A[:, some])
    P = sp.csc_array(A.T @ A)
    np.testing.assert_array_equal(Quadratic(matrix=P).submatrix(some), P.toarray()[np.ix_(some, some)])
    same(CSRRows.hstack([(a, 0), (b, columns)], rows, columns + 4), sp.hstack([A, B], format="csr"))
    same(CSRRows.hstack([], 3, 5), sp.csr_array((3, 5)))
    same(CSRRows.vstack(a, CSRRows.hstack([], 2, columns), -a), sp.vstack([A, sp.csr_array((2, columns)), -A], format="csr"))
    np.testing.assert_array_equal(a.weighted_sum(factors), A.T @ factors)
    np.testing.assert_array_equal(a.dense(), A.toarray())


def test_entries_that_are_stored_twice_count_as_their_sum_in_errors() -> None:
    """(1 + 1)² and not 1² + 1²: the bound of a product's rounding error would be too small."""
    twice = sp.csr_array((np.ones(2), np.zeros(2, dtype=np.int32), np.array([0, 2], dtype=np.int32)), shape=(1, 1))
    x = np.ones(1)
    value = Quadratic(factor=twice).product_error(x)
    np.testing.assert_array_equal(value, Quadratic(factor=sp.csr_array([[2.0]])).product_error(x))
    assert not twice.has_canonical_format  # what was given is not written to
