"""The conformance suite: properties (*laws*) that every solver, formulation and relaxation must have, plug-ins' included.

A `Case` is a formulation on a tiny instance, a `Trial` a solver on a case, a `RelaxationCase` a relaxation on one; a `LawCell` is
the verdict of one law on one of them. `examine` tests a solver, formulation or relaxation by its name. ``python -m
marginopt.conformance NAME`` prints for each law whether it holds, does not hold (with the numbers), or does not apply (with the
reason). The project's own tests run all laws on all solvers, formulations and relaxations (tests/laws/test_matrix.py).
"""

from .examine import (
    LawCell,
    examine,
    formulation_cells,
    relaxation_case_cells,
    relaxation_cells,
    report,
    solver_cells,
    solver_formulation_cells,
    tally,
    trial_cells,
)
from .formulation_laws import FORMULATION_LAWS, RELAXATION_LAWS, RelaxationCase
from .laws import Case, Law, Laws, LawVerdict, State, cases
from .solver_laws import PROGRAM_LAWS, SOLVER_LAWS, Trial

__all__ = [
    "FORMULATION_LAWS",
    "PROGRAM_LAWS",
    "RELAXATION_LAWS",
    "SOLVER_LAWS",
    "Case",
    "Law",
    "LawCell",
    "LawVerdict",
    "Laws",
    "RelaxationCase",
    "State",
    "Trial",
    "cases",
    "examine",
    "formulation_cells",
    "relaxation_case_cells",
    "relaxation_cells",
    "report",
    "solver_cells",
    "solver_formulation_cells",
    "tally",
    "trial_cells",
]
