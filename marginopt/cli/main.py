"""The command line: ``marginopt formulations | solvers | data | inspect | solve | compare | report | reproduce | check-proof``.

Exit codes: 0 solved or written, 1 not solved, 2 wrong use (a value, a file or an option that cannot be used).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import ExtensionError, InputError, LicenceError, MarginoptError, MissingPackageError
from . import commands, report as report_command, reproduce as reproduce_command, stating

__all__ = ["main", "parser"]

SOLVED, NOT_SOLVED, WRONG_USE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (ExtensionError, InputError, LicenceError, MissingPackageError) as error:
        print(f"marginopt: {error}", file=sys.stderr)
        return WRONG_USE
    except MarginoptError as error:
        print(f"marginopt: {error}", file=sys.stderr)
        return NOT_SOLVED
    except KeyboardInterrupt:
        print("marginopt: interrupted", file=sys.stderr)
        return NOT_SOLVED
    except BrokenPipeError:
        # the reader of a pipe closed it: nothing is wrong with what was done
        sys.stderr.close()
        return SOLVED


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="marginopt",
        description="Mathematical programs for maximum-margin learning: state, inspect, solve, compare, report.",
        epilog="exit codes: 0 solved or written, 1 not solved, 2 wrong use",
    )
    top.add_argument("--version", action="version", version=f"marginopt {__version__}")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    solvers = sub.add_parser("solvers", help="every solver: what it reads and gives, installed, licensed")
    solvers.set_defaults(run=commands.solvers)
    formulations = sub.add_parser("formulations", help="every formulation: what it is stated on, its parameters, its source")
    formulations.set_defaults(run=commands.formulations)
    data = sub.add_parser("data", help="the catalogue of data sets, or one of them in figures")
    data.add_argument("name", nargs="?", help="catalogue name or file; without it the catalogue is listed")
    stating.add_data_options(data)
    data.set_defaults(run=commands.data)
    inspect = sub.add_parser("inspect", help="a formulation on data: the mathematics, the standard form")
    stating.add_model_options(inspect, or_file=True)
    inspect.add_argument("--why", action="store_true", help="why the program has no point: rows that exclude each other")
    inspect.add_argument("--latex", action="store_true", help="print LaTeX instead of text")
    inspect.set_defaults(run=commands.inspect)
    solve = sub.add_parser("solve", help="solve a formulation and print the certificate")
    stating.add_model_options(solve)
    _solve_options(solve)
    solve.add_argument("--solver", default="auto", help="name of a solver, or auto (default)")
    solve.add_argument("--proof", metavar="FILE", help="write the proof log of zero-one-bb to FILE (check-proof verifies it)")
    solve.add_argument("--save", metavar="FILE", help="write the result to FILE (.npz)")
    solve.set_defaults(run=commands.solve)
    compare = sub.add_parser("compare", help="several solvers on one model")
    stating.add_model_options(compare)
    _solve_options(compare)
    compare.add_argument("--solvers", required=True, help="names separated by commas")
    compare.set_defaults(run=commands.compare)
    report = sub.add_parser("report", help="a relaxation-gap report as HTML, Markdown, LaTeX, CSV and JSON")
    stating.add_data_options(report)
    report_command.add_options(report)
    report.set_defaults(run=report_command.report)
    papers = sub.add_parser("reproduce", help="the papers' tables and figures, measured again beside the published numbers")
    reproduce_command.add_options(papers)
    papers.set_defaults(run=reproduce_command.reproduce)
    certify = sub.add_parser("certify", help="certify a solution file or a stored result anew, from the program's file")
    certify.add_argument("file", help="program: .lp .mps .cbf .nl .qplib .ptf .mof.json .npz")
    certify.add_argument("solution", help="a solver's solution file, or a stored result (.npz)")
    certify.add_argument("--exact", action="store_true", help="in rational arithmetic as well")
    certify.set_defaults(run=commands.certify)
    proof = sub.add_parser("check-proof", help="verify a proof log of zero-one-bb, by code that shares nothing with the solver")
    proof.add_argument("file", help="proof log written by solve --proof")
    stating.add_proof_options(proof)
    proof.set_defaults(run=commands.check_proof)
    for command in (formulations, solvers, data, inspect, solve, compare, report, papers, certify, proof):
        command.add_argument("--json", action="store_true", help="print JSON for machines")
    return top


def _solve_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("limits")
    group.add_argument("--time-limit", type=float, help="seconds")
    group.add_argument("--tol", type=float, help="relative gap to reach")
    group.add_argument("--threads", type=int)
    group.add_argument("--quiet", action="store_true", help="no progress line")


if __name__ == "__main__":
    sys.exit(main())
