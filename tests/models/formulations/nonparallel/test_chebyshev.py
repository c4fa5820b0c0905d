"""K-NPSVC++: the Chebyshev problem for fixed P against Clarabel, errata, descent of the steps, the algorithm's answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
import marginopt.solvers as solvers
from marginopt.errors import InputError, TooLargeError, UnsupportedModelError
from marginopt.models import RBF, ChebyshevNPSVC, Linear
from marginopt.models.formulations.stiefel import polar
from marginopt.solvers import Status
from marginopt.solvers.box.descent import box_minimum
from marginopt.solvers.nonparallel.alternating import KernelNPSVCpp


def _model(orientation: Any = "one", kernel: Any = None, seed: int = 0, **change: Any) -> ChebyshevNPSVC:
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[np.arange(36) % 3]
    X = np.column_stack([np.ones(36), rng.normal(size=(36, 3))])
    X[y == "b", 1] += 2.5
    X[y == "c", 2] += 2.5
    values = {"c": 1.2, "r1": 0.4, "r2": 0.6, "mu": 0.05, "d": 2, "weights": [1.0, 2.0, 0.5], **change}
    return ChebyshevNPSVC(X, y, orientation=orientation, kernel=Linear() if kernel is None else kernel, **values)


def _projection(model: ChebyshevNPSVC, seed: int = 1) -> np.ndarray:
    return polar(np.random.default_rng(seed).normal(size=(model.features.dimension, int(model.d or 0))))


CASES = [(o, k) for o in ("one", "rest") for k in (Linear(), RBF(0.3))]


@pytest.mark.parametrize(("orientation", "kernel"), CASES)
def test_fixed_projection_is_separable_and_every_class_is_recovered(orientation: str, kernel: Any, assert_kkt: Any) -> None:
    model = _model(orientation, kernel)
    P = _projection(model)
    fixed = model.at(P)
    conic = solvers.solve(fixed, "clarabel")
    assert conic.status is Status.OPTIMAL
    assert conic.bound_kind == "proved"
    assert_kkt(fixed.form, conic, 1e-5)
    programs = [fixed.class_program(k) for k in range(3)]
    duals = [box_minimum(p.box, None, 1e-10)[0] for p in programs]
    U = np.stack([p.primal(lam) for p, lam in zip(programs, duals, strict=True)])
    V = fixed.v_step(P, U)
    J = fixed.objectives(U, V)
    assert np.max(fixed.weights * J) == pytest.approx(conic.objective, rel=1e-6)
    for k in range(3):  # each own problem, by another solver
        assert solvers.solve(programs[k], "clarabel").objective == pytest.approx(J[k], rel=1e-6)
    point = fixed.values(U, V)
    assert fixed.form.objective(fixed.form.join(point)) == pytest.approx(conic.objective, rel=1e-6)
    largest = int(np.argmax(fixed.weights * J))
    z, zeta = fixed.multipliers(point, largest, duals[largest])
    certificate = mo.certify(fixed, point, z, zeta)
    assert abs(certificate.gap) <= 1e-8
    assert certificate.dual_residual is not None
    assert certificate.dual_residual <= 1e-8


@pytest.mark.parametrize("orientation", ["one", "rest"])
def test_objectives_are_those_of_the_paper(orientation: str) -> None:
    model = _model(orientation, RBF(0.3))
    P, rng = _projection(model), np.random.default_rng(2)
    U, V = rng.normal(size=(3, 36)), rng.normal(size=(3, 2))
    psi = model.features.rows
    for k, name in enumerate("abc"):
        inside = model.y == name
        A, B = (psi[inside], psi[~inside]) if orientation == "one" else (psi[~inside], psi[inside])
        u, v = U[k], V[k]
        direct = 0.5 * np.sum((A @ u) ** 2) + 1.2 * np.maximum(1 - B @ u, 0).sum()
        direct += 0.2 * np.sum((u - P @ v) ** 2) + 0.3 * v @ v + 0.025 * np.trace(P.T @ model.S @ P)
        assert model.objectives(U, V, P)[k] == pytest.approx(direct)
        quotient = [
            (model.objectives(U, V, P + E)[k] - model.objectives(U, V, P - E)[k]) / 2e-6
            for E in 1e-6 * np.eye(36 * 2)[[0, 17, 40]].reshape(3, 36, 2)
        ]
        # the Euclidean gradient leaves out r1/2||Pv||², constant on the manifold: add it back off the manifold
        G = model.gradients(U, V, P)[k] / model.weights[k] + model.r1 * np.outer(P @ v, v)
        assert G.ravel()[[0, 17, 40]] == pytest.approx(quotient, rel=1e-4, abs=1e-6)


def test_u_step_s_closed_form_is_optimal_and_the_printed_one_is_not() -> None:
    model = _model("one", RBF(0.3))
    P, v = _projection(model), np.random.default_rng(3).normal(size=2)
    program = model.class_program(0, P, v)
    optimum = solvers.solve(program, "clarabel").objective
    A, B = model.features.rows[model.near_points(0)], model.features.rows[~model.near_points(0)]
    Q = np.linalg.inv(A.T @ A + model.r1 * np.eye(36))
    centre = P @ v
    woodbury = (np.eye(36) - A.T @ np.linalg.inv(model.r1 * np.eye(len(A)) + A @ A.T) @ A) / model.r1
    assert pytest.approx(woodbury) == Q
    reached = {}
    for factor in (model.r1, 1.0):  # mended (16), and as printed
        dual = mo.models.BoxProgram(
            np.linalg.cholesky(B @ Q @ B.T + 1e-12 * np.eye(len(B))), factor * B @ Q @ centre - 1, 0, 1.2, 0
        )
        lam = solvers.solve(dual, "clarabel").values["a"]
        reached[factor] = program.value(model.r1 * Q @ centre + Q @ B.T @ lam)
    assert reached[model.r1] == pytest.approx(optimum, rel=1e-6)
    assert reached[1.0] > optimum * (1 + 1e-3)


@pytest.mark.parametrize(("orientation", "kernel"), CASES)
def test_weighted_sum_falls_over_u_v_and_p_steps(orientation: str, kernel: Any) -> None:
    model = _model(orientation, kernel)
    tau, P = np.array([0.2, 0.5, 0.3]), _projection(model)
    share = tau * model.weights
    U, V = np.zeros((3, model.features.dimension)), np.random.default_rng(0).normal(size=(3, 2))
    before = share @ model.objectives(U, V, P)
    for _ in range(4):
        for k in range(3):
            program = model.class_program(k, P, V[k])
            U[k] = program.primal(box_minimum(program.box, None, 1e-10)[0])
        after_u = share @ model.objectives(U, V, P)
        V = model.v_step(P, U)
        after_v = share @ model.objectives(U, V, P)
        problem = mo.models.StiefelQP(-model.mu * share.sum() * model.S, model.r1 * (U.T * share) @ V)
        P = solvers.solve(problem, "gpi", start={"P": P}, tol=1e-8).values["P"]
        after_p = share @ model.objectives(U, V, P)
        assert after_p <= after_v + 1e-9 <= after_u + 2e-9 <= before + 3e-9
        before = after_p


@pytest.mark.parametrize(("orientation", "kernel"), CASES)
@pytest.mark.parametrize("classes", ["alternate", "joint"])
def test_algorithm_ends_pareto_stationary_with_every_class_optimal(orientation: str, kernel: Any, classes: Any) -> None:
    model = _model(orientation, kernel)
    result = solvers.solve(model, KernelNPSVCpp(classes=classes), iteration_limit=60)
    least = np.nanmin([row.objective for row in result.trace])
    assert result.objective <= least * (1.0 + 1e-5)  # never worse than an iterate before, which need not be stationary
    assert result.status is Status.STATIONARY or result.status is Status.STALLED
    assert np.isnan(result.gap)
    steps = result.details["steps"]
    assert steps[-1]["pareto"] <= 1e-3
    assert all(abs(sum(step["tau"]) - 1) <= 1e-9 for step in steps)
    fixed = model.at(np.asarray(result.details["P"]))
    assert result.certificate is not None
    assert abs(result.certificate.gap) <= 1e-6
    assert result.objective == pytest.approx(solvers.solve(fixed, "clarabel").objective, rel=1e-6)
    assert result.details["dual_value"] <= result.objective * (1 + 1e-9)
    assert (fixed.predict(result.values, model.X) == model.y).mean() >= 0.6
    assert fixed.transform(model.X).shape == (36, 2)


def test_any_step_can_be_given_to_another_solver() -> None:
    model = _model("one", Linear())
    ours = solvers.solve(model, "kernel-npsvcpp", iteration_limit=4, tol=1e-9)
    theirs = solvers.solve(
        model, "kernel-npsvcpp", iteration_limit=4, tol=1e-9, qp="clarabel", stiefel="gpi", simplex="clarabel", sweeps=2000
    )
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-3)
    registry = solvers.solve(model, "alternating", iteration_limit=4, tol=1e-9, qp="piqp", stiefel="gpi", sweeps=2000)
    assert registry.objective == pytest.approx(ours.objective, rel=1e-3)
    with pytest.raises(InputError, check=about("smo")):
        solvers.solve(model, "kernel-npsvcpp", stiefel="smo")


def test_alternating_with_off_the_shelf_solvers_reaches_our_answer() -> None:
    pytest.importorskip("pymanopt")
    model = _model("one", RBF(0.5))
    ours = solvers.solve(model, "kernel-npsvcpp", iteration_limit=40)
    theirs = solvers.solve(model, "alternating", iteration_limit=40, qp="clarabel", stiefel="pymanopt")
    assert theirs.status is Status.STATIONARY
    assert ours.status in (Status.STATIONARY, Status.STALLED)  # stalled where an iterate before the last is better
    assert theirs.objective == pytest.approx(ours.objective, rel=2e-2)
    assert theirs.certificate is not None
    assert abs(theirs.certificate.gap) <= 1e-6


def test_smooth_term_absent_makes_the_projection_step_exact() -> None:
    result = solvers.solve(_model("one", Linear(), mu=0.0), "kernel-npsvcpp", iteration_limit=40)
    assert result.status is Status.STATIONARY
    assert result.details["steps"][1]["stiefel"] <= 1e-10


def test_too_large_a_form_is_certified_by_the_model_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _model("rest", Linear())
    fixed_size = model.form_bytes
    expected = solvers.solve(model, "kernel-npsvcpp", seed=4)
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", str(fixed_size - 1))
    result = solvers.solve(model, "kernel-npsvcpp", seed=4)
    with pytest.raises(TooLargeError):
        _ = model.at(np.asarray(result.details["P"])).form
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    assert result.bound == pytest.approx(expected.bound, rel=1e-9)
    assert result.certificate is not None
    assert result.certificate.primal_residual <= 1e-12


def test_free_projection_refuses_convex_solvers_and_prints() -> None:
    model = _model()
    with pytest.raises(UnsupportedModelError, check=about("clarabel")):
        solvers.solve(model, "clarabel")
    assert "rho" in str(model)
    assert r"\varpi_l" in model.at(_projection(model)).latex()
    assert solvers.solve(model).solver == "kernel-npsvcpp"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"r1": 0.0}, "r1"),
        ({"r2": -1.0}, "r2"),
        ({"mu": -1.0}, "mu"),
        ({"d": 9}, "d"),
        ({"d": 0}, "d"),
        ({"orientation": "both"}, "orientation"),
        ({"weights": [1.0, 0.0, 1.0]}, "weights"),
        ({"neighbours": 50}, "neighbours"),
        ({"P": np.ones((4, 2))}, "P"),
        ({"P": np.eye(3, 2)}, "P"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        orientation = change.pop("orientation", "one")
        _ = _model(orientation, **change).S


@pytest.mark.parametrize(
    "change", [{"gamma": -1.0}, {"weight": 0.0}, {"classes": "both"}, {"sweeps": 0}, {"start": {"V": np.ones(3)}}]
)
def test_bad_options_are_named(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, check=about(*change, "inner_tol")):
        solvers.solve(_model(), "kernel-npsvcpp", **change)


@pytest.mark.parametrize(
    ("X", "y", "name"),
    [
        (np.ones((4, 2)), [0, 0, 0, 0], "y"),
        (np.ones((4, 2)), [0, 0, 0, 1], "y"),
        (np.full((4, 2), np.nan), [0, 0, 1, 1], "X"),
        (np.ones((4, 2)), [0, 0, 1], "y"),
    ],
)
def test_bad_data_are_named(X: Any, y: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        ChebyshevNPSVC(X, y)


def test_equal_points_need_the_ridge() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 2, axis=0)
    y = np.arange(8) // 4
    with pytest.raises(InputError, check=about("ridge")):
        solvers.solve(ChebyshevNPSVC(X, y, kernel=RBF(1.0), ridge=0.0, d=2), "kernel-npsvcpp")
    assert solvers.solve(ChebyshevNPSVC(X, y, kernel=RBF(1.0), d=2), "kernel-npsvcpp", iteration_limit=30).values


@pytest.mark.parametrize("c", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e9])
def test_alternating_at_scales_where_objectives_reach_1e19(scale: float, c: float) -> None:
    """Clarabel called the weights' problem unbounded: its linear terms were 1e19 beside gradients of length 1."""
    rng = np.random.default_rng(0)
    y = np.arange(18) % 3
    X = np.column_stack([np.ones(18), rng.normal(size=(18, 3))])
    X[y == 1, 1] += 2.5
    X[y == 2, 2] += 2.5
    X[:, 1:] *= scale
    result = solvers.solve(ChebyshevNPSVC(X, y, c=c, weights=[1.0, 1.0, 2.0], d=2), "alternating", iteration_limit=3)
    assert result.status in (Status.STATIONARY, Status.ITERATION_LIMIT)
    assert np.isfinite(result.objective)


