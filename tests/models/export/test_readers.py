"""Our files read by others: MOSEK (CBF, PTF), SCIP and CasADi (NL), pyqplib (QPLIB); the same data, or the same optimum."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from data import nine_points
from effort import part
from facts import about
from mosek_reader import read_task

from marginopt.errors import DataError, ExportError
from marginopt.models import (
    PSD,
    RBF,
    ConicSVM,
    HingeSVM,
    L2SVMDual,
    MEBDual,
    Model,
    Nonnegative,
    StandardForm,
    Zero,
    ZeroOneSVM,
)
from marginopt.models.export.file_formats import read_form, write_form
from marginopt.models.export.layout import sidecar_path
from marginopt.models.program.bridges import EpigraphBridge


def _conic_forms() -> list[StandardForm]:
    X, y = nine_points()
    mixed = ZeroOneSVM(X, y, lam=0.7, intercept="free").form
    return [
        ConicSVM(X, y, lam=0.7).form,
        ConicSVM(X, y, kappa=0.2).form,
        ConicSVM(X[:5], y[:5], kappa=0.2, kernel=RBF(0.3)).form,
        EpigraphBridge(HingeSVM(X, y, lam=0.7).form).target,
        EpigraphBridge(mixed).target,
    ]


def _stacked(form: StandardForm) -> tuple[list[np.ndarray], list[str]]:
    """Rows [F, g] of all linear constraints, of all cones and of all semidefinite ones, and the cones as words."""
    groups: list[list[np.ndarray]] = [[], [], []]
    kinds = []
    for c in form.constraints:
        group = 0 if isinstance(c.cone, (Zero, Nonnegative)) else 2 if isinstance(c.cone, PSD) else 1
        groups[group].append(np.column_stack([c.F.toarray(), c.g]))
        kinds += [f"{type(c.cone).__name__}({c.cone.dim})"] * c.cone.count if group else []
    return [np.vstack(g) if g else np.zeros((0, form.n + 1)) for g in groups], sorted(kinds)


CONIC_FORMS = _conic_forms()


@pytest.mark.parametrize("suffix", [".cbf", ".ptf"])
@pytest.mark.parametrize("form", CONIC_FORMS, ids=lambda f: f.name)
def test_mosek_reads_the_same_data(suffix: str, form: StandardForm, tmp_path: Path) -> None:
    pytest.importorskip("mosek", reason="mosek is not installed")
    back = read_task(write_form(form, tmp_path / f"model{suffix}"))
    np.testing.assert_array_equal(back.q, form.q)
    assert back.r == form.r
    np.testing.assert_array_equal(back.integer, form.integer)
    ours, kinds = _stacked(form)
    theirs, their_kinds = _stacked(back)
    assert their_kinds == kinds
    if suffix == ".ptf":  # names are kept, so labels are
        np.testing.assert_array_equal(back.lower, form.lower)
        np.testing.assert_array_equal(back.upper, form.upper)
        assert back.names() == form.names()
        for c in form.constraints:
            np.testing.assert_array_equal(back.constraint(c.label).F.toarray(), c.F.toarray())
            np.testing.assert_array_equal(back.constraint(c.label).g, c.g)
        return
    bounds = ours[0].shape[0]
    np.testing.assert_array_equal(theirs[0][:bounds], ours[0])
    np.testing.assert_array_equal(theirs[1], ours[1])
    np.testing.assert_allclose(theirs[2], ours[2], rtol=4e-16)  # entries off the diagonal went through v/√2
    assert back.n == form.n


def test_a_file_that_mosek_writes_reads_back(tmp_path: Path) -> None:
    """The same program by MOSEK's writer: other line breaks, names of the cones' rows, no sidecar."""
    pytest.importorskip("mosek", reason="mosek is not installed")
    from marginopt.models.export.mosek_task import to_mosek

    X, y = nine_points()
    form = ConicSVM(X, y, kappa=0.2).form
    form = form.replace(lower=np.maximum(form.lower, -1e9))  # bounds: no matrix variables
    for suffix in (".ptf", ".cbf"):
        path = tmp_path / f"theirs{suffix}"
        with to_mosek(form) as task:
            task.writedata(str(path))
        ours, kinds = _stacked(form)
        theirs, their_kinds = _stacked(read_form(path))
        assert their_kinds == kinds
        np.testing.assert_allclose(theirs[1], ours[1], rtol=1e-15)
        np.testing.assert_allclose(theirs[2], ours[2], rtol=1e-14)


@pytest.mark.parametrize("suffix", [".ptf", ".cbf", ".task"])
def test_matrix_variables_that_mosek_writes_are_read(suffix: str, tmp_path: Path) -> None:
    """W and w of the conic SVM are entries of one matrix; a task is read through the PTF file that MOSEK makes of it."""
    mosek = pytest.importorskip("mosek", reason="mosek is not installed")
    from marginopt.models.export.mosek_task import to_mosek

    X, y = nine_points()
    form = ConicSVM(X, y, kappa=0.2).form
    path = tmp_path / f"theirs{suffix}"
    with to_mosek(form) as task:
        assert task.getnumbarvar() == 1
        task.writedata(str(path))
    if suffix == ".task":
        with mosek.Task() as task:
            task.readdata(str(path))
            task.writedata(str(path := tmp_path / "again.ptf"))
    back = read_form(path)
    order = form.constraint("lifted").cone.order
    assert sum(c.cone.order == order for c in back.constraints if isinstance(c.cone, PSD)) == 1
    assert _solved(back) == pytest.approx(_solved(form), rel=1e-6)


_MATRICES = """Task
Objective
    Minimize + x + <2 M0 - M1;'a b'> + <M2;Y> - 1
