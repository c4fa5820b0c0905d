"""Pictures of K-NPSVC++: what is drawn, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from facts import about

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.models import RBF, ChebyshevNPSVC
from marginopt.pictures import draw_objectives, draw_training


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def _model() -> ChebyshevNPSVC:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(36, 3)), np.arange(36) % 3
    X[np.arange(36), y] += 3.0
    return ChebyshevNPSVC(X, y, r1=0.3, r2=0.3, mu=0.05, d=2, kernel=RBF(0.3))


@pytest.mark.parametrize("classes", ["alternate", "joint"])
def test_training_shows_objectives_primal_and_dual(classes: str) -> None:
    result = solvers.solve(_model(), "kernel-npsvcpp", classes=classes, dual_values=True, iteration_limit=6, tol=1e-9)
    steps = result.details["steps"]
    ax = draw_training(steps, labels="abc")
    assert [line.get_label() for line in ax.lines[:3]] == ["J of class a", "J of class b", "J of class c"]
    primal, dual = ax.lines[3].get_ydata(), ax.lines[4].get_ydata()
    np.testing.assert_allclose(primal, np.max([line.get_ydata() for line in ax.lines[:3]], axis=0))
    assert (np.asarray(dual) <= np.asarray(primal) * (1 + 1e-9)).all()
    for step in steps:
        assert step["gap"] == pytest.approx((step["largest"] - step["dual"]) / step["largest"])


def test_dual_value_of_the_right_weights_meets_the_primal_for_a_fixed_projection() -> None:
    model = _model()
    result = solvers.solve(
        model, "kernel-npsvcpp", classes="joint", dual_values=True, iteration_limit=3, tol=1e-9, inner_tol=1e-9
    )
    step = result.details["steps"][-1]
    # at the classes' joint optimum Σ τ_l J_l is the dual value itself
    assert step["dual"] == pytest.approx(np.dot(step["tau"], step["objectives"]), rel=1e-7)


def test_without_dual_values_none_is_drawn_and_many_classes_are_one_bundle() -> None:
    steps = [{"objectives": np.arange(9.0) + k, "largest": 8.0 + k, "dual": float("nan")} for k in range(3)]
    ax = draw_training(steps)
    assert len(ax.lines) == 10
    assert len(ax.get_legend().get_texts()) == 2
    (axes,) = plt.subplots(1, 1)[1:]
    assert draw_training(steps, ax=axes) is axes


def test_radar_shows_shares_of_the_largest_value() -> None:
    ax = draw_objectives({"ours": [1.0, 2.0, 0.0], "sum": [2.0, 1.0, 0.0]}, labels=["a", "b", "c"])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.5, 1.0, 0.0, 0.5])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1.0, 0.5, 0.0, 1.0])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a\n2", "b\n2", "c\n0"]


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, check=about("steps")):
        draw_training([])
    with pytest.raises(InputError, check=about("labels")):
        draw_objectives({"a": [1.0, 2.0, 3.0]}, labels=["x"])
    with pytest.raises(InputError, check=about("objectives")):
        draw_objectives({"a": [1.0, 2.0]})
    with pytest.raises(InputError, check=about("objectives")):
        draw_objectives({})
    with pytest.raises(InputError, check=about("objectives")):
        draw_objectives({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0]})
    with pytest.raises(InputError, check=about("objectives")):
        draw_objectives({"a": [1.0, -2.0, 3.0]})
    with pytest.raises(InputError, check=about("ax")):
        draw_objectives({"a": [1.0, 2.0, 3.0]}, ax=plt.subplots()[1])
