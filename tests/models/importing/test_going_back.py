"""How a solve ended, in the words of each package; programs without variables, which have their trivial answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from facts import about
from pyomo.opt import TerminationCondition
from scipy.optimize import OptimizeResult

import marginopt as mo
from marginopt.models.export.cvxpy_problem import labelled_values
from marginopt.solvers import Status

STATUS = highspy.HighsModelStatus
#: Of each status: CVXPY's word, Pyomo's condition, HiGHS's model status, Gurobi's number, SciPy's number.
TABLE = {
    Status.OPTIMAL: ("optimal", "optimal", STATUS.kOptimal, 2, 0),
    Status.STATIONARY: ("optimal_inaccurate", "locallyOptimal", STATUS.kUnknown, 18, 4),
    Status.INACCURATE: ("optimal_inaccurate", "other", STATUS.kUnknown, 13, 4),
    Status.STALLED: ("optimal_inaccurate", "other", STATUS.kUnknown, 13, 4),
    Status.INFEASIBLE: ("infeasible", "infeasible", STATUS.kInfeasible, 3, 2),
    Status.UNBOUNDED: ("unbounded", "unbounded", STATUS.kUnbounded, 5, 3),
    Status.TIME_LIMIT: ("user_limit", "maxTimeLimit", STATUS.kTimeLimit, 9, 1),
    Status.ITERATION_LIMIT: ("user_limit", "maxIterations", STATUS.kIterationLimit, 7, 1),
    Status.NODE_LIMIT: ("user_limit", "maxEvaluations", STATUS.kSolutionLimit, 8, 1),
    Status.MEMORY_LIMIT: ("user_limit", "resourceInterrupt", STATUS.kMemoryLimit, 17, 1),
    Status.INTERRUPTED: ("user_limit", "userInterrupt", STATUS.kInterrupt, 11, 1),
    Status.FAILED: ("solver_error", "error", STATUS.kSolveError, 12, 4),
}
#: Statuses that have no point.
POINTLESS = (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)


def cvxpy_problem() -> Any:
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])


def pyomo_model() -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(1, None))
    m.row = pyo.Constraint(expr=m.x[0] + m.x[1] >= 2)
    m.goal = pyo.Objective(expr=m.x[0] + m.x[1])
    return m


def highs_model() -> highspy.Highs:
    h = highspy.Highs()
    h.silent()
    x = h.addVariables(2, lb=1, ub=9, name_prefix="x")
    h.addConstr(x[0] + x[1] >= 2, name="row")
    h.minimize(x[0] + x[1])
    return h


def gurobi_model() -> Any:
    gp = pytest.importorskip("gurobipy")
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x = m.addVars(2, lb=1, name="x")
    m.addConstr(x[0] + x[1] >= 2, name="row")
    m.setObjective(x[0] + x[1])
    m.update()
    return m


#: A program, its import, and the column of the table.
PACKAGES: list[tuple[Callable[[], Any], Callable[[Any], Any], int]] = [
    (cvxpy_problem, mo.from_cvxpy, 0),
    (pyomo_model, mo.from_pyomo, 1),
    (highs_model, mo.from_highs, 2),
    (gurobi_model, mo.from_gurobi, 3),
    (OptimizeResult, lambda _: mo.from_scipy([1.0, 1.0], A_ub=[[-1.0, -1.0]], b_ub=[-2.0], bounds=(1, None)), 4),
]


@pytest.mark.parametrize(("program", "imported", "column"), PACKAGES)
@pytest.mark.parametrize("point", [True, False])
def test_every_status_in_every_package(program: Any, imported: Any, column: int, point: bool) -> None:
    target = program()
    result = mo.solve(imported(target), "clarabel", tol=1e-9)
    for status, words in TABLE.items():
        ended = replace(result, status=status)
        if not point or status in POINTLESS:
            ended = replace(ended, values={}, certificate=None, answer=replace(ended.answer, multipliers=None))
        word: Any = ended.into(target)
        if not point and status in (Status.INACCURATE, Status.STATIONARY, Status.STALLED):
            continue
        assert word == (TerminationCondition(words[1]) if column == 1 else words[column]), status
        if column == 0:
            has_point = point and status not in POINTLESS
            assert target.status == word
            assert (target.variables()[0].value is not None) is has_point
            assert has_point or status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED) or target.value is None
        if column == 4:
            assert target.status == word
            assert target.success is (word == 0)
            assert (target.x is not None) is (point and status not in POINTLESS)


def test_a_point_that_is_none_goes_back_as_an_error() -> None:
    """A point that violates its constraints by .9 is not an inaccurate optimum."""
    problem = cvxpy_problem()
    form = mo.from_cvxpy(problem)
    result = mo.solve(form, "clarabel")
    assert result.certificate is not None
    far = replace(result, status=Status.STALLED, certificate=replace(result.certificate, primal_residual=0.88))
    assert far.into(problem) == "solver_error"
    assert problem.variables()[0].value is None


def test_a_claim_without_its_ray_is_undecided() -> None:
    problem = cvxpy_problem()
    result = mo.solve(mo.from_cvxpy(problem), "clarabel")
    claim = replace(result.answer, status=Status.INFEASIBLE)
    undecided = replace(result, status=Status.INACCURATE, answer=claim, values={}, certificate=None)
    assert undecided.into(problem) == problem.status == "infeasible_or_unbounded"


@pytest.mark.parametrize(("rows", "sense", "value"), [([5, 3], "minimise", np.inf), ([1], "maximise", np.inf)])
def test_infeasible_and_unbounded_programs_of_cvxpy(rows: list[float], sense: str, value: float) -> None:
    x = cp.Variable(name="x")
    limits = [x >= rows[0], *([x <= rows[1]] if len(rows) > 1 else [])]
    problem = cp.Problem(cp.Minimize(x) if sense == "minimise" else cp.Maximize(x), limits)
    result = mo.solve(mo.from_cvxpy(problem), "clarabel")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.into(problem)
    assert problem.status == ("infeasible" if sense == "minimise" else "unbounded")
    assert problem.value == value


# -- programs without variables -------------------------------------------------------------------------------------------


def fixed(level: float) -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=2.0)
    m.x.fix()
    m.row = pyo.Constraint(expr=m.x >= level)
    m.goal = pyo.Objective(expr=m.x**2 + 1)
    return m


def empty_highs() -> highspy.Highs:
    h = highspy.Highs()
    h.silent()
    h.changeObjectiveOffset(3.0)
    return h


def empty_gurobi() -> Any:
    gp = pytest.importorskip("gurobipy")
    return gp.Model(env=gp.Env(params={"OutputFlag": 0}))


EMPTY: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], float, Any]] = {
    "CVXPY": (lambda: cp.Problem(cp.Maximize(3.0), [cp.Constant(1) <= 2]), mo.from_cvxpy, 3.0, "optimal"),
    "Pyomo": (lambda: fixed(1.0), mo.from_pyomo, 5.0, TerminationCondition.optimal),
    "HiGHS": (empty_highs, mo.from_highs, 3.0, STATUS.kOptimal),
    "Gurobi": (empty_gurobi, mo.from_gurobi, 0.0, 2),
}


@pytest.mark.parametrize("package", EMPTY)
@pytest.mark.parametrize("solver", ["auto", "highs", "clarabel"])
def test_a_program_without_variables_is_its_constant(package: str, solver: str) -> None:
    build, imported, objective, word = EMPTY[package]
    program = build()
    result = mo.solve(imported(program), solver)
    assert result.status is Status.OPTIMAL
    assert result.objective == objective
    assert result.bound_kind == "proved"
    assert dict(result.values) == ({"x": 2.0} if package == "Pyomo" else {})  # Pyomo's is fixed
    assert result.into(program) == word


@pytest.mark.parametrize(
    ("program", "imported"),
    [(fixed(3.0), mo.from_pyomo), (cp.Problem(cp.Maximize(3.0), [cp.Constant(1) >= 2]), mo.from_cvxpy)],
)
def test_constants_that_violate_a_row_are_infeasible(program: Any, imported: Any) -> None:
    result = mo.solve(imported(program))
    assert result.status is Status.INFEASIBLE
    assert result.ray_residual is not None
    assert result.status_kind == "proved"


@pytest.mark.parametrize(
    "attribute", [{"symmetric": True}, {"PSD": True}, {"NSD": True}, {"diag": True}], ids=lambda attribute: next(iter(attribute))
)
@pytest.mark.parametrize("order", [2, 3])
def test_entries_of_a_matrix_that_is_kept_as_a_vector_have_their_names(attribute: dict[str, bool], order: int) -> None:
    """CVXPY keeps a triangle, or the diagonal, of such a variable: ``values["S[0,1]"]`` is the entry, as for any matrix."""
    S = cp.Variable((order, order), name="S", **attribute)
    target = np.arange(order**2).reshape(order, order) + np.eye(order)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(S - target - target.T)))
    result = mo.solve(mo.from_cvxpy(problem), "clarabel")
    result.into(problem)
    matrix: Any = S.value.toarray() if "diag" in attribute else S.value
    for i, j in zip(*np.triu_indices(order), strict=True):
        if i == j or "diag" not in attribute:
            assert result.values[f"S[{i},{j}]"] == pytest.approx(matrix[i, j], abs=1e-9)


@pytest.mark.filterwarnings("ignore:Reading from a sparse CVXPY expression:RuntimeWarning")  # by CVXPY, of its own expression
@pytest.mark.parametrize(
    "attribute",
    [{"symmetric": True}, {"PSD": True}, {"diag": True}, {"sparsity": [(0, 2, 1), (1, 2, 0)]}],
    ids=lambda a: next(iter(a)),
)
def test_values_of_a_matrix_that_is_kept_as_a_vector_are_the_matrix(attribute: dict[str, Any], tmp_path: Path) -> None:
    """The matrix as the user wrote it, in values, starts, fixed variables, added rows, exported problems and stored results."""
    S, t = cp.Variable((3, 3), name="S", **attribute), cp.Variable(name="t")
    target = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
    problem = cp.Problem(cp.Minimize(t), [cp.sum(cp.abs(S - target)) <= t])
    form = mo.from_cvxpy(problem)
    result = mo.solve(form, "clarabel")
    result.into(problem)
    S_value = S.value_sparse.toarray() if "sparsity" in attribute else S.value.toarray() if "diag" in attribute else S.value
    value = result.values["S"]
    assert value.shape == (3, 3) and np.allclose(value, S_value, rtol=0.0, atol=1e-7)
    assert np.array_equal(form.split(form.join(result.values))["S"], value)
    assert np.array_equal(form.read_values(result.values, "start")["S"], value)
    assert mo.solve(form.with_fixed({"S": value}), "clarabel").objective == pytest.approx(result.objective, abs=1e-5)
    restricted = mo.solve(form.with_constraint(lambda v: v.S[2, 2] <= 0.2), "clarabel")
    assert restricted.values["S"][2, 2] <= 0.2 + 1e-6 and restricted.objective > result.objective + 0.7
    exported = form.to_cvxpy()
    exported.solve(solver="CLARABEL")
    assert exported.value == pytest.approx(result.objective, abs=1e-6)
    assert np.allclose(labelled_values(exported)["S"], value, atol=1e-5)
    again = mo.io.load_result(result.save(tmp_path / "result.npz"), form)
    assert np.array_equal(again.values["S"], value) and again.status is result.status
    wrong = value + np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    with pytest.raises(mo.errors.InputError, check=about("S")):
        form.join({**result.values, "S": wrong})


def _depots(index: list[Any]) -> Any:
    """Stock x of depots, all but the last free, with rows of all senses."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(index, bounds=(0, 9))
    m.y = pyo.Var(bounds=(0, 1))
    m.x[index[-1]].fix(2.0)
    rows = [m.x[index[0]] <= 4, m.x[index[1]] >= 1, m.x[index[0]] + m.y == 2, (1, m.x[index[1]], 5)]
    m.row = pyo.Constraint(range(4), rule=lambda m, k: rows[k])
    m.goal = pyo.Objective(expr=sum((k + 1) * m.x[i] for k, i in enumerate(index)) + m.y)
    return m


