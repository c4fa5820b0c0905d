"""λ by folds, rounds of a game, entries of the book, local and global planes, few features, the checker in JavaScript.

Each is small enough for enumeration in rational arithmetic (`rational.corners`, `rational.half_spaces`, `least_sparse`):

- a bound is not beyond the truth, a value is attained, what `check` accepts is so, with a lie in any field as well;
- an entry of the book that stands has a point that costs what it says, and no bound above a value that is known;
- a log that the checker in JavaScript calls valid proves no more than is so, and it calls every genuine log valid.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
from dataclasses import asdict
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from attack_losses import claims, least_sparse
from attack_questions import examined, forged, group_fault, zero_one
from families import Family, tried
from rational.corners import PiecewiseLinearLoss

import marginopt as mo
from marginopt import questions
from marginopt.book.entries import Entry, load_entries
from marginopt.book.verification import build_data, exact_value, verify_entry
from marginopt.solvers.zero_one.check import checker

Random = np.random.Generator
#: To which part of the optimum what is closed is at it; seconds of a solver.
CLOSED, SECONDS = Fraction(1, 10**5), 20.0
_NODE = shutil.which("node")
_VERDICTS = Path(__file__).parents[2] / "face" / "proof_page" / "verdicts.js"


def selection(rng: Random) -> str:
    """λ by two folds: errors, pieces and each fold's optimum at any λ."""
    model = zero_one(rng, equal=rng.random() < 0.5)
    order = rng.permutation(len(model.y))
    parts = order[::2], order[1::2]
    splits = [(np.sort(a), np.sort(b)) for a, b in (parts, parts[::-1]) if np.unique(model.y[a]).size == 2]
    if not splits:
        return ""

    def fault(chosen: Any) -> str:
        last = float(chosen.ends[-1])
        for lam in (*(rng.uniform(0.0, 1.0, 3) ** 3 * last), chosen.lam, *(0.5 * (chosen.ends[:-1] + chosen.ends[1:]))[:4]):
            wrong = _wrong_at(chosen, float(lam))
            if wrong:
                return wrong
        return ""

    with tempfile.TemporaryDirectory() as folder:
        return examined(rng, questions.select_lam(model, splits, lam_max=10.0, proof=folder), fault)


def _wrong_at(chosen: Any, lam: float) -> str:
    """Return the statement about one λ that is not so; empty where there is none."""
    model, wrong = chosen.path.model, 0
    if not 0.0 < lam <= chosen.ends[-1]:
        return f"λ = {lam!r} of (0, {chosen.ends[-1]!r}]"
    for path, (train, test) in zip(chosen.folds, chosen.splits, strict=True):
        prices = 1.0 if isinstance(model.lam, float) else model.sample_weight[train]
        part = mo.ZeroOneSVM(np.asarray(model.X)[train], model.y[train], prices, intercept=model.intercept)
        least = PiecewiseLinearLoss.of(part).least(scale=Fraction(lam))
        there = path.at(lam)
        assert least is not None
        if chosen.proved and Fraction(there.objective) > least * (1 + CLOSED) + Fraction(1, 10**9):
            return f"a fold's classifier costs {there.objective!r} at λ = {lam!r}, the least is {float(least)!r}"
        wrong += int((np.where(np.asarray(model.X)[test] @ there.w > 0.0, 1.0, -1.0) != model.y[test]).sum())
    piece = int(np.searchsorted(chosen.ends, lam)) - 1
    stated = chosen.errors[min(max(piece, 0), len(chosen.errors) - 1)].sum()
    if lam not in chosen.ends and wrong != stated:
        return f"{stated} wrong points at λ = {lam!r}, there are {wrong}"
    return (
        f"λ = {lam!r} with {wrong} wrong points is not the best"
        if lam == chosen.lam and wrong > chosen.errors.sum(1).min()
        else ""
    )


