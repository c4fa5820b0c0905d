"""CBF files that others wrote: cones of variables, matrix variables, free rows; what is malformed is refused with a line."""

from __future__ import annotations

from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

import marginopt as mo
from marginopt.models import PSD, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.export.file_formats import read_form
from marginopt.models.program.cones import smat


def lines(*words: str) -> str:
    """A file of these lines."""
    return "\n".join(words) + "\n"


def put(folder: Path, text: str) -> Path:
    path = folder / "a.cbf"
    path.write_text(text, encoding="utf-8")
    return path


HEAD = ("VER", "3", "OBJSENSE", "MIN")
#: The first example of the format's description: a matrix variable of order 3, three scalars, L= and Q rows.
FIRST = lines(
    *("VER", "1", "OBJSENSE", "MIN", "PSDVAR", "1", "3", "VAR", "3 1", "F 3", "CON", "5 2", "L= 2", "Q 3"),
    *("OBJFCOORD", "5", "0 0 0 2.0", "0 1 0 1.0", "0 1 1 2.0", "0 2 1 1.0", "0 2 2 2.0", "OBJACOORD", "1", "1 1.0"),
    *("FCOORD", "9", "0 0 0 0 1.0", "0 0 1 1 1.0", "0 0 2 2 1.0", "1 0 0 0 1.0", "1 0 1 0 1.0", "1 0 2 0 1.0"),
    *("1 0 1 1 1.0", "1 0 2 1 1.0", "1 0 2 2 1.0", "ACOORD", "6", "0 1 1.0", "1 0 1.0", "1 2 1.0", "2 1 1.0", "3 0 1.0"),
    *("4 2 1.0", "BCOORD", "2", "0 -1.0", "1 -0.5"),
)


def test_the_first_example_has_the_optimum_of_its_matrices(tmp_path: Path) -> None:
    """The same program, stated with matrices in CVXPY."""
    X, x = cp.Variable((3, 3), PSD=True), cp.Variable(3)
    C = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    rows = [cp.trace(X) + x[1] == 1.0, cp.sum(X) + x[0] + x[2] == 0.5, cp.SOC(x[1], cp.hstack([x[0], x[2]]))]
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X) + x[1]), rows)
    problem.solve(solver="CLARABEL")
    form = read_form(put(tmp_path, FIRST))
    assert [c.cone for c in form.constraints] == [Zero(2), SecondOrder(3), PSD.of_order(3)]
    assert mo.solve(form, "clarabel").objective == pytest.approx(problem.value, abs=1e-6)
    upper = FIRST.replace("1 0 2 1 1.0", "1 0 1 2 1.0")
    assert read_form(put(tmp_path, upper)).equals(form)


def test_variables_in_every_domain(tmp_path: Path) -> None:
    text = lines(*HEAD, "VAR", "11 6", "F 1", "L= 1", "L+ 1", "L- 1", "Q 4", "QR 3", "OBJACOORD", "2", "4 1", "0 1")
    form = read_form(put(tmp_path, text))
    np.testing.assert_array_equal(form.lower[:4], [-np.inf, 0.0, 0.0, -np.inf])
    np.testing.assert_array_equal(form.upper[:4], [np.inf, 0.0, np.inf, 0.0])
    assert [c.cone for c in form.constraints] == [SecondOrder(4), RotatedSecondOrder(3)]
    x = np.arange(11.0)
    np.testing.assert_array_equal(form.constraints[0].F @ x, x[4:8])
    np.testing.assert_array_equal(form.constraints[1].F @ x, x[8:])


def test_matrices_of_rows_and_variables(tmp_path: Path) -> None:
    """FCOORD counts an entry off the diagonal twice, HCOORD and DCOORD are entries of the matrix."""
    text = lines(
        *HEAD, "PSDVAR", "2", "1", "2", "VAR", "1 1", "F 1", "PSDCON", "1", "2", "CON", "3 3", "F 1", "L- 1", "L+ 1",
        "FCOORD", "2", "1 1 1 0 3.0", "2 0 0 0 1.0", "HCOORD", "1", "0 0 1 0 5.0", "DCOORD", "1", "0 1 1 7.0",
        "BCOORD", "1", "1 -4.0", "OBJBCOORD", "2.5",
    )  # fmt: skip
    form = read_form(put(tmp_path, text))
    x = np.array([2.0, 10.0, 1.0, -1.0, 3.0])  # the scalar, the matrix of order 1, then (0,0), (1,0), (1,1)
    by_label = {c.label: c.F @ x + c.g for c in form.constraints}
    assert form.r == 2.5
    assert "c0" not in by_label
    np.testing.assert_array_equal(by_label["c1"], [10.0])  # -(2·3·(-1) - 4)
    np.testing.assert_array_equal(by_label["c2"], [10.0])
    np.testing.assert_allclose(smat(by_label["psd0"]), [[0.0, 10.0], [10.0, 7.0]])
    np.testing.assert_allclose(smat(by_label["matrix1"]), [[1.0, -1.0], [-1.0, 3.0]])
    assert isinstance(form.constraints[1].cone, Nonnegative)


_VAR = (*HEAD, "VAR", "2 1", "F 2")
