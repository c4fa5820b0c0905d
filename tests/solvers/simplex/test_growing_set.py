"""The start on a growing set of points: what it hands out for many kinds of points, and where it applies."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from marginopt.models.formulations.enclosing_ball import MEBDual
from marginopt.models.formulations.svm_duals import L2SVMDual
from marginopt.models.kernels.gram import KernelGram, MatrixGram
from marginopt.models.kernels.kernels import RBF, Linear
from marginopt.models.views import SimplexQP
from marginopt.solvers.records import Options
from marginopt.solvers.simplex.column_cache import ColumnCache
from marginopt.solvers.simplex.newton_cg import polish_by_cg
from marginopt.solvers.simplex.starting_points import growing_set, growing_set_applies
from marginopt.solvers.solve import solve_problem

N = 1500


def _sphere(rng, p):
    X = rng.standard_normal((N, p))
    return X / np.linalg.norm(X, axis=1)[:, None]


KINDS = {
    "normal": lambda rng, p: rng.standard_normal((N, p)),
    "sphere": _sphere,
    "whole numbers": lambda rng, p: rng.integers(0, 3, (N, p)).astype(float),
    "far": lambda rng, p: rng.standard_normal((N, p)) + 1e5,
    "line": lambda rng, p: np.outer(rng.standard_normal(N), np.arange(1.0, p + 1)),
    "heavy tails": lambda rng, p: rng.standard_cauchy((N, p)),
    "equal": lambda rng, p: np.ones((N, p)),
}


def first_vertex(view):
    a = np.zeros(view.n)
    a[0] = 1.0
    return a, view.gram.product(a) + view.c


@pytest.mark.parametrize("p", [1, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_the_point_is_feasible_and_its_gap_is_the_tolerance(kind, p, drain):
    view = MEBDual(KINDS[kind](np.random.default_rng(0), p)).simplex
    done = drain(growing_set(view, *first_vertex(view), 1e-8))
    assert done.a.min() >= 0.0
    assert done.a.sum() == pytest.approx(1.0, abs=1e-12)
    assert view.gap(done.a) <= 1e-8 * abs(view.objective(done.a)) + 1e-13 * float(view.gram.diagonal.max())
    assert np.count_nonzero(done.a) <= 40 + p


def test_points_on_the_way_do_not_get_worse():
    rng = np.random.default_rng(1)
    view = MEBDual(_sphere(rng, 6) * (1.0 + 1e-3 * rng.random((N, 1)))).simplex
    points = [point for point in growing_set(view, *first_vertex(view), 1e-12) if point is not None]
    gaps = [view.gap(point.a) for point in points]
    assert len(gaps) > 1
    assert all(later <= earlier for earlier, later in itertools.pairwise(gaps))


def test_the_least_norm_of_a_hull(drain):
    rng = np.random.default_rng(2)
    gram = KernelGram(rng.standard_normal((N, 4)) + 3.0, Linear(), offset=1.0)
    view = SimplexQP(gram, np.zeros(N), np.zeros(N, dtype=np.int64))
    done = drain(growing_set(view, *first_vertex(view), 1e-9))
    assert view.gap(done.a) <= 1e-9 * view.objective(done.a)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3)], ids=["linear", "rbf"])
def test_a_combination_is_the_product(kernel, sparse):
    rng = np.random.default_rng(3)
    X, signs = rng.standard_normal((40, 3)), np.where(rng.random(40) < 0.5, -1.0, 1.0)
    points, weights = np.array([3, 17, 30]), np.array([0.2, 0.5, 0.3])
    a, out = np.zeros(40), np.full(40, np.nan)
    a[points] = weights
    for gram in (
        KernelGram(sp.csr_array(X) if sparse else X, kernel, signs, offset=1.5, ridge=rng.random(40), scale=2.0),
        KernelGram(X, kernel, scale=0.5),
        MatrixGram(X @ X.T),
    ):
        gram.combination(points, weights, out)
        assert out == pytest.approx(gram.product(a), rel=1e-12, abs=1e-13)


def test_the_rank_bounds_the_rank():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 4))
    assert KernelGram(X, Linear()).rank_bound == 4
    assert KernelGram(X, Linear(), offset=1.0).rank_bound == 5
    assert KernelGram(X[:3], Linear(), offset=1.0).rank_bound == 3
    for gram in (KernelGram(X, Linear(), ridge=0.1), KernelGram(X, RBF(1.0)), MatrixGram(X @ X.T)):
        assert gram.rank_bound == 30


def test_balls_of_few_features_begin_with_it():
    X = np.random.default_rng(5).standard_normal((N, 5))
    result = solve_problem(MEBDual(X), "smo", Options(tol=1e-6))
    assert result.details["start"] == "growing set"
    assert result.details["columns"] == 0
    assert result.certificate.gap <= 1e-6
    assert not growing_set_applies(MEBDual(X[:100]).simplex)
    assert not growing_set_applies(MEBDual(X, RBF(1.0)).simplex)
    assert not growing_set_applies(L2SVMDual(X, np.where(X[:, 0] > 0, 1.0, -1.0), 1.0, Linear()).simplex)


def test_a_crowd_ends_the_finisher_by_conjugate_gradients(drain):
    # nearly all points lie outside the ball of two; their matrix would take n² numbers
    view = MEBDual(np.random.default_rng(6).standard_normal((3000, 10))).simplex
    a = np.zeros(view.n)
    a[:2] = 0.5
    gradient = view.gram.product(a) + view.c
    cache = ColumnCache(view.gram, 2**20, single=True)
    assert np.count_nonzero(gradient < a @ gradient) > 2000
    done = drain(polish_by_cg(view, cache, a, gradient, 1e-6, exact=True))
    assert done.a == pytest.approx(a, abs=0.0)