def game(rng: Random) -> str:
    """Rounds of learner and auditor, each audit beside all half-spaces."""
    n, d = int(rng.integers(4, 10)), int(rng.integers(1, 3))
    X, y = rng.normal(size=(n, 2)).round(1), rng.integers(0, 2, n)
    y[:2] = 0, 1
    protected = rng.integers(0, rng.choice([2, 3, 4], size=d), size=(n, d)).astype(float)
    metric: Any = str(rng.choice(["false-positive-rate", "false-negative-rate", "selection-rate"]))
    with tempfile.TemporaryDirectory() as folder:
        played = questions.fairness_game(
            X, y, protected, metric, rounds=int(rng.integers(1, 4)), penalty=float(10.0 ** rng.uniform(-1, 2)), proof=folder
        )
        str(played)
        for number, item in enumerate(played.rounds, 1):
            mean = played.predict_proba(X, number)
            error = float(np.abs(np.asarray(item.answer.question.y) - mean).mean())
            if not np.array_equal(mean, item.answer.question.predictions) or abs(error - item.error) > 1e-12:
                return f"round {number} has an error of {error!r}, it states {item.error!r}"
            if not item.answer.check().valid or group_fault(item.answer):
                return f"round {number}: {group_fault(item.answer) or item.answer.check().message}"
        return examined(rng, played.answer, group_fault)


# -- the book ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def small_entries() -> tuple[Entry, ...]:
    """Entries of few coefficients."""
    return tuple(entry for entry in load_entries() if len(json.dumps(entry.point)) < 400)


def book(rng: Random) -> str:
    """An entry with one to three fields that say something else."""
    true = small_entries()[int(rng.integers(len(small_entries())))]
    if verify_entry(true).stands is False:
        return f"an entry of the book is refused: {verify_entry(true)}"
    record = json.loads(json.dumps(asdict(true)))
    for _ in range(int(rng.integers(1, 4))):
        _other_field(record, rng)
    entry = Entry.from_record(json.loads(json.dumps(record)))
    verdict = verify_entry(entry)
    str(verdict)
    return false_entry(entry, true) if verdict.stands else ""


def false_entry(entry: Entry, true: Entry | None) -> str:
    """Return what is wrong with an entry that stands, beside that of the book from which it was made; empty where nothing is."""
    X, y = build_data(entry.data)
    value = exact_value(entry.model, entry.parameters, X, y, entry.point)
    if Fraction(entry.value) < value or entry.bound > entry.value:
        return f"stands at the value {entry.value!r}, its point costs {float(value)!r}; bound {entry.bound!r}"
    instance = (entry.model, entry.parameters, entry.sha256)
    if (
        true is not None
        and instance == (true.model, true.parameters, true.sha256)
        and entry.evidence == "multipliers"
        and entry.bound > true.value
    ):
        return f"bound {entry.bound!r} stands above the value {true.value!r}"
    return ""


def _other_field(record: dict[str, Any], rng: Random) -> None:
    key = str(
        rng.choice(["value", "value", "bound", "bound", "point", "multipliers", "parameters", "evidence", "log", "data", "model"])
    )
    held = record[key]
    if isinstance(held, float):
        record[key] = (
            held * float(rng.choice([0.5, 1 - 1e-9, 1 + 1e-9, 2.0, -1.0]))
            if rng.random() < 0.8
            else float(rng.choice([0.0, math.inf, math.nan]))
        )
    elif isinstance(held, str):
        record[key] = str(rng.choice(["log", "multipliers", "certificate", "hinge", "ramp", "zero-one", "conic", "0" * 64, ""]))
    elif isinstance(held, list):
        record[key] = _numbers(held, rng)
    elif held:
        name = sorted(held)[int(rng.integers(len(held)))]
        inner = held[name]
        held[name] = _numbers(inner, rng) if isinstance(inner, list) else (0, -1, 1e300, None, "x", [])[int(rng.integers(6))]
        if rng.random() < 0.1:
            del held[name]


def _numbers(held: list[Any], rng: Random) -> list[Any]:
    kinds = (
        lambda: held[:-1], list, lambda: [*held, 0.0], lambda: [0.0] * len(held), lambda: [math.nan] * len(held),
        lambda: [x and x * float(rng.choice([0.5, 2.0, -1.0, 1 + 1e-12])) for x in held], lambda: [None, *held[1:]],
    )  # fmt: skip
    return kinds[int(rng.integers(len(kinds)))]()


# -- planes, features, a second checker ----------------------------------------------------------------------------------


