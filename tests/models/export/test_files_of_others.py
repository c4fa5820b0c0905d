"""Files that others wrote: names, both sides of a row, a maximum, names with blanks; judged by the program that wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import highspy
import numpy as np
import pytest
from facts import at

import marginopt as mo
from marginopt.errors import DataError
from marginopt.models import PSD, Bilinear, StandardForm

#: max 2x + 3y - z² over 1 ≤ x + y + z ≤ 7, x - y ≤ 3, y + z = 4, y whole: what every file below says.
X, Y, Z = 0, 1, 2


def _judge(form: StandardForm, optimum: float, names: list[str], rows: set[str]) -> None:
    """The optimum in the file's own sense, its names, and rows that hold what their names say."""
    assert form.maximise
    assert form.names() == names
    assert {name for c in form.constraints for name in c.names()} == rows
    result = mo.solve(form, "scip", tol=1e-8)
    assert result.objective == pytest.approx(optimum, abs=1e-6)
    total, shift = result.values["x"] @ np.array([1.0, 1.0, 1.0]), result.values["x"] @ np.array([1.0, -1.0, 0.0])
    assert 1 - 1e-6 <= total <= 7 + 1e-6 and shift <= 3 + 1e-6


NAMES, ROWS = ["plan[1]", "plan[2]", "rest"], {"total", "total (other side)", "shift", "sum"}


def _highs(names: list[str]) -> highspy.Highs:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    for cost, low, high in ((2.0, 0.0, 4.0), (3.0, 0.0, 9.0), (-1.0, -2.0, np.inf)):
        highs.addVar(low, high)
        highs.changeColCost(highs.getNumCol() - 1, cost)
    highs.changeColIntegrality(Y, highspy.HighsVarType.kInteger)
    for j, name in enumerate(names):
        highs.passColName(j, name)
    for name, low, high, row in (
        ("total", 1.0, 7.0, (1, 1, 1)),
        ("shift", -np.inf, 3.0, (1, -1, 0)),
        ("sum", 4.0, 4.0, (0, 1, 1)),
    ):
        used = np.flatnonzero(row)
        highs.addRow(low, high, used.size, used, np.array(row, dtype=float)[used])
        highs.passRowName(highs.getNumRow() - 1, name)
    highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return highs


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_what_highs_writes(suffix: str, tmp_path: Path) -> None:
    """HiGHS takes no brackets in LP files, and writes a row with two sides as two there."""
    names = NAMES if suffix == ".mps" else ["plan1", "plan2", "rest"]
    highs = _highs(names)
    path = tmp_path / f"theirs{suffix}"
    highs.writeModel(str(path))
    highs.run()
    rows = ROWS if suffix == ".mps" else {"totallo", "totalup", "shift", "sum"}
    _judge(mo.read(path), highs.getInfo().objective_function_value, names, rows)


def _pyomo(folder: Path, labels: bool) -> tuple[Path, float]:
    po = pytest.importorskip("pyomo.environ", reason="pyomo is not installed")
    m = po.ConcreteModel()
    m.plan = po.Var([1, 2], bounds=lambda m, i: (0, 4) if i == 1 else (0, 9))
    m.plan[2].domain = po.Integers
    m.rest = po.Var(bounds=(-2, None))
    m.total = po.Constraint(expr=(1, m.plan[1] + m.plan[2] + m.rest, 7))
    m.shift = po.Constraint(expr=m.plan[1] - m.plan[2] <= 3)
    m.sum = po.Constraint(expr=m.plan[2] + m.rest == 4)
    m.best = po.Objective(expr=2 * m.plan[1] + 3 * m.plan[2] - m.rest**2, sense=po.maximize)
    path = folder / "theirs.nl"
    m.write(str(path), io_options={"symbolic_solver_labels": labels})
    # by hand: rest = 4 - y, so x ≤ min(4, 3, 3 + y) and 2x + 3y - (4 - y)² is largest at x = 3, y = 5 or 6
    return path, max(2 * min(4, 3, 3 + y) + 3 * y - (4 - y) ** 2 for y in range(7))


