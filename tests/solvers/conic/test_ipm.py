"""conic-ipm against Clarabel on Conic (21) as the model states it, its certificate, degenerate data, and its path."""

from __future__ import annotations

import warnings
from itertools import product

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from effort import part
from facts import about

from marginopt.errors import InputError, MarginoptWarning
from marginopt.models.conic_bound import certified_bound, dual_value
from marginopt.models.formulations.conic import ConicSVM
from marginopt.models.kernels.kernels import RBF
from marginopt.models.program.cones import PSD, Nonnegative, RotatedSecondOrder, Zero
from marginopt.models.views import ConicProblem
from marginopt.solvers.conic import ConicIPM, conic_path
from marginopt.solvers.conic.ipm import initial_state, take_step
from marginopt.solvers.conic.iterate import PreparedProblem
from marginopt.solvers.conic.newton import GramSystem, PointSystem
from marginopt.solvers.interface.algorithm import Outcome
from marginopt.solvers.records import Options, Status


def points(rng, n, p, sigma=0.5, outliers="clustered"):
    """§5.1.1, with a constant first feature."""
    d = rng.uniform(-1, 1, p)
    centre = 0.5 * d / np.linalg.norm(d)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = y[:, None] * centre + sigma * rng.standard_normal((n, p))
    far = np.arange(n) % 10 == 0
    if outliers == "clustered":
        X[far] = -10 * centre + 0.03 * sigma * rng.standard_normal((far.sum(), p))
    elif outliers == "spread":
        X[far] += 10 * sigma * rng.standard_normal((far.sum(), p))
    return np.hstack([np.ones((n, 1)), X]), y


def clarabel_optimum(form):
    """(value, multipliers by label, status) from Clarabel, stated here from the form: bounds as rows, rotated cones turned."""
    blocks, right, cones = [], [], []
    for c in form.constraints:
        F, g = c.F, c.g
        if isinstance(c.cone, RotatedSecondOrder):
            turn = np.array([[1, 1, 0], [1, -1, 0], [0, 0, np.sqrt(2.0)]]) / np.sqrt(2.0)
            T = sp.csr_array(sp.block_diag([turn] * c.cone.count))
            F, g = T @ F, T @ g
            cones += [clarabel.SecondOrderConeT(3)] * c.cone.count
        elif isinstance(c.cone, PSD):
            cones.append(clarabel.PSDTriangleConeT(c.cone.order))
        else:
            cones.append({Nonnegative: clarabel.NonnegativeConeT, Zero: clarabel.ZeroConeT}[type(c.cone)](c.rows))
        blocks.append(F)
        right.append(g)
    eye = sp.eye_array(form.n, format="csr")
    for bound, sign in ((form.lower, 1.0), (form.upper, -1.0)):
        rows = np.flatnonzero(np.isfinite(bound))
        if rows.size:
            blocks.append(sign * eye[rows])
            right.append(-sign * bound[rows])
            cones.append(clarabel.NonnegativeConeT(rows.size))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    A = sp.csc_matrix(-sp.vstack(blocks))
    solution = clarabel.DefaultSolver(sp.csc_matrix((form.n, form.n)), form.q, A, np.concatenate(right), cones, settings).solve()
    z, multipliers, at = np.array(solution.z), {}, 0
    for c in form.constraints:
        multipliers[c.label] = z[at : at + c.rows]
        at += c.rows
    return solution.obj_val, multipliers, str(solution.status)


def model(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarginoptWarning)
        return ConicSVM(X, y, **parameters)


def solved(problem, **options):
    return ConicIPM().run(problem, Options(**options))


