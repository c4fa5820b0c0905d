"""Answers that are nearly optimal are made exact, and count only where the certificate then proves it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import marginopt as mo
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, StandardForm
from marginopt.models.model import BareForm
from marginopt.solvers.backends.clarabel import Clarabel
from marginopt.solvers.certification.newton_refinement import REFINEMENT_NOTE
from marginopt.solvers.interface.solver import OPEN_LICENCE
from marginopt.solvers.judgement import judge
from marginopt.solvers.records import Answer, Options, Status


def hs268() -> StandardForm:
    """Hock and Schittkowski's problem 268: terms of 10⁴ cancel to an optimum of zero at (1, 2, -1, 3, -4)."""
    P = np.array(
        [
            [10197, -12454, -1013, 1948, 329],
            [-12454, 20909, -1733, -4914, -186],
            [-1013, -1733, 1755, 1089, -174],
            [1948, -4914, 1089, 1515, -22],
            [329, -186, -174, -22, 27],
        ]
    )
    q = np.array([18340.0, -34198.0, 4542.0, 8672.0, 86.0])
    A = np.array([[-1, -1, -1, -1, -1], [10, 10, -3, 5, 4], [-8, 1, -2, -5, 3], [8, -1, 2, 5, -3], [-4, -2, 3, -5, 1]])
    sides = np.array([-5.0, 20.0, -40.0, 11.0, -30.0])
    rows = Constraint("rows", sp.csr_array(A.astype(float)), -sides, Nonnegative(5))
    free, real = np.full(5, np.inf), np.zeros(5, dtype=bool)
    return StandardForm("HS268", (Block("x", (5,)),), q, (rows,), -free, free, real, Quadratic(matrix=2.0 * P), r=14463.0)


def answered(form: StandardForm, x: np.ndarray, z: np.ndarray, status: Status = Status.OPTIMAL) -> Any:
    answer = Answer(status=status, native_status="said", values=form.split(x), multipliers={"rows": z}, reduced=np.zeros(form.n))
    return judge(BareForm(form), Clarabel(), answer, Options(), OPEN_LICENCE)


@pytest.mark.parametrize("solver", ["clarabel", "piqp", "scs"])
def test_an_optimum_where_terms_cancel(solver: str) -> None:
    """Every one of these stopped 1e-6 above zero, and was INACCURATE."""
    result = mo.solve(hs268(), solver)
    assert result.status is Status.OPTIMAL
    assert result.bound_kind == "proved"
    assert abs(result.objective) <= 1e-8
    np.testing.assert_allclose(result.values["x"], [1.0, 2.0, -1.0, 3.0, -4.0], atol=1e-8)
    assert result.bound <= 1e-12


def test_whoever_reads_the_result_is_told() -> None:
    form = hs268()
    x = np.array([1.0, 2.0, -1.0, 3.0, -4.0])
    near = answered(form, x + 1e-6 * np.array([1.0, -1.0, 1.0, -1.0, 1.0]), np.full(5, 1e-9))
    assert near.status is Status.OPTIMAL
    assert REFINEMENT_NOTE in str(near.answer.polished)
    exact = answered(form, x, np.zeros(5))
    assert exact.status is Status.OPTIMAL
    assert exact.answer.polished == ""


def test_what_is_not_near_stays_what_it_is() -> None:
    form = hs268()
    far = answered(form, np.zeros(5), np.zeros(5))  # it violates its rows, and costs 14463
    assert far.status is not Status.OPTIMAL
    inside = answered(form, np.array([1.0, 2.0, -1.0, 3.0, -4.0]) + 0.4, np.zeros(5))
    assert inside.status is Status.INACCURATE
    limited = answered(form, np.array([1.0, 2.0, -1.0, 3.0, -4.0]) + 1e-6, np.zeros(5), Status.ITERATION_LIMIT)
    assert limited.status is Status.ITERATION_LIMIT
    assert limited.answer.polished == ""


def test_a_program_without_rows() -> None:
    """Only bounds, one of them active: the answer is off by 1e-5 and its objective is next to nothing."""
    box, real = np.full(2, 1.0), np.zeros(2, dtype=bool)
    P = Quadratic(matrix=np.array([[2e4, 0.0], [0.0, 2e4]]))
    form = StandardForm("rows none", (Block("x", (2,)),), np.array([-1e4, 3e4]), (), -box, box, real, P, r=12500.0)
    at = np.array([0.5, -1.0])
    answer = Answer(Status.OPTIMAL, "said", {"x": at + np.array([1e-5, 1e-6])}, {}, np.array([0.0, 1e4]))
    result = judge(BareForm(form), Clarabel(), answer, Options(tol=1e-9), OPEN_LICENCE)
    assert result.bound <= form.objective(at) + 1e-9
    assert result.status is Status.OPTIMAL
    np.testing.assert_allclose(result.values["x"], at, atol=1e-12)


def test_no_bound_lies_above_the_optimum() -> None:
    """Random programs, answers disturbed: whatever is proved is at most the optimum, found without the disturbance."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        B, A = rng.normal(size=(3, 5)), rng.normal(size=(6, 5))
        rows = Constraint("rows", sp.csr_array(A), rng.uniform(0.0, 1.0, 6), Nonnegative(6))
        box, real = np.full(5, 2.0), np.zeros(5, dtype=bool)
        form = StandardForm("drawn", (Block("x", (5,)),), rng.normal(size=5), (rows,), -box, box, real, Quadratic(factor=B))
        first = Clarabel().run(BareForm(form), Options(tol=1e-10))
        exact = judge(BareForm(form), Clarabel(), first, Options(tol=1e-8), OPEN_LICENCE)
        assert exact.solved
        assert first.values is not None and first.multipliers is not None
        noise = 10.0 ** rng.uniform(-8, -2)
        values = {"x": np.clip(first.values["x"] + noise * rng.normal(size=5), -2.0, 2.0)}
        prices = {"rows": first.multipliers["rows"] * (1.0 + noise * rng.normal(size=6))}
        disturbed = judge(
            BareForm(form), Clarabel(), replace(first, values=values, multipliers=prices), Options(tol=1e-8), OPEN_LICENCE
        )
        assert disturbed.certificate.bound <= exact.objective + 1e-12
        if disturbed.solved:
            assert disturbed.objective == pytest.approx(exact.objective, rel=1e-7)
