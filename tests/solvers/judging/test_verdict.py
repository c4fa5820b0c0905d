"""The rules by which a claim becomes a status."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import marginopt as mo
from marginopt.models import MaxMinSVM, NonparallelSVM
from marginopt.solvers.judging.certificate import Certificate
from marginopt.solvers.judging.verdict import verdict
from marginopt.solvers.records.answer import Answer
from marginopt.solvers.records.status import Status

GOOD = Certificate(1.0, 0.0, {}, dual_residual=0.0, complementarity=0.0, bound=1.0 - 1e-9)
CLAIM = Answer(Status.OPTIMAL, "ok")


def judged(answer: Answer = CLAIM, tol: float = 1e-6, **changes: object) -> Status:
    return verdict(answer, replace(GOOD, **changes), tol).status  # type: ignore[arg-type]


def test_a_supported_optimum() -> None:
    assert judged() is Status.OPTIMAL
    assert judged(bound=1.0 - 1e-5) is Status.INACCURATE
    assert judged(bound=-np.inf) is Status.OPTIMAL  # by the optimality conditions
    assert judged(bound=-np.inf, dual_residual=1e-3) is Status.INACCURATE
    assert judged(primal_residual=1e-3) is Status.INACCURATE


def test_rounding_counts() -> None:
    assert judged(error=1e-5) is Status.INACCURATE
    said = verdict(CLAIM, replace(GOOD, error=1e-5), 1e-6).remarks
    assert len(said) == 1 and "rounding may hide" in said[0]


def test_only_an_optimum_of_zero_is_measured_by_the_scale() -> None:
    small = {"objective": 1e-10, "bound": -1e-12}
    assert judged(**small, scale=1.0) is Status.OPTIMAL
    assert judged(**small, scale=1e-10) is Status.INACCURATE
    assert judged(objective=1e-10, bound=5e-11, scale=1.0) is Status.INACCURATE  # zero is excluded: the relative gap counts


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.TIME_LIMIT, Status.STALLED, Status.STATIONARY])
def test_a_bound_above_a_feasible_point_lowers_every_status(status: Status) -> None:
    found = verdict(Answer(status, "?"), replace(GOOD, bound=2.0), 1e-6)
    assert found.status is Status.INACCURATE
    assert "2" in found.remarks[0] and "1" in found.remarks[0]
    assert verdict(Answer(status, "?"), replace(GOOD, bound=2.0, inner=True), 1e-6).status is status


def test_a_mixed_integer_solver_s_bound_above_its_own_point() -> None:
    claim = Answer(Status.OPTIMAL, "ok", bound=1.1)
    assert verdict(claim, replace(GOOD, integrality=0.0, bound=-np.inf), 1e-6).status is Status.INACCURATE
    assert verdict(replace(claim, bound=1.0), replace(GOOD, integrality=0.0, bound=-np.inf), 1e-6).status is Status.OPTIMAL


def test_nonconvex_is_stationary_at_best() -> None:
    assert judged(nonconvex=True, bound=-np.inf) is Status.STATIONARY
    assert judged(nonconvex=True, bound=-np.inf, dual_residual=1e-2) is Status.INACCURATE


def test_stationary_is_checked_against_its_residual() -> None:
    claim = Answer(Status.STATIONARY, "?", stationarity=1e-8)
    assert judged(claim, bound=-np.inf, dual_residual=1e-7) is Status.STATIONARY
    assert judged(claim, bound=-np.inf, dual_residual=1e-2) is Status.INACCURATE


@pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")
def test_inner_problems_show_no_bound() -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(24) % 2 == 0, 1.0, -1.0)
    X = np.column_stack([np.ones(24), rng.normal(size=(24, 2)) + 0.5 * y[:, None]])
    for model, solver in ((MaxMinSVM(X, y, C=1.0), "maxmin"), (NonparallelSVM(X, y, target=1.0, loss="capped"), "npsvc-mm")):
        result = mo.solve(model, solver)
        assert result.bound_kind == "none" and np.isnan(result.gap) and result.certificate.inner
