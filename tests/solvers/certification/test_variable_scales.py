"""Units of variables that no constant speaks of: they go along with the data, whatever the data are multiplied with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from data import clouds

import marginopt as mo
from marginopt import Status, margin
from marginopt.models.program.form import StandardForm
from marginopt.solvers.certification.certificate import objective_scale, variable_scales

REGULARISERS = [margin.SquaredNorm(0.7), margin.ElasticNet(0.2, 0.3), margin.L1(0.5), margin.GroupL1((0, 1, 1), 0.4)]


def form(regulariser: margin.Regulariser, *restrictions: margin.Restriction) -> StandardForm:
    X, y = clouds(np.random.default_rng(2), 8, 2, 0.4, order="halves", first=-1.0)
    return mo.Margin(X, y, margin.NuHinge(0.4), regulariser, subject_to=list(restrictions)).form


def dilated(form: StandardForm, t: float) -> StandardForm:
    """The same problem in variables t times as large: x = x'/t."""
    rows = tuple(replace(c, F=c.F / t) for c in form.constraints)
    quadratic = None if form.quadratic is None else type(form.quadratic)(matrix=form.quadratic.materialised / t**2)
    return form.replace(q=form.q / t, constraints=rows, lower=form.lower * t, upper=form.upper * t, quadratic=quadratic)


@pytest.mark.parametrize("t", [1e-3, 7.0, 1e4])
@pytest.mark.parametrize("regulariser", REGULARISERS, ids=lambda p: type(p).__name__)
def test_the_scale_of_an_objective_does_not_see_the_units_of_the_variables(regulariser: margin.Regulariser, t: float) -> None:
    rows = margin.LinearRows(np.array([[1.0, 0.5, -0.3]]), -1.0, 1.0)
    for restrictions in ((), (rows,)):
        program = form(regulariser, *restrictions)
        assert objective_scale(dilated(program, t)) == pytest.approx(objective_scale(program), rel=1e-9)
        np.testing.assert_allclose(variable_scales(dilated(program, t)), t * variable_scales(program), rtol=1e-9)


def test_rows_hand_units_on() -> None:
    """ν-SVM: |w| within a box of 2.5 gives ρ and ξ a unit of max |x| times as much."""
    X, y = clouds(np.random.default_rng(2), 8, 2, 0.4, order="halves", first=-1.0)
    model = mo.Margin(X, y, margin.NuHinge(0.4), margin.L1(0.5), domain=margin.Box(-1.0, 1.5))
    units = model.form.split(variable_scales(model.form))
    np.testing.assert_allclose(units["w"], 2.5)
    np.testing.assert_allclose(units["xi"], 2.5 * np.abs(X).max(axis=1))
    assert 2.5 <= units["rho"][0] <= 2.5 * np.abs(X).max()


def test_a_quadratic_term_is_balanced_with_the_prices_of_its_rows() -> None:
    """ν-SVM without a constant anywhere: |w| of at most c max|x|/(2μ), as its optimality condition w = Σ α_i y_i x_i/(2μ) has."""
    program = form(margin.SquaredNorm(0.7))
    units = program.split(variable_scales(program))
    X, _ = clouds(np.random.default_rng(2), 8, 2, 0.4, order="halves", first=-1.0)
    np.testing.assert_allclose(units["w"], np.abs(X).max(axis=0) / 1.4, rtol=1e-12)
    assert objective_scale(program) > 0.0


def test_a_linear_cone_has_no_scale() -> None:
    """Nothing is constant in a linear ν-SVM, so any point may be multiplied: there is no unit, and the scale is 0."""
    assert objective_scale(form(margin.L1(0.5))) == 0.0


@pytest.mark.filterwarnings("ignore:the features' scales")
def test_a_row_without_a_price_gives_no_variable_a_scale() -> None:
    """Two features of 1e-150 that separate the points, and a row in which they have coefficients of 1: the optimum is 0."""
    X = np.array([[1.0, 2e-150, 1e-150], [1.0, -1e-150, 2.5e-150], [1.0, 2.5e-150, 1e-150]])
    rows = margin.LinearRows(np.ones((1, 3)), 0.5)
    model = mo.Margin(X, [1.0, -1.0, 1.0], "hinge", "none", sample_weight=1e6, subject_to=rows)
    for solver in ("highs", "clarabel"):
        result = mo.solve(model, solver)
        assert result.status is not Status.OPTIMAL or result.objective < 1.0
