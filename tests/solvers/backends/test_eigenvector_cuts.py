"""Outer approximation of semidefinite cones: bounds that rise to the optimum, proved at any time; integers beside such cones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from effort import trials
from facts import about

import marginopt as mo
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import PSD, Block, Constraint, Nonnegative, StandardForm
from marginopt.models.program.cones import smat, svec
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.backends.highs import Highs
from marginopt.solvers.conic.eigenvector_cuts import EigenvectorCuts

X, Y = clouds(4, 12, 2, 0.0, order="turns", first=-1.0)
DIAGONAL = np.array([0, 2, 5])


@pytest.mark.parametrize("master", ["gurobi", "clarabel"])
def test_bounds_rise_to_the_optimum_and_are_proved(master: str) -> None:
    if master == "gurobi":
        pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    solver = EigenvectorCuts(master)
    model = mo.ConicSVM(X, Y, lam=0.6)
    best = mo.solve(model, "clarabel", tol=1e-8)
    early = mo.solve(model, solver, iteration_limit=3)
    assert early.status is mo.Status.ITERATION_LIMIT and early.iterations == 3 and early.bound_kind == "proved"
    result = mo.solve(model, solver, threads=1)
    assert result.status is mo.Status.OPTIMAL and result.bound_kind == "proved"
    assert early.bound < result.bound <= best.objective * (1 + 1e-9)
    assert result.bound == pytest.approx(best.objective, rel=1e-5)
    bounds = result.trace.column("bound")
    assert (np.diff(bounds[np.isfinite(bounds)]) >= -1e-7).all()


def program(seed: int) -> StandardForm:
    """min <C, X>, X ⪰ 0 of order 3 with a diagonal of 0 to 2, integer, and a trace of at least 2."""
    C = np.random.default_rng(seed).normal(size=(3, 3))
    integer = np.isin(np.arange(6), DIAGONAL)
    trace = Constraint("trace", sp.csr_array(svec(np.eye(3))[None]), np.array([-2.0]), Nonnegative(1))
    cone = Constraint("cone", sp.eye_array(6, format="csr"), np.zeros(6), PSD.of_order(3))
    lower, upper = np.where(integer, 0.0, -4.0), np.where(integer, 2.0, 4.0)
    return StandardForm("integers", (Block("X", (6,)),), svec(C + C.T), (trace, cone), lower, upper, integer)


@pytest.mark.parametrize("seed", range(trials(2, 12)))
def test_integers_beside_semidefinite_cones_against_enumeration(seed: int) -> None:
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    form, values = program(seed), []
    for diagonal in itertools.product((0.0, 1.0, 2.0), repeat=3):
        if sum(diagonal) >= 2.0:
            lower, upper = form.lower.copy(), form.upper.copy()
            lower[DIAGONAL] = upper[DIAGONAL] = diagonal
            fixed = form.replace(integer=np.zeros(6, dtype=bool), lower=lower, upper=upper)
            values.append(mo.solve(fixed, "clarabel").objective)
    result = mo.solve(form, EigenvectorCuts(), tol=1e-6, threads=1)
    assert result.objective == pytest.approx(min(values), rel=1e-4, abs=1e-4) and result.bound <= min(values) + 1e-5
    assert np.linalg.eigvalsh(smat(result.values["X"]))[0] >= -1e-6


def test_what_the_master_does_not_read_and_forms_without_such_cones_are_refused() -> None:
    with pytest.raises(UnsupportedModelError, check=about("eigenvector-cuts")):
        mo.solve(mo.HingeSVM(X, Y), EigenvectorCuts(Clarabel()))
    with pytest.raises(UnsupportedModelError):
        mo.solve(mo.ConicSVM(X, Y, lam=0.6), EigenvectorCuts(Highs()))


def test_the_master_is_a_name_or_an_object() -> None:
    for master in ("clarabel", Clarabel()):
        assert isinstance(EigenvectorCuts(master).backend, Clarabel)
    for wrong in ("conic-ipm", 3):
        with pytest.raises(InputError, check=about("master")):
            mo.solve(mo.ConicSVM(X, Y, lam=0.6), EigenvectorCuts(wrong))  # type: ignore[arg-type]


def test_relaxations_without_a_point_make_the_program_infeasible() -> None:
    form = program(0).replace(integer=np.zeros(6, dtype=bool))
    form = form.replace(lower=np.where(np.isin(np.arange(6), DIAGONAL), 0.0, 3.0), upper=np.full(6, 4.0))
    form = form.replace(upper=np.where(np.isin(np.arange(6), DIAGONAL), 1.0, form.upper))
    assert mo.solve(form, EigenvectorCuts(Clarabel())).status is mo.Status.INFEASIBLE
