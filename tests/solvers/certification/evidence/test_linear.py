"""Claims without evidence: multipliers, Farkas multipliers and rays from the data, or what the data say against the claim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt import margin
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, StandardForm, Zero
from marginopt.models.model import as_model
from marginopt.models.program.lagrangian import dual_bound
from marginopt.solvers import Answer, Status, get_solver
from marginopt.solvers.certification.evidence import ScaledLinearRows
from marginopt.solvers.certification.rays import RayEvidence
from marginopt.solvers.certification.result import Result
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.rational import farkas_exists
from marginopt.solvers.records import Options


def judged(form: StandardForm, status: Status, **text: Any) -> Result:
    """Return what becomes of a bare claim."""
    return judge(as_model(form), get_solver("highs"), Answer(status, "my word", **text), Options(), OPEN_LICENCE)


def program(
    A: Any, g: Any, q: Any, equal: int = 0, lower: Any = -np.inf, upper: Any = np.inf, P: Any = None, whole: bool = False
) -> StandardForm:
    """Rows A x + g ≥ 0, the first of them = 0."""
    A, g, q = np.atleast_2d(np.asarray(A, dtype=float)), np.asarray(g, dtype=float), np.asarray(q, dtype=float)
    n, m = q.size, g.size - equal
    rows = [Constraint("equal", sp.csr_array(A[:equal]), g[:equal], Zero(equal))] if equal else []
    rows += [Constraint("rows", sp.csr_array(A[equal:]), g[equal:], Nonnegative(m))] if m else []
    lower, upper = np.broadcast_to(lower, n).astype(float), np.broadcast_to(upper, n).astype(float)
    quadratic = None if P is None else Quadratic(matrix=np.asarray(P, dtype=float))
    return StandardForm("program", (Block("x", (n,)),), q, tuple(rows), lower, upper, np.full(n, whole), quadratic)


def drawn(seed: int) -> StandardForm:
    """Whole numbers or normal ones; some variables with bounds, some rows equalities."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    A, g, q = (rng.normal(size=s) if seed % 2 else rng.integers(-3, 4, size=s) for s in ((m, n), m, n))
    equal = int(rng.integers(0, min(2, m - 1) + 1))
    lower, upper = np.where(rng.random(n) < 0.3, -1.0, -np.inf), np.where(rng.random(n) < 0.2, 2.0, np.inf)
    return program(A, g, q, equal, lower, upper)


@pytest.mark.parametrize("block", range(trials(2, 4)))
def test_exactly_one_alternative_holds(block: int) -> None:
    """Farkas multipliers or a point; a ray or multipliers that bound. What is found holds, and never both."""
    proved = 0
    for seed in range(50 * block, 50 * block + trials(20, 50)):
        form = drawn(seed)
        rows = ScaledLinearRows.of(form)
        assert rows is not None
        z, x = rows.farkas()
        assert (z is None) != (x is None), seed
        if z is not None:
            ray = RayEvidence.of(form, z)
            proved += ray.proved
            assert ray.residual is not None and ray.residual <= 1e-12, seed
        if x is not None:
            assert mo.certify(form, form.split(x)).feasible(1e-9), seed
        d, bounding = rows.ray(), rows.bounding_multipliers()
        assert (d is None) != (bounding is None), seed
        if d is not None:
            residual = RayEvidence.of(form, d).residual
            assert residual is not None and residual <= 1e-12, seed
        if z is None and bounding is not None:  # an optimum exists: the bound, where it is one, lies below it
            bound = dual_bound(form, bounding[2], bounding[0])
            best = mo.solve(form, "clarabel").objective
            assert bound.value <= best + 1e-6 * max(1.0, abs(best)), seed
    assert proved >= trials(2, 5)


def test_infeasible_without_a_ray_is_proved() -> None:
    """x ≥ 1 and x ≤ 0, with a free variable in both: x_0 + x_1 ≥ 1, -x_0 - x_1 ≥ 0."""
    form = program([[1, 1], [-1, -1]], [-1, 0], [0, 0])
    result = judged(form, Status.INFEASIBLE)
    assert result.status is Status.INFEASIBLE and "proved: Farkas" in result.evidence
    assert result.farkas is not None
    np.testing.assert_allclose(result.farkas["rows"], result.farkas["rows"][0])
    whole = judged(program([[1, 1], [-1, -1]], [-1, 0], [0, 0], whole=True), Status.INFEASIBLE)
    assert "proved: Farkas" in whole.evidence  # no integers where there are no real numbers


