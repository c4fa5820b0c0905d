"""The rules by which a claim becomes a status."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.errors import UnsupportedModelError
from marginopt.models import Block, ConicSVM, Constraint, MaxMinSVM, Nonnegative, NonparallelSVM, RotatedSecondOrder, StandardForm
from marginopt.models.model import BareForm
from marginopt.solvers.certification.answer_completion import ZERO_OBJECTIVE_NOTE
from marginopt.solvers.certification.certificate import Certificate, objective_scale
from marginopt.solvers.certification.verdict import ZERO_OPTIMUM, big_m_objection, verdict
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.records import Answer, Options, Status
from marginopt.solvers.registry import get_solver

GOOD = Certificate(1.0, 0.0, {}, dual_residual=0.0, complementarity=0.0, unmet=0.0, bound=1.0 - 1e-9)
CLAIM = Answer(Status.OPTIMAL, "ok")


def judged(answer: Answer = CLAIM, tol: float = 1e-6, **changes: object) -> Status:
    return verdict(answer, replace(GOOD, **changes), tol).status  # type: ignore[arg-type]


def test_a_supported_optimum() -> None:
    assert judged() is Status.OPTIMAL
    assert judged(bound=1.0 - 1e-5) is Status.INACCURATE
    assert judged(bound=-np.inf) is Status.OPTIMAL  # by the optimality conditions
    assert judged(bound=-np.inf, dual_residual=1e-3) is Status.INACCURATE
    assert judged(bound=-np.inf, unmet=1e-5) is Status.INACCURATE  # conditions that are met to 1e-6 of 1, not of the objective
    assert judged(primal_residual=1e-3) is Status.INACCURATE


def test_rounding_counts() -> None:
    assert judged(error=1e-5) is Status.INACCURATE
    outcome = verdict(CLAIM, replace(GOOD, error=1e-5), 1e-6).remarks
    assert len(outcome) == 1


def test_an_optimum_beside_zero_is_measured_by_itself() -> None:
    """A number that is tiny beside the data is not zero: hinge loss at data of 1e6 has optima of 1e-12."""
    for scale in (1e-10, 1.0, 1e20):
        assert judged(objective=1e-10, bound=-1e-12, scale=scale) is Status.INACCURATE
        assert judged(objective=1e-10, bound=0.0, scale=scale) is Status.INACCURATE
        assert judged(objective=1e-10, bound=1e-10 - 1e-18, scale=scale) is Status.OPTIMAL


def test_an_optimum_of_zero() -> None:
    assert judged(objective=0.0, bound=0.0, scale=0.0) is Status.OPTIMAL
    # both must be zero within the rounding error of the objective's terms at the point; no scale of the data counts
    for scale in (1e-8, 1.0, 1e10):
        assert judged(objective=0.0, bound=-1e-12, scale=scale) is Status.INACCURATE
        touching = {"objective": 1e-17, "error": 1e-16, "bound": -2e-16, "bound_error": 1e-16, "rounding": 2e-16}
        assert judged(**touching, scale=scale) is Status.OPTIMAL
        assert judged(**touching | {"bound": -1e-12}, scale=scale) is Status.INACCURATE
        # a bound is made of four sums of the terms, the objective of one
        assert judged(**touching | {"rounding": 5e-17}, scale=scale) is Status.OPTIMAL
        assert judged(**touching | {"rounding": 4e-17}, scale=scale) is Status.INACCURATE
        assert judged(**touching | {"objective": 3e-16}, scale=scale) is Status.INACCURATE
    # an objective that drowns in its rounding is nothing
    assert judged(objective=-2e6, error=1e10, bound=-5e10, bound_error=5e10, scale=1.0) is Status.INACCURATE


def test_an_optimum_of_exactly_zero_may_be_violated_by_a_rounding() -> None:
    """A budget of 1 by SCS: objective 0, bound 0, and a price of 1e-7 on a row that is missed by 1e-9."""
    zero = replace(GOOD, objective=0.0, bound=0.0, error=0.0, primal_residual=1e-9, rounding=5e-16, undercut=4e-16)
    assert verdict(CLAIM, zero, 1e-6).status is Status.OPTIMAL
    assert verdict(CLAIM, replace(zero, undercut=1e-3), 1e-6).status is Status.INACCURATE


def test_the_point_of_objective_zero_is_judged_in_place_of_one_beside_it() -> None:
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(8), rng.normal(size=8)]), np.where(np.arange(8) % 2, 1.0, -1.0)
    for scale in (1e-3, 1.0, 1e3):
        result = mo.solve(ConicSVM(scale * X, y, kappa=1.0), "clarabel")
        assert result.status is Status.OPTIMAL and result.objective == 0.0 == result.bound
        assert result.answer.polished == ZERO_OBJECTIVE_NOTE
        assert result.certificate.primal_residual == 0.0 and result.values["z"].min() == 1.0
    # with λ so small that everything is given up, the optimum is not zero: nothing is moved
    assert mo.solve(ConicSVM(X, y, lam=1e-6), "clarabel").answer.polished == ""


def test_the_origin_of_a_form_of_anybody() -> None:
    """min 4a + 4b - c - d over 2ab ≥ c² + d²: the optimum is the apex, which interior points do not reach."""
    form = StandardForm(
        "apex", (Block("x", (4,)),), np.array([4.0, 4.0, -1.0, -1.0]),
        (Constraint("cone", sp.csr_array(np.eye(4)), np.zeros(4), RotatedSecondOrder(4)),),
        np.array([0.0, 0.0, -9.0, -9.0]), np.full(4, 9.0), np.zeros(4, dtype=bool),
    )  # fmt: skip
    result = mo.solve(form, "clarabel")
    assert result.status is Status.OPTIMAL and result.objective == 0.0 and -1e-7 <= result.bound <= 0.0


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.NODE_LIMIT, Status.INTERRUPTED, Status.STALLED])
def test_an_exact_search_that_ended_within_the_tolerance_has_proved_its_optimum(status: Status) -> None:
    """Ours aim below the tolerance, so a limit may end them between the two. A solver's word is no proof."""
    at = replace(GOOD, integrality=0.0, bound=-np.inf)
    answer = Answer(status, "?", bound=1.0 - 5e-7, proved=True)
    assert verdict(answer, at, 1e-6).status is Status.OPTIMAL
    for other in (replace(answer, proved=False), replace(answer, bound=1.0 - 2e-6), replace(answer, bound=None)):
        assert verdict(other, at, 1e-6).status is status
    for worse in ({"primal_residual": 1e-6}, {"error": 1e-6}, {"inner": True}):
        assert verdict(answer, replace(at, **worse), 1e-6).status is status
    zero, within = replace(answer, bound=0.0), replace(at, objective=3e-15, error=4e-15, rounding=4e-15)
    assert verdict(zero, within, 1e-6).status is Status.OPTIMAL  # the optimum is zero within the rounding of its terms
    assert verdict(zero, replace(within, rounding=2e-15), 1e-6).status is status


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.TIME_LIMIT, Status.STALLED, Status.STATIONARY])
def test_a_bound_above_a_feasible_point_lowers_every_status(status: Status) -> None:
    answer = verdict(Answer(status, "?"), replace(GOOD, bound=2.0), 1e-6)
    assert answer.status is Status.INACCURATE
    assert "2" in answer.remarks[0] and "1" in answer.remarks[0]
    assert verdict(Answer(status, "?"), replace(GOOD, bound=2.0, inner=True), 1e-6).status is status


