"""scikit-learn's own checks, none of them expected to fail; by default an eighth of them for each estimator, others for each.

Its two checks of sparse containers solve the same problems ten times each, to see that no container breaks `fit`: they run at
full effort. By default a smaller law holds the containers' predictions against those of dense rows.
"""

from __future__ import annotations

from typing import Any
from unittest import SkipTest

import numpy as np
import pytest
import scipy.sparse as sp
from effort import FULL, part, trials
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import marginopt as mo
from marginopt.estimators import all_estimators

#: Every estimator as its record makes a quick one, and options that change what it does.
ESTIMATORS = [info.make() for info in all_estimators().values()] + [
    mo.estimators.L2SVC(kernel="linear", multi_class="ovr", solver="mfw", warm_start=True),
    mo.estimators.MaxMinSVC(shared=True, parameter="log-gamma"),
    mo.estimators.HingeSVC(multi_class="ovr"),
    # A mixed-integer program: the best classifier after one node.
    mo.estimators.MarginClassifier("ramp", "l1", lam=0.03, node_limit=1),
    mo.estimators.KernelNPSVC(kernel="linear", orientation="rest", intercept=1.0),
    mo.estimators.KernelNPSVC(approximation="nystroem", components=20, classes_step="joint", max_iter=4, tol=0.1),
    mo.estimators.NonparallelSVC("npsvm", tol=1e-3),
]
LONG = frozenset({"check_estimator_sparse_matrix", "check_estimator_sparse_array"})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_check_estimator(estimator: Any) -> None:
    checks = [(fresh, check) for fresh, check in estimator_checks_generator(estimator) if FULL or check.func.__name__ not in LONG]
    assert len(checks) > 30 and "check_n_features_in_after_fitting" in {check.func.__name__ for _, check in checks}
    tried = set()
    for fresh, check in part(checks, len(checks) // 8, turn=ESTIMATORS.index(estimator)):
        try:
            check(fresh)
        except SkipTest:
            continue
        tried.add(check.func.__name__)
    assert len(tried) > trials(2, 30)


def with_long_indices(X: np.ndarray) -> sp.csr_array:
    """CSR rows whose indices are 64-bit whole numbers."""
    rows = sp.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


CONTAINERS = (
    with_long_indices, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.dok_matrix, sp.lil_array, sp.dia_array, sp.bsr_matrix,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_sparse_container_is_taken(estimator: Any) -> None:
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 8)
    X = np.round(rng.normal(size=(16, 3)) + 2.0 * y[:, None], 1) * (rng.random((16, 3)) < 0.7)
    expected = clone(estimator).fit(X, y).predict(X)
    for container in part(CONTAINERS, 2, turn=ESTIMATORS.index(estimator)):
        fitted = clone(estimator).fit(container(X), y)
        np.testing.assert_allclose(fitted.predict(container(X)), expected, atol=1e-3)
