"""Equations that moves of multipliers meet: how far the moves are, and which equations follow from the others exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds

import marginopt as mo
from marginopt import margin
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.models.deadline import OutOfTimeError, limit_clock, repair_deadline
from marginopt.models.program.csr_rows import CSRRows
from marginopt.models.program.lagrangian import dual_bound
from marginopt.models.program.multiplier_repair import Equations
from marginopt.solvers.rational import RationalForm


def _hulls(seed: int, domain: margin.Domain) -> mo.Margin:
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, 8, 2, 0.4, order="halves", first=-1.0)
    return mo.Margin(X, y, margin.NearestHulls(), margin.L1(0.5), sample_weight=rng.uniform(0.3, 1.0, 8), domain=domain)


@pytest.mark.parametrize(
    "domain", [margin.Increasing((1, 2)), margin.Signs((0, 1, 0)), margin.Reals()], ids=lambda d: type(d).__name__
)
def test_a_constant_column_beside_free_levels_is_proved(domain: margin.Domain) -> None:
    """HiGHS's vertex has no price on |w_0| ≤ a_0: the constant column's equation is that of the levels, and was singular."""
    solved = 0
    for seed in range(12):
        result = mo.solve(_hulls(seed, domain), "highs")
        if result.status is mo.Status.OPTIMAL:
            solved += 1
            assert result.bound_kind == "proved", (seed, result)
            form = _hulls(seed, domain).form
            exact = RationalForm(form)
            assert result.certificate is not None and result.certificate.primal_residual <= 1e-9
            assert Fraction(result.bound) <= exact.objective(exact.point(form.join(result.values))) + Fraction(1e-9)
    assert solved > 4


#: Prices that meet the equations of `_levels` but for 1e-12, worth 7/16; the optimum is 13/16.
PRICES = {"rows": np.array([0.25 + 1e-12, 0.25, 0.5])}


def _levels(cost: float, seen: float = 1.0) -> StandardForm:
    """min cost w - p/2 - q/4 + 2x, x ≥ 0, on three rows that do not see (w, p, q) = (1, 1, -1), which costs cost - 1/4."""
    rows = sp.csr_array([[seen, -1.0, 0.0, 1.0], [-1.0, 0.0, -1.0, 1.0], [0.5 * seen, -0.5, 0.0, 1.0]])
    return StandardForm(
        "levels", (Block("x", (4,)),), np.array([cost, -0.5, -0.25, 2.0]),
        (Constraint("rows", rows, np.array([-1.5, -0.25, 0.0]), Nonnegative(3)),),
        np.array([-np.inf, -np.inf, -np.inf, 0.0]), np.full(4, np.inf), np.zeros(4, dtype=bool),
    )  # fmt: skip


def test_a_direction_that_costs_nothing_takes_an_equation_away() -> None:
    bound = dual_bound(_levels(0.25), None, PRICES).value
    assert 7 / 16 - 1e-9 <= bound <= 13 / 16


@pytest.mark.parametrize(
    "form", [_levels(np.nextafter(0.25, 1.0)), _levels(0.25, seen=np.nextafter(1.0, 2.0))], ids=["costs", "is seen"]
)
def test_a_direction_that_costs_or_is_seen_by_a_rounding_is_unbounded_and_nothing_is_proved(form: StandardForm) -> None:
    assert dual_bound(form, None, PRICES).value == -np.inf


def _with_slacks(seed: int) -> np.ndarray:
    """Equations of some moves, of which a few have one move only: two of them the same one."""
    rng = np.random.default_rng(seed)
    few, slacks, moves = int(rng.integers(1, 5)), int(rng.integers(0, 6)), 12
    A = np.zeros((few + slacks + 2, moves))
    A[:few] = np.where(rng.random((few, moves)) < 0.7, rng.standard_normal((few, moves)), 0.0)
    A[few + np.arange(slacks), np.arange(slacks)] = rng.uniform(0.5, 2.0, slacks) * 10.0 ** rng.integers(-3, 3, slacks)
    return A[rng.permutation(few + slacks)]


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_moves_meet_their_equations_within_the_distance(seed: int, apart: bool) -> None:
    """Whatever the slopes are within their sizes; the least-norm solution is no further, so the distance is no less than it."""
    A, rng = _with_slacks(seed), np.random.default_rng(seed)
    equations = Equations.of(CSRRows.from_matrix(A), separate=apart)
    assert equations.singletons.size == (int((np.count_nonzero(A, axis=1) == 1).sum()) if apart else 0)
    form = mo.HingeSVM(*clouds(rng, 8, 2)).form
    nothing = sp.csr_array((1, A.shape[1])), np.zeros(1, dtype=bool)
    independent = equations.find_independent(form, *nothing, np.zeros(A.shape[0], dtype=np.intp))
    sizes = rng.uniform(0.1, 1.0, A.shape[0])
    if independent is None:
        assert np.linalg.matrix_rank(A) < A.shape[0] or np.linalg.cond(A) > 1e4
        return
    distance = equations.solution_norm_bound(sizes, independent)
    for _ in range(20):
        s = sizes * rng.choice([-1.0, 1.0, 0.3], sizes.size)
        y = equations.solution(s, definite=True)
        assert y is not None
        np.testing.assert_allclose(A @ y, s, atol=1e-9)
        assert np.linalg.norm(np.linalg.lstsq(A, s)[0]) * (1.0 - 1e-9) <= np.linalg.norm(y) <= distance


def test_two_equations_of_one_move_do_not_stand_apart() -> None:
    """They agree or have no solution: neither settles the move for the other."""
    equations = Equations.of(CSRRows.from_matrix(np.array([[2.0, 0.0], [3.0, 0.0], [0.0, 1.0]])), separate=True)
    np.testing.assert_array_equal(equations.singletons, [2])
    np.testing.assert_array_equal(equations.others, [0, 1])


def _shared(copies: int, cost: float) -> tuple[StandardForm, dict[str, np.ndarray]]:
    """min Σ (cost b + t_1 + t_2/2 + t_3/4), b + t_k ≥ 1, all free, ``copies`` times; and prices that miss by a rounding.

    Each t_k has a row of its own, and with cost = 7/4 the equation of b is the sum of theirs.
    """
    one = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    n, weights = 4 * copies, np.array([1.0, 0.5, 0.25])
    rows = Constraint("rows", sp.csr_array(sp.block_diag([one] * copies)), -np.ones(3 * copies), Nonnegative(3 * copies))
    form = StandardForm(
        "shared", (Block("x", (n,)),), np.tile(np.array([cost, *weights]), copies), (rows,),
        np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool),
    )  # fmt: skip
    return form, {"rows": np.tile(weights, copies) * (1.0 + 1e-12)}


@pytest.mark.parametrize("copies", [2, 50])  # few equations, and so many that those with one move stand apart at first
def test_an_equation_that_follows_from_those_that_stand_apart(copies: int) -> None:
    form, prices = _shared(copies, 1.75)
    bound = dual_bound(form, None, prices).value
    assert copies * 1.75 - 1e-6 <= bound <= copies * 1.75
    form, prices = _shared(copies, np.nextafter(1.75, 2.0))
    assert dual_bound(form, None, prices).value == -np.inf


def test_many_points_on_the_margin_are_proved() -> None:
    """A hinge and an L1 norm: slacks whose price is C, one more after each correction, beside the features' equations."""
    rng = np.random.default_rng(3)
    X, y = clouds(rng, 300, 6, 0.4)
    result = mo.solve(mo.Margin(X, y, margin.Hinge(), margin.L1(0.5)), "scs", tol=1e-5)
    assert result.bound_kind == "proved"
    better = mo.solve(mo.Margin(X, y, margin.Hinge(), margin.L1(0.5)), "highs")
    assert better.status is mo.Status.OPTIMAL
    assert result.bound <= better.objective + 1e-9
    assert better.objective - result.bound <= 1e-3 * better.objective


