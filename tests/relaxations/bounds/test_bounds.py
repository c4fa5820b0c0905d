"""Reductions of the 0-1 loss: bounds below the enumerated optimum, their order, points and multipliers brought back."""

from __future__ import annotations

import numpy as np
import pytest
from data import clouds
from facts import about
from oracles import enumerated

from marginopt.errors import InputError, UnsupportedModelError
from marginopt.models import ConicSVM, HingeSVM, ZeroOneSVM
from marginopt.relaxations import BigM, Combined, CombinedRelaxation, Conic, Direction, Hinge, Reduction, best_multiple, relax
from marginopt.solvers import Options, certify

ALL: tuple[Reduction, ...] = (
    BigM("zero", factor=50.0),
    BigM("zero"),
    BigM("incumbent"),
    Hinge("zero"),
    Hinge("incumbent"),
    Conic(),
    Combined("zero"),
    Combined("incumbent"),
)
TIGHT = Options(tol=1e-9)


def tiny(seed: int, n: int = 11, p: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, n, p, order="halves")


def tiny_model(seed: int) -> ZeroOneSVM:
    """A model with a true incumbent that is not the optimum."""
    X, y = tiny(seed)
    model = ZeroOneSVM(X, y, lam=(0.2, 1.0, 6.0)[seed % 3])
    w = relax(model, Hinge("zero")).values["w"]
    return ZeroOneSVM(X, y, lam=model.lam, upper_bound=model.objective(w))


@pytest.fixture(scope="module", params=range(6))
def solved(request: pytest.FixtureRequest) -> tuple[ZeroOneSVM, float, dict[str, object]]:
    model = tiny_model(request.param)
    relaxed = {reduction.name: relax(model, reduction, "clarabel", TIGHT) for reduction in ALL}
    return model, enumerated(model), relaxed


def test_every_bound_is_proved_and_at_most_the_optimum(solved) -> None:
    _, optimum, relaxed = solved
    for r in relaxed.values():
        assert r.caveat == ""
        assert r.bound_kind == "proved"
        assert r.bound <= optimum * (1 + 1e-12)
        assert r.bound == pytest.approx(r.result.objective, rel=1e-6), r.reduction.name  # the proof loses nothing
        assert r.lifted.value <= optimum * (1 + 1e-12)
        assert r.lifted.value == pytest.approx(r.bound, rel=1e-6), r.reduction.name


def test_recovered_points_are_feasible_and_above_the_optimum(solved) -> None:
    model, optimum, relaxed = solved
    for r in relaxed.values():
        certificate = certify(model.form, r.values)
        assert certificate.feasible(1e-9), r.reduction.name
        assert r.objective == pytest.approx(certificate.objective, rel=1e-12)
        assert optimum <= r.objective * (1 + 1e-12)


def test_order_of_bounds(solved) -> None:
    _, _, relaxed = solved
    value = {name: r.bound for name, r in relaxed.items()}

    def at_most(lower: str, upper: str) -> bool:
        return value[lower] <= value[upper] * (1 + 1e-6)

    assert at_most("big-M, 50x M from w=0", "big-M, M from w=0")
    assert at_most("big-M, M from w=0", "big-M, M from incumbent")
    assert at_most("hinge, M from w=0", "big-M, M from w=0")
    assert at_most("hinge, M from incumbent", "big-M, M from incumbent")
    assert at_most("big-M, M from w=0", "conic SDP")
    for source in ("M from w=0", "M from incumbent"):
        assert at_most("conic SDP", f"conic SDP + big-M, {source}")
        assert at_most(f"big-M, {source}", f"conic SDP + big-M, {source}")


def test_combined_is_stronger_than_both_where_tight_big_m_beats_the_sdp() -> None:
    X, y = tiny(4)
    model = ZeroOneSVM(X, y, lam=3.0)
    optimum = enumerated(model)
    model = ZeroOneSVM(X, y, lam=3.0, upper_bound=optimum)
    bigm, conic, both = (relax(model, r, "clarabel", TIGHT).bound for r in (BigM("incumbent"), Conic(), Combined()))
    assert both > max(bigm, conic) * (1 + 1e-4)
    assert both <= optimum


