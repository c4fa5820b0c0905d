"""A place of a matrix or vector that a file states twice: the sum where every reader of the format adds, else refused by line.

HiGHS, SCIP and Gurobi add the terms of LP files and of QUADOBJ, MOSEK those of PTF, MathOptInterface those of MOF. They disagree
on COLUMNS of MPS (SCIP takes the first), MOSEK refuses a second entry of CBF, and a second entry of the others has no meaning.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from facts import at

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import StandardForm

LP = """Minimize
 obj: x + 5 y + [ 2 x ^2 + 2 x * y + 3 y ^2 ] / 2
Subject To
 c: x + 2 y >= 6
End
"""
MPS = """NAME t
ROWS
 N obj
 G c
COLUMNS
 x obj 1
 x c 1
 y obj 5
 y c 2
RHS
 rhs c 6
QUADOBJ
 x x 2
 x y 1
 y y 3
ENDATA
"""
PTF = """Task
Objective
    Minimize + x + 5 y
Constraints
    c [6;+inf] + x + 2 y
Variables
    x [0;+inf]
    y [0;+inf]
"""
MOF = """{"version": {"major": 1, "minor": 7}, "variables": [{"name": "x"}, {"name": "y"}],
"objective": {"sense": "min", "function": {"type": "ScalarAffineFunction", "constant": 0.0, "terms": [
{"variable": "x", "coefficient": 1.0},
{"variable": "y", "coefficient": 5.0}]}},
"constraints": [{"name": "c", "set": {"type": "GreaterThan", "lower": 6.0}, "function": {"type": "ScalarAffineFunction",
"constant": 0.0, "terms": [
{"coefficient": 1.0, "variable": "x"},
{"coefficient": 2.0, "variable": "y"}]}}]}
"""
CBF = """VER
3
OBJSENSE
MIN
PSDVAR
1
2
VAR
2 1
L+ 2
PSDCON
1
2
CON
1 1
L+ 1
OBJFCOORD
2
0 0 0 1
0 1 0 2
OBJACOORD
2
0 1
1 5
FCOORD
2
0 0 1 0 1
0 0 1 1 4
ACOORD
2
0 0 1
0 1 2
BCOORD
1
0 -6
HCOORD
2
0 0 1 0 1
0 1 1 1 2
DCOORD
2
0 0 0 1
0 1 0 2
"""
SDPA = """2
2
2 -1
1 5
0 1 1 1 1
1 1 1 2 1
2 1 2 2 2
2 2 1 1 3
"""
QPLIB = """t
CCL
minimize
2
1
2
1 1 2
2 1 1
0
2
1 1
2 5
0
2
1 1 1
1 2 2
1e20
-1e20
1
1 6
1e20
0
0
2
1 0
2 0
1e20
1
2 9
"""
NL = """g3 0 1 0
5 1 1 0 0
0 0
0 0
0 0 0
0 0 0 1
0 0 0 0 0
2 2
0 0
0 0 0 0 0
C0
n0
O0 0
n0
r
2 6
b
2 0
2 0
2 0
2 0
2 0
J0 2
0 1
1 2
G0 2
0 1
1 5
"""


def _read(suffix: str, text: str, tmp_path: Path) -> StandardForm:
    path = tmp_path / f"twice{suffix}"
    path.write_text(text, encoding="utf-8")
    return mo.read(path)


def _arrays(form: StandardForm) -> list[np.ndarray]:
    P = np.zeros((form.n, form.n)) if form.quadratic is None else form.quadratic.csc.toarray()
    return [form.q, P, *(part for c in form.constraints for part in (c.F.toarray(), c.g))]


@pytest.mark.parametrize(
    ("suffix", "text", "entry", "twice"),
    [
        (".lp", LP, "x + 5 y", "x + 5 y + 3 x"),
        (".lp", LP, "c: x + 2 y", "c: x + 2 y + 3 x"),
        (".lp", LP, "2 x ^2", "2 x ^2 + 4 x ^2"),
        (".lp", LP, "2 x * y", "2 x * y + 4 y * x"),
        (".mps", MPS, " x x 2\n", " x x 2\n x x 4\n"),
        (".mps", MPS, " x y 1\n", " x y 1\n y x 2\n"),
        (".ptf", PTF, "Minimize + x", "Minimize + x + 3 x"),
        (".ptf", PTF, "inf] + x + 2", "inf] + x + 3 x + 2"),
        (".mof.json", MOF, '{"variable": "x", "coefficient": 1.0}', '{"variable": "x", "coefficient": 1.0},' * 2),
        (".mof.json", MOF, '{"coefficient": 1.0, "variable": "x"}', '{"coefficient": 1.0, "variable": "x"},' * 2),
    ],
)
def test_terms_of_sums_are_added(suffix: str, text: str, entry: str, twice: str, tmp_path: Path) -> None:
    """One number of the program differs, by what the second term says; the optimum is that of the sum."""
    assert text.count(entry) == 1
    once, both = (_arrays(_read(suffix, problem, tmp_path)) for problem in (text, text.replace(entry, twice.rstrip(","))))
    added = np.concatenate([np.ravel(b - a) for a, b in zip(once, both, strict=True)])
    expected = [1.0] if suffix == ".mof.json" else [2.0, 2.0] if " y x" in twice or "y * x" in twice else [3.0]
    expected = [4.0] if "x x 4" in twice or "4 x ^2" in twice else expected
    np.testing.assert_array_equal(added[added != 0.0], expected)


def _doubled(text: str, line: int, counts: bool) -> str:
    """The text with a line (from 1) a second time behind it, and the count of its table raised by one."""
    lines = text.splitlines()
    lines.insert(line, lines[line - 1])
    if counts:
        head = next(k for k in range(line - 1, -1, -1) if re.fullmatch(r"(?:[JG]0 )?\d", lines[k]))
        lines[head] = f"{lines[head][:-1]}{int(lines[head][-1]) + 1}"
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(
    ("suffix", "text", "lines", "counts"),
    [
        (".mps", MPS, (6, 7, 8, 9), False),
        (".cbf", CBF, (19, 20, 23, 24, 27, 28, 31, 32, 35, 38, 39, 42, 43), True),
        (".dat-s", SDPA, (5, 6, 7, 8), False),
        (".qplib", QPLIB, (7, 8, 11, 12, 15, 16, 20, 25, 26, 29), True),
        (".nl", NL, (24, 25, 27, 28), True),
    ],
)
def test_a_second_entry_is_refused_by_its_line(
    suffix: str, text: str, lines: tuple[int, ...], counts: bool, tmp_path: Path
) -> None:
    assert _read(suffix, text, tmp_path).n >= 2
    for line in lines:
        with pytest.raises(DataError, check=at(f"twice{suffix}", line + 1)):
            _read(suffix, _doubled(text, line, counts), tmp_path)


@pytest.mark.parametrize("segment", ["C0\nn0\n", "r\n2 6\n", "J0 2\n0 1\n1 2\n", "G0 2\n0 1\n1 5\n"])
def test_a_second_segment_of_nl_is_refused(segment: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, check=at("twice.nl", None)):
        _read(".nl", NL.replace(segment, segment * 2), tmp_path)


def test_a_mirrored_second_entry_of_cbf(tmp_path: Path) -> None:
    twice = CBF.replace("0 1 0 2\nOBJACOORD", "0 1 0 2\n0 0 1 2\nOBJACOORD").replace("OBJFCOORD\n2", "OBJFCOORD\n3")
    with pytest.raises(DataError, check=at("twice.cbf", 21)):
        _read(".cbf", twice, tmp_path)


@pytest.mark.parametrize("inside", [(0, 1), (1, 2)])
def test_a_column_that_a_marker_divides_is_refused(inside: tuple[int, int], tmp_path: Path) -> None:
    """HiGHS, SCIP and Gurobi take the kind of its first entry; of its last entry, x would be another kind of variable."""
    entries = [" x obj -1\n", " x c -1\n"]
    first, last = inside
    entries.insert(last, " m 'MARKER' 'INTEND'\n")
    entries.insert(first, " m 'MARKER' 'INTORG'\n")
    with pytest.raises(DataError, check=at("twice.mps", 9 - first)):
        _read(".mps", MPS.replace(" x obj 1\n x c 1\n", "".join(entries)), tmp_path)
