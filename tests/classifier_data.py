"""Points, labels and estimators of the tests of classifiers."""

from __future__ import annotations

import numpy as np

import marginopt as mo

#: Points X3 of three classes Y3, the two of them X2 with labels Y2 ("yes", "no") or SIGNS (±1), and unlabelled points NEW.
RNG = np.random.default_rng(5)
Y3 = RNG.integers(0, 3, size=90)
X3 = RNG.normal(size=(90, 4)) * [1.0, 5.0, 0.3, 1.0] + 1.2 * np.column_stack([Y3 == 0, Y3 == 1, Y3 == 2, np.zeros(90)]) + 3.0
TWO = Y3 < 2
X2, Y2 = X3[TWO], np.where(Y3[TWO] == 1, "yes", "no")
NEW = RNG.normal(size=(30, 4)) + 3.0
SIGNS = np.where(Y2 == "yes", 1.0, -1.0)
#: Integer weights of the points X2.
S = RNG.integers(0, 4, size=X2.shape[0])
#: Binary classifiers that accept ``sample_weight``; `EVERY` has all.
WEIGHTED = [
    mo.estimators.L2SVC(C=2.0),
    mo.estimators.NCHSVC(),
    mo.estimators.HingeSVC(),
    mo.estimators.ZeroOneSVC(),
    mo.estimators.RampSVC(node_limit=50),
    mo.estimators.SparseSVC(k=2),
]
EVERY = [*WEIGHTED, mo.estimators.MaxMinSVC(), mo.estimators.ConicSVC()]


def scaled(X: np.ndarray, to: np.ndarray = X2) -> np.ndarray:
    """Return X standardised by means and deviations of ``to``."""
    return (X - to.mean(axis=0)) / to.std(axis=0)


def with_ones(X: np.ndarray) -> np.ndarray:
    """Return X after a column of ones."""
    return np.column_stack([np.ones(len(X)), X])
