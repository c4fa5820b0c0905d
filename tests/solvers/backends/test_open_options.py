"""Limits, native options and starts of the open solvers: taken, refused or noted."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about, subjects
from programs import bounded_qp, form_of, knapsack, random_qp, solve

from marginopt.errors import InputError, MarginoptWarning
from marginopt.models import HingeSVM
from marginopt.solvers.records import Options, Status
from marginopt.solvers.registry import get_solver


@pytest.mark.parametrize("name", ["clarabel", "scs", "osqp", "piqp", "highs"])
def test_iteration_limit(name):
    result = solve(random_qp(0, 12), name, iteration_limit=2, tol=1e-9)
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations is not None
    assert name == "highs" or result.iterations <= 3  # HiGHS counts those of its phase one, which has a limit of its own


@pytest.mark.parametrize("name", ["clarabel", "scs", "osqp", "highs"])
def test_time_limit(name):
    result = solve(knapsack() if name == "highs" else random_qp(0, 12), name, time_limit=1e-9, tol=1e-9)
    assert result.status is Status.TIME_LIMIT


@pytest.mark.parametrize("name", ["piqp", "proxqp", "quadprog"])
def test_a_limit_that_cannot_be_obeyed_is_noted(name):
    result = solve(bounded_qp(), name, time_limit=60)
    assert result.solved
    assert result.details["options_not_taken"] == ["time_limit"]


@pytest.mark.parametrize(
    ("name", "wrong", "near"),
    [
        ("clarabel", "max_iters", "max_iter"),
        ("scs", "max_iter", "max_iters"),
        ("osqp", "max_iters", "max_iter"),
        ("piqp", "max_iters", "max_iter"),
        ("highs", "mip_relgap", "mip_rel_gap"),
        ("cvxpy:scipy", "scipy_option", "scipy_options"),
    ],
)
def test_unknown_native_option_names_the_near_miss(name, wrong, near):
    form = form_of([1.0], lower=[0.0])
    with pytest.raises(InputError, check=about(wrong, allowed=[near])):
        solve(form, name, native={wrong: 5})


@pytest.mark.parametrize("name", ["proxqp", "daqp", "quadprog"])
def test_unknown_native_option_of_a_solver_without_a_list(name):
    with pytest.raises(InputError, check=about("bogus")):
        solve(bounded_qp(), name, native={"bogus": 5})


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("clarabel", {"max_iter": "many"}),
        ("scs", {"max_iters": "many"}),
        ("osqp", {"max_iter": "many"}),
        ("piqp", {"max_iter": "many"}),
        ("highs", {"mip_rel_gap": "small"}),
        ("highs", {"solver": "guess"}),
        ("highs", {"time_limit": [1]}),
        ("cvxpy:scipy", {"scipy_options": {"bogus": 1}}),
    ],
)
def test_wrong_native_value(name, native):
    form = form_of([1.0], lower=[0.0]) if name == "cvxpy:scipy" else bounded_qp()
    with pytest.raises(InputError, check=about("options", *native)):
        solve(form, name, native=native)


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("clarabel", {"max_iter": 1}),
        ("scs", {"max_iters": 1, "linear_solver": "qdldl"}),
        ("osqp", {"max_iter": 1, "algebra": "builtin", "polishing": False}),
        ("piqp", {"max_iter": 1}),
        ("highs", {"qp_iteration_limit": 1}),
    ],
)
def test_native_options_reach_the_solver_and_win(name, native):
    assert solve(random_qp(0, 12), name, iteration_limit=1000, native=native).status is Status.ITERATION_LIMIT


def test_threads_may_change_between_solves():
    for threads in (1, 2, 1):
        assert solve(knapsack(12), "highs", threads=threads).solved


@pytest.mark.parametrize("name", ["scs", "osqp"])
def test_a_start_at_the_optimum_saves_iterations(name):
    form = random_qp(1, 12)
    cold = solve(form, name, tol=1e-6)
    warm = solve(form, name, tol=1e-6, start=cold.values)
    assert warm.solved and warm.iterations <= cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


@pytest.mark.parametrize("name", ["scs", "osqp", "highs"])
def test_a_start_with_an_unknown_block(name):
    form = knapsack() if name == "highs" else form_of([1.0, 1.0], P=np.eye(2))
    with pytest.raises(InputError, check=about("y")):
        get_solver(name).solve_form(form, Options(start={"y": np.zeros(2)}))


def test_an_incomplete_start_is_noted():
    rng = np.random.default_rng(0)
    model = HingeSVM(np.column_stack([np.ones(10), rng.normal(size=10)]), np.where(np.arange(10) % 2, 1.0, -1.0), lam=1.0)
    with pytest.warns(MarginoptWarning) as caught:
        result = solve(model, "osqp", start={"w": np.zeros(2)})
    assert subjects(caught) == ["start"]
    assert result.solved
    assert "xi" in result.details["start"]


def test_highs_takes_starts_for_integer_programs_only():
    form = knapsack()
    best = solve(form, "highs")
    again = solve(form, "highs", start=best.values)
    assert again.solved and "start" not in again.details
    assert again.trace[0].objective == pytest.approx(best.objective)  # the start is the first incumbent
    with pytest.warns(MarginoptWarning) as caught:
        assert "mixed-integer" in solve(bounded_qp(), "highs", start={"x": np.zeros(3)}).details["start"]
    assert subjects(caught) == ["start"]
