"""`Margin`: named formulations are instances, forms cost what is stated, big-M cuts no optimum off, refusals are clear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data import clouds
from effort import trials
from facts import about
from hypothesis import given, settings, strategies as st

import marginopt as mo
from marginopt import margin
from marginopt.errors import InputError

LOSSES = [
    margin.Hinge(),
    margin.SquaredHinge(),
    margin.Ramp(1.0, 2.0),
    margin.ZeroOne(),
    margin.PiecewiseLinear(((0.0, 1.0), (1.0, 0.0), (2.0, 0.0))),
    margin.NuHinge(0.5),
]
REGULARISERS = [margin.SquaredNorm(0.5), margin.L1(0.4), margin.ElasticNet(0.2, 0.3), margin.GroupL1((0, 1, 1), 0.6)]
DOMAINS: list[margin.Domain] = [margin.Reals(), margin.Box(-2.0, 3.0), margin.Signs((0, 1, 0)), margin.Increasing((1, 2))]


def small(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return clouds(seed, 10, 2, 0.5, order="halves", first=-1.0)


@given(
    seed=st.integers(0, 1000),
    loss=st.sampled_from(LOSSES),
    regulariser=st.sampled_from(REGULARISERS),
    domain=st.sampled_from(DOMAINS),
    restricted=st.booleans(),
)
@settings(max_examples=trials(15, 40))
def test_an_optimum_costs_what_is_stated_and_no_sampled_point_costs_less(
    seed: int, loss: Any, regulariser: Any, domain: Any, restricted: bool
) -> None:
    X, y = small(seed)
    restrictions = [mo.parity(X[:, 1] > X[:, 1].mean(), 0.3)] if restricted else []
    model = mo.Margin(X, y, loss, regulariser, sample_weight=0.7, domain=domain, subject_to=restrictions)
    result = mo.solve(model, "clarabel" if model.convex else "scip", tol=1e-7, time_limit=60)
    w = result.values["w"]
    tolerance = 1e-5 * (1.0 + abs(result.objective))
    stated = model.objective(w * (1 + 1e-7) if not model.convex else w)
    assert stated <= result.objective + tolerance
    rng = np.random.default_rng(seed)
    low, high = domain.bounds(3)
    for scale in (0.01, 0.3, 1.0):
        for center in (w, np.zeros(3)):
            other = np.clip(center + scale * rng.normal(size=3), low, high)
            other = np.sort(other) if isinstance(domain, margin.Increasing) else other
            if all(r.violation(X, y, other) == 0 for r in restrictions):
                assert model.objective(other) >= result.objective - tolerance


@pytest.mark.parametrize("seed", range(trials(2, 4)))
def test_named_formulations_are_instances(seed: int) -> None:
    X, y = small(seed)
    pairs: list[tuple[mo.Model, mo.Model, str]] = [
        (mo.HingeSVM(X, y, 2.0), mo.Margin(X, y, sample_weight=2.0), "clarabel"),
        (mo.ZeroOneSVM(X, y, 0.5), mo.Margin(X, y, "zero-one", sample_weight=0.5), "scip"),
        (mo.RampSVM(X, y, 0.5), mo.Margin(X, y, "ramp", intercept="free", sample_weight=0.5), "scip"),
    ]
    for named, composed, solver in pairs:
        first, second = (mo.solve(model, solver, tol=1e-8) for model in (named, composed))
        assert second.objective == pytest.approx(first.objective, rel=1e-6), named.name


@pytest.mark.parametrize("loss", ["zero-one", "ramp"])
@pytest.mark.parametrize("regulariser", ["l2", "l1", "elastic-net"])
@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_big_m_constants_cut_no_optimum_off(loss: str, regulariser: str, intercept: Any) -> None:
    """The same problem with indicators, which need no constant: a restriction that never binds removes the bound."""
    X, y = small(11)
    slack = mo.margin.LinearRows(np.ones((1, 3)), -1e6, 1e6)
    tight = mo.Margin(X, y, loss, regulariser, intercept=intercept, sample_weight=0.8)
    loose = mo.Margin(X, y, loss, regulariser, intercept=intercept, sample_weight=0.8, subject_to=slack)
    assert {c.label for c in tight.form.constraints} <= {c.label for c in loose.form.constraints}
    first, second = (mo.solve(model, "scip", time_limit=60) for model in (tight, loose))
    assert first.objective == pytest.approx(second.objective, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "part"), [("reals", margin.Reals()), ("nonnegative", margin.Box(0.0, np.inf)), ("integers", margin.Integers())]
)
def test_a_domain_by_name_is_the_part(name: str, part: margin.Domain) -> None:
    X, y = small(3)
    by_name, by_part = (mo.Margin(X, y, "hinge", "l1", domain=domain) for domain in (name, part))
    assert str(by_name) == str(by_part)
    assert "inf" not in str(by_name)
    assert by_name.form.equals(by_part.form)


def test_statement_and_latex_name_every_part() -> None:
    X, y = small(0)
    restrictions = [mo.parity(X[:, 1] > 0, 0.1), mo.error_budget(1, 0.5), mo.at_most(1).nonzero]
    model = mo.Margin(X, y, "ramp", "l1", subject_to=restrictions)
    text = str(model)
    for word in ("Ramp", "L1", "parity", "budget", "nonzero count", "mixed-integer"):
        assert word in text
    assert r"\mathrm{cov}" in model.latex()
    assert r"\begin{document}" in model.latex(standalone=True)


def test_forms_survive_a_file(tmp_path: Any) -> None:
    X, y = small(1)
    for model in (mo.Margin(X, y, regulariser=margin.GroupL1((0, 1, 1))), mo.Margin(X, y, "ramp", "l1")):
        assert mo.read(model.write(tmp_path / "program.npz")).equals(model.form)


def test_a_constant_column_has_no_covariance_and_rounding_makes_no_optimum_of_zero() -> None:
    """Seed 40: a coefficient of 3e-17 in the parity rows had made the origin pass for an optimum of -1.449."""
    X, y = small(40)
    model = mo.Margin(
        X, y, margin.NuHinge(0.5), margin.SquaredNorm(0.5), sample_weight=0.7, subject_to=mo.parity(X[:, 1] > X[:, 1].mean(), 0.3)
    )
    assert not model.form.constraint("parity above").F.toarray()[:, 0].any()
    result = mo.solve(model, "clarabel", tol=1e-8)
    assert result.objective == pytest.approx(-1.4494140764, rel=1e-6)
    # and with the coefficient put back, by hand
    rows = margin.LinearRows(np.array([[3e-17, 0.4, 0.1]]), -0.3, 0.3)
    other = mo.solve(
        mo.Margin(X, y, margin.NuHinge(0.5), margin.SquaredNorm(0.5), sample_weight=0.7, subject_to=rows), "clarabel", tol=1e-8
    )
    assert other.objective < -0.5


def test_weights_of_zero_take_a_point_out() -> None:
    X, y = small(2)
    weights = np.ones(10)
    weights[3] = 0.0
    mask = np.arange(10) != 3
    full, part = mo.Margin(X, y, sample_weight=weights), mo.Margin(X[mask], y[mask])
    assert mo.solve(full, "clarabel").objective == pytest.approx(mo.solve(part, "clarabel").objective, rel=1e-6)


def test_inputs_are_not_changed() -> None:
    X, y = small(3)
    before = X.copy(), y.copy()
    mo.solve(mo.Margin(X, y, "zero-one", "l1"), "scip")
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"loss": "hing"}, "hing"),
        ({"loss": 3}, "loss"),
        ({"regulariser": "l3"}, "l3"),
        ({"subject_to": [3]}, "subject_to"),
        ({"loss": margin.Hinge}, "loss"),
        ({"subject_to": mo.at_most(2)}, "subject_to"),
        ({"subject_to": [lambda v: v.w[0] >= 0]}, "subject_to"),
        ({"sample_weight": -1.0}, "sample_weight"),
        ({"intercept": "none"}, "intercept"),
        ({"domain": margin.Box((0.0, 0.0), 1.0)}, "lower"),
        ({"domain": margin.Signs((1, 1))}, "signs"),
    ],
)
def test_refusals(arguments: dict[str, Any], name: str) -> None:
    X, y = small(0)
    with pytest.raises(InputError, check=about(name)):
        mo.Margin(X, y, **arguments)


@pytest.mark.parametrize("loss", ["epsilon-insensitive", "one-class", "pairwise"])
@pytest.mark.parametrize("restriction", [mo.keep([0]), mo.error_budget([0, 1], 0.5)], ids=["keep", "budget"])
def test_restrictions_of_margins_need_a_loss_of_margins(loss: str, restriction: Any) -> None:
    X, y = small(0)
    with pytest.raises(InputError, check=about("restrictions")):
        mo.Margin(X, y, loss, subject_to=restriction)


def test_an_error_of_a_budget_is_a_margin_below_one_whatever_the_threshold() -> None:
    X, y = small(6)
    for threshold in (0.5, 1.0):
        model = mo.Margin(X, y, margin.ZeroOne(threshold), subject_to=mo.error_budget(-1, 0.2), sample_weight=0.1)
        w = mo.solve(model, "scip", time_limit=60).values["w"]
        assert ((y * (X @ w))[y < 0] < 1.0 - 1e-6).sum() <= 1


def test_refusals_of_parts() -> None:
    X, y = small(0)
    with pytest.raises(InputError, check=about("domain")):
        _ = mo.Margin(X, y, margin.PiecewiseLinear(((0.0, 0.0), (1.0, 1.0), (2.0, 1.5)))).form
    with pytest.raises(InputError, check=about("domain")):
        _ = mo.Margin(X, y, regulariser="l0").form
    with pytest.raises(InputError, check=about("share")):
        mo.error_budget(1, 2.0)
    with pytest.raises(InputError, check=about("points")):
        _ = mo.Margin(X, y, "zero-one", subject_to=mo.error_budget(2, 0.5)).form
    with pytest.raises(InputError, check=about("groups")):
        _ = mo.Margin(X, y, subject_to=mo.parity(np.zeros(10))).form


@pytest.mark.parametrize(
    ("breakpoints", "corners"),
    [
        (((-1, 3), (0, 2), (1, 1), (2, 0), (3, 0)), ((-1, 3), (2, 0), (3, 0))),
        (((0.1, 0.3), (0.2, 0.2), (0.3, 0.1), (0.4, 0.0), (1, 0)), ((0.1, 0.3), (0.4, 0.0), (1, 0))),
        (((-1, 1), (0, 1), (1, 1), (1, 0), (2, 0), (4, 0)), ((-1, 1), (1, 1), (1, 0), (4, 0))),
        (((0, 1), (1, 0), (2, -1)), ((0, 1), (2, -1))),
    ],
)
def test_breakpoints_on_a_line_are_one_segment(
    breakpoints: tuple[tuple[float, float], ...], corners: tuple[tuple[float, float], ...]
) -> None:
    X, y = clouds(1, 8, 2, 0.5, order="turns", first=-1.0)
    many, few = (mo.Margin(X, y, margin.PiecewiseLinear(each), domain=margin.Box(-2.0, 2.0)) for each in (breakpoints, corners))
    assert (many.form.n, many.form.rows_matrix()[1].size) == (few.form.n, few.form.rows_matrix()[1].size)
    text = [line.text for line in many.loss.lines()]
    assert text == [line.text for line in few.loss.lines()]
    assert len(set(text)) == len(text)
    m = np.linspace(-3.0, 5.0, 41)
    np.testing.assert_allclose(many.loss.values(m), few.loss.values(m), atol=1e-12)
