"""Programs of other packages: the same optimum there and here, and dual values that are derivatives in each one's sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
from facts import about
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp

import marginopt as mo
from marginopt.errors import InputError, UnsupportedModelError

STEP = 1e-4


def derivative(value: Callable[[float], float]) -> float:
    """Of an optimal value, by central differences."""
    return (value(STEP) - value(-STEP)) / (2 * STEP)


# -- CVXPY --------------------------------------------------------------------------------------------------------------


def conic_problem(maximise: bool, shift: float = 0.0) -> tuple[cp.Problem, list[cp.Constraint]]:
    w = cp.Variable(3, name="w")
    M = cp.Variable((2, 3), name="M")
    W = cp.Variable((2, 2), PSD=True, name="W")
    u = cp.Variable(2, nonneg=True, name="u")
    floor = np.arange(6.0).reshape(2, 3) / 7
    rows = [
        (w[0] + cp.sum(M) >= 1 + shift).set_label("total"),
        cp.norm(w) <= 2,
        W[0, 1] == 0.5 + shift,
        floor <= M,
        u[0] + 2 * u[1] >= 1 + w[1] - shift,
    ]
    cost = cp.sum_squares(w - 1) + cp.trace(W) + cp.sum(cp.multiply(floor + 1, M)) + cp.sum_squares(u)
    return cp.Problem(cp.Maximize(-cost) if maximise else cp.Minimize(cost), rows), rows


@pytest.mark.parametrize("maximise", [False, True])
def test_cvxpy_has_the_same_optimum_values_and_duals(maximise: bool) -> None:
    theirs, their_rows = conic_problem(maximise)
    theirs.solve(solver="CLARABEL")
    ours, rows = conic_problem(maximise)
    form = mo.from_cvxpy(ours)
    assert form.maximise is maximise
    result = mo.solve(form, "clarabel", tol=1e-9)
    assert result.objective == pytest.approx(theirs.value, abs=1e-6)
    result.into(ours)
    assert ours.status == "optimal"
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    for mine, other in zip(ours.variables(), theirs.variables(), strict=True):
        np.testing.assert_allclose(mine.value, other.value, atol=1e-4)
    for mine, other in zip(rows, their_rows, strict=True):
        np.testing.assert_allclose(mine.dual_value, other.dual_value, atol=1e-4)


def test_cvxpy_keeps_names_and_matrices_by_rows() -> None:
    problem, _ = conic_problem(False)
    form = mo.from_cvxpy(problem)
    assert {"w", "M", "W", "u"} <= set(form.slices)
    assert form.block("M").shape == (2, 3)
    assert form.constraint("total").rows == 1
    assert (form.lower[form.slices["u"]] == 0).all()
    result = mo.solve(form, "clarabel")
    result.into(problem)
    (M,) = [v for v in problem.variables() if v.name() == "M"]
    np.testing.assert_allclose(result.values["M"], M.value)


def test_cvxpy_duals_are_derivatives() -> None:
    problem, rows = conic_problem(False)
    mo.solve(mo.from_cvxpy(problem), "clarabel", tol=1e-9).into(problem)
    slope = derivative(lambda t: mo.solve(mo.from_cvxpy(conic_problem(False, t)[0]), "clarabel", tol=1e-9).objective)
    # CVXPY: the dual value of an inequality is the price of its right-hand side, of an equality the negative of it
    assert rows[0].dual_value - rows[2].dual_value - rows[4].dual_value == pytest.approx(slope, abs=1e-3)


def test_cvxpy_integers() -> None:
    z = cp.Variable(4, boolean=True, name="z")
    k = cp.Variable(integer=True, name="k")
    problem = cp.Problem(cp.Maximize(z @ [3, 1, 2, 4] - cp.square(k - 1.4)), [cp.sum(z) <= 2, k <= 5])
    form = mo.from_cvxpy(problem)
    assert form.integer.sum() == 5
    mo.solve(form, "scip").into(problem)
    np.testing.assert_allclose(z.value, [1, 0, 0, 1], atol=1e-6)
    assert problem.value == pytest.approx(7 - 0.16)


def test_cvxpy_infeasible() -> None:
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, cp.sum(x) <= 1])
    result = mo.solve(mo.from_cvxpy(problem), "clarabel")
    assert result.status is mo.Status.INFEASIBLE
    result.into(problem)
    assert problem.status == "infeasible"


def test_cvxpy_refusals() -> None:
    x = cp.Variable(name="x")
    with pytest.raises(UnsupportedModelError, check=about("problem")):
        mo.from_cvxpy(cp.Problem(cp.Maximize(cp.square(x))))
    with pytest.raises(InputError, check=about("problem")):
        mo.from_cvxpy(x)


@pytest.mark.parametrize(
    ("build", "parameters"), [("HingeSVM", {}), ("ConicSVM", {"lam": 1.0}), ("L2SVMDual", {}), ("ZeroOneSVM", {})]
)
def test_a_formulation_comes_back_from_cvxpy(build: str, parameters: dict[str, float], overlapping: Any) -> None:
    small = slice(3, 13)
    model = getattr(mo, build)(overlapping.X[small], overlapping.y[small], **parameters)
    form = mo.from_cvxpy(model.to_cvxpy())
    solver = "scip" if form.integer.any() else "clarabel"
    there, back = (mo.solve(program, solver, tol=1e-7) for program in (model, form))
    sign = -1.0 if model.form.maximise else 1.0
    assert back.objective == pytest.approx(sign * there.objective, rel=1e-5, abs=1e-6)


# -- HiGHS --------------------------------------------------------------------------------------------------------------


def linear_model(shift: float = 0.0, *, maximise: bool = True) -> highspy.Highs:
    h = highspy.Highs()
    h.silent()
    x = h.addVariables(3, lb=0, ub=4, name_prefix="x")
    h.addConstr(x[0] + 2 * x[1] <= 4 + shift, name="cap")
    h.addConstr(x[0] + x[2] >= 3, name="low")
    cost = x[0] + 3 * x[1] + 0.5 * x[2]
    (h.maximize if maximise else h.minimize)(cost + 2.0)
    return h


@pytest.mark.parametrize("maximise", [False, True])
def test_highs_has_the_same_optimum_and_duals(maximise: bool) -> None:
    h = linear_model(maximise=maximise)
    theirs = h.getSolution()
    form = mo.from_highs(h)
    result = mo.solve(form, "clarabel", tol=1e-9)
    assert result.objective == pytest.approx(h.getObjectiveValue(), abs=1e-6)
    expected = np.array(theirs.row_dual), np.array(theirs.col_value)
    result.into(h)
    native_solution = h.getSolution()
    np.testing.assert_allclose(native_solution.col_value, expected[1], atol=1e-5)
    np.testing.assert_allclose(native_solution.row_dual, expected[0], atol=1e-5)


def test_an_implicit_integer_of_highs_is_an_integer() -> None:
    h = highspy.Highs()
    h.silent()
    h.addVar(0.0, 3.7)
    h.changeColCost(0, -1.0)
    h.changeColIntegrality(0, highspy.HighsVarType.kImplicitInteger)
    assert mo.from_highs(h).integer.tolist() == [True]


@pytest.mark.parametrize("maximise", [False, True])
def test_highs_duals_are_derivatives(maximise: bool) -> None:
    """Both rows bind in one sense or the other; a row dual is the change of HiGHS's own objective."""

    def value(t: float) -> float:
        return float(mo.solve(mo.from_highs(linear_model(t, maximise=maximise)), "clarabel", tol=1e-9).objective)

    h = linear_model(maximise=maximise)
    mo.solve(mo.from_highs(h), "clarabel", tol=1e-9).into(h)
    slope = derivative(value)
    assert h.getSolution().row_dual[0] == pytest.approx(slope, abs=1e-3)
    assert (abs(slope) > 0.1) is maximise


