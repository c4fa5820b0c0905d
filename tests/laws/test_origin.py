"""Data as people have them: offsets, scales, duplicates, binary columns and heavy tails, through every estimator.

The decision function of a fitted estimator is that of the model that it solved, and that of the formula in extended precision.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from effort import part
from facts import about
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning

import marginopt as mo
from marginopt.errors import InputError, SolverError

RNG = np.random.default_rng(46)
N = 24
Y = np.arange(N) % 2
#: Numbers on a grid, so that they can be moved by 1e8 without rounding: a normal, a binary and a heavy-tailed column.
BASE = np.column_stack(
    [
        np.round(256 * (RNG.normal(size=N) + 1.5 * Y)) / 256,
        RNG.integers(0, 2, size=N),
        np.round(256 * np.sinh(2.0 * RNG.normal(size=N))) / 256,
    ]
)
BASE[6], BASE[8] = BASE[2], BASE[2]  # duplicates
NEW = np.vstack([BASE[:5] + 0.25, BASE[2], 40.0 * np.ones(3)])
EXTENDED = np.longdouble
#: Estimators whose problem has no origin with the linear kernel.
MOVED = ("NCHSVC", "MEBOneClass")
#: Estimators whose kernel expansion has the multipliers as coefficients.
EXPANDED = ("NuSVC", "EpsilonSVR")


def has_an_origin(name: str, kernel: str, standardise: bool) -> bool:
    """Return whether the problem itself depends on where the origin is, which float64 does not hold at 1e8."""
    return not (standardise or kernel == "rbf" or name == "MaxMinSVC" or (kernel == "linear" and name in MOVED))


def kernels(info: Any) -> tuple[str, ...]:
    return ("linear", "rbf", "poly") if "kernel" in info.make().get_params() else ("",)


CASES = [
    pytest.param(info, kernel, standardise, offset, id=f"{info.name}-{kernel}-{standardise}-{offset:g}")
    for info in mo.estimators().values()
    for kernel in kernels(info)
    for standardise in ((True, False) if "standardise" in info.make().get_params() else (False,))
    for offset in ((0.0,) if has_an_origin(info.name, kernel, standardise) else (0.0, 1e8))
]


def made(info: Any, kernel: str, standardise: bool) -> Any:
    estimator = info.make()
    known = estimator.get_params()
    chosen = {
        "max_features": 1,
        "coefficients": (-2, 2),
        "kernel": kernel,
        "standardise": standardise,
        "node_limit": 60,
        "gamma": 0.25 if kernel == "rbf" else known.get("gamma"),
    }
    return estimator.set_params(**{name: value for name, value in chosen.items() if name in known})


def fitted(estimator: Any, X: np.ndarray) -> Any:
    """Fit to the labels, to targets, or to points alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever the solver reached is scored
        if isinstance(estimator, mo.estimators.MEBOneClass):
            return estimator.fit(X)
        return estimator.fit(X, BASE[:, 0] + Y if is_regressor(estimator) else Y)


def scored(estimator: Any, X: np.ndarray) -> np.ndarray:
    return estimator.predict(X) if is_regressor(estimator) else estimator.decision_function(X)


def prepared(rows: np.ndarray, train: np.ndarray, standardise: bool) -> np.ndarray:
    rows, train = rows.astype(EXTENDED), train.astype(EXTENDED)
    return (rows - train.mean(axis=0)) / train.std(axis=0) if standardise else rows


def kernel_values(kernel: Any, A: np.ndarray, B: np.ndarray, name: str) -> np.ndarray:
    if name == "rbf":
        return np.exp(-EXTENDED(kernel.gamma) * ((A[:, None, :] - B[None]) ** 2).sum(axis=-1))
    products = A @ B.T
    return products if name == "linear" else (EXTENDED(kernel.gamma) * products + kernel.coef0) ** kernel.degree


