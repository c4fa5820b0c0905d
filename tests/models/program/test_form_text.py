"""Forms as algebra: what is written out has the form's values, and as many rows as the program that it was read from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt.models.program.cones import PSD, Nonnegative, RotatedSecondOrder, SecondOrder, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.form_text import is_small, matrix_lines, program_lines
from marginopt.models.program.quadratic import Quadratic
from marginopt.models.statement import latex_symbol

PLAN = """maximize
 2 x + 3 y
subject to
 c1: x + y >= 2
 c2: x - y <= 1
 c3: x + 2 y + z = 5
 c4: -3 <= x - z <= 8
 c5: - x - y + z >= -4
bounds
 0 <= x <= 4
 y >= -1
 z free
general
 x
end
"""


def _random_form(rng: np.random.Generator) -> StandardForm:
    """A quadratic program with linear rows over a vector and a symmetric matrix of order two."""
    n, few = 5, lambda *shape: rng.integers(-2, 3, shape).astype(float)
    P = few(n, n)
    rows = [Constraint("row", sp.csr_array(few(3, n)), few(3), Nonnegative(3)), Constraint("sum", few(1, n), few(1), Zero(1))]
    return StandardForm(
        "random",
        (Block("v", (2,)), Block("W", (2, 2), symmetric=True)),
        few(n),
        tuple(rows),
        np.full(n, -np.inf),
        np.full(n, np.inf),
        np.zeros(n, dtype=bool),
        Quadratic(matrix=sp.csc_array(P + P.T)),
        float(few()),
        maximise=bool(rng.integers(2)),
    )


def _values(form: StandardForm, x: np.ndarray) -> dict[str, float]:
    """The value of every name that the text may show; of symmetric blocks the matrix's entries."""
    values = form.split(x)
    names = [(name, block, place) for block in form.blocks for place, name in enumerate(block.names())]
    return {name: float(np.asarray(values[block.label])[block.index(place)]) for name, block, place in names}


def _evaluated(text: str, values: dict[str, float]) -> float:
    """Evaluate a sum of terms as it is printed: numbers, names and powers beside each other are multiplied."""
    for name, value in values.items():
        text = text.replace(name, f"({value!r})")
    text = re.sub(r"(?<=[\d)]) (?=\()", "*", text).replace("^", "**")
    return float(eval(text, {"__builtins__": {}}))


def _slack(text: str, values: dict[str, float]) -> float:
    left, sign, right = re.split(r" (>=|<=|=) ", text)
    difference = _evaluated(left, values) - _evaluated(right, values)
    return -difference if sign == "<=" else difference


@pytest.mark.parametrize("seed", range(trials(12, 100)))
def test_what_is_written_out_has_the_values_of_the_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    form = _random_form(rng)
    objective, lines = program_lines(form)
    x = rng.standard_normal(form.n)
    values = _values(form, x)
    assert _evaluated(objective.text, values) == pytest.approx(
        form.objective(x) * (-1.0 if form.maximise else 1.0), abs=1e-4
    )  # six digits are shown
    slacks = [_slack(line.text, values) for line in lines if line.label]
    expected = np.concatenate([c.value(x) for c in form.constraints])
    np.testing.assert_allclose(slacks[:3], expected[:3], atol=1e-4)
    assert abs(slacks[3]) == pytest.approx(abs(expected[3]), abs=1e-4)  # an equality has no sense


def test_a_file_prints_as_the_program_that_it_states(tmp_path: Path) -> None:
    file = tmp_path / "plan.lp"
    file.write_text(PLAN)
    objective, lines = program_lines(mo.read(file))
    assert objective.text == "2 x + 3 y"
    assert {line.label.rstrip(":"): line.text for line in lines if line.label} == {
        "c1": "x + y >= 2",
        "c2": "x - y <= 1",
        "c3": "x + 2 y + z = 5",
        "c4": "-3 <= x - z <= 8",
        "c5": "x + y - z <= 4",
    }
    assert [line.text for line in lines if not line.label] == ["0 <= x <= 4, integer", "y >= -1", "z free"]