def test_highs_names_ranges_and_quadratics() -> None:
    h = linear_model(maximise=False)
    h.changeRowBounds(1, 3.0, 6.0)
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = 3, highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_, hessian.value_ = [0, 2, 3, 4], [0, 1, 1, 2], [2.0, 0.5, 2.0, 2.0]
    h.passHessian(hessian)
    h.run()
    form = mo.from_highs(h)
    assert [c.label for c in form.constraints] == ["cap", "low", "low upper"]
    assert [b.label for b in form.blocks] == ["x0", "x1", "x2"]
    assert mo.solve(form, "clarabel", tol=1e-9).objective == pytest.approx(h.getObjectiveValue(), abs=1e-6)


# -- gurobipy -----------------------------------------------------------------------------------------------------------


def gurobi_model() -> Any:
    gp = pytest.importorskip("gurobipy")
    env = gp.Env(params={"OutputFlag": 0})
    m = gp.Model(env=env)
    g = m.addVars(3, lb=0, name="g")
    t = m.addVar(name="t")
    m.addConstr(g[0] + g[1] >= 1, name="sum")
    m.addConstr(g[0] ** 2 + g[1] ** 2 + g[2] ** 2 <= t**2, name="cone")
    m.addConstr(g[2] * g[2] + g[0] <= 3, name="parabola")
    m.addConstr(g[1] * g[1] <= 2 * g[2] * t, name="product")
    m.setObjective(t + g[0] * g[0] - 0.5 * g[2], gp.GRB.MINIMIZE)
    m.Params.BarConvTol = m.Params.BarQCPConvTol = 1e-9
    m.optimize()
    return m


