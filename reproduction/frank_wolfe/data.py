"""Data sets of the Frank-Wolfe paper: training and test parts, or the nearest that is at hand for a missing test part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from marginopt.errors import DataError
from marginopt.instances import DATA_VARIABLE, Instance, data_file
from marginopt.models import FloatArray

from ..inputs import data_set, dense_arrays

#: Why an accuracy on a part that is not the published one is not judged.
OTHER_POINTS = "other test points"
#: Published name: catalogue name, and the larger set whose remaining points are the test part.
SOURCES: dict[str, tuple[str, str]] = {
    **{f"a{k}a": (f"a{k}a", "a5a" if k < 5 else "") for k in range(1, 8)},
    **{f"w{k}a": (f"w{k}a", "w7a" if k < 7 else "") for k in range(1, 9)},
    "USPS": ("usps", ""), "Pendigits": ("pendigits", ""), "Letter": ("letter", ""), "Shuttle": ("shuttle", ""),
    "MNIST": ("mnist", ""), "Reuters": ("reuters", ""), "Protein": ("protein", ""), "IJCNN": ("ijcnn1", ""),
    "USPS-Ext": ("usps-ext", ""), "KDD10pc": ("kdd99-10pc", ""), "KDD-full": ("kdd99", ""),
}  # fmt: skip
#: Published sets of one file whose first points are the training part: m_max and m_min of Table 1 are those of these points.
_FIRST = {"letter": 15000, "shuttle": 43500, "mnist": 60000}
#: Adult and Web sets that no larger one follows: their test part is a file of its own.
_LARGEST = ("a5a", "a6a", "a7a", "w7a", "w8a")
#: Points of the training part where the source at hand pools the parts: the published numbers, drawn at random.
_POOLED = {"pendigits": 7494, "usps": 7291}


@dataclass(frozen=True, eq=False)
class TrainTestParts:
    """Training and test points of a set; ``test_source`` is the origin of test points that are not published, else empty."""

    X: FloatArray
    y: np.ndarray
    X_test: FloatArray
    y_test: np.ndarray
    test_source: str


@lru_cache(maxsize=2)
def train_test_parts(name: str) -> TrainTestParts:
    """Return training and test part of the set that the paper calls ``name``; the test part is empty if there is none."""
    source, larger = SOURCES[name]
    if larger and data_file(source, "test") is None:
        return _remaining(data_set(source), data_set(larger), larger)
    try:
        (X, y), (X_test, y_test) = dense_arrays(data_set(source, "train")), dense_arrays(data_set(source, "test"))
    except DataError:
        return _split(source)
    width = max(X.shape[1], X_test.shape[1])
    return TrainTestParts(_wide(X, width), y, _wide(X_test, width), y_test, "")


def has_published_test(name: str) -> bool:
    """Return whether a set is tested on the published points; Adult, Web and pooled sets are if their test file is at hand."""
    source, larger = SOURCES[name]
    with_file = bool(larger) or source in _POOLED or name in _LARGEST
    return not with_file or data_file(source, "test") is not None


def replaces_other_test(name: str) -> bool:
    """Return whether a set of Adult or Web has its published test points at hand, in place of which other points were tested."""
    source, larger = SOURCES[name]
    return (bool(larger) or name in _LARGEST) and data_file(source, "test") is not None


def missing_test_reason(name: str) -> str:
    """Return why a set has no test part, and so no accuracy, here; empty if it may have one."""
    source, larger = SOURCES[name]
    alone = not larger and source not in _FIRST and source not in _POOLED and data_file(source, "test") is None
    return (
        f"{source} has no test part here: put {source}.t or {source}.t.bz2 into the directory of {DATA_VARIABLE}" if alone else ""
    )


def _split(text: str) -> TrainTestParts:
    """Return the parts of a set that comes as one."""
    X, y = dense_arrays(data_set(text))
    if text in _FIRST:
        first = _FIRST[text]
        return TrainTestParts(X[:first], y[:first], X[first:], y[first:], "")
    if text not in _POOLED:
        return TrainTestParts(X, y, X[:0], y[:0], "no test part")
    train, test = np.split(np.random.default_rng(0).permutation(len(y)), [_POOLED[text]])
    return TrainTestParts(X[train], y[train], X[test], y[test], "a random split of the published sizes")


def _wide(X: FloatArray, width: int) -> FloatArray:
    return np.hstack([X, np.zeros((X.shape[0], width - X.shape[1]))]) if X.shape[1] < width else X


def _remaining(small: Instance, large: Instance, name: str) -> TrainTestParts:
    """Return as test points those of the larger set that are not in the smaller one, as multisets of labelled rows."""
    (X, y), (Z, z) = dense_arrays(small), dense_arrays(large)
    used = Counter((row.tobytes(), label) for row, label in zip(X, y, strict=True))
    keep = np.ones(len(z), dtype=bool)
    for i, (row, label) in enumerate(zip(Z, z, strict=True)):
        if used[row.tobytes(), label] > 0:
            used[row.tobytes(), label] -= 1
            keep[i] = False
    if keep.sum() != len(z) - len(y):
        raise DataError(f"{small.name} is not a part of {name}: no test points that it was not trained on")
    return TrainTestParts(X, y, Z[keep], z[keep], f"the points of {name} outside the training part")
