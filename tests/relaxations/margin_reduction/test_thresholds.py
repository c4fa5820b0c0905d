"""Ramps by 0-1 problems of two thresholds: below rational optima, the mean over lengths of w, exact searches and their logs."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from rational.draws import drawn

import marginopt as mo
from marginopt import margin, relaxations as rx
from marginopt.errors import InputError, UnsupportedModelError

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")


def ramp(
    loss: margin.Ramp, regulariser: object = "l2", *, free: bool = True, costs: object = 2.0, n: int = 9, seed: int = 0
) -> mo.Margin:
    X, y = clouds(seed, n, 1, 0.4, order="turns", first=-1.0)
    return mo.Margin(X, y, loss, regulariser, intercept="free" if free else "penalised", sample_weight=costs)


ONES = np.array([[1.0, 0.5], [1.0, -1.0], [1.0, 2.0]])
RAMPS = [
    margin.Ramp(1.0, 0.25),
    margin.Ramp(3.0, 1.0),
    margin.Ramp(2.0, 1.5),
    margin.Ramp(2.0, 2.0, second_width=9.0),
    margin.Ramp(1.0, 4.0),
]


@pytest.mark.parametrize("tau", [0.01, 0.4])
def test_no_bound_is_above_a_rational_optimum(tau: float) -> None:
    """Of every drawn problem that is read, with restrictions, integers and prices as well."""
    read = 0
    for number in range(trials(80, 160)):
        case = drawn(number)
        reduction = rx.Thresholds(tau)
        if reduction.obstacle(case.model):
            continue
        relaxed = rx.relax(case.model, reduction, "zero-one-bb")
        optimum = case.exact.optimum()
        assert relaxed.bound_kind == "proved"
        assert optimum is None or Fraction(relaxed.bound) <= optimum, (number, str(case))
        read += 1
    assert read > trials(5, 12)


@pytest.mark.parametrize("loss", RAMPS, ids=str)
@pytest.mark.parametrize("regulariser", ["l2", "l1", margin.ElasticNet(0.3, 0.5)], ids=["l2", "l1", "elastic-net"])
@pytest.mark.parametrize("free", [True, False])
def test_a_ramp_costs_no_less_than_its_steps_on_average(loss: margin.Ramp, regulariser: object, free: bool) -> None:
    """F(w) against the mean of the 0-1 objective at w/t over τ < t < 1, in the target's coordinates: Gauss between its jumps."""
    model = ramp(loss, regulariser, free=free, costs=np.linspace(0.5, 3.0, 9))
    reduction = rx.Thresholds(0.2)
    target = reduction.apply(model)
    constant = reduction.offset(model, target).value
    A, signed = target.X[:9] * target.y[:9, None], model.X * model.y[:, None]
    scales = (signed / A[:, :2])[0]
    second, rng = len(target.X) > 9, np.random.default_rng(0)
    tau, far = max(0.2, 1.0 - loss.width), 0.99 * np.abs(model.X[:, 1]).max()
    kappa = ((loss.width - 1.0) * 256 - 1) / 257  # the unit is 256
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for w in rng.normal(size=(12, 2)) * rng.choice([0.3, 1.0, 5.0], size=(12, 1)):
        w[0] = np.clip(w[0], -far * abs(w[1]), far * abs(w[1]))  # beyond that another intercept is as good
        jumps = np.concatenate([signed @ w, -(signed @ w) / kappa if second else []])
        ends = np.unique([tau, 1.0, *jumps[(jumps > tau) & (jumps < 1.0)]])
        mean = 0.0
        for low, high in itertools.pairwise(ends):
            for t, weight in zip(0.5 * (low + high) + 0.5 * (high - low) * nodes, 0.5 * (high - low) * weights, strict=True):
                u = scales * w / t
                if second:
                    u = np.append(u * 257.0, 1.0 / target.X[-1, -1])
                mean += weight * target.objective(u) / (1.0 - tau)
        assert mean + constant <= model.objective(w) * (1.0 + 1e-9), w


@pytest.mark.parametrize("loss", RAMPS, ids=str)
def test_the_offset_covers_the_squares_of_the_intercept_and_the_unit(loss: margin.Ramp) -> None:
    """At w = 0 with the intercept where one class is right and the other wrong by all thresholds nothing else is a square."""
    model = ramp(loss)
    reduction = rx.Thresholds()
    target = reduction.apply(model)
    scale = float(model.X[0, 0] / target.X[0, 0])
    second = len(target.X) > 9
    u = np.array(
        [scale * (257.0 if second else 1.0) * max(1.0, loss.width - 1.0), 0.0, *([1.0 / target.X[-1, -1]] if second else [])]
    )
    violated = target.y * (target.X @ u) < 1.0
    assert violated.sum() == (10 if second else 5)  # five points of class -1
    assert 0.0 < target.objective(u) - target.sample_weight[violated].sum() <= -reduction.offset(model, target).value


