"""`ramp-bb` against the enumeration of points that are given up, and its proof logs."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import trials
from scipy.optimize import linprog

import marginopt as mo
from marginopt import margin
from marginopt.models.arrays import FloatArray
from marginopt.models.views import MarginProblem, PiecewiseLinearLoss
from marginopt.solvers.exact.search import Incumbent, Node
from marginopt.solvers.proofs import check_proof
from marginopt.solvers.ramp import RampBB
from marginopt.solvers.ramp.check import LoggedRampProblem, RampChecker, RampRules
from marginopt.solvers.ramp.dual import RampProblem
from marginopt.solvers.ramp.program import with_root_conflicts
from marginopt.solvers.ramp.search import RampRule

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

Record = dict[str, Any]
#: Logs that are forged.
FORGED = trials(100, 1000)


def model(seed: int, n: int = 0) -> mo.Margin:
    """Draw a problem: L1 norm or kernel weights, with an intercept or without, costs by point, doubled points, other ramps."""
    rng = np.random.default_rng(seed)
    n, p = n or int(rng.integers(6, 10)), int(rng.integers(1, 4))
    Z = rng.normal(size=(n, p))
    if seed % 4 == 1:
        Z[1] = Z[0]
    y = np.where(Z[:, 0] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    free = seed % 3 != 0
    X = np.column_stack([np.ones(n), Z]) if free else Z
    ramp = (margin.Ramp(2, 2), margin.Ramp(2, 2, second_width=8), margin.Ramp(1, 0.5), margin.Ramp(1, 3))[seed % 5 % 4]
    norm = margin.KernelWeightsL1(Z) if seed % 2 and len(Z) >= p else "l1"
    costs = 10.0 ** rng.uniform(-1.0, 1.0) * rng.uniform(0.2, 1.0, n)
    costs[-1] *= seed % 7 > 0
    return mo.Margin(X, y, ramp, norm, intercept="free" if free else "penalised", sample_weight=costs)


def view_of(stated: mo.Margin) -> MarginProblem:
    """Return the problem that the solver reads."""
    view = stated.view(MarginProblem)
    assert view is not None
    return view


def optimum(view: MarginProblem) -> float:
    """Return the least value over all sets of points whose losses are constant, each by a linear program."""
    n, p = view.A.shape
    m, loss = len(view.atoms), view.loss
    (c, r), best = loss.margins.tolist(), math.inf
    slope = loss.height / (r - c)
    coupled = np.hstack([np.eye(p), -view.atoms.T, view.atoms.T, np.zeros((p, n))])[int(view.intercept) :]
    bounds = [(None, None)] * p + [(0, None)] * (2 * m + n)
    for chosen in itertools.product((False, True), repeat=n):
        flat = np.array(chosen)
        corner = np.where(flat, loss.rise_start if loss.tail > 0.0 else -1e9, r)
        rows = np.hstack([-view.A, np.zeros((n, 2 * m)), -np.eye(n)])
        costs = np.concatenate([np.zeros(p), np.ones(2 * m), view.costs * np.where(flat & (loss.tail > 0.0), loss.tail, slope)])
        solution = linprog(costs, A_ub=rows, b_ub=-corner, A_eq=coupled, b_eq=np.zeros(len(coupled)), bounds=bounds)
        if solution.status == 0:
            best = min(best, float(solution.fun) + loss.height * float(view.costs[flat].sum()))
    return best


@pytest.mark.parametrize("seed", sorted({14, *range(trials(8, 60))}))  # of 14, one multiplier is rounded to a power of two
def test_the_optimum_is_that_of_all_sets_of_points(seed: int, tmp_path: Path) -> None:
    """The log is valid, claims the result's bound, and is none of another problem."""
    stated, path = model(seed), tmp_path / ("a.log" if seed % 2 else "a.log.gz")
    best = optimum(view_of(stated))
    result = mo.solve(stated, "ramp-bb", proof=str(path))
    assert result.status is mo.Status.OPTIMAL
    assert result.objective == pytest.approx(best, rel=2e-6)
    assert result.bound <= best * (1.0 + 1e-9)
    report = check_proof(path, stated)
    assert report.valid, report
    assert report.bound == result.bound
    assert report.value == pytest.approx(result.objective, rel=1e-8)
    assert not check_proof(path, model(seed + 1)).valid


