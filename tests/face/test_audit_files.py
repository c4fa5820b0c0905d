"""Audits of LIBSVM's and LIBLINEAR's model files and of other packages' machines, against scikit-learn's of the same problem."""

from __future__ import annotations

import json
import pickle
import types
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from effort import part
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import marginopt as mo
from marginopt.cli.main import main
from marginopt.errors import DataError, InputError

RNG = np.random.default_rng(7)
#: Ones and zeros, a heavy tail, an offset, rows that occur twice.
X = np.column_stack([RNG.integers(0, 2, 60), RNG.standard_t(3, 60), 2.0 + RNG.normal(size=60)])
X[50:] = X[:10]
Y = X @ [1.0, -0.5, 0.3] + 0.4 * RNG.standard_t(3, 60)
TWO = np.where(np.median(Y) < Y, 1, -1)
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "precomputed": "precomputed"}


def libsvm(path: Path, machine: Any, labels: np.ndarray | None, order: list[int] | None = None) -> Path:
    """Write the machine as ``svm_save_model`` does: the classes in this order, the points of each in that of the data."""
    kind = {SVC: "c_svc", NuSVC: "nu_svc", OneClassSVM: "one_class", SVR: "epsilon_svr", NuSVR: "nu_svr"}[type(machine)]
    coefficients, rho = np.atleast_2d(machine.dual_coef_).copy(), -np.ravel(machine.intercept_)
    lines = [f"svm_type {kind}", f"kernel_type {KERNELS[machine.kernel]}", f"gamma {machine._gamma!r}"]
    places = np.arange(machine.support_.size)
    if order is None:
        lines += ["nr_class 2", f"total_sv {places.size}", f"rho {rho[0]!r}"]
    else:
        assert labels is not None
        if len(order) == 2 and order[0] != machine.classes_[1]:
            coefficients, rho = -coefficients, -rho
        of_point = labels[machine.support_]
        places = np.concatenate([np.flatnonzero(of_point == label) for label in order])
        counts = " ".join(str((of_point == label).sum()) for label in order)
        lines += [f"nr_class {len(order)}", f"total_sv {places.size}", f"rho {' '.join(map(repr, map(float, rho)))}"]
        lines += [f"label {' '.join(map(str, order))}", f"nr_sv {counts}"]
    lines.append("SV")
    for k in places:
        point = machine.support_[k]
        cells = (
            [f"0:{point + 1}"] if machine.kernel == "precomputed" else [f"{j + 1}:{v:.8g}" for j, v in enumerate(X[point]) if v]
        )
        lines.append(" ".join([f"{value:.17g}" for value in coefficients[:, k]] + cells) + " ")
    path.write_text("\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n")
    return path


def same(first: Any, second: Any) -> bool:
    """Equal value and bound, to the rounding of files."""
    return bool(np.allclose([first.value, first.bound], [second.value, second.bound], rtol=1e-7))


@pytest.mark.parametrize(
    ("kernel", "order"), part(product(["linear", "rbf", "poly", "precomputed"], [[1, -1], [-1, 1]]), 1, kind=lambda cell: cell[0])
)
def test_libsvm_two_classes(tmp_path: Path, kernel: str, order: list[int]) -> None:
    K = X @ X.T if kernel == "precomputed" else X
    machine = SVC(C=2.0, kernel=kernel, gamma=0.3, tol=1e-6).fit(K, TWO)
    path = libsvm(tmp_path / "a.model", machine, TWO, order)
    report = mo.audit(path, K, TWO, C=2.0)
    assert same(report, mo.audit(machine, K, TWO)) and 0.0 <= report.gap <= 1e-4
    assert report.violation <= 1e-9


def test_libsvm_coarse_tolerance_has_a_gap(tmp_path: Path) -> None:
    machine = SVC(C=50.0, gamma=0.3, tol=0.5).fit(X, TWO)
    assert mo.audit(str(libsvm(tmp_path / "a.model", machine, TWO, [1, -1])), X, TWO, C=50.0).gap >= 1e-4


