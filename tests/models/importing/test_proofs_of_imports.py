"""An import is compared with its source, and what its source refutes is not claimed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from facts import about, subjects

import marginopt as mo
from marginopt.errors import MarginoptWarning
from marginopt.models import StandardForm
from marginopt.models.importing import cvxpy as cvxpy_import
from marginopt.models.importing.source import Import

X = np.array([[1.0, 2.0], [1.0, -1.0]])
Y = np.array([1.0, -1.0])


def hinge() -> cp.Problem:
    w = cp.Variable(2, name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(w) + cp.sum(cp.pos(1 - cp.multiply(Y, X @ w)))), [cp.norm(w) <= 3])


@pytest.fixture
def inferred_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of CVXPY: bounds of auxiliary variables that it infers from 0 times infinity."""
    monkeypatch.setattr(cvxpy_import, "_plain_problem", lambda: cp.Problem)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.usefixtures("inferred_bounds")
def test_a_wrong_import_is_found_by_its_source() -> None:
    form = mo.from_cvxpy(hinge())
    (record,) = form.imports
    assert "in [1, 1]" in record.disagreement
    result = mo.solve(form, "clarabel")
    assert result.status is mo.Status.INACCURATE
    assert "cvxpy variable" in result.evidence


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.usefixtures("inferred_bounds")
def test_a_wrong_change_is_found_by_its_source() -> None:
    rng = np.random.default_rng(2)
    points = np.c_[np.ones(30), rng.normal(size=(30, 3))]
    y = np.where(points[:, 1] + rng.normal(size=30) > 0, 1.0, -1.0)
    model = mo.HingeSVM(points, y, lam=1.0).with_constraint(lambda v: [cp.sum(cp.pos(0.5 - cp.multiply(y, points @ v.w))) <= 14])
    result = mo.solve(model, "clarabel")
    assert result.status is mo.Status.INACCURATE


def pyomo_model() -> Any:
    m = pyo.ConcreteModel("small")
    m.x = pyo.Var(range(2), bounds=(-4, 5))
    m.low = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] >= 1)
    m.both = pyo.Constraint(expr=(-1, m.x[0] - m.x[1], 2))
    m.ball = pyo.Constraint(expr=m.x[0] ** 2 + m.x[1] ** 2 + m.x[0] <= 9)
    m.goal = pyo.Objective(expr=3 * m.x[0] + m.x[1] ** 2 + 1)
    return m


def highs_model() -> highspy.Highs:
    h = highspy.Highs()
    h.silent()
    x = h.addVariables(3, lb=0, ub=4, name_prefix="x")
    h.addConstr(x[0] + 2 * x[1] <= 4, name="cap")
    h.addConstr(x[0] + x[2] >= 3, name="low")
    h.minimize(x[0] + 3 * x[1] + 0.5 * x[2] + 2.0)
    return h


def gurobi_model() -> Any:
    gp = pytest.importorskip("gurobipy")
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    g, t = m.addVars(3, lb=0, ub=9, name="g"), m.addVar(ub=9, name="t")
    m.addConstr(g[0] + g[1] >= 1, name="sum")
    m.addConstr(g[0] ** 2 + g[1] ** 2 + g[2] ** 2 <= t**2, name="cone")
    m.addConstr(g[2] * g[2] + g[0] <= 3, name="parabola")
    m.setObjective(t + g[0] * g[0] - 0.5 * g[2], gp.GRB.MINIMIZE)
    m.update()
    return m


def scipy_form() -> StandardForm:
    return mo.from_scipy([1.0, -2.0], A_ub=[[1.0, 1.0]], b_ub=[3.0], A_eq=[[1.0, -1.0]], b_eq=[0.5], bounds=(0, 4))


IMPORTS: dict[str, Callable[[], StandardForm]] = {
    "CVXPY": lambda: mo.from_cvxpy(hinge()),
    "Pyomo": lambda: mo.from_pyomo(pyomo_model()),
    "HiGHS": lambda: mo.from_highs(highs_model()),
    "Gurobi": lambda: mo.from_gurobi(gurobi_model()),
    "SciPy": scipy_form,
}


@pytest.mark.parametrize("package", IMPORTS)
def test_every_import_is_compared_at_points_one_of_which_is_infeasible(package: str) -> None:
    form = IMPORTS[package]()
    (record,) = form.imports
    assert record.source.package == package
    assert record.disagreement == ""
    assert len(record.points) >= 3
    assert any(not there.feasible(there, 1e-9) for there in record.evaluations)
    assert all(there.rows for there in record.evaluations)
    result = mo.solve(form, "clarabel")
    assert (result.status, result.bound_kind) == (mo.Status.OPTIMAL, "proved")


