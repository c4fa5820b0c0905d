"""Working sets of many points in SMO on a box: the same optimum, a gradient that is carried rightly, LIBSVM's tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from data import noisy_halves
from facts import about

from marginopt.errors import InputError
from marginopt.models.formulations.svm_duals import L1SVMDual
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF, Linear, Precomputed
from marginopt.models.views import BoxEqualityQP
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex.box_smo import (
    CACHED_SET_LIMIT,
    BoxSMO,
    OrderedGram,
    in_original_order,
    move_into_box,
    new_iterate,
    optimise_working_set,
)
from marginopt.solvers.simplex.box_smo_loops import active_gap
from marginopt.solvers.solve import solve_problem


def stated(C: float, kernel: Any = None, sparse: bool = False, n: int = 200) -> L1SVMDual:
    X, y = noisy_halves(n, 4, 0)
    return L1SVMDual(sp.csr_array(X) if sparse else X, y, C, RBF(0.3) if kernel is None else kernel)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("block", [3, 16, 64])
def test_blocks_reach_the_optimum_of_pairs(block: int, C: float, sparse: bool) -> None:
    for kernel in (RBF(0.3), Linear()):
        model = stated(C, kernel, sparse)
        pairs = solve_problem(model, BoxSMO(block=2), Options(tol=1e-7))
        result = solve_problem(model, BoxSMO(block=block), Options(tol=1e-7))
        assert result.status is pairs.status is Status.OPTIMAL and result.certificate.gap <= 1e-7
        assert result.certificate.objective == pytest.approx(pairs.certificate.objective, rel=3e-7)


@pytest.mark.parametrize("block", [4, 20, 500])
def test_a_block_carries_the_gradient_and_stays_feasible(block: int) -> None:
    model = stated(3.0)
    view, algorithm = model.box, BoxSMO(block=block, precision="double")
    state = algorithm.init(view, Options(tol=1e-9), np.random.default_rng(0))
    state.epsilon = 1e-6
    rounds, before = 0, state.objective
    while state.cached_block_streak < CACHED_SET_LIMIT and rounds < 200 and optimise_working_set(state, block, 10**6):
        rounds += 1
        a = in_original_order(state, state.iterate.a)
        assert (a >= 0.0).all() and (a <= view.upper).all() and abs(view.signs @ a) < 1e-12
        gradient = view.gram.product(a) + view.c
        np.testing.assert_allclose(in_original_order(state, state.iterate.d), view.signs * gradient, atol=1e-11)
        below, above, positive = a < view.upper, a > 0.0, view.signs > 0.0
        np.testing.assert_array_equal(state.iterate.rise == 0.0, np.where(positive, below, above))
        np.testing.assert_array_equal(state.iterate.fall > 0.0, np.where(positive, above, below))
        objective = 0.5 * float(a @ (gradient + view.c))
        assert objective < before and float(state.iterate.scalars.objective) == pytest.approx(objective, rel=1e-9)
        before = objective
    assert rounds > 1


def test_the_gap_of_a_look_bounds_the_true_one_and_vanishes_with_it() -> None:
    model = stated(3.0)
    view, rng = model.box, np.random.default_rng(0)
    state = BoxSMO().init(view, Options(), rng)
    optimum = solve_problem(model, BoxSMO(), Options(tol=1e-9)).values["a"]
    for share in (1.0, 0.3, 1e-3, 0.0):
        a = move_into_box(view, optimum + share * (rng.random(view.n) * view.upper - optimum))
        iterate = new_iterate(view, state.cache, a, view.gram.product(a) + view.c)
        size = abs(0.5 * float(a @ (view.gram.product(a) + 2.0 * view.c)))
        assert view.gap(a) - 1e-12 * size <= active_gap(iterate) <= 20.0 * view.gap(a) + 1e-8 * size


@pytest.mark.parametrize("block", [2, 16])
@pytest.mark.parametrize("shrinking", [False, True])
def test_a_run_stops_soon_after_its_gap_is_closed(shrinking: bool, block: int) -> None:
    model = stated(100.0, n=400)
    algorithm = BoxSMO(block=block, shrinking=shrinking)
    for tol in (1e-2, 1e-4):
        stopped = solve_problem(model, algorithm, Options(tol=tol))
        earlier = solve_problem(model, algorithm, Options(tol=1e-9, iteration_limit=int(0.85 * stopped.iterations)))
        assert stopped.status is Status.OPTIMAL and stopped.certificate.gap <= tol < earlier.certificate.gap


def test_the_violation_that_is_asked_for_is_reached() -> None:
    model = stated(10.0)
    for asked in (1e-1, 1e-3, 1e-6):
        for block in (2, 16):
            result = solve_problem(model, BoxSMO(block=block, violation=asked), Options(tol=0.5))
            assert result.status is Status.OPTIMAL
            view, a = model.box, result.values["a"]
            d = view.signs * (view.gram.product(a) + view.c)
            below, above, positive = a < view.upper, a > 0.0, view.signs > 0.0
            rising, falling = np.where(positive, below, above), np.where(positive, above, below)
            assert d[falling].max() - d[rising].min() <= asked * (1.0 + 1e-9)


def test_limits_hold_and_small_caches_take_pairs() -> None:
    model = stated(10.0)
    limited = solve_problem(model, BoxSMO(block=32), Options(tol=1e-9, iteration_limit=37))
    assert limited.status is Status.ITERATION_LIMIT and limited.iterations == 37
    state = BoxSMO(cache_bytes=20 * 4 * 200).init(model.box, Options(), np.random.default_rng(0))
    assert state.cached_block_streak == CACHED_SET_LIMIT  # 20 columns hold no set of 256 points
    solver = BoxSMO(block=16, stride=1)
    assert solver.advance(solver.init(model.box, Options(), np.random.default_rng(0)), 1.0) is Outcome.RUNNING
    with pytest.raises(InputError, check=about("block")):
        solve_problem(model, BoxSMO(block=0), Options())


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_reordered_columns_and_blocks_are_the_matrix(signed: bool, sparse: bool) -> None:
    rng = np.random.default_rng(2)
    X = (rng.random((60, 5)) < 0.5).astype(float)
    signs = rng.choice([-1.0, 1.0], 60) if signed else np.ones(60)
    for kernel in (RBF(0.3), Linear()):
        gram = KernelGram(sp.csr_array(X) if sparse else X, kernel, offset=1.0, ridge=0.1)
        order = rng.permutation(60)
        ordered = OrderedGram(BoxEqualityQP(gram, -np.ones(60), np.ones(60), signs), order)
        K = (gram.dense * np.outer(signs, signs))[np.ix_(order, order)]
        rows, columns = rng.permutation(60)[:20], rng.permutation(60)[:30]
        out = np.empty((20, 60), dtype=np.float32)
        assert ordered.single_columns(rows, out) is out
        np.testing.assert_allclose(out, K[rows], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(ordered.single_block(rows, columns), K[np.ix_(rows, columns)], rtol=1e-5, atol=1e-5)
        assert ordered.has_fast_blocks == gram.has_fast_blocks
    assert not KernelGram(X @ X.T, Precomputed()).has_fast_blocks
