"""`ScoringSystemClassifier`: whole points, their table, weights as copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from facts import about

import marginopt as mo
from marginopt.errors import InputError

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.integers(0, 4, (80, 3)), columns=["age band", "smokes", "visits"])
y = np.where(X["smokes"] - X["visits"] + RNG.normal(scale=0.6, size=80) > 0, "ill", "well")


def test_the_table_says_what_predict_does() -> None:
    model = mo.estimators.ScoringSystemClassifier((-3, 3), max_features=2).fit(X, y)
    table = model.points()
    total = sum(X[name].to_numpy() * points for name, points in table.points)
    expected = np.where(total > table.above, table.classes[1], table.classes[0])
    np.testing.assert_array_equal(model.predict(X), expected)
    assert len(table.points) <= 2
    assert "smokes" in str(table)
    assert f"{np.mean(expected != y):.1%} of the training points" in str(table)
    assert "<table>" in table._repr_html_()
    assert model.coef_.tolist() == np.rint(model.coef_).tolist()


def test_it_is_the_model_s_optimum_and_weights_are_copies() -> None:
    model = mo.estimators.ScoringSystemClassifier((-3, 3), C0=0.02).fit(X, y)
    stated = mo.ScoringSystem(np.column_stack([np.ones(80), X]), np.where(y == "well", 1.0, -1.0), (-3, 3), C0=0.02)
    assert model.result_.objective == pytest.approx(mo.solve(stated, "supports-bb").objective, rel=1e-9)
    weights = RNG.integers(1, 4, 80)
    weighted = mo.estimators.ScoringSystemClassifier((-3, 3), C0=0.02).fit(X, y, sample_weight=weights)
    copies = mo.estimators.ScoringSystemClassifier((-3, 3), C0=0.02).fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights))
    assert weighted.result_.objective == copies.result_.objective


def test_what_the_table_refuses() -> None:
    model = mo.estimators.ScoringSystemClassifier((-2, 2)).fit(X.to_numpy(), y)
    assert model.points(["a", "b", "c"]).points
    assert "x1" in str(model.points())
    with pytest.raises(InputError, check=about("feature_names")):
        model.points(["a"])
    several = mo.estimators.ScoringSystemClassifier((-2, 2)).fit(X, np.arange(80) % 3)
    with pytest.raises(InputError, check=about("y")):
        several.points()
    with pytest.raises(InputError, check=about("C0")):
        mo.estimators.ScoringSystemClassifier(C0=-1.0).fit(X, y)


@pytest.mark.parametrize(
    ("named", "placed"),
    [
        (mo.parity("smokes", 0.05, by="counts"), mo.parity(2, 0.05, by="counts")),
        ([mo.error_budget("ill", 0.1), mo.fixed({"visits": -1.0})], [mo.error_budget(-1, 0.1), mo.fixed({3: -1.0})]),
        (mo.keep("well"), mo.keep(np.flatnonzero(y == "well"))),
    ],
)
def test_restrictions_are_those_of_the_model(named: object, placed: object) -> None:
    """By names as by places, and of every point: many rows are there several times."""
    fitted = mo.estimators.ScoringSystemClassifier((-2, 2), subject_to=named).fit(X, y)
    rows, signs = np.column_stack([np.ones(80), X]), np.where(y == "well", 1.0, -1.0)
    stated = mo.ScoringSystem(rows, signs, (-2, 2), subject_to=placed)
    assert fitted.result_.objective == pytest.approx(mo.solve(stated).objective, rel=1e-6)
    w = np.concatenate([fitted.intercept_, fitted.coef_[0]])
    assert all(part.violation(rows, signs, w) == 0.0 for part in stated.subject_to)