@pytest.mark.parametrize("mu", [0.0, 0.1])
def test_global_searches_agree_and_no_start_ends_below_them(mu: float) -> None:
    """Ten points with P free: SCIP's and Gurobi's claims enclose one optimum, which the alternating steps do not undercut."""
    rng = np.random.default_rng(0)
    y = np.arange(10) % 2
    X = np.column_stack([rng.normal(size=(10, 2)) + 1.5 * y[:, None] * [1.0, 0.0], np.ones(10)])
    model = ChebyshevNPSVC(X, y, d=1, mu=mu)
    local = solvers.solve(model, "kernel-npsvcpp").objective
    results = []
    for solver, package in (("gurobi", "gurobipy"), ("scip", "pyscipopt")):
        pytest.importorskip(package, reason=f"{package} is not installed")
        result = solvers.solve(model, solver, tol=1e-4, time_limit=120)
        assert result.status in (Status.OPTIMAL, Status.TIME_LIMIT) and result.bound_kind == "claimed by solver"
        P = result.values["P"]
        at = solvers.solve(model.at(np.linalg.qr(P)[0] * np.sign(np.diag(np.linalg.qr(P)[1]))), "clarabel")
        assert at.objective <= result.objective * (1 + 1e-4) and result.bound <= at.objective * (1 + 1e-6)
        assert result.bound <= local * (1 + 1e-6)
        results.append(result)
    assert max(r.bound for r in results) <= min(r.objective for r in results) * (1 + 1e-4)


