"""Corrupted answers, and natural ones at every scale, beside an exact truth: what is judged never crashes and never lies."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import attack_answers as attack
import attack_models
import numpy as np
import pytest
import scipy.sparse as sp
from effort import trials

import marginopt as mo
from marginopt.models import Block, Constraint, Nonnegative, Quadratic, StandardForm
from marginopt.solvers.certification.verdict import ZERO_OPTIMUM
from marginopt.solvers.records import Answer, Status


@pytest.mark.filterwarnings("ignore")
def test_the_truth_of_known_problems_is_exact() -> None:
    square = StandardForm(
        "xy", (Block("x", (2,)),), np.zeros(2), (), -np.ones(2), np.ones(2), np.zeros(2, dtype=bool),
        Quadratic(matrix=np.array([[0.0, 1], [1, 0]])),
    )  # fmt: skip
    assert attack.exact_optimum(square)[0] == -1
    ball = mo.MEBDual(np.array([[0.0], [3.0], [1.0]]), kernel=mo.Linear())
    assert attack.exact_optimum(ball.form)[0] == Fraction(-9, 4)  # the squared radius, turned to a minimum
    # at points ±1 the hinge is q(1 - w) twice beside ½Pw²: w = min(1, 2q/P)
    form = mo.HingeSVM([[1.0], [-1.0]], [1, -1], lam=0.5).form
    assert form.quadratic is not None
    P, q = Fraction(float(form.quadratic.csc[0, 0])), Fraction(float(form.q[1]))
    w = min(Fraction(1), 2 * q / P)
    assert attack.exact_optimum(form)[0] == P * w * w / 2 + 2 * q * (1 - w)


@pytest.mark.filterwarnings("ignore")
def test_corrupted_answers_never_escape() -> None:
    """Every family and solver that is quick, lied about in every part: nothing false is claimed, and nothing escapes."""
    computed: Counter[str] = Counter()
    held = [(number, *attack.natural(number)[1:]) for number in range(trials(16, 32))]
    assert not any(fault for _, fault, _ in held), held
    answers = [(number, result) for number, _, result in held if result is not None]
    assert len(answers) > trials(11, 24)
    for lie in range(trials(40, 320)):
        number, result = answers[lie % len(answers)]
        outcome = attack.judged(lie, result.answer, attack.case(number), result.solver)
        if outcome:
            computed[f"{attack.case(number).name} by {result.solver}, lie {lie}: {outcome}"] += 1
    assert not computed, computed


@pytest.mark.filterwarnings("ignore")
def test_a_point_off_by_more_than_the_tolerance_beside_a_claimed_bound() -> None:
    """Case 7851, lie 2345: multipliers of a wrong shape, a point 1.7e-4 off and the true bound, claimed, at tol 1e-4."""
    _, fault, result = attack.natural(7851)
    assert result is not None and not fault
    assert attack.judged(2345, result.answer, attack.case(7851), result.solver) == ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("number", "lie"), [(36_111_743, 15_716), (36_110_181, 14_179), (10_605_074, 74)])
def test_what_a_lie_brought_out(number: int, lie: int) -> None:
    """w of 1e-310, which is infinite once it keeps its points (an OverflowError); the truth of a kernel without rounding; a point
    that costs nothing and violates its rows by a third of the data, called an optimum of zero."""
    _, fault, result = attack.natural(number)
    assert result is not None and not fault
    assert attack.judged(lie, result.answer, attack.case(number), result.solver) == ""


@pytest.mark.parametrize("price", [0.0, 1e-3, 1e-8, 1e-12])
def test_a_point_off_its_small_rows_is_no_optimum_of_zero(price: float) -> None:
    """min t, t ≥ |x ± 1e-5|, x and t free: the optimum is 1e-5. Prices near zero priced a violation of as much at nothing."""
    rows = sp.csr_array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]])
    sides = 1e-5 * np.array([1.0, -1.0, -1.0, 1.0])
    form = StandardForm(
        "far", (Block("t", ()), Block("x", ())), np.array([1.0, 0.0]), (Constraint("far", rows, sides, Nonnegative(4)),),
        np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2, dtype=bool),
    )  # fmt: skip
    answer = Answer(
        Status.OPTIMAL, "solved", values={"t": np.zeros(()), "x": np.zeros(())}, multipliers={"far": np.full(4, price)}
    )
    result, fault = attack.judgement(form, "scs", answer)
    assert not fault and result is not None
    assert result.status is Status.INACCURATE, result


def test_an_optimum_of_zero_within_rounding_claims_an_interval_and_no_digit() -> None:
    """The ball of equal points under a kernel whose values round: the claim is an interval about zero that holds the truth."""
    model = mo.MEBDual(np.full((3, 2), 0.1), kernel=mo.RBF(0.7))
    result = mo.solve(model, "smo")
    assert result.status is mo.Status.OPTIMAL and ZERO_OPTIMUM in result.evidence
    problem = attack.Case("equal points", model, Fraction(0), ("smo",), Fraction(1), Fraction(2))
    assert not attack.wrong(result, problem)
    for changed in (
        replace(problem, truth=Fraction(2, 10**6)),  # outside of the interval that is claimed
        replace(problem, truth=Fraction(-1, 10**14), terms=Fraction(1, 1000)),  # what roundings of terms of .001 do not excuse
    ):
        assert attack.wrong(result, changed).startswith("OPTIMAL")


@pytest.mark.filterwarnings("ignore")
def test_cases_of_earlier_attacks() -> None:
    """An optimum of a ball at 1e-6 that OSQP's perturbed answer overstates, and a hinge of which zero is the optimum."""
    problem = attack.case(2277913980878)
    _, fault, result = attack.natural(2277913980878)
    assert result is not None and not fault
    assert attack.judged(10866, result.answer, problem, result.solver) == ""
    assert attack_models.attack(2277913989483)[1] == ""


@pytest.mark.filterwarnings("ignore")
def test_an_objective_beyond_its_own_rounding_is_not_zero() -> None:
    """OSQP at its limit on data of 1e6: .0151, whose terms round by .0057, was called zero within .021; the truth is .0065."""
    assert attack.natural(515035655156)[1] == ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [596129309172, 995994975348])
def test_terms_that_cancel_make_no_optimum_of_zero(number: int) -> None:
    """L2-SVM duals at 1e6 by OSQP: .0016 and .00024, whose terms of 1e11 round by more, where 2.2e-5 and 1.6e-7 are optimal."""
    _, fault, result = attack.natural(number)
    assert result is not None and not fault
    truth = float(attack.case(number).truth or 0)
    assert 0.0 < truth < 1e-4
    assert result.status is not mo.Status.OPTIMAL or result.objective <= (1.0 + attack.WRONG) * truth
