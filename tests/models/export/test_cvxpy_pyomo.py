"""Forms as CVXPY problems and Pyomo models: names kept, the same optimum, multipliers in our signs, refusals with a reason."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about, missing

from marginopt.errors import ExportError, MissingPackageError
from marginopt.models import (
    PSD,
    RBF,
    Block,
    ConicSVM,
    Constraint,
    HingeSVM,
    L2SVMDual,
    MEBDual,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.export.cvxpy_problem import labelled_constraints, labelled_variables, multipliers, to_cvxpy
from marginopt.models.export.pyomo_model import pyomo_indices, to_pyomo
from marginopt.models.program.cones import Cone, svec
from marginopt.solvers.certification.rays import farkas_residual
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem

cp = pytest.importorskip("cvxpy")
pyo = pytest.importorskip("pyomo.environ")


def mixed_form(factored=False):
    """Scalar, vector, matrix and symmetric blocks; every kind of cone; bounds on some; the objective touches two blocks."""
    rng = np.random.default_rng(0)
    blocks = (Block("t", ()), Block("v", (3,)), Block("M", (2, 2)), Block("S", (2, 2), symmetric=True))
    n, cones = 11, (Zero(1), Nonnegative(3), SecondOrder(3, 2), RotatedSecondOrder(3, 2), PSD(3, 2))
    inside = {
        Zero: np.zeros(1),
        Nonnegative: np.array([0.0, 1.0, 2.0]),
        SecondOrder: np.array([1.0, 0.3, -0.4, 2.0, 1.0, 1.0]),
        RotatedSecondOrder: np.array([1.0, 0.5, 0.3, 2.0, 1.0, -0.5]),
        PSD: np.concatenate([svec(np.eye(2)), svec(np.array([[1.0, 0.5], [0.5, 2.0]]))]),
    }
    x = rng.uniform(-1, 1, n)
    rows = []
    for cone in cones:
        F = rng.normal(size=(cone.rows, n))
        rows.append(Constraint(f"in {type(cone).__name__}", sp.csr_array(F), inside[type(cone)] - F @ x, cone))
    R = np.zeros((3, n))
    R[:, [0, 2, 3]] = rng.normal(size=(3, 3))
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower[[0, 2, 5, 8]], upper[[0, 3, 5, 10]] = x[[0, 2, 5, 8]] - 0.1, x[[0, 3, 5, 10]] + 0.1
    quadratic = Quadratic(factor=R) if factored else Quadratic(matrix=R.T @ R)
    ball = Constraint("ball", sp.csr_array(np.vstack([np.zeros(n), np.eye(n)])), np.r_[5.0, np.zeros(n)], SecondOrder(n + 1))
    nobody = np.zeros(n, dtype=bool)
    return StandardForm("mixed", blocks, rng.normal(size=n), (*rows, ball), lower, upper, nobody, quadratic, r=1.5)


def check_stationarity(form, x, z, zeta, tol):
    residual = form.gradient(x) - zeta - sum(c.F.T @ z[c.label] for c in form.constraints)
    assert np.abs(residual).max() <= tol
    for c in form.constraints:
        assert c.cone.dual_violation(z[c.label]) <= tol
        assert abs(z[c.label] @ c.value(x)) <= tol


# -- CVXPY -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factored", [False, True])
def test_cvxpy_problem_has_the_same_optimum_and_multipliers(factored):
    form = mixed_form(factored)
    problem = to_cvxpy(form)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    ours = solve_problem(form, "clarabel", Options(tol=1e-8))
    assert problem.value == pytest.approx(ours.objective, rel=1e-7)
    x = form.join({name: np.asarray(v.value) for name, v in labelled_variables(problem).items()})
    assert form.objective(x) == pytest.approx(problem.value, rel=1e-9)
    z, zeta = multipliers(form, problem)
    check_stationarity(form, x, z, zeta, 1e-6)
    assert (zeta[~np.isfinite(form.lower) & ~np.isfinite(form.upper)] == 0).all()


def test_cvxpy_names_shapes_and_labels():
    problem = to_cvxpy(mixed_form())
    variables = labelled_variables(problem)
    assert {name: v.shape for name, v in variables.items()} == {"t": (), "v": (3,), "M": (2, 2), "S": (2, 2)}
    assert variables["S"].is_symmetric() and isinstance(problem.objective, cp.Minimize)
    assert set(labelled_constraints(problem)) == {
        "in Zero", "in Nonnegative", "in SecondOrder", "in RotatedSecondOrder", "in PSD[0]", "in PSD[1]", "ball",
        "lower bounds t", "lower bounds v", "lower bounds M", "lower bounds S", "upper bounds t", "upper bounds v",
        "upper bounds M", "upper bounds S",
    }  # fmt: skip
    assert multipliers(mixed_form(), problem) is None  # not solved yet


@pytest.mark.parametrize("kind", ["hinge", "l2", "meb", "lambda", "kappa"])
def test_models_through_cvxpy(kind, overlapping):
    X, y = overlapping.X, overlapping.y
    model = {
        "hinge": lambda: HingeSVM(X, y, lam=1.0),
        "l2": lambda: L2SVMDual(X, y, C=1.0, kernel=RBF(0.4)),
        "meb": lambda: MEBDual(X, kernel=RBF(0.4)),
        "lambda": lambda: ConicSVM(X, y, lam=0.7),
        "kappa": lambda: ConicSVM(X, y, kappa=0.5),
    }[kind]()
    problem = model.to_cvxpy()
    problem.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9)
    assert problem.value == pytest.approx(solve_problem(model, "clarabel", Options()).certificate.objective, rel=2e-6)


def test_cvxpy_integrality():
    nothing = np.full(6, np.inf)
    blocks = (Block("b", (2,)), Block("k", (2,)), Block("part", (2,)))
    integer = np.array([1, 1, 1, 1, 0, 1], dtype=bool)
    lower, upper = np.array([0, 0, -3, -3, -9, -9.0]), np.array([1, 1, 3, 3, 9, 9.0])
    form = StandardForm("whole", blocks, np.ones(6), (), lower, upper, integer)
    variables = labelled_variables(to_cvxpy(form))
    assert variables["b"].attributes["boolean"] is True
    assert variables["k"].attributes["integer"] is True
    assert list(variables["part"].attributes["integer"]) == [(1,)]
    half = Constraint("half", sp.csr_array(np.eye(6)), np.r_[0, 0, 2.5, 2.5, 8.5, 8.5], Nonnegative(6))
    problem = to_cvxpy(form.replace(constraints=(half,), lower=np.r_[0, 0, -nothing[:4]], upper=np.r_[1, 1, nothing[:4]]))
    problem.solve(solver="HIGHS")
    values = labelled_variables(problem)
    assert values["k"].value == pytest.approx([-2, -2])
    assert values["part"].value == pytest.approx([-8.5, -8])


def test_zero_one_through_cvxpy(overlapping):
    model = ZeroOneSVM(overlapping.X, overlapping.y, lam=1.0)
    problem = model.to_cvxpy()
    assert labelled_variables(problem)["z"].attributes["boolean"] is True
    problem.solve(solver="SCIP")
    assert problem.value == pytest.approx(solve_problem(model, "scip", Options()).objective, rel=1e-5)


# -- Pyomo -----------------------------------------------------------------------------------------------------------


def without_psd(form):
    return form.replace(constraints=tuple(c for c in form.constraints if not isinstance(c.cone, PSD)))


def test_pyomo_model_is_the_form_at_a_point():
    """Every expression evaluated at random points: the objective, linear rows, and linked cones."""
    form = without_psd(mixed_form())
    model = to_pyomo(form)
    rng = np.random.default_rng(1)
    for _ in range(3):
        x = rng.normal(size=form.n)
        for block in form.blocks:
            for key, value in zip(pyomo_indices(block), x[form.slices[block.label]], strict=True):
                model.component(block.label)[key].set_value(value, skip_validation=True)
        assert pyo.value(model.objective) == pytest.approx(form.objective(x))
        for label in ("in Zero", "in Nonnegative"):
            rows = form.constraint(label).value(x)
            items = [pyo.value(row.body) - pyo.value(row.lower) for row in model.component(label).values()]
            assert items == pytest.approx(rows)
        for label in ("in SecondOrder", "in RotatedSecondOrder"):
            c = form.constraint(label)
            auxiliary, link = model.component(f"{label}_value"), model.component(f"{label}_link")
            for i in auxiliary:
                auxiliary[i].set_value(c.value(x)[i], skip_validation=True)
                assert pyo.value(link[i].body) == pytest.approx(pyo.value(link[i].upper))
            rows = c.cone.by_cone(c.value(x))
            tail = (rows[:, 1:] ** 2).sum(axis=1) if isinstance(c.cone, SecondOrder) else (rows[:, 2:] ** 2).sum(axis=1)
            head = rows[:, 0] ** 2 if isinstance(c.cone, SecondOrder) else 2 * rows[:, 0] * rows[:, 1]
            assert [pyo.value(q.body) for q in model.component(label).values()] == pytest.approx(tail - head)


def test_pyomo_names_bounds_and_domains():
    form = without_psd(mixed_form())
    model = to_pyomo(form)
    assert [v.name for block in form.blocks for v in model.component(block.label).values()] == [
        name.replace(" ", "") for name in form.names()
    ]
    assert model.name == "mixed" and model.objective.sense == pyo.minimize
    rows = [v.bounds for block in form.blocks for v in model.component(block.label).values()]
    expected = [
        (low if np.isfinite(low) else None, high if np.isfinite(high) else None)
        for low, high in zip(form.lower, form.upper, strict=True)
    ]
    assert rows == expected
    integer = StandardForm(
        "whole", (Block("a", (3,)), Block("s", ())), np.ones(4), (), np.array([0, -2, 0, 0.0]), np.array([1, 2, 1, 5.0]),
        np.array([True, True, False, True]),
    )  # fmt: skip
    model = to_pyomo(integer)
    assert [model.a[i].is_binary() for i in range(3)] == [True, False, False]
    assert model.a[1].is_integer() and model.s.is_integer() and model.a[2].is_continuous()


def test_pyomo_solves_to_the_same_optimum(overlapping):
    model = ZeroOneSVM(overlapping.X, overlapping.y, lam=1.0)
    native = model.to_pyomo()
    solver = pyo.SolverFactory("scip_direct")
    if not solver.available(exception_flag=False):
        pytest.skip("Pyomo's interface of PySCIPOpt is not available")
    solver.solve(native)
    assert pyo.value(native.objective) == pytest.approx(solve_problem(model, "scip", Options()).objective, rel=1e-5)


def test_pyomo_rows_without_variables_are_decided():
    def form(g):
        rows = Constraint("rows", sp.csr_array(np.array([[1.0], [0.0]])), np.array([0.0, g]), Nonnegative(2))
        return StandardForm("c", (Block("x", ()),), np.ones(1), (rows,), np.zeros(1), np.ones(1), np.zeros(1, bool))

    assert list(to_pyomo(form(1.0)).rows) == [0]
    impossible = to_pyomo(form(-1.0)).rows[1]
    assert pyo.value(impossible.body) > pyo.value(impossible.upper)


def test_refusals(overlapping, monkeypatch):
    conic = ConicSVM(overlapping.X, overlapping.y, lam=1.0)
    with pytest.raises(ExportError, check=about("Pyomo")):
        conic.to_pyomo()
    reserved = StandardForm("r", (Block("add_component", (1,)),), np.ones(1), (), np.zeros(1), np.ones(1), np.zeros(1, bool))
    with pytest.raises(ExportError, check=about("add_component")):
        to_pyomo(reserved)

    class Odd(Cone):
        symbol = "Odd"

        def project(self, v):
            return v

    rows = Constraint("odd", sp.csr_array(np.eye(1)), np.zeros(1), Odd(1))
    odd = reserved.replace(blocks=(Block("x", (1,)),), constraints=(rows,))
    for export in (to_cvxpy, to_pyomo):
        with pytest.raises(ExportError, check=about("CVXPY", "Pyomo")):
            export(odd)
    for name, export in (("cvxpy", to_cvxpy), ("pyomo.environ", to_pyomo)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(MissingPackageError, check=missing("cvxpy", "pyomo")):
            export(reserved.replace(blocks=(Block("x", (1,)),)))


def test_farkas_residual_is_scale_free():
    rows = Constraint("apart", sp.csr_array(np.array([[1.0], [-1.0]])), np.array([-1.0, 0.0]), Nonnegative(2))
    form = StandardForm("f", (Block("x", (1,)),), np.ones(1), (rows,), np.full(1, -np.inf), np.full(1, np.inf), np.zeros(1, bool))
    z = {"apart": np.array([1.0, 0.9])}
    assert farkas_residual(form, z) == pytest.approx(farkas_residual(form, {"apart": 1e6 * z["apart"]}))
