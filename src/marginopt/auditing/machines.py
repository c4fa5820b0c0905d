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
of our own optimum; for ``LinearSVC``, which stores none, of a_i = c_i (hinge: 1 where the margin is short) made best along its
ray and then improved by coordinate ascent. It is a bound only where the kernel matrix is positive semidefinite, which is known of
linear, RBF and polynomial kernels; of others it is said that it rests on it. The value is rounded up, the bound down, kernel
entries counted with their own error, and multipliers satisfy their equation exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..models.arrays import FloatArray, IntArray, as_vector
from ..models.kernels.gram import GramOperator, KernelGram, MatrixGram
from ..models.kernels.kernels import RBF, Kernel, Linear, Polynomial
from ..models.rounding import UNIT, Rounded, dot, transposed_product
from .l1 import audit_l1
from .logistic import audit_logistic
from .regressions import audit_linear_svr, audit_svr
from .stochastic import audit_stochastic
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

__all__ = ["audit"]

#: What a bound rests on where no theorem says it.
_ASSUMED = "the kernel matrix is positive semidefinite"
#: Rows up to which a kernel matrix is formed.
_MOST_ROWS = 20_000


def audit(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Audit | AuditTable:
    """The true gap of a fitted machine of scikit-learn, on the data that it was fitted on.

    Parameters
    ----------
    estimator : object
        A fitted SVC, LinearSVC, NuSVC, OneClassSVM, SVR, LinearSVR, SGDClassifier or LogisticRegression;
        a pipeline that ends in one, which sees X as its
        earlier steps make it; a
        search (GridSearchCV), of which the refitted best estimator is meant; OneVsRestClassifier or OneVsOneClassifier.
    X : array (n, p)
        The kernel matrix where the kernel is precomputed.
    y : array (n,), optional
        Labels, or numbers for the regressions; not for ``OneClassSVM``.
    sample_weight : array (n,), optional
        As in ``fit``; not for NuSVC and OneClassSVM.

    Returns
    -------
    Audit or AuditTable
        The table where there are several machines: one for each pair of classes (SVC), or for each
        class (LinearSVC, SGDClassifier).

    Raises
    ------
    InputError
        Not one of these machines, not fitted, other data, or weights or several classes where they are not supported.
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError) as error:
        raise InputError(f"audit needs a fitted machine of scikit-learn: {error}") from error
    machine, X = _last_step(estimator, X)
    kind = type(machine).__name__
    if kind in ("OneVsRestClassifier", "OneVsOneClassifier"):
        if sample_weight is not None:
            raise InputError(f"audit of {kind} knows no sample_weight")
        return wrapped(machine, y, lambda part, rows, labels: _audited(part, X[rows], labels, None))
    found = _audited(machine, X, y, sample_weight)
    return found.advised(_advice(machine))


def _advice(machine: Any) -> str:
    """Return the parameter that ended the fit before its tolerance did; empty where none is known to have."""
    iteration_limit, steps = vars(machine).get("max_iter", -1), vars(machine).get("n_iter_")
    if steps is None or iteration_limit is None or iteration_limit < 0 or int(np.max(steps)) < iteration_limit:
        return ""
    return f"the fit stopped at max_iter={iteration_limit}: fit with a larger max_iter"


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
        raise InputError(f"the machine was fitted on {columns} columns; X has {data.shape[1]}")
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
        raise InputError(f"the machine was fitted on more than the {counted.size} rows of X that count")
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
        raise InputError("the machine stores no multipliers from which its margin ρ follows")
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
    short = np.maximum(1.0 - margins, 0.0)
    a = _ascent(A, c, 2.0 * c * short if squared else np.where(short > 0, c, 0.0), squared)
    bound = dual_value(a, squared_norm(*transposed_product(A, a)))
    if squared:
        quarter = np.divide(a, 4.0 * c, out=np.zeros_like(a), where=c > 0)
        bound = bound - dot(a, quarter, UNIT * np.abs(quarter))
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


def _ascent(A: FloatArray, c: FloatArray, a: FloatArray, squared: bool) -> FloatArray:
    """Dual coordinate ascent of the linear machine (Hsieh et al. 2008): every feasible point is a bound."""
    top = np.full(c.size, np.inf) if squared else c
    diagonal = np.divide(0.5, c, out=np.full(c.size, np.inf), where=c > 0) if squared else np.zeros(c.size)
    a = np.where(c > 0, np.clip(a, 0.0, top), 0.0)
    curvature = np.einsum("ij,ij->i", A, A) + diagonal
    w = A.T @ a
    for _ in range(200 + 400_000 // c.size):
        largest = 0.0
        for i in np.flatnonzero((c > 0) & (curvature > 0)):
            slope = 1.0 - float(A[i] @ w) - (diagonal[i] * a[i] if squared else 0.0)
            new = min(max(a[i] + slope / curvature[i], 0.0), top[i])
            step = new - a[i]
            if step:
                w += step * A[i]
                a[i] = new
                largest = max(largest, abs(step) * curvature[i])
        if largest <= 1e-12:
            break
    return a
