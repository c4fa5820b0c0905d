"""The perspective relaxation at a fixed γ: proved bounds, their order, the SDP at γ*, rows with M, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about

from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import ZeroOneSVM
from marginopt.relaxations import BigM, Combined, Conic, Perspective, PerspectiveRelaxation, relax, tighten
from marginopt.solvers import Options, certify, solve

TIGHT = Options(tol=1e-9)


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
@pytest.mark.parametrize("size", [0.0, 1e-170])
def test_data_without_squares_have_no_gamma(size: float) -> None:
    """1/||A'A|| is the uniform γ; of rows that are zero, or whose squares are, it was a division by zero."""
    model = ZeroOneSVM(np.full((2, 1), size), np.array([1.0, -1.0]), 1.0)
    with pytest.raises(InputError, check=about("X")):
        relax(model, Perspective())


def points(seed: int, n: int = 14) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n)


@pytest.mark.parametrize("seed", range(trials(2, 3)))
def test_bounds_their_order_and_ways_back(seed: int) -> None:
    X, y = points(seed)
    plain = ZeroOneSVM(X, y, (0.3, 1.0, 4.0)[seed])
    exact = solve(plain, "zero-one-bb", tol=1e-9)
    model = tighten(plain, 1.001 * exact.values["w"])
    sdp = relax(model, Conic(), "clarabel", TIGHT)
    both = relax(model, Combined(), "clarabel", TIGHT)
    star = sdp.lifted.multipliers["hull"]
    result = {
        name: relax(model, reduction, "clarabel", TIGHT)
        for name, reduction in {
            "uniform": Perspective(),
            "star": Perspective(star),
            "uniform, M": Perspective(big_m="incumbent"),
            "star, M": Perspective(star, big_m="incumbent"),
            "big-M": BigM("incumbent"),
        }.items()
    }
    for r in result.values():
        assert r.bound_kind == "proved"
        assert r.bound == pytest.approx(r.result.objective, rel=1e-6)
        assert r.lifted.value == pytest.approx(r.bound, rel=1e-6)
        assert r.caveat == ""
        assert r.bound <= exact.objective * (1 + 1e-12)
        assert certify(model.form, r.values).feasible(1e-9)
    value = {name: r.bound for name, r in result.items()}
    assert value["uniform"] <= sdp.bound * (1 + 1e-8)
    assert value["star"] == pytest.approx(sdp.bound, rel=1e-6)
    assert max(value["uniform"], value["big-M"]) <= value["uniform, M"] * (1 + 1e-7)
    assert value["star"] <= value["star, M"] * (1 + 1e-7)
    assert value["star, M"] <= both.bound * (1 + 1e-7)


def test_at_gamma_zero_it_is_the_big_m_relaxation() -> None:
    X, y = points(1)
    model = ZeroOneSVM(X, y, 0.7)
    bare = PerspectiveRelaxation(X, y, 0.7, np.zeros(14), model.big_m_values)
    assert solve(bare, "clarabel", tol=1e-9).objective == pytest.approx(
        relax(model, BigM("zero"), "clarabel", TIGHT).bound, rel=1e-6
    )


def test_the_multipliers_of_the_combined_relaxation_reach_its_bound() -> None:
    X, y = points(2)
    weights = np.linspace(0.2, 1.5, 14)
    model = ZeroOneSVM(X, y, weights)
    model = tighten(model, solve(model, "zero-one-bb").values["w"])
    both = relax(model, Combined(), "clarabel", TIGHT)
    fixed = relax(model, Perspective(both.lifted.multipliers["hull"], big_m="incumbent"), "clarabel", TIGHT)
    assert fixed.bound == pytest.approx(both.bound, rel=1e-6)


@pytest.mark.parametrize("labels", [(), ("split",), ("margin",), ("split", "margin")])
def test_any_multipliers_give_a_bound(labels: tuple[str, ...]) -> None:
    X, y = points(3)
    model = ZeroOneSVM(X, y, 0.7)
    target = Perspective(big_m="zero").apply(model)
    dual = solve(target, "clarabel", tol=1e-9)
    bound = target.bound(None, {label: dual.multipliers[label] for label in labels}).value
    assert -np.inf < bound <= dual.objective + 1e-7
    if len(labels) == 2:
        assert bound == pytest.approx(dual.objective, rel=1e-6)


def test_stated_gamma_is_the_models() -> None:
    X, y = points(0)
    uniform = Perspective().gamma_for(ZeroOneSVM(X, y))
    model = ZeroOneSVM(X, y, encoding="strengthened", gamma=0.5 * uniform)
    assert np.array_equal(Perspective("stated").gamma_for(model), model.gamma)
    target = Perspective("stated").apply(model)
    cone = ZeroOneSVM(X, y, encoding="strengthened", gamma=model.gamma, rows="cone")
    continuous = solve(cone.form.relax_integrality(), "clarabel", tol=1e-9)
    assert solve(target, "clarabel", tol=1e-9).objective == pytest.approx(continuous.objective, rel=1e-7)
    assert "13" in str(target)
    assert Perspective("stated", big_m="zero").m_source(model).startswith("M from w=0, valid")


def test_bad_input() -> None:
    X, y = points(0)
    model = ZeroOneSVM(X, y)
    with pytest.raises(InputError, check=about("gamma")):
        Perspective("best")
    with pytest.raises(InputError, check=about("big_m")):
        Perspective(big_m="none")
    with pytest.raises(InputError, check=about("gamma")):
        Perspective("stated").apply(model)
    with pytest.raises(InputError, check=about("big_m")):
        Perspective(big_m="incumbent").apply(model)
    with pytest.raises(InputError, check=about("gamma")):
        Perspective(np.ones(3)).apply(model)
    with pytest.raises(UnsupportedModelError, check=about("perspective, uniform gamma")):
        Perspective().apply(ZeroOneSVM(X, y, np.linspace(1, 2, 14)))
    with pytest.raises(UnsupportedModelError, check=about("perspective, uniform gamma")):
        Perspective().apply(ZeroOneSVM(X, y, intercept="free"))
    with pytest.raises(InputError, check=about("big_m")):
        PerspectiveRelaxation(X, y, 1.0, np.zeros(14), 0.0)
    with pytest.raises(InputError, check=about("lam")):
        PerspectiveRelaxation(X, y, -1.0, np.zeros(14), 1.0)
    with pytest.raises(InputError, check=about("big_m")):
        PerspectiveRelaxation(X, y, np.linspace(1, 2, 14), np.zeros(14))
