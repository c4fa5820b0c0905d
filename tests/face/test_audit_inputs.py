"""Inputs of audits: rows, labels and weights in any container give the audit of arrays, and others are refused by our error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import marginopt as mo
from marginopt.auditing import Audit, AuditTable
from marginopt.errors import InputError

RNG = np.random.default_rng(5)
#: Zeros among the entries, and a heavy tail.
X = RNG.standard_t(3, size=(40, 3)) * (RNG.random((40, 3)) < 0.7)
Y = X @ [1.0, -0.5, 0.3] + 0.3 * RNG.normal(size=40)
TWO = np.where(np.median(Y) < Y, 1, -1)
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
#: Row labels that are no places of rows.
INDEX = np.arange(40)[::-1] + 3

MACHINES: list[tuple[Any, np.ndarray | None]] = [
    (SVC(tol=1e-8), TWO),
    (SVC(kernel="linear", tol=1e-8), THREE),
    (NuSVC(nu=0.2, tol=1e-8), TWO),
    (OneClassSVM(tol=1e-8), None),
    (SVR(tol=1e-8), Y),
    (NuSVR(tol=1e-8), Y),
    (LinearSVC(random_state=0), THREE),
    (LinearSVC(multi_class="crammer_singer", random_state=0), THREE),
    (LinearSVR(random_state=0, tol=1e-10, max_iter=100_000), Y),
    (LogisticRegression(), THREE),
    (OneVsRestClassifier(LinearSVC(random_state=0)), THREE),
    (OneVsOneClassifier(SVC(tol=1e-8)), THREE),
]
NAMES = [f"{type(machine).__name__}-{k}" for k, (machine, _) in enumerate(MACHINES)]


def numbers(result: Audit | AuditTable) -> np.ndarray:
    audits = [result] if isinstance(result, Audit) else list(result.audits.values())
    return np.array([(audit.value, audit.bound) for audit in audits])


@pytest.mark.parametrize(("machine", "y"), MACHINES, ids=NAMES)
def test_containers_do_not_matter(machine: Any, y: np.ndarray | None) -> None:
    plain = numbers(mo.audit(machine.fit(X, y), X, y))
    series = None if y is None else pd.Series(y, index=INDEX)
    assert (numbers(mo.audit(machine, pd.DataFrame(X, index=INDEX), series)) == plain).all()
    assert (numbers(mo.audit(machine, X.tolist(), None if y is None else y.tolist())) == plain).all()
    S = sp.csr_array(X)
    assert np.allclose(numbers(mo.audit(machine.fit(S, y), S, y)), plain, rtol=1e-6)


@pytest.mark.parametrize(("machine", "y"), MACHINES, ids=NAMES)
def test_what_does_not_fit_the_rows_is_refused(machine: Any, y: np.ndarray | None) -> None:
    machine.fit(X, y)
    wrong_rows = X.copy()
    wrong_rows[3, 1] = np.nan
    words = pd.DataFrame(X, columns=list("abc")).assign(b="word")
    for rows in (wrong_rows, words, [["a", "b", "c"]] * 40, X[:, :2]):
        with pytest.raises(InputError):
            mo.audit(machine, rows, y)
    if y is None:
        return
    for labels in (y[:30], np.append(y, y[:1]), y[:, None], None, ["word"] * 40):
        with pytest.raises(InputError):
            mo.audit(machine, X, labels)


@pytest.mark.parametrize("weights", [["a"] * 40, -np.ones(40), np.ones(39), np.full(40, np.nan)], ids=["text", "<0", "39", "nan"])
def test_weights_that_are_none(weights: Any) -> None:
    with pytest.raises(InputError) as caught:
        mo.audit(SVC().fit(X, TWO), X, TWO, weights)
    assert caught.value.name == "sample_weight"


def test_sparsified_coefficients() -> None:
    machine = LinearSVC(random_state=0).fit(X, THREE)
    plain = numbers(mo.audit(machine, X, THREE))
    assert (numbers(mo.audit(machine.sparsify(), X, THREE)) == plain).all() and sp.issparse(machine.coef_)


def test_pairs_of_a_kernel_matrix_are_those_of_its_features() -> None:
    wrapped = OneVsOneClassifier(SVC(kernel="precomputed", tol=1e-8)).fit(X @ X.T, THREE)
    report = mo.audit(wrapped, X @ X.T, THREE)
    linear = mo.audit(OneVsOneClassifier(SVC(kernel="linear", tol=1e-8)).fit(X, THREE), X, THREE)
    assert np.allclose(numbers(report), numbers(linear), rtol=1e-6) and report.gap <= 1e-4


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_rows_that_a_fit_holds_out_are_not_known(y: np.ndarray) -> None:
    machine = SGDClassifier(early_stopping=True, random_state=0).fit(np.vstack([X] * 5), np.tile(y, 5))
    with pytest.raises(InputError) as caught:
        mo.audit(machine, np.vstack([X] * 5), np.tile(y, 5))
    assert "early_stopping" in str(caught.value)


def _foreign() -> Any:
    """A class with the attributes of a machine and nothing of scikit-learn's base class."""
    kind = type("SVC", (), {"__module__": "cuml.svm"})
    machine = kind()
    fitted = SVC(tol=1e-8).fit(X, TWO)
    names = ("kernel", "C", "degree", "coef0", "gamma", "class_weight", "support_", "dual_coef_", "intercept_")
    vars(machine).update({name: getattr(fitted, name) for name in names})
    return machine


