"""Quadratics on the Stiefel manifold: gradients by differences, known optima, equal stationary values, certificates."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from effort import trials
from facts import about, missing

import marginopt.solvers as solvers
from marginopt.errors import InputError, MissingPackageError, UnsupportedModelError
from marginopt.models import ParetoQP, StiefelQP
from marginopt.models.formulations.stiefel import polar, stiefel_gradient
from marginopt.solvers import Status
from marginopt.solvers.stiefel import GPI

NAMES = ["gpi", "gpi-momentum", "stiefel-bb"]
if importlib.util.find_spec("pymanopt") is not None:
    NAMES.append("pymanopt")


def _problem(kind: str, n: int = 30, d: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(n, 2 * n))
    H = {"indefinite": (A[:, :n] + A[:, :n].T) / np.sqrt(2 * n), "negative": -(A @ A.T) / (2 * n), "positive": A @ A.T / n}[kind]
    return H, rng.normal(size=(n, d)) / np.sqrt(n), np.linalg.qr(rng.normal(size=(n, d)))[0]


def test_polar_is_the_nearest_orthonormal_matrix() -> None:
    rng = np.random.default_rng(0)
    for M in (rng.normal(size=(12, 3)), rng.normal(size=(12, 3)) * [1.0, 1e-3, 1e-4], np.outer(rng.normal(size=12), [1.0, 2, 3])):
        P = polar(M)
        assert pytest.approx(np.eye(3), abs=1e-12) == P.T @ P
        assert np.sum(P * M) == pytest.approx(np.linalg.svd(M, compute_uv=False).sum())


def test_riemannian_gradient_is_the_derivative_along_curves() -> None:
    H, E, P = _problem("indefinite")
    problem = StiefelQP(H, E).problem
    rng = np.random.default_rng(2)
    R = stiefel_gradient(P, problem.gradient(P))
    for _ in range(5):
        D = stiefel_gradient(P, rng.normal(size=P.shape))  # a tangent vector
        quotient = (problem.objective(polar(P + 1e-5 * D)) - problem.objective(polar(P - 1e-5 * D))) / 2e-5
        assert np.sum(R * D) == pytest.approx(quotient, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", ["indefinite", "negative", "positive"])
def test_methods_reach_the_same_stationary_value_from_the_same_start(kind: str) -> None:
    H, E, P = _problem(kind)
    results = {name: solvers.solve(StiefelQP(H, E), name, start={"P": P}, tol=1e-7) for name in NAMES}
    for result in results.values():
        assert result.status is Status.STATIONARY
        assert np.isnan(result.gap)
        assert result.certificate is not None
        assert result.certificate.dual_residual is not None
        assert result.certificate.dual_residual <= 1e-7
        assert result.certificate.primal_residual <= 1e-12
        assert result.certificate.bound == -np.inf
        assert result.objective == pytest.approx(results["gpi"].objective, rel=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_linear_term_it_is_the_sum_of_the_largest_eigenvalues(name: str) -> None:
    H, E, P = _problem("indefinite", 12, 3)
    result = solvers.solve(StiefelQP(H, 0 * E), name, start={"P": P}, tol=1e-8)
    assert -result.objective == pytest.approx(np.linalg.eigvalsh(H)[-3:].sum(), rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_quadratic_term_it_is_the_nuclear_norm(name: str) -> None:
    _, E, _ = _problem("indefinite", 12, 3)
    result = solvers.solve(StiefelQP(np.zeros((12, 12)), E), name, seed=3, tol=1e-9)
    assert -result.objective == pytest.approx(2 * np.linalg.svd(E, compute_uv=False).sum(), rel=1e-9)


def test_published_iteration_ascends_in_every_step_and_both_polar_factors_agree() -> None:
    H, E, P = _problem("negative")
    gram = solvers.solve(StiefelQP(H, E), "gpi", start={"P": P})
    svd = solvers.solve(StiefelQP(H, E), GPI(factor="svd"), start={"P": P})
    assert svd.objective == pytest.approx(gram.objective, rel=1e-9)
    model = StiefelQP(H, E)
    values = [solvers.solve(model, "gpi", start={"P": P}, iteration_limit=limit).objective for limit in range(1, 30)]
    assert (np.diff(values) <= 1e-12).all()


def test_square_and_single_column() -> None:
    H, _, _ = _problem("indefinite", 6, 1)
    for d in (1, 6):
        E = np.random.default_rng(0).normal(size=(6, d))
        assert solvers.solve(StiefelQP(H, E), "stiefel-bb").status is Status.STATIONARY


@pytest.mark.parametrize("scale", [1e100, 1e160, 1e300])
@pytest.mark.parametrize("solver", ["stiefel-bb", "gpi", "gpi-momentum"])
def test_entries_whose_squares_overflow_end_at_the_same_point(solver: str, scale: float) -> None:
    """A run with squares that overflow did not end: a comparison with NaN is False."""
    rng = np.random.default_rng(0)
    H, E = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    plain = solvers.solve(StiefelQP(H + H.T, E), solver)
    scaled = solvers.solve(StiefelQP(scale * (H + H.T), scale * E), solver)
    assert scaled.status is Status.STATIONARY
    assert scaled.objective / scale == pytest.approx(plain.objective, rel=1e-9)


def test_convex_solvers_are_refused() -> None:
    H, E, _ = _problem("positive")
    with pytest.raises(UnsupportedModelError, check=about("clarabel")):
        solvers.solve(StiefelQP(H, E), "clarabel")
    with pytest.raises(UnsupportedModelError, check=about("smo")):
        solvers.solve(StiefelQP(H, E), "smo")


@pytest.mark.parametrize("solver", ["gurobi", "scip"])
@pytest.mark.parametrize(("n", "d"), [(3, 1), (3, 2), (4, 1)][: trials(2, 3)])
def test_searches_claim_global_optima(solver: str, n: int, d: int) -> None:
    """Without a linear term the optimum is the sum of the largest eigenvalues; with one, no start of GPI ends below the claim."""
    pytest.importorskip({"gurobi": "gurobipy", "scip": "pyscipopt"}[solver], reason="the solver is not installed")
    rng = np.random.default_rng(n + d)
    H = rng.normal(size=(n, n))
    for E in (np.zeros((n, d)), rng.normal(size=(n, d))):
        model = StiefelQP(H + H.T, E)
        result = solvers.solve(model, solver, tol=1e-4 if d == 1 else 1e-2, time_limit=60)
        assert result.status in (Status.OPTIMAL, Status.TIME_LIMIT) and result.bound_kind == "claimed by solver"
        P = result.values["P"]
        np.testing.assert_allclose(P.T @ P, np.eye(d), atol=1e-6)
        assert result.objective == pytest.approx(-np.trace(P.T @ model.H @ P) - 2 * np.sum(P * E), rel=1e-9)
        if not E.any():
            optimum = -np.linalg.eigvalsh(model.H)[-d:].sum()
            assert result.bound <= optimum + 1e-6 * abs(optimum) and optimum <= result.objective + 1e-6 * abs(optimum)
            assert result.status is Status.TIME_LIMIT or result.objective == pytest.approx(optimum, rel=1e-2)
        for seed in range(5):
            start = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, d)))[0]
            local = solvers.solve(model, "gpi", start={"P": start})
            assert local.objective >= result.bound - 1e-6 * abs(result.bound)
            assert local.bound_kind == "none"


@pytest.mark.parametrize(
    ("H", "E", "name"),
    [
        (np.eye(3), np.ones((3, 4)), "d"),
        (np.eye(3), np.ones((2, 1)), "H"),
        (np.triu(np.ones((3, 3))), np.ones((3, 1)), "H"),
        (np.eye(3), np.full((3, 1), np.nan), "H"),
    ],
)
def test_bad_input_is_named(H: Any, E: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        StiefelQP(H, E)


@pytest.mark.parametrize("P", [np.ones((2, 2)), np.full((3, 1), np.inf)])
def test_bad_start_is_named(P: Any) -> None:
    with pytest.raises(InputError, check=about("start")):
        solvers.solve(StiefelQP(np.eye(3), np.ones((3, 1))), "gpi", start={"P": P})


@pytest.mark.parametrize("method", ["trust-regions", "conjugate-gradient", "steepest-descent"])
@pytest.mark.parametrize("retraction", ["qr", "polar"])
def test_pymanopt_methods_and_their_limits(method: str, retraction: str) -> None:
    pytest.importorskip("pymanopt")
    H, E, P = _problem("indefinite", 12, 3)
    model = StiefelQP(H, E)
    ours = solvers.solve(model, "stiefel-bb", start={"P": P}, tol=1e-8)
    theirs = solvers.solve(model, "pymanopt", start={"P": P}, tol=1e-5, method=method, retraction=retraction)
    assert theirs.status is Status.STATIONARY
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-6)
    short = solvers.solve(model, "pymanopt", start={"P": P}, tol=1e-5, method=method, iteration_limit=1)
    assert short.status is Status.ITERATION_LIMIT
    assert short.certificate is not None
    assert short.certificate.primal_residual <= 1e-12


def test_pymanopt_refuses_what_it_cannot_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pymanopt")
    model = StiefelQP(np.eye(3), np.ones((3, 1)))
    with pytest.raises(InputError, check=about("method")):
        solvers.solve(model, "pymanopt", method="newton")
    with pytest.raises(InputError, check=about("retraction")):
        solvers.solve(model, "pymanopt", retraction="cayley")
    with pytest.raises(InputError, check=about("start")):
        solvers.solve(model, "pymanopt", start={"P": np.ones((2, 2))})
    with pytest.raises(UnsupportedModelError, check=about("pymanopt")):
        solvers.solve(ParetoQP(np.ones((2, 2)), np.ones(2)), "pymanopt")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pymanopt" else find_spec(name, *rest))
    with pytest.raises(MissingPackageError, check=missing("pymanopt")):
        solvers.solve(model, "pymanopt")
