"""Scoring systems as a formulation: its M, its counts, its forms, against enumeration; compositions that are one."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.cli.main import main
from marginopt.errors import InputError, MarginoptWarning
from marginopt.models.formulations.margin.problems import ScoringProblem

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
RNG = np.random.default_rng(3)
Y = np.repeat([-1.0, 1.0], 12)
X = np.column_stack([np.ones(24), RNG.integers(0, 2, (24, 2)) + (Y[:, None] > 0), RNG.integers(-2, 3, 24)]).astype(float)


def test_the_price_and_the_tie_breaking_price_are_those_of_the_instance_files() -> None:
    """breastcancer_regularized.mps: 6.83 and 0.0179736842105263 for 683 points, 9 features, an intercept of at most 100."""
    Z = np.column_stack([np.ones(683), np.random.default_rng(0).integers(1, 11, (683, 9))])
    y = np.where(np.arange(683) < 239, 1.0, -1.0)
    model = mo.ScoringSystem(Z, y, intercept_range=(-100, 100))
    assert model.prices == (Fraction(683, 100), Fraction(683, 38000))
    best = mo.ScoringSystem(Z, y, intercept_range=(-100, 100), C0=Fraction(9, 10 * 683 * 10))
    assert best.prices == (Fraction(9, 100), Fraction(9, 100) / 380)


@pytest.mark.parametrize("most", [None, 0, 1, 2])
def test_m_is_the_least_that_allows_every_coefficient(most: int | None) -> None:
    model = mo.ScoringSystem(X, Y, (-2, 1), (-3, 4), max_features=most)
    worst = np.full(24, np.inf)
    for rho in itertools.product(range(-2, 2), repeat=3):
        if most is None or np.count_nonzero(rho) <= most:
            scores = X[:, 1:] @ np.array(rho)
            worst = np.minimum(worst, np.minimum(Y * (scores - 3), Y * (scores + 4)))
    np.testing.assert_array_equal(model.big_m_values, np.maximum(1.0 - worst, 0.0))


def test_the_default_intercept_reaches_every_cut() -> None:
    """Whatever the coefficients, all points can be put on either side."""
    model = mo.ScoringSystem(X, Y, (-2, 3))
    for rho in itertools.product((-2, 3), repeat=3):
        scores = X[:, 1:] @ np.array(rho)
        assert (scores + model.intercept_bounds[1] >= 1).all()
        assert (scores + model.intercept_bounds[0] <= -1).all()


def test_a_score_of_zero_is_an_error_of_either_class() -> None:
    model = mo.ScoringSystem(X, Y, C0=0.05)
    zero = model.point(np.zeros(4))
    assert zero["z"].all()
    assert model.value([0, 0, 0, 0]) == 24
    assert model.value([1, 0, 0, 0]) == 12
    np.testing.assert_array_equal(model.exact_point({"w": np.array([1.2, 0.1, 0.0, 0.0])})["w"], [1, 0, 0, 0])


@pytest.mark.parametrize("weights", [1.0, 0.25 + np.arange(24) / 8])
def test_the_form_counts_what_the_fractions_do(weights: float | np.ndarray) -> None:
    model = mo.ScoringSystem(X, Y, (-3, 3), sample_weight=weights, max_features=2)
    for w in RNG.integers(-3, 4, (20, 4)):
        w[1 + RNG.integers(3)] = 0
        point = model.point(w)
        certificate = mo.certify(model.form, point)
        assert certificate.feasible(0.0)
        assert certificate.objective == pytest.approx(float(model.value(w)), rel=1e-14)


def test_scores_of_other_numbers_are_compared_exactly() -> None:
    """0.1 + 0.1 + 0.1 rounds to more than 0.3: the exact sum of the three doubles decides."""
    Z = np.array([[1.0, 0.1, 0.3], [1.0, 0.0, 1.0]])
    model = mo.ScoringSystem(Z, [1.0, -1.0], (-3, 3), epsilon=1e-20)
    exact = 3 * Fraction(0.1) - Fraction(0.3)
    assert exact > 1e-20
    assert not model.problem.errors(0, np.array([3.0, -1.0]))[0]
    assert model.problem.errors(0, np.array([-3.0, 1.0]))[0]
    assert not model.integer_scores
    assert model.threshold == 1e-20


def test_a_composition_is_a_scoring_system() -> None:
    parts = {"intercept": "free", "domain": margin.Integers(-5, 5), "sample_weight": 0.5}
    view = mo.Margin(X, Y, "zero-one", margin.L0(0.01), subject_to=mo.at_most(2).nonzero, **parts).view(ScoringProblem)
    assert view is not None
    assert (view.price, view.size_price, view.max_nonzeros, view.intercept) == (Fraction(0.01), 0, 2, (-5, 5))
    w = np.array([2.0, -1.0, 0.0])
    stated = mo.Margin(X, Y, "zero-one", margin.L0(0.01), **parts).objective(np.array([1, *w]))
    assert float(view.value(1, w)) == pytest.approx(stated)
    whole = mo.Margin(X, Y, "zero-one", "l1", domain=margin.Integers(-5, 5)).view(ScoringProblem)
    assert whole is not None
    assert whole.X.shape == (24, 4)
    for other in (
        mo.Margin(X, Y, "hinge", "l1", **parts),
        mo.Margin(X, Y, "zero-one", "l2", **parts),
        mo.Margin(X, Y, "zero-one", "l1", intercept="free"),
        mo.Margin(X, Y, "zero-one", "l1", subject_to=mo.keep([0]), **parts),
        mo.Margin(X, Y, "misclassified", "l1", **parts),
        mo.Margin(X, Y, "zero-one", "l1", domain=margin.Integers(1, 5)),
    ):
        assert other.view(ScoringProblem) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"coefficients": (1, 10)},
        {"coefficients": (-1.5, 2)},
        {"coefficients": 10},
        {"coefficients": ([-1, -1], [1, 1])},
        {"intercept_range": (3, -3)},
        {"intercept_range": (0.5, 3)},
        {"max_features": -1},
        {"max_features": 1.5},
        {"C0": -0.1},
        {"C0": None},
        {"C1": "much"},
        {"epsilon": 2.0},
        {"sample_weight": -1.0},
    ],
)
def test_what_it_refuses(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, check=about(*wrong)):
        mo.ScoringSystem(X, Y, **wrong)


def test_it_needs_an_intercept_and_features() -> None:
    for Z in (X[:, 1:], X[:, :1]):
        with pytest.raises(InputError, check=about("X")):
            mo.ScoringSystem(Z, Y)


def test_the_statement_names_m_and_epsilon() -> None:
    text = str(mo.ScoringSystem(X, Y, max_features=2))
    assert "M_i = 1 - min y_i x_i'w" in text
    assert "> 0 is >= 1" in text
    assert "sum_j s_j <= 2" in text
    assert "epsilon = 0.01" in str(mo.ScoringSystem(X * 0.5 + 0.5 * (X == 1.0), Y, epsilon=0.01))
    assert r"\textstyle\sum_j s_j \le 2" in mo.ScoringSystem(X, Y, max_features=2).latex()


@pytest.mark.parametrize("loss", ["zero-one", "logistic"])
def test_the_table_of_points_adds_up_to_the_predictions(loss: str) -> None:
    """Totals from the printed rows decide as the model does; LaTeX has the rows; totals of risk scores are risks."""
    rng = np.random.default_rng(3)
    features = pd.DataFrame((rng.random((30, 3)) < 0.5).astype(float), columns=["old & ill", "smokes", "tall"])
    frame = features.assign(one=1.0)[["one", *features.columns]]
    y = np.where(features.to_numpy() @ [2.0, 1.0, -1.0] - 1.0 + 0.5 * rng.normal(size=30) > 0, "yes", "no")
    model = mo.ScoringSystem(frame, y, (-3, 3), C0=0.01, loss=loss)
    values = {"w": np.array([-1.0, 2.0, 1.0, 0.0])}
    table = model.points_table(values)
    assert list(table.points) == [("old & ill", 2), ("smokes", 1)] and table.classes == ("no", "yes") and table.above == 1
    totals = sum(points * features[name] for name, points in table.points)
    decided = totals != table.above
    assert decided.sum() > 10
    assert (np.where(totals > table.above, "yes", "no") == model.predict(values, frame))[decided].all()
    assert table.latex().count("points") == 2 and r"old \& ill" in table.latex() and "yes" in table.latex()
    assert [float(percent) for total, percent in table.risks if total == 1] == ([50.0] if loss == "logistic" else [])
    assert [name for name, _ in model.points_table(values, ["a", "b", "c"]).points] == ["a", "b"]
    with pytest.raises(InputError):
        model.points_table(values, ["a"])


def _restricted_cases() -> dict[str, tuple[object, str]]:
    """Restrictions of the columns one, a, b, c, and the exact solver that reads them."""
    group = np.arange(24) % 2
    return {
        "fixed at zero": (mo.fixed({"b": 0}), "supports-bb"),
        "fixed elsewhere": (mo.fixed({"a": -1}), "margin-bb"),
        "a sign": (margin.LinearRows({"c": -1}, 0.0), "supports-bb"),
        "few features": ([mo.at_most(1).nonzero, margin.LinearRows({"one": 1}, 1.0)], "supports-bb"),
        "a row": (margin.LinearRows({"a": 1, "b": -1}, 0.0, 1.0), "margin-bb"),
        "errors of a class": (mo.error_budget("well", 0.1), "margin-bb"),
        "kept points": (mo.keep([3, 5]), "margin-bb"),
        "covariance": (mo.parity(group, 0.02), "margin-bb"),
        "counts": (mo.parity(group, 0.1, by="counts"), "margin-bb"),
    }


@pytest.mark.parametrize("case", _restricted_cases())
def test_restricted_optima_are_those_of_enumeration(case: str) -> None:
    """The solver that `auto` picks proves the optimum, and HiGHS finds it in the form with the model's M."""
    restrictions, solver = _restricted_cases()[case]
    rng = np.random.default_rng(1)
    features = np.column_stack([np.ones(24), rng.integers(0, 3, (24, 3))])
    labels = np.where(features[:, 1:] @ [1.0, 2.0, -1.0] + 0.8 * rng.normal(size=24) > 1.5, "ill", "well")
    frame = pd.DataFrame(features, columns=["one", "a", "b", "c"])
    model = mo.ScoringSystem(frame, labels, (-2, 2), (-3, 3), C0=0.01, subject_to=restrictions)
    costs = {
        rho: float(model.value(rho))
        for rho in itertools.product(range(-3, 4), *[range(-2, 3)] * 3)
        if all(rule.violation(features, model.y, np.array(rho, dtype=float)) <= 1e-9 for rule in model.subject_to)
    }
    best = min(costs.values())
    assert best > min(float(model.value(rho)) for rho in itertools.product(range(-3, 4), *[range(-2, 3)] * 3))
    result = mo.solve(model)
    assert (result.solver, result.bound_kind) == (solver, "proved")
    assert result.objective == pytest.approx(best, abs=1e-9)
    assert costs[tuple(result.values["w"].astype(int))] == pytest.approx(best, abs=1e-9)
    assert mo.solve(model, "highs").objective == pytest.approx(best, abs=1e-6)
    assert model.points_table(result.values).classes == ("ill", "well")


