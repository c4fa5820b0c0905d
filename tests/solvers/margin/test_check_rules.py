"""The checker of `margin-bb`'s logs: for random problems of every kind, no rule loses a point or bounds it by too much."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from effort import trials

from marginopt.models.views import Budget, EqualRates, MarginProblem, PiecewiseLinearLoss
from marginopt.solvers.margin.check import BoxLosses, apply_relaxation, least_costs, pair_bound, search_box
from marginopt.solvers.margin.check.boxes import CheckedBox, margin_ranges, propagate, root_box
from marginopt.solvers.margin.check.logged_problem import LoggedMarginProblem, exact_value
from marginopt.solvers.margin.check.rotated_problem import LinearPieces, RotatedProblem, in_log_coordinates

Generator = np.random.Generator

STEPS = PiecewiseLinearLoss(np.array([-2.0, 0.5, 1.0]), np.array([4.0, 2.5, 0.5]), np.array([3.0, 2.0, 0.0]), 0.75, -3.0)
LOSSES = (
    PiecewiseLinearLoss.ramp(2.0, 2.0), PiecewiseLinearLoss.ramp(1.0, 0.5, second_width=3.0), PiecewiseLinearLoss.zero_one(1.0),
    PiecewiseLinearLoss.zero_one(0.25), PiecewiseLinearLoss.hinge(), STEPS,
    PiecewiseLinearLoss(np.array([0.0, 1.0]), np.array([3.0, 1.0]), np.array([2.0, 0.0])), replace(STEPS, rise_start=-2.0),
)  # fmt: skip


def numbers(rng: Generator, *shape: int, nice: bool) -> np.ndarray:
    """Quarters, whose sums are exact and meet corners and each other, or any."""
    return np.round(4.0 * rng.normal(size=shape)) / 4.0 if nice else rng.normal(size=shape)


def product(row: Any, w: list[Fraction]) -> Fraction:
    return sum((Fraction(float(a)) * x for a, x in zip(row, w, strict=True)), Fraction(0))


def loss_at(loss: PiecewiseLinearLoss, m: Fraction) -> Fraction:
    """ρ(m), exactly."""
    t, below, at = ([Fraction(float(x)) for x in part] for part in (loss.margins, loss.below, loss.at))
    tail = Fraction(loss.tail) * max(Fraction(float(loss.rise_start)) - m, Fraction(0)) if loss.tail > 0.0 else Fraction(0)
    if m < t[0]:
        return below[0] + tail
    for k in range(len(t) - 1):
        if t[k] <= m < t[k + 1]:
            return at[k] + (below[k + 1] - at[k]) * (m - t[k]) / (t[k + 1] - t[k]) + tail
    return tail


def cost_of(stated: MarginProblem, w: list[Fraction], norm: Fraction) -> Fraction:
    """The objective, exactly."""
    total = norm + sum(Fraction(d) * x * x for d, x in zip(stated.curvature.tolist(), w, strict=True))
    total += sum(Fraction(price) for price, x in zip(stated.price.tolist(), w, strict=True) if x)
    rows = zip(stated.costs.tolist(), stated.A.tolist(), strict=True)
    return total + sum(Fraction(cost) * loss_at(stated.loss, product(row, w)) for cost, row in rows)


def allowed(stated: MarginProblem, w: list[Fraction]) -> bool:
    """Return whether it is feasible, exactly."""
    inside = all(low <= x <= high for low, x, high in zip(stated.lower.tolist(), w, stated.upper.tolist(), strict=True))
    whole = all(x.denominator == 1 for x, whole in zip(w, stated.integer, strict=True) if whole)
    used = sum(bool(x) for x, counted in zip(w, stated.counted, strict=True) if counted)
    rows = all(product(row, w) >= Fraction(float(least)) for row, least in zip(stated.rows, stated.row_lower, strict=True))
    errors = np.array([product(row, w) < 1 for row in stated.A])
    keeps_points = not errors[stated.kept_points].any()
    within = all(errors[budget.points].sum() <= budget.limit for budget in stated.budgets)
    scores = [[product(row, w) * Fraction(y) for row, y in zip(stated.A, rates.labels, strict=True)] for rates in stated.rates]
    equal = all(spread_of(rates, s) <= Fraction(rates.epsilon) for rates, s in zip(stated.rates, scores, strict=True))
    return inside and whole and rows and keeps_points and within and used <= stated.max_nonzeros and equal


def spread_of(rates: EqualRates, scores: list[Fraction]) -> Fraction:
    """The least difference of shares over all sides on which scores of 0 may count, by enumeration."""
    zero = [i for i, s in enumerate(scores) if s == 0]
    least = Fraction(2)
    for sides in itertools.product((False, True), repeat=len(zero)):
        positive = [s > 0 for s in scores]
        for i, side in zip(zero, sides, strict=True):
            positive[i] = side
        members = [[p for p, g in zip(positive, rates.groups, strict=True) if g == group] for group in range(rates.sizes.size)]
        shares = [Fraction(sum(group), len(group)) for group in members]
        least = min(least, max(shares) - min(shares))
    return least


def down(x: Fraction) -> float:
    return float(x) if Fraction(float(x)) <= x else float(np.nextafter(float(x), -np.inf))


def case(rng: Generator, intercept: bool | None = None) -> tuple[LoggedMarginProblem, np.ndarray]:
    """A problem with any of the sets, and a feasible point: at corners, whole, or 0 now and then."""
    n, p, nice = int(rng.integers(1, 8)), int(rng.integers(1, 5)), bool(rng.random() < 0.6)
    free = bool(rng.random() < 0.4) if intercept is None else intercept
    A = numbers(rng, n, p, nice=nice)
    if free:
        A[:, 0] = rng.choice([-1.0, 1.0], n)
    whole, loss = rng.random(p) < 0.4 * (rng.random() < 0.5), LOSSES[int(rng.integers(len(LOSSES)))]
    w = 2.0 * numbers(rng, p, nice=nice)
    w = np.where(rng.random(p) < 0.25, 0.0, np.where(whole, np.round(w), w))
    turned = np.flatnonzero(A[0] != 0.0)
    if turned.size and rng.random() < 0.5:  # the first margin at a corner, but for rounding
        j = turned[-1]
        w[j] += (rng.choice([*loss.margins, 1.0]) - A[0] @ w) / A[0, j]
        w[j] = np.round(w[j]) if whole[j] else w[j]
    curvature, atoms = np.where(rng.random(p) < 0.7, rng.random(p), 0.0), np.zeros((0, p))
    if rng.random() < 0.4:
        atoms = (numbers(rng, p + 2, p, nice=nice) + np.eye(p + 2, p)) * (rng.random(p) < 0.8)
    if free:
        curvature[0], atoms[:, :1] = 0.0, 0.0
    point = [Fraction(x) for x in w.tolist()]
    margins = [product(row, point) for row in A]
    met, sets = np.array([m >= 1 for m in margins]), rng.random(6) < 0.5
    held = (curvature > 0.0) | atoms.any(axis=0) | (free & (np.arange(p) == 0))
    ended = ~held | (rng.random(p) < 0.5 * sets[0])
    spread = rng.choice([0.0, 0.5, 2.0], p)
    rows = numbers(rng, int(rng.integers(1, 4)) if sets[1] else 0, p, nice=nice)
    slack = [Fraction(float(x)) for x in rng.choice([0.0, 0.0, 0.5], len(rows))]
    least = np.array([down(product(row, point) - x) for row, x in zip(rows, slack, strict=True)])
    counted = rng.random(p) < 0.7
    most = int(((w != 0.0) & counted).sum() + rng.integers(0, 2)) if sets[2] else p
    budgets = []
    for _ in range(int(rng.integers(1, 3)) if sets[3] else 0):
        points = np.flatnonzero(rng.random(n) < 0.7)
        budgets.append(Budget(points, int((~met[points]).sum() + rng.integers(0, 2))))
    rates: tuple[EqualRates, ...] = ()
    if n > 1 and rng.random() < 0.4:
        y, groups = rng.choice([-1.0, 1.0], n), rng.permutation(np.arange(n) % int(rng.integers(2, min(n, 3) + 1)))
        fair = EqualRates(groups, y, 0.0)
        least_spread = spread_of(fair, [m * Fraction(v) for m, v in zip(margins, y.tolist(), strict=True)])
        rates = (replace(fair, epsilon=float(np.nextafter(float(least_spread), 1.0)) + float(rng.choice([0.0, 0.0, 0.2]))),)
    stated = LoggedMarginProblem(
        A, np.where(rng.random(n) < 0.8, 4.0 * rng.random(n), 0.0), loss, curvature, atoms, free,
        np.where(ended, w - spread, -np.inf), np.where(ended, w + spread[::-1], np.inf), whole,
        np.where(rng.random(p) < 0.6, rng.random(p), 0.0) if sets[4] else np.zeros(p), counted, most, rows, least,
        met & (rng.random(n) < 0.5) & sets[5], tuple(budgets), rates,
    )  # fmt: skip
    assert allowed(stated, point)
    return stated, w


def norm_of(stated: LoggedMarginProblem, w: list[Fraction]) -> Fraction:
    """The norm, or a little more: a combination of the least norm in floating point, and what it lacks."""
    from scipy.optimize import linprog

    from marginopt.solvers.margin.check.logged_problem import _norm

    held = stated.atoms.any(axis=0)
    if not held.any():
        return Fraction(0)
    both = np.hstack([stated.atoms[:, held].T, -stated.atoms[:, held].T])
    optimum = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=np.array([float(x) for x in w])[held], method="highs")
    alpha = optimum.x[: len(stated.atoms)] - optimum.x[len(stated.atoms) :]
    norm = _norm(stated, w, [Fraction(x) for x in alpha.tolist()])
    assert norm is not None
    return norm


def around(rng: Generator, problem: RotatedProblem, v: np.ndarray) -> CheckedBox:
    """A box with v in it, or at its ends, and what is known there."""
    width = 10.0 ** rng.uniform(-9, 1.5) * (rng.random() < 0.8)  # now and then no more than the point
    side = np.where(rng.random((2, v.size)) < 0.3, 0.0, width * rng.random((2, v.size)))
    lo, hi = v - side[0], v + side[1]
    marked = (v != 0.0) & (rng.random(v.size) < 0.3)
    return CheckedBox(lo, hi, 0.0, marked, problem.original.kept_points.copy(), np.zeros(len(problem.g), dtype=np.int64))


def entry_of(rng: Generator, problem: RotatedProblem, box: CheckedBox) -> dict[str, Any]:
    """A round of anything that a log may say."""
    stated, terms, p = problem.original, problem.terms.size, box.lo.size
    scale = 10.0 ** rng.uniform(-3, 1)
    pairs = [rng.permutation(terms)[: 2 * int(rng.integers(0, terms // 2 + 1))].tolist() for _ in range(int(rng.integers(0, 3)))]
    entry: dict[str, Any] = {"pairs": pairs}
    if stated.budgets and rng.random() < 0.8:
        entry["theta"] = (scale * rng.random(len(stated.budgets))).tolist()
    if rng.random() < 0.85:
        some = np.flatnonzero(rng.random(terms) < 0.7)
        entry["alpha"] = [[int(i), float(scale * rng.random())] for i in some]
        lines = np.flatnonzero(rng.random(len(problem.lines) - terms) < 0.6)
        entry["rows"] = [[int(r), float(scale * rng.random())] for r in lines]
        entry["support"] = (scale * rng.normal(size=p)).tolist()
        entry["spend"] = float(rng.choice([0.0, 1e-3, 1.0])) * scale
        entry["p"] = rng.normal(size=p).tolist()
        wide = rng.choice([0.0, 0.1]) * (box.hi - box.lo)
        entry["box"] = [(box.lo - wide).tolist(), (box.hi + wide).tolist()]
    return entry


def holds(box: CheckedBox, v: Any) -> bool:
    """In rational arithmetic."""
    return all(Fraction(a) <= Fraction(x) <= Fraction(b) for a, x, b in zip(box.lo.tolist(), v, box.hi.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(trials(6, 30)))
def test_no_rule_loses_a_point_or_bounds_it_by_too_much(seed: int) -> None:
    """Narrowing and rounds one after another, cuts just above the point's cost."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        stated, w = case(rng)
        point = [Fraction(x) for x in w.tolist()]
        cost = cost_of(stated, point, norm_of(stated, point))
        cut = float(np.nextafter(float(cost), np.inf)) * float(rng.choice([1.0, 1.0 + 1e-6, 1.5]))
        with np.errstate(all="ignore"):
            problem = in_log_coordinates(stated, np.eye(w.size), 1.0 + 2.0 * cut)
            box = around(rng, problem, w)
            propagate(problem, box)
            for _ in range(3):
                assert holds(box, point)
                assert all(product(stated.A[i], point) >= 1 for i in np.flatnonzero(box.demanded))
                entry = entry_of(rng, problem, box)
                wide = search_box(box, entry)
                apply_relaxation(problem, wide, entry, cut)
                assert Fraction(wide.bound) <= cost
                box = CheckedBox(
                    np.maximum(box.lo, wide.lo), np.minimum(box.hi, wide.hi), wide.bound, box.marked, box.demanded, box.signs
                )
                propagate(problem, box)
        assert holds(box, point)


