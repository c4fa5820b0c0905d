"""The registry of solvers, results and certificates, the driver, hand-written algorithms, backends."""

import sys
import types

from ..models.inspection.conflict import Conflict
from .api import compare, solve
from .certification.certificate import Certificate
from .certification.result import Claim, Result
from .certification.result_file import load_result, save_result
from .certification.separability import Separability, separability
from .checks.conflict import conflict
from .checks.point import certify
from .checks.verify import Verification
from .compare import Comparison
from .interface.algorithm import Algorithm, Measure, Outcome
from .interface.backend import Backend
from .interface.solver import Gives, Solver, SolverInfo
from .path import SolutionPath, path
from .read_solution import read_solution
from .records.answer import Answer
from .records.licence import Licence, LicenceState
from .records.options import Options
from .records.status import Status
from .records.trace import Trace, TraceRow, relative_gap
from .registry import SolverTable, all_solvers, get_solver, solvers
from .solve_raw import solve_raw
from .solver_spec import SolverLike

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
    "Measure",
    "Options",
    "Outcome",
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
]


class _CallablePackage(types.ModuleType):
    """The package itself, callable: ``marginopt.solvers()`` is the table of solvers, ``marginopt.solvers.x`` its modules."""

    def __call__(self) -> SolverTable:
        return solvers()


sys.modules[__name__].__class__ = _CallablePackage
