"""Solutions that other machines found, read from the files that the solvers themselves write, and judged here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from facts import at

import marginopt as mo
from marginopt.cli.main import main
from marginopt.models import Block, Constraint, StandardForm
from marginopt.models.program.cones import PSD, Nonnegative

_RNG = np.random.default_rng(3)
_X = np.column_stack([np.ones(8), _RNG.normal(size=(8, 2))])
_Y = np.array([1.0, -1, 1, -1, 1, 1, -1, -1])


def _hinge() -> mo.HingeSVM:
    return mo.HingeSVM(_X, _Y, lam=0.7)


def _mixed() -> mo.ZeroOneSVM:
    return mo.ZeroOneSVM(_X, _Y, lam=0.7)


@pytest.mark.parametrize("model", [_hinge(), _mixed()], ids=lambda m: m.name)
def test_gurobi(model: mo.Model, tmp_path: Path) -> None:
    pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    with model.to_gurobi() as native:
        native.Params.OutputFlag = 0
        native.Params.MIPGap = 0.0
        native.optimize()
        native.write(str(tmp_path / "g.sol"))
    result = mo.io.read_solution(model, tmp_path / "g.sol")
    assert result.solver == "gurobi"
    # the file does not say how the solve ended, and what closes the gap is an optimum all the same
    assert result.status is (mo.Status.OPTIMAL if result.gap <= 1e-6 else mo.Status.INTERRUPTED)
    assert "says nothing" in result.claim.native_status
    assert result.objective == pytest.approx(mo.solve(model, "scip").objective, rel=1e-5)
    assert result.values["w"].shape == (3,)
    assert result.summary == model.summary(result.values)


def test_gurobi_from_the_names_of_an_lp_file(tmp_path: Path) -> None:
    gurobi = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    model = _hinge()
    path = model.write(tmp_path / "m.lp")
    with gurobi.Env(params={"OutputFlag": 0}) as env, gurobi.read(str(path), env) as native:
        native.optimize()
        native.write(str(tmp_path / "g.sol"))
    result = mo.io.read_solution(model, tmp_path / "g.sol")
    assert result.objective == pytest.approx(mo.solve(model, "clarabel").objective, rel=1e-5)


@pytest.mark.parametrize("suffix", [".lp", ".nl"])
def test_scip(suffix: str, tmp_path: Path) -> None:
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    model = _mixed()
    native = scip.Model()
    native.hideOutput()
    native.readProblem(str(model.write(tmp_path / f"m{suffix}")))
    native.optimize()
    native.writeBestSol(str(tmp_path / "s.sol"))
    text = (tmp_path / "s.sol").read_text()
    (tmp_path / "s.sol").write_text("solution status: optimal solution found\n" + text)  # as SCIP's shell writes it
    result = mo.io.read_solution(model, tmp_path / "s.sol")
    assert result.solver == "scip"
    assert result.claim.status is mo.Status.OPTIMAL
    assert result.details["variables_not_ours"] == 1  # SCIP's variable for the quadratic objective
    assert result.objective == pytest.approx(mo.solve(model, "scip").objective, rel=1e-6)
    # nothing in the file, and nothing that we can prove, bounds a mixed-integer optimum
    assert result.status is mo.Status.INACCURATE


def test_highs_with_multipliers_is_proved(tmp_path: Path) -> None:
    highspy = pytest.importorskip("highspy", reason="highspy is not installed")
    model = _hinge()
    native = highspy.Highs()
    native.setOptionValue("output_flag", False)
    native.readModel(str(model.write(tmp_path / "m.mps")))
    native.run()
    native.writeSolution(str(tmp_path / "h.sol"), 0)
    result = mo.io.read_solution(model, tmp_path / "h.sol")
    assert result.solver == "highs"
    assert result.status is mo.Status.OPTIMAL
    assert result.bound_kind == "proved"
    assert result.certificate is not None
    assert result.certificate.dual_residual < 1e-6
    assert result.objective == pytest.approx(mo.solve(model, "clarabel").objective, rel=1e-6)


@pytest.mark.parametrize("model", [mo.ConicSVM(_X, _Y, kappa=0.3), _hinge()], ids=lambda m: m.name)
def test_mosek_with_multipliers_is_proved(model: mo.Model, tmp_path: Path) -> None:
    """MOSEK's own writer, without a licence: our point and multipliers are put into its task."""
    mosek = pytest.importorskip("mosek", reason="mosek is not installed")
    solved = mo.solve(model, "clarabel", tol=1e-8)
    _write_mosek(mosek, model, solved, tmp_path / "m.sol")
    result = mo.io.read_solution(model, tmp_path / "m.sol", tol=1e-6)
    assert result.solver == "mosek"
    assert result.claim.native_status == "PRIMAL_AND_DUAL_FEASIBLE, OPTIMAL"
    assert result.status is mo.Status.OPTIMAL
    assert result.bound_kind == "proved"
    assert result.multipliers is not None
    assert solved.multipliers is not None
    for label, z in solved.multipliers.items():
        np.testing.assert_allclose(result.multipliers[label], z, atol=1e-9, err_msg=label)
    assert result.certificate is not None
    assert result.certificate.dual_residual < 1e-6


