"""Every algorithm stops when it is done: no more than twice the iterations to a certified gap; a limit there is no limit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from effort import part

import marginopt as mo
from marginopt import Status
from marginopt.solvers.registry import all_solvers, solvers_that_read

RNG = np.random.default_rng(3)
#: A constant, a column of zeros and ones, a heavy tail, rows that occur twice.
F = np.column_stack([RNG.integers(0, 2, 120), RNG.standard_t(3, 120), RNG.normal(size=(120, 2))])
F[110:] = F[:10]
X = np.column_stack([np.ones(120), F])
Y = np.where(F @ [1.0, -0.5, 0.7, 0.2] - 0.5 + 0.7 * RNG.normal(size=120) > 0, 1.0, -1.0)
#: Wide sparse rows, which begin with coordinate descent.
WIDE = sp.csr_array(sp.hstack([np.ones((120, 1)), sp.random_array((120, 2500), density=0.02, rng=RNG) > 0]), dtype=float)
WIDE_Y = np.where(WIDE @ RNG.normal(size=2501) + RNG.normal(size=120) > 0, 1.0, -1.0)
#: Iterations that a look at the gap may be late.
_LATE = 12

MODELS: dict[str, Callable[[], mo.Model]] = {
    "hinge": lambda: mo.HingeSVM(X, Y, 2.0),
    "hinge, wide": lambda: mo.HingeSVM(WIDE, WIDE_Y, 200.0),
    "squared hinge": lambda: mo.Margin(X, Y, loss="squared-hinge", regulariser="half-l2"),
    "logistic": lambda: mo.Margin(X, Y, loss="logistic", regulariser="half-l2"),
    "box": lambda: mo.L1SVMDual(X, Y, 100.0, mo.RBF(0.05)),
    "box, linear": lambda: mo.L1SVMDual(X, Y, 10.0),
    "simplex": lambda: mo.L2SVMDual(X, Y, 1.0, mo.RBF(0.5)),
    "ball": lambda: mo.MEBDual(X, mo.RBF(0.5)),
    "hulls": lambda: mo.ConvexHullsDual(X, Y, 10.0, mo.RBF(5.0)),
    "several classes": lambda: mo.MulticlassSVM(X, np.digitize(F[:, 2], [-0.5, 0.5]), "crammer-singer", 1.0),
    "conic": lambda: mo.ConicSVM(X[:50], Y[:50], 1.0),
}  # fmt: skip


@functools.cache
def model_of(name: str) -> mo.Model:
    return MODELS[name]()


def cases() -> list[tuple[str, str]]:
    """Every model with every algorithm that reads its structure."""
    with np.errstate(all="ignore"):
        return [
            (name, solver)
            for name in MODELS
            for solver in solvers_that_read(model_of(name))
            if not all_solvers()[solver].reads_form and all_solvers()[solver].info.views
        ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("case", "tol"), part(product(cases(), [1e-2, 1e-4]), 1, kind=lambda cell: cell[0]), ids=str)
def test_twice_the_iterations_to_a_certified_gap_at_most(case: tuple[str, str], tol: float) -> None:
    name, solver = case
    if solver == "fw" and tol < 1e-3:
        pytest.skip("Frank-Wolfe without away steps is sublinear: it takes a million iterations")
    model = model_of(name)
    result = mo.solve(model, solver, tol=tol)
    assert result.status is Status.OPTIMAL and result.gap <= tol and result.iterations is not None
    early = (result.iterations - _LATE) // 2 - 1
    if early > 0:
        assert mo.solve(model, solver, tol=tol, iteration_limit=early).gap > tol
    limited = mo.solve(model, solver, tol=tol, iteration_limit=result.iterations)
    assert (limited.status is Status.OPTIMAL) == (limited.gap <= tol)