Constraints
    row [0;+inf] - 3 x + <M1;'a b'>
    cone [QUAD(2)]
        @ac1: + <M2;Y> + 7
        @ac2: + x + 0.5 <M0;'a b'>
Variables
    x [0;1]
    'a b' [PSD(2)]
    Y [PSD(1)]
SymmetricMatrixes
    M0 SYMMAT(2) (0,0,1) (1,0,3)
    M1 SYMMAT(2)
        (1,1,2)
    M2 SYMMAT(1) (0,0,4)
"""


def test_terms_of_matrix_variables_in_ptf(tmp_path: Path) -> None:
    """Off the diagonal an entry counts twice; combinations, quoted names and broken lines as MOSEK writes them."""
    (tmp_path / "m.ptf").write_text(_MATRICES, encoding="utf-8")
    form = read_form(tmp_path / "m.ptf")
    assert form.names() == ["x", "a b[0,0]", "a b[1,0]", "a b[1,1]", "Y[0,0]"]
    assert form.q.tolist() == [1.0, 2.0, 12.0, -2.0, 4.0] and form.r == -1.0
    row, cone, *semidefinite = form.constraints
    assert row.F.toarray().tolist() == [[-3.0, 0.0, 0.0, 2.0, 0.0]]
    assert cone.F.toarray().tolist() == [[0.0, 0.0, 0.0, 0.0, 4.0], [1.0, 0.5, 3.0, 0.0, 0.0]] and cone.g.tolist() == [7.0, 0.0]
    assert [c.cone.order for c in semidefinite] == [2, 1]
    np.testing.assert_allclose(semidefinite[0].F.toarray()[:, 1:4], np.diag([1.0, np.sqrt(2.0), 1.0]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<M2;Y>", "<M2;Z>"),
        ("<M1;'a b'>", "<M3;'a b'>"),
        ("<M2;Y>", "<M0;Y>"),
        ("(1,0,3)", "(0,1,3)"),
        ("(1,0,3)", "(2,0,3)"),
        ("(1,0,3)", "(0,0,3)"),
        ("(1,0,3)", "(1,0,x)"),
        ("(1,0,3)", "1 0 3"),
        ("- 3 x", "- 2 3 x"),
        ("Y [PSD(1)]", "Y [PSD(100000000)]"),
        ("Y [PSD(1)]", "'a b' [PSD(1)]"),
        ("M2 SYMMAT", "M1 SYMMAT"),
    ],
)
def test_matrix_variables_that_make_no_sense_are_refused(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "m.ptf").write_text(_MATRICES.replace(old, new), encoding="utf-8")
    with pytest.raises(DataError):
        read_form(tmp_path / "m.ptf")


def _quadratic_models() -> list[Model]:
    X, y = nine_points()
    return [
        HingeSVM(X, y, lam=0.7),
        ZeroOneSVM(X, y, lam=0.7),
        L2SVMDual(X, y, C=2.0, kernel=RBF(0.3)),
        MEBDual(X, kernel=RBF(0.3)),
    ]


def _optimum(model: Model) -> float:
    from marginopt.solvers import solve

    solver = "scip" if model.form.integer.any() else "clarabel"
    result = solve(model, solver, tol=1e-8)
    return result.objective


@pytest.mark.parametrize("model", _quadratic_models(), ids=lambda m: m.name)
def test_scip_solves_our_nl_file_to_our_optimum(model: Model, tmp_path: Path) -> None:
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    native = scip.Model()
    native.hideOutput()
    native.readProblem(str(model.write(tmp_path / "model.nl")))
    native.setParams({"numerics/feastol": 1e-9, "numerics/dualfeastol": 1e-9, "limits/gap": 0.0})
    native.optimize()
    assert native.getObjVal() == pytest.approx(_optimum(model), rel=1e-6, abs=1e-6)
    assert native.getNIntVars() + native.getNBinVars() == model.form.integer.sum()


@pytest.mark.parametrize("model", _quadratic_models(), ids=lambda m: m.name)
def test_casadi_reads_the_same_functions_from_our_nl_file(model: Model, tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi", reason="casadi is not installed")
    form = model.form
    builder = casadi.NlpBuilder()
    builder.import_nl(str(model.write(tmp_path / "model.nl")), {"verbose": False})
    x = casadi.vertcat(*builder.x)
    value = casadi.Function("value", [x], [builder.f, casadi.vertcat(*builder.g)])
    names = (tmp_path / "model.col").read_text(encoding="utf-8").split()
    order = [form.names().index(name) for name in names]
    point = np.random.default_rng(0).normal(size=form.n)
    f, g = value(point[order])
    assert float(f) == pytest.approx(form.objective(point), rel=1e-12)
    F, _ = form.rows_matrix()
    np.testing.assert_allclose(g.full().ravel(), F @ point, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(builder.discrete, form.integer[order])
    np.testing.assert_array_equal(np.array(builder.x_lb)[form.integer[order]], form.lower[order][form.integer[order]])


@pytest.mark.parametrize("model", [m for m in _quadratic_models() if not m.form.integer.any()], ids=lambda m: m.name)
def test_ipopt_solves_what_casadi_reads_to_our_optimum(model: Model, tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi", reason="casadi is not installed")
    builder = casadi.NlpBuilder()
    builder.import_nl(str(model.write(tmp_path / "model.nl")), {"verbose": False})
    problem = {"x": casadi.vertcat(*builder.x), "f": builder.f, "g": casadi.vertcat(*builder.g)}
    settings = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}}
    answer = casadi.nlpsol("solver", "ipopt", problem, settings)(
        x0=builder.x_init, lbx=builder.x_lb, ubx=builder.x_ub, lbg=builder.g_lb, ubg=builder.g_ub
    )
    sign = -1.0 if model.form.maximise else 1.0  # CasADi turns a maximum into a minimum
    assert sign * float(answer["f"]) == pytest.approx(_optimum(model), rel=1e-6, abs=1e-6)


def _solved(form: StandardForm) -> float:
    from marginopt.solvers import solve

    return solve(form, "scip" if form.integer.any() else "clarabel", tol=1e-8).objective


@cache
def _conic_optimum(k: int) -> float:
    return _solved(CONIC_FORMS[k])


@pytest.mark.parametrize(("k", "suffix"), part(product(range(len(CONIC_FORMS)), (".cbf", ".ptf")), 1, kind=lambda cell: cell[0]))
def test_what_mosek_reads_has_our_optimum(suffix: str, k: int, tmp_path: Path) -> None:
    """MOSEK's reading solved by an open solver: no licence is needed."""
    pytest.importorskip("mosek", reason="mosek is not installed")
    back = read_task(write_form(CONIC_FORMS[k], tmp_path / f"model{suffix}"))
    assert _solved(back) == pytest.approx(_conic_optimum(k), rel=1e-6)


