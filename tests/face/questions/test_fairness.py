"""The exact fairness audit against enumeration of all half-spaces, its logs, and bad input."""

from __future__ import annotations

import json
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from effort import trials
from oracles import COUNT
from rational.half_spaces import worst_disparity

import marginopt as mo
from marginopt.questions.fairness import FairnessMetric, FairnessQuestion
from marginopt.questions.half_spaces import HalfSpace, HalfSpaceProblem, coded_columns

METRICS: tuple[FairnessMetric, ...] = ("false-positive-rate", "false-negative-rate", "selection-rate", "calibration")


def instance(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, FairnessMetric, np.ndarray | None]:
    """At most 14 persons with binary, decimal and offset attributes, duplicates, and rates that differ."""
    rng = np.random.default_rng(seed)
    n, d, metric = int(rng.integers(4, 15)), 1 + seed % 3, METRICS[seed % 4]
    levels = rng.choice([2, 3, 5], size=d)
    protected = rng.integers(0, levels, size=(n, d)) * rng.choice([1.0, 0.1, 12.5], size=d)
    protected = np.round(protected + rng.choice([0.0, 1990.0, -3.3], size=d), 6)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    predictions = np.round(rng.random(n), 2) if metric == "calibration" else rng.integers(0, 2, n)
    return predictions, y, protected, metric, None if seed % 2 else np.round(rng.random(n) + 0.1, 3)


def check_instance(seed: int, proof: Path) -> None:
    predictions, y, protected, metric, weights = instance(seed)
    answer = mo.questions.audit_fairness(predictions, y, protected, metric, sample_weight=weights, proof=proof)
    worst = float(worst_disparity(answer.question))
    assert answer.proved and answer.question.margin is None
    assert answer.value == pytest.approx(worst, rel=1e-12, abs=1e-15)
    assert worst <= answer.bound * (1.0 + 1e-15)
    assert answer.bound <= worst + 1e-5
    assert answer.value == pytest.approx(answer.evidence.disparity, rel=1e-12, abs=1e-15)
    report = answer.check()
    assert report.valid, report.message
    assert len(report.reports) == len(answer.question.problems())


@pytest.mark.parametrize("seed", range(COUNT))
def test_the_worst_subgroup_is_that_of_enumeration(seed: int, tmp_path: Path) -> None:
    check_instance(seed, tmp_path / "audit.jsonl")


@pytest.mark.parametrize("seed", range(trials(3, 6)))
def test_a_bound_of_a_margin_covers_robust_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, margin = 30, 2, 0.1
    protected, y, predictions = rng.standard_t(3, size=(n, d)), rng.integers(0, 2, n), rng.integers(0, 2, n)
    y[0] = 0
    answer = mo.questions.audit_fairness(predictions, y, protected, margin=margin)
    best = answer.question.sides["above"]
    assert answer.value <= answer.bound
    for _ in range(200):
        w = rng.normal(size=d)
        half_space = HalfSpace(Fraction(float(rng.normal())), tuple(map(Fraction, w.tolist())))
        assert best.value(half_space) <= Fraction(answer.bound) * answer.question.weight
        plain = HalfSpaceProblem(best.columns, best.costs, None).value(half_space)
        assert best.value(half_space) <= plain
    assert mo.questions.audit_fairness(predictions, y, protected).question.margin is not None  # real numbers are no grid


@pytest.mark.parametrize("metric", METRICS[:3])
def test_a_group_and_its_complement_have_opposite_costs(metric: FairnessMetric) -> None:
    predictions, y, protected, _, weights = instance(5)
    weights = np.ones(y.size) if weights is None else weights
    question = FairnessQuestion(predictions, y, protected, ("a", "b", "c"), metric, weights)
    assert sum(question.sides["above"].costs) == 0


