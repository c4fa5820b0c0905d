"""Array types of data sets, and the checks of features and labels that `Instance` makes when it is built.

An instance keeps read-only copies, so that arrays of the caller are neither written to nor locked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import DataError, count_text, short_text

#: Arrays of float64 and int64.
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
#: Rows of data: dense, or compressed sparse rows; n × columns.
Matrix: TypeAlias = "FloatArray | sp.csr_array"
#: A class label as the data's source writes it.
Label: TypeAlias = int | float | str

#: Labels are refused as measurements if they have more classes than this *and* than half the rows.
_MANY_CLASSES = 20


def is_sparse(X: Matrix) -> TypeGuard[sp.csr_array]:
    """Return whether ``X`` is stored as compressed sparse rows."""
    return bool(sp.issparse(X))


def check_matrix(X: object) -> Matrix:
    """Return a read-only float64 copy of an n × p matrix, in C order or as canonical CSR.

    `DataError` for other shapes, an empty matrix, complex, NaN or infinite entries, or invalid sparse indices.
    """
    if sp.issparse(X):
        return _check_sparse(X)
    try:
        dense = np.array(X, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(
            f"X must be a matrix of numbers with rows of equal length, got {type(X).__name__} that numpy cannot "
            f"turn into float64 ({error})"
        ) from None
    _check_shape(dense.shape)
    finite = np.isfinite(dense)
    if not finite.all():
        row, column = (int(k) for k in np.argwhere(~finite)[0])
        _raise_not_finite(row, column, float(dense[row, column]), int((~finite).sum()))
    dense.flags.writeable = False
    return dense


def _check_sparse(X: Any) -> sp.csr_array:
    if len(X.shape) != 2:
        raise DataError(f"X must have two dimensions (rows, features), got shape {tuple(X.shape)}", name="X")
    if np.iscomplexobj(X):
        raise DataError("X must be real, got complex values", name="X")
    sparse = sp.csr_array(X, dtype=np.float64, copy=True)
    _check_shape(sparse.shape)
    try:
        # Indices out of range would be read from memory that is not the matrix's.
        sparse.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"X is not a valid sparse matrix: {error}", name="X") from None
    sparse.sum_duplicates()
    sparse.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(sparse.data))
    if bad.size:
        k = int(bad[0])
        row = int(np.searchsorted(sparse.indptr, k, side="right")) - 1
        _raise_not_finite(row, int(sparse.indices[k]), float(sparse.data[k]), int(bad.size))
    for part in (sparse.data, sparse.indices, sparse.indptr):
        part.flags.writeable = False
    return sparse


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise DataError(f"X must have two dimensions (rows, features), got shape {tuple(shape)}")
    if 0 in shape:
        raise DataError(f"X is empty: {shape[0]} rows and {shape[1]} features; at least 1 of each is needed")


def _raise_not_finite(row: int, column: int, value: float, count: int) -> None:
    total = "" if count == 1 else f" ({count} such values in all)"
    raise DataError(
        f"X must be finite: {value} at row {row}, column {column}, counting from 0{total}; remove or fill missing values first",
        name="X",
    )


def check_codes(y: object, labels: Sequence[Label] | None, n: int) -> tuple[npt.NDArray[Any], tuple[Label, ...]]:
    """Return a read-only copy of the class codes ``y`` of n rows, and the label of each class in the order of the codes.

    Two classes are -1 and +1 (float64), K ≥ 3 classes are 0..K-1 (int64). Rows may lack some of the K classes of ``labels``, but
    must have two classes. Without ``labels`` the codes are the labels. Other codes raise `DataError`.
    """
    try:
        codes = np.array(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "y must hold class codes (-1 and +1, or 0..K-1); for labels of any other kind use Instance.from_labels(X, y)",
            name="y",
        ) from None
    if codes.shape != (n,):
        raise DataError(f"y must hold one code for each of the {n} rows of X, got shape {codes.shape}", name="y")
    present = np.unique(codes)
    if present.size == 1:
        raise DataError(f"only one class: every y is {present[0]:g}; at least two classes are needed", name="y")
    names = _class_labels(present, labels)
    frozen_codes = codes if len(names) == 2 else codes.astype(np.int64)
    frozen_codes.flags.writeable = False
    return frozen_codes, names


def _class_labels(present: FloatArray, labels: Sequence[Label] | None) -> tuple[Label, ...]:
    """Return the labels of all classes; `DataError` if the codes that are present do not fit them."""
    if labels is not None and len(set(labels)) != len(labels):
        raise DataError(f"labels must differ from each other, got {list(labels)}", name="labels")
    if (labels is None or len(labels) == 2) and np.array_equal(present, [-1.0, 1.0]):
        return (-1, 1) if labels is None else tuple(labels)
    count = len(labels) if labels is not None else int(present[-1]) + 1 if np.isfinite(present[-1]) else 0
    if count >= 3 and bool(np.isin(present, np.arange(count)).all()):
        if labels is not None:
            return tuple(labels)
        if present.size == count:
            return tuple(range(count))
    shown = ", ".join(f"{value:g}" for value in present[:6]) + (", ..." if present.size > 6 else "")
    raise DataError(
        f"y must be -1 and +1 for two classes or 0..K-1 for K ≥ 3 classes, got the {present.size} values {shown}"
        + ("" if labels is None else f" for {count_text(len(labels), 'label')}")
        + "; Instance.from_labels(X, y) codes labels of any kind"
    )


def encode_labels(values: object) -> tuple[npt.NDArray[Any], tuple[Label, ...]]:
    """Return the class codes of labels of any kind, and the label of each class: -1, +1 or 0..K-1 in the labels' sorted order.

    Numbers, and text that is all numbers, sort as numbers; whole numbers are kept as ``int``. `DataError` for a missing label, a
    single class, or labels that look like measurements.
    """
    raw = np.asarray(values)
    if raw.dtype.kind in "US" and not isinstance(values, np.ndarray):  # numpy turns missing values into the words nan and None
        raw = np.asarray(values, dtype=object)
    if raw.ndim != 1 or raw.size == 0:
        raise DataError(f"labels must be a vector with one label for each row, got shape {raw.shape}", name="labels")
    cells = [_tidy(value, row) for row, value in enumerate(raw.tolist())]
    if any(isinstance(cell, str) for cell in cells):  # if some labels are words, numbers stay text as it is written
        cells = [
            _text(value) if isinstance(value, str | bytes) else str(cell) for value, cell in zip(raw.tolist(), cells, strict=True)
        ]
    classes = tuple(sorted(set(cells), key=lambda label: (isinstance(label, str), label)))
    if len(classes) == 1:
        raise DataError(
            f"only one class: every label is {short_text(classes[0])}; at least two classes are needed", name="labels"
        )
    fractions = [label for label in classes if isinstance(label, float)]
    if fractions and len(classes) > 2:
        raise DataError(
            f"{len(classes)} different labels, {short_text(fractions[0])} among them: numbers that are not whole are "
            "measurements, not classes; choose the label column with label=, or "
            "give classes by name (EpsilonSVR takes measurements as y)",
            name="labels",
        )
    if len(classes) > max(_MANY_CLASSES, len(cells) / 2):
        raise DataError(
            f"{count_text(len(classes), 'different label')} in {count_text(len(cells), 'row')}: "
            "this looks like a measurement, not a class; "
            "choose the label column with label=",
            name="labels",
        )
    rank = {label: code for code, label in enumerate(classes)}
    codes = np.array([rank[cell] for cell in cells], dtype=np.int64)
    return (2.0 * codes - 1.0, classes) if len(classes) == 2 else (codes, classes)


def _text(value: object) -> str:
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()


def _tidy(value: object, row: int) -> Label:
    """Return a label as int, float or stripped text; `DataError` for a missing value (the text "none" is a label)."""
    text = _text(value)
    word = isinstance(value, str | bytes)
    if text.lower() in {"", "?", "nan"} or (not word and text in {"None", "<NA>", "NaT"}):
        raise DataError(f"the label of row {row}, counting from 0, is missing: {short_text(value)}", name="labels")
    number = as_number(text) if word else _float(value)
    if number is None:
        return text
    if not np.isfinite(number):
        raise DataError(f"the label of row {row}, counting from 0, is not finite: {short_text(value)}", name="labels")
    return int(number) if number == int(number) else number


def _float(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def as_number(text: str) -> float | None:
    """Return the number that a text denotes, blanks around it allowed; None for other text.

    Python's float also reads underscores and the digits of other scripts, which no file format does.
    """
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None
