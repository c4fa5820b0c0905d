"""The weights of several objectives (20): Theorem 2 with the mended gradient, and its failure with the printed one."""

from __future__ import annotations

import numpy as np
import pytest
from facts import about

import marginopt.solvers as solvers
from marginopt.errors import InputError
from marginopt.models import ParetoQP
from marginopt.models.formulations.pareto import GradientKind, manifold_gradient
from marginopt.models.formulations.stiefel import polar
from marginopt.solvers import Status


def _case(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A point of the manifold and the Euclidean gradients G_l = μSP - r1 u_l v_l' of some class objectives."""
    n, d, K = int(rng.integers(3, 8)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    P = np.linalg.qr(rng.normal(size=(n, d)))[0]
    root = rng.normal(size=(n, n))
    shared = rng.random() * (root @ root.T) @ P / n
    return P, np.stack([shared - np.outer(rng.normal(size=n), rng.normal(size=d)) for _ in range(K)])


def _raised(kind: GradientKind, cases: int) -> int:
    """In how many random cases Δ = -Σ τ grad raises some objective, that is, has <G_l, Δ> > 0."""
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(cases):
        P, G = _case(rng)
        model = ParetoQP(np.stack([manifold_gradient(P, g, kind) for g in G]), np.zeros(len(G)))
        tau = solvers.solve(model, "smo", tol=1e-12).values["a"]
        direction = model.direction(tau)
        slopes = np.tensordot(G, direction, axes=2)
        count += bool(slopes.max() > 1e-6 * np.linalg.norm(direction) ** 2 + 1e-12)
    return count


def test_theorem_2_holds_with_the_mended_gradient() -> None:
    assert _raised("embedded", 150) == 0


def test_theorem_2_fails_with_the_printed_gradient() -> None:
    assert _raised("printed", 150) > 0


def test_descent_of_every_objective_along_the_manifold() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        P, G = _case(rng)
        model = ParetoQP(np.stack([manifold_gradient(P, g) for g in G]), np.zeros(len(G)))
        result = solvers.solve(model, "smo", tol=1e-12)
        if result.summary["stationarity"] < 1e-3:
            continue
        assert result.summary["largest_slope"] < 0
        moved = polar(P + 1e-6 * model.direction(result.values["a"]))
        assert (np.tensordot(G, moved - P, axes=2) < 0).all()  # the objectives are linear here: <G_l, P>


def test_opposite_gradients_certify_pareto_stationarity() -> None:
    g = np.random.default_rng(0).normal(size=(5, 2))
    model = ParetoQP(np.stack([g, -2 * g]), np.zeros(2))
    result = solvers.solve(model, "smo")
    assert result.values["a"] == pytest.approx([2 / 3, 1 / 3], abs=1e-6)
    assert result.summary["stationarity"] <= 1e-5


@pytest.mark.parametrize("solver", ["smo", "clarabel", "pga", "mfw"])
@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_simplex_and_off_the_shelf_solvers_agree(solver: str, gamma: float) -> None:
    rng = np.random.default_rng(3)
    model = ParetoQP(rng.normal(size=(5, 4, 2)), rng.random(5), gamma)
    result = solvers.solve(model, solver, tol=1e-7)
    assert result.status is Status.OPTIMAL
    tau = result.values["a"]
    direct = 0.5 * np.sum(np.tensordot(tau, model.gradients, axes=1) ** 2) - gamma * tau @ model.objectives
    assert result.objective == pytest.approx(direct, rel=1e-9)
    assert result.objective == pytest.approx(solvers.solve(model, "smo", tol=1e-10).objective, rel=1e-6)


def test_embedded_gradient_is_tangent_and_printed_one_is_its_canonical_counterpart() -> None:
    rng = np.random.default_rng(1)
    P, G = _case(rng)
    embedded, printed = manifold_gradient(P, G[0]), manifold_gradient(P, G[0], "printed")
    for gradient in (embedded, printed):
        assert P.T @ gradient + gradient.T @ P == pytest.approx(np.zeros((P.shape[1],) * 2), abs=1e-12)
    assert printed == pytest.approx((G[0] @ P.T - P @ G[0].T) @ P)


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, check=about("gradients")):
        ParetoQP(np.ones(3), np.ones(3))
    with pytest.raises(InputError, check=about("objectives")):
        ParetoQP(np.ones((3, 2)), np.ones(2))
    with pytest.raises(InputError, check=about("gamma")):
        ParetoQP(np.ones((3, 2)), np.ones(3), -1.0)
    with pytest.raises(InputError, check=about("gradient")):
        manifold_gradient(np.eye(3), np.eye(3), "euclidean")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_pair_steps_end_where_the_optimum_is_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    gradients, tau = rng.normal(size=(4, 3)), rng.random(4)
    gradients -= tau / tau.sum() @ gradients
    # products of 1e-12: float32 gains of the pairs underflow, so that no pair is left while the relative gap is 2
    result = solvers.solve(ParetoQP(1e-6 * gradients, np.zeros(4)), "smo", tol=1e-8, iteration_limit=400)
    assert result.claim.status is Status.STALLED
    # nothing says that the optimum of these doubles is zero: OPTIMAL only where objective and bound are, within their rounding
    certificate = result.certificate
    encloses = abs(certificate.objective) <= certificate.error and certificate.bound + 2 * certificate.bound_error >= 0.0
    assert result.status is (Status.OPTIMAL if encloses else Status.STALLED)
    assert result.summary["stationarity"] <= 1e-9


SIZES = [(1.0, 1.0, 0.1), (1e-9, 1e10, 0.1), (1e8, 1e-3, 1.0), (1e-200, 1e5, 1.0), (0.0, 1e19, 0.5)]


@pytest.mark.parametrize(("size", "value", "gamma"), SIZES)
def test_the_scaled_problem_has_the_same_weights_and_no_large_number(size: float, value: float, gamma: float) -> None:
    rng = np.random.default_rng(0)
    problem = ParetoQP(size * rng.normal(size=(4, 5, 2)), value * rng.random(4), gamma)
    scaled = problem.scaled()
    view = scaled.simplex
    assert np.abs(view.gram.diagonal).max() <= 1.0 + 1e-12
    assert np.abs(view.c).max() <= 1.0 + 1e-12
    tau, other = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))

    def worth(problem: ParetoQP, tau: np.ndarray) -> float:
        return 0.5 * float(np.sum(problem.direction(tau) ** 2)) - problem.gamma * float(tau @ problem.objectives)

    if size > 1e-100:  # the same up to a factor and a constant
        ratio = (worth(problem, tau) - worth(problem, other)) / (worth(scaled, tau) - worth(scaled, other))
        again = rng.dirichlet(np.ones(4))
        fall = worth(problem, again) - worth(problem, other)
        assert fall / (worth(scaled, again) - worth(scaled, other)) == pytest.approx(ratio)
        assert ratio > 0.0
