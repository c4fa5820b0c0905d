"""Logs of version 2, made by a small search of their own: what they prove is verified, and no log proves more than is true."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials

from marginopt.models.views import Budget, EqualRates, MarginProblem, PiecewiseLinearLoss
from marginopt.solvers.margin.check import _apply_round, _open
from marginopt.solvers.margin.check.boxes import CheckedBox, margin_ranges, propagate, root_box
from marginopt.solvers.margin.check.logged_problem import FORMAT, HEADER_KEYS, LoggedMarginProblem, exact_value
from marginopt.solvers.margin.check.rotated_problem import RotatedProblem, in_log_coordinates
from marginopt.solvers.proofs import check_proof

Record = dict[str, Any]
Forgery = Callable[[list[Record], np.random.Generator], None]

LOSSES = (
    PiecewiseLinearLoss.ramp(1.0, 1.0),
    PiecewiseLinearLoss.zero_one(1.0),
    PiecewiseLinearLoss.ramp(2.0, 1.5, second_width=2.0),
    PiecewiseLinearLoss.hinge(),
)


def stated_of(seed: int) -> LoggedMarginProblem:
    """Two coefficients; squares or L1; by turns whole, counted and priced, rows, kept points, budgets, rates."""
    rng = np.random.default_rng(seed)
    n, yes = 7, np.ones(2, dtype=np.bool_)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    A = np.round(4.0 * (rng.normal(size=(n, 2)) + 0.3 * y[:, None])) / 4.0 * y[:, None]
    intercept = seed % 3 == 1
    A[:, 0] = y if intercept else A[:, 0]
    fields = vars(
        MarginProblem.unrestricted(
            A,
            rng.choice([0.5, 1.0, 2.0], n),
            LOSSES[seed % 4],
            np.array([0.0 if intercept else 0.3, 0.3]),
            np.zeros((0, 2)),
            intercept,
        )
    )
    if seed % 5 == 0:
        fields["atoms"] = np.eye(2) / 0.4
        fields["curvature"] = np.zeros(2)
        fields["intercept"] = False
    kind = seed % 7
    if kind == 0:
        fields |= {"integer": yes, "lower": np.full(2, -3.0), "upper": np.full(2, 4.0)}
    if kind == 1:
        fields |= {"price": np.array([0.2, 0.7])}
    if kind == 2:
        fields |= {"counted": yes, "max_nonzeros": 1}
    if kind == 3:
        fields |= {"rows": np.array([[1.0, -1.0], [0.5, 1.0]]), "row_lower": np.array([0.25, -1.0])}
    if kind == 4:
        fields |= {"kept_points": np.arange(n) == int(np.argmax(np.abs(A).sum(axis=1)))}
    if kind == 5:
        fields |= {"budgets": (Budget(np.arange(n), 3), Budget(np.array([0, 2, 4]), 1))}
    if kind == 6:
        fields |= {"rates": (EqualRates(np.array([0, 1, 0, 1, 0, 1, 1]), y, 0.3),)}
    return LoggedMarginProblem(**fields)


def header_of(stated: LoggedMarginProblem, cut: float) -> Record:
    def ends(side: np.ndarray) -> list[float | None]:
        return [float(x) if math.isfinite(x) else None for x in side]

    loss = stated.loss
    corners = {name: getattr(loss, name).tolist() for name in ("margins", "below", "at")}
    again = loss.rise_start if math.isfinite(loss.rise_start) else None
    names, masks = ("A", "costs", "curvature", "atoms", "price", "rows", "row_lower"), ("integer", "counted", "kept_points")
    return {
        "format": FORMAT, "version": 2, **{HEADER_KEYS.get(name, name): getattr(stated, name).tolist() for name in names},
        "loss": {**corners, "tail": loss.tail, "again": again}, "intercept": stated.intercept,
        "lower": ends(stated.lower), "upper": ends(stated.upper), "most": stated.max_nonzeros,
        **{HEADER_KEYS.get(name, name): getattr(stated, name).astype(int).tolist() for name in masks},
        "budgets": [{"points": b.points.tolist(), "limit": b.limit} for b in stated.budgets],
        "rates": [{"groups": r.groups.tolist(), "labels": r.labels.tolist(), "epsilon": r.epsilon} for r in stated.rates],
        "T": np.eye(stated.curvature.size).tolist(), "cut": cut if math.isfinite(cut) else None,
    }  # fmt: skip


def round_of(problem: RotatedProblem, box: CheckedBox, rng: np.random.Generator) -> Record:
    """Pairs of all terms, and slopes of chords."""
    terms = problem.terms.size
    low, high, _ = margin_ranges(problem, box)
    chord = (problem.original.loss.values(low) - problem.original.loss.values(high)) / (high - low)
    slopes = [*(problem.original.costs * chord).tolist(), *[0.05] * (terms - chord.size)]
    theta = (0.3 * rng.random(len(problem.original.budgets))).tolist()
    entry: Record = {"pairs": [rng.permutation(terms)[: terms // 2 * 2].tolist()], "theta": theta, "spend": 0.0}
    if rng.random() < 0.5:
        entry["alpha"], entry["pairs"] = list(enumerate(slopes)), []
        rows = len(problem.lines) - terms
        entry["rows"] = [
            [r, 0.3 * float(rng.random())] for r in range(rows) if r < len(problem.original.rows) or rng.random() < 0.3
        ]
    entry["p"] = (0.4 * np.sign(box.lo + box.hi)).tolist()
    entry["support"] = rng.normal(size=2).tolist()
    entry["box"] = [box.lo.tolist(), box.hi.tolist()]
    return entry


def split_of(stated: LoggedMarginProblem, box: CheckedBox) -> Record:
    """By support where that matters and is open, else in the middle."""
    for j in range(box.lo.size):
        if (stated.price[j] > 0.0 or stated.counted[j]) and not box.used[j] and box.hi[j] > box.lo[j]:
            return {"support": j}
    j = int(np.argmax(box.hi - box.lo))
    at = 0.5 * (box.lo[j] + box.hi[j])
    return {"split": [j, float(np.floor(at) + 0.5 if stated.integer[j] else at)]}


def search(stated: LoggedMarginProblem, target: float, cut: float, most: int = 1500) -> list[Record] | None:
    """The nodes of a log that proves the target; None where that takes too many."""
    rng = np.random.default_rng(0)
    problem = in_log_coordinates(stated, np.eye(2), max(target, cut))
    waiting, nodes = [(0, 0, root_box(problem))], []
    while waiting:
        parent, side, box = waiting.pop()
        node: Record = {"id": len(nodes) + 1, "parent": parent, "side": side, "rounds": []}
        nodes.append(node)
        if len(nodes) > most:
            return None
        if _open(box, target) and math.isfinite(target):
            node["rounds"].append(round_of(problem, box, rng))
            box = _apply_round(problem, box, node["rounds"][0], max(target, cut))
        if not _open(box, target):
            continue
        node |= split_of(stated, box)
        for part in (1, 0):
            inner = box.child(*node["split"], part) if "split" in node else box.support_child(node["support"], part)
            propagate(problem, inner)
            waiting.append((node["id"], part, inner))
    return nodes


def candidates(stated: LoggedMarginProblem, rng: np.random.Generator) -> Any:
    """Points: at two corners of losses, at one, whole, and any, all scaled to be inside."""
    lines = [*stated.A, *np.eye(2)]
    turns = [0.0, 1.0, *stated.loss.margins]
    for _ in range(trials(1000, 4000)):
        i, j = rng.integers(len(lines), size=2)
        M = np.array([lines[i], lines[j]])
        w = np.linalg.solve(M, rng.choice(turns, 2)) if abs(np.linalg.det(M)) > 1e-3 else 2.0 * rng.normal(size=2)
        w = w + rng.choice([0.0, 1e-12, 0.3]) * rng.normal(size=2)
        w = np.where(rng.random(2) < 0.2, 0.0, w)
        yield np.where(stated.integer, np.round(w), np.clip(w, stated.lower, stated.upper))


def log_of(seed: int) -> list[Record]:
    """Header, nodes and a claim that is true."""
    stated, rng = stated_of(seed), np.random.default_rng(100 + seed)
    best, at = math.inf, np.zeros(2)
    for w in candidates(stated, rng):
        value = exact_value(stated, w.tolist(), (0.4 * w).tolist() if len(stated.atoms) else [])
        if value < best:
            best, at = value, w
    assert 0.0 < best < math.inf
    for share in (0.95, 0.8, 0.5, 0.2):
        nodes = search(stated, share * best, best)
        if nodes is not None:
            claim = {"bound": share * best, "w": at.tolist(), "combination": (0.4 * at).tolist() if len(stated.atoms) else []}
            return [header_of(stated, best), *nodes, claim]
    pytest.fail("too many nodes")


def sealed(path: Path, records: list[Record]) -> Path:
    """A log with a seal that fits."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_text(text + json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n")
    return path


