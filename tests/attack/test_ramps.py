"""Ramps of two coefficients and their proof logs, true and forged, beside a rational optimum."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import attack_ramps as ramps
import numpy as np
import pytest
from effort import trials

import marginopt as mo
from marginopt.models.views import MarginProblem
from marginopt.solvers import Status
from marginopt.solvers.exact.check import log_reader

pytestmark = pytest.mark.filterwarnings("ignore")


def test_no_answer_and_no_forged_log_is_above_the_optimum() -> None:
    """Case 19 searches to its limit of time and is left to ``run.py``."""
    assert not [what for what in map(ramps.attack, range(20, 20 + trials(10, 40))) if what[1]]


def test_a_log_of_a_wide_intercept_is_valid(tmp_path: Path) -> None:
    """Features of 2.5e6 at costs of 1e6: over a box of 3e9 what rounding an intercept's sum was allowed cost the checker 20."""
    model = ramps.drawn(np.random.default_rng([18, 12, 362]))
    mo.solve(model, "margin-bb", proof=str(tmp_path / "p.log"), node_limit=1000)
    assert mo.check_proof(tmp_path / "p.log", model).valid


@pytest.mark.parametrize("case", [10300678, 10301385, 12323131])
def test_a_log_of_huge_costs_claims_no_more_than_its_checker_and_the_result_prove(case: int, tmp_path: Path) -> None:
    """Costs of 1e11 and 1e12: the log claimed the bound of the turned coordinates, of which the result had lost all digits."""
    model = ramps.drawn(np.random.default_rng([18, 12, case]))
    result = mo.solve(model, "margin-bb", proof=str(tmp_path / "p.log"), node_limit=1600)
    report = mo.check_proof(tmp_path / "p.log", model)
    assert report.valid and report.bound <= result.bound


@pytest.mark.parametrize("case", [10300678, 12323131])
def test_coordinates_that_would_cost_the_proof_its_digits_are_not_turned(case: int) -> None:
    """Both were inaccurate, with a bound of nothing and one of 10.94 for 11.0005."""
    result = mo.solve(ramps.drawn(np.random.default_rng([18, 12, case])), "margin-bb")
    assert result.status is Status.OPTIMAL and result.objective - result.bound <= 1e-6 * result.objective


@pytest.mark.parametrize("seed", range(trials(3, 6)))
def test_the_optimum_is_the_least_of_a_fine_grid(seed: int) -> None:
    """The truth of the attack: no point near its own is lower, and the solver finds one as low."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(4), rng.integers(-4, 5, 4) / 2.0])
    model = mo.Margin(X, [1.0, -1.0, 1.0, -1.0], "ramp", ("l2", "l1")[seed % 2], sample_weight=3.0)
    view = model.view(MarginProblem)
    assert view is not None
    exact = ramps.Exact.of(view, model.loss)
    optimum = exact.optimum()
    grid = [Fraction(k, 8) for k in range(-24, 25)]
    assert min(exact.value((a, b)) for a in grid for b in grid) >= optimum
    assert mo.solve(model, "margin-bb", tol=1e-8).objective == pytest.approx(float(optimum), rel=1e-8)


@pytest.mark.parametrize(("intercept", "message"), [(True, "hold a free intercept"), (False, "costs")])
def test_a_bound_without_squares_that_the_norm_does_not_know_is_refused(tmp_path: Path, intercept: bool, message: str) -> None:
    """The checker took such a coefficient for 0 in its root box: a bound of 1 was proved where w_1 = 1 costs a half."""
    header = {
        "format": "marginopt-margin-proof", "version": 2, "A": [[1.0, 0.0]], "costs": [1.0], "curvature": [0.5, 0.0],
        "atoms": [[0.0, 1.0]], "loss": {"margins": [0.0, 1.0], "below": [1.0, 0.0], "at": [1.0, 0.0], "tail": 0.0, "again": None},
        "intercept": intercept, "lower": [None, None], "upper": [None, None], "whole": [0, 0], "price": [0.0, 0.0],
        "counted": [0, 0], "most": 2, "rows": [], "least": [], "kept": [0], "budgets": [], "T": [[1.0, 0.0], [0.0, 1.0]],
        "cut": 1.0,
    }  # fmt: skip
    node = {"id": 1, "parent": 0, "side": 0, "rounds": [{"pairs": [], "alpha": [[0, 1.0]], "spend": 0.0, "p": [0.0, 0.0]}]}
    claim = {"bound": 0.99, "w": [0.0, 0.0], "combination": [0.0]}
    report = mo.check_proof(ramps.sealed(tmp_path / "p.log", [header, node, claim]))
    assert not report.valid and message in report.message


def test_packed_logs_are_read_within_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four megabytes unpacked to four gigabytes in one line: every checker read it whole."""
    monkeypatch.setattr(log_reader, "_CHARACTERS", (10**5, 2))
    (tmp_path / "line.gz").write_bytes(gzip.compress(b"0" * 10**6))
    assert not mo.check_proof(tmp_path / "line.gz").valid  # its first line is not read to its end
    (tmp_path / "lines.gz").write_bytes(gzip.compress(b'{"format": "marginopt-scoring-proof"}\n' * 10**5))
    assert not mo.check_proof(tmp_path / "lines.gz").valid


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_a_log_whose_sums_overflow_claims_nothing(tmp_path: Path) -> None:
    """The rest of the checker is infinite then, and the claim is 0, which it proves."""
    rng = np.random.default_rng(0)
    X, y = np.c_[np.ones(8), 1e150 * rng.normal(size=(8, 2))], np.sign(rng.normal(size=8))
    model = mo.Margin(X, y, mo.margin.Ramp(2, 2), mo.margin.L1(), sample_weight=1e300)
    mo.solve(model, "margin-bb", proof=str(tmp_path / "p.log"), node_limit=100)
    report = mo.check_proof(tmp_path / "p.log", model)
    assert report.valid and report.bound == 0.0
