"""Ranges, importance and supports over all good classifiers, against enumeration of integer classifiers; logs; bad input."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import COUNT
from proof_logs import read, sealed

import marginopt as mo
from marginopt.questions import (
    Disagreements,
    ProofLog,
    coefficient_ranges,
    feature_importance,
    most_different_classifier,
    supports,
)
from marginopt.questions.rashomon_set import CoefficientRanges, ImportanceQuestion, SupportSet, pattern_box

#: Largest intercept and coefficient of the integer classifiers.
_INTERCEPT, _COEFFICIENT = 6, 2


def instance(seed: int) -> mo.Margin:
    """At most 14 points with binary and counted columns and duplicates, prices of features, and integer coefficients."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 15)), 1 + seed % 3
    X = np.column_stack([np.ones(n), rng.integers(0, 2 + rng.integers(0, 3, size=d), size=(n, d))]).astype(float)
    X[:d, 1:] = np.eye(d) * (1.0 + np.arange(d))  # no column is constant, no two are equal
    y = np.where(X[:, 1] + rng.normal(size=n) > X[:, 1].mean(), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    costs = rng.integers(1, 5, size=n).astype(float)
    domain = mo.margin.Integers((-_INTERCEPT, *[-_COEFFICIENT] * d), (_INTERCEPT, *[_COEFFICIENT] * d))
    price = mo.margin.L0L1(0.5, 0.25) if seed % 2 else mo.margin.L0(0.5)
    return mo.Margin(X, y, "zero-one", price, sample_weight=costs, intercept="free", domain=domain)


def enumerated(model: mo.Margin) -> tuple[np.ndarray, np.ndarray]:
    """All integer classifiers, and their costs by the definition."""
    d = model.width - 1
    ranges = [np.arange(-_INTERCEPT, _INTERCEPT + 1), *[np.arange(-_COEFFICIENT, _COEFFICIENT + 1)] * d]
    W = np.array(list(itertools.product(*ranges)), dtype=float)
    losses = ((W @ (model.X * model.y[:, None]).T) < 1.0) @ np.broadcast_to(model.sample_weight, model.y.shape)
    size_price = 0.25 if isinstance(model.regulariser, mo.margin.L0L1) else 0.0
    prices = 0.5 * (W[:, 1:] != 0.0).sum(axis=1) + size_price * np.abs(W[:, 1:]).sum(axis=1)
    return W, losses + prices


def check_ranges(model: mo.Margin, within: float, proof: Path) -> None:
    W, costs = enumerated(model)
    answer = coefficient_ranges(model, within, proof=proof)
    ranges = answer.evidence
    assert isinstance(ranges, CoefficientRanges)
    assert answer.question.level == pytest.approx((1.0 + within) * costs.min(), rel=1e-6)
    good = W[costs <= answer.question.level][:, 1:]
    assert answer.proved and answer.check().valid
    assert (good.min(axis=0) > ranges.lower).all() and (good.max(axis=0) < ranges.upper).all()
    assert (good.min(axis=0) <= ranges.witnessed_lower).all() and (good.max(axis=0) >= ranges.witnessed_upper).all()
    one_sign = int(((good > 0).all(axis=0) | (good < 0).all(axis=0)).sum())
    assert answer.bound == one_sign == answer.value
    for sign, low, high in zip(ranges.signs, good.min(axis=0), good.max(axis=0), strict=True):
        assert sign == int(low > 0) - int(high < 0)


def check_importance(model: mo.Margin, proof: Path) -> None:
    W, costs = enumerated(model)
    answer = feature_importance(model, proof=proof)
    rises = np.array([costs[W[:, j] == 0].min() for j in range(1, model.width)]) - costs.min()
    assert answer.proved and answer.check().valid
    assert (answer.evidence.lower <= rises + 1e-9).all() and (answer.evidence.upper >= rises - 1e-9).all()
    assert answer.bound == pytest.approx(rises.max(), abs=1e-4)
    assert answer.value == pytest.approx(rises.max(), abs=1e-4)


def check_supports(model: mo.Margin, within: float, proof: Path) -> None:
    W, costs = enumerated(model)
    answer = supports(model, within, proof=proof)
    assert isinstance(answer.evidence, SupportSet)
    good = W[costs <= answer.question.level]
    true = {tuple(np.flatnonzero(row[1:]) + 1) for row in good}
    assert set(answer.question.supports) == true
    assert answer.value == answer.bound == len(true)
    assert answer.proved and answer.check().valid


@pytest.mark.parametrize("seed", range(COUNT))
def test_good_classifiers_are_those_of_enumeration(seed: int, tmp_path: Path) -> None:
    model, within = instance(seed), (0.02, 0.2, 0.5)[seed // 2 % 3]
    check_ranges(model, within, tmp_path / "ranges")
    check_importance(model, tmp_path / "importance")
    check_supports(model, within, tmp_path / "supports")


def forgery(log: list[dict[str, Any]], bound: float, poor: np.ndarray, rng: np.random.Generator) -> list[dict[str, Any]]:
    """A log that claims a bound, below the cost of a poor classifier, with a record or some numbers changed to prove it."""
    log = json.loads(json.dumps(log))
    log[-1]["bound"], log[0]["cut"], log[-1]["w"] = bound, max(bound, log[0]["cut"]), poor.tolist()
    kind = int(rng.integers(5))
    if kind == 0 and len(log) > 3:  # a node is left out, or replaced by another one
        log[int(rng.integers(1, len(log) - 1))] = log[int(rng.integers(1, len(log) - 1))]
    elif kind == 1:  # other data: costs, prices or bounds of coefficients
        part = log[0][str(rng.choice(["costs", "price", "lower", "upper"]))]
        part[int(rng.integers(len(part)))] += float(rng.choice([1.0, 5.0, -1.0]))
    elif kind == 2:
        del log[int(rng.integers(1, len(log)))]
    else:
        for _ in range(int(rng.integers(1, 6))):
            change_a_number(log[int(rng.integers(1, len(log)))], rng)
        log[-1]["bound"] = bound
    return log


def change_a_number(part: Any, rng: np.random.Generator) -> None:
    """Change a number somewhere below a record, such as a multiplier, a pair or a place of branching."""
    keys = list(part) if isinstance(part, dict) else list(range(len(part)))
    if not keys:
        return
    key = keys[int(rng.integers(len(keys)))]
    if isinstance(part[key], dict | list):
        change_a_number(part[key], rng)
    elif isinstance(part[key], int):
        part[key] += int(rng.integers(-2, 3))
    elif isinstance(part[key], float):
        part[key] *= float(rng.choice([0.0, 0.5, 3.0, -1.0, 100.0]))


def test_the_rise_without_a_useless_feature_is_bounded_by_zero_up_to_the_tolerance() -> None:
    """No feature tells the points apart, so the optimum without each is the optimum."""
    X = np.column_stack([np.ones(12), np.tile([-1.0, 1.0], 6), np.tile([1.0, -1.0, -1.0, 1.0], 3)])
    y = np.repeat([1.0, 1.0, -1.0], 4)
    answer = feature_importance(mo.Margin(X, y, "ramp", intercept="free"))
    assert -1e-4 <= answer.evidence.lower.min() <= answer.bound <= answer.value <= 1e-6
    assert "-" not in answer.sentence.split(":")[0] and answer.check().bound == -math.inf  # there are no logs


def test_the_bound_of_a_rise_over_a_classifier_that_is_not_best_is_negative() -> None:
    """A classifier without the feature costs less: no bound of zero is proved."""
    model = instance(3)
    W, costs = enumerated(model)
    poor, optimum = W[costs.argmax()], float(costs[W[:, 1] == 0].min())
    question = ImportanceQuestion(model, 1, tuple(poor.tolist()))
    name = question.exclusions[1].name
    assert question.bound({name: optimum}) == pytest.approx(optimum - costs.max()) and question.bound({name: optimum}) < -1.0
    assert question.bound({}) == -math.inf


@pytest.mark.parametrize("seed", [3, 4])
def test_no_forged_log_proves_an_importance(seed: int, tmp_path: Path) -> None:
    model, rng = instance(seed), np.random.default_rng(seed)
    answer = feature_importance(model, proof=tmp_path)
    path, question = Path(answer.logs[0].path), answer.question
    assert answer.check().valid
    log = read(path)
    W, costs = enumerated(model)
    without = W[:, question.column] == 0
    optimum, poor = costs[without].min(), W[without][costs[without].argmax()]
    assert answer.bound <= optimum - costs.min()
    for k in range(30):
        claimed = float(optimum) + (1e-3, 0.5, 3.0)[k % 3]
        path.write_text(sealed(forgery(log, claimed, poor, rng)))
        name = answer.logs[0].problem
        lie = replace(answer, bound=question.bound({name: claimed}), logs=(ProofLog.of_file(name, path),))
        assert lie.bound > optimum - costs.min()
        assert not lie.check().valid
        assert not mo.check_proof(path, question).valid


@pytest.mark.parametrize("seed", [4, 5])
def test_no_forged_log_leaves_out_a_support(seed: int, tmp_path: Path) -> None:
    """Each forged log excludes the signs of a classifier that is in the set, so that its support is not among the listed."""
    model, rng = instance(seed), np.random.default_rng(seed)
    answer = supports(model, 0.5, proof=tmp_path)
    question = answer.question
    assert answer.check().valid and len(question.supports) > 1
    columns, path = question.columns, tmp_path / "forged.jsonl"
    witness = answer.evidence.witnesses[-1]
    item = pattern_box(model.width, columns, tuple(int(np.sign(witness[j])) for j in columns))
    mo.solve(item.model(model), "margin-bb", proof=str(path))
    log = read(path)
    W, costs = enumerated(model)
    inside = ((item.lower <= W) & (item.upper >= W)).all(axis=1)
    poor = W[inside][costs[inside].argmax()]
    support = tuple(j for j in columns if witness[j])
    listed = tuple(other for other in question.supports if other != support)
    fewer = replace(question, exclusions=(*question.exclusions, item), supports=listed)
    evidence = replace(answer.evidence, witnesses=answer.evidence.witnesses[:-1])
    for k in range(30):
        claimed = question.level + (1e-3, 0.5, 3.0)[k % 3]
        path.write_text(sealed(forgery(log, claimed, poor, rng)))
        logs = (*answer.logs, ProofLog.of_file(item.name, path))
        lie = replace(
            answer, question=fewer, evidence=evidence, value=fewer.evaluate(evidence), bound=float(len(listed)), logs=logs
        )
        assert not mo.check_proof(path, item.model(model)).valid
        assert k % 10 or not lie.check().valid
    missing = replace(answer, question=replace(question, exclusions=question.exclusions[1:]))
    assert not missing.check().valid


def test_questions_about_models_that_their_exclusions_do_not_cover_are_refused() -> None:
    """Sign patterns leave out 0 < |w| < 1, and a budget of all points would count the flipped ones."""
    model = instance(4)
    question = supports(model, 0.5).question
    real = replace(model, domain=mo.margin.Box(model.domain.lower, model.domain.upper))
    with pytest.raises(mo.errors.InputError):
        replace(question, model=real)
    difference = most_different_classifier(model, 0.5).question
    restricted = replace(model, subject_to=(mo.error_budget(1, 1.0),))
    with pytest.raises(mo.errors.InputError):
        replace(difference, model=restricted)


def test_a_level_that_no_classifier_shows_is_refused(tmp_path: Path) -> None:
    """A lower level than ε above a classifier excludes more, and the sentence would still say "within ε of the best"."""
    model = instance(4)
    for ask in (coefficient_ranges, supports, most_different_classifier):
        answer = ask(model, 0.5, proof=tmp_path / ask.__name__)
        assert answer.check().valid
        lower = replace(answer.question, level=0.9 * answer.question.level)
        lie = replace(answer, question=lower, value=answer.bound, bound=lower.bound({}))
        assert not lie.check().valid
        assert not replace(lie, value=math.nan).check().valid


@pytest.fixture(name="real")
def _real() -> mo.ZeroOneSVM:
    rng = np.random.default_rng(4)
    n = 16
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    y = np.where(X[:, 1] + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return mo.ZeroOneSVM(X, y, lam=4.0, intercept="free")


def test_real_classifiers_within_the_level_lie_in_the_ranges(real: mo.ZeroOneSVM) -> None:
    answer = coefficient_ranges(real, 0.2)
    ranges, level = answer.evidence, answer.question.level
    rng = np.random.default_rng(0)
    best = np.array(ranges.witnesses[0])
    trials = best + rng.normal(size=(4000, 3)) * 0.3 * np.abs(best)
    A = real.X * real.y[:, None]
    costs = (trials[:, 1:] ** 2).sum(axis=1) + 4.0 * (trials @ A.T < 1.0).sum(axis=1)
    good = trials[costs <= level][:, 1:]
    assert len(good)
    assert (good > ranges.lower).all() and (good < ranges.upper).all()
    assert ranges.signs[0] == 1 and answer.bound >= 1
    assert (ranges.upper - ranges.lower < 4.0 * level**0.5).all()


def test_answers_of_wrong_bounds_are_refused(real: mo.ZeroOneSVM, tmp_path: Path) -> None:
    answer = coefficient_ranges(real, 0.1, proof=tmp_path)
    assert answer.check().valid
    assert all(mo.check_proof(log.path, answer.question).valid for log in answer.logs)
    path = Path(answer.logs[0].path)
    records = path.read_text().splitlines()
    other = json.loads(records[-2])
    other["bound"] = 2.0 * other.get("bound", 1.0)
    path.write_text("\n".join([*records[:-2], json.dumps(other), records[-1]]) + "\n")
    assert not answer.check().valid
    without_logs = coefficient_ranges(real, 0.1)
    assert without_logs.proved and not without_logs.check().valid  # nothing for others to check


def test_scoring_systems_have_supports() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(20), rng.integers(0, 2, size=(20, 3))]).astype(float)
    y = np.where(X[:, 1] + X[:, 2] > 0.5, 1.0, -1.0)
    answer = supports(mo.ScoringSystem(X, y, coefficients=(-2, 2)), 0.1)
    assert answer.closed and (1, 2) in answer.question.supports


def test_names_of_a_frame_are_in_the_sentences() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    base = instance(3)
    frame = pandas.DataFrame(base.X, columns=["one", "age"])
    X, y = base.X, base.y
    for model in (mo.ScoringSystem(frame, y, coefficients=(-2, 2)), mo.ZeroOneSVM(frame, y, 3.0, intercept="free")):
        unnamed = mo.ScoringSystem(X, y, coefficients=(-2, 2)) if isinstance(model, mo.ScoringSystem) else None
        answer = coefficient_ranges(model, 0.1)
        assert answer.question.names == answer.evidence.names == ("age",)
        assert unnamed is None or coefficient_ranges(unnamed, 0.1).value == answer.value
        assert "age" in feature_importance(model).sentence
    assert supports(mo.ScoringSystem(frame, y, coefficients=(-2, 2)), 0.1).question.names == ("age",)


def test_pictures(real: mo.ZeroOneSVM) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from marginopt.drawing import figure_of

    for answer in (coefficient_ranges(real, 0.1), feature_importance(real), supports(instance(2), 0.2)):
        axes = figure_of(4, 3).add_subplot()
        assert answer.plot(axes) is axes
        assert answer.sentence in str(answer)


@pytest.mark.parametrize("question", [coefficient_ranges, feature_importance, supports])
def test_models_that_are_no_composition_are_refused(question: object, real: mo.ZeroOneSVM) -> None:
    with pytest.raises(mo.errors.InputError):
        question(mo.ZeroOneSVM(real.X, real.y, kappa=0.1, intercept="free"))
    with pytest.raises(mo.errors.InputError):
        question("ZeroOneSVM")


def test_bad_options_are_refused(real: mo.ZeroOneSVM) -> None:
    with pytest.raises(mo.errors.InputError):
        coefficient_ranges(real, -0.1)
    with pytest.raises(mo.errors.InputError):
        coefficient_ranges(real, 0.1, precision=0.0)
    with pytest.raises(mo.errors.InputError):
        supports(real)


def check_difference(model: mo.Margin, within: float, proof: Path) -> None:
    W, costs = enumerated(model)
    answer = most_different_classifier(model, within, proof=proof)
    question, evidence = answer.question, answer.evidence
    assert isinstance(evidence, Disagreements)
    turned = np.where(model.X @ np.array(evidence.best) > 0.0, -1.0, 1.0)
    good = W[costs <= question.level]
    worst = int(((good @ model.X.T) * turned >= 1.0).sum(axis=1).max())
    assert answer.value == answer.bound == worst
    assert len(evidence.points) == worst
    report = answer.check()
    assert answer.proved
    assert report.valid, report.message
    for log in answer.logs:
        assert mo.check_proof(log.path, question).valid


@pytest.mark.parametrize("seed", range(COUNT))
def test_the_most_different_classifier_is_that_of_enumeration(seed: int, tmp_path: Path) -> None:
    check_difference(instance(seed), (0.0, 0.1, 0.5)[seed % 3], tmp_path)


def test_a_forged_exclusion_of_turned_predictions_is_refused(tmp_path: Path) -> None:
    """A log of another number of turned predictions, or of other labels, proves nothing here."""
    model = instance(4)
    answer = most_different_classifier(model, 0.1, proof=tmp_path / "a")
    assert answer.logs
    fewer = replace(answer.question, exclusions=(replace(answer.question.exclusions[0], min_count=int(answer.bound)),))
    assert not mo.check_proof(answer.logs[0].path, fewer).valid
    other = replace(answer, question=fewer, bound=answer.bound - 1)
    assert not other.check().valid
    flipped = tuple(-x for x in answer.question.exclusions[0].opposite_labels)
    assert not mo.check_proof(
        answer.logs[0].path,
        replace(answer.question, exclusions=(replace(answer.question.exclusions[0], opposite_labels=flipped),)),
    ).valid
    lie = replace(answer, value=answer.value + 1.0)
    assert not lie.check().valid


def test_groups_and_restrictions_of_margins_have_no_difference() -> None:
    model = instance(4)
    restricted = replace(model, subject_to=(mo.error_budget(1, 1.0),))
    with pytest.raises(mo.errors.InputError):
        most_different_classifier(restricted)
    with pytest.raises(mo.errors.InputError):
        most_different_classifier(model, -0.1)