def test_an_nl_file_has_the_names_beside_it(tmp_path: Path) -> None:
    path, optimum = _pyomo(tmp_path, labels=True)
    form = mo.read(path)
    assert sorted(form.names()) == sorted(NAMES)
    assert {name for c in form.constraints for name in c.names()} == ROWS
    for c in form.constraints:
        for name, entries in zip(c.names(), c.F.toarray(), strict=True):
            used = {form.names()[j] for j in np.flatnonzero(entries)}
            assert used == {"sum": {"plan[2]", "rest"}, "shift": {"plan[1]", "plan[2]"}}.get(name, set(NAMES))
    assert mo.solve(form, "scip", tol=1e-8).objective == pytest.approx(optimum, abs=1e-6)
    path.with_suffix(".row").write_text("one\n", encoding="utf-8")
    with pytest.raises(DataError, check=at("theirs.row")):
        mo.read(path)


def test_an_nl_file_without_names_is_numbered(tmp_path: Path) -> None:
    path, optimum = _pyomo(tmp_path, labels=False)
    form = mo.read(path)
    assert form.names() == ["x[0]", "x[1]", "x[2]"]
    assert mo.solve(form, "scip", tol=1e-8).objective == pytest.approx(optimum, abs=1e-6)


QPLIB = """theirs
DGL
maximize
3 # variables
3 # constraints
1 # quadratic terms
3 3 -2
0 # default linear
2
1 2
2 3
0 # constant
6 # linear terms of the constraints
1 1 1
1 2 1
1 3 1
2 1 1
2 2 -1
3 2 1
{extra}1e20
-1e20
2
1 1
3 4
1e20
3
1 7
2 3
3 4
0 # lower
1
3 -2
1e20 # upper
2
1 4
2 9
0
1
2 1
"""
STARTS = "0\n0\n0\n0\n0\n0\n"


@pytest.mark.parametrize("names", ["all", "some", "none", "ends early"])
def test_a_qplib_file_keeps_its_names(names: str, tmp_path: Path) -> None:
    text = QPLIB.format(extra="3 3 1\n").replace("6 # linear", "7 # linear")
    values = {
        "all": "3\n1 plan[1]\n2 plan[2]\n3 rest\n3\n1 total\n2 shift\n3 sum\n",
        "some": "1\n3 rest\n1\n1 total\n",
        "none": "0\n0\n",
        "ends early": "",
    }[names]
    path = tmp_path / "theirs.qplib"
    path.write_text(text + (STARTS + values if values else ""), encoding="utf-8")
    form = mo.read(path)
    assert form.maximise
    optimum = max(2 * min(4, 3, 3 + y) + 3 * y - (4 - y) ** 2 for y in range(7))
    if names == "all":
        _judge(form, optimum, NAMES, ROWS)
    assert mo.solve(form, "scip", tol=1e-8).objective == pytest.approx(optimum, abs=1e-6)
    expected = {"some": ["x1", "x2", "rest"], "none": ["x[0]", "x[1]", "x[2]"], "ends early": ["x[0]", "x[1]", "x[2]"]}
    assert form.names() == expected.get(names, NAMES)


def _variable(name: str) -> dict[str, str]:
    return {"type": "Variable", "name": name}


def _affine(constant: float = 0.0, **terms: float) -> dict[str, object]:
    listed = [{"coefficient": v, "variable": NAMES["xyz".index(name)]} for name, v in terms.items()]
    return {"type": "ScalarAffineFunction", "terms": listed, "constant": constant}