def check_certificate(problem, raw, tol=1e-7):
    """Everything recomputed from the form: feasibility, stationarity, complementarity, gap."""
    form = problem.form
    x = form.join(raw.values)
    scale = max(1.0, np.abs(x).max())
    for c in form.constraints:
        assert c.cone.violation(c.value(x)) <= 1e-9 * scale, c.label
        z = raw.multipliers[c.label]
        assert c.cone.dual_violation(z) <= 1e-9 * max(1.0, np.abs(z).max()), c.label
    assert (x >= form.lower - 1e-12).all() and (x <= form.upper + 1e-12).all()
    residual = form.gradient(x) - sum(c.F.T @ raw.multipliers[c.label] for c in form.constraints) - raw.reduced
    assert np.abs(residual).max() <= 1e-9 * max(1.0, *(np.abs(z).max() for z in raw.multipliers.values()))
    objective = form.objective(x)
    assert raw.proved
    assert 0 <= objective - raw.bound <= tol * abs(objective)
    assert problem.bound(x, raw.multipliers).value >= raw.bound - tol * abs(objective)


INSTANCES = [
    (20, 1, {"lam": 0.05}, "none"),
    (20, 3, {"kappa": 0.5}, "spread"),
    (60, 3, {"lam": 0.5}, "clustered"),
    (60, 4, {"kappa": 0.005}, "none"),
    (80, 5, {"kappa": 0.1}, "clustered"),
    (100, 8, {"lam": 1.0}, "spread"),
    (40, 12, {"kappa": 0.05}, "none"),
    (30, 10, {"lam": 10.0}, "clustered"),
    (300, 2, {"kappa": 0.02}, "spread"),
]


@pytest.mark.parametrize(("n", "p", "parameters", "outliers"), INSTANCES)
def test_optimum_is_clarabels(n, p, parameters, outliers):
    X, y = points(np.random.default_rng(n + p), n, p, outliers=outliers)
    problem = model(X, y, **parameters)
    raw = solved(problem)
    assert raw.status is Status.OPTIMAL
    check_certificate(problem, raw)
    value, multipliers, status = clarabel_optimum(problem.form)
    assert status in ("Solved", "AlmostSolved")
    assert raw.objective == pytest.approx(value, rel=1e-6)
    mu = multipliers["budget"][0] if "kappa" in parameters else None
    peer = certified_bound(problem.view(ConicProblem), multipliers["hull"], mu=mu)
    assert peer.value <= problem.form.objective(problem.form.join(raw.values))
    if status == "Solved":
        assert peer.value == pytest.approx(raw.bound, rel=1e-6)


@pytest.mark.parametrize("parameters", [{"lam": 0.3}, {"kappa": 0.1}])
def test_kernel_form(parameters):
    X, y = points(np.random.default_rng(2), 22, 2)
    problem = model(X[:, 1:], y, kernel=RBF(0.5), **parameters)
    raw = solved(problem)
    assert raw.status is Status.OPTIMAL
    assert raw.details["newton_system"] == "points"
    check_certificate(problem, raw)
    value, _, status = clarabel_optimum(problem.form)
    assert status in ("Solved", "AlmostSolved")
    assert raw.objective == pytest.approx(value, rel=1e-5)


def test_kernel_form_of_150_points():
    X, y = points(np.random.default_rng(3), 150, 3)
    problem = model(X[:, 1:], y, kernel=RBF(0.5), kappa=0.05)
    raw = solved(problem)
    assert raw.status is Status.OPTIMAL
    assert raw.details["relative_gap"] <= 1e-8


def test_bound_from_a_converged_gamma_alone_reaches_the_optimum():
    X, y = points(np.random.default_rng(6), 120, 4)
    for parameters in ({"lam": 0.4}, {"kappa": 0.08}):
        changed = model(X, y, **parameters)
        raw = solved(changed, tol=1e-9)
        problem = changed.view(ConicProblem)
        mu = None if "lam" in parameters else float(raw.multipliers["budget"][0])
        gamma = raw.multipliers["hull"]
        for bound in (certified_bound(problem, gamma, mu=mu), certified_bound(problem, gamma)):
            assert bound.value <= raw.objective
            assert bound.value == pytest.approx(raw.objective, rel=1e-8)


