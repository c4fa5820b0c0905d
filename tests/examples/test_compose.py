"""The problems of examples/compose: stated, printed, solved by two solvers, and equal to independent statements of them."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from effort import part
from sklearn.svm import SVR, NuSVC, OneClassSVM

import marginopt as mo
from marginopt.errors import LicenceError, MissingPackageError

FILE = Path(__file__).parents[2] / "examples" / "compose" / "problems.py"
#: Two solvers for each that is solved in a moment; the others are tested beside their statements.
SOLVED = {
    "fair L1-SVM": ("clarabel", "highs"),
    "elastic-net squared hinge": ("clarabel", "piqp"),
    "conic loss": ("clarabel", "scs"),
    "kernel 0-1": ("scip", "auto"),
    "parity by counts": ("scip", "auto"),
    "SVDD": ("clarabel", "piqp"),
    "Crammer-Singer": ("clarabel", "piqp"),
    "a changed hinge SVM": ("clarabel", "piqp"),
}


def problems() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compose_problems", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_every_problem_is_stated_printed_and_compiled() -> None:
    stated = problems().PROBLEMS
    assert len(stated) >= 16
    assert set(SOLVED) <= set(stated)
    for name, state in stated.items():
        model = state()
        assert model.statement.title in str(model), name
        assert r"\begin{aligned}" in model.latex()
        assert model.form.n > 0


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("name", SOLVED)
def test_two_solvers_agree(name: str) -> None:
    model = problems().PROBLEMS[name]()
    first, second = (mo.solve(model, solver, time_limit=60) for solver in SOLVED[name])
    assert first.solved
    assert second.objective == pytest.approx(first.objective, rel=1e-3)


# -- the literature, stated by other means --------------------------------------------------------------------------------


def value(cost: Any, rows: list[Any], solver: str = "CLARABEL") -> float:
    problem = cp.Problem(cp.Minimize(cost), rows)
    problem.solve(solver=solver)
    return float(problem.value)


def fair_l1(X: Any, y: Any, group: Any) -> float:
    w = cp.Variable(4)
    covariance = (group - group.mean()) @ X / 40
    return value(cp.norm1(w[1:]) + cp.sum(cp.pos(1 - cp.multiply(y, X @ w))), [cp.abs(covariance @ w) <= 0.02])


def elastic_net(X: Any, y: Any) -> float:
    w = cp.Variable(4)
    return value(0.3 * cp.norm1(w) + 0.2 * cp.sum_squares(w) + cp.sum(cp.square(cp.pos(1 - cp.multiply(y, X @ w)))), [])


def monotone(X: Any, y: Any) -> float:
    w = cp.Variable(4)
    return value(cp.sum_squares(w[1:]) / 2 + cp.sum(cp.pos(1 - cp.multiply(y, X @ w))), [w[1] >= 0, w[2] >= 0])


def nu_svm(X: Any, y: Any) -> float:
    """scikit-learn solves the dual with 0 ≤ α ≤ 1, Σα = νn, and divides (w, b, α) by its ρ: α y / ρ, so ρ = νn/Σ|α/ρ|."""
    fitted = NuSVC(nu=0.6, kernel="linear", tol=1e-9).fit(X[:, 1:], y)
    alpha = fitted.dual_coef_[0] * (0.6 / np.abs(fitted.dual_coef_[0]).sum())
    return -float(((alpha @ fitted.support_vectors_) ** 2).sum()) / 2


def one_class(X: Any) -> float:
    """The dual's value: α in [0, 1/n] sums to ν; scikit-learn's is νn times as large."""
    fitted = OneClassSVM(nu=0.4, kernel="linear", tol=1e-9).fit(X[:, 1:] + 2)
    alpha = fitted.dual_coef_[0] * (0.4 / fitted.dual_coef_[0].sum())
    return -float(((alpha @ fitted.support_vectors_) ** 2).sum()) / 2


def svr(X: Any, target: Any) -> float:
    fitted = SVR(C=2.0, epsilon=0.3, kernel="linear", tol=1e-9).fit(X[:, 1:], target)
    residuals = np.abs(target - fitted.predict(X[:, 1:]))
    return float((fitted.coef_**2).sum() / 2 + 2.0 * np.maximum(residuals - 0.3, 0.0).sum())


def svdd(X: Any) -> float:
    """The ball itself: its squared radius, and what is outside of it, at 1/(νn) each."""
    center, square = cp.Variable(3), cp.Variable(nonneg=True)
    out = cp.hstack([cp.pos(cp.sum_squares(x - center) - square) for x in X[:, 1:]])
    return value(square + 0.125 * cp.sum(out), [])


def counted(X: Any, y: Any, price: float, rows: Callable[[Any, Any], list[Any]]) -> float:
    """min ||w||² + price·(margins below 1), switched by M = 1 + ||x|| √n: w = 0 costs at most n."""
    w, z = cp.Variable(4), cp.Variable(40, boolean=True)
    M = 1 + np.linalg.norm(X, axis=1) * np.sqrt(40.0)
    return value(cp.sum_squares(w) + price * cp.sum(z), [cp.multiply(y, X @ w) >= 1 - cp.multiply(M, z), *rows(w, z)], "SCIP")


def sparse(X: Any, y: Any) -> float:
    """The least over all supports of three of the four coefficients."""
    return min(counted(X, y, 1.0, lambda w, z, j=j: [w[j] == 0]) for j in range(4))


def neyman_pearson(X: Any, y: Any) -> float:
    return counted(X, y, 0.5, lambda w, z: [cp.sum(z[:20]) <= 2])


def ramp_l1(X: Any, y: Any) -> float:
    """w = 0 costs 80 at most, and half of the L1 norm is no more: x'w is within 160 max|x_ij|, and b need reach no farther."""
    w, z, xi = cp.Variable(4), cp.Variable(40, boolean=True), cp.Variable(40)
    M = 2.0 + 2 * 160.0 * np.abs(X[:, 1:]).max()
    rows = [cp.multiply(y, X @ w) + xi + M * z >= 1, xi >= 0, xi <= 2]
    return value(cp.norm1(w[1:]) / 2 + cp.sum(xi + 2 * z), rows, "HIGHS")


