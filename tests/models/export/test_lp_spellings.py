"""LP files in the spellings of others: each says the same program, or is refused by the name of what is not read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from facts import at
from program_texts import LP as BASE

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import Block, StandardForm
from marginopt.models.export.file_formats import write_form

#: What of the base is written otherwise, and how.
SPELLINGS = {
    ">= 3": [">= + 3", "> 3", "=> 3", "\n >=\n 3.0E+0"],
    "x + y + z": ["1x+1y\n+1z", "x + - - y - - z"],
    "c1: x": ["x"],
    "c2: -5": ["-5", "c2 :\n - 5"],
    "-5 <= x - y <= 6": ["- 5 < x - y < + 6", "6 >= x - y >= -5", "-5 =< x - y =< 6"],
    ">= 3\n c2": [">= 3 c2"],
    "x + y + z >= 3": ["3 <= x + y + z", "x + y + z >= 3\n idle: x >= -1e30"],
    "0 <= x <= 2": ["x <= 2", "2 >= x", "2 >= x >= - 0", "x < 2", "x free\n x >= 0\n x =< 2", "x = 2\n x >= 0",
        "x == 2\n 0 <= x"],
    "0 <= x <= 2\n": ["x <= 2 "],
    "-inf <= y <= 4": ["y FREE\n y <= 4", "y >= -Infinity\n y <= 4", "y <= 4.\n y >= -1e+20\n z < inf"],
    "-inf <= y": ["-infinity <= y", "- Inf <= y", "-1e30 <= y"],
    "obj: ": ["", "obj :\n"],
    "x + 2 y + z + 7": ["3 + x + 2 y + z + 4"],
    "x + 2 y + z": ["2 x - x + 2 y + z"],
    "Minimize\n obj": ["min obj"],
    "Minimize": ["MINIMUM"],
    "Minimize\n obj: x + 2 y + z + 7": ["Maximum\n - x - 2 y - z - 7"],
    "Subject To": ["SUBJECT   TO", "s.t.", "st.", "such that"],
    "Subject To\n c1": ["st c1"],
    "Bounds": ["bound", "Lazy Constraints\n -5 <= x - y <= 6\nBounds"],
    "Bounds\n 0": ["Bounds 0"],
    "Generals\n z": ["int z"],
    "Generals": ["Integers", "Gen", "\\ a comment\n\nGENERAL \\ another"],
    "End": ["Semi-continuous\nSOS\nEnd"],
}  # fmt: skip


def _read(text: str, folder: Path) -> StandardForm:
    path = folder / "theirs.lp"
    path.write_text(text, encoding="utf-8")
    return mo.read(path)


def _said(form: StandardForm) -> dict[str, object]:
    """Everything that a program says, its rows in no order and without their names."""
    F, g = form.rows_matrix()
    fields = {name: np.asarray(getattr(form, name)).tolist() for name in ("q", "r", "lower", "upper", "integer")}
    return fields | {"names": form.names(), "rows": {tuple(row) for row in np.column_stack([F.toarray(), g]).tolist()}}


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, spellings in SPELLINGS.items() for new in spellings])
def test_a_spelling_says_the_same(old: str, new: str, tmp_path: Path) -> None:
    assert BASE.count(old) == 1
    assert _said(_read(BASE.replace(old, new), tmp_path)) == _said(_read(BASE, tmp_path))


def test_rows_without_a_name_are_numbered_and_yield_to_names(tmp_path: Path) -> None:
    form = _read(BASE.replace("c1: x", "x").replace("c2:", "c1:"), tmp_path)
    assert {name for c in form.constraints for name in c.names()} == {"c1_", "c1", "c1 (other side)"}


def test_a_sign_before_a_bracket_is_that_of_all_its_terms(tmp_path: Path) -> None:
    form = _read(BASE.replace("+ 7", "- [ - x ^2 + 4 x * z - 3 z^2 ]/2 + [ 2 y * y ] / 2"), tmp_path)
    assert form.quadratic is not None
    np.testing.assert_array_equal(form.quadratic.csc.toarray(), [[1, 0, -2], [0, 2, 0], [-2, 0, 3]])


def test_names_may_be_words_of_the_format(tmp_path: Path) -> None:
    """A block may be called ``end`` or ``free``; the file has other names and reads back to an equal form."""
    for label in ("end", "free", "inf", "bounds", "st"):
        form = StandardForm("words", (Block(label, ()),), np.ones(1), (), np.zeros(1), np.ones(1), np.ones(1, dtype=bool))
        write_form(form, tmp_path / f"{label}.lp")
        assert mo.read(tmp_path / f"{label}.lp").equals(form)


@pytest.mark.parametrize("writer", ["gurobi", "scip"])
def test_what_gurobi_and_scip_write(writer: str, tmp_path: Path) -> None:
    """Rows with two sides are a slack's there or two rows; constants of the objective a variable's or numbers."""
    path = tmp_path / "theirs.lp"
    if writer == "gurobi":
        optimum = _by_gurobi(path)
    else:
        optimum = _by_scip(path)
    form = mo.read(path)
    assert {"plan1", "rest"} <= set(form.names())
    assert form.maximise
    assert mo.solve(form, "highs", tol=1e-8).objective == pytest.approx(optimum, abs=1e-6)


def _by_gurobi(path: Path) -> float:
    gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        plan = model.addVar(ub=4, vtype="I", name="plan1")
        rest = model.addVar(lb=-gp.GRB.INFINITY, name="rest")
        model.addRange(plan + rest, -3, 4.5, "range")
        model.addConstr(plan - rest >= -2, "shift")
        model.setObjective(2 * plan + 3 * rest + 5.5, gp.GRB.MAXIMIZE)
        model.optimize()
        model.write(str(path))
        return float(model.ObjVal)


def _by_scip(path: Path) -> float:
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    model = scip.Model()
    model.hideOutput()
    plan, rest = model.addVar("plan1", "I", ub=4), model.addVar("rest", lb=None)
    model.chgLhs(model.addCons(plan + rest <= 4.5, "range"), -3)
    model.addCons(plan - rest >= -2, "shift")
    model.setObjective(2 * plan + 3 * rest + 5.5, "maximize")
    model.writeProblem(str(path), verbose=False)
    model.optimize()
    return float(model.getObjVal())


def test_infinite_bounds_and_sides_of_others(tmp_path: Path) -> None:
    """1e30 is no bound in an MPS file; in our own, which say so themselves, every number is meant."""
    form = _read(BASE, tmp_path)
    large = replace(form, upper=np.array([2e25, 4.0, np.inf]))
    for suffix in (".mps", ".lp"):
        path = write_form(large, tmp_path / f"large{suffix}")
        assert mo.read(path).equals(large)
        path.with_name(path.name + ".names.json").unlink()
        assert mo.read(path).upper.tolist() == [np.inf, 4.0, np.inf]


@pytest.mark.parametrize("word", ["maximise", "Minimise"])
def test_a_sense_that_peers_pass_over_is_refused(word: str, tmp_path: Path) -> None:
    path = tmp_path / "theirs.lp"
    path.write_text(f"{word}\n obj: x\nsubject to\n x <= 3\nend\n", encoding="utf-8")
    with pytest.raises(DataError, check=at(path, 1)):
        mo.read(path)


@pytest.mark.parametrize("word", ["binary", "st", "Max", "gen"])
def test_a_variable_that_begins_a_section_to_peers_is_refused(word: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, check=at(tmp_path / "theirs.lp", 2)):
        _read(f"minimize\n obj: x + 2 {word}\nsubject to\n x >= 1\nend\n", tmp_path)