def test_a_mixed_integer_solver_s_bound_above_its_own_point() -> None:
    claim = Answer(Status.OPTIMAL, "ok", bound=1.1)
    assert verdict(claim, replace(GOOD, integrality=0.0, bound=-np.inf), 1e-6).status is Status.INACCURATE
    assert verdict(replace(claim, bound=1.0), replace(GOOD, integrality=0.0, bound=-np.inf), 1e-6).status is Status.OPTIMAL


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize(("unit", "status"), [(1.0, Status.OPTIMAL), (1e-6, Status.OPTIMAL), (1e-150, Status.INACCURATE)])
def test_coefficients_that_a_solver_leaves_out_are_no_small_residual(unit: float, status: Status) -> None:
    """Without a norm the optimum is 0 at w_2 = 2/unit; HiGHS does not see 1e-150 and stops at w = 0, 2."""
    X = np.array([[1.0, unit], [1.0, -unit]])
    model = mo.Margin(X, [1, -1], "hinge", "none", domain=margin.Signs((0, 1)))
    result = mo.solve(model, "highs")
    assert result.status is status, result
    assert (result.objective < 1e-6) == (status is Status.OPTIMAL)


def test_an_optimum_that_nothing_supports_says_so() -> None:
    for integrality in (0.0, None):
        alone = replace(GOOD, integrality=integrality, bound=-np.inf, dual_residual=None, complementarity=None)
        outcome = verdict(CLAIM, alone, 1e-6)
        assert outcome.status is Status.INACCURATE
        assert "neither multipliers nor a bound" in outcome.remarks[0]


