"""The conic SVM: its SDP says what Theorem 2 says, κ = 0 both ways, the kernel form, bounds from any multipliers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from hypothesis import given, settings, strategies as st

from marginopt.errors import InputError, TooLargeError
from marginopt.models import RBF, ConicProblem, ConicSVM, Linear, Precomputed, StandardForm, ZeroOneSVM
from marginopt.models.program.cones import smat
from marginopt.solvers.certification.result import Result
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem

TIGHT = Options(tol=1e-7)
Checker = Callable[[StandardForm, Result, float], None]


def point(A: np.ndarray, w: np.ndarray, W: np.ndarray, z: np.ndarray) -> dict[str, np.ndarray]:
    """The form's variables for given w, W, z: split r and the smallest s and t."""
    r = 1 - A @ w
    plus, minus = np.maximum(r, 0), np.maximum(-r, 0)
    s = np.divide(plus**2, z, out=np.zeros_like(z), where=z > 0)
    t = np.divide(minus**2, 1 - z, out=np.zeros_like(z), where=z < 1)
    return {"w": w, "W": W, "z": z, "r_plus": plus, "r_minus": minus, "s": s, "t": t}


def lifted_matrix(values: dict[str, np.ndarray]) -> np.ndarray:
    """[1 w'; w W] of a point."""
    w, W = values["w"], values["W"]
    return np.block([[np.ones((1, 1)), w[None, :]], [w[:, None], W]])


def worst(form: StandardForm, values: dict[str, np.ndarray]) -> float:
    x = form.join(values)
    outside = max(c.cone.violation(c.value(x)) for c in form.constraints)
    return max(outside, float(np.maximum(form.lower - x, 0).max()), float(np.maximum(x - form.upper, 0).max()))


@given(st.integers(0, 1000), st.sampled_from([0.05, 0.5, 3.0]))
def test_every_classifier_is_a_point_of_the_relaxation(overlapping: Any, seed: int, size: float) -> None:
    A, lam = overlapping.A, 0.6
    model = ConicSVM(overlapping.X, overlapping.y, lam=lam)
    w = size * np.random.default_rng(seed).normal(size=3)
    z = (A @ w < 1).astype(float)
    values = point(A, w, np.outer(w, w), z)
    assert worst(model.form, values) <= 1e-9 * (1 + w @ w)
    exact = ZeroOneSVM(overlapping.X, overlapping.y, lam=lam)
    assert model.form.objective(model.form.join(values)) == pytest.approx(exact.objective(w, tol=0.0))


@given(st.integers(0, 1000))
def test_the_hull_row_is_the_printed_one(overlapping: Any, seed: int) -> None:
    """Feasible exactly where x'Wx - 2u + 1 ≥ r₊²/z + r₋²/(1-z) and [1 w'; w W] ⪰ 0."""
    rng = np.random.default_rng(seed)
    A = overlapping.A
    model = ConicSVM(overlapping.X, overlapping.y, lam=1.0)
    w, z = 0.5 * rng.normal(size=3), rng.uniform(0.05, 0.95, 16)
    V = rng.normal(size=(3, 3))
    W = np.outer(w, w) + float(rng.uniform(0.1, 4)) * V @ V.T
    r = 1 - A @ w
    slack = np.einsum("ij,jk,ik->i", A, W, A) - 2 * A @ w + 1 - np.maximum(r, 0) ** 2 / z - np.minimum(r, 0) ** 2 / (1 - z)
    values = point(A, w, W, z)
    hull = model.form.constraint("hull")
    np.testing.assert_allclose(hull.value(model.form.join(values)), slack, atol=1e-9 * (1 + np.abs(slack).max()))
    np.testing.assert_allclose(
        smat(model.form.constraint("lifted").value(model.form.join(values))), lifted_matrix(values), atol=1e-12
    )
    others = [c for c in model.form.constraints if c.label != "hull"]
    assert max(c.cone.violation(c.value(model.form.join(values))) for c in others) <= 1e-9
    # the cones hold with equality at the smallest s and t: a little less of either violates them
    short = dict(values, s=values["s"] * 0.9, t=values["t"] * 0.9)
    assert max(c.cone.violation(c.value(model.form.join(short))) for c in others) > 1e-6