def test_combined_with_slack_rows_is_the_conic_relaxation() -> None:
    X, y = tiny(1)
    model = ZeroOneSVM(X, y, lam=1.0)
    loose = relax(model, Combined("zero", factor=1e4), "clarabel", TIGHT)
    assert loose.bound == pytest.approx(relax(model, Conic(), "clarabel", TIGHT).bound, rel=1e-6)


def test_big_m_is_the_hinge_with_weights_where_z_at_most_1_is_slack() -> None:
    X, y = tiny(0)
    model = ZeroOneSVM(X, y, lam=1.0)
    bigm, hinge = relax(model, BigM(), "clarabel", TIGHT), relax(model, Hinge(), "clarabel", TIGHT)
    assert isinstance(Hinge().apply(model), HingeSVM)
    np.testing.assert_allclose(Hinge().apply(model).sample_weight, 1.0 / model.big_m_values)
    assert bigm.result.values["z"].max() < 1.0
    assert bigm.bound == pytest.approx(hinge.bound, rel=1e-7)
    np.testing.assert_allclose(bigm.result.values["w"], hinge.result.values["w"], atol=1e-5)
    np.testing.assert_allclose(bigm.result.values["z"], hinge.result.values["xi"] / model.big_m_values, atol=1e-6)


def test_big_m_exceeds_the_hinge_where_z_at_most_1_binds() -> None:
    X, y = tiny(0)
    model = ZeroOneSVM(X, y, lam=40.0, big_m=1.3)
    bigm, hinge = relax(model, BigM("stated"), "clarabel"), relax(model, Hinge("stated"), "clarabel")
    assert bigm.bound == hinge.bound == -np.inf  # of the 0-1 problem; those of the targets compare
    assert bigm.target_bound > hinge.target_bound * (1 + 1e-3)
    assert "below its smallest value proved valid" in bigm.caveat


def test_bounds_of_unfinished_solves_are_valid() -> None:
    model = tiny_model(1)
    optimum = enumerated(model)
    for reduction in (BigM("incumbent"), Hinge("incumbent"), Conic(), Combined("incumbent")):
        for limit in (2, 4, 6):
            r = relax(model, reduction, "clarabel", Options(iteration_limit=limit))
            assert r.bound_kind == "proved"
            assert r.bound <= optimum
            assert r.lifted.value <= optimum


def test_weights_for_each_point() -> None:
    X, y = tiny(2)
    lam = np.linspace(0.5, 3.0, y.size)
    model = ZeroOneSVM(X, y, lam=lam)
    optimum = enumerated(model)
    for reduction in (BigM(), Hinge(), Combined("zero")):
        r = relax(model, reduction, "clarabel", TIGHT)
        assert r.bound <= optimum
        assert r.bound == pytest.approx(r.result.objective, rel=1e-6)
    with pytest.raises(UnsupportedModelError, check=about("conic SDP")):
        Conic().apply(model)


def test_repeated_points_are_a_point_of_twice_the_weight() -> None:
    X, y = tiny(3)
    twice = ZeroOneSVM(np.vstack([X, X[:1]]), np.append(y, y[0]), lam=1.0)
    weighted = ZeroOneSVM(X, y, lam=np.where(np.arange(y.size) == 0, 2.0, 1.0))
    bounds = [relax(m, Combined("zero", factor=1e3), "clarabel", TIGHT).bound for m in (twice, weighted)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-5)


def test_free_intercept() -> None:
    X, y = tiny(5)
    model = ZeroOneSVM(X, y, lam=1.0, intercept="free")
    r = relax(model, BigM(), "clarabel", TIGHT)
    assert 0.0 < r.bound <= enumerated(model)
    assert r.lifted.value <= r.bound * (1 + 1e-9)
    assert certify(model.form, r.values).feasible(1e-9)
    for reduction in (Hinge(), Conic(), Combined("zero")):
        with pytest.raises(UnsupportedModelError, check=about("conic SDP", "conic SDP + big-M, M from w=0", "hinge, M from w=0")):
            reduction.apply(model)


