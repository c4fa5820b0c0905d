"""The command line: ``marginopt COMMAND``, one of `COMMANDS`.

Exit codes: 0 solved or written, 1 not solved, 2 wrong use (a value, a file or an option that cannot be used).
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys
import warnings
from collections.abc import Sequence

from .. import __version__
from ..errors import ExtensionError, InputError, LicenceError, MarginoptError, MissingPackageError
from .words import at_the_prompt, say, show_warning

__all__ = ["COMMANDS", "main", "parser"]

SOLVED, NOT_SOLVED, WRONG_USE = 0, 1, 2

#: What each command is; its options are a function of `options` of the same name, imported when the command is asked for.
COMMANDS: dict[str, str] = {
    "solvers": "every solver, or one with its options: what it reads and gives, installed, licensed",
    "formulations": "every formulation, or one with its parameters and its mathematics",
    "estimators": "every scikit-learn estimator, and the formulation that it solves",
    "data": "the catalogue of data sets, or one of them in figures",
    "inspect": "a formulation on data: the mathematics, the standard form",
    "solve": "solve a formulation and print the certificate",
    "compare": "several solvers on one model",
    "benchmark": "several solvers on several data sets: times, gaps, a performance profile",
    "export": "programs as files of other tools, with a manifest of their optima",
    "report": "a relaxation-gap report as HTML, Markdown, LaTeX, CSV and JSON",
    "reproduce": "the papers' tables and figures, measured again beside the published numbers",
    "certify": "certify a solution file or a stored result anew, from the program's file",
    "warm-up": "compile the loops of solvers ahead of time, once for a machine",
    "check-proof": "verify a proof log of zero-one-bb, by code that shares nothing with the solver",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; without ``argv`` as a program, whose solvers write nothing of their own."""
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = parser(next((word for word in words if not word.startswith("-")), "")).parse_args(words)
    if argv is not None:
        return _run(arguments)
    from .quiet import own_words_only

    warnings.showwarning = show_warning
    with own_words_only():
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    try:
        return int(arguments.run(arguments))
    except (ExtensionError, InputError, LicenceError, MissingPackageError) as error:
        say(f"marginopt: {at_the_prompt(str(error))}")
        return WRONG_USE
    except MarginoptError as error:
        say(f"marginopt: {at_the_prompt(str(error))}")
        return NOT_SOLVED
    except KeyboardInterrupt:
        print("marginopt: interrupted", file=sys.stderr)
        return NOT_SOLVED
    except BrokenPipeError:
        # the reader of a pipe closed it: nothing is wrong with what was done
        sys.stderr.close()
        return SOLVED


class _Parser(argparse.ArgumentParser):
    """Says which command was meant."""

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.dest == "command" and value not in COMMANDS:
            near = difflib.get_close_matches(str(value), COMMANDS, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise argparse.ArgumentError(None, f"there is no command {value!r}; {hint}known: {', '.join(COMMANDS)}")
        super()._check_value(action, value)


def parser(only: str = "") -> argparse.ArgumentParser:
    """The command line; with the options of one command alone where it is named, since options import what they tell of."""
    top = _Parser(
        prog="marginopt",
        description="Mathematical programs for maximum-margin learning: state, inspect, solve, compare, report.",
        epilog="exit codes: 0 solved or written, 1 not solved, 2 wrong use",
    )
    top.add_argument("--version", action="version", version=f"marginopt {__version__}")
    one = argparse.ArgumentParser
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands", parser_class=one)
    for name, what in COMMANDS.items():
        command = sub.add_parser(name, help=what, description=what)
        if only == name:
            options = importlib.import_module(".options", __package__)
            getattr(options, name.replace("-", "_"))(command)
            command.add_argument("--json", action="store_true", help="print JSON for machines")
    return top


if __name__ == "__main__":
    sys.exit(main())
