"""All blocks of a composition's form from the coefficients alone: rows hold, and the form costs what the parts say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data import clouds
from effort import trials
from hypothesis import given, settings, strategies as st

import marginopt as mo
from marginopt import margin
from marginopt.models.formulations.margin.restrictions import Restriction
from marginopt.models.views import MarginProblem
from marginopt.solvers import certify

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

N, P = 8, 3
BOX, WHOLE = margin.Box(-2.0, 2.0), margin.Integers(-3, 3)
JUMPS = margin.PiecewiseLinear(((-1.0, 1.0), (0.0, 1.0), (0.0, 0.6), (0.5, 0.6), (1.0, 0.0), (2.0, 0.0)))
LOSSES = [
    margin.Ramp(), margin.Ramp(1.0, 0.5), margin.Ramp(2.0, 2.0, 5.0), margin.ZeroOne(), margin.ZeroOne(0.3), margin.ZeroOne(0.0),
    margin.Hinge(), margin.PiecewiseLinear(((-1.0, 2.0), (0.0, 1.0), (1.0, 0.0), (2.0, 0.0))), JUMPS,
    margin.PiecewiseLinear(((-1.0, 2.0), (0.0, 1.0), (0.5, 1.0), (1.0, 0.0), (2.0, 0.0))),
]  # fmt: skip
REGULARISERS = [
    margin.SquaredNorm(0.7), margin.L1(0.5), margin.ElasticNet(0.2, 0.3), margin.L0(0.2), margin.L0L1(0.1, 0.2),
    margin.L0L1(0.0, 0.3), margin.L0L1(0.0, 0.0, P), margin.L0L1(0.2), margin.NoRegulariser(),
]  # fmt: skip
DOMAINS = [BOX, WHOLE, margin.Reals(), margin.Increasing((1, 2)), margin.Signs((0, 1, -1))]


def allowed(w: np.ndarray, X: np.ndarray, y: np.ndarray, rng: np.random.Generator, loss: Any) -> list[Restriction]:
    """Restrictions that w satisfies, some twice."""
    u = y * (X @ w)
    rows = rng.normal(size=(2, P))
    groups = (X[:, 1] > np.median(X[:, 1])).astype(int)
    met, k = np.flatnonzero(u >= 1.0), int(np.count_nonzero(w))
    share = float((u[y > 0] < 1.0).mean())
    computed: list[Restriction] = [
        margin.LinearRows(rows, rows @ w - 0.1, rows @ w + 0.2),
        mo.parity(groups, 1.0 + abs(float(np.cov(groups, X @ w)[0, 1]))),
        mo.fixed({1: float(w[1])}),
        margin.Nonzero(k),
        margin.Nonzero(k + 1),
        mo.error_budget(1, share),
        mo.error_budget(-1, 1.0),
        mo.error_budget([0, 3], 1.0),
    ]
    if met.size:
        computed.append(mo.keep(met[:2]))
    if loss == margin.ZeroOne():
        computed.append(margin.ViolationBudget(float((u < 1.0).mean())))
    return [r for r in computed if rng.random() < 0.4]


@st.composite
def points(draw: st.DrawFn) -> tuple[mo.Margin, np.ndarray]:
    """A composition and coefficients that it allows."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    X, y = clouds(rng, N, P - 1, 0.4, order="halves", first=-1.0)
    loss, regulariser, domain = (draw(st.sampled_from(parts)) for parts in (LOSSES, REGULARISERS, DOMAINS))
    w = rng.integers(-2, 3, P).astype(float) if domain is WHOLE else rng.uniform(-1.5, 1.5, P) * (rng.random(P) < 0.8)
    if isinstance(domain, margin.Increasing):
        w[1:] = np.sort(w[1:])
    if isinstance(domain, margin.Signs):
        w[1:] = np.abs(w[1:]) * [1.0, -1.0]
    w[0] = min(max(w[0], -1.0), 1.0)
    intercept = draw(st.sampled_from(["free", "penalised"]))
    if draw(st.booleans()):
        w[0] = 0.0
    parts: dict[str, Any] = {"sample_weight": rng.uniform(0.3, 1.0, N), "domain": domain, "intercept": intercept}
    bound = mo.Margin(X, y, loss, regulariser, **parts).objective(w)
    rules = allowed(w, X, y, rng, loss)
    return mo.Margin(X, y, loss, regulariser, subject_to=rules, upper_bound=1.01 * bound + 10.0, **parts), w