@pytest.mark.parametrize("seed", range(trials(5, 20)))
def test_rounds_in_turned_coordinates(seed: int) -> None:
    """T is orthogonal but for rounding."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        stated, _ = case(rng)
        p = stated.A.shape[1]
        stated = LoggedMarginProblem.of_problem(
            MarginProblem.unrestricted(
                stated.A, stated.costs, stated.loss, np.full(p, 0.5), np.zeros((0, p)) if rng.random() < 0.5 else np.eye(p), False
            )
        )
        T, v = np.linalg.qr(rng.normal(size=(p, p)))[0], rng.normal(size=p)
        w = [product(row, [Fraction(x) for x in v.tolist()]) for row in T]
        cost = cost_of(stated, w, sum(map(abs, w), Fraction(0)) if len(stated.atoms) else Fraction(0))
        cut = float(np.nextafter(float(cost), np.inf)) * float(rng.choice([1.0, 1.1]))
        with np.errstate(all="ignore"):
            problem = in_log_coordinates(stated, T, cut)
            assert holds(root_box(problem), v.tolist())
            box = around(rng, problem, v)
            entry = entry_of(rng, problem, box)
            apply_relaxation(problem, box, entry, cut)
        assert holds(box, v.tolist())
        assert Fraction(box.bound) <= cost


@pytest.mark.parametrize("seed", range(trials(5, 20)))
def test_the_root_holds_a_point_as_good_as_any(seed: int) -> None:
    """Of a free intercept: one at a corner, or of whole ones next to it."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        stated, w = case(rng)
        if stated.intercept:  # far out, along what is feasible
            far = w.copy()
            far[0] += np.round(10.0 ** rng.uniform(0, 3)) * rng.choice([-1.0, 1.0])
            w = far if allowed(stated, [Fraction(x) for x in far.tolist()]) else w
        point = [Fraction(x) for x in w.tolist()]
        norm = norm_of(stated, point)
        cost = cost_of(stated, point, norm)
        target = float(np.nextafter(float(cost), np.inf))
        if target <= 0.0:
            continue
        box = root_box(in_log_coordinates(stated, np.eye(w.size), target))
        if not stated.intercept:
            assert holds(box, point)
            continue
        turns = {Fraction(float(t)) for t in (*stated.loss.margins, 0.0, 1.0)}
        turns |= {Fraction(float(stated.loss.rise_start))} if stated.loss.tail > 0.0 else set()
        zero = [Fraction(0), *point[1:]]
        corners = {Fraction(0), *(Fraction(float(x)) for x in (stated.lower[0], stated.upper[0]) if np.isfinite(x))}
        corners |= {(t - product(row, zero)) / Fraction(row[0]) for row in stated.A.tolist() for t in turns}
        rows = zip(stated.rows.tolist(), stated.row_lower.tolist(), strict=True)
        corners |= {(Fraction(least) - product(row, zero)) / Fraction(row[0]) for row, least in rows if row[0]}
        if stated.integer[0]:
            corners = {Fraction(b // 1 + k) for b in corners for k in (0, 1)}
        others = [[b, *point[1:]] for b in corners]
        good = [x for x in others if holds(box, x) and allowed(stated, x) and cost_of(stated, x, norm) <= cost]
        assert good


def test_an_intercept_goes_as_far_as_a_corner_may() -> None:
    """Alone: a corner, a tail, a row, an end, and a whole one next to a corner."""

    def far(sign: float, loss: PiecewiseLinearLoss, **sets: Any) -> tuple[float, float]:
        base = MarginProblem.unrestricted(np.array([[sign]]), np.ones(1), loss, np.zeros(1), np.zeros((0, 1)), True)
        box = root_box(in_log_coordinates(LoggedMarginProblem.of_problem(replace(base, **sets)), np.eye(1), 1e-3))
        return float(box.lo[0]), float(box.hi[0])

    assert (
        far(1.0, PiecewiseLinearLoss.zero_one(5.0)) == pytest.approx((-5.0, 5.0), rel=1e-12)
        and far(1.0, PiecewiseLinearLoss.zero_one(5.0))[1] >= 5.0
    )
    assert far(-1.0, PiecewiseLinearLoss.ramp(1.0, 9.0)) == pytest.approx((-8.0, 8.0), rel=1e-12)
    assert far(1.0, PiecewiseLinearLoss.ramp(1.0, 2.0, second_width=7.0)) == pytest.approx((-6.0, 6.0), rel=1e-12)
    assert far(1.0, PiecewiseLinearLoss.zero_one(2.5), integer=np.ones(1, dtype=np.bool_)) == (-3.0, 3.0)
    row = {"rows": np.array([[0.5]]), "row_lower": np.array([4.0])}
    assert far(1.0, PiecewiseLinearLoss.zero_one(1.0), **row) == pytest.approx((8.0, 8.0), rel=1e-12)
    assert far(1.0, PiecewiseLinearLoss.zero_one(1.0), lower=np.array([9.0])) == pytest.approx((9.0, 9.0), rel=1e-12)
    assert far(1.0, PiecewiseLinearLoss.zero_one(1.0), lower=np.array([-2.0]), upper=np.array([9.0])) == pytest.approx(
        (-2.0, 9.0), rel=1e-12
    )


@pytest.mark.parametrize("seed", range(trials(5, 20)))
def test_a_box_of_one_point_costs_what_the_point_does(seed: int) -> None:
    """Bounds are not weak: with any slopes, but of no rows and no prices of budgets, which cost what their slack does."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        stated, w = case(rng)
        near = {"lower": np.maximum(stated.lower, w - 9.0), "upper": np.minimum(stated.upper, w + 9.0)}
        stated = replace(stated, atoms=np.zeros((0, w.size)), **near)
        margins = np.abs(stated.A @ w - np.array([[*stated.loss.margins, 1.0]]).T)
        if (margins < 1e-9).any():
            continue
        cost = float(cost_of(stated, [Fraction(x) for x in w.tolist()], Fraction(0)))
        with np.errstate(all="ignore"):
            problem = in_log_coordinates(stated, np.eye(w.size), 1.0 + cost)
            box = CheckedBox(
                w.copy(),
                w.copy(),
                0.0,
                np.zeros(w.size, dtype=np.bool_),
                stated.kept_points.copy(),
                np.zeros(len(problem.g), dtype=np.int64),
            )
            propagate(problem, box)
            entry = entry_of(rng, problem, box) | {"rows": [], "theta": [0.0] * len(stated.budgets), "pairs": []}
            entry = {key: value for key, value in entry.items() if key != "box"}
            apply_relaxation(problem, box, entry, 1.0 + cost)
        assert box.bound == pytest.approx(cost, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("price_asked, gamma", [(0.25, 0.25), (9.0, 0.5), (-9.0, -0.25)])
def test_a_price_is_a_slope_that_its_box_allows(price_asked: float, gamma: float) -> None:
    """γ is between 1/lo and 1/hi; v² + (γ - α) v is least where it is flat, and α m at the low end."""
    base = MarginProblem.unrestricted(
        np.ones((1, 1)), np.zeros(1), PiecewiseLinearLoss.hinge(), np.ones(1), np.zeros((0, 1)), False
    )
    problem = in_log_coordinates(LoggedMarginProblem.of_problem(replace(base, price=np.ones(1))), np.eye(1), 16.0)
    no = np.zeros(1, dtype=np.bool_)
    for marked, price, slope in ((no, 0.0, gamma), (~no, 1.0, 0.0)):
        box = CheckedBox(np.array([-4.0]), np.array([2.0]), -9.0, marked, no, np.zeros(1, dtype=np.int64))
        rule = {"pairs": [], "p": [0.0], "spend": 0.0, "alpha": [[0, 0.3]], "support": [price_asked]}
        apply_relaxation(problem, box, rule, 16.0)
        assert box.bound == pytest.approx(price - 4.0 * 0.3 - (slope - 0.3) ** 2 / 4.0, rel=1e-12)


@pytest.mark.parametrize("first", LOSSES)
@pytest.mark.parametrize("second", LOSSES)
def test_two_losses_cost_what_a_grid_says(first: PiecewiseLinearLoss, second: PiecewiseLinearLoss) -> None:
    """Bounded parts: on a grid that has all corners, the least is met."""
    one, other = (replace(loss, tail=0.0, rise_start=-np.inf) for loss in (first, second))
    grid = np.arange(-80, 81) / 8.0
    top = np.arange(-40, 41) / 8.0
    pieces = LinearPieces.of(first), LinearPieces.of(second)
    result = pair_bound(*pieces, top - 1e-12)
    brute = np.array([(one.values(grid) + other.values(s - grid)).min() for s in top])
    assert (pair_bound(*pieces, top) <= brute).all()
    assert (result >= pair_bound(*pieces, top)).all()
    # a little less than the sum is the sum's limit from below where the least jumps, and else the same
    limit = np.array([(one.values(grid) + other.values(s - 1e-9 - grid)).min() for s in top])
    mixed = np.array([(one.values(s - 1e-9 - grid) + other.values(grid)).min() for s in top])
    assert result == pytest.approx(np.minimum(limit, mixed), abs=1e-7)


def test_margins_and_losses_have_their_rounding_taken_off() -> None:
    rng = np.random.default_rng(0)
    for _ in range(trials(80, 300)):
        stated, _ = case(rng)
        p = stated.A.shape[1]
        problem = in_log_coordinates(replace(stated, lower=np.full(p, -9.0), upper=np.full(p, 9.0)), np.eye(p), 9.0)
        lo, hi = np.sort(rng.normal(size=(2, p)), axis=0)
        low, high, _ = margin_ranges(
            problem,
            CheckedBox(lo, hi, 0.0, np.zeros(p, dtype=np.bool_), stated.kept_points, np.zeros(len(stated.A), dtype=np.int64)),
        )
        for i, row in enumerate(stated.A):
            ends = [[Fraction(float(b if (a > 0.0) == up else c)) for a, b, c in zip(row, hi, lo, strict=True)] for up in (0, 1)]
            assert Fraction(float(low[i])) <= product(row, ends[0]) and product(row, ends[1]) <= Fraction(float(high[i]))
        bounded = replace(stated.loss, tail=0.0, rise_start=-np.inf)
        for m, result in zip(low, problem.pieces[0].lower_bound(low), strict=True):
            assert Fraction(float(result)) <= loss_at(bounded, Fraction(float(m)))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_slope_bounds_a_loss_by_its_least_value(loss: PiecewiseLinearLoss) -> None:
    rng = np.random.default_rng(0)
    stated = LoggedMarginProblem.of_problem(
        MarginProblem.unrestricted(np.ones((1, 1)), np.ones(1), loss, np.ones(1), np.zeros((0, 1)), False)
    )
    problem = in_log_coordinates(stated, np.eye(1), 9.0)
    bounded = replace(loss, tail=0.0, rise_start=-np.inf)
    grid = np.arange(-64, 65) / 8.0
    under = problem.pieces[0].lower_bound(grid)
    assert (under <= bounded.values(grid)).all()
    assert under == pytest.approx(bounded.values(grid), abs=1e-12)
    for _ in range(trials(80, 300)):
        low, high = np.sort(rng.choice(grid, 2))
        cost, paid, alpha = 1.0 + rng.random(), rng.random(), float(rng.choice([0.0, 0.3, 1.0, 3.0]))
        term = BoxLosses(0.0, np.array([cost]), np.array([cost - paid]), np.array([low]), np.array([high]), np.zeros(1))
        inside = grid[(grid >= low) & (grid <= high)]
        tail = loss.values(inside) - bounded.values(inside)
        least = ((cost - paid) * bounded.values(inside) + cost * tail + alpha * inside).min()
        array = least_costs(problem, term, np.array([alpha]))
        assert array.shape == (1,) and array[0] <= least and array[0] == pytest.approx(least, abs=1e-12)


def test_the_value_is_the_objective_where_the_point_is_feasible() -> None:
    """And where it is not, infinite; a margin or an end may be short by 1e-9."""
    for seed in range(trials(80, 300)):
        stated, w = case(np.random.default_rng(seed))
        point = [Fraction(x) for x in w.tolist()]
        least = [corner - product(row, point) for row in stated.A for corner in [Fraction(float(t)) for t in stated.loss.margins]]
        value = exact_value(stated, w.tolist(), [0.0] * len(stated.atoms))
        if not any(0 < x < Fraction(1, 10**6) for x in least):
            cost = cost_of(stated, point, norm_of(stated, point))
            assert value >= float(cost) * (1.0 - 1e-12)
            assert len(stated.atoms) or value == pytest.approx(float(cost), rel=1e-14)
        for short, fine in ((1e-10, True), (1e-7, False)):
            ends = {"lower": np.full(w.size, -np.inf), "upper": np.minimum(stated.upper, w - short * (1.0 + np.abs(w)))}
            shorter = replace(stated, **ends)
            assert np.isfinite(exact_value(shorter, w.tolist(), [0.0] * len(stated.atoms))) == fine


def test_zeros_and_integers_of_a_value_are_exact() -> None:
    """A combination of atoms is w only but for rounding; what it lacks is made up."""
    base = MarginProblem.unrestricted(np.eye(2), np.ones(2), PiecewiseLinearLoss.hinge(), np.zeros(2), np.eye(2) / 0.3, False)
    stated = LoggedMarginProblem.of_problem(
        replace(base, integer=np.ones(2, dtype=np.bool_), counted=np.ones(2, dtype=np.bool_), max_nonzeros=1)
    )
    assert exact_value(stated, [3.0, 0.0], [3.0 * 0.3, 0.0]) == pytest.approx(0.9 + 1.0, rel=1e-14)
    assert exact_value(stated, [3.0, 0.0], [0.0, 0.0]) == pytest.approx(0.9 + 1.0, rel=1e-14)
    assert exact_value(stated, [3.0, 1e-30], [3.0 * 0.3, 0.0]) == np.inf
    assert exact_value(stated, [3.0 + 1e-15, 0.0], [3.0 * 0.3, 0.0]) == np.inf
    jump = LoggedMarginProblem.of_problem(replace(base, loss=PiecewiseLinearLoss.zero_one(1.0)))
    assert exact_value(jump, [1.0 - 1e-12, 2.0], [0.3, 0.6]) < 0.91
    assert exact_value(jump, [1.0 - 1e-6, 2.0], [0.3, 0.6]) > 1.8
