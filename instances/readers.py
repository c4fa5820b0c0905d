"""Readers of data files (LIBSVM, CSV, ARFF, Parquet, npz; plain or compressed) and data frames as instances; `read` chooses one.

Errors are `DataError` and name file and line. scikit-learn and pyarrow are imported by the functions that need them.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data_names import is_missing, is_pandas_or_polars, names_of_rows
from ..errors import DataError, InputError, MissingPackageError, count_text, short_text
from ..files import (
    READ_ERRORS,
    describe_read_error,
    read_arrays,
    read_bytes as _read_bytes,
    split_lines,
    unpack_limit,
    without_compression,
)
from .arff_and_csv import parse_arff, parse_csv
from .instance import Instance
from .tables import MISSING, Categories, Kind, Missing, Table, Tidying, column_name, index_kind, instance_from_table, label_column


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a file name as a path, with ~ expanded; `InputError` for another type."""
    try:
        return Path(path).expanduser()
    except TypeError:
        raise InputError(f"path must be a file name, got {short_text(path)}", name="path") from None


def suffix(path: Path) -> str:
    """Return the suffix of the format in lower case, without that of compression (".csv" of a.CSV.gz); "" without one."""
    return Path(without_compression(path.name.lower())).suffix


def stem(path: Path) -> str:
    """Return the file's name without the suffixes of compression and format."""
    return Path(without_compression(path.name)).stem


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed by its suffix.

    A compressed file is unpacked piece by piece and refused once it exceeds `marginopt.files.unpack_limit` bytes.
    """
    if not path.exists():
        raise DataError(f"no such file: {path}", file=path)
    if path.is_dir():
        raise DataError(f"{path} is a directory; the name of a data file is needed", file=path)
    return _read_bytes(path)


def read_text(path: Path) -> str:
    """Return the content of a file, decompressed by its suffix, as UTF-8 text."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}; save it as UTF-8", file=path) from None


#: The name of a file.
PathLike = str | os.PathLike[str]

#: Options that leave a table unchanged.
_AS_IT_IS = Tidying()
#: Bytes that a Parquet table may unpack to however small its file is.
_TABLE = 2**26

#: Share of nonzeros from which sparse text becomes a dense array, which then takes less memory and can be centred.
_DENSE_FROM = 0.15

#: Suffixes of LIBSVM text files.
LIBSVM_SUFFIXES = (".libsvm", ".svmlight", ".svm", ".t", ".tr", ".val")
#: Most columns of LIBSVM text and sparse npz files: a vector of as many numbers takes 0.8 GB.
MAX_COLUMNS = 10**8
#: Patterns of a number and of a line of LIBSVM text.
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LIBSVM_LINE = re.compile(rf"{_NUMBER}(?:\s+qid:\d+)?(?:\s+\d+:{_NUMBER})*\s*(?:#.*)?", re.ASCII)
#: Bytes of LIBSVM text without query numbers and comments.
_LIBSVM_BYTES = b"0123456789+-.eE: \t\n"


