"""Boxes that rows imply hold every point of the form, and make optima of bounded convex programs proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.models import StandardForm
from marginopt.models.program.implied_bounds import implied_bounds
from marginopt.models.program.lagrangian import dual_bound

Build = Callable[[np.random.Generator], tuple[Any, Any]]


def trace(rng: np.random.Generator) -> tuple[Any, Any]:
    X = cp.Variable((3, 3), PSD=True, name="X")
    C = rng.normal(size=(3, 3))
    return cp.sum(cp.multiply(C + C.T, X)), [cp.trace(X) == 1]


def correlation(rng: np.random.Generator) -> tuple[Any, Any]:
    X = cp.Variable((4, 4), symmetric=True, name="X")
    C = rng.normal(size=(4, 4))
    return cp.sum(cp.multiply(C + C.T, X)), [X >> 0, cp.diag(X) <= rng.uniform(1, 3, 4)]


def norm(rng: np.random.Generator) -> tuple[Any, Any]:
    x = cp.Variable(4, name="x")
    return rng.normal(size=4) @ x, [cp.norm(x - rng.normal(size=4)) <= rng.uniform(0.5, 3)]


def simplex(rng: np.random.Generator) -> tuple[Any, Any]:
    x = cp.Variable(5, name="x")
    return rng.normal(size=5) @ x, [x >= -0.5, rng.uniform(0.1, 2, 5) @ x <= 3]


def chained(rng: np.random.Generator) -> tuple[Any, Any]:
    x, y = cp.Variable(3, name="x"), cp.Variable(3, name="y")
    return rng.normal(size=3) @ y, [cp.norm(x) <= 2, y == rng.normal(size=(3, 3)) @ x + 1]


BUILDS: tuple[Build, ...] = (trace, correlation, norm, simplex, chained)


def form_of(build: Build, seed: int, cost: np.ndarray | None = None) -> StandardForm:
    expression, rows = build(np.random.default_rng(seed))
    form = mo.from_cvxpy(cp.Problem(cp.Minimize(expression), rows))
    return form if cost is None else form.replace(q=cost)


@pytest.mark.parametrize("build", BUILDS)
def test_the_box_holds_every_point(build: Build) -> None:
    """The extreme points in each direction are in it, for directions at random and along the axes."""
    for seed in range(trials(1, 3)):
        form = form_of(build, seed)
        box = implied_bounds(form)
        assert box is not None
        named = np.concatenate([np.arange(form.n)[form.slices[b.label]] for b in form.blocks if "cvxpy" not in b.label])
        assert np.isfinite(box.lower[named]).all()
        assert np.isfinite(box.upper[named]).all()
        assert "follow from" in box.derivation
        for j in named:
            for sign in (1.0, -1.0):
                result = mo.solve(form.replace(q=sign * np.eye(form.n)[j]), "clarabel")
                assert box.lower[j] - 1e-7 <= sign * result.objective - form.r <= box.upper[j] + 1e-7


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("solver", ["clarabel", "scs"])
def test_optima_of_bounded_convex_programs_are_proved(build: Build, solver: str) -> None:
    for seed in range(3):
        result = mo.solve(form_of(build, seed), solver)
        assert (result.status, result.bound_kind) == (mo.Status.OPTIMAL, "proved")
        assert result.certificate is not None
        assert result.certificate.derived == "" or result.certificate.derived in result.evidence


@pytest.mark.parametrize("build", BUILDS)
def test_bounds_from_any_multipliers_are_below_the_optimum(build: Build) -> None:
    rng = np.random.default_rng(7)
    for seed in range(3):
        form = form_of(build, seed)
        optimum = mo.solve(form, "clarabel").objective
        for _ in range(10):
            z = {c.label: rng.normal(size=c.rows) for c in form.constraints}
            assert dual_bound(form, None, z).value <= optimum + 1e-6


def test_free_directions_have_no_box() -> None:
    x = cp.Variable(3, name="x")
    form = mo.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] + x[1] <= 1]))
    assert implied_bounds(form) is None
