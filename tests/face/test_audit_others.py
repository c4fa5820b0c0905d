"""Audits of regressions, sparse machines and stochastic ones, against the same problems stated in CVXPY."""

from __future__ import annotations

import math
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from facts import about
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import marginopt as mo
from marginopt.auditing.values import make_audit
from marginopt.errors import InputError
from marginopt.models.rounding import Rounded

RNG = np.random.default_rng(3)
#: A column of zeros and ones, a heavy tail, an offset, duplicates.
X = np.column_stack([RNG.integers(0, 2, 40), RNG.standard_t(3, 40), 2.0 + RNG.normal(size=40)])
X[30:] = X[:10]
Y = X @ [1.0, -0.5, 0.3] + 0.4 * RNG.standard_t(3, 40)
SIGNS = np.where(np.median(Y) < Y, 1.0, -1.0)
WEIGHTS = np.where(np.arange(40) % 7 == 0, 0.0, RNG.random(40) + 0.5)


def optimum(machine: Any, c: np.ndarray) -> float:
    """The problem as its documentation states it."""
    w, b = cp.Variable(3), cp.Variable()
    f, s = X @ w + b, getattr(machine, "intercept_scaling", 1.0)
    held = [] if getattr(machine, "fit_intercept", True) else [b == 0]
    if isinstance(machine, SVR | LinearSVR):
        tube = cp.pos(cp.abs(Y - f) - machine.epsilon)
        loss = c @ (cp.square(tube) if getattr(machine, "loss", "") == "squared_epsilon_insensitive" else tube)
        penalty = 0.5 * cp.sum_squares(w) + (0.5 * cp.square(b / s) if isinstance(machine, LinearSVR) else 0.0)
    elif isinstance(machine, LinearSVC):
        loss, penalty = c @ cp.square(cp.pos(1 - cp.multiply(SIGNS, f))), cp.norm1(w) + cp.abs(b / s)
    else:
        margins = cp.multiply(SIGNS, f)
        losses = {
            "hinge": cp.pos(1 - margins),
            "squared_hinge": cp.square(cp.pos(1 - margins)),
            "log_loss": cp.logistic(-margins),
        }
        loss, penalty = c @ losses[machine.loss], 0.5 * cp.sum_squares(w)
    return float(cp.Problem(cp.Minimize(penalty + loss), held).solve(solver="CLARABEL"))


