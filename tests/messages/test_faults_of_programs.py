"""The sentences of errors in files of programs and of solutions, with the file and the line that the error carries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from program_texts import LP, MPS, NL

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models.export.file_formats import read_form

NAMES = ["plan[1]", "plan[2]", "rest"]
HEAD = ("VER", "3", "OBJSENSE", "MIN")
_VAR = (*HEAD, "VAR", "2 1", "F 2")


def _check(
    name: str, text: str, line: int | None, sentence: str, folder: Path, read: Callable[[Path], object] = read_form
) -> None:
    """Write the text, read it, and check the error; a line of None is not checked."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert sentence in str(caught.value) and name in str(caught.value)
    assert caught.value.file == str(path) and line in (None, caught.value.line)


MPS_FAULTS = [
    (" UP bnd x 4", " SC bnd x 4", 17, "semi-continuous variables are not read: SC bnd x 4; state x, 0 or in [l, u]"),
    (" UP bnd x 4", " SI bnd x 4", 17, "semi-continuous variables are not read"),
    (" UP bnd x 4", " ZZ bnd x 4", 17, "a kind of bound that is not known: 'ZZ'"),
    (" UP bnd x 4", " UP bnd x 4\n UP bnd x 5", 18, "the upper bound of x is stated twice: 4 and 5"),
    (" UP bnd x 4", " FX bnd x 4\n LO bnd x 3", 18, "the lower bound of x is stated twice: 4 and 3"),
    (" UP bnd x 4", " FX bnd x 1\n BV bnd x", 18, "1 and 0, of which readers take one or the other; leave one out"),
    (" UP bnd x 4", " UP bnd x", 17, "a bound"),
    (" UP bnd x 4", " UP x", 17, "a bound of the kind UP has a column and a number"),
    (" UP bnd x 4", " UP bnd x 4 5", 17, "a bound of the kind UP has a column and a number"),
    (" UP bnd x 4", " FR bnd x z", 17, "a bound"),
    (" UP bnd x 4", " UP bnd z 4", 17, "the variable 'z' is not in COLUMNS"),
    (" UP bnd x 4", " UP bnd x -4", 18, "x has a negative upper bound and no lower one"),
    (" UP bnd x 4", " UP bnd x nan", 17, "a bound"),
    ("c1 10", "c1 1_0", 13, "a right-hand side"),
    ("c1 10", "c1 9/10", 13, "a right-hand side"),
    ("c1 10", "c1 inf", 13, "a right-hand side"),
    ("    rhs c1 10", "    foo\n    rhs c1 10", 13, "a row and its number are needed"),
    ("    rhs c1 10", "    rhs c1 9\n    rhs c1 10", 14, "the right-hand side of c1 is stated twice: 9 and 10"),
    ("    rhs c1 10", "    rhs obj 9\n    rhs obj 8\n    rhs c1 10", 14, "the constant of obj is stated twice"),
    ("    rhs c1 10", "    rhs zz 9\n    rhs c1 10", 13, "the row 'zz' is not declared in ROWS"),
    ("    rng c2 5", "    rng c2 5 c1", 15, "a range"),
    ("    rng c2 5", "    rng c2 5\n    rng c2 6", 16, "the range of c2 is stated twice: 5 and 6"),
    ("    y c2 1", "    y c2 1\n    y c2 1", 12, "a second entry of y in c2"),
    ("    y c2 1", "    z c2 1\n    y c2 1", 12, "the column y goes on behind another one"),
    ("    y c2 1", "    y c2 nan", 11, "a coefficient"),
    ("    y c2 1", "    y c2 1e999", 11, "a coefficient"),
    ("    y c2 1", "    y c2 0x1", 11, "a coefficient"),
    ("'INTORG'", "'SOSORG'", 7, "a marker is 'INTORG' or 'INTEND'"),
    (" G c2", " G c1", 5, "a row"),
    (" G c2", " X c2", 5, "a row"),
    (" G c2", " G c2 5", 5, "a row must have a kind and a name"),
    (" G c2", " G c 2", 5, "names with blanks must stand in the columns of the fixed format, in every line: else rename them"),
    ("RHS\n", "RHS of water\n", 12, "words behind the name of the section RHS"),
    ("RHS\n", "WATER\n", 12, "'WATER' is not read: the section is not known"),
    ("RHS\n", "COLUMNS\nRHS\n", 12, "a second section COLUMNS"),
    ("NAME t\n", "    x 1\nNAME t\n", 1, "a line that belongs to no section"),
    ("NAME t\n", "NAME t\nOBJSENSE MAX MIN\n", 2, "an objective is to be minimised or maximised"),
    ("NAME t\n", "NAME t\nOBJNAME c1\n", 4, "an objective other than the first N row"),
    ("ENDATA", "SOS1\n S1 set\nENDATA", 19, "special ordered sets are not read: section SOS1; state x_i in [0, u_i] by binaries"),
    ("ENDATA", "QUADOBJ\n    x x 1 y\nENDATA", 19, "an entry of a matrix has two columns and a number"),
    ("ENDATA", "QMATRIX\n    x y 1\nENDATA", 18, "QMATRIX must hold both triangles of a symmetric matrix"),
    ("ENDATA", "QUADOBJ\n    y y 1\nQMATRIX\n    y y 1\nENDATA", 20, "a second quadratic part of the objective"),
    ("ENDATA", "QSECTION\n    y y 1\nENDATA", 18, "the name of one row must stand behind QSECTION"),
    ("ENDATA", "QCMATRIX zz\n    y y 1\nENDATA", 18, "the row 'zz' is not declared in ROWS"),
    ("ENDATA", "QCMATRIX c1\n    y y 1\n    y y 1\nENDATA", 18, "a second entry of one pair of variables"),
    ("ENDATA", "INDICATORS\n IF c1 x 1\nENDATA", 19, "the switch of the indicator c1, x,"),
    ("ENDATA", "INDICATORS\n IF c1 x\nENDATA", 19, "an indicator"),
    ("ENDATA", "INDICATORS\n IF c1 x 2\nENDATA", 19, "an indicator"),
    ("ENDATA\n", "", 17, "it ends before ENDATA"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), MPS_FAULTS)
