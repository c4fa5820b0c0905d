"""Threads that share one computation: all pieces done, errors passed on, BLAS's own threads given back, equal results."""

from __future__ import annotations

import threading
from itertools import product

import numpy as np
import pytest
import scipy.linalg
from effort import part
from threadpoolctl import threadpool_limits

from marginopt import EpsilonSVR, HingeSVM, L2SVMDual, solve
from marginopt.models.arrays import LARGE_SYSTEM, blas_controller, blas_threads as small_systems, reserve_threads
from marginopt.models.kernels import threads as module
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF
from marginopt.models.kernels.threads import run_on_threads, split_range, thread_count
from marginopt.solvers.linear import newton
from marginopt.solvers.simplex.projected_cg import KernelTriangle, shifted_cholesky, weighted_gram


def blas_threads():
    """The most that any BLAS has: some packages bring one that never has more than one."""
    return max(library.num_threads for library in blas_controller().lib_controllers)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_piece_is_done_once_and_none_shares_again(count):
    seen = []
    with threadpool_limits(3, user_api="blas"):
        run_on_threads(lambda k: seen.append((k, thread_count(10**9), blas_threads())), count)
        assert blas_threads() == 3
    assert sorted(k for k, _, _ in seen) == list(range(count))
    if count > 1:
        assert all(allowed == threads == 1 for _, allowed, threads in seen)


def test_an_error_in_any_piece_reaches_the_caller_and_blas_has_its_threads_again():
    def work(k):
        if k == 1:
            raise ValueError("piece 1")

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ValueError, check=lambda error: error.args == ("piece 1",)):
            run_on_threads(work, 3)
        assert blas_threads() == 2
        assert thread_count(10**9) == 2


def test_threads_are_those_of_blas_or_those_asked_for():
    with threadpool_limits(2, user_api="blas"):
        assert thread_count(10**9) == 2
        with reserve_threads(None):
            assert thread_count(10**9) == 2
            assert blas_threads() == 1
            with reserve_threads(4):
                assert thread_count(10**9) == 4
            assert thread_count(10**9) == 2
            assert blas_threads() == 1
        assert blas_threads() == 2


def test_small_computations_stay_on_one_thread():
    with reserve_threads(4):
        assert thread_count(1000) == 1
        assert 1 < thread_count(3 * module._LEAST) < 4


@pytest.mark.parametrize("first", [True, False])
def test_runs_that_overlap_leave_blas_as_it_was(first):
    """Whichever of two threads is the first one in or out."""
    before, entered, leave = blas_threads(), threading.Event(), threading.Event()

    def other():
        with reserve_threads(2):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    if first:
        thread.start()
        assert entered.wait(10)
    with reserve_threads(2):
        assert blas_threads() == 1
        if not first:
            thread.start()
            assert entered.wait(10)
        else:
            leave.set()
            thread.join()
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize(("size", "count"), [(10, 3), (2, 5), (0, 2)])
def test_cuts_cover_everything_in_order(size, count):
    parts = split_range(size, count)
    assert len(parts) == count
    assert [i for part in parts for i in range(size)[part]] == list(range(size))


@pytest.mark.parametrize("count", [2, 3])
def test_kernel_blocks_and_products_do_not_depend_on_the_threads(count, monkeypatch, drain):
    monkeypatch.setattr(module, "_LEAST", 1)  # small ones too
    rng = np.random.default_rng(0)
    X, a = rng.standard_normal((1500, 5)), np.maximum(rng.standard_normal(1500), 0.0)
    signs = np.where(X[:, 0] > 0.0, 1.0, -1.0)

    def values():
        gram = KernelGram(X, RBF(0.2), signs, offset=1.0, ridge=0.5)
        triangle = KernelTriangle(gram, 2**20)  # 700 points: some blocks are stored, the others are not
        drain(triangle.extend(np.arange(0, 1400, 2)))
        few = np.where(np.arange(700) < 3, 1.0, 0.0)
        B = X[:, :4].T.astype(np.float32)
        return (
            gram.product(a),
            gram.single_columns(np.arange(200, 400)),
            drain(triangle.product(a[:700])),
            drain(triangle.product(few)),
            drain(triangle.product_at(np.arange(1, 1400, 2), a[:700])),
            weighted_gram(B, np.abs(a) + 1.0, np.arange(5, 1200)),
        )

    with reserve_threads(1):
        alone = values()
    with reserve_threads(count):
        together = values()
    for one, other in zip(alone, together, strict=True):
        assert other.shape == one.shape and (np.abs(other - one) <= 1e-5 * np.abs(one).max()).all()


@pytest.mark.parametrize(("lowrank", "threads"), part(product([True, False], [1, 2, 3]), 3))
def test_smo_certifies_its_gap_on_any_number_of_threads(threads, lowrank, monkeypatch):
    monkeypatch.setattr(module, "_LEAST", 1)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2500, 4))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(2500) > 0.0, 1.0, -1.0)
    model = L2SVMDual(X, y, 1.0, RBF(0.3))
    result, again = (solve(model, "smo", tol=1e-7, threads=threads, lowrank=lowrank) for _ in range(2))
    assert (result.values["a"] == again.values["a"]).all()  # sums depend on the number of threads, not on which is first
    assert result.status.name == "OPTIMAL"
    assert result.gap <= 1e-7
    assert result.details["start"] == ("low rank" if lowrank else "pairs")


def test_a_singular_matrix_gets_a_larger_diagonal_and_an_indefinite_one_an_error():
    v = np.arange(1.0, 5.0)
    lower = shifted_cholesky(np.outer(v, v), 0.0)
    assert lower @ lower.T == pytest.approx(np.outer(v, v), rel=1e-5)
    exact = np.diag(v) + np.ones((4, 4))
    lower = shifted_cholesky(exact.copy(), 0.0)
    assert lower @ lower.T == pytest.approx(exact, rel=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        shifted_cholesky(np.array([[1.0, 3.0], [3.0, 1.0]]), 0.0)


def test_small_matrices_are_factored_on_one_thread(monkeypatch):
    """In forms, in tests of convexity and in certificates; threads that wait for each other cost more than they gain there."""
    seen = []

    def record(owner, name):
        function = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **k: (seen.append((name, blas_threads())), function(*a, **k))[1])

    for owner, name in ((np.linalg, "eigh"), (scipy.linalg, "eigh"), (scipy.linalg, "cholesky"), (scipy.linalg, "solve")):
        record(owner, name)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ rng.normal(size=3)
    with threadpool_limits(3, user_api="blas"):
        solve(EpsilonSVR(X, y, C=1.0, kernel=RBF(0.5)), "piqp")
        assert blas_threads() == 3
        with small_systems(LARGE_SYSTEM):
            assert blas_threads() == 3
    assert {"eigh", "cholesky"} <= {name for name, _ in seen}
    assert {threads for _, threads in seen} == {1}


def test_newton_systems_of_few_features_are_solved_on_one_thread(monkeypatch):
    seen, direction = [], newton._newton_direction
    monkeypatch.setattr(newton, "_newton_direction", lambda state, H: (seen.append(blas_threads()), direction(state, H))[1])
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(200), rng.normal(size=(200, 20))])
    with threadpool_limits(3, user_api="blas"):
        assert solve(HingeSVM(X, np.where(X[:, 1] + rng.normal(size=200) > 0.0, 1.0, -1.0)), "linear-newton").solved
        assert blas_threads() == 3
    assert set(seen) == {1}