def _any(records: list[Record], rng: np.random.Generator) -> Record:
    return records[int(rng.integers(1, max(2, len(records) - 1)))]


def _nothing(records: list[Record], rng: np.random.Generator) -> None:
    """The claim alone is false."""


def _without_a_node(records: list[Record], rng: np.random.Generator) -> None:
    if len(records) > 3:
        del records[int(rng.integers(2, len(records) - 1))]


def _unsplit(records: list[Record], rng: np.random.Generator) -> None:
    record = _any(records, rng)
    record.pop("split", None)
    record.pop("support", None)


def _split_otherwise(records: list[Record], rng: np.random.Generator) -> None:
    record = _any(records, rng)
    if "split" in record:
        record["support"] = record.pop("split")[0]
    elif "support" in record:
        record["split"] = [record.pop("support"), 0.0]


def _split_elsewhere(records: list[Record], rng: np.random.Generator) -> None:
    record = _any(records, rng)
    if "split" in record:
        record["split"][1] += float(rng.normal())


def _other_multipliers(records: list[Record], rng: np.random.Generator) -> None:
    for entry in _any(records, rng).get("rounds", []):
        for name in ("alpha", "rows"):
            entry[name] = [[i, 10.0 ** float(rng.uniform(-2, 4)) * x] for i, x in entry.get(name, [])]
        entry["theta"] = [100.0 * float(rng.random()) for _ in entry["theta"]]


