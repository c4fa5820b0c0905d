"""The sentences of errors, pinned once: logic tests look for the names in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import MarginoptError, MissingPackageError
from marginopt.relaxations import relax
from marginopt.solvers.registry import get_solver

X = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 3.0], [1.0, -1.0, 0.5], [1.0, -2.0, -1.0]])
Y = np.array([1.0, 1.0, -1.0, -1.0])
HINGE = mo.HingeSVM(X, Y, 1.0)

SENTENCES: list[tuple[Callable[[], object], str]] = [
    (lambda: mo.HingeSVM(X, Y, 0.0), "lam must be > 0; it is 0"),
    (lambda: mo.HingeSVM(X, Y, np.float64(0.0)), "lam must be > 0; it is 0"),
    (lambda: mo.ZeroOneSVM(X, Y, 1.0, big_m=-1.0), "big_m must be ≥ 0; it is -1"),
    (lambda: mo.ZeroOneSVM(X, Y, 1.0, intercept="none"), "intercept must be 'penalised' or 'free'; it is 'none'"),
    (lambda: mo.ConicSVM(X, Y, kappa=1.5), "kappa must be in [0, 1], a fraction of the points; it is 1.5"),
    (lambda: mo.L2SVMDual(X, Y, 0.0), "C must be a finite number > 0; it is 0"),
    (lambda: mo.RBF(0.0), "gamma must be a finite number > 0; it is 0"),
    (lambda: mo.Polynomial(1.5, 1.0), "degree must be an integer ≥ 1; it is 1.5"),
    (lambda: mo.solve(HINGE, "clarabel", time_limit=0), "time_limit must be a number > 0; it is 0"),
    (lambda: mo.solve(HINGE, "clarabel", tol=0.0), "tol must be a number > 0; it is 0.0"),
    (lambda: mo.solve(HINGE, "clarabel", seed=-1), "seed must be an integer ≥ 0; it is -1"),
    (lambda: mo.solve(HINGE, "clarabel", threads=0), "threads must be an integer ≥ 1; it is 0"),
    (lambda: mo.solve(HINGE, "clarabell"), "there is no solver 'clarabell'; did you mean clarabel? known: auto"),
    (lambda: mo.solve(HINGE, "clarabel", toll=1.0), "clarabel has no option 'toll'; did you mean tol?"),
    (lambda: relax(mo.ZeroOneSVM(X, Y, 1.0), "conik"), "there is no relaxation 'conik'; did you mean conic?"),
    (lambda: mo.Margin(X, Y, "hing"), "did you mean hinge"),
    (lambda: mo.ConicSVM(X, Y, lam=1.0, kappa=0.1), "give exactly one of lam (the λ form) and kappa (the κ form, Σz ≤ κn)"),
    (lambda: mo.Margin(X[:, 1:], Y, "zero-one", intercept="free"), "intercept='free' needs a first column of ones in X"),
    (lambda: mo.Margin(X, Y, "hinge", domain=mo.margin.Box(1.0, 0.0)), "a lower bound must not be above its upper bound"),
    (lambda: mo.Margin(X, Y, {"a": "hinge"}), "a loss for each group, loss={name: loss, ...}, and groups=,"),
    (lambda: mo.HingeSVM(X, Y[:3], 1.0), "y must have shape (4,), one label for each row of X; it has (3,)"),
    (lambda: mo.HingeSVM(X, np.ones(4), 1.0), "y must hold both classes; every label is +1"),
    (lambda: mo.HingeSVM(X[:, 0], Y, 1.0), "X must have two dimensions (rows are samples); it has shape (4,)"),
    (
        lambda: mo.HingeSVM(np.where(X == 3.0, np.nan, X), Y),
        "X must be finite; it has 1 NaN or infinite values, the first at",
    ),
    (lambda: HINGE.with_fixed({"b": 0.0}), "no block 'b'; there are w, xi"),
    (lambda: HINGE.with_fixed({"xi": {2: -1.0}}), "xi[2] cannot be fixed at -1, which is outside its bounds: it is in [0, inf]"),
    (lambda: HINGE.with_fixed({"w": np.ones(2)}), "w must have shape (3,), or be given by {index: number}; it has shape (2,)"),
    (lambda: mo.solve(mo.ZeroOneSVM(X, Y, 1.0), "clarabel"), "does not read integer variables. Solvers that can: "),
    (lambda: mo.solve(HINGE, "clarabel", start={"v": np.ones(3)}), "start: the form has no block 'v'; it has w, xi"),
    (
        lambda: mo.solve(HINGE, "clarabel", start={"w": np.ones(2)}),
        "start['w'] must hold 3 finite numbers, shape (3,); it has",
    ),
    (lambda: mo.path(HINGE, "kapa", [1.0]), "HingeSVM has no parameter 'kapa'; it has lam, and 'fixed'"),
    (lambda: mo.path(HINGE.form, "lam", [1.0]), "a path needs a formulation, whose parameters have names; got StandardForm"),
    (lambda: mo.path(HINGE, "lam", [1.0], solver="clarabel", jobs=2, update=True), "with jobs or cluster give update=False"),
    (lambda: mo.read("nowhere.npz"), "no such file: nowhere.npz"),
    (lambda: mo.load("wbdc"), "no data set is called 'wbdc'; did you mean wdbc? Files are read by read(path)"),
    (lambda: mo.compare(HINGE, []), "solvers must be a list of solvers (names, objects, pairs of either with options); it is []"),
    (lambda: relax(HINGE, "conic"), "conic SDP does not read this HingeSVM: it relaxes a ZeroOneSVM"),
    (lambda: mo.from_qp(np.eye(2), np.ones(3)), "P must have shape (3, 3), as q has 3 entries; it has (2, 2)"),
    (lambda: mo.MEBDual(X, mo.Precomputed()), "kernel=Precomputed() needs X to be the n × n kernel matrix; its shape is (4, 3)"),
    (lambda: mo.gap_report(HINGE), "a report takes a list or a mapping of problems: put the HingeSVM in a list"),
    (lambda: mo.performance_profile({}), "a performance profile needs a comparison, one at least"),
    (lambda: HINGE.write("model.doc"), "no file format for 'model.doc'; the suffixes are .cbf, "),
    (lambda: mo.estimators.HingeSVC().fit(X, np.ones(4)), "y must hold at least two classes; it has one class: 1.0"),
    (lambda: mo.estimators.ConicSVC(lam=1.0, kappa=0.1).fit(X, Y), "give lam or kappa, not both; lam=1.0, kappa=0.1"),
    (
        lambda: mo.estimators.HingeSVCCV(cv=1).fit(X, Y),
        "cv=1 folds need cv ≥ 2 and two points in every class",
    ),
    (
        lambda: mo.solve(HINGE, "clarabel").verify(mo.HingeSVM(X, Y, 2.0)),
        "of other data or parameters than the model (lam: 1,",
    ),
    (lambda: mo.solvers.conflict(HINGE), "HingeSVM has a point, or no proof that it has none was found by highs"),
    (lambda: mo.fixed([1.0]), "fixed coefficients are a mapping of index to value, {3: 0.0}; they are [1.0]"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "sentence"), SENTENCES, ids=[sentence[:40] for _, sentence in SENTENCES])
def test_a_sentence(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(MarginoptError) as caught:
        call()
    assert sentence in str(caught.value)
    assert "np.float64" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_package_that_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingPackageError, match=r"is not installed.*pip install"):
        mo.solve(HINGE, get_solver("clarabel"))
