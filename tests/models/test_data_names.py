"""Formulations on instances and data frames: the problem of the arrays, with names in print, files, values and restrictions."""

from __future__ import annotations

import inspect
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.data_names import DataNames, labelled_arrays
from marginopt.errors import InputError
from marginopt.models.digest import fingerprint

pd = pytest.importorskip("pandas")


def frame(n: int = 24) -> tuple[Any, Any]:
    """A binary column, a heavy-tailed one, an offset, and classes that are words."""
    rng = np.random.default_rng(3)
    gender = rng.integers(0, 2, n)
    income = rng.standard_t(2, n)
    table = pd.DataFrame({"one": 1, "fam_inc": income, "gender": gender, "age & more": rng.integers(18, 60, n)})
    table.index = rng.permutation(n)
    return table, pd.Series(np.where(income + 0.5 * rng.normal(size=n) > 0.0, "yes", "no"), index=table.index)


@pytest.mark.parametrize(
    "formulation",
    [mo.HingeSVM, mo.ZeroOneSVM, mo.ConicSVM, mo.RampSVM, mo.Margin, mo.L1SVMDual, mo.L2SVMDual, mo.ConvexHullsDual],
)
def test_a_frame_and_an_instance_state_the_problem_of_their_arrays(formulation: Any) -> None:
    table, y = frame()
    arrays = (table.to_numpy(dtype=float), np.where(y == "yes", 1.0, -1.0))
    instance = mo.instances.Instance.from_labels(*arrays[:1], y.to_numpy(), feature_names=tuple(table.columns))
    options = {"lam": 1.0} if formulation is mo.ConicSVM else {}
    plain, framed, loaded = formulation(*arrays, **options), formulation(table, y, **options), formulation(instance, **options)
    assert framed.compile().equals(plain.form) and loaded.compile().equals(plain.form)
    assert fingerprint(framed) == fingerprint(plain)
    assert framed.data_names == loaded.data_names == DataNames(tuple(table.columns), ("no", "yes"))
    assert mo.instances.Instance.from_labels(table, y).data_names == framed.data_names
    assert plain.data_names is None and "'yes'" in str(framed) and "'yes'" not in str(plain)
    assert list(inspect.signature(formulation).parameters)[:2] == ["X", "y"]


def test_no_labels_are_needed_where_the_formulation_has_none() -> None:
    table, _ = frame()
    assert mo.MEBDual(table).data_names == DataNames(tuple(table.columns))
    instance = mo.load("wdbc").prepared()
    assert mo.MEBDual(instance).form.n == instance.n


def test_names_of_coefficients_are_in_files_values_and_explanations(tmp_path: Path) -> None:
    table, y = frame()
    model = mo.HingeSVM(table, y)
    names = [f"w[{name}]" for name in table.columns]
    assert model.form.names()[:4] == names
    for suffix in ("lp", "mps", "mof.json"):
        model.write(path := tmp_path / f"model.{suffix}")
        assert mo.read(path).names()[:4] == names
    result = mo.solve(model)
    assert [float(result.values[name]) for name in names] == result.values["w"].tolist()
    with pytest.raises(KeyError):
        _ = result.values["w[height]"]
    assert model.explain(result).coefficients == dict(zip(table.columns, result.values["w"].tolist(), strict=True))
    assert pickle.loads(pickle.dumps(result.values)).keys() == result.values.keys()
    assert "fam" in model.latex(standalone=True)


