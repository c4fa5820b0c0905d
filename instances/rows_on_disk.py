"""`open_rows`: open a data set too large for memory, whose dense or CSR rows stay in files and are read in blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import DataError, InputError, short_text
from ..rows import Rows, SparseBlock
from .arrays import FloatArray, IntArray, Label, encode_labels
from .arrays_on_disk import (
    ArrayFolder,
    Buffer,
    StoredArray,
    stored_in_npz,
    stored_npy,
    unpack_libsvm,
    unpack_member,
    unpack_parquet,
)
from .readers import LIBSVM_SUFFIXES, as_path, stem, suffix

if TYPE_CHECKING:
    from ..rows.sparse import StoredBlock


@dataclass(frozen=True, eq=False, repr=False)
class DenseRows(Rows):
    """The rows of a dense n × p array in a file.

    Parameters
    ----------
    array : StoredArray
        The rows in the file, without a column of ones.
    intercept : bool
        Whether a column of ones comes first; it is not in the file.
    unpacked_folder : object
        The `ArrayFolder` of unpacked arrays; this reference keeps a temporary one from being deleted.
    """

    array: StoredArray
    intercept: bool = False
    unpacked_folder: object = None

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, p)."""
        return self.array.shape[0], self.array.shape[1] + int(self.intercept)

    @property
    def entries(self) -> int:
        """Return the number of entries, n p."""
        n, p = self.shape
        return n * p

    @contextmanager
    def open_reader(self) -> Iterator[Callable[[int, int], FloatArray]]:
        """Yield a function of (start, stop) that reads these rows, into a buffer that the next call overwrites."""
        p, first = self.shape[1], int(self.intercept)
        plain = self.array.dtype == np.float64 and self.array.dtype.isnative and not self.intercept
        raw, ones = Buffer(self.array.dtype), np.empty((0, p))
        with self.array.open() as handle:

            def read(start: int, stop: int) -> FloatArray:
                nonlocal ones
                count = stop - start
                rows = self.array.read(handle, start, stop, raw)
                if plain:
                    return rows
                if ones.shape[0] < count:
                    ones = np.ones((count, p))
                ones[:count, first:] = rows
                return ones[:count]

            yield read