@pytest.mark.parametrize("seed", range(8))
def test_equal_persons_merge(seed: int) -> None:
    predictions, y, protected, metric, weights = instance(seed)
    weights = np.ones(y.size) if weights is None else weights
    one = mo.questions.audit_fairness(predictions, y, protected, metric, sample_weight=weights)
    twice = mo.questions.audit_fairness(
        np.tile(predictions, 2), np.tile(y, 2), np.tile(protected, (2, 1)), metric, sample_weight=np.tile(weights, 2)
    )
    assert twice.value == pytest.approx(one.value, rel=1e-12, abs=1e-15)
    assert len(twice.question.cells[0]) == len(one.question.cells[0])


def sealed(lines: list[dict[str, object]]) -> str:
    """A log of these records with a seal that fits."""
    import hashlib

    text = "".join(json.dumps(line) + "\n" for line in lines)
    return text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n"


@pytest.fixture(name="audited")
def _audited(tmp_path: Path) -> tuple[mo.questions.Answer, Path]:
    rng = np.random.default_rng(7)
    n = 120
    protected = np.column_stack([rng.integers(0, 8, n), rng.integers(0, 2, n), rng.integers(0, 4, n)]).astype(float)
    y = (rng.random(n) < 0.4).astype(int)
    predictions = (rng.random(n) < 0.2 + 0.3 * protected[:, 1] + 0.05 * protected[:, 0]).astype(int)
    path = tmp_path / "audit.jsonl"
    return mo.questions.audit_fairness(predictions, y, protected, proof=path), path


def test_a_log_proves_the_question_that_it_is_about(audited: tuple[mo.questions.Answer, Path]) -> None:
    answer, path = audited
    report = mo.check_proof(path, answer.question)
    assert report.valid and report.own_data
    assert answer.check().valid and answer.closed


@pytest.mark.parametrize("change", ["bound", "cost", "row", "step", "cut"])
def test_forged_logs_are_refused(audited: tuple[mo.questions.Answer, Path], change: str) -> None:
    answer, path = audited
    records = [json.loads(line) for line in path.read_text().splitlines()][:-1]
    if change == "bound":
        records[-1]["bound"] *= 1.0 + 1e-6
    elif change == "cost":
        records[0]["weights"][0] *= 2.0
    elif change == "row":
        records[0]["A"][0][1] += 1.0
    elif change == "step":
        conflict = next(record for record in records if "conflict" in record)
        conflict["alpha"][0] *= 3
    else:
        del records[len(records) // 2]
    path.write_text(sealed(records))
    assert not mo.check_proof(path, answer.question).valid
    report = answer.check()
    assert not report.valid and report.message


@pytest.mark.parametrize("limit", [0.05, 0.5, None])
def test_an_audit_of_probabilities_states_what_its_logs_prove(limit: float | None, tmp_path: Path) -> None:
    """Wherever the limit ends search or logs, the answer with its logs is checked."""
    rng = np.random.default_rng(3)
    n = 90
    protected = np.column_stack([rng.integers(20, 60, n), rng.integers(0, 3, n)]).astype(float)
    predictions = rng.random(n)
    y = (rng.random(n) < 0.8 * predictions + 0.1 * protected[:, 1]).astype(int)
    answer = mo.questions.audit_fairness(
        predictions, y, protected, "calibration", proof=tmp_path / "audit.jsonl", time_limit=limit
    )
    assert len(answer.logs) == 2 and answer.value <= answer.bound
    report = answer.check()
    assert report.valid, report.message
    assert report.bound == pytest.approx(answer.bound, rel=1e-12)
    assert limit is not None or answer.bound <= answer.value + 1e-5


def test_logs_of_other_data_are_refused(audited: tuple[mo.questions.Answer, Path]) -> None:
    answer, path = audited
    question = answer.question
    predictions = question.predictions.copy()
    k = int(np.flatnonzero(question.y == 0)[0])
    predictions[k] = 1.0 - predictions[k]
    other = FairnessQuestion(predictions, question.y, question.protected, question.names, question.metric, question.sample_weight)
    assert not mo.check_proof(path, other).valid
    path.write_bytes(zlib.compress(path.read_bytes()))
    assert not mo.check_proof(path, question).valid
    path.unlink()
    assert not answer.check().valid


def test_codes_state_decimals_exactly() -> None:
    column = np.array([0.07, 0.1, 0.3, 0.29])
    (coded,) = coded_columns(column[:, None])
    assert coded.half_levels is not None
    assert [coded.offset + coded.unit * Fraction(c) for c in coded.codes.tolist()] == [Fraction(repr(v)) for v in column.tolist()]
    fine = np.random.default_rng(0).normal(size=5) + 1990.0
    (coded,) = coded_columns(fine[:, None])
    assert [coded.offset + coded.unit * Fraction(c) for c in coded.codes.tolist()] == [Fraction(v) for v in fine.tolist()]


def test_frames_name_the_rule() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "sex": [0.0, 1.0, 0.0, 1.0]})
    answer = mo.questions.audit_fairness([1, 1, 0, 0], [0, 0, 0, 0], frame)
    assert answer.question.names == ("age", "sex")
    assert answer.value == pytest.approx(0.25)
    assert "age" in answer.evidence.rule


