"""The coordinates that boxes are searched in."""

import numpy as np
import pytest
from data import clouds

from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.exact.options import Limits
from marginopt.solvers.exact.rotation import basis_errors, constant_column, rotated_basis, singular_basis
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.records import Options
from marginopt.solvers.zero_one import ZeroOneBB
from marginopt.solvers.zero_one.box_engine import BoxEngine
from marginopt.solvers.zero_one.engine import SharedState
from marginopt.solvers.zero_one.incumbent import HardMarginSolver, trivial_incumbent
from marginopt.solvers.zero_one.reduced import reduce_problem, rotate_for_boxes


def rows_of(seed, p, values):
    """Rows y_i x_i whose features have so many values, and the labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(80) < 0.4, -1.0, 1.0)
    return rng.integers(0, values, (80, p)) * y[:, None] @ np.diag(rng.random(p) + 0.5), y


def coordinates(block, labels):
    return rotated_basis(block, singular_basis(block, False), labels)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("p", range(1, 9))
def test_the_coordinates_are_orthonormal_to_double_precision(p, labelled):
    for seed in range(5):
        block, y = rows_of(seed, p, 4)
        Q = coordinates(block, y if labelled else None)
        residual, shrink = basis_errors(block, Q)
        assert np.abs(Q.T @ Q - np.eye(p)).max() < 1e-14
        assert shrink < 1e-12
        assert not residual.any()


def test_features_of_two_values_keep_their_own_axes():
    """Nothing has a smaller 1-norm than sums with one entry that is not 0, and no turn of the singular vectors finds them all."""
    y = np.tile([1.0, -1.0], 40)
    block = np.zeros((80, 6))
    block[np.arange(80), np.arange(80) // 2 % 6] = y * (1.0 + np.arange(80) % 3)
    Q = coordinates(block, y)
    sums = (block[y > 0][:, None] + block[y < 0][None]).reshape(-1, 6)
    assert np.abs(sums @ Q).sum() <= np.abs(sums).sum() * (1 + 1e-6)


@pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
def test_the_scale_of_the_features_does_not_matter(scale):
    block, y = rows_of(1, 4, 50)
    ours, theirs = coordinates(block, y), coordinates(block * scale, y)
    assert np.allclose(np.abs(ours), np.abs(theirs), atol=1e-9)


def test_a_class_of_its_own_is_no_error():
    block, y = rows_of(2, 3, 5)
    assert coordinates(block[y > 0], y[y > 0]).shape == (3, 3)


def problem_of(seed, free):
    """Equal rows, a row of zeros, weights."""
    X, y = clouds(seed, 24, 3, 0.4, order="turns", spread=0.8)
    A = np.vstack([y[:, None] * X, np.zeros((0 if free else 1, X.shape[1]))])
    A[5] = A[9]
    weights = np.random.default_rng(seed).uniform(1.0, 3.0, len(A))
    return ZeroOneProblem(A, weights, np.arange(A.shape[1]) >= free)


@pytest.mark.parametrize("free", [False, True])
def test_turned_rows_are_the_same_points(free):
    for seed in range(4):
        reduced = reduce_problem(problem_of(seed, free))
        computed, w = rotate_for_boxes(reduced), np.random.default_rng(seed).standard_normal(reduced.T.shape[0])
        assert np.allclose(computed.rows @ computed.to_reduced(w), reduced.rows @ reduced.to_reduced(w), atol=1e-9)
        assert np.allclose(computed.to_original(computed.to_reduced(w)), w, atol=1e-9)


@pytest.mark.parametrize("free", [False, True])
def test_boxes_of_their_own_coordinates_find_and_prove_the_optimum(free):
    for seed in range(3):
        problem = problem_of(seed, free)
        conflicts = ZeroOneBB(engine="conflicts")
        state = conflicts.init(problem, Options(), np.random.default_rng(0))
        while conflicts.advance(state, 1.0) is Outcome.RUNNING:
            pass
        optimum = conflicts.measure(state).objective
        reduced = reduce_problem(problem)
        shared = SharedState(reduced, trivial_incumbent(reduced), HardMarginSolver.of(reduced), Limits())
        engine = BoxEngine(shared, reduced_problem=rotate_for_boxes(reduced))
        outcome = Outcome.RUNNING
        while outcome is Outcome.RUNNING:
            engine.begin_slice()
            outcome = engine.work(1.0)
        assert outcome is Outcome.CONVERGED
        assert shared.lower_bound <= optimum * (1 + 1e-9)
        assert shared.incumbent.value == pytest.approx(optimum, rel=2e-6)


def test_constant_columns():
    y = np.array([1.0, -1.0, 1.0])
    A = np.column_stack([[0.5, 2.0, 3.0], 2.0 * y])
    assert (constant_column(A) == 2.0 * y).all()
    assert constant_column(A[:, :1]) is None
    assert constant_column(A[:0]) is None


@pytest.mark.parametrize("n", [3, 6, 200_000])
def test_a_full_basis_needs_no_memory_of_the_order_of_the_squared_points(n):
    """A matrix of all left singular vectors of the many points would take 320 GB."""
    V = singular_basis(np.random.default_rng(0).normal(size=(n, 6)), True)
    assert np.abs(V.T @ V - np.eye(6)).max() < 1e-13