def _words(n: int = 24) -> tuple[Any, Any]:
    """An instance whose columns of two and of three words became indicators, and the columns' words."""
    table, y = frame(n)
    words = pd.DataFrame(
        {"sex": np.where(table["gender"] == 1, "male", "female"), "region": np.tile(["east", "north", "west"], n // 3)}
    )
    words.index = table.index
    table = table.drop(columns=["one", "gender"]).assign(sex=words["sex"], region=words["region"], label=y)
    return mo.read(table, label="label", categories="indicators").prepared(), words


@pytest.mark.parametrize("column", ["sex", "region"])
@pytest.mark.parametrize("by", ["covariance", "counts"])
def test_a_column_of_words_names_its_groups(column: str, by: Any) -> None:
    instance, words = _words()
    state = [mo.Margin(instance, subject_to=mo.parity(groups, 0.05, by=by)) for groups in (column, words[column].to_numpy())]
    w = np.random.default_rng(0).normal(size=instance.X.shape[1])
    by_name, by_words = (model.subject_to[0].violation(model.X, model.y, w) for model in state)
    assert by_name == pytest.approx(by_words, rel=1e-9) and by_name > 0.0
    assert any(column in line.text for line in state[0].subject_to[0].lines())


def test_a_part_of_the_data_without_a_word_has_the_groups_of_the_others() -> None:
    instance, words = _words()
    part = instance.take(np.flatnonzero(words["region"].to_numpy() != "west"))
    model = mo.Margin(part, subject_to=mo.parity("region", 0.05))
    assert set(model.subject_to[0].groups.tolist()) == {"east", "north"}


def test_a_column_of_words_names_all_its_coefficients() -> None:
    instance, _ = _words()
    places = [instance.feature_names.index(f"region={word}") for word in ("east", "north", "west")]
    model = mo.Margin(instance, subject_to=mo.fixed({"region": 0.0, "fam_inc": 1.0}), domain=margin.Signs({"region": 1}))
    assert set(places) < set(model.subject_to[0].coefficients)
    assert np.flatnonzero(model.domain.bounds(instance.X.shape[1])[0] == 0.0).tolist() == places
    with pytest.raises(InputError, check=about("region")):  # one coefficient
        mo.Margin(instance, subject_to=margin.LinearRows({"region": 1.0}, 0.0))
    with pytest.raises(InputError, check=lambda error: "region" in error.allowed):
        mo.Margin(instance, subject_to=mo.parity("regin"))


def test_values_of_a_foreign_program_answer_to_its_names() -> None:
    highspy = pytest.importorskip("highspy")
    h = highspy.Highs()
    h.silent()
    x, z = h.addVariable(lb=0.0, ub=4.0, name="X1"), h.addVariable(lb=0.0, name="X2")
    h.addConstr(x + z >= 3.5)
    h.minimize(x + 2.0 * z)
    result = mo.solve(mo.from_highs(h))
    assert float(result.values["X1"]) == pytest.approx(3.5) and float(result.values["X2"]) == pytest.approx(0.0, abs=1e-9)


def test_restrictions_by_names_are_those_by_numbers() -> None:
    table, y = frame()
    named = [mo.parity("gender", 0.2), mo.error_budget("no", 0.5), mo.fixed({"age & more": 0.0, 0: 0.5}), mo.keep("yes")]
    gender = table["gender"].to_numpy()
    codes = np.where(y == "yes", 1.0, -1.0)
    numbered = [
        mo.parity(gender, 0.2),
        mo.error_budget(-1, 0.5),
        mo.fixed({3: 0.0, 0: 0.5}),
        mo.keep(np.flatnonzero(codes > 0.0)),
    ]
    for one, other in zip(named, numbered, strict=True):
        domain = margin.Box(-9.0, 9.0)
        first = mo.Margin(table, y, "zero-one", domain=domain, subject_to=one)
        second = mo.Margin(table.to_numpy(dtype=float), codes, "zero-one", domain=domain, subject_to=other)
        assert first.compile().equals(second.form)
    column = table.columns.get_loc("gender")
    first, second = (
        mo.Margin(table, y, "zero-one", domain=domain, subject_to=mo.parity(groups, 0.2)) for groups in (column, gender)
    )
    assert first.form.equals(second.form)


@pytest.mark.parametrize(
    ("restriction", "name"),
    [
        (lambda: mo.parity("gendr"), "gendr"),
        (lambda: mo.error_budget("maybe", 0.1), "maybe"),
        (lambda: mo.fixed({"fam_in": 0.0}), "fam_in"),
        (lambda: mo.keep("perhaps"), "perhaps"),
        (lambda: mo.parity([0, 1, 1]), "groups"),
        (lambda: mo.parity(9), "groups"),
        (lambda: mo.parity(-1), "groups"),
        (lambda: mo.fixed({7: 0.0}), "coefficients"),
        (lambda: mo.fixed({"gender": 0.0, 2: 1.0}), "coefficients"),
        (lambda: margin.LinearRows(np.ones((1, 2)), 0.0), "A"),
        (lambda: margin.LinearRows({"gendr": 1.0}, 0.0), "gendr"),
        (lambda: margin.LinearRows([{"gender": 1.0}, {4: 1.0}], 0.0), "A"),
        (lambda: mo.error_budget(2, 0.1), "points"),
    ],
)
def test_what_matches_nothing_is_an_error_of_the_statement(restriction: Any, name: str) -> None:
    table, y = frame()
    with pytest.raises(mo.errors.InputError, check=about(name)):
        mo.Margin(table, y, "zero-one", subject_to=restriction())
    with pytest.raises(mo.errors.InputError):
        mo.Margin(table.to_numpy(dtype=float), np.where(y == "yes", 1.0, -1.0), "zero-one", subject_to=restriction())


def test_domains_and_rows_by_names_are_those_by_numbers() -> None:
    table, y = frame()
    signs, order = {"fam_inc": 1, "age & more": -1, 0: 1}, ["gender", "age & more"]
    row, rows = {"fam_inc": 1.0, "gender": -2.0}, [{"fam_inc": 1.0}, {3: 2.0, "gender": 1.0}]
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"domain": margin.Signs(signs)}, {"domain": margin.Signs((1, 1, 0, -1))}),
        ({"domain": margin.Increasing(order)}, {"domain": margin.Increasing((2, 3))}),
        ({"subject_to": margin.LinearRows(row, 0.5, None)}, {"subject_to": margin.LinearRows([[0.0, 1.0, -2.0, 0.0]], 0.5)}),
        (
            {"subject_to": margin.LinearRows(rows, None, [1.0, 2.0])},
            {"subject_to": margin.LinearRows([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]], -np.inf, [1.0, 2.0])},
        ),
    ]
    X, codes = table.to_numpy(dtype=float), np.where(y == "yes", 1.0, -1.0)
    for named, numbered in pairs:
        assert mo.Margin(table, y, **named).compile().equals(mo.Margin(X, codes, **numbered).form)
    for wrong, name in ({"gendr": 1}, "gendr"), ({7: 1}, "signs"), ({"gender": 1, 2: 1}, "signs"):
        with pytest.raises(mo.errors.InputError, check=about(name)):
            mo.Margin(table, y, domain=margin.Signs(wrong))
    with pytest.raises(mo.errors.InputError, check=about("kernel")):
        mo.Margin(table, y, domain=margin.Signs({"gender": 1}), kernel=mo.RBF(1.0))


