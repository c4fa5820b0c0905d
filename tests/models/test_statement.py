"""What models print: algebra, sizes, class, source; LaTeX that balances; HTML that is escaped."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from marginopt.models import RBF, ConicSVM, HingeSVM, L2SVMDual, Line, MEBDual, Model, Statement, ZeroOneSVM


def models(points: Any) -> list[Model]:
    X, y = points.X, points.y
    return [
        HingeSVM(X, y, lam=0.5),
        HingeSVM(X, y, lam=np.linspace(0.5, 1, len(y))),
        ZeroOneSVM(X, y, lam=0.5),
        ZeroOneSVM(X, y, lam=0.5, intercept="free"),
        ZeroOneSVM(X, y, M=3.0),
        ConicSVM(X, y, lam=0.5),
        ConicSVM(X, y, kappa=0.25),
        ConicSVM(X, y, kappa=0.0),
        ConicSVM(X, y, lam=0.5, kernel=RBF(0.5)),
        L2SVMDual(X, y, 2.0, RBF(0.5)),
        MEBDual(X, RBF(0.5)),
        MEBDual.labelled(X, y, 2.0, RBF(0.5)),
    ]


@pytest.mark.parametrize("index", range(12))
def test_every_model_states_itself(overlapping: Any, index: int) -> None:
    model = models(overlapping)[index]
    statement = model.statement
    text = str(model)
    assert text == str(statement)
    for piece in (statement.title, statement.problem_class, statement.source, "n = 16 points", "subject to"):
        assert piece in text
    assert re.search(r"\(\d+\)", statement.source), "the source names an equation"
    assert statement.sense == ("maximise" if model.form.maximise else "minimise")
    # the constraint labels that are printed exist in the form
    printed = {re.sub(r"\[.*", "", line.label) for line in statement.constraints if line.label}
    assert printed <= {c.label for c in model.form.constraints}
    assert repr(model).startswith(type(model).__name__ + "(n = 16")


@pytest.mark.parametrize("index", range(12))
def test_latex_balances(overlapping: Any, index: int) -> None:
    latex = models(overlapping)[index].latex()
    assert latex.count("{") == latex.count("}")
    for environment in ("aligned", "pmatrix"):
        assert latex.count(rf"\begin{{{environment}}}") == latex.count(rf"\end{{{environment}}}")
    assert latex.count(r"\left") == latex.count(r"\right")
    assert latex.startswith("\\[\n\\begin{aligned}")
    assert latex.isascii()
    first = latex.split(r"\end{aligned}")[0]  # a dual, with the other sense, may follow
    assert (r"\max_" in first) == models(overlapping)[index].form.maximise


def test_html_is_escaped(overlapping: Any) -> None:
    page = HingeSVM(overlapping.X, overlapping.y)._repr_html_()
    assert "y_i x_i&#x27;w + xi_i &gt;= 1" in page
    assert "http" not in page


def test_layout() -> None:
    statement = Statement(
        title="T",
        problem_class="LP",
        sense="minimise",
        over=Line("x", "x"),
        objective=Line("c'x", r"c^\top x"),
        constraints=(Line("Ax = b", "Ax=b", "rows"), Line("x >= 0", r"x\ge 0")),
        sizes="n = 2",
        source="S (1)",
        notes=("N",),
    )
    assert str(statement).splitlines() == [
        "T  [LP]",
        "  minimise    c'x   over x",
        "  subject to  rows  Ax = b",
        "                    x >= 0",
        "  sizes: n = 2",
        "  note: N",
        "  source: S (1)",
    ]
    assert statement.latex().splitlines() == [
        r"\[",
        r"\begin{aligned}",
        r"  \min_{x}\quad & c^\top x \\",
        r"  \text{s.t.}\quad & Ax=b \\",
        r"  & x\ge 0",
        r"\end{aligned}",
        r"\]",
    ]