def scoring(X: Any, y: Any) -> float:
    """All 11⁴ systems."""
    systems = np.array(list(itertools.product(range(-5, 6), repeat=4)), dtype=float)
    errors = (y[:, None] * (np.round(X) @ systems.T) < 1).sum(axis=0)
    return float((0.01 * (systems[:, 1:] != 0).sum(axis=1) + errors / 40).min())


def crammer_singer(X: Any, labels: Any) -> float:
    W = cp.Variable((3, 4))
    scores = X @ W.T
    worst = [cp.max(scores[i] + (np.arange(3) != labels[i])) - scores[i, labels[i]] for i in range(40)]
    return value(cp.sum_squares(W) / 2 + 2.0 * cp.sum(cp.hstack(worst)), [])


#: The independent statement, two solvers of others, and ours where one reads it.
LITERATURE: dict[str, tuple[Callable[[ModuleType], float], tuple[str, ...]]] = {
    "fair L1-SVM": (lambda p: fair_l1(p.X, p.y, p.group), ("highs", "clarabel")),
    "elastic-net squared hinge": (lambda p: elastic_net(p.X, p.y), ("clarabel", "piqp")),
    "monotone SVM": (lambda p: monotone(p.X, p.y), ("clarabel", "highs")),
    "nu-SVM": (lambda p: nu_svm(p.X, p.y), ("clarabel", "piqp")),
    "one-class SVM": (lambda p: one_class(p.X), ("clarabel", "piqp")),
    "SVDD": (lambda p: svdd(p.X), ("clarabel", "highs")),
    "epsilon-SVR": (lambda p: svr(p.X, p.target), ("clarabel", "osqp")),
    "sparse 0-1": (lambda p: sparse(p.X, p.y), ("scip", "gurobi")),
    "Neyman-Pearson 0-1": (lambda p: neyman_pearson(p.X, p.y), ("scip", "gurobi")),
    "ramp with L1": (lambda p: ramp_l1(p.X, p.y), ("highs", "scip", "margin-bb")),
    "scoring system": (lambda p: scoring(p.X, p.y), ("highs", "scip", "supports-bb")),
    "Crammer-Singer": (lambda p: crammer_singer(p.X, p.group + (p.y > 0)), ("clarabel", "piqp")),
}


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("name", part(LITERATURE, 6))
def test_problems_of_the_literature_equal_independent_statements(name: str) -> None:
    """On the example's own data; a commercial solver that is missing or not licensed is left out."""
    stated = problems()
    independent, solvers = LITERATURE[name]
    least = independent(stated)
    model, answered = stated.PROBLEMS[name](), 0
    for solver in solvers:
        try:
            result = mo.solve(model, solver, tol=1e-7, time_limit=60)
        except (LicenceError, MissingPackageError):
            continue
        answered += 1
        assert result.objective == pytest.approx(least, rel=2e-5), solver
        assert result.bound <= least + 2e-5 * (1 + abs(least)), solver
    assert answered >= 1