def test_words_are_protected_attributes() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    predictions, y, protected, _, _ = instance(5)
    words = pandas.Series(np.array(["a", "b", "c"])[protected[:, 0].argsort().argsort() % 3], name="race")
    frame = pandas.DataFrame({"race": words, "age": protected[:, 1]})
    coded = np.column_stack([words == "b", words == "c", protected[:, 1]]).astype(float)
    named = mo.questions.audit_fairness(predictions, y, frame)
    assert named.question.names == ("race=b", "race=c", "age")
    assert named.value == mo.questions.audit_fairness(predictions, y, coded).value
    alone = [mo.questions.audit_fairness(predictions, y, words), mo.questions.audit_fairness(predictions, y, words.to_numpy())]
    assert [answer.question.names for answer in alone] == [("race=b", "race=c"), ("x0=b", "x0=c")]
    assert {answer.value for answer in alone} == {mo.questions.audit_fairness(predictions, y, coded[:, :2]).value}
    with pytest.raises(mo.errors.InputError):
        mo.questions.audit_fairness(predictions, y, frame.assign(race=[None, *words[1:]]))


def test_rounding_errors_are_not_in_the_rule() -> None:
    best = HalfSpaceProblem(
        coded_columns(np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [3.0, 2.0]])), (*map(Fraction, (-1, -1, 1, 1)),), None
    )
    half_space = best.best_threshold(np.array([1.0, 1e-15]))
    assert half_space.weights[1] == 0 and best.value(half_space) == 2


def test_words_are_labels() -> None:
    predictions, y, protected, _, _ = instance(4)
    words = {0: "denied", 1: "granted"}
    named = mo.questions.audit_fairness([words[p] for p in predictions], [words[t] for t in y], protected)
    assert named.value == mo.questions.audit_fairness(predictions, y, protected).value
    assert named.value == mo.questions.audit_fairness(predictions, [words[t] for t in y], protected).value


def test_equal_rates_leave_nothing() -> None:
    answer = mo.questions.audit_fairness([0, 0, 0], [0, 0, 1], [[1.0], [2.0], [3.0]])
    assert answer.value == answer.bound == 0.0
    assert answer.check().valid
    assert not mo.check_proof(__file__, answer.question).valid
    constant = mo.questions.audit_fairness([0, 1, 0], [0, 0, 0], [[1.0], [1.0], [1.0]])
    assert constant.value == constant.bound == 0.0


