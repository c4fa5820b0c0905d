"""The difference of forms: exactly the entries that changed, structure named, equality when materialised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from hypothesis import given, strategies as st

from marginopt.models.program.cones import Nonnegative, Zero
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.quadratic import Quadratic


def form(n: int = 4) -> StandardForm:
    return StandardForm(
        "base",
        (Block("x", (n,)),),
        np.arange(float(n)),
        (
            Constraint("a", sp.csr_array(np.eye(n)), np.ones(n), Nonnegative(n)),
            Constraint("b", sp.csr_array(np.ones((1, n))), -np.ones(1), Zero(1)),
        ),
        np.zeros(n),
        np.full(n, np.inf),
        np.zeros(n, dtype=bool),
        quadratic=Quadratic(matrix=np.eye(n)),
    )


def test_equal() -> None:
    assert form().equals(form())
    assert form().equals(form().replace(name="another name"))
    assert form().diff(form()).empty
    sparse = form().replace(quadratic=Quadratic(matrix=sp.csc_array(np.eye(4))))
    assert form().equals(sparse)
    factored = form().replace(quadratic=Quadratic(factor=np.eye(4)))
    assert form().equals(factored)
    assert form().replace(quadratic=None).equals(form().replace(quadratic=Quadratic(matrix=np.zeros((4, 4)))))


@given(st.sets(st.integers(0, 3)), st.sampled_from(["q", "lower", "upper"]))
def test_exactly_the_changed_entries(where: set[int], name: str) -> None:
    base = form()
    changed = getattr(base, name).copy()
    changed[list(where)] = 7.0
    delta = base.diff(base.replace(**{name: changed}))
    assert set(getattr(delta, name).tolist()) == where
    assert delta.empty == (not where)
    others = {"q", "lower", "upper", "integer"} - {name}
    assert all(getattr(delta, other).size == 0 for other in others)
    assert not (delta.structure or delta.quadratic or delta.r or delta.F or delta.g)


def test_constraints_objective_integrality() -> None:
    base = form()
    a, b = base.constraints
    assert base.diff(base.replace(constraints=(replace(a, g=2 * a.g), b))).g == ("a",)
    assert base.diff(base.replace(constraints=(a, replace(b, F=2.0 * b.F)))).F == ("b",)
    assert base.diff(base.replace(constraints=(a, replace(b, F=b.F.copy())))).empty
    assert base.diff(base.replace(quadratic=Quadratic(matrix=2 * np.eye(4)))).quadratic
    assert base.diff(base.replace(quadratic=None)).quadratic
    assert base.diff(base.replace(r=1.0)).r
    assert base.diff(base.replace(integer=np.arange(4) == 3)).integer.tolist() == [3]
    both = base.diff(base.replace(r=1.0, q=base.q + np.array([0, 0, 1, 0])))
    assert both.r and both.q.tolist() == [2] and not both.structure


def test_structure() -> None:
    base = form()
    a, b = base.constraints
    for other, word in [
        (form(5), "blocks"),
        (base.replace(constraints=(a,)), "constraints (a, b) → (a)"),
        (base.replace(constraints=(a, replace(b, cone=Nonnegative(1)))), "constraints"),
        (base.replace(maximise=True), "sense"),
    ]:
        delta = base.diff(other)
        assert delta.structure
        assert not delta.empty
        assert word in str(delta)
