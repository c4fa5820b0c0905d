"""The instances of the book, and their data: drawn, packaged or in a file, the same numbers on every machine."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError, InputError, MarginoptWarning
from ..instances import DATA_VARIABLE, load
from ..instances.generators import flipped_labels, gaussian_clusters, rings
from ..instances.sources import data_table
from ..models import Model
from ..models.arrays import FloatArray
from ..models.formulations import get_formulation

#: Features are rounded to whole multiples of 1/1024, so that other libraries' last digits change no instance.
_STEP = 1024.0


def _flipped(n: int, p: int, tau: float, seed: int) -> tuple[FloatArray, FloatArray]:
    drawn = flipped_labels(n, p, tau, seed)
    return _rounded(drawn.X), drawn.y


def _clusters(n: int, p: int, sigma: float, outliers: Any, seed: int) -> tuple[FloatArray, FloatArray]:
    drawn = gaussian_clusters(n, p, sigma, outliers, seed)
    return _rounded(drawn.X), drawn.y


def _rings(n: int, noise: float, seed: int) -> tuple[FloatArray, FloatArray]:
    drawn = rings(n, noise, seed)
    return _rounded(np.column_stack([np.ones(n), drawn.X])), drawn.y


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


def _table(path: str, label: int, header: int) -> tuple[FloatArray, FloatArray]:
    table = data_table(path)
    if table is None:
        raise DataError(f"the file {path} in the directory of {DATA_VARIABLE} is not here", file=path)
    # decimal numbers of a file: the same everywhere, so not rounded
    try:
        rows = np.loadtxt(table, delimiter="," if ".csv" in path else None, skiprows=header, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{table} cannot be read: {error}") from None
    return np.column_stack([np.ones(len(rows)), np.delete(rows, label, axis=1)]), rows[:, label]


#: Makers of data by their kind.
_MAKERS: dict[str, Callable[..., tuple[FloatArray, FloatArray]]] = {
    "flipped": _flipped, "clusters": _clusters, "rings": _rings, "packaged": _packaged, "brooks": _brooks,
    "table": _table,
}  # fmt: skip


def _rounded(X: Any) -> FloatArray:
    return np.asarray(np.round(np.asarray(X, dtype=np.float64) * _STEP) / _STEP + 0.0)  # + 0.0: no negative zeros


def build_data(source: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Return X (n, p), a column of ones first, and labels y (n,) of ±1.

    Parameters
    ----------
    source : mapping
        ``kind`` (flipped, clusters, rings, packaged, brooks or table) and the arguments of that kind.

    Raises
    ------
    InputError
        An unknown kind, or arguments that do not fit it.
    DataError
        The data are not on this machine.
    """
    arguments = dict(source)
    kind = arguments.pop("kind", None)
    if kind not in _MAKERS:
        raise InputError(f"the data of an entry are of an unknown kind, {kind!r}; known: {', '.join(_MAKERS)}")
    try:
        return _MAKERS[kind](**arguments)
    except TypeError as error:
        raise InputError(f"the data of an entry do not fit the kind {kind}: {error}") from error


def data_digest(X: FloatArray, y: FloatArray) -> str:
    """Return the SHA-256 of the shape and of all numbers, little-endian doubles, rows first."""
    digest = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}".encode())
    for part in (X, y):
        digest.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return digest.hexdigest()


def describe_data(source: Mapping[str, Any]) -> str:
    """Return the data of an entry in words."""
    facts = {key: value for key, value in source.items() if key not in ("kind", "name")}
    words = ", ".join(f"{key} {value}" for key, value in facts.items())
    return " ".join(filter(None, [str(source.get("name", source["kind"])), f"({words})" if words else ""]))


def stated_model(name: str, parameters: Mapping[str, Any], X: FloatArray, y: FloatArray) -> Model:
    """Return the model of an entry: a formulation by its name, with its parameters."""
    formulation: Callable[..., Model] = get_formulation(name).model
    return formulation(X, y, **parameters)


# The instances of the book, in families of growing size: names, data, models and parameters.


@dataclass(frozen=True)
class PlannedInstance:
    """An instance before it is solved."""

    name: str
    data: Mapping[str, Any]
    model: str
    parameters: Mapping[str, Any]


