"""Data, compressions and comparisons of the tests of readers."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings

#: Hypothesis settings of tests with damaged files; compressions by the file's suffix.
FUZZ = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
PACKERS = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


def random_matrix(n=12, p=3, seed=0):
    """Return X (n, p) with entries of many magnitudes, and labels ±1."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * 10.0 ** rng.integers(-8, 8, size=(n, p)), np.where(np.arange(n) % 3, 1, -1)


def same(data, X, y):
    """Assert that data that were read are X and y exactly."""
    assert np.array_equal(data.dense().X, X)
    assert np.array_equal(data.y, y)


def points_file(folder: Path, n: int = 16, apart: float = 0.8) -> Path:
    """Write a CSV file of n normal points in two features with a column ``label``, and return its path.

    Each class has half of the points; the means of the classes differ by 2 ``apart`` in each feature.
    """
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], n // 2)
    X = rng.normal(size=(n, 2)) + apart * y[:, None]
    path = folder / "points.csv"
    lines = ["a,b,label", *(f"{float(r[0])!r},{float(r[1])!r},{label}" for r, label in zip(X, y, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
