"""Solving: `solve`, the table of solvers, results with certificates, `path`, `compare`, and base classes for further solvers.

`solve_raw` returns a solver's `Answer` without a certificate. A `Claim` is what the solver itself states of its end.
`conflict` finds an irreducible infeasible subset of a model's rows and bounds (`Conflict`). `Gives` lists what a solver may
return.
"""

from ..extensions import make_package_callable
from ..models.export_methods import Conflict
from .certification.certificate import Certificate
from .certification.point_check import certify
from .certification.rays import Separability, separability
from .certification.result import Claim, Result
from .certification.verification import Verification
from .compare import Comparison, compare
from .conflict import conflict
from .interface.algorithm import Algorithm, Outcome
from .interface.backend import Backend
from .interface.recorder import ProgressState, Recorder
from .interface.solver import Gives, Licence, LicenceState, Solver, SolverInfo
from .path import SolutionPath, path
from .records import Answer, Options, Status, Trace, TraceRow, relative_gap
from .registry import SolverLike, SolverTable, all_solvers, get_solver, solvers
from .result_file import load_result, read_solution, save_result, write_solution
from .solve import solve, solve_raw

__all__ = [
    "Algorithm",
    "Answer",
    "Backend",
    "Certificate",
    "Claim",
    "Comparison",
    "Conflict",
    "Gives",
    "Licence",
    "LicenceState",
    "Options",
    "Outcome",
    "ProgressState",
    "Recorder",
    "Result",
    "Separability",
    "SolutionPath",
    "Solver",
    "SolverInfo",
    "SolverLike",
    "SolverTable",
    "Status",
    "Trace",
    "TraceRow",
    "Verification",
    "all_solvers",
    "certify",
    "compare",
    "conflict",
    "get_solver",
    "load_result",
    "path",
    "read_solution",
    "relative_gap",
    "save_result",
    "separability",
    "solve",
    "solve_raw",
    "solvers",
    "table",
    "write_solution",
]

#: The function `solvers`, which returns the table of all solvers, by another name. The package itself can be called as well, but
#: type checkers refuse to call a module.
table = solvers
make_package_callable(__name__, table)