def test_changes_take_names_of_variables_and_print_them() -> None:
    pytest.importorskip("cvxpy")
    table, y = frame()
    model = mo.HingeSVM(table, y)
    by_index = model.with_fixed({"w": {2: 0.25}}).form
    for named in ({"w": {"gender": 0.25}}, {"w": {"w[gender]": 0.25}}, {"w[gender]": 0.25}, {"gender": 0.25}):
        assert model.with_fixed(named).form.equals(by_index)
    assert model.with_fixed({"w[gender]": 0.25, "w[one]": 1.0}).form.equals(model.with_fixed({"w": {2: 0.25, 0: 1.0}}).form)
    bounded = model.with_constraint({"age": lambda v: v["w[age & more]"] <= v["gender"]})
    assert bounded.form.equals(model.with_constraint({"age": lambda v: v.w[3] <= v.w[2]}).form)
    assert "w[age & more] <= w[gender]" in str(bounded) and r"w_{\text{age \& more}}" in bounded.latex()
    for lost in ({"gendr": 0.0}, {"w": {"gendr": 0.0}}, {"w[gendr]": 0.0}):
        with pytest.raises(mo.errors.InputError, check=about("gendr", "w[gendr]", allowed=["w[gender]"])):
            model.with_fixed(lost)
    values = mo.solve(model).values
    assert values["gender"] == values["w[gender]"] == values["w"][2]
    fixed = mo.Margin(table, y, subject_to=mo.fixed({"gender": 0.25}))
    assert "w[gender] = 0.25" in str(fixed) and fingerprint(fixed) == fingerprint(
        mo.Margin(table.to_numpy(dtype=float), np.where(y == "yes", 1.0, -1.0), subject_to=mo.fixed({2: 0.25}))
    )