def test_more_coefficients_than_boxes_take() -> None:
    """Auto takes it for eight coefficients; boxes find the same optimum of two."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(14, 7))
    y = np.where(Z[:, 0] + rng.normal(size=14) > 0.0, 1.0, -1.0)
    wide = mo.Margin(np.column_stack([np.ones(14), Z]), y, margin.Ramp(2, 2), "l1", intercept="free", sample_weight=0.1)
    result = mo.solve(wide)
    assert str(result.details["picked"]).startswith("ramp-bb")
    assert result.status is mo.Status.OPTIMAL
    narrow = mo.Margin(Z[:, :2], y, margin.Ramp(2, 2), "l1", sample_weight=0.3)
    assert mo.solve(narrow, "ramp-bb").objective == pytest.approx(mo.solve(narrow, "margin-bb").objective, rel=2e-6)


@pytest.mark.parametrize(
    ("loss", "norm", "options"),
    [
        ("misclassified", "l1", {}),
        (margin.Ramp(2, 2), "l2", {}),
        (margin.Ramp(2, 2), "l1", {"subject_to": [mo.at_most(1).nonzero]}),
        (margin.Ramp(2, 2), "l1", {"domain": margin.Box(-1.0, 1.0)}),
    ],
)
def test_other_parts_are_not_read(loss: Any, norm: str, options: dict[str, Any]) -> None:
    stated = mo.Margin(np.eye(3), np.array([1.0, -1.0, 1.0]), loss, norm, **options)
    assert RampBB().obstacle(stated) is not None
    with pytest.raises(mo.errors.InputError):
        RampChecker().of_model(stated)


def _noisy(n: int = 40) -> mo.Margin:
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(n, 6))
    y = np.where(Z[:, :2].sum(axis=1) > 0.0, 1.0, -1.0) * np.where(rng.random(n) < 0.15, -1.0, 1.0)
    return mo.Margin(np.column_stack([np.ones(n), Z]), y, margin.Ramp(2, 2), "l1", intercept="free", sample_weight=0.3)


def test_a_search_stops_and_continues_with_its_log(tmp_path: Path) -> None:
    """A log of a search that a limit ended proves its bound, and the search goes on from its checkpoint."""
    stated = _noisy()
    bounds = []
    options: dict[str, Any] = {"checkpoint": str(tmp_path / "s.npz"), "proof": str(tmp_path / "a.log")}
    for limit in (1, 5, 40):
        result = mo.solve(stated, "ramp-bb", proof=str(tmp_path / "b.log"), node_limit=limit)
        report = check_proof(tmp_path / "b.log", stated)
        assert report.valid, report
        assert report.bound == result.bound
        piece = mo.solve(stated, "ramp-bb", node_limit=limit, **options)
        assert piece.status is mo.Status.NODE_LIMIT
        bounds.append(piece.bound)
    assert bounds == sorted(bounds)
    assert bounds[-1] > bounds[0]


def test_rules_hold_at_random_points() -> None:
    """The checker's D and θ, of random multipliers and nodes, are below the value of points of the node; so are the conflicts."""
    rng, compared, used = np.random.default_rng(2), 0, 0
    for seed in range(40):
        view = view_of(model(seed, 12))
        keep = view.costs > 0.0
        problem = RampChecker().of_model(model(seed, 12))
        conflicts = with_root_conflicts(RampProblem(_kept(view, keep))).conflicts
        u = np.array([point.alpha for point in conflicts]).reshape(-1, int(keep.sum()))
        problem = LoggedRampProblem(**{**vars(problem), "conflicts": u})
        rules = RampRules(problem, 1.0)
        used += len(u)
        n, p = problem.A.shape
        for _ in range(20):
            w = rng.normal(size=p) * 10.0 ** rng.uniform(-1.0, 1.0)
            margins = problem.A @ w
            lower = margins - rng.choice([0.0, 1.0, 5.0], n) - 1e-9
            given_up = (margins < problem.loss.margins[0] - 1e-9) & (rng.random(n) < 0.5)
            value = RampChecker().value(problem, w.tolist())
            entry = _multipliers(rng, problem, given_up, len(u))
            node = type(rules.root())(given_up, lower, 0.0)
            total, theta = rules._proved(node, entry, None)
            assert total + theta * problem.loss.height * problem.costs[given_up].sum() <= theta * value * (1.0 + 1e-9) + 1e-9
            compared += total > 0.0
    assert compared > 50
    assert used > 40


