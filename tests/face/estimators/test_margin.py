"""`MarginClassifier`: the same as the estimators of its instances, and what it refuses."""

from __future__ import annotations

import itertools
import pickle
import re
from typing import Any

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about, ended
from sklearn.base import clone
from sklearn.datasets import make_classification

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError, MarginoptError, SolverError, UnsupportedModelError


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(60, 4, n_informative=2, n_redundant=0, flip_y=0.1, random_state=4)
    return X, y


def test_the_hinge_is_hinge_svc(data: Any) -> None:
    ours, theirs = (
        mo.estimators.MarginClassifier(lam=2.0, tol=1e-8).fit(*data),
        mo.estimators.HingeSVC(lam=2.0, tol=1e-8).fit(*data),
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_l1_leaves_features_out(data: Any) -> None:
    dense = mo.estimators.MarginClassifier("squared-hinge", "l2").fit(*data)
    sparse = mo.estimators.MarginClassifier("squared-hinge", "l1", lam=0.05).fit(*data)
    assert (np.abs(sparse.coef_) < 1e-6).sum() > (np.abs(dense.coef_) < 1e-6).sum()
    assert sparse.score(*data) > 0.6


def test_ramp_and_restrictions(data: Any) -> None:
    X, y = data[0][:24], data[1][:24]
    fitted = mo.estimators.MarginClassifier("ramp", "l1", subject_to=mo.fixed({1: 0.0}), solver="scip", time_limit=60).fit(X, y)
    assert fitted.coef_[0, 0] == pytest.approx(0.0, abs=1e-8)
    assert fitted.problem_.name == "Margin"


def test_refusals(data: Any) -> None:
    with pytest.raises(InputError, check=about("loss")):
        mo.estimators.MarginClassifier("epsilon-insensitive").fit(*data)
    with pytest.raises(InputError, check=about("hing")):
        mo.estimators.MarginClassifier("hing").fit(*data)
    with pytest.raises(InputError, check=about("lam")):
        mo.estimators.MarginClassifier(lam=-1.0).fit(*data)


def test_an_empty_problem_and_an_endless_one_say_so() -> None:
    """Restrictions that exclude each other are no question of separable classes, and no other solver helps against ν with L1."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 12)
    X = rng.normal(size=(24, 2)) + 0.9 * y[:, None]
    slope = np.array([[0.0, 1.0, 0.0]])
    apart = [margin.LinearRows(slope, np.array([low]), np.array([low + 1.0])) for low in (2.0, -3.0)]
    with pytest.raises(SolverError) as caught:
        mo.estimators.MarginClassifier("hinge", "l2", subject_to=apart).fit(X, y)
    assert (caught.value.status, caught.value.rows) == ("infeasible", ("rows lower", "rows 2 upper"))
    with pytest.raises(SolverError, check=ended("unbounded")):
        mo.estimators.MarginClassifier("nu", "l1").fit(X, y)


NAMED = ["hinge", "squared-hinge", "ramp", "zero-one", "misclassified", "nu", "conic", "strongest-conic", "nearest-hulls"]
LOSSES = {
    **{name: name for name in NAMED},
    "high ramp": margin.Ramp(2, 2),
    "breakpoints": margin.PiecewiseLinear(((-1.0, 3.0), (0.0, 1.0), (1.0, 0.0), (2.0, 0.1))),
    "jumps": margin.PiecewiseLinear(((0.0, 1.0), (0.5, 0.8), (1.0, 0.0))),
    "parabolas": margin.PiecewiseQuadratic((0.5, 1.0), ((0, -1, 0.75), (1, -2, 1), (0, 0, 0))),
}
REGULARISERS = ["l2", "half-l2", "l1", "elastic-net", "none", margin.L0(0.1)]
DOMAINS = ["reals", margin.Box(-2.0, 2.0), margin.Integers(-3, 3), margin.Signs((0, 1, 0)), margin.Increasing((1, 2))]
SLOPES = margin.LinearRows(np.array([[0.0, 1.0, 1.0]]), -1.0, 1.0)
RULES = [(), mo.fixed({1: 1.0}), mo.at_most(1).nonzero, SLOPES, mo.error_budget(1, 0.4), mo.parity([0, 1] * 8, 0.2)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # small costs: w = 0 is the optimum of some
@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("loss", LOSSES)
def test_drawn_compositions_are_estimators(loss: str) -> None:
    """Loss by loss, other parts drawn: what is fitted decides by its coefficients, is repeated by its clone, survives pickle."""
    rng = np.random.default_rng([*map(ord, loss)])
    X, y = clouds(rng, 16, 2, 0.8, order="halves", first=-1.0)
    X, answered = X[:, -2:], 0
    for regulariser, _ in itertools.product(REGULARISERS, range(trials(1, 2))):
        domain, rule = DOMAINS[rng.integers(len(DOMAINS))], RULES[rng.integers(len(RULES))]
        drawn: dict[str, Any] = {"intercept": rng.choice(["penalised", "free"]), "domain": domain, "subject_to": rule}
        chosen = mo.estimators.MarginClassifier(
            LOSSES[loss], regulariser, **drawn, lam=rng.choice([0.1, 1.0, 5.0]), node_limit=10_000
        )
        try:
            fitted = chosen.fit(X, y)
        except MarginoptError as error:  # no form, no solver or no optimum: because of which part
            assert re.search("domain|regulariser|its restrictions|of StrongestConic", str(error)), error
            continue
        answered += 1
        scores = fitted.decision_function(X)
        np.testing.assert_allclose(scores, X @ fitted.coef_[0] + fitted.intercept_[0], atol=1e-9 * (1 + np.abs(scores).max()))
        sure = np.abs(scores) > 1e-9
        np.testing.assert_array_equal(fitted.predict(X)[sure], fitted.classes_[(scores > 0).astype(int)][sure])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X), scores)
        again = clone(fitted)
        assert not hasattr(again, "coef_")
        value = fitted.result_.objective  # of equal optima, rounding and threads choose
        assert again.fit(X, y).result_.objective == pytest.approx(value, rel=1e-5, abs=1e-8)
        w = fitted.result_.values["w"]
        lower, upper = fitted.problem_.domain.bounds(3)
        assert (w >= lower - 1e-6).all() and (w <= upper + 1e-6).all()
        assert all(r.violation(fitted.problem_.X, fitted.problem_.y, w) <= 1e-5 for r in fitted.problem_.subject_to)
    assert answered >= trials(1, 2)


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_the_strongest_conic_loss_counts_coefficients_or_names_what_nobody_reads() -> None:
    """Its cone and binaries together are read by no solver here; the bound that counting needs follows from w = 0."""
    X, y = clouds(0, 16, 2, 0.8, order="halves", first=-1.0)
    model = mo.Margin(X, y, "strongest-conic", subject_to=mo.at_most(1).nonzero)
    assert np.isfinite(model.activity_bounds[0]).all()
    assert mo.solve(model.relaxed(), "clarabel").bound >= mo.solve(mo.Margin(X, y, "strongest-conic"), "clarabel").bound - 1e-6
    with pytest.raises(UnsupportedModelError, check=about("Margin")):
        mo.solve(model)


def test_parts_name_columns_of_the_frame() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["age", "debt", "rent"])
    y = np.where(frame["debt"] - frame["age"] + rng.normal(size=40) > 0.0, "no", "yes")
    named = {"domain": margin.Signs({"age": -1}), "subject_to": [margin.LinearRows({"debt": 1.0, "rent": -1.0}, 0.25)]}
    placed = {"domain": margin.Signs((0, -1, 0, 0)), "subject_to": margin.LinearRows([[0.0, 0.0, 1.0, -1.0]], 0.25)}
    first, second = (mo.estimators.MarginClassifier(**parts).fit(frame, y) for parts in (named, placed))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    regressor = mo.estimators.MarginRegressor(subject_to=mo.fixed({"rent": 0.0})).fit(frame, frame["age"] + frame["rent"])
    assert abs(regressor.coef_[2]) < 1e-9
    for parts, data in ((named, frame.to_numpy()), ({"domain": margin.Signs({"agee": 1})}, frame)):
        with pytest.raises(mo.errors.InputError):
            mo.estimators.MarginClassifier(**parts).fit(data, y)


@pytest.mark.parametrize("named", [True, False])
def test_restrictions_of_points_see_every_point(named: bool) -> None:
    """Equal points stay apart and in their order where points are counted or named."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 2, 40), rng.integers(0, 4, 40)]).astype(float)
    y = np.where(X[:, 0] + X[:, 1] - 2.0 + rng.normal(size=40) > 0.0, "yes", "no")
    rows, signs = np.column_stack([np.ones(40), X]), np.where(y == "yes", 1.0, -1.0)
    placed = [mo.parity(X[:, 0], 0.02), mo.error_budget(np.flatnonzero(y == "no"), 0.4)]
    fitted = mo.estimators.MarginClassifier(
        "hinge", subject_to=[mo.parity("sex", 0.02), mo.error_budget("no", 0.4)] if named else placed, standardise=False
    ).fit(pd.DataFrame(X, columns=["sex", "age"]), y)
    result = mo.solve(mo.Margin(rows, signs, "hinge", subject_to=placed))
    assert fitted.result_.objective == pytest.approx(result.objective, rel=1e-4)
    w = np.concatenate([fitted.intercept_, fitted.coef_[0]])
    assert max(part.violation(rows, signs, w) for part in placed) <= 1e-6


def test_restrictions_of_points_take_no_points_of_weight_zero(data: Any) -> None:
    weights = np.ones(60)
    weights[3] = 0.0
    for part in (mo.keep([0, 4]), mo.error_budget(-1, 0.2), mo.parity(data[0][:, 0] > 0.0)):
        with pytest.raises(InputError, check=about("sample_weight")):
            mo.estimators.MarginClassifier("hinge", subject_to=part).fit(*data, sample_weight=weights)


def test_a_regressor_counts_every_point_of_a_group() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 2, 30), rng.integers(0, 3, 30)]).astype(float)
    y = (X @ [2.0, 1.0]).round()
    fitted = mo.estimators.MarginRegressor(subject_to=mo.parity(X[:, 0], 0.01)).fit(X, y)
    assert abs(np.cov(X[:, 0], fitted.predict(X), bias=True)[0, 1]) <= 0.01 + 1e-6
