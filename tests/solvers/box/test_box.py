"""Box QPs: coordinate descent, Newton and interior finishers against Clarabel and by their own certificate."""

from __future__ import annotations

import numpy as np
import pytest
from effort import trials
from facts import about
from hypothesis import given, strategies as st

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.models import BoxProgram, BoxQP, NonparallelSVM
from marginopt.solvers import Status
from marginopt.solvers.box.descent import BoxDescent, box_minimum, make_state
from marginopt.solvers.box.finishers import interior_point, newton_steps
from marginopt.solvers.interface.algorithm import Outcome


def _program(seed: int, m: int, r: int, ridge: float = 0.0, decay: float = 0.0) -> BoxProgram:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(m, r)) * np.exp(-decay * np.arange(r))
    return BoxProgram(Z, rng.normal(size=m) - 0.5, -rng.random(m), rng.random(m) + 0.1, np.full(m, ridge))


def _view(program: BoxProgram) -> BoxQP:
    view = program.view(BoxQP)
    assert view is not None
    return view


@pytest.mark.parametrize(("m", "r"), [(1, 1), (40, 3), (40, 60), (300, 10)])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("finish", [True, False])
def test_agrees_with_clarabel(m: int, r: int, ridge: float, finish: bool) -> None:
    program = _program(m + r, m, r, ridge)
    ours = solvers.solve(program, BoxDescent(finish=finish), tol=1e-8)
    theirs = solvers.solve(program, "clarabel", tol=1e-9)
    assert ours.status is Status.OPTIMAL
    assert ours.bound_kind == "proved"
    assert ours.gap <= 1e-8
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-7, abs=1e-9)


@given(seed=st.integers(0, 10**6), m=st.integers(1, 25), r=st.integers(1, 30), decay=st.sampled_from([0.0, 0.5]))
def test_any_small_program_reaches_its_gap(seed: int, m: int, r: int, decay: float) -> None:
    program = _program(seed, m, r, 0.0, decay)
    view = _view(program)
    a, gap = box_minimum(view, None, 1e-9)
    assert (a >= view.lower).all()
    assert (a <= view.upper).all()
    assert gap <= 1e-9 * (1e-6 + abs(view.objective(a)))
    # gap from its definition: the linearisation at a minimised over the corners
    g = program.Z @ (program.Z.T @ a) + program.q
    assert gap == pytest.approx(g @ a - np.minimum(g * view.lower, g * view.upper).sum(), abs=1e-12)


@given(seed=st.integers(0, 10**6), m=st.integers(2, 30), r=st.integers(1, 40))
def test_finishers_alone_reach_the_optimum(seed: int, m: int, r: int) -> None:
    view = _view(_program(seed, m, r, 0.05))
    best, _ = box_minimum(view, None, 1e-11)
    f = view.objective(best)
    inner = interior_point(view, lambda: 1e-9 * abs(f))
    assert view.objective(inner.a) == pytest.approx(f, rel=1e-7, abs=1e-9)
    state = make_state(view, None, 1e-9, np.inf, 1)
    newton = newton_steps(view, state.diagonal, state.a, state.gradient, lambda: 1e-9 * abs(f), stop_when_slow=False)
    assert view.objective(newton.a) == pytest.approx(f, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("size", [1e8, 1e20, 1e150])
@pytest.mark.parametrize("mixed", [False, True])
def test_descent_ends_in_boxes_that_are_wide_beside_the_data(size: float, mixed: bool) -> None:
    """Matrices of rank one: descent went along their null space by steps of 1, or stood where no step changes a double."""
    for seed in range(trials(4, 12)):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(2, 9))
        Z, q = rng.normal(size=(m, 1)) * 10.0 ** rng.integers(-3, 4), rng.normal(size=m)
        upper = np.where(rng.random(m) < 0.5, 1.0, size) if mixed else np.full(m, size)
        view = _view(BoxProgram(Z, q, np.zeros(m), upper, np.zeros(m)))
        state, descent = make_state(view, None, 1e-8, np.inf, 1), BoxDescent()
        assert any(descent._round(state, 0.01) is not Outcome.RUNNING for _ in range(200))
        assert (view.lower <= state.a).all() and (state.a <= view.upper).all()


def test_a_line_search_along_a_round_reaches_the_end_of_a_wide_box() -> None:
    view = _view(BoxProgram(np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]), np.zeros(2), np.full(2, 1e9), np.zeros(2)))
    state = make_state(view, np.array([1.0, 1.0]), 1e-8, np.inf, 1)
    assert state.extend_round(np.zeros(2))
    assert state.a.tolist() == [1e9, 1e9]
    assert not any([state.extend_round(state.a.copy()) for _ in range(20)][-1:])


