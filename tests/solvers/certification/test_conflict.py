"""Irreducible infeasible sets: exact proofs, checked against enumeration in rational arithmetic."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from facts import about
from scipy.optimize import linprog

import marginopt as mo
from marginopt.errors import InputError
from marginopt.models import Block, Constraint, Nonnegative, SecondOrder, StandardForm


def _form(F: np.ndarray, g: np.ndarray, **changes: object) -> StandardForm:
    n = F.shape[1]
    form = StandardForm(
        "rows", (Block("x", (n,)),), np.zeros(n), (Constraint("row", F, g, Nonnegative(len(g))),),
        np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n, dtype=bool),
    )  # fmt: skip
    return form.replace(**changes)


def test_two_bounds_and_a_row() -> None:
    form = _form(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([-3.0, 5.0]), upper=np.array([1.0, 1.0]))
    conflict = mo.solvers.conflict(form)
    assert set(conflict.elements) == {"row[0]", "x[0] ≤ 1", "x[1] ≤ 1"}
    assert conflict.proven
    assert conflict.proven_irreducible


@pytest.mark.parametrize("seed", range(6))
def test_every_subset_of_an_irreducible_set_has_a_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    F = np.round(rng.normal(size=(12, 3)), 2)
    form = _form(F, -np.ones(12))  # signed points that some w keeps: rarely
    feasible = linprog(np.zeros(3), A_ub=-F, b_ub=-np.ones(12), bounds=[(None, None)] * 3).status == 0
    if feasible:
        with pytest.raises(InputError, check=about("model")):
            mo.solvers.conflict(form)
        return
    conflict = mo.solvers.conflict(form)
    assert conflict.proven_irreducible
    rows = list(conflict.rows["row"])
    assert linprog(np.zeros(3), A_ub=-F[rows], b_ub=-np.ones(len(rows)), bounds=[(None, None)] * 3).status == 2
    for subset in combinations(rows, len(rows) - 1):
        items = list(subset)
        answer = linprog(np.zeros(3), A_ub=-F[items], b_ub=-np.ones(len(items)), bounds=[(None, None)] * 3)
        assert answer.status == 0


def test_a_hard_margin_names_the_points_that_cannot_all_be_kept() -> None:
    X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    y = np.array([-1.0, -1, 1, -1, 1, 1])
    conflict = mo.solvers.conflict(mo.ConicSVM(X, y, kappa=0.0))
    assert set(conflict.points) == {2, 3} or len(conflict.points) == 3
    assert conflict.proven


def test_cones_are_elements_and_the_proof_is_called_what_it_is() -> None:
    """||x|| ≤ 1 against x_1 ≥ 2."""
    form = _form(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([-2.0, 9.0]))
    ball = Constraint("ball", np.array([[0.0, 0], [1, 0], [0, 1]]), np.array([1.0, 0, 0]), SecondOrder(3))
    conflict = mo.solvers.conflict(form.replace(constraints=(*form.constraints, ball)))
    assert set(conflict.elements) == {"row[0]", "ball"}
    assert not conflict.proven
    assert "floating point" in conflict.argument


def test_integers_are_claimed_by_the_solver() -> None:
    form = _form(np.array([[2.0, 0.0], [-2.0, 0.0]]), np.array([-1.0, 1.0]), lower=np.zeros(2), upper=np.ones(2))
    conflict = mo.solvers.conflict(form.replace(integer=np.array([True, True])))
    assert {"row[0]", "row[1]"} <= set(conflict.elements)
    assert not conflict.proven_irreducible
    assert "claimed by highs" in conflict.argument


def test_it_is_a_verb_of_forms_and_formulations_with_the_same_answer() -> None:
    """One search for three calls: `mo.solvers.conflict`, a formulation's method and its form's; changed and composed ones too."""
    X = np.column_stack([np.ones(4), [0.0, 1, 2, 3]])
    y = np.array([-1.0, 1, -1, 1])
    changed = mo.HingeSVM(X, y, lam=1.0).with_constraint(lambda v: {"far": v.w[1] >= 2, "near": v.w[1] <= 1})
    problem = mo.Margin(X, y, loss="hinge", subject_to=mo.keep(range(4)))
    for model, options in ((mo.ConicSVM(X, y, kappa=0.0), {}), (changed, {"solver": "scs"}), (problem, {"max_solves": 3})):
        by_function = mo.solvers.conflict(model, **options)
        assert model.conflict(**options) == by_function
        assert model.form.conflict(**options) == by_function
    assert set(changed.conflict().rows) == {"far", "near"}
    assert set(problem.conflict().rows) == {"keep"}


def test_points_are_those_of_the_data_and_other_rows_of_the_name_margin_are_none() -> None:
    """Rows of `keep` are numbered by themselves, several classes have several rows for a point, pairs one for two."""
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    y = np.array([-1.0, 1, -1, 1, -1, 1])
    conflict = mo.Margin(X, y, loss="hinge", subject_to=mo.keep([3, 4, 5])).conflict()
    assert conflict.rows == {"keep": (0, 1, 2)}
    assert conflict.points == (3, 4, 5)
    several = mo.MulticlassSVM(X, np.arange(6) % 3).with_fixed({"xi": np.zeros(6)}).conflict()
    assert "margin" in several.rows
    assert several.points == ()
    switched = mo.ZeroOneSVM(X, y, kappa=0.1, encoding="indicator").conflict()
    assert "budget" in switched.elements
    assert switched.points
    budgets = [mo.error_budget(sign, 0.0) for sign in (1, -1)]
    assert mo.Margin(X, y, loss="zero-one", subject_to=budgets).conflict().points
    changed = mo.ConicSVM(X, y, kappa=0.0).with_constraint(lambda v: v.w[1] >= 0)
    assert set(changed.conflict().points) <= set(range(6))
    assert changed.conflict().points
    with pytest.raises(InputError, check=about("row")):
        Constraint("row", np.ones((1, 2)), np.zeros(1), Nonnegative(1), points=(0, 1))


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("cone", [Nonnegative(3), SecondOrder(3)])
def test_bounds_that_cross_are_the_conflict(integer: bool, cone: Nonnegative | SecondOrder) -> None:
    rows = Constraint("row", np.ones((3, 2)), np.zeros(3), cone)
    form = _form(
        np.ones((1, 2)), np.zeros(1), constraints=(rows,), lower=np.array([0.0, 2.0]), upper=np.array([np.inf, 1.0]),
        integer=np.array([integer, integer]),
    )  # fmt: skip
    conflict = form.conflict()
    assert set(conflict.elements) == {"x[1] ≥ 2", "x[1] ≤ 1"}
    assert conflict.proven


def test_a_possible_problem_has_no_conflict() -> None:
    X, y = np.column_stack([np.ones(4), np.arange(4.0)]), np.array([-1.0, 1, -1, 1])
    for possible in (mo.HingeSVM(X, y, lam=1.0), mo.HingeSVM(X, y, lam=1.0).form):
        with pytest.raises(InputError, check=about("model")):
            possible.conflict()


def test_rows_that_conflict_without_integrality_are_proved_beside_integers(tmp_path: Path) -> None:
    """x + k ≥ 4 and y - k ≥ 2 add up to x + y ≥ 6; at most 5 are left. Elsewhere it is k that is no half."""
    path = tmp_path / "plan.lp"
    path.write_text(
        "Minimize\n x + y\nSubject To\n a: x + k >= 4\n b: y - k >= 2\n c: x + y + 2 k <= 5\nBounds\n k <= 3\nGeneral\n k\nEnd\n"
    )
    form = mo.read(path)
    assert isinstance(form, mo.StandardForm)
    conflict = form.conflict()
    assert {"a", "b", "c"} <= set(conflict.elements) and conflict.proven and not conflict.proven_irreducible
    assert all(conflict.multipliers[name] > 0 for name in conflict.elements)
    path.write_text("Minimize\n k\nSubject To\n a: 2 k >= 1\n b: 2 k <= 1\nGeneral\n k\nEnd\n")
    half = mo.read(path)
    assert isinstance(half, mo.StandardForm)
    assert not half.conflict().proven