def _write_mosek(mosek: object, model: mo.Model, solved: mo.Result, path: Path) -> None:
    from mosek_tasks import insert

    form = model.form
    matrices = [c.label for c in form.constraints if isinstance(c.cone, PSD)]
    zeta = np.zeros(form.n) if solved.reduced is None else form.join(solved.reduced)
    with model.to_mosek() as task:
        task.writesolution(insert(task, form, form.join(solved.values), solved.multipliers, zeta, matrices), str(path))
    text = path.read_text()
    # a task into which a solution was put does not know its status
    text = text.replace("PROBLEM STATUS      : UNKNOWN", "PROBLEM STATUS      : PRIMAL_AND_DUAL_FEASIBLE")
    path.write_text(text.replace("SOLUTION STATUS     : UNKNOWN", "SOLUTION STATUS     : OPTIMAL"))


def test_mosek_s_multipliers_of_a_maximised_program_prove_its_bound(tmp_path: Path) -> None:
    """MOSEK's multipliers of a maximum are those of the minimum with the other sign, those of cones included."""
    mosek = pytest.importorskip("mosek", reason="mosek is not installed")
    from mosek_tasks import insert, mixed_cones

    written = mixed_cones().replace(maximise=True).write(tmp_path / "mixed.ptf")
    with mosek.Task() as task:
        task.readdata(str(written))
        assert task.getobjsense() == mosek.objsense.maximize
        form = mo.read(written)
        solved = mo.solve(form, "clarabel", tol=1e-8)
        assert solved.multipliers is not None and solved.reduced is not None
        z = {label: -part for label, part in solved.multipliers.items()}
        task.writesolution(insert(task, form, form.join(solved.values), z, -form.join(solved.reduced)), str(tmp_path / "m.sol"))
    result = mo.io.read_solution(form, tmp_path / "m.sol", tol=1e-6)
    assert result.objective == pytest.approx(solved.objective, rel=1e-9)
    assert result.bound_kind == "proved" and result.bound == pytest.approx(result.objective, abs=1e-6)
    assert result.certificate is not None and result.certificate.dual_residual < 1e-6
    for label, part in solved.multipliers.items():
        np.testing.assert_allclose(result.multipliers[label], part, atol=1e-9, err_msg=label)


