"""Points of compositions are counted in exact arithmetic, and moved by a rounding to where they cost what they are to cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from rational.draws import drawn
from rational.judged import counted_fault

import marginopt as mo
from marginopt import margin as M
from marginopt.models.formulations.margin.exact_evaluation import exact_arguments, move_onto_rows
from marginopt.solvers.records import Status

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

FREE = (np.zeros((0, 2)), np.zeros(0))
WIDE = (np.full(2, -np.inf), np.full(2, np.inf))
LOOSE = np.zeros(2, dtype=bool)


@pytest.mark.parametrize(
    ("number", "solver"),
    [(k, solver) for k in (2, 8, 9, 10, 12, 13, 21, 24, 28) for solver in ("margin-bb", "scip")]
    + [(13, "highs"), (24, "highs")]
    + [(k, "margin-bb") for k in (344790168, 344791275, 344791563, 137916690)],  # linear rows, which w missed by 1e-9
)
def test_w_costs_what_the_result_says(number: int, solver: str) -> None:
    """Jumps, kept points, budgets, zeros: of all of these w missed one by a rounding."""
    result = mo.solve(drawn(number).model, solver)
    assert result.status is Status.OPTIMAL
    assert counted_fault(result, drawn(number).exact) == ""


def test_arguments_are_on_their_side_of_a_threshold() -> None:
    A, c = np.array([[3.0, 0.0], [0.0, 10.0], [3.0, 10.0]]), np.zeros(3)
    w = np.array([1.0 / 3.0, 0.1])  # 3 · fl(1/3) < 1 < 10 · fl(0.1), and float64 makes both 1
    assert (A @ w)[:2].tolist() == [1.0, 1.0]
    assert (exact_arguments(A, c, w, ((1.0, 1.0),)) < 1.0).tolist() == [True, False, False]
    assert (exact_arguments(A, c, w, ((1.0, -1.0),)) > 1.0).tolist() == [False, True, True]


def test_a_margin_is_moved_onto_its_threshold() -> None:
    w = move_onto_rows(np.array([1.0 / 3.0, 0.0]), np.array([[3.0, 0.0]]), np.ones(1), FREE, WIDE, LOOSE)
    assert w is not None
    assert Fraction(float(w[0])) * 3 >= 1
    assert abs(w[0] - 1.0 / 3.0) <= 1e-13


def test_rows_that_a_solver_missed_by_its_tolerance_are_met_before_the_move() -> None:
    """An equality that w misses by 5e-12, and a margin 3w_1 + w_2 that it misses too."""
    rows, row_lower = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([0.5, -0.5])
    H, h = np.array([[3.0, 1.0]]), np.ones(1)
    w = move_onto_rows(np.array([0.25 - 3e-12, 0.25 - 2e-12]), H, h, (rows, row_lower), WIDE, LOOSE)
    assert w is not None
    assert (rows @ w >= row_lower - 1e-15).all()
    assert 3 * Fraction(float(w[0])) + Fraction(float(w[1])) >= 1


def test_margins_that_oppose_each_other_are_met_with_equality() -> None:
    """w_1 = 2/3 w_2 is no pair of neighbouring doubles: it is one on a grid of thirds."""
    H = np.array([[3.0, -2.0], [-3.0, 2.0], [0.0, 1.0]])
    w = move_onto_rows(np.array([0.1, 0.15000000000001]), H, np.array([0.0, 0.0, 0.15]), FREE, WIDE, LOOSE)
    assert w is not None
    assert 3 * Fraction(float(w[0])) == 2 * Fraction(float(w[1]))
    assert w[1] >= 0.15
    np.testing.assert_allclose(w, [0.1, 0.15], rtol=1e-10)


def test_what_bounds_or_rows_forbid_is_not_moved_onto() -> None:
    H, h, w = np.array([[3.0, 0.0]]), np.ones(1), np.array([1.0 / 3.0, 0.0])
    assert move_onto_rows(w, H, h, FREE, (WIDE[0], np.array([1.0 / 3.0, 1.0])), LOOSE) is None
    assert move_onto_rows(w, H, h, FREE, WIDE, np.array([True, False])) is None


@pytest.mark.parametrize("solver", ["margin-bb", "scip"])
def test_a_threshold_that_no_double_meets_is_no_optimum(solver: str) -> None:
    """w_1 is at most fl(1/3), where the margin 3w_1 is 1 - 5e-17: the point is given up, whatever a tolerance says of it."""
    X, y = np.array([[1.0, 3.0], [1.0, -2.0]]), np.array([1.0, -1.0])
    model = mo.Margin(X, y, "zero-one", "l2", domain=M.Box((0.0, -1.0), (0.0, 1.0 / 3.0)), sample_weight=4.0)
    result = mo.solve(model, solver)
    assert result.status is Status.INACCURATE
    assert "margins miss their thresholds by up to" in result.evidence or not result.values["w"].any()
    counted = model.exact_cost(result.values)
    assert counted is not None
    assert result.objective == pytest.approx(counted.cost, rel=1e-9)
    assert result.objective >= 8.0
    at_a_third = model.exact_cost({"w": np.array([0.0, 1.0 / 3.0])})
    assert at_a_third is not None
    assert at_a_third.cost == pytest.approx(8.0 + 1.0 / 9.0)
    assert 0.0 < at_a_third.shortfall < 1e-15


def test_estimators_hand_out_the_point_that_was_counted() -> None:
    rng = np.random.default_rng(3)
    X, y = np.round(4.0 * rng.normal(size=(9, 2))) / 4.0, np.where(np.arange(9) % 2, 1, -1)
    limits = [M.Nonzero(1)]
    fitted = mo.estimators.MarginClassifier(
        "zero-one", lam=0.1, domain=M.Box(-4.0, 4.0), subject_to=limits, standardise=False, solver="margin-bb"
    ).fit(X, y)
    w = fitted.result_.values["w"]
    np.testing.assert_array_equal([*fitted.intercept_, *fitted.coef_[0]], w)
    assert np.count_nonzero(w) == 1
    counted = fitted.problem_.exact_cost({"w": w})
    assert counted is not None
    assert counted.excess == 0
    assert counted.cost == pytest.approx(fitted.result_.objective, rel=1e-9)


def _hinge_cost(w: np.ndarray, X: np.ndarray, y: np.ndarray, weight: float, regulariser: str) -> Fraction:
    exact = [Fraction(float(t)) for t in w]
    penalty = sum((t * t if regulariser == "l2" else abs(t) for t in exact), Fraction(0))
    margins = [
        Fraction(float(label)) * sum((Fraction(float(x)) * t for x, t in zip(row, exact, strict=True)), Fraction(0))
        for row, label in zip(X, y, strict=True)
    ]
    return penalty + Fraction(weight) * sum((max(Fraction(0), 1 - m) for m in margins), Fraction(0))


@pytest.mark.parametrize("regulariser", ["l1", "l2"])
@pytest.mark.parametrize("weight", [1e9, 1e12])
def test_a_rounding_of_a_margin_costs_nothing_under_huge_weights(weight: float, regulariser: str) -> None:
    """A margin of 1 - 1e-16 costs 1e-4 at a weight of 1e12, of an objective of 1; at separable points none may be short."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(8) % 2, 1.0, -1.0)
        X = rng.normal(size=(8, 2)) + 1.5 * y[:, None]
        model = mo.Margin(X, y, "hinge", regulariser, sample_weight=weight)
        result = mo.solve(model)
        assert result.values is not None
        cost = float(_hinge_cost(result.values["w"], X, y, weight, regulariser))
        assert result.status is Status.OPTIMAL
        assert cost == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("offset", [0.0, 1.1627907e-12, -3e-10])
def test_a_jump_at_zero_is_met_by_coefficients_of_zero(offset: float) -> None:
    """A loss that jumps at a margin of 0: w = 0 costs 6, and w = 1e-12 costs 6.5, where the slack of a threshold is all of it."""
    X, y = np.array([[1.25], [-0.25], [1.25], [1.75], [-2.0]]), np.array([-1.0, -1.0, 1.0, -1.0, -1.0])
    loss = M.PiecewiseLinear([(-1.25, 2.5), (-0.25, 2.0), (0.0, 1.25), (0.0, 1.0), (1.75, 0.0), (2.75, 0.0)])
    weights = np.array([0.5, 1.25, 1.75, 1.5, 1.0])
    model = mo.Margin(X, y, loss, M.NoRegulariser(), sample_weight=weights, domain=M.Box(-2.0, 2.0), subject_to=M.Nonzero(1))
    point = model.exact_point(model.complete({"w": np.array([offset])}))
    assert point["w"].tolist() == [0.0]
    assert mo.solve(model, "margin-bb").status is Status.OPTIMAL
