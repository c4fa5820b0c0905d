"""The finisher by conjugate gradients on cached columns: any number of simplices, linear terms, columns that are not cached."""

import numpy as np
import pytest
from data import noisy_halves

from marginopt.models.formulations.svm_duals import ConvexHullsDual, L2SVMDual
from marginopt.models.kernels.gram import KernelGram, MatrixGram
from marginopt.models.kernels.kernels import RBF
from marginopt.models.views import SimplexQP
from marginopt.solvers.records import Options, Status
from marginopt.solvers.simplex import smo as module
from marginopt.solvers.simplex.column_cache import ColumnCache
from marginopt.solvers.simplex.newton_cg import _Iterate, _SupportMatrix, polish_by_cg
from marginopt.solvers.simplex.smo import SMO
from marginopt.solvers.solve import solve_problem


def data(n, seed=0):
    return noisy_halves(n, 6, seed, 0.7)


def start(view, tol):
    """A point of gap ``tol`` by pairs alone, and its gradient."""
    algorithm = SMO(newton=False)
    state = algorithm.init(view, Options(tol=tol), np.random.default_rng(0))
    for _ in range(1000):
        if algorithm.advance(state, 0.1).name != "RUNNING":
            break
    a = algorithm.answer(state).values[view.label]
    return a, view.gram.product(a) + view.c


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("cached", [0, 60, 500])
def test_it_finishes_whatever_is_cached(groups, linear, cached, drain):
    n = 500
    X, y = data(n)
    rng = np.random.default_rng(1)
    gram = KernelGram(X, RBF(0.1), y if groups == 1 else None, offset=1.0, ridge=0.05)
    c = 0.01 * rng.standard_normal(n) if linear else np.zeros(n)
    view = SimplexQP(gram, c, np.arange(n) % groups)
    a, g = start(view, 0.3)
    before = view.gap(a) / abs(view.objective(a))
    cache = ColumnCache(gram, 4 * n * max(cached, 2), single=True)
    if cached:
        cache.load(np.flatnonzero(a)[: cached // 2], 1)
    done = drain(polish_by_cg(view, cache, a, g, 1e-9, exact=True))
    assert done.exact
    assert done.a.min() >= 0.0
    assert np.bincount(view.groups, weights=done.a) == pytest.approx(np.ones(groups), abs=1e-12)
    assert done.gradient == pytest.approx(gram.dense @ done.a + c, rel=1e-9, abs=1e-13)
    assert before > 1e-3
    assert view.gap(done.a) <= 1e-9 * abs(view.objective(done.a))


def test_it_never_makes_the_point_worse(drain):
    # a singular matrix of rank 2 whose optimum the conjugate gradients may not pin down
    rng = np.random.default_rng(0)
    A = rng.standard_normal((80, 2))
    view = SimplexQP(MatrixGram(A @ A.T), np.zeros(80), np.zeros(80, dtype=np.int64))
    a = np.full(80, 1.0 / 80)
    g = view.gram.product(a)
    cache = ColumnCache(view.gram, 4 * 80 * 80, single=True)
    done = drain(polish_by_cg(view, cache, a, g, 1e-9, exact=True))
    assert view.gap(done.a) <= view.gap(a) * (1 + 1e-9)
    assert done.a.min() >= 0.0
    assert done.a.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_smo_with_it_agrees_with_smo_alone(C, monkeypatch):
    X, y = data(900)
    model = L2SVMDual(X, y, C, RBF(0.1))
    monkeypatch.setattr(module, "cg_seconds", lambda n, support: 0.0)
    with_it = solve_problem(model, SMO(), Options(tol=1e-8))
    alone = solve_problem(model, SMO(newton=False), Options(tol=1e-8))
    assert with_it.status is alone.status is Status.OPTIMAL
    assert with_it.details["newton_guesses"] > 0
    assert 2 * with_it.iterations < alone.iterations
    assert with_it.certificate.objective == pytest.approx(alone.certificate.objective, rel=2e-8)
    assert with_it.certificate.gap <= 1e-8


def test_without_memory_it_is_not_tried(monkeypatch):
    X, y = data(300)
    monkeypatch.setattr(module, "cg_seconds", lambda n, support: 0.0)
    monkeypatch.setattr(module, "cholesky_bytes", lambda support: 2**60)
    monkeypatch.setattr(module, "cg_bytes", lambda support, item: 2**60)
    result = solve_problem(L2SVMDual(X, y, 10.0, RBF(0.1)), SMO(), Options(tol=1e-6))
    assert result.status is Status.OPTIMAL
    assert result.details["newton_guesses"] == 0


def test_a_point_without_weight_in_a_simplex_is_not_sound():
    X, y = data(20)
    view = ConvexHullsDual(X, y, C=1.0).simplex
    a = 1.0 / np.bincount(view.groups)[view.groups]
    cache = ColumnCache(view.gram, 2**20, single=True)
    assert _Iterate(view, cache, a, view.gram.product(a), True).is_finite()
    for spoilt in (np.where(view.groups == 0, -a, a), a * np.nan):
        assert not _Iterate(view, cache, spoilt, view.gram.product(a), True).is_finite()


@pytest.mark.parametrize("single", [True, False])
def test_a_matrix_cut_down_takes_in_points_again(single, drain):
    X, y = data(300)
    gram = L2SVMDual(X, y, 10.0, RBF(0.1)).simplex.gram
    cache = ColumnCache(gram, 2**20, single=single)
    matrix = _SupportMatrix(cache, np.arange(0, 300, 2), 300)
    drain(matrix.fill())
    drain(matrix.choose_landmarks(16))
    mask = np.arange(0, 300, 6)
    drain(matrix.restrict(mask))
    drain(matrix.choose_landmarks(16))
    more = np.arange(1, 20, 6)
    assert drain(matrix.include(np.concatenate([mask, more])))
    computed = np.concatenate([mask, more])
    assert (matrix.members == computed).all()
    assert (np.flatnonzero(matrix.place >= 0) == np.sort(computed)).all()
    assert (matrix.members[matrix.place[computed]] == computed).all()
    w = np.random.default_rng(0).standard_normal(computed.size)
    assert matrix.product(w) == pytest.approx(gram.dense[np.ix_(computed, computed)] @ w, rel=1e-4, abs=1e-4)
    assert matrix.B.shape == (matrix.landmarks.size, computed.size)


def test_a_guess_that_shrinks_shrinks_the_matrix(monkeypatch, drain):
    X, y = data(900)
    cut = []
    restrict = _SupportMatrix.restrict

    def counted(self, points):
        cut.append((self.members.size, points.size))
        return restrict(self, points)

    monkeypatch.setattr(_SupportMatrix, "restrict", counted)
    view = L2SVMDual(X, y, 10.0, RBF(0.02)).simplex
    for support in range(105, 110):  # far off: the guess takes in nearly all points first, and rounding decides when it shrinks
        a = np.where(np.arange(900) < support, 1.0 / support, 0.0)
        cache = ColumnCache(view.gram, 4 * 900 * 900, single=True)
        done = drain(polish_by_cg(view, cache, a, view.gram.product(a), 1e-8, exact=True))
        assert view.gap(done.a) <= 1e-8 * view.objective(done.a)
    assert cut
    assert all(points < members for members, points in cut)
