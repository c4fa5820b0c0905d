r"""``audit``: how far a fitted scikit-learn machine is from the optimum of the problem that it says it solves.

Which problem that is, exactly (c_i is C times the class's weight times the sample's):

``SVC``
    min ½||w||² + Σ c_i max(0, 1 - y_i f(x_i)), f = w'φ(x) + b; the intercept b is free.
``NuSVC``
    min ½||w||² - ν n ρ + Σ max(0, ρ - y_i f(x_i)); what is stored is divided by ρ. Without weights.
``OneClassSVM``
    min ½||w||² - ν n ρ + Σ max(0, ρ - w'φ(x_i)); ``offset_`` is ρ. Without weights.
``LinearSVC``
    min ½(||w||² + (b/s)²) + Σ c_i max(0, 1 - y_i f(x_i))^k with s = ``intercept_scaling`` and k = 1 (``hinge``) or 2
    (``squared_hinge``, the default): the intercept is *penalised*, and without ``fit_intercept`` there is none.
    ``penalty="l1"``: ||w||_1 + |b/s| in place of the squares.
``SVR``
    min ½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+; the intercept is free.
``LinearSVR``
    min ½(||w||² + (b/s)²) + Σ c_i (|y_i - f(x_i)| - ε)_+^k, k = 1 (``epsilon_insensitive``) or 2.
``SGDClassifier``
    min ½||w||² + Σ c_i ℓ(y_i f(x_i)), which is its objective divided by α: c_i is the weight of class and sample over α n; ℓ the
    hinge, its square or the logistic loss, the squared norm, a free intercept.
``LogisticRegression``
    min ½||w||² + Σ c_i log(1 + exp(-y_i f(x_i))), two classes, the squared norm alone; the intercept is free, but for
    ``liblinear``, which penalises it as ``LinearSVC`` does.

The primal value is that of the stored w and b. The bound is a dual value: of the stored multipliers where there are some, clipped
to their box and shrunk until the equation holds; for ``LogisticRegression`` of c_i times the probability of the other label, or
of our own optimum; for ``LinearSVC`` and ``SGDClassifier``, which store none, of our own optimum. It is a bound only where the
kernel matrix is positive semidefinite, which is known of linear, RBF and polynomial kernels; of others it is said that it rests
on it. The value is rounded up, the bound down, kernel entries counted with their own error, and multipliers satisfy their
equation exactly.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray, as_vector
from ..models.kernels.gram import GramOperator, KernelGram, MatrixGram
from ..models.kernels.kernels import RBF, Kernel, Linear, Polynomial
from ..models.rounding import UNIT, Rounded, transposed_product
from .foreign import as_array, machine_of_file, translated
from .losses import audit_l1, audit_linear_svr, audit_logistic, audit_stochastic, audit_svr, solved_bound
from .values import (
    Audit,
    AuditTable,
    audited,
    class_against_rest,
    dual_value,
    feasible,
    hinge_cost,
    mended,
    norm,
    pairs_of_classes,
    scores,
    squared_norm,
    weights_of_classes,
    wrapped,
)

#: What a bound rests on where no theorem says it.
_ASSUMED = "the kernel matrix is positive semidefinite"
#: Rows up to which a kernel matrix is formed.
_MOST_ROWS = 20_000
#: The gap that a larger iteration limit is sought for, the seconds of that search, and the largest factor.
_ENOUGH, _SECONDS, _FACTOR = 1e-4, 3.0, 1024


def audit(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, C: float | None = None, epsilon: float | None = None,
    nu: float | None = None,
) -> Audit | AuditTable:  # fmt: skip
    """The true gap of a fitted machine, on the data that it was fitted on.

    Parameters
    ----------
    estimator : object, str, Path, mapping or list
        A fitted SVC, LinearSVC, NuSVC, OneClassSVM, SVR, LinearSVR, SGDClassifier or LogisticRegression of scikit-learn; a
        pipeline that ends in one, which sees X as its earlier steps make it; a search (GridSearchCV), of which the refitted best
        estimator is meant; OneVsRestClassifier or OneVsOneClassifier; the kernel machines of sklearnex, cuML and ThunderSVM, and
        Snap ML's linear one; the path of a model file of LIBSVM or LIBLINEAR; several of these, by name or in a list.
    X : array (n, p)
        The kernel matrix where the kernel is precomputed.
    y : array (n,), optional
        Labels, or numbers for the regressions; not for ``OneClassSVM``.
    sample_weight : array (n,), optional
        As in ``fit``; not for NuSVC and OneClassSVM.
    C, epsilon, nu : float, optional
        What a model file does not hold: ``-c`` and, for regressions and NuSVC, ``-p`` and ``-n`` of the training program.

    Returns
    -------
    Audit or AuditTable
        The table where there are several machines: those given, one for each pair of classes (SVC), or for each
        class (LinearSVC, SGDClassifier). Where the fit stopped at ``max_iter``, ``advice`` says which limit would reach a gap of
        1e-4: an estimate, by fitting again with doubled limits for about three seconds.

    Raises
    ------
    InputError
        Not one of these machines, not fitted, other data, or weights or several classes where they are not supported.
    """
    training = {"C": C, "epsilon": epsilon, "nu": nu}
    if isinstance(estimator, (Mapping, list, tuple)):
        return _of_many(estimator, lambda machine: audit(machine, X, y, sample_weight, C=C, epsilon=epsilon, nu=nu))
    if isinstance(estimator, (str, Path)):
        rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        return _audited(machine_of_file(estimator, rows, y, training), X, y, sample_weight)
    if any(value is not None for value in training.values()):
        raise InputError("C, epsilon and nu are for model files: a fitted machine holds its own", name="C")
    machine, X = _last_step(_fitted(estimator), X)
    kind = type(machine).__name__
    if kind in ("OneVsRestClassifier", "OneVsOneClassifier"):
        if sample_weight is not None:
            raise InputError(f"audit of {kind} knows no sample_weight", name="sample_weight")
        return wrapped(machine, y, lambda part, rows, labels: _advised(part, X[rows], labels, None))
    return _advised(machine, X, y, sample_weight)


def _fitted(estimator: Any) -> Any:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError) as error:
        raise InputError(f"audit needs a fitted machine: {error}") from error
    return estimator


def _of_many(machines: Any, audit_of: Callable[[Any], Audit | AuditTable]) -> AuditTable:
    """Return a table with a row for each machine, or for each part of one."""
    if not isinstance(machines, Mapping):
        machines = {f"{type(machine).__name__} {k}": machine for k, machine in enumerate(machines, 1)}
    if not machines:
        raise InputError("audit needs one machine at least")
    audits: dict[str, Audit] = {}
    for name, machine in machines.items():
        result = audit_of(machine)
        audits |= (
            {str(name): result} if isinstance(result, Audit) else {f"{name}: {part}": a for part, a in result.audits.items()}
        )
    return AuditTable("audit", audits)


def _advised(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return the audit, with the limit that would have sufficed where the fit stopped at one."""
    machine = translated(estimator, X, y)
    begin = time.perf_counter()
    found = _audited(machine, X, y, sample_weight)
    most, steps = vars(estimator).get("max_iter", -1), vars(estimator).get("n_iter_")
    if steps is None or not isinstance(most, int) or most < 1 or int(np.max(as_array(steps))) < most:
        return found
    if machine is not estimator:
        return found.advised(f"the fit stopped at max_iter={most:,}: fit with a larger max_iter")
    return found.advised(_larger_limit(estimator, X, y, sample_weight, found.gap, time.perf_counter() - begin))


