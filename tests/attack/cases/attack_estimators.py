"""Estimators on data as people have them, moved and scaled, beside scikit-learn and beside themselves.

Data are on a grid, so that moving them by 1e8 rounds nothing: normal, binary, heavy-tailed, repeated and constant columns, equal
points, classes of unequal size. An answer that comes without a warning

- moves with the data, where its problem does not see the origin;
- has an objective not above that of scikit-learn's classifier of the same problem;
- is no classifier that contradicts most of the points that it was trained on, nor one class for all of them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from families import tried
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import marginopt as mo
from marginopt.errors import InputError

#: Relative difference that the tolerances of two fits leave, and of objectives.
_ALIKE, _ABOVE = 5e-3, 1e-3


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points on the grid of 1/256 and labels 0, 1, both present twice or more."""
    n, p = int(rng.integers(8, 40)), int(rng.integers(1, 5))
    y = (rng.random(n) < rng.choice([0.5, 0.2])).astype(int)
    y[:4] = [0, 1, 0, 1]
    columns = []
    for _ in range(p):
        signal = rng.normal(size=n) + rng.choice([0.0, 1.0, 4.0]) * y
        kind = rng.integers(0, 4)
        columns.append([signal, (signal > 0.5).astype(float), np.sinh(np.clip(2.0 * signal, -9, 9)), np.full(n, 3.0)][kind])
    columns[0] = rng.normal(size=n) + 1.5 * y
    X = np.round(256 * np.column_stack(columns)) / 256
    if rng.random() < 0.5:
        X[5] = X[4]
    return X, y


def _fitted(estimator: Any, X: np.ndarray, y: np.ndarray) -> bool:
    """Fit, and return whether no warning came."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    return not any(issubclass(note.category, ConvergenceWarning) for note in notes)


def _estimator(rng: np.random.Generator, cost: float) -> Any:
    """Return an estimator whose problem has no origin: standardised, or hulls and balls."""
    pick, raw = int(rng.integers(0, 8)), bool(rng.random() < 0.5)
    return [
        lambda: mo.estimators.NCHSVC(cost, "linear", standardise=not raw, tol=1e-9),
        lambda: mo.estimators.MEBOneClass("linear", standardise=not raw, contamination=0.0, tol=1e-9),
        lambda: mo.estimators.NCHSVC(cost, standardise=not raw, tol=1e-9),
        lambda: mo.estimators.L2SVC(cost, standardise=not raw, tol=1e-9),
        lambda: mo.estimators.L2SVC(cost, "linear", tol=1e-9),
        lambda: mo.estimators.L2SVC(cost, "poly", coef0=1.0, tol=1e-9),
        lambda: mo.estimators.HingeSVC(cost, tol=1e-9),
        lambda: mo.estimators.MarginClassifier("squared-hinge", lam=cost, tol=1e-9),
    ][pick]()


def moved(rng: np.random.Generator) -> str:
    """The same points elsewhere, by up to 1e8, and in another unit."""
    X, y = drawn(rng)
    estimator = _estimator(rng, float(10.0 ** rng.integers(-1, 3)))
    offset = np.round(rng.choice([1.0, 1e4, 1e8], size=X.shape[1]) * rng.normal(size=X.shape[1]))
    if not _fitted(estimator, X, y):
        return ""
    near = estimator.decision_function(X)
    if not _fitted(estimator, X + offset, y):
        return ""
    far = estimator.decision_function(X + offset)
    worst = float(np.abs(far - near).max()) / max(float(np.abs(near).max()), 1e-9)
    name = f"{type(estimator).__name__} {getattr(estimator, 'kernel', '')}"
    return f"{name} moved by {offset.tolist()}: scores differ by {worst:.1e}" if worst > _ALIKE else ""


def beside_scikit_learn(rng: np.random.Generator) -> str:
    """Hinge and squared hinge with a penalised intercept, unscaled, beside LIBLINEAR."""
    X, y = drawn(rng)
    X = X * 2.0 ** rng.integers(-8, 12)
    C, square, signs = float(10.0 ** rng.integers(-6, 4)), bool(rng.random() < 0.5), 2.0 * y - 1.0
    if square:
        estimator: Any = mo.estimators.L2SVC(2.0 * C, "linear", standardise=False, tol=1e-6)
    else:
        estimator = mo.estimators.HingeSVC(2.0 * C, standardise=False, tol=1e-6)
    if not _fitted(estimator, X, y):
        return ""
    theirs = LinearSVC(loss="squared_hinge" if square else "hinge", C=C, dual=True, tol=1e-8, max_iter=20_000).fit(X, y)

    def objective(w: np.ndarray, b: float) -> float:
        short = np.maximum(1.0 - signs * (X @ w + b), 0.0)
        return 0.5 * float(w @ w + b * b) + C * float((short**2 if square else short).sum())

    w = estimator.dual_coef_[0] @ X[estimator.support_] if square else estimator.coef_[0]
    ours, best = objective(w, float(estimator.intercept_[0])), objective(theirs.coef_[0], float(theirs.intercept_[0]))
    if square:  # the dual is what is solved to the tolerance; its w is within its root
        return f"L2SVC: objective {ours:.9g}, scikit-learn {best:.9g}" if ours > best * (1.0 + 30 * _ABOVE) else ""
    return f"HingeSVC: objective {ours:.9g}, scikit-learn {best:.9g}" if ours > best * (1.0 + _ABOVE) else ""


def told(rng: np.random.Generator) -> str:
    """Costs from 1e-12 to 1e6 on unscaled points: a classifier that is noise, reversed or one class comes with a warning."""
    X, y = drawn(rng)
    X = X * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 100.0])
    cost, standardise = float(10.0 ** rng.integers(-12, 7)), bool(rng.random() < 0.5)
    estimator: Any = [
        lambda: mo.estimators.HingeSVC(cost, standardise=standardise),
        lambda: mo.estimators.ConicSVC(cost, standardise=standardise, tol=1e-4),
        lambda: mo.estimators.MarginClassifier("squared-hinge", lam=cost, standardise=standardise),
        lambda: mo.estimators.MulticlassSVC(lam=cost, standardise=standardise),
        lambda: mo.estimators.NCHSVC(cost, "linear", standardise=standardise),
        lambda: mo.estimators.L2SVC(cost, standardise=standardise),
    ][int(rng.integers(0, 6))]()
    if not _fitted(estimator, X, y):
        return ""
    labels = estimator.predict(X)
    right, name = float((labels == y).mean()), f"{type(estimator).__name__} at {cost:g}"
    if (labels == labels[0]).all():
        return f"{name}: one class for all, without a word"
    return f"{name}: {right:.0%} of the training points are right, without a word" if right < 0.3 else ""


def strangers(rng: np.random.Generator) -> str:
    """Weights of a class that is not there."""
    X, y = drawn(rng)
    able = [info for info in mo.estimators().values() if "class_weight" in info.make().get_params()]
    info = able[int(rng.integers(0, len(able)))]
    key: Any = [2, "1", -1, 0.5][int(rng.integers(0, 4))]
    try:
        info.make().set_params(class_weight={0: 1.0, key: 2.0}).fit(X, y)
    except InputError:
        return ""
    return f"{info.name}: class_weight of {key!r} is passed over"


FAMILIES = (moved, told, beside_scikit_learn, moved, told, strangers)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 23, number)
