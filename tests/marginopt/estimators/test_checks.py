"""scikit-learn's own checks, none of them expected to fail."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

import marginopt as mo

ESTIMATORS = [
    mo.L2SVC(),
    mo.L2SVC(kernel="linear", multi_class="ovr", solver="mfw", warm_start=True),
    mo.MEBOneClass(),
    mo.NCHSVC(),
    mo.MaxMinSVC(),
    mo.MaxMinSVC(shared=True, parameter="log-gamma"),
    mo.HingeSVC(),
    mo.HingeSVC(multi_class="ovr"),
    mo.HingeSVCCV(lams=3, cv=2),
    mo.ConicSVC(tol=1e-4),
    mo.ConicSVCCV(kappas=[0.1, 0.3], cv=0.4, tol=1e-3),
    mo.ZeroOneSVC(node_limit=2000),
]


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_check_estimator(estimator: Any) -> None:
    check_estimator(estimator, on_skip=None)
