"""HiGHS: integer programs, quadratic ones on semidefinite matrices, and what it keeps when it is stopped."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about
from programs import UNBOUNDED, bounded_qp, knapsack, random_qp, solve

from marginopt.errors import UnsupportedModelError
from marginopt.models import HingeSVM
from marginopt.solvers.records import Status


def test_highs_integer_program_has_bound_nodes_and_trace():
    form = knapsack()
    result = solve(form, "highs", tol=1e-6)
    reference = solve(form, "scip", tol=1e-6)
    assert result.objective == pytest.approx(reference.objective, rel=1e-9)
    assert result.bound_kind == "claimed by solver" and result.gap <= 1e-6
    assert result.nodes is not None and result.multipliers is None
    assert result.trace[-1].objective == pytest.approx(result.objective)
    assert result.trace[-1].bound == pytest.approx(result.objective)


def test_highs_limits_keep_incumbent_and_bound():
    rng = np.random.default_rng(0)
    form = knapsack(60, 3)
    form = form.replace(q=form.q - rng.random(60))
    result = solve(form, "highs", node_limit=1, tol=1e-12)
    assert result.status is Status.NODE_LIMIT
    assert result.values and result.bound is not None
    assert result.bound < result.objective


def test_highs_callback_stops_it():
    form = knapsack(60, 3)
    seen = []

    def stop(row):
        seen.append(row)
        return True

    result = solve(form, "highs", callback=stop, tol=1e-12)
    assert result.status is Status.INTERRUPTED and seen


def test_highs_refuses_mixed_integer_quadratic_programs():
    form = bounded_qp().replace(integer=np.array([True, False, False]))
    with pytest.raises(UnsupportedModelError, check=about("highs")):
        solve(form, "highs")


def test_highs_semidefinite_objectives(assert_kkt):
    """Where the active set meets a null space of P, HiGHS calls P non-convex; proximal steps lead on."""
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    result = solve(HingeSVM(X, np.where(np.arange(30) % 2, 1.0, -1.0), lam=1.0), "highs")
    assert result.solved
    for seed, rank in ((2, 4), (3, 1), (4, 4), (5, 1), (9, 2)):  # HiGHS alone: non-convex, or beside the optimum
        form = random_qp(seed, rank)
        form = form.replace(q=form.q / 3)
        result = solve(form, "highs", tol=1e-7)
        assert result.solved and 1 <= result.details["proximal_steps"] <= 10, result
        assert_kkt(form, result, 1e-8)
        assert result.claim.objective == pytest.approx(result.objective, rel=1e-8)
    unbounded = solve(UNBOUNDED["quadratic"], "highs")
    assert unbounded.status is Status.UNBOUNDED and unbounded.details["proximal_steps"] <= 5