def test_under_a_time_limit_multipliers_are_repaired_if_there_is_time() -> None:
    """A bound, or none and the reason; OSQP on 4,000 points took 3 s for a limit of 0.1, nearly all of it here."""
    model = _hulls(0, margin.Reals())
    result = mo.solve(model, "clarabel")
    assert result.multipliers is not None
    x, multipliers = model.form.join(result.values), result.multipliers
    free = dual_bound(model.form, x, multipliers)
    with repair_deadline(limit_clock() + 3600.0):
        assert dual_bound(model.form, x, multipliers) == free
    with repair_deadline(limit_clock() - 1.0):
        late = dual_bound(model.form, x, multipliers)
    assert free.value > late.value == -np.inf and "time limit" in late.argument
    assert dual_bound(model.form, x, multipliers) == free


def test_many_equations_take_more_time_than_few() -> None:
    few, many = (Equations.of(CSRRows.identity(k), separate=False) for k in (10, 20_000))
    with repair_deadline(limit_clock() + 60.0):
        few.check_time(4)
        with pytest.raises(OutOfTimeError):
            many.check_time(4)
    many.check_time(4)


def test_a_repair_without_time_ends_the_bound_wherever_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the repairs ran outside the part that is given up."""
    from marginopt.models.program import lagrangian as module

    def late(*_: object) -> None:
        raise OutOfTimeError

    monkeypatch.setattr(module, "_with_raised_slopes", late)
    form = mo.from_scipy(np.array([1.0, 1.0]), A_ub=-np.ones((1, 2)), b_ub=[-1.0], bounds=(None, None))
    assert module.dual_bound(form, None, {"upper": np.zeros(1)}).value == -np.inf
