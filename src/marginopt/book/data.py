"""The data X and y of an entry of the book of benchmark instances (random, packaged or from a file), equal on every machine."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, InputError, MarginoptWarning, short_text
from ..instances import DATA_VARIABLE, load
from ..instances.generators import flipped_labels, gaussian_clusters, rings
from ..instances.sources import UnavailableError, data_table
from ..models.arrays import FloatArray
from .semidefinite import read_sdpa

#: Features are rounded to whole multiples of 1/1024, so that other libraries' last digits change no instance.
_STEP = 1024.0
#: Whole numbers of a source lie between these, and no table that is drawn has more numbers.
_LEAST, _LARGEST, _MOST_NUMBERS = -1, 10**6, 10**7
#: A path inside the data directory: names of letters, digits, points, hyphens and low lines, none of them hidden.
# exempt (text): paths in a file of entries
_PATH = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)


def _flipped(n: int, p: int, tau: float, seed: int) -> tuple[FloatArray, FloatArray]:
    data = flipped_labels(n, p, tau, seed)
    return _rounded(data.X), data.y


def _clusters(n: int, p: int, sigma: float, outliers: Any, seed: int) -> tuple[FloatArray, FloatArray]:
    data = gaussian_clusters(n, p, sigma, outliers, seed)
    return _rounded(data.X), data.y


def _rings(n: int, noise: float, seed: int) -> tuple[FloatArray, FloatArray]:
    data = rings(n, noise, seed)
    return _rounded(np.column_stack([np.ones(n), data.X])), data.y


def _packaged(name: str, rows: int, columns: int, seed: int) -> tuple[FloatArray, FloatArray]:
    part = load(name)
    part = part if rows >= part.n else part.subsample(rows, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)  # constant columns are left out
        prepared = part.prepared()
    return _rounded(prepared.X[:, : columns + 1]), np.asarray(prepared.y, dtype=np.float64)


def _brooks(name: str) -> tuple[FloatArray, FloatArray]:
    published = load(name)  # decimal numbers of a file: the same everywhere, so not rounded
    return np.column_stack([np.ones(published.n), np.asarray(published.X)]), published.y


def _file(path: str) -> Path:
    """Return the file in the directory of data files."""
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise InputError(f"{short_text(path)} is no path of a file inside the directory of {DATA_VARIABLE}", name="path")
    file = data_table(path)
    if file is None:
        raise UnavailableError(f"the file {path} in the directory of {DATA_VARIABLE} is not here", file=path)
    return file


def _numbers(path: str, header: int) -> tuple[list[str], FloatArray]:
    """Return the names of the columns, where a first line has them, and the rows."""
    table = _file(path)
    delimiter = "," if ".csv" in path else None
    # decimal numbers of a file: the same everywhere, so not rounded
    try:
        names = np.loadtxt(table, delimiter=delimiter, max_rows=header, dtype=str, ndmin=1).tolist() if header else []
        return names, np.loadtxt(table, delimiter=delimiter, skiprows=header, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{table} cannot be read: {error}") from None


def _table(path: str, label: int, header: int) -> tuple[FloatArray, FloatArray]:
    _, rows = _numbers(path, header)
    return np.column_stack([np.ones(len(rows)), np.delete(rows, label, axis=1)]), np.where(rows[:, label] > 0, 1.0, -1.0)


def _partly_labelled(path: str, label: int, header: int, share: int) -> tuple[FloatArray, FloatArray]:
    """Read a table; one point in ``share``, the first of a permutation by seed 0, keeps its label, the others have 0."""
    X, y = _table(path, label, header)
    labelled = np.random.default_rng(0).permutation(len(y))[: len(y) // share]
    partial = np.zeros_like(y)
    partial[labelled] = y[labelled]
    return X, partial


def _audited(path: str, target: str, protected: Sequence[str], predicted: str) -> tuple[FloatArray, FloatArray]:
    """Read the protected columns of the persons whose target is low; their labels are predictions, the bits of ``predicted``."""
    names, rows = _numbers(path, 1)
    if not {target, *protected} <= set(names):
        raise DataError(f"{path} has not all the columns {', '.join([target, *protected])}")
    outcome = rows[:, names.index(target)]
    low = rows[outcome <= (np.median(outcome) if len(np.unique(outcome)) > 2 else 0.5)]
    bits = int(predicted, 16)
    labels = np.array([1.0 if bits >> k & 1 else -1.0 for k in range(len(low))])
    return np.column_stack([np.ones(len(low)), low[:, [names.index(name) for name in protected]]]), labels


def _program(path: str) -> tuple[FloatArray, FloatArray]:
    """Read the entries and the costs of a semidefinite program (`semidefinite.read_sdpa`)."""
    return read_sdpa(_file(path))


def _half_space(n: int, p: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Draw points in [-1, 1]^p with labels by a noisy half-space, each class a quarter or more, as for the package e01loss.

    Its authors are He and Little (2023).
    """
    if n < 2 or p < 1:
        raise InputError(f"points of a half-space have two classes and a feature; there are {n} points of {p} features")
    rng = np.random.default_rng(seed)
    while True:
        X, normal = rng.uniform(-1.0, 1.0, (n, p)), rng.normal(size=p)
        y = np.sign(X @ normal / np.linalg.norm(normal) + rng.uniform(-0.4, 0.4) + 0.15 * rng.standard_normal(n))
        if n <= 4 * (y > 0).sum() <= 3 * n:
            return _rounded(np.column_stack([np.ones(n), X])), y


