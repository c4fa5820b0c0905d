"""Any formulation changed in one line: the law is tried on every formulation that there is, values against CVXPY."""

from __future__ import annotations

from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from data import clouds, nine_points
from effort import part
from facts import about

import marginopt as mo
from marginopt import models
from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import Block, Constraint, HingeSVM, Nonnegative, StandardForm
from marginopt.models.changed_model import ChangedModel
from marginopt.models.export.cvxpy_problem import labelled_variables
from marginopt.models.kernels.gram import MatrixGram, PaddedGram
from marginopt.models.model import Model

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

TABLE = models.formulations()
WITH_FORM = []
WITHOUT = []
for _name, _info in TABLE.items():
    try:
        _model = _info.example(np.random.default_rng(0))
        _model.form  # noqa: B018 - whether there is one
        if not _model.certified_by_appraisal:  # convex solvers read the others
            WITH_FORM.append(_name)
    except UnsupportedModelError:
        WITHOUT.append(_name)


def example(name: str) -> Model:
    return TABLE[name].example(np.random.default_rng(0))


def entry(values: np.ndarray, place: int) -> int | tuple[int, ...]:
    """The index of an entry of a block, of a matrix by its row and column."""
    index = tuple(int(k) for k in np.unravel_index(place, values.shape))
    return index[0] if len(index) == 1 else index


def best(model: Model, tol: float = 1e-8) -> mo.Result:
    return mo.solve(model, "scip" if model.form.integer.any() else "clarabel", tol=1e-6 if model.form.integer.any() else tol)


def theirs(model: Model, rows: list[cp.Constraint], problem: cp.Problem) -> float:
    """The optimum of the exported problem with rows that CVXPY itself adds, in the model's sense."""
    changed = cp.Problem(problem.objective, [*problem.constraints, *rows])
    changed.solve(solver="SCIP" if model.form.integer.any() else "CLARABEL")
    return -changed.value if model.form.maximise else changed.value


@pytest.mark.parametrize("name", part(WITH_FORM, 8, turn=0))
def test_a_row_cuts_the_optimum_off_as_it_does_in_cvxpy(name: str) -> None:
    model = example(name)
    before = best(model)
    label = model.form.blocks[0].label
    j = entry(before.values[label], int(np.argmax(np.abs(before.values[label]))))
    top = float(np.abs(before.values[label][j]))
    changed = model.with_constraint(lambda v: {"cut": cp.abs(v[label][j]) <= 0.8 * top})
    after = best(changed)
    problem = model.to_cvxpy()
    block = labelled_variables(problem)[label]
    # a row on a free intercept: the form's optimum is found, and the form's M are not known to hold for the problem
    assert after.status is (mo.Status.INACCURATE if changed.cutoff == -np.inf else mo.Status.OPTIMAL)
    assert after.objective == pytest.approx(theirs(model, [cp.abs(block[j]) <= 0.8 * top], problem), rel=2e-5, abs=1e-6)
    worse = before.objective - after.objective if model.form.maximise else after.objective - before.objective
    assert worse > 1e-6
    assert np.abs(after.values[label][j]) <= 0.8 * top + 1e-6


@pytest.mark.parametrize("name", part(WITH_FORM, 8, turn=1))
def test_labels_scores_figures_and_points_are_the_models(name: str) -> None:
    model = example(name)
    label = model.form.blocks[0].label
    changed = model.with_constraint(lambda v: {"wide": cp.norm1(v[label]) <= 1e3})
    result = best(changed)
    values = {b.label: result.values[b.label] for b in model.form.blocks}
    assert [b.label for b in changed.form.blocks][: len(model.form.blocks)] == [b.label for b in model.form.blocks]
    assert result.objective == pytest.approx(best(model).objective, rel=2e-5, abs=1e-6)
    assert changed.summary(result.values) == model.summary(values)
    entries = {c.label: result.multipliers[c.label] for c in model.form.constraints} if result.multipliers else None
    assert changed.explain_points(result.values, entries).points == model.explain_points(values, entries).points
    explanation = changed.explain(result)
    assert {"wide", *(c.label for c in model.form.constraints if c.rows)} <= {a.label for a in explanation.constraints}
    assert "||_1 <= 1000" in str(changed)
    info = TABLE[name]
    if "X" in info.needs and "y" in info.needs:
        X = info.example_arrays(np.random.default_rng(0))["X"]
        try:
            expected = model.decision_function(values, X)
        except UnsupportedModelError:
            with pytest.raises(UnsupportedModelError):
                changed.decision_function(result.values, X)
        else:
            np.testing.assert_array_equal(changed.decision_function(result.values, X), expected)


