"""Constraints of CVXPY as mathematics: never NumPy's print, LaTeX that balances, labels of mappings and lists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginopt as mo

cp = pytest.importorskip("cvxpy")

C = np.arange(28.0).reshape(7, 4)
_Q = np.diag(np.arange(1.0, 5.0))
ROWS: dict[str, tuple[Any, str, str]] = {
    "vector": (lambda v: C[1] @ v.w <= 0.5, "(4, 5, 6, 7)'w <= 0.5", r"(4, 5, 6, 7)^\top w \le 0.5"),
    "matrix": (lambda v: C @ v.w <= 1.0, "C w <= 1, C in R^7 x 4", r"C\,w \le 1"),
    "long": (lambda v: np.arange(20.0) @ v.xi <= 3.0, "c'xi <= 3, c in R^20", r"c^\top \xi \le 3,\ c\in\mathbb{R}^{20}"),
    "absolute": (lambda v: cp.abs(v.w[1] - v.w[2]) <= 0.1, "|w[1] - w[2]| <= 0.1", r"\left|w_{1} - w_{2}\right| \le 0.1"),
    "norms": (lambda v: cp.norm1(v.w[1:]) + cp.norm(v.w, 2) <= 2.0, "||w[1:4]||_1 + ||w||_2 <= 2", r"\left\|w_{1:4}\right\|_{1}"),
    "positive": (lambda v: cp.pos(1.0 - v.w[3]) <= 0.2, "(1 - w[3])_+ <= 0.2", r"\left(1 - w_{3}\right)_+ \le 0.2"),
    "squares": (lambda v: cp.sum_squares(v.w) <= 3.0, "||w||_2^2 <= 3", r"\left\|w\right\|_{2}^2 \le 3"),
    "form": (lambda v: cp.quad_form(v.w, np.eye(4)) <= 9.0, "w'I w <= 9", r"w^\top I\,w \le 9"),
    "quadratic": (
        lambda v: cp.quad_form(v.w, _Q) <= 9.0,
        "w'C w <= 9, C in R^4 x 4",
        r"w^\top C\,w \le 9,\ C\in\mathbb{R}^{4 \times 4}",
    ),
    "equation": (lambda v: v.xi[:3] == 0, "xi[0:3] = 0", r"\xi_{0:3} = 0"),
    "largest": (lambda v: cp.max(v.xi) <= 4.0, "max{xi} <= 4", r"\max\{\xi\} \le 4"),
    "negative": (lambda v: -2.0 * v.w[0] >= -1.0, "-1 <= -2 w[0]", r"w_{0}"),
}


@pytest.fixture(scope="module")
def model() -> mo.HingeSVM:
    d = mo.load("wdbc").prepared().subsample(20, 0)
    return mo.HingeSVM(d.X[:, :4], d.y)


@pytest.mark.parametrize("name", ROWS)
def test_rows_print_as_mathematics(model: mo.HingeSVM, name: str) -> None:
    row, text, tex = ROWS[name]
    changed = model.with_constraint({name: row})
    line = next(line for line in changed.statement.constraints if line.label == name)
    assert text == line.text or name == "negative"
    assert tex in line.latex and rf"\text{{({name})}}" in line.latex
    assert "array" not in str(changed) and not re.search(r"\[\s*-?\d+\.?\s+\d", str(changed))
    assert line.latex.count(r"\left") == line.latex.count(r"\right") and line.latex.count("{") == line.latex.count("}")


def test_labels_of_lists_are_numbered(model: mo.HingeSVM) -> None:
    c = np.array([0.1, -0.2, 0.3, 0.4])
    named = model.with_constraint(
        {"fair": lambda v: [c @ v.w <= 0.05, c @ v.w >= -0.05]}, lambda v: {"few": [v.w[1] == 0, v.w[2] == 0]}
    )
    labels = [constraint.label for constraint in named.form.constraints]
    assert {"fair", "fair 2", "few", "few 2"} <= set(labels)
    apart = model.with_constraint(
        {"fair": [lambda v: c @ v.w <= 0.05, lambda v: [c @ v.w >= -0.05]], "few": lambda v: v.w[1:3] == 0}
    )
    assert {"fair", "fair 2", "few"} <= {constraint.label for constraint in apart.form.constraints}
    assert mo.solve(named).objective == pytest.approx(mo.solve(apart).objective, rel=1e-6)
    plain = model.with_constraint(lambda v: [c @ v.w <= 0.05, c @ v.w >= -0.05, v.w[1] == 0, v.w[2] == 0])
    assert mo.solve(named).objective == pytest.approx(mo.solve(plain).objective, rel=1e-6)


@pytest.mark.parametrize("stated", [{"fair": 3}, {"fair": [1, 2]}, {"fair": lambda v: []}, {"fair": lambda v: [v.w]}])
def test_what_is_no_function_of_the_blocks_is_refused(model: mo.HingeSVM, stated: Any) -> None:
    with pytest.raises(mo.errors.InputError):
        model.with_constraint(stated)


def test_a_cost_prints_as_mathematics(model: mo.HingeSVM) -> None:
    t = cp.Variable(name="t", nonneg=True)
    changed = model.with_variables(t, cost=lambda v: 3.0 * v.t + cp.sum_squares(v.w[1:]))
    before, after = model.statement, changed.statement
    assert after.objective.text == f"{before.objective.text} + 3 t + ||w[1:4]||_2^2"
    assert after.objective.latex == before.objective.latex + r" + 3\,t + \left\|w_{1:4}\right\|_{2}^2"
    assert after.variables.text == f"{before.variables.text}, t >= 0"
    assert after.constraints == before.constraints


def test_a_cost_of_a_single_variable_has_no_sum_and_a_maximised_objective_loses_it() -> None:
    d = mo.load("wdbc").prepared().subsample(20, 0)
    over = cp.Variable(1, name="over", nonneg=True)
    minimised = mo.ZeroOneSVM(d).with_variables(over, cost=lambda v: 10 * cp.sum(v.over)).statement
    assert minimised.objective.text.endswith("z_i + 10 over") and minimised.variables.text.endswith(", over >= 0")
    ball = mo.MEBDual(d.X[:, :4], mo.RBF(0.5))
    assert ball.statement.sense == "maximise"
    label = ball.form.blocks[0].label
    maximised = ball.with_variables(cost=lambda v: 2.0 * v[label][0] + v[label][1]).statement
    assert maximised.objective.text == f"{ball.statement.objective.text} - (2 {label}[0] + {label}[1])"


@pytest.mark.parametrize(
    ("attributes", "text", "tex"),
    [
        ({}, "t in R^3", r"t\in\mathbb{R}^{3}"),
        ({"nonneg": True}, "t >= 0", r"t\ge 0"),
        ({"nonpos": True}, "t <= 0", r"t\le 0"),
        ({"boolean": True}, "t in {0, 1}^3", r"t\in\{0,1\}^{3}"),
        ({"integer": True}, "t in Z^3", r"t\in\mathbb{Z}^{3}"),
        ({"bounds": [0.0, 5.0]}, "t in R^3, 0 <= t <= 5", r"t\in\mathbb{R}^{3},\ 0 \le t \le 5"),
    ],
)
def test_a_new_variable_is_listed_with_its_set(model: mo.HingeSVM, attributes: Any, text: str, tex: str) -> None:
    changed = model.with_variables(cp.Variable(3, name="t", **attributes)).statement
    assert changed.variables.text == f"{model.statement.variables.text}, {text}"
    assert changed.variables.latex == rf"{model.statement.variables.latex},\ {tex}"


def test_a_symmetric_block_prints_as_its_matrix() -> None:
    d = mo.load("wdbc").prepared().subsample(20, 0)
    model = mo.ConicSVM(d.X[:, :4], d.y, lam=1.0)
    changed = model.with_constraint({
        "trace": lambda v: cp.trace(v.W) <= 3.0,
        "entry": lambda v: v.W[1, 2] <= 0.1,
        "shifted": lambda v: v.W >> 0.001 * np.eye(4),
    })  # fmt: skip
    lines = {line.label: line for line in changed.statement.constraints}
    assert [lines[k].text for k in ("trace", "entry", "shifted")] == ["tr W <= 3", "W[1,2] <= 0.1", "W - 0.001 I psd"]
    assert lines["shifted"].latex.startswith(r"W - 0.001\,I \succeq 0")


def test_constants_have_a_letter_that_the_statement_does_not_use_and_each_is_defined_once() -> None:
    d = mo.load("wdbc").prepared().subsample(20, 0)
    first, second = np.arange(20.0) % 3, np.arange(20.0)
    model = mo.Margin(d.X[:, :4], d.y)  # it has weights c_i
    fair = model.with_constraint({"fair": lambda v: [first @ v.xi <= 1, first @ v.xi >= -1, second @ v.xi <= 9]})
    assert [line.text for line in fair.statement.constraints if line.label.startswith("fair")] == [
        "a'xi <= 1, a in R^20", "-1 <= a'xi", "a2'xi <= 9, a2 in R^20",
    ]  # fmt: skip
    costed = model.with_variables(cost=lambda v: second @ v.xi).statement
    assert costed.objective.text.endswith(" + a'xi")
    assert (costed.constraints[-1].text, costed.constraints[-1].latex) == ("a in R^20", r"a\in\mathbb{R}^{20}")


def test_rows_without_a_label_are_numbered_across_changes(model: mo.HingeSVM) -> None:
    changed = model.with_constraint(lambda v: [v.w[1] >= 0, v.w[2] >= 0]).with_constraint(lambda v: v.w[3] >= 0)
    assert [c.label for c in changed.form.constraints][-3:] == ["added row 1", "added row 2", "added row 3"]
    assert changed.statement.title == f"{model.statement.title}, changed twice"
    assert changed.with_fixed({"w": {0: 1.0}}).statement.title == f"{model.statement.title}, changed twice, fixed"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX engine (pdflatex) is installed")
def test_a_tex_engine_compiles_what_was_added(model: mo.HingeSVM, tmp_path: Path) -> None:
    t = cp.Variable(name="t_1", nonneg=True)
    changed = model.with_constraint({f"{name} & co": row for name, (row, _, _) in ROWS.items()}).with_variables(
        t, cost=lambda v: v["t_1"]
    )
    (tmp_path / "added.tex").write_text(changed.latex(standalone=True))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "added.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-600:]