def test_ampl(tmp_path: Path) -> None:
    model = _hinge()
    form = model.form
    model.write(tmp_path / "m.nl")
    solved = mo.solve(model, "clarabel", tol=1e-8)
    assert solved.multipliers is not None
    by_name = dict(zip(form.names(), form.join(solved.values), strict=True))
    x = [by_name[name] for name in (tmp_path / "m.col").read_text().split()]
    y = solved.multipliers["margin"]
    head = [
        "",
        "Ipopt 3.14.0: Optimal Solution Found",
        "",
        "Options",
        "3",
        "1",
        "1",
        "0",
        *map(str, (y.size, y.size, form.n, form.n)),
    ]
    (tmp_path / "m.sol").write_text("\n".join([*head, *(f"{v:.17g}" for v in (*y, *x)), "objno 0 0", ""]))
    result = mo.io.read_solution(model, tmp_path / "m.sol")
    assert result.solver == "ipopt"
    assert result.status is mo.Status.OPTIMAL
    assert result.bound_kind == "proved"
    np.testing.assert_array_equal(result.values["w"], solved.values["w"])
    (tmp_path / "m.nl.names.json").unlink()
    with pytest.raises(mo.errors.DataError, check=at("m.sol")):
        mo.io.read_solution(model, tmp_path / "m.sol")


def test_a_wrong_claim_is_shown(tmp_path: Path) -> None:
    model = _hinge()
    solved = mo.solve(model, "clarabel")
    names, x = model.form.names(), model.form.join(solved.values) + 0.05
    lines = [
        "solution status: optimal solution found",
        "objective value: 1.0",
        *(f"{a} {b}" for a, b in zip(names, x, strict=True)),
    ]
    (tmp_path / "s.sol").write_text("\n".join(lines) + "\n")
    result = mo.io.read_solution(model, tmp_path / "s.sol")
    assert result.status is mo.Status.INACCURATE
    assert result.claim.objective == 1.0
    assert result.objective == pytest.approx(solved.objective, rel=1e-6)  # of the better point that refutes the claim


def test_infeasible_by_scip(tmp_path: Path) -> None:
    (tmp_path / "s.sol").write_text("solution status: infeasible\nno solution available\n")
    rows = Constraint("rows", np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]), Nonnegative(2))
    apart = StandardForm(
        "apart", (Block("x", (1,)),), np.zeros(1), (rows,), np.array([-np.inf]), np.array([np.inf]), np.zeros(1, dtype=bool),
    )  # fmt: skip
    result = mo.io.read_solution(apart, tmp_path / "s.sol")
    assert result.status is mo.Status.INFEASIBLE and result.status_kind == "proved"
    assert not result.values
    # a hinge has points, whatever the file says
    result = mo.io.read_solution(_hinge(), tmp_path / "s.sol")
    assert result.status is mo.Status.INACCURATE and result.claim.status is mo.Status.INFEASIBLE
    assert "a point violates no constraint by more than" in result.evidence


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(mo.errors.DataError, check=at("none.sol")):
        mo.io.read_solution(_hinge(), tmp_path / "none.sol")


@pytest.mark.parametrize("sense", ["minimise", "maximise"])
@pytest.mark.parametrize("seed", range(3))
def test_a_file_about_the_program_from_elsewhere_proves_its_bound(tmp_path: Path, sense: str, seed: int) -> None:
    """Rows from below and above, with two sides and equations, either sense: HiGHS has signs of its own for each."""
    highspy = pytest.importorskip("highspy")
    rng = np.random.default_rng(seed)
    n, x = 8, rng.random(8)
    A = rng.normal(size=(8, n))
    low = np.where(np.arange(8) % 4 < 2, A @ x - 0.1, -np.inf)
    high = np.where(np.arange(8) % 4 != 0, A @ x + 0.1, np.inf)
    low[3] = high[3] = A[3] @ x
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for j in range(n):
        solver.addCol(float(rng.normal()), 0.0, 1.0, 0, [], [])
        solver.passColName(j, "x" if j == 0 else f"v{j}")
    for i in range(8):
        solver.addRow(low[i], high[i], n, np.arange(n), A[i])
        solver.passRowName(i, f"row{i}")
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize if sense == "maximise" else highspy.ObjSense.kMinimize)
    program, solution = str(tmp_path / "program.mps"), str(tmp_path / "solution.sol")
    solver.writeModel(program)
    solver.run()
    solver.writeSolution(solution, 0)
    form = mo.read(program)
    result = mo.io.read_solution(form, solution)
    assert result.status is mo.Status.OPTIMAL and result.certificate.dual_residual <= 1e-7
    certificate = mo.certify(form, solution)
    assert certificate.objective == pytest.approx(solver.getInfo().objective_function_value, rel=1e-9)
    assert certificate.bound == pytest.approx(certificate.objective, rel=1e-7) and abs(certificate.gap) <= 1e-7
    assert mo.certify(form, result.values).objective == certificate.objective
    assert certificate.objective == mo.proofs.check_point(form, solution).objective
    assert float(result.values["x"]) == form.join(result.values)[0]


