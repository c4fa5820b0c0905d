"""Programs with no point or no least value: a few hundred of the attack, natural and lied about."""

from __future__ import annotations

import attack_alternatives as attack
import numpy as np
import pytest

from marginopt.solvers import Status
from marginopt.solvers.rational.form import RationalForm

pytestmark = pytest.mark.filterwarnings("ignore")


def test_what_is_planted_is_so() -> None:
    """A point that a solver finds of a program that has one satisfies it; whole multipliers of the others exclude every point."""
    for number in range(0, 80, 8):
        problem = attack.case(number)
        if problem.truth is attack.Truth.EMPTY:
            F, g = problem.form.rows_matrix()
            _, _, result = attack.natural(number)
            assert result is not None and result.farkas is not None
            z = result.farkas["rows"]
            assert (z >= -1e-6 * np.abs(z).max()).all() and np.abs(F.T @ z).max() <= 1e-6 * np.abs(z).max() and z @ g < 0.0
    narrow = attack.case(2)
    assert narrow.name == "narrow" and RationalForm(narrow.form).rows


def test_nothing_false_is_said_of_empty_sets_and_endless_objectives() -> None:
    held, faults, lost = [], [], 0
    for number in range(96):
        name, fault, result = attack.natural(number)
        faults += [f"{name}: {fault}"] if fault else []
        if result is not None:
            held.append((number, result))
            lost += attack.proof_is_lost(result, attack.case(number))
    assert not faults, faults
    assert not lost, "claims about linear programs that are true and not proved"
    kinds = {result.status for _, result in held}
    assert {Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED} <= kinds
    for lie in range(3 * len(held)):
        number, result = held[lie % len(held)]
        fault = attack.judged(lie, result.answer, attack.case(number), result.solver)
        assert not fault, (lie, number, fault)
