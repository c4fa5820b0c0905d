"""Every refusal of a composition names the part that stands in the way, and who can: loss × regulariser × domain × rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt import margin
from marginopt.errors import UnsupportedModelError
from marginopt.solvers.registry import get_solver

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
LOSSES = {"hinge": "Hinge", "squared-hinge": "SquaredHinge", "ramp": "Ramp", "zero-one": "ZeroOne"}
REGULARISERS = {"l2": "", "l1": "L1", "elastic-net": "ElasticNet"}
DOMAINS = {"": margin.Reals(), "Box": margin.Box(-2.0, 2.0), "Integers": margin.Integers(-3, 3)}
RULES = {"": (), "Keep": (mo.keep([0]),)}
STRUCTURED = ("ramp-bb", "zero-one-bb", "smo", "boxqp")
READ = {("ramp-bb", "ramp"), ("zero-one-bb", "zero-one")}


def points() -> tuple[np.ndarray, np.ndarray]:
    return clouds(0, 4, 2, 0.5, order="turns", first=-1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_refusals_name_the_part_and_who_can(loss: str) -> None:
    X, y = points()
    products = itertools.product(REGULARISERS.items(), DOMAINS.items(), RULES.items())
    for (regulariser, its), (domain, bounds), (rule, rules) in products:
        model = mo.Margin(X, y, loss, regulariser, domain=bounds, subject_to=rules)
        parts = [name for name in (its, domain, rule) if name]
        for name in STRUCTURED:
            solver = get_solver(name)
            if not parts and (name, loss) in READ:
                assert solver.obstacle(model) is None
                continue
            obstacle = solver.obstacle(model)
            assert obstacle is not None, (name, loss, parts)
            assert all(part in obstacle for part in parts or [LOSSES[loss]]), obstacle
        if parts:
            with pytest.raises(UnsupportedModelError, match="Solvers that can: "):
                mo.solve(model, "ramp-bb")


@pytest.mark.parametrize("loss", ["ramp", "zero-one"])
def test_what_reads_forms_alone_says_what_the_form_has(loss: str) -> None:
    X, y = points()
    obstacle = get_solver("clarabel").obstacle(mo.Margin(X, y, loss))
    assert obstacle is not None
    assert "integer" in obstacle
    with pytest.raises(UnsupportedModelError, match=r"Solvers that can: .*scip"):
        mo.solve(mo.Margin(X, y, loss), "clarabel")


def test_a_changed_model_says_that_it_was_changed() -> None:
    X, y = points()
    changed = mo.RampSVM(X, y, 1.0).with_constraint(lambda v: v.w[1] >= 0)
    with pytest.raises(UnsupportedModelError, match="it is changed"):
        mo.solve(changed, "ramp-bb")