def test_nonconvex_is_stationary_at_best() -> None:
    assert judged(nonconvex=True, bound=-np.inf) is Status.STATIONARY
    assert judged(nonconvex=True, bound=-np.inf, dual_residual=1e-2) is Status.INACCURATE


def test_stationary_is_checked_against_its_residual() -> None:
    claim = Answer(Status.STATIONARY, "?", stationarity=1e-8)
    assert judged(claim, bound=-np.inf, dual_residual=1e-7) is Status.STATIONARY
    assert judged(claim, bound=-np.inf, dual_residual=1e-2) is Status.INACCURATE


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_inner_problems_show_no_bound() -> None:
    X, y = clouds(0, 24, 2, 0.5, order="turns")
    for model, solver in ((MaxMinSVM(X, y, C=1.0), "maxmin"), (NonparallelSVM(X, y, target=1.0, loss="capped"), "npsvc-mm")):
        result = mo.solve(model, solver)
        assert result.bound_kind == "none" and np.isnan(result.gap) and result.certificate.inner


@pytest.mark.parametrize("coefficient", [1e-17, 1e-12, 1e-8])
def test_a_coefficient_that_is_nothing_beside_its_row_makes_no_unit(coefficient: float) -> None:
    """x_0 of min -x_0 has no unit of a row in which it hardly stands: 1/coefficient would excuse any bound."""
    rows = Constraint("row", sp.csr_array([[coefficient, 1.0, 1.0]]), np.ones(1), Nonnegative(1))
    free = np.full(3, np.inf)
    form = StandardForm("small", (Block("x", (3,)),), np.array([-1.0, 0.0, 0.0]), (rows,), -free, free, np.zeros(3, dtype=bool))
    assert objective_scale(form) == 0.0
    worse = mo.certify(form, {"x": np.zeros(3)}, multipliers={"row": np.zeros(1)})
    assert verdict(CLAIM, replace(worse, bound=-1e-3), 1e-6).status is Status.INACCURATE


def test_a_violation_that_is_half_of_the_objective_is_no_optimum() -> None:
    """A small ball one from the origin: ||w||² + t is 1 - 1 + 3e-8. Rows violated by 1e-8: SCS was OPTIMAL at 2.2e-8."""
    rng, seen = np.random.default_rng(4), 0
    for scale in (1e-4, 3e-5):
        X = np.column_stack([np.ones(8), scale * rng.normal(size=(8, 3))])
        best = mo.solve(mo.SVDD(X[:, 1:] / scale), "clarabel", tol=1e-9).objective * scale**2
        for solver in ("scs", "osqp", "clarabel", "highs"):
            result = mo.solve(mo.Margin(X, np.ones(8), "svdd", "l2"), solver)  # `SVDD` itself moves the points
            if result.status is Status.OPTIMAL and ZERO_OPTIMUM not in result.evidence:
                assert result.objective == pytest.approx(best, rel=3e-4), solver
            seen += "times the multipliers" in result.evidence
    assert seen


