"""What the checker of ramp logs makes of numbers that overflow: nothing, and never less than the points that are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from marginopt.solvers.ramp.check.coordinates import Problem, in_coordinates
from marginopt.solvers.ramp.check.rules import Box, losses, relaxed
from marginopt.solvers.ramp.check.statement import Stated

POINT = np.array([-5.0, -0.04])


def problem(atoms: list[list[float]]) -> Problem:
    """Both margins are 1 at `POINT`, the optimum: 0.01312 with the atom (0, 10/3)."""
    A, costs, curvature = np.array([[1.0, -150.0], [-1.0, 100.0]]), np.array([3.0, 0.1]), np.array([0.0, 0.7])
    return in_coordinates(Stated(A, costs, curvature, np.array(atoms), 1e6, 1.0, np.inf), np.eye(2), 1.0)


@pytest.mark.parametrize("part", [[], [[0, 0.007122687], [1, 0.0071228425]]])
@pytest.mark.parametrize("p", [[0.0, -0.3], [0.0, 1.7e308], [1.7e308, -1.7e308]])
@pytest.mark.parametrize("spend", [0.0, 1e-3, 1e100, 1e155, 1e300, 1.7e308, np.inf])
@pytest.mark.parametrize("half", [1e-160, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("atoms", [[[0.0, 10.0 / 3.0]], [[2.0, 2.0], [2.0, -2.0]]])
def test_a_round_never_loses_a_point_that_costs_less(atoms: Any, half: float, spend: float, p: Any, part: Any) -> None:
    stated = problem(atoms)
    combination = [-0.012] if len(atoms) == 1 else [-1.26, -1.24]
    value = stated.stated.value(POINT.tolist(), combination)
    box = Box(POINT - half, POINT + half, 0.0)
    with np.errstate(all="ignore"):  # as the checker reads a log
        relaxed(stated, box, losses(stated, box), {"full": [], "part": part, "spend": spend, "p": p}, 2.0 * value)
    assert (box.lo <= POINT).all() and (box.hi >= POINT).all()
    assert box.bound <= value


def test_a_point_of_the_polar_that_overflows_bounds_nothing() -> None:
    stated = problem([[2.0, 2.0], [2.0, -2.0]])
    box = Box(np.array([1.0, 1.0]), np.array([2.0, 2.0]), 0.0)
    with np.errstate(all="ignore"):
        relaxed(stated, box, losses(stated, box), {"full": [], "part": [], "spend": 0.0, "p": [1.7e308, -1.7e308]}, 1.0)
    assert box.bound <= 1.0 + 0.7 + 3.2e6  # at (1, 1): half of the first atom, the square, and both points at most
