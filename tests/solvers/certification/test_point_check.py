"""A point's feasibility by name and unit: exact for rows, bounds and integers; solution files of others, by content."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt.cli.main import main
from marginopt.models.program.cones import Nonnegative, Zero

LP = """Maximize
 obj: 3 X1 + 2 X2
Subject To
 BAL: X1 + X2 <= 4
 CAP: X1 + 3 X2 <= 6
Bounds
 X1 <= 3
General
 X2
End
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.lp"
    path.write_text(LP)
    return path


def test_violations_have_the_names_and_units_of_the_program(program: Path) -> None:
    form = mo.read(program)
    check = mo.proofs.check_point(form, {"X1": 3.0, "X2": 4.0})
    assert not check.feasible and [(m.name, m.kind, m.amount) for m in check.violations] == [
        ("CAP", "row", 9.0),
        ("BAL", "row", 3.0),
    ]
    assert check.objective == 17.0 and check.sense == "maximise" and check.exact
    half = mo.proofs.check_point(form, {"X1": 3.5, "X2": 0.5})
    assert {(m.name, m.kind, m.amount) for m in half.violations} == {("X1", "bound", 0.5), ("X2", "integer", 0.5)}
    assert mo.proofs.check_point(form, {"X1": 3.0, "X2": 1.0}).violations == ()
    assert mo.certify(form, {"X1": 3.0, "X2": 1.0}).objective == 11.0


@pytest.mark.parametrize("values", [{"X1": 3.0}, {"X1": 3.0, "X2": 1.0, "X3": 0.0}, {"X1": 3.0, "X2": np.nan}])
def test_names_that_do_not_fit_are_refused(program: Path, values: dict[str, float]) -> None:
    with pytest.raises(mo.errors.InputError):
        mo.proofs.check_point(mo.read(program), values)


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_decided_as_in_rational_arithmetic(seed: int) -> None:
    """Points on a row but for one rounding, coefficients of all sizes."""
    rng = np.random.default_rng(seed)
    d = mo.load("wdbc").prepared().subsample(20, seed)
    form = mo.ZeroOneSVM(d.X[:, :5], d.y).form
    x = rng.normal(size=form.n) * 10.0 ** rng.integers(-6, 6)
    margin = form.constraint("margin")
    F = margin.F.toarray()
    for i in range(5):  # the row's slack as near to zero as its last variable allows
        j = int(np.argmax(np.abs(F[i])))
        x[j] -= (F[i] @ x + margin.g[i]) / F[i, j]
    names = {violation.name for violation in mo.proofs.check_point(form, x).violations if violation.kind == "row"}
    for c in form.constraints:
        assert isinstance(c.cone, Nonnegative | Zero)
        for name, row, g in zip(c.names(), c.F.toarray(), c.g, strict=True):
            value = sum((Fraction(a) * Fraction(v) for a, v in zip(row.tolist(), x.tolist(), strict=True)), Fraction(float(g)))
            assert (value < 0 if isinstance(c.cone, Nonnegative) else value != 0) == (name in names)


def test_a_file_is_told_by_its_content_and_the_exit_code_answers(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "hand": ("X1 3\nX2 1\n", "unknown", 0),
        "gurobi": ("# Solution for model x\n# Objective value = 20\nX1 3\nX2 4\n", "gurobi", 1),
        "fractions": ("X1 9/3\nX2 2/2\n", "unknown", 0),
        "comment": ("# mine\nX1 3.00000000000001\nX2 1\n", "unknown", 0),
        "scip": ("solution status: optimal solution found\nobjective value: 11\nX1 3 (obj:3)\nX2 1 (obj:2)\n", "scip", 0),
    }
    for name, (text, solver, code) in files.items():
        path = tmp_path / f"{name}.sol"
        path.write_text(text)
        result = mo.io.read_solution(mo.read(program), path)
        assert result.solver == solver
        assert result.certificate is not None and result.certificate.feasible(1e-6) == (code == 0)
        assert main(["certify", str(program), str(path), "--json"]) == code
        misses = json.loads(capsys.readouterr().out)["misses"]
        assert any(miss["name"] == "BAL" and miss["amount"] == 3 for miss in misses) == (code == 1)


def test_a_maximum_is_read_from_the_file_of_either_program(program: Path, tmp_path: Path) -> None:
    """The original file's objective is 11, that of the file that we write of the form is -11."""
    form = mo.read(program)
    for claim in ("11", "-11"):
        path = tmp_path / "a.sol"
        path.write_text(f"objective value: {claim}\nX1 3\nX2 1\n")
        assert mo.io.read_solution(form, path).answer.objective == -11.0


def test_cones_are_checked_in_floating_point() -> None:
    d = mo.load("wdbc").prepared().subsample(15, 0)
    model = mo.ConicSVM(d.X[:, :4], d.y, 1.0)
    values = dict(mo.solve(model, "clarabel").values)
    assert mo.proofs.check_point(model, values).feasible and not mo.proofs.check_point(model, values).exact
    values["W"] = values["W"] - 0.1 * np.eye(4)
    assert not mo.proofs.check_point(model, values).feasible


