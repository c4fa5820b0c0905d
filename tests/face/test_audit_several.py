"""Audits of several classes, pipelines, searches and wrappers: the gaps are those of the machines fitted one by one."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from effort import part
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

import marginopt as mo
from marginopt.auditing import AuditTable

pytestmark = pytest.mark.filterwarnings("ignore")


def wine() -> tuple[np.ndarray, np.ndarray]:
    """Three classes with words for names, not in the order of the alphabet."""
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["red", "white", "green"])[y]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pair_of_a_machine_of_several_classes_is_a_machine_of_two(kernel: str, weighted: bool) -> None:
    X, y = wine()
    rng = np.random.default_rng(0)
    weights = rng.random(y.size) if weighted else np.ones(y.size)
    weights[::9] = 0.0 if weighted else 1.0
    class_weight: Any = {"red": 2.0, "white": 0.5, "green": 1.0} if weighted else None
    machine = SVC(kernel=kernel, tol=1e-7, class_weight=class_weight).fit(X, y, sample_weight=weights)
    table = mo.audit(machine, X, y, weights)
    assert isinstance(table, AuditTable) and len(table) == 3 and table.gap < 1e-5
    for a, b in combinations(sorted(set(y)), 2):
        rows = np.isin(y, [a, b])
        alone = SVC(kernel=kernel, tol=1e-7, gamma=machine._gamma, class_weight=class_weight)
        alone.fit(X[rows], y[rows], sample_weight=weights[rows])
        one = mo.audit(alone, X[rows], y[rows], weights[rows])
        assert table[f"{a}, {b}"].value == pytest.approx(one.value, rel=1e-5)
        assert table[f"{a}, {b}"].bound <= one.value * (1.0 + 1e-12)


@pytest.mark.parametrize(("class_weight", "loss"), part(product([None, "balanced", {"red": 3.0}], ["hinge", "squared_hinge"]), 3))
def test_a_class_against_the_rest_is_liblinears_problem(loss: str, class_weight: Any) -> None:
    X, y = wine()
    table = mo.audit(LinearSVC(loss=loss, class_weight=class_weight, tol=1e-9, max_iter=200_000).fit(X, y), X, y)
    assert isinstance(table, AuditTable) and table.gap < 1e-5
    stopped = mo.audit(LinearSVC(loss=loss, class_weight=class_weight, max_iter=2).fit(X, y), X, y)
    assert stopped.gap > 1e-3 and all(stopped[name].bound <= table[name].value * (1.0 + 1e-9) for name in table.audits)


def test_pipelines_searches_and_wrappers() -> None:
    X, y = wine()
    pipeline = make_pipeline(StandardScaler(), SVC(C=0.5))
    plain = mo.audit(
        SVC(C=0.5).fit(StandardScaler().fit_transform(3.0 * X + 1.0), y), StandardScaler().fit_transform(3.0 * X + 1.0), y
    )
    piped = mo.audit(pipeline.fit(3.0 * X + 1.0, y), 3.0 * X + 1.0, y)
    search = mo.audit(GridSearchCV(pipeline, {"svc__C": [0.5]}).fit(3.0 * X + 1.0, y), 3.0 * X + 1.0, y)
    assert [a.value for a in piped.audits.values()] == [a.value for a in plain.audits.values()]
    assert [a.value for a in search.audits.values()] == [a.value for a in plain.audits.values()]
    rest = mo.audit(OneVsRestClassifier(LinearSVC(tol=1e-9, max_iter=100_000)).fit(X, y), X, y)
    assert set(rest.audits) == {"red, rest", "white, rest", "green, rest"} and rest.gap < 1e-6
    pairs = mo.audit(OneVsOneClassifier(SVC(tol=1e-7)).fit(X, y), X, y)
    assert len(pairs) == 3 and pairs.gap < 1e-5
    assert {"machine", "gap"} <= set(pairs.records()[0]) and str(pairs).count("gap") == 4


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_pair_of_a_nu_machine_of_several_classes_is_a_machine_of_two(kernel: str) -> None:
    X, y = wine()
    machine = NuSVC(nu=0.3, kernel=kernel, tol=1e-7).fit(X, y)
    table = mo.audit(machine, X, y)
    assert isinstance(table, AuditTable) and len(table) == 3 and table.gap < 1e-5
    for a, b in combinations(sorted(set(y)), 2):
        rows = np.isin(y, [a, b])
        one = mo.audit(NuSVC(nu=0.3, kernel=kernel, tol=1e-7, gamma=machine._gamma).fit(X[rows], y[rows]), X[rows], y[rows])
        assert table[f"{a}, {b}"].value == pytest.approx(one.value, rel=1e-5) and one.machine == table[f"{a}, {b}"].machine
    with pytest.raises(mo.errors.InputError):  # LIBSVM solves another problem with weights than the one it states
        mo.audit(NuSVC(nu=0.2, class_weight={"red": 2.0}).fit(X, y), X, y)


def test_a_kernel_matrix_of_several_classes() -> None:
    X, y = wine()
    table = mo.audit(SVC(kernel="precomputed", tol=1e-7).fit(X @ X.T, y), X @ X.T, y)
    linear = mo.audit(SVC(kernel="linear", tol=1e-7).fit(X, y), X, y)
    for name, audit in table.audits.items():
        assert audit.value == pytest.approx(linear[name].value, rel=1e-5) and audit.condition


@pytest.mark.parametrize("case", ["not fitted", "other labels", "another machine", "no refit", "few labels"])
def test_what_cannot_be_audited_is_refused(case: str) -> None:
    X, y = wine()
    machine = SVC().fit(X, y)
    calls = {
        "not fitted": lambda: mo.audit(SVC(), X, y),
        "other labels": lambda: mo.audit(machine, X, np.arange(y.size)),
        "another machine": lambda: mo.audit(LinearRegression().fit(X, np.arange(y.size)), X, y),
        "no refit": lambda: mo.audit(GridSearchCV(SVC(), {"C": [1.0]}, refit=False).fit(X, y), X, y),
        "few labels": lambda: mo.audit(machine, X, y[:5]),
    }
    with pytest.raises(mo.errors.InputError):
        calls[case]()
