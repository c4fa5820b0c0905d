"""Audits of the softmax and of wrappers on data frames: values and bounds enclose the optimum, whatever was fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import marginopt as mo

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _data(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with a binary and a heavy-tailed column, labels of four classes, one of them rare, and weights, some 0."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(90, 2)), rng.random(90) < 0.4, rng.standard_t(2, 90)])
    y = np.array(["d", "c", "b", "a"])[(X @ [1.0, -1.0, 0.5, 0.3] + rng.normal(size=90) > [[-1.5], [0.0], [1.0]]).sum(axis=0)]
    return X, y, np.where(rng.random(90) < 0.1, 0.0, rng.random(90))


def _objective(machine: Any, X: np.ndarray, y: np.ndarray, costs: np.ndarray) -> float:
    f = X @ machine.coef_.T + machine.intercept_
    losses = logsumexp(f, axis=1) - f[np.arange(len(y)), np.searchsorted(machine.classes_, y)]
    return float(0.5 * (machine.coef_**2).sum() + costs @ losses)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_value_and_bound_enclose_the_optimum(C: float, intercept: bool) -> None:
    X, y, weights = _data(0)
    common = {"C": C, "fit_intercept": intercept}
    exact = LogisticRegression(**common, solver="newton-cg", tol=1e-12, max_iter=1000).fit(X, y, sample_weight=weights)
    optimum = _objective(exact, X, y, C * weights)
    for options in ({"max_iter": 2}, {"max_iter": 5000, "tol": 1e-8}, {"solver": "saga", "max_iter": 3}):
        machine = LogisticRegression(**{**common, **options}, random_state=0).fit(X, y, sample_weight=weights)
        audit = mo.audit(machine, X, y, sample_weight=weights)
        assert audit.value == pytest.approx(_objective(machine, X, y, C * weights), rel=1e-12)
        assert audit.bound <= optimum <= audit.value * (1.0 + 1e-12)
        assert audit.bound >= optimum * (1.0 - 1e-6) and not audit.condition
    tight = mo.audit(exact, X, y, sample_weight=weights)
    assert 0.0 <= tight.gap <= 1e-8


def test_class_weights_and_a_class_that_does_not_count() -> None:
    X, y, weights = _data(1)
    weights[y == "b"] = 0.0
    for class_weight in ("balanced", {"a": 3.0, "d": 0.5}):
        machine = LogisticRegression(class_weight=class_weight, tol=1e-8, max_iter=5000).fit(X, y, sample_weight=weights + 1e-9)
        assert 0.0 <= mo.audit(machine, X, y, sample_weight=weights + 1e-9).gap <= 1e-6
    assert mo.audit(machine, X, y, sample_weight=weights).bound >= 0.0
    with pytest.raises(mo.errors.InputError):
        mo.audit(machine, X, np.where(y == "a", "e", y))


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, OneVsOneClassifier])
def test_wrappers_of_machines_and_pipelines_on_frames(wrapper: Any) -> None:
    X, y, _ = _data(2)
    frame = pd.DataFrame(X, columns=["one", "two", "flag", "tail"], index=[f"p{i}" for i in range(len(y))])
    for inner in (LinearSVC(random_state=0), make_pipeline(StandardScaler(), LinearSVC(random_state=0))):
        of_frame = mo.audit(wrapper(inner).fit(frame, y), frame, y)
        of_array = mo.audit(wrapper(inner).fit(X, y), X, y)
        assert of_frame.gap == of_array.gap and list(of_frame.audits) == list(of_array.audits)
    listed = wrapper(LinearSVC(random_state=0)).fit(X.tolist(), y.tolist())
    assert mo.audit(listed, X.tolist(), y.tolist()).gap < 1.0