def test_gurobi_with_cones_has_the_same_optimum() -> None:
    m = gurobi_model()
    form = mo.from_gurobi(m)
    assert form.block("g").shape == (3,)
    assert {str(form.constraint(label).cone).split("(")[0] for label in ("cone", "parabola", "product")} == {
        "SecondOrder",
        "RotatedSecondOrder",
    }
    result = mo.solve(form, "clarabel", tol=1e-9)
    assert result.objective == pytest.approx(m.ObjVal, abs=1e-4)
    result.into(m)
    assert m.getVars()[0].PStart == pytest.approx(result.values["g"][0])


@pytest.mark.parametrize("maximise", [False, True])
def test_gurobi_duals_are_derivatives(maximise: bool) -> None:
    """DStart of a row ≤ and of a row ≥, as Pi: the change of Gurobi's own objective for one more unit of the right-hand side."""
    gp = pytest.importorskip("gurobipy")

    def model(cap: float = 0.0, low: float = 0.0) -> Any:
        m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
        x = m.addVars(2, ub=5, name="x")
        m.addConstr(x[0] + 2 * x[1] <= 4 + cap, name="cap")
        m.addConstr(3 * x[0] + x[1] >= 1 + low, name="low")
        cost = x[0] + x[1] if not maximise else x[0] + 3 * x[1]
        m.setObjective(cost, gp.GRB.MAXIMIZE if maximise else gp.GRB.MINIMIZE)
        m.update()
        return m

    def value(**shift: float) -> float:
        return float(mo.solve(mo.from_gurobi(model(**shift)), "clarabel", tol=1e-9).objective)

    m = model()
    mo.solve(mo.from_gurobi(m), "clarabel", tol=1e-9).into(m)
    slopes = [derivative(lambda t: value(cap=t)), derivative(lambda t: value(low=t))]
    assert [row.DStart for row in m.getConstrs()] == pytest.approx(slopes, abs=1e-3)
    assert max(map(abs, slopes)) > 0.1


def test_gurobi_refuses_what_has_no_place() -> None:
    gp = pytest.importorskip("gurobipy")
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x, y = m.addVar(lb=-1, ub=1, name="x"), m.addVar(lb=-1, ub=1, name="y")
    m.addSOS(gp.GRB.SOS_TYPE1, [x, y])
    with pytest.raises(UnsupportedModelError, check=about("model")):
        mo.from_gurobi(m)


def test_gurobi_takes_a_start_for_integers() -> None:
    gp = pytest.importorskip("gurobipy")
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    z = m.addVars(4, vtype="B", name="z")
    m.addConstr(z.sum() <= 2, name="few")
    m.setObjective(gp.quicksum((k + 1) * z[k] for k in range(4)), gp.GRB.MAXIMIZE)
    result = mo.solve(mo.from_gurobi(m), "scip")
    assert result.objective == pytest.approx(7)
    result.into(m)
    assert [v.Start for v in m.getVars()] == pytest.approx([0, 0, 1, 1], abs=1e-6)


# -- Pyomo --------------------------------------------------------------------------------------------------------------


