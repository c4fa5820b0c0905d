"""Optima and multipliers of bare forms that reach the corners, by every open solver; and the proofs where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from effort import trials
from programs import INF, INFEASIBLE, QP, UNBOUNDED, bounded_qp, form_of, random_qp, solve

import marginopt as mo
from marginopt.models import PSD, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.program.cones import smat, svec
from marginopt.solvers.backends.scs import psd_positions
from marginopt.solvers.certification.rays import farkas_residual, ray_residual
from marginopt.solvers.records import Status
from marginopt.solvers.registry import get_solver

#: Those that say why there is no optimum.
WITH_REASONS = ("clarabel", "scs", "osqp", "piqp", "highs", "proxqp", "daqp")


@pytest.mark.parametrize("name", [*QP, "quadprog"])
def test_bounds_rows_and_equalities_have_our_multipliers(name, assert_kkt):
    result = solve(bounded_qp(r=2.5), name, tol=1e-7)
    assert result.status is Status.OPTIMAL
    assert result.values["x"] == pytest.approx([-0.025, 0.7, 0.325], abs=1e-6)
    assert result.multipliers["sum"] == pytest.approx([0.975], abs=1e-5)
    assert result.reduced["x"] == pytest.approx([0.0, -4.575, 0.0], abs=1e-5)  # < 0: the upper bound is priced
    assert result.claim.objective == pytest.approx(-2.87625 + 2.5, abs=1e-6)  # the constant is in the claim
    assert_kkt(bounded_qp(), result, 1e-6)


@pytest.mark.parametrize("name", [*QP, "cvxpy:scipy"])
def test_linear_program(name, assert_kkt):
    rows = [("sum", [[1, 1, 1]], [-1], Zero(1)), ("order", [[1, -1, 0]], [0.1], Nonnegative(1))]
    form = form_of([1, 2, 0], rows, [0, 0, 0], [1, 1, 0.2])
    result = solve(form, name)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(0.8, abs=1e-5)
    assert_kkt(form, result, 1e-4 if get_solver(name).info.first_order else 2e-6)


@pytest.mark.parametrize("name", [n for n in QP if n not in ("clarabel", "daqp")])
@pytest.mark.parametrize("rank", [12, 4], ids=["definite", "semidefinite"])
@pytest.mark.parametrize("seed", range(trials(1, 4)))
def test_random_quadratic_programs(name, rank, seed, assert_kkt):
    form = random_qp(seed, rank)
    truth = solve(form, "clarabel", tol=1e-8)
    result = solve(form, name, tol=1e-6)
    assert truth.solved and result.solved, result
    assert result.objective == pytest.approx(truth.objective, rel=1e-6, abs=1e-6)
    assert_kkt(form, result, 1e-5)


@pytest.mark.parametrize("name", QP)
def test_no_rows_and_no_bounds(name):
    result = solve(form_of([1.0, 1.0], P=np.eye(2)), name)
    assert result.solved
    assert result.values["x"] == pytest.approx([-1.0, -1.0], abs=1e-4)


@pytest.mark.parametrize("name", ["clarabel", "scs"])
def test_cones_of_every_kind_in_one_form(name, assert_kkt):
    """A stack of two second-order cones, a stack of two semidefinite cones of order 3, a rotated cone and bounds."""
    rng = np.random.default_rng(1)
    n, inner = 8, rng.normal(size=8)
    cones = (SecondOrder(3, 2), PSD.of_order(3), PSD(6, 2), RotatedSecondOrder(4, 1), Nonnegative(2), Zero(1))
    rows = []
    for k, cone in enumerate(cones):
        F = rng.normal(size=(cone.rows, n))
        inside = {
            SecondOrder: np.tile([2.0, 0.3, -0.4], 2),
            PSD: np.tile(svec(np.eye(3) + 0.2), cone.count),
            RotatedSecondOrder: np.array([1.0, 1.0, 0.2, 0.1]),
            Nonnegative: np.ones(2),
            Zero: np.zeros(1),
        }[type(cone)]
        rows.append((f"c{k}", F, inside - F @ inner, cone))
    form = form_of(rng.normal(size=n), rows, inner - 2, inner + 2, np.diag(np.arange(n) % 3).astype(float))
    result = solve(form, name, tol=1e-7)
    assert result.solved, result
    assert result.details["bridges"] == ["RotatedBridge", "BoundsToRows"]
    assert_kkt(form, result, 1e-5)
    assert result.objective == pytest.approx(solve(form, "clarabel", tol=1e-9).objective, rel=1e-6)


def test_scs_order_of_semidefinite_entries():
    S = np.arange(16.0).reshape(4, 4)
    S = S + S.T
    lower_by_columns = [S[i, j] * (1 if i == j else np.sqrt(2)) for j in range(4) for i in range(j, 4)]
    assert svec(S)[psd_positions(4)] == pytest.approx(lower_by_columns)


@pytest.mark.parametrize("name", ["clarabel", "scs"])
def test_smallest_eigenvalue_by_a_semidefinite_cone(name):
    """max t with A - tI in the cone: the multiplier is the eigenvector's rank-one matrix."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(4, 4))
    A = A + A.T
    form = form_of([-1.0], [("shifted", -svec(np.eye(4))[:, None], svec(A), PSD.of_order(4))])
    result = solve(form, name, tol=1e-7)
    values, vectors = np.linalg.eigh(A)
    assert result.values["x"] == pytest.approx([values[0]], abs=1e-5)
    assert smat(result.multipliers["shifted"]) == pytest.approx(np.outer(vectors[:, 0], vectors[:, 0]), abs=1e-4)