def test_rows_of_other_packages_keep_their_senses() -> None:
    form = mo.io.from_scipy(c=[-1.0, 2.0], A_ub=[[1, 1], [3, -1]], b_ub=[4, 5], A_eq=[[1, -1]], b_eq=[0])
    assert [line.text for line in program_lines(form)[1]] == [
        "x[0] + x[1] <= 4",
        "3 x[0] - x[1] <= 5",
        "x[0] - x[1] = 0",
        "x >= 0",
    ]


def test_two_rows_that_only_look_like_two_sides_stay_two() -> None:
    F, names = sp.csr_array(np.array([[1.0, 1.0], [-1.0, -2.0]])), ("c", "c upper")
    rows = Constraint("rows", F, np.array([-1.0, 4.0]), Nonnegative(2), names)
    free = np.full(2, np.inf)
    form = StandardForm("p", (Block("x", (2,)),), np.ones(2), (rows,), -free, free, np.zeros(2, dtype=bool))
    assert [line.label for line in program_lines(form)[1] if line.label] == ["c:", "c upper:"]


def test_entries_of_a_semidefinite_row_are_those_of_the_matrix() -> None:
    free, root = np.full(3, np.inf), np.sqrt(2.0)
    rows = Constraint("psd", sp.csr_array(np.eye(3)), np.array([1.0, root, 0.0]), PSD.of_order(2))
    form = StandardForm("p", (Block("W", (2, 2), True),), np.array([1, root, 1]), (rows,), -free, free, np.zeros(3, dtype=bool))
    objective, lines = program_lines(form)
    assert objective.text == "W[0,0] + 2 W[0,1] + W[1,1]"
    assert r"W_{0,0} + 1 & W_{0,1} + 1 \\ W_{0,1} + 1 & W_{1,1}" in lines[0].latex


def test_a_large_form_is_summed_up() -> None:
    rng = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(30), rng.standard_normal((30, 2))]), np.where(np.arange(30) % 2, 1.0, -1.0)
    for form in (mo.HingeSVM(X, y).form, mo.ConicSVM(X, y, lam=1.0).form):
        objective, lines = matrix_lines(form)
        assert not is_small(form)
        assert len(str(form).splitlines()) == 1 + len(form.blocks) + len(form.constraints)
        assert objective.latex in form.latex() and all(line.latex in form.latex() for line in lines)
        assert not form.display().latex


def test_the_dual_of_a_small_program_is_written_out() -> None:
    """A price for each row and each finite bound: a transport of two plants to three towns has 16 and 6 rows."""
    rows = np.vstack([-np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))])
    ship = Constraint("ship", sp.csr_array(rows), np.array([9.0, 8, -3, -4, -5]), Nonnegative(5))
    block, zeros, fives = Block("x", (2, 3)), np.zeros(6), np.full(6, 5.0)
    form = StandardForm("p", (block,), np.arange(6.0), (ship,), zeros, fives, np.zeros(6, dtype=bool))
    dual = form.dual()
    assert dual.n > 12 and is_small(form) and is_small(dual)
    labels = {line.label for line in program_lines(dual)[1] if line.label}
    assert labels == {f"x[{i},{j}]:" for i in range(2) for j in range(3)}


@pytest.mark.parametrize("cone", [SecondOrder(3), RotatedSecondOrder(3)])
def test_a_small_form_is_shown_as_mathematics(cone: SecondOrder | RotatedSecondOrder) -> None:
    rows, free = Constraint("cone", sp.csr_array(np.eye(3)), np.zeros(3), cone), np.full(3, np.inf)
    form = StandardForm("p", (Block("x", (3,)),), np.ones(3), (rows,), -free, free, np.zeros(3, dtype=bool))
    assert is_small(form) and form.display().latex == form.latex()
    document = form.latex(standalone=True)
    assert form.latex() in document and document.count("{") == document.count("}")


@pytest.mark.parametrize(
    ("name", "latex"),
    [("w", "w"), ("xi", r"\xi"), ("xi[3]", r"\xi_{3}"), ("x1", "x_{1}"), ("w[age]", r"w_{\text{age}}"), ("lam", r"\lambda"),
     ("a_b", r"\text{a\_b}"), ("W[0,1]", "W_{0,1}"), ("é", "é")],
)  # fmt: skip
def test_names_in_latex(name: str, latex: str) -> None:
    assert latex_symbol(name) == latex
