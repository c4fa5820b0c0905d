"""CVXPY's own test problems, taken in and solved by us: its expected optimum, or a refusal that says why."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt.errors import UnsupportedModelError

helpers = pytest.importorskip("cvxpy.tests.solver_test_helpers")

#: What a standard form does not hold, by the beginning of the problem's name.
EXOTIC = ("expcone", "mi_pcp", "pcp", "sdp_pcp")


def _makers() -> dict[str, Callable[[], Any]]:
    """The functions that make a problem with what it is expected to be, and need no arguments."""
    found = {}
    for name, maker in inspect.getmembers(helpers, inspect.isfunction):
        plain = all(p.default is not inspect.Parameter.empty for p in inspect.signature(maker).parameters.values())
        if (
            maker.__module__ == helpers.__name__
            and plain
            and name.split("_")[0] in ("lp", "qp", "socp", "sdp", "mi", "expcone", "pcp")
        ):
            found[name] = maker
    return found


MAKERS = _makers()


def test_there_are_enough() -> None:
    assert len(MAKERS) >= 30


@pytest.mark.filterwarnings("ignore:The problem has an expression with dimension greater:UserWarning")
@pytest.mark.parametrize("name", MAKERS)
def test_its_optimum_is_ours(name: str) -> None:
    problem = MAKERS[name]()
    if name.startswith(EXOTIC):
        with pytest.raises(UnsupportedModelError, match="exponential or power cones"):
            mo.from_cvxpy(problem.prob)
        return
    form = mo.from_cvxpy(problem.prob)
    result = mo.solve(form, "scip" if form.integer.any() and "socp" not in name else "auto", time_limit=60)
    expected = problem.expect_val
    if expected is not None and np.isinf(expected):
        assert result.status in (mo.Status.INFEASIBLE, mo.Status.UNBOUNDED)
        return
    result.into(problem.prob)
    assert problem.prob.status == "optimal"
    assert problem.prob.value == pytest.approx(result.objective, rel=1e-9, abs=1e-9)
    for constraint in problem.prob.constraints:
        assert np.max(constraint.violation(), initial=0.0) <= 1e-5
    if expected is not None:
        assert result.objective == pytest.approx(float(expected), rel=1e-5, abs=1e-5)
