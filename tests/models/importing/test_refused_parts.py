"""Parts of other packages' programs that would be dropped, or that their own solvers take: refused by name, or taken."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest
from facts import about
from pyomo.dae import ContinuousSet, DerivativeVar
from pyomo.gdp import Disjunction
from pyomo.mpec import Complementarity, complements
from scipy.optimize import LinearConstraint, milp

import marginopt as mo
from marginopt.errors import InputError, UnsupportedModelError


def small() -> Any:
    """Min x over 0 ≤ x ≤ 10."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10))
    m.goal = pyo.Objective(expr=m.x)
    return m


def test_what_restricts_a_pyomo_model_is_not_dropped() -> None:
    """Disjunctions, logic, complementarity and SOS were left out of the form, all but SOS without a word."""
    apart, expected, opposed, special = small(), small(), small(), small()
    apart.either = Disjunction(expr=[[apart.x >= 3], [apart.x >= 5]])
    expected.yes = pyo.BooleanVar()
    expected.rule = pyo.LogicalConstraint(expr=expected.yes)
    opposed.y = pyo.Var(bounds=(0, 1))
    opposed.pair = Complementarity(expr=complements(opposed.x >= 0, opposed.y >= 0))
    special.y = pyo.Var([0, 1], bounds=(0, 1))
    special.one = pyo.SOSConstraint(var=special.y, sos=1)
    moving, ranged = small(), small()
    moving.t = ContinuousSet(bounds=(0, 1))
    moving.y = pyo.Var(moving.t)
    moving.dy = DerivativeVar(moving.y)
    ranged.y = pyo.Var()
    ranged.row = pyo.Constraint(expr=pyo.inequality(0, ranged.x, ranged.y))
    for model, name in (
        (apart, "either"),
        (expected, "rule"),
        (opposed, "pair"),
        (special, "one"),
        (moving, "dy"),
        (ranged, "row"),
    ):
        with pytest.raises(UnsupportedModelError, check=about(name)):
            mo.from_pyomo(model)
    pyo.TransformationFactory("gdp.bigm").apply_to(apart)
    assert mo.solve(mo.from_pyomo(apart)).objective == pytest.approx(3.0)
    pyo.TransformationFactory("dae.finite_difference").apply_to(moving, nfe=2)
    assert mo.solve(mo.from_pyomo(moving)).objective == pytest.approx(0.0)


def test_pyomo_variables_that_live_elsewhere_are_taken() -> None:
    """On a block that is switched off, in another model, above the block that is given: Pyomo's solvers take them."""
    away = small()
    away.block = pyo.Block()
    away.block.y = pyo.Var(bounds=(1, 4))
    away.block.deactivate()
    away.row = pyo.Constraint(expr=away.x >= 2 * away.block.y)
    result = mo.solve(mo.from_pyomo(away))
    assert result.objective == pytest.approx(2.0)
    result.into(away)
    assert away.block.y.value == pytest.approx(1.0)
    above = small()
    above.inner = pyo.Block()
    above.inner.goal = pyo.Objective(expr=(above.x - 2) ** 2)
    assert mo.solve(mo.from_pyomo(above.inner)).values["x"] == pytest.approx(2.0, abs=1e-3)


def test_pyomo_models_without_values_are_refused() -> None:
    m = small()
    m.y = pyo.Var()
    m.y.fix()
    m.row = pyo.Constraint(expr=m.x + m.y >= 2)
    with pytest.raises(InputError, check=about("row")):
        mo.from_pyomo(m)
    with pytest.raises(InputError, check=about("model")):
        mo.from_pyomo(pyo.AbstractModel())