@pytest.mark.filterwarnings("ignore:X has no constant column", "ignore:.*scales differ")
def test_multipliers_that_were_sought_and_prove_nothing_do_not_speak_against_a_claim() -> None:
    """w_1 = ½ of whole numbers beside data of 1e8: the relaxation has a point, and its computed multipliers are no ray."""
    X = [[1.0, -2.0], [-5e7, -1.75e8], [-1e8, -1.75e8], [1.0, -1.25], [1.0, -1.5]]
    loss = margin.PiecewiseLinear(((-1.0, 1.5), (0.0, 1.5), (0.25, 1.0), (0.25, 0.5), (1.5, 0.0), (2.5, 0.0)))
    model = mo.Margin(
        X,
        [1, 1, 1, 1, -1],
        loss,
        margin.NoRegulariser(),
        domain=margin.Integers((-1.0, -1.0), (3.0, 2.0)),
        subject_to=mo.fixed({1: 0.5}),
        sample_weight=[1.5, 0.0, 0.0, 2.0, 0.25],
    )
    assert mo.solve(model, "highs").status is Status.INFEASIBLE


def test_infeasible_beside_a_point_that_the_solver_did_not_give() -> None:
    result = judged(program([[1, 1], [-1, -1]], [-1, 2], [0, 0]), Status.INFEASIBLE)
    assert result.status is Status.INACCURATE and "a point violates no constraint by more than" in result.evidence
    x = result.details["point"]["x"]
    assert 1.0 - 1e-9 <= x.sum() <= 2.0 + 1e-9
    # whole numbers: a point of the relaxation says nothing, 2 x = 1 has no solution
    assert judged(program([[2.0]], [-1], [0], 1, whole=True), Status.INFEASIBLE).status is Status.INFEASIBLE


def test_what_highs_calls_infeasible_and_is_unbounded() -> None:
    """Found by drawing: HiGHS 1.15's presolve says kInfeasible of a program with interior points, and no ray goes with it."""
    wrong = 0
    for seed in range(trials(80, 200)):
        form = drawn(seed)
        result = mo.solve(form, "highs")
        if result.claim.status is Status.INFEASIBLE and result.status is Status.INACCURATE:
            assert mo.certify(form, result.details["point"]).feasible(1e-9)
            wrong += 1
        rows = ScaledLinearRows.of(form)
        assert rows is not None
        if result.status is Status.INFEASIBLE:
            assert rows.farkas()[0] is not None
        if result.status is Status.UNBOUNDED:
            assert rows.farkas()[0] is None and rows.ray() is not None
    assert wrong <= 5


def test_unbounded_without_a_ray() -> None:
    """min -x_0 - x_1 over x_0 - 2 x_1 = 0."""
    result = judged(program([[1, -2]], [0], [-1, -1], 1), Status.UNBOUNDED)
    assert result.status is Status.UNBOUNDED and "proved: an exact ray" in result.evidence
    assert result.ray is not None and result.ray["x"][0] == 2 * result.ray["x"][1] > 0.0
    flat = judged(program([[0, 0]], [1], [-1, -1], P=[[1, -1], [-1, 1]]), Status.UNBOUNDED)  # x_0 = x_1 costs no curvature
    assert flat.status is Status.UNBOUNDED and "proved" in flat.evidence


def test_unbounded_against_a_bound_or_without_a_point() -> None:
    bounded = judged(program([[-1, -1]], [3], [-1, -1]), Status.UNBOUNDED)  # x_0 + x_1 ≤ 3
    assert bounded.status is Status.INACCURATE and "multipliers bound the objective (minimised) by -3" in bounded.evidence
    curved = judged(program([[0, 0]], [1], [-1, -1], P=np.eye(2)), Status.UNBOUNDED)
    assert curved.status is Status.INACCURATE and "by -1" in curved.evidence
    empty = judged(program([[1, 1], [-1, -1]], [-1, 0], [1, -1]), Status.UNBOUNDED)
    assert empty.status is Status.INACCURATE and "there is no point" in empty.evidence


def test_optimal_without_multipliers() -> None:
    """min x_0 + x_1 over x_0 ≥ |x_1 - 3| + 2, all free: the optimum is 5 - 3 + ... found by multipliers of our own."""
    form = program([[1, 1], [1, -1]], [-5, 1], [1, 0])  # x_0 ≥ 5 - x_1, x_0 ≥ x_1 - 1: the least x_0 is 2 at x_1 = 3
    result = judged(form, Status.OPTIMAL, values={"x": np.array([2.0, 3.0])})
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved" and result.bound == pytest.approx(2.0, rel=1e-12)
    assert result.multipliers is not None
    np.testing.assert_allclose(result.multipliers["rows"], [0.5, 0.5], rtol=1e-12)
    assert "least squares" in result.details["multipliers"]
    worse = judged(form, Status.OPTIMAL, values={"x": np.array([2.5, 3.0])}, bound=2.5)
    assert worse.status is Status.INACCURATE


