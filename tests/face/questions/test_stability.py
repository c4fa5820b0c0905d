"""The counterfactual optima against enumeration and single solves; conformal sets against refits of every bag; bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials
from oracles import COUNT, enumerated
from rational.corners import PiecewiseLinearLoss

import marginopt as mo
from marginopt.models.arrays import FloatArray
from marginopt.questions import conformal_sets, prediction_stability
from marginopt.questions.stability import OtherClassifier


def instance(seed: int, n: int, lam: float = 3.0, free: bool = True) -> mo.ZeroOneSVM:
    """A binary column, an offset column of few values with ties, duplicates, noisy labels."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 2, n), 2.0 + rng.normal(size=n).round(1)])
    X[0, 1], X[1, 1] = 0.0, 1.0
    X[-1] = X[0]
    y = np.where(X[:, 2] + 0.7 * rng.normal(size=n) > 2.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return mo.ZeroOneSVM(X, y, lam, intercept="free" if free else "penalised")


def enumerated_rival(model: mo.ZeroOneSVM, row: FloatArray) -> float:
    """Return the least objective that keeps a row, by enumeration: the row as a point that costs more than all others."""
    costs = np.append(model.sample_weight, 4.0 * model.sample_weight.sum())
    label = 1.0 if row[0] > 0.0 else -1.0
    X = np.vstack([model.X, label * row])
    return enumerated(mo.ZeroOneSVM(X, np.append(model.y, label), costs, intercept=model.intercept))


@pytest.mark.parametrize("seed", range(COUNT))
def test_equals_enumeration(seed: int) -> None:
    model = instance(seed, 6 + seed % 9, lam=(1.0, 2.0, 30.0)[seed % 3], free=seed % 2 == 0)
    table = prediction_stability(model, within=None)
    assert table.finished and table.proved.all()
    for k in (0, 2, 4):
        optimum = enumerated_rival(model, -table.prediction[k] * table.points[k])
        assert table.value[k] == pytest.approx(optimum, rel=1e-5)
        assert table.bound[k] <= optimum * (1.0 + 1e-6)


@pytest.mark.parametrize(("seed", "lam"), [(4, 0.5), (5, 2.0), (6, 1e4), (7, 1e6)])
def test_equals_a_loop_of_solves(seed: int, lam: float) -> None:
    model = instance(seed, 24, lam)
    table = prediction_stability(model, within=None)
    for k in range(0, 24, 3):
        result = mo.solve(table.rival(k), "zero-one-bb")
        assert table.value[k] == pytest.approx(result.objective, rel=3e-6)
        assert table.bound[k] <= result.objective * (1.0 + 1e-9)
        assert table.bound[k] >= table.value[k] * (1.0 - 1e-5)
        assert table.bound[k] >= result.bound * (1.0 - 1e-5)


@pytest.mark.parametrize(("seed", "n"), [(3, 60), (5, 80)])
def test_one_search_needs_no_more_nodes_than_a_loop(seed: int, n: int) -> None:
    """Targets of both classes exclude the points that their single solves exclude: else there are ten times as many nodes."""
    model = instance(seed, n, 1e4)
    table = prediction_stability(model, np.asarray(model.X)[:12], within=None)
    loop = [mo.solve(table.rival(k), "zero-one-bb", threads=1).nodes for k in range(12)]
    assert set(table.prediction) == {-1.0, 1.0}
    assert table.nodes <= 2 * sum(loop)


def test_the_search_does_not_grow_with_the_price_of_violations() -> None:
    """One multiple of each classifier is searched: else each doubling of the largest norm adds a shell of boxes."""
    low, high = (
        prediction_stability(instance(3, 40, lam), instance(3, 40).X[:12], within=None, node_limit=100_000) for lam in (1e7, 1e10)
    )
    assert low.finished and high.finished
    assert high.nodes <= 2 * low.nodes


def test_weights_and_new_points() -> None:
    base = instance(8, 20)
    rng = np.random.default_rng(1)
    model = mo.ZeroOneSVM(base.X, base.y, rng.choice([0.5, 1.0, 3.0], 20), intercept="free")
    points = np.column_stack([np.ones(5), rng.normal(size=(5, 2)) + np.array([0.5, 2.0])])
    table = prediction_stability(model, points, within=None)
    for k in range(5):
        assert table.value[k] == pytest.approx(mo.solve(table.rival(k), "zero-one-bb").objective, rel=3e-6)


def test_classifiers_attain_their_values() -> None:
    model = instance(9, 22)
    table = prediction_stability(model)
    for k in range(22):
        if math.isfinite(table.value[k]):
            assert -table.prediction[k] * (table.points[k] @ table.w[k]) >= 1.0
            assert model.objective(table.w[k], tol=0.0) == pytest.approx(table.value[k], rel=1e-9)


def test_capped_table_agrees_below_the_cap() -> None:
    model = instance(10, 26)
    whole, capped = prediction_stability(model, within=None), prediction_stability(model, within=0.1)
    below = whole.value < capped.cap * (1.0 - 1e-5)
    assert capped.value[below] == pytest.approx(whole.value[below], rel=3e-6)
    assert (capped.bound[~below] >= capped.cap * (1.0 - 1e-5)).all()
    for eps in (0.0, 0.03, 0.1):
        low, high = capped.ambiguity(eps)
        assert low == pytest.approx(high)
        assert (low, high) == pytest.approx(whole.ambiguity(eps))
    assert whole.ambiguity(0.02)[0] <= whole.ambiguity(0.2)[0]


def test_no_labels_within_the_radius_turn_a_prediction() -> None:
    model = instance(11, 11, lam=50.0)
    table = prediction_stability(model, within=None)
    k = int(np.argmax(table.certified_radius))
    assert table.certified_radius[k] >= 1
    for i in range(11):
        y = model.y.copy()
        y[i] = -y[i]
        poisoned = mo.solve(mo.ZeroOneSVM(model.X, y, 50.0, intercept="free"), "zero-one-bb")
        assert -table.prediction[k] * (table.points[k] @ poisoned.values["w"]) < 1.0


def test_an_answer_cites_a_log_and_forgeries_are_refused(tmp_path: Path) -> None:
    model = instance(11, 14, lam=50.0)
    table = prediction_stability(model, within=None)
    k = int(np.argmax(table.certified_radius))
    answer = table.answer(k, proof=tmp_path / "rival.jsonl")
    assert answer.closed and answer.logs[0].sha256[:16] in answer.sentence
    assert answer.bound == pytest.approx(table.bound[k], rel=1e-5) and answer.value == pytest.approx(table.value[k], rel=1e-5)
    assert answer.check().valid and mo.check_proof(answer.logs[0].path, answer.question).valid
    other = table.answer((k + 1) % 14).question
    assert not mo.check_proof(answer.logs[0].path, replace(other, point=other.point + np.array([0.0, 0.25, 0.25]))).valid
    for forged in (answer.bound * 1.001, math.inf, math.nan):
        assert not replace(answer, bound=forged).check().valid
    for forged in (answer.value * 0.999, math.inf, math.nan):
        assert not replace(answer, value=forged).check().valid
    optimum = OtherClassifier(np.asarray(table.optimum.values["w"]))  # it predicts the point as the model does
    assert not replace(answer, evidence=optimum).check().valid
    assert not table.answer(k).check().valid  # nothing for others to check
    with pytest.raises(mo.errors.InputError):
        answer.question.evaluate(OtherClassifier(np.zeros(2)))


def test_an_unfinished_search_has_valid_bounds() -> None:
    model = instance(13, 40, lam=1e5)
    whole, cut = prediction_stability(model, within=None), prediction_stability(model, within=None, node_limit=1)
    assert (cut.bound <= whole.value * (1.0 + 1e-9)).all()
    assert (cut.value >= whole.bound).all()
    low, high = cut.ambiguity(0.05)
    assert low <= whole.ambiguity(0.05)[0] <= high


def test_a_row_of_zeros_has_no_other_prediction() -> None:
    X = np.array([[1.0, 2.0], [1.0, -1.0], [1.0, 0.5]])
    table = prediction_stability(mo.ZeroOneSVM(X, np.array([1.0, -1.0, 1.0]), 1.0), [[0.0, 0.0]], within=None)
    assert table.value[0] == math.inf and table.bound[0] == math.inf


def refitted_p_value(model: mo.ZeroOneSVM, x: FloatArray, label: float) -> float:
    """Return the p-value by the definition: the bag's optimum with each point kept in turn."""
    X, y = np.vstack([model.X, x]), np.append(model.y, label)
    lam = float(model.sample_weight[0])
    scores = []
    for i in range(len(y)):
        prices = np.full(len(y), lam)
        prices[i] = 10.0 * lam * len(y)
        result = mo.solve(mo.ZeroOneSVM(X, y, prices, intercept=model.intercept), "zero-one-bb", tol=1e-9)
        scores.append(float(result.objective))
    return sum(score >= scores[-1] * (1.0 - 1e-6) for score in scores) / len(y)


@pytest.mark.parametrize("seed", range(trials(2, 3)))
def test_conformal_sets_equal_refits(seed: int) -> None:
    model = instance(seed, 9, lam=[0.7, 3.0, 1e4][seed])
    points = np.array([[1.0, 0.0, 2.4], [1.0, 1.0, 0.9], [1.0, 1.0, 5.0]])
    p_values = np.array([[refitted_p_value(model, x, label) for label in (-1.0, 1.0)] for x in points])
    for alpha in (0.05, 0.25, 0.45):
        sets = conformal_sets(model, points, alpha)
        assert sets.certain.all()
        assert (sets.contains == (p_values > alpha + 1e-9)).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_label_is_left_out_with_a_log_and_forgeries_are_refused(seed: int, tmp_path: Path) -> None:
    model, path = instance(seed, 9, lam=[0.7, 3.0][seed]), tmp_path / "label.jsonl"
    points = np.array([[1.0, 0.0, 2.4], [1.0, 1.0, 0.9], [1.0, 1.0, 5.0]])
    sets = conformal_sets(model, points, 0.45)
    assert not sets.contains.all()
    for k, side in zip(*np.nonzero(~sets.contains), strict=True):
        label = (-1, 1)[side]
        answer = sets.answer(int(k), label, proof=path)
        truth = refitted_p_value(model, points[k], label)
        assert answer.value <= truth <= answer.bound + 1e-12 and answer.bound <= sets.alpha
        assert answer.logs[0].sha256[:16] in answer.sentence
        assert answer.check().valid and mo.check_proof(path, answer.question).valid
        for forged in (answer.bound - 1.0 / 10.0, math.nan):
            assert not replace(answer, bound=forged).check().valid
        false = replace(answer.question, witnesses=np.zeros_like(sets.witnesses))  # they keep no point
        assert not replace(answer, question=false).check().valid
        assert not mo.check_proof(path, replace(answer.question, label=-answer.question.label)).valid
        assert not sets.answer(int(k), label).check().valid  # nothing for others to check
    for index, label in ((-1, 1), (3, 1), (0, 0)):
        with pytest.raises(mo.errors.InputError):
            sets.answer(index, label)


def test_estimator_answers() -> None:
    model = instance(14, 24)
    X, y = np.asarray(model.X)[:, 1:], np.where(model.y > 0, "yes", "no")
    fitted = mo.estimators.ZeroOneSVC(lam=3.0, standardise=False, intercept="free").fit(X, y)
    assert fitted.ambiguity(0.05) == pytest.approx(prediction_stability(model, within=0.05).ambiguity(0.05))
    sets = conformal_sets(model, model.X[:4], 0.3)
    assert {label for labels in sets.labels() for label in labels} <= {-1, 1}
    expected = [[{-1: "no", 1: "yes"}[label] for label in labels] for labels in sets.labels()]
    assert [held.tolist() for held in fitted.conformal_set(X[:4], 0.3)] == expected
    with pytest.raises(mo.errors.InputError):
        mo.estimators.ZeroOneSVC(lam=3.0).fit(X, y).conformal_set(X, 0.1)
    with pytest.raises(mo.errors.InputError):
        mo.estimators.ZeroOneSVC(kappa=0.4).fit(X, y).ambiguity(0.1)


@pytest.mark.parametrize(
    "options",
    [{"within": -0.1}, {"within": math.nan}, {"tol": 0.0}, {"time_limit": -1.0}],
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(mo.errors.InputError):
        prediction_stability(instance(0, 8), **options)


def test_frames_are_read_by_name() -> None:
    """A frame's columns must be the model's: the same ones in another order would be other points."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    base = instance(8, 16)
    frame = pandas.DataFrame(base.X, columns=["one", "sex", "age"])
    model = mo.ZeroOneSVM(frame, base.y, 3.0, intercept="free")
    for points in (frame, np.asarray(frame)):
        assert (prediction_stability(model, points[:4]).value == prediction_stability(base, base.X[:4]).value).all()
        assert (conformal_sets(model, points[:4], 0.3).contains == conformal_sets(base, base.X[:4], 0.3).contains).all()
    holes = frame.astype(float)
    holes.loc[1, "age"] = np.nan
    for points in (frame[["one", "age", "sex"]], holes, frame.assign(age="old")):
        for ask in (prediction_stability, lambda model, points: conformal_sets(model, points, 0.3)):
            with pytest.raises(mo.errors.InputError):
                ask(model, points)


def test_classes_have_the_names_that_the_data_give_them() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    base = instance(8, 16)
    frame = pandas.DataFrame(base.X, columns=["one", "sex", "age"])
    model = mo.ZeroOneSVM(frame, np.where(base.y > 0, "ill", "healthy"), 3.0, intercept="free")
    sets, without = conformal_sets(model, frame[:4], 0.3), conformal_sets(base, base.X[:4], 0.3)
    assert sets.labels() == [tuple({-1: "healthy", 1: "ill"}[code] for code in codes) for codes in without.labels()]
    assert [row[1] for row in sets.display().rows] == [", ".join(map(str, labels)) for labels in sets.labels()]
    for name, code in (("healthy", -1), ("ill", 1)):
        named, numbered = sets.answer(0, name), without.answer(0, code)
        assert named.bound == numbered.bound
        assert name in named.sentence
    with pytest.raises(mo.errors.InputError):
        sets.answer(0, "dead")
    stability = prediction_stability(model, frame[:4])
    names = ["ill" if code > 0 else "healthy" for code in stability.prediction]
    assert [record["prediction"] for record in stability.records()] == names
    assert all(name in stability.sentence(k) for k, name in enumerate("healthy" if n == "ill" else "ill" for n in names))


def test_bad_requests() -> None:
    model = instance(0, 8)
    for points in ([[1.0, 2.0]], [[2.0, 2.0, 2.0]], [[1.0, math.nan, 0.0]], [1.0, 2.0, 3.0]):
        with pytest.raises(mo.errors.InputError):
            prediction_stability(model, points)
    for alpha in (0.0, 1.0, -0.2, math.nan):
        with pytest.raises(mo.errors.InputError):
            conformal_sets(model, model.X, alpha)
    weighted = mo.ZeroOneSVM(model.X, model.y, np.arange(1.0, 9.0), intercept="free")
    with pytest.raises(mo.errors.InputError):
        conformal_sets(weighted, model.X, 0.1)
    with pytest.raises(mo.errors.UnsupportedModelError):
        prediction_stability(mo.ZeroOneSVM(model.X, model.y, kappa=0.3))  # type: ignore[arg-type]
    with pytest.raises(mo.errors.UnsupportedModelError):
        prediction_stability(mo.HingeSVM(model.X, model.y, 1.0))  # type: ignore[arg-type]
    table = prediction_stability(model)
    for index in (-1, 8):
        with pytest.raises(mo.errors.InputError):
            table.rival(index)
    with pytest.raises(mo.errors.InputError):
        table.ambiguity(-0.1)


def test_table_and_picture() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    table = prediction_stability(instance(15, 12), within=0.2)
    assert len(table.records()) == 12
    assert table.plot().get_ylabel() == "ambiguity"
    assert str(len(table.value)) in str(table)
    assert "<table>" in table.display().html()


def test_an_optimum_that_is_not_proved_makes_no_point_certain() -> None:
    table = prediction_stability(instance(2, 12), within=0.1)
    certificate = table.optimum.certificate
    assert certificate is not None and table.ambiguity(0.1)[0] > 0.0
    answer = replace(table.optimum.answer, bound=-1e3)
    open_optimum = replace(table.optimum, answer=answer, certificate=replace(certificate, bound=-1e3))
    assert open_optimum.bound == -1e3
    low, high = replace(table, optimum=open_optimum).ambiguity(0.1)
    assert low == 0.0 and high == table.ambiguity(0.1)[1]


def test_targets_where_the_best_classifier_is_zero() -> None:
    """A small λ: the search divided by the size of w = 0."""
    model = instance(4, 9, lam=1e-3, free=False)
    table = prediction_stability(model, within=None)
    assert not np.any(table.optimum.values["w"]) and table.proved.all()
    for k in (0, 3):
        corners = PiecewiseLinearLoss.of(model, -table.prediction[k] * table.points[k])
        assert table.value[k] == pytest.approx(float(corners.least(9) or 0), rel=1e-5)


def test_scores_that_differ_by_less_than_the_tolerance_make_no_label_certain() -> None:
    """Keeping the new point costs 7e-7 of 2.4 more than the negatives: its p-value is 1/2, and 1 within the tolerance."""
    X, y = np.array([[64.0, -80.0]] * 3), np.array([-1.0, -1.0, 1.0])
    sets = conformal_sets(mo.ZeroOneSVM(X, y, 1.2177131218438095), [[64.0, -79.5]], 0.55)
    assert sets.contains.tolist() == [[True, True]] and sets.certain.tolist() == [[True, False]]


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_a_point_that_no_classifier_keeps_ties_with_others() -> None:
    """Three of five training points are zero, so L_i = ∞; a sixth has the p-value 4/6 for both labels, above α."""
    X = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [-1.0, 2.0]])
    model = mo.ZeroOneSVM(X, np.array([1.0, -1.0, 1.0, -1.0, 1.0]), 1.0)
    sets = mo.questions.conformal_sets(model, np.zeros((1, 2)), alpha=0.3)
    assert sets.contains.all() and sets.certain.all()


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")  # products of such data overflow in the search
@pytest.mark.parametrize("scale", [5e-324, 1e-170, 1e-145])
def test_data_whose_squares_are_zero_are_searched(scale: float) -> None:
    """Classifiers of such data have norms beyond float64: nothing is proved but what w = 0 shows."""
    X = np.array([[1.0, 2.0], [1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]]) * scale
    model = mo.ZeroOneSVM(X, np.array([1.0, -1.0, 1.0, -1.0]), 1.0)
    stability = mo.questions.prediction_stability(model, within=None, time_limit=0.5)
    assert len(stability.points) == 4
