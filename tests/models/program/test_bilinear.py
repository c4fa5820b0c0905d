"""Bilinear constraints and nonconvex objectives: the set's laws, who reads them, and what their claims are worth."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from facts import about

import marginopt as mo
from marginopt.errors import ExportError, InputError, UnsupportedModelError
from marginopt.models import Bilinear, Block, Constraint, Feature, Quadratic, StandardForm
from marginopt.models.export.file_formats import read_form, write_form
from marginopt.models.model import as_model
from marginopt.models.program.bridges import EpigraphBridge
from marginopt.solvers import Options, Status
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.rational import _violation
from marginopt.solvers.records import Answer
from marginopt.solvers.registry import get_solver

GLOBAL = [("gurobi", "gurobipy"), ("scip", "pyscipopt")]


def boxed(P: np.ndarray, q: np.ndarray, *constraints: Constraint) -> StandardForm:
    n = q.size
    ones, quadratic = np.ones(n), Quadratic(matrix=P) if P.any() else None
    return StandardForm(
        "box", (Block("x", (n,)),), q, constraints, -ones, ones, np.zeros(n, dtype=bool), quadratic=quadratic
    )  # fmt: skip


def corners(P: np.ndarray, q: np.ndarray) -> float:
    """Minimum of a concave function over the box: at a corner."""
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * q.size)).reshape(q.size, -1).T
    return float(min(0.5 * s @ P @ s + q @ s for s in signs))


def row(equality: bool) -> Constraint:
    """x0 ≥ or = x1 x2 + 1/4 in the variables of a box of three."""
    return Constraint("product", sp.csr_array(np.eye(3)), np.array([-0.25, 0.0, 0.0]), Bilinear(3, 1, equality))


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("k", [1, 3])
def test_the_set_is_its_definition(equality: bool, k: int) -> None:
    rng = np.random.default_rng(k)
    cone = Bilinear(1 + 2 * k, 4, equality)
    for _ in range(50):
        v = rng.normal(size=(4, cone.dim))
        over = np.einsum("ij,ij->i", v[:, 1 : 1 + k], v[:, 1 + k :]) - v[:, 0]
        miss = np.abs(over) if equality else np.maximum(over, 0.0)
        assert cone.violation(v.ravel()) == pytest.approx(miss.max(), abs=1e-12)
        assert cone.violation(cone.project(v.ravel())) <= 1e-15
        exact = [Fraction(x) for x in v.ravel().tolist()]
        assert _violation(cone, exact) == pytest.approx(miss.max(), rel=1e-12)
        assert not cone.project_dual(v.ravel()).any() and cone.dual_violation(v.ravel()) == np.abs(v).max()


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_sizes_that_are_no_bilinear_row_are_refused(dim: int) -> None:
    with pytest.raises(InputError):
        Bilinear(dim)


def test_features_say_what_is_not_convex() -> None:
    concave, zero = -np.eye(3), np.zeros((3, 3))
    assert boxed(concave, np.zeros(3)).features == {Feature.QUADRATIC, Feature.NONCONVEX}
    assert boxed(np.eye(3), np.zeros(3)).features == {Feature.QUADRATIC}
    assert boxed(zero, np.ones(3), row(True)).features == {Feature.BILINEAR}
    target = EpigraphBridge(boxed(concave, np.zeros(3))).target
    assert target.features == {Feature.BILINEAR} and target.quadratic is None


@pytest.mark.parametrize("seed", range(3))
def test_the_epigraph_of_a_nonconvex_objective_is_tight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, 5))
    A[2] = A[:, 2] = 0.0
    form = boxed(A + A.T, rng.normal(size=5))
    bridge, x = EpigraphBridge(form), rng.normal(size=5)
    y = bridge.extend(x)
    assert bridge.target.objective(y) == pytest.approx(form.objective(x), rel=1e-12)
    value = bridge.target.constraint("quadratic").value(y)
    assert bridge.target.constraint("quadratic").cone.violation(value) <= 1e-12
    y[-1] -= 0.5
    assert bridge.target.constraint("quadratic").cone.violation(bridge.target.constraint("quadratic").value(y)) == pytest.approx(
        0.5
    )


@pytest.mark.parametrize(("solver", "package"), GLOBAL)
@pytest.mark.parametrize("seed", range(3))
def test_concave_minima_are_at_corners(solver: str, package: str, seed: int) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed")
    rng = np.random.default_rng(seed)
    A, q = rng.normal(size=(4, 4)), rng.normal(size=4)
    P = -A @ A.T
    result = mo.solve(boxed(P, q), solver)
    assert result.status is Status.OPTIMAL and result.bound_kind == "claimed by solver"
    assert result.objective == pytest.approx(corners(P, q), rel=1e-6)
    assert result.multipliers is None


@pytest.mark.parametrize(("solver", "package"), GLOBAL)
@pytest.mark.parametrize("equality", [True, False])
def test_a_bilinear_row_is_solved_globally(solver: str, package: str, equality: bool) -> None:
    """min x0 over x0 ≥ x1 x2 + 1/4 in the box is -3/4; max x0 is 5/4 cut off at 1."""
    pytest.importorskip(package, reason=f"{package} is not installed")
    zero = np.zeros((3, 3))
    low = mo.solve(boxed(zero, np.array([1.0, 0.0, 0.0]), row(equality)), solver)
    assert low.status is Status.OPTIMAL and low.objective == pytest.approx(-0.75, abs=1e-6)
    high = mo.solve(boxed(zero, np.array([-1.0, 0.0, 0.0]), row(equality)), solver)
    assert high.objective == pytest.approx(-1.0, abs=1e-6) and high.certificate is not None
    assert high.certificate.nonconvex and high.certificate.violations["product"] <= 1e-8


@pytest.mark.parametrize("solver", ["clarabel", "scs", "highs"])
def test_solvers_of_convex_problems_refuse_before_they_run(solver: str) -> None:
    for form in (boxed(-np.eye(3), np.ones(3)), boxed(np.zeros((3, 3)), np.ones(3), row(False))):
        with pytest.raises(UnsupportedModelError, check=about("clarabel", "highs", "scs")):
            mo.solve(form, solver)


def test_packages_of_convex_problems_refuse_the_objects() -> None:
    for form in (boxed(-np.eye(3), np.ones(3)), boxed(np.zeros((3, 3)), np.ones(3), row(False))):
        for package, hand_over in (("cvxpy", form.to_cvxpy), ("mosek", form.to_mosek)):
            pytest.importorskip(package, reason=f"{package} is not installed")
            with pytest.raises(ExportError):
                hand_over()


def test_a_claim_of_a_solver_that_searches_nothing_counts_for_nothing() -> None:
    form = boxed(-np.eye(3), np.zeros(3))
    claim = Answer(Status.OPTIMAL, "ok", values={"x": np.ones(3)}, objective=-1.5, bound=-1.5)
    result = judge(as_model(form), get_solver("highs"), claim, Options(), OPEN_LICENCE)
    assert result.bound_kind == "none" and result.status is not Status.OPTIMAL
    searched = judge(as_model(form), get_solver("scip"), claim, Options(), OPEN_LICENCE)
    assert searched.bound_kind == "claimed by solver" and searched.status is Status.OPTIMAL


def test_layouts_keep_the_sense_of_a_bilinear_row(tmp_path: Path) -> None:
    for equality in (True, False):
        form = boxed(np.zeros((3, 3)), np.ones(3), row(equality))
        for suffix in ("npz", "mof.json"):
            assert read_form(write_form(form, tmp_path / f"form.{suffix}")).equals(form)
        for suffix in ("ptf", "cbf"):
            with pytest.raises(ExportError, check=about(suffix.upper())):
                write_form(form, tmp_path / f"form.{suffix}")
    objective = boxed(np.array([[0.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 2.0]]), np.ones(3))
    for suffix in ("lp", "mps", "npz"):
        assert read_form(write_form(objective, tmp_path / f"objective.{suffix}")).equals(objective)


def test_pyomo_has_the_same_rows() -> None:
    pyo = pytest.importorskip("pyomo.environ", reason="Pyomo is not installed")
    rng = np.random.default_rng(0)
    form = boxed(-np.eye(3), np.ones(3), row(True))
    model, x = form.to_pyomo(), rng.normal(size=3)
    for j in range(3):
        model.x[j].value = float(x[j])
    assert pyo.value(model.objective.expr) == pytest.approx(form.objective(x))
    body = model.product[0]
    assert abs(pyo.value(body.body) - float(pyo.value(body.upper))) == pytest.approx(abs(x[0] - 0.25 - x[1] * x[2]))