def pyomo_model(shift: float = 0.0, *, sense: Any = pyo.minimize, integer: bool = False) -> Any:
    m = pyo.ConcreteModel("small")
    m.I = pyo.RangeSet(0, 2)
    m.x = pyo.Var(m.I, bounds=(0, 3))
    m.y = pyo.Var(domain=pyo.Binary if integer else pyo.UnitInterval)
    m.fixed = pyo.Var(initialize=2.0)
    m.fixed.fix()
    m.floor = pyo.Constraint(m.I, rule=lambda m, i: m.x[i] + m.y >= (i + 1) / 3 + shift)
    m.ball = pyo.Constraint(expr=sum(m.x[i] ** 2 for i in m.I) <= 2 * m.fixed)
    m.both = pyo.Constraint(expr=(0.1, m.x[0] + m.x[1] + 0.5, 4))
    cost = sum((i + 1) * m.x[i] for i in m.I) + 5.3 * m.y + m.x[1] ** 2 + m.fixed
    m.goal = pyo.Objective(expr=cost if sense == pyo.minimize else -cost, sense=sense)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return m


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_pyomo_values_and_duals(sense: Any) -> None:
    m = pyomo_model(sense=sense)
    result = mo.solve(mo.from_pyomo(m), "clarabel", tol=1e-9)
    result.into(m)
    assert pyo.value(m.goal) == pytest.approx(result.objective, abs=1e-6)
    slope = derivative(lambda t: mo.solve(mo.from_pyomo(pyomo_model(t, sense=sense)), "clarabel", tol=1e-9).objective)
    assert sum(m.dual[m.floor[i]] for i in m.I) == pytest.approx(slope, abs=1e-3)


def test_rows_keep_the_names_of_their_indices(tmp_path: Path) -> None:
    m = pyo.ConcreteModel("ships")
    m.towns = pyo.Set(initialize=["Graz", "Oslo"])
    m.x = pyo.Var(m.towns, bounds=(0, 4))
    m.open = pyo.Var(m.towns, domain=pyo.Binary)
    m.least = pyo.Constraint(m.towns, rule=lambda m, t: m.x[t] >= 1.5)
    m.most = pyo.Constraint(m.towns, rule=lambda m, t: m.x[t] <= 4 * m.open[t])
    m.goal = pyo.Objective(expr=sum(m.x[t] for t in m.towns) + 3 * sum(m.open[t] for t in m.towns))
    form = mo.from_pyomo(m)
    assert form.constraint("least").names() == ["least[Graz]", "least[Oslo]"]
    for suffix in ("lp", "mps"):
        assert mo.read(form.write(tmp_path / f"ships.{suffix}")).equals(form)
    relaxed = mo.solve(form.relaxed(), "highs")
    assert relaxed.multipliers is not None and relaxed.multipliers["least[Oslo]"] == relaxed.multipliers["least"][1]
    with pytest.raises(KeyError):
        _ = relaxed.multipliers["least[Osl]"]
    shut = form.with_fixed({"open[Graz]": 0})
    assert mo.solve(shut, "highs").status.name == "INFEASIBLE" and "least[Graz]" in shut.conflict().elements
    both = form.with_constraint({"one": lambda v: v["x[Graz]"] >= 2 * v["x[Oslo]"]})
    result = mo.solve(both, "highs")
    assert float(result.values["x[Graz]"]) == pytest.approx(3.0, abs=1e-6)
    result.into(m)
    assert pyo.value(m.x["Graz"]) == pytest.approx(3.0, abs=1e-6)
    with pytest.raises(InputError, check=about("model")):
        mo.solve(m)  # type: ignore[arg-type]


def test_pyomo_integers_agree_with_enumeration() -> None:
    m = pyomo_model(integer=True)
    form = mo.from_pyomo(m)
    result = mo.solve(form, "scip", tol=1e-8)
    continuous = []
    for value in (0.0, 1.0):
        other = pyomo_model(integer=True)
        other.y.fix(value)
        continuous.append(mo.solve(mo.from_pyomo(other), "clarabel", tol=1e-9).objective)
    assert result.objective == pytest.approx(min(continuous), abs=1e-5)
    result.into(m)
    assert m.y.value in (0, 1)


def test_pyomo_refusals() -> None:
    m = pyomo_model()
    m.curve = pyo.Constraint(expr=pyo.exp(m.x[0]) <= 2)
    with pytest.raises(UnsupportedModelError, check=about("curve")):
        mo.from_pyomo(m)
    m = pyomo_model()
    m.goal.deactivate()
    with pytest.raises(InputError, check=about("model")):
        mo.from_pyomo(m)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(float("inf"), None))
    m.goal = pyo.Objective(expr=m.x)
    with pytest.raises(InputError, check=about("x")):
        mo.from_pyomo(m)


# -- SciPy --------------------------------------------------------------------------------------------------------------


