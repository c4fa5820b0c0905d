"""``certify``, ``inspect FILE --why``, and targets that are checked before the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vipr_checker import check

import marginopt as mo
from marginopt.cli.main import main
from marginopt.models import Block, Constraint, Nonnegative, StandardForm


@pytest.fixture
def model() -> mo.HingeSVM:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(10), rng.normal(size=(10, 2))])
    return mo.HingeSVM(X, np.where(rng.random(10) < 0.5, -1.0, 1.0))


def run(capsys: Any, *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("suffix", [".mps", ".mof.json", ".npz"])
def test_certify_recomputes_a_stored_result_from_the_programs_file(
    capsys: Any, model: mo.HingeSVM, tmp_path: Path, suffix: str
) -> None:
    file = model.write(tmp_path / f"model{suffix}")
    stored = mo.solve(model, "clarabel").save(tmp_path / "result.npz")
    code, out, _ = run(capsys, "certify", file, stored, "--exact", "--json")
    assert code == 0, out
    assert json.loads(out)["status"] == "OPTIMAL" and json.loads(out)["feasible"]
    other = mo.solve(mo.HingeSVM(model.X, model.y, lam=9.0), "clarabel").save(tmp_path / "other.npz")
    code, out, _ = run(capsys, "certify", file, other, "--json")
    assert code == 1
    assert json.loads(out)["status"] != "OPTIMAL"


def test_why_names_what_excludes_what(capsys: Any, tmp_path: Path) -> None:
    form = StandardForm(
        "three", (Block("x", (2,)),), np.zeros(2), (Constraint("row", np.array([[1.0, 1.0]]), np.array([-3.0]), Nonnegative(1)),),
        np.full(2, -np.inf), np.ones(2), np.zeros(2, dtype=bool),
    )  # fmt: skip
    from marginopt.models.export.file_formats import write_form

    code, out, _ = run(capsys, "inspect", write_form(form, tmp_path / "three.npz"), "--why", "--json")
    assert code == 0
    assert json.loads(out)["elements"]
    feasible = write_form(form.with_bounds(form.lower, np.full(2, 2.0)), tmp_path / "two.npz")
    code, out, _ = run(capsys, "inspect", feasible, "--why", "--json")
    assert code == 0
    assert json.loads(out)["conflict"] is None
    code, out, _ = run(capsys, "inspect", feasible, "--json")
    assert json.loads(out)["variables"] == 2


def test_targets_are_refused_before_anything_is_solved(capsys: Any, tmp_path: Path) -> None:
    data = tmp_path / "points.csv"
    data.write_text("a,b,label\n1,2,-1\n2,1,1\n0,1,-1\n1,0,1\n")
    for option in ("--save", "--proof"):
        code, out, err = run(capsys, "solve", "zero-one", data, option, "/nonexistent/x", "--quiet")
        assert code == 2
        assert "/nonexistent" in err
        assert out == ""


def test_prove_writes_a_certificate_for_other_checkers(capsys: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(9), rng.normal(size=(9, 2))])
    model = mo.Margin(X, np.where(rng.random(9) < 0.5, -1.0, 1.0), loss="zero-one", regulariser="l1", intercept="free")
    file = model.write(tmp_path / "model.mps")
    code, out, _ = run(capsys, "prove", file, tmp_path / "model.vipr", "--json")
    assert code == 0, out
    assert json.loads(out)["gap"] <= 1e-6
    assert check(tmp_path / "model.vipr").lower is not None
    code, out, _ = run(capsys, "prove", file, tmp_path / "cut.vipr", "--time-limit", 0, "--json")
    assert code == 1
    assert json.loads(out)["gap"] is None  # no point by then: the gap is infinite, for which JSON has no number
    (tmp_path / "points.csv").write_text("a,b,y\n1,2,0\n2,1,1\n")
    code, _, err = run(capsys, "prove", tmp_path / "points.csv", tmp_path / "data.vipr")
    assert code == 2 and ".mps" in err


@pytest.mark.parametrize("words", [("certify", "x", "b"), ("prove", "x", "b"), ("inspect", "x"), ("data", "x")])
def test_a_missing_file_is_said_before_its_format(capsys: Any, tmp_path: Path, words: tuple[str, ...]) -> None:
    missing = tmp_path / "missing"
    code, _, err = run(capsys, words[0], missing, *words[2:])
    assert code == 2 and str(missing) in err
    assert not any(suffix in err for suffix in (".csv", ".mps"))


@pytest.mark.parametrize("command", ["certify", "prove"])
def test_what_needs_a_program_names_the_formats_of_programs(capsys: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "program.txt").write_text("", encoding="utf-8")
    code, _, err = run(capsys, command, tmp_path / "program.txt", tmp_path / "b")
    assert code == 2 and ".mps" in err and ".lp" in err and ".csv" not in err


def test_inspect_of_a_formulation_alone_asks_for_data(capsys: Any) -> None:
    code, _, err = run(capsys, "inspect", "hinge")
    assert code == 2 and "hinge" in err


def test_a_point_of_a_file_is_judged_as_it_is(capsys: Any, tmp_path: Path) -> None:
    # two goods to two towns by lorries of 8; what a mixed-integer solver would do with the rest is not what the file says
    names = ("lorries", "ship[a]", "ship[b]")
    cost, least = np.array([20.0, 2.0, 3.0]), np.array([0.0, -5.0, -6.0])
    rows = Constraint(
        "demand", np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), least[1:], Nonnegative(2), ("demand[a]", "demand[b]")
    )
    load = Constraint("load", np.array([[8.0, -1.0, -1.0]]), np.zeros(1), Nonnegative(1))
    form = StandardForm(
        name="lorries",
        blocks=tuple(Block(name, ()) for name in names),
        q=cost,
        constraints=(rows, load),
        lower=np.zeros(3),
        upper=np.full(3, np.inf),
        integer=np.array([True, False, False]),
    )
    file = form.write(tmp_path / "lorries.lp")
    points = {"short": (2.0, 2.0, 6.0), "idle": (2.0, 7.0, 6.5), "best": (2.0, 5.0, 6.0)}
    for name, point in points.items():
        path = tmp_path / f"{name}.sol"
        path.write_text("\n".join(f"{variable} {value}" for variable, value in zip(names, point, strict=True)), encoding="utf-8")
        result = mo.io.read_solution(form, path)
        assert [float(result.values[variable]) for variable in names] == list(point)
        assert result.objective == pytest.approx(float(cost @ point), rel=1e-12)
        assert result.verify(form).stands
        code, out, _ = run(capsys, "certify", file, path, "--json")
        record = json.loads(out)
        assert (code == 0) is record["feasible"] is (name != "short")
        assert [(miss["name"], miss["amount"]) for miss in record["misses"]] == ([("demand[a]", 3.0)] if name == "short" else [])


#: Maximise 3 x + 2 y subject to x + y = 4, x + 3 y <= 6, x <= 3: the optimum is 11 at (3, 1).
PLAN = """NAME PLAN
OBJSENSE
    MAX
