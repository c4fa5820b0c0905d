"""The laws that every solver, formulation and relaxation obeys, ours and others', and their examination by name.

``python -m marginopt.conformance NAME`` prints law by law whether it holds, does not hold (with the numbers), or does not apply
(with the reason). The project's own tests run the same laws on everything that there is, as a matrix without empty cells
(tests/laws/test_matrix.py).
"""

from .examine import (
    LawCell,
    case_cells,
    examine,
    formulation_cells,
    reduced_cells,
    relaxation_cells,
    report,
    solver_cells,
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
    "case_cells",
    "cases",
    "examine",
    "formulation_cells",
    "reduced_cells",
    "relaxation_cells",
    "report",
    "solver_cells",
    "tally",
    "trial_cells",
]
