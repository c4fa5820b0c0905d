"""The neighbour graph of manifold regularisation: its Laplacian, graphs that fall apart, points joined to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.models import RBF, ChebyshevNPSVC, NonparallelSVM
from marginopt.models.formulations.nonparallel.neighbour_graph import nearest_neighbours, neighbour_laplacian
from marginopt.solvers import Status


def _clusters(distance: float, n: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, 2))
    X[n:, 0] += distance
    return X, np.repeat([0, 1], n)


def test_laplacian_is_that_of_the_definition() -> None:
    X, _ = _clusters(3.0)
    L = neighbour_laplacian(X, 3, gamma=0.5).toarray()
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    order = np.argsort(squared + np.diag(np.full(40, np.inf)), axis=1)[:, :3]
    joined = np.zeros((40, 40), dtype=bool)
    joined[np.arange(40)[:, None], order] = True
    G = np.where(joined | joined.T, np.exp(-0.5 * squared), 0.0)
    scale = 1.0 / np.sqrt(G.sum(axis=1))
    assert pytest.approx(np.eye(40) - scale[:, None] * G * scale, abs=1e-12) == L
    assert np.linalg.eigvalsh(L)[0] >= -1e-12
    assert (np.sort(nearest_neighbours(X, 3)[0], axis=1) == np.sort(order, axis=1)).all()


def test_disconnected_graph_has_one_zero_for_each_part_and_trains() -> None:
    X, y = _clusters(100.0)
    values = np.linalg.eigvalsh(neighbour_laplacian(X, 4, gamma=0.5).toarray())
    assert (values < 1e-8).sum() == 2
    model = ChebyshevNPSVC(X, y, mu=0.1, d=2, kernel=RBF(0.01), neighbours=4)
    result = solvers.solve(model, "kernel-npsvcpp", iteration_limit=5)
    assert result.certificate is not None
    assert abs(result.certificate.gap) <= 1e-6
    assert (model.at(np.asarray(result.details["P"])).predict(result.values, X) == y).all()


def test_point_whose_weights_underflow_is_joined_to_nothing() -> None:
    X = np.vstack([_clusters(1.0)[0], [[1e6, 0.0]]])
    L = neighbour_laplacian(X, 2, gamma=1.0).toarray()
    assert np.isfinite(L).all()
    assert L[-1, -1] == 1.0
    assert (L[-1, :-1] == 0.0).all()


@pytest.mark.parametrize("loss", ["capped", "correntropy"])
def test_manifold_regularisation_of_the_nonconvex_pairs(loss: str) -> None:
    X, y = _clusters(2.0)
    model = NonparallelSVM(X, y, 1, loss=loss, kernel=RBF(0.4), epsilon=0.3, gamma=2.0, manifold=0.3)  # RMTBSVM: capped
    result = solvers.solve(model, "npsvc-mm")
    assert result.status is Status.STATIONARY
    assert (np.diff(result.details["objectives"]) < 0).all()
    u = result.values["u"]
    f = model.features.rows @ u
    smooth = 0.15 * float(f @ (neighbour_laplacian(X) @ f))
    plain = NonparallelSVM(X, y, 1, loss=loss, kernel=RBF(0.4), epsilon=0.3, gamma=2.0)
    assert result.objective == pytest.approx(plain.objective(u) + smooth, rel=1e-9)


@pytest.mark.parametrize("k", [0, 40, 41])
def test_neighbours_out_of_range_are_named(k: int) -> None:
    with pytest.raises(InputError, check=about("neighbours")):
        neighbour_laplacian(_clusters(1.0)[0], k)