@settings(max_examples=trials(80, 300), deadline=None)
@given(points())
def test_all_blocks_follow_from_the_coefficients(drawn: tuple[mo.Margin, np.ndarray]) -> None:
    model, w = drawn
    try:
        form = model.form
    except mo.errors.InputError as error:
        assert error.name == "domain"  # coefficients, or margins of a choice of segments
        return
    if not model.convex and not isinstance(model.domain, margin.Reals):
        assert model.view(MarginProblem) is not None or model.no_view_reason
    values = model.complete({"w": w})
    assert set(values) == set(form.slices)
    certificate = certify(form, values)
    assert certificate.feasible(1e-9), certificate
    assert certificate.objective == pytest.approx(model.objective(w), rel=1e-9, abs=1e-9)
    again = model.complete(values)
    assert all(np.array_equal(again[label], values[label]) for label in values)


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_combinations_of_points_are_filled(intercept: Any) -> None:
    X, y = clouds(3, N, P - 1, 0.4, order="halves", first=-1.0)
    p = P if intercept == "penalised" else P - 1
    atoms = np.vstack([np.eye(p), np.ones((1, p))])
    model = mo.Margin(X, y, "ramp", margin.KernelWeightsL1(atoms, 0.5), intercept, domain=BOX, subject_to=mo.error_budget(1, 1.0))
    w = np.array([0.3, 0.7, 0.6])
    values = model.complete({"w": w})
    assert set(values) == set(model.form.slices) == {"w", "z", "xi", "alpha plus", "alpha minus", "budget e"}
    certificate = certify(model.form, values)
    assert certificate.feasible(1e-9)
    assert certificate.objective == pytest.approx(model.objective(w), rel=1e-9)


def test_a_margin_at_a_threshold_but_for_rounding_is_kept() -> None:
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0]]), np.array([1.0, 1.0, -1.0])
    for loss in (margin.ZeroOne(), margin.PiecewiseLinear(((0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (2.0, 0.0)))):
        model = mo.Margin(X, y, loss, domain=BOX, subject_to=[mo.error_budget(1, 0.0), mo.error_budget([0, 1], 0.5)])
        for short, least in ((1e-12, 0.0), (1e-8, 1.0)):
            values = model.complete({"w": np.array([1.0 - short, -1e-30])})
            counted = values["z"] if "z" in values else values["segment 0"]
            assert counted.tolist() == [least, least, 1.0]
            if "z" not in values:
                assert values["budget e"].tolist() == values["budget 2 e"].tolist() == [least, least]
                assert values["margin 1"].tolist() == [(1.0 - least) * (1.0 - short)] * 2 + [0.0]
            assert certify(model.form, values).feasible(1e-9) == (least == 0.0)


def test_integers_are_rounded_and_their_margins_taken_as_they_are() -> None:
    X, y = np.array([[1.0, 1.0 - 1e-12], [1.0, 2.0]]), np.array([1.0, -1.0])
    model = mo.Margin(X, y, "zero-one", domain=WHOLE, subject_to=[margin.Nonzero(1), margin.Nonzero(2)])
    values = model.complete({"w": np.array([1e-9, 1.0 - 1e-9])})
    assert values["w"].tolist() == [0.0, 1.0]
    assert values["z"].tolist() == [1.0, 1.0]  # 1 - 1e-12 is an error
    assert values["nonzero"].tolist() == values["nonzero 2"].tolist() == [0.0, 1.0]


def test_given_blocks_stay_and_what_nobody_knows_is_left_out() -> None:
    X, y = clouds(0, N, P - 1, 0.4, order="halves", first=-1.0)
    model = mo.Margin(X, y, "ramp", "l1", domain=BOX)
    given_up = np.ones(N)
    values = model.complete({"w": np.zeros(P), "z": given_up})
    assert values["z"] is given_up and set(values) == {"w", "z", "xi", "a"}
    assert model.complete({"z": given_up}) == {"z": given_up}
    groups = mo.Margin(X, y, "zero-one", domain=BOX, subject_to=mo.parity(np.arange(N) % 2, 0.5, by="counts"))
    assert set(groups.complete({"w": np.zeros(P)})) == {"w", "z", "count parity d"}


def test_slacks_of_pairs_and_squares_follow_too() -> None:
    X, y = clouds(0, N, P - 1, 0.4, order="halves", first=-1.0)
    w = np.array([0.2, 0.4, -0.3])
    for loss in ("hinge", "squared-hinge", "pairwise"):
        model = mo.Margin(X, y, loss, "elastic-net", subject_to=mo.fixed({1: 0.4}))
        certificate = certify(model.form, model.complete({"w": w}))
        assert certificate.feasible(1e-9)
        assert certificate.objective == pytest.approx(model.objective(w), rel=1e-12)
