"""Bilinear rows, cones as such rows and nonconvex objectives in files: read back the same, and the same program for others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt.models import (
    Bilinear,
    Block,
    Constraint,
    Feature,
    Indicator,
    Nonnegative,
    Quadratic,
    RotatedSecondOrder,
    SecondOrder,
    StandardForm,
)
from marginopt.models.export.file_formats import read_form, write_form
from marginopt.models.export.file_programs import FlatProgram
from marginopt.models.export.layout import sidecar_path
from marginopt.models.importing.quadratic_rows import slack_of, with_plain_products
from marginopt.models.program.bridges import ConesToQuadraticRows

SUFFIXES = ["lp", "mps", "nl", "qplib", "mof.json"]


def program(seed: int, *, switched: bool = False) -> StandardForm:
    """Stacks of products of affine factors, some without an entry, linear rows between them, integers, a nonconvex objective."""
    rng = np.random.default_rng(seed)
    n, dim, count = 5, 5, 2
    constraints = []
    for label, equality in (("same", True), ("over", False)):
        F = np.round(rng.normal(size=(dim * count, n)), 3) * (rng.random((dim * count, n)) < 0.4)
        F[0::dim, 0] = 1.0
        g = np.round(rng.normal(size=dim * count), 2) * (rng.random(dim * count) < 0.5)
        constraints.append(Constraint(label, sp.csr_array(F), g, Bilinear(dim, count, equality)))
    constraints.insert(1, Constraint("row", sp.csr_array(rng.normal(size=(2, n))), np.array([1.5, 2.0]), Nonnegative(2)))
    if switched:
        F = np.zeros((4, n))
        F[0::2, 3], F[1::2] = 1.0, rng.normal(size=(2, n))
        constraints.append(Constraint("on", sp.csr_array(F), np.array([0.0, 0.3, 0.0, -0.2]), Indicator(2, 2)))
    A = rng.normal(size=(n, n))
    A[1] = A[:, 1] = 0.0
    lower, upper = np.full(n, -2.0), np.full(n, 2.0)
    lower[3], upper[3] = 0.0, 1.0
    return StandardForm(
        "products", (Block("x", (n,)),), rng.normal(size=n), tuple(constraints), lower, upper, np.arange(n) == 3,
        quadratic=Quadratic(matrix=A + A.T), r=1.5,
    )  # fmt: skip


def slacks(form: StandardForm, x: np.ndarray) -> np.ndarray:
    """Return the slacks of all quadratic rows, in the order of the file."""
    stacks = [c.cone.by_cone(c.value(x)) for c in form.constraints if isinstance(c.cone, Bilinear)]
    return np.concatenate([v[:, 0] - np.einsum("ij,ij->i", *np.split(v[:, 1:], 2, axis=1)) for v in stacks])


@pytest.mark.parametrize("seed", range(8))
def test_plain_products_are_the_same_rows(seed: int) -> None:
    form = program(seed)
    plain, rng = with_plain_products(form), np.random.default_rng(seed)
    assert with_plain_products(plain).equals(plain)
    for x in rng.normal(size=(5, form.n)):
        for ours, theirs in zip(form.constraints, plain.constraints, strict=True):
            assert theirs.cone.violation(theirs.value(x)) == pytest.approx(ours.cone.violation(ours.value(x)), abs=1e-12)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_a_file_reads_back_to_the_last_bit(suffix: str, seed: int, tmp_path: Path) -> None:
    form = program(seed, switched=suffix in ("lp", "mps"))
    path = write_form(form, tmp_path / f"form.{suffix}")
    back = read_form(path)
    assert back.equals(with_plain_products(form))
    assert read_form(write_form(back, path)).equals(back)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_whose_products_cancel_stay_in_their_stack(suffix: str, tmp_path: Path) -> None:
    """The second row's factor b is the number 2: x0 ≥ 2 x1 is linear."""
    F = np.zeros((6, 3))
    F[0, 0] = F[1, 1] = F[2, 2] = F[3, 0] = F[4, 1] = 1.0
    cone = Bilinear(3, 2)
    form = StandardForm(
        "mixed", (Block("x", (3,)),), np.ones(3), (Constraint("stack", sp.csr_array(F), np.array([0, 0, 0, 0, 0, 2.0]), cone),),
        np.zeros(3), np.ones(3), np.zeros(3, dtype=bool),
    )  # fmt: skip
    back = read_form(write_form(form, tmp_path / f"form.{suffix}"))
    assert back.equals(with_plain_products(form)) and back.constraint("stack").cone.count == 2
    for x in np.random.default_rng(0).normal(size=(5, 3)):
        value = back.constraint("stack").value(x)
        assert back.constraint("stack").cone.violation(value) == pytest.approx(max(x[1] * x[2] - x[0], 2 * x[1] - x[0], 0.0))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_without_its_sidecar_a_file_has_the_same_rows(suffix: str, seed: int, tmp_path: Path) -> None:
    form, rng = program(seed), np.random.default_rng(seed)
    path = write_form(form, tmp_path / f"form.{suffix}")
    sidecar_path(path).unlink(missing_ok=True)
    if suffix == "mof.json":  # its layout is inside
        path.write_text(path.read_text(encoding="utf-8").replace('"description"', '"note"'), encoding="utf-8")
    back = read_form(path)
    order = np.arange(form.n)
    if suffix == "nl":
        names = path.with_suffix(".col").read_text(encoding="utf-8").split()
        order = np.array([form.names().index(name) for name in names])
    curved = [c for c in back.constraints if c.label not in ("equal", "greater", "row")]
    assert len(curved) == 4
    for x in rng.normal(size=(5, form.n)):
        y = x[order]
        assert back.objective(y) == pytest.approx(form.objective(x), rel=1e-12)
        np.testing.assert_allclose([slack_of(c, y) for c in curved], slacks(form, x), atol=1e-12)
        assert [c.cone.equality for c in curved if isinstance(c.cone, Bilinear)][:2] == [True, True]