def test_mps(old: str, new: str, line: int, message: str, tmp_path: Path) -> None:
    assert MPS.count(old) == 1
    _check("theirs.mps", MPS.replace(old, new), line, message, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("S0 1 priority", "S0 1 sosno", 12, "special ordered sets are not read: suffix sosno"),
        ("S0 1 priority", "L0\nn1", None, "logical constraints are not read"),
    ],
)
def test_nl(old: str, new: str, line: int, message: str, tmp_path: Path) -> None:
    _check("theirs.nl", NL.replace(old, new), line, message, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("End", "Semi-Continuous\n z\nEnd", 12, "semi-continuous variables are not read: z; state x, 0 or in [l, u]"),
        ("End", "SOS2\n set: S2:: x:1 y:2\nEnd", None, "special ordered sets are not read: set: S2:: x:1 y:2; state x_i"),
        ("End", "General Constraints\n g: z = ABS ( x )\nEnd", None, "general constraints are not read: g"),
        ("Bounds", "PWLObj\n x: (0, 1) (1, 2)\nBounds", None, "piecewise-linear objectives are not read"),
        ("Minimize\n obj:", "Minimize multi-objectives\n one: Priority=1\n", None, "several objectives are not read: one"),
        ("c2: -5", "c2: z = 1 -> x - y <= 2\n c3: -5", 5, "the switch of the indicator c2, z,"),
        ("c2: -5", "c2: z = 2 -> x - y <= 2\n c3: -5", 5, "an indicator asks for z = 0 or 1"),
        ("c2: -5", "c2: z >= 1 -> x - y <= 2\n c3: -5", 5, "an indicator that is not understood: row c2"),
        ("c2: -5", "c2: z = 1 -> [ x ^2 ] <= 2\n c3: -5", 5, "indicators of quadratic rows are not read: row c2"),
        ("-5 <= x - y <= 6", "-4 <= x - y + 1 <= 7", 5, "a number stands among the terms of the row c2"),
        ("0 <= x <= 2", "x <= 2\n x free", 8, "x is free and has bounds"),
        ("0 <= x <= 2", "x <= 2\n x <= inf", 8, "x has an upper bound, and then an infinite one: readers differ in which"),
        ("0 <= x <= 2", "x <= -2", None, "x has a negative upper bound and no lower one, which readers take in two ways"),
        ("+ 7", "+ [ x ^2 ] / 3", 2, "a quadratic part ends with ']' or with '] / 2'"),
        ("+ 7", "+ [ x ^2 y ^2 ]", 2, "a quadratic term without a sign before 'y'"),
        ("+ 7", "+ inf x", 2, "a coefficient"),
        ("+ 7", "+ 7 st", 2, "a variable is called st, which begins a section to other readers: rename it"),
        (">= 3", ">= 3 - z", 4, "variables stand left of the side alone: row c1"),
        (">= 3", ">= z", 4, "no number behind >=, but 'z'"),
        ("-5 <= x - y <= 6", "-5 <= x - y >= 6", None, "two sides that do not go together"),
        ("-5 <= x - y <= 6", "-5 <= 5\n x <= 6", 5, "a number on both sides of <= and its variable on the next line"),
        ("-5 <= x - y <= 6", "x - y", None, "without a side"),
        ("c1: x + y + z", "c1: 2", None, "a number stands among the terms of the row c1"),
        ("0 <= x <= 2", "2 x <= 2", 7, "a bound that is not understood, at '2'"),
        ("0 <= x <= 2", "x", None, "a bound that is not understood"),
        ("+ 7", "+ 7 +", None, "a sign without a term"),
        (" z\nEnd", " 3\nEnd", 10, "'3' is no name of a variable"),
    ],
)
def test_lp(old: str, new: str, line: int, message: str, tmp_path: Path) -> None:
    _check("theirs.lp", LP.replace(old, new), line, message, tmp_path)


