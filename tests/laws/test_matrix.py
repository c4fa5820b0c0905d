"""The matrix of laws: a test for each solver, formulation and relaxation. No cell is empty.

The laws are those of ``marginopt.conformance``. A test tries every law on every case of its subject, by default on some cases of
each formulation, others for each solver. It prints what the laws say, as ``python -m marginopt.conformance NAME`` does
(``pytest -rP`` shows it): how often each law holds, and why it does not apply elsewhere. `WAIVED` holds what is waived beyond
that. A waiver that is no longer needed fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product

import pytest
from effort import part

import marginopt as mo
from marginopt.conformance import (
    FORMULATION_LAWS,
    PROGRAM_LAWS,
    RELAXATION_LAWS,
    SOLVER_LAWS,
    Case,
    LawCell,
    Laws,
    RelaxationCase,
    State,
    Trial,
    cases,
    formulation_cells,
    relaxation_case_cells,
    report,
    solver_cells,
    trial_cells,
)
from marginopt.conformance.solver_laws import unusable_reason
from marginopt.models.formulations import all_formulations, get_formulation
from marginopt.relaxations import get_relaxation, relaxations
from marginopt.solvers import all_solvers, get_solver

pytestmark = pytest.mark.filterwarnings("ignore::marginopt.errors.MarginoptWarning")

FORMULATIONS = sorted(all_formulations())
SOLVERS = sorted(all_solvers())
KNOWN = [case for case in cases(get_formulation("ZeroOneSVM")) if case.optimum is not None]

#: (law, formulation, solver) → why the law need not hold; "*" for every one.
_CLAIM = "of a linear program ProxQP claims, wrongly, that it is infeasible; the certificate refuses the claim"
WAIVED = {
    ("reaches the optimum", "margin", "proxqp"): _CLAIM,
    ("weak duality", "margin", "proxqp"): _CLAIM,
    ("optimality conditions", "margin", "proxqp"): _CLAIM,
    (
        "its point is feasible",
        "max-min",
        "scip",
    ): "it compares squares, so at a cone's apex a norm is missed by its tolerance's root",
}


def generated() -> Iterator[Case]:
    """Seeded instances of four formulations. Their optimum is not known beforehand: a proved gap pins it down."""
    for seed in part(range(3), 1):
        data = mo.instances.gaussian_clusters(12 + 4 * seed, 2 + seed, sigma=0.5, outliers="clustered", seed=seed)
        for name, parameters in (
            ("hinge", {"lam": 0.5 + seed}),
            ("conic", {"lam": 0.3 + seed}),
            ("l2svm", {"C": 2.0, "gamma": 0.3}),
            ("meb", {"gamma": 0.3}),
        ):
            yield Case(get_formulation(name), f"clusters {seed}", {"X": data.X, "y": data.y}, parameters)


def complete(cells: Iterable[LawCell], laws: Laws, subjects: int) -> list[LawCell]:
    """Return the cells. Every law has spoken of every case."""
    rows = list(cells)
    wanted = {law.name: subjects if law.every_case else 1 for law in laws.laws}
    assert {name: sum(c.law.name == name for c in rows) for name in wanted} == wanted
    return rows


def clean(cells: list[LawCell]) -> None:
    """No law is violated; what the laws say is printed."""
    print(report(cells))
    wrong = [str(c) for c in cells if c.verdict.state is State.VIOLATED]
    assert not wrong, "\n".join(wrong)


def waived(cells: list[LawCell], formulation: str, solver: str) -> Iterator[tuple[str, str, str]]:
    """Take out of the cells the violations that are waived; yield the waivers."""
    for cell in [c for c in cells if c.verdict.state is State.VIOLATED]:
        for waiver in ((cell.law.name, formulation, solver), (cell.law.name, "*", solver)):
            if waiver in WAIVED:
                cells.remove(cell)
                yield waiver
                break


def tried(name: str, formulation: str) -> list[int]:
    """Numbers of the cases of a formulation that a solver is tried on: the first, of which every law speaks, and others."""
    count = len(cases(get_formulation(formulation)))
    if any(waiver[1:] == (formulation, name) for waiver in WAIVED):
        return list(range(count))
    others = part(product(SOLVERS, range(1, count)), 1, kind=lambda cell: cell[0])
    return [0, *(number for solver, number in others if solver == name)]


@pytest.mark.parametrize("name", SOLVERS)
def test_solver(name: str) -> None:
    solver, used = get_solver(name), set()
    cells = complete(solver_cells(solver), PROGRAM_LAWS, 1)
    for formulation in FORMULATIONS:
        known, numbers = cases(get_formulation(formulation)), tried(name, formulation)
        trials = (trial_cells(Trial(solver, known[k]), every_law=k == 0) for k in numbers)
        result = complete(chain.from_iterable(trials), SOLVER_LAWS, len(numbers))
        used |= set(waived(result, formulation, name))
        cells += result
    cells += [cell for case in generated() for cell in trial_cells(Trial(solver, case))]
    clean(cells)
    if reason := unusable_reason(solver):
        pytest.skip(f"{reason}; that it says so is tested")
    assert used == {waiver for waiver in WAIVED if waiver[2] == name}, "a waiver is not needed"


@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulation(name: str) -> None:
    """Its laws hold, and the solver that ``auto`` takes reaches the optimum of its first case: none stands outside the matrix."""
    info = get_formulation(name)
    clean(complete(formulation_cells(info), FORMULATION_LAWS, len(cases(info))))
    first = cases(info)[0]
    picked = mo.solve(first.model).solver
    verdicts = {c.law.name: c.verdict for c in trial_cells(Trial(get_solver(picked), first))}
    assert verdicts["reaches the optimum"].state is State.HOLDS, picked


@pytest.mark.parametrize("name", relaxations())
def test_relaxation(name: str) -> None:
    numbers = part(product(relaxations(), range(len(KNOWN))), 1, kind=lambda cell: cell[0])
    known = [KNOWN[k] for relaxation, k in numbers if relaxation == name]
    cells = list(chain.from_iterable(relaxation_case_cells(RelaxationCase(get_relaxation(name), case)) for case in known))
    assert known and len(cells) == len(known) * len(RELAXATION_LAWS.laws)
    clean(cells)


def test_waivers_name_what_there_is() -> None:
    pytest.importorskip("qpsolvers", reason="the solvers of the waivers are reached through it")
    laws = {law.name for law in SOLVER_LAWS.laws}
    for law, formulation, solver in WAIVED:
        assert law in laws and formulation in ("*", *FORMULATIONS) and solver in all_solvers()


def test_every_law_says_what_it_is() -> None:
    for laws in (SOLVER_LAWS, FORMULATION_LAWS, PROGRAM_LAWS, RELAXATION_LAWS):
        names = [law.name for law in laws.laws]
        assert len(set(names)) == len(names) >= 3
        assert all(law.statement.endswith(".") for law in laws.laws)