@pytest.mark.parametrize("loss", RAMPS[1:], ids=str)
def test_where_length_costs_nothing_it_is_the_best_mean_of_two_thresholds(loss: margin.Ramp) -> None:
    """Costs of 1e6: the bound is what the best classifier pays by the two thresholds, over all of a fine circle of directions."""
    model = ramp(loss, costs=1e6, free=False, n=11, seed=3)
    relaxed = rx.relax(model, rx.Thresholds(1e-4), "zero-one-bb")
    angles = np.linspace(0.0, 2.0 * np.pi, 2001)[:-1]
    margins = model.y[:, None] * (model.X @ np.array([np.cos(angles), np.sin(angles)]))
    lengths = np.concatenate([np.geomspace(1e-3, 1e6, 200), *(1.0 / np.abs(margins[:, ::200]) * (1.0 + 1e-9))])
    deep, slope = loss.width - 1.0, loss.height / loss.width
    kappa = max(deep * 256 - 1, 0.0) / 257  # as deep as that at least, and less than d - 1

    def least(threshold: float) -> float:
        steps = ((margins * s < 1.0) + kappa * (margins * s < -threshold) for s in lengths)
        return 1e6 * slope * float(min(cost.sum(axis=0).min() for cost in steps))

    assert 0.97 * least(deep) <= relaxed.bound <= least(kappa) * (1.0 + 1e-9)


def test_a_narrow_ramp_is_nearly_the_zero_one_loss() -> None:
    """Width 0.01 and height 1: all of it but a hundredth counts, and of the squares what is a power of four."""
    squares = margin.SquaredNorm(1.02 * 4.0**-6)
    model = ramp(margin.Ramp(1.0, 0.01), squares, free=False, costs=1.0)
    exact = mo.solve(mo.Margin(model.X, model.y, "zero-one", squares, sample_weight=1.0), "margin-bb").objective
    relaxed = rx.relax(model, rx.Thresholds(), "zero-one-bb")
    assert 0.97 * exact <= relaxed.bound <= exact * (1.0 + 1e-6)


def test_the_point_comes_back_and_the_search_s_log_proves_the_bound(tmp_path: Path) -> None:
    model = ramp(margin.Ramp(2, 2), n=14)
    relaxed = rx.relax(model, "thresholds", "zero-one-bb", proof=str(tmp_path / "log.gz"))
    assert relaxed.values is not None
    assert relaxed.objective == model.objective(relaxed.values["w"]) >= relaxed.bound
    report = mo.check_proof(tmp_path / "log.gz", relaxed.target)
    assert report.valid
    assert report.bound + relaxed.offset.value == pytest.approx(relaxed.bound, rel=1e-5)


def test_multipliers_of_the_form_bound_it_as_well() -> None:
    model = ramp(margin.Ramp(2, 2), n=8)
    reduction = rx.Thresholds()
    target = reduction.apply(model)
    form = mo.ZeroOneSVM(target.X, target.y, target.lam, big_m=np.full(len(target.X), 1e3)).form
    multipliers = mo.solve(form.relax_integrality(), "clarabel").multipliers
    lifted = reduction.lift(model, target, multipliers)
    assert np.isfinite(lifted.value) and lifted.value <= mo.solve(model, "margin-bb").objective


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (mo.Margin(ONES, [1, -1, 1], "hinge"), "two thresholds"),
        (mo.Margin(ONES, [1, -1, 1], "zero-one"), "two thresholds"),
        (mo.Margin(ONES, [1, -1, 1], "ramp", "none", domain=margin.Box(-1, 1)), "two thresholds"),
        (mo.Margin(ONES, [1, -1, 1], "ramp", "none"), "two thresholds"),
        (mo.Margin(ONES, [1, -1, 1], "ramp", sample_weight=[1.0, 0.0, 1.0]), "two thresholds"),
    ],
)
def test_what_is_no_ramp_is_refused(model: mo.Model, name: str) -> None:
    with pytest.raises(UnsupportedModelError, check=about(name)):
        rx.relax(model, rx.Thresholds())


@pytest.mark.parametrize("tau", [0.0, 1.0, -1.0, float("nan")])
def test_tau_is_a_share(tau: float) -> None:
    with pytest.raises(InputError, check=about("tau")):
        rx.Thresholds(tau)
