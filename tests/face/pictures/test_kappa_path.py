"""The path of κ of a fitted ConicSVCCV, as a table and a picture."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from facts import about

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from marginopt.errors import InputError
from marginopt.estimators import ConicSVCCV
from marginopt.models import ConicSVM
from marginopt.pictures import draw_kappa_path, kappa_path
from marginopt.solvers import solve


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def points(classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = np.arange(60) % classes
    return rng.normal(size=(60, 2)) + np.array([[1.2, 0.0], [-1.2, 0.0], [0.0, 2.0]])[y], y


@pytest.fixture(scope="module")
def fitted() -> ConicSVCCV:
    return ConicSVCCV([0.05, 0.1, 0.2, 0.4], cv=3).fit(*points(2))


def test_the_path_is_that_of_the_problem_on_all_points(fitted: ConicSVCCV) -> None:
    path = kappa_path(fitted)
    np.testing.assert_array_equal(path.kappa, [0.05, 0.1, 0.2, 0.4])
    np.testing.assert_allclose(path.error, 1.0 - fitted.cv_scores_.mean(axis=1))
    assert path.chosen == fitted.kappa_ == path.kappa[np.argmin(path.error)]
    assert (path.bound <= path.objective * (1 + 1e-12)).all()
    np.testing.assert_allclose(path.bound, path.objective, rtol=1e-7)
    assert (np.diff(path.objective) <= 0.0).all()  # a larger budget costs less
    assert (path.share <= path.kappa * (1 + 1e-9)).all()
    for kappa, bound, ratio in zip(path.kappa, path.bound, path.rank_ratio, strict=True):
        alone = solve(ConicSVM(fitted.problem_.X, fitted.problem_.y, kappa=kappa), "clarabel", tol=1e-7)
        assert bound == pytest.approx(alone.objective, rel=1e-5)
        assert ratio == pytest.approx(alone.summary["rank_ratio"], abs=1e-3)


def test_the_picture_shows_the_path(fitted: ConicSVCCV) -> None:
    path = kappa_path(fitted)
    axes = draw_kappa_path(fitted)
    labels = [ax.get_legend_handles_labels()[1] for ax in axes]
    assert [words[0] for words in labels] == ["validation error", "Σz/n", "objective", "second / first eigenvalue of W"]
    assert all(f"chosen κ = {path.chosen:g}" in words for words in labels)
    for ax, values in zip(axes, (path.error, path.share, path.objective, path.rank_ratio), strict=True):
        np.testing.assert_allclose(ax.lines[0].get_ydata(), values, rtol=1e-9, atol=1e-13)
    problem = plt.subplots(1, 4)[1]
    assert draw_kappa_path(path, problem) is problem
    with pytest.raises(InputError, check=about("axes")):
        draw_kappa_path(path, problem[:2])


def test_several_pairs_and_kernels() -> None:
    many = ConicSVCCV([0.1, 0.3], cv=2, kernel="rbf").fit(*points(3))
    first, last = kappa_path(many), kappa_path(many, pair=2)
    assert np.isfinite(first.bound).all() and (first.bound != last.bound).all()
    with pytest.raises(InputError, check=about("pair")):
        kappa_path(many, pair=3)


def test_only_fitted_estimators_have_a_path() -> None:
    with pytest.raises(InputError, check=about("estimator")):
        draw_kappa_path(ConicSVCCV())
    with pytest.raises(InputError, check=about("estimator")):
        kappa_path(3)  # type: ignore[arg-type]
