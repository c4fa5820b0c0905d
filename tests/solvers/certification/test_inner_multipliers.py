"""Bounds where a dual vertex is degenerate: the multipliers are moved inwards, and cost no more than they are moved."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from effort import trials

import marginopt as mo
from marginopt import margin
from marginopt.models import Block, Constraint, Nonnegative, StandardForm, Zero
from marginopt.models.model import BareForm
from marginopt.models.program.lagrangian import dual_bound
from marginopt.solvers.certification.evidence import ScaledConeRows, ScaledLinearRows, interior_multipliers
from marginopt.solvers.judgement import judge
from marginopt.solvers.records import Answer, Options
from marginopt.solvers.registry import get_solver

POINTS = margin.KernelWeightsL1(np.vstack([np.eye(3), np.ones((1, 3))]), 0.5)


def drawn(seed: int, loss: Any, regulariser: Any, *restrictions: Any, domain: Any = None) -> mo.Margin:
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, 8, 2, 0.4, order="halves", first=-1.0)
    domain = margin.Reals() if domain is None else domain
    weights = rng.uniform(0.3, 1.0, 8)
    return mo.Margin(X, y, loss, regulariser, sample_weight=weights, domain=domain, subject_to=list(restrictions))


@pytest.mark.parametrize("seed", range(trials(2, 6)))
@pytest.mark.parametrize(
    "loss",
    [margin.Hinge(), margin.EpsilonInsensitive(0.2), margin.NearestHulls(), margin.EnclosingBall()],
    ids=lambda p: type(p).__name__,
)
def test_more_active_rows_than_variables(seed: int, loss: Any) -> None:
    """Kernel weights that are as many as their rows, kept points, an order: only 0 was proved of a hinge at 3.934."""
    rows = [mo.keep([0])] if loss.reads_class_labels and seed % 2 else []
    model = drawn(seed, loss, POINTS, *rows, domain=margin.Increasing((1, 2)) if seed % 3 else None)
    result = mo.solve(model, "clarabel", tol=1e-8)
    if result.status is mo.Status.UNBOUNDED or result.status is mo.Status.INFEASIBLE:
        return
    assert result.solved or result.gap <= 1e-6
    assert result.bound_kind == "proved"
    assert result.bound >= result.objective - 1e-6 * (1 + abs(result.objective))


def test_the_inner_multipliers_bound_the_optimum() -> None:
    """They lie deep inside their cones, meet stationarity, and their Lagrangian is finite and not above the optimum."""
    inside = 0
    for seed, regulariser in product(range(10), (POINTS, margin.L1(0.5), margin.GroupL1((0, 1, 1), 0.4))):
        model = drawn(seed, margin.Hinge(), regulariser, mo.keep([0]))
        result = mo.solve(model, "clarabel", tol=1e-9)
        if not result.solved or result.certificate is None:
            continue
        form = model.form
        x = form.join(result.values)
        rows = ScaledLinearRows.of(form) or ScaledConeRows.of(form)
        assert rows is not None
        inner = rows.interior_multipliers(x)
        if inner is None:
            continue
        inside += 1
        for c in form.constraints:
            if isinstance(c.cone, Nonnegative):
                assert (inner[c.label] > 0.0).all()
        slopes = form.q - sum(c.F.T @ inner[c.label] for c in form.constraints)
        free = np.isinf(form.lower) & np.isinf(form.upper)
        assert np.abs(slopes[free]).max(initial=0.0) <= 1e-6
        assert (slopes[(form.lower == 0.0) & np.isinf(form.upper)] > 0.0).all()
        assert -np.inf < dual_bound(form, x, inner).value <= result.objective + 1e-9
    assert inside >= 20


REGULARISERS = [margin.SquaredNorm(0.7), margin.L1(0.5), margin.GroupL1((0, 1, 1), 0.4), POINTS]
DOMAINS = [margin.Reals(), margin.Box(-1.0, 1.5), margin.Signs((0, 1, 0))]


@pytest.mark.parametrize("seed", range(trials(1, 4)))
@pytest.mark.parametrize("regulariser", REGULARISERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda p: type(p).__name__)
def test_nu_hinges_whose_optimum_is_zero(seed: int, regulariser: Any, domain: Any) -> None:
    """w = 0, ρ = 0 is optimal where the classes cannot be told apart as well as the regulariser asks."""
    model = drawn(seed, margin.NuHinge(0.4), regulariser, mo.parity(np.arange(8) % 2 == 0, 0.0), domain=domain)
    result = mo.solve(model, "clarabel", tol=1e-9)
    if result.status is mo.Status.UNBOUNDED:  # they can be told apart better than that
        return
    assert result.solved or 0.0 <= result.gap <= 1e-6
    if abs(result.objective) <= 1e-9:
        assert result.objective == 0.0
        assert result.values["w"] == pytest.approx(0.0, abs=0.0)


def cone(q: Any, F: Any) -> StandardForm:
    """min q'x over F x ≥ 0, x_0 ≥ 0, the rest free."""
    q, F = np.asarray(q, dtype=float), np.asarray(F, dtype=float)
    lower = np.full(q.size, -np.inf)
    lower[0] = 0.0
    rows = Constraint("rows", sp.csr_array(F), np.zeros(F.shape[0]), Nonnegative(F.shape[0]))
    upper, real = np.full(q.size, np.inf), np.zeros(q.size, dtype=bool)
    return StandardForm("cone", (Block("x", (q.size,)),), q, (rows,), lower, upper, real)


