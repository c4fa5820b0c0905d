"""Perspective cuts: valid at every feasible point, tangent to the hull, the same optimum, and what is refused."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import Model, ZeroOneProblem
from marginopt.solvers.cuts import PerspectiveCuts


def separator(model: Model) -> PerspectiveCuts:
    problem = model.view(ZeroOneProblem)
    assert problem is not None
    return PerspectiveCuts.of(model, problem)


def hull(u: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The convex hull of u² over {z = 1} and {z = 0, u ≥ 1}, by its split into p (kept) and u - p (given up)."""
    p = np.maximum((1 - z) * u, 1 - z)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.where(z < 1, p**2 / (1 - z), 0.0)
        given = np.where(z > 0, (u - p) ** 2 / z, 0.0)
    return np.asarray(kept + given)


@pytest.mark.parametrize("seed", range(5))
def test_no_feasible_point_is_cut_off_and_the_cut_touches_the_hull(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = clouds(seed, 12)
    cuts = separator(mo.ZeroOneSVM(X, y, rng.uniform(0.5, 2.0)))
    assert np.linalg.eigvalsh(cuts.rest)[0] > 0
    assert (cuts.gamma > 0).sum() >= 2
    found = 0
    for _ in range(40):
        w, z = rng.normal(size=3) * rng.choice([0.3, 1.0, 1.5]), rng.uniform(0.05, 1, 12)
        u = cuts.A @ w
        z = np.maximum(z, np.minimum(1.0, (1 - u) / 20))  # t is cut at -20
        for cut in cuts.cuts(np.concatenate([w, z, [0.0]]), np.inf):
            found += 1
            value = cut.least - cut.coefficients[:-1] @ np.concatenate([w, z])
            stated = cuts.scale * (w @ cuts.rest @ w + cuts.gamma @ hull(u, z))
            assert value == pytest.approx(stated, rel=1e-8)
            for _ in range(60):
                v = rng.normal(size=3) * rng.choice([0.1, 0.5, 1.0, 4.0])
                given = np.where(cuts.A @ v >= 1, rng.integers(0, 2, 12), 1)
                point = np.concatenate([v, given, [cuts.scale * v @ v]])
                assert cut.coefficients @ point >= cut.least - 1e-9 * (1 + v @ v)
    assert found > 20


def test_rounds_of_cuts_approach_the_bound_of_the_strengthened_encoding() -> None:
    """The continuous relaxation with cuts rises to that with the cones at the same γ, and never above it."""
    X, y = clouds(2, 12, shift=0.4)
    model = mo.ZeroOneSVM(X, y, 1.0)
    cuts = separator(model)
    strong = mo.ZeroOneSVM(X, y, 1.0, encoding="strengthened", gamma=cuts.gamma)
    expected = mo.solve(strong.form.relax_integrality(), "clarabel", tol=1e-8).objective
    w, z, tau = cp.Variable(3), cp.Variable(12), cp.Variable()
    x = cp.hstack([w, z, tau])
    rows = [cuts.A @ w + cp.multiply(model.big_m_values, z) >= 1, z >= 0, z <= 1, cp.sum_squares(w) <= tau]
    values = []
    for _ in range(60):
        values.append(cp.Problem(cp.Minimize(tau + cp.sum(z)), rows).solve(solver="CLARABEL"))
        found = cuts.cuts(np.asarray(x.value), np.inf)
        if not found:
            break
        rows += [cut.coefficients @ x >= cut.least for cut in found]
    assert values[0] < expected * 0.99
    assert np.diff(values).min() >= -1e-5
    assert values[-1] <= expected * (1 + 1e-5)
    assert values[-1] >= values[0] + 0.8 * (expected - values[0])


def test_refusals() -> None:
    X, y = clouds(1, 12)
    for solver in ("scip", "gurobi"):
        with pytest.raises(InputError, match="a free intercept has no curvature"):
            mo.solve(mo.ZeroOneSVM(X, y, intercept="free"), solver, cuts="perspective")
        with pytest.raises(InputError, match="needs a 0-1 loss"):
            mo.solve(mo.HingeSVM(X, y), solver, cuts="perspective")