def test_caveats_and_sources() -> None:
    X, y = tiny(0)
    model = ZeroOneSVM(X, y, lam=1.0)
    assert "11 of 11" in Hinge(1.0).caveat(model)
    assert Hinge(1.0).m_source(model) == "M=1, not proved valid"
    assert BigM(1e4).caveat(model) == ""
    assert BigM("zero", factor=2.0).m_source(model) == "2x M from w=0, valid"
    assert BigM("zero", factor=0.5).caveat(model) != ""
    assert Conic().m_source(model) == "" and Conic().big_m_constants(model) is None
    np.testing.assert_allclose(BigM("zero", factor=2.0).big_m_constants(model), 2.0 * model.big_m_values)
    # an incumbent makes smaller constants valid, and M given by the user is ignored where valid ones are asked for
    known = ZeroOneSVM(X, y, lam=1.0, big_m=0.5, upper_bound=4.0)
    assert BigM("stated").caveat(known) != ""
    np.testing.assert_allclose(BigM("zero").big_m_constants(known), model.big_m_values)
    assert (BigM("incumbent").big_m_constants(known) < model.big_m_values).all()
    assert BigM().direction is Direction.OUTER
    assert len({BigM(), BigM("zero"), BigM("incumbent")}) == 2  # frozen, compared by value


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: BigM("w"), "big_m"),
        (lambda: BigM(-1.0), "big_m"),
        (lambda: BigM(float("nan")), "big_m"),
        (lambda: Hinge("zero", factor=0.0), "factor"),
    ],
)
def test_wrong_parameters(make, name) -> None:
    with pytest.raises(InputError, check=about(name)):
        make()


def test_incumbent_needs_an_upper_bound() -> None:
    X, y = tiny(0)
    with pytest.raises(InputError, check=about("big_m")):
        BigM("incumbent").apply(ZeroOneSVM(X, y))


def test_hinge_refuses_zero_m() -> None:
    X, y = tiny(0)
    with pytest.raises(InputError, check=about("big_m")):
        Hinge("stated").apply(ZeroOneSVM(X, y, big_m=0.0))


def test_best_multiple_is_the_best_of_many() -> None:
    rng = np.random.default_rng(0)
    for seed in range(6):
        model = tiny_model(seed)
        loose = ZeroOneSVM(model.X, model.y, lam=model.lam)
        w = rng.normal(size=3)
        best = loose.objective(best_multiple(loose, w))
        multiples = np.concatenate([[0.0], np.linspace(0.01, 30.0, 4000)])
        assert best <= min(loose.objective(t * w) for t in multiples) + 1e-9


def test_best_multiple_respects_given_constants() -> None:
    X, y = tiny(0)
    w = np.array([0.1, 1.0, 1.0])
    valid, model = ZeroOneSVM(X, y, lam=20.0), ZeroOneSVM(X, y, lam=20.0, big_m=1.2)
    point = model.point(best_multiple(model, w))
    assert certify(model.form, point).feasible(1e-9)
    assert not certify(model.form, model.point(best_multiple(valid, w))).feasible(1e-9)  # the rows do cut something off
    with pytest.raises(InputError, check=about("big_m")):
        best_multiple(ZeroOneSVM(X, y, big_m=0.5), w)
    for bad in (np.zeros(2), np.array([np.inf, 0.0, 0.0])):
        with pytest.raises(InputError, check=about("w")):
            best_multiple(valid, bad)


def test_combined_model_states_itself() -> None:
    X, y = tiny(0)
    model = CombinedRelaxation(X, y, lam=1.0, big_m=9.0)
    assert "big_m" in str(model) and "M_i z_i" in model.latex()
    form, conic = model.form, ConicSVM(X, y, lam=1.0).form
    assert [c.label for c in form.constraints] == [*(c.label for c in conic.constraints), "big_m"]
    x = np.random.default_rng(0).normal(size=form.n)
    values = form.split(x)
    np.testing.assert_allclose(form.constraint("big_m").value(x), y * (X @ values["w"]) + 9.0 * values["z"] - 1.0)
    assert model.form_bytes > 0
    np.testing.assert_allclose(model.decision_function(values, X), X @ values["w"])
    for bad in ({"lam": 0.0, "big_m": 2.0}, {"lam": 1.0, "big_m": 0.0}):
        with pytest.raises(InputError, check=about("big_m", "lam")):
            CombinedRelaxation(X, y, **bad)
    assert model.bound(None, None).value == -np.inf
