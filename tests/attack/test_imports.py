"""Random programs in the languages of CVXPY, Pyomo, gurobipy, HiGHS and SciPy have the optimum here that they have there."""

from __future__ import annotations

import attack_imports
import attack_writers
import pytest
from effort import trials

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("package", attack_imports.PACKAGES)
def test_random_programs_have_their_optimum(package: str) -> None:
    pytest.importorskip(package)
    pytest.importorskip("gurobipy")  # the second route of Pyomo's programs, and of HiGHS's quadratic ones
    faults = [f"{what}: {fault}" for what, fault in (attack_imports.attack(k, package) for k in range(trials(8, 25))) if fault]
    assert not faults, faults


def test_files_of_other_writers_have_the_optimum_of_their_program() -> None:
    for package in ("pyomo", "gurobipy", "highspy", "pyscipopt"):
        pytest.importorskip(package)
    faults = [f"{what}: {fault}" for what, fault in map(attack_writers.attack, range(trials(4, 40))) if fault]
    assert not faults, faults
