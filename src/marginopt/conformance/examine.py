"""Test a solver, formulation or relaxation against the conformance laws: `examine` yields the verdicts, `report` their text.

The subject of a law is a *case* (a formulation on a tiny instance), a solver on a case (`Trial`), a solver, or a relaxation on a
case. A formulation has several cases; a law is tested on each of them if it has ``every_case``, else on the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import count_text, unknown_name
from ..models.formulations import all_formulations, get_formulation
from ..models.record import FormulationInfo
from ..relaxations import Relaxation, relaxations
from ..solvers.interface.solver import Solver
from ..solvers.registry import all_solvers
from .formulation_laws import FORMULATION_LAWS, RELAXATION_LAWS, RelaxationCase
from .laws import Law, LawVerdict, State, cases, not_applicable
from .solver_laws import PROGRAM_LAWS, SOLVER_LAWS, Trial, unusable_reason

#: The formulation that all relaxations relax.
_ZERO_ONE = "ZeroOneSVM"


@dataclass(frozen=True)
class LawCell:
    """The verdict of one law on one subject: a cell of the matrix of laws and subjects.

    Parameters
    ----------
    law : Law
        The law that was tested.
    subject : str
        The names of the solver, formulation or relaxation, and of the case that the law was tested on.
    verdict : LawVerdict
        The outcome.
    """

    law: Law[Any] = field(repr=False)
    subject: str
    verdict: LawVerdict

    def __str__(self) -> str:
        return f"{self.law.name}, {self.subject}: {self.verdict}"


def formulation_cells(info: FormulationInfo) -> Iterator[LawCell]:
    """Yield the verdicts of the formulation laws on all cases of a formulation."""
    for k, case in enumerate(cases(info)):
        for law in FORMULATION_LAWS.laws:
            if law.every_case or k == 0:
                yield LawCell(law, case.name, law(case))


def solver_formulation_cells(info: FormulationInfo, solver: Solver) -> Iterator[LawCell]:
    """Yield the verdicts of the solver laws, for one solver on all cases of a formulation."""
    for k, case in enumerate(cases(info)):
        yield from trial_cells(Trial(solver, case), every_law=k == 0)


def trial_cells(trial: Trial, every_law: bool = False) -> Iterator[LawCell]:
    """Yield the verdicts of the solver laws on one case: of all laws if ``every_law``, else of the laws with ``every_case``."""
    for law in SOLVER_LAWS.laws:
        if law.every_case or every_law:
            yield LawCell(law, trial.name, _verdict(law, trial))


def _verdict(law: Law[Trial], trial: Trial) -> LawVerdict:
    if trial.skip_reason and law is not SOLVER_LAWS.laws[0]:  # the first law is the one of refusals
        return not_applicable(trial.skip_reason)
    return law(trial)


def solver_cells(solver: Solver) -> Iterator[LawCell]:
    """Yield the verdicts of a solver on infeasible and unbounded programs, and on its record; not applicable if it cannot run."""
    reason = unusable_reason(solver)
    for law in PROGRAM_LAWS.laws:
        yield LawCell(law, solver.info.name, not_applicable(reason) if reason else law(solver))


def relaxation_cells(relaxation: Relaxation) -> Iterator[LawCell]:
    """Yield the verdicts of a relaxation's laws on every 0-1 problem with a known optimum."""
    for case in cases(get_formulation(_ZERO_ONE)):
        if case.optimum is None:
            continue
        yield from relaxation_case_cells(RelaxationCase(relaxation, case))


def relaxation_case_cells(relaxed: RelaxationCase) -> Iterator[LawCell]:
    """Yield the verdicts of the relaxation laws on one case; the first law is the one of refusals."""
    for law in RELAXATION_LAWS.laws:
        rejected = bool(relaxed.obstacle) and law is not RELAXATION_LAWS.laws[0]
        yield LawCell(law, relaxed.name, not_applicable(relaxed.obstacle) if rejected else law(relaxed))


