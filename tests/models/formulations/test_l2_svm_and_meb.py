"""The L2-SVM dual and the enclosing ball: formulas, gaps, equivalence for normalised kernels, signs of a maximum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about
from hypothesis import given, settings, strategies as st

from marginopt.errors import InputError, TooLargeError
from marginopt.models import RBF, Kernel, L2SVMDual, Linear, MEBDual, Polynomial, Precomputed, SimplexQP, StandardForm
from marginopt.solvers.certification.result import Result
from marginopt.solvers.records import Options, Status
from marginopt.solvers.solve import solve_problem

TIGHT = Options(tol=1e-8)
KERNELS = [Linear(), RBF(0.5), Polynomial(2, 0.5, 1.0)]
simplex_points = st.integers(0, 10_000).map(lambda seed: np.random.default_rng(seed).dirichlet(np.full(16, 0.3)))


def k_tilde(points: Any, C: float, kernel: Kernel) -> np.ndarray:
    """FW (12), entry by entry."""
    n = len(points.y)
    K = kernel.matrix(points.X, points.X)
    return np.array([[points.y[i] * points.y[j] * (K[i, j] + 1) + (i == j) / C for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_objective_gap_and_primal_point(overlapping: Any, kernel: Kernel) -> None:
    C = 3.0
    Q = k_tilde(overlapping, C, kernel)
    model = L2SVMDual(overlapping.X, overlapping.y, C, kernel)
    view = model.view(SimplexQP)
    assert view is not None
    K = kernel.matrix(overlapping.X, overlapping.X)
    for seed in range(5):
        a = np.random.default_rng(seed).dirichlet(np.ones(16))
        assert model.form.objective(a) == pytest.approx(0.5 * a @ Q @ a)
        assert view.gap(a) == pytest.approx(a @ Q @ a - (Q @ a).min())
        # the primal point of FW (7): feasible, and its value closes exactly that gap
        point = model.primal_from_dual(a)
        f = K @ point["beta"] + point["b"]
        slack = overlapping.y * f - (point["rho"] - point["xi"])
        assert slack.min() == pytest.approx(0.0, abs=1e-10)
        norm = point["beta"] @ K @ point["beta"]
        primal = 0.5 * (norm + point["b"] ** 2 + C * (point["xi"] ** 2).sum()) - point["rho"]
        assert primal + model.form.objective(a) == pytest.approx(view.gap(a))
        # decision FW (13)
        np.testing.assert_allclose(model.decision_function({"a": a}, overlapping.X), f, atol=1e-10)
        errors = float((overlapping.y * f < 0).sum())
        assert model.summary({"a": a}) == {"support_vectors": 16.0, "misclassified": errors}


@given(simplex_points, st.sampled_from(KERNELS))
def test_every_feasible_point_bounds_from_below(overlapping: Any, a: np.ndarray, kernel: Kernel) -> None:
    model = L2SVMDual(overlapping.X, overlapping.y, 2.0, kernel)
    best = solve_problem(model, "clarabel", TIGHT).objective
    assert model.bound(a, None).value <= best * (1 + 1e-7)
    # scaled or pushed off the simplex, the point is repaired first
    assert model.bound(7.0 * a, None).value == pytest.approx(model.bound(a, None).value)
    assert model.bound(a - 0.01, None).value <= best * (1 + 1e-7)
    assert model.bound(-a, None).value == -np.inf
    assert model.bound(None, None).value == -np.inf


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_solutions(overlapping: Any, kernel: Kernel, assert_kkt: Callable[[StandardForm, Result, float], None]) -> None:
    for model in (L2SVMDual(overlapping.X, overlapping.y, 2.0, kernel), MEBDual(overlapping.X, kernel)):
        result = solve_problem(model, "clarabel", TIGHT)
        assert result.status is Status.OPTIMAL
        assert result.gap <= 1e-8
        assert_kkt(model.form, result, 1e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_ball_and_classifier_have_one_solution_for_a_constant_diagonal(overlapping: Any, C: float) -> None:
    svm = solve_problem(L2SVMDual(overlapping.X, overlapping.y, C, RBF(0.5)), "clarabel", TIGHT)
    ball = solve_problem(MEBDual.labelled(overlapping.X, overlapping.y, C, RBF(0.5)), "clarabel", TIGHT)
    np.testing.assert_allclose(svm.values["a"], ball.values["a"], atol=1e-5)
    # FW (17): Φ(a) = Δ² - a'K̃a with the constant Δ² = 1 + 1 + 1/C
    assert ball.objective == pytest.approx(2 + 1 / C - 2 * svm.objective, rel=1e-6)


def test_ball_and_classifier_differ_otherwise(overlapping: Any) -> None:
    svm = solve_problem(L2SVMDual(overlapping.X, overlapping.y, 1.0, Linear()), "clarabel", TIGHT)
    ball = solve_problem(MEBDual.labelled(overlapping.X, overlapping.y, 1.0, Linear()), "clarabel", TIGHT)
    assert np.abs(svm.values["a"] - ball.values["a"]).max() > 1e-2


def test_a_ball_by_hand() -> None:
    # corners of a right triangle: the ball stands on the hypotenuse; FW (16)'s ||c||² would be 2, r² is 2 as well; shift it
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]) + 5.0
    model = MEBDual(X)
    result = solve_problem(model, "clarabel", TIGHT)
    assert result.objective == pytest.approx(2.0, rel=1e-7)  # r², not ||c||² = 72
    assert result.bound == pytest.approx(2.0, rel=1e-6)
    assert result.bound >= result.objective - 1e-9  # a maximum is bounded from above
    assert result.gap == pytest.approx(0.0, abs=1e-7)
    assert result.summary["radius"] == pytest.approx(np.sqrt(2.0), rel=1e-6)
    assert result.summary["enclosing_radius"] == pytest.approx(np.sqrt(2.0), rel=1e-5)
    distances = model.squared_distances(result.values)
    np.testing.assert_allclose(distances, [2, 2, 2], rtol=1e-5)
    assert result.certificate is not None
    assert result.certificate.objective == pytest.approx(-2.0, rel=1e-7)  # the form always minimises
    assert model.form.maximise
    assert "objective 2" in str(result)


@given(simplex_points)
def test_radii_bracket_the_optimum(overlapping: Any, a: np.ndarray) -> None:
    model = MEBDual(overlapping.X, RBF(0.5))
    best = solve_problem(model, "clarabel", TIGHT)
    radius = np.sqrt(best.objective)
    figures = model.summary({"a": a})
    assert figures["radius"] <= radius * (1 + 1e-7)
    assert figures["enclosing_radius"] >= radius * (1 - 1e-7)


@settings(max_examples=8)
@given(st.integers(0, 1000), st.sampled_from(KERNELS))
def test_permutation_and_label_flip(overlapping: Any, seed: int, kernel: Kernel) -> None:
    X, y = overlapping.X, overlapping.y
    order = np.random.default_rng(seed).permutation(16)
    base = solve_problem(L2SVMDual(X, y, 2.0, kernel), "clarabel", TIGHT)
    shuffled = solve_problem(L2SVMDual(X[order], y[order], 2.0, kernel), "clarabel", TIGHT)
    flipped = solve_problem(L2SVMDual(X, -y, 2.0, kernel), "clarabel", TIGHT)
    assert shuffled.objective == pytest.approx(base.objective, rel=1e-7)
    np.testing.assert_allclose(shuffled.values["a"], base.values["a"][order], atol=1e-5)
    np.testing.assert_allclose(flipped.values["a"], base.values["a"], atol=1e-6)


@pytest.mark.parametrize("make", [lambda X, k: L2SVMDual(X, np.tile([1, -1], 8), 2.0, k), MEBDual])
def test_sparse_and_precomputed_say_the_same(overlapping: Any, make: Any) -> None:
    X = overlapping.X
    dense = make(X, RBF(0.5)).form
    sparse = make(sp.csr_array(X), RBF(0.5)).form
    given_kernel = make(RBF(0.5).matrix(X, X), Precomputed()).form
    function = make(X, RBF(0.5).matrix).form
    for other in (sparse, given_kernel, function):
        np.testing.assert_allclose(other.quadratic.csc.toarray(), dense.quadratic.csc.toarray(), atol=1e-13)
        np.testing.assert_allclose(other.q, dense.q, atol=1e-13)


def test_named_rules_are_fitted_once(overlapping: Any) -> None:
    model = L2SVMDual(overlapping.X, overlapping.y, 1.0, RBF("frank-wolfe"))
    X = overlapping.X
    mean = np.mean([((a - b) ** 2).sum() for a in X for b in X])
    assert isinstance(model.kernel, RBF)
    assert model.kernel.gamma == pytest.approx(1 / (2 * mean))


def test_the_matrix_stays_an_operator(overlapping: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = L2SVMDual(overlapping.X, overlapping.y, 1.0, RBF(0.5))
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "1500")  # the vectors fit, the 16 × 16 matrix (2,048 bytes) does not
    form = model.form
    assert form.bytes > 1500
    assert np.isfinite(form.objective(np.full(16, 1 / 16)))
    with pytest.raises(TooLargeError, check=about("X")):
        _ = form.quadratic.materialised  # type: ignore[union-attr]
    with pytest.raises(InputError, check=about("clarabel")):
        solve_problem(model, "clarabel", Options())


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda X, y: L2SVMDual(X, y, 0.0), "C"),
        (lambda X, y: L2SVMDual(X, y, 1.0, "rbf"), "kernel"),
        (lambda X, y: L2SVMDual(X, y[:-1]), "y"),
        (lambda X, y: L2SVMDual(X, np.ones(16)), "y"),
        (lambda X, y: L2SVMDual(X, y, 1.0, Precomputed()), "X"),
        (lambda X, y: MEBDual(X, Linear(), y), "C"),
        (lambda X, y: MEBDual(X, Linear(), None, 1.0), "C"),
        (lambda X, y: MEBDual(X * np.nan), "X"),
        (lambda X, y: L2SVMDual(np.ones((16, 2)), y, 1.0, RBF("npsvc")), "gamma"),
        (lambda X, y: L2SVMDual(X, y).decision_function({"a": np.ones(16)}, np.ones((2, 5))), "X"),
    ],
)
def test_bad_input(overlapping: Any, make: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        make(overlapping.X, overlapping.y)


def test_inputs_are_not_modified(overlapping: Any) -> None:
    # the fixture's arrays are read-only: any write would have raised
    for kernel in KERNELS:
        solve_problem(L2SVMDual(overlapping.X, overlapping.y, 1.0, kernel), "clarabel", Options())
    K = overlapping.X @ overlapping.X.T
    K.flags.writeable = False
    solve_problem(L2SVMDual(K, overlapping.y, 1.0, Precomputed()), "clarabel", Options())