def planes(rng: Random) -> str:
    """Capped and correntropy losses: the global programs beside the local ascent and drawn points."""
    n, loss = int(rng.integers(4, 8)), str(rng.choice(["capped", "correntropy"]))
    X = np.column_stack([np.ones(n), rng.normal(size=n).round(2)])
    y = np.arange(n) % 2
    X[y == 1, 1] += 1.0
    X[1, 1] = float(rng.choice([6.0, 0.0, -3.0]))
    size: Any = {"epsilon": float(rng.uniform(0.1, 1.0))} if loss == "capped" else {"gamma": float(rng.uniform(0.2, 1.0))}
    model = mo.models.NonparallelSVM(X, y, 1, loss=loss, c=float(10.0 ** rng.uniform(-1, 1)), r=0.5, **size)  # type: ignore[arg-type]
    local = mo.solve(model, "npsvc-mm", time_limit=SECONDS)
    best = mo.solve(model, time_limit=2.0)
    for result in (local, best):
        u = result.values.get("u")
        if u is not None and abs(model.objective(u) - result.objective) > 1e-6 * (1 + abs(result.objective)):
            return f"{result.objective!r} is stated, its point costs {model.objective(u)!r} ({loss} by {result.solver})"
    points = [u for result in (local, best) if (u := result.values.get("u")) is not None]
    points += [points[0] * rng.normal(1.0, 0.3, points[0].shape) for _ in range(50)]
    least = min(map(model.objective, points))
    for result in (local, best):
        above = math.isfinite(result.bound) and result.bound > least + 1e-6 * (1 + abs(least))
        if above or (result.status is mo.Status.OPTIMAL and result.objective > least + 2e-5 * (1 + abs(least))):
            outcome = f"{result.status}, {result.objective!r}, {result.bound_kind} bound {result.bound!r}"
            return f"{outcome}; a point costs {least!r} ({loss} by {result.solver})"
    return ""


def features(rng: Random) -> str:
    """`SparseSVC` and its curve beside all supports."""
    n, p, power = int(rng.integers(4, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    X, y = rng.integers(-8, 9, (n, p)) / 4.0, np.where(rng.permutation(n) < rng.integers(1, n), 1, -1)
    k, C = int(rng.integers(1, p + 1)), float(10.0 ** rng.integers(-2, 3))
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.5 else None
    nodes = 1 if rng.random() < 0.2 else None
    loss = ("hinge", "squared-hinge")[power - 1]
    fitted = mo.estimators.SparseSVC(k, C=C, loss=loss, curve=True, standardise=False, node_limit=nodes, time_limit=SECONDS)
    fitted.fit(X, y, sample_weight=weight)
    A, costs = y[:, None] * np.column_stack([np.ones(n), X]), C * (np.ones(n) if weight is None else weight)
    if fitted.support_.size > k or np.count_nonzero(fitted.coef_) > k:
        return f"{fitted.support_.size} features of at most {k}"
    results = {k: fitted.result_} | dict(enumerate(fitted.curve_.results, 1))
    for most, result in results.items():
        wrong = claims(result, least_sparse(A, costs, 0.5, True, most, power))
        if wrong:
            return f"{wrong} ({loss}, {most} of {p})"
    return ""


def javascript(rng: Random) -> str:
    """A log and forgeries of it, judged by checker.js under Node."""
    if _NODE is None:
        return ""
    model = zero_one(rng)
    truth = PiecewiseLinearLoss.of(model).least()
    with tempfile.TemporaryDirectory() as folder:
        genuine = Path(folder) / "genuine.jsonl"
        mo.solve(model, "zero-one-bb", proof=str(genuine), node_limit=int(rng.integers(1, 400)), threads=1)
        for k in range(6):
            lie = Path(folder) / f"lie-{k}.jsonl"
            lie.write_bytes(genuine.read_bytes())
            forged(rng, str(lie))
        ran = subprocess.run(
            [_NODE, str(_VERDICTS), str(Path(checker.__file__).parent), folder],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if ran.returncode:
            return f"NodeError: {(ran.stderr.strip().splitlines() or ['no word'])[-1]}"
        verdicts = json.loads(ran.stdout)
        for name, verdict in verdicts.items():
            if name == genuine.name and not verdict["valid"]:
                return f"the solver's own log is refused: {verdict['message']}"
            same = verdict["digest"] == verdicts[genuine.name]["digest"]  # changed data have another optimum
            if verdict["valid"] and same and truth is not None and Fraction(float(verdict["bound"])) > truth:
                return f"bound {verdict['bound']!r} of {name} called valid above the truth {float(truth)!r}"
    return ""


FAMILIES: tuple[Family, ...] = (selection, book, game, javascript, features, book, planes)


def attack(number: int) -> tuple[str, str]:
    """(what was tried, what is wrong with it) of one case."""
    return tried(FAMILIES, 22, number)
