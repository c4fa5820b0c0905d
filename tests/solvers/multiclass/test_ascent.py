"""Block coordinate ascent on several classes: the optimum of interior points, multipliers, bounds, limits and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials
from facts import about

import marginopt as mo
from marginopt.errors import UnsupportedModelError
from marginopt.models import RBF
from marginopt.models.views import MulticlassProblem
from marginopt.solvers.records import Options
from marginopt.solvers.registry import choose_solver

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
LOSSES = ["crammer-singer", "weston-watkins"]


def _data(seed: int, n: int = 60, K: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap; binary, shifted, constant-ratio and heavy-tailed columns; rows that occur twice."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    binary = (rng.random(n) < 0.2 + 0.15 * y).astype(float)
    base = rng.normal(size=(n, 2)) + 1.5 * rng.normal(size=(K, 2))[y]
    X = np.column_stack([np.ones(n), binary, base, 2.0 * base[:, 0], 5.0 + rng.standard_t(2, size=n)])
    return np.vstack([X, X[:6]]), np.concatenate([y, y[:6]])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(trials(3, 6)))
def test_the_optimum_is_an_interior_point_method_s(loss: str, seed: int) -> None:
    X, y = _data(seed, K=2 + seed)
    costs = np.random.default_rng(seed).choice([0.01, 0.5, 3.0, 40.0], len(y))
    model = mo.MulticlassSVM(X, y, loss, costs)
    ours, theirs = mo.solve(model, "multiclass-ascent", tol=1e-8), mo.solve(model, "clarabel", tol=1e-9)
    assert ours.status is mo.Status.OPTIMAL and ours.gap <= 1e-8
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert ours.bound <= ours.objective and ours.bound_kind == "proved"
    assert model.objective(ours.values["W"]) == pytest.approx(ours.objective, rel=1e-12)
    np.testing.assert_allclose(ours.values["W"], theirs.values["W"], atol=2e-3 * max(1.0, np.abs(theirs.values["W"]).max()))


@pytest.mark.parametrize("loss", LOSSES)
def test_multipliers_are_feasible_and_give_the_classifier(loss: str) -> None:
    X, y = _data(11)
    model = mo.MulticlassSVM(X, y, loss, 0.7)
    result = mo.solve(model, "multiclass-ascent", tol=1e-9)
    alpha = result.multipliers["margin"].reshape(len(y), -1)
    assert alpha.min() >= 0.0
    largest = alpha.sum(axis=1) if loss == "crammer-singer" else alpha.max(axis=1)
    assert largest.max() <= 0.7 * (1.0 + 1e-12)
    np.testing.assert_allclose(model.primal_from_dual(alpha)["W"], result.values["W"], atol=1e-4)
    margins = model.margins(result.values["W"])
    assert (alpha[margins > 1.0 + 1e-3] <= 1e-9).all()
    assert result.certificate.dual_residual <= 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_in_csr_and_kernels(loss: str) -> None:
    X, y = _data(12)
    X[np.abs(X) < 0.7] = 0.0
    dense = mo.solve(mo.MulticlassSVM(X, y, loss, 0.5), "multiclass-ascent", tol=1e-8)
    rows = sp.csr_array(X)
    split = sp.csr_array((np.repeat(rows.data, 2) / 2, np.repeat(rows.indices, 2), 2 * rows.indptr), shape=X.shape)
    for problem in (rows, split):
        sparse = mo.solve(mo.MulticlassSVM(problem, y, loss, 0.5), "multiclass-ascent", tol=1e-8)
        assert sparse.objective == pytest.approx(dense.objective, rel=1e-7)
    kernel = mo.MulticlassSVM(X, y, loss, 2.0, kernel=RBF(0.3))
    ours, theirs = mo.solve(kernel, "multiclass-ascent", tol=1e-8), mo.solve(kernel, "clarabel")
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_points_without_features(loss: str) -> None:
    """A row of zeros has margins of zero whatever W is: its loss is a constant, and its multipliers are at their bounds."""
    X, y = _data(13)
    X = X[:, 1:]
    X[[3, 8, 20]] = 0.0
    X[9] *= 1e-18
    model = mo.MulticlassSVM(X, y, loss, 1.3)
    ours, theirs = mo.solve(model, "multiclass-ascent"), mo.solve(model, "clarabel")
    assert ours.status is mo.Status.OPTIMAL
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)


def test_two_classes_are_the_hinge() -> None:
    X, y = _data(14, K=2)
    hinge = mo.solve(mo.HingeSVM(X, 2.0 * y - 1.0, 4 * 0.6), "clarabel", tol=1e-9)
    for loss in LOSSES:
        ours = mo.solve(mo.MulticlassSVM(X, y, loss, 0.6), "multiclass-ascent", tol=1e-8)
        assert 4 * ours.objective == pytest.approx(hinge.objective, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_bound_rises_and_every_limit_leaves_a_bound(loss: str) -> None:
    X, y = _data(15, 300)
    model = mo.MulticlassSVM(X, y, loss, 5.0)
    best = mo.solve(model, "multiclass-ascent", tol=1e-8)
    bounds = best.trace.column("bound")
    assert (np.diff(bounds) >= 0.0).all()
    for limit in (1, 7, 30):
        stopped = mo.solve(model, "multiclass-ascent", iteration_limit=limit, tol=1e-12)
        assert stopped.iterations <= limit or stopped.status is mo.Status.OPTIMAL
        assert stopped.bound <= best.objective <= stopped.objective * (1.0 + 1e-7)
    assert mo.solve(model, "multiclass-ascent", time_limit=1e-6).bound <= best.objective


def test_faces_and_sweeps_alone_agree_and_repeat() -> None:
    X, y = _data(16, 150)
    model = mo.MulticlassSVM(X[:, :4], y, "crammer-singer", 0.05)
    with_faces = mo.solve(model, "multiclass-ascent", tol=1e-6)
    again = mo.solve(model, "multiclass-ascent", tol=1e-6)
    sweeps = mo.solve(model, ("multiclass-ascent", {"faces": False}), tol=1e-6)
    np.testing.assert_allclose(again.objective, with_faces.objective, rtol=2e-6)
    assert sweeps.objective == pytest.approx(with_faces.objective, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_a_form_the_model_appraises_the_point(loss: str, monkeypatch: Any) -> None:
    X, y = _data(17)
    formed = mo.solve(mo.MulticlassSVM(X, y, loss, 0.5), "multiclass-ascent")
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "1000")
    model = mo.MulticlassSVM(X, y, loss, 0.5)
    assert choose_solver(model, Options())[0] == "multiclass-ascent"
    result = mo.solve(model)
    assert result.status is mo.Status.OPTIMAL and result.solver == "multiclass-ascent" and result.bound_kind == "proved"
    assert result.objective == pytest.approx(formed.objective, rel=2e-6)
    assert result.bound <= formed.objective


def test_what_auto_takes() -> None:
    X, y = _data(18, 40)
    assert choose_solver(mo.MulticlassSVM(X, y), Options())[0] != "multiclass-ascent"
    rng = np.random.default_rng(0)
    large = mo.MulticlassSVM(np.column_stack([np.ones(1500), rng.normal(size=(1500, 30))]), rng.integers(0, 10, 1500))
    assert choose_solver(large, Options())[0] == "multiclass-ascent"


def test_the_zero_one_loss_and_other_models_are_refused() -> None:
    X, y = _data(19, 20)
    with pytest.raises(UnsupportedModelError, check=about("multiclass-ascent")):
        mo.solve(mo.MulticlassSVM(X, y, "zero-one"), "multiclass-ascent")
    with pytest.raises(UnsupportedModelError, check=about("multiclass-ascent")):
        mo.solve(mo.HingeSVM(X, np.where(y > 1, 1.0, -1.0)), "multiclass-ascent")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_is_a_sum_over_the_points(loss: str) -> None:
    """P(W(α)) - D(α) = Σ_i [c_i ℓ_i - Σ_k α_ik (1 - m_ik)] at any feasible α, none of the terms negative."""
    X, y = _data(20)
    model = mo.MulticlassSVM(X, y, loss, 0.8)
    view = model.view(MulticlassProblem)
    alpha = np.random.default_rng(3).random((len(y), 4)) * 0.8 / 3
    alpha[view.own_class(slice(None))] = 0.0
    W = view.coefficients(alpha)
    gaps = view.losses_and_gaps(W, alpha, slice(None))[1]
    assert gaps.min() >= -1e-9
    primal, dual = view.objective(W), view.dual(alpha)
    assert primal.value == pytest.approx(model.objective(W), rel=1e-12)
    assert gaps.sum() == pytest.approx(primal.value - dual.value, rel=1e-9)
    assert dual.error <= 1e-9 * abs(dual.value) and primal.error <= 1e-9 * primal.value