@pytest.mark.parametrize("model", _quadratic_models(), ids=lambda m: m.name)
def test_pyqplib_reads_the_same_program(model: Model, tmp_path: Path) -> None:
    pyqplib = pytest.importorskip("pyqplib", reason="pyqplib is not installed")
    form = model.form
    problem = pyqplib.read_problem(str(model.write(tmp_path / "model.qplib")))
    point = np.random.default_rng(0).normal(size=form.n)
    # its obj_val counts entries off the diagonal once, against its own Hessian and the format's definition
    hessian = problem.obj.hess(point).toarray()
    sense = -1.0 if form.maximise else 1.0  # the file has the program's own objective
    expected = np.zeros_like(hessian) if form.quadratic is None else sense * form.quadratic.csc.toarray()
    np.testing.assert_array_equal(hessian, expected)
    assert problem.obj_val(np.zeros(form.n)) == sense * form.r
    F, g = form.rows_matrix()
    np.testing.assert_allclose(problem.cons_val(point), F @ point, rtol=1e-12)
    np.testing.assert_array_equal(problem.cons_lb, -g)
    np.testing.assert_array_equal(problem.var_lb, form.lower)
    np.testing.assert_array_equal(problem.var_ub, form.upper)


@pytest.mark.parametrize("suffix", [".nl", ".qplib"])
def test_without_its_sidecar_a_quadratic_file_reads_with_the_same_optimum(suffix: str, tmp_path: Path) -> None:
    from marginopt.solvers import solve

    X, y = nine_points()
    model = HingeSVM(X, y, lam=0.7)
    path = model.write(tmp_path / f"model{suffix}")
    sidecar_path(path).unlink()
    plain = read_form(path)
    assert [b.label for b in plain.blocks] == ["x"]
    assert solve(plain, "clarabel").objective == pytest.approx(solve(model, "clarabel").objective, rel=1e-7)


