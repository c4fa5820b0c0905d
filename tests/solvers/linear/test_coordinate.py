"""Coordinate descent before Newton steps on wide sparse rows: the same optimum, feasible multipliers, limits, hard data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import marginopt as mo
from marginopt.models.views import LinearLoss, LinearProblem
from marginopt.rows import MemoryRows
from marginopt.solvers.linear.passes import CoordinateDescent

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
LOSSES = ["hinge", "squared-hinge"]


def _data(seed: int, n: int = 120, p: int = 2500) -> tuple[sp.csr_array, np.ndarray]:
    """Sparse rows of counts with a binary column, a heavy tail, rows that occur twice and one that is empty."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, p), density=0.01, format="lil", rng=rng, data_sampler=lambda size: rng.lognormal(size=size))
    X[:, [0]] = np.ones((n, 1))
    X[:, [1]] = (rng.random((n, 1)) < 0.3).astype(float)
    X[7, :] = 0.0
    rows = sp.csr_array(sp.vstack([X.tocsr(), X.tocsr()[:10]]))
    y = np.where(rows @ rng.normal(size=p) + 0.5 * rng.normal(size=n + 10) > 0, 1.0, -1.0)
    return rows, y


def _model(loss: str, X: sp.csr_array, y: np.ndarray, costs: np.ndarray) -> mo.Model:
    return mo.models.Margin(X, y, loss, "half-l2", sample_weight=costs)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_an_interior_point_method_s(loss: str, C: float) -> None:
    X, y = _data(1)
    costs = C * np.random.default_rng(1).choice([0.2, 1.0, 3.0], len(y))
    model = _model(loss, X, y, costs)
    ours, theirs = mo.solve(model, "linear-newton", tol=1e-7), mo.solve(model, "clarabel", tol=1e-9)
    assert ours.status is mo.Status.OPTIMAL and ours.gap <= 1e-7 and ours.bound_kind == "proved"
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    alpha = ours.multipliers["margin"]
    assert alpha.min() >= 0.0
    assert loss != "hinge" or (alpha <= costs).all()
    w = X.T @ (alpha * y)
    np.testing.assert_allclose(w, ours.values["w"], atol=1e-2 * np.abs(w).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_limits_leave_a_bound(loss: str) -> None:
    X, y = _data(2)
    model = _model(loss, X, y, np.full(len(y), 5.0))
    best = mo.solve(model, "linear-newton", tol=1e-8)
    for limit in (1, 3):
        stopped = mo.solve(model, "linear-newton", iteration_limit=limit, tol=1e-13)
        assert stopped.iterations == limit
        assert stopped.bound <= best.objective <= stopped.objective * (1.0 + 1e-8)
        assert stopped.bound > 0.0
    again = mo.solve(model, "linear-newton", tol=1e-8)
    assert again.objective == pytest.approx(best.objective, rel=2e-8)


@pytest.mark.parametrize("loss", [LinearLoss.HINGE, LinearLoss.SQUARED_HINGE])
def test_the_dual_rises_with_every_epoch(loss: LinearLoss) -> None:
    X, y = _data(3)
    view = LinearProblem(MemoryRows(X), y, np.full(len(y), 2.0), 0.5, loss)
    descent = CoordinateDescent.of(view, np.random.default_rng(0))
    last = 0.0
    for _ in range(15):
        descent.epoch()
        assert descent.alpha.min() >= 0.0
        np.testing.assert_allclose(descent.w, X.T @ (descent.alpha * y), atol=1e-9 * np.abs(descent.w).max())
        dual = view.loss.dual_terms(descent.alpha, view.costs).value - 0.5 * float(descent.w @ descent.w)
        assert dual >= last - 1e-12 * abs(last)
        last = dual


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_looks_at_the_gap_are_few(tol: float) -> None:
    """A look takes two passes and an epoch one: the looks grow as the logarithm of the epochs, and no epochs are in vain."""
    rng = np.random.default_rng(6)
    X = sp.random_array((1500, 2500), density=0.01, format="csr", rng=rng)
    y = np.where(X @ rng.normal(size=2500) + 0.3 * rng.normal(size=1500) > 0, 1.0, -1.0)
    result = mo.solve(mo.HingeSVM(X, y, 2.0), "linear-newton", tol=tol, trace_every=1)
    assert result.status is mo.Status.OPTIMAL
    epochs = result.iterations
    assert epochs is not None and epochs >= 4
    assert result.details["passes"] - epochs <= 2 * (2 + np.log2(epochs) + 2)
    gaps = result.trace.column("objective") - result.trace.column("bound")
    closed = result.trace.column("iteration")[gaps <= tol * result.trace.column("objective")]
    assert epochs <= 2 * closed[0]


def test_newton_steps_take_over() -> None:
    """Columns of very different sizes: coordinate descent is slow, and its multipliers are where the Newton steps begin."""
    X, y = _data(4, 80)
    scale = np.ones(X.shape[1])
    scale[:2] = 30.0
    model = _model("hinge", sp.csr_array(X @ sp.diags_array(scale)), y, np.full(len(y), 5.0))
    ours, theirs = mo.solve(model, "linear-newton", tol=1e-6), mo.solve(model, "clarabel")
    assert ours.bound <= theirs.objective * (1.0 + 1e-8)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-4)


def test_dense_rows_and_the_logistic_loss_have_none() -> None:
    X, y = _data(5)
    rng = np.random.default_rng(0)
    ones = np.ones(len(y))
    assert CoordinateDescent.of(LinearProblem(MemoryRows(X.toarray()), y, ones, 1.0, LinearLoss.HINGE), rng) is None
    assert CoordinateDescent.of(LinearProblem(MemoryRows(X), y, ones, 1.0, LinearLoss.LOGISTIC), rng) is None