def tampered(form: StandardForm, **changes: Any) -> StandardForm:
    """A form that is not its source's, compared with it."""
    source = form.imports[0].source
    held: Any = vars(source).get("_canonical") or vars(source)["_imported"]
    object.__setattr__(held, "form", form.replace(**changes))
    return source.form.with_import(Import.of(source))


@pytest.mark.parametrize("package", IMPORTS)
@pytest.mark.parametrize("fault", ["objective", "row", "constant"])
def test_another_number_in_an_import_is_found(package: str, fault: str) -> None:
    form = IMPORTS[package]()
    if fault == "objective":
        places = form.imports[0].source.variables
        form = tampered(form, q=form.q + 1e-6 * np.isin(np.arange(form.n), places[:1]))
    elif fault == "constant":
        form = tampered(form, r=form.r + 1e-6)
    else:
        k = next(k for k, c in enumerate(form.constraints) if "rows" not in c.label)
        c = form.constraints[k]
        moved = type(c)(c.label, c.F, c.g + 1e-6, c.cone)
        form = tampered(form, constraints=(*form.constraints[:k], moved, *form.constraints[k + 1 :]))
    assert form.imports[0].disagreement
    result = mo.solve(form, "clarabel")
    assert result.status is mo.Status.INACCURATE
    assert package in result.evidence


def test_a_point_of_the_source_refutes_infeasibility() -> None:
    """The form has a row more than its source, which the comparison of rows does not see."""
    form = IMPORTS["Pyomo"]()
    c = form.constraints[0]
    false = type(c)("false", -1.0 * c.F, -c.g - 1.0, c.cone)
    other = form.replace(constraints=(*form.constraints, false))
    held = other.with_import(Import.of(form.imports[0].source))
    result = mo.solve(held, "clarabel")
    assert result.status is mo.Status.INACCURATE
    assert "violates no constraint" in result.evidence


def test_a_point_of_the_source_refutes_a_bound() -> None:
    """HiGHS has solved its model: the optimum that it holds costs less than the bound of a form with a row more."""
    h = highs_model()
    h.run()
    form = mo.from_highs(h)
    c = form.constraints[0]
    false = type(c)("false", c.F * 0.0 + np.eye(3)[[1]], c.g * 0.0 - 1.0, c.cone)
    held = form.replace(constraints=(*form.constraints, false)).with_import(Import.of(form.imports[0].source))
    result = mo.solve(held, "clarabel")
    assert result.status is mo.Status.INACCURATE
    assert "HiGHS finds a feasible point" in result.evidence


@pytest.mark.parametrize("miss", [1e-24, 1e-12, 5e-10])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_a_point_that_misses_rows_by_rounding_refutes_no_proof(miss: float, scale: float) -> None:
    """Variables hold the point of another solver, feasible to its tolerance; an optimum of zero has no terms to measure it by."""
    for program in (
        lambda x: cp.Problem(cp.Maximize(cp.sum(x)), [scale * x <= 0]),
        lambda x: cp.Problem(cp.Minimize(cp.sum(x)), [scale * (1 - x) <= 0]),
    ):
        x = cp.Variable(2)
        problem = program(x)
        x.value = np.full(2, miss if isinstance(problem.objective, cp.Maximize) else 1.0 - miss)
        result = mo.solve(mo.from_cvxpy(problem), "highs")
        assert (result.status, result.bound_kind) == (mo.Status.OPTIMAL, "proved"), result.evidence


def test_a_point_that_misses_rows_by_rounding_is_none_of_an_infeasible_program() -> None:
    x = cp.Variable()
    x.value = 0.0
    form = mo.from_cvxpy(cp.Problem(cp.Minimize(x), [x >= 1e-10, x <= 0]))
    assert mo.solve(form, "highs").status is not mo.Status.INACCURATE


CANCELLING = np.array([[0.1, 0.2, -0.3], [0.7, -0.4, -0.3], [0.6, 0.1, -0.7]])


@pytest.mark.parametrize(
    "atom",
    [
        lambda v: cp.norm(v, "inf"),
        lambda v: cp.norm(v, 1),
        lambda v: cp.norm(v, 2),
        lambda v: cp.sum(cp.abs(v)),
        lambda v: cp.sum(cp.square(cp.pos(v))),
        lambda v: cp.max(v),
        lambda v: cp.sum(cp.huber(v, 0.5)),
        lambda v: cp.quad_over_lin(v, 1.0) + cp.max(cp.hstack([cp.norm(v, 2), v[0]])),
    ],
)
def test_terms_that_cancel_differ_by_rounding_alone(atom: Callable[[Any], Any]) -> None:
    x = cp.Variable(3, name="x")
    (record,) = mo.from_cvxpy(cp.Problem(cp.Minimize(atom(cp.multiply([1.0, -1.0, 1.0], CANCELLING @ x))))).imports
    places = record.source.variables
    directions = [np.ones(3), np.array([1.0, 1.0, 1.0 + 1e-15]), np.array([1.0, 1.0 - 3e-12, 1.0])]
    for size, direction in product([1e-16, 1e-9, 1.0, 1e8], directions):
        y = np.zeros(record.source.form.n)
        y[places] = size * direction
        assert record.difference_at(y) == ""