def test_an_answer_prints_and_draws(audited: tuple[mo.questions.Answer, Path]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    answer, _ = audited
    assert answer.sentence in str(answer)
    assert answer.logs[0].sha256[:16] in answer.sentence
    assert answer._repr_html_()
    from marginopt.drawing import figure_of

    axes = figure_of(4, 3).add_subplot()
    assert answer.plot(axes) is axes and axes.patches


@pytest.mark.parametrize(
    ("predictions", "y", "protected", "options"),
    [
        ([0, 1], [0, 1], [[0.0], [1.0], [2.0]], {}),
        ([0, 1, 2], [0, 1, 1], [[0.0], [1.0], [2.0]], {}),
        ([0, 1, 1], [0, 0.5, 1], [[0.0], [1.0], [2.0]], {}),
        ([0, 1, 1], [1, 1, 1], [[0.0], [1.0], [2.0]], {}),
        ([0, 1, 1], [0, 0, 1], [[0.0], [np.nan], [2.0]], {}),
        ([0, 1, 1], [0, 0, 1], [[0.0], [1.0], [2.0]], {"metric": "accuracy"}),
        ([0, 1, 1], [0, 0, 1], [[0.0], [1.0], [2.0]], {"sample_weight": [1.0, 0.0, 1.0]}),
        ([0, 1, 1], [0, 0, 1], [[0.0], [1.0], [2.0]], {"margin": -1.0}),
        ([0, 1, 1], [0, 0, 1], [[0.0], [1.0], [2.0]], {"time_limit": -1.0}),
        ([0, 1, 1], [0, 0, 1], [["a"], ["b"], ["c"]], {}),
        ([0, 1, 1], [0, 0, 1], [[1e300], [-1e300], [0.5]], {}),
        (["no", "yes", "maybe"], ["no", "yes", "no"], [[0.0], [1.0], [2.0]], {}),
        (["no", "yes", "no"], ["no", "no", "no"], [[0.0], [1.0], [2.0]], {}),
    ],
)
def test_bad_input_is_refused(predictions: object, y: object, protected: object, options: dict[str, object]) -> None:
    with pytest.raises(mo.errors.InputError):
        mo.questions.audit_fairness(predictions, y, protected, **options)


# The game of a learner and the auditor.


def persons(seed: int, n: int = 14) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A few persons with features, biased labels and coarse protected attributes."""
    rng = np.random.default_rng(seed)
    protected = np.column_stack([rng.integers(0, 2, n), 20 + 10 * rng.integers(0, 3, n)]).astype(float)
    y = (protected[:, 0] + rng.standard_normal(n) > 0.5).astype(int)
    y[:2] = 0, 1
    return np.column_stack([protected[:, 0] + 0.3 * rng.standard_normal(n), rng.standard_normal((n, 2))]), y, protected


def mixed(game: mo.questions.FairnessGame, X: np.ndarray, rounds: int) -> FairnessQuestion:
    question = game.answer.question
    assert isinstance(question, FairnessQuestion)
    p = game.predict_proba(X, rounds)
    return FairnessQuestion(
        p, question.y, question.protected, question.names, question.metric, question.sample_weight, question.margin
    )


@pytest.mark.parametrize("metric", METRICS)
def test_every_round_is_that_of_enumeration(metric: FairnessMetric, tmp_path: Path) -> None:
    X, y, protected = persons(METRICS.index(metric))
    game = mo.questions.fairness_game(X, y, protected, metric, rounds=4, proof=tmp_path)
    for number, state in enumerate(game.rounds, 1):
        question = mixed(game, X, number)
        worst = float(worst_disparity(question))
        assert state.proved
        assert state.unfairness == pytest.approx(worst, rel=1e-9, abs=1e-12)
        assert worst * (1 - 1e-12) <= state.bound <= worst + 1e-5
        assert state.error == pytest.approx(float(np.abs(y - question.predictions).mean()))
        assert not state.answer.logs or state.answer.check().valid
    last = mo.questions.fairness_game(X, y, protected, metric, rounds=4, proof=tmp_path / "last.jsonl")
    assert [len(state.answer.logs) for state in last.rounds] == [0, 0, 0, len(game.answer.logs)]
    assert last.answer.value == game.answer.value


@pytest.mark.parametrize("metric", METRICS)
def test_a_learner_of_every_labelling_answers_best(metric: FairnessMetric) -> None:
    """With a column for each person the regression is exact: predictions are 1 where error and accusations fall by it."""
    _, y, protected = persons(10 + METRICS.index(metric))
    n, penalty = y.size, 3.0
    X = np.eye(n)
    game = mo.questions.fairness_game(X, y, protected, metric, rounds=5, penalty=penalty)
    slopes = np.zeros(n)
    for number, state in enumerate(game.rounds, 1):
        costs = (1.0 - 2.0 * y) / n + penalty * slopes / max(number - 1, 1)
        w = game.classifiers[number - 1]
        predictions = (w[0] + X @ w[1:] > 0.0).astype(float)
        decided = np.abs(costs) > 1e-9
        assert (predictions[decided] == (costs[decided] < 0.0)).all()
        if state.unfairness > game.allowed:  # the group's signed disparity is linear in each prediction
            question = mixed(game, X, number)
            best = question.sides[state.group.side]

            def signed(p: np.ndarray, question: FairnessQuestion = question, state: mo.questions.GameRound = state) -> float:
                changed = FairnessQuestion(
                    p, question.y, question.protected, question.names, question.metric, question.sample_weight, question.margin
                )
                return float(changed.sides[state.group.side].value(state.group.half_space) / changed.weight)

            assert len(best.codes) == len(question.cells[0])
            p = question.predictions
            for i in range(n):
                high, low = p.copy(), p.copy()
                high[i], low[i] = 1.0, 0.0
                slopes[i] += signed(high) - signed(low)


def test_accusations_lessen_the_disparity() -> None:
    """On biased labels of 200 persons the mixture's disparity falls far below that of the first classifier."""
    rng = np.random.default_rng(0)
    n = 200
    protected = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 3, n)]).astype(float)
    y = (1.5 * protected[:, 0] + rng.standard_normal(n) > 0.7).astype(int)
    X = np.column_stack([protected[:, 0] + 0.2 * rng.standard_normal(n), rng.standard_normal((n, 2))])
    game = mo.questions.fairness_game(X, y, protected, rounds=12)
    assert game.bounds.shape == game.errors.shape == (12,)
    assert game.bounds[-1] < 0.5 * game.bounds[0]
    again = mo.questions.fairness_game(X, y, protected, rounds=12)
    assert (again.classifiers == game.classifiers).all()
    ax = game.plot()
    assert len(ax.lines) == 3
    assert (ax.lines[0].get_ydata() == game.errors).all()
    assert isinstance(str(game), str)
    free = mo.questions.fairness_game(X, y, protected, rounds=3, allowed=1.0)
    assert (free.classifiers == free.classifiers[0]).all()  # no group is accused