def examine(name: str, others: Iterable[str] | None = None) -> Iterator[LawCell]:
    """Yield the verdict of every law on a solver, a formulation or a relaxation.

    Parameters
    ----------
    name : str
        A name of ``marginopt.solvers.table()``, ``formulations.table()`` or ``relaxations.table()``. If a solver and a
        formulation have the same name, both are examined.
    others : iterable of str, optional
        For a solver, names of the formulations to test it on; for a formulation, names of the solvers. All if not given.

    Raises
    ------
    InputError
        The name is unknown.
    ExtensionError
        A package declares an extension of this name, which cannot be used.
    """
    solvers, formulations, bounds = all_solvers(), all_formulations(), relaxations()
    if name not in {*solvers, *formulations, *bounds}:
        _raise_unknown(name, [*solvers, *formulations, *bounds])
    names = None if others is None else set(others)
    if name in solvers:
        yield from solver_cells(solvers[name])
        for key, info in formulations.items():
            if names is None or key in names:
                yield from solver_formulation_cells(info, solvers[name])
    if name in formulations:
        yield from formulation_cells(formulations[name])
        for key, solver in solvers.items():
            if names is None or key in names:
                yield from solver_formulation_cells(formulations[name], solver)
    if name in bounds:
        yield from relaxation_cells(bounds[name])


def _raise_unknown(name: str, names: list[str]) -> None:
    from ..extensions import PluginRegistry

    for registry in PluginRegistry.registries:
        registry.get(name)  # raises for an extension that cannot be used
    raise unknown_name("solver, formulation or relaxation", name, names)


def tally(cells: Iterable[LawCell]) -> dict[State, int]:
    """Return the number of cells of each state."""
    counts = dict.fromkeys(State, 0)
    for cell in cells:
        counts[cell.verdict.state] += 1
    return counts


def report(cells: list[LawCell], all_cells: bool = False) -> str:
    """Return a paragraph for each law: where it does not hold, why it does not apply, and with ``all_cells`` where it holds.

    A reason for which several laws do not apply is printed once, at the end.
    """
    lines = []
    idle = [c for c in cells if c.verdict.state is State.NOT_APPLICABLE]
    shared_words = {
        words for words in {c.verdict.words for c in idle} if len({c.law for c in idle if c.verdict.words == words}) > 1
    }
    for law in dict.fromkeys(c.law for c in cells):
        law_cells = [c for c in cells if c.law is law]
        count = tally(law_cells)
        counts_text = ", ".join(f"{state.value} {n}" for state, n in count.items() if n)
        lines += ["", f"{law.name}: {counts_text}", f"  {law.statement}"]
        lines += [f"  ✗ {c.subject}: {c.verdict.words}" for c in law_cells if c.verdict.state is State.VIOLATED]
        if all_cells:
            lines += [f"  ✓ {c.subject}: {c.verdict.words}" for c in law_cells if c.verdict.state is State.HOLDS]
        lines += _reasons([c for c in idle if c.law is law and c.verdict.words not in shared_words])
    if shared_words:
        lines += ["", "not applicable, by several laws:", *_reasons([c for c in idle if c.verdict.words in shared_words])]
    count = tally(cells)
    total = ", ".join(f"{n} {state.value}" for state, n in count.items())
    return "\n".join([*lines, "", f"{count_text(len(cells), 'cell')}: {total}"]).strip()


def _reasons(cells: list[LawCell]) -> list[str]:
    """Return a line for each reason, with the first of its subjects."""
    reasons: dict[str, list[str]] = {}
    for c in cells:
        if c.subject not in reasons.setdefault(c.verdict.words, []):
            reasons[c.verdict.words].append(c.subject)
    count_notes = {reason: f" and {len(subjects) - 1} more" if len(subjects) > 1 else "" for reason, subjects in reasons.items()}
    return [f"  - {subjects[0]}{count_notes[reason]}: {reason}" for reason, subjects in reasons.items()]