def test_violations_that_the_prices_of_a_bound_explain_are_no_contradiction() -> None:
    x = cp.Variable(2, nonneg=True)
    result = mo.solve(mo.from_cvxpy(cp.Problem(cp.Maximize(cp.sum(cp.log(x))), [cp.sum(x) <= 2])), "clarabel")
    assert result.objective == pytest.approx(0.0, abs=1e-9)
    assert "contradiction" not in result.evidence


def test_points_where_cvxpy_has_no_value_are_not_compared() -> None:
    """The perspective has none at s = 0, and says so by an assertion; its chain of reductions names a solver of CVXPY's."""
    x, s = cp.Variable(), cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.perspective(cp.square(x), s)), [s == 2, x >= 3])
    result = mo.solve(mo.from_cvxpy(problem), "clarabel")
    assert result.status is mo.Status.OPTIMAL
    assert result.objective == pytest.approx(4.5)


def test_an_import_that_its_package_cannot_evaluate_is_not_said_to_equal_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.square(x - 1)), [x >= 2])
    compared = mo.from_cvxpy(problem)
    assert all(record.was_compared for record in compared.imports)

    def raising(self: object) -> None:
        raise cp.error.SolverError("no licence")

    with monkeypatch.context() as patch:
        patch.setattr(type(problem.objective.expr), "value", property(raising))
        patch.setattr(type(problem.constraints[0].expr), "value", property(raising))
        patch.setattr(type(problem.constraints[0]), "violation", raising)
        form = mo.from_cvxpy(problem)
        result = mo.solve(form, "clarabel")
    assert not any(record.was_compared for record in form.imports)
    assert result.status is mo.Status.OPTIMAL and result.evidence != mo.solve(compared, "clarabel").evidence


def test_rows_and_columns_that_highs_refused_are_none() -> None:
    """HiGHS keeps the bounds and the cost of a row or column with an index twice, which it refuses."""
    h = highs_model()
    before = mo.solve(mo.from_highs(h), "clarabel").objective
    twice, ones = np.zeros(2, dtype=np.int32), np.ones(2)
    assert h.addRow(1e3, 1e4, 2, twice, ones) == highspy.HighsStatus.kError
    assert h.addCol(-1.0, 0.0, 9.0, 2, twice, ones) == highspy.HighsStatus.kError
    assert mo.solve(mo.from_highs(h), "clarabel").objective == pytest.approx(before)


def test_a_source_that_changed_later_is_not_compared_with_the_answer() -> None:
    m = pyomo_model()
    form = mo.from_pyomo(m)
    m.low.deactivate()
    m.x[0].setlb(-1)
    m.goal.expr = 5 * m.x[0]
    result = mo.solve(form, "clarabel")
    assert result.status is mo.Status.OPTIMAL
    assert "has changed in Pyomo" in result.evidence
    with pytest.warns(MarginoptWarning) as caught:
        result.into(m)
    assert subjects(caught) == ["problem"]


def test_parameters_of_cvxpy_are_those_of_the_import() -> None:
    x, p = cp.Variable(2, name="x"), cp.Parameter(nonneg=True, value=2.0)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + p * cp.norm1(x)), [p * x[0] >= 0.5])
    form = mo.from_cvxpy(problem)
    p.value = 7.0
    result = mo.solve(form, "clarabel")
    assert result.status is mo.Status.OPTIMAL
    assert p.value == 7.0
    assert result.evidence.startswith("proved of the import") and "CVXPY" in result.evidence


def test_a_proof_says_of_what_it_is_one() -> None:
    """Bounds and infeasibility are proved of the import; a claim has no such remark, nor has a program of our own."""
    x = cp.Variable(2, name="x", bounds=[-3.0, 3.0])
    for rows, proved in (([], True), ([x[0] + x[1] >= 7], True)):
        result = mo.solve(mo.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), rows)), "clarabel")
        assert result.status is (mo.Status.INFEASIBLE if rows else mo.Status.OPTIMAL)
        assert ("proved of the import" in result.evidence) is proved
    computed = mo.from_qp(np.eye(2), np.zeros(2), lb=-np.ones(2), ub=np.ones(2))
    assert "import" not in mo.solve(computed, "clarabel").evidence
    half = mo.from_qp(np.eye(2), np.zeros(2), lb=[-1.0, None], ub=[None, 2.0])
    assert half.lower.tolist() == [-1.0, -np.inf] and half.upper.tolist() == [np.inf, 2.0]
    with pytest.raises(mo.errors.InputError, check=about("ub")):
        mo.from_qp(np.eye(2), np.zeros(2), ub=[np.nan, 1.0])


