"""The true gap of scikit-learn's machines, against the same problems stated in CVXPY."""

from __future__ import annotations

from inspect import signature
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from facts import about
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from sklearn.utils.class_weight import compute_class_weight

import marginopt as mo
from marginopt.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) * [1.0, 2.0, 0.5] + 0.3
Y = np.where(X[:, 0] + 0.8 * RNG.normal(size=40) > 0.2, "up", "down")
SIGNS = np.where(Y == "up", 1.0, -1.0)
WEIGHTS = RNG.random(40) + 0.5
#: Whether this scikit-learn balances LinearSVC by weights of samples.
WEIGHED = "sample_weight" in signature(compute_class_weight).parameters


def optimum(machine: Any, weights: np.ndarray) -> float:
    """The machine's problem for a linear kernel, in the words of its documentation."""
    w, b, rho = cp.Variable(3), cp.Variable(), cp.Variable()
    n = len(SIGNS)
    if isinstance(machine, OneClassSVM):
        objective = 0.5 * cp.sum_squares(w) - machine.nu * n * rho + cp.sum(cp.pos(rho - X @ w))
        return float(cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL"))
    margins = cp.multiply(SIGNS, X @ w + b)
    if isinstance(machine, NuSVC):
        objective = 0.5 * cp.sum_squares(w) - machine.nu * n * rho + cp.sum(cp.pos(rho - margins))
        return float(cp.Problem(cp.Minimize(objective), [rho >= 0]).solve(solver="CLARABEL"))
    c = machine.C * weights
    if machine.class_weight == "balanced":
        counted = weights if isinstance(machine, LinearSVC) and WEIGHED else np.ones(n)
        total = counted.sum()
        c = c * np.where(SIGNS > 0, total / (2 * counted[SIGNS > 0].sum()), total / (2 * counted[SIGNS < 0].sum()))
    short = cp.pos(1 - margins)
    if isinstance(machine, SVC):
        return float(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + c @ short)).solve(solver="CLARABEL"))
    loss = c @ (cp.square(short) if machine.loss == "squared_hinge" else short)
    penalty = 0.5 * cp.sum_squares(w) + (0.5 * cp.square(b / machine.intercept_scaling) if machine.fit_intercept else 0)
    return float(cp.Problem(cp.Minimize(penalty + loss), [] if machine.fit_intercept else [b == 0]).solve(solver="CLARABEL"))


MACHINES = [
    SVC(kernel="linear", C=0.7, tol=1e-9),
    SVC(kernel="linear", C=3.0, class_weight="balanced", tol=1e-9),
    NuSVC(kernel="linear", nu=0.5, tol=1e-9),
    OneClassSVM(kernel="linear", nu=0.3, tol=1e-9),
    LinearSVC(C=0.4, tol=1e-10, max_iter=500_000),
    LinearSVC(C=0.4, loss="hinge", tol=1e-10, max_iter=500_000, intercept_scaling=5.0),
    LinearSVC(C=0.4, class_weight="balanced", fit_intercept=False, tol=1e-10, max_iter=500_000),
]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_bound_enclose_the_optimum(machine: Any, weighted: bool) -> None:
    weights = WEIGHTS if weighted and not isinstance(machine, NuSVC | OneClassSVM) else np.ones(40)
    machine.fit(X, Y, sample_weight=weights)
    report = mo.audit(machine, X, Y, weights)
    size = max(1.0, abs(report.value))
    assert -1e-9 * size <= report.value - report.bound <= 1e-6 * size, report
    best = optimum(machine, weights)
    assert report.bound <= best + 1e-6 * size
    assert report.value >= best - 1e-6 * size


@pytest.mark.parametrize("machine", [SVC(C=2.0), NuSVC(), OneClassSVM(gamma=0.5), SVC(kernel="poly", coef0=1.0)], ids=str)
def test_a_loose_tolerance_shows(machine: Any) -> None:
    tight = mo.audit(machine.set_params(tol=1e-9).fit(X, Y), X, Y)
    loose = mo.audit(machine.set_params(tol=0.5).fit(X, Y), X, Y)
    assert tight.condition == ""
    assert abs(tight.gap) < 1e-7
    assert loose.gap > 10 * abs(tight.gap)


def test_a_kernel_that_is_not_known_to_be_semidefinite_is_said() -> None:
    fitted = mo.audit(SVC(kernel="sigmoid").fit(X, Y), X, Y)
    assert fitted.condition
    assert mo.audit(SVC(kernel="precomputed").fit(X @ X.T, Y), X @ X.T, Y).condition


THREE = np.arange(40) % 3


def test_what_cannot_be_audited_is_refused() -> None:
    fitted, weighted = SVC(kernel="linear").fit(X, Y), NuSVC(nu=0.3, class_weight={0: 2.0}).fit(X, THREE)
    for bad, arguments in (
        (SVR(), (X, Y)), (SVC(), (X, Y)), (fitted, (X[:, :2], Y)), (fitted, (X, Y[:3])), (fitted, (X[:5], Y[:5])),
        (fitted, (np.full_like(X, np.nan), Y)), (weighted, (X, THREE)),
        (fitted, (X, Y, -np.ones(40))),
    ):  # fmt: skip
        with pytest.raises(InputError):
            mo.audit(bad, *arguments)


