"""Data, compressions and comparisons of the tests of readers."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
from hypothesis import HealthCheck, settings

FUZZ = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
PACKERS = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


def random_matrix(n=12, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * 10.0 ** rng.integers(-8, 8, size=(n, p)), np.where(np.arange(n) % 3, 1, -1)


def same(data, X, y):
    assert np.array_equal(data.dense().X, X)
    assert np.array_equal(data.y, y)
