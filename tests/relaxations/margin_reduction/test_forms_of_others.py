"""Relaxations of programs from elsewhere: their blocks may be called as the lifted ones are."""

from __future__ import annotations

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest

import marginopt as mo
from marginopt.models.program.form import StandardForm
from marginopt.relaxations import relax

COSTS, WEIGHTS = np.array([-4.0, -5.0, -3.0]), np.array([3.0, 5.0, 4.0])


def knapsack() -> StandardForm:
    """min c'x - y over binary x and 0 ≤ y ≤ 1 with a'x + y ≤ 8: blocks x and y, as the moments have."""
    m = pyo.ConcreteModel("knapsack")
    m.x = pyo.Var(range(3), domain=pyo.Binary)
    m.y = pyo.Var(bounds=(0, 1))
    m.cap = pyo.Constraint(expr=sum(WEIGHTS[j] * m.x[j] for j in range(3)) + m.y <= 8)
    m.goal = pyo.Objective(expr=sum(COSTS[j] * m.x[j] for j in range(3)) - m.y)
    return mo.from_pyomo(m)


@pytest.mark.parametrize("reduction", ["continuous", "products", "products-separated", "moments"])
def test_a_form_with_blocks_x_and_y_is_relaxed_and_recovered(reduction: str) -> None:
    choices = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    left = 8 - choices @ WEIGHTS
    least = float((choices @ COSTS - np.minimum(left, 1.0))[left >= 0].min())
    form = knapsack()
    assert [block.label for block in form.blocks] == ["x", "y"]
    relaxed = relax(form, reduction)
    assert relaxed.bound <= least + 1e-6
    assert relaxed.values is not None
    assert relaxed.values["x"].shape == (3,)
    assert relaxed.objective >= least - 1e-6
    if reduction == "moments":  # exact here, and no other relaxation is below its bound
        assert relaxed.bound >= relax(form, "products").bound - 1e-5
