r"""`audit`: the gap between the objective of a fitted *machine* and a proved bound of its problem's optimum.

A machine is a linear or kernel SVM, an ``SGDClassifier`` or a ``LogisticRegression`` of scikit-learn, or one of another package
or a model file of LIBSVM or LIBLINEAR that can be read as such. Its problem is the one in scikit-learn's documentation (c_i is C
times the class's weight times the sample's, φ the kernel's feature map, f the score, b the intercept, which is left out without
``fit_intercept``):

``SVC``
    min ½||w||² + Σ c_i max(0, 1 - y_i f(x_i)), f = w'φ(x) + b; the intercept b is free.
``NuSVC``
    min ½||w||² - ν n ρ + Σ max(0, ρ - y_i f(x_i)); the machine stores w/ρ and b/ρ. Without weights.
``OneClassSVM``
    min ½||w||² - ν n ρ + Σ max(0, ρ - w'φ(x_i)); ``offset_`` is ρ. Without weights.
``LinearSVC``
    min ½(||w||² + (b/s)²) + Σ c_i max(0, 1 - y_i f(x_i))^k with s = ``intercept_scaling`` and k = 1 (``hinge``) or 2
    (``squared_hinge``, the default): the intercept is *penalised*.
    ``penalty="l1"``: ||w||_1 + |b/s| in place of the squares.
``LinearSVC(multi_class="crammer_singer")``
    min ½ Σ_k (||w_k||² + (b_k/s)²) + Σ c_i max_k (1{k ≠ y_i} + f_k(x_i) - f_{y_i}(x_i)). Of two classes scikit-learn stores the
    difference of both, and an optimum has w_1 = -w_2.
``NuSVR``
    min ½||w||² + C ν n ε + C Σ (|y_i - f(x_i)| - ε)_+ over ε ≥ 0 too; the intercept is free. Without weights.
``SVR``
    min ½||w||² + Σ c_i (|y_i - f(x_i)| - ε)_+; the intercept is free.
``LinearSVR``
    min ½(||w||² + (b/s)²) + Σ c_i (|y_i - f(x_i)| - ε)_+^k, k = 1 (``epsilon_insensitive``) or 2.
``SGDClassifier``
    min ½||w||² + Σ c_i ℓ(y_i f(x_i)), which is its objective divided by α: c_i is the weight of class and sample over α n; ℓ the
    hinge, its square or the logistic loss, the squared norm, a free intercept.
``LogisticRegression``
    min ½||w||² + Σ c_i log(1 + exp(-y_i f(x_i))), the squared norm alone; the intercept is free, but for ``liblinear``, which
    penalises it as ``LinearSVC`` does. Of several classes: min ½ Σ_k ||w_k||² + Σ c_i (log Σ_k exp f_k(x_i) - f_{y_i}(x_i)).

The primal value is that of the stored w and b. The bound is a dual value: of the stored multipliers where there are some, clipped
to their box and shrunk until the equation holds; for the logistic loss of c_i times the probability of the other label, or of
multipliers near our own optimum; for ``LinearSVC``, ``LinearSVR`` and ``SGDClassifier`` with a hinge, which store none, of our
own solution. With a kernel it is a bound only where the kernel matrix is positive semidefinite, which is known of linear, RBF and
polynomial kernels (γ > 0, a constant term ≥ 0, a whole degree); for other kernels `Audit.condition` says so. The value is rounded
up, the bound down, kernel entries counted with their own error, and multipliers satisfy their equation exactly.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data_names import is_pandas_or_polars, labelled_arrays
from ..errors import InputError, short_text
from ..models.arrays import FloatArray, IntArray, as_points, as_vector, to_dense
from ..unpickling import load_estimator
from .conversion import as_array, as_sklearn_machine, is_pickle, machine_of_file
from .kernel_machines import audit_nu_svc, audit_nu_svr, audit_one_class, audit_svc, audit_svr
from .linear_machines import audit_crammer_singer, audit_linear_svc, audit_linear_svr, audit_logistic, audit_stochastic
from .softmax import audit_softmax
from .values import Audit, AuditTable, class_codes, class_weights

#: Relative difference of a stored support vector from its row, by single precision.
_STORED = 1e-6
#: Rows that an audit reads at most: kernel matrices are formed.
_MOST_ROWS = 20_000
#: The gap for which a larger iteration limit is searched, the seconds of that search, and the largest factor of the limit.
_ENOUGH, _SECONDS, _FACTOR = 1e-4, 3.0, 1024
#: A larger limit is advised only if the largest one tried leaves at most this share of the gap.
_SMALLER = 0.5


def audit(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, C: float | None = None, epsilon: float | None = None,
    nu: float | None = None,
) -> Audit | AuditTable:  # fmt: skip
    """Return the audit of a fitted machine on the data that it was fitted on: its objective, and a proved bound of the optimum.

    Parameters
    ----------
    estimator : object, str, Path, mapping or list
        A fitted SVC, LinearSVC, NuSVC, OneClassSVM, SVR, NuSVR, LinearSVR, SGDClassifier or LogisticRegression of scikit-learn; a
        pipeline that ends in one, which sees X as its earlier steps make it; a search (GridSearchCV), of which the refitted best
        estimator is meant; OneVsRestClassifier or OneVsOneClassifier; the kernel machines of sklearnex, cuML and ThunderSVM, and
        Snap ML's linear one; the path of a model file of LIBSVM or LIBLINEAR, or of a pickle, as `marginopt.io.load_estimator`
        reads it; several of these, by name or in a list.
    X : array (n, p)
        The training points; the kernel matrix where the kernel is precomputed.
    y : array (n,), optional
        Labels, or numbers for the regressions; not for ``OneClassSVM``.
    sample_weight : array (n,), optional
        As in ``fit``; not for NuSVC, NuSVR, OneClassSVM, OneVsRestClassifier and OneVsOneClassifier.
    C, epsilon, nu : float, optional
        Training options that a model file does not hold: ``-c`` and, for regressions and ν, ``-p`` and ``-n`` of its program.

    Returns
    -------
    Audit or AuditTable
        The table where there are several machines: those given, one for each pair of classes (SVC, NuSVC, OneVsOneClassifier), or
        for each class (LinearSVC, SGDClassifier, OneVsRestClassifier). Where the fit stopped at ``max_iter``, ``advice`` says
        which limit would reach a gap of 1e-4: an estimate, by fitting again with doubled limits for about three seconds.

    Raises
    ------
    InputError
        Not one of these machines, not fitted, other data, or weights or several classes where they are not supported.
    DataError
        A pickle that names anything but classes of scikit-learn and this package, which is not executed.
    """
    training = {"C": C, "epsilon": epsilon, "nu": nu}
    if isinstance(estimator, (Mapping, list, tuple)):
        return _audit_several(estimator, lambda machine: audit(machine, X, y, sample_weight, C=C, epsilon=epsilon, nu=nu))
    if isinstance(estimator, (str, Path)) and is_pickle(estimator):
        estimator = load_estimator(estimator)
    y = _labels_of_rows(y, X)
    if isinstance(estimator, (str, Path)):
        rows = _rows_of_numbers(X)
        return _audit_machine(machine_of_file(estimator, rows, y, training), rows, y, sample_weight)
    if any(value is not None for value in training.values()):
        raise InputError("C, epsilon and nu are for model files: a fitted machine holds its own", name="C")
    machine, X = _last_step(_checked_fitted(estimator), X)
    _check_columns(machine, X)
    kind = type(machine).__name__
    if kind in ("OneVsRestClassifier", "OneVsOneClassifier"):
        if sample_weight is not None:
            raise InputError(f"audit of {kind} knows no sample_weight", name="sample_weight")
        pairwise = vars(machine).get("pairwise_indices_") is not None
        data = _rows_of_numbers(X) if pairwise else X

        def audit_part(part: Any, rows: IntArray, labels: IntArray) -> Audit:
            return _binary_audit(audit(part, data[np.ix_(rows, rows)] if pairwise else _part_rows(part, data, rows), labels))

        return _audit_wrapper(machine, y, audit_part)
    return _audit_with_advice(machine, X, y, sample_weight)


def _labels_of_rows(y: Any, X: Any) -> Any:
    """Return y as an array, which has one entry for each row of X; None stays None."""
    if y is None:
        return None
    n, values = X.shape[0] if hasattr(X, "shape") else len(X), as_array(y)
    if values.shape != (n,):
        raise InputError(f"y must hold one entry for each of the {n} rows of X; its shape is {values.shape}", name="y")
    return values


def _rows_of_numbers(X: Any) -> FloatArray:
    """Return X as a dense matrix of finite numbers."""
    labelled = labelled_arrays(X, None) if is_pandas_or_polars(X, "DataFrame") else None
    data = to_dense(as_points(as_array(X if labelled is None else labelled[0])))
    if data.shape[0] > _MOST_ROWS:
        raise InputError(f"audit reads {_MOST_ROWS:,} rows at most; X has {data.shape[0]:,}", name="X")
    return data


def _part_rows(part: Any, X: Any, rows: IntArray) -> Any:
    """Return the rows of a part of a wrapper, in a data frame if the part was fitted on one: not all wrappers hand it on."""
    if is_pandas_or_polars(X, "DataFrame") and hasattr(part, "feature_names_in_"):
        return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    return (X if sp.issparse(X) else np.asarray(X))[rows]


def _binary_audit(result: Audit | AuditTable) -> Audit:
    """Return the audit of a machine of two classes, which a wrapper of several holds."""
    assert isinstance(result, Audit)
    return result


def _checked_fitted(estimator: Any) -> Any:
    """Return the machine; raise InputError for a class, or an object that holds no attributes of a fit.

    Classes of other packages need not have scikit-learn's tags, which `check_is_fitted` asks for.
    """
    if isinstance(estimator, type):
        fitted = False
    elif hasattr(estimator, "__sklearn_is_fitted__"):
        fitted = estimator.__sklearn_is_fitted__()
    else:
        # exempt (text): scikit-learn's convention for attributes of a fit, of another package's class
        fitted = any(name.endswith("_") and not name.startswith("__") for name in getattr(estimator, "__dict__", ()))
    if not fitted:
        raise InputError(f"audit needs a fitted machine; it was given {short_text(estimator)}", name="estimator")
    return estimator


def _check_columns(machine: Any, X: Any) -> None:
    """Raise InputError for a frame whose columns are not those of fit, in their order."""
    names = vars(machine).get("feature_names_in_")
    if names is None or not is_pandas_or_polars(X, "DataFrame") or list(X.columns) == list(names):
        return
    raise InputError(
        f"the machine was fitted on the columns {', '.join(names)}; X has {', '.join(map(str, X.columns))}", name="X"
    )


def _check_support(machine: Any, X: FloatArray, weights: FloatArray) -> None:
    """Raise InputError for rows that are not those of fit, as far as the machine's support vectors tell."""
    vectors = vars(machine).get("support_vectors_")
    if vectors is None or not vectors.shape[0] or vars(machine).get("kernel") == "precomputed":
        return
    counted = np.flatnonzero(weights > 0.0)
    if machine.support_.max() >= counted.size:
        return  # the multipliers' own check says so
    stored = np.asarray(vectors, dtype=np.float64)
    rows = X[counted[machine.support_]]
    other = np.flatnonzero((np.abs(stored - rows) > _STORED * (np.abs(stored) + np.abs(rows))).any(axis=1))
    if other.size:
        raise InputError(
            f"support vector {other[0]} of the machine is not row {counted[machine.support_[other[0]]]} of X: give the rows that "
            "fit saw, in their order",
            name="X",
        )


