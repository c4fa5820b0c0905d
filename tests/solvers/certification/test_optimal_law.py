"""No result is OPTIMAL whose objective its own bound does not meet: whoever makes it, over models and solvers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt import margin as M
from marginopt.solvers.certification.answer_completion import ZERO_OBJECTIVE_NOTE, prove_zero_is_least
from marginopt.solvers.certification.certificate import Certificate, certify
from marginopt.solvers.certification.result import Result
from marginopt.solvers.records import Answer, Status, relative_gap

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

LEVELS = ("nearest-hulls", M.NuHinge(0.4), M.OneClass(0.4))


def lawful(result: Result) -> bool:
    """Return whether OPTIMAL implies that the gap is within the tolerance, or that both numbers are zero within rounding.

    The objective is one sum of its terms at the point, the bound is made of four.
    """
    certificate = result.certificate
    if result.status is not Status.OPTIMAL or certificate is None or not np.isfinite(result.bound):
        return True
    zero = max(abs(result.objective), 0.25 * abs(result.bound)) <= certificate.rounding
    return abs(result.gap) <= result.tol or zero


def made(objective: float, bound: float, **changes: Any) -> Result:
    certificate = replace(Certificate(objective, 0.0, {}, bound=bound), **changes)
    return Result("m", "s", Status.OPTIMAL, Answer(Status.OPTIMAL, "ok"), certificate, {})


def test_an_open_gap_is_no_optimum_whoever_says_so() -> None:
    assert made(1.0, 1.0 - 1e-9).status is Status.OPTIMAL
    open_gap = made(0.0, -0.26)
    assert open_gap.status is Status.INACCURATE
    assert "the relative gap is 1.00e+00" in open_gap.evidence
    assert made(1e-20, -1e-20).status is Status.INACCURATE
    assert made(1e-20, -1e-20, rounding=1e-20).status is Status.OPTIMAL
    assert replace(open_gap, status=Status.OPTIMAL).status is Status.INACCURATE
    assert made(1.0, float("-inf")).status is Status.OPTIMAL  # there is no bound to compare with
    assert made(1.0, 0.5, inner=True).status is Status.OPTIMAL  # nor is that of an inner problem one


def test_a_claimed_bound_counts_as_well() -> None:
    claimed = Answer(Status.OPTIMAL, "ok", bound=0.5)
    point = Certificate(1.0, 0.0, {}, integrality=0.0)
    assert Result("m", "s", Status.OPTIMAL, claimed, point, {}).status is Status.INACCURATE
    assert Result("m", "s", Status.OPTIMAL, replace(claimed, bound=1.0 - 1e-7), point, {}).status is Status.OPTIMAL
    assert Result("m", "s", Status.OPTIMAL, replace(claimed, bound=1.0 - 1e-4), point, {}, tol=1e-3).status is Status.OPTIMAL


def test_a_bound_beside_the_point_is_no_negative_gap() -> None:
    assert relative_gap(1.0, 1.0 + 5e-10) == 0.0
    assert relative_gap(1.0, 1.0 + 1e-8) == pytest.approx(-1e-8)
    assert relative_gap(-1.0, -1.0 + 5e-10) == 0.0
    level = made(1.0, 1.0 + 5e-10)
    assert (level.gap, level.absolute_gap) == (0.0, 0.0)
    worth = made(1.0, 1.0 + 5e-8, undercut=6e-8)  # the point violates its rows by what the bound is above
    assert (worth.gap, worth.absolute_gap) == (0.0, 0.0)
    above = made(1.0, 1.0 + 5e-8)
    assert above.gap < 0.0
    assert above.absolute_gap < 0.0


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
@pytest.mark.parametrize("cost", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("solver", ["auto", "clarabel"])
def test_levels_far_from_the_origin(solver: str, cost: float, offset: float) -> None:
    """The primal of the two-hulls problem is the same wherever the points are: its optimum was thrown away for zero."""
    rng = np.random.default_rng(0)
    y, Z = np.where(np.arange(10) % 2, 1.0, -1.0), rng.normal(size=(10, 2))
    near = mo.solve(mo.Margin((Z + offset) - offset, y, "nearest-hulls", "half-l2", sample_weight=cost), "clarabel", tol=1e-9)
    result = mo.solve(mo.Margin(Z + offset, y, "nearest-hulls", "half-l2", sample_weight=cost), solver)
    assert result.objective == pytest.approx(near.objective, rel=1e-5)
    assert result.status is Status.OPTIMAL
    assert lawful(result)


def test_a_small_optimum_is_not_zero() -> None:
    rng = np.random.default_rng(0)
    y, Z = np.where(np.arange(10) % 2, 1.0, -1.0), rng.normal(size=(10, 2))
    result = mo.solve(mo.Margin(Z, y, "nearest-hulls", M.SquaredNorm(1e-7), sample_weight=1e4))
    assert result.objective == pytest.approx(-2.68735e-5, rel=1e-5)
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["clarabel", "piqp", "osqp", "highs", "scs"])
@pytest.mark.parametrize("loss", LEVELS, ids=str)
def test_the_law_over_levels_and_solvers(loss: Any, solver: str) -> None:
    for seed in range(trials(1, 3)):
        rng = np.random.default_rng(seed)
        y, Z = np.where(np.arange(8) % 2, 1.0, -1.0), rng.normal(size=(8, 2))
        for offset, cost in ((0.0, 0.1), (1e4, 1.0), (1e6, 1e2)):
            try:
                result = mo.solve(mo.Margin(Z + offset, y, loss, "half-l2", sample_weight=cost), solver)
            except mo.errors.UnsupportedModelError:
                return
            assert lawful(result), str(result)


def test_the_origin_is_proved_to_cost_least() -> None:
    """Hulls that meet: no level can rise, the optimum is exactly 0, and so is the bound."""
    y, Z = np.array([1.0, 1.0, -1.0, -1.0]), np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    model = mo.Margin(Z, y, M.NuHinge(1.0), "half-l2", sample_weight=0.25)
    result = mo.solve(model, "clarabel")
    assert result.status is Status.OPTIMAL
    assert (result.objective, result.bound, result.gap) == (0.0, 0.0, 0.0)
    assert result.answer.polished in ("", ZERO_OBJECTIVE_NOTE)
    assert prove_zero_is_least(model.form, np.zeros(model.form.n), result.multipliers)
    apart = mo.Margin(Z + y[:, None], y, M.NuHinge(1.0), "half-l2", sample_weight=0.25)
    below = mo.solve(apart, "clarabel")
    assert below.objective < -1e-3
    assert prove_zero_is_least(apart.form, np.zeros(apart.form.n), below.multipliers) == ""
    origin = certify(apart.form, apart.form.split(np.zeros(apart.form.n)), below.multipliers, model=apart)
    assert origin.bound < -1e-3


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
@pytest.mark.parametrize("fixed", [0.0, 1.0])
def test_an_optimum_of_zero_beside_a_fixed_variable_is_proved(solver: str, fixed: float) -> None:
    """HiGHS's multipliers, a last place off whole numbers, leave slopes of 2e-15 on bounded variables: 0 is proved without them.

    The last row holds with equality at the fixed variable, 3 x2 + 2 x3 ≤ 0, and no point costs less.
    """
    form = mo.io.from_scipy(
        [-3.0, 1.0, 0.0],
        A_ub=[[4.0, 3.0, 0.0], [3.0, 2.0, 1.0]],
        b_ub=[0.0, fixed],
        A_eq=[[1.0, 1.0, 0.0]],
        b_eq=[0.0],
        bounds=[(-3.0, 3.0), (-3.0, 3.0), (fixed, fixed)],
    )
    result = mo.solve(form, solver)
    assert (result.status, result.objective, result.bound, result.bound_kind) == (Status.OPTIMAL, 0.0, 0.0, "proved")


def test_a_point_of_objective_zero_that_is_not_least_is_not_proved() -> None:
    """min -3 x with x ≤ t - 1 and t = 1 + 2**-52: the row is slack at x = 0, and x = 2**-52 costs less."""
    form = mo.io.from_scipy([-3.0, 0.0], A_ub=[[1.0, -1.0]], b_ub=[-1.0], bounds=[(-1.0, 1.0), (1.0 + 2.0**-52, 1.0 + 2.0**-52)])
    assert prove_zero_is_least(form, np.array([0.0, 1.0 + 2.0**-52]), None) == ""
    tight = mo.io.from_scipy([-3.0, 0.0], A_ub=[[1.0, -1.0]], b_ub=[-1.0], bounds=[(-1.0, 1.0), (1.0, 1.0)])
    assert prove_zero_is_least(tight, np.array([0.0, 1.0]), None)


@pytest.mark.parametrize("price", [-7e3, 1.0, 1e9])
def test_a_price_from_nowhere_does_not_round_a_small_optimum_to_zero(price: float) -> None:
    """A ball of radius 1e-6 at a point that is a third from optimal: its terms are 1e-12, whatever the multipliers are."""
    model = mo.MEBDual(1e-6 * np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 2.0]]))
    values, multipliers = {"a": np.full(3, 1.0 / 3.0)}, {"sum": np.array([price])}
    certificate = certify(model.form, values, multipliers, model=model)
    assert certificate.rounding < 1e-20 and not certificate.both_zero(0.0)