@pytest.mark.parametrize("reach", [-1.0, 1.0])
def test_thresholds_of_conflicts_are_rounded_down(reach: float) -> None:
    """t = r Σu is a lower bound for ramps that end at a negative margin, too."""
    rng = np.random.default_rng(5)
    u = rng.random((50, 8))
    loss = PiecewiseLinearLoss(np.array([reach - 1.0, reach]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    view = MarginProblem.unrestricted(rng.normal(size=(8, 2)), np.ones(8), loss, np.zeros(2), np.eye(2), intercept=False)
    rules = RampRules(LoggedRampProblem(**{**vars(LoggedRampProblem.of_problem(view)), "conflicts": u}), 1.0)
    for threshold, row in zip(rules._thresholds.tolist(), u.tolist(), strict=True):
        exact = Fraction(reach) * sum(map(Fraction, row))
        assert Fraction(threshold) <= exact
        assert float(exact) - threshold < 1e-14


def _kept(view: MarginProblem, keep: Any) -> MarginProblem:
    return MarginProblem(**{**vars(view), "A": view.A[keep], "costs": view.costs[keep], "kept_points": view.kept_points[keep]})


def _multipliers(rng: np.random.Generator, problem: LoggedRampProblem, given_up: Any, conflicts: int) -> list[Any]:
    """Draw whole multipliers that balance the intercept."""
    n = len(problem.A)
    numbers = rng.integers(0, 100, n + conflicts) * (rng.random(n + conflicts) < 0.5)
    if problem.intercept:
        signs = problem.A[:, 0] * np.where(given_up, -1.0, 1.0)
        excess = int(signs @ numbers[:n])
        lighter = np.flatnonzero(signs * excess < 0)
        if lighter.size:
            numbers[lighter[0]] += abs(excess)
        else:
            numbers[:n] = 0
    text = base64.b64encode(numbers.astype("<i4").tobytes()).decode()
    return [int(rng.integers(-12, -4)), text, float(rng.choice([0.0, 1.0]))]


def _forge(rng: np.random.Generator, records: list[Record]) -> None:
    """Change one thing: the claim, a record, multipliers, a split, a conflict, the problem."""
    nodes, kind = records[1:-1], int(rng.integers(7))
    record = nodes[int(rng.integers(len(nodes)))]
    if kind == 0:
        records[-1]["bound"] *= 1.0 + 10.0 ** rng.uniform(-3, 0)
    elif kind == 1:
        del records[1 + int(rng.integers(len(nodes)))]
    elif kind == 2 and record["margins"]:
        record["margins"][0][1 + 2 * int(rng.integers(2))] += int(rng.integers(1, 9))
    elif kind == 3:
        record["split"] = int(rng.integers(-2, 12))
    elif kind == 4:
        record["bound"][0] += int(rng.integers(-3, 4))
    elif kind == 5 and records[0]["conflicts"]:
        _change_number(rng, records[0]["conflicts"][0])
    else:
        _change_number(rng, record["bound"])


def _change_number(rng: np.random.Generator, entry: list[Any]) -> None:
    numbers = np.frombuffer(base64.b64decode(entry[1]), dtype="<i4").copy()
    numbers[int(rng.integers(numbers.size))] = int(rng.integers(-5, 2**31 - 1))
    entry[1] = base64.b64encode(numbers.tobytes()).decode()


def _sealed(path: Path, records: list[Record]) -> Path:
    lines = [json.dumps(record) + "\n" for record in records]
    seal = hashlib.sha256("".join(lines).encode()).hexdigest()
    path.write_text("".join(lines) + json.dumps({"sha256": seal}) + "\n")
    return path


def test_forged_logs_are_refused(tmp_path: Path) -> None:
    """A claim above the optimum is refused whatever is changed, and no report is above the optimum."""
    rng, logs, refused = np.random.default_rng(7), [], 0
    for seed in range(8):
        stated = model(seed)
        result = mo.solve(stated, "ramp-bb", proof=str(tmp_path / "a.log"), tol=1e-6)
        records = [json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines()][:-1]
        if len(records) > 2:
            logs.append((stated, result, records))
    for trial in range(FORGED):
        stated, result, records = logs[trial % len(logs)]
        forged = json.loads(json.dumps(records))
        _forge(rng, forged)
        if trial % 2:
            forged[-1]["bound"] = max(forged[-1]["bound"], result.objective * (1.0 + 10.0 ** rng.uniform(-6, -1)))
            forged[-1]["w"] = [0.0] * len(forged[-1]["w"])  # a worse point, so that the bound is not above its value
        report = check_proof(_sealed(tmp_path / "forged.log", forged), stated)
        refused += not report.valid
        assert not (trial % 2 and report.valid), (trial, report)
        assert not report.valid or report.bound <= result.objective * (1.0 + 1e-8), (trial, report)
    assert refused > 0.6 * FORGED


def test_a_start_is_taken() -> None:
    """A given point is the incumbent, or a descent from it is."""
    stated = _noisy()
    best: FloatArray = mo.solve(stated, "ramp-bb", node_limit=60).values["w"]
    result = mo.solve(stated, "ramp-bb", start={"w": best}, node_limit=1)
    assert result.objective <= mo.solve(stated, "ramp-bb", node_limit=1).objective * (1.0 + 1e-9)


def test_the_root_ends_at_the_deadline() -> None:
    """A root with many points takes hundreds of linear programs: after the deadline none bounds margins any more."""
    view = view_of(model(3, n=9))
    rule, hurried = (RampRule(with_root_conflicts(RampProblem(view))) for _ in range(2))
    hurried.deadline = -math.inf
    (bound, margins), (hurried_bound, hurried_margins) = (root_of(r) for r in (rule, hurried))
    assert margins and not hurried_margins
    assert -math.inf < hurried_bound <= bound + 1e-9 * abs(bound)


def root_of(rule: RampRule) -> tuple[float, Any]:
    """Return the root's bound, and the multipliers that bound margins there."""
    incumbent = Incumbent(1e-6)
    rule.improve(rule.first_point(), incumbent)
    branching = rule.branch(Node(rule.lower_bound, rule.root()), incumbent)
    assert branching.record is not None
    return branching.bound, branching.record["margins"]


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_equal_points_with_large_costs_have_an_answer(intercept):
    """HiGHS calls the root's relaxation infeasible where its numbers differ by 1e9; the relaxation always has a point."""
    X, y = np.column_stack([np.ones(4), np.full(4, 0.7)]), np.array([1.0, 1.0, -1.0, -1.0])
    result = mo.solve(mo.Margin(X, y, "ramp", "l1", intercept=intercept, sample_weight=1e9), "ramp-bb", node_limit=5)
    assert result.bound <= 4e9 <= result.objective * (1.0 + 1e-9)