def without_a_point(form, name, status):
    """The result of a program that has no optimum."""
    result = solve(form, name)
    assert result.status is status
    assert not result.values
    return result


@pytest.mark.parametrize("name", WITH_REASONS)
@pytest.mark.parametrize("kind", INFEASIBLE)
def test_infeasible_with_its_proof(name, kind):
    form = INFEASIBLE[kind]
    result = without_a_point(form, name, Status.INFEASIBLE)
    assert farkas_residual(form, result.details["farkas"]) <= 1e-5  # HiGHS has none for quadratic programs: they are ours
    assert result.details["farkas_residual"] == farkas_residual(form, result.details["farkas"])


@pytest.mark.parametrize("name", [n for n in WITH_REASONS if n != "daqp"])  # it does not read every semidefinite P
@pytest.mark.parametrize("kind", UNBOUNDED)
def test_unbounded_with_its_ray(name, kind):
    form = UNBOUNDED[kind]
    result = without_a_point(form, name, Status.UNBOUNDED)
    if (name, kind) != ("proxqp", "linear"):  # ProxQP's iterate overflows there
        assert ray_residual(form, result.details["ray"]["x"]) <= 1e-5


def test_an_interface_without_reasons_is_not_believed_to_know_one():
    result = solve(INFEASIBLE["quadratic, bounds against a row"], "quadprog")
    assert result.status is Status.FAILED
    assert "passes on no reason" in result.claim.native_status


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("loss", ["hinge", "squared-hinge", mo.margin.NuHinge(0.4), mo.margin.OneClass(0.4)], ids=str)
def test_an_active_set_ends_whatever_the_scales(loss):
    """DAQP cycled, or said no reason, in 59 of 346 such problems: its program was not scaled, its exit flag not read."""
    for seed in range(trials(20, 100)):
        rng = np.random.default_rng(seed)
        X = rng.integers(-8, 9, (6, 2)) / 4.0 * 10.0 ** rng.integers(-4, 5) + 10.0 ** rng.integers(0, 5) * rng.integers(2)
        y = np.where(rng.permutation(6) < 3, 1.0, -1.0)
        model = mo.Margin(X, y, loss, str(rng.choice(["l2", "l1", "none"])), sample_weight=10.0 ** rng.integers(-4, 5))
        if get_solver("daqp").obstacle(model) is None:
            result, other = mo.solve(model, "daqp"), mo.solve(model, "clarabel")
            assert result.status is not Status.FAILED
            assert (result.status is Status.UNBOUNDED) == (other.status is Status.UNBOUNDED) or Status.INACCURATE in (
                result.status,
                other.status,
            )
            if result.status is other.status is Status.OPTIMAL:
                assert result.objective == pytest.approx(other.objective, rel=1e-5, abs=1e-12)


def test_rays_are_judged_from_the_data():
    form = INFEASIBLE["linear"]
    assert farkas_residual(form, {"apart": np.array([1.0, 1.0])}) == 0.0
    assert farkas_residual(form, {"apart": np.array([1.0, 0.0])}) == INF  # 1·x1 - 1 ≥ 0 alone excludes nothing
    free = form_of([0.0], [("apart", [[1], [-1]], [-1, 0], Nonnegative(2))])
    assert farkas_residual(free, {"apart": np.array([1.0, 0.9])}) == pytest.approx(0.1)  # Σ F'z = 0.1 on a free variable
    outside = {"apart": np.array([-1.0, -1.0])}
    assert farkas_residual(free, outside) == INF
    assert ray_residual(UNBOUNDED["quadratic"], np.array([0.0, 2.0])) == 0.0
    assert ray_residual(UNBOUNDED["quadratic"], np.array([1.0, 1.0])) == pytest.approx(1.0)  # P d = (1, 0)
    assert ray_residual(UNBOUNDED["linear"], np.array([0.0, -1.0])) == INF
    box = form_of([1.0, 1.0], lower=[0, -INF], upper=[INF, 0])
    assert ray_residual(box, np.array([-1.0, 0.0])) == pytest.approx(1.0)
    assert ray_residual(box, np.array([0.0, -1.0])) == 0.0


@pytest.mark.parametrize("size", [1e-3, 1e-4, 1e-5])
def test_clarabel_s_gap_is_relative_to_a_small_objective(size: float) -> None:
    """Its own is relative to 1 at least: balls of 1e-4 ended with gaps of 2e-5, of 1e-5 with 2e-3."""
    for seed in range(3):
        ball = mo.MEBDual(np.random.default_rng(seed).normal(size=(9, 2)) * size)
        result = mo.solve(ball, "clarabel")
        assert result.status is mo.Status.OPTIMAL, result
        assert result.gap <= 1e-6
    limited = mo.solve(ball, "clarabel", iteration_limit=9)
    assert limited.iterations is not None
    assert limited.iterations <= 9
    assert mo.solve(ball, "clarabel", tol_gap_rel=1e-8).iterations < result.iterations  # the user's own tolerance is left alone


def test_clarabel_s_path_keeps_its_settings_after_a_small_objective() -> None:
    X, y = np.column_stack([np.ones(20), np.random.default_rng(0).normal(size=(20, 2))]), np.where(np.arange(20) % 2, 1.0, -1.0)
    model, values = mo.HingeSVM(X, y, lam=1.0), [1e-7, 1.0, 1e-7]
    path = mo.path(model, "lam", values, solver="clarabel")
    for value, result in zip(values, path.results, strict=True):
        alone = mo.solve(model.with_parameter("lam", value), "clarabel")
        assert result.status is alone.status is mo.Status.OPTIMAL
        assert result.objective == pytest.approx(alone.objective, rel=1e-6)