@pytest.mark.parametrize("kwargs", [{"lam": 0.5}, {"lam": 5.0}, {"kappa": 0.2}, {"kappa": 0.02}])
def test_solution_bound_and_signs(overlapping: Any, assert_kkt: Checker, kwargs: dict[str, float]) -> None:
    model = ConicSVM(overlapping.X, overlapping.y, **kwargs)  # type: ignore[arg-type]
    result = solve_problem(model, "clarabel", TIGHT)
    assert result.bound_kind == "proved"
    assert result.gap <= 1e-5
    assert_kkt(model.form, result, 1e-5)
    assert result.multipliers is not None
    gamma = result.multipliers["hull"]
    A = overlapping.A
    S = np.eye(3) - (A * gamma[:, None]).T @ A
    assert np.linalg.eigvalsh(S).min() >= -1e-6  # γ in Γ, Conic (13)
    np.testing.assert_allclose(smat(result.multipliers["lifted"])[1:, 1:], S, atol=1e-5)
    np.testing.assert_allclose(A @ result.values["w"] + result.values["r_plus"] - result.values["r_minus"], 1, atol=1e-6)
    assert result.summary["sum_z"] == pytest.approx(result.values["z"].sum())
    if "kappa" in kwargs:
        assert result.values["z"].sum() <= kwargs["kappa"] * 16 + 1e-6
    else:
        rng = np.random.default_rng(0)
        exact = ZeroOneSVM(overlapping.X, overlapping.y, lam=kwargs["lam"])
        assert all(result.objective <= exact.objective(s * rng.normal(size=3)) + 1e-6 for s in (0.1, 0.5, 2) for _ in range(100))


@given(st.integers(0, 1000), st.sampled_from([0.01, 0.3, 20.0]))
@settings(max_examples=10)
def test_any_hull_multipliers_give_a_bound(overlapping: Any, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    for kwargs in ({"lam": 0.5}, {"kappa": 0.2}):
        model = ConicSVM(overlapping.X, overlapping.y, **kwargs)  # type: ignore[arg-type]
        best = solve_problem(model, "clarabel", TIGHT)
        gamma = size * rng.normal(size=16)
        for multipliers in ({"hull": gamma, "budget": rng.normal(size=1)}, {"hull": gamma}):
            bound = model.bound(None, multipliers)
            assert bound.value <= best.objective + 1e-6 * (1 + best.objective)
        assert model.bound(None, None).value == -np.inf


@settings(max_examples=5)
@given(st.integers(0, 1000), st.sampled_from(["lam", "kappa"]))
def test_permutation_and_label_flip(overlapping: Any, seed: int, which: str) -> None:
    X, y = overlapping.X, overlapping.y
    order = np.random.default_rng(seed).permutation(16)
    parameter: dict[str, Any] = {which: 0.3}
    base = solve_problem(ConicSVM(X, y, **parameter), "clarabel", TIGHT)
    shuffled = solve_problem(ConicSVM(X[order], y[order], **parameter), "clarabel", TIGHT)
    flipped = solve_problem(ConicSVM(X, -y, **parameter), "clarabel", TIGHT)
    assert shuffled.objective == pytest.approx(base.objective, rel=1e-5)
    assert flipped.objective == pytest.approx(base.objective, rel=1e-5)
    np.testing.assert_allclose(flipped.values["w"], -base.values["w"], atol=2e-3)


def test_kappa_is_a_path(overlapping: Any) -> None:
    values = [
        solve_problem(ConicSVM(overlapping.X, overlapping.y, kappa=k), "clarabel", TIGHT).objective for k in (0.05, 0.1, 0.3, 0.6)
    ]
    assert all(a > b - 1e-6 for a, b in itertools.pairwise(values))
    assert solve_problem(ConicSVM(overlapping.X, overlapping.y, kappa=1.0), "clarabel", TIGHT).objective == pytest.approx(
        0, abs=1e-5
    )


def test_kappa_zero_on_separable_data_is_the_hard_margin_qp(separable: Any, assert_kkt: Checker) -> None:
    model = ConicSVM(separable.X, separable.y, kappa=0)
    assert model.is_hard_margin
    assert model.view(ConicProblem) is None
    result = solve_problem(model, "clarabel", TIGHT)
    assert result.status is Status.OPTIMAL
    assert result.bound_kind == "proved"
    assert (separable.A @ result.values["w"]).min() == pytest.approx(1.0, abs=1e-6)
    assert_kkt(model.form, result, 1e-6)
    assert result.summary["rank_ratio"] == 0.0
    # the limit of small κ
    near = solve_problem(ConicSVM(separable.X, separable.y, kappa=1e-5), "clarabel", TIGHT)
    assert near.objective == pytest.approx(result.objective, rel=2e-2)
    assert near.objective <= result.objective + 1e-6


def test_kappa_zero_on_overlapping_data_is_infeasible_with_proof(overlapping: Any) -> None:
    model = ConicSVM(overlapping.X, overlapping.y, kappa=0.0)
    result = solve_problem(model, "clarabel", TIGHT)
    assert result.status is Status.INFEASIBLE
    assert "not separable" in result.claim.native_status
    assert result.certificate is None
    assert np.isnan(result.objective)
    f = result.details["farkas"]["margin"]
    assert (f >= 0).all()
    assert f.sum() == pytest.approx(1.0)
    assert np.abs(overlapping.A.T @ f).max() <= 1e-9


def test_kernel_form_with_a_linear_kernel_is_the_linear_form(overlapping: Any) -> None:
    """The intercept column of X is the kernel form's +1, so both relax one problem (w = Σ α_i y_i x_i)."""
    X, y = overlapping.X, overlapping.y
    for parameter in ({"lam": 0.5}, {"kappa": 0.2}):
        linear = solve_problem(ConicSVM(X, y, **parameter), "clarabel", TIGHT)  # type: ignore[arg-type]
        kernel = ConicSVM(X[:, 1:], y, kernel=Linear(), **parameter)  # type: ignore[arg-type]
        lifted = solve_problem(kernel, "clarabel", Options(tol=1e-6))
        assert lifted.objective == pytest.approx(linear.objective, rel=1e-4)
        assert lifted.bound <= linear.objective + 1e-6
        f = kernel.decision_function(lifted.values, X[:, 1:])
        np.testing.assert_allclose(y * f, kernel.signed @ lifted.values["w"], atol=1e-8)
        np.testing.assert_allclose(f, X @ linear.values["w"], atol=2e-2)


def test_kernel_matrices() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 2)), np.array([1, -1, 1, -1, 1, -1, 1.0])
    model = ConicSVM(X, y, lam=1.0, kernel=RBF(0.5))
    K = RBF(0.5).matrix(X, X)
    np.testing.assert_allclose(model.metric, np.outer(y, y) * (K + 1))  # type: ignore[arg-type]
    np.testing.assert_allclose(ConicSVM(K, y, lam=1.0, kernel=Precomputed()).metric, model.metric)  # type: ignore[arg-type]
    np.testing.assert_allclose(ConicSVM(sp.csr_array(X), y, lam=1.0, kernel=RBF(0.5)).metric, model.metric)  # type: ignore[arg-type]
    hard = ConicSVM(X, y, kappa=0.0, kernel=RBF(0.5))
    result = solve_problem(hard, "clarabel", Options())
    assert result.status is Status.OPTIMAL
    assert (y * hard.decision_function(result.values, X)).min() >= 1 - 1e-6