@pytest.mark.parametrize("name", part(WITH_FORM, 8, turn=2))
def test_a_row_keeps_the_proved_bound(name: str) -> None:
    """The bound of the model at its own multipliers stands after a row, and the optimum's proof covers the row."""
    model = example(name)
    if model.form.integer.any():
        model = model.relaxed()
    label = model.form.blocks[0].label
    before = mo.solve(model, "clarabel")
    j = entry(before.values[label], int(np.argmax(np.abs(before.values[label]))))
    top = float(before.values[label][j])
    changed = model.with_constraint(lambda v: np.sign(top) * v[label][j] <= 0.8 * abs(top))
    x = model.form.join(before.values)
    bound, lower_bound = changed.bound(x, before.multipliers), model.bound(x, before.multipliers)
    after = mo.solve(changed, "clarabel")
    sign = -1.0 if model.form.maximise else 1.0
    assert lower_bound.value <= bound.value <= sign * after.objective + 1e-7
    assert np.isfinite(lower_bound.value)
    proved = changed.bound(changed.form.join(after.values), after.multipliers)
    assert sign * after.objective - proved.value <= 1e-6 * (1 + abs(after.objective))


@pytest.mark.parametrize("name", part(WITH_FORM, 8, turn=3))
def test_fixed_variables_are_fixed(name: str) -> None:
    model = example(name)
    label = model.form.blocks[0].label
    start = best(model).values[label]
    place = int(np.argmin(np.abs(start)))
    j, value = entry(start, place), max(float(model.form.lower[model.form.slices[label]][place]), 0.0)
    changed = model.with_fixed({label: {j: value}})
    after = best(changed)
    problem = model.to_cvxpy()
    expected = theirs(model, [labelled_variables(problem)[label][j] == value], problem)
    assert after.objective == pytest.approx(expected, rel=2e-5, abs=1e-6)
    assert after.values[label][j] == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("name", part(WITH_FORM, 8, turn=4))
def test_relaxed_is_the_continuous_form(name: str) -> None:
    model = example(name)
    relaxed = model.relaxed()
    if not model.form.integer.any():
        assert relaxed is model
        return
    assert relaxed.form.equals(model.form.relax_integrality())
    low, exact = mo.solve(relaxed, "clarabel"), best(model)
    assert low.objective <= exact.objective + 1e-6
    assert not relaxed.form.integer.any()
    scores = relaxed.decision_function(low.values, np.eye(len(low.values["w"])))
    np.testing.assert_allclose(scores, low.values["w"])


@pytest.mark.parametrize("name", part(WITH_FORM, 8, turn=5))
def test_new_variables_and_their_cost(name: str) -> None:
    """min f(x) + 3t with |x_j| ≤ 0.8 top + t is the elastic version of the cut; the model's own rows are as before."""
    model = example(name)
    label = model.form.blocks[0].label
    before = best(model)
    j = entry(before.values[label], int(np.argmax(np.abs(before.values[label]))))
    top = float(np.abs(before.values[label][j]))
    extra = cp.Variable(1, name="over", nonneg=True)
    changed = model.with_variables(extra, cost=lambda v: 3.0 * cp.sum(v.over))
    assert best(changed).objective == pytest.approx(before.objective, rel=2e-5, abs=1e-6)
    elastic = changed.with_constraint(lambda v: cp.abs(v[label][j]) <= 0.8 * top + v.over)
    after = best(elastic)
    problem = model.to_cvxpy()
    t = cp.Variable(nonneg=True)
    rows = [*problem.constraints, cp.abs(labelled_variables(problem)[label][j]) <= 0.8 * top + t]
    stated = cp.Problem(cp.Minimize(problem.objective.args[0] + 3 * t), rows)
    stated.solve(solver="SCIP" if model.form.integer.any() else "CLARABEL")
    expected = -stated.value if model.form.maximise else stated.value
    assert after.objective == pytest.approx(expected, rel=2e-5, abs=1e-6)
    assert (after.values["over"] >= -1e-8).all()


@pytest.mark.parametrize("name", WITHOUT)
def test_a_model_without_a_form_says_so(name: str) -> None:
    model = example(name)
    for change in (
        lambda: model.with_constraint(lambda v: v.w[0] >= 0),
        lambda: model.with_variables(cp.Variable(2, name="extra")),
        lambda: model.with_fixed({"w": {0: 0.0}}),
        model.relaxed,
    ):
        with pytest.raises(UnsupportedModelError):
            change()