@dataclass(frozen=True, eq=False, repr=False)
class SparseRows(Rows):
    """Compressed sparse rows in three arrays in files.

    Parameters
    ----------
    data, indices, indptr : StoredArray
        As `scipy.sparse.csr_array` has them; ``indptr`` has n + 1 numbers.
    columns_stored : int
        Number of columns of the arrays, without the column of ones.
    intercept, unpacked_folder
        As in `DenseRows`.
    """

    data: StoredArray
    indices: StoredArray
    indptr: StoredArray
    columns_stored: int
    intercept: bool = False
    unpacked_folder: object = None

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, p)."""
        return self.indptr.shape[0] - 1, self.columns_stored + int(self.intercept)

    @property
    def entries(self) -> int:
        """Return the number of stored entries, the column of ones included."""
        return self.data.shape[0] + (self.shape[0] if self.intercept else 0)

    @contextmanager
    def open_reader(self) -> Iterator[Callable[[int, int], SparseBlock]]:
        """Yield a function of (start, stop) that reads these rows, into buffers that the next call overwrites."""
        stored = (self.data, self.indices, self.indptr)
        buffers = [Buffer(array.dtype) for array in stored]
        with ExitStack() as stack:
            files = [stack.enter_context(array.open()) for array in stored]

            def part(k: int, start: int, stop: int) -> np.ndarray:
                return stored[k].read(files[k], start, stop, buffers[k])

            def read(start: int, stop: int) -> SparseBlock:
                ends = part(2, start, stop + 1).astype(np.int64, copy=False)
                first, last = int(ends[0]), int(ends[-1])
                if not 0 <= first <= last <= self.data.shape[0]:
                    raise self._no_ends(start, stop)
                data = _either(part(0, first, last), np.float32, np.float64)
                indices = _either(part(1, first, last), np.int32, np.int64)
                return self._checked_block(data, indices, ends, start)

            yield read

    def _checked_block(self, data: np.ndarray, indices: np.ndarray, ends: IntArray, start: int) -> StoredBlock:
        """Return the rows from ``start`` on; refuse row ends that decrease and columns that are not there."""
        # imported here: compiled loops, which readers of dense data do not need
        from ..rows.loops import COLUMN_OUT_OF_RANGE, DECREASING_ENDS, UNSORTED, check_columns
        from ..rows.sparse import StoredBlock

        count, first = ends.size - 1, int(ends[0])
        fault, row = check_columns(indices, ends, self.columns_stored)
        if fault == DECREASING_ENDS:
            raise self._no_ends(start, start + count)
        if fault == COLUMN_OUT_OF_RANGE:
            row_indices = indices[ends[row] - first : ends[row + 1] - first]
            wrong = row_indices[(row_indices < 0) | (row_indices >= self.columns_stored)][0]
            message = f"column {wrong} in row {start + row}; there are {self.columns_stored}"
            raise DataError(message, name="indices", file=self.indices.path)
        if fault == UNSORTED:
            shape = count, self.columns_stored
            ordered = sp.csr_array((data.astype(np.float64), indices, ends - first), shape=shape, copy=True)
            ordered.sum_duplicates()
            data, indices, ends = ordered.data, ordered.indices, ordered.indptr.astype(np.int64)
        return StoredBlock(data, indices, ends, self.columns_stored, int(self.intercept))

    def _no_ends(self, start: int, stop: int) -> DataError:
        message = f"row ends between rows {start} and {stop} are no CSR matrix's"
        return DataError(message, name="indptr", file=self.indptr.path)


#: Names of the arrays of a CSR matrix in an npz file.
_CSR = ("X_data", "X_indices", "X_indptr", "X_shape")


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """A data set whose rows stay on disk, as `open_rows` returns it.

    Attributes
    ----------
    X : Rows
        n × p, read in blocks.
    y : ndarray (n,) or None
        Labels in memory, -1 and +1 for two classes; None where the file has none.
    labels : tuple
        The original label of each class in the order of the codes.
    name, source : str
        Name of the data set, and the file.
    feature_names : tuple of str or None
        Names of the columns of X; None where the file has none.
    """

    X: Rows
    y: FloatArray | None
    labels: tuple[Label, ...] = ()
    name: str = "data"
    source: str = "given"
    feature_names: tuple[str, ...] | None = None

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return self.X.shape[0]


def open_rows(
    path: str | os.PathLike[str],
    label: str | int | os.PathLike[str] | None = None,
    *,
    intercept: bool = True,
    folder: str | os.PathLike[str] | None = None,
) -> OpenedRows:
    """Open a data set that stays on disk; formulations of linear classifiers read it in blocks of rows.

    Parameters
    ----------
    path : str or path
        ``.npy``; ``.npz`` with ``X`` or ``X_data, X_indices, X_indptr, X_shape``; Parquet; LIBSVM text, also compressed. Numbers
        of any type are read as float64. The arrays of .npy and of an uncompressed .npz are read in place; all other files are
        unpacked once, piece by piece.
    label : optional
        Parquet: the label's column, as in `marginopt.read`; npz: the array's name, ``y`` by default; npy: a .npy file with the
        labels. LIBSVM text has its labels first.
    intercept : bool
        Whether to put a column of ones, which the file does not have, before the others.
    folder : str or path, optional
        Where to unpack; by default a temporary folder that is deleted together with the returned object.

    Returns
    -------
    OpenedRows
        ``X``, read in blocks, and ``y``, coded as in an `Instance`.

    Notes
    -----
    One pass checks every entry: NaN and infinite entries are refused. No column is scaled.

    Raises
    ------
    DataError
        The file does not exist, or does not hold a data set in its format; the message says where.
    InputError
        A label that the format does not take.
    MissingPackageError
        A Parquet file without pyarrow.

    Examples
    --------
    >>> data = mo.instances.open_rows("kdd.libsvm.bz2")  # doctest: +SKIP
    >>> result = mo.solve(mo.HingeSVM(data.X, data.y, lam=2.0), tol=1e-3)  # doctest: +SKIP
    """
    file = as_path(path)
    if not isinstance(intercept, bool | np.bool_):
        raise InputError(f"intercept must be True or False; it is {short_text(intercept)}", name="intercept")
    if not file.is_file():
        raise DataError(
            f"{file} is {'a directory' if file.is_dir() else 'no file'}; the name of a data file is needed", file=file
        )
    place, kind = ArrayFolder(None if folder is None else as_path(folder)), suffix(file)
    names: Sequence[str] | None = None
    X: Rows
    if kind in LIBSVM_SUFFIXES:
        if label is not None:
            raise InputError(
                f"{file}: a LIBSVM file has its labels first; label={short_text(label)} cannot be used", name="label"
            )
        data, indices, indptr, width, pieces = unpack_libsvm(file, place)
        X = SparseRows(data, indices, indptr, width, intercept, place)
    elif kind in (".parquet", ".pq"):
        array, pieces, names = unpack_parquet(file, place, _column(file, label))
        X = DenseRows(array, intercept, place)
    elif kind == ".npz":
        X, pieces = _npz(file, "y" if label is None else label, intercept, place)
    elif kind == ".npy":
        array = stored_npy(file)
        X = DenseRows(_matrix(file, array), intercept)
        pieces = [] if label is None else [stored_npy(_labels_file(file, label)).load()]
    else:
        raise DataError(
            f"rows can be opened in .npy, .npz, .parquet, .pq, {', '.join(LIBSVM_SUFFIXES)}, not in {short_text(kind)}", file=file
        )
    X.columns  # noqa: B018 - the pass that looks at every entry
    if names is not None:
        names = ("intercept", *names) if intercept else tuple(names)
    y, labels = (None, ()) if not pieces else _coded(file, pieces, X.shape[0])
    return OpenedRows(X, y, labels, stem(file), str(file), None if names is None else tuple(names))


def _npz(file: Path, label: object, intercept: bool, place: ArrayFolder) -> tuple[Rows, list[npt.NDArray[Any]]]:
    if not isinstance(label, str):
        raise InputError(f"{file}: label must be the name of an array in an npz file, got {short_text(label)}", name="label")
    arrays = stored_in_npz(file)

    def stored(name: str) -> StoredArray:
        array = arrays[name]
        return unpack_member(file, name, place) if array is None else array

    sparse = "X" not in arrays and all(part in arrays for part in _CSR)
    if not ("X" in arrays or sparse):
        raise DataError(f"{file} needs an array X, or {', '.join(_CSR)}; it has {', '.join(arrays) or 'none'}", file=file)
    pieces = [stored(label).load()] if label in arrays else []
    if not sparse:
        return DenseRows(_matrix(file, stored("X")), intercept, place), pieces
    data, indices, indptr = (stored(name) for name in _CSR[:3])
    n, p = (int(k) for k in stored(_CSR[3]).load().ravel())
    if indptr.shape != (n + 1,) or data.shape != indices.shape:
        raise DataError("X_data, X_indices, X_indptr, X_shape are no CSR matrix", file=file)
    return SparseRows(data, indices, indptr, p, intercept, place), pieces


def _matrix(file: Path, array: StoredArray) -> StoredArray:
    if len(array.shape) != 2 or 0 in array.shape:
        raise DataError(f"X must have two dimensions (rows, features), neither empty; it has shape {array.shape}", file=file)
    return array


def _column(file: Path, label: object) -> str | int | None:
    if label is None or isinstance(label, str | int):
        return label
    raise InputError(f"{file}: label must be a column's name or index, got {short_text(label)}", name="label")


def _labels_file(file: Path, label: object) -> Path:
    if isinstance(label, str | os.PathLike):
        return as_path(label)
    raise InputError(f"{file} holds one array; label must be a .npy file with the labels, got {short_text(label)}", name="label")


def _coded(file: Path, pieces: Sequence[npt.NDArray[Any]], n: int) -> tuple[FloatArray, tuple[Label, ...]]:
    """Return codes and labels as `marginopt.read` does, computed from the different values in place of all rows."""
    flawed = next((piece.shape for piece in pieces if piece.ndim != 1), None)
    if flawed is not None:
        raise DataError(f"the labels must be a vector, one for each row; they have shape {flawed}", file=file)
    values = np.unique(np.concatenate([np.unique(piece) for piece in pieces]))
    if sum(piece.size for piece in pieces) != n:
        raise DataError(f"{sum(piece.size for piece in pieces):,} labels for {n:,} rows", file=file)
    try:
        codes, labels = encode_labels(values)
    except DataError as error:
        raise DataError(str(error), file=file) from None
    y, start = np.empty(n), 0
    for piece in pieces:
        y[start : start + piece.size] = codes[np.searchsorted(values, piece)]
        start += piece.size
    y.flags.writeable = False
    return y, labels


def _either(stored: np.ndarray, short: type[np.generic], long: type[np.generic]) -> np.ndarray:
    """Return numbers of one of two types unchanged, numbers of another type or byte order converted to the longer one."""
    return stored if stored.dtype in (short, long) and stored.dtype.isnative else stored.astype(long)