def switched(M: float, flipped: bool = False, unit: float = 1.0) -> StandardForm:
    """min z over x + M z ≥ 1 (x + M(1 - z) ≥ 1 and max z), times a unit, with x in [0, 0.5]: z is on."""
    sign, g = (-M, M - 1.0) if flipped else (M, -1.0)
    rows = Constraint("row", sp.csr_array(unit * np.array([[1.0, sign]])), unit * np.array([g]), Nonnegative(1))
    blocks = (Block("x", ()), Block("z", ()))
    q = np.array([0.0, -1.0 if flipped else 1.0])
    return StandardForm("switch", blocks, q, (rows,), np.zeros(2), np.array([0.5, 1.0]), np.array([False, True]))


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e7])
def test_a_big_m_beyond_the_integers_tolerance_makes_a_word_void(flipped: bool, unit: float) -> None:
    """At M = 5e8 Gurobi called optimal what was 3e-4 above the optimum; a row's unit and the sense of its switch are nothing."""
    for x in (np.array([0.0, 0.0]), np.array([0.5, 1.0])):
        assert big_m_objection(switched(1e6, flipped, unit), x, 1e-9) == ""
        assert "a row of row, M = " in big_m_objection(switched(5e8, flipped, unit), x, 1e-9)
        assert "a row of row, M = " in big_m_objection(switched(1e6, flipped, unit), x, 1e-6)


def test_a_run_that_ended_with_a_looser_tolerance_is_judged_by_it() -> None:
    """HiGHS fails on some programs at an integrality of 1e-9 and ends at 1e-6."""
    form = switched(1e6)
    answer = Answer(Status.OPTIMAL, values={"x": np.float64(0.0), "z": np.float64(1.0)}, objective=1.0, bound=1.0)
    for integrality, status in ((None, Status.OPTIMAL), (1e-9, Status.OPTIMAL), (1e-6, Status.INACCURATE)):
        ended = replace(answer, integrality=integrality)
        assert judge(BareForm(form), get_solver("highs"), ended, Options(), OPEN_LICENCE).status is status


def test_a_row_that_costs_nothing_needs_no_small_m() -> None:
    """Ramps of points without weight, 1e8 away: HiGHS and Gurobi were right, and their word was void for that row."""
    F = sp.csr_array(np.array([[1.0, 5e8, 1.0]]))  # x + M z + slack >= 1
    blocks = (Block("x", ()), Block("z", ()), Block("slack", ()))
    upper, integer = np.array([0.5, 1.0, np.inf]), np.array([False, True, False])
    free = StandardForm("free", blocks, np.array([1.0, 1.0, 0.0]), (Constraint("row", F, -np.ones(1), Nonnegative(1)),),
                        np.zeros(3), upper, integer)  # fmt: skip
    x = np.array([0.5, 1.0, 0.0])
    assert big_m_objection(free, x, 1e-9) == ""
    for held in (free.replace(q=np.ones(3)), free.replace(upper=np.array([0.5, 1.0, 9.0]))):
        assert big_m_objection(held, x, 1e-9)
    twice = (*free.constraints, Constraint("other", sp.csr_array([[0.0, 0.0, -1.0]]), np.ones(1), Nonnegative(1)))
    assert big_m_objection(free.replace(constraints=twice), x, 1e-9)


@pytest.mark.parametrize(("weight", "status"), [(1e-3, Status.OPTIMAL), (1e-8, Status.INACCURATE)])
def test_an_objective_below_a_solvers_absolute_tolerance_is_not_its_to_tell(weight: float, status: Status) -> None:
    """HiGHS chose 2.29e-9 for 2.14e-9 where prices were 1e-10 beside costs of 1."""
    X = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    model = mo.ScoringSystem(X, [1.0, -1.0], C0=weight, coefficients=(-2, 2))
    result = mo.solve(model, "highs")
    assert result.objective == pytest.approx(mo.solve(model, "supports-bb").objective, rel=0.5)
    assert result.status is status
    assert ("multiply the objective's weights" in result.evidence) == (status is Status.INACCURATE)


