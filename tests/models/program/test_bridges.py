"""Bridges: the same optimum, ways back and forth that undo each other, multipliers that satisfy the source's conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from hypothesis import given, settings, strategies as st

from marginopt.errors import InputError
from marginopt.models.program.bridges import BoundsToRows, Bridge, DualPoint, EpigraphBridge, RotatedBridge, psd_factor
from marginopt.models.program.cones import Feature, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.quadratic import Quadratic
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.certification.result import Result
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

Checker = Callable[[StandardForm, Result, float], None]
OPTIONS = Options(tol=1e-8)


def random_form(seed: int) -> StandardForm:
    """A feasible, bounded program: quadratic objective, rows, rotated cones and some bounds, strictly feasible at x0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    R = rng.normal(size=(int(rng.integers(1, n + 1)), n))
    x0 = rng.normal(size=n)
    cone = RotatedSecondOrder(3, 2)
    F1, F2, F3 = rng.normal(size=(4, n)), rng.normal(size=(1, n)), rng.normal(size=(cone.rows, n))
    interior = np.array([2.0, 2.0, 0.5, 1.5, 2.5, -0.3])
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower[::2], upper[1::2] = x0[::2] - 1.0, x0[1::2] + 1.0
    upper[0] = x0[0] + 2.0
    return StandardForm(
        "random",
        (Block("x", (n,)),),
        rng.normal(size=n),
        (
            Constraint("rows", sp.csr_array(F1), 1.0 - F1 @ x0, Nonnegative(4)),
            Constraint("equal", sp.csr_array(F2), -F2 @ x0, Zero(1)),
            Constraint("cones", sp.csr_array(F3), interior - F3 @ x0, cone),
            Constraint("ball", sp.csr_array(np.vstack([np.zeros(n), np.eye(n)])), np.append(3.0, -x0), SecondOrder(n + 1)),
        ),
        lower,
        upper,
        np.zeros(n, dtype=bool),
        quadratic=Quadratic(factor=R),
        r=0.25,
    )


def bridges_of(form: StandardForm) -> list[Bridge]:
    return [EpigraphBridge(form), RotatedBridge(form), BoundsToRows(form)]


def raw_kkt(bridge: Bridge, checker: Checker) -> None:
    """Solve the target, take point and multipliers back, and check the source's optimality conditions."""
    target = solve_problem(bridge.target, "clarabel", OPTIONS)
    assert target.multipliers is not None
    assert target.reduced is not None
    lifted = bridge.lift_dual(DualPoint(target.multipliers, bridge.target.join(target.reduced)))
    source = bridge.source
    values = source.split(bridge.recover(bridge.target.join(target.values)))
    answer = replace(target.answer, multipliers=lifted.multipliers)
    as_result = replace(target, values=values, answer=answer, reduced=source.split(lifted.reduced))
    checker(source, as_result, 2e-5)
    assert set(lifted.multipliers) == {c.label for c in source.constraints}
    direct = solve_problem(source, "clarabel", OPTIONS)
    assert target.objective == pytest.approx(direct.objective, rel=1e-6, abs=1e-6)


@settings(max_examples=8)
@given(st.integers(0, 10_000))
def test_each_bridge_alone(assert_kkt: Checker, seed: int) -> None:
    for bridge in bridges_of(random_form(seed)):
        raw_kkt(bridge, assert_kkt)


@settings(max_examples=5)
@given(st.integers(0, 10_000))
def test_the_chain_that_a_narrow_solver_needs(assert_kkt: Checker, seed: int) -> None:
    class Narrow(Clarabel):
        """Clarabel as a solver that takes no quadratic objective, rotated cone or bound."""

        info = replace(Clarabel.info, reads=Clarabel.info.reads - {Feature.QUADRATIC})

    form = random_form(seed)
    result = solve_problem(form, Narrow(), OPTIONS)
    assert result.details["bridges"] == ["EpigraphBridge", "RotatedBridge", "BoundsToRows"]
    assert_kkt(form, result, 2e-5)


@given(st.integers(0, 10_000))
def test_points_there_and_back(seed: int) -> None:
    form = random_form(seed)
    x = np.random.default_rng(seed + 1).normal(size=form.n)
    for bridge in bridges_of(form):
        there = bridge.extend(x)
        np.testing.assert_array_equal(bridge.recover(there), x)
        assert bridge.target.objective(there) == pytest.approx(form.objective(x), rel=1e-12, abs=1e-12)
        # membership is kept: the same cones hold by the same amount or not at all
        for c in form.constraints:
            moved = bridge.target.constraint(c.label)
            assert (moved.cone.violation(moved.value(there)) <= 1e-9) == (c.cone.violation(c.value(x)) <= 1e-9)


def test_epigraph_point_is_tight() -> None:
    form = random_form(0)
    bridge = EpigraphBridge(form)
    x = np.ones(form.n)
    row = bridge.target.constraint("quadratic")
    value = row.value(bridge.extend(x))
    assert row.cone.violation(value) <= 1e-9
    below = bridge.extend(x)
    below[-1] -= 0.5
    assert row.cone.violation(row.value(below)) > 1e-3
    assert bridge.target.features == {Feature.ROTATED, Feature.SECOND_ORDER}


def test_targets_have_what_the_bridge_promises() -> None:
    form = random_form(1)
    assert Feature.ROTATED not in RotatedBridge(form).target.features
    rows = BoundsToRows(form).target
    assert not rows.has_bounds
    assert rows.rows == form.rows + np.isfinite(form.lower).sum() + np.isfinite(form.upper).sum()
    assert form.has_bounds


def matrices() -> list[Any]:
    rng = np.random.default_rng(4)
    R = rng.normal(size=(3, 5))
    return [
        pytest.param(Quadratic(factor=R), id="factor"),
        pytest.param(Quadratic(matrix=R.T @ R), id="singular"),
        pytest.param(Quadratic(matrix=R @ R.T), id="definite"),
        pytest.param(Quadratic(matrix=np.diag([1.0, 0.0, 4.0])), id="diagonal"),
        pytest.param(Quadratic(matrix=sp.csc_array(np.diag([0.0, 2.0]))), id="sparse diagonal"),
        pytest.param(Quadratic(matrix=np.zeros((2, 2))), id="zero"),
    ]


@pytest.mark.parametrize("quadratic", matrices())
def test_factors(quadratic: Quadratic) -> None:
    R = psd_factor(quadratic)
    np.testing.assert_allclose((R.T @ R).toarray(), quadratic.csc.toarray(), atol=1e-12)


@pytest.mark.parametrize("P", [np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([-1.0, -2.0])])
def test_nonconvex_objectives_are_refused(P: np.ndarray) -> None:
    with pytest.raises(InputError, check=about("P")):
        psd_factor(Quadratic(matrix=P))