@pytest.mark.parametrize(
    ("words", "line", "message"),
    [
        (("VER these words", "3"), 1, "alone"),
        (("VER", "3 4"), 2, "1 words"),
        (("VER", "9"), 2, "versions"),
        (("VER", "3", "OBJSENSE", "SOME"), 4, "MIN or MAX"),
        (("this is corrupted", "VER", "3"), 1, "alone"),
        ((*HEAD, "VAR", "2 1 and these", "F 2"), 6, "2 words"),
        ((*HEAD, "VAR", "3 1", "F 2"), 7, "2 rows together, and 3"),
        ((*HEAD, "VAR", "4 1", "EXP 4"), 7, "EXP of 4 rows"),
        ((*HEAD, "VAR", "3 1", "@0:POW 3"), 7, "no exponents"),
        ((*HEAD, "POWCONES", "1 2", "2", "1.0", "-1.0"), 9, "positive"),
        ((*HEAD, "VAR", "3 1", "SVECPSD 3"), 7, "domain SVECPSD"),
        ((*HEAD, "VAR", "1 1", "QR 1"), 7, "cone QR of 1 rows"),
        ((*HEAD, "PSDVAR", "1", "0"), 7, "order 0"),
        ((*HEAD, "CHANGE"), 5, "CHANGE is not read"),
        ((*_VAR, "VAR", "2 1", "F 2"), 8, "second VAR"),
        ((*_VAR, "OBJACOORD", "1", "0 1.0 this"), 10, "2 words"),
        ((*_VAR, "OBJACOORD", "1", "2 1.0"), 10, "index 2"),
        ((*_VAR, "OBJACOORD", "1", "-1 1.0"), 10, "index -1"),
        ((*_VAR, "OBJACOORD", "1", "0 1_0"), 10, "a number"),
        ((*_VAR, "OBJACOORD", "1", "0 nan"), 10, "a number"),
        ((*_VAR, "OBJACOORD", "2", "0 1", "INT"), 11, "2 words"),
        ((*_VAR, "INT", "1", "2"), 10, "index 2"),
        ((*_VAR, "OBJFCOORD", "1", "0 0 0 1"), 10, "index 0"),
        ((*_VAR, "CON", "1 1", "L+ 1", "ACOORD", "1", "1 0 1"), 13, "index 1"),
    ],
)
def test_cbf(tmp_path: Path, words: tuple[str, ...], line: int, message: str) -> None:
    _check("a.cbf", "\n".join(words) + "\n", line, message, tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": {"type": "ScalarNonlinearFunction"}, "set": {"type": "LessThan"}, "name": "ball"}, "ball"),
        ({"function": {"type": "VectorOfVariables", "variables": NAMES}, "set": {"type": "GeometricMeanCone"}}, "GeometricMean"),
        ({"function": {"type": "Variable", "name": NAMES[0]}, "set": {"type": "Semicontinuous"}}, "Semicontinuous"),
    ],
)
def test_mof(change: dict[str, object], message: str, tmp_path: Path) -> None:
    document = {
        "version": {"major": 1, "minor": 7},
        "variables": [{"name": name} for name in NAMES],
        "objective": {"sense": "feasibility"},
        "constraints": [change],
    }
    _check("theirs.mof.json", json.dumps(document), None, message, tmp_path)