def test_columns_without_numbers_are_named() -> None:
    table, y = frame()
    with pytest.raises(mo.errors.InputError, check=about("X")):
        mo.HingeSVM(table.assign(town="Ulm"), y)
    holes = table["fam_inc"].to_numpy().copy()
    holes[3] = np.nan
    with pytest.raises(mo.errors.InputError, check=about("X")):
        mo.HingeSVM(table.assign(fam_inc=holes), y)
    with pytest.raises(mo.errors.InputError, check=about("y")):
        mo.HingeSVM(mo.load("wdbc"), y)
    with pytest.raises(mo.errors.InputError, check=about("y")):
        mo.HingeSVM(table, np.full(24, "yes"))


def test_labels_that_are_codes_stay(tmp_path: Path) -> None:
    table, y = frame()
    codes = np.where(y == "yes", 1, -1)
    X, labels, names = labelled_arrays(table, codes) or (None, None, None)
    assert X is not None and np.array_equal(labels, codes) and names == DataNames(tuple(table.columns))
    assert labelled_arrays(table.to_numpy(), codes) is None
    values = np.linspace(0.0, 1.0, 24)
    assert mo.Margin(table, values, "epsilon-insensitive").y.tolist() == values.tolist()


@pytest.mark.parametrize("formulation", [mo.HingeSVM, mo.ZeroOneSVM, mo.Margin])
def test_predictions_have_the_names_of_the_classes(formulation: Any) -> None:
    table, y = frame()
    table = table.assign(**{"age & more": table["age & more"] / 40.0 - 1.0})
    model = formulation(table, y)
    result = mo.solve(model, time_limit=10)
    names = model.predict(result.values, table)
    codes = formulation(table.to_numpy(), np.where(y == "yes", 1.0, -1.0)).predict(result.values, table.to_numpy())
    assert set(names) <= {"yes", "no"} and np.array_equal(names == "yes", codes > 0.0)
    assert np.array_equal(codes > 0.0, table.to_numpy() @ result.values["w"] >= 0.0)


def test_a_loss_of_residuals_predicts_values_and_several_classes_their_codes() -> None:
    table, _ = frame()
    X = table.to_numpy(dtype=float) / 10.0
    target = X @ np.array([0.1, 0.2, -0.3, 0.05])
    model = mo.Margin(X, target, "epsilon-insensitive")
    result = mo.solve(model)
    assert np.allclose(model.predict(result.values, X), X @ result.values["w"])
    classes = mo.MulticlassSVM(X, np.arange(24) % 3)
    assert set(classes.predict(mo.solve(classes).values, X)) <= {0, 1, 2}
    with pytest.raises(mo.errors.UnsupportedModelError):
        mo.MEBDual(X).predict(mo.solve(mo.MEBDual(X)).values, X)


