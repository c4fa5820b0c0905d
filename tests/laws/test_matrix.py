"""The matrix of laws: law × formulation × solver, formulations and solvers alone, relaxations. No cell is empty.

The laws are those of ``marginopt.conformance``. A law holds, or does not apply for a reason that it states itself (the solver
does not read the model, the problem has no multipliers); what is waived beyond that is written down here, each with its reason,
and a waiver that is no longer needed fails.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import marginopt as mo
from marginopt.conformance import (
    FORMULATION_LAWS,
    PROGRAM_LAWS,
    RELAXATION_LAWS,
    SOLVER_LAWS,
    Cell,
    Laws,
    State,
    formulation_cells,
    laws as cases,
    relaxation_cells,
    solver_cells,
    trial_cells,
)
from marginopt.conformance.solver_laws import unusable
from marginopt.models.formulations import all_formulations, get_formulation
from marginopt.relaxations import get_relaxation, relaxations
from marginopt.solvers import all_solvers, get_solver

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

FORMULATIONS = sorted(all_formulations())
SOLVERS = sorted(all_solvers())

#: (law, formulation, solver) → why the law need not hold; "*" for every one.
_CLAIM = "of a linear program ProxQP claims, wrongly, that it is infeasible; the certificate refuses the claim"
WAIVED = {
    ("limits", "*", "daqp"): "its interface passes on no reason why it ended: what was stopped is called failed",
    ("reaches the optimum", "margin", "proxqp"): _CLAIM,
    ("weak duality", "margin", "proxqp"): _CLAIM,
    ("optimality conditions", "margin", "proxqp"): _CLAIM,
}
#: Cells that take more than a second of processor time: (formulation, solver).
SLOW = {("l2svm", "scip"), ("ramp", "scip"), ("zero-one", "scip"), ("stiefel", "pymanopt"), ("meb", "scip")}


def waived(formulation: str, solver: str) -> dict[str, str]:
    """The laws that are waived of a pair, with the reasons."""
    return {
        law: reason
        for (law, *where), reason in WAIVED.items()
        if all(w in ("*", name) for w, name in zip(where, (formulation, solver), strict=True))
    }


def complete(cells: Iterable[Cell], laws: Laws, subjects: int) -> None:
    """Every law has spoken of every case, and none is violated."""
    found = list(cells)
    wanted = {law.name: subjects if law.every_case else 1 for law in laws.found}
    assert {name: sum(c.law.name == name for c in found) for name in wanted} == wanted
    wrong = [str(c) for c in found if c.verdict.state is State.VIOLATED]
    assert not wrong, "\n".join(wrong)


PAIRS = [
    pytest.param(f, s, id=f"{f}-{s}", marks=[pytest.mark.slow] if (f, s) in SLOW else [])
    for f in FORMULATIONS
    for s in SOLVERS
]  # fmt: skip


@pytest.mark.parametrize(("formulation", "solver"), PAIRS)
def test_solver_on_formulation(formulation: str, solver: str) -> None:
    info = get_formulation(formulation)
    complete(trial_cells(info, get_solver(solver), waived(formulation, solver)), SOLVER_LAWS, len(cases(info)))
    if unusable(get_solver(solver)):
        pytest.skip(f"{solver}: {unusable(get_solver(solver))}; that it says so is tested")


@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulation(name: str) -> None:
    info = get_formulation(name)
    complete(formulation_cells(info), FORMULATION_LAWS, len(cases(info)))


@pytest.mark.parametrize("name", SOLVERS)
def test_solver_alone(name: str) -> None:
    complete(solver_cells(get_solver(name)), PROGRAM_LAWS, 1)


@pytest.mark.parametrize("name", relaxations())
def test_relaxation(name: str) -> None:
    known = [case for case in cases(get_formulation("ZeroOneSVM")) if case.optimum is not None]
    found = list(relaxation_cells(get_relaxation(name)))
    assert len(found) == len(known) * len(RELAXATION_LAWS.found)
    wrong = [str(c) for c in found if c.verdict.state is State.VIOLATED]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("waiver", WAIVED, ids=" ".join)
def test_a_waiver_is_needed(waiver: tuple[str, str, str]) -> None:
    """Something that is waived does not hold; else the waiver goes."""
    law, formulation, solver = waiver
    pairs = [(f, s) for f in FORMULATIONS for s in SOLVERS if formulation in ("*", f) and solver in ("*", s)]
    assert pairs
    cells = [c for f, s in pairs for c in trial_cells(get_formulation(f), get_solver(s)) if c.law.name == law]
    assert any(c.verdict.state is State.VIOLATED for c in cells), WAIVED[waiver]


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_is_solved_by_somebody(name: str) -> None:
    """The solver that ``auto`` takes reaches the optimum of its first case: no formulation stands outside the matrix."""
    picked = mo.solve(cases(get_formulation(name))[0].model).solver
    cells = list(trial_cells(get_formulation(name), get_solver(picked)))
    assert any(c.law.name == "reaches the optimum" and c.verdict.state is State.HOLDS for c in cells), picked


def test_every_law_says_what_it_is() -> None:
    for laws in (SOLVER_LAWS, FORMULATION_LAWS, PROGRAM_LAWS, RELAXATION_LAWS):
        names = [law.name for law in laws.found]
        assert len(set(names)) == len(names) >= 3
        assert all(law.statement.endswith(".") for law in laws.found)