DEPOT = """Maximize
 profit: 3 x + 2 y - 4 open
Subject To
 cap: x + y - 5 open <= 0
 BAL: x - y <= 1.5
Bounds
 x <= 3
Binaries
 open
End
"""


def test_a_point_is_written_for_others(tmp_path: Path) -> None:
    """The file is read back exactly, by SCIP as a solution of the program's own file, and at the prompt it is certified."""
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    program, solution = tmp_path / "depot.lp", tmp_path / "depot.sol"
    program.write_text(DEPOT)
    form = mo.read(program)
    result = mo.solve(form, "highs")
    mo.io.write_solution(form, result.values, solution)
    again = mo.io.read_solution(form, solution)
    assert (form.join(again.values) == form.join(result.values)).all() and again.objective == result.objective
    assert again.answer.objective == form.objective(form.join(result.values))
    native = scip.Model()
    native.hideOutput()
    native.readProblem(str(program))
    start = native.readSolFile(str(solution))
    assert native.getSolObjVal(start) == pytest.approx(result.objective, rel=1e-12)
    model = _hinge()
    values = mo.solve(model, "clarabel").values
    mo.io.write_solution(model, {"w": values["w"]}, solution)  # the slacks follow
    assert mo.io.read_solution(model, solution).solver == "unknown"  # the values may be anyone's
    assert mo.io.read_solution(model, solution).objective == pytest.approx(model.composition.objective(values["w"]), rel=1e-12)
    with pytest.raises(mo.errors.InputError):
        mo.io.write_solution(form, {"x": 1.0, "y": 2.0}, solution)


@pytest.mark.parametrize("names", [("x(1)", "e.2"), ("east", "st#1"), ("a", "b")])
def test_a_solution_for_a_file_has_the_file_s_names(names: tuple[str, str], tmp_path: Path) -> None:
    """SCIP takes it as a solution of the file: of another program's file, and of the file that we write of its form."""
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    first, second = names
    program, solution = tmp_path / "plan.mps", tmp_path / "plan.sol"
    program.write_text(
        f"NAME plan\nROWS\n N cost\n L cap\nCOLUMNS\n {first} cost -3 cap 1\n {second} cost -2 cap 1\n"
        f"RHS\n R cap 4\nBOUNDS\n UP B {first} 3\n UP B {second} 9\nENDATA\n"
    )
    form = mo.read(program)
    values = mo.solve(form, "highs").values
    ours = form.write(tmp_path / "ours.mps")
    for file in (program, ours):
        mo.io.write_solution(form, values, solution, program=file)
        native = scip.Model()
        native.hideOutput()
        native.readProblem(str(file))
        written = {line.split()[0] for line in solution.read_text().splitlines() if not line.startswith("#")}
        assert {variable.name for variable in native.getVars()} == written
        assert mo.proofs.check_point(mo.read(file), solution).objective == pytest.approx(-11.0)
    assert main(["solve", str(program), "--quiet", "--save", str(solution)]) == 0
    assert {*names} <= set(solution.read_text().split())