def test_a_target_of_two_values_stays_a_target() -> None:
    table, _ = frame()
    target = pd.Series(np.where(np.arange(24) % 2, 5.0, 0.0))
    assert mo.Margin(table, target, "epsilon-insensitive").y.tolist() == target.tolist()
    with pytest.raises(mo.errors.InputError, check=about("y")):
        mo.HingeSVM(table, pd.Series(np.arange(24) % 2))
    assert mo.HingeSVM(table, pd.Series(np.arange(24) % 2 == 1)).y[:2].tolist() == [-1.0, 1.0]


def test_frames_that_would_be_read_as_others_are_refused() -> None:
    table, y = frame()
    twice = table.copy()
    twice.columns = ["one", "one", "gender", "age"]
    for wrong in (
        twice,
        table.assign(day=pd.Timestamp("2026-01-01")),
        table.assign(some=pd.array([1, None] * 12, dtype="Int64")),
        table.assign(text=["1"] * 24).astype({"text": "string"}),
    ):
        with pytest.raises(mo.errors.InputError):
            mo.HingeSVM(wrong, y)
    model = mo.HingeSVM(table, y)
    values = mo.solve(model).values
    with pytest.raises(mo.errors.InputError, check=about("X")):
        model.predict(values, table[table.columns[::-1]])


def test_coordinates_of_a_kernel_have_no_names_of_columns() -> None:
    table, y = frame()
    model = mo.Margin(table, y, "ramp", kernel=mo.RBF(0.1))
    assert model.feature_names == () and "w[one]" not in model.form.names()
    with pytest.raises(mo.errors.InputError, check=about("kernel")):
        mo.Margin(table, y, "ramp", kernel=mo.RBF(0.1), subject_to=mo.fixed({"gender": 0.0}))


def test_a_form_from_elsewhere_and_its_dual_keep_their_names(tmp_path: Path) -> None:
    file = tmp_path / "plan.lp"
    file.write_text("maximize\n 3 X1 + 2 X2\nsubject to\n BAL: X1 + X2 <= 4\n CAP: X1 + 3 X2 <= 6\nbounds\n X1 <= 3\nend\n")
    form = mo.read(file)
    assert form.names() == ["X1", "X2"] and [name for c in form.constraints for name in c.names()] == ["BAL", "CAP"]
    dual = form.dual()
    assert dual.names() == ["BAL", "CAP", "lower X1", "lower X2", "upper X1"]
    assert list(dual.constraints[0].names()) == ["X1", "X2"]