FORM_FAULTS = {
    "no version.cbf": ("OBJSENSE\nMIN\nVAR\n2 1\nF 2\n", "no VER"),
    "no sense.cbf": ("VER\n3\nVAR\n2 1\nF 2\n", "no OBJSENSE"),
    "bad.cbf": ("VER\n5\n", "versions 1 to 4"),
    "sense.cbf": ("VER\n2\nOBJSENSE\nMOST\n", "MIN or MAX"),
    "short.cbf": ("VER\n3\nVAR\n3 1\n", "ends too early"),
    "exp.cbf": ("VER\n3\nVAR\n4 1\nEXP 4\n", "EXP of 4 rows"),
    "bad.ptf": ("Task ''\nObjective\n    Maximize + x\n", "'x' is not among"),
    "unknown.ptf": ("Task ''\nObjective\n    Minimize + x\nConstraints\nVariables\n    y\n", "'x' is not among"),
    "bad.nl": ("b3 1 1 0\n", "first letter is g"),
    "short.nl": ("g3 1 1 0\n 2 1 1 0 0\n", "not a NL file"),
    "bad.qplib": ("name\nLCX\nminimize\n", "LCX are not known"),
    "short.qplib": ("name\nLCL\nminimize\n3\n", "ends too early"),
}


@pytest.mark.parametrize("name", FORM_FAULTS)
def test_forms(name: str, tmp_path: Path) -> None:
    text, message = FORM_FAULTS[name]
    _check(name, text, None, message, tmp_path)


SOLUTION_FAULTS = {
    "missing variables": ("# Objective value = 1\nw[0] 1\n", "variables are missing"),
    "a misspelt variable": (
        "# Objective value = 1\nw[0] 1\nw[1] 1\nxi[0] 0\nxi[1] 0\nxi[02] 0\n",
        "'xi[2]' is missing; the file has 'xi[02]', which is no variable of the form",
    ),
    "another model": ("solution status: optimal\nobjective value: 1\na 1\nb 2\n", "is one of the form's"),
    "cut off": ("Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 2\n# Columns 3\nw_0 1\n", "too early"),
    "no numbers": ("# Solution for model a\n# Objective value = 1\nw[0] one\n", "could not convert"),
    "no solution": ("hello\n", "no solution file that is known"),
    "other sizes": ("x\n\nOptions\n1\n0\n2\n0\n3\n3\n1\n1\n1\n", "3 variables and 2 rows"),
}


@pytest.mark.parametrize("what", SOLUTION_FAULTS)
def test_solutions(what: str, tmp_path: Path) -> None:
    text, message = SOLUTION_FAULTS[what]
    model = mo.HingeSVM(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0]]), np.array([1.0, -1.0, -1.0]))
    _check("bad.sol", text, None, message, tmp_path, lambda path: mo.io.read_solution(model, path))
