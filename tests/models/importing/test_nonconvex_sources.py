"""Nonconvex quadratic objectives and rows of gurobipy and Pyomo: the same program here, compared with its source at points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt.models import Bilinear, Feature, RotatedSecondOrder
from marginopt.models.importing.source import Import
from marginopt.solvers import Status

A = np.round(np.random.default_rng(3).normal(size=(3, 3)), 2)


def stated(x: Any, y: Any, z: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """Return an indefinite objective, and rows: convex, nonconvex below and above, an equality, each with another one's look."""
    v = (x, y, z)
    cost = sum(float(A[i, j]) * v[i] * v[j] for i in range(3) for j in range(3)) + 0.5 * x - z + 2.0
    rows = [
        ("ball", x * x + y * y + 0.25 * z <= 1.5),
        ("saddle", x * y - 0.5 * z * z >= -0.75),
        ("mixed", x * z - y <= 0.5),
        ("same", x * y + z == 0.25),
    ]
    return cost, rows


def gurobi_model(maximise: bool) -> Any:
    gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    model = gp.Model("nonconvex", env=gp.Env(params={"OutputFlag": 0}))
    x, y, z = (model.addVar(lb=-1, ub=1, name=name) for name in "xyz")
    cost, rows = stated(x, y, z)
    for name, row in rows:
        model.addConstr(row, name=name)
    model.setObjective(cost, gp.GRB.MAXIMIZE if maximise else gp.GRB.MINIMIZE)
    model.update()
    return model


def pyomo_model(maximise: bool) -> Any:
    pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed")
    model = pyo.ConcreteModel("nonconvex")
    for name in "xyz":
        model.add_component(name, pyo.Var(bounds=(-1, 1)))
    cost, rows = stated(model.x, model.y, model.z)
    for name, row in rows:
        model.add_component(name, pyo.Constraint(expr=row))
    model.goal = pyo.Objective(expr=cost, sense=pyo.maximize if maximise else pyo.minimize)
    return model


MODELS = [(gurobi_model, mo.from_gurobi), (pyomo_model, mo.from_pyomo)]


@pytest.mark.parametrize(("build", "take"), MODELS, ids=["gurobi", "pyomo"])
@pytest.mark.parametrize("maximise", [False, True])
def test_an_import_is_its_source_at_every_point(build: Callable[[bool], Any], take: Callable[[Any], Any], maximise: bool) -> None:
    model = build(maximise)
    form = take(model)
    assert form.features >= {Feature.NONCONVEX, Feature.BILINEAR}
    kinds = {c.label: type(c.cone) for c in form.constraints}
    assert kinds == {"ball": RotatedSecondOrder, "saddle": Bilinear, "mixed": Bilinear, "same": Bilinear}
    same = form.constraint("same").cone
    assert isinstance(same, Bilinear) and same.equality
    rng, sign = np.random.default_rng(0), -1.0 if maximise else 1.0
    for x in rng.uniform(-1, 1, size=(20, 3)):
        cost, _ = stated(*x)
        assert sign * form.objective(x) == pytest.approx(cost, abs=1e-12)
        miss = max(x[0] * x[1] + x[2] - 0.25, 0.25 - x[0] * x[1] - x[2])
        assert form.constraint("same").cone.violation(form.constraint("same").value(x)) == pytest.approx(miss, abs=1e-12)
        assert form.imports[0].difference_at(x) == ""
    assert form.imports[0].disagreement == ""


@pytest.mark.parametrize(("build", "take"), MODELS, ids=["gurobi", "pyomo"])
def test_a_source_that_says_another_thing_is_found_out(build: Callable[[bool], Any], take: Callable[[Any], Any]) -> None:
    model = build(False)
    source = take(model).imports[0].source
    if build is gurobi_model:
        model.remove(model.getQConstrs()[3])
        row = model.addConstr(model.getVarByName("x") * model.getVarByName("y") + model.getVarByName("z") == 0.3, name="same")
        assert row is not None
        model.update()
    else:
        model.same.set_value(model.x * model.y + model.z == 0.3)
    assert "same" in Import.of(source).disagreement


@pytest.mark.parametrize(("build", "take"), MODELS, ids=["gurobi", "pyomo"])
def test_the_global_optimum_is_the_source_s(build: Callable[[bool], Any], take: Callable[[Any], Any]) -> None:
    native = gurobi_model(False)
    native.optimize()
    model = build(False)
    result = mo.solve(take(model), "gurobi")
    assert result.status is Status.OPTIMAL and result.bound_kind == "claimed by solver"
    assert result.objective == pytest.approx(native.ObjVal, abs=1e-5)
    result.into(model)
    if build is pyomo_model:
        cost, _ = stated(model.x.value, model.y.value, model.z.value)
        assert cost == pytest.approx(native.ObjVal, abs=1e-5)


def test_what_goes_to_gurobi_comes_back() -> None:
    form = mo.from_gurobi(gurobi_model(False))
    back = mo.from_gurobi(form.to_gurobi())
    rng = np.random.default_rng(1)
    labels = [c.label for c in form.constraints if isinstance(c.cone, Bilinear)]
    for x in rng.uniform(-1, 1, size=(5, 3)):
        y = np.append(x, np.zeros(back.n - 3))
        assert back.objective(y) == pytest.approx(form.objective(x), abs=1e-12)
        for label in labels:
            ours, theirs = form.constraint(label), back.constraint(label)
            assert theirs.cone.violation(theirs.value(y)) == pytest.approx(ours.cone.violation(ours.value(x)), abs=1e-12)