# -- one formulation by hand ----------------------------------------------------------------------------------------------

RNG = np.random.default_rng(3)
X, Y = clouds(RNG, 30, 4, 0.5, order="halves", first=-1.0)


def test_the_hinge_svm_against_a_statement_of_its_own() -> None:
    model = mo.HingeSVM(X, Y, 2.0).with_constraint(
        lambda v: [v.w[3] >= 0.4, cp.norm1(v.w[1:]) <= 0.7], lambda v: cp.norm(v.w) <= 1
    )
    w = cp.Variable(5)
    loss = 2.0 * cp.sum(cp.pos(1 - cp.multiply(Y, X @ w)))
    stated = cp.Problem(cp.Minimize(cp.sum_squares(w) + loss), [w[3] >= 0.4, cp.norm1(w[1:]) <= 0.7, cp.norm(w) <= 1])
    stated.solve(solver="CLARABEL")
    for solver in ("auto", "clarabel", "scs"):
        result = mo.solve(model, solver, tol=1e-6)
        assert result.objective == pytest.approx(stated.value, rel=1e-4)
    np.testing.assert_allclose(mo.solve(model).values["w"], w.value, atol=1e-4)
    assert mo.solve(model).certificate.bound == pytest.approx(stated.value, rel=1e-6)


def test_a_symmetric_block_is_its_matrix() -> None:
    model = mo.ConicSVM(X[:, :3], Y, 1.0)
    changed = model.with_constraint(lambda v: [v.W[0, 1] == 0.05, cp.trace(v.W) <= 3])
    values = mo.solve(changed, "clarabel").values
    assert values["W"][0, 1] == pytest.approx(0.05, abs=1e-6)
    fixed = mo.solve(model.with_fixed({"W": {(1, 0): 0.05}}).with_constraint(lambda v: cp.trace(v.W) <= 3), "clarabel")
    assert fixed.objective == pytest.approx(mo.solve(changed, "clarabel").objective, rel=1e-5)


def test_a_change_follows_the_parameter_and_repeats() -> None:
    model = mo.HingeSVM(X, Y, 1.0).with_constraint(lambda v: {"sign": v.w[1] >= 0.5})
    twice = model.with_constraint(lambda v: cp.norm1(v.w) <= 0.9)
    moved = twice.with_parameter("lam", 3.0)
    again = mo.HingeSVM(X, Y, 3.0).with_constraint(lambda v: {"sign": v.w[1] >= 0.5})
    again = again.with_constraint(lambda v: cp.norm1(v.w) <= 0.9)
    assert moved.form.equals(again.form)
    path = mo.path(model, "lam", [0.5, 1.0], solver="clarabel")
    assert len(path) == 2


def test_integers_of_the_users_own() -> None:
    """At most one of the features by binaries stated in the expression."""

    def one(v: object) -> list[cp.Constraint]:
        s = cp.Variable(4, boolean=True, name="used")
        return [cp.abs(v.w[1:]) <= 3 * s, cp.sum(s) <= 1]

    result = mo.solve(mo.HingeSVM(X, Y, 1.0).with_constraint(one), "scip")
    alone = min(
        mo.solve(mo.HingeSVM(X, Y).with_fixed({"w": {k: 0.0 for k in range(1, 5) if k != j}}), "clarabel").objective
        for j in range(1, 5)
    )
    assert result.objective == pytest.approx(alone, rel=1e-5)
    assert result.values["used"].sum() == pytest.approx(1)


def test_files_digests_and_latex(tmp_path: Path) -> None:
    model = mo.HingeSVM(X, Y).with_constraint(lambda v: {"small": v.w[0] + 1e-7 >= 1e-5})
    result = mo.solve(model, "clarabel")
    result.save(tmp_path / "r.npz")
    again = mo.io.load_result(tmp_path / "r.npz", model)
    assert again.objective == result.objective
    written = mo.read(model.write(tmp_path / "m.mps"))
    assert mo.solve(written, "clarabel").objective == pytest.approx(result.objective, rel=1e-5)
    assert r"1 \times 10^{-5} \le w_{0}" in model.latex()
    with pytest.raises(mo.errors.MarginoptError):
        mo.io.load_result(tmp_path / "r.npz", mo.HingeSVM(X, Y))


