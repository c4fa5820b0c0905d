"""The 0-1 problem with a kernel, Conic (23)-(24): the linear one over the points' images, by every solver and relaxation."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import marginopt as mo
from marginopt.relaxations import BigM, Conic, relax

RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(8, 2))
Y = np.array([-1.0, 1, -1, 1, 1, -1, 1, -1])
KERNEL = mo.RBF(0.4)


@cache
def enumerated(lam: float) -> float:
    """Over all kept sets, the dual of min α'Kα with (Kα)_i ≥ 1, K_ij = y_i y_j (k_ij + 1).

    Sets whose points that are given up alone cost as much as the best one come last, and are not solved.
    """
    K = np.outer(Y, Y) * (KERNEL.matrix(POINTS, POINTS) + 1.0)
    best = np.inf
    for mask in sorted(itertools.product([False, True], repeat=Y.size), key=sum, reverse=True):
        chosen = np.flatnonzero(mask)
        value = lam * (Y.size - chosen.size)
        if value >= best:
            break
        if chosen.size:
            a = cp.Variable(chosen.size, nonneg=True)
            dual = cp.Problem(cp.Maximize(cp.sum(a) - 0.25 * cp.quad_form(a, cp.psd_wrap(K[np.ix_(chosen, chosen)]))))
            value += dual.solve(solver="CLARABEL")
        best = min(best, value)
    return float(best)


@pytest.mark.parametrize("solver", ["scip", "zero-one-bb"])
def test_every_solver_of_the_linear_problem_reaches_the_enumerated_optimum(solver: str) -> None:
    model = mo.ZeroOneSVM(POINTS, Y, 0.7, kernel=KERNEL)
    result = mo.solve(model, solver)
    assert result.objective == pytest.approx(enumerated(0.7), rel=1e-4)
    scores = model.decision_function(result.values, POINTS)
    np.testing.assert_allclose(scores, model.X @ result.values["w"], atol=1e-7)
    new = RNG.normal(size=(5, 2))
    beta = model.kernel.coordinates.coefficients(result.values["w"][1:])
    np.testing.assert_allclose(
        model.decision_function(result.values, new), KERNEL.matrix(new, POINTS) @ beta + result.values["w"][0]
    )


def test_the_relaxation_is_the_kernel_form_of_the_paper() -> None:
    model = mo.ZeroOneSVM(POINTS, Y, 0.7, kernel=KERNEL)
    linear = relax(model, Conic(), "clarabel").result.objective
    kernel = mo.solve(mo.ConicSVM(POINTS, Y, 0.7, kernel=KERNEL), "clarabel").objective
    assert linear == pytest.approx(kernel, rel=1e-5)
    assert relax(model, BigM("zero"), "clarabel").result.objective <= enumerated(0.7) + 1e-6
    assert linear <= enumerated(0.7) + 1e-6


def test_a_model_that_is_replaced_keeps_its_images() -> None:
    model = mo.ZeroOneSVM(POINTS, Y, 0.7, kernel=KERNEL)
    other = replace(model, lam=1.4)
    assert other.kernel is model.kernel
    np.testing.assert_array_equal(other.X, model.X)
    assert model.X.shape == (8, 9)
    again = replace(model, X=POINTS[::-1], y=Y[::-1])
    assert mo.solve(again, "zero-one-bb").objective == pytest.approx(mo.solve(model, "zero-one-bb").objective, rel=1e-6)
    assert "images under the kernel" in str(model)
    precomputed = mo.ZeroOneSVM(KERNEL.matrix(POINTS, POINTS), Y, 0.7, kernel=mo.Precomputed())
    assert mo.solve(precomputed, "zero-one-bb").objective == pytest.approx(mo.solve(model, "zero-one-bb").objective, rel=1e-6)