def test_libsvm_several_classes_in_the_order_of_the_file(tmp_path: Path) -> None:
    machine = SVC(C=2.0, gamma=0.3).fit(X, THREE)
    report = mo.audit(libsvm(tmp_path / "a.model", machine, THREE, [0, 1, 2]), X, THREE, C=2.0)
    theirs = mo.audit(machine, X, THREE)
    assert len(report) == 3
    assert all(same(report[name], theirs[name]) for name in ("0, 1", "0, 2", "1, 2"))
    renamed = np.array([2, 0, 1])[THREE]  # the file's classes in an order that is not sorted
    again = mo.audit(libsvm(tmp_path / "b.model", machine, renamed, [2, 0, 1]), X, renamed, C=2.0)
    assert same(again["2, 0"], theirs["0, 1"]) and same(again["0, 1"], theirs["1, 2"])


def test_libsvm_other_machines(tmp_path: Path) -> None:
    regression = SVR(C=0.7, epsilon=0.2, gamma=0.3).fit(X, Y)
    path = libsvm(tmp_path / "r.model", regression, None)
    assert same(mo.audit(path, X, Y, C=0.7, epsilon=0.2), mo.audit(regression, X, Y))
    one = OneClassSVM(nu=0.3, gamma=0.3).fit(X)
    assert same(mo.audit(libsvm(tmp_path / "o.model", one, None), X), mo.audit(one, X))
    tube = NuSVR(C=0.7, nu=0.4, gamma=0.3, tol=1e-6).fit(X, Y)
    path = libsvm(tmp_path / "t.model", tube, None)
    assert same(mo.audit(path, X, Y, C=0.7, nu=0.4), mo.audit(tube, X, Y)) and mo.audit(tube, X, Y).gap <= 1e-5
    nu = NuSVC(nu=0.3, gamma=0.3).fit(X, TWO)
    assert same(mo.audit(libsvm(tmp_path / "n.model", nu, TWO, [1, -1]), X, TWO, nu=0.3), mo.audit(nu, X, TWO))


def liblinear(path: Path, machine: Any, kind: str, order: list[int]) -> Path:
    """Write the machine as ``save_model`` does."""
    W, scale = np.atleast_2d(machine.coef_), machine.intercept_scaling
    columns = np.column_stack([W, np.ravel(machine.intercept_) / scale]) if machine.fit_intercept else W
    if len(order) == 2 and order[0] != machine.classes_[1]:
        columns = -columns
    label = f"label {' '.join(map(str, order))}\n" if order else ""
    head = f"solver_type {kind}\nnr_class {max(len(order), 2)}\n{label}nr_feature {W.shape[1]}\n"
    rows = "\n".join(" ".join(f"{v:.17g}" for v in row) + " " for row in columns.T)
    path.write_text(f"{head}bias {scale if machine.fit_intercept else -1:g}\nw\n{rows}\n")
    return path


LINEAR = [
    (LinearSVC(loss="hinge", C=0.5, intercept_scaling=2.0, random_state=0), "L2R_L1LOSS_SVC_DUAL", TWO),
    (LinearSVC(C=0.5, fit_intercept=False, random_state=0), "L2R_L2LOSS_SVC_DUAL", TWO),
    (LinearSVC(C=0.5, random_state=0), "L2R_L2LOSS_SVC", THREE),
    (LinearSVC(penalty="l1", dual=False, C=0.5, random_state=0), "L1R_L2LOSS_SVC", TWO),
    (LogisticRegression(solver="liblinear", C=0.5, random_state=0), "L2R_LR", TWO),
    (LinearSVR(C=0.5, epsilon=0.2, random_state=0), "L2R_L1LOSS_SVR_DUAL", Y),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("machine", "kind", "y"), LINEAR, ids=[f"{case[1]}-{k}" for k, case in enumerate(LINEAR)])