def read(
    path: PathLike | Any,
    label: str | int | None = None,
    name: str | None = None,
    *,
    missing: Missing = "refuse",
    categories: Categories = "refuse",
    leave_out: Sequence[str | int] = (),
) -> Instance:
    """Return the data set of a file, in the format of its suffix, or of a data frame.

    Parameters
    ----------
    path : str or path, or data frame of pandas or polars
        ``.libsvm .svm .svmlight .t .tr .val``, ``.csv .tsv``, ``.arff``, each also with ``.bz2 .gz .xz`` behind it;
        ``.parquet .pq``; ``.npz``.
    label : str or int, optional
        The label column's name or index (CSV, ARFF, Parquet) or the array's name (npz; "y" by default). By default
        the one column named label, class, target or y, or else the last. LIBSVM files have their labels first.
    name : str, optional
        Name of the instance; by default the file's, without suffixes.
    missing : {"refuse", "drop", "median"}
        Missing values: raise an error; leave their rows out; replace them by the column's median. In CSV and frames missing
        values are "", ?, NA, N/A, nan and null (also na, n/a, NaN, NAN, NULL, Null), in ARFF ? outside quotes.
    categories : {"refuse", "indicators"}
        Columns of words: raise an error; replace them by a column of 0 and 1 for each word, or for the second of two words alone.
    leave_out : sequence of str or int
        Columns that are no features, by name or index.

    Returns
    -------
    Instance
        Rows, labels, and the names of features and classes that the file has.

    Notes
    -----
    Names of rows are no features: the first column of a CSV file if its header is empty or "Unnamed: 0", the index columns that
    pandas stores in Parquet, and the index of a data frame.

    Raises
    ------
    DataError
        The file cannot be read, or has missing values or categories that the options refuse; the message names line and column.
    InputError
        Options that the file's format does not take, or values that they do not have.
    MissingPackageError
        A Parquet file without pyarrow.
    """
    tidying = Tidying(missing, categories, leave_out)
    if is_pandas_or_polars(path, "DataFrame"):
        return _read_frame(path, label, name, tidying)
    file = as_path(path)
    kind = suffix(file)
    if tidying.is_active and kind not in (".csv", ".tsv", ".arff", ".parquet", ".pq"):
        raise InputError(f"{file}: missing, categories and leave_out are for CSV, TSV, ARFF and Parquet files", name="missing")
    if kind in LIBSVM_SUFFIXES:
        if label is not None:
            raise InputError(
                f"{file}: a LIBSVM file has its labels first; label={short_text(label)} cannot be used", name="label"
            )
        return read_libsvm(file, name)
    if kind in (".csv", ".tsv"):
        return read_csv(file, label, name, tidying=tidying)
    if kind == ".arff":
        return read_arff(file, label, name, tidying)
    if kind in (".parquet", ".pq"):
        return read_parquet(file, label, name, tidying)
    if kind == ".npz":
        if isinstance(label, int):
            raise InputError(f"{file}: label must be the name of an array in an npz file, got {short_text(label)}", name="label")
        return read_npz(file, "y" if label is None else label, name)
    if not file.exists():
        raise DataError(f"no such file: {file}", file=file)
    suffixes = ".libsvm, .svm, .svmlight, .t, .csv, .tsv, .arff (each also .bz2, .gz, .xz), .parquet, .npz"
    raise DataError(
        f"the suffix {short_text(kind)} is not one of a data file: {suffixes}. Call marginopt.read for programs (.lp, .mps, "
        ".qps, .sif, .cbf, .nl, .qplib, .ptf, .mof.json), and read_libsvm, read_csv or read_arff for a data file "
        "with another name",
        file=file,
    )


def read_libsvm(path: PathLike, name: str | None = None, n_features: int | None = None, dense: bool | None = None) -> Instance:
    """Read LIBSVM (svmlight) text through scikit-learn. Indices count from 0 if one of them is 0, else from 1.

    Query numbers (``qid:3``) and comments behind # are ignored.

    Parameters
    ----------
    path, name
        As in `read`.
    n_features : int, optional
        Number of columns, where the file's last columns may be all zero; by default the largest index found.
    dense : bool, optional
        Dense array or CSR; by default dense if at least 15% of the matrix is filled.

    Returns
    -------
    Instance
        Rows, dense or sparse, with their labels.

    Raises
    ------
    DataError
        The file cannot be read, holds no rows, is no LIBSVM text, or a line of it is at fault.
    """
    from sklearn.datasets import load_svmlight_file

    file = as_path(path)
    content = normalise_line_ends(read_bytes(file))
    if not content.strip():
        raise DataError(f"{file} holds no rows of data", file=file)
    if b":" not in content:
        raise DataError(f"{file} is not LIBSVM text: it has no 'index:value' anywhere", file=file)
    check_libsvm(file, content)
    try:
        X, y = load_svmlight_file(io.BytesIO(content), n_features=n_features, zero_based="auto")
    except READ_ERRORS as error:
        raise libsvm_fault(file, content, describe_read_error(error)) from None
    if X.shape[1] > MAX_COLUMNS:
        raise libsvm_fault(file, content, f"it has {count_text(X.shape[1], 'column', spec=',')}")
    if dense is None:
        dense = X.nnz >= _DENSE_FROM * X.shape[0] * max(X.shape[1], 1)
    matrix: Any = X.toarray() if dense else sp.csr_array(X)
    return _built(file, matrix, y, name, None)