def test_ill_conditioned_program_is_finished_by_other_means_than_descent() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 12)) @ np.diag(10.0 ** -np.linspace(0, 3, 12)) * 30
    program = BoxProgram(Z, rng.normal(size=400), np.zeros(400), np.ones(400), np.zeros(400))
    result = solvers.solve(program, "boxqp", tol=1e-9)
    assert result.status is Status.OPTIMAL
    assert result.details["finish_steps"] > 0
    assert result.objective == pytest.approx(solvers.solve(program, "clarabel").objective, rel=1e-6)


def test_fixed_variables_and_zero_rows() -> None:
    program = BoxProgram(np.array([[1.0], [0.0], [2.0]]), np.array([-1.0, 2.0, -1.0]), [0.5, -1, 0], [0.5, 1, 1], 0.0)
    result = solvers.solve(program, "boxqp")
    # a_1 is fixed, a_2 has no curvature and goes to its lower bound, a_3: 4a + 2·0.5 - 1 = 0
    assert result.values["a"] == pytest.approx([0.5, -1.0, 0.0], abs=1e-12)
    assert result.status is Status.OPTIMAL
    view = _view(program)
    assert interior_point(view, lambda: 1e-10).a == pytest.approx([0.5, -1.0, 0.0], abs=1e-4)


def test_warm_start_at_the_optimum_needs_no_epoch() -> None:
    program = _program(7, 80, 5, 0.1)
    first = solvers.solve(program, "boxqp", tol=1e-10)
    again = solvers.solve(program, "boxqp", tol=1e-8, start={"a": first.values["a"]})
    assert again.details["epochs"] == 0
    assert again.status is Status.OPTIMAL


@pytest.mark.parametrize("width", [1.0, 0.1, 0.02])
def test_active_sets_come_first_from_inside_the_box(width: float) -> None:
    """The box binds for no variable, for some, or for most of them."""
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(40, 60))
    program = BoxProgram(Z, rng.normal(size=40), np.full(40, -width), np.full(40, width), np.zeros(40))
    result = solvers.solve(program, BoxDescent(), tol=1e-9)
    np.testing.assert_allclose(result.objective, solvers.solve(program, "clarabel", tol=1e-9).objective, rtol=1e-6)
    assert result.details["epochs"] == 0
    assert result.details["finish_steps"] > 0


def test_same_seed_same_run() -> None:
    program = _program(3, 120, 6)
    runs = [solvers.solve(program, "boxqp", seed=5) for _ in range(2)]
    assert (runs[0].values["a"] == runs[1].values["a"]).all()
    assert runs[0].details["updates"] == runs[1].details["updates"]


def test_iteration_limit_leaves_a_certified_point() -> None:
    program = _program(3, 200, 40)
    result = solvers.solve(program, "boxqp", iteration_limit=1, tol=1e-12)
    assert result.status is Status.ITERATION_LIMIT
    optimum = solvers.solve(program, "boxqp").objective
    assert result.bound <= optimum <= result.objective


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"Z": np.ones(3)}, "Z"),
        ({"Z": np.full((3, 2), np.inf)}, "Z"),
        ({"q": np.ones(2)}, "q"),
        ({"lower": 2.0}, "lower"),
        ({"ridge": -1.0}, "lower"),
    ],
)
def test_bad_input_is_named(change: dict[str, object], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        BoxProgram(**{"Z": np.ones((3, 2)), "q": 1.0, "lower": 0.0, "upper": 1.0, "ridge": 0.0, **change})  # type: ignore[arg-type]


def test_a_gap_that_float64_does_not_give_ends_the_run() -> None:
    """The least violation asked for was below what rounding leaves of the gradient at c = 1000: the run never ended."""
    rng = np.random.default_rng(0)
    model = NonparallelSVM(rng.standard_normal((400, 60)), np.arange(400) % 3, 1, c=1e3)
    result = solvers.solve(model, "boxqp", tol=1e-15, time_limit=60.0)
    assert result.status in (Status.STALLED, Status.INACCURATE, Status.OPTIMAL) and result.gap < 1e-11


def test_costs_whose_squares_overflow_end_the_interior_point() -> None:
    """c = 1e300 of a plane's classifier: SciPy's ValueError escaped."""
    rng = np.random.default_rng(0)
    program = BoxProgram(rng.normal(size=(4, 2)), np.full(4, -1.0), np.zeros(4), np.full(4, 1e300), ridge=0.0)
    view = program.view(BoxQP)
    with np.errstate(all="ignore"):
        run = interior_point(view, lambda: 1e-6)
    assert ((run.a >= 0.0) & (run.a <= 1e300)).all()


@pytest.mark.parametrize("scale", [1e150, 1e200, 1e300])
@pytest.mark.parametrize("rank", [1, 8])
def test_sums_that_overflow_end_without_another_package_s_error(scale: float, rank: int) -> None:
    program = _program(3, 6, rank, 0.0)
    view = _view(BoxProgram(program.Z * np.sqrt(scale), program.q * scale, np.zeros(6), np.full(6, scale), program.ridge))
    with np.errstate(all="ignore"):
        end = interior_point(view, lambda: 1e-9)
    assert not end.gap < 0.0
