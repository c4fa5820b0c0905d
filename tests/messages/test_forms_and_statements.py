"""The sentences of advice on a form's numbers, and the layout of a statement, pinned once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import marginopt as mo
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.models.statement import Line, Statement

POINTS = np.column_stack([np.ones(16), np.random.default_rng(5).normal(size=(16, 2))])
LABELS = np.where(POINTS[:, 1] > 0, 1.0, -1.0)


def _form(F: np.ndarray, **changes: object) -> StandardForm:
    n = F.shape[1]
    rows = Constraint("rows", sp.csr_array(F), np.ones(F.shape[0]), Nonnegative(F.shape[0]))
    free = np.full(n, np.inf)
    form = StandardForm("small", (Block("x", (n,)),), np.ones(n), (rows,), -free, free, np.zeros(n, dtype=bool))
    return form.replace(**changes)


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (_form(np.array([[1.0, 1e-7], [1.0, 2.0]])), "standardise"),
        (_form(np.array([[1.0, 1.0], [1e5, 1e5]])), "norms of its rows"),
        (_form(np.eye(2), upper=np.array([1e9, 1.0])), "bounds up to 1e+09"),
        (_form(np.eye(2), q=np.array([1e8, 1.0])), "scale the objective"),
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