def test_a_feasible_point_of_a_continuous_program_that_claims_nothing_is_a_yes(tmp_path: Path) -> None:
    (tmp_path / "plan.lp").write_text(LP.replace("General\n X2\n", ""))
    (tmp_path / "some.sol").write_text("X1 1\nX2 1\n")
    assert main(["certify", str(tmp_path / "plan.lp"), str(tmp_path / "some.sol")]) == 0


@pytest.mark.parametrize("point", [(-3.0, 0.0), (7.0, 0.0)])
@pytest.mark.parametrize(
    "text", ["# Solution for model x\n{}", "solution status: optimal solution found\nobjective value: 0\n{}"]
)
def test_an_infeasible_point_is_never_an_optimum_where_zero_is_one(tmp_path: Path, point: tuple[float, float], text: str) -> None:
    """The point of objective zero took the place of a file's point, which misses a bound by 3 or the row by 2."""
    form = mo.from_qp(np.zeros((2, 2)), np.array([1.0, 2.0]), G=np.array([[1.0, 1.0]]), h=np.array([5.0]), lb=0.0)
    path = tmp_path / "a.sol"
    path.write_text(text.format("".join(f"{name} {value}\n" for name, value in zip(form.names(), point, strict=True))))
    result = mo.io.read_solution(form, path)
    assert not result.status.solved
    if result.status.stopped:
        assert result.values["x"].tolist() == list(point) and result.objective == point[0]


@pytest.mark.parametrize("sense", ["Maximize", "Minimize"])
def test_an_objective_that_a_file_states_and_its_point_does_not_have_is_seen(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], sense: str
) -> None:
    """By Python and at the prompt, in the program's own sense."""
    program.write_text(LP.replace("Maximize", sense))
    form, path = mo.read(program), tmp_path / "a.sol"
    for claim, misstated in ((11.0, False), (99.0, True)):
        path.write_text(f"# Objective value = {claim}\nX1 3\nX2 1\n")
        check, certificate = mo.proofs.check_point(form, path), mo.certify(form, path)
        assert (check.objective, check.stated_objective, check.misstated) == (11.0, claim, misstated)
        assert (certificate.objective, certificate.stated_objective) == (11.0, claim)
        assert all(("99" in str(answer)) == misstated for answer in (check, certificate))
        assert main(["certify", str(program), str(path), "--json"]) == int(misstated)
        record = json.loads(capsys.readouterr().out)
        assert (record["objective"], record["stated_objective"]) == (11.0, claim)


def test_a_file_of_miplib_states_its_objective_and_leaves_zeros_out(program: Path, tmp_path: Path) -> None:
    form, path = mo.read(program), tmp_path / "a.sol"
    for claim, misstated in ((9, False), (10, True)):
        path.write_text(f"=obj= {claim}\nX1 3\n")
        check = mo.proofs.check_point(form, path)
        assert check.feasible and check.unknown_variables == 0
        assert (check.objective, check.stated_objective, check.misstated) == (9.0, claim, misstated)
        assert mo.io.read_solution(form, path).values["X2"] == 0.0


@pytest.mark.parametrize("head", ["", "=obj= 9\n", "# Solution for model x\n", "solution status: optimal\nobjective value: 9\n"])
def test_a_variable_that_a_file_states_twice_is_refused(program: Path, tmp_path: Path, head: str) -> None:
    """The last value counted."""
    form, path = mo.read(program), tmp_path / "a.sol"
    path.write_text(f"{head}X1 3\nX2 0\nX1 3\n")
    assert mo.proofs.check_point(form, path).feasible
    path.write_text(f"{head}X1 3\nX2 0\nX1 2\n")
    with pytest.raises(mo.errors.DataError) as caught:
        mo.proofs.check_point(form, path)
    assert "'X1'" in str(caught.value)


def test_a_result_is_refused_where_its_values_are_asked_for(program: Path, tmp_path: Path) -> None:
    """The check of a point took whatever was no mapping for a path."""
    form = mo.read(program)
    result: Any = mo.solve(form, "highs")
    for call in (
        lambda: mo.proofs.check_point(form, result),
        lambda: mo.proofs.check_point(form, None),  # type: ignore[arg-type]
        lambda: mo.certify(form, result),
        lambda: mo.io.write_solution(form, result, tmp_path / "x.sol"),
    ):
        with pytest.raises(mo.errors.InputError, check=about("values")):
            call()
    assert mo.proofs.check_point(form, result.values).feasible


def test_values_of_a_solve_without_a_point_say_so(program: Path) -> None:
    result = mo.solve(mo.read(program).with_constraint(lambda v: [v["X1"] >= 3.5]), "highs")
    assert result.status is mo.Status.INFEASIBLE and result.values == {}
    with pytest.raises(KeyError) as missing:
        result.values["X1"]
    assert "known: " not in str(missing.value)