#: Makers of data by their kind.
_MAKERS: dict[str, Callable[..., tuple[FloatArray, FloatArray]]] = {
    "flipped": _flipped, "clusters": _clusters, "rings": _rings, "packaged": _packaged, "brooks": _brooks,
    "table": _table, "partly-labelled": _partly_labelled, "half-space": _half_space, "audit": _audited, "sdpa": _program,
}  # fmt: skip


def _rounded(X: Any) -> FloatArray:
    return np.asarray(np.round(np.asarray(X, dtype=np.float64) * _STEP) / _STEP + 0.0)  # + 0.0: no negative zeros


def build_data(source: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Return X (n, p), a column of ones first, and labels y (n,) of ±1, or 0 where a point has none.

    For a semidefinite program X holds the entries of its matrices, and y its costs (`semidefinite`).

    Parameters
    ----------
    source : mapping
        ``kind`` and the arguments of that kind. Random data: "flipped" (two classes, some labels flipped), "clusters" (Gaussian,
        with outliers), "rings", "half-space" (noisy). "packaged": part of a data set of `instances.load`; "brooks": an instance
        of Brooks's. Files: "table" (numbers, with one column of labels), "partly-labelled" (the same, few labels kept), "audit"
        (protected columns of persons, labelled by a classifier's predictions), "sdpa" (a semidefinite program).
    """
    arguments = dict(source)
    kind = arguments.pop("kind", None)
    if not isinstance(kind, str) or kind not in _MAKERS:
        raise InputError(f"the data of an entry are of an unknown kind, {short_text(kind)}; known: {', '.join(_MAKERS)}")
    integers = {name: value for name, value in arguments.items() if isinstance(value, int)}
    size = integers.get("n", 1) * integers.get("p", 1)
    if not all(_LEAST <= value <= _LARGEST for value in integers.values()) or size > _MOST_NUMBERS:
        raise InputError(f"the data of an entry are larger than the book's may be, or of negative size: {describe_data(source)}")
    try:
        return _MAKERS[kind](**arguments)
    except InputError:
        raise
    except (TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise InputError(f"the data of an entry do not fit the kind {kind}: {error}") from error


def data_digest(X: FloatArray, y: FloatArray) -> str:
    """Return the SHA-256 of the shape of X and of all entries of X and y, as little-endian doubles in row order."""
    digest = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}".encode())
    for part in (X, y):
        digest.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return digest.hexdigest()


def describe_data(source: Mapping[str, Any]) -> str:
    """Return the data of an entry in words: the name or the kind, and the arguments."""
    facts = {key: value for key, value in source.items() if key not in ("kind", "name", "predicted")}
    words = ", ".join(f"{key} {value}" for key, value in facts.items())
    return " ".join(filter(None, [str(source.get("name", source.get("kind", ""))), f"({words})" if words else ""]))
