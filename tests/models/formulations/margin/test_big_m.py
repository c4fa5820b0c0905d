"""``big_m=`` and ``encoding=`` of `Margin` mean what they mean of `ZeroOneSVM`."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from data import clouds
from facts import about

import marginopt as mo
from marginopt.errors import InputError, MarginoptDeprecationWarning
from marginopt.models import Indicator, Margin, Model, RampSVM, ZeroOneSVM
from marginopt.models.digest import fingerprint
from marginopt.solvers import Status


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    return clouds(1, 9, 2, 0.7, order="halves")


def _kinds(model: Model) -> set[type]:
    return {type(c.cone) for c in model.form.constraints}


def test_given_constants_stand_in_the_rows_of_both(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    for M in (3.0, np.linspace(1.0, 9.0, y.size)):
        plain, composed = ZeroOneSVM(X, y, 0.8, big_m=M), Margin(X, y, "zero-one", sample_weight=0.8, big_m=M)
        rows = [form.constraints[0].F.toarray() for form in (plain.form, composed.form)]
        np.testing.assert_array_equal(*rows)
        assert plain.has_given_big_m and composed.has_given_big_m


def test_indicators_have_no_rows_with_constants(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    for loss in ("zero-one", "ramp"):
        plain = Margin(X, y, loss, sample_weight=0.8, encoding="indicator", big_m=2.0)
        assert Indicator in _kinds(plain) and not plain.has_given_big_m
        assert Indicator not in _kinds(Margin(X, y, loss, sample_weight=0.8))
        truth = mo.solve(Margin(X, y, loss, sample_weight=0.8), "scip", tol=1e-7, time_limit=30).objective
        assert mo.solve(plain, "scip", time_limit=30).objective == pytest.approx(truth, rel=1e-4)


@pytest.mark.parametrize("loss", ["zero-one", "ramp"])
def test_an_optimum_under_given_constants_is_the_problems_or_inaccurate(loss: str, data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    plain = Margin(X, y, loss, sample_weight=0.8)
    truth = mo.solve(plain, "scip", tol=1e-7, time_limit=30).objective
    statuses = set()
    for M in (0.0, 1.0, 2.5, 50.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = mo.solve(replace(plain, big_m=M), "scip", tol=1e-7, time_limit=30)
        statuses.add(result.status)
        if result.status is Status.OPTIMAL:
            assert result.objective == pytest.approx(truth, rel=1e-5)
    assert statuses == {Status.OPTIMAL, Status.INACCURATE}


def test_the_level_of_given_constants_is_the_value_that_they_follow_from(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    boxed = {"domain": mo.margin.Box(-2.0, 2.0)}
    for more in ({}, {"regulariser": "l1"}, {"intercept": "free"}, boxed):
        valid = Margin(X, y, "zero-one", sample_weight=0.8, upper_bound=3.0, **more)
        model = replace(valid, upper_bound=None, big_m=1.0 + valid.activity_bounds[1])
        assert model.cutoff >= 3.0 * (1.0 - 1e-9)
        if not more or "domain" not in more:
            assert model.cutoff == pytest.approx(3.0 + 0.8, rel=1e-6)  # a switch that is off costs .8
        rng = np.random.default_rng(0)
        for scale in (0.1, 1.0, 10.0):
            low = replace(valid, upper_bound=None, big_m=1.01)
            assert low.bound(None, {"margin": scale * rng.random(y.size)}).value <= low.cutoff


def test_relaxations_bound_the_problem_and_not_what_given_constants_leave_of_it(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    plain = Margin(X, y, "zero-one", sample_weight=0.8)
    loose = [mo.relax(model, "hulls").bound for model in (plain, replace(plain, big_m=0.5))]
    assert loose[0] == pytest.approx(loose[1], rel=1e-6)


@pytest.mark.parametrize("kind", [ZeroOneSVM, RampSVM])
def test_the_old_name_works_and_warns(kind: type[ZeroOneSVM | RampSVM], data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind(X, y, 0.8, M=4.0)
    assert model.big_m == 4.0
    assert all(w.category is MarginoptDeprecationWarning and w.filename == __file__ for w in caught)
    with pytest.raises(InputError, check=about("M")):
        kind(X, y, 0.8, M=4.0, big_m=3.0)


def test_digests_of_what_the_default_states_are_those_of_before_the_parameters(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    plain = Margin(X, y, "zero-one")
    for encoding in ("auto", "bigm"):
        assert fingerprint(plain) == fingerprint(replace(plain, big_m="auto", encoding=encoding))
        assert fingerprint(ZeroOneSVM(X, y)) == fingerprint(ZeroOneSVM(X, y, encoding=encoding))
    assert len({fingerprint(replace(plain, **c)) for c in ({}, {"big_m": 2.0}, {"encoding": "indicator"})}) == 3


def test_rows_with_constants_that_are_asked_for_and_unknown_are_refused(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    for state in (
        lambda encoding: Margin(X, y, "zero-one", "none", encoding=encoding),
        lambda encoding: Margin(X, y, "hinge", "none", subject_to=mo.error_budget(1, 0.2), encoding=encoding),
        lambda encoding: ZeroOneSVM(X, y, kappa=0.01, encoding=encoding),
    ):
        assert Indicator in _kinds(state("auto"))
        with pytest.raises(InputError, check=about("encoding")):
            state("bigm")
    for known in ({"domain": "box"}, {"big_m": 2.0}):
        assert Indicator not in _kinds(Margin(X, y, "zero-one", "none", encoding="bigm", **known))
    assert not Margin(X, y, "hinge", "none", encoding="bigm").form.integer.any()


@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("M", [0.5, 1.0, 1.5, 4.0])
def test_the_level_of_given_constants_is_that_of_the_named_formulation(
    intercept: str, M: float, data: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = data
    for loss, named in (("zero-one", ZeroOneSVM), ("ramp", RampSVM)):
        composed = Margin(X, y, loss, sample_weight=0.8, big_m=M, intercept=intercept)
        level = named(X, y, 0.8, big_m=M, intercept=intercept).cutoff
        # with a free intercept the named one bounds it by points of all values up to the level, and so less tightly
        assert composed.cutoff == pytest.approx(level, rel=1e-9) or (intercept == "free" and composed.cutoff > level)


def test_the_printed_rows_have_constants_where_the_form_has(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    for loss in ("zero-one", "ramp"):
        for arguments in ({}, {"big_m": 2.0}, {"encoding": "indicator"}, {"regulariser": "none"}):
            model = Margin(X, y, loss, **arguments)
            (row,) = [line for line in model.statement.constraints if line.label == "margin"]
            assert ("M_i" in row.text) == (Indicator not in _kinds(model))


@pytest.mark.parametrize("wrong", [{"big_m": -1.0}, {"big_m": "large"}, {"big_m": [1.0, 2.0]}, {"encoding": "strengthened"}])
def test_what_is_neither_is_refused(wrong: dict[str, object], data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    with pytest.raises(InputError, check=about(next(iter(wrong)))):
        Margin(X, y, "zero-one", **wrong)  # type: ignore[arg-type]
