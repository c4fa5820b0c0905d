"""Relaxations by the type of the parts: below the enumerated optimum, in their order, equal to the paper's where they meet."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from effort import trials
from facts import about

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError, TooLargeError, UnsupportedModelError
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.models.model import BareForm
from marginopt.relaxations import (
    AllHulls,
    BigM,
    Conic,
    Continuous,
    EqualHulls,
    Lagrangian,
    Moments,
    OneHull,
    PairHulls,
    Perspective,
    Products,
    SinglePoint,
    get_relaxation,
    model_gaps,
    relax,
    relaxations,
)
from marginopt.solvers import Options

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
STEPS = margin.PiecewiseLinear(((-1.0, 1.5), (0.0, 1.0), (1.0, 0.0), (2.0, 0.0)))
TIGHT = Options(tol=1e-8)


def points(seed: int, n: int = 6) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n, 2, 0.4, order="halves", first=-1.0)


def least_of(branch: Any) -> float:
    """The least value of the branch: at an end of its interval, or where two of its lines cross."""
    crossed = [(d - b) / (a - c) for (a, b), (c, d) in itertools.combinations(branch.lines, 2) if a != c]
    ends = (branch.low, branch.high, min(max(0.0, branch.low), branch.high))  # the last one where it is constant
    at = [m for m in (*ends, *crossed) if np.isfinite(m) and branch.low <= m <= branch.high]
    return float(min(max(s * m + t for s, t in branch.lines) for m in at))


def enumerated(X: np.ndarray, y: np.ndarray, loss: Any, regulariser: Any, cost: float) -> float:
    """The least over all choices of a branch for each point, a convex problem each, written in CVXPY.

    Choices whose branches alone cost as much as the best one come last, and are not solved.
    """
    best, u = np.inf, y[:, None] * X
    least = {branch: cost * least_of(branch) for branch in loss.convex_pieces()}
    choices = list(itertools.product(least, repeat=y.size))
    for choice in sorted(choices, key=lambda choice: sum(map(least.get, choice))):
        if sum(map(least.get, choice)) >= best:
            break
        w = cp.Variable(X.shape[1])
        total: Any = regulariser.mu * (cp.norm1(w) if regulariser == margin.L1() else cp.sum_squares(w))
        rows = []
        for m, branch in zip([row @ w for row in u], choice, strict=True):
            total = total + cost * cp.max(cp.hstack([s * m + t for s, t in branch.lines]))
            rows += [m >= branch.low] if np.isfinite(branch.low) else []
            rows += [m <= branch.high] if np.isfinite(branch.high) else []
        problem = cp.Problem(cp.Minimize(total), rows)
        problem.solve(solver="CLARABEL")
        if problem.status == "optimal":
            best = min(best, problem.value)
    return float(best)


@pytest.mark.parametrize(
    "loss", [margin.ZeroOne(), margin.Ramp(2, 2), margin.Ramp(1, 0.5)], ids=["zero-one", "ramp", "steep ramp"]
)
def test_bounds_are_below_the_enumerated_optimum_and_in_order(loss: Any) -> None:
    X, y = points(1)
    model = mo.Margin(X, y, loss, margin.SquaredNorm(0.7), sample_weight=0.5)
    optimum = enumerated(X, y, loss, margin.SquaredNorm(0.7), 0.5)
    assert mo.solve(model, "scip").objective == pytest.approx(optimum, rel=1e-4)
    values = {}
    for reduction in (
        Continuous(),
        Products(False),
        Products(),
        Products(rounds=10),
        OneHull(),
        EqualHulls(),
        AllHulls(),
        PairHulls(pairs=4),
        PairHulls(pairs=15),
    ):
        relaxed = relax(model, reduction, "clarabel", TIGHT)
        values[reduction.name] = relaxed.result.objective
        assert relaxed.bound <= optimum + 1e-6
        assert relaxed.lifted is not None
        assert relaxed.lifted.value == pytest.approx(relaxed.result.objective, rel=1e-4, abs=1e-4)
        assert relaxed.objective >= optimum - 1e-6
        assert model.objective(relaxed.values["w"]) == relaxed.objective
    order = [
        ("continuous", "products, no triangles"),
        ("products, no triangles", "products, triangles separated"),
        ("products, triangles separated", "products"),
        ("continuous", "hulls, equal gamma"),
        ("hulls, equal gamma", "hulls, SDP"),
        ("hulls, one point", "hulls, SDP"),
        ("hulls, SDP", "hulls, 4 pairs"),
        ("hulls, 4 pairs", "hulls, 15 pairs"),
    ]
    for weaker, stronger in order:
        assert values[weaker] <= values[stronger] + 1e-5 * (1 + abs(optimum)), (weaker, stronger)
    assert values["products, triangles separated"] == pytest.approx(values["products"], rel=1e-4)
    assert values["hulls, SDP"] < values["hulls, 15 pairs"]  # pairs do something here


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("seed", range(trials(2, 60)))
def test_hulls_of_unlabelled_points_lie_between_the_labelled_and_the_enumerated_optimum(seed: int, intercept: Any) -> None:
    X, y = points(seed, 8)
    X, labelled = np.column_stack([np.ones(8), X]), np.isin(np.arange(8), (0, 1, 6, 7))
    groups = np.where(labelled, "labelled", "unlabelled")
    losses = {"labelled": "hinge", "unlabelled": margin.Hat()}
    model = mo.Margin(X, np.where(labelled, y, 0.0), losses, groups=groups, intercept=intercept)
    machines = []
    for signs in itertools.product([-1.0, 1.0], repeat=4):
        classes = y.copy()
        classes[~labelled] = signs
        machines.append(mo.Margin(X, classes, "hinge", intercept=intercept))
    optimum = min(mo.solve(machine, "clarabel", tol=1e-9).objective for machine in machines)
    alone = mo.solve(mo.Margin(X[labelled], y[labelled], "hinge", intercept=intercept), "clarabel", tol=1e-9).objective
    relaxed = relax(model, "hulls", options=TIGHT)
    assert relaxed.bound_kind == "proved" and relaxed.bound <= optimum * (1.0 + 1e-9) <= relaxed.objective * (1.0 + 1e-6)
    if intercept == "free":  # an intercept of either sign, as large as may be, lets every unlabelled point off
        assert relaxed.bound == pytest.approx(alone, rel=1e-5)
    else:
        assert relaxed.bound - alone >= 0.05 * (optimum - alone) - 1e-5
    assert {row.label for row in relaxed.form.constraints} >= {"labelled margin", "unlabelled hull"}


@pytest.mark.parametrize("seed", range(trials(2, 3)))
def test_without_m_they_are_the_papers_on_the_zero_one_loss(seed: int) -> None:
    X, y = points(seed, 10)
    model = mo.ZeroOneSVM(X, y, 0.6)
    for ours, papers in (
        (AllHulls(margin_bounds=False), Conic()),
        (OneHull(margin_bounds=False), SinglePoint()),
        (EqualHulls(margin_bounds=False), Perspective("uniform")),
    ):
        values = [relax(model, r, "clarabel", TIGHT).result.objective for r in (ours, papers)]
        assert values[0] == pytest.approx(values[1], rel=2e-5), ours.name
    continuous, big_m = (relax(model, r, "clarabel", TIGHT).result.objective for r in (Continuous(), BigM("zero")))
    assert continuous <= big_m + 1e-6  # the named model's M_i know that z_i = 1 costs λ_i
    with_m = relax(model, AllHulls(), "clarabel", TIGHT).result.objective
    assert with_m >= relax(model, Conic(), "clarabel", TIGHT).result.objective - 1e-6


def test_the_ramp_is_read_as_the_zero_one_loss_is() -> None:
    X, y = points(4, 8)
    model = mo.RampSVM(X, y, 0.7, intercept="penalised")
    optimum = mo.solve(model, "scip").objective
    relaxed = relax(model, AllHulls(), "clarabel", TIGHT)
    assert relaxed.bound <= optimum + 1e-6
    assert set(relaxed.values) == {"w", "z", "xi"}
    assert mo.certify(model, relaxed.values).primal_residual <= 1e-8
    assert model.objective(relaxed.values["w"]) == pytest.approx(relaxed.objective)
    table = model_gaps(model, ["continuous", "products", "hulls"], "scip", Options(time_limit=60))
    assert [row.relaxation.reason for row in table.rows] == [""] * 3
    assert [cell.reason for cell in table.exacts] == [""]
    zeta = table.best[model.name, None]
    assert zeta.high == pytest.approx(optimum, rel=1e-5)
    assert all(row.relaxation.bound <= optimum * (1 + 1e-5) for row in table.rows)
    assert "gap" in str(table)
    assert {"continuous", "products", "hulls"} <= {n for n, r in relaxations().items() if not r.reduction.obstacle(model)}


def test_restrictions_and_domains_stay_in_the_relaxation() -> None:
    X, y = points(2, 8)
    group = X[:, 1] > np.median(X[:, 1])
    model = mo.Margin(
        X, y, "ramp", domain=margin.Box(-0.5, 0.8), subject_to=[mo.parity(group, 0.05), mo.keep([7])], sample_weight=0.4
    )
    optimum = mo.solve(model, "scip").objective
    plain = mo.Margin(X, y, "ramp", sample_weight=0.4)
    for reduction in (Continuous(), Products(False), AllHulls(), OneHull(), EqualHulls()):
        bound = relax(model, reduction, "clarabel", TIGHT).bound
        assert relax(plain, reduction, "clarabel", TIGHT).bound <= bound + 1e-5
        assert bound <= optimum + 1e-6


def test_any_loss_with_branches_and_l1() -> None:
    X, y = points(5, 4)
    model = mo.Margin(X, y, STEPS, "l1", sample_weight=0.5)
    optimum = enumerated(X, y, STEPS, margin.L1(), 0.5)
    assert mo.solve(model, "highs").objective == pytest.approx(optimum, rel=1e-4)
    for reduction in (Continuous(), Products(False)):
        assert relax(model, reduction, "clarabel", TIGHT).bound <= optimum + 1e-6
    smooth = mo.Margin(X, y, STEPS, margin.ElasticNet(0.1, 0.9), sample_weight=0.5)
    best = mo.solve(smooth, "scip").objective
    assert relax(smooth, AllHulls(), "clarabel", TIGHT).bound <= best + 1e-5


def test_a_bound_stays_where_no_multiple_of_w_is_allowed() -> None:
    """Half of a class must have margin 1, which w = 0 and its multiples do not give: the bound counts all the same."""
    X, y = points(0, 10)
    model = mo.Margin(X, y, "zero-one", sample_weight=0.5, subject_to=mo.error_budget(-1, 0.2))
    optimum = mo.solve(model, "scip").objective
    for name in ("continuous", "hulls-single", "hulls"):
        relaxed = relax(model, name, "clarabel", tol=1e-8)
        assert relaxed.bound_kind == "proved"
        assert relaxed.bound <= optimum + 1e-6
        if relaxed.values is None:
            assert np.isnan(relaxed.objective)
        else:
            assert relaxed.objective >= optimum - 1e-6
    assert all(row.relaxation.reason == "" for row in model_gaps(model, ["continuous"], None).rows)


def test_a_counted_intercept_counts_in_what_is_recovered() -> None:
    X, y = points(0, 10)
    model = mo.Margin(X, y, "ramp", subject_to=mo.at_most(1).nonzero)  # the intercept is penalised: it is one of them
    assert model.summary({"w": np.array([0.1, 1.0, 0.0])})["excess of nonzero"] == 1.0
    optimum = mo.solve(model, "scip").objective
    relaxed = relax(model, "hulls", "clarabel", tol=1e-8)
    assert relaxed.objective >= optimum - 1e-6
    free = mo.Margin(X, y, "hinge", intercept="free", domain=margin.Box(-5.0, 5.0), subject_to=mo.at_most(1).nonzero)
    assert free.summary({"w": np.array([0.1, 1.0, 0.0])})["excess of nonzero"] == 0.0


@pytest.mark.parametrize("changed", [False, True])
def test_named_rows_of_any_model_are_priced(changed: bool) -> None:
    X, y = points(2, 10)
    model: mo.Model = mo.Margin(X, y, "ramp", "elastic-net", sample_weight=0.5)
    if changed:
        model = model.with_constraint(lambda v: {"slope": v.w[1] >= v.w[2] + 0.1})
    optimum = mo.solve(model, "scip").objective
    continuous = relax(model, "continuous", tol=1e-8)
    for rows in ("margin", "slope") if changed else ("margin",):
        priced = relax(model, Lagrangian(rows), tol=1e-8)
        assert priced.bound_kind == "proved"
        assert priced.bound <= optimum + 1e-6
        assert priced.bound == pytest.approx(continuous.bound, rel=1e-4)
        assert priced.objective >= optimum - 1e-6
        assert priced.lifted is not None
        assert priced.lifted.value <= optimum + 1e-6
    rng = np.random.default_rng(0)
    wild = relax(model, Lagrangian("margin", prices=tuple(rng.random(10).tolist())))  # weak duality at any prices
    assert wild.bound <= continuous.result.objective + 1e-6
    with pytest.raises(UnsupportedModelError, check=about("Lagrangian, nothing")):
        relax(model, Lagrangian("nothing"))


def test_switches_without_an_upper_bound_are_a_hinge_loss() -> None:
    X, y = points(3, 12)
    model = mo.Margin(X, y, "zero-one", sample_weight=0.5)
    relaxed = relax(model, "continuous-hinge", "clarabel", tol=1e-8)
    w, u = cp.Variable(3), y[:, None] * X
    slopes = 0.5 / model.form.constraint("margin").F.toarray()[:, model.form.slices["z"]].sum(axis=1)
    cost = cp.sum_squares(w) + slopes @ cp.pos(1 - u @ w)
    expected = float(cp.Problem(cp.Minimize(cost)).solve(solver="CLARABEL"))
    assert relaxed.result.objective == pytest.approx(expected, rel=1e-5)
    assert relaxed.bound_kind == "proved"
    assert relaxed.bound <= relax(model, "continuous", "clarabel", tol=1e-8).bound + 1e-6


@pytest.mark.parametrize(("loss", "n"), [(margin.ZeroOne(), 4), (margin.Ramp(2, 2), 2)], ids=["zero-one", "ramp"])
def test_moments_are_the_last_in_order_and_below_the_enumerated_optimum(loss: Any, n: int) -> None:
    X, y = points(1, n)
    model = mo.Margin(X, y, loss, margin.SquaredNorm(0.7), sample_weight=0.5)
    optimum = enumerated(X, y, loss, margin.SquaredNorm(0.7), 0.5)
    moments, products = (relax(model, r, "clarabel", Options(tol=1e-7)) for r in (Moments(), Products()))
    assert moments.bound <= optimum + 1e-7
    assert moments.bound >= products.bound - 1e-5
    assert moments.bound == pytest.approx(optimum, rel=1e-4)  # exact here, where RLT is not on the 0-1 loss
    assert moments.lifted is not None
    assert moments.lifted.value <= optimum + 1e-7
    assert moments.objective >= optimum - 1e-6


def test_the_lift_of_every_feasible_point_satisfies_the_moments() -> None:
    """x^α at feasible points of a form with an equation, an integer that is no binary, and a quadratic objective."""
    import itertools as it

    from marginopt.relaxations.bounds.form_relaxations import moment_form

    model = mo.Margin(*points(3, 2), "zero-one", sample_weight=0.7, domain=margin.Integers(-2, 2), subject_to=mo.fixed({2: 1.0}))
    form = model.form
    made = moment_form(form)
    names = list(it.combinations_with_replacement(range(form.n), 2))
    assert made.n > form.n + len(names) // 2
    relaxed = mo.solve(made, "clarabel", tol=1e-7)
    whole = [range(int(low), int(high) + 1) for low, high in zip(form.lower, form.upper, strict=True)]
    allowed = []
    for x in it.product(*whole):
        point = np.array(x, dtype=float)
        if all(c.cone.violation(c.value(point)) <= 1e-9 for c in form.constraints):
            allowed.append(form.objective(point))
    assert relaxed.bound <= min(allowed) + 1e-6
    assert relaxed.bound >= min(allowed) - 0.5 * abs(min(allowed)) - 1.0


def test_a_violated_triangle_is_found_and_none_at_binaries() -> None:
    from marginopt.relaxations.bounds.form_relaxations import all_triangles, violated_triangles

    assert all_triangles(5).shape == (40, 4)
    binary, half = np.arange(3), np.full(3, 0.5)
    values = {"x": half, **{f"x z{j}": np.zeros(3) for j in range(3)}}  # Z = 0 with z = 1/2: the fourth kind
    assert violated_triangles(values, binary, 10, 1e-6).tolist() == [[0, 1, 2, 3]]
    for z in itertools.product([0.0, 1.0], repeat=3):
        point = np.array(z)
        assert not violated_triangles({"x": point, **{f"x z{j}": point * point[j] for j in range(3)}}, binary, 10, 1e-9).size


def test_products_that_do_not_fit_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that are counted are more than those that are taken, and all triangles of 220 points are not listed."""
    from marginopt.relaxations.bounds.form_relaxations import all_triangles, binaries_of, product_bytes, product_form

    form = mo.Margin(*points(0, 24), "zero-one", "l2", domain=margin.Box(-5.0, 5.0)).form
    tracemalloc.start()
    made = product_form(form, all_triangles(binaries_of(form).size))
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (triangles,) = (c.rows for c in made.constraints if c.label == "triangles")
    assert product_bytes(form, triangles) >= taken
    large = mo.Margin(*points(0, 220), "zero-one", "l2", domain=margin.Box(-5.0, 5.0))
    monkeypatch.setenv("MARGINOPT_MAX_BYTES", "12e9")
    monkeypatch.setattr("marginopt.relaxations.bounds.form_relaxations.all_triangles", None)
    with pytest.raises(TooLargeError):
        Products().apply(large)


