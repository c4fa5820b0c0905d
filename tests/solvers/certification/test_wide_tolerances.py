"""A wide tolerance is one of the gap: points that miss their rows by as much are no optima."""

from __future__ import annotations

import numpy as np
import pytest

import marginopt as mo
from marginopt.models.model import BareForm
from marginopt.models.program.cones import Nonnegative
from marginopt.models.program.form import Block, Constraint, StandardForm
from marginopt.models.program.quadratic import Quadratic
from marginopt.solvers.certification.certificate import certify
from marginopt.solvers.certification.verdict import verdict
from marginopt.solvers.records import Answer, Status


def _least_square() -> StandardForm:
    """min ½x² over x ≥ 1."""
    return StandardForm(
        name="square",
        blocks=(Block("x", (1,)),),
        q=np.zeros(1),
        quadratic=Quadratic(matrix=np.eye(1)),
        constraints=(Constraint("row", np.eye(1), np.array([-1.0]), Nonnegative(1)),),
        lower=np.full(1, -np.inf),
        upper=np.full(1, np.inf),
        integer=np.zeros(1, dtype=bool),
    )


def test_a_point_that_misses_its_rows_is_no_optimum_to_any_tolerance() -> None:
    form, multipliers = _least_square(), {"row": np.array([0.9])}
    for x, status in ((0.9, Status.INACCURATE), (1.0, Status.OPTIMAL)):
        certificate = certify(form, {"x": np.array([x])}, multipliers, model=BareForm(form))
        answer = Answer(status=Status.OPTIMAL, values={"x": np.array([x])}, multipliers=multipliers)
        assert verdict(answer, certificate, 0.3).status is status


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "piqp", "scs"])
def test_solvers_meet_rows_to_a_wide_tolerance(solver: str) -> None:
    """PIQP's residuals of 1e-3 left gaps of .41 to .53, and no optimum."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(12, 2)), np.where(np.arange(12) % 2, 1.0, -1.0)
    result = mo.solve(mo.L2SVMDual(X, y, C=100.0, kernel=mo.Linear()), solver, tol=0.3)
    assert result.status is Status.OPTIMAL
    assert 0.0 <= result.gap <= 0.3
    assert result.values["a"].sum() == pytest.approx(1.0, abs=1e-4)