def test_linprog_has_the_same_optimum_and_marginals() -> None:
    rng = np.random.default_rng(5)
    A, E = rng.normal(size=(4, 5)), rng.normal(size=(2, 5))
    inside = rng.uniform(0.5, 1.5, size=5)
    arguments: dict[str, Any] = {"A_ub": A, "b_ub": A @ inside + 0.3, "A_eq": E, "b_eq": E @ inside, "bounds": (0, 3)}
    c = rng.normal(size=5)
    theirs = linprog(c, **arguments)
    filled = OptimizeResult()
    result = mo.solve(mo.from_scipy(c, **arguments), "clarabel", tol=1e-9)
    result.into(filled)
    assert filled.success
    assert filled.fun == pytest.approx(theirs.fun, abs=1e-6)
    np.testing.assert_allclose(filled.x, theirs.x, atol=1e-5)
    for side in ("ineqlin", "eqlin", "lower", "upper"):
        np.testing.assert_allclose(filled[side].marginals, theirs[side].marginals, atol=1e-5)


def test_scipy_marginals_are_derivatives() -> None:
    """By finite differences of each right-hand side: SciPy minimises, and a marginal is d optimum / d b."""
    rng = np.random.default_rng(6)
    A, E, inside, c = rng.normal(size=(4, 5)), rng.normal(size=(2, 5)), rng.uniform(0.5, 1.5, size=5), rng.normal(size=5)

    def program(ub: np.ndarray, eq: np.ndarray) -> Any:
        return mo.from_scipy(c, A_ub=A, b_ub=A @ inside + 0.3 + ub, A_eq=E, b_eq=E @ inside + eq, bounds=(0, 3))

    filled = OptimizeResult()
    mo.solve(program(np.zeros(4), np.zeros(2)), "clarabel", tol=1e-9).into(filled)

    def value(sides: np.ndarray) -> float:
        return float(mo.solve(program(sides[:4], sides[4:]), "clarabel", tol=1e-9).objective)

    computed = np.concatenate([filled["ineqlin"].marginals, filled["eqlin"].marginals])
    slopes = [(value(STEP * unit) - value(-STEP * unit)) / (2 * STEP) for unit in np.eye(6)]
    np.testing.assert_allclose(computed, slopes, atol=1e-3)
    assert np.abs(filled["ineqlin"].marginals).max() > 0.1


def test_milp_has_the_same_optimum() -> None:
    c, row = [-5.0, -4.0, -3.0], LinearConstraint([[2, 3, 1], [4, 1, 2]], -np.inf, [5, 11])
    bounds, integrality = Bounds(0, 3), [1, 0, 1]
    theirs = milp(c, constraints=row, bounds=bounds, integrality=integrality)
    form = mo.from_scipy(c, constraints=row, bounds=bounds, integrality=integrality)
    assert mo.solve(form, "highs").objective == pytest.approx(theirs.fun)


def test_scipy_refusals() -> None:
    with pytest.raises(InputError, check=about("A_ub")):
        mo.from_scipy([1.0, 2.0], A_ub=[[1.0]], b_ub=[1.0])
    with pytest.raises(InputError, check=about("A_ub")):
        mo.from_scipy([1.0], A_ub=[[1.0]])
    impossible = {
        "equal": {"A_eq": [[1.0]], "b_eq": [np.inf]},
        "upper": {"A_ub": [[1.0]], "b_ub": [-np.inf]},
        "rows 0": {"constraints": ([[1.0]], np.inf)},
    }
    for name, rows in impossible.items():
        with pytest.raises(InputError, check=about(name)):
            mo.from_scipy([1.0], **rows)
    with pytest.raises(InputError, check=about("integrality")):
        mo.from_scipy([1.0], integrality=[2])


# -- the way back -------------------------------------------------------------------------------------------------------


def test_an_answer_to_another_program_is_refused() -> None:
    result = mo.solve(mo.from_highs(linear_model()), "clarabel")
    with pytest.raises(InputError, check=about("result")):
        result.into(conic_problem(False)[0])
    with pytest.raises(InputError, check=about("problem")):
        result.into(3)


def test_a_form_from_elsewhere_is_handed_on_as_a_formulation_is(tmp_path: Path) -> None:
    form = mo.from_highs(linear_model())
    best = mo.solve(form, "clarabel").objective
    least = -best if form.maximise else best  # what is handed on is minimised
    assert form.form is form
    assert mo.read(form.write(tmp_path / "program.mof.json")).equals(form)
    assert mo.solve(mo.from_cvxpy(form.to_cvxpy()), "clarabel").objective == pytest.approx(least)
    assert mo.solve(mo.from_pyomo(form.to_pyomo()), "clarabel").objective == pytest.approx(least)
    assert mo.solve(form.dual(), "clarabel").objective == pytest.approx(best)
