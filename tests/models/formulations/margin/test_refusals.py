"""Every refusal of a composition names the part that stands in the way, and who can: loss × regulariser × domain × rule."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data import clouds
from effort import part as share, trials
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError, LicenceError, MissingPackageError, UnsupportedModelError
from marginopt.models.formulations.margin.restrictions import group_indicators
from marginopt.models.program.cones import Feature
from marginopt.solvers.registry import get_solver

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
LOSSES = {"hinge": "Hinge", "squared-hinge": "SquaredHinge", "ramp": "Ramp", "zero-one": "ZeroOne"}
REGULARISERS = {"l2": "", "l1": "L1", "elastic-net": "ElasticNet"}
DOMAINS = {"": margin.Reals(), "Box": margin.Box(-2.0, 2.0), "Integers": margin.Integers(-3, 3)}
RULES = {"": (), "Keep": (mo.keep([0]),)}
STRUCTURED = ("margin-bb", "zero-one-bb", "smo", "boxqp")


def points() -> tuple[np.ndarray, np.ndarray]:
    return clouds(0, 4, 2, 0.5, order="turns", first=-1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_refusals_name_the_part_and_who_can(loss: str) -> None:
    X, y = points()
    products = itertools.product(REGULARISERS.items(), DOMAINS.items(), RULES.items())
    for (regulariser, its), (domain, bounds), (rule, rules) in products:
        model = mo.Margin(X, y, loss, regulariser, domain=bounds, subject_to=rules)
        parts = [name for name in (its, domain, rule) if name]
        searched = not model.convex and loss != "squared-hinge"
        for name in STRUCTURED:
            obstacle = get_solver(name).obstacle(model)
            if (searched and name == "margin-bb") or (name == "zero-one-bb" and loss == "zero-one" and not parts):
                assert obstacle is None
                continue
            assert obstacle is not None, (name, loss, parts)
            assert all(part in obstacle for part in parts or [LOSSES[loss]]), obstacle
            assert searched or ("convex problems are for" if model.convex else "SquaredHinge is no") in obstacle
        if parts:
            with pytest.raises(UnsupportedModelError, check=about("margin-bb", "zero-one-bb")):
                mo.solve(model, "zero-one-bb" if searched else "margin-bb")


@pytest.mark.parametrize(("regulariser", "intercept", "j"), [("none", "penalised", 0), ("none", "free", 1)])
def test_what_has_no_bounds_is_told_to_give_them(regulariser: str, intercept: str, j: int) -> None:
    X, y = points()
    with pytest.raises(UnsupportedModelError, check=about("margin-bb")):
        mo.solve(mo.Margin(X, y, "zero-one", regulariser, intercept), "margin-bb")
    boxed = mo.Margin(X, y, "zero-one", regulariser, intercept, domain=margin.Box(-2.0, 2.0))
    assert get_solver("margin-bb").obstacle(boxed) is None


@pytest.mark.parametrize("loss", ["ramp", "zero-one"])
def test_what_reads_forms_alone_says_what_the_form_has(loss: str) -> None:
    X, y = points()
    obstacle = get_solver("clarabel").obstacle(mo.Margin(X, y, loss))
    assert obstacle is not None
    assert "integer" in obstacle
    with pytest.raises(UnsupportedModelError, check=about("clarabel", allowed=["scip"])):
        mo.solve(mo.Margin(X, y, loss), "clarabel")


def test_a_changed_model_says_that_it_was_changed() -> None:
    X, y = points()
    changed = mo.RampSVM(X, y, 1.0).with_constraint(lambda v: v.w[1] >= 0)
    with pytest.raises(UnsupportedModelError, check=about("margin-bb")):
        mo.solve(changed, "margin-bb")


#: Compositions, each with the part that a solver of convex quadratic programs cannot read, and what that part brings.
MATRIX = {
    "ramp": ("Ramp", {}, {"loss": "ramp"}),
    "zero-one": ("ZeroOne", {}, {"loss": "zero-one", "regulariser": "l1"}),
    "zero-one without a bound": ("ZeroOne", {}, {"loss": "zero-one", "regulariser": "none"}),
    "breakpoints": (
        "PiecewiseLinear",
        {},
        {"loss": margin.PiecewiseLinear(((0.0, 1.0), (0.5, 0.8), (1.0, 0.0))), "domain": margin.Box(-2.0, 2.0)},
    ),
    "integers": ("Integers", {}, {"domain": margin.Integers(-3, 3)}),
    "at most one": ("Nonzero", {}, {"subject_to": mo.at_most(1).nonzero, "domain": margin.Box(-2.0, 2.0)}),
    "a price for each": ("L0", {}, {"regulariser": margin.L0(0.1), "domain": margin.Box(-2.0, 2.0)}),
    "error budget": ("ErrorBudget", {}, {"subject_to": mo.error_budget(-1, 0.4), "domain": margin.Box(-2.0, 2.0)}),
    "parity by counts": ("CountParity", {"group": True}, {"domain": margin.Box(-2.0, 2.0)}),
    "groups": ("GroupL1", {}, {"regulariser": margin.GroupL1((0, 1, 1), 0.3)}),
    "every gamma": ("StrongestConic", {}, {"loss": "strongest-conic"}),
}


def composed(name: str) -> tuple[mo.Margin, str]:
    X, y = clouds(0, 6, 2, 0.5, order="turns", first=-1.0)
    part, extra, arguments = MATRIX[name]
    if extra:
        arguments = {**arguments, "subject_to": mo.parity(np.array([0, 0, 0, 1, 1, 1]), 0.5, by="counts")}
    return mo.Margin(X, y, **arguments), part


@pytest.mark.parametrize("name", share(MATRIX, 5))
def test_every_solver_answers_or_names_the_part_and_who_can(name: str) -> None:
    """All solvers there are, installed or not: an answer of ours, or a refusal in our words; nothing else comes out."""
    model, part = composed(name)
    strange = model.form.features - {Feature.QUADRATIC}
    answered, refused = set(), set()
    for record in mo.solvers().records():
        solver = get_solver(record["name"])
        obstacle = solver.obstacle(model)
        try:
            result = mo.solve(model, solver.info.name, time_limit=5.0)
        except UnsupportedModelError as error:
            assert obstacle is not None
            refused.add(solver.info.name)
            assert error.name == solver.info.name and obstacle in str(error)
            if solver.reads_form and strange - solver.info.reads:
                assert f" of {part}" in obstacle, obstacle
            elif not solver.reads_form:
                assert any(type(each).__name__ in obstacle for each in model.parts), obstacle
            assert error.allowed
            for other in error.allowed:
                assert get_solver(other).obstacle(model) is None, other
        except LicenceError as error:
            assert error.solver == solver.info.name
        except MissingPackageError as error:
            assert error.package == (solver.info.package or solver.info.module)
        else:
            assert obstacle is None
            answered.add(solver.info.name)
            assert isinstance(result, mo.Result)
    assert answered & {"scip", "gurobi", "clarabel"}
    assert {"smo", "fw", "stiefel-bb", "linear-newton"} <= refused
    assert len(answered) + len(refused) > 25


NONCONVEX = {
    "ramp": "ramp", "high ramp": margin.Ramp(2.0, 2.0), "zero-one": "zero-one", "misclassified": "misclassified",
    "bent": margin.PiecewiseLinear(((0.0, 1.0), (0.5, 0.8), (1.0, 0.0))), "conic": "conic", "strongest conic": "strongest-conic",
    "jumps": margin.PiecewiseLinear(((-1.0, 1.0), (0.0, 1.0), (0.0, 0.5), (1.0, 0.0), (2.0, 0.0))),
}  # fmt: skip
FAMILIES = [
    "l2", "half-l2", "l1", "none", margin.ElasticNet(0.3, 0.2), margin.GroupL1((0, 1), 0.3), margin.L0(0.1),
    margin.KernelWeightsL1(np.eye(2), 0.5),
]  # fmt: skip
EVERY_DOMAIN = [
    margin.Reals(), margin.Box(-2.0, 2.0), margin.Integers(-3, 3), margin.Signs((0, 1, -1)), margin.Increasing((1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("loss", NONCONVEX)
def test_no_nonconvex_composition_is_refused_without_a_part_and_a_way_out(loss: str) -> None:
    """Regularisers and domains, others for each loss: stated, or refused with what to give; a solver reads it or names a part."""
    X, y = points()
    solvers = [get_solver(record["name"]) for record in mo.solvers().records()]
    read = 0
    compositions = itertools.product(FAMILIES, EVERY_DOMAIN, ("free", "penalised"))
    for regulariser, domain, intercept in share(compositions, 20, turn=list(NONCONVEX).index(loss)):
        if intercept == "penalised" and isinstance(regulariser, (margin.GroupL1, margin.KernelWeightsL1)):
            continue  # their groups and points are for the two coefficients
        try:
            model = mo.Margin(X, y, NONCONVEX[loss], regulariser, intercept, domain=domain)
            _ = model.form
        except InputError as error:
            assert re.search(r"give .*domain=|needs a regulariser that", str(error)), error
            continue
        parts = {type(part).__name__ for part in model.parts}
        able = [solver.info.name for solver in solvers if solver.obstacle(model) is None]
        if not able:  # the semidefinite cone of one part, integers of another
            with pytest.raises(UnsupportedModelError, check=about("Margin")):
                mo.solve(model)
            assert domain.integer
            continue
        read += 1
        words = str(get_solver("margin-bb").obstacle(model))
        if loss not in ("bent", "conic", "strongest conic"):  # these do not fall to 0, are convex, or have no corners
            bounded = isinstance(domain, margin.Box) or not isinstance(model.regulariser, (margin.L0, margin.NoRegulariser))
            assert ("margin-bb" in able) == (bounded and not isinstance(regulariser, margin.GroupL1))
            assert bounded or "give domain=Box(lower, upper)" in words
        else:
            assert "margin-bb" not in able
        strange = model.form.features - {Feature.QUADRATIC}
        for solver in solvers:
            obstacle = solver.obstacle(model)
            if obstacle is not None and (not solver.reads_form or strange - solver.info.reads):
                assert any(part in obstacle for part in parts), (solver.info.name, obstacle)
        if "smo" not in able:
            with pytest.raises(UnsupportedModelError, check=about("smo")) as refused:
                mo.solve(model, "smo")
            assert set(refused.value.allowed) <= set(able)
    assert read >= trials(2, 8)


@pytest.mark.parametrize("by", ["covariance", "counts"])
@pytest.mark.parametrize(
    "groups",
    [
        np.array([0.0, 1.0, np.nan, 1.0]),
        np.array(["a", "b", None, "a"], dtype=object),
        pd.array([0, 1, None, 1], dtype="Int64"),
        pd.Series(["a", "b", None, "a"], dtype="category"),
        np.array(["2020", "2021", "NaT", "2021"], dtype="datetime64[D]"),
        np.array(["a", "b", 1, "a"], dtype=object),
    ],
    ids=["nan", "None", "NA", "category", "NaT", "mixed"],
)
def test_points_without_a_group_are_refused(groups: Any, by: str) -> None:
    """A point whose group is NaN was in no group of a parity by covariance, and in the first one of a parity by counts."""
    X = np.column_stack([np.ones(4), [0.5, -1.0, 2.0, 0.1]])
    with pytest.raises(InputError) as caught:
        mo.Margin(X, np.array([-1.0, 1.0, 1.0, -1.0]), subject_to=mo.parity(groups, 0.1, by=by))
    assert caught.value.name == "groups"


def test_groups_of_any_names_are_parted() -> None:
    words, numbers = np.array(["b", "a", "b", "c"], dtype=object), np.array([1, 0, 1, 2])
    np.testing.assert_array_equal(group_indicators(words, 4), group_indicators(numbers, 4))


@pytest.mark.parametrize("by", ["covariance", "counts"])
def test_a_quantity_is_no_group(by: Any) -> None:
    """A group for each age leaves the constant classifier; words, bins and few numbers are groups."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(rng.random(60) < 0.5, -1.0, 1.0)
    ages = rng.integers(20, 60, 60)
    few = rng.normal(size=3)
    for quantity in (ages, ages.astype(float), X[:, 0], pd.Series(ages)):
        with pytest.raises(InputError, check=about("groups")):
            mo.Margin(X, y, subject_to=mo.parity(quantity, 0.1, by=by))
    with pytest.raises(InputError, check=about("groups")):
        mo.Margin(pd.DataFrame(X, columns=["a", "b"]), y, subject_to=mo.parity("b", 0.1, by=by))
    with pytest.raises(InputError, check=about("groups")):
        mo.Margin(X[:3], np.array([-1.0, 1.0, 1.0]), subject_to=mo.parity(few, 0.1, by=by))
    bins = pd.cut(ages, [0, 30, 45, 120])
    for groups in (ages.astype(str), bins, np.digitize(ages, [30, 45]), ages // 10):
        assert mo.Margin(X, y, subject_to=mo.parity(groups, 0.1, by=by)).form.n > 0