@pytest.mark.parametrize(
    "wrong", [{"rounds": 0}, {"rounds": 2.5}, {"rounds": True}, {"penalty": 0.0}, {"allowed": -1.0}, {"metric": "odds"}]
)
def test_bad_options_of_a_game_are_refused(wrong: dict[str, object]) -> None:
    X, y, protected = persons(0)
    with pytest.raises(mo.errors.InputError):
        mo.questions.fairness_game(X, y, protected, **wrong)  # type: ignore[arg-type]


def test_frames_train_a_game() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y, protected = persons(1)
    frame, groups = pandas.DataFrame(X, columns=list("abc")), pandas.DataFrame(protected, columns=["sex", "age"])
    game = mo.questions.fairness_game(frame, pandas.Series(np.where(y > 0, "yes", "no")), groups, rounds=2)
    plain = mo.questions.fairness_game(X, y, protected, rounds=2)
    assert (game.bounds == plain.bounds).all() and (game.predict_proba(frame) == plain.predict_proba(X)).all()
    assert "age" in str(game) or "sex" in str(game)
    for wrong in (frame.assign(b="word"), frame.assign(b=np.nan)):
        with pytest.raises(mo.errors.InputError):
            mo.questions.fairness_game(wrong, y, groups, rounds=1)


def test_other_data_of_a_game_are_refused() -> None:
    X, y, protected = persons(0)
    for data in ((X[:-1], y, protected), (X, y[:-1], protected), (X, np.zeros(len(y)), protected), (X * np.nan, y, protected)):
        with pytest.raises(mo.errors.InputError):
            mo.questions.fairness_game(*data, "false-negative-rate", rounds=1)
    game = mo.questions.fairness_game(X, y, protected, rounds=1)
    with pytest.raises(mo.errors.InputError):
        game.predict_proba(X[:, :1])