def test_rows_as_large_as_their_m_are_no_switches() -> None:
    """x ≤ M z, where x or another entry of the point is as large as M, and rows of integers alone."""
    F = sp.csr_array(np.array([[-1.0, 0.0, 1e9]]))
    form = StandardForm(
        "flow",
        (Block("x", (2,)), Block("z", ())),
        np.ones(3),
        (Constraint("row", F, np.zeros(1), Nonnegative(1)),),
        np.zeros(3),
        np.full(3, np.inf),
        np.array([False, False, True]),
    )
    assert big_m_objection(form, np.array([1e8, 0.0, 1.0]), 1e-9) == ""
    assert big_m_objection(form, np.array([0.0, 1e8, 0.0]), 1e-9) == ""
    assert big_m_objection(form, np.array([0.0, 1.0, 0.0]), 1e-9) != ""
    small = form.replace(constraints=(Constraint("row", sp.csr_array([[-1.0, 0.0, 1.23]]), np.zeros(1), Nonnegative(1)),))
    for x in ([1e-14, 1.0, 1.0], [1e-14, 1e-14, 1.0]):  # zeros with rounding are no size of a row
        assert big_m_objection(small, np.array(x), 1e-9) == ""
    whole = form.replace(integer=np.ones(3, dtype=bool))
    assert big_m_objection(whole, np.array([0.0, 1.0, 0.0]), 1e-9) == ""


@pytest.mark.parametrize(("M", "native", "expected"), [
    (1e5, {}, Status.OPTIMAL),
    (1e5, {"mip_feasibility_tolerance": 1e-5}, Status.INACCURATE),
    (1e9, {}, Status.INACCURATE),
])  # fmt: skip
def test_a_solver_s_word_beside_its_tolerance(M: float, native: dict[str, float], expected: Status) -> None:
    result = mo.solve(switched(M), "highs", **native)
    assert result.status is expected and result.bound_kind != "proved"


def test_a_proof_of_one_s_own_needs_no_word() -> None:
    X, y = clouds(0, 10)
    assert mo.solve(mo.ZeroOneSVM(X, y, 1.0, big_m=1e10), "zero-one-bb").status is Status.OPTIMAL


def test_what_failed_says_the_solver_s_own_word() -> None:
    """HiGHS's kNotset, an "infeasible or unbounded" that stays one: a status of ours, and whose word it is."""
    solver = get_solver("highs")
    result = judge(BareForm(switched(10.0)), solver, Answer(Status.FAILED, "kNotset"), Options(), solver.licence())
    assert result.status is Status.FAILED and "highs ended with kNotset" in result.evidence


def test_a_ball_in_a_kernel_that_is_not_semidefinite_is_no_convex_problem() -> None:
    K = 1e-3 - np.eye(10)
    with pytest.raises(UnsupportedModelError, check=about("clarabel")):
        mo.solve(mo.MEBDual(K, kernel=mo.Precomputed()), "clarabel")


@pytest.mark.parametrize("claimed", [1.0, 1.0 - 1e-3, None])
def test_an_optimum_of_a_nonconvex_problem_rests_on_the_claimed_bound(claimed: float | None) -> None:
    at = replace(GOOD, nonconvex=True, bound=-np.inf, dual_residual=None, complementarity=None)
    status = verdict(replace(CLAIM, bound=claimed), at, 1e-6).status
    assert status is (Status.OPTIMAL if claimed == 1.0 else Status.INACCURATE)


def test_a_better_point_that_meets_a_proved_bound_is_an_optimum() -> None:
    """SCIP stops within its absolute tolerance of an optimum of zero; zero is attained, and no term is negative."""
    X, y = np.array([[1.0, 0.0], [1.0, 1.0]]), [1.0, -1.0]
    model = mo.Margin(X, y, "zero-one", "l2", sample_weight=[0.0, 0.75], intercept="free")
    values = model.complete({"w": np.array([-5.0, 2e-6])})
    objective = model.form.objective(model.form.join(values))
    claim = Answer(Status.OPTIMAL, "optimal", values=values, objective=objective, bound=objective)
    result = judge(model, get_solver("scip"), claim, Options(), OPEN_LICENCE)
    assert objective > 0.0 and abs(result.objective) <= 1e-30
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved"
