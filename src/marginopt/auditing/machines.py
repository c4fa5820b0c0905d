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
to their box and shrunk until the equation holds; for ``LogisticRegression`` of c_i times the probability of the other label, or
of our own optimum; for ``LinearSVC`` and ``SGDClassifier``, which store none, of our own optimum. It is a bound only where the
kernel matrix is positive semidefinite, which is known of linear, RBF and polynomial kernels; of others it is said that it rests
on it. The value is rounded up, the bound down, kernel entries counted with their own error, and multipliers satisfy their
equation exactly.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..labelled import is_of_frames
from ..models.arrays import FloatArray, IntArray, as_vector
from ..models.kernels.gram import GramOperator, KernelGram, MatrixGram
from ..models.kernels.kernels import RBF, Kernel, Linear, Polynomial
from ..models.rounding import UNIT, Rounded, transposed_product
from ..unpickling import load_estimator
from .losses import (
    audit_crammer_singer,
    audit_l1,
    audit_linear_svr,
    audit_logistic,
    audit_nu_svr,
    audit_stochastic,
    audit_svr,
    check_logistic,
    solved_bound,
)
from .softmax import audit_softmax
from .values import (
    Audit,
    AuditTable,
    audit_wrapper,
    class_against_rest,
    class_codes,
    dual_value,
    feasible,
    hinge_cost,
    make_audit,
    pairs_of_classes,
    repaired_multipliers,
    scores,
    squared_kernel_norm,
    squared_norm,
    weights_of_classes,
)

_KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}
#: Digits of support vectors in files, tried in this order: those of float64, and those that LIBSVM writes.
_DIGITS = (17, 8)
#: Penalty and loss of LIBLINEAR's solvers.
_LINEAR = {
    "L2R_L2LOSS_SVC_DUAL": ("l2", "squared_hinge"), "L2R_L2LOSS_SVC": ("l2", "squared_hinge"),
    "L2R_L1LOSS_SVC_DUAL": ("l2", "hinge"), "L1R_L2LOSS_SVC": ("l1", "squared_hinge"), "L2R_LR": ("l2", "log"),
    "L2R_LR_DUAL": ("l2", "log"), "L2R_L2LOSS_SVR": ("l2", "squared_epsilon_insensitive"),
    "MCSVM_CS": ("l2", "crammer_singer"),
    "L2R_L2LOSS_SVR_DUAL": ("l2", "squared_epsilon_insensitive"), "L2R_L1LOSS_SVR_DUAL": ("l2", "epsilon_insensitive"),
}  # fmt: skip


