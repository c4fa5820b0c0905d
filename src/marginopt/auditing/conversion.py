"""Conversion of fitted SVMs of other programs to scikit-learn's classes, which `audit` reads.

It covers model files of LIBSVM and LIBLINEAR, and objects of sklearnex, cuML, ThunderSVM and Snap ML.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from ..files import split_lines
from ..models.arrays import FloatArray, IntArray, as_positive, as_share

#: Names of kernels in scikit-learn, by those in LIBSVM's files.
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
    """Return the machine in a model file of LIBSVM or LIBLINEAR, as a fitted scikit-learn estimator for `audit`.

    Parameters
    ----------
    path : str or Path
        The model file.
    X : ndarray (n, p)
        The training points: support vectors are matched with them, since LIBSVM's files hold eight digits alone.
    y : array (n,) or None
        The training labels or targets; None for one-class machines.
    training : mapping
        The training options that the file does not hold: "C", "epsilon" and "nu", None where not given.
    """
    try:
        lines = split_lines(Path(path).read_text())
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}", name="estimator") from error
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
    """Return whether a file is a pickle, by its first byte; if there is no file, by the suffix of its name."""
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            return file.read(1) == b"\x80"
    return Path(path).suffix in (".pkl", ".pickle", ".joblib")


def training_rows(path: str | Path) -> tuple[Any, FloatArray]:
    """Return X and y of a LIBSVM data file; a precomputed kernel's serial numbers are left out."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), zero_based="auto")
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}", name="data") from error
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path} is no data file of LIBSVM, lines of 'label index:value ...'; machines that were fitted on other data are "
            "audited in Python, by mo.audit(machine, X, y)",
            name="data",
        ) from error
    serial = X.shape[0] == X.shape[1] - 1 and np.array_equal(X[:, [0]].toarray().ravel(), np.arange(1.0, X.shape[0] + 1.0))
    return (X[:, 1:] if serial else X), y


def _option(training: Mapping[str, float | None], name: str, option: str) -> float:
    value = training[name]
    if value is None:
        raise InputError(f"a model file does not hold {name}: give {name}=, the {option} of the training program", name=name)
    return as_share(value, name) if name == "nu" else as_positive(value, name, zero=name == "epsilon")


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
    support = _support_rows([row[width:] for row in cells], X, y, of_class, kernel == "precomputed")
    makers: dict[str, Callable[[], Any]] = {
        "c_svc": lambda: SVC(C=_option(training, "C", "-c")),
        "nu_svc": lambda: NuSVC(nu=_option(training, "nu", "-n")),
        "one_class": lambda: OneClassSVM(nu=min(float(coefficients.sum()) / max(X.shape[0], 1), 1.0)),  # Σα = νn
        "epsilon_svr": lambda: SVR(C=_option(training, "C", "-c"), epsilon=_option(training, "epsilon", "-p")),
        "nu_svr": lambda: NuSVR(C=_option(training, "C", "-c"), nu=_option(training, "nu", "-n")),
    }
    if kind not in makers:
        raise InputError(f"audit knows {', '.join(makers)} of LIBSVM's files; this one holds {kind}")
    machine = makers[kind]()
    shape = {"degree": "3", "gamma": "1", "coef0": "0"} | {name: words[0] for name, words in head.items() if len(words) == 1}
    machine.set_params(kernel=kernel, degree=int(shape["degree"]), coef0=float(shape["coef0"]))
    machine._gamma = float(shape["gamma"])
    # the first label is the positive one
    _set_fitted(machine, support, coefficients, -rho, labels[::-1] if count == 2 else labels, X)
    return machine


def _set_fitted(
    machine: Any, support: IntArray, coefficients: FloatArray, intercept: FloatArray, classes: Any, X: FloatArray
) -> None:
    """Set the attributes of a fitted machine."""
    machine.support_, machine.dual_coef_, machine.intercept_ = support, coefficients, np.ravel(intercept)
    machine.support_vectors_ = X[support]
    machine.classes_, machine.class_weight_ = classes, np.ones(max(len(classes), 1))
    machine.offset_ = -machine.intercept_


def _support_rows(rows: Sequence[Sequence[str]], X: FloatArray, y: Any, of_class: Any, precomputed: bool) -> IntArray:
    """Return the rows of X that are the file's support vectors, each once, in their class where the file has classes."""
    entries = [[(int(j), float(v)) for j, v in (cell.split(":") for cell in row)] for row in rows]
    if of_class is not None and y is None:
        raise InputError("the file holds classes: give y, the labels that the training program read", name="y")
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
    common = {
        "C": _option(training, "C", "-c"),
        "fit_intercept": bias > 0.0,
        "intercept_scaling": bias if bias > 0.0 else 1.0,
    }
    labels = np.array([int(label) for label in head.get("label", [])])
    machine: Any
    if loss == "log":
        machine = LogisticRegression(solver="liblinear", **common)
    elif loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
        machine = LinearSVR(loss=loss, epsilon=_option(training, "epsilon", "-p"), **common)
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


def as_sklearn_machine(machine: Any, X: Any, y: Any) -> Any:
    """Return a fitted machine of another package as a scikit-learn estimator; one of scikit-learn unchanged.

    Raises
    ------
    InputError
        A class of these packages that `audit` does not know, several classes where their order is not known, or data that are not
        those of the fit.
    """
    package = type(machine).__module__.split(".")[0]
    readers = {"sklearnex": _kernel_machine, "daal4py": _kernel_machine, "cuml": _kernel_machine, "thundersvm": _kernel_machine}
    readers["snapml"] = _snap_machine
    return readers[package](machine, X, y) if package in readers else machine


def as_array(value: Any) -> Any:
    """Return the dense NumPy array of an array in the memory of a processor or, by CuPy, of a GPU."""
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
    _set_fitted(estimator, support, coefficients, intercept, classes, data)
    return estimator


def _gamma(rule: Any, X: FloatArray) -> float:
    """Return γ as scikit-learn reads "scale" and "auto"."""
    if rule == "scale":
        return 1.0 / (X.shape[1] * float(X.var())) if X.var() else 1.0
    return 1.0 / X.shape[1] if rule == "auto" else float(rule)


def _snap_machine(machine: Any, X: Any, y: Any) -> Any:
    """Convert Snap ML's min λ/2 ||w||² + Σ c_i ℓ(y_i f(x_i)), divided by λ; the intercept is a penalised column."""
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