def test_parameters_without_dpp_keep_labels_and_duals() -> None:
    x, p = cp.Variable(2, name="x"), cp.Parameter(nonneg=True, value=2.0)
    row = (cp.square(p) * x[0] >= 2.0).set_label("product")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [row])
    form = mo.from_cvxpy(problem)
    assert form.constraint("product").rows == 1
    mo.solve(form, "clarabel", tol=1e-9).into(problem)
    assert x.value[0] == pytest.approx(0.5, abs=1e-6)
    assert row.dual_value == pytest.approx(0.25, abs=1e-6)


def test_an_import_stays_in_its_process() -> None:
    form = mo.from_pyomo(pyomo_model())
    copy = pickle.loads(pickle.dumps(form))
    assert copy.equals(form)
    assert copy.imports == ()
    assert form.with_bounds(form.lower, form.upper).imports == ()


def kinds_of_variables() -> dict[str, cp.Problem]:
    """Variables that CVXPY reduces before it canonicalises, and constraints that stand twice."""
    rng = np.random.default_rng(0)
    C = rng.normal(size=(3, 3))
    C = C + C.T
    symmetric, small = {"symmetric": True, "name": "X"}, cp.Variable(2, name="v")
    bounded = cp.Variable((3, 3), bounds=[-np.ones((3, 3)), 2 * np.ones((3, 3))], **symmetric)
    sign = cp.Variable((3, 3), nonneg=True, **symmetric)
    definite = cp.Variable((3, 3), PSD=True, nonneg=True, name="X")
    diagonal = cp.Variable((3, 3), diag=True, name="X")
    complex_ = cp.Variable(2, complex=True, name="z")
    hermitian = cp.Variable((2, 2), hermitian=True, name="H")
    level = cp.Parameter(3, value=np.array([0.1, 0.2, 0.3]))
    floor = cp.Variable(3, bounds=[level, None], name="x")
    twice, t = small >= 1, cp.Variable(2, name="t")
    turned = np.array([[1, 1j], [-1j, 0]])
    return {
        "symmetric, bounded": cp.Problem(cp.Minimize(cp.trace(C @ bounded))),
        "symmetric, nonnegative": cp.Problem(cp.Minimize(cp.sum_squares(sign - C))),
        "semidefinite, nonnegative": cp.Problem(cp.Minimize(cp.sum_squares(definite - C))),
        "diagonal": cp.Problem(cp.Minimize(cp.sum_squares(diagonal - C)), [cp.trace(diagonal) <= 1]),
        "complex": cp.Problem(cp.Minimize(cp.norm(complex_ - np.array([1 + 1j, 2]))), [cp.real(complex_[0]) >= 3]),
        "hermitian": cp.Problem(
            cp.Maximize(cp.real(cp.trace(hermitian @ turned))), [hermitian >> 0, cp.real(cp.trace(hermitian)) == 1]
        ),
        "parameters as bounds": cp.Problem(cp.Minimize(cp.sum_squares(floor))),
        "a row twice": cp.Problem(cp.Minimize(cp.sum_squares(small)), [twice, twice]),
        "cones along both axes": cp.Problem(
            cp.Minimize(cp.sum(t) + cp.sum_squares(small)), [cp.SOC(t, cp.vstack([small - 1, small])), cp.SOC(t[0] + 1, small)]
        ),
    }


@pytest.mark.parametrize("kind", kinds_of_variables())
def test_kinds_of_variables_of_cvxpy(kind: str) -> None:
    """Before, and after CVXPY has put values into the variables, the optimum is that of CVXPY by Clarabel."""
    problem = kinds_of_variables()[kind]
    blank = mo.from_cvxpy(problem)
    problem.solve(solver="CLARABEL")
    form, optimum = mo.from_cvxpy(problem), problem.value
    assert form.equals(blank)
    result = mo.solve(form, "clarabel", tol=1e-7)
    assert (result.status, form.imports[0].disagreement) == (mo.Status.OPTIMAL, "")
    assert result.objective == pytest.approx(optimum, rel=1e-5, abs=1e-6)
    assert result.into(problem) == "optimal"
    assert problem.value == pytest.approx(optimum, rel=1e-5, abs=1e-6)