def test_counts_of_margins_below_one_need_whole_scores() -> None:
    """A score of a half is right, and a budget of errors would count it as wrong."""
    for restriction in (mo.error_budget(1, 0.2), mo.keep([0]), margin.ViolationBudget(0.2)):
        mo.ScoringSystem(X, Y, subject_to=restriction)
        with pytest.raises(InputError, check=about("subject_to")):
            mo.ScoringSystem(np.column_stack([X[:, :1], 0.5 * X[:, 1:]]), Y, subject_to=restriction)


def test_the_supports_of_a_restricted_system_leave_out_what_is_fixed() -> None:
    model = mo.ScoringSystem(X, Y, (-1, 1), (-3, 3), subject_to=mo.fixed({1: 0}))
    answer = mo.questions.supports(model, within=0.3)
    assert answer.proved and all(not witness[1] for witness in answer.evidence.witnesses)


def test_points_of_standardised_features_are_warned_of_and_the_prompt_makes_none(capsys: pytest.CaptureFixture[str]) -> None:
    data = mo.load("wdbc").subsample(30, seed=0)
    with pytest.warns(MarginoptWarning) as caught:
        mo.ScoringSystem(data.prepared())
    assert [warning.message.name for warning in caught] == ["X"]  # type: ignore[union-attr]
    model = mo.ScoringSystem(data.prepared(standardise=False))
    assert main(["inspect", "scoring-system", "wdbc", "--n", "30"]) == 0
    assert f"{model.statement.sizes}" in capsys.readouterr().out
