"""A score of exactly 0 is of the first class wherever classes are decided."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import marginopt as mo
from marginopt.models.model import decided_codes, decided_labels
from marginopt.questions import prediction_stability
from marginopt.relaxations.report.problems import HeldOut

X = np.array([[1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [1.0, 1.0]])
Y = np.array([-1.0, -1.0, 1.0, 1.0])
ON = np.array([[1.0, 0.0]])
#: A classifier whose score of `ON` is 0 without rounding.
VALUES = {"w": np.array([0.0, 1.0])}


@pytest.mark.parametrize("formulation", [partial(mo.HingeSVM, lam=1.0), partial(mo.ZeroOneSVM, lam=1.0), mo.Margin])
def test_models(formulation: Any) -> None:
    model = formulation(X, Y)
    assert model.decision_function(VALUES, ON)[0] == 0.0
    assert model.predict(VALUES, ON).tolist() == [-1.0]
    assert HeldOut(ON, np.array([-1.0]), "one point").test_error(model, VALUES) == 0.0


def test_estimators_decide_as_their_models() -> None:
    rng = np.random.default_rng(0)
    features = rng.integers(-1, 2, (40, 2)).astype(float)
    y = np.where(features[:, 0] + rng.normal(scale=0.3, size=40) > 0, "yes", "no")
    fitted = mo.estimators.ScoringSystemClassifier((-2, 2)).fit(features, y)
    between = np.array([[-fitted.intercept_[0] / fitted.coef_[0, 0], 0.0]])
    assert fitted.decision_function(between)[0] == 0.0
    assert fitted.predict(between).tolist() == ["no"]
    assert fitted.problem_.predict(fitted.result_.values, np.column_stack([[1.0], between])).tolist() == ["no"]


def test_questions() -> None:
    model = mo.ZeroOneSVM(X, Y, 10.0)
    stability = prediction_stability(model, [[1.0, 0.0], [1.0, 2.0]])
    scores = np.array([[1.0, 0.0], [1.0, 2.0]]) @ stability.optimum.values["w"]
    assert scores[0] == 0.0
    assert stability.prediction.tolist() == [-1.0, 1.0]


def test_several_scores_and_one() -> None:
    scores = np.array([-0.5, 0.0, 0.5])
    assert decided_labels(scores).tolist() == [-1.0, -1.0, 1.0]
    assert decided_codes(scores).tolist() == decided_codes(np.column_stack([-scores, scores])).tolist() == [0, 0, 1]