def small(seed: int) -> StandardForm:
    """A nonconvex objective in a box with one product below a variable and one equal to another; the origin is feasible."""
    rng = np.random.default_rng(seed)
    n = 4
    A = rng.normal(size=(n, n))
    F = np.zeros((6, n))
    F[0, 0], F[1, 1], F[2, 2] = 1.0, 1.0, 1.0
    F[3, 3], F[4, 0], F[5, 1] = 1.0, 1.0, 1.0
    rows = Constraint("below", sp.csr_array(F[:3]), np.array([0.5, 0.0, 0.2]), Bilinear(3))
    same = Constraint("same", sp.csr_array(F[3:]), np.zeros(3), Bilinear(3, 1, True))
    return StandardForm(
        "small", (Block("x", (n,)),), rng.normal(size=n), (rows, same), -np.ones(n), np.ones(n), np.zeros(n, dtype=bool),
        quadratic=Quadratic(matrix=A + A.T),
    )  # fmt: skip


def by_scip(path: Path) -> float:
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    native = scip.Model()
    native.hideOutput()
    native.readProblem(str(path))
    native.setParams({"numerics/feastol": 1e-9, "limits/gap": 1e-9})
    native.optimize()
    return float(native.getObjVal())


def by_gurobi(path: Path) -> float:
    gurobi = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    with gurobi.Env(params={"OutputFlag": 0}) as env, gurobi.read(str(path), env) as native:
        native.setParam("MIPGap", 1e-9)
        native.setParam("FeasibilityTol", 1e-9)
        native.optimize()
        return float(native.ObjVal)


@pytest.mark.parametrize(
    ("suffix", "judge", "solver"),
    [("lp", by_scip, "scip"), ("nl", by_scip, "gurobi"), ("mps", by_gurobi, "scip"), ("lp", by_gurobi, "gurobi")],
)
def test_other_readers_find_the_same_global_optimum(
    suffix: str, judge: Callable[[Path], float], solver: str, tmp_path: Path
) -> None:
    form = small(0)
    theirs = judge(write_form(form, tmp_path / f"small.{suffix}"))
    result = mo.solve(form, solver)
    assert result.objective == pytest.approx(theirs, abs=1e-5)
    assert result.certificate is not None and max(result.certificate.violations.values()) <= 1e-6