def _larger_limit(machine: Any, X: Any, y: Any, sample_weight: Any, gap: float, seconds: float) -> str:
    """Return which limit reaches a gap of `_ENOUGH`, by fitting again with doubled limits while `_SECONDS` allow it."""
    from sklearn.base import clone

    most, weights = machine.max_iter, {} if sample_weight is None else {"sample_weight": sample_weight}
    limit, end = most, time.perf_counter() + _SECONDS
    while gap > _ENOUGH and limit < _FACTOR * most and time.perf_counter() + 2.0 * seconds < end:
        begin, limit = time.perf_counter(), 2 * limit
        again = clone(machine).set_params(max_iter=limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gap = _audited(again.fit(X, y, **weights), X, y, sample_weight).gap
        seconds = time.perf_counter() - begin
    if limit == most:
        return f"the fit stopped at max_iter={most:,}: fit with a larger max_iter"
    verb = "would reach" if gap <= _ENOUGH else "would leave"
    return f"max_iter={most:,} is too small: {limit:,} {verb} a gap of {gap:.0e} (an estimate: fitted again with doubled limits)"


def _last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the machine at the end of searches and pipelines, and the data as it sees them."""
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import Pipeline

    while True:
        if isinstance(estimator, BaseSearchCV):
            if not vars(estimator).get("refit", True):
                raise InputError("audit needs a search with refit=True: without it no machine is fitted on all the data")
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        else:
            return estimator, X


def _audited(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return the audit of one machine, or the table of a machine of several classes."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM

    kinds = {
        SVC: _svc, NuSVC: _nu_svc, OneClassSVM: _one_class, LinearSVC: _linear, LogisticRegression: _logistic, SVR: _svr,
        LinearSVR: _linear_svr, SGDClassifier: _stochastic,
    }  # fmt: skip
    if type(estimator) not in kinds:
        type_name = type(estimator).__name__
        known = f"{', '.join(kind.__name__ for kind in kinds)}, alone, in pipelines, searches and wrappers"
        raise InputError(f"audit knows {known}; it was given {type_name}")
    data = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    if data.ndim != 2 or not np.isfinite(data).all() or data.shape[0] > _MOST_ROWS:
        raise InputError(f"X must be a finite matrix of at most {_MOST_ROWS:,} rows; its shape is {data.shape}", name="X")
    columns = vars(estimator).get("n_features_in_", data.shape[1])  # with a callable kernel scikit-learn counts none
    if data.shape[1] != columns:
        raise InputError(f"the machine was fitted on {columns} columns; X has {data.shape[1]}", name="X")
    n = data.shape[0]
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(f"sample_weight must hold {n} numbers ≥ 0", name="sample_weight")
    one_against_rest = {LinearSVC: class_against_rest, SGDClassifier: class_against_rest}
    several = {SVC: pairs_of_classes, **one_against_rest}.get(type(estimator))
    if several is not None and len(estimator.classes_) > 2:
        if np.shape(y) != (n,):
            raise InputError(f"y must hold a label for each of the {n} rows of X", name="y")
        audit_of = kinds[type(estimator)]
        parts = list(several(estimator, y, weights))
        return AuditTable(
            type(estimator).__name__,
            {part.name: audit_of(part.stored, _rows_of(estimator, data, part.rows), part.signs, part.weights) for part in parts},
        )
    if isinstance(estimator, SVR | LinearSVR):
        return kinds[type(estimator)](estimator, data, as_vector(y, n, "y"), weights)
    signs = np.ones(n) if isinstance(estimator, OneClassSVM) else _signs(estimator, y, n)
    return kinds[type(estimator)](estimator, data, signs, weights)


def _rows_of(estimator: Any, X: FloatArray, rows: IntArray) -> FloatArray:
    """Return the rows, and of a kernel matrix the columns too."""
    return X[np.ix_(rows, rows)] if vars(estimator).get("kernel") == "precomputed" else X[rows]


def _signs(estimator: Any, y: Any, n: int) -> FloatArray:
    labels = np.asarray(y)
    if len(estimator.classes_) != 2:
        raise InputError(f"audit needs two classes; the machine has {len(estimator.classes_)}: fit one for each pair")
    if labels.shape != (n,) or not np.isin(labels, estimator.classes_).all():
        raise InputError(f"y must hold one of {estimator.classes_.tolist()} for each of the {n} rows of X", name="y")
    return np.where(labels == estimator.classes_[1], 1.0, -1.0)


def _class_weights(estimator: Any, signs: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The weight of each point's class, as ``fit`` computed it.

    ``balanced`` of ``LinearSVC`` counts the samples by their weights, from the version of scikit-learn on whose function takes
    them; LIBSVM's machines count samples.
    """
    labels = estimator.classes_[(signs > 0).astype(int)]
    by_class = weights_of_classes(estimator, labels, weights)
    return by_class[(signs > 0).astype(int)]


def _kernel(estimator: Any, X: FloatArray) -> tuple[GramOperator, str]:
    """The kernel matrix of the training data, with its errors, and what its semidefiniteness rests on."""
    from sklearn.metrics.pairwise import pairwise_kernels

    name = estimator.kernel
    if callable(name):
        return MatrixGram(np.asarray(name(X, X), dtype=np.float64)), _ASSUMED
    if name == "precomputed":
        return MatrixGram(X), _ASSUMED
    gamma, coef0 = float(estimator._gamma), float(estimator.coef0)
    known: dict[str, Callable[[], Kernel]] = {"linear": Linear}
    if gamma > 0.0:
        known["rbf"] = lambda: RBF(gamma)
    if gamma > 0.0 and coef0 >= 0.0 and int(estimator.degree) == estimator.degree >= 1:
        known["poly"] = lambda: Polynomial(int(estimator.degree), gamma, coef0)
    if name in known:
        return KernelGram(X, known[name]()), ""
    shape = {"poly": {"degree": estimator.degree}}.get(name, {})
    more = {} if name == "rbf" else {"coef0": coef0}
    return MatrixGram(pairwise_kernels(X, metric=name, gamma=gamma, **more, **shape)), _ASSUMED


def _multipliers(estimator: Any, n: int, weights: FloatArray | None = None) -> FloatArray:
    """y_i a_i of every training point, as stored.

    LIBSVM leaves points of weight 0 out before it counts, and scikit-learn keeps its numbers. Where support vectors are stored
    beside them these are the machine's; for a kernel matrix the numbers are, with which it predicts.
    """
    counted = np.arange(n)
    if weights is not None and estimator.support_vectors_.shape[0]:
        counted = np.flatnonzero(weights > 0.0)
    if estimator.support_.max(initial=-1) >= counted.size:
        raise InputError(f"the machine was fitted on more than the {counted.size} rows of X that count", name="X")
    multipliers = np.zeros(n)
    multipliers[counted[estimator.support_]] = np.ravel(estimator.dual_coef_)
    if not np.isfinite(multipliers).all():
        raise InputError("the machine stores multipliers that are not finite")
    return multipliers


def _number(stored: Any) -> float:
    """An intercept or an offset."""
    value = float(np.ravel(stored)[0])
    if not np.isfinite(value):
        raise InputError(f"the machine stores {value}, where its intercept is")
    return value


def _bound(a: FloatArray | None, signs: FloatArray, gram: GramOperator, linear: bool) -> Rounded:
    """Σ a - ½ (ya)'K(ya) or, without the sum, of NuSVC and OneClassSVM; -∞ where no multipliers are feasible."""
    if a is None:
        return Rounded(-np.inf)
    curvature = norm(gram, signs * a)
    return dual_value(a, curvature) if linear else curvature.times(-0.5)


def _svc(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    gram, condition = _kernel(estimator, X)
    top = estimator.C * _class_weights(estimator, signs) * weights
    stored, b = _multipliers(estimator, X.shape[0], weights), _number(estimator.intercept_)
    f, error = scores(gram, stored, b)
    value = norm(gram, stored).times(0.5) + hinge_cost(top, 1.0, signs * f, error)
    near, outside = mended(signs * stored, signs, top, None)
    bound = _bound(feasible(near, signs, top, None), signs, gram, linear=True)
    return audited("SVC", "½||w||² + Σ c_i max(0, 1 - y_i f(x_i)), free intercept", value, bound, condition, outside)


def _nu_svc(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    if estimator.class_weight is not None or (weights != 1.0).any():
        raise InputError("audit of NuSVC knows no weights: LIBSVM solves another problem with them than the one it states")
    n = X.shape[0]
    gram, condition = _kernel(estimator, X)
    stored, b = _multipliers(estimator, n), _number(estimator.intercept_)
    total = estimator.nu * n
    size = float(np.abs(stored).sum())
    rho = total / size if size > 0.0 else np.inf  # what is stored is a/ρ, and Σa = νn
    if not np.isfinite(rho) or not np.isfinite(rho * b):
        raise InputError("the machine stores no multipliers from which its margin ρ follows", name="machine")
    coefficients = rho * stored
    f, error = scores(gram, coefficients, rho * b)
    value = norm(gram, coefficients).times(0.5) + Rounded(rho).times(-total) + hinge_cost(np.ones(n), rho, signs * f, error)
    near, outside = mended(signs * coefficients, signs, np.ones(n), total)
    bound = _bound(feasible(near, signs, np.ones(n), total), signs, gram, linear=False)
    return audited("NuSVC", "½||w||² - ν n ρ + Σ max(0, ρ - y_i f(x_i)), free intercept", value, bound, condition, outside)


def _one_class(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    if (weights != 1.0).any():
        raise InputError("audit of OneClassSVM knows no weights: LIBSVM solves another problem with them than the one it states")
    n = X.shape[0]
    gram, condition = _kernel(estimator, X)
    stored, rho = _multipliers(estimator, n), _number(estimator.offset_)
    total = estimator.nu * n
    f, error = scores(gram, stored, 0.0)
    value = norm(gram, stored).times(0.5) + Rounded(rho).times(-total) + hinge_cost(np.ones(n), rho, f, error)
    near, outside = mended(stored, signs, np.ones(n), total)
    bound = _bound(feasible(near, signs, np.ones(n), total), signs, gram, linear=False)
    return audited("OneClassSVM", "½||w||² - ν n ρ + Σ max(0, ρ - w'φ(x_i))", value, bound, condition, outside)


def _linear(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    squared, s = estimator.loss == "squared_hinge", float(estimator.intercept_scaling)
    c = estimator.C * _class_weights(estimator, signs, weights) * weights
    w = np.ravel(estimator.coef_).astype(np.float64)
    if not np.isfinite(w).all():
        raise InputError("the machine stores numbers that are not finite")
    if estimator.fit_intercept:
        X = np.column_stack([X, np.full(X.shape[0], s)])
        w = np.append(w, _number(estimator.intercept_) / s)  # rounded: a machine beside the stored one
    A = signs[:, None] * X
    if estimator.penalty == "l1":
        return audit_l1(A, c, w, s if estimator.fit_intercept else None)
    margins, error = transposed_product(np.ascontiguousarray(A.T), w)
    error = error + UNIT * np.abs(A[:, -1] * w[-1])
    value = (squared_norm(w, UNIT * np.abs(w))).times(0.5) + hinge_cost(c, 1.0, margins, error, squared)
    counted = c > 0.0
    bound = solved_bound(X[counted], signs[counted], c[counted], squared, intercept=False) if counted.any() else Rounded(0.0)
    power = "²" if squared else ""
    intercept = f", the intercept penalised at scale {s:g}" if estimator.fit_intercept else ", no intercept"
    return audited("LinearSVC", f"½||w||² + Σ c_i max(0, 1 - y_i f(x_i)){power}{intercept}", value, bound)


def _logistic(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    return audit_logistic(estimator, X, signs, estimator.C * _class_weights(estimator, signs, weights) * weights)


def _svr(estimator: Any, X: FloatArray, y: FloatArray, weights: FloatArray) -> Audit:
    gram, condition = _kernel(estimator, X)
    beta = _multipliers(estimator, X.shape[0], weights)
    return audit_svr(gram, beta, _number(estimator.intercept_), y, estimator.C * weights, float(estimator.epsilon), condition)


def _linear_svr(estimator: Any, X: FloatArray, y: FloatArray, weights: FloatArray) -> Audit:
    s = float(estimator.intercept_scaling) if estimator.fit_intercept else None
    w = np.ravel(estimator.coef_).astype(np.float64)
    if s is not None:
        X, w = np.column_stack([X, np.full(X.shape[0], s)]), np.append(w, _number(estimator.intercept_) / s)
    if not np.isfinite(w).all():
        raise InputError("the machine stores numbers that are not finite")
    squared = estimator.loss == "squared_epsilon_insensitive"
    return audit_linear_svr(X, y, w, estimator.C * weights, float(estimator.epsilon), squared, s)


def _stochastic(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    return audit_stochastic(estimator, X, signs, _class_weights(estimator, signs) * weights / (estimator.alpha * X.shape[0]))
