"""Names with blanks in MPS files: read where fixed columns tell them apart, else an error that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import StandardForm

_STARTS = (1, 4, 14, 24, 39, 49)


def _line(*fields: str) -> str:
    """Return a line with its fields in the columns of the fixed format."""
    line = ""
    for start, text in zip(_STARTS, fields, strict=False):
        line = line.ljust(start) + text
    return line


def _read(lines: list[str], folder: Path) -> StandardForm:
    path = folder / "plan.mps"
    path.write_text("\n".join([*lines, "ENDATA", ""]), encoding="utf-8")
    return mo.read(path)


def _plan(row: str, column: str, group: str) -> list[str]:
    """Return max 2 x + y with x + y <= 4 and x <= 3, by the names of row, column x, and sets of numbers."""
    return [
        "NAME          PLAN", "OBJSENSE", "  MAX", "ROWS", _line("N", "COST"), _line("L", row), "COLUMNS",
        _line("", column, "COST", "2.0", row, "1.0"), _line("", "Y", "COST", "1.0", row, "1.0"),
        "RHS", _line("", group, row, "4.0"), "BOUNDS", _line("UP", group, column, "3.0"), _line("PL", group, "Y"),
    ]  # fmt: skip


@pytest.mark.parametrize("row", ["CAP", "DAY 1"])
@pytest.mark.parametrize("column", ["X", "OLD MILL"])
@pytest.mark.parametrize("group", ["SET", "MY SET", "MY OWN S"])
def test_blanks_in_any_name_are_read_from_fixed_columns(row: str, column: str, group: str, tmp_path: Path) -> None:
    form = _read(_plan(row, column, group), tmp_path)
    assert form.names() == [column, "Y"]
    assert [name for c in form.constraints for name in c.names()] == [row]
    assert form.upper.tolist()[0] == 3.0 and form.maximise
    assert mo.solve(form, "highs").objective == pytest.approx(7.0)


@pytest.mark.parametrize("blank", ["row", "column", "group", "bound"])
def test_blanks_in_free_lines_are_an_error_that_names_the_line(blank: str, tmp_path: Path) -> None:
    """A line with too many words for its section, in a file that is not in fixed columns."""
    row, column = ("DAY 1" if blank == "row" else "CAP"), ("OLD MILL" if blank == "column" else "X")
    group, bound = ("A B C" if blank == "group" else "SET"), ("MY BND" if blank == "bound" else "SET")
    lines = [
        "NAME PLAN", "ROWS", " N COST", f" L {row}", "COLUMNS", f" {column} COST 2 {row} 1", f" Y COST 1 {row} 1", "RHS",
        f" {group} {row} 4", "BOUNDS", f" UP {bound} {column} 3",
    ]  # fmt: skip
    with pytest.raises(DataError) as raised:
        _read(lines, tmp_path)
    assert raised.value.line == {"row": 4, "column": 6, "group": 9, "bound": 11}[blank]


@pytest.mark.parametrize("column", ["A CAP 3", "A CAP -1e3"])
def test_a_name_that_may_be_an_entry_is_refused(column: str, tmp_path: Path) -> None:
    """In fixed columns the name is one field; at blanks it is a column A with the entry of CAP."""
    lines = [*_plan("CAP", "X", "SET")[:8], _line("", column, "COST", "2.0"), "RHS", _line("", "SET", "CAP", "4.0")]
    with pytest.raises(DataError):
        _read(lines, tmp_path)
    lines[8] = _line("", "A", "CAP", "3.0", "COST", "2.0")
    assert _read(lines, tmp_path).names() == ["X", "A"]


def test_a_name_that_may_be_an_entry_in_two_free_lines_is_refused(tmp_path: Path) -> None:
    lines = [
        "NAME PLAN",
        "ROWS",
        " N COST",
        " L CAP",
        " L DAY",
        "COLUMNS",
        " A CAP 3 COST 2",
        " A CAP 3 DAY 1",
        "RHS",
        " S CAP 4",
    ]
    with pytest.raises(DataError) as raised:
        _read(lines, tmp_path)
    assert raised.value.line == 8


def test_a_line_beyond_the_columns_is_an_error(tmp_path: Path) -> None:
    """A number that is too long for its field: the file is not in fixed columns, and its names are not told apart."""
    lines = _plan("DAY 1", "X", "SET")
    lines[7] = _line("", "X", "COST", "2.000000000000001", "DAY 1", "1.0")
    with pytest.raises(DataError) as raised:
        _read(lines, tmp_path)
    assert raised.value.line == 6


def test_a_quadratic_row_may_have_a_blank(tmp_path: Path) -> None:
    form = _read([*_plan("DAY 1", "X", "SET"), "QCMATRIX   DAY 1", _line("", "X", "X", "1.0")], tmp_path)
    assert "DAY 1" in {c.label for c in form.constraints}


@pytest.mark.parametrize(
    "text",
    [
        "# Solution for model plan\n# Objective value = 7\nOLD MILL 3\nY 1\n",
        "solution status: optimal solution found\nobjective value:   7\nOLD MILL   3 \t(obj:2)\nY   1 \t(obj:1)\n",
        "Optimal - objective value 7\n      0 OLD MILL  3  0\n      1 Y  1  0\n",
        "Model status\nOptimal\n# Primal solution values\nFeasible\nObjective 7\n# Columns 2\nOLD MILL 3\nY 1\n# Rows 1\nCAP 4\n",
    ],
    ids=["gurobi", "scip", "cbc", "highs"],
)
def test_solution_files_with_blanks_in_names(text: str, tmp_path: Path) -> None:
    form = _read(_plan("CAP", "OLD MILL", "SET"), tmp_path)
    (tmp_path / "a.sol").write_text(text, encoding="utf-8")
    result = mo.io.read_solution(form, tmp_path / "a.sol")
    assert form.join(result.values).tolist() == [3.0, 1.0] and result.objective == pytest.approx(7.0)


_MOSEK = """PROBLEM STATUS      : PRIMAL_AND_DUAL_FEASIBLE
SOLUTION STATUS     : OPTIMAL
PRIMAL OBJECTIVE    : 7
DUAL OBJECTIVE      : 7

CONSTRAINTS
INDEX      NAME   AT ACTIVITY   LOWER LIMIT        UPPER LIMIT        DUAL LOWER   DUAL UPPER
0          {row}  UL 4          NONE               4                  0            1

VARIABLES
INDEX      NAME   AT ACTIVITY   LOWER LIMIT        UPPER LIMIT        DUAL LOWER   DUAL UPPER
0          {x}    UL 3          0                  3                  0            1
1          {y}    BS 1          0                  NONE               0            0
"""


@pytest.mark.parametrize("names", [("DAY 1", "OLD M 5", "Y"), ("C1", "X1", "X2")], ids=["blanks", "numbered"])
def test_mosek_s_solution_files_with_blanks_in_names(names: tuple[str, str, str], tmp_path: Path) -> None:
    """With the names, and as MOSEK writes them: numbers in their place, as soon as one name has a blank."""
    form, (row, x, y) = _read(_plan("DAY 1", "OLD M 5", "SET"), tmp_path), names
    (tmp_path / "a.sol").write_text(_MOSEK.format(row=row, x=x, y=y), encoding="utf-8")
    result = mo.io.read_solution(form, tmp_path / "a.sol")
    assert form.join(result.values).tolist() == [3.0, 1.0] and result.objective == pytest.approx(7.0)
    assert row == "C1" or result.bound == pytest.approx(7.0)