def by_formula(e: Any, name: str, Z: np.ndarray) -> np.ndarray:
    """Σ over the points of the problem in extended precision; with no regard to how the package scores."""
    problem, values = e.problem_, e.result_.values
    if "W" in values and not hasattr(problem, "kappa"):
        W = values["W"]
        return Z @ (W[1, 1:] - W[0, 1:]) + W[1, 0] - W[0, 0]
    if "w" in values and getattr(problem, "kernel", None) is None:
        w = np.rint(values["w"]) if isinstance(e, mo.estimators.ScoringSystemClassifier) else values["w"]
        return Z @ w[1:].astype(EXTENDED) + w[0]
    P = np.asarray(problem.X, dtype=EXTENDED)
    if isinstance(e, mo.estimators.NuSVC | mo.estimators.EpsilonSVR):
        beta = problem.composition.features.coordinates.coefficients(values["w"][1:])
        return kernel_values(problem.kernel, Z, P, name) @ beta + values["w"][0]
    if "w" in values:
        return (kernel_values(problem.kernel, Z, P, name) + 1) @ (values["w"] * problem.y)
    a = values["a"].astype(EXTENDED)
    if isinstance(e, mo.estimators.MaxMinSVC):
        problem = problem.at(np.asarray(e.gamma_))
        name = "rbf"
    if name == "linear" and not isinstance(e, mo.estimators.L2SVC):  # neither the hulls nor the ball see where the origin is
        Z, P = Z - P[0], P - P[0]
    K, k = kernel_values(problem.kernel, P, P, name), kernel_values(problem.kernel, Z, P, name)
    if isinstance(e, mo.estimators.MEBOneClass):
        block = np.array([kernel_values(problem.kernel, z[None], z[None], name)[0, 0] for z in Z])
        return 2 * k @ a - block - a @ K @ a - e.offset_
    y = problem.y
    ridge = a / (problem.C * (1.0 if problem.sample_weight is None else problem.sample_weight))
    if isinstance(e, mo.estimators.L2SVC):
        return (k + 1) @ (a * y) / (a @ (y * ((K + 1) @ (a * y)) + ridge))
    scores = a * (K @ (a * y) + y * ridge)
    p, q = scores[y > 0].sum(), scores[y < 0].sum()
    return (k @ (a * y) - (p + q) / 2) / ((p - q) / 2)


@pytest.mark.parametrize(("info", "kernel", "standardise", "offset"), part(CASES, 2, kind=lambda case: case.values[0].name))
def test_estimators_score_as_model_and_formula(info: Any, kernel: str, standardise: bool, offset: float) -> None:
    train, rows = BASE + offset, NEW + offset
    e = made(info, kernel, standardise)
    if info.name in EXPANDED:  # by multipliers, which are the point to the root of the gap alone
        e.set_params(tol=1e-12)
    f = scored(fitted(e, train), rows)
    Z = prepared(rows, train, standardise)
    if info.name in ("NonparallelSVC", "KernelNPSVC"):
        expected = np.asarray(_nonparallel(e, Z.astype(float)))
    else:
        expected = by_formula(e, kernel, Z).astype(float)
    if info.name == "NuSVC":
        expected = expected / e.result_.values["rho"][0]
    # the mean of a column is a number of float64 too: rows are off by its rounding
    rounding = (1e-5 if info.name in EXPANDED else 1e-8) * (1.0 + 100.0 * float(standardise) * offset / 1e8)
    np.testing.assert_allclose(f, expected, rtol=1e-6, atol=rounding * (1.0 + np.abs(expected).max()))


def _nonparallel(e: Any, Z: np.ndarray) -> np.ndarray:
    """By the models: distances to their hyperplanes."""
    if isinstance(e, mo.estimators.KernelNPSVC):
        scores = -e.model_.scores(e.values_, Z)
    else:
        features = e.problems_[0].features
        psi = Z @ e.U_ if features.linear else features.kernel.matrix(Z, features.X) @ np.linalg.solve(features.rows.T, e.U_)
        scores = -np.abs(psi) / np.linalg.norm(e.U_, axis=0)
    return scores[:, 1] - scores[:, 0]


#: Estimators whose answers do not move with standardised points, and why.
STANDING = {"ScoringSystemClassifier": "it multiplies the features by whole numbers, so that it takes them as they are"}
STANDARDISED = [
    pytest.param(info, kernel, scale, offset, id=f"{info.name}-{kernel}-{scale:g}-{offset:g}")
    for info in mo.estimators().values()
    if info.name not in STANDING
    for kernel in kernels(info)
    for scale, offset in [(1.0, 1e8), (2.0**10, 0.0), (2.0**-6, 1e6)]
]


def test_estimators_that_stand_have_no_standardisation() -> None:
    assert {i.name for i in mo.estimators().values() if "standardise" not in i.make().get_params()} == set(STANDING)


@pytest.mark.parametrize(("info", "kernel", "scale", "offset"), part(STANDARDISED, 1, kind=lambda case: case.values[0].name))
def test_standardised_answers_move_and_scale_with_the_data(info: Any, kernel: str, scale: float, offset: float) -> None:
    estimator = made(info, kernel, True)
    near = scored(fitted(estimator, BASE), NEW)
    far = scored(fitted(estimator, scale * BASE + offset), scale * NEW + offset)
    np.testing.assert_allclose(far, near, rtol=1e-4, atol=1e-4 * np.abs(near).max())


