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
ROWS: dict[str, tuple[Any, str, str]] = {
    "vector": (lambda v: C[1] @ v.w <= 0.5, "(4, 5, 6, 7)'w <= 0.5", r"(4, 5, 6, 7)^\top w \le 0.5"),
    "matrix": (lambda v: C @ v.w <= 1.0, "C w <= 1, C in R^7 x 4", r"C\,w \le 1"),
    "long": (lambda v: np.arange(20.0) @ v.xi <= 3.0, "c'xi <= 3, c in R^20", r"c^\top \xi \le 3"),
    "absolute": (lambda v: cp.abs(v.w[1] - v.w[2]) <= 0.1, "|w[1] - w[2]| <= 0.1", r"\left|w_{1} - w_{2}\right| \le 0.1"),
    "norms": (lambda v: cp.norm1(v.w[1:]) + cp.norm(v.w, 2) <= 2.0, "||w[1:4]||_1 + ||w||_2 <= 2", r"\left\|w_{1:4}\right\|_{1}"),
    "positive": (lambda v: cp.pos(1.0 - v.w[3]) <= 0.2, "(1 - w[3])_+ <= 0.2", r"\left(1 - w_{3}\right)_+ \le 0.2"),
    "squares": (lambda v: cp.sum_squares(v.w) <= 3.0, "||w||_2^2 <= 3", r"\left\|w\right\|_{2}^2 \le 3"),
    "form": (lambda v: cp.quad_form(v.w, np.eye(4)) <= 9.0, "w'C w <= 9, C in R^4 x 4", r"w^\top C\,w \le 9"),
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
    assert any("3 t + ||w[1:4]||_2^2" in line.text for line in changed.statement.constraints)


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
