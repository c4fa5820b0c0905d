"""CVXPY's own test problems, taken in and solved by us: its expected optimum, or a refusal that says why."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import part

import marginopt as mo

cp = pytest.importorskip("cvxpy")
helpers = pytest.importorskip("cvxpy.tests.solver_test_helpers")

#: No solver here takes integers beside power cones: of these the continuous relaxation is solved, which bounds the optimum.
RELAXED = ("mi_pcp",)


def _makers() -> dict[str, Callable[[], Any]]:
    """The functions that make a problem with what it is expected to be, and need no arguments."""
    values = {}
    for name, maker in inspect.getmembers(helpers, inspect.isfunction):
        plain = all(p.default is not inspect.Parameter.empty for p in inspect.signature(maker).parameters.values())
        if (
            maker.__module__ == helpers.__name__
            and plain
            and name.split("_")[0] in ("lp", "qp", "socp", "sdp", "mi", "expcone", "pcp")
        ):
            values[name] = maker
    return values


MAKERS = _makers()
#: CVXPY solves a program, by MOSEK where that is installed, to say how far a point is from these.
CURVED = (cp.constraints.ExpCone, cp.constraints.PowCone3D)


def test_there_are_enough() -> None:
    assert len(MAKERS) >= 30


@pytest.mark.filterwarnings("ignore:The problem has an expression with dimension greater:UserWarning")
@pytest.mark.parametrize("name", part(MAKERS, 16))
def test_its_optimum_is_ours(name: str) -> None:
    problem = MAKERS[name]()
    form = mo.from_cvxpy(problem.prob)
    if name.startswith(RELAXED):
        relaxed = mo.solve(form.relax_integrality())
        sign = -1.0 if form.maximise else 1.0
        assert sign * relaxed.objective <= sign * float(problem.expect_val) + 1e-6
        return
    result = mo.solve(form, "scip" if form.integer.any() and "socp" not in name else "auto", time_limit=60)
    expected = problem.expect_val
    if expected is not None and np.isinf(expected):
        assert result.status in (mo.Status.INFEASIBLE, mo.Status.UNBOUNDED)
        return
    result.into(problem.prob)
    assert problem.prob.status == "optimal"
    # an auxiliary variable in the objective misses its definition by what a power cone is violated
    assert problem.prob.value == pytest.approx(result.objective, rel=1e-7 if "pcp" in name else 1e-9, abs=1e-9)
    for constraint in problem.prob.constraints:
        if not isinstance(constraint, CURVED):
            assert np.max(constraint.violation(), initial=0.0) <= 1e-5
    assert max(result.certificate.violations.values(), default=0.0) <= 1e-5
    if expected is not None:
        assert result.objective == pytest.approx(float(expected), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("size", [2, 40])
def test_auxiliary_variables_are_printed_last_and_marked(size: int, tmp_path: Path) -> None:
    """A reader finds the problem's own variables first, in small and large forms, also after a file."""
    x, b = cp.Variable(size, name="x"), cp.Variable(name="b", boolean=True)
    form = mo.from_cvxpy(cp.Problem(cp.Minimize(cp.norm1(x) + cp.sum_squares(x - 1) + b), [x >= -1]))
    auxiliary = [block.label for block in form.blocks if block.auxiliary]
    assert {block.label for block in form.blocks} - {*auxiliary} == {"x", "b"}
    for shown in (form, mo.read(form.write(tmp_path / "form.npz")).form):
        lines = str(shown).splitlines()
        marked = [k for k, line in enumerate(lines) if "auxiliary" in line]
        own = [k for k, line in enumerate(lines) if line.split()[0] == "x" and k > 0 and not line.strip().startswith("x[")]
        assert own
        assert max(own) < min(marked)
        assert all(any(label in lines[k] for k in marked) for label in auxiliary)
    assert (r"\text{(auxiliary)}" in form.latex()) == (size == 2)
