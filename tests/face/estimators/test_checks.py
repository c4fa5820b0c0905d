"""scikit-learn's own checks, none of them expected to fail."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

import marginopt as mo
from marginopt.estimators import all_estimators

#: Every estimator as its record makes a quick one, and options that change what it does.
ESTIMATORS = [info.make() for info in all_estimators().values()] + [
    mo.estimators.L2SVC(kernel="linear", multi_class="ovr", solver="mfw", warm_start=True),
    mo.estimators.MaxMinSVC(shared=True, parameter="log-gamma"),
    mo.estimators.HingeSVC(multi_class="ovr"),
    mo.estimators.MarginClassifier(
        "ramp", "l1", lam=0.03, node_limit=1
    ),  # a mixed-integer program: the best classifier after one node
]


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_check_estimator(estimator: Any) -> None:
    check_estimator(estimator, on_skip=None)