def _demands(records: list[Record], rng: np.random.Generator) -> None:
    for entry in _any(records, rng).get("rounds", []):
        entry["rows"] = [[len(records[0]["rows"]) + i, 3.0 * float(rng.random())] for i in range(7)]


def _longer_vectors(records: list[Record], rng: np.random.Generator) -> None:
    for entry in _any(records, rng).get("rounds", []):
        for name in ("p", "support"):
            entry[name] = [100.0 * x for x in entry[name]]


def _smaller_box(records: list[Record], rng: np.random.Generator) -> None:
    for entry in _any(records, rng).get("rounds", []):
        entry["box"] = [[0.1 * x for x in side] for side in entry["box"]]


def _negative(records: list[Record], rng: np.random.Generator) -> None:
    for entry in _any(records, rng).get("rounds", []):
        entry["spend"] = -1.0
        entry[str(rng.choice(["alpha", "rows"]))] = [[0, -1.0]]


def _pairs_twice(records: list[Record], rng: np.random.Generator) -> None:
    for entry in _any(records, rng).get("rounds", []):
        entry["pairs"] = [*entry["pairs"], *entry["pairs"], *entry["pairs"]]


def _lower_cut(records: list[Record], rng: np.random.Generator) -> None:
    records[0]["cut"] = 0.0
    for entry in _any(records, rng).get("rounds", []):
        entry["cut"] = -1.0
    records.insert(1, {"cut": -1.0})


FORGERIES: list[Forgery] = [
    _nothing, _without_a_node, _unsplit, _split_otherwise, _split_elsewhere, _other_multipliers, _demands, _longer_vectors,
    _smaller_box, _negative, _pairs_twice, _lower_cut,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(trials(4, 12)))
