"""Restrictions that exclude w = 0 leave valid big-M constants, which follow from a short point that they allow."""

from __future__ import annotations

import numpy as np
import pytest

import marginopt as mo
from marginopt.models.formulations.margin.activity_bounds import least_norm_point
from marginopt.models.program.cones import Indicator

RESTRICTIONS = {
    "fixed": [mo.fixed({2: 0.6})],
    "fixed intercept": [mo.fixed({0: -0.4})],
    "keep": [mo.keep([0, 1])],
    "keep and fixed": [mo.keep([2]), mo.fixed({1: 0.25})],
    "rows": [mo.margin.LinearRows([[0.0, 1.0, 1.0]], 0.5, 2.0), mo.keep([0])],
    "parity": [mo.keep([0, 3]), mo.parity(np.arange(12) % 2, 0.2)],
    "errors": [mo.fixed({1: 0.5}), mo.error_budget(1, 1.0)],
}


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("name", RESTRICTIONS)
def test_the_optimum_of_the_rows_is_that_of_the_boxes(name: str, intercept: str) -> None:
    rng = np.random.default_rng(len(name))
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2)) * (1.0, 20.0)])
    y = np.where(X[:, 1] + rng.normal(size=12) > 0.0, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    problem = mo.Margin(X, y, "zero-one", "l1", intercept=intercept, subject_to=RESTRICTIONS[name])
    assert not any(isinstance(row.cone, Indicator) for row in problem.form.constraints)
    rows, boxes = mo.solve(problem, "highs"), mo.solve(problem, "margin-bb")
    assert boxes.status is mo.Status.OPTIMAL is rows.status
    assert rows.objective == pytest.approx(boxes.objective, rel=1e-5)


def test_a_short_point_satisfies_its_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        A, inside = rng.normal(size=(4, 3)), rng.normal(size=3)
        low = A @ inside - rng.random(4)
        w = least_norm_point(A, low, np.full(4, np.inf))
        assert w is not None and (A @ w >= low).all() and w @ w <= inside @ inside * (1.0 + 1e-6)
    assert least_norm_point(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.ones(2), np.full(2, np.inf)) is None
    fixed = least_norm_point(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.1, 3.0]), np.array([0.1, np.inf]))
    assert fixed is not None and fixed[1] == 0.1 and fixed.sum() >= 3.0
