"""The least norm that keeps given points: its optimality conditions, and what has no solution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from marginopt.models.views import ZeroOneProblem
from marginopt.solvers.zero_one.heuristic import good_classifier
from marginopt.solvers.zero_one.incumbent import LeastNormSolver


def problem(A: np.ndarray, free: bool = False) -> ZeroOneProblem:
    penalised = np.ones(A.shape[1], dtype=bool)
    penalised[0] = not free
    return ZeroOneProblem(A, np.ones(len(A)), penalised)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("n", [1, 3, 12, 80])
def test_the_least_norm_satisfies_its_optimality_conditions(n: int, free: bool) -> None:
    rng = np.random.default_rng(2)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    A = y[:, None] * np.column_stack([np.ones(n), rng.normal(size=(n, 4)) + 4.0 * y[:, None]])
    asked = problem(A, free)
    mask = rng.random(n) < 0.8
    w = LeastNormSolver.of(asked).solve(mask)
    assert w is not None
    assert (A[mask] @ w >= 1.0).all()
    # multipliers u >= 0 of the active margins with sum u_i a_i = w on the norm's part and 0 on the intercept
    active = mask & (A @ w <= 1.0 + 1e-6)
    _, residual = nnls(A[active].T, np.where(asked.penalised, w, 0.0))
    assert residual <= 1e-6 * max(1.0, float(np.linalg.norm(w)))


def test_copies_and_rows_of_zeros() -> None:
    A = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [-1.0, 3.0]])
    least = LeastNormSolver.of(problem(A))
    one, both = (least.solve(np.array(remaining)) for remaining in ([True, False, False, True], [True, True, False, True]))
    assert one is not None and both is not None
    np.testing.assert_array_equal(one, both)
    assert least.solve(np.array([True, False, True, False])) is None
    np.testing.assert_array_equal(least.solve(np.zeros(4, dtype=bool)), np.zeros(2))


def test_margins_that_contradict_each_other() -> None:
    assert LeastNormSolver.of(problem(np.array([[1.0, 0.5], [-1.0, -0.5]]))).solve(np.ones(2, dtype=bool)) is None


def test_a_free_intercept_has_no_price() -> None:
    A = np.array([[1.0, 3.0], [-1.0, -2.0]])  # x = 3 labelled +1, x = 2 labelled -1
    w = LeastNormSolver.of(problem(A, free=True)).solve(np.ones(2, dtype=bool))
    assert w is not None
    np.testing.assert_allclose(w, [-5.0, 2.0], rtol=1e-12)


def test_a_good_classifier_is_no_worse_than_its_start() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 3)) + 0.5
    asked = problem(A)
    start = rng.normal(size=3)
    for rounds in (0, 3):
        w = good_classifier(asked, np.random.default_rng(0), rounds, [start])
        value = float(w @ w) + (A @ w < 1.0).sum()
        best = min(t * t * float(start @ start) + (A @ (t * start) < 1.0 - 1e-12).sum() for t in [0.0, *(1.0 / (A @ start))])
        assert value <= best * (1 + 1e-9)
