"""Factors of the classes' problems: the kernel forms agree with the dense one, lowered or not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.spatial
from facts import about

import marginopt.solvers as solvers
from marginopt.errors import InputError, TooLargeError
from marginopt.models import RBF, ChebyshevNPSVC, NonparallelSVM, Precomputed
from marginopt.models.formulations.nonparallel.quadratic_factors import (
    DenseRegulariser,
    DowndatedFactor,
    HingeFactor,
    KernelRows,
    PointsFactor,
    Ridge,
    SignedFactor,
)


def _factors(share: float, r: float, n: int = 40) -> tuple[HingeFactor, PointsFactor, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 1e-3 * np.eye(n)
    psi = scipy.linalg.cholesky(K, lower=True)
    near = np.zeros(n, dtype=bool)
    near[rng.choice(n, size=int(share * n), replace=False)] = True
    factor = PointsFactor(KernelRows(psi, K, Ridge(r)), near)
    return HingeFactor(psi[near].T @ psi[near] + r * np.eye(n), psi[~near]), factor, np.linalg.qr(rng.normal(size=(n, 4)))[0]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("r", [0.01, 1.0])
@pytest.mark.parametrize("lowered", [False, True])
def test_kernel_factor_is_the_dense_one(share: float, r: float, lowered: bool) -> None:
    dense, points, P = _factors(share, r)
    one, other = (DowndatedFactor(dense, P, 0.5 * r), DowndatedFactor(points, P, 0.5 * r)) if lowered else (dense, points)
    rng = np.random.default_rng(1)
    u, lam, B = rng.normal(size=40), rng.random(dense.shape[0]), rng.normal(size=(40, 3))
    assert one.shape == other.shape
    assert pytest.approx(one.H) == other.H
    assert pytest.approx(one.G) == other.G
    assert other.times(u) == pytest.approx(one.times(u))
    assert other.rmatvec(lam) == pytest.approx(one.rmatvec(lam))
    assert other.quadratic(u) == pytest.approx(one.quadratic(u), rel=1e-10)
    assert one.H @ other.solve(B) == pytest.approx(B, abs=1e-10)
    assert other.solve(u) == pytest.approx(one.solve(u), rel=1e-8, abs=1e-10)
    Q = one.Z @ one.Z.T
    assert other.gram == pytest.approx(Q, rel=1e-8, abs=1e-9 * np.abs(Q).max())
    assert pytest.approx(Q, rel=1e-8, abs=1e-9 * np.abs(Q).max()) == other.Z @ other.Z.T


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_rows_of_all_points_over_a_kernel_are_the_dense_ones(graph: bool, twice: bool) -> None:
    rng = np.random.default_rng(4)
    K = np.exp(-0.5 * scipy.spatial.distance.cdist(*2 * [rng.normal(size=(30, 3))], "sqeuclidean")) + 1e-3 * np.eye(30)
    psi = scipy.linalg.cholesky(K, lower=True)
    root = rng.normal(size=(30, 30))
    base = DenseRegulariser(0.3 * np.eye(30) + root.T @ root) if graph else Ridge(0.3)
    near = rng.random(30) < 0.3
    rows = np.vstack([psi[~near], -psi[near], psi[near]] if twice else [psi[~near], psi[near]])
    dense = HingeFactor(base.dense(30), rows, np.zeros((0, 30)), base)
    inside, others = np.flatnonzero(near), np.flatnonzero(~near)
    points = np.concatenate([others, inside, inside] if twice else [others, inside])
    signs = np.concatenate([np.ones(others.size), -np.ones(inside.size), np.ones(inside.size)] if twice else [np.ones(30)])
    signed = SignedFactor(KernelRows(psi, K, base), points, signs)
    u, lam, B = rng.normal(size=30), rng.random(dense.shape[0]), rng.normal(size=(30, 3))
    assert signed.shape == dense.shape
    assert pytest.approx(dense.H) == signed.H
    assert pytest.approx(dense.G) == signed.G
    assert signed.times(u) == pytest.approx(dense.times(u))
    assert signed.times(B) == pytest.approx(dense.times(B))
    assert signed.rmatvec(lam) == pytest.approx(dense.rmatvec(lam))
    assert signed.quadratic(u) == pytest.approx(dense.quadratic(u))
    assert signed.solve(u) == pytest.approx(dense.solve(u))
    assert signed.solve(B) == pytest.approx(dense.solve(B))
    assert signed.diagonal_lower_bound == pytest.approx(dense.diagonal_lower_bound)
    assert (signed.row_norms >= np.linalg.norm(rows, axis=1)).all()
    at, there = signed.quadratic_product(u), dense.quadratic_product(u)
    assert at.product == pytest.approx(there.product)
    assert at.quadratic.value == pytest.approx(there.quadratic.value)
    Q = dense.Z @ dense.Z.T
    assert signed.gram == pytest.approx(Q, rel=1e-8, abs=1e-9 * np.abs(Q).max())
    assert pytest.approx(Q, rel=1e-8, abs=1e-9 * np.abs(Q).max()) == signed.Z @ signed.Z.T


@pytest.mark.parametrize(("loss", "manifold"), [("npsvm", 0.0), ("capped", 0.0), ("capped", 0.1)])
def test_classes_share_one_product_of_their_kernel_features(loss: str, manifold: float) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    first, *others = NonparallelSVM.one_per_class(X, y, loss=loss, kernel=RBF(0.7), manifold=manifold)
    signed = [model.all_rows for model in (first, *others)]
    assert all(isinstance(factor, SignedFactor) and factor.rows is first.kernel_rows for factor in signed)
    assert all(model.regulariser is first.regulariser for model in others)
    assert isinstance(NonparallelSVM(X, y, 0, loss=loss, manifold=manifold).all_rows, HingeFactor)  # few features: no kernel


@pytest.mark.parametrize("orientation", ["one", "rest"])
def test_classes_are_solved_together_as_one_by_one(orientation: str) -> None:
    rng = np.random.default_rng(2)
    # a class with most of the points: one orientation holds factors of both kinds
    X, y = rng.normal(size=(60, 3)), np.r_[np.zeros(40), np.ones(12), np.full(8, 2.0)]
    model = ChebyshevNPSVC(X, y, kernel=RBF(0.7), orientation=orientation, mu=0.1, d=3)
    factors = [model.pieces.factor(k) for k in range(3)]
    assert {factor.is_near_smaller for factor in factors} == {True, False}
    P, V = np.linalg.qr(rng.normal(size=(60, 3)))[0], rng.normal(size=(3, 3))
    programs = model.pieces.programs(P, V)
    lams = [rng.random(factor.shape[0]) for factor in factors]
    U = model.pieces.points(programs, lams)
    for k, program in enumerate(programs):
        alone = model.class_program(k, P, V[k])
        assert program.box.q == pytest.approx(alone.box.q, rel=1e-9)
        assert U[k] == pytest.approx(alone.primal(lams[k]), rel=1e-8, abs=1e-10)
        H = factors[k].H
        pull = factors[k].G.T @ lams[k] - alone.b
        assert H @ U[k] == pytest.approx(pull, rel=1e-9, abs=1e-9)


def test_projection_problem_shares_what_was_checked() -> None:
    rng = np.random.default_rng(3)
    model = ChebyshevNPSVC(rng.normal(size=(30, 3)), np.arange(30) % 3, kernel=RBF(0.7), mu=0.1, d=2)
    first = model.pieces.p_step_problem(1.0, rng.normal(size=(30, 2)))
    E = rng.normal(size=(30, 2))
    again = model.pieces.p_step_problem(1.0, E)
    assert again.H is first.H
    assert (again.E == E).all()
    assert pytest.approx(-0.1 * model.S) == again.H
    assert pytest.approx(-0.2 * model.S) == model.pieces.p_step_problem(2.0, E).H
    with pytest.raises(InputError, check=about("E")):
        again.with_linear(np.full((30, 2), np.nan))


def test_too_many_points_are_refused_before_anything_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.random.default_rng(0).normal(size=(2000, 2)), np.arange(2000) % 4
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "1e8")
    for orientation in ("one", "rest"):
        model = ChebyshevNPSVC(X, y, kernel=RBF(1.0), orientation=orientation)
        with pytest.raises(TooLargeError, check=about("X")):
            solvers.solve(model, "kernel-npsvcpp")
        assert "rows" not in vars(model.features)


def test_indefinite_kernel_asks_for_a_ridge() -> None:
    K = np.array([[1.0, 2.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    model = ChebyshevNPSVC(K, [0, 0, 1, 1], kernel=Precomputed(), d=1)
    with pytest.raises(InputError, check=about("ridge")):
        solvers.solve(model, "kernel-npsvcpp")