def test_points_of_the_free_form_are_those_of_the_model() -> None:
    """Any orthonormal P, turned so that it is lower trapezoidal, gives a point of the form with the same objective."""
    rng = np.random.default_rng(1)
    y = np.arange(12) % 3
    X = rng.normal(size=(12, 4))
    model = ChebyshevNPSVC(X, y, d=2, mu=0.3)
    turned = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    turn = np.linalg.qr(turned[:2].T)[0]
    P = turned @ turn
    P = P * np.where(np.diag(P[:2]) < 0, -1.0, 1.0)
    at = model.at(np.linalg.qr(P)[0] * np.sign(np.diag(np.linalg.qr(P)[1])))
    point = solvers.solve(at, "clarabel")
    values = {**point.values, "P": at.P, "R": point.values["U"] - point.values["V"] @ at.P.T}
    x = model.form.join(values)
    for c in model.form.constraints:
        assert c.cone.violation(c.value(x)) <= 1e-6, c.label
    inside = (x >= model.form.lower - 1e-6) & (x <= model.form.upper + 1e-6)
    others = np.concatenate([np.flatnonzero(~inside)])
    start = model.form.slices["P"].start
    assert set(others) <= {start + 1}  # the entry above the diagonal may be what rounding left
    assert model.form.objective(x) == pytest.approx(at.form.objective(at.form.join(point.values)))