@pytest.mark.parametrize(
    ("model", "reduction", "name"),
    [
        (lambda X, y: mo.Margin(X, y), "continuous", "continuous"),
        (lambda X, y: mo.Margin(X, y), "hulls", "hulls, SDP"),
        (lambda X, y: mo.Margin(X, y, "ramp", "l1"), "hulls", "hulls, SDP"),
        (lambda X, y: mo.Margin(X, y, "ramp", intercept="free"), "hulls-equal", "hulls, equal gamma"),
        (lambda X, y: mo.Margin(X, y, "zero-one", "none"), "products", "products"),
        (lambda X, y: mo.Margin(X, y, "ramp", "l1"), "moments", "moments"),
        (lambda X, y: mo.Margin(X, y, "zero-one", "none"), "moments", "moments"),
        (lambda X, y: mo.ZeroOneSVM(np.tile(X, (4, 1)), np.tile(y, 4)), "moments", "moments"),
        (lambda X, y: mo.ConicSVM(X, y, 1.0), "hulls", "hulls, SDP"),
        (lambda X, y: mo.ZeroOneSVM(X, y, kappa=0.2), "hulls", "hulls, SDP"),
    ],
)
def test_refusals_name_the_part_and_who_can(model: Any, reduction: str, name: str) -> None:
    with pytest.raises(UnsupportedModelError, check=about(name)):
        relax(model(*points(0)), get_relaxation(reduction).reduction)


