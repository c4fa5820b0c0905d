"""The view of nonconvex compositions: losses by their corners, what each part becomes, and which part stands in the way."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds
from effort import trials
from facts import about
from hypothesis import given, settings, strategies as st

import marginopt as mo
from marginopt import margin
from marginopt.models.formulations.margin.assembly import Affine, Assembly
from marginopt.models.formulations.margin.part import AssemblyContext
from marginopt.models.formulations.margin.restrictions import Restriction
from marginopt.models.program.cones import SecondOrder
from marginopt.models.views import LinearProblem, MarginProblem, PiecewiseLinearLoss, ZeroOneProblem
from marginopt.rows import MemoryRows

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

FAR = np.inf
BOX = margin.Box(-2.0, 2.0)


def composed(loss: Any = "ramp", regulariser: Any = "l2", n: int = 6, **parts: Any) -> mo.Margin:
    X, y = clouds(0, n, 2, 0.5, order="turns", first=-1.0)
    return mo.Margin(X, y, loss, regulariser, **parts)


def read(model: mo.Margin) -> MarginProblem:
    view = model.view(MarginProblem)
    assert view is not None, model.no_view_reason
    return view


@st.composite
def falling(draw: st.DrawFn) -> margin.PiecewiseLinear:
    """A piecewise-linear loss that falls to 0, with a level or a slope on the left, and jumps."""
    size = draw(st.integers(2, 6))
    steps = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=size, max_size=size))
    drops = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 1.5]), min_size=size, max_size=size))
    inner = []
    for step in steps:  # no three margins are equal
        inner.append(1.0 if step == 0.0 and inner[-1:] == [0.0] else step)
    m = draw(st.sampled_from([-2.0, 0.0, 0.5])) + np.cumsum([0.0, 0.5, *inner[1:], 0.5])
    v = np.append(np.cumsum([0.0, *drops[::-1][:-1], 0.0][: m.size - 1])[::-1], 0.0)
    v[-2] = 0.0
    return margin.PiecewiseLinear(tuple(zip(m.tolist(), v.tolist(), strict=True)))


def agree(loss: Any, corners: PiecewiseLinearLoss) -> None:
    ends = corners.margins[:, None] + np.array([-1e-3, 0.0, 1e-3])
    again = [corners.rise_start] if corners.tail > 0.0 else []
    m = np.concatenate([np.linspace(-20.0, 20.0, 401), ends.ravel(), again])
    assert np.allclose(corners.values(m), loss.values(m), rtol=1e-12, atol=1e-12)
    assert (np.diff(corners.margins) > 0).all()
    assert (corners.at <= corners.below).all()
    assert corners.at[-1] == 0.0
    assert corners.tail == 0.0 or corners.rise_start <= corners.margins[0]


@settings(max_examples=trials(60, 200), deadline=None)
@given(falling())
def test_corners_of_breakpoints_are_the_loss(loss: margin.PiecewiseLinear) -> None:
    corners = loss.piecewise_linear()
    assert corners is not None
    agree(loss, corners)


@pytest.mark.parametrize(
    "loss",
    [
        margin.Ramp(), margin.Ramp(1.0, 0.5), margin.Ramp(2.0, 2.0, 100.0), margin.Ramp(1.5, 2.0, 2.0), margin.ZeroOne(),
        margin.ZeroOne(0.0), margin.ZeroOne(0.3), margin.Hinge(), margin.PiecewiseLinear(((0.0, 0.0), (1.0, 0.0))),
        margin.PiecewiseLinear(((-1.0, 2.0), (0.0, 2.0), (0.0, 1.0), (1.0, 0.5), (1.0, 0.0), (2.0, 0.0))),
        margin.PiecewiseLinear(((-2.0, 3.0), (-1.0, 2.0), (1.0, 0.0), (2.0, 0.0))),
    ],
)  # fmt: skip
def test_corners_are_the_loss(loss: Any) -> None:
    corners = loss.piecewise_linear()
    assert corners is not None
    agree(loss, corners)


@pytest.mark.parametrize(
    "loss",
    [
        margin.PiecewiseLinear(((0.0, 1.0), (0.5, 0.8), (1.0, 0.0))),  # falls on below 0
        margin.PiecewiseLinear(((-1.0, 1.0), (0.0, 0.3), (0.5, 0.8), (1.0, 0.0), (2.0, 0.0))),  # rises
        margin.PiecewiseLinear(((0.0, 1.0), (1.0, 0.5), (2.0, 0.5))),  # its level is not 0
        margin.PiecewiseLinear(((0.0, -1.0), (1.0, 0.0), (2.0, 0.0))),
        margin.SquaredHinge(), margin.Conic(), margin.NuHinge(), margin.EpsilonInsensitive(), margin.Ramp(1.0, 1e-20),
    ],
)  # fmt: skip
def test_other_losses_have_none(loss: Any) -> None:
    assert loss.piecewise_linear() is None


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_regularisers_become_squares_atoms_and_prices(intercept: Any) -> None:
    held = np.array([intercept == "penalised", True, True])
    for regulariser, squares, atoms, price, most in (
        ("half-l2", 0.5, 0, 0.0, None),
        (margin.L1(0.5), 0.0, 2.0, 0.0, None),
        (margin.ElasticNet(0.25, 0.3), 0.3, 4.0, 0.0, None),
        (margin.L0(0.1), 0.0, 0, 0.1, None),
        (margin.L0L1(0.1, 0.5, 1), 0.0, 2.0, 0.1, 1),
        (margin.L0L1(0.0, 0.0, 2), 0.0, 0, 0.0, 2),
        ("none", 0.0, 0, 0.0, None),
    ):
        view = read(composed("zero-one", regulariser, intercept=intercept, domain=BOX))
        assert (view.curvature == squares * held).all()
        assert (view.atoms == (atoms * np.eye(3)[held] if atoms else np.zeros((0, 3)))).all()
        assert (view.price == price * held).all()
        assert view.intercept is (intercept == "free")
        limited = most is not None and most < held.sum()
        assert (view.counted == (held & limited)).all()
        assert view.max_nonzeros == most or not limited
        assert not view.is_unrestricted
        assert (view.lower == -2.0).all() and (view.upper == 2.0).all()


def test_points_of_a_norm_are_its_atoms() -> None:
    points = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
    view = read(composed("ramp", margin.KernelWeightsL1(points, 0.5), intercept="free"))
    assert (view.atoms == np.column_stack([np.zeros(3), 2.0 * points])).all()
    assert view.is_unrestricted
    flat = composed("ramp", margin.KernelWeightsL1(points[:1], 0.5), intercept="free")
    assert flat.view(MarginProblem) is None
    assert "KernelWeightsL1" in flat.no_view_reason


def test_domains_become_bounds_rows_and_whole_coefficients() -> None:
    view = read(composed("zero-one", "none", domain=margin.Integers((-2.5, -1.0, 0.0), (2.5, 1.0, 3.9))))
    assert view.lower.tolist() == [-2.0, -1.0, 0.0] and view.upper.tolist() == [2.0, 1.0, 3.0]
    assert view.integer.all()
    view = read(composed("ramp", domain=margin.Signs((0, 1, -1))))
    assert view.lower.tolist() == [-FAR, 0.0, -FAR] and view.upper.tolist() == [FAR, FAR, 0.0]
    assert not view.integer.any()
    view = read(composed("ramp", domain=margin.Increasing((2, 0, 1))))
    assert view.rows.tolist() == [[1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]] and not view.row_lower.any()
    assert read(composed("ramp", domain=margin.Increasing((2,)))).rows.shape == (0, 3)


def test_restrictions_become_rows_bounds_kept_points_counts_and_budgets() -> None:
    rows = np.array([[1.0, 2.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, 3.0]])
    view = read(
        composed(
            margin.ZeroOne(),
            subject_to=[
                margin.LinearRows(rows, [-1.0, -3.0, 1.0], [4.0, FAR, FAR]),
                mo.fixed({0: 0.25}),
                mo.keep([1, 3]),
                mo.keep(np.arange(6) == 0),
                mo.at_most(2).nonzero,
                mo.at_most(1).nonzero,
                mo.error_budget(1, 0.5),
                mo.error_budget([0, 2, 5], 0.4),
                mo.error_budget(-1, 1.0),
                margin.ViolationBudget(0.5),
            ],
        )
    )
    third = np.nextafter(1.0 / 3.0, 0.0)  # three times a third is not 1: the row stays
    assert view.lower.tolist() == [0.25, -FAR, third] and view.upper.tolist() == [0.25, 1.5, FAR]
    assert view.rows.tolist() == [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [-1.0, -2.0, 0.0]]
    assert view.row_lower.tolist() == [-1.0, 1.0, -4.0]
    assert np.flatnonzero(view.kept_points).tolist() == [0, 1, 3]
    assert view.counted.all() and view.max_nonzeros == 1
    assert [(b.points.tolist(), b.limit) for b in view.budgets] == [([1, 3, 5], 1), ([0, 2, 5], 1), ([0, 1, 2, 3, 4, 5], 3)]


def test_rows_of_one_or_no_coefficient() -> None:
    """An equation is two bounds, rows of zeros say nothing or stay where nothing fulfils them."""
    equal = margin.LinearRows(np.array([[0.0, 4.0, 0.0], [0.0, 0.0, 1e-300]]), [1.0, 1e300], [1.0, FAR])
    none = margin.LinearRows(np.zeros((2, 3)), [-1.0, 1.0])
    view = read(composed(subject_to=[equal, none]))
    assert view.lower[1] == view.upper[1] == 0.25
    assert view.rows.tolist() == [[0.0, 0.0, 1e-300], [0.0, 0.0, 0.0]] and view.row_lower.tolist() == [1e300, 1.0]


def test_parity_is_rows() -> None:
    model = composed(subject_to=mo.parity(np.array([0, 0, 0, 1, 1, 1]), 0.1))
    view = read(model)
    rng = np.random.default_rng(0)
    for w in rng.normal(size=(20, 3)):
        assert (view.rows @ w >= view.row_lower - 1e-12).all() == (model.subject_to[0].violation(model.X, model.y, w) <= 1e-12)


def test_points_and_costs_are_those_of_the_composition() -> None:
    weights = np.linspace(0.0, 1.0, 6)
    model = composed("ramp", sample_weight=weights)
    view = read(model)
    assert np.array_equal(view.A, model.y[:, None] * model.X) and (view.costs == weights).all()
    assert view.is_unrestricted and isinstance(view.loss, PiecewiseLinearLoss)
    images = composed("ramp", kernel=mo.RBF(0.5))
    assert np.array_equal(read(images).A, images.y[:, None] * images.points)


def test_named_ramps_are_read_and_other_views_stay() -> None:
    X, y = clouds(0, 6, 2, 0.5, order="turns", first=-1.0)
    for intercept in ("free", "penalised"):
        view = mo.RampSVM(X, y, 0.7, intercept=intercept).view(MarginProblem)
        assert view is not None and view.is_unrestricted and view.intercept is (intercept == "free")
    assert composed("zero-one").view(ZeroOneProblem) is not None
    assert composed("zero-one", domain=BOX).view(ZeroOneProblem) is None
    assert composed("hinge").view(LinearProblem) is not None
    assert composed("hinge").view(MarginProblem) is None


class Curved(Restriction):
    """||w|| ≤ 1, of a user's own: no linear rows."""

    name = "curved"

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        builder.require(
            name, context.w.premultiplied(sp.csr_array(np.vstack([np.zeros((1, 3)), np.eye(3)]))) + np.eye(4)[0], SecondOrder(4)
        )

    def lines(self) -> tuple[Any, ...]:
        return ()