MACHINES = [
    SVR(kernel="linear", C=0.7, epsilon=0.2, tol=1e-9),
    LinearSVR(C=0.7, epsilon=0.2, tol=1e-9, max_iter=200_000),
    LinearSVR(C=0.7, epsilon=0.1, loss="squared_epsilon_insensitive", intercept_scaling=3.0, tol=1e-9, max_iter=200_000),
    LinearSVR(C=0.3, fit_intercept=False, tol=1e-9, max_iter=200_000),
    LinearSVC(penalty="l1", dual=False, C=0.5, tol=1e-9, max_iter=200_000),
    LinearSVC(penalty="l1", dual=False, C=0.2, fit_intercept=False, tol=1e-9, max_iter=200_000),
    SGDClassifier(loss="hinge", alpha=0.1, random_state=0),
    SGDClassifier(loss="squared_hinge", alpha=0.5, fit_intercept=False, learning_rate="constant", eta0=0.001, random_state=0),
    SGDClassifier(loss="log_loss", alpha=0.01, random_state=0),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("machine", MACHINES, ids=[f"{k} {type(m).__name__}" for k, m in enumerate(MACHINES)])
def test_value_and_bound_enclose_the_optimum(machine: Any, weighted: bool) -> None:
    weights = WEIGHTS if weighted else np.ones(40)
    labels = Y if isinstance(machine, SVR | LinearSVR) else SIGNS
    machine.fit(X, labels, sample_weight=weights)
    audit = mo.audit(machine, X, labels, sample_weight=weights)
    scale = 1.0 / (machine.alpha * 40) if isinstance(machine, SGDClassifier) else machine.C
    truth = optimum(machine, scale * weights)
    assert audit.bound <= truth * (1.0 + 1e-7) and audit.value >= truth * (1.0 - 1e-7)
    assert audit.bound == pytest.approx(truth, rel=1e-5)
    if not isinstance(machine, SGDClassifier):
        assert audit.gap < 1e-4
    assert audit.condition == ""


@pytest.mark.parametrize("kind", [SVR, LinearSVR])
def test_a_loose_tolerance_shows(kind: Any) -> None:
    gaps = [mo.audit(kind(C=5.0, tol=tol, max_iter=100_000).fit(X, Y), X, Y).gap for tol in (1.0, 1e-7)]
    assert gaps[1] < 1e-4 < gaps[0]


def test_a_fit_that_its_iterations_ended_is_advised() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        short = mo.audit(LinearSVC(C=100.0, max_iter=2).fit(X, SIGNS), X, SIGNS)
        table = mo.audit(SGDClassifier(max_iter=3, tol=None).fit(X, np.arange(40) % 3), X, np.arange(40) % 3)
    assert "max_iter" in short.advice and "max_iter" in str(short)
    assert len(table) == 3 and all("max_iter" in audit.advice for audit in table.audits.values())
    assert mo.audit(SVC(kernel="linear").fit(X, SIGNS), X, SIGNS).advice == ""


def test_no_limit_is_advised_where_the_gap_is_small() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machines = {name: LinearSVC(C=C, tol=1e-12, max_iter=2).fit(X, SIGNS) for name, C in (("near", 1e-6), ("far", 100.0))}
    table = mo.audit(machines, X, SIGNS)
    assert int(machines["near"].n_iter_) == 2 and table["near"].gap < 1e-6 and table["near"].advice == ""
    assert table["far"].gap > 1e-4 and f"  far: {table['far'].advice}" in str(table).splitlines()


def test_a_bound_without_a_number_is_the_least_value_of_the_objective() -> None:
    for bound in (Rounded(math.nan, math.nan), Rounded(-math.inf), Rounded(1.0, math.inf), Rounded(-3.0, 0.5)):
        audit = make_audit("SGDClassifier", "problem", Rounded(5.0, 1e-12), bound)
        assert audit.bound == 0.0 and audit.gap == 1.0 and math.isfinite(audit.rounding)
    lowest = make_audit("NuSVC", "problem", Rounded(-1.0), Rounded(math.nan, math.nan), floor=-math.inf)
    assert (lowest.bound, lowest.gap) == (-math.inf, math.inf) and "nan" not in str(lowest)
    huge = make_audit("SVC", "problem", Rounded(math.inf, math.nan), Rounded(1.0))
    assert (huge.value, huge.gap) == (math.inf, math.inf) and "nan" not in str(huge)


def test_a_stochastic_fit_that_is_far_off_has_a_bound() -> None:
    points = X * np.geomspace(1.0, 400.0, X.shape[1])
    for seed in range(4):
        machine = SGDClassifier(loss="log_loss", random_state=seed).fit(points, SIGNS)
        audit = mo.audit(machine, points, SIGNS)
        assert 0.0 < audit.bound < audit.value and 0.0 < audit.gap <= 1.0


def test_a_class_against_the_rest_is_one_stochastic_machine_of_two() -> None:
    labels = np.digitize(Y, np.quantile(Y, [0.4, 0.7]))
    machine = SGDClassifier(alpha=0.05, class_weight={0: 2.0, 1: 1.0, 2: 0.5}, random_state=0).fit(X, labels)
    table = mo.audit(machine, X, labels)
    for k, weight in enumerate((2.0, 1.0, 0.5)):
        signs = np.where(labels == k, 1.0, -1.0)
        c = np.where(signs > 0, weight, 1.0) / (0.05 * 40)
        w, b = machine.coef_[k], machine.intercept_[k]
        value = 0.5 * w @ w + c @ np.maximum(1.0 - signs * (X @ w + b), 0.0)
        assert table[f"{k}, rest"].value == pytest.approx(value, rel=1e-9)


def test_regressions_in_searches_and_pipelines() -> None:
    search = GridSearchCV(make_pipeline(StandardScaler(), SVR(kernel="rbf")), {"svr__C": [0.5, 2.0]}, cv=3).fit(X, Y)
    audit = mo.audit(search, X, Y)
    assert audit.machine == "SVR" and 0.0 <= audit.gap < 1e-2


def test_other_losses_are_refused() -> None:
    for machine in (SGDClassifier(loss="perceptron"), SGDClassifier(penalty="l1")):
        with pytest.raises(InputError, check=about("estimator")):
            mo.audit(machine.fit(X, SIGNS), X, SIGNS)
    with pytest.raises(InputError, check=about("y")):
        mo.audit(SVR().fit(X, Y), X, Y[:-1])
