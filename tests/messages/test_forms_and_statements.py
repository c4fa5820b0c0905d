"""The sentences of advice on a form's numbers, and the layout of a statement, pinned once."""

from __future__ import annotations

import numpy as np
import pytest
from programs import form_with_rows

import marginopt as mo
from marginopt.models import StandardForm
from marginopt.models.statement import Line, Statement

POINTS = np.column_stack([np.ones(16), np.random.default_rng(5).normal(size=(16, 2))])
LABELS = np.where(POINTS[:, 1] > 0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (form_with_rows(np.array([[1.0, 1e-7], [1.0, 2.0]])), "standardise"),
        (form_with_rows(np.array([[1.0, 1.0], [1e5, 1e5]])), "norms of its rows"),
        (form_with_rows(np.eye(2), upper=np.array([1e9, 1.0])), "bounds up to 1e+09"),
        (form_with_rows(np.eye(2), q=np.array([1e8, 1.0])), "scale the objective"),
        (mo.ZeroOneSVM(POINTS, LABELS, big_m=1e5).form, "big M"),
    ],
)
def test_advice(form: StandardForm, sentence: str) -> None:
    assert any(sentence in text for text in form.inspect().advice)


def test_layout() -> None:
    statement = Statement(
        title="T",
        problem_class="LP",
        sense="minimise",
        variables=Line("x", "x"),
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