@pytest.mark.parametrize("kind", ["objective", "row", "side", "bound"])
@pytest.mark.parametrize("fault", ["division by zero", "overflow", "complex", "no expression", "no value", "text"])
def test_pyomo_expressions_without_a_number_are_refused(kind: str, fault: str) -> None:
    """Of a constant: Pyomo's evaluation raises errors of five types, among them ZeroDivisionError and AttributeError."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10))
    m.zero = pyo.Param(initialize=0.0, mutable=True)
    m.absent, m.word = pyo.Param(mutable=True, within=pyo.Any), pyo.Param(initialize="a", mutable=True, within=pyo.Any)
    m.empty = pyo.Expression()
    constants = {
        "division by zero": 1 / m.zero,
        "overflow": pyo.exp(1000 + m.zero),
        "complex": (m.zero - 1) ** 0.5,
        "no expression": m.empty,
        "no value": m.absent,
        "text": m.word,
    }
    constant = constants[fault]
    if kind == "bound":
        if fault == "no expression":
            pytest.skip("Pyomo takes no named expression as a bound")
        m.x.setlb(constant)
    m.goal = pyo.Objective(expr=m.x * constant if kind == "objective" else m.x)
    if kind in ("row", "side"):
        m.row = pyo.Constraint(expr=m.x * constant <= 1 if kind == "row" else m.x >= constant)
    with pytest.raises(InputError, check=about({"objective": "goal", "bound": "x"}.get(kind, "row"))):
        mo.from_pyomo(m)


def test_a_side_that_is_nan_is_refused() -> None:
    """NaN is neither above -inf nor below inf, so that comparisons take it for no side, and the row would be dropped."""
    for square in (False, True):
        m = small()
        m.side = pyo.Param(initialize=np.nan, mutable=True, within=pyo.Any)
        m.row = pyo.Constraint(expr=(m.x**2 if square else m.x) <= m.side)
        with pytest.raises(InputError, check=about("row")):
            mo.from_pyomo(m)
    for sides in ((np.nan, 3.0), (1.0, np.nan)):
        with pytest.raises(InputError):
            mo.from_scipy([1.0, 1.0], constraints=LinearConstraint(np.ones((1, 2)), *sides))


def test_cvxpy_parameters_are_read_at_their_values() -> None:
    price = cp.Parameter(nonneg=True, name="price")
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + price * cp.norm1(x)))
    with pytest.raises(InputError, check=about("problem")):
        mo.from_cvxpy(problem)
    for value in (0.0, 0.5):
        price.value = value
        result = mo.solve(mo.from_cvxpy(problem), "clarabel", tol=1e-9)
        np.testing.assert_allclose(result.objective, 2 * value - value**2 / 2, atol=1e-6)
    assert mo.solve(mo.from_cvxpy(cp.Problem(cp.Minimize(3))), "clarabel").objective == 3.0


def test_parameters_that_a_function_computes_are_read_where_it_is_called() -> None:
    x = cp.Variable(2)
    price = cp.CallbackParam(lambda: 0.5, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + price * cp.norm1(x)))
    result = mo.solve(mo.from_cvxpy(problem), "clarabel", tol=1e-9)
    np.testing.assert_allclose(result.objective, 0.875, atol=1e-6)
    assert result.into(problem) == "optimal"


def test_an_error_of_cvxpy_itself_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """CVXPY 1.9 cannot split the square of a scalar complex variable: its TypeError is no error of the user's call."""

    def fail(*_: object, **__: object) -> None:
        raise TypeError("No arguments given to Hstack.")

    monkeypatch.setattr(cp.Problem, "get_problem_data", fail)
    with pytest.raises(UnsupportedModelError, check=about("problem")):
        mo.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(cp.Variable(2)))))


def test_milp_takes_its_constraints_in_all_its_ways() -> None:
    """None, one object, one tuple, and a sequence of both."""
    c, A = [-1.0, -2.0, 0.5], np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]])
    ways: list[Any] = [
        LinearConstraint(A, -np.inf, [4.5, 1]),
        (A, -np.inf, [4.5, 1]),
        [(A[:1], -np.inf, 4.5), LinearConstraint(A[1:], -2, 1)],
        ((A, -5, [4.5, 1]),),
        None,
    ]
    for constraints in ways:
        values: dict[str, Any] = {"constraints": constraints, "bounds": (0, 3), "integrality": [1, 0, 0]}
        theirs = milp(c, **values)
        assert mo.solve(mo.from_scipy(c, **values)).objective == pytest.approx(theirs.fun, abs=1e-6)
    with pytest.raises(InputError, check=about("constraints")):
        mo.from_scipy(c, constraints=["rows"])
    with pytest.raises(InputError, check=about("constraints")):
        mo.from_scipy(c, constraints=(A, 0, [1, 2, 3]))


def test_gurobi_scenarios_are_refused() -> None:
    gp = pytest.importorskip("gurobipy")
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    m.setObjective(m.addVar(lb=1, name="x"))
    m.NumScenarios = 2
    with pytest.raises(UnsupportedModelError, check=about("model")):
        mo.from_gurobi(m)


def test_a_saddle_is_for_solvers_that_search() -> None:
    """HiGHS ends at (0, 0) of xy - x on [0, 5]² and claims the bound 0; the least value is -5."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1], bounds=(0, 5))
    m.goal = pyo.Objective(expr=m.x[0] * m.x[1] - m.x[0])
    form = mo.from_pyomo(m)
    with pytest.raises(UnsupportedModelError):
        mo.solve(form, "highs")
    pytest.importorskip("pyscipopt", reason="SCIP is not installed: pip install pyscipopt")
    result = mo.solve(form, "scip")
    assert result.status is mo.Status.OPTIMAL
    assert result.objective == pytest.approx(-5.0, abs=1e-6)
    assert result.bound_kind == "claimed by solver"
