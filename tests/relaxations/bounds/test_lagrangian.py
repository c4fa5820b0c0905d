"""Lagrangian relaxation of named rows: weak duality at any price, the best price, its place among the bounds, enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from oracles import within_budget

import marginopt as mo
from marginopt import relaxations as rx
from marginopt.errors import InputError, UnsupportedModelError


def _data(seed: int, n: int = 9) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n, 2, 0.4, order="turns", first=-1.0)


def _enumerated(model: mo.ZeroOneSVM) -> float:
    return within_budget(model.signed, model.penalised, model.budget)


@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_the_budget_against_enumeration(seed: int) -> None:
    X, y = _data(seed)
    model = mo.ZeroOneSVM(X, y, kappa=3.2 / y.size)
    truth = _enumerated(model)
    assert np.isfinite(truth)
    best = rx.relax(model, rx.Lagrangian(rows="budget"), "zero-one-bb")
    assert best.bound_kind == "proved" and best.bound <= truth * (1 + 1e-9)
    prices = np.geomspace(1e-2, 1e2, 9) * best.target.lam
    for price in prices:  # weak duality at every price, and none is better
        one = rx.relax(model, rx.Lagrangian("budget", prices=float(price)), "zero-one-bb")
        assert one.target_bound <= best.bound + 1e-6 * truth
    known = mo.solve(model, "zero-one-bb").values["w"]  # the form without integers needs a valid M
    relaxed = mo.solve(mo.ZeroOneSVM(X, y, kappa=3.2 / y.size, incumbent=known).form.relax_integrality(), "clarabel", tol=1e-8)
    assert best.bound >= relaxed.bound - 1e-6 * truth  # integers stay in it
    if best.values is not None:
        assert best.objective >= truth * (1 - 1e-7) and best.values["z"].sum() <= 3


def test_the_gap_of_the_budget_closes_where_the_hull_has_its_corner() -> None:
    """At a k that some λ gives, v(μ) - μk is the optimum itself."""
    X, y = _data(1)
    z = mo.solve(mo.ZeroOneSVM(X, y, lam=0.5), "zero-one-bb", tol=1e-9).values["z"]
    model = mo.ZeroOneSVM(X, y, kappa=float(z.sum()) / y.size)
    truth = _enumerated(model)
    assert rx.relax(model, rx.Lagrangian("budget"), "zero-one-bb").bound == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_priced_margins_give_the_bound_of_big_m(seed: int) -> None:
    X, y = _data(seed, 14)
    model = mo.ZeroOneSVM(X, y, lam=0.7)
    priced, big_m = rx.relax(model, rx.Lagrangian("margin")), rx.relax(model, rx.BigM())
    assert priced.bound_kind == "proved"
    assert priced.bound == pytest.approx(big_m.bound, rel=1e-5)
    assert priced.lifted is not None and priced.lifted.value == pytest.approx(big_m.bound, rel=1e-5)
    optimum = mo.solve(model, "zero-one-bb").objective
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1, 10.0):  # weak duality
        prices = tuple((size * rng.random(14)).tolist())
        one = rx.relax(model, rx.Lagrangian("margin", prices=prices))
        assert one.target_bound <= min(big_m.result.objective, optimum) * (1 + 1e-6)
        # in closed form: Σδ - ¼||Σ δ_i y_i x_i||² + Σ min(0, λ - δ_i M_i)
        delta = np.array(prices)
        v = model.signed.T @ delta
        closed = delta.sum() - 0.25 * v @ v + np.minimum(0.0, 0.7 - delta * model.big_m_values).sum()
        assert one.target_bound == pytest.approx(closed, rel=1e-6, abs=1e-9) and one.target_bound <= closed + 1e-12 * abs(closed)


def test_its_place_among_the_bounds() -> None:
    names = list(rx.relaxations())
    assert names.index("big-m") < names.index("lagrangian") < names.index("big-m-incumbent")
    assert names[-1] == "lagrangian-budget" or names.index("combined") < names.index("lagrangian-budget")


def test_what_it_refuses() -> None:
    X, y = _data(0)
    with pytest.raises(UnsupportedModelError, check=about("Lagrangian, budget")):
        rx.relax(mo.ZeroOneSVM(X, y, lam=1.0), rx.Lagrangian("budget"))
    with pytest.raises(UnsupportedModelError, check=about("Lagrangian, nothing")):
        rx.relax(mo.ZeroOneSVM(X, y, lam=1.0), rx.Lagrangian("nothing"))
    with pytest.raises(UnsupportedModelError, check=about("Lagrangian, margin")):
        rx.relax(mo.ZeroOneSVM(X, y, lam=1.0, encoding="indicator"), rx.Lagrangian("margin"))
    with pytest.raises(InputError, check=about("prices")):
        rx.Lagrangian("budget", prices=-1.0)
    with pytest.raises(InputError, check=about("prices")):
        rx.relax(mo.ZeroOneSVM(X, y, lam=1.0), rx.Lagrangian("margin", prices=tuple([-1.0] * y.size)))
    with pytest.raises(InputError, check=about("rows")):
        rx.LagrangianRelaxation(mo.ZeroOneSVM(X, y, lam=1.0, encoding="indicator").form, "margin", np.zeros(y.size))
    assert isinstance(rx.Lagrangian().apply(mo.ZeroOneSVM(X, y, lam=1.0)), rx.LagrangianRelaxation)