MOVING = [
    mo.estimators.NCHSVC(kernel="linear", standardise=False, C=10.0, tol=1e-10),
    mo.estimators.MEBOneClass(kernel="linear", standardise=False, contamination=0.0, tol=1e-10),
    mo.estimators.NCHSVC(C=10.0, tol=1e-10, standardise=False),
    mo.estimators.L2SVC(C=10.0, tol=1e-10, standardise=False),
    mo.estimators.HingeSVC(lam=2.0, tol=1e-9),
    mo.estimators.MulticlassSVC(lam=2.0),
]


@pytest.mark.parametrize(
    ("number", "scale", "offset"),
    part(product(range(len(MOVING)), [1.0, 2.0**-6], [2.0**10, 1e6, 1e8]), 2, kind=lambda cell: cell[0]),
)
def test_answers_move_with_the_data(number: int, scale: float, offset: float) -> None:
    estimator = MOVING[number]
    near = estimator.fit(BASE * scale, Y).decision_function(NEW * scale)
    far = estimator.fit(BASE * scale + offset, Y).decision_function(NEW * scale + offset)
    np.testing.assert_allclose(far, near, rtol=2e-4, atol=2e-4 * np.abs(near).max())


def test_a_row_is_scored_alike_whatever_comes_with_it() -> None:
    e = mo.estimators.L2SVC(gamma=0.25, standardise=False, C=10.0).fit(BASE + 1e8, Y)
    rows = np.vstack([NEW + 1e8, np.zeros((1, 3))])
    np.testing.assert_allclose(e.decision_function(rows)[:-1], e.decision_function(NEW + 1e8), rtol=1e-9, atol=1e-12)


def test_a_formula_of_the_shown_attributes_is_the_score() -> None:
    moved = BASE + 1024.0
    e = mo.estimators.NCHSVC(kernel="linear", standardise=False, C=10.0, tol=1e-8).fit(moved, Y)
    shown = e.dual_coef_[0] @ (moved[e.support_] @ (NEW + 1024.0).T) + e.intercept_[0]
    np.testing.assert_allclose(shown, e.decision_function(NEW + 1024.0), atol=1e-6)


SEPARABLE = np.array([[2.0, 0], [3, 1], [-2, 0], [-3, -1], [2.5, 2], [-2.5, -2]])
LABELS = np.array([1, 1, 0, 0, 1, 0])


WITH_COST = [i for i in mo.estimators().values() if {"lam", "C"} & set(i.make().get_params()) and is_classifier(i.make())]


@pytest.mark.parametrize(
    ("info", "cost"),
    part(product(WITH_COST, [1e-4, 1e-8, 1e-12]), 1, kind=lambda cell: cell[0].name),
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_a_tiny_cost_classifies_or_says_so(info: Any, cost: float) -> None:
    e = info.make()
    e.set_params(**{"lam" if "lam" in e.get_params() else "C": cost})
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        e.fit(SEPARABLE, LABELS)
    assert e.score(SEPARABLE, LABELS) == 1.0 or any(issubclass(note.category, ConvergenceWarning) for note in notes)


@pytest.mark.parametrize("lam", [1e-8, 1e-12])
def test_auto_passes_on_what_its_first_solver_leaves(lam: float) -> None:
    e = mo.estimators.HingeSVC(lam=lam).fit(SEPARABLE, LABELS)
    assert e.result_.solved
    assert e.score(SEPARABLE, LABELS) == 1.0


def test_one_class_for_all_is_said() -> None:
    labels = np.r_[np.zeros(16, int), np.ones(8, int)]
    with pytest.warns(ConvergenceWarning):
        assert set(mo.estimators.NCHSVC(C=1e-9).fit(BASE, labels).predict(BASE)) == {0}
    with pytest.warns(ConvergenceWarning):
        fitted = mo.estimators.ConicSVC(lam=1e-6).fit(BASE, labels)
    assert fitted.result_.objective == pytest.approx(fitted.problem_.value_at_zero, rel=1e-3)


@pytest.mark.parametrize(
    "info", [i for i in mo.estimators().values() if "class_weight" in i.make().get_params()], ids=lambda i: i.name
)
def test_a_class_weight_of_no_class_is_an_error(info: Any) -> None:
    with pytest.raises(InputError, check=about("class_weight")):
        info.make().set_params(class_weight={0: 2.0, "b": 3.0}).fit(BASE, Y)


@pytest.mark.parametrize("size", [1e8, 1e100, 1e160])
@pytest.mark.parametrize("estimator", [mo.estimators.NCHSVC, mo.estimators.L2SVC])
@pytest.mark.parametrize("kernel", ["poly", "linear"])
def test_huge_features_have_an_answer_or_our_error(estimator: Any, kernel: str, size: float) -> None:
    X, y = np.array([[1.0, size], [2.0, size]]), np.array([0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            f = estimator(kernel=kernel, standardise=False).fit(X, y).decision_function(X)
        except (InputError, SolverError):
            return
    assert np.isfinite(f).all()
