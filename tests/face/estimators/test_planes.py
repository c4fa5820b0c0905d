"""`NonparallelSVC`: every loss pair, the hyperplanes of its models, prediction by distance, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from data import three_clouds
from facts import about

import marginopt as mo
from marginopt.errors import InputError
from marginopt.estimators import NonparallelSVC

LOSSES = ("twsvm", "lstsvm", "npsvm", "pinball", "correntropy", "capped")


@pytest.mark.parametrize("loss", LOSSES)
def test_separated_classes_are_told_apart(loss: str) -> None:
    X, y = three_clouds()
    fitted = NonparallelSVC(loss, manifold=0.01 if loss == "capped" else 0.0).fit(X, y)
    assert fitted.score(X, y) >= 0.9
    assert fitted.decision_function(X).shape == (60, 3)
    assert fitted.gaps_.max() <= 1e-4


@pytest.mark.parametrize("loss", ["twsvm", "lstsvm", "npsvm", "pinball"])
def test_each_hyperplane_is_the_optimum_of_its_model(loss: str) -> None:
    """Another solver finds the same hyperplanes from the same model."""
    X, y = three_clouds()
    fitted = NonparallelSVC(loss, gamma=0.2, standardise=False, tol=1e-8).fit(X, y)
    for k, model in enumerate(mo.NonparallelSVM.one_per_class(X, y, loss=loss, c=1.0, r=0.1, kernel=mo.RBF(0.2))):
        assert model.target == fitted.classes_[k]
        assert fitted.objectives_[k] == pytest.approx(mo.solve(model, "clarabel", tol=1e-8).objective, rel=1e-6)


def test_the_nearest_hyperplane_wins() -> None:
    X, y = three_clouds()
    fitted = NonparallelSVC(standardise=False).fit(X, y)
    values = [{"u": u} for u in fitted.U_.T]
    assert (fitted.predict(X) == mo.models.nearest_hyperplane(fitted.problems_, values, X)).all()


def test_a_precomputed_kernel_is_the_same_classifier() -> None:
    X, y = three_clouds()
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    by_points = NonparallelSVC(gamma=0.2, standardise=False).fit(X, y)
    by_matrix = NonparallelSVC(kernel="precomputed").fit(K, y)
    assert by_matrix.decision_function(K) == pytest.approx(by_points.decision_function(X), abs=1e-4)


def test_bad_input_is_said() -> None:
    X, y = three_clouds()
    with pytest.raises(InputError, check=about("loss")):
        NonparallelSVC("hinge").fit(X, y)
    for parameters in ({"decay": -1.0}, {"intercept": -1.0}, {"tol": 0.0}):
        with pytest.raises(InputError, check=about(*parameters)):
            NonparallelSVC("correntropy", **parameters).fit(X, y)
    with pytest.raises(InputError, check=about("manifold")):
        NonparallelSVC(kernel="precomputed", manifold=1.0).fit(np.eye(60), y)
