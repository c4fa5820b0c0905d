"""Questions about classifiers, paths over λ and limited searches beside enumeration; their answers and logs with lies in them.

Half-spaces and integer classifiers are enumerated, optima of 0-1 problems are those of `rational.corners`. The laws:

- a value is attained, and a bound is not beyond the truth, whatever limit ended the search; what is called closed is the truth;
- `check` accepts an answer as it was given, and the logs of a search that a limit ended claim what its result claims;
- an answer or a path with a lie in any field, or with a forged log, is refused, or all that it states is true all the same.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
import tempfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from families import Family, tried
from proof_logs import sealed
from rational.corners import PiecewiseLinearLoss
from rational.half_spaces import worst_disparity

import marginopt as mo
from marginopt import questions
from marginopt.errors import MarginoptError
from marginopt.questions import ProofLog

Random = np.random.Generator
#: Lies told of each answer; to which part OPTIMAL and closed answers are the truth.
LIES, CLOSED = 6, Fraction(1, 10**5)
_ROUNDING = Fraction(1, 10**9)


# -- lies --------------------------------------------------------------------------------------------------------------


def lied(rng: Random, thing: Any) -> Any:
    """The same data class with a field, or a part of one, that says something else; models and logs' paths stay."""
    names = [item.name for item in fields(thing) if item.name not in ("model", "path", "sha256", "detail")]
    name = names[int(rng.integers(len(names)))]
    return replace(thing, **{name: _other(rng, getattr(thing, name))})


