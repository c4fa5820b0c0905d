"""Sparse rows in files: however they are stored they are one matrix, and what is no matrix is refused before it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import Facts, about

import marginopt as mo
from marginopt.rows import MemoryRows, Rows, sample_rows


def matrix(n: int = 60, p: int = 7, seed: int = 0) -> sp.csr_array:
    """Values that float32 holds; some rows are empty."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, p)) < 0.4, rng.integers(-8, 9, (n, p)) / 4.0, 0.0)
    dense[::7] = 0.0
    return sp.csr_array(dense)


def saved(folder: Path, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Path:
    path = folder / "rows.npz"
    np.savez(path, X_data=data, X_indices=indices, X_indptr=indptr, X_shape=np.array(shape))
    return path


def shuffled(S: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same matrix with columns in no order, and each number in two halves."""
    rng, data, indices = np.random.default_rng(1), [], []
    for i in range(S.shape[0]):
        part = slice(S.indptr[i], S.indptr[i + 1])
        order = rng.permutation(2 * (part.stop - part.start))
        data.append(np.tile(0.5 * S.data[part], 2)[order])
        indices.append(np.tile(S.indices[part], 2)[order])
    return np.concatenate(data), np.concatenate(indices), 2 * S.indptr


@pytest.mark.parametrize(
    ("values", "places", "ends", "intercept"),
    [
        ("f4", "i4", "i8", False), ("f8", "i8", "i4", True), (">f8", ">i4", ">i8", False), ("f4", "u2", "u8", True),
        ("f8", "u1", "i8", True),
    ],
)  # fmt: skip
def test_every_way_of_storing_is_the_same_matrix(tmp_path: Path, values: str, places: str, ends: str, intercept: bool) -> None:
    S = matrix()
    for data, indices, indptr in ((S.data, S.indices, S.indptr), shuffled(S)):
        path = saved(tmp_path, data.astype(values), indices.astype(places), indptr.astype(ends), S.shape)
        rows = mo.instances.open_rows(path, intercept=intercept).X
        dense = np.column_stack([np.ones(S.shape[0]), S.toarray()]) if intercept else S.toarray()
        _same(rows, dense)


def _same(rows: Rows, dense: np.ndarray) -> None:
    n, p = dense.shape
    v, w = np.linspace(-1.0, 2.0, n), np.linspace(1.0, -3.0, p)
    assert rows @ w == pytest.approx(dense @ w, abs=1e-13) and rows.T @ v == pytest.approx(dense.T @ v, abs=1e-13)
    assert (rows.columns.low == dense.min(axis=0)).all() and (rows.columns.high == dense.max(axis=0)).all()
    assert rows.columns.mean_squares == pytest.approx((dense**2).mean(axis=0))
    for start, stop, block in rows.blocks(400.0):
        assert not isinstance(block, np.ndarray)
        part = dense[start:stop]
        assert block.shape == part.shape and sp.csr_array(block.arrays(), shape=part.shape).toarray() == pytest.approx(part)
        assert block.row_squares() == pytest.approx((part**2).sum(axis=1))
        assert block.column_squares(v[start:stop]) == pytest.approx((part**2).T @ v[start:stop])
    taken = np.concatenate([dense[start:stop] for start, stop in rows.sample_pieces(20)])
    result = sample_rows(rows, 20).X
    assert (result if isinstance(result, np.ndarray) else result.toarray()) == pytest.approx(taken)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_digest_is_of_the_matrix_and_not_of_its_file(tmp_path: Path, intercept: bool) -> None:
    S = matrix()
    whole = sp.csr_array(sp.hstack([np.ones((S.shape[0], 1)), S], format="csr")) if intercept else S
    entries = {MemoryRows(whole).columns.digest}
    for values, places in (("f4", "i4"), ("f8", "i8"), (">f8", "u2")):
        path = saved(tmp_path, S.data.astype(values), S.indices.astype(places), S.indptr, S.shape)
        entries.add(mo.instances.open_rows(path, intercept=intercept).X.columns.digest)
    assert len(entries) == 1
    for change in ("value", "place"):
        other = S.copy()
        if change == "value":
            other.data[5] += 2.0**-40  # no longer a float32
        else:
            row = int(np.flatnonzero((np.diff(S.indptr) > 0) & (S[:, [6]].toarray().ravel() == 0))[0])
            other.indices[other.indptr[row + 1] - 1] = 6
        path = saved(tmp_path, other.data, other.indices, other.indptr, S.shape)
        entries.add(mo.instances.open_rows(path, intercept=intercept).X.columns.digest)
    assert len(entries) == 3


def test_dense_rows_have_one_digest_in_float32_and_float64(tmp_path: Path) -> None:
    X = matrix().toarray()
    values = {MemoryRows(X).columns.digest}
    for kind in ("f4", "f8", ">f4"):
        np.save(tmp_path / "X.npy", X.astype(kind))
        values.add(mo.instances.open_rows(tmp_path / "X.npy", intercept=False).X.columns.digest)
    assert len(values) == 1
    assert MemoryRows(X + 2.0**-40).columns.digest not in values


def _broken(S: sp.csr_array, how: str) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], Facts]:
    """Return the arrays of a matrix with a fault, and the check of the error: it names X, or the array at fault."""
    data, indices, indptr = S.data.copy(), S.indices.astype(np.int64), S.indptr.astype(np.int64)
    row = int(np.flatnonzero(np.diff(indptr) > 2)[5])
    entry = int(indptr[row] + 1)
    if how in ("nan", "-inf"):
        data[entry] = float(how)
        return (data, indices, indptr), about("X")
    if how.startswith("column"):
        indices[entry] = int(how.split()[1])
        return (data, indices, indptr), about("indices")
    if how == "decreasing ends":
        indptr[row + 1] = indptr[row] - 1
    elif how == "far ends":
        indptr[row + 1 :] += 10**12
    else:
        indptr[row + 1] = data.size + 5
    return (data, indices, indptr), about("indptr")


@pytest.mark.parametrize(
    "how", ["nan", "-inf", "column 7", f"column {2**40}", "column -3", "decreasing ends", "far ends", "far inner end"]
)
def test_what_is_no_matrix_is_refused_when_it_is_opened(tmp_path: Path, how: str) -> None:
    arrays, check = _broken(matrix(), how)
    with pytest.raises(mo.errors.DataError, check=check):
        mo.instances.open_rows(saved(tmp_path, *arrays, (60, 7)), intercept=False)


def test_a_file_that_changes_later_is_never_used_as_an_index(tmp_path: Path) -> None:
    S = matrix()
    rows = mo.instances.open_rows(saved(tmp_path, S.data, S.indices, S.indptr, S.shape)).X
    saved(tmp_path, S.data, np.where(S.indices == 3, 10**6, S.indices).astype(np.int32), S.indptr, S.shape)
    with pytest.raises(mo.errors.DataError, check=about("indices")):
        rows @ np.ones(8)


def test_rows_in_memory_are_put_in_order() -> None:
    S = matrix()
    _same(MemoryRows(sp.csr_array(shuffled(S), shape=S.shape)), S.toarray())


def test_large_numbers_whose_squares_overflow_are_rows_all_the_same() -> None:
    X = np.array([[1e200, 1.0], [2.0, -3.0]])
    columns = MemoryRows(X).columns
    assert columns.high[0] == 1e200 and columns.mean_squares[0] == np.inf and columns.mean_squares[1] == 5.0