@pytest.mark.parametrize(
    "formulation", [mo.models.NonparallelSVM, mo.models.JointHyperplanesSVM, mo.models.PinballTwinSVM], ids=lambda f: f.__name__
)
def test_the_target_of_a_hyperplane_is_a_class_by_name(formulation: Any) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 2)), columns=["age", "debt"])
    for words in (["no", "yes"], ["no", "perhaps", "yes"]):
        y = np.array(words * (12 // len(words)))
        model = formulation(frame, y, "yes")
        np.testing.assert_array_equal(model.inside, y == "yes")
        with pytest.raises(mo.errors.InputError):
            formulation(frame, y, "maybe")


def several_classes(count: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A frame with ``count`` classes that are told apart by their words alone, the last of them first in the rows."""
    rng = np.random.default_rng(0)
    codes = np.arange(36)[::-1] % count
    table = pd.DataFrame({"one": 1.0, "age": 2.0 * codes + 0.3 * rng.normal(size=36), "debt": np.cos(3.0 * codes)})
    return table, np.array(["no", "perhaps", "yes"])[:count][codes] if count > 2 else np.array(["no", "yes"])[codes]


@pytest.mark.parametrize("words", [2, 3])
def test_coefficients_of_each_class_have_the_names_of_class_and_feature(words: int) -> None:
    table, y = several_classes(words)
    model = mo.MulticlassSVM(table, y)
    result = mo.solve(model, "piqp")
    k = sorted(set(y)).index("yes")
    assert result.values["W[yes,debt]"] == result.values["W"][k, 2]
    assert model.explain(result).coefficients["yes,debt"] == result.values["W"][k, 2]
    assert {row.label for row in model.explain(result).points} == set(y)
    plain = mo.MulticlassSVM(table.to_numpy(), y)
    assert set(plain.predict(mo.solve(plain, "piqp").values, table.to_numpy())) <= set(y)
    assert np.mean(model.predict(result.values, table) == y) > 0.9


@pytest.mark.parametrize("target", ["no", "yes"])
def test_the_nearer_of_two_hyperplanes_is_the_class_whichever_the_target(target: str) -> None:
    table, y = several_classes(2)
    model = mo.JointHyperplanesSVM(table, y, target)
    result = mo.solve(model)
    assert np.array_equal(model.predict(result.values, table), y)
    assert not any(row.misclassified for row in model.explain(result).points)
    assert f"of class {target} " in str(model) and f"u[{target},debt]" in model.form.names()
    changed = model.with_constraint(lambda v: [v.u[0] <= 10.0])
    assert np.array_equal(changed.predict(mo.solve(changed).values, table), y)


@pytest.mark.parametrize("formulation", [mo.NonparallelSVM, mo.PinballTwinSVM], ids=lambda f: f.__name__)
def test_one_hyperplane_decides_no_class(formulation: Any) -> None:
    table, y = several_classes(3)
    model = formulation(table, y, "yes")
    result = mo.solve(model)
    assert result.values["u[debt]"] == result.values["u"][2] and "class yes" in str(model)
    for stated in (model, model.with_constraint(lambda v: [v.u[0] <= 10.0])):
        with pytest.raises(mo.errors.UnsupportedModelError):
            stated.predict(result.values, table)


@pytest.mark.parametrize("changed", [False, True])
def test_one_gamma_for_each_feature_scales_the_rows_that_are_predicted(changed: bool) -> None:
    table, y = several_classes(2)
    model: Any = mo.MaxMinSVM(table, y, parameter="per-feature")
    result = mo.solve(model)
    solved = model.at_solution(result.optimised_parameters)
    gamma = result.optimised_parameters["gamma"]
    rows = table.to_numpy()
    plain = mo.ConvexHullsDual(rows * np.sqrt(gamma), model.y, model.C, mo.RBF(1.0))
    scores = plain.decision_function(result.values, rows * np.sqrt(gamma))
    if changed:
        solved = solved.with_fixed({"a": {0: 0.0}})
    assert np.ptp(gamma) > 0.0 and np.allclose(solved.decision_function(result.values, rows), scores)
    assert np.mean(solved.predict(result.values, table) == y) > 0.9
    explained = solved.explain_points(result.values, result.multipliers)
    assert np.allclose([row.score for row in explained.points], scores)


@pytest.mark.parametrize("words", [2, 3])
def test_parameters_that_a_solver_finds_leave_the_names(words: int) -> None:
    table, y = several_classes(words)
    models = [mo.ChebyshevNPSVC(table, y, c=5.0)] + ([mo.MaxMinSVM(table, y)] if words == 2 else [])
    for model in models:
        result = mo.solve(model)
        with pytest.raises(mo.errors.UnsupportedModelError):
            model.predict(result.values, table)
        assert np.mean(model.at_solution(result.optimised_parameters).predict(result.values, table) == y) > 0.9
        for name, value in result.optimised_parameters.items():
            assert np.ndim(value) or f"{name} {value:g}" in str(result)
        with pytest.raises(KeyError, match=r"known: [a-zA-Z]"):
            result.values["w[debt]"]


def test_a_kernel_s_model_refuses_columns_in_another_order() -> None:
    table, y = frame()
    model = mo.Margin(table, y, "hinge", kernel=mo.RBF(0.1))
    values = mo.solve(model).values
    for rows in (table, table.to_numpy()):
        model.predict(values, rows)
    with pytest.raises(mo.errors.InputError, check=about("X")):
        model.predict(values, table[table.columns[::-1]])


def test_a_margin_is_named_only_where_the_loss_has_one() -> None:
    table, y = several_classes(2)
    kinds = {
        loss: {row.kind for row in model.explain(mo.solve(model, time_limit=20)).points}
        for loss in ("logistic", "hinge")
        for model in [mo.Margin(table, y, loss)]
    }
    assert not any("margin" in kind for kind in kinds["logistic"]) and any("margin" in kind for kind in kinds["hinge"])
    score = mo.ScoringSystem(table, y)
    values = {"w": np.array([0.0, 1.0, 0.0]), "z": np.zeros(36), "a": np.ones(2), "s": np.array([1.0, 0.0])}
    rows = score.explain_points(values, None).points
    assert all(("beyond" in row.kind) == (row.margin > 0.01) for row in rows if row.margin >= 0.0)


@pytest.mark.parametrize(
    "formulation", [mo.HingeSVM, mo.ZeroOneSVM, mo.RampSVM, mo.L2SVMDual, mo.NuSVM, mo.ConicSVM, mo.NonparallelSVM, mo.Margin]
)
def test_a_prediction_needs_the_values_of_a_point(formulation: Any) -> None:
    """A result in their place was a TypeError, and no values a KeyError of the coefficients."""
    table, y = frame()
    extra = {"target": "yes"} if formulation is mo.NonparallelSVM else {"lam": 1.0} if formulation is mo.ConicSVM else {}
    model = formulation(table, y, **extra)
    result = mo.solve(mo.HingeSVM(table, y))
    for changed in (model, model.with_fixed({"w": {0: 0.0}}) if formulation is mo.HingeSVM else model):
        for values in (result, {}, None):
            for method in (changed.predict, changed.decision_function):
                with pytest.raises(mo.errors.InputError, check=about("values")):
                    method(values, table)  # type: ignore[arg-type]


def test_columns_in_the_model_s_order_predict_as_the_frame() -> None:
    table, y = frame()
    model = mo.HingeSVM(table, y)
    values = mo.solve(model).values
    backwards = table[table.columns[::-1]]
    with pytest.raises(mo.errors.InputError, check=about("X", allowed=model.feature_names)):
        model.predict(values, backwards)
    assert np.array_equal(model.predict(values, backwards[list(model.feature_names)]), model.predict(values, table))


@pytest.mark.parametrize("formulation", [partial(mo.Margin, loss="epsilon-insensitive"), mo.EpsilonSVR])
def test_a_regression_predicts_by_columns_in_the_model_s_order(formulation: Any) -> None:
    table = frame()[0]
    model = formulation(table, np.arange(24.0))
    values = {"w": np.array([1.0, 2.0, 3.0, 4.0])}
    backwards = table[table.columns[::-1]]
    with pytest.raises(mo.errors.InputError, check=about("X", allowed=model.feature_names)):
        model.predict(values, backwards)
    assert np.allclose(model.predict(values, table), table.to_numpy() @ values["w"])


@pytest.mark.parametrize("missing", [None, float("nan")], ids=str)
def test_missing_labels_are_counted(missing: object) -> None:
    pd = pytest.importorskip("pandas")
    frame, labels = (
        pd.DataFrame({"one": np.ones(4), "age": np.arange(4.0)}),
        np.array(["no", missing, "yes", missing], dtype=object),
    )
    with pytest.raises(InputError, match="misses 2 of 4 labels", check=about("y")):
        mo.HingeSVM(frame, labels)


def test_names_with_line_breaks_break_no_line() -> None:
    """They are found by the name as it was given, too."""
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.where(np.arange(12) % 2, 1, -1)
    X[:, 1] = 1.0
    named, plain = (mo.HingeSVM(pd.DataFrame(X, columns=[name, "b"]), y, 1.0) for name in ("age\nin\tyears", "age in years"))
    assert named.feature_names == plain.feature_names == ("age in years", "b")
    assert str(named) == str(plain) and named.latex() == plain.latex()
    assert named.data_names.column("age\nin\tyears") == plain.data_names.column("age in years") == 0
