"""Cases by number: wild inputs, other doors, programs with no point or no least value, natural and lied about."""

from __future__ import annotations

import attack_alternatives as alternatives
import attack_doors as doors
import attack_inputs as inputs
import numpy as np
import pytest
from effort import trials

from marginopt.solvers import Status
from marginopt.solvers.rational import RationalForm

pytestmark = pytest.mark.filterwarnings("ignore")


def test_wild_inputs_are_refused_in_our_words() -> None:
    escaped = [what for what in map(inputs.attack, range(trials(50, 160))) if what[1]]
    assert not escaped


def test_inputs_that_escaped_once() -> None:
    """Labels of unequal lengths, data whose squares overflow, weights that are no numbers, scores larger than numbers are;
    a ramp of costs of 1e300, whose search made no end."""
    for number in (810, 3324, 4530, 18_057_308, 46_460_479):
        what, fault = inputs.attack(number)
        assert not fault, (what, fault)


@pytest.mark.parametrize("family", range(len(doors.FAMILIES)), ids=[f.__name__ for f in doors.FAMILIES])
def test_nothing_but_our_errors_escapes_and_what_is_claimed_is_so(family: int) -> None:
    numbers = range(family, trials(3, 8) * len(doors.FAMILIES), len(doors.FAMILIES))
    assert not [what for what in map(doors.attack, numbers) if what[1]]


@pytest.mark.parametrize("number", [34, 57, 137, 158, 200, 350, 386, 485, 512, 705, 832, 1488, 2357, 3737])
def test_what_escaped_once(number: int) -> None:
    """Objects as points, a problem without a list, numbers as relaxations and bounds, a kernel matrix of 1e308, bounds of inf,
    labels that are a column, data of zeros alone in a report."""
    what, fault = doors.attack(number)
    assert not fault, (what, fault)


def test_what_is_planted_is_so() -> None:
    """A point that a solver finds of a program that has one satisfies it; whole multipliers of the others exclude every point."""
    for number in range(0, 80, 8):
        problem = alternatives.case(number)
        if problem.truth is alternatives.Truth.EMPTY:
            F, g = problem.form.rows_matrix()
            _, _, result = alternatives.natural(number)
            assert result is not None and result.farkas is not None
            z = result.farkas["rows"]
            assert (z >= -1e-6 * np.abs(z).max()).all() and np.abs(F.T @ z).max() <= 1e-6 * np.abs(z).max() and z @ g < 0.0
    narrow = alternatives.case(2)
    assert narrow.name == "narrow" and RationalForm(narrow.form).rows


def test_nothing_false_is_said_of_empty_sets_and_endless_objectives() -> None:
    held, faults, lost = [], [], 0
    for number in range(trials(32, 96)):
        name, fault, result = alternatives.natural(number)
        faults += [f"{name}: {fault}"] if fault else []
        if result is not None:
            held.append((number, result))
            lost += alternatives.proof_is_lost(result, alternatives.case(number))
    assert not faults, faults
    assert not lost, "claims about linear programs that are true and not proved"
    kinds = {result.status for _, result in held}
    assert {Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED} <= kinds
    for lie in range(3 * len(held)):
        number, result = held[lie % len(held)]
        fault = alternatives.judged(lie, result.answer, alternatives.case(number), result.solver)
        assert not fault, (lie, number, fault)


@pytest.mark.parametrize("number", [2385, 3512])
def test_a_row_is_not_met_because_it_was_made_small(number: int) -> None:
    """x ≤ -2.5 and x ≥ -1, the first times 8e-6: SCS's point is 1e-5 outside of it, which is two fifths of the row."""
    assert not alternatives.natural(number)[1]


@pytest.mark.parametrize("number", [913])
def test_a_nearly_feasible_point_of_an_empty_set_is_no_optimum_because_conditions_hold(number: int) -> None:
    """OSQP's point violates its rows by 9e-6 and meets the conditions; multipliers of ours bound the objective above it."""
    assert not alternatives.natural(number)[1]