def _mof() -> dict[str, object]:
    """The program as JuMP writes it: scalar functions, an interval, bounds one by one."""
    return {
        "version": {"major": 1, "minor": 7},
        "variables": [{"name": name} for name in NAMES],
        "objective": {"sense": "max", "function": _affine(x=2.0, y=3.0, z=-1.0)},
        "constraints": [
            {"name": "total", "function": _affine(1.0, x=1.0, y=1.0, z=1.0), "set": {"type": "Interval", "lower": 2, "upper": 8}},
            {"name": "shift", "function": _affine(x=1.0, y=-1.0), "set": {"type": "LessThan", "upper": 3.0}},
            {"name": "sum", "function": _affine(y=1.0, z=1.0), "set": {"type": "EqualTo", "value": 4.0}},
            {"function": _variable(NAMES[0]), "set": {"type": "Interval", "lower": 0.0, "upper": 4.0}},
            {"function": _variable(NAMES[1]), "set": {"type": "GreaterThan", "lower": 0.0}},
            {"function": _variable(NAMES[1]), "set": {"type": "LessThan", "upper": 9.0}},
            {"function": _variable(NAMES[1]), "set": {"type": "Integer"}},
            {"function": _variable(NAMES[2]), "set": {"type": "GreaterThan", "lower": -2.0}},
        ],
    }


def test_what_jump_writes(tmp_path: Path) -> None:
    path = tmp_path / "theirs.mof.json"
    path.write_text(json.dumps(_mof()), encoding="utf-8")
    highs = _highs(NAMES)
    highs.run()
    _judge(mo.read(path), highs.getInfo().objective_function_value, NAMES, ROWS)


def test_cones_of_variables_as_jump_writes_them(tmp_path: Path) -> None:
    """Least x + y + z with [x y; y z] ⪰ 0 and y = 1 is 3; least x with ||(y, z)|| ≤ x and y ≤ -1 is 1."""
    triangle = {"type": "PositiveSemidefiniteConeTriangle", "side_dimension": 2}
    vector = {"type": "VectorOfVariables", "variables": NAMES}
    document = _mof() | {"objective": {"sense": "min", "function": _affine(x=1.0, y=1.0, z=1.0)}}
    document["constraints"] = [
        {"name": "matrix", "function": vector, "set": triangle},
        {"function": _variable(NAMES[1]), "set": {"type": "EqualTo", "value": 1.0}},
    ]
    path = tmp_path / "matrix.mof.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    form = mo.read(path)
    assert isinstance(form.constraint("matrix").cone, PSD) and not form.maximise
    assert mo.solve(form, "clarabel", tol=1e-8).objective == pytest.approx(3.0, abs=1e-6)
    below = {"type": "VectorAffineFunction", "constants": [1.0], "terms": [
        {"output_index": 1, "scalar_term": {"coefficient": 1.0, "variable": NAMES[1]}}]}  # fmt: skip
    document["objective"] = {"sense": "min", "function": _variable(NAMES[0])}
    document["constraints"] = [
        {"name": "cone", "function": vector, "set": {"type": "SecondOrderCone", "dimension": 3}},
        {"name": "below", "function": below, "set": {"type": "Nonpositives", "dimension": 1}},
    ]
    path.write_text(json.dumps(document), encoding="utf-8")
    assert mo.solve(mo.read(path), "clarabel", tol=1e-8).objective == pytest.approx(1.0, abs=1e-6)


def test_quadratic_rows_as_jump_writes_them(tmp_path: Path) -> None:
    """Least x + y over x² + y² ≤ 3 + 2 z with z = 0.5 is -√8; a product that is not convex is a bilinear row."""
    squares = [{"coefficient": 2.0, "variable_1": name, "variable_2": name} for name in NAMES[:2]]
    ball = {"type": "ScalarQuadraticFunction", "affine_terms": [{"coefficient": -2.0, "variable": NAMES[2]}], "constant": 1.0,
            "quadratic_terms": squares}  # fmt: skip
    product = [{"coefficient": 1.0, "variable_1": NAMES[0], "variable_2": NAMES[1]}]
    document = _mof() | {"objective": {"sense": "min", "function": _affine(x=1.0, y=1.0)}}
    document["constraints"] = [
        {"name": "ball", "function": ball, "set": {"type": "LessThan", "upper": 4.0}},
        {"function": _variable(NAMES[2]), "set": {"type": "EqualTo", "value": 0.5}},
    ]
    path = tmp_path / "ball.mof.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert mo.solve(mo.read(path), "clarabel", tol=1e-8).objective == pytest.approx(-np.sqrt(8.0), abs=1e-6)
    flat = {"type": "ScalarQuadraticFunction", "affine_terms": [], "constant": 0.0, "quadratic_terms": product}
    document["constraints"][0] = {"name": "flat", "function": flat, "set": {"type": "EqualTo", "value": 1.0}}
    path.write_text(json.dumps(document), encoding="utf-8")
    assert isinstance(mo.read(path).constraint("flat").cone, Bilinear)


