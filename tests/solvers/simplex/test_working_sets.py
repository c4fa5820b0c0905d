"""Pairs in working sets on one simplex, where the low-rank model leaves much of Q and holds the smaller part of the points."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings, strategies as st

from marginopt.models.formulations.svm_duals import L2SVMDual
from marginopt.models.kernels.gram import MatrixGram
from marginopt.models.kernels.kernels import RBF
from marginopt.models.views import BoxEqualityQP
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex.box_smo import BoxSMO, WorkingSetRun, move_into_box
from marginopt.solvers.simplex.smo import SMO
from marginopt.solvers.solve import solve_problem


def rare_class(n=2400, C=100.0):
    """Rows of zeros and ones, 3% of them positive: the model has some 20% of the points in its support and explains little."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.03, 1.0, -1.0)
    X = (rng.random((n, 60)) < np.where(y > 0, 0.15, 0.05)[:, None]).astype(np.float64)
    return L2SVMDual(X, y, C, RBF(1.0 / (2.0 * X.var(axis=0).sum())))


def test_a_rare_class_is_left_to_working_sets_and_agrees_with_pairs():
    model = rare_class()
    result = solve_problem(model, SMO(), Options(tol=1e-5))
    pairs = solve_problem(model, SMO(newton=False), Options(tol=1e-5))
    assert (result.details["start"], pairs.details["start"]) == ("working sets", "pairs")
    assert result.status is pairs.status is Status.OPTIMAL
    assert result.certificate.gap <= 1e-5
    assert result.certificate.objective == pytest.approx(pairs.certificate.objective, rel=2e-5)
    assert result.iterations > 0
    assert result.details["columns"] > 0


def test_a_run_that_its_limit_ends_gives_the_point_of_its_last_pair():
    model = rare_class()
    whole = solve_problem(model, SMO(), Options(tol=1e-5))
    short = solve_problem(model, SMO(), Options(tol=1e-5, iteration_limit=whole.iterations // 2))
    assert short.status is Status.ITERATION_LIMIT
    assert short.iterations == whole.iterations // 2
    assert whole.objective < short.objective < 10.0 * whole.objective
    assert short.bound <= whole.objective


def test_a_point_taken_in_between_is_exact():
    view = rare_class(800).simplex
    a = np.zeros(view.n)
    a[0] = 1.0
    sets = WorkingSetRun.start_at(view, a, BoxSMO(prefetch=8), 1e-4, 10**6)
    last = view.objective(a)
    for _ in sets.steps():
        point = sets.point()
        assert point.a.min() >= 0.0
        assert point.a.sum() == pytest.approx(1.0, abs=1e-12)
        assert point.gradient == pytest.approx(view.gram.product(point.a) + view.c, rel=1e-12, abs=1e-15)
        assert view.objective(point.a) <= last * (1.0 + 1e-9)
        last = view.objective(point.a)
    point = sets.point()
    assert view.gap(point.a, point.gradient - view.c) <= 1e-4 * view.objective(point.a)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_the_least_slope_and_the_way_into_a_box_with_any_right_side(seed, one_side):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    signs = np.ones(n) if one_side else np.concatenate([[1.0, -1.0], rng.choice([-1.0, 1.0], n - 2)])
    upper = rng.uniform(0.2, 1.0, n)
    total = float(rng.uniform(0.05, 0.9) * upper[signs > 0].sum())
    view = BoxEqualityQP(MatrixGram(np.eye(n)), rng.normal(size=n), upper, signs, total=total)
    gradient = np.round(rng.normal(size=n), 1)
    least, nu = view.minimise_linear(gradient)
    best = scipy.optimize.linprog(gradient, A_eq=signs[None, :], b_eq=[total], bounds=np.column_stack([np.zeros(n), upper]))
    assert least == pytest.approx(best.fun, abs=1e-9)
    assert total * nu + upper @ np.minimum(0.0, gradient - nu * signs) == pytest.approx(best.fun, abs=1e-9)
    near = best.x * (1.0 + 1e-9)  # what rounding may have added
    inside = move_into_box(view, near)
    assert signs @ inside == pytest.approx(total, abs=1e-12)
    assert (inside >= 0.0).all()
    assert (inside <= upper * (1.0 + 1e-8)).all()