@pytest.mark.parametrize("suffix", [".cbf", ".ptf"])
def test_without_its_sidecar_a_conic_file_reads_with_the_same_optimum(suffix: str, tmp_path: Path) -> None:
    from marginopt.solvers import solve

    X, y = nine_points()
    model = ConicSVM(X, y, kappa=0.2)
    path = model.write(tmp_path / f"model{suffix}")
    sidecar_path(path).unlink()
    assert solve(read_form(path), "clarabel").objective == pytest.approx(solve(model, "clarabel").objective, rel=1e-6)


def test_a_quadratic_objective_is_refused_where_the_format_has_none(tmp_path: Path) -> None:
    X, y = nine_points()
    for suffix in (".cbf", ".ptf"):
        with pytest.raises(ExportError, check=about("CBF", "PTF")):
            HingeSVM(X, y).write(tmp_path / f"model{suffix}")
    for suffix in (".nl", ".qplib"):
        with pytest.raises(ExportError, check=about("NL", "QPLIB")):
            ConicSVM(X, y, lam=1.0).write(tmp_path / f"model{suffix}")


def test_nl_from_another_writer(tmp_path: Path) -> None:
    """min (x - 2)² + 3y - 1, x + y ≤ 4, y binary: written as a difference squared, as AMPL would."""
    lines = ["g3 1 1 0", " 2 1 1 0 0", " 0 1", " 0 0", " 0 1 0", " 0 0 0 1", " 1 0 0 0 0", " 2 2", " 0 0", " 0 0 0 0 0"]
    lines += ["C0", "n0", "O0 0", "o0", "o5", "o1", "v0", "n2", "n2", "n-1", "r", "1 4", "b", "3", "0 0 1", "k1", "1"]
    lines += ["J0 2", "0 1", "1 1", "G0 2", "0 0", "1 3"]
    path = tmp_path / "other.nl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    form = read_form(path)
    assert form.quadratic is not None
    np.testing.assert_array_equal(form.quadratic.csc.toarray(), [[2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(form.q, [-4.0, 3.0])
    assert form.r == 3.0
    (row,) = form.constraints
    np.testing.assert_array_equal(row.F.toarray(), [[-1.0, -1.0]])
    np.testing.assert_array_equal(row.g, [4.0])
    np.testing.assert_array_equal(form.integer, [False, True])


def test_qplib_from_another_writer(tmp_path: Path) -> None:
    """Defaults other than ours, upper sides, and binary variables said by the problem's type."""
    lines = ["OTHER", "QBL", "minimize", "2", "1", "2", "1 1 2.0", "2 1 -1.0", "0.5", "1", "2 1.5", "7.0", "2", "1 1 1.0"]
    lines += ["1 2 3.0", "1.0E+30", "-1.0E+30", "0", "2.0", "0", "0", "0", "0", "0", "0", "0", "0", "0"]
    path = tmp_path / "other.qplib"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    form = read_form(path)
    assert form.quadratic is not None
    np.testing.assert_array_equal(form.quadratic.csc.toarray(), [[2.0, -1.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(form.q, [0.5, 1.5])
    np.testing.assert_array_equal(form.upper, [1.0, 1.0])
    assert form.r == 7.0
    assert form.integer.all()
    (row,) = form.constraints
    np.testing.assert_array_equal(row.F.toarray(), [[-1.0, -3.0]])
    np.testing.assert_array_equal(row.g, [2.0])


def test_semidefinite_coefficients_survive_the_root_of_two(tmp_path: Path) -> None:
    """Doubles with no exact quotient by √2 in doubles come back to the last bit through 34 digits."""
    from marginopt.models import Block, Constraint

    rng = np.random.default_rng(1)
    values = rng.normal(size=(3, 500)) * 10.0 ** rng.integers(-8, 8, size=(3, 500))
    assert (values[1] / np.sqrt(2.0) * np.sqrt(2.0) != values[1]).any()
    row = Constraint("psd", sp.csr_array(values), values[:, 0], PSD.of_order(2))
    free = np.full(500, np.inf)
    form = StandardForm("roots", (Block("x", (500,)),), np.ones(500), (row,), -free, free, np.zeros(500, dtype=bool))
    assert form.equals(read_form(write_form(form, tmp_path / "roots.cbf")))
