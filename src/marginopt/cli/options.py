"""Add the options of each command to its parser: one function for each name of `main.COMMANDS`, called when it is chosen."""

from __future__ import annotations

from . import commands, data_options, report as reporting, runs, tables
from .parsing import Command

#: Files of programs; any of them may be packed.
_PROGRAM = "program: .lp .mps .qps .sif .cbf .nl .qplib .ptf .mof.json .npz, also with .gz .bz2 .xz behind it"


def solvers(command: Command) -> None:
    """Add the options of ``solvers``."""
    command.add_argument("name", nargs="?", help="a solver: its method, its source and its options")
    command.set_defaults(run=tables.solvers)


def formulations(command: Command) -> None:
    """Add the options of ``formulations``."""
    command.add_argument("name", nargs="?", help="a formulation: its parameters, its mathematics, who solves it")
    command.add_argument("--packages", action="store_true", help="which package takes which formulation, and why not")
    command.set_defaults(run=tables.formulations)


def estimators(command: Command) -> None:
    """Add the options of ``estimators``."""
    command.add_argument("name", nargs="?", help="an estimator: its parameters, their defaults, what it holds when it is fitted")
    command.set_defaults(run=tables.estimators)


def data(command: Command) -> None:
    """Add the options of ``data``."""
    command.add_argument("name", nargs="?", help="catalogue name or file; without it the catalogue is listed")
    data_options.add_data_options(command)
    command.set_defaults(run=commands.data)


def inspect(command: Command) -> None:
    """Add the options of ``inspect``."""
    data_options.add_model_options(command)
    command.add_argument("--why", action="store_true", help="why the program has no point: rows that exclude each other")
    command.add_argument("--latex", action="store_true", help="print LaTeX instead of text")
    command.set_defaults(run=commands.inspect)


def solve(command: Command) -> None:
    """Add the options of ``solve``."""
    data_options.add_model_options(command)
    _add_limits(command)
    command.add_argument("--solver", default="auto", help="name of a solver, or auto (default)")
    command.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the solver's own (marginopt solvers NAME)"
    )
    command.add_argument(
        "--proof",
        metavar="FILE",
        help="write the proof log of zero-one-bb, supports-bb, sparse-bb, ramp-bb or margin-bb to FILE (check-proof verifies it)",
    )
    command.add_argument("--save", metavar="FILE", help="write the result to FILE (.npz), or its point as a solution file (.sol)")
    command.set_defaults(run=commands.solve)


def dual(command: Command) -> None:
    """Add the options of ``dual``."""
    data_options.add_model_options(command)
    command.add_argument("-o", "--out", metavar="FILE", help="write the dual to this file instead (its suffix is the format)")
    command.add_argument("--relaxed", action="store_true", help="of the continuous relaxation: integers between their bounds")
    command.set_defaults(run=commands.dual)


def conflict(command: Command) -> None:
    """Add the options of ``conflict``."""
    data_options.add_model_options(command)
    command.set_defaults(run=commands.conflict_rows)


def compare(command: Command) -> None:
    """Add the options of ``compare``."""
    data_options.add_model_options(command)
    _add_limits(command)
    command.add_argument("--solvers", required=True, metavar="NAME,..", help="names separated by commas")
    command.set_defaults(run=commands.compare)


def benchmark(command: Command) -> None:
    """Add the options of ``benchmark``."""
    command.add_argument("solvers", metavar="SOLVERS", help="names separated by commas")
    _add_problem_set(command)
    _add_limits(command)
    command.add_argument("--out", metavar="DIR", help="write the runs (CSV, JSON) and the profile (SVG) there")
    command.set_defaults(run=runs.benchmark, time_limit=60.0)


def export(command: Command) -> None:
    """Add the options of ``export``."""
    _add_problem_set(command)
    command.add_argument("folder", metavar="DIR", help="folder to write to; for one problem also a file, such as plan.lp")
    command.add_argument("--format", help="in a folder: of mps, lp, cbf, nl, qplib, ptf, mof.json, npz (default mps)")
    command.add_argument("--solver", default="auto", help="finds the optima of the manifest; none for files alone")
    _add_limits(command)
    command.set_defaults(run=runs.export, time_limit=60.0)