@pytest.mark.parametrize("index", [["a", "b", "c"], [0, 1, 5], [0, 2, 4], [0, 1, 2], [1, 2, 3]], ids=str)
def test_an_indexed_variable_is_whole_and_in_order(index: list[Any]) -> None:
    """Also where its indices are 0, 1 and 5, and where one of its entries is fixed: that one is in no row of the form."""
    m = _depots(index)
    form = mo.from_pyomo(m)
    result = mo.solve(form, "highs")
    assert result.values["x"].tolist() == [result.values[f"x[{i}]"] for i in index] == [1.0, 1.0, 2.0]
    assert result.objective == pytest.approx(1 + 2 + 6 + 1)
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    result.into(m)
    assert pyo.value(m.goal) == pytest.approx(result.objective) and m.x[index[-1]].fixed
    assert {v.name for v in m.rc} == {f"x[{index[0]}]", f"x[{index[1]}]", "y"}
    m.x[index[-1]].fix(3.0)
    with pytest.warns(mo.errors.MarginoptWarning):
        result.into(m)  # another program now: the fixed number stays
    assert m.x[index[-1]].value == 3.0


def test_rows_of_several_senses_are_no_vector() -> None:
    """The rows of one sense had the name of all of them."""
    multipliers = mo.solve(mo.from_pyomo(_depots(["a", "b", "c"])), "highs").multipliers
    assert multipliers is not None
    for k in range(4):
        assert np.ndim(multipliers[f"row[{k}]"]) == 0
    with pytest.raises(KeyError) as caught:
        _ = multipliers["row"]
    assert all(label in str(caught.value) for label in ("row ≤", "row ≥", "row ="))