class Priced(Curved):
    """A cost."""

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        builder.cost(1.0, context.w)


class Slacks(Curved):
    """A block."""

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        builder.require_nonnegative(name, context.w.at([1]) + builder.variables(f"{name} s", 1, 0.0))


class Half(Curved):
    """w_1 ≥ ½ and the margin of point 0 at least that of point 1: linear rows."""

    def add(self, builder: Assembly, context: AssemblyContext, errors: Affine | None, name: str) -> None:
        builder.require_nonnegative(name, context.w.at([1]) - 0.5)
        builder.require_nonnegative(f"{name} margins", context.argument.at([0]) - context.argument.at([1]))


def test_rows_of_a_users_own_restriction() -> None:
    model = composed(subject_to=Half())
    view = read(model)
    assert view.lower.tolist() == [-FAR, 0.5, -FAR]
    assert np.allclose(view.rows, view.A[[0]] - view.A[[1]]) and view.row_lower.tolist() == [0.0]


@pytest.mark.parametrize(
    "parts",
    [
        {"loss": "hinge"},
        {"loss": "conic"},
        {"loss": "squared-hinge", "subject_to": mo.at_most(1).nonzero, "domain": BOX},
        {"loss": "epsilon-insensitive", "subject_to": mo.at_most(1).nonzero, "domain": BOX},
        {"regulariser": margin.GroupL1((0, 0, 1), 0.5)},
        {"regulariser": margin.KernelNorm(np.eye(3))},
        {"subject_to": Curved()},
        {"subject_to": Priced()},
        {"subject_to": Slacks()},
        {"loss": margin.ZeroOne(0.5), "subject_to": margin.ViolationBudget(0.5)},
        {"subject_to": margin.ViolationBudget(0.5)},
        {"loss": "zero-one", "regulariser": "none"},
        {"loss": "zero-one", "regulariser": "none", "intercept": "free"},
        {"regulariser": "l0", "domain": margin.Box((-1.0, -1.0, -FAR), 1.0)},
        {"domain": margin.Box(0.0, 2.0), "subject_to": mo.fixed({1: 3.0})},
        {"domain": margin.Integers(0, 1), "subject_to": mo.fixed({2: 0.5})},
    ],
)
def test_what_is_no_margin_problem_has_no_view_and_a_reason(parts: dict[str, Any]) -> None:
    model = composed(**parts)
    assert model.view(MarginProblem) is None and model.no_view_reason