@pytest.mark.parametrize("parameters", [{"lam": 0.4}, {"lam": 1e4}, {"kappa": 0.1}])
@pytest.mark.parametrize("shape", [(50, 6), (30, 12)])
def test_both_newton_systems_take_the_same_steps(shape, parameters):
    X, y = points(np.random.default_rng(7), *shape, outliers="none")
    prepared = PreparedProblem.of(model(X, y, **parameters).view(ConicProblem))
    runs = []
    for system in (GramSystem(prepared.data.A), PointSystem(prepared.data.A)):
        state = initial_state(prepared, 1e-6, 50, system)
        trail = []
        while state.outcome is Outcome.RUNNING:
            take_step(state)
            trail.append((state.point.objective, state.point.bound))
        assert state.outcome is Outcome.CONVERGED
        runs.append(np.array(trail))
    assert len(runs[0]) == len(runs[1])
    np.testing.assert_allclose(runs[0][:6], runs[1][:6], rtol=1e-6, atol=1e-6 * abs(runs[0]).max())


def test_every_iterate_is_a_certificate():
    X, y = points(np.random.default_rng(11), 60, 4)
    problem = model(X, y, kappa=0.1).view(ConicProblem)
    prepared = PreparedProblem.of(problem)
    state = initial_state(prepared, 1e-9, 100)
    lower, upper = [], []
    while state.outcome is Outcome.RUNNING:
        take_step(state)
        scale = prepared.sigma2
        point = state.point
        value = dual_value(problem, point.gamma / scale, point.zeta / scale, point.mu / scale)
        assert value >= point.bound / scale - 1e-9 * abs(value)  # τ is no better than the best one
        lower.append(value)
        upper.append(prepared.point(point.w, point.V).objective)
        assert point.gap == pytest.approx(point.objective - point.bound, rel=1e-4, abs=1e-9 * abs(point.objective))
    assert max(lower) <= min(upper) * (1 + 1e-12)


def test_trivial_solution_for_small_lambda():
    # λ||ΣAA'|| < 1: w = 0, W = 0, z = 1 is optimal
    X, y = points(np.random.default_rng(12), 50, 3)
    lam = 0.5 / np.linalg.norm(X, 2) ** 2
    raw = solved(model(X, y, lam=lam))
    assert raw.status is Status.OPTIMAL
    assert raw.bound == pytest.approx(50 * lam, rel=1e-8)


def degenerate_instances():
    rng = np.random.default_rng(20)
    X, y = points(rng, 40, 3)
    yield "duplicated points", np.repeat(X[:10], 4, axis=0), np.repeat(y[:10], 4)
    yield "contradicting duplicates", np.vstack([X, X]), np.r_[y, -y]
    yield "collinear columns", np.hstack([X, X[:, :2] @ np.ones((2, 1)), 2 * X[:, 1:2]]), y
    yield "constant columns", np.hstack([X, np.ones((40, 2))]), y
    wide = np.hstack([np.ones((12, 1)), rng.standard_normal((12, 30))])
    yield "more features than points", wide, np.where(np.arange(12) < 6, 1.0, -1.0)
    yield "one class almost empty", X, np.where(np.arange(40) == 3, 1.0, -1.0)
    yield "columns scaled 1e-6..1e6", X * np.array([1.0, 1e-6, 1e6, 1.0]), y
    yield "all scaled 1e6", 1e6 * X, y
    yield "all scaled 1e-6", 1e-6 * X, y
    yield "rows of zeros", np.vstack([X, np.zeros((3, 4))]), np.r_[y, 1, -1, 1]
    yield "two points", np.array([[1.0, 2.0], [1.0, -1.0]]), np.array([1.0, -1.0])


EXTREMES = [{"lam": value} for value in (1e-6, 1.0, 1e6)] + [{"kappa": value} for value in (1e-4, 0.1, 0.5)]


DEGENERATE = {name: (X, y) for name, X, y in degenerate_instances()}