def test_rank_ratio(overlapping: Any) -> None:
    model = ConicSVM(overlapping.X, overlapping.y, lam=1.0)
    w = np.array([1.0, 2.0, 0.5])
    assert model.rank_ratio({"W": np.outer(w, w)}) == pytest.approx(0.0, abs=1e-15)
    assert model.rank_ratio({"W": np.diag([1.0, 3.0, 0.0])}) == pytest.approx(1 / 3)
    assert model.rank_ratio({"W": np.zeros((3, 3))}) == 0.0


def test_changes_of_a_parameter_change_one_thing(overlapping: Any) -> None:
    X, y = overlapping.X, overlapping.y
    forms = [ConicSVM(X, y, kappa=k).form for k in (0.2, 0.3)]
    assert forms[0].diff(forms[1]).g == ("budget",) and not forms[0].diff(forms[1]).F
    forms = [ConicSVM(X, y, lam=lam).form for lam in (0.2, 0.3)]
    assert str(forms[0].diff(forms[1])) == "q: 16 entries"


@pytest.mark.parametrize(
    ("kwargs", "name"),
    [
        ({}, "lam"),
        ({"lam": 1.0, "kappa": 0.5}, "lam"),
        ({"lam": 0.0}, "lam"),
        ({"lam": [1.0, 2.0]}, "lam"),
        ({"kappa": -0.1}, "kappa"),
        ({"kappa": 1.5}, "kappa"),
        ({"lam": 1.0, "kernel": "rbf"}, "kernel"),
        ({"lam": 1.0, "kernel": Precomputed()}, "X"),
    ],
)
def test_bad_parameters(overlapping: Any, kwargs: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        ConicSVM(overlapping.X, overlapping.y, **kwargs)


def test_too_large_says_so_before_anything_dense_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [0, 0, 0, 0])), shape=(4, 100_000))
    path = "marginopt.models.formulations.conic.dense_signed_rows"
    monkeypatch.setattr(path, lambda *_: pytest.fail("dense rows were built"))
    model = ConicSVM(X, [1, -1, 1, -1], lam=1.0)
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "1e9")
    with pytest.raises(TooLargeError, check=about("X")):
        _ = model.form