def test_a_free_intercept_needs_no_bound() -> None:
    rows = margin.LinearRows(np.array([[0.0, 1.0, 0.0]]), -1.0, 1.0)
    for parts in (
        {"domain": margin.Box((-FAR, -1.0, -1.0), (FAR, 1.0, 1.0))},
        {"domain": margin.Signs((0, 0, 0)), "regulariser": "l2"},
    ):
        assert read(composed(**{"loss": "zero-one", "regulariser": "none", **parts}, intercept="free", subject_to=rows)).intercept


def test_more_atoms_than_a_norm_is_written_by() -> None:
    X = np.ones((2, 1002))
    for regulariser in (margin.L1(), margin.L0L1(0.0, 1.0)):
        model = mo.Margin(X, [1.0, -1.0], "ramp", regulariser)
        assert model.view(MarginProblem) is None
        assert type(regulariser).__name__ in model.no_view_reason


def test_bad_indices_are_refused_where_they_are_stated() -> None:
    for rule, name in (
        (mo.keep([9]), "points"),
        (mo.fixed({7: 1.0}), "coefficients"),
        (margin.LinearRows(np.ones((1, 2))), "A"),
        (mo.error_budget([17], 0.1), "points"),
    ):
        with pytest.raises(mo.errors.InputError, check=about(name)):
            composed(subject_to=rule)


def test_rows_in_blocks_have_no_view() -> None:
    X, y = clouds(0, 6, 2, 0.5, order="turns", first=-1.0)
    model = mo.Margin(MemoryRows(X), y, "hinge")
    assert model.view(MarginProblem) is None and model.view(LinearProblem) is not None
    assert "rows in blocks" in model.no_view_reason


def test_every_nonconvex_pair_of_a_loss_and_a_regulariser_is_read_within_a_box() -> None:
    losses = [
        margin.Ramp(),
        margin.ZeroOne(0.0),
        margin.PiecewiseLinear(((-1.0, 1.0), (0.0, 1.0), (0.0, 0.5), (1.0, 0.0), (2.0, 0.0))),
    ]
    for loss, regulariser in itertools.product(losses, ["l2", "l1", "l0", "none", margin.ElasticNet(), margin.L0L1(0.1, 0.2, 1)]):
        assert read(composed(loss, regulariser, domain=BOX)).A.shape == (6, 3)