def normalise_line_ends(content: bytes, first: bool = True) -> bytes:
    """Return LIBSVM text with CR and CRLF as LF, which scikit-learn needs; a ``first`` piece also without its byte order mark."""
    if first:
        content = content.removeprefix(b"\xef\xbb\xbf")
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def check_libsvm(file: Path, content: bytes, before: int = 0) -> None:
    """Raise DataError for the first line that is not LIBSVM text; the content begins after ``before`` lines of the file.

    scikit-learn reads all that Python reads as a number, such as nan, inf and 1_0. Content of digits, signs and colons alone is
    not checked, so that usual files cost no time.
    """
    if not content.translate(None, _LIBSVM_BYTES):
        return
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1 + before):
        text = line.split("#", 1)[0].strip()
        if text and not _LIBSVM_LINE.fullmatch(text):
            raise DataError(f"not 'label index:value index:value ...': {short_text(text[:60])}", file=file, line=number)


def libsvm_fault(file: Path, content: bytes, error: str, before: int = 0) -> DataError:
    """Return the `DataError` for the first line at fault, or else with ``error``, scikit-learn's message on the content.

    The content begins after ``before`` lines of the file.
    """
    for number, raw in enumerate(split_lines(content.decode("utf-8", "replace")), 1 + before):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if not _LIBSVM_LINE.fullmatch(line):
            return DataError(f"not 'label index:value index:value ...': {short_text(line[:60])}", file=file, line=number)
        indices = [k.lstrip("0") or "0" for k in re.findall(r"\s(\d+):", line.split("#")[0])]
        largest = max(indices, key=lambda k: (len(k), k), default="0")  # Python reads no number of 5,000 digits
        if len(largest) > len(str(MAX_COLUMNS)) or int(largest) > MAX_COLUMNS:
            shown = largest if len(largest) <= 20 else f"of {len(largest):,} digits"
            return DataError(f"the feature index {shown}; indices up to {MAX_COLUMNS:,} are read", file=file, line=number)
        if any(int(a) >= int(b) for a, b in pairwise(indices)):
            return DataError("feature indices must increase along the line", file=file, line=number)
    return DataError(f"{file} cannot be read as LIBSVM text: {error}", file=file)


def read_csv(
    path: PathLike,
    label: str | int | None = None,
    name: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    tidying: Tidying = _AS_IT_IS,
) -> Instance:
    """Read delimited text; header and delimiter are detected unless given.

    Parameters
    ----------
    path : str or Path
        The file, also compressed.
    label : str or int, optional
        Column of the labels by name or index; by default by the rule of `read`.
    name : str, optional
        Name of the instance; by default the file's, without suffixes.
    header : bool, optional
        Whether the first row holds names; detected by default.
    delimiter : str, optional
        One character; detected by default.
    tidying : Tidying
        What to do with missing values, columns of words and columns that are no features.

    Returns
    -------
    Instance
        Rows, labels, and the names of features and classes that the file has.

    Raises
    ------
    DataError
        The file does not exist, or a cell cannot be read; the message names file and line.
    InputError
        A delimiter of another length, or a label that is neither text nor the index of a column.
    """
    file = as_path(path)
    if delimiter is None and suffix(file) == ".tsv":
        delimiter = "\t"
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise InputError(f"delimiter must be one character, got {short_text(delimiter)}", name="delimiter")
    table = parse_csv(read_text(file), str(file), header, delimiter)
    return _tidied(table, label, _name(file, name), tidying)