def cones() -> StandardForm:
    """A linear objective over a stack of second-order cones and a rotated one, of affine terms, and bounds."""
    rng = np.random.default_rng(7)
    n = 3
    balls = np.round(rng.normal(size=(6, n)), 2)
    balls[0::3] = 0.1 * balls[0::3]
    rotated = np.vstack([np.zeros(n), [0.0, 0.0, 1.0], np.round(rng.normal(size=(2, n)), 2)])
    constraints = (
        Constraint("ball", sp.csr_array(balls), np.array([2.0, 0.3, 0, 3.0, 0, -0.2]), SecondOrder(3, 2)),
        Constraint("tilted", sp.csr_array(rotated), np.array([1.0, 0.5, 0, 0]), RotatedSecondOrder(4)),
    )
    return StandardForm(
        "cones", (Block("x", (n,)),), np.array([1.0, -0.5, 0.7]), constraints, np.full(n, -4.0), np.full(n, 4.0),
        np.zeros(n, dtype=bool),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "judge"), [("lp", by_gurobi), ("lp", by_scip), ("mps", by_gurobi), ("nl", by_scip), ("qplib", None)]
)
def test_second_order_cones_are_quadratic_rows_that_read_back_as_cones(
    suffix: str, judge: Callable[[Path], float] | None, tmp_path: Path
) -> None:
    form = cones()
    path = write_form(form, tmp_path / f"cones.{suffix}")
    back, optimum = read_form(path), mo.solve(form, "clarabel", tol=1e-8).objective
    assert sum(isinstance(c.cone, SecondOrder | RotatedSecondOrder) for c in back.constraints) == 3
    assert Feature.BILINEAR not in back.features
    assert mo.solve(back, "clarabel", tol=1e-8).objective == pytest.approx(optimum, abs=1e-6)
    if judge is not None:
        assert judge(path) == pytest.approx(optimum, abs=1e-5)
    bridge = ConesToQuadraticRows(form)
    for x in np.random.default_rng(0).normal(size=(20, form.n)):
        inside = all(c.cone.violation(c.value(x)) <= 1e-12 for c in form.constraints)
        y = bridge.extend(x)
        met = all(c.cone.violation(c.value(y)) <= 1e-12 for c in bridge.target.constraints)
        assert inside == (met and bool((y >= bridge.target.lower).all()))
        np.testing.assert_array_equal(bridge.recover(bridge.extend(x)), x)


def test_pyqplib_reads_the_same_products(tmp_path: Path) -> None:
    pyqplib = pytest.importorskip("pyqplib", reason="pyqplib is not installed")
    form, rng = program(3), np.random.default_rng(0)
    path = write_form(form, tmp_path / "form.qplib")
    problem = pyqplib.read_problem(str(path))
    assert path.read_text(encoding="utf-8").splitlines()[1] == "QGQ"
    hessian = problem.obj.hess(rng.normal(size=form.n)).toarray()
    assert form.quadratic is not None
    np.testing.assert_array_equal(hessian, form.quadratic.csc.toarray())
    for x in rng.normal(size=(3, form.n)):  # its values count entries off the diagonal once, against its own Hessians
        products = np.array([0.5 * x @ matrix.full() @ x for matrix in problem.constraints.hess_mats])
        rows = problem.cons_ub - products - problem.constraints.mat @ x
        np.testing.assert_allclose(rows[2:], slacks(form, x), atol=1e-12)
    assert (problem.cons_lb[2:4] == problem.cons_ub[2:4]).all() and (problem.cons_lb[4:] == -np.inf).all()


def test_casadi_reads_the_same_products_from_nl(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi", reason="casadi is not installed")
    form, x = program(1), np.random.default_rng(0).normal(size=5)
    builder = casadi.NlpBuilder()
    builder.import_nl(str(write_form(form, tmp_path / "form.nl")), {"verbose": False})
    variables = casadi.vertcat(*builder.x)
    value = casadi.Function("value", [variables], [builder.f, casadi.vertcat(*builder.g)])
    names = (tmp_path / "form.col").read_text(encoding="utf-8").split()
    objective, rows = value(x[[form.names().index(name) for name in names]])
    assert float(objective) == pytest.approx(form.objective(x), rel=1e-12)
    sides = np.array([row.b for row in FlatProgram.of(with_plain_products(form)).quadratic_rows])
    np.testing.assert_allclose(sides - np.array(rows).ravel()[: sides.size], slacks(form, x), atol=1e-12)
    called = (tmp_path / "form.row").read_text(encoding="utf-8").split()
    assert called == ["same[0]", "same[1]", "over[0]", "over[1]", "row[0]", "row[1]", "obj"]


@pytest.mark.parametrize("suffix", ["lp", "mps"])
def test_a_file_that_gurobi_saved_again_keeps_its_labels(suffix: str, tmp_path: Path) -> None:
    gurobi = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    form = small(0)
    path = write_form(form, tmp_path / f"small.{suffix}")
    with gurobi.Env(params={"OutputFlag": 0}) as env, gurobi.read(str(path), env) as native:
        native.write(str(path))
    back = read_form(path)
    assert [c.label for c in back.constraints] == ["below", "same"]
    for ours, theirs in zip(with_plain_products(form).constraints, back.constraints, strict=True):
        np.testing.assert_allclose(theirs.F.toarray(), ours.F.toarray(), rtol=1e-12)
        np.testing.assert_allclose(theirs.g, ours.g, rtol=1e-12)
        assert theirs.cone == ours.cone
