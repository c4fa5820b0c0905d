"""Newton's method on convex piecewise quadratics, against a general minimiser and against its optimality condition."""

from __future__ import annotations

import numpy as np
import pytest
from effort import trials
from scipy.optimize import minimize

from marginopt.models.conic_bound import newton_piecewise


def huber(delta, cap):
    """χ' of 0 for r ≤ 0, r²/(2δ) to δ·cap, then linear, and the value."""

    def slopes(r):
        inside = (r > 0) & (r < delta * cap)
        return np.clip(r / delta, 0.0, cap), np.where(inside, 1.0 / delta, 0.0)

    def value(r):
        return np.where(r <= 0, 0.0, np.where(r < delta * cap, r * r / (2 * delta), cap * r - 0.5 * delta * cap * cap))

    return slopes, value


@pytest.mark.parametrize("seed", range(trials(2, 3)))
@pytest.mark.parametrize("delta", [1.0, 1e-2, 1e-6])
def test_minimum_is_that_of_a_general_method(seed, delta):
    rng = np.random.default_rng(seed)
    rows, linear = rng.standard_normal((30, 4)), 0.1 * rng.standard_normal(4)
    S = 0.5 * np.eye(4)
    slopes, value = huber(delta, 1.5)

    def objective(w):
        return w @ S @ w + linear @ w + value(1 - rows @ w).sum()

    w = newton_piecewise(rows, S, linear, slopes, 3.0 * rng.standard_normal(4), 1e-14)
    other = minimize(objective, np.zeros(4), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20000})
    assert objective(w) <= other.fun + 1e-9
    gradient = 2 * S @ w + linear - rows.T @ slopes(1 - rows @ w)[0]
    assert np.abs(gradient).max() <= 1e-5


def test_nearly_singular_curvature_takes_few_evaluations():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((200, 3))
    S = np.diag([1.0, 1e-3, 1e-14])  # a full Newton step is longer than anything of interest by ten orders
    counted, (slopes, _) = [], huber(1e-1, 0.2)

    def counting(r):
        counted.append(1)
        return slopes(r)

    linear = 0.3 * rng.standard_normal(3)
    w = newton_piecewise(rows, S, linear, counting, np.zeros(3), 1e-13)
    assert np.abs(2 * S @ w + linear - rows.T @ slopes(1 - rows @ w)[0]).max() <= 1e-8
    assert len(counted) < 200