def _read_frame(frame: Any, label: str | int | None = None, name: str | None = None, tidying: Tidying = _AS_IT_IS) -> Instance:
    """Read a data frame of pandas or polars; an index of words names the points."""
    names = tuple(map(str, frame.columns))
    columns = [np.asarray(frame[column]) for column in frame.columns]
    plain = [
        col.astype(np.int64) if col.dtype.kind == "b" and column != label else col
        for column, col in zip(names, columns, strict=True)
    ]
    kinds: dict[int, Kind] = {j: "date" for j, column in enumerate(columns) if column.dtype.kind in "mM"}
    table = _table_of_columns("the data frame", names, [column.tolist() for column in plain], kinds | index_kind(names))
    return _tidied(replace(table, points=names_of_rows(frame)), label, name or "frame", tidying)


def _table_of_columns(
    source: str, names: tuple[str, ...], columns: Sequence[Sequence[object]], kinds: Mapping[int, Kind]
) -> Table:
    """Return columns of values as the cells of a CSV file; rows count from 1."""
    cells = [[None if is_missing(value) else _cell(value) for value in column] for column in columns]
    rows = [list(row) for row in zip(*cells, strict=True)]
    return Table(source, names, rows, list(range(1, len(rows) + 1)), kinds)


def _cell(value: object) -> str | None:
    """Return a value as the cell of a CSV file; None for a text that stands for a missing value there."""
    text = (repr(value) if isinstance(value, float) else str(value)).strip()
    return None if text in MISSING else text


def read_arff(path: PathLike, label: str | int | None = None, name: str | None = None, tidying: Tidying = _AS_IT_IS) -> Instance:
    """Read ARFF, dense or sparse; features must be numeric (or nominal with numbers for values) unless they are tidied.

    Parameters
    ----------
    path, label, name, tidying
        As for `read_csv`.

    Returns
    -------
    Instance
        Rows, labels, and the names of features and classes.

    Raises
    ------
    DataError
        The file does not exist, or a cell cannot be read; the message names file and line.
    """
    file = as_path(path)
    return _tidied(parse_arff(read_text(file), str(file)), label, _name(file, name), tidying)


def _tidied(table: Table, label: str | int | None, name: str, tidying: Tidying) -> Instance:
    """Return the instance of a table; its source says what was tidied."""
    index = [column_name(table.names, j) for j, kind in table.kinds.items() if kind == "index"]
    note = f"{'names of rows from' if table.point_names else 'without the names of rows in'} {index[0]}" if index else ""
    if tidying.is_active:
        table, label, tidied = tidying.apply(table, label)
        note = "; ".join(filter(None, (note, tidied)))
    instance = instance_from_table(table, label, name)
    return replace(instance, source=f"{instance.source}: {note}") if note else instance


def read_parquet(
    path: PathLike, label: str | int | None = None, name: str | None = None, tidying: Tidying = _AS_IT_IS
) -> Instance:
    """Read Parquet through pyarrow (``pip install "marginopt[parquet]"``).

    Parameters
    ----------
    path, label, name, tidying
        As for `read_csv`.

    Returns
    -------
    Instance
        Rows, labels, and the names of features and classes.

    Raises
    ------
    DataError
        The file does not exist, is too large, or a value cannot be read; the message names row and column.
    MissingPackageError
        pyarrow is not installed.
    """
    pa, pq = import_pyarrow()
    file = as_path(path)
    try:
        stored = pq.ParquetFile(pa.BufferReader(read_bytes(file)))
        size = 8 * stored.metadata.num_rows * stored.metadata.num_columns
        limit = unpack_limit(8 * file.stat().st_size, _TABLE)  # a column of a few values takes a bit a row
        if size > limit:
            raise DataError(
                f"{file} unpacks to {size:,} bytes; tables of its size beyond {limit:,} bytes are not read", file=file
            )
        table = stored.read()
    except DataError:
        raise
    except (pa.ArrowException, *READ_ERRORS) as error:
        raise DataError(f"{file} cannot be read as Parquet: {describe_read_error(error)}", file=file) from None
    if table.num_rows == 0:
        raise DataError(f"{file} holds no rows of data", file=file)
    table = table.select(columns_without_index(table.schema))
    names = [str(column) for column in table.column_names]
    if tidying.is_active:
        dates: dict[int, Kind] = {j: "date" for j, kind in enumerate(table.schema.types) if pa.types.is_temporal(kind)}
        cells = _table_of_columns(str(file), tuple(names), [column.to_pylist() for column in table.columns], dates)
        return _tidied(cells, label, _name(file, name), tidying)
    target = label_column(str(file), names, len(names), label)
    check_numbers(file, table, target)
    columns = [j for j in range(len(names)) if j != target]
    X = np.column_stack([np.asarray(table.column(j).to_pylist(), dtype=np.float64) for j in columns])
    return _built(file, X, table.column(target).to_pylist(), name, [names[j] for j in columns])