@pytest.mark.parametrize("seed", range(trials(8, 30)))
def test_a_finite_bound_over_a_cone_is_zero_and_an_endless_descent_has_none(seed: int) -> None:
    """q = F'z + ζ for some z, ζ ≥ 0, or a ray of descent: exactly one (Farkas), and the bound is 0 or none."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(6, 3))
    z, price = rng.uniform(0.1, 1.0, 6), rng.uniform(0.1, 1.0)
    bounded = cone(F.T @ z + price * np.eye(3)[0], F)
    assert dual_bound(bounded, None, {"rows": z}).value == 0.0
    d = np.abs(rng.normal(size=3))
    rows = F * np.sign(F @ d)[:, None]  # d satisfies every row
    endless = cone(-d, rows)
    for _ in range(10):
        assert dual_bound(endless, None, {"rows": rng.uniform(0.0, 3.0, 6)}).value == -np.inf


@pytest.mark.parametrize(("seed", "solver"), [(0, "highs"), (1, "clarabel")])
def test_a_linear_program_with_more_slopes_of_zero_than_multipliers(seed: int, solver: str) -> None:
    """At the only dual optimum 120 slopes are zero, with 60 multipliers: rounding decides their signs there."""
    rng = np.random.default_rng(seed)
    m, zero, others = 60, 120, 680
    F, z = rng.normal(size=(m, zero + others)), rng.normal(size=m)
    x = np.concatenate([rng.uniform(0.5, 1.0, zero), np.zeros(others)])
    F[0] = np.abs(F[0]) + 0.1  # the set is bounded, so some slopes can all be positive
    q = F.T @ z + np.concatenate([np.zeros(zero), rng.uniform(0.1, 1.0, others)])
    rows = Constraint("rows", sp.csr_array(F), -F @ x, Zero(m))
    n = zero + others
    form = StandardForm("degenerate", (Block("x", (n,)),), q, (rows,), np.zeros(n), np.full(n, np.inf), np.zeros(n, dtype=bool))
    result = mo.solve(form, solver, tol=1e-7)
    assert result.bound_kind == "proved"
    assert result.solved
    assert q @ x - 1e-6 * (1 + abs(q @ x)) <= result.bound <= q @ x + 1e-12
    inner = interior_multipliers(form, form.join(result.values))
    assert inner is not None
    assert (q - F.T @ inner["rows"] > 0.0).all()


@pytest.mark.parametrize("seed", range(4))
def test_inner_multipliers_leave_the_slopes_of_quadratic_variables_open(seed: int) -> None:
    """At the point of a ν-SVM the slope of its level is zero for the only multipliers; beside others of w it is positive."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(12), rng.normal(size=(12, 2)) + 0.5 * y[:, None]])
    model = mo.NuSVM(X, y)
    for solver in ("highs", "clarabel"):
        result = mo.solve(model, solver)
        assert result.status is mo.Status.OPTIMAL and result.bound_kind == "proved", solver
    inner = interior_multipliers(model.form, model.form.join(result.values))
    assert inner is not None
    slopes = model.form.gradient(model.form.join(result.values)) - model.form.constraint("margin").F.T @ inner["margin"]
    assert (slopes[3:] > 0.0).all() and (inner["margin"] > 0.0).all()


@pytest.mark.parametrize(("limit", "spent", "left"), [(None, 1.0, None), (4e6, 1e6, 3e6), (40.0, 39.0, 4.0)])
def test_the_interior_program_ends_with_the_time_limit(
    limit: float | None, spent: float, left: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has what the solver left of the limit, a tenth of the limit at least; an answer without multipliers asks for it."""
    import scipy.optimize

    asked: list[float | None] = []
    solve = scipy.optimize.linprog

    def told(*args: Any, **options: Any) -> Any:
        asked.append(options["options"]["time_limit"])
        return solve(*args, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", told)
    row = Constraint("row", sp.csr_array(np.ones((1, 2))), -np.ones(1), Nonnegative(1))
    form = StandardForm("lp", (Block("x", (2,)),), np.ones(2), (row,), np.zeros(2), np.full(2, np.inf), np.zeros(2, dtype=bool))
    solver = get_solver("highs")
    answer = Answer(mo.Status.OPTIMAL, "so it says", values={"x": np.array([1.0, 0.0])}, objective=1.0, solve_seconds=spent)
    judge(BareForm(form), solver, answer, Options(time_limit=limit), solver.licence())
    assert asked == [None if left is None else pytest.approx(left, rel=1e-3)]
