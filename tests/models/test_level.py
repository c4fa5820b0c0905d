"""Big-M constants know the model before it was changed: an optimum beyond what they hold for is not claimed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt import margin
from marginopt.models.model import Model
from marginopt.solvers import Status

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def points() -> tuple[np.ndarray, np.ndarray]:
    return clouds(0, 8, 2, 1.0, order="halves", first=-1.0)


FAR = np.array([0.0, -30.0, 0.0])
MODELS: dict[str, Callable[..., Model]] = {
    "zero-one": lambda X, y, **options: mo.ZeroOneSVM(X, y, 0.1, **options),
    "ramp": lambda X, y, **options: mo.RampSVM(X, y, 0.1, intercept="penalised", **options),
    "composed": lambda X, y, **options: mo.Margin(X, y, "zero-one", sample_weight=0.1, **options),
}


@pytest.mark.parametrize(
    ("name", "options"),
    [("zero-one", {"big_m": 200.0}), ("ramp", {"big_m": 200.0}), ("composed", {"upper_bound": 901.0})],
)
def test_far_from_what_the_constants_hold_for(name: str, options: dict[str, Any]) -> None:
    X, y = points()
    far = mo.solve(MODELS[name](X, y).with_constraint(lambda v: v.w[1] <= -30), "scip")
    assert far.status is Status.INACCURATE  # the form is infeasible, the problem is not
    assert "upper_bound=" in far.evidence
    right = mo.solve(MODELS[name](X, y, **options).with_constraint(lambda v: v.w[1] <= -30), "scip")
    model = MODELS[name](X, y)
    assert isinstance(model, mo.ZeroOneSVM | mo.RampSVM | mo.Margin)
    assert right.status is Status.OPTIMAL
    assert 900.0 <= right.objective <= model.objective(FAR) + 1e-4


def test_near_it_the_optimum_is_claimed_as_before() -> None:
    X, y = points()
    model = mo.ZeroOneSVM(X, y, 2.0).with_constraint(lambda v: cp.norm1(v.w) <= 1.5)
    result = mo.solve(model, "scip")
    assert result.status is Status.OPTIMAL
    assert result.objective <= model.cutoff


def test_what_the_level_is() -> None:
    X, y = points()
    model = mo.ZeroOneSVM(X, y, 1.0)
    assert model.cutoff == model.incumbent_value == 8.0
    assert model.with_constraint(lambda v: v.w[1] >= 0).cutoff == 8.0
    assert model.with_variables(cost=lambda v: cp.sum(v.w)).cutoff == -np.inf
    assert mo.ZeroOneSVM(X, y, 1.0, big_m=9.0).with_variables(cost=lambda v: cp.sum(v.w)).cutoff == np.inf
    free = mo.ZeroOneSVM(X, y, 1.0, intercept="free")
    assert free.with_constraint(lambda v: v.w[0] >= 3).cutoff == -np.inf
    assert free.with_constraint(lambda v: v.w[1] >= 3).cutoff == free.cutoff < np.inf
    assert mo.HingeSVM(X, y).cutoff == np.inf
    assert mo.Margin(X, y, "zero-one", domain=margin.Box(1.0, 2.0)).cutoff == np.inf  # w = 0 is not allowed: the box bounds all
    assert mo.Margin(X, y, margin.EpsilonInsensitive(0.1)).cutoff == np.inf


@pytest.mark.parametrize(
    "parts",
    [
        {"loss": "ramp", "regulariser": "l1"},
        {"loss": "ramp", "regulariser": "l1", "encoding": "indicator"},
        {"loss": "hinge", "subject_to": mo.at_most(2).nonzero},
    ],
    ids=lambda parts: ", ".join(map(str, parts)),
)
def test_rows_on_a_free_intercept_have_two_ways_out(parts: dict[str, Any]) -> None:
    """With bounds of the coefficients, and as rows of the model itself, the form's optimum is the problem's."""
    X, y = points()
    row = margin.LinearRows(np.eye(3)[:1], 0.75)
    state = lambda v: v.w[0] >= 0.75  # noqa: E731
    lost = mo.solve(mo.Margin(X, y, intercept="free", **parts).with_constraint(state), "scip")
    assert lost.status is Status.INACCURATE and "LinearRows" in lost.evidence
    bounded = {**parts, "domain": margin.Box(-20.0, 20.0), "upper_bound": 40.0}
    within = mo.solve(mo.Margin(X, y, intercept="free", **bounded).with_constraint(state), "scip")
    restrictions = [*([parts["subject_to"]] if "subject_to" in parts else []), row]
    stated = mo.solve(mo.Margin(X, y, intercept="free", **{**parts, "subject_to": restrictions}), "scip")
    assert within.status is stated.status is Status.OPTIMAL
    assert within.objective == pytest.approx(stated.objective, rel=1e-6)


def test_constants_of_several_classes() -> None:
    """A row that W = 0 does not satisfy: where M holds, enough; beyond the value of W = 0, nothing is claimed."""
    X, _ = points()
    model = mo.MulticlassSVM(X, np.arange(8) % 3, loss="zero-one", sample_weight=0.5)
    assert model.cutoff == 4.0
    assert mo.MulticlassSVM(X, np.arange(8) % 3).cutoff == np.inf
    near = mo.solve(model.with_constraint(lambda v: v.W[0, 1] >= 0.5), "scip")
    assert near.status is Status.OPTIMAL
    far = mo.solve(model.with_constraint(lambda v: v.W[0, 1] >= 30.0), "scip")
    assert far.status is Status.INACCURATE
    assert "up to 4" in far.evidence


def test_a_bound_goes_no_further_than_the_level() -> None:
    X, y = points()
    changed = mo.RampSVM(X, y, 0.1, intercept="penalised").with_constraint(lambda v: v.w[1] <= -0.5)
    relaxed = mo.solve(changed.form.relax_integrality(), "clarabel")
    assert changed.bound(None, relaxed.multipliers).value <= changed.cutoff