#: Sizes (n, p) of drawn instances by model: those that the model's solver proves in seconds, and some beyond.
_SIZES = {
    "zero-one": ((16, 1), (24, 2), (32, 2), (40, 3), (60, 3), (80, 4), (120, 5), (200, 8)),
    "ramp": ((16, 1), (24, 2), (32, 2), (40, 3), (60, 3)),
    "conic": ((16, 1), (24, 2), (40, 3), (60, 4), (100, 5)),
    "hinge": ((16, 1), (24, 2), (40, 3), (80, 4), (160, 6)),
}
_PACKAGED = (
    ("wdbc", 60, 3), ("wdbc", 569, 4),
    ("wine-class_0-class_1", 60, 3), ("wine-class_0-class_1", 130, 5), ("wine-class_1-class_2", 119, 4),
    ("iris-versicolor-virginica", 100, 4),
    ("digits-3-8", 80, 6), ("digits-1-7", 80, 6), ("pima", 80, 4), ("wisconsin", 120, 4), ("breast-ljubljana", 100, 4),
)  # fmt: skip
#: Sets of Brooks's type A by rows and features.
_BROOKS = ((60, 2), (100, 2), (200, 2), (60, 5), (100, 5))

#: Tables of points: the name, the path, the column of the labels, lines before the rows.
_TABLES = (
    ("art100", "s3vm/art100.txt.bz2", -1, 0), ("art150", "s3vm/art150.txt.bz2", -1, 0), ("2moons", "s3vm/2moons.txt.bz2", -1, 0),
    ("gsvm2rl3", "miplib/gsvm2rl3.csv.bz2", 0, 1), ("gsvm2rl5", "miplib/gsvm2rl5.csv.bz2", 0, 1),
)  # fmt: skip


def planned_instances() -> Iterator[PlannedInstance]:
    """Yield the instances of the book, the quick ones of each family first."""
    yield from _drawn()
    yield from _from_packages()
    yield from _of_brooks()
    for name, path, label, header in _TABLES:
        data = {"kind": "table", "path": path, "label": label, "header": header}
        for model in ("zero-one", "hinge"):
            yield from _stated(model, f"points-{name}", data, (0.1, 1.0))


def _drawn() -> Iterator[PlannedInstance]:
    for model, sizes in _SIZES.items():
        for n, p in sizes:
            for seed in range(3):
                sources = {
                    f"flipped-n{n}-p{p}-s{seed}": {"kind": "flipped", "n": n, "p": p, "tau": 0.1, "seed": seed},
                    f"clean-n{n}-p{p}-s{seed}": _planned_clusters(n, p, "none", seed),
                    f"clustered-n{n}-p{p}-s{seed}": _planned_clusters(n, p, "clustered", seed),
                    f"spread-n{n}-p{p}-s{seed}": _planned_clusters(n, p, "spread", seed),
                }
                for source, data in sources.items():
                    yield from _stated(model, source, data, (0.1, 1.0) if n <= 60 else (1.0,))
    for n in (20, 40, 80):
        for model in ("zero-one", "ramp"):
            yield from _stated(model, f"rings-n{n}", {"kind": "rings", "n": n, "noise": 0.1, "seed": 0}, (1.0, 10.0))


def _planned_clusters(n: int, p: int, outliers: str, seed: int) -> dict[str, Any]:
    return {"kind": "clusters", "n": n, "p": p, "sigma": 0.5, "outliers": outliers, "seed": seed}


def _from_packages() -> Iterator[PlannedInstance]:
    for name, rows, columns in _PACKAGED:
        data = {"kind": "packaged", "name": name, "rows": rows, "columns": columns, "seed": 0}
        for model in ("zero-one", "hinge"):
            yield from _stated(model, f"{name}-n{rows}-p{columns}", data, (0.1, 1.0))


def _of_brooks() -> Iterator[PlannedInstance]:
    """Brooks states ½||w||² + C Σz with a free intercept: half of the book's value with λ = 2C."""
    for n, p in _BROOKS:
        for number in range(5):
            name = f"n{n}d{p}ATj{number}"
            for C in (1.0, 10.0, 100.0, 1000.0, 10000.0):
                parameters = {"lam": 2.0 * C, "intercept": "free"}
                yield PlannedInstance(f"zero-one/brooks-{name}-C{C:g}", {"kind": "brooks", "name": name}, "zero-one", parameters)


def _stated(model: str, source: str, data: Mapping[str, Any], lams: tuple[float, ...]) -> Iterator[PlannedInstance]:
    for lam in lams:
        parameters = {"lam": lam} | ({"intercept": "penalised"} if model in ("zero-one", "ramp") else {})
        yield PlannedInstance(f"{model}/{source}-lam{lam:g}", data, model, parameters)