def test_a_log_is_verified_and_forgeries_of_it_are_refused(seed: int, tmp_path: Path) -> None:
    """A false claim is above the value of a point that the log may not name."""
    records = log_of(seed)
    report = check_proof(sealed(tmp_path / "a.log", records))
    assert report.valid, report
    assert report.bound == records[-1]["bound"] <= report.value == records[0]["cut"]
    assert report.nodes == len(records) - 2
    lowered = [*records[:2], {"cut": -1.0}, *records[2:]]  # what costs less than the claim stays of interest
    assert check_proof(sealed(tmp_path / "a.log", lowered)).valid
    unnamed = [*records[:-1], records[-1] | {"w": None, "combination": None}]
    report = check_proof(sealed(tmp_path / "a.log", unnamed))
    assert report.valid and report.value == math.inf
    text, rng = json.dumps(unnamed), np.random.default_rng(seed)
    for k in range(2 * len(FORGERIES)):
        forged = json.loads(text)
        forged[-1]["bound"] = records[0]["cut"] * (1.0 + 10.0 ** rng.uniform(-7, -1))
        FORGERIES[k % len(FORGERIES)](forged, rng)
        for _ in range(k // len(FORGERIES)):
            FORGERIES[int(rng.integers(len(FORGERIES)))](forged, rng)
        report = check_proof(sealed(tmp_path / "b.log", forged))
        assert not report.valid and report.message, (k, report)
    forged = json.loads(text)
    forged[-1] |= {"bound": None, "infeasible": True}
    assert not check_proof(sealed(tmp_path / "b.log", forged)).valid


CHANGES: list[Record] = [
    {"A": [[1.0, math.nan]] * 7}, {"A": [1.0]}, {"costs": [-1.0] * 7}, {"costs": [1.0]}, {"curvature": [0.3, -0.3]},
    {"whole": [2, 0]},
    {"counted": [1]}, {"kept": [0.5] * 7}, {"price": [-1.0, 0.0]}, {"lower": [2.0, None], "upper": [1.0, None]},
    {"lower": [math.nan, 0]},
    {"lower": [math.inf, 0.0], "upper": [None, None]}, {"most": -1}, {"most": 1.5}, {"rows": [[1.0]]}, {"rows": [[1.0, 1.0]]},
    {"budgets": [{"points": [0, 0], "limit": 1}]}, {"budgets": [{"points": [7], "limit": 1}]},
    {"budgets": [{"points": [-1], "limit": 1}]},
    {"budgets": [{"points": [1], "limit": -1}]}, {"budgets": [{"points": [1], "limit": 0.5}]},
    {"intercept": 1}, {"intercept": True},
    {"atoms": [[math.inf, 0.0]]}, {"T": [[0.0, 1.0], [1.0, 0.0]]}, {"T": [[1.0, 0.0]]}, {"curvature": [0.0, 0.0]}, {"version": 1},
    {"loss": {"margins": [1.0, 1.0], "below": [1.0, 1.0], "at": [1.0, 0.0], "tail": 0.0, "again": None}},
    {"loss": {"margins": [0.0, 1.0], "below": [1.0, 1.5], "at": [1.0, 0.0], "tail": 0.0, "again": None}},
    {"loss": {"margins": [1.0], "below": [0.0], "at": [1.0], "tail": 0.0, "again": None}},
    {"loss": {"margins": [1.0], "below": [1.0], "at": [0.5], "tail": 0.0, "again": None}},
    {"loss": {"margins": [1.0], "below": [1.0], "at": [0.0], "tail": -1.0, "again": 0.0}},
    {"loss": {"margins": [1.0], "below": [1.0], "at": [0.0], "tail": 1.0, "again": 1.5}},
    {"loss": {"margins": [1.0], "below": [1.0], "at": [0.0], "tail": 1.0, "again": None}},
    {"loss": {"margins": [], "below": [], "at": [], "tail": 1.0, "again": 0.0}},
    {"loss": {"margins": [-1.7e308, 1.7e308], "below": [1.0, 0.0], "at": [1.0, 0.0], "tail": 0.0, "again": None}},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: "-".join(change))
def test_a_header_that_states_no_problem_is_refused(change: Record, tmp_path: Path) -> None:
    """T matters where there are prices."""
    stated = stated_of(2)
    header = header_of(stated, 1.0)
    claim = {"bound": 1e-300, "w": None, "combination": None}
    node = {"id": 1, "parent": 0, "side": 0, "rounds": []}
    assert "costs" in check_proof(sealed(tmp_path / "a.log", [header, node, claim])).message
    report = check_proof(sealed(tmp_path / "a.log", [header | change, node, claim]))
    assert not report.valid and "at least" not in report.message


def test_problems_differ_in_every_field() -> None:
    """Also their digests."""
    base = [stated_of(seed) for seed in range(6)]
    for one in base:
        same = LoggedMarginProblem.of_log(json.loads(json.dumps(header_of(one, 1.0))))
        assert one.difference(same) is None and one.digest == same.digest and str(one) == str(same)
    loss = PiecewiseLinearLoss.zero_one(0.5)
    changes: list[Record] = [
        {"costs": np.full(7, 9.0)}, {"loss": loss}, {"curvature": np.ones(2)}, {"atoms": np.eye(2)}, {"intercept": True},
        {"lower": np.full(2, -9.0)}, {"upper": np.full(2, 9.0)}, {"integer": np.ones(2)}, {"price": np.ones(2)},
        {"counted": np.zeros(2)},
        {"max_nonzeros": 2}, {"rows": np.ones((1, 2))}, {"row_lower": np.ones(1)}, {"kept_points": np.ones(7)},
        {"budgets": (Budget(np.arange(2), 1),)},
        {"A": np.ones((7, 2))}, {"A": np.ones((7, 3))},
    ]  # fmt: skip
    stated = base[2]
    for change in changes:
        other = LoggedMarginProblem(**(vars(stated) | change))
        assert stated.difference(other) and stated.digest != other.digest


def unsolvable(kind: int) -> LoggedMarginProblem:
    no = vars(MarginProblem.unrestricted(np.eye(2), np.ones(2), LOSSES[0], np.ones(2), np.zeros((0, 2)), False))
    no |= {"lower": np.full(2, -4.0), "upper": np.full(2, 4.0)}
    rows = np.array([[1.0, 1.0], [-1.0, -1.0]])
    if kind == 0:  # w_1 + w_2 = 1/2, both whole
        return LoggedMarginProblem(
            **(no | {"integer": np.ones(2, dtype=np.bool_), "rows": rows, "row_lower": np.array([0.5, -0.5])})
        )
    if kind == 1:  # both points kept, one coefficient used
        return LoggedMarginProblem(
            **(no | {"kept_points": np.ones(2, dtype=np.bool_), "counted": np.ones(2, dtype=np.bool_), "max_nonzeros": 1})
        )
    A = np.array([[1.0, 0.0], [-1.0, 0.0]])
    return LoggedMarginProblem(**(no | {"A": A, "budgets": (Budget(np.arange(2), 0),)}))


@pytest.mark.parametrize("kind", range(3))
def test_that_nothing_is_feasible_is_proved_by_empty_boxes(kind: int, tmp_path: Path) -> None:
    stated = unsolvable(kind)
    nodes = search(stated, math.inf, math.inf)
    assert nodes is not None
    claim = {"bound": None, "infeasible": True, "w": None, "combination": None}
    report = check_proof(sealed(tmp_path / "a.log", [header_of(stated, math.inf), *nodes, claim]))
    assert report.valid and report.bound == report.value == math.inf, report
    far = LoggedMarginProblem(**(vars(stated) | {"upper": np.full(2, np.inf)}))
    report = check_proof(sealed(tmp_path / "a.log", [header_of(far, math.inf), *nodes, claim]))
    assert not report.valid
    for wrong in ({"infeasible": False}, {"bound": 1.0}, {"w": [0.25, 0.25], "combination": []}):
        report = check_proof(sealed(tmp_path / "a.log", [header_of(stated, math.inf), *nodes, claim | wrong]))
        assert not report.valid or report.value == math.inf
    feasible = LoggedMarginProblem(
        **(
            vars(stated)
            | {"rows": np.zeros((0, 2)), "row_lower": np.zeros(0), "kept_points": np.zeros(2, dtype=np.bool_), "budgets": ()}
        )
    )
    report = check_proof(sealed(tmp_path / "a.log", [header_of(feasible, math.inf), *nodes, claim]))
    assert not report.valid