ROWS
 N profit
 E BAL
 L CAP
COLUMNS
    X1 profit 3 BAL 1
    X1 CAP 1
    X2 profit 2 BAL 1
    X2 CAP 3
RHS
    RHS BAL 4 CAP 6
BOUNDS
 UP BND X1 3
ENDATA
"""
#: Its optimum as SCIP writes it.
PLAN_BY_SCIP = "solution status: optimal solution found\nobjective value: 11\nX1 3 (obj:3)\nX2 1 (obj:2)\n"


def test_claims_about_a_maximum_are_in_its_own_sense(capsys: Any, tmp_path: Path) -> None:
    program, solution = tmp_path / "plan.mps", tmp_path / "plan.sol"
    program.write_text(PLAN, encoding="utf-8")
    solution.write_text(PLAN_BY_SCIP, encoding="utf-8")
    form = mo.read(program)
    for exact in (False, True):
        verification = mo.io.read_solution(form, solution).verify(form, exact=exact)
        figures = {check.name: (check.claimed, check.recomputed) for check in verification.checks}
        assert verification.stands and verification.maximise
        for name, pair in figures.items():
            assert pair == pytest.approx((11.0, 11.0), abs=1e-9) or name in ("status", "primal residual"), name
    assert "bound above objective" in figures and verification.objective == 11
    assert verification.bound is not None and verification.gap == verification.bound - 11 >= 0
    code, out, _ = run(capsys, "certify", program, solution)
    first, *others = out.split("\n\n")
    assert code == 0 and "bound 11 (proved)" in first and "-11" not in out and len(others) == 2


def test_an_objective_of_zero_has_no_sign_in_a_maximum(tmp_path: Path) -> None:
    program = tmp_path / "zero.lp"
    program.write_text("Maximize\n obj: x\nSubject To\n c: x + y >= 0\nBounds\n x <= 0\n y <= 0\nEnd\n", encoding="utf-8")
    form = mo.read(program)
    result = mo.solve(form, "highs")
    numbers = (result.objective, result.bound, mo.proofs.check_point(form, result.values).objective)
    numbers += (mo.certify(form, result.values).objective,)
    assert [(abs(number) == 0.0, np.signbit(number)) for number in numbers] == [(True, False)] * 4