def test_the_table_refuses_what_is_no_model() -> None:
    with pytest.raises(InputError, check=about("model")):
        model_gaps([3])  # type: ignore[arg-type]


class TwoBlocks(BareForm):
    """A model that makes its points of both blocks, and of none alone."""

    def complete(self, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"x": values["x"], "z": values["z"]}


def test_a_model_that_makes_no_point_of_its_first_block_is_relaxed() -> None:
    rows = Constraint("row", sp.csr_array([[1.0, 3.0]]), -np.ones(1), Nonnegative(1))
    blocks = (Block("x", ()), Block("z", ()))
    form = StandardForm("two", blocks, np.ones(2), (rows,), np.zeros(2), np.full(2, 2.0), np.array([False, True]))
    relaxed = relax(TwoBlocks(form), "continuous")
    assert relaxed.bound == pytest.approx(1.0 / 3.0, abs=1e-6)
    assert relaxed.objective is None or relaxed.objective >= 1.0 - 1e-6


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_several_classes_recover_the_best_multiple(seed: int) -> None:
    """Large constants leave W near zero; what is recovered costs no more than a multiple of it that costs less than W = 0."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, 24)
    centres = 1.5 * np.array([[0, 1], [1, -1], [-1, -1]])
    X = np.column_stack([np.ones(24), rng.normal(size=(24, 2)) + centres[classes]])
    model = mo.MulticlassSVM(X, classes, "zero-one")
    relaxed = relax(model, "continuous")
    assert relaxed.objective is not None and relaxed.result is not None
    W = relaxed.result.values["W"]
    least = min(model.objective(t * W) for t in (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0))
    assert relaxed.bound <= relaxed.objective <= least + 1e-6
