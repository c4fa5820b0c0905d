"""The checker of `margin-bb`'s logs on numbers that overflow: nothing, and never less than the points left."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from marginopt.models.views import Budget, MarginProblem, PiecewiseLinearLoss
from marginopt.solvers.margin.check import apply_relaxation
from marginopt.solvers.margin.check.boxes import CheckedBox, propagate
from marginopt.solvers.margin.check.logged_problem import LoggedMarginProblem, exact_value
from marginopt.solvers.margin.check.rotated_problem import RotatedProblem, in_log_coordinates

POINT = np.array([-5.0, -0.04])


def problem(atoms: list[list[float]], **sets: Any) -> RotatedProblem:
    """Both margins are 1 at `POINT`, the optimum: 0.01312 with the atom (0, 10/3)."""
    A, costs, curvature = np.array([[1.0, -150.0], [-1.0, 100.0]]), np.array([3.0, 0.1]), np.array([0.0, 0.7])
    loss = PiecewiseLinearLoss.ramp(1e6, 1.0)
    base = MarginProblem.unrestricted(A, costs, loss, curvature, np.array(atoms), len(atoms) == 1)
    return in_log_coordinates(LoggedMarginProblem.of_problem(replace(base, **sets)), np.eye(2), 1.0)


def box_of(at: RotatedProblem, lo: Any, hi: Any) -> CheckedBox:
    return CheckedBox(
        np.array(lo), np.array(hi), 0.0, np.zeros(2, dtype=np.bool_), at.original.kept_points, np.zeros(len(at.g), dtype=np.int64)
    )


SETS: list[dict[str, Any]] = [
    {},
    {
        "rows": np.array([[1.0, -1.0], [1e-300, 0.0]]), "row_lower": np.array([-5.0, -1.0]),
        "price": np.array([0.0, 1e-3]), "budgets": (Budget(np.array([0, 1]), 1),),
    },
]  # fmt: skip


@pytest.mark.parametrize("sets", SETS, ids=["free", "sets"])
@pytest.mark.parametrize("alpha", [[], [[0, 0.007122687], [1, 0.0071228425]], [[0, 1e300], [1, 1.7e308]]])
@pytest.mark.parametrize("half", [1e-160, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("atoms", [[[0.0, 10.0 / 3.0]], [[2.0, 2.0], [2.0, -2.0]]])
def test_a_round_never_loses_a_point_that_costs_less(atoms: Any, half: float, alpha: Any, sets: dict[str, Any]) -> None:
    at = problem(atoms, **sets)
    combination = [-0.012] if len(atoms) == 1 else [-1.26, -1.24]
    value = exact_value(at.original, POINT.tolist(), combination)
    for spend, p in product(
        (0.0, 1e-3, 1e100, 1e155, 1e300, 1.7e308, np.inf), ([0.0, -0.3], [0.0, 1.7e308], [1.7e308, -1.7e308])
    ):
        box = box_of(at, POINT - half, POINT + half)
        entry: dict[str, Any] = {"pairs": [], "alpha": alpha, "spend": spend, "p": p}
        if sets:
            entry |= {"rows": [[1, 1e300], [0, 1e-3]], "theta": [1e-3], "support": [0.0, -1.7e308]}
        with np.errstate(all="ignore"):  # as the checker reads a log
            apply_relaxation(at, box, entry, 2.0 * value)
            propagate(at, box)
        assert (box.lo <= POINT).all() and (box.hi >= POINT).all(), (spend, p)
        assert box.bound <= value, (spend, p)


def test_a_point_of_the_polar_that_overflows_bounds_nothing() -> None:
    at = problem([[2.0, 2.0], [2.0, -2.0]])
    box = box_of(at, [1.0, 1.0], [2.0, 2.0])
    with np.errstate(all="ignore"):
        apply_relaxation(at, box, {"pairs": [], "alpha": [], "spend": 0.0, "p": [1.7e308, -1.7e308]}, 1.0)
    assert box.bound <= 1.0 + 0.7 + 3.2e6  # at (1, 1): half of the first atom, the square, and both points at most


def test_a_row_that_overflows_moves_no_end() -> None:
    at = problem([[2.0, 2.0], [2.0, -2.0]], rows=np.array([[1.7e308, 1.7e308]]), row_lower=np.array([-1.0]))
    box = box_of(at, [-4.0, -4.0], [4.0, 4.0])
    with np.errstate(all="ignore"):
        propagate(at, box)
    assert not box.is_empty and (box.lo == -4.0).all() and (box.hi == 4.0).all()