FIXED = """NAME          BLANKS
ROWS
 N  PROFIT
 L  DAY 1
 G  DAY 2
COLUMNS
    OLD MILL  PROFIT            -1.5   DAY 1              1.0
    OLD MILL  DAY 2              1.0
    NEW       PROFIT            -2.0   DAY 1              3.0
RHS
    RHS       DAY 1             12.0   DAY 2              2.0
RANGES
    RNG       DAY 2              4.0
BOUNDS
 UP BND       NEW                3.0
QUADOBJ
    OLD MILL  OLD MILL           0.5
ENDATA
"""


def test_names_with_blanks_in_fixed_columns(tmp_path: Path) -> None:
    path = tmp_path / "blanks.mps"
    path.write_text(FIXED, encoding="utf-8")
    form = mo.read(path)
    assert form.names() == ["OLD MILL", "NEW"]
    assert {name for c in form.constraints for name in c.names()} == {"DAY 1", "DAY 2", "DAY 2 (other side)"}
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mps_parser_type_free", False)
    assert highs.readModel(str(path)) != highspy.HighsStatus.kError  # it warns of the blanks
    highs.run()
    ours = mo.solve(form, "clarabel", tol=1e-9)
    assert ours.objective == pytest.approx(highs.getInfo().objective_function_value, rel=1e-7)


LP = """\\ ranges, bounds seen from both sides, names with brackets
Maximize
 best: 2 plan[1] + 3 plan[2] - rest + [ - 2 rest ^2 ] / 2 + 1 rest
Subject To
 total: 1 <= plan[1] + plan[2] + rest <= 7
 shift: plan[1] - plan[2] <= 3
 sum: plan[2] + rest = 4
Bounds
 4 >= plan[1]
 0 <= plan[2] <= 9
 -2 <= rest
Generals
 plan[2]
End
"""


def test_an_lp_file_of_a_person(tmp_path: Path) -> None:
    path = tmp_path / "theirs.lp"
    path.write_text(LP, encoding="utf-8")
    optimum = max(2 * min(4, 3, 3 + y) + 3 * y - (4 - y) ** 2 for y in range(7))
    _judge(mo.read(path), optimum, NAMES, ROWS)
    path.write_text(LP.replace("1 <= plan[1] + plan[2] + rest <= 7", "1 <= plan[1] + rest >= 7"), encoding="utf-8")
    with pytest.raises(DataError, check=at(path, 5)):
        mo.read(path)


@pytest.mark.parametrize("suffix", [".cbf", ".ptf"])
def test_a_maximum_in_a_conic_format(suffix: str, tmp_path: Path) -> None:
    """The most of x + y in the unit ball is √2."""
    text = {
        ".cbf": "VER\n4\nOBJSENSE\nMAX\nVAR\n2 1\nF 2\nCON\n3 1\nQ 3\n"
        "OBJACOORD\n2\n0 1\n1 1\nACOORD\n2\n1 0 1\n2 1 1\nBCOORD\n1\n0 1\n",
        ".ptf": "Task ''\nObjective\n    Maximize + x + y\nConstraints\n    ball [QUAD(3)]\n"
        "        + 1\n        + x\n        + y\nVariables\n    x\n    y\n",
    }[suffix]
    path = tmp_path / f"ball{suffix}"
    path.write_text(text, encoding="utf-8")
    form = mo.read(path)
    assert form.maximise
    assert mo.solve(form, "clarabel", tol=1e-9).objective == pytest.approx(np.sqrt(2.0), abs=1e-7)