def _audit_several(machines: Any, audit_of: Callable[[Any], Audit | AuditTable]) -> AuditTable:
    """Return a table with a row for each machine, or for each part of one."""
    if not isinstance(machines, Mapping):
        machines = {f"{type(machine).__name__} {k}": machine for k, machine in enumerate(machines, 1)}
    if not machines:
        raise InputError("audit needs one machine at least")
    audits: dict[str, Audit] = {}
    for name, machine in machines.items():
        try:
            result = audit_of(machine)
        except InputError as error:
            raise InputError(f"{name}: {error}", name=error.name, allowed=error.allowed) from error
        audits |= (
            {str(name): result} if isinstance(result, Audit) else {f"{name}: {part}": a for part, a in result.audits.items()}
        )
    return AuditTable("audit", audits)


def _audit_with_advice(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return the audit, with the limit that would have sufficed where the fit stopped at one."""
    machine = as_sklearn_machine(estimator, X, y)
    begin = time.perf_counter()
    audited = _audit_machine(machine, X, y, sample_weight)
    max_iter, steps = vars(estimator).get("max_iter", -1), vars(estimator).get("n_iter_")
    if steps is None or not isinstance(max_iter, int) or max_iter < 1 or int(np.max(as_array(steps))) < max_iter:
        return audited
    if audited.gap <= _ENOUGH:
        return audited
    if machine is not estimator:
        return audited.with_advice(f"the fit stopped at max_iter={max_iter:,}: fit with a larger max_iter")
    return audited.with_advice(_larger_limit(estimator, X, y, sample_weight, audited.gap, time.perf_counter() - begin))


def _larger_limit(machine: Any, X: Any, y: Any, sample_weight: Any, gap: float, seconds: float) -> str:
    """Return which limit reaches a gap of `_ENOUGH`, by fitting again with doubled limits while `_SECONDS` allow it."""
    from sklearn.base import clone

    max_iter, weights = machine.max_iter, {} if sample_weight is None else {"sample_weight": sample_weight}
    first_gap = gap
    limit, end = max_iter, time.perf_counter() + _SECONDS
    while gap > _ENOUGH and limit < _FACTOR * max_iter and time.perf_counter() + 2.0 * seconds < end:
        begin, limit = time.perf_counter(), 2 * limit
        retried = clone(machine).set_params(max_iter=limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                retried.fit(X, y, **weights)
            except ValueError:  # of scikit-learn, whose multipliers are not finite
                return f"the fit stopped at max_iter={max_iter:,}, and with {limit:,} it fails: scale the data"
            gap = _audit_machine(retried, X, y, sample_weight).gap
        seconds = time.perf_counter() - begin
    if limit == max_iter:
        return f"the fit stopped at max_iter={max_iter:,}: fit with a larger max_iter"
    verb = "would reach" if gap <= _ENOUGH else "would leave"
    if gap > _ENOUGH and gap > _SMALLER * first_gap:
        return f"the fit stopped at max_iter={max_iter:,}, and {limit:,} {verb} a gap of {gap:.0e}: scale the data"
    return (
        f"max_iter={max_iter:,} is too small: {limit:,} {verb} a gap of {gap:.0e} (an estimate: fitted again with doubled limits)"
    )


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
            try:
                X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            except (TypeError, ValueError) as error:
                raise InputError(f"the steps before the machine cannot transform X: {error}", name="X") from error
            estimator = estimator[-1]
        else:
            return estimator, X


def _audit_machine(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return the audit of one machine, or the table of a machine of several classes."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

    kinds = {
        SVC: audit_svc, NuSVC: audit_nu_svc, OneClassSVM: audit_one_class, LinearSVC: audit_linear_svc,
        LogisticRegression: audit_logistic, SVR: audit_svr, NuSVR: audit_nu_svr, LinearSVR: audit_linear_svr,
        SGDClassifier: audit_stochastic,
    }  # fmt: skip
    if type(estimator) not in kinds:
        type_name = type(estimator).__name__
        supported = f"{', '.join(kind.__name__ for kind in kinds)}, alone, in pipelines, searches, OneVsRest and OneVsOne"
        advice = "; its certificate_ says it already" if "certificate_" in vars(estimator) else ""
        raise InputError(f"audit knows {supported}; it was given {type_name}{advice}", name="estimator")
    estimator, data = _with_dense_attributes(estimator), _rows_of_numbers(X)
    columns = vars(estimator).get("n_features_in_", data.shape[1])  # with a callable kernel scikit-learn counts none
    if data.shape[1] != columns:
        raise InputError(f"the machine was fitted on {columns} columns; X has {data.shape[1]}", name="X")
    n = data.shape[0]
    weights = np.ones(n) if sample_weight is None else as_vector(sample_weight, n, "sample_weight")
    if (weights < 0).any():
        raise InputError(f"sample_weight must be ≥ 0; its least entry is {weights.min():g}", name="sample_weight")
    _check_support(estimator, data, weights)
    if vars(estimator).get("multi_class", "ovr") == "crammer_singer":
        return audit_crammer_singer(estimator, data, y, weights)
    fits_softmax = vars(estimator).get("solver") != "liblinear" and vars(estimator).get("multi_class", "auto") != "ovr"
    if isinstance(estimator, LogisticRegression) and len(estimator.classes_) > 2 and fits_softmax:
        return audit_softmax(estimator, data, y, weights)
    pairs, rests = _pairs_of_classes, _classes_against_rest
    subproblems = {SVC: pairs, NuSVC: pairs, LinearSVC: rests, SGDClassifier: rests}.get(type(estimator))
    if subproblems is not None and len(estimator.classes_) > 2:
        audit_of = kinds[type(estimator)]
        parts = list(subproblems(estimator, y, weights))
        return AuditTable(
            type(estimator).__name__,
            {part.name: audit_of(part.stored, _rows_of(estimator, data, part.rows), part.signs, part.weights) for part in parts},
        )
    if isinstance(estimator, SVR | NuSVR | LinearSVR):
        return kinds[type(estimator)](estimator, data, as_vector(y, n, "y"), weights)
    signs = np.ones(n) if isinstance(estimator, OneClassSVM) else _signs(estimator, y)
    return kinds[type(estimator)](estimator, data, signs, weights)


def _with_dense_attributes(estimator: Any) -> Any:
    """Return the machine without sparse attributes: a fit to sparse rows, and ``sparsify``, leave some."""
    dense = {name: value.toarray() for name, value in vars(estimator).items() if sp.issparse(value)}
    if dense:
        estimator = copy.copy(estimator)
        vars(estimator).update(dense)
    return estimator


def _rows_of(estimator: Any, X: FloatArray, rows: IntArray) -> FloatArray:
    """Return the rows, and of a kernel matrix the columns too."""
    return X[np.ix_(rows, rows)] if vars(estimator).get("kernel") == "precomputed" else X[rows]


def _signs(estimator: Any, y: Any) -> FloatArray:
    if len(estimator.classes_) != 2:
        raise InputError(
            f"audit of {type(estimator).__name__} reads two classes; the machine has {len(estimator.classes_)}: audit "
            "OneVsRestClassifier or OneVsOneClassifier of it; SVC, NuSVC, LinearSVC, SGDClassifier, and LogisticRegression but "
            "by liblinear, may have several",
            name="estimator",
        )
    return np.where(class_codes(estimator, y) == 1, 1.0, -1.0)


#: Parameters that the machines of LIBLINEAR have in common.
_LIBLINEAR = ("C", "penalty", "loss", "intercept_scaling", "fit_intercept")


@dataclass(frozen=True, eq=False)
class _BinaryMachine:
    """One of the binary machines that a classifier of several classes holds.

    Attributes
    ----------
    name : str
        Its two classes: "a, b" for a pair, "a, rest" for a class against all others.
    stored : object
        Its parameters and coefficients as attributes, named as those of a classifier of two classes.
    rows : ndarray of int (m,)
        The rows of X that it was fitted on.
    signs, weights : ndarray (m,)
        Their labels, -1 or +1, and their weights.
    """

    name: str
    stored: Any
    rows: IntArray
    signs: FloatArray
    weights: FloatArray


def _pairs_of_classes(estimator: Any, y: Any, weights: FloatArray) -> Iterator[_BinaryMachine]:
    """Yield the binary machines of an ``SVC`` or ``NuSVC``, which LIBSVM fits for each pair of classes, the first class positive.

    Of classes i < j the support vectors of i have their coefficients in row j - 1 of ``dual_coef_``, those of j in row i.
    """
    from sklearn.svm import SVC

    classes, codes = estimator.classes_, class_codes(estimator, y)
    positive = np.flatnonzero(weights > 0.0) if estimator.support_vectors_.shape[0] else np.arange(codes.size)
    support, coefficients = positive[estimator.support_], np.asarray(estimator.dual_coef_)
    costs = weights * np.asarray(estimator.class_weight_, dtype=np.float64)[codes]
    trade_off = "C" if isinstance(estimator, SVC) else "nu"
    shared = {name: getattr(estimator, name) for name in ("kernel", trade_off, "coef0", "degree")}
    for k, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        rows = np.flatnonzero((codes == i) | (codes == j))
        counted = rows[weights[rows] > 0.0] if estimator.support_vectors_.shape[0] else rows
        inside = np.flatnonzero(np.isin(support, rows))
        pair_coefficients = np.where(codes[support[inside]] == i, coefficients[j - 1, inside], coefficients[i, inside])
        stored = SimpleNamespace(
            **shared, _gamma=estimator._gamma, class_weight=None, classes_=np.array([0, 1]), dual_coef_=pair_coefficients,
            support_=np.searchsorted(counted, support[inside]), support_vectors_=estimator.support_vectors_,
            intercept_=np.ravel(estimator.intercept_)[k],
        )  # fmt: skip
        signs = np.where(codes[rows] == i, 1.0, -1.0)
        yield _BinaryMachine(f"{classes[i]}, {classes[j]}", stored, rows, signs, costs[rows])


def _classes_against_rest(estimator: Any, y: Any, weights: FloatArray) -> Iterator[_BinaryMachine]:
    """Yield the machines of a ``LinearSVC`` or ``SGDClassifier``: each class against the others, without their class weights."""
    classes, codes = estimator.classes_, class_codes(estimator, y)
    stochastic = "alpha" in vars(estimator)  # SGDClassifier counts samples, not their weights
    costs = weights * class_weights(estimator, codes, None if stochastic else weights)
    names = ("alpha", "penalty", "loss", "fit_intercept", "early_stopping") if stochastic else _LIBLINEAR
    shared = {name: getattr(estimator, name) for name in names}
    for k, label in enumerate(classes):
        stored = SimpleNamespace(
            **shared, class_weight=None, classes_=np.array([0, 1]), coef_=estimator.coef_[k],
            intercept_=np.ravel(estimator.intercept_)[k] if estimator.fit_intercept else 0.0,
        )  # fmt: skip
        positive = codes == k
        signs = np.where(positive, 1.0, -1.0)
        yield _BinaryMachine(f"{label}, rest", stored, np.arange(codes.size), signs, np.where(positive, costs, weights))


def _audit_wrapper(estimator: Any, y: Any, audit: Callable[[Any, IntArray, IntArray], Audit]) -> AuditTable:
    """Return the audits of the machines in a OneVsRestClassifier or OneVsOneClassifier, by ``audit(machine, rows, labels)``."""
    from sklearn.multiclass import OneVsRestClassifier

    classes, codes = estimator.classes_, class_codes(estimator, y)
    indices = np.arange(codes.size)
    audits: dict[str, Audit] = {}
    if isinstance(estimator, OneVsRestClassifier):
        one = len(estimator.estimators_) == 1
        for k, machine in enumerate(estimator.estimators_):
            positive = 1 if one else k
            audits[f"{classes[positive]}, rest"] = audit(machine, indices, (codes == positive).astype(np.int64))
    else:
        for (i, j), machine in zip(combinations(range(len(classes)), 2), estimator.estimators_, strict=True):
            rows = np.flatnonzero((codes == i) | (codes == j))
            audits[f"{classes[i]}, {classes[j]}"] = audit(machine, rows, (codes[rows] == j).astype(np.int64))
    return AuditTable(type(estimator).__name__, audits)
