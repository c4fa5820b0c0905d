"""The entry point of the command line: `main` parses ``marginopt COMMAND ...``, runs the command, and returns the exit code.

Exit codes: 0 solved, written or verified, 1 not solved, refused, interrupted or another error, 2 wrong use (a value, a file or an
option that cannot be used) or a missing package, licence or extension.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from .. import __version__
from ..errors import ExtensionError, InputError, LicenceError, MarginoptError, MissingPackageError
from ..status_line import announce_compilations, show_while_waiting
from . import NOT_SOLVED, SOLVED, WRONG_USE
from .parsing import Command, CommandLine, print_message, show_warning, with_option_names

#: The commands, each with its help. The function of the same name in `options` adds a command's options when it is chosen.
COMMANDS: dict[str, str] = {
    "solvers": "every solver, or one with its options: what it reads and gives, installed, licensed",
    "formulations": "every formulation, or one with its parameters and its mathematics",
    "estimators": "every scikit-learn estimator, and the formulation that it solves",
    "data": "the catalogue of data sets, or one of them in figures",
    "inspect": "a formulation on data: the mathematics, the standard form",
    "solve": "solve a formulation on data, or a program's file, and print the certificate",
    "dual": "the Lagrangian dual of a formulation on data, or of a program's file, printed or written",
    "conflict": "why a formulation on data, or a program's file, has no point: rows that exclude each other",
    "compare": "several solvers on a formulation on data, or on a program's file",
    "benchmark": "several solvers on several data sets: times, gaps, a performance profile",
    "export": "programs as files of other tools, with a manifest of their values and bounds",
    "report": "a relaxation-gap report as HTML, Markdown, LaTeX, CSV and JSON",
    "reproduce": "the papers' tables and figures, measured again beside the published numbers",
    "certify": "certify a solution file or a stored result anew, from the program's file",
    "audit": "the gap that a machine left (LIBSVM, LIBLINEAR, pickled scikit-learn) on the data that it was trained on",
    "warm-up": "compile the loops of solvers ahead of time, once for a machine",
    "prove": "prove the optimum of a mixed-integer linear program's file in the VIPR format, which other checkers read",
    "check-proof": "verify a proof log of an exact solver (zero-one-bb, supports-bb, ...), by code that shares nothing with it",
    "book": "the open book of margins: instances with their best points and proved bounds; verify, run, submit",
    "proof-page": "write a page on which a reader's browser verifies a proof log of zero-one-bb",
}
#: The commands of many runs, which write lines of progress from their start on.
WITH_PROGRESS = ("benchmark", "export", "report", "reproduce")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments. Without them those of the process are used, and output of native solvers is discarded.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    place = next((k for k, word in enumerate(words) if not word.startswith("-")), len(words))
    command = "".join(words[place : place + 1])
    has_progress = argv is None and command in WITH_PROGRESS and not {"--quiet", "--json"} & set(words)
    with show_while_waiting("loading Python modules", has_progress):  # Python compiles them at the first start: up to a minute
        line_parser = parser(command, words[place + 1 :])
    arguments = line_parser.parse_args(words)
    if argv is not None:
        return _run(arguments)

    warnings.showwarning = show_warning
    quiet = arguments.json or getattr(arguments, "quiet", False)  # not every command has it
    with silence_native_output(), announce_compilations(not quiet):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    try:
        return int(arguments.run(arguments))
    except (ExtensionError, InputError, LicenceError, MissingPackageError) as error:
        print_message(f"marginopt: {with_option_names(str(error), _given(arguments), getattr(error, 'name', ''))}")
        return WRONG_USE
    except MarginoptError as error:
        print_message(f"marginopt: {with_option_names(str(error))}")
        return NOT_SOLVED
    except KeyboardInterrupt:
        print("marginopt: interrupted", file=sys.stderr)
        return NOT_SOLVED
    except BrokenPipeError:
        # the reader of a pipe closed it: the command has done its work, and the rest of its output has no reader
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return SOLVED


def _given(arguments: argparse.Namespace) -> set[str]:
    """Return the names of the given options, parameters of formulations among them."""
    given_names = {name.removeprefix("given_") for name, value in vars(arguments).items() if value is not None}
    return given_names - {"data", "model", "solvers"}  # which have no option's dashes


def parser(only: str = "", words: Sequence[str] = ()) -> CommandLine:
    """Return the parser of the command line. Only one command has its options, since importing them all takes time.

    Parameters
    ----------
    only : str
        The command that has its options; an empty text for none.
    words : sequence of str
        The words after the command: its help describes the formulations that they name.
    """
    top = CommandLine(
        tuple(COMMANDS),
        prog="marginopt",
        description="Mathematical programs for maximum-margin learning: state, inspect, solve, compare, report.",
        epilog="exit codes: 0 solved or written, 1 not solved, 2 wrong use",
    )
    top.add_argument("--version", action="version", version=f"marginopt {__version__}")
    sub = top.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands", parser_class=Command)
    for name, summary in COMMANDS.items():
        command = sub.add_parser(name, help=summary, description=summary)
        if only == name:
            command.words = tuple(words)
            top.chosen_command = command
            options = importlib.import_module(".options", __package__)
            getattr(options, name.replace("-", "_"))(command)
            command.add_argument("--json", action="store_true", help="print JSON for machines")
    return top


@contextmanager
def silence_native_output() -> Iterator[None]:
    """Discard what compiled solvers write past Python to the process's standard streams; Python's own streams still work.

    Only the program uses it, since file descriptors belong to all threads of a process. Streams that are no files are unchanged.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    streams = sys.stdout, sys.stderr
    saved: list[tuple[int, int]] = []
    try:
        sys.stdout, sys.stderr = (_moved(stream, descriptor, saved) for stream, descriptor in zip(streams, (1, 2), strict=True))
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
        for descriptor, copy in saved:
            os.dup2(copy, descriptor)
            os.close(copy)
        sys.stdout, sys.stderr = streams


def _moved(stream: TextIO, descriptor: int, saved: list[tuple[int, int]]) -> TextIO:
    """Return the stream on a copy of its descriptor, and lead the descriptor itself to the null device."""
    try:
        if stream.fileno() != descriptor:
            return stream
    except (AttributeError, OSError, ValueError):
        return stream
    copy = os.dup(descriptor)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
    saved.append((descriptor, copy))
    return open(copy, "w", encoding=stream.encoding, errors=stream.errors, buffering=1, closefd=False)


if __name__ == "__main__":
    sys.exit(main())
