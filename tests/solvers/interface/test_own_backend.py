"""A backend under development: what is wrong with its answer is said, and nothing of it is believed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import marginopt as mo
from marginopt.models import Feature, StandardForm
from marginopt.solvers import Answer, Backend, Gives, Options, SolverInfo


@dataclass(frozen=True)
class Given(Backend):
    """A backend that answers with the arrays that it was made with."""

    values: dict[str, np.ndarray]
    multipliers: dict[str, np.ndarray] | None = None

    info = SolverInfo(
        name="given", summary="arrays", reads=frozenset({Feature.QUADRATIC}), gives=frozenset({Gives.DUALS}), tolerance=1e-6
    )

    def solve_form(self, form: StandardForm, options: Options) -> Answer:
        return Answer(status=mo.Status.OPTIMAL, values=self.values, multipliers=self.multipliers)


PROGRAM = mo.from_qp(np.eye(3), np.ones(3), G=np.ones((1, 3)), h=[1.0], lb=-2.0)
ROW = PROGRAM.constraints[0].label


@pytest.mark.parametrize("wrong", [np.zeros(2), np.full(3, np.nan), np.zeros((3, 1))], ids=["short", "nan", "matrix"])
def test_a_point_that_does_not_fit_is_named(wrong: np.ndarray) -> None:
    result = mo.solve(PROGRAM, Given({"x": wrong}))
    assert result.status is mo.Status.FAILED and not result.values
    reason = "nan" if np.isnan(wrong).any() else str(wrong.shape)
    assert "values['x']" in result.evidence and "(3,)" in result.evidence and reason in result.evidence.rpartition(": it has ")[2]


def test_multipliers_that_do_not_fit_are_named_beside_a_point_that_does() -> None:
    result = mo.solve(PROGRAM, Given({"x": np.zeros(3)}, {ROW: np.zeros(2)}))
    assert result.status is not mo.Status.OPTIMAL and result.objective == 0.0
    assert f"multipliers[{ROW!r}]" in result.evidence


def test_an_answer_that_fits_needs_no_word() -> None:
    right = mo.solve(PROGRAM, Given({"x": -np.ones(3)}, {ROW: np.zeros(1)}))
    assert right.status is mo.Status.OPTIMAL and "refused" not in right.evidence


@dataclass(frozen=True)
class Unpackaged(Given):
    """The same for a package whose module can be imported and that no installer knows."""

    info = SolverInfo(
        name="unpackaged", summary="arrays", package="no-such-distribution", module="math", reads=frozenset({Feature.QUADRATIC})
    )


def test_a_package_that_no_installer_knows_has_no_version() -> None:
    result = mo.solve(PROGRAM, Unpackaged({"x": -np.ones(3)}))
    assert result.version == "" and result.objective == -1.5