def test_classes_without_tags_of_scikit_learn() -> None:
    assert (numbers(mo.audit(_foreign(), X, TWO)) == numbers(mo.audit(SVC(tol=1e-8).fit(X, TWO), X, TWO))).all()


UNFITTED: list[Callable[[], Any]] = [SVC, lambda: SVC, lambda: None, object, lambda: make_pipeline(StandardScaler(), SVC())]


@pytest.mark.parametrize("make", UNFITTED, ids=["unfitted", "class", "None", "object", "pipeline"])
def test_machines_that_are_not_fitted(make: Callable[[], Any]) -> None:
    with pytest.raises(InputError):
        mo.audit(make(), X, TWO)


def test_earlier_steps_that_refuse_the_rows() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(frame, TWO)
    for rows in (frame[["b", "a", "c"]], frame[["a", "b"]], frame.assign(a="word")):
        with pytest.raises(InputError):
            mo.audit(pipeline, rows, TWO)


def _libsvm_file(path: Path) -> Path:
    """A linear machine with C = 1 on X, its multipliers as LIBSVM writes them."""
    machine = SVC(kernel="linear", tol=1e-8).fit(X, TWO)
    first = TWO[machine.support_] == 1
    places = [*np.flatnonzero(first), *np.flatnonzero(~first)]
    lines = ["svm_type c_svc", "kernel_type linear", "nr_class 2", f"total_sv {len(places)}", f"rho {-machine.intercept_[0]!s}"]
    lines += ["label 1 -1", f"nr_sv {first.sum()} {(~first).sum()}", "SV"]
    for k in places:
        cells = " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(X[machine.support_[k]]) if v)
        lines.append(f"{machine.dual_coef_[0, k]:.17g} {cells} ")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_model_files_take_labels_of_any_container(tmp_path: Path) -> None:
    path = _libsvm_file(tmp_path / "a.model")
    plain = mo.audit(path, X, TWO, C=1.0)
    assert isinstance(plain, Audit) and plain.gap <= 1e-6
    assert (numbers(mo.audit(path, pd.DataFrame(X), pd.Series(TWO, index=INDEX), C=1.0)) == numbers(plain)).all()


@pytest.mark.parametrize(
    ("y", "options"),
    [(TWO, {"C": -1.0}), (TWO, {"C": 0.0}), (TWO, {"C": "a"}), (TWO, {"C": np.nan}), (None, {"C": 1.0}), (TWO[:30], {"C": 1.0})],
)
def test_model_files_with_other_inputs_than_of_training(tmp_path: Path, y: Any, options: dict[str, Any]) -> None:
    path = _libsvm_file(tmp_path / "a.model")
    with pytest.raises(InputError) as caught:
        mo.audit(path, X, y, **options)
    assert caught.value.name in ("C", "y")  # never the file, which is sound
