"""Gurobi's indicator constraints as those of a form: either value of the binary variable, every sense, and back out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import UnsupportedModelError
from marginopt.models.program.cones import Indicator

gp = pytest.importorskip("gurobipy")


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(10), rng.standard_normal((10, 2))])
    return X, np.where(X[:, 1] + rng.standard_normal(10) > 0, 1, -1)


def zero_one(active: int) -> Any:
    """min ¼||w||² + Σ z over margins of 1 that z = 0, or 1 - z = 1, asks for, as a user of Gurobi states it."""
    X, y = data()
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    w = m.addMVar(3, lb=-gp.GRB.INFINITY, name="w")
    z = m.addVars(10, vtype="B", name="z")
    for i in range(10):
        margin = gp.LinExpr((y[i] * X[i]).tolist(), w.tolist()) + 0.5
        m.addGenConstrIndicator(z[i], active, margin, ">", 1.5, name=f"kept[{i}]")
    m.setObjective(0.25 * (w @ w) + (10 - z.sum() if active else z.sum()))
    return m


@pytest.mark.parametrize("active", [0, 1])
@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_the_zero_one_problem_of_a_gurobi_user_has_the_proved_optimum(active: int, solver: str) -> None:
    form = mo.from_gurobi(zero_one(active))
    kept_rows = next(c for c in form.constraints if c.label == "kept")
    assert isinstance(kept_rows.cone, Indicator) and kept_rows.cone.count == 10
    proved = mo.solve(mo.ZeroOneSVM(*data(), lam=4.0), "zero-one-bb")
    result = mo.solve(form, solver)
    assert result.status is mo.Status.OPTIMAL
    assert 4.0 * result.objective == pytest.approx(proved.objective, rel=1e-5)
    assert proved.bound <= 4.0 * result.objective * (1.0 + 1e-9)


@pytest.mark.parametrize("active", [0, 1])
def test_it_is_written_and_read_back_the_same(active: int, tmp_path: Path) -> None:
    form = mo.from_gurobi(zero_one(active))
    form.write(tmp_path / "kept.mof.json")
    assert mo.read(tmp_path / "kept.mof.json").equals(form)
    again = mo.from_gurobi(form.to_gurobi())
    assert again.q == pytest.approx(form.q)
    theirs, ours = (next(c for c in f.constraints if c.label == "kept") for f in (again, form))
    assert (theirs.F != ours.F).nnz == 0 and (theirs.g == ours.g).all()


@pytest.mark.parametrize(("sense", "least", "most"), [("<", 0.0, 2.0), (">", 2.0, 9.0), ("=", 2.0, 2.0)])
@pytest.mark.parametrize("active", [0, 1])
def test_every_sense_asks_for_its_row_where_it_is_switched_on_and_only_there(
    sense: str, least: float, most: float, active: int
) -> None:
    for towards, limit in ((1.0, least), (-1.0, most)):
        for on in (False, True):
            m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
            x, b = m.addVar(ub=9, name="x"), m.addVar(vtype="B", name="b")
            m.addGenConstrIndicator(b, active, x - 1, sense, 1.0, name="row")
            m.addConstr(b == (active if on else 1 - active), name="switch")
            m.setObjective(towards * x)
            result = mo.solve(mo.from_gurobi(m), "scip").objective
            free = 0.0 if towards > 0 else -9.0
            assert result == pytest.approx(towards * limit if on else free, abs=1e-6)


def test_other_general_constraints_are_refused_by_name() -> None:
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x, y = m.addVar(name="x"), m.addVar(name="y")
    m.addGenConstrAbs(y, x, name="size of x")
    with pytest.raises(UnsupportedModelError, check=about("model")):
        mo.from_gurobi(m)
