"""Rows of a low-rank model: landmarks or terms of the kernel's series, whichever leaves less, and nested ones."""

import numpy as np
import pytest

from marginopt.models.formulations.svm_duals import L2SVMDual
from marginopt.models.kernels.gram import KernelGram
from marginopt.models.kernels.kernels import RBF, Polynomial
from marginopt.solvers.simplex import lowrank_start as lowrank, lowrank_start as module
from marginopt.solvers.simplex.lowrank_start import LowRankModel, low_rank_factor


def points(kind, n=900, p=6):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    if kind == "clusters":  # few places, far from each other
        X = 20.0 * rng.standard_normal((30, p))[rng.integers(30, size=n)] + 0.01 * X
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


def made(kind, count, kernel=None, n=900):
    X, y = points(kind, n)
    gram = KernelGram(X, kernel or RBF(0.05 if kind == "normal" else 0.001), y, 1.0, np.linspace(0.5, 1.5, n), 0.5)
    return gram, low_rank_factor(gram, count, np.random.default_rng(0))


@pytest.mark.parametrize(("kind", "terms"), [("normal", True), ("clusters", False)])
def test_what_leaves_less_is_taken(kind, terms):
    gram, B = made(kind, 60)
    series = np.empty((60, gram.n), dtype=np.float32)
    gram.taylor_series(60).rows(np.arange(gram.n), series)
    assert np.array_equal(B, series) == terms
    assert (B.astype(float) ** 2).sum() >= 0.999 * (series.astype(float) ** 2).sum()


@pytest.mark.parametrize("kernel", [None, Polynomial(2, 0.1, 1.0)])
@pytest.mark.parametrize("kind", ["normal", "clusters"])
def test_what_the_rows_leave_is_positive_semidefinite_and_the_first_ones_are_a_model(kind, kernel):
    gram, B = made(kind, 60, kernel)
    K = gram.dense - np.diag(gram.loading)
    for rows in (B[:20], B):
        assert np.linalg.eigvalsh(K - rows.T.astype(float) @ rows.astype(float)).min() > -2e-5 * np.abs(K).max()


def test_all_points_may_be_landmarks():
    gram, B = made("normal", 900, n=40)
    assert B.shape == (40, 40)
    K = gram.dense - np.diag(gram.loading)
    assert B.T.astype(float) @ B == pytest.approx(K, abs=1e-4)


@pytest.mark.parametrize("kind", ["normal", "clusters"])
def test_rows_do_not_depend_on_blocks(kind, monkeypatch):
    """Beyond rounding: a triangular solve is stable backwards, so of rows of landmarks that nearly repeat L·rows is compared."""
    gram, whole = made(kind, 60)
    monkeypatch.setattr(module, "COLUMN_BLOCK", 128)
    blocks = made(kind, 60)[1]
    landmarks = np.sort(np.random.default_rng(0).permutation(gram.n)[:60])
    factor = module._factor(gram, landmarks) if kind == "clusters" else np.eye(len(whole))
    assert factor @ blocks == pytest.approx(factor @ whole, abs=1e-5)


def test_a_model_that_follows_a_coarse_one_ends_at_the_same_point(drain):
    X, y = points("normal")
    view = L2SVMDual(X, y, 1.0, RBF(0.05)).simplex
    B = low_rank_factor(view.gram, 120, np.random.default_rng(0))
    alone, after = LowRankModel(view, B), LowRankModel(view, B)
    drain(after.start_from(LowRankModel(view, B[:30])))
    x, z = (model.point(drain(model.solve())) for model in (alone, after))
    assert np.abs(x - z).max() < 1e-3 * x.max()


def test_sums_over_points_are_what_they_say(monkeypatch, drain):
    monkeypatch.setattr(lowrank, "_TOGETHER", 70)
    X, y = points("normal")
    view = L2SVMDual(X, y, 1.0, RBF(0.05)).simplex
    model = LowRankModel(view, low_rank_factor(view.gram, 50, np.random.default_rng(0)))
    drain(model.solve())
    for chosen in (np.arange(0, 900, 2), np.arange(300)):
        direct = model.B[:, chosen].astype(float)
        assert drain(model.capacitance(chosen)) == pytest.approx(
            np.eye(50) + direct / model.D[chosen] @ direct.T, rel=1e-4, abs=1e-4
        )