def test_exponentials_are_rows_too() -> None:
    model = mo.HingeSVM(X, Y)
    free = mo.solve(model, "clarabel")
    at = float(free.values["w"][0]) - 0.1
    result = mo.solve(model.with_constraint(lambda v: cp.exp(v.w[0]) <= np.exp(at)), "clarabel", tol=1e-8)
    bounded = mo.solve(model.with_constraint(lambda v: v.w[0] <= at), "clarabel", tol=1e-8)
    assert result.objective == pytest.approx(bounded.objective, rel=1e-7) and result.objective > free.objective
    assert result.bound <= bounded.objective * (1 + 1e-9) and result.gap <= 1e-6


def test_what_is_refused() -> None:
    model = mo.HingeSVM(X, Y)
    with pytest.raises(InputError, check=about("b")):
        model.with_constraint(lambda v: v.b >= 0)
    with pytest.raises(UnsupportedModelError, check=about("constraints")):
        model.with_constraint(lambda v: cp.norm(v.w) >= 1)
    with pytest.raises(UnsupportedModelError, check=about("cost")):
        model.with_variables(cost=lambda v: -cp.norm(v.w))
    with pytest.raises(InputError, check=about("constraints")):
        model.with_constraint(lambda v: 3)
    with pytest.raises(InputError, check=about("constraints")):
        model.with_constraint("w >= 0")
    with pytest.raises(InputError, check=about("name")):
        model.with_constraint(lambda v: {"margin": v.w[0] >= 0})
    with pytest.raises(InputError, check=about("name")):
        model.with_variables(cp.Variable(2, name="xi"))
    with pytest.raises(InputError, check=about("variables")):
        model.with_variables("t")
    with pytest.raises(InputError, check=about("variables")):
        model.with_variables()
    with pytest.raises(InputError, check=about("variables")):
        model.with_constraint(lambda v: cp.Constant(1) <= 2)
    with pytest.raises(InputError, check=about("fixed")):
        model.with_fixed({"xi": {2: -1.0}})
    with pytest.raises(InputError, check=about("w")):
        model.with_fixed({"w": {7: 0.0}})
    with pytest.raises(InputError, check=about("fixed")):
        mo.ZeroOneSVM(X, Y).with_fixed({"z": {0: 0.5}})
    with pytest.raises(InputError, check=about("w")):
        model.with_fixed({"w": [1.0, 2.0]})
    with pytest.raises(InputError, check=about("model")):
        ChangedModel(mo.ZeroOneSVM(X, Y), model.with_constraint(lambda v: v.w[0] >= 0).change).form  # noqa: B018
    with pytest.raises(UnsupportedModelError):
        mo.solve(mo.ZeroOneSVM(X, Y).with_constraint(lambda v: v.w[1] >= 0), "zero-one-bb")


def test_a_gram_operator_among_other_variables() -> None:
    rng = np.random.default_rng(1)
    R = rng.normal(size=(4, 4))
    Q = R @ R.T
    padded = PaddedGram(MatrixGram(Q, "R R'"), 2)
    whole = np.zeros((6, 6))
    whole[:4, :4] = Q
    a = rng.normal(size=6)
    np.testing.assert_allclose(padded.dense, whole)
    np.testing.assert_allclose(padded.product(a), whole @ a)
    np.testing.assert_allclose(padded.diagonal, np.diag(whole))
    assert padded.semidefinite_reason == "R R'"
    assert (np.abs(padded.product(a) - whole @ a) <= padded.product_error(a) + 1e-15).all()


def test_a_changed_program_prints_as_the_program_does() -> None:
    """A form states its own rows, so a form that is changed does too: in text, at a prompt, as LaTeX and in a notebook."""
    rows = (Constraint("need", np.array([[1.0, 2.0]]), np.array([-2.0]), Nonnegative(1)),)
    form = StandardForm(
        "diet", (Block("x", (2,)),), np.array([3.0, 4.0]), rows, np.zeros(2), np.full(2, 9.0), np.array([True, False])
    )
    fixed, relaxed = form.with_fixed({"x[0]": 1.0}), form.relaxed()
    added = form.with_fixed({"x[0]": 1.0}).with_constraint({"cap": lambda v: v.x[1] <= 5})
    for changed in (fixed, relaxed, added):
        assert str(changed) == repr(changed) == str(changed.form)
        assert "3 x[0] + 4 x[1]" in str(changed) and "x[0] + 2 x[1] >= 2" in str(changed)
        assert changed.latex() == changed.form.latex()
        assert changed.display() == changed.form.display()
    assert "x[0] = 1" in str(fixed) and "cap" in str(added)
    model = HingeSVM(*nine_points())
    assert str(model.with_fixed({"w": np.zeros(model.form.block("w").shape)})).startswith(model.statement.title)