def test_liblinear(tmp_path: Path, machine: Any, kind: str, y: np.ndarray) -> None:
    machine.fit(X, y)
    more = {"epsilon": 0.2} if y is Y else {}
    theirs = mo.audit(machine, X, y)
    orders = [[]] if y is Y else [[0, 1, 2]] if y is THREE else [[1, -1], [-1, 1]]
    for order in orders:
        report = mo.audit(liblinear(tmp_path / "m", machine, kind, order), X, y, C=0.5, **more)
        if y is THREE:
            assert all(same(report[name], theirs[name]) for name in ("0, rest", "1, rest", "2, rest"))
        else:
            assert same(report, theirs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_crammer_and_singer(tmp_path: Path, y: np.ndarray) -> None:
    machine = LinearSVC(multi_class="crammer_singer", C=0.5, intercept_scaling=2.0, random_state=0, max_iter=100_000).fit(X, y)
    report = mo.audit(machine, X, y)
    assert 0.0 <= report.gap <= 1e-2
    if y is THREE:
        order = [0, 1, 2]
        assert same(mo.audit(liblinear(tmp_path / "m", machine, "MCSVM_CS", order), X, y, C=0.5), report)
    machine.coef_ *= 1.5
    worse = mo.audit(machine, X, y)
    assert worse.bound == report.bound and worse.gap > 10.0 * report.gap


def test_a_nu_svr_that_stopped_early_has_a_gap() -> None:
    coarse, fine = (mo.audit(NuSVR(C=20.0, nu=0.4, gamma=0.3, tol=tol).fit(X, Y), X, Y) for tol in (0.3, 1e-8))
    assert fine.gap <= 1e-6 < 1e-3 < coarse.gap
    assert fine.bound <= coarse.value and coarse.bound <= fine.value


def test_pickles_are_read_without_their_code(tmp_path: Path) -> None:
    path, machine = tmp_path / "a.model", make_pipeline(StandardScaler(), SVC()).fit(X, TWO)
    path.write_bytes(pickle.dumps(machine))
    assert same(mo.audit(path, X, TWO), mo.audit(machine, X, TWO))
    path.write_bytes(pickle.dumps(print))
    for file in (path, tmp_path / "none.pkl"):
        with pytest.raises(DataError):
            mo.audit(file, X, TWO)


def test_the_command_audits_a_model_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = SVC(C=2.0, gamma=0.3, tol=1e-6).fit(X, TWO)
    path, data = libsvm(tmp_path / "a.model", machine, TWO, [1, -1]), tmp_path / "train"
    dump_svmlight_file(X, TWO, str(data), zero_based=False)
    assert main(["audit", str(path), str(data), "--C", "2", "--tol", "1e-3", "--json"]) == 0
    assert same(SimpleNamespace(**json.loads(capsys.readouterr().out)), mo.audit(machine, X, TWO))
    assert main(["audit", str(path), str(data), "--C", "2", "--tol", "1e-12"]) == 1
    assert main(["audit", str(path), str(data)]) == 2  # no C
    assert main(["audit", str(path), str(path), "--C", "2"]) == 2
    assert main(["audit", str(path), str(tmp_path / "none"), "--C", "2"]) == 2


def test_files_that_are_wrong(tmp_path: Path) -> None:
    machine = SVC(C=2.0, gamma=0.3).fit(X, TWO)
    path = libsvm(tmp_path / "a.model", machine, TWO, [1, -1])
    for wrong in (
        lambda: mo.audit(path, X, TWO),  # no C
        lambda: mo.audit(path, X + 1.0, TWO, C=2.0),
        lambda: mo.audit(path, X, -TWO, C=2.0),
        lambda: mo.audit(tmp_path / "none", X, TWO, C=2.0),
        lambda: mo.audit(machine, X, TWO, C=2.0),
        lambda: mo.audit([], X, TWO),
    ):
        with pytest.raises(InputError):
            wrong()
    text = path.read_text()
    for damaged in ("", "hello\nSV\n", text.replace("c_svc", "nu_svr"), text.replace("rho", "rh"), text[: len(text) // 2]):
        path.write_text(damaged)
        with pytest.raises(InputError):
            mo.audit(path, X, TWO, C=2.0)


def foreign(package: str, name: str, **attributes: Any) -> Any:
    """A fitted machine of a class of this name in a package that need not be there."""
    from sklearn.base import BaseEstimator

    kind = types.new_class(name, (BaseEstimator,), exec_body=lambda body: body.update(fit=lambda self, X, y: self))
    kind.__module__ = f"{package}.svm"
    machine = kind()
    vars(machine).update(attributes)
    return machine


@pytest.mark.parametrize("package", ["sklearnex", "cuml", "thundersvm"])
def test_kernel_machines_by_their_attributes(package: str) -> None:
    machine = SVC(C=2.0, gamma="scale").fit(X, TWO)
    shared = {"kernel": "rbf", "gamma": "scale", "C": 2.0, "degree": 3, "coef0": 0.0, "support_": machine.support_}
    sign = -1.0 if package == "thundersvm" else 1.0
    theirs = foreign(
        package, "SVC", **shared, class_weight={} if sign < 0 else None, dual_coef_=machine.dual_coef_.astype(np.float32),
        intercept_=sign * machine.intercept_,
    )  # fmt: skip
    report = mo.audit(theirs, X, TWO)
    assert np.allclose([report.value, report.bound], [(audited := mo.audit(machine, X, TWO)).value, audited.bound], rtol=1e-5)
    with pytest.raises(InputError):
        mo.audit(theirs, X, np.where(np.arange(60) % 2, 1, -1))
    with pytest.raises(InputError):
        mo.audit(foreign(package, "KNN", coef_=np.ones(2)), X, TWO)
    regression = SVR(C=2.0, gamma=0.3).fit(X, Y)
    shared |= {"gamma": 0.3, "epsilon": 0.1, "support_": regression.support_, "dual_coef_": regression.dual_coef_}
    assert same(
        mo.audit(foreign(package, "SVR", **shared, intercept_=sign * regression.intercept_), X, Y), mo.audit(regression, X, Y)
    )


def test_snap_ml_by_its_attributes() -> None:
    machine = LinearSVC(loss="hinge", C=0.25, random_state=0, max_iter=100_000).fit(X, TWO)
    shared = {"kernel": "linear", "normalize": False, "loss": "hinge", "fit_intercept": True, "intercept_scaling": 1.0}
    theirs = foreign(
        "snapml", "SupportVectorMachine", **shared, regularizer=4.0, class_weight=None, coef_=machine.coef_,
        intercept_=machine.intercept_,
    )  # fmt: skip
    assert same(mo.audit(theirs, X, TWO), mo.audit(machine, X, TWO))


@pytest.mark.filterwarnings("ignore")
def test_a_limit_that_would_suffice_suffices() -> None:
    few = LinearSVC(loss="hinge", C=1.0, max_iter=2, random_state=0, tol=1e-9).fit(X, TWO)
    report = mo.audit(few, X, TWO)
    assert report.gap > 1e-4 and "too small" in report.advice
    limit = int(report.advice.split(": ")[1].split()[0].replace(",", ""))
    more = LinearSVC(loss="hinge", C=1.0, max_iter=limit, random_state=0, tol=1e-9).fit(X, TWO)
    assert limit > 2 and mo.audit(more, X, TWO).gap <= 1e-4


@pytest.mark.filterwarnings("ignore")
def test_a_limit_that_helps_nothing_is_no_advice() -> None:
    """Stochastic steps on columns of 1e3 and 1e-2 stay where they are, whatever the limit."""
    columns = np.column_stack([5e3 + 1e3 * X[:, 0], 1e-2 * X[:, 1]])
    report = mo.audit(SGDClassifier(max_iter=5, tol=None, random_state=0).fit(columns, TWO), columns, TWO)
    assert report.gap > 0.5 and "too small" not in report.advice


def test_many_machines_are_one_table() -> None:
    machines = {"svc": SVC().fit(X, TWO), "three": SVC().fit(X, THREE)}
    two = mo.audit({"svc": machines["svc"]}, X, TWO)
    assert list(two.audits) == ["svc"] and two["svc"].value == mo.audit(machines["svc"], X, TWO).value
    assert list(mo.audit({"a": machines["three"]}, X, THREE).audits) == ["a: 0, 1", "a: 0, 2", "a: 1, 2"]
    assert len(mo.audit([machines["svc"], LinearSVC().fit(X, TWO)], X, TWO)) == 2


@pytest.mark.filterwarnings("ignore")
def test_a_second_fit_that_fails_leaves_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a larger limit scikit-learn may refuse its own multipliers (not finite): the audit is of the given machine."""
    machine = LinearSVC(loss="hinge", C=1.0, max_iter=1, random_state=0, tol=1e-9).fit(X, TWO)
    before = mo.audit(machine, X, TWO)

    def fails(*_: object, **__: object) -> None:
        raise ValueError("The dual coefficients or intercepts are not finite.")

    monkeypatch.setattr(LinearSVC, "fit", fails)
    after = mo.audit(machine, X, TWO)
    assert (after.value, after.bound) == (before.value, before.bound) and after.advice != before.advice