@pytest.mark.parametrize(("name", "parameters"), part(product(DEGENERATE, EXTREMES), 2, kind=lambda cell: cell[0]), ids=str)
def test_degenerate_data_end_solved_or_honestly(name, parameters):
    X, y = DEGENERATE[name]
    problem = model(X, y, **parameters)
    raw = solved(problem)
    if name == "rows of zeros" and parameters.get("kappa") == 1e-4:
        assert raw.status is Status.INFEASIBLE  # three points have z = 1 and the budget is 0.0043
        assert raw.values is None
        return
    form = problem.form
    objective = form.objective(form.join(raw.values))
    assert raw.bound <= objective * (1 + 1e-12)
    gap = (objective - raw.bound) / abs(objective)
    assert raw.status in (Status.OPTIMAL, Status.STALLED)
    assert gap <= 1e-7
    if raw.status is Status.OPTIMAL:
        assert gap <= 1.001e-8
    x = form.join(raw.values)
    for c in form.constraints:
        size = 1.0 + np.abs(c.g).max(initial=0.0) + (abs(c.F) @ np.abs(x)).max(initial=0.0)
        assert c.cone.violation(c.value(x)) <= 1e-12 * size, c.label


def test_limits_return_a_feasible_point_and_a_valid_bound():
    X, y = points(np.random.default_rng(30), 80, 5)
    problem = model(X, y, kappa=0.05)
    optimum = solved(problem).objective
    raw = solved(problem, iteration_limit=4)
    assert raw.status is Status.ITERATION_LIMIT
    assert raw.iterations == 4
    objective = problem.form.objective(problem.form.join(raw.values))
    assert raw.bound < optimum < objective
    stopped = solved(problem, callback=lambda row: row.iteration >= 0)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.bound < optimum


def test_path_agrees_with_single_solves_in_the_order_given():
    X, y = points(np.random.default_rng(31), 90, 4)
    problem = model(X, y, lam=1.0).view(ConicProblem)
    kappas = [0.3, 0.01, 0.1, 0.5, 0.02]
    path = conic_path(problem, kappas=kappas)
    assert [result.parameter for result in path] == kappas
    for result in path:
        assert result.outcome is Outcome.CONVERGED
        assert result.relative_gap <= 1e-8
        single = solved(model(X, y, kappa=result.parameter))
        assert result.point.objective == pytest.approx(single.objective, rel=2e-8)
        assert result.point.values["z"].sum() <= result.parameter * 90 * (1 + 1e-12)
    lams = np.array([0.01, 0.3, 5.0])
    for result, cold in zip(conic_path(problem, lams=lams), conic_path(problem, lams=lams, warm=False), strict=True):
        assert result.point.objective == pytest.approx(cold.point.objective, rel=2e-8)
        assert result.bound.value <= cold.point.objective


def test_warm_starts_save_newton_steps():
    X, y = points(np.random.default_rng(32), 100, 3)
    problem = model(X, y, lam=1.0).view(ConicProblem)
    kappas = np.linspace(0.05, 0.5, 15)
    warm = sum(result.iterations for result in conic_path(problem, kappas=kappas))
    cold = sum(result.iterations for result in conic_path(problem, kappas=kappas, warm=False))
    assert warm < 0.8 * cold


def test_path_names_what_is_wrong():
    problem = ConicProblem(np.eye(3), 1.0, None)
    with pytest.raises(InputError, check=about("kappas")):
        conic_path(problem)
    with pytest.raises(InputError, check=about("kappas")):
        conic_path(problem, kappas=[0.0, 0.1])
    with pytest.raises(InputError, check=about("X")):
        conic_path(ConicProblem(np.zeros((3, 2)), 1.0, None), lams=[1.0])
    with pytest.raises(InputError, check=about("X")):
        conic_path(ConicProblem(np.full((3, 2), 1e-160), 1.0, None), lams=[1.0])
    assert conic_path(problem, lams=[]) == []
