"""Rows during assembly are SciPy's, entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models.program.entries import Entries


def drawn(rng: np.random.Generator, rows: int, columns: int) -> sp.csr_array:
    return sp.csr_array(np.where(rng.random((rows, columns)) < 0.4, rng.standard_normal((rows, columns)), 0.0))


def same(found: Entries, wanted: object) -> None:
    """The same arrays in the same order, of the same type."""
    ours, theirs = found.csr, sp.csr_array(wanted)
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
    a, b = Entries.of(A), Entries.of(B)
    same(Entries.of(A.toarray()), A)
    same(Entries.identity(rows), sp.eye_array(rows, format="csr"))
    same(-a, -A)
    factors = rng.standard_normal(rows)
    same(a.times(factors), sp.diags_array(factors).tocsr() @ A)
    same(a.times(2.5), 2.5 * A)
    for chosen in (rng.random(rows) < 0.5, np.flatnonzero(rng.random(rows) < 0.5), slice(1, None)):
        same(a.at(chosen), A[chosen])
    same(Entries.beside([(a, 0), (b, columns)], rows, columns + 4), sp.hstack([A, B], format="csr"))
    same(Entries.beside([], 3, 5), sp.csr_array((3, 5)))
    same(Entries.below(a, Entries.beside([], 2, columns), -a), sp.vstack([A, sp.csr_array((2, columns)), -A], format="csr"))
    np.testing.assert_array_equal(a.weighted_sum(factors), A.T @ factors)
    np.testing.assert_array_equal(a.dense(), A.toarray())