def report(command: Command) -> None:
    """Add the options of ``report``."""
    data_options.add_data_options(command)
    reporting.add_options(command)
    command.set_defaults(run=reporting.report)


def reproduce(command: Command) -> None:
    """Add the options of ``reproduce``."""
    runs.add_reproduce_options(command)
    command.set_defaults(run=runs.reproduce)


def certify(command: Command) -> None:
    """Add the options of ``certify``."""
    command.add_argument("file", metavar="FILE", help=_PROGRAM)
    command.add_argument("solution", metavar="SOLUTION", help="a solver's solution file, or a stored result (.npz)")
    command.add_argument("--exact", action="store_true", help="in rational arithmetic as well")
    command.set_defaults(run=commands.certify)


def audit(command: Command) -> None:
    """Add the options of ``audit``."""
    command.add_argument("model", metavar="MODEL", help="model file of LIBSVM or LIBLINEAR, or a pickled machine of scikit-learn")
    command.add_argument("data", metavar="DATA", help="the data file of LIBSVM that it was trained on, also with .gz or .bz2")
    command.add_argument("--C", type=float, metavar="C", help="-c of the training program")
    command.add_argument("--epsilon", type=float, metavar="E", help="-p of the training program, of regressions")
    command.add_argument("--nu", type=float, metavar="NU", help="-n of the training program, of nu-SVC and nu-SVR")
    command.add_argument("--tol", type=float, metavar="GAP", help="exit with 1 where the gap is larger")
    command.set_defaults(run=commands.audit)


def prove(command: Command) -> None:
    """Add the options of ``prove``."""
    command.add_argument("file", metavar="FILE", help=_PROGRAM)
    command.add_argument("certificate", metavar="CERTIFICATE", help="the file to write (*.vipr)")
    command.add_argument("--start", metavar="FILE", help="a solver's solution file: a good point to begin with")
    command.add_argument("--time-limit", type=float, metavar="S", help="seconds; the file then proves the bound reached")
    command.set_defaults(run=commands.prove)


def check_proof(command: Command) -> None:
    """Add the options of ``check-proof``."""
    command.add_argument("file", help="proof log written by solve --proof")
    command.add_argument("--jobs", type=int, help="parts of a tree of boxes at a time, -1 for all cores (default 1)")
    command.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler (tcp://host:8786): its workers check the parts")
    data_options.add_proof_options(command)
    command.set_defaults(run=commands.check_proof)


def proof_page(command: Command) -> None:
    """Add the options of ``proof-page``."""
    command.add_argument("log", metavar="LOG", help="proof log of zero-one-bb, written by solve --proof")
    command.add_argument("-o", "--out", metavar="FILE", help="the page (default: the log's name with .html)")
    command.add_argument("--title", help="the heading (default: the log's name)")
    command.set_defaults(run=commands.proof_page)


def book(command: Command) -> None:
    """Add the options of ``book``."""
    from . import book as booking

    booking.add_options(command)


def _add_problem_set(command: Command) -> None:
    """Add the options of a set of problems: formulations on data sets, or files of programs."""
    command.add_argument(
        "set",
        metavar="SET",
        help="catalogue names or files separated by commas, programs among them; built-in: the five sets of a gap report",
    )
    command.add_argument("--formulations", default="zero-one", metavar="NAME,..", help="stated on each set (default zero-one)")
    data_options.add_data_options(command)
    data_options.add_parameters(command)


def _add_limits(command: Command) -> None:
    group = command.add_argument_group("limits")
    group.add_argument("--time-limit", type=float, help="seconds of each solve")
    group.add_argument("--tol", type=float, help="relative gap to reach")
    group.add_argument("--threads", type=int)
    group.add_argument("--quiet", action="store_true", help="no progress line")


def warm_up(command: Command) -> None:
    """Add the options of ``warm-up``."""
    command.add_argument("solvers", nargs="*", metavar="SOLVER", help="solvers with compiled loops; all, without names")
    command.set_defaults(run=commands.warm_up)
