"""Degenerate data for the nonparallel family: each gives the right answer, or an error that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from facts import about
from scipy.sparse.csgraph import connected_components

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.estimators import KernelNPSVC
from marginopt.models import RBF, ChebyshevNPSVC, NonparallelSVM
from marginopt.models.formulations.nonparallel.neighbour_graph import neighbour_laplacian
from marginopt.solvers import Status


def _islands(gap: float = 60.0) -> tuple[np.ndarray, np.ndarray]:
    """Two clusters of two classes each, so far apart that the graph has no edge between them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[:, 0] += np.repeat([0.0, 6.0, gap, gap + 6.0], 10)
    return X, np.repeat([0, 1, 0, 1], 10)


def test_disconnected_graph_has_one_flat_direction_for_each_part() -> None:
    X, _ = _islands()
    L = neighbour_laplacian(X, 5)
    assert connected_components(L, directed=False)[0] >= 2
    values = np.linalg.eigvalsh(L.toarray())
    assert values[0] >= -1e-12
    assert (values < 1e-10).sum() == connected_components(L, directed=False)[0]


@pytest.mark.parametrize("orientation", ["one", "rest"])
def test_disconnected_graph_is_fitted_and_certified(orientation: str) -> None:
    X, y = _islands()
    model = KernelNPSVC(gamma=0.05, mu=0.1, neighbours=5, orientation=orientation, standardise=False, tol=1e-2, max_iter=30)
    model.fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.certificate_.gap <= 1e-6
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("r1", [1e-300, 1e-160, 1e-12])
def test_a_regularisation_too_small_for_the_data_ends_without_other_packages_errors(r1: float) -> None:
    X = 1e6 * np.column_stack([np.ones(6), np.random.default_rng(0).normal(size=(6, 2))])
    model = ChebyshevNPSVC(X, np.arange(6) % 2, r1=r1, d=2)
    try:
        result = solvers.solve(model, time_limit=0.5)
    except InputError as error:
        assert error.name == "r"
    else:
        assert result.status is not Status.OPTIMAL or result.gap <= 1e-2


def test_point_with_no_neighbour_left_is_a_part_of_its_own() -> None:
    X, y = _islands()
    X = np.vstack([X, [1e4, 1e4]])
    model = ChebyshevNPSVC(X, np.r_[y, 0], kernel=RBF(0.05), mu=0.1, neighbours=3, d=2)
    lonely = neighbour_laplacian(X, 3, gamma=1.0).toarray()[-1]  # every weight underflows
    assert lonely[-1] == 1.0
    assert not lonely[:-1].any()
    assert np.isfinite(model.S).all()
    answer = solvers.solve(model, "kernel-npsvcpp", tol=1e-2, iteration_limit=30)
    assert answer.certificate.gap <= 1e-6


@pytest.mark.parametrize("orientation", ["one", "rest"])
def test_singular_kernel_needs_the_ridge_and_says_so(orientation: str) -> None:
    X, y = _islands()
    X[1] = X[0]
    with pytest.raises(InputError, check=about("ridge")):
        KernelNPSVC(gamma=0.05, ridge=0.0, mu=0.0, orientation=orientation, standardise=False).fit(X, y)
    fitted = KernelNPSVC(gamma=0.05, mu=0.0, orientation=orientation, standardise=False, tol=1e-2, max_iter=30).fit(X, y)
    assert fitted.certificate_.gap <= 1e-6
    with pytest.raises(InputError, check=about("ridge")):
        solvers.solve(NonparallelSVM.one_per_class(X, y, kernel=RBF(0.05), ridge=0.0)[0], "boxqp")


@pytest.mark.parametrize(("kernel", "size"), [("rbf", 40), ("linear", 2)])
def test_more_learned_features_than_there_are_features_are_refused(kernel: str, size: int) -> None:
    X, y = _islands()
    with pytest.raises(InputError, check=about("d")):
        KernelNPSVC(kernel, d=size + 1).fit(X, y)


def test_more_features_than_points() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(16) % 2
    X = rng.normal(size=(16, 50)) + 3.0 * y[:, None]
    fitted = KernelNPSVC("linear", d=20, intercept=1.0, tol=1e-2, max_iter=30).fit(X, y)
    assert fitted.score(X, y) == 1.0
    assert fitted.transform(X).shape == (16, 20)
    assert fitted.certificate_.gap <= 1e-6


@pytest.mark.parametrize(
    ("labels", "change", "name"),
    [
        (np.r_[np.zeros(39), 1.0], {}, "y"),
        (np.zeros(40), {}, "y"),
        (np.repeat([0, 1], 20), {"r": 0.0}, "r"),
        (np.repeat([0, 1], 20), {"r": -1.0}, "r"),
        (np.repeat([0, 1], 20), {"c": 0.0}, "c"),
    ],
)
def test_members_of_the_family_name_what_is_wrong(labels: np.ndarray, change: dict[str, Any], name: str) -> None:
    X, _ = _islands()
    with pytest.raises(InputError, check=about(name)):
        NonparallelSVM.one_per_class(X, labels, **change)


@pytest.mark.parametrize("change", [{"r1": 0.0}, {"r2": 0.0}, {"c": 0.0}])
def test_regularisation_of_zero_is_refused_by_name(change: dict[str, float]) -> None:
    X, y = _islands()
    with pytest.raises(InputError, check=about(next(iter(change)))):
        KernelNPSVC(**change).fit(X, y)
