"""`certify` of a point that anybody found: of a formulation, of its form, and of what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data import clouds
from facts import about

import marginopt as mo
from marginopt.errors import InputError


@pytest.fixture(scope="module")
def model() -> mo.HingeSVM:
    return mo.HingeSVM(*clouds(2, 16, 2, 0.5, order="halves", first=-1.0))


def test_a_formulation_and_its_form_have_one_certificate(model: mo.HingeSVM) -> None:
    result = mo.solve(model, "clarabel", tol=1e-8)
    certificate, bare = (mo.certify(stated, result.values, result.multipliers) for stated in (model, model.form))
    assert certificate.objective == bare.objective == pytest.approx(result.objective, rel=1e-12)
    assert certificate.bound <= certificate.objective + 1e-9
    assert certificate.gap == pytest.approx(0.0, abs=1e-6)


def test_a_worse_point_costs_what_its_formula_says(model: mo.HingeSVM) -> None:
    w = np.array([0.3, -0.2, 0.5])
    xi = np.maximum(1.0 - model.y * (model.X @ w), 0.0)
    assert mo.certify(model, {"w": w, "xi": xi}).objective == pytest.approx(w @ w + xi.sum(), rel=1e-14)
    assert mo.certify(model, {"w": w, "xi": xi - 0.25}).primal_residual > 0.01


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"w": [1.0, 2.0, float("nan")], "xi": np.zeros(16)}, "values"),
        ({"xi": np.zeros(16)}, "values"),
        ({"w": np.zeros(3), "xi": np.zeros(4)}, "values"),
    ],
)
def test_refusals(model: mo.HingeSVM, values: Any, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        mo.certify(model, values)


@pytest.mark.parametrize("multipliers", [5, [1.0], {"margin": "x"}, {"margin": np.array([{}] * 16)}, {"margin": 1j}])
def test_multipliers_that_are_no_numbers_by_label_are_refused(model: mo.HingeSVM, multipliers: Any) -> None:
    values = mo.solve(model, "clarabel").values
    with pytest.raises(InputError, check=about("multipliers", "multipliers['margin']")):
        mo.certify(model, values, multipliers)
    with pytest.raises(InputError, check=about("reduced")):
        mo.certify(model, values, {"margin": np.zeros(16)}, reduced="x")


@pytest.mark.parametrize("multipliers", [{"margin": np.full(16, np.nan)}, {"margin": np.zeros(3)}, {"other": np.zeros(3)}, {}])
def test_multipliers_that_are_numbers_of_nothing_bound_nothing(model: mo.HingeSVM, multipliers: Any) -> None:
    assert mo.certify(model, mo.solve(model, "clarabel").values, multipliers).bound <= 0.0
