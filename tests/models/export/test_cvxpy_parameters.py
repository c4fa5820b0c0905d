"""Parameters of CVXPY problems: every value gives the model's own optimum, and nothing is compiled again. Indicators as rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import part
from facts import about

import marginopt as mo
from marginopt.errors import ExportError, InputError, UnsupportedModelError
from marginopt.models import Block, Constraint, Indicator, StandardForm

cvxpy = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def data(n: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return np.column_stack([np.ones(n), (rng.random((n, 2)) < 0.5) + 0.3 * y[:, None], 1e2 + rng.normal(size=n)]), y


X, Y = data()
CASES: dict[str, tuple[str, tuple[float, ...], Callable[[float], mo.Model]]] = {
    "hinge, lam": ("lam", (1.0, 0.3, 7.0), lambda lam: mo.HingeSVM(X, Y, lam=lam)),
    "l1 dual, C": ("C", (1.0, 0.3, 2.5), lambda C: mo.L1SVMDual(X, Y, C=C)),
    "l2 dual, C": ("C", (1.0, 0.25, 30.0), lambda C: mo.L2SVMDual(X, Y, C=C)),
    "hulls, C": ("C", (1.0, 0.25, 30.0), lambda C: mo.ConvexHullsDual(X, Y, C=C)),
    "0-1, lam": ("lam", (1.0, 0.4, 3.0), lambda lam: mo.ZeroOneSVM(X, Y, lam=lam, big_m=50.0)),
    "0-1, lam, free intercept": (
        "lam",
        (1.0, 0.4, 3.0),
        lambda lam: mo.ZeroOneSVM(X[:, :3], Y, lam=lam, intercept="free", big_m=50.0),
    ),
    "ramp, lam": ("lam", (1.0, 0.4, 3.0), lambda lam: mo.RampSVM(X[:, :3], Y, lam=lam, big_m=50.0)),
    "0-1, kappa": ("kappa", (0.5, 0.4, 0.66, 0.99), lambda kappa: mo.ZeroOneSVM(X, Y, kappa=kappa, big_m=50.0)),
}


@pytest.mark.parametrize("name", part(CASES, 3))
def test_a_sweep_solves_each_model_and_compiles_once(name: str) -> None:
    parameter, values, make = CASES[name]
    problem, compiled = make(values[0]).to_cvxpy(parameters=(parameter,)), set()
    assert problem.is_dpp()
    for value in values:
        problem.param_dict[parameter].value = value
        model = make(value)
        solver = cvxpy.SCIP if model.form.integer.any() else cvxpy.CLARABEL
        problem.solve(solver=solver)
        compiled.add(id(problem._cache.param_prog))
        sign = -1.0 if model.form.maximise else 1.0
        assert problem.value == pytest.approx(sign * mo.solve(model).objective, rel=1e-4, abs=1e-6)
    assert len(compiled) == 1


def test_the_problem_begins_at_the_model_s_value() -> None:
    for parameter, values, make in CASES.values():
        model = make(values[1])
        problem, plain = model.to_cvxpy(parameters=[parameter]), model.to_cvxpy()
        assert problem.param_dict[parameter].value == values[1]
        rng = np.random.default_rng(1)
        others = {variable.name(): variable for variable in plain.variables()}
        for left in problem.variables():
            right = others[left.name()]
            left.value = right.value = np.round(rng.random(left.shape)) if left.attributes["boolean"] else rng.random(left.shape)
        assert problem.objective.value == pytest.approx(plain.objective.value, rel=1e-9)
        for left, right in zip(problem.constraints, plain.constraints, strict=True):
            np.testing.assert_allclose(left.violation(), right.violation(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["mu", "X", "intercept"])
def test_what_is_no_positive_number_is_no_parameter(name: str) -> None:
    with pytest.raises(InputError):
        mo.HingeSVM(X, Y).to_cvxpy(parameters=(name,))


def test_forms_have_no_parameters_and_names_come_once() -> None:
    model = mo.HingeSVM(X, Y)
    for call in (lambda: model.form.to_cvxpy(parameters=("lam",)), lambda: model.to_cvxpy(parameters=("lam", "lam"))):
        with pytest.raises(InputError):
            call()


def test_constants_that_follow_from_the_parameter_are_refused() -> None:
    """The big M of known points is a root of λ: no line."""
    with pytest.raises(UnsupportedModelError, check=about("lam")):
        mo.ZeroOneSVM(X, Y, lam=1.0).to_cvxpy(parameters=("lam",))


def switched(lower: float, upper: float) -> StandardForm:
    """min w subject to a = 0 → w ≥ 2, and a priced at 1: 2 with a = 0, or the lower bound + 1."""
    F = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    rows = Constraint("switch", F, np.array([0.0, -2.0]), Indicator(2, 1))
    blocks = (Block("w", ()), Block("a", ()))
    return StandardForm(
        "switched", blocks, np.ones(2), (rows,), np.array([lower, 0.0]), np.array([upper, 1.0]), np.array([False, True])
    )


@pytest.mark.parametrize(("lower", "optimum"), [(-3.0, -2.0), (1.5, 2.0)])
def test_indicators_are_rows_with_a_big_m(lower: float, optimum: float) -> None:
    problem: Any = switched(lower, 5.0).to_cvxpy()
    problem.solve(solver=cvxpy.SCIP)
    assert problem.value == pytest.approx(optimum, abs=1e-6)


def test_indicators_without_bounds_are_refused() -> None:
    with pytest.raises(ExportError, check=about("big_m")):
        switched(-np.inf, 5.0).to_cvxpy()


def test_the_ramp_loss_with_indicators_has_its_own_optimum_in_cvxpy() -> None:
    model = mo.RampSVM(X[:8], Y[:8], lam=1.0, encoding="indicator")
    problem = model.to_cvxpy()
    problem.solve(solver=cvxpy.SCIP)
    assert problem.value == pytest.approx(mo.solve(model, "scip").objective, rel=1e-4)