def test_points_of_weight_zero_leave_the_numbers_of_the_support_vectors() -> None:
    """LIBSVM counts without them: the audit took other points for support vectors and showed a gap of 0.9."""
    weights = np.where(np.arange(40) % 5 == 1, 0.0, WEIGHTS)
    machine = SVC(kernel="linear", C=0.7, tol=1e-9).fit(X, Y, weights)
    report = mo.audit(machine, X, Y, weights)
    truth = optimum(machine, weights)
    assert report.gap <= 1e-6
    assert report.bound <= truth * (1.0 + 1e-7) and report.value >= truth * (1.0 - 1e-7)
    with pytest.raises(InputError, check=about("X")):
        mo.audit(machine, X, Y, np.where(np.arange(40) < 5, 1.0, 0.0))


def test_a_kernel_that_is_a_function() -> None:
    """scikit-learn counts no columns there."""
    machine = SVC(kernel=lambda a, b: a @ b.T, C=0.7, tol=1e-9).fit(X, Y)
    report = mo.audit(machine, X, Y)
    assert report.gap <= 1e-6
    assert report.value == pytest.approx(optimum(machine, np.ones(40)), rel=1e-6)


def logistic_optimum(machine: LogisticRegression, weights: np.ndarray) -> float:
    """The problem of a logistic regression, in the words of its documentation."""
    w, b = cp.Variable(3), cp.Variable()
    c = machine.C * weights
    if machine.class_weight == "balanced":
        total = weights.sum()
        c = c * np.where(SIGNS > 0, total / (2 * weights[SIGNS > 0].sum()), total / (2 * weights[SIGNS < 0].sum()))
    loss = c @ cp.logistic(-cp.multiply(SIGNS, X @ w + b))
    penalised = 0.5 * cp.square(b / machine.intercept_scaling) if machine.solver == "liblinear" and machine.fit_intercept else 0
    rows = [] if machine.fit_intercept else [b == 0]
    return float(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + penalised + loss), rows).solve(solver="CLARABEL"))


LOGISTIC = [
    LogisticRegression(C=0.7, tol=1e-9, max_iter=1000),
    LogisticRegression(C=300.0, tol=1e-9, max_iter=1000),
    LogisticRegression(solver="liblinear", intercept_scaling=3.0, tol=1e-9),
    LogisticRegression(solver="newton-cholesky", fit_intercept=False, tol=1e-9),
    *([LogisticRegression(class_weight="balanced", tol=1e-9, max_iter=1000)] if WEIGHED else []),
]


@pytest.mark.parametrize("machine", LOGISTIC, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regression(machine: LogisticRegression, weighted: bool) -> None:
    weights = WEIGHTS if weighted else np.ones(40)
    machine.fit(X, Y, sample_weight=weights if weighted else None)
    report = mo.audit(machine, X, Y, weights if weighted else None)
    best = logistic_optimum(machine, weights)
    assert report.value == pytest.approx(best, rel=1e-6) and report.bound == pytest.approx(best, rel=1e-6)
    assert report.bound <= best * (1 + 1e-7) and 0.0 <= report.gap <= 1e-6 and not report.condition


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_logistic_regression_that_stopped_early() -> None:
    machine = LogisticRegression(solver="saga", max_iter=2, C=50.0, random_state=0).fit(X, Y)
    report = mo.audit(machine, X, Y)
    best = logistic_optimum(machine, np.ones(40))
    assert report.gap >= 1e-3 and report.bound == pytest.approx(best, rel=1e-7) and report.value > best
    machine.coef_, machine.intercept_ = 10.0 * machine.coef_, machine.intercept_ - 3.0  # any coefficients have a value
    assert mo.audit(machine, X, Y).bound == pytest.approx(best, rel=1e-7)


def test_other_penalties_are_refused_and_three_classes_are_wrapped() -> None:
    with pytest.raises(InputError):
        mo.audit(LogisticRegression(l1_ratio=1.0, solver="liblinear").fit(X, Y), X, Y)
    with pytest.raises(InputError):
        mo.audit(LogisticRegression(C=np.inf).fit(X, Y), X, Y)
    three = np.where(X[:, 1] > 1.0, "far", Y)
    table = mo.audit(OneVsRestClassifier(LogisticRegression(tol=1e-8)).fit(X, three), X, three)
    assert len(table.audits) == 3 and all(part.gap <= 1e-6 for part in table.audits.values())


def test_data_that_fit_did_not_see_are_told_apart() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.0, 1, -1)
    machine, order = SVC().fit(X, y), rng.permutation(40)
    audit = mo.audit(machine, X, y)
    assert not audit.advice
    for rows in (X[order], X + 1e-3):
        with pytest.raises(InputError, check=about("X")):
            mo.audit(machine, rows, y)
    assert mo.audit(machine, X, -y).advice
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    linear = LinearSVC().fit(frame, y)
    assert mo.audit(linear, frame, y).gap < 1e-3
    with pytest.raises(InputError, check=about("X")):
        mo.audit(linear, frame[["b", "a", "c"]], y)
    with pytest.raises(InputError, check=about("estimator")):
        mo.audit({"theirs": machine, "ours": mo.estimators.HingeSVC().fit(X, y)}, X, y)