def test_a_bound_far_above_the_objective_is_a_contradiction_for_any_solver() -> None:
    form = program([[1, 1], [1, -1]], [-5, 1], [1, 0])
    result = judged(form, Status.OPTIMAL, values={"x": np.array([2.0, 3.0])}, bound=7.0)
    assert result.status is Status.INACCURATE and "7" in result.evidence and "2" in result.evidence


def test_what_is_not_linear_or_too_large_is_left_alone() -> None:
    cone = mo.ConicSVM([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1, -1, 1], lam=1.0).form
    assert ScaledLinearRows.of(cone) is None
    assert ScaledLinearRows.of(program(np.ones((1, 1200)), [0], np.ones(1200))) is None


def test_a_point_beside_its_bound_by_rounding_has_the_bound_active() -> None:
    """x_1 = -8.8e-10 beside x_1 ≥ 0 is active: no slack relative to itself is small."""
    form = program([[1, 2]], [-2], [1.5, 1], lower=[0, 0])
    result = judged(form, Status.OPTIMAL, values={"x": np.array([-8.8e-10, 1.0])})
    assert result.status is Status.OPTIMAL and result.bound_kind == "proved"
    assert result.bound == pytest.approx(1.0, abs=1e-8)


def test_no_infeasible_program_of_hundreds_stays_a_claim() -> None:
    """Two in 400 stayed "claimed": their Farkas multipliers, thirds and sevenths, missed an equation by one rounding."""
    count = 0
    for seed in range(trials(150, 400)):
        form = drawn(seed)
        rows = ScaledLinearRows.of(form)
        assert rows is not None
        z, _ = rows.farkas()
        if z is not None:
            count += 1
            ray = RayEvidence.of(form, z)
            assert ray.proved and ray.explanation(Status.INFEASIBLE).startswith("proved: "), seed
    assert count >= trials(35, 100)


def test_rows_of_very_different_sizes_keep_their_proof() -> None:
    """Multipliers of long rows are small: 1e-12 of the largest was taken for rounding, and UNBOUNDED was then called proved."""
    A = np.array([[-1, 1, 4, -1], [-4, -1, 1, -1], [3, 3, 3, 2], [2, -3, -8, 0]], dtype=float)
    g = np.array([4.0, 3.0, 1.0, -10.0])  # no point: the rows sum to 0 ≥ 2
    for powers in ([0, 0, 0, 0], [-3, -19, 5, 19], [20, -20, 0, 3]):
        size = np.ldexp(1.0, powers)
        form = program(size[:, None] * A, size * g, [4, -3, -1, 4])
        rows = ScaledLinearRows.of(form)
        assert rows is not None
        z, _ = rows.farkas()
        assert z is not None and RayEvidence.of(form, z).proved, powers
        assert farkas_exists(form, {"rows": (1 + 4e-16) / size})


def test_rational_multipliers_beside_rounded_ones() -> None:
    """One of the two, and one whose multipliers are 1/3; a proof that is rational is said to be."""
    thirds = program([[3, 1], [-1, 0], [0, -1]], [-1, 0, 0], [0, 0])  # 3 x_0 + x_1 ≥ 1, x ≤ 0
    z = {"rows": np.array([1.0 / 3.0, 1.0, 1.0 / 3.0])}
    assert farkas_exists(thirds, z)
    assert not farkas_exists(thirds, {"rows": np.array([0.0, 1.0, 1.0])})
    assert not farkas_exists(thirds, {"rows": np.full(3, np.nan)})
    rows = ScaledLinearRows.of(drawn(378))
    assert rows is not None
    z_found, _ = rows.farkas()
    assert z_found is not None
    assert farkas_exists(drawn(378), z_found)
    assert RayEvidence.of(drawn(378), z_found).proved  # without it by now: of 3,000 drawn programs none needs it
    assert "rational arithmetic" in RayEvidence(1e-16, proved=True, rational=True).explanation(Status.INFEASIBLE)


def test_no_multipliers_exclude_a_program_with_a_point() -> None:
    """Rational or not: from any multipliers, a set that holds a point is never said to be empty."""
    tried = 0
    for seed in range(trials(100, 300)):
        form = drawn(seed)
        rows = ScaledLinearRows.of(form)
        assert rows is not None
        z, _ = rows.farkas()
        if z is None:
            tried += 1
            rng = np.random.default_rng(seed)
            for scale in (1.0, 1e-12):
                wild = {c.label: np.round(rng.normal(size=c.rows), int(rng.integers(0, 17))) * scale for c in form.constraints}
                assert not farkas_exists(form, wild), seed
    assert tried >= trials(30, 100)