def _other(rng: Random, value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return lied(rng, value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float | Fraction):
        moved = (
            value + 1,
            value - 1,
            -value,
            2 * value,
            value * (1 + 1e-3),
            value * (1 - 1e-3),
            0,
            math.inf,
            -math.inf,
            math.nan,
        )
        return moved[int(rng.integers(len(moved)))]
    if isinstance(value, str):
        return value[::-1] + "x"
    if isinstance(value, np.ndarray):
        other = value.astype(np.float64)
        place = int(rng.integers(max(other.size, 1)))
        other.ravel()[place : place + 1] = [_other(rng, float(x)) for x in other.ravel()[place : place + 1]]
        return other
    if isinstance(value, tuple) and value:
        place = int(rng.integers(len(value)))
        rest = value[:place] + value[place + 1 :]
        return (rest, (*value, value[place]), value[::-1], (*value[:place], _other(rng, value[place]), *value[place + 1 :]))[
            int(rng.choice([0, 1, 2, 3, 3, 3]))
        ]
    return value


def forged(rng: Random, log: str) -> None:
    """A log that claims more, with up to three other numbers, nodes or none."""
    records = json.loads(json.dumps(_records(log)))
    claim = records[-1]
    if isinstance(claim.get("bound"), int | float):
        claim["bound"] = float(claim["bound"]) * (1.0 + 10.0 ** rng.uniform(-6, 1)) + 0.1 * float(rng.random())
    claim["w"] = None if rng.random() < 0.5 else claim.get("w")
    for _ in range(int(rng.integers(0, 4))):
        if len(records) > 2 and rng.random() < 0.3:
            del records[int(rng.integers(1, len(records) - 1))]
        else:
            _changed(rng, records[int(rng.integers(0, len(records) - 1))])
    text = sealed(records).encode()
    Path(log).write_bytes(gzip.compress(text) if log.endswith(".gz") else text)


def _records(log: str) -> list[Any]:
    text = gzip.decompress(Path(log).read_bytes()).decode() if log.endswith(".gz") else Path(log).read_text()
    return [json.loads(line) for line in text.splitlines()[:-1]]


def _changed(rng: Random, part: Any) -> None:
    keys = list(part) if isinstance(part, dict) else list(range(len(part)))
    if keys:
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(part[key], dict | list):
            _changed(rng, part[key])
        elif isinstance(part[key], int | float) and not isinstance(part[key], bool):
            part[key] = type(part[key])(part[key] * float(rng.choice([0.0, 0.5, 3.0, -1.0, 100.0])) + float(rng.integers(-1, 2)))


def examined(rng: Random, answer: Any, fault: Callable[[Any], str], must: bool = True) -> str:
    """The fault of an answer, then of lies about it: what `check` accepts must be true."""
    str(answer)
    report = answer.check()
    wrong = fault(answer)
    if wrong or (must and not report.valid):
        return wrong or f"the answer's own logs are refused: {report.message}"
    for lie in range(LIES):
        try:
            other = lied(rng, answer)
            if not other.check().valid:
                continue
        except (MarginoptError, TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError):
            continue  # an object that no function of ours made; files are another matter
        wrong = fault(other)
        if wrong:
            return f"lie {lie} is believed: {wrong}"
    return ""


def _with_forged_log(rng: Random, answer: Any, fault: Callable[[Any], str]) -> str:
    """The fault of an answer whose log is forged, digest and bound as the log has them."""
    if not answer.logs:
        return ""
    place = int(rng.integers(len(answer.logs)))
    log = answer.logs[place]
    forged(rng, log.path)
    logs = (*answer.logs[:place], ProofLog.of_file(log.problem, log.path), *answer.logs[place + 1 :])
    report = answer.question
    bounds = {one.problem: _claimed(one.path) for one in logs}
    other = replace(answer, logs=logs, bound=report.bound(bounds))
    wrong = fault(other) if other.check().valid else ""
    return f"a forged log is believed: {wrong}" if wrong else ""


def _claimed(path: str) -> float:
    bound = _records(path)[-1].get("bound")
    return float(bound) if isinstance(bound, int | float) else math.inf


# -- fairness ----------------------------------------------------------------------------------------------------------


def _below(bound: float, truth: Fraction) -> bool:
    """Return whether an upper bound is none."""
    return bound < math.inf and (bound == -math.inf or math.isnan(bound) or Fraction(bound) < truth)


def group_fault(answer: Any) -> str:
    """Return the statement about the worst group that is not so; empty where there is none."""
    worst = worst_disparity(answer.question)
    if answer.question.margin is None and _below(answer.bound, worst):
        return f"bound {answer.bound!r} below the worst disparity {float(worst)!r}"
    if Fraction(answer.value) > worst + _ROUNDING * worst:
        return f"value {answer.value!r} above the worst disparity {float(worst)!r}"
    group = answer.evidence
    again = answer.question.subgroup(group.side, group.half_space)
    return "" if group == again else f"the group is said to be {group.facts()}, it is {again.facts()}"


def fairness(rng: Random) -> str:
    """Up to 10 persons with columns of few values, in any unit and anywhere."""
    n, d = int(rng.integers(3, 11)), int(rng.integers(1, 4))
    protected = rng.integers(0, rng.choice([2, 3, 5], size=d), size=(n, d)) * rng.choice([1.0, 0.1, 12.5, 1e-6, 1e6], size=d)
    protected = np.round(protected + rng.choice([0.0, 1990.0, -3.3], size=d), 6)
    metrics = ("false-positive-rate", "false-negative-rate", "selection-rate", "calibration")
    metric: Any = metrics[int(rng.integers(4))]
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    predictions = np.round(rng.random(n), 2) if rng.random() < 0.5 else rng.integers(0, 2, n)
    weights = None if rng.random() < 0.5 else np.round(rng.random(n) + 0.1, 3) * 10.0 ** rng.integers(-6, 7)
    limit = 1e-3 if rng.random() < 0.2 else None

    with tempfile.TemporaryDirectory() as folder:
        answer = questions.audit_fairness(
            predictions, y, protected, metric, sample_weight=weights, proof=Path(folder) / "log", time_limit=limit
        )
        margin = answer.question.margin is not None
        if limit is None and not margin and answer.bound - float(worst_disparity(answer.question)) > 1e-5:
            return f"bound {answer.bound!r} is not closed, the worst is {float(worst_disparity(answer.question))!r}"
        return examined(rng, answer, group_fault) or _with_forged_log(rng, answer, group_fault)


# -- good classifiers --------------------------------------------------------------------------------------------------


def _integers(rng: Random) -> tuple[mo.Margin, np.ndarray, np.ndarray]:
    """A model of whole coefficients, all of its classifiers, and their costs."""
    n, d = int(rng.integers(4, 10)), int(rng.integers(1, 3))
    X = np.column_stack([np.ones(n), rng.integers(0, 4, size=(n, d))]).astype(float)
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    costs = rng.integers(1, 5, size=n).astype(float)
    domain = mo.margin.Integers((-4, *[-2] * d), (4, *[2] * d))
    price = (mo.margin.L0L1(0.5, 0.25), mo.margin.L0(0.5))[int(rng.integers(2))]
    model = mo.Margin(X, y, "zero-one", price, sample_weight=costs, intercept="free", domain=domain)
    W = np.array(list(itertools.product(range(-4, 5), *[range(-2, 3)] * d)), dtype=float)
    size = 0.25 if isinstance(price, mo.margin.L0L1) else 0.0
    values = (W @ (X * y[:, None]).T < 1.0) @ costs + 0.5 * (W[:, 1:] != 0).sum(axis=1) + size * np.abs(W[:, 1:]).sum(axis=1)
    return model, W, values


def ranges(rng: Random) -> str:
    """Signs and ranges of the coefficients of all classifiers within ε."""
    model, W, costs = _integers(rng)

    def fault(answer: Any) -> str:
        level = costs.min() + answer.question.within * abs(costs.min())
        good, evidence = W[costs <= level * (1 - 1e-12)][:, 1:], answer.evidence
        signs = {f"w_{j + 1} {op} 0": test(good[:, j]) for j in range(good.shape[1]) for op, test in _SIGNS.items()}
        one_sign = int(((good > 0).all(axis=0) | (good < 0).all(axis=0)).sum())
        lies = [words for words in re.findall(r"w_\d+ [<>] 0", answer.sentence) if not signs.get(words, False)]
        if lies or answer.bound > one_sign:
            return f"bound {answer.bound} of {one_sign} signs, {lies} said"
        low, high = np.asarray(evidence.lower), np.asarray(evidence.upper)
        inside = evidence.names == tuple(f"w_{j + 1}" for j in range(good.shape[1])) and low.shape == high.shape == good.shape[1:]
        return (
            ""
            if inside and (good > low).all() and (good < high).all()
            else f"ranges {evidence.facts()} leave out {good.tolist()}"
        )

    return _good(
        rng, lambda folder, limit: questions.coefficient_ranges(model, _epsilon(rng), proof=folder, time_limit=limit), fault
    )


_SIGNS: dict[str, Callable[[np.ndarray], Any]] = {">": lambda v: (v > 0).all(), "<": lambda v: (v < 0).all()}


def importance(rng: Random) -> str:
    """The rise of the optimum without a feature."""
    model, W, costs = _integers(rng)

    def fault(answer: Any) -> str:
        question, evidence = answer.question, answer.evidence
        best = costs[(np.array(question.best) == W).all(axis=1)]
        rises = np.array([costs[W[:, j] == 0].min() for j in range(1, model.width)]) - (best[0] if best.size else math.inf)
        if answer.bound > rises[question.column - 1] + 1e-9 or answer.value < rises[question.column - 1] - 1e-9:
            return f"the rise is in [{answer.bound}, {answer.value}], the truth is {rises[question.column - 1]}"
        within = (np.asarray(evidence.lower) <= rises + 1e-9).all() and (np.asarray(evidence.upper) >= rises - 1e-9).all()
        return "" if within else f"rises {evidence.facts()}, the truth is {rises.tolist()}"

    return _good(rng, lambda folder, limit: questions.feature_importance(model, proof=folder, time_limit=limit), fault)


def supports(rng: Random) -> str:
    """The supports of all classifiers within ε."""
    model, W, costs = _integers(rng)

    def fault(answer: Any) -> str:
        level = costs.min() + answer.question.within * abs(costs.min())
        true = {tuple(np.flatnonzero(row[1:]) + 1) for row in W[costs <= level * (1 - 1e-12)]}
        return f"no more than {answer.bound} supports, there are {len(true)}" if answer.bound < len(true) else ""

    return _good(rng, lambda folder, limit: questions.supports(model, _epsilon(rng), proof=folder, time_limit=limit), fault)


def difference(rng: Random) -> str:
    """The most different classifier within ε."""
    model, W, costs = _integers(rng)

    def fault(answer: Any) -> str:
        level = costs.min() + answer.question.within * abs(costs.min())
        flipped = np.where(model.X @ np.array(answer.question.best) > 0.0, -1.0, 1.0)
        worst = ((W[costs <= level * (1 - 1e-12)] @ model.X.T) * flipped >= 1.0).sum(axis=1).max(initial=0)
        return f"no more than {answer.bound} flipped, a classifier flips {worst}" if answer.bound < worst else ""

    ask = questions.most_different_classifier
    return _good(rng, lambda folder, limit: ask(model, _epsilon(rng), proof=folder, time_limit=limit), fault)


def _epsilon(rng: Random) -> float:
    return float(rng.choice([0.0, 0.02, 0.2, 0.5]))


def _good(rng: Random, ask: Callable[[Path, float | None], Any], fault: Callable[[Any], str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        answer = ask(Path(folder), 1e-3 if rng.random() < 0.2 else None)
        return examined(rng, answer, fault) or _with_forged_log(rng, answer, fault)


# -- 0-1 problems whose corners are known ------------------------------------------------------------------------------


def zero_one(rng: Random, equal: bool = False) -> mo.ZeroOneSVM:
    """Up to 8 points of two columns in quarters, some far away or repeated."""
    n, free = int(rng.integers(3, 9)), bool(rng.random() < 0.5)
    X = rng.integers(-8, 9, (n, 2)) / 4.0 + float(rng.choice([0.0, 0.0, 3.0, 1000.0]))
    X[-1] = X[0]
    X = np.column_stack([np.ones(n), X[:, : 2 - (not free)]]) if free or rng.random() < 0.5 else X
    X *= 1.0 if free else 2.0 ** int(rng.integers(-6, 7))
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)
    size = 10.0 ** rng.uniform(-2, 3)
    prices: Any = float(size) if equal or rng.random() < 0.5 else size * rng.integers(1, 5, n)
    return mo.ZeroOneSVM(X, y, prices, intercept="free" if free else "penalised")


def stability(rng: Random) -> str:
    """The least objective with another prediction, table and answers."""
    model = zero_one(rng)
    within, nodes = (None, 0.1, 0.0)[int(rng.integers(3))], int(rng.integers(1, 9)) if rng.random() < 0.3 else None
    table = questions.prediction_stability(model, within=within, node_limit=nodes)
    str(table)
    for k in range(len(table.value)):
        corners = PiecewiseLinearLoss.of(model, -table.prediction[k] * table.points[k])
        least = corners.least(len(corners.rows) - 1)
        if least is not None and Fraction(table.bound[k]) > least:
            return f"bound {table.bound[k]!r} of another prediction, the least is {float(least)!r}"
        if math.isfinite(table.value[k]) and (least is None or Fraction(table.value[k]) < least * (1 - _ROUNDING)):
            return f"another prediction at {table.value[k]!r}, the least is {least and float(least)!r}"
        if nodes is None and within is None and least is not None and Fraction(table.value[k]) > least * (1 + CLOSED):
            return f"another prediction at {table.value[k]!r} is closed, the least is {float(least)!r}"
    k = int(rng.integers(len(table.value)))

    def fault(answer: Any) -> str:
        question = answer.question
        corners = PiecewiseLinearLoss.of(question.model, question.label * question.point)
        least = corners.least(len(corners.rows) - 1)
        wrong = least is not None and _below(-answer.bound, -least * (1 + _ROUNDING))
        return f"bound {answer.bound!r} of an answer, the least is {least and float(least)!r}" if wrong else ""

    with tempfile.TemporaryDirectory() as folder:
        answer = table.answer(k, proof=Path(folder) / "log")
        return examined(rng, answer, fault) or _with_forged_log(rng, answer, fault)


def conformal(rng: Random) -> str:
    """Full-conformal sets beside a refit of every bag, in rational arithmetic."""
    model = zero_one(rng, equal=True)
    n, alpha = len(model.y), float(rng.uniform(0.05, 0.6))
    point = np.asarray(model.X)[int(rng.integers(n))] + np.append(0.0, rng.integers(-2, 3, model.X.shape[1] - 1) / 4.0)
    sets = questions.conformal_sets(model, point[None], alpha)
    str(sets)
    true = {label: _p_value(model, point, label) for label in (-1, 1)}
    for side, label in enumerate((-1, 1)):
        if sets.certain[0, side] and bool(sets.contains[0, side]) != (true[label] > Fraction(alpha)):
            return f"label {label} of p-value {float(true[label])} at {alpha} is certainly {sets.contains[0]}"
        if not sets.contains[0, side] and true[label] > Fraction(alpha):
            return f"label {label} of p-value {float(true[label])} is left out at {alpha}"

    def fault(answer: Any) -> str:
        p = _p_value(answer.question.model, answer.question.point, int(answer.question.label))
        wrong = _below(answer.bound, p - _ROUNDING)
        return f"p-value at most {answer.bound!r}, it is {float(p)!r}" if wrong else ""

    with tempfile.TemporaryDirectory() as folder:
        answer = sets.answer(0, int(rng.choice([-1, 1])), proof=Path(folder) / "log")
        return examined(rng, answer, fault) or _with_forged_log(rng, answer, fault)


def _p_value(model: mo.ZeroOneSVM, point: np.ndarray, label: int) -> Fraction:
    """The share of the bag whose scores, increases of the optimum if a point is kept, are at least the new point's."""
    X, y = np.vstack([model.X, point]), np.append(model.y, float(label))
    price: Any = float(model.sample_weight[0])
    bag = PiecewiseLinearLoss.of(mo.ZeroOneSVM(X, y, price, intercept=model.intercept))
    beyond = 10 * (bag.least() or Fraction(0)) + Fraction(10**12)
    scores = [beyond if (least := bag.least(i)) is None else least for i in range(len(y))]
    return Fraction(sum(score >= scores[-1] for score in scores), len(y))


def path(rng: Random) -> str:
    """The whole path over λ beside the least of the corners' lines, and λ chosen by folds."""
    model = zero_one(rng)
    costs = 1.0 if isinstance(model.lam, float) else model.sample_weight
    corners = PiecewiseLinearLoss.of(mo.ZeroOneSVM(model.X, model.y, costs, intercept=model.intercept))
    lam_max = None if rng.random() < 0.5 else float(10.0 ** rng.uniform(-1, 4))

    def fault(whole: Any) -> str:
        share = _stated_share(whole.sentence)
        for lam in (*rng.uniform(0.0, 1.0, 4) ** 3 * whole.lam_max, *(c.lam_high for c in whole.corners[:-1]), whole.lam_max):
            if not 0.0 < lam < math.inf:
                continue
            least = corners.least(scale=Fraction(lam))
            assert least is not None
            there = whole.at(float(lam))
            if Fraction(there.bound) > least * (1 + _ROUNDING):
                return f"bound {there.bound!r} at λ = {lam!r}, the least is {float(least)!r}"
            if Fraction(there.objective) * (1 - share - _ROUNDING) > least:
                return f"objective {there.objective!r} at λ = {lam!r} up to {float(share)!r}, the least is {float(least)!r}"
        return ""

    with tempfile.TemporaryDirectory() as folder:
        whole = mo.path(model, "lam", "all", lam_max=lam_max, proof=Path(folder))
        wrong = examined(rng, whole, fault)
        if not wrong and whole.logs:
            k = int(rng.integers(len(whole.logs)))
            forged(rng, whole.logs[k])
            report, least = mo.check_proof(whole.logs[k], whole), corners.least(scale=Fraction(whole.breakpoints[k].lam))
            if report.valid and least is not None and Fraction(report.bound) > least:
                wrong = f"bound {report.bound!r} of a forged log, the least is {float(least)!r}"
        return wrong


def _stated_share(sentence: str) -> Fraction:
    """The share up to which a path's sentence says that it is optimal."""
    match = re.search(r"up to a share ([-+.e\d]+)", sentence)
    return Fraction(1) if match is None else Fraction(float(match[1])) + Fraction(1, 10**8)


def limited(rng: Random) -> str:
    """Searches with λ and with κ that a limit ends, continued with ``earlier``; their logs claim what the results claim."""
    model = zero_one(rng)
    n = len(model.y)
    budget = int(rng.integers(0, n + 1)) if rng.random() < 0.5 else None
    truth = PiecewiseLinearLoss.of(model).least() if budget is None else PiecewiseLinearLoss.of(model).least_norm(budget)
    stated = model if budget is None else mo.ZeroOneSVM(model.X, model.y, kappa=budget / n, intercept=model.intercept)
    with tempfile.TemporaryDirectory() as folder:
        log, again = str(Path(folder) / "first"), str(Path(folder) / "second")
        first = mo.solve(stated, "zero-one-bb", node_limit=int(rng.integers(1, 9)), proof=log, threads=1)
        wrong = _limited_fault(first, stated, log, truth)
        if wrong or budget is not None:
            return wrong
        forge, evidence = rng.random() < 0.5, (first, log)[int(rng.integers(2))]
        if forge:
            forged(rng, log)
            certificate = replace(first.certificate, bound=1.5 * first.bound) if first.certificate is not None else None
            evidence = replace(first, certificate=certificate) if evidence is first else log
        try:
            second = mo.solve(stated, "zero-one-bb", earlier=((stated, evidence),), proof=again, threads=1)
        except MarginoptError:
            return ""
        return _limited_fault(second, stated, again, truth)


def _limited_fault(result: mo.Result, model: mo.Model, log: str, truth: Fraction | None) -> str:
    str(result)
    report = mo.check_proof(log, model)
    for bound, what in ((result.bound, "a limited search"), (report.bound, "its log")):
        if truth is not None and math.isfinite(bound) and Fraction(float(bound)) > truth:
            return f"bound {bound!r} of {what} above the truth {float(truth)!r}"
    if not report.valid:
        return f"the search's own log is refused: {report.message}"
    if report.bound < result.bound * (1.0 - 1e-6) - 1e-12:
        return f"the log claims {report.bound!r}, the result {result.bound!r}"
    if result.status is mo.Status.INFEASIBLE and truth is not None:
        return f"infeasible, the optimum is {float(truth)!r}"
    if result.status is not mo.Status.OPTIMAL or truth is None:
        return ""
    closed = abs(Fraction(float(result.objective)) - truth) <= CLOSED * truth + _ROUNDING
    return "" if closed else f"OPTIMAL at {result.objective!r}, the truth is {float(truth)!r}"


FAMILIES: tuple[Family, ...] = (
    fairness, ranges, stability, path, limited, importance, conformal, supports, difference,
)  # fmt: skip


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 20, number)