def machine_of_file(path: str | Path, X: FloatArray, y: Any, training: Mapping[str, float | None]) -> Any:
    """The machine of a model file of LIBSVM or LIBLINEAR.

    Parameters
    ----------
    path : str or Path
    X : ndarray (n, p)
        The rows that it was trained on: support vectors are found among them, as LIBSVM's files hold eight digits.
    y : array (n,) or None
    training : mapping
        C, epsilon and nu, None where not given.

    Raises
    ------
    InputError
        No model file of theirs, a solver that `audit` does not know, a parameter that is missing, or other data.
    """
    try:
        lines = Path(path).read_text().splitlines()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}", name="machine") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a model file of LIBSVM or LIBLINEAR: {error}") from error
    body = next((k for k, line in enumerate(lines) if line.strip() in ("SV", "w")), len(lines))
    head = {words[0]: words[1:] for words in map(str.split, lines[:body]) if words}
    readers = {"svm_type": _libsvm, "solver_type": _liblinear}
    kind = next((key for key in readers if key in head), None)
    if kind is None or body == len(lines):
        raise InputError(f"{path} is no model file: LIBSVM's begin with svm_type, LIBLINEAR's with solver_type")
    try:
        return readers[kind](head, [line for line in lines[body + 1 :] if line.strip()], X, y, training)
    except (KeyError, ValueError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged: {error}") from error


def is_pickle(path: str | Path) -> bool:
    """Return whether a file is a pickle, by its first byte or its name."""
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            return file.read(1) == b"\x80"
    return Path(path).suffix in (".pkl", ".pickle", ".joblib")


def training_rows(path: str | Path) -> tuple[Any, FloatArray]:
    """Return the rows and labels of a file that LIBSVM or LIBLINEAR trained on; of a kernel matrix, without serial numbers.

    Raises
    ------
    InputError
        There is no such file, or it has another format.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), zero_based="auto")
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}", name="data") from error
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is no data file of LIBSVM, lines of 'label index:value ...': {error}", name="data") from error
    serial = X.shape[0] == X.shape[1] - 1 and np.array_equal(X[:, [0]].toarray().ravel(), np.arange(1.0, X.shape[0] + 1.0))
    return (X[:, 1:] if serial else X), y


def _needed(training: Mapping[str, float | None], name: str, option: str) -> float:
    value = training[name]
    if value is None:
        raise InputError(f"a model file does not hold {name}: give {name}=, the {option} of the training program", name=name)
    return float(value)


def _libsvm(
    head: Mapping[str, list[str]], lines: Sequence[str], X: FloatArray, y: Any, training: Mapping[str, float | None]
) -> Any:
    from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

    kind, kernel = head["svm_type"][0], _KERNELS[head["kernel_type"][0]]
    count, rho = int(head["nr_class"][0]), np.array(head["rho"], dtype=np.float64)
    cells = [line.split() for line in lines]
    width = max(count - 1, 1)
    coefficients = np.array([row[:width] for row in cells], dtype=np.float64).T.reshape(width, len(cells))
    labels = np.array([int(label) for label in head.get("label", [])])
    of_class = None if "nr_sv" not in head else np.repeat(labels, [int(number) for number in head["nr_sv"]])
    support = _support([row[width:] for row in cells], X, y, of_class, kernel == "precomputed")
    makers: dict[str, Callable[[], Any]] = {
        "c_svc": lambda: SVC(C=_needed(training, "C", "-c")),
        "nu_svc": lambda: NuSVC(nu=_needed(training, "nu", "-n")),
        "one_class": lambda: OneClassSVM(nu=min(float(coefficients.sum()) / max(X.shape[0], 1), 1.0)),  # Σα = νn
        "epsilon_svr": lambda: SVR(C=_needed(training, "C", "-c"), epsilon=_needed(training, "epsilon", "-p")),
        "nu_svr": lambda: NuSVR(C=_needed(training, "C", "-c"), nu=_needed(training, "nu", "-n")),
    }
    if kind not in makers:
        raise InputError(f"audit knows {', '.join(makers)} of LIBSVM's files; this one holds {kind}")
    machine = makers[kind]()
    shape = {"degree": "3", "gamma": "1", "coef0": "0"} | {name: words[0] for name, words in head.items() if len(words) == 1}
    machine.set_params(kernel=kernel, degree=int(shape["degree"]), coef0=float(shape["coef0"]))
    machine._gamma = float(shape["gamma"])
    # the first label is the positive one
    _store(machine, support, coefficients, -rho, labels[::-1] if count == 2 else labels, X)
    return machine


def _store(machine: Any, support: IntArray, coefficients: FloatArray, intercept: FloatArray, classes: Any, X: FloatArray) -> None:
    """Set the attributes that a fitted machine has."""
    machine.support_, machine.dual_coef_, machine.intercept_ = support, coefficients, np.ravel(intercept)
    machine.support_vectors_ = X[support]
    machine.classes_, machine.class_weight_ = classes, np.ones(max(len(classes), 1))
    machine.offset_ = -machine.intercept_


def _support(rows: Sequence[Sequence[str]], X: FloatArray, y: Any, of_class: Any, precomputed: bool) -> IntArray:
    """The rows of X that are the file's support vectors, each once, in their class where the file has classes."""
    entries = [[(int(j), float(v)) for j, v in (cell.split(":") for cell in row)] for row in rows]
    if precomputed:  # 0:serial number, from 1
        return np.array([int(row[0][1]) - 1 for row in entries], dtype=np.int64)
    keys = [tuple((j - 1, v) for j, v in row if v != 0.0) for row in entries]
    for digits in _DIGITS:
        places: defaultdict[Any, deque[int]] = defaultdict(deque)
        for i, point in enumerate(X):
            key = tuple((int(j), float(f"{point[j]:.{digits}g}")) for j in np.flatnonzero(point))
            places[key if of_class is None else (y[i], key)].append(i)
        targets = keys if of_class is None else list(zip(of_class, keys, strict=True))
        numbers = [places[key].popleft() if places.get(key) else -1 for key in targets]
        if -1 not in numbers:
            return np.array(numbers, dtype=np.int64)
    raise InputError(
        f"support vector {numbers.index(-1) + 1} of the file is no row of X with its label: give the rows and labels that the "
        "training program read, scaled as they were"
    )


def _liblinear(
    head: Mapping[str, list[str]], lines: Sequence[str], X: FloatArray, y: Any, training: Mapping[str, float | None]
) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC, LinearSVR

    kind, bias = head["solver_type"][0], float(head["bias"][0])
    if kind not in _LINEAR:
        raise InputError(f"audit knows {', '.join(_LINEAR)} of LIBLINEAR's files; this one holds {kind}")
    penalty, loss = _LINEAR[kind]
    W = np.array([line.split() for line in lines], dtype=np.float64)
    features = int(head["nr_feature"][0])
    if W.shape[0] != features + (bias >= 0.0) or features > X.shape[1]:
        raise InputError(f"the file holds {W.shape[0]} rows of weights for {features} features; X has {X.shape[1]} columns")
    common = {"C": _needed(training, "C", "-c"), "fit_intercept": bias > 0.0, "intercept_scaling": bias if bias > 0.0 else 1.0}
    labels = np.array([int(label) for label in head.get("label", [])])
    machine: Any
    if loss == "log":
        machine = LogisticRegression(solver="liblinear", **common)
    elif loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        machine = LinearSVR(loss=loss, epsilon=_needed(training, "epsilon", "-p"), **common)
    elif loss == "crammer_singer":
        machine = LinearSVC(multi_class=loss, **common)
    else:
        machine = LinearSVC(penalty=penalty, loss=loss, **common)
    machine.coef_ = np.zeros((W.shape[1], X.shape[1]))
    machine.coef_[:, :features] = W[:features].T
    machine.intercept_ = W[features] * bias if bias > 0.0 else np.zeros(W.shape[1])
    one_column = labels.size == 2 and W.shape[1] == 1
    machine.classes_ = labels[::-1] if one_column else labels  # the first label is the positive one
    return machine


def translated(machine: Any, X: Any, y: Any) -> Any:
    """The machine of scikit-learn that holds what a machine of another package holds; machines of scikit-learn as they are.

    Raises
    ------
    InputError
        A class of these packages that `audit` does not know, or several classes where their order is not known.
    """
    package = type(machine).__module__.split(".")[0]
    readers = {"sklearnex": _kernel_machine, "daal4py": _kernel_machine, "cuml": _kernel_machine, "thundersvm": _kernel_machine}
    readers["snapml"] = _snap_machine
    return readers[package](machine, X, y) if package in readers else machine


def as_array(value: Any) -> Any:
    """Return a NumPy array of an array in any memory: CuPy's are copied by ``get``."""
    value = value.get() if type(value).__module__.split(".")[0] == "cupy" else value
    return np.asarray(value.toarray() if sp.issparse(value) else value)


def _kernel_machine(machine: Any, X: Any, y: Any) -> Any:
    from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

    package, name = type(machine).__module__.split(".")[0], type(machine).__name__
    kinds = {kind.__name__: kind for kind in (SVC, SVR, NuSVC, NuSVR, OneClassSVM)}
    if name not in kinds:
        raise InputError(f"audit knows {', '.join(kinds)} of {package}; it was given {name}")
    data, parameters = as_array(X), vars(machine)
    estimator = kinds[name]()
    kernel = str(parameters["kernel"])
    estimator.set_params(
        **{key: parameters[key] for key in ("C", "nu", "epsilon", "degree", "coef0") if key in estimator.get_params()}
    )
    estimator.set_params(kernel=_KERNELS.get(kernel, kernel))
    if "class_weight" in estimator.get_params():
        estimator.set_params(class_weight=parameters["class_weight"] or None)
    estimator._gamma = _gamma(parameters.get("_gamma", parameters["gamma"]), data)
    support = as_array(machine.support_).ravel().astype(np.int64)
    coefficients = np.atleast_2d(as_array(machine.dual_coef_).astype(np.float64))
    intercept = np.ravel(as_array(machine.intercept_)).astype(np.float64) * (-1.0 if package == "thundersvm" else 1.0)  # ρ
    classes = np.zeros(0) if name in ("SVR", "NuSVR", "OneClassSVM") else np.unique(as_array(y))
    if support.max(initial=-1) >= data.shape[0]:
        raise InputError(f"the machine was fitted on more than the {data.shape[0]} rows of X", name="X")
    if classes.size > 2 and package != "sklearnex":
        raise InputError(f"audit knows two classes of {package}'s {name}; y has {classes.size}: fit one for each pair")
    if classes.size == 2:  # positive coefficients belong to the positive class
        positive = np.unique(as_array(y)[support[coefficients[0] > 0.0]])
        if positive.size != 1:
            raise InputError("positive coefficients of the machine belong to points of both classes: X and y are other data")
        classes = np.array([classes[classes != positive[0]][0], positive[0]])
    _store(estimator, support, coefficients, intercept, classes, data)
    return estimator


def _gamma(rule: Any, X: FloatArray) -> float:
    """γ as scikit-learn reads "scale" and "auto"."""
    if rule == "scale":
        return 1.0 / (X.shape[1] * float(X.var())) if X.var() else 1.0
    return 1.0 / X.shape[1] if rule == "auto" else float(rule)


def _snap_machine(machine: Any, X: Any, y: Any) -> Any:
    """Snap ML's min λ/2 ||w||² + Σ c_i ℓ(y_i f(x_i)) divided by its ``regularizer`` λ; the intercept is a penalised column."""
    from sklearn.svm import LinearSVC

    parameters = vars(machine)
    name, kernel = type(machine).__name__, parameters.get("kernel", "linear")
    if name != "SupportVectorMachine" or kernel != "linear" or parameters.get("normalize", False):
        raise InputError(f"audit knows the linear SupportVectorMachine of snapml, without normalize; it was given {name}")
    estimator = LinearSVC(
        C=1.0 / parameters["regularizer"], loss=parameters["loss"], fit_intercept=bool(parameters["fit_intercept"]),
        intercept_scaling=parameters["intercept_scaling"], class_weight=parameters["class_weight"],
    )  # fmt: skip
    estimator.coef_ = np.atleast_2d(as_array(machine.coef_).astype(np.float64))
    estimator.intercept_ = np.ravel(as_array(machine.intercept_)).astype(np.float64)
    estimator.classes_ = np.unique(as_array(y))
    return estimator


#: What a bound rests on where no theorem says it.
_ASSUMED = "the kernel matrix is positive semidefinite"
#: Relative difference of a stored support vector from its row, by single precision.
_STORED = 1e-6
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
        A fitted SVC, LinearSVC, NuSVC, OneClassSVM, SVR, NuSVR, LinearSVR, SGDClassifier or LogisticRegression of scikit-learn; a
        pipeline that ends in one, which sees X as its earlier steps make it; a search (GridSearchCV), of which the refitted best
        estimator is meant; OneVsRestClassifier or OneVsOneClassifier; the kernel machines of sklearnex, cuML and ThunderSVM, and
        Snap ML's linear one; the path of a model file of LIBSVM or LIBLINEAR, or of a pickle, as `marginopt.io.load_estimator`
        reads it; several of these, by name or in a list.
    X : array (n, p)
        The kernel matrix where the kernel is precomputed.
    y : array (n,), optional
        Labels, or numbers for the regressions; not for ``OneClassSVM``.
    sample_weight : array (n,), optional
        As in ``fit``; not for NuSVC and OneClassSVM.
    C, epsilon, nu : float, optional
        What a model file does not hold: ``-c`` and, for regressions and ν, ``-p`` and ``-n`` of the training program.

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
    DataError
        A pickle that names anything but classes of scikit-learn and this package, which is not executed.
    """
    training = {"C": C, "epsilon": epsilon, "nu": nu}
    if isinstance(estimator, (Mapping, list, tuple)):
        return _of_many(estimator, lambda machine: audit(machine, X, y, sample_weight, C=C, epsilon=epsilon, nu=nu))
    if isinstance(estimator, (str, Path)) and is_pickle(estimator):
        estimator = load_estimator(estimator)
    if isinstance(estimator, (str, Path)):
        rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        return _audited(machine_of_file(estimator, rows, y, training), X, y, sample_weight)
    if any(value is not None for value in training.values()):
        raise InputError("C, epsilon and nu are for model files: a fitted machine holds its own", name="C")
    machine, X = _last_step(_fitted(estimator), X)
    _check_columns(machine, X)
    kind = type(machine).__name__
    if kind in ("OneVsRestClassifier", "OneVsOneClassifier"):
        if sample_weight is not None:
            raise InputError(f"audit of {kind} knows no sample_weight", name="sample_weight")
        return audit_wrapper(machine, y, lambda part, rows, labels: _one(audit(part, _rows(part, X, rows), labels)))
    return _advised(machine, X, y, sample_weight)


def _rows(part: Any, X: Any, rows: IntArray) -> Any:
    """Return the rows of a part of a wrapper, in a data frame if the part was fitted on one: not all wrappers hand it on."""
    if is_of_frames(X, "DataFrame") and hasattr(part, "feature_names_in_"):
        return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    return (X if sp.issparse(X) else np.asarray(X))[rows]


def _one(result: Audit | AuditTable) -> Audit:
    """Return the audit of a machine of two classes, which a wrapper of several holds."""
    assert isinstance(result, Audit)
    return result


def _fitted(estimator: Any) -> Any:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError) as error:
        raise InputError(f"audit needs a fitted machine: {error}") from error
    return estimator


def _check_columns(machine: Any, X: Any) -> None:
    """Raise InputError for a frame whose columns are not those of fit, in their order."""
    names = vars(machine).get("feature_names_in_")
    if names is None or not is_of_frames(X, "DataFrame") or list(X.columns) == list(names):
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
    stored = np.asarray(vectors.toarray() if sp.issparse(vectors) else vectors, dtype=np.float64)
    rows = X[counted[machine.support_]]
    other = np.flatnonzero((np.abs(stored - rows) > _STORED * (np.abs(stored) + np.abs(rows))).any(axis=1))
    if other.size:
        raise InputError(
            f"support vector {other[0]} of the machine is not row {counted[machine.support_[other[0]]]} of X: give the rows that "
            "fit saw, in their order",
            name="X",
        )


def _of_many(machines: Any, audit_of: Callable[[Any], Audit | AuditTable]) -> AuditTable:
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


def _advised(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return the audit, with the limit that would have sufficed where the fit stopped at one."""
    machine = translated(estimator, X, y)
    begin = time.perf_counter()
    audited = _audited(machine, X, y, sample_weight)
    max_iter, steps = vars(estimator).get("max_iter", -1), vars(estimator).get("n_iter_")
    if steps is None or not isinstance(max_iter, int) or max_iter < 1 or int(np.max(as_array(steps))) < max_iter:
        return audited
    if machine is not estimator:
        return audited.advised(f"the fit stopped at max_iter={max_iter:,}: fit with a larger max_iter")
    return audited.advised(_larger_limit(estimator, X, y, sample_weight, audited.gap, time.perf_counter() - begin))


def _larger_limit(machine: Any, X: Any, y: Any, sample_weight: Any, gap: float, seconds: float) -> str:
    """Return which limit reaches a gap of `_ENOUGH`, by fitting again with doubled limits while `_SECONDS` allow it."""
    from sklearn.base import clone

    max_iter, weights = machine.max_iter, {} if sample_weight is None else {"sample_weight": sample_weight}
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
            gap = _audited(retried, X, y, sample_weight).gap
        seconds = time.perf_counter() - begin
    if limit == max_iter:
        return f"the fit stopped at max_iter={max_iter:,}: fit with a larger max_iter"
    verb = "would reach" if gap <= _ENOUGH else "would leave"
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
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        else:
            return estimator, X


def _audited(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Return the audit of one machine, or the table of a machine of several classes."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

    kinds = {
        SVC: _svc, NuSVC: _nu_svc, OneClassSVM: _one_class, LinearSVC: _linear, LogisticRegression: _logistic, SVR: _svr,
        NuSVR: _nu_svr, LinearSVR: _linear_svr, SGDClassifier: _stochastic,
    }  # fmt: skip
    if type(estimator) not in kinds:
        type_name = type(estimator).__name__
        supported = f"{', '.join(kind.__name__ for kind in kinds)}, alone, in pipelines, searches, OneVsRest and OneVsOne"
        advice = "; its certificate_ says it already" if "certificate_" in vars(estimator) else ""
        raise InputError(f"audit knows {supported}; it was given {type_name}{advice}", name="machine")
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
    _check_support(estimator, data, weights)
    if vars(estimator).get("multi_class", "ovr") == "crammer_singer":
        return _crammer_singer(estimator, data, y, weights)
    if isinstance(estimator, LogisticRegression) and len(estimator.classes_) > 2 and _fits_softmax(estimator):
        return _softmax(estimator, data, y, weights)
    one_against_rest = {LinearSVC: class_against_rest, SGDClassifier: class_against_rest}
    subproblems = {SVC: pairs_of_classes, **one_against_rest}.get(type(estimator))
    if subproblems is not None and len(estimator.classes_) > 2:
        if np.shape(y) != (n,):
            raise InputError(f"y must hold a label for each of the {n} rows of X", name="y")
        audit_of = kinds[type(estimator)]
        parts = list(subproblems(estimator, y, weights))
        return AuditTable(
            type(estimator).__name__,
            {part.name: audit_of(part.stored, _rows_of(estimator, data, part.rows), part.signs, part.weights) for part in parts},
        )
    if isinstance(estimator, SVR | NuSVR | LinearSVR):
        return kinds[type(estimator)](estimator, data, as_vector(y, n, "y"), weights)
    signs = np.ones(n) if isinstance(estimator, OneClassSVM) else _signs(estimator, y, n)
    return kinds[type(estimator)](estimator, data, signs, weights)


def _rows_of(estimator: Any, X: FloatArray, rows: IntArray) -> FloatArray:
    """Return the rows, and of a kernel matrix the columns too."""
    return X[np.ix_(rows, rows)] if vars(estimator).get("kernel") == "precomputed" else X[rows]


def _signs(estimator: Any, y: Any, n: int) -> FloatArray:
    labels = np.asarray(y)
    if len(estimator.classes_) != 2:
        raise InputError(
            f"audit of {type(estimator).__name__} reads two classes; the machine has {len(estimator.classes_)}: audit "
            "OneVsRestClassifier or OneVsOneClassifier of it; SVC, LinearSVC, SGDClassifier, and LogisticRegression but by "
            "liblinear, may have several",
            name="machine",
        )
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
    kernels: dict[str, Callable[[], Kernel]] = {"linear": Linear}
    if gamma > 0.0:
        kernels["rbf"] = lambda: RBF(gamma)
    if gamma > 0.0 and coef0 >= 0.0 and int(estimator.degree) == estimator.degree >= 1:
        kernels["poly"] = lambda: Polynomial(int(estimator.degree), gamma, coef0)
    if name in kernels:
        return KernelGram(X, kernels[name]()), ""
    shape = {"poly": {"degree": estimator.degree}}.get(name, {})
    kernel_options = {} if name == "rbf" else {"coef0": coef0}
    return MatrixGram(pairwise_kernels(X, metric=name, gamma=gamma, **kernel_options, **shape)), _ASSUMED


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
    curvature = squared_kernel_norm(gram, signs * a)
    return dual_value(a, curvature) if linear else curvature.times(-0.5)


def _svc(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    gram, condition = _kernel(estimator, X)
    top = estimator.C * _class_weights(estimator, signs) * weights
    stored, b = _multipliers(estimator, X.shape[0], weights), _number(estimator.intercept_)
    f, error = scores(gram, stored, b)
    value = squared_kernel_norm(gram, stored).times(0.5) + hinge_cost(top, 1.0, signs * f, error)
    repaired, outside = repaired_multipliers(signs * stored, signs, top, None)
    bound = _bound(feasible(repaired, signs, top, None), signs, gram, linear=True)
    audit = make_audit("SVC", "½||w||² + Σ c_i max(0, 1 - y_i f(x_i)), free intercept", value, bound, condition, outside)
    strange = int((signs * stored < 0.0).sum())
    if not strange:
        return audit
    return audit.advised(
        f"{strange} stored multipliers have the sign of the other class: give the labels that fit saw, in their order"
    )


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
    value = (
        squared_kernel_norm(gram, coefficients).times(0.5)
        + Rounded(rho).times(-total)
        + hinge_cost(np.ones(n), rho, signs * f, error)
    )
    repaired, outside = repaired_multipliers(signs * coefficients, signs, np.ones(n), total)
    bound = _bound(feasible(repaired, signs, np.ones(n), total), signs, gram, linear=False)
    return make_audit("NuSVC", "½||w||² - ν n ρ + Σ max(0, ρ - y_i f(x_i)), free intercept", value, bound, condition, outside)


def _one_class(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    if (weights != 1.0).any():
        raise InputError("audit of OneClassSVM knows no weights: LIBSVM solves another problem with them than the one it states")
    n = X.shape[0]
    gram, condition = _kernel(estimator, X)
    stored, rho = _multipliers(estimator, n), _number(estimator.offset_)
    total = estimator.nu * n
    f, error = scores(gram, stored, 0.0)
    value = squared_kernel_norm(gram, stored).times(0.5) + Rounded(rho).times(-total) + hinge_cost(np.ones(n), rho, f, error)
    repaired, outside = repaired_multipliers(stored, signs, np.ones(n), total)
    bound = _bound(feasible(repaired, signs, np.ones(n), total), signs, gram, linear=False)
    return make_audit("OneClassSVM", "½||w||² - ν n ρ + Σ max(0, ρ - w'φ(x_i))", value, bound, condition, outside)


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
    return make_audit("LinearSVC", f"½||w||² + Σ c_i max(0, 1 - y_i f(x_i)){power}{intercept}", value, bound)


def _logistic(estimator: Any, X: FloatArray, signs: FloatArray, weights: FloatArray) -> Audit:
    return audit_logistic(estimator, X, signs, estimator.C * _class_weights(estimator, signs, weights) * weights)


def _fits_softmax(estimator: Any) -> bool:
    return estimator.solver != "liblinear" and vars(estimator).get("multi_class", "auto") != "ovr"


def _softmax(estimator: Any, X: FloatArray, y: Any, weights: FloatArray) -> Audit:
    check_logistic(estimator)
    codes, W = class_codes(estimator, y), np.asarray(estimator.coef_, dtype=np.float64)
    costs = estimator.C * weights * weights_of_classes(estimator, np.asarray(y), weights)[codes]
    b = np.ravel(estimator.intercept_).astype(np.float64) if estimator.fit_intercept else None
    if not np.isfinite(W).all() or (b is not None and not np.isfinite(b).all()):
        raise InputError("the machine stores numbers that are not finite")
    return audit_softmax(X, codes, costs, W, b)


def _svr(estimator: Any, X: FloatArray, y: FloatArray, weights: FloatArray) -> Audit:
    gram, condition = _kernel(estimator, X)
    beta = _multipliers(estimator, X.shape[0], weights)
    return audit_svr(gram, beta, _number(estimator.intercept_), y, estimator.C * weights, float(estimator.epsilon), condition)


def _nu_svr(estimator: Any, X: FloatArray, y: FloatArray, weights: FloatArray) -> Audit:
    if (weights != 1.0).any():
        raise InputError("audit of NuSVR knows no weights: LIBSVM solves another problem with them than the one it states")
    gram, condition = _kernel(estimator, X)
    beta, b = _multipliers(estimator, X.shape[0]), _number(estimator.intercept_)
    return audit_nu_svr(gram, beta, b, y, float(estimator.C), float(estimator.nu), condition)


def _crammer_singer(estimator: Any, X: FloatArray, y: Any, weights: FloatArray) -> Audit:
    codes, W = class_codes(estimator, y), np.atleast_2d(estimator.coef_).astype(np.float64)
    costs = estimator.C * weights * weights_of_classes(estimator, np.asarray(y), weights)[codes]
    words = "no intercepts"
    if estimator.fit_intercept:
        s = float(estimator.intercept_scaling)
        X, W = np.column_stack([X, np.full(X.shape[0], s)]), np.column_stack([W, np.ravel(estimator.intercept_) / s])
        words = f"the intercepts penalised at scale {s:g}"
    if not np.isfinite(W).all():
        raise InputError("the machine stores numbers that are not finite")
    return audit_crammer_singer(X, codes, costs, W if len(W) > 1 else np.vstack([-0.5 * W, 0.5 * W]), words)


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
