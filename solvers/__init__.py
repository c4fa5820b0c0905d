"""What solves it: the registry, results and certificates, the driver, hand-written algorithms, backends."""

import sys
import types

from .algorithm import Algorithm, Answer, Measure, Outcome
from .api import compare, solve
from .backend import Backend, NativeSolution
from .base import Gives, Problem, RawSolution, Solver, SolverInfo
from .certificate import Certificate, certify
from .compare import Comparison
from .licence import Licence, LicenceState
from .options import Options
from .path import SolutionPath, path
from .read_solution import read_solution
from .registry import SolverTable, all_solvers, get_solver, solvers
from .result import Claim, Result
from .separability import Separability, separability
from .status import Status
from .store import load_result, save_result
from .trace import Trace, TraceRow, relative_gap

__all__ = [
    "Algorithm",
    "Answer",
    "Backend",
    "Certificate",
    "Claim",
    "Comparison",
    "Gives",
    "Licence",
    "LicenceState",
    "Measure",
    "NativeSolution",
    "Options",
    "Outcome",
    "Problem",
    "RawSolution",
    "Result",
    "Separability",
    "SolutionPath",
    "Solver",
    "SolverInfo",
    "SolverTable",
    "Status",
    "Trace",
    "TraceRow",
    "all_solvers",
    "certify",
    "compare",
    "get_solver",
    "load_result",
    "path",
    "read_solution",
    "relative_gap",
    "save_result",
    "separability",
    "solve",
    "solvers",
]


class _CallablePackage(types.ModuleType):
    """The package itself, callable: ``marginopt.solvers()`` is the table of solvers, ``marginopt.solvers.x`` its modules."""

    def __call__(self) -> SolverTable:
        return solvers()


sys.modules[__name__].__class__ = _CallablePackage
