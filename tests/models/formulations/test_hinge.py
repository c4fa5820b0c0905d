"""The hinge model: its form, dual, bound, weights, and invariance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about, subjects
from hypothesis import given, settings, strategies as st

from marginopt.errors import InputError, MarginoptWarning
from marginopt.models import HingeSVM, StandardForm
from marginopt.solvers.certification.result import Result
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem

TIGHT = Options(tol=1e-8)


def loss(w: np.ndarray, A: np.ndarray, lam: Any) -> float:
    return float(w @ w + (np.broadcast_to(lam, len(A)) * np.maximum(1 - A @ w, 0)).sum())


def test_objective_is_the_printed_one(overlapping: Any) -> None:
    model = HingeSVM(overlapping.X, overlapping.y, lam=0.7)
    w = np.array([0.3, -1.0, 2.0])
    xi = np.maximum(1 - overlapping.A @ w, 0)
    x = model.form.join({"w": w, "xi": xi})
    assert model.form.objective(x) == pytest.approx(loss(w, overlapping.A, 0.7))
    margin = model.form.constraint("margin")
    assert margin.cone.violation(margin.value(x)) <= 1e-12


def test_solution_and_dual_signs(overlapping: Any, assert_kkt: Callable[[StandardForm, Result, float], None]) -> None:
    model = HingeSVM(overlapping.X, overlapping.y, lam=0.7)
    result = solve_problem(model, "clarabel", TIGHT)
    assert result.status is Status.OPTIMAL
    assert_kkt(model.form, result, 1e-6)
    assert result.multipliers is not None
    alpha = result.multipliers["margin"]
    assert (alpha > -1e-8).all()
    assert (alpha < 0.7 + 1e-8).all()
    # w = ½ Σ α_i y_i x_i and the dual value Σα - ¼||Σ α_i y_i x_i||²
    np.testing.assert_allclose(result.values["w"], 0.5 * overlapping.A.T @ alpha, atol=1e-6)
    dual = alpha.sum() - 0.25 * np.sum((overlapping.A.T @ alpha) ** 2)
    assert dual == pytest.approx(result.objective, rel=1e-6)
    assert result.bound == pytest.approx(result.objective, rel=1e-7)
    assert result.bound_kind == "proved"
    primal = model.primal_from_dual(alpha)
    assert loss(primal["w"], overlapping.A, 0.7) == pytest.approx(result.objective, rel=1e-6)
    # nothing nearby is better
    rng = np.random.default_rng(0)
    best = loss(result.values["w"], overlapping.A, 0.7)
    assert all(loss(result.values["w"] + 1e-2 * rng.normal(size=3), overlapping.A, 0.7) >= best - 1e-7 for _ in range(200))


@given(st.integers(0, 1000), st.sampled_from([0.01, 1.0, 100.0]))
def test_bound_of_any_multipliers(overlapping: Any, seed: int, size: float) -> None:
    model = HingeSVM(overlapping.X, overlapping.y, lam=0.7)
    rng = np.random.default_rng(seed)
    bound = model.bound(None, {"margin": size * rng.normal(size=16)})
    w = rng.normal(size=3)
    assert bound.value <= min(loss(w, overlapping.A, 0.7), loss(0 * w, overlapping.A, 0.7)) + 1e-12
    assert model.bound(None, None).value == -np.inf


@settings(max_examples=6)
@given(st.integers(0, 1000))
def test_permutation_and_label_flip(overlapping: Any, seed: int) -> None:
    X, y = overlapping.X, overlapping.y
    lam = np.linspace(0.2, 1.5, 16)
    base = solve_problem(HingeSVM(X, y, lam=lam), "clarabel", TIGHT)
    order = np.random.default_rng(seed).permutation(16)
    shuffled = solve_problem(HingeSVM(X[order], y[order], lam=lam[order]), "clarabel", TIGHT)
    assert shuffled.objective == pytest.approx(base.objective, rel=1e-7)
    np.testing.assert_allclose(shuffled.values["w"], base.values["w"], atol=1e-5)
    np.testing.assert_allclose(shuffled.values["xi"], base.values["xi"][order], atol=1e-5)
    flipped = solve_problem(HingeSVM(X, -y, lam=lam), "clarabel", TIGHT)
    np.testing.assert_allclose(flipped.values["w"], -base.values["w"], atol=1e-5)


def test_weights_are_repeated_points(overlapping: Any) -> None:
    X, y = overlapping.X, overlapping.y
    doubled = solve_problem(HingeSVM(np.vstack([X, X[:4]]), np.append(y, y[:4]), lam=0.5), "clarabel", TIGHT)
    weights = np.where(np.arange(16) < 4, 1.0, 0.5)
    weighted = solve_problem(HingeSVM(X, y, lam=weights), "clarabel", TIGHT)
    assert weighted.objective == pytest.approx(doubled.objective, rel=1e-7)


def test_sparse_data_give_the_same_form(overlapping: Any) -> None:
    dense = HingeSVM(overlapping.X, overlapping.y).form
    assert HingeSVM(sp.csr_array(overlapping.X), overlapping.y).form.equals(dense)


def test_a_new_lambda_changes_q_only(overlapping: Any) -> None:
    one, two = (HingeSVM(overlapping.X, overlapping.y, lam=lam).form for lam in (1.0, 2.0))
    delta = one.diff(two)
    assert delta.q.size == 16
    assert str(delta) == "q: 16 entries"


def test_inputs_are_not_modified_and_later_changes_of_weights_do_not_matter() -> None:
    X, y, lam = np.ones((2, 2)), np.array([1, -1]), np.array([1.0, 2.0])
    X[:, 1] = [1.0, -1.0]
    before = X.copy(), y.copy(), lam.copy()
    model = HingeSVM(X, y, lam=lam)
    solve_problem(model, "clarabel", Options())
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, y, lam), strict=True))
    assert X.flags.writeable


def test_summary_and_decision(separable: Any) -> None:
    model = HingeSVM(separable.X, separable.y, lam=100.0)
    result = solve_problem(model, "clarabel", Options())
    np.testing.assert_allclose(model.decision_function(result.values, separable.X), separable.X @ result.values["w"])
    assert result.summary["misclassified"] == 0.0
    zero = model.summary({"w": np.zeros(3), "xi": np.ones(12)})
    assert zero == {"norm": 0.0, "margin_violations": 12.0, "misclassified": 0.0}
    with pytest.raises(InputError, check=about("X")):
        model.decision_function(result.values, np.ones((1, 2)))


@pytest.mark.parametrize(
    ("lam", "name"),
    [
        (0.0, "lam"),
        ([1.0] * 15 + [-2.0], "lam"),
        ([1.0, 2.0], "lam"),
        ("one", "lam"),
        (np.nan, "lam"),
    ],
)
def test_bad_weights(overlapping: Any, lam: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        HingeSVM(overlapping.X, overlapping.y, lam=lam)


def test_warnings_say_what_to_call() -> None:
    X, y = np.array([[1.0, 2.0], [2.0, 1.0]]), [1, -1]
    with pytest.warns(MarginoptWarning) as seen:
        HingeSVM(X, y)
    assert subjects(seen) == ["intercept"] and seen[0].filename == __file__
    X = np.array([[1.0, 2e4], [1.0, 1e4]])
    with pytest.warns(MarginoptWarning) as seen:
        HingeSVM(X, y)
    assert subjects(seen) == ["standardise"]
    with pytest.warns(MarginoptWarning) as seen:
        HingeSVM(sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]])), y)
    assert subjects(seen) == ["intercept"]


def test_too_large(overlapping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "100")
    with pytest.raises(InputError, check=about("X")):
        _ = HingeSVM(overlapping.X, overlapping.y).form
