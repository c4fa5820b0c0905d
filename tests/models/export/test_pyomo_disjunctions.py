"""Indicators as disjunctions of pyomo.gdp, solved after Pyomo's own transformation into rows."""

from __future__ import annotations

import numpy as np
import pytest

import marginopt as mo
from marginopt.margin import L1, LinearRows
from marginopt.models.program.cones import Indicator

pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed: pip install pyomo")
pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


@pytest.mark.parametrize("loss", ["zero-one", "hat"])
def test_disjunctions_have_the_optimum_of_the_indicators(loss: str) -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([np.ones(9), rng.normal(size=(9, 2))])
    y = np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    rows = LinearRows(np.array([[0.0, 1.0, 1.0]]), 0.2, np.inf)
    model = mo.Margin(X, y, loss, L1(0.2), intercept="free", subject_to=rows, encoding="indicator")
    indicators = [c for c in model.form.constraints if isinstance(c.cone, Indicator)]
    assert indicators
    handed = model.to_pyomo()
    assert [len(handed.component(c.label)) for c in indicators] == [9] * len(indicators)
    pyo.TransformationFactory("gdp.bigm").apply_to(handed, bigM=100.0)
    pyo.SolverFactory("appsi_highs").solve(handed)
    exact = mo.solve(model, "margin-bb", tol=1e-6)
    assert pyo.value(handed.objective) == pytest.approx(exact.objective, rel=1e-4, abs=1e-6)


def test_a_budget_without_a_known_big_m_is_written_with_indicators() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    y = np.where(X[:, 1] + 0.5 * rng.normal(size=12) > 0.0, 1.0, -1.0)
    model = mo.ZeroOneSVM(X, y, kappa=0.3)
    assert any(isinstance(c.cone, Indicator) for c in model.form.constraints) and not model.uses_big_m
    result, exact = mo.solve(model, "scip"), mo.solve(model, "zero-one-bb")
    assert result.objective == pytest.approx(exact.objective, rel=1e-4)
    known = mo.ZeroOneSVM(X, y, kappa=0.3, incumbent=exact.values["w"])
    assert known.uses_big_m and mo.ZeroOneSVM(X, y, lam=1.0).uses_big_m
