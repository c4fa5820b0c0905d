"""The programs of the capped loss and of correntropy: enumeration, exact solvers, and the gap of local optima."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Literal

import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.models import RBF, Kernel, Linear, NonparallelSVM
from marginopt.solvers import Status
from marginopt.solvers.nonparallel.majorise import Majorisation


def stated(seed: int, n: int, kernel: Kernel, manifold: float = 0.0) -> NonparallelSVM:
    """Two overlapping classes, a binary column and one point far away among the target's."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = np.column_stack([np.ones(n), rng.normal(size=n), (rng.random(n) < 0.5).astype(float)])
    X[y == 1, 1] += 1.0
    X[1, 1] = 6.0
    return NonparallelSVM(X, y, 1, loss="capped", epsilon=0.3, c=1.0, r=0.2, kernel=kernel, manifold=manifold)


def enumerated(model: NonparallelSVM) -> float:
    """The least optimum of the convex problems with |f_i| for some points of the class and ε for the others."""
    inside = np.flatnonzero(model.inside)
    whole = model.majorant(np.zeros(model.features.dimension))  # slope 1 everywhere
    others = whole.h.size - inside.size
    best = np.inf
    for z in product((0.0, 1.0), repeat=inside.size):
        given_up = np.array(z)
        weights = np.concatenate([whole.weights[:others], 1.0 - given_up])
        program = replace(whole, weights=weights, constant=model.epsilon * given_up.sum())
        best = min(best, mo.solve(program, "boxqp", tol=1e-9).objective)
    return best


KERNELS = [Linear(), RBF(0.5)]


@pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize("manifold", [0.0, 0.4])
def test_the_program_has_the_optimum_of_enumeration(kernel: Kernel, manifold: float) -> None:
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    model = stated(1, 10, kernel, manifold)
    result = mo.solve(model, "scip")
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(enumerated(model), abs=1e-6)
    assert model.objective(result.values["u"]) == pytest.approx(result.objective, abs=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "rbf"])
@pytest.mark.parametrize("n", [10, 14, 20])
def test_local_optima_are_at_or_above_the_global_one(kernel: Kernel, n: int) -> None:
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    gaps = []
    for seed in range(4):
        model = stated(seed, n, kernel)
        best = mo.solve(model, "gurobi")
        ends = [mo.solve(model, Majorisation(starts=starts)) for starts in (1, 8)]
        assert best.status is Status.OPTIMAL and all(end.status is Status.STATIONARY for end in ends)
        assert all(end.objective >= best.bound - 1e-6 for end in ends)
        assert ends[0].objective >= ends[1].objective - 1e-9, "more starts find nothing worse"
        gaps.append([end.objective / best.objective - 1.0 for end in ends])
        # the global optimum is a fixed point of the majorisation
        again = mo.solve(model, Majorisation(starts=1), start={"u": best.values["u"]})
        assert again.objective == pytest.approx(best.objective, abs=1e-6)
    assert max(gap for gap, _ in gaps) > 1e-3, "a single start is caught in a local optimum of one of these"


@pytest.mark.parametrize("loss", ["capped", "correntropy"])
def test_every_point_has_its_best_completion(loss: Literal["capped", "correntropy"]) -> None:
    rng = np.random.default_rng(0)
    for kernel in KERNELS:
        model = replace(stated(0, 12, kernel), loss=loss)
        reach = np.abs(model.form.upper[0])
        for _ in range(10):
            u = rng.normal(size=model.features.dimension)
            u *= rng.random() * reach / np.linalg.norm(u)
            values = model.complete({"u": u})
            x = model.form.join(values)
            assert model.form.objective(x) == pytest.approx(model.objective(u), rel=1e-12)
            assert max(c.cone.violation(c.value(x)) for c in model.form.constraints) <= 1e-9 * max(1.0, np.abs(x).max())
            assert (x >= model.form.lower - 1e-12).all() and (x <= model.form.upper * (1.0 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("seed", range(trials(2, 20)))
def test_the_program_of_correntropy_bounds_every_point_and_the_majorisation_from_below(seed: int) -> None:
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    model = replace(stated(seed, 8, Linear()), loss="correntropy", gamma=0.5, r=1.0)
    best = mo.solve(model, "scip", tol=1e-6)
    assert best.status in (Status.OPTIMAL, Status.INACCURATE)
    assert model.objective(best.values["u"]) == pytest.approx(best.objective, rel=1e-6)
    local = mo.solve(model, "npsvc-mm")
    assert best.objective <= local.objective + 1e-4
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(2000, 3)) * rng.choice([0.1, 1.0, 3.0], (2000, 1))
    assert min(map(model.objective, directions)) >= best.bound - 1e-6


def test_cvxpy_has_the_same_program() -> None:
    model = stated(2, 12, Linear())
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    cvxpy = pytest.importorskip("cvxpy", reason="CVXPY is not installed")
    best = mo.solve(model, "scip").objective
    problem = model.to_cvxpy()
    problem.solve(solver=cvxpy.SCIP)
    assert problem.value == pytest.approx(best, abs=1e-5)
