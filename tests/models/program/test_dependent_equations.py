"""Equations of unbounded variables that follow from the others exactly: told from those that nearly do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from data import clouds

import marginopt as mo
from marginopt import margin
from marginopt.models import Block, Constraint, Nonnegative, StandardForm
from marginopt.models.program.lagrangian import lagrangian
from marginopt.solvers.rational.form import RationalForm


def _hulls(seed: int, domain: margin.Domain) -> mo.Margin:
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, 8, 2, 0.4, order="halves", first=-1.0)
    return mo.Margin(X, y, margin.NearestHulls(), margin.L1(0.5), weights=rng.uniform(0.3, 1.0, 8), domain=domain)


@pytest.mark.parametrize(
    "domain", [margin.Increasing((1, 2)), margin.Signs((0, 1, 0)), margin.Reals()], ids=lambda d: type(d).__name__
)
def test_a_constant_column_beside_free_levels_is_proved(domain: margin.Domain) -> None:
    """HiGHS's vertex has no price on |w_0| ≤ a_0: the constant column's equation is that of the levels, and was singular."""
    solved = 0
    for seed in range(12):
        result = mo.solve(_hulls(seed, domain), "highs")
        if result.status is mo.Status.OPTIMAL:
            solved += 1
            assert result.bound_kind == "proved", (seed, result)
            form = _hulls(seed, domain).form
            exact = RationalForm(form)
            assert result.certificate is not None and result.certificate.primal_residual <= 1e-9
            assert Fraction(result.bound) <= exact.objective(exact.point(form.join(result.values))) + Fraction(1e-9)
    assert solved > 4


#: Prices that meet the equations of `_levels` but for 1e-12, worth 7/16; the optimum is 13/16.
PRICES = {"rows": np.array([0.25 + 1e-12, 0.25, 0.5])}


def _levels(cost: float, seen: float = 1.0) -> StandardForm:
    """min cost w - p/2 - q/4 + 2x, x ≥ 0, on three rows that do not see (w, p, q) = (1, 1, -1), which costs cost - 1/4."""
    rows = sp.csr_array([[seen, -1.0, 0.0, 1.0], [-1.0, 0.0, -1.0, 1.0], [0.5 * seen, -0.5, 0.0, 1.0]])
    return StandardForm(
        "levels", (Block("x", (4,)),), np.array([cost, -0.5, -0.25, 2.0]),
        (Constraint("rows", rows, np.array([-1.5, -0.25, 0.0]), Nonnegative(3)),),
        np.array([-np.inf, -np.inf, -np.inf, 0.0]), np.full(4, np.inf), np.zeros(4, dtype=bool),
    )  # fmt: skip


def test_a_direction_that_costs_nothing_takes_an_equation_away() -> None:
    bound = lagrangian(_levels(0.25), None, PRICES).value
    assert 7 / 16 - 1e-9 <= bound <= 13 / 16


@pytest.mark.parametrize(
    "form", [_levels(np.nextafter(0.25, 1.0)), _levels(0.25, seen=np.nextafter(1.0, 2.0))], ids=["costs", "is seen"]
)
def test_a_direction_that_costs_or_is_seen_by_a_rounding_is_unbounded_and_nothing_is_proved(form: StandardForm) -> None:
    assert lagrangian(form, None, PRICES).value == -np.inf
