"""Data sets of the papers' experiments: from the catalogue, else from a file in the directory that MARGINOPT_DATA names."""

from __future__ import annotations

import functools
import os

import numpy as np

from marginopt.errors import DataError
from marginopt.instances import DATA_VARIABLE, Instance, Part, catalogue, data_file, load, read_libsvm
from marginopt.models import FloatArray, to_dense


def data_set(name: str, part: Part | None = None) -> Instance:
    """Return a data set, or one part of it, by name; read once in a process. `DataError` says why a set cannot be had."""
    absent = _absent(os.environ.get(DATA_VARIABLE, ""))
    if (name, part) not in absent:
        data = _read(name, part)
        if not isinstance(data, str):
            return data
        absent[name, part] = data
    raise DataError(absent[name, part], name=name)


@functools.cache
def _absent(directory: str) -> dict[tuple[str, Part | None], str]:
    """Return the reasons why sets cannot be had with this directory of data, which are remembered: a network may be slow."""
    return {}


@functools.lru_cache(maxsize=16)
def _read(name: str, part: Part | None) -> Instance | str:
    """Return the set, or the reason why it cannot be had."""
    try:
        entry = next((e for e in catalogue() if e.name == name), None)
        if entry is not None and part in ("train", "test") and not entry.parts:
            return f"{name} has no published parts"
        if entry is not None:
            return load(name, part)
        path = data_file(name, "test" if part == "test" else "train")
        if path is None:
            return f"{name} is not in the catalogue: put {name}.libsvm.bz2 into the directory of {DATA_VARIABLE}"
        return read_libsvm(path)
    except DataError as error:
        return str(error)


def dense_arrays(instance: Instance) -> tuple[FloatArray, FloatArray]:
    """Return the rows (n, p) and the labels (n,) of an instance as dense arrays."""
    return np.ascontiguousarray(to_dense(instance.X)), np.asarray(instance.y, dtype=np.float64)


def data_identity(names: tuple[str, ...]) -> list[object]:
    """Return names, rows and labels of sets, test parts included, for a store's key; "absent" for a set not at hand."""
    identity: list[object] = []
    for name in names:
        try:
            instance = data_set(name)
            identity.append([name, instance.X, instance.y])
            if has_test_file(name):
                test = data_set(name, "test")
                identity.append([f"{name}, test part", test.X, test.y])
        except DataError:
            identity.append([name, "absent"])
    return identity


def has_test_file(name: str) -> bool:
    """Return whether a test part that is not loaded with the set has a file in the directory of MARGINOPT_DATA."""
    entry = next((e for e in catalogue() if e.name == name), None)
    return (entry is None or entry.default == "train") and data_file(name, "test") is not None
