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