def import_pyarrow() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet; `MissingPackageError` without them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingPackageError("reading Parquet needs pyarrow", "pyarrow", 'pip install "marginopt[parquet]"') from None
    return pyarrow, pyarrow.parquet


def check_numbers(file: Path, table: Any, target: int, before: int = 0) -> None:
    """Raise DataError for a feature of a Parquet table that is not numeric, or for a missing value, of the label too.

    ``target`` is the label's column. The table is the whole file, or a batch of it with ``before`` rows ahead of it.
    """
    types = import_pyarrow()[0].types
    for j, (name, kind) in enumerate(zip(table.schema.names, table.schema.types, strict=True)):
        if j != target and not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise DataError(f"{file}, column {j} ({short_text(name)}) is {kind}; features must be numbers", file=file)
        if table.column(j).null_count:
            row = before + table.column(j).is_null().to_pylist().index(True)
            raise DataError(
                f"{file}, row {row}, counting from 0, column {j} ({short_text(name)}): the value is missing", file=file
            )


def columns_without_index(schema: Any) -> list[int]:
    """Return the columns of a Parquet schema without the index of the pandas frame that was written."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [j for j, name in enumerate(schema.names) if name not in index]


def read_npz(path: PathLike, label: str = "y", name: str | None = None) -> Instance:
    """Read arrays of numpy's npz: ``X`` (or ``X_data, X_indices, X_indptr, X_shape`` of a CSR matrix), ``y``,
    and optionally ``feature_names``. Pickled objects are refused.

    Parameters
    ----------
    path : str or Path
        The file.
    label : str
        Name of the array of labels.
    name : str, optional
        Name of the instance; by default the file's, without suffixes.

    Returns
    -------
    Instance
        Rows, labels, and the names of features that the file has.

    Raises
    ------
    DataError
        The file does not exist or cannot be read, an array is missing, or the arrays make no instance.
    """
    file = as_path(path)
    if not file.exists():
        raise DataError(f"no such file: {file}", file=file)
    arrays = read_arrays(file, f"npz with arrays X and {label}")
    parts = [f"X_{part}" for part in ("data", "indices", "indptr", "shape")]
    sparse = "X" not in arrays and all(part in arrays for part in parts)
    if label not in arrays or not ("X" in arrays or sparse):
        raise DataError(f"{file} needs arrays X and {label}; it has {', '.join(arrays) or 'none'}", file=file)
    X: Any = arrays["X"] if not sparse else None
    if sparse:
        data, indices, indptr, shape = (arrays[part] for part in parts)
        try:
            X = sp.csr_array((data, indices, indptr), shape=tuple(int(k) for k in np.ravel(shape)))
        except READ_ERRORS as error:
            raise DataError(
                f"X_data, X_indices, X_indptr, X_shape are no CSR matrix: {describe_read_error(error)}", file=file
            ) from None
        if X.shape[1] > MAX_COLUMNS:
            raise DataError(f"X_shape says {X.shape[1]:,} columns; up to {MAX_COLUMNS:,} are read", file=file)
    names = [str(n) for n in np.ravel(arrays["feature_names"])] if "feature_names" in arrays else None
    return _built(file, X, arrays[label], name, names)


def _name(file: Path, name: str | None) -> str:
    return stem(file) if name is None else name


def _built(file: Path, X: Any, labels: Any, name: str | None, feature_names: list[str] | None) -> Instance:
    """Return the instance; its errors name the file."""
    try:
        return Instance.from_labels(X, labels, _name(file, name), str(file), feature_names)
    except READ_ERRORS as error:
        raise DataError(describe_read_error(error), file=file) from None
