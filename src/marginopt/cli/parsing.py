"""The parsers of the command line (`CommandLine`, `Command`), and its messages, with options in place of Python's arguments."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NoReturn, TextIO

from ..errors import InputError, near_names, short_text
from . import WRONG_USE

#: Patterns of Python calls in messages, and the option that does the same.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"Instance\.pair\([^)]*\)", "--pair A B"),
    (r"prepared\(standardise=False\) keeps", "--raw keeps"),
    (r"Instance\.prepared\([^)]*\) puts it there", "leave out --raw, and it is put there"),
    (r"Instance\.prepared(\([^)]*\))?", "leaving out --raw"),
    (r"Instance\.subsample(\([^)]*\))?", "--n N"),
    (r"leave part out, or use Instance\.split", "leave --part out"),
    (r"(?:marginopt|mo)\.load\('?([^)']*)'?\)", r"marginopt data \1"),
    (r"(?:marginopt|mo)\.(solvers|formulations|estimators)\(\)", r"marginopt \1"),
    (r"\blabel= chooses", "--label chooses"),
    (r"missing='drop' or 'median', categories='indicators'", "--missing drop or median, --categories indicators"),
    (r"\bleave_out= read", "--leave-out NAME read"),
    (r"\bgive (C|epsilon|nu)=,", r"give --\1,"),
    (r"missing='median' keeps", "--missing median keeps"),
    (r"\(leave_out\)", "(--leave-out)"),
    (r"leave_out names", "--leave-out names"),
    (r"Files are read by read\(path\)", "A file is given by its path"),
    (r"\b(time|node|memory)_limit\b", r"--\1-limit"),
    (r"relax them first \(form\.relaxed\(\)\.dual\(\)\)", "--relaxed takes that of the relaxation"),
)


def with_option_names(message: str, options: Container[str] = (), name: str = "") -> str:
    """Return a message of the library with the command line's options in place of Python's calls and arguments.

    Parameters
    ----------
    message : str
        The message of an error or a warning.
    options : container of str
        Names of the options that were given.
    name : str
        The argument that the error is about (``error.name``), which may stand at the beginning of its message.
    """
    for python, prompt in _WORDS:
        message = re.sub(python, prompt, message)
    if name in options and message.startswith(f"{name} "):
        message = f"--{name.replace('_', '-')}{message[len(name) :]}"
    return message


def print_message(text: str, stream: TextIO | None = None) -> None:
    """Print a message on standard error, or another stream: broken at words in a terminal, one line in a file."""
    target = sys.stderr if stream is None else stream
    width = shutil.get_terminal_size().columns
    if target.isatty() and len(text) >= width:
        text = textwrap.fill(text, width - 1, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(text, file=target)


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning without the file and the line that Python shows."""
    print_message(f"marginopt: warning: {with_option_names(str(message))}")


def comma_separated(text: str, kind: Callable[[str], Any] = str, option: str = "") -> list[Any]:
    """Return the values in a comma-separated text, each converted by ``kind``; the error for a wrong one names ``option``."""
    try:
        return [kind(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise InputError(f"{option} takes values separated by commas; it is {short_text(text)}") from error


def _suggestion(word: str, names: Iterable[str]) -> str:
    """Return ``did you mean A or B? ``; an empty text where no name is like the word."""
    suggestions = near_names(word, names)
    return f"did you mean {' or '.join(suggestions)}? " if suggestions else ""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors fit the screen and name the values that an option takes; an empty argument is an error."""

    def error(self, message: str) -> NoReturn:
        """Print usage and error, and end the program."""
        self.print_usage(sys.stderr)
        match = re.match(r"argument (--[\w-]+): expected \d+ arguments?$", message)
        metavar = self._option_string_actions[match[1]].metavar if match else None
        values = f": {' '.join(metavar)}" if isinstance(metavar, tuple) else ""
        print_message(f"{self.prog}: error: {message}{values}")
        sys.exit(WRONG_USE)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # an empty variable of a script names no file or formulation; the words of a command are its own parser's
        if not action.option_strings and action.nargs != argparse.PARSER and "" in arg_strings:
            raise argparse.ArgumentError(action, "it is empty")
        return super()._get_values(action, arg_strings)


class Command(_Parser):
    """The parser of one command's options.

    Attributes
    ----------
    words : tuple of str
        The arguments after the command's name; the help describes the formulations named there, and no others.
    """

    words: tuple[str, ...] = ()
    _separated: bool = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; options may stand before, between and after the words.

        ``options_given`` of the result has, for each attribute that an option set, that option.
        """
        if self._separated:
            return super().parse_known_args(args, namespace)
        self._options_given: dict[str, str] = {}
        arguments, unknown = super().parse_known_args(args, namespace)
        if any(not word.startswith("-") for word in unknown):
            self._separated = True  # argparse parses the options, and then the words, by calls of this method
            try:
                arguments, unknown = self.parse_known_intermixed_args(args, namespace)
            finally:
                self._separated = False
        arguments.options_given = self._options_given
        return arguments, unknown

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.option_strings:
            self._options_given[action.dest] = action.option_strings[-1]
        return super()._get_values(action, arg_strings)

    def format_usage(self) -> str:
        """Return one line with the required arguments; `format_help` lists the options."""
        needed = [text for text in map(_given, self._actions) if text]
        return f"usage: {' '.join([self.prog, *needed, '[options]'])}\n"

    def format_help(self) -> str:
        """Return the help, which begins with the usage."""
        self.usage = " ".join(self.format_usage().split()[1:]).replace("%", "%%")
        return super().format_help()

    def refuse_unknown(self, unknown: Sequence[str]) -> None:
        """Print an error about ``unknown``, arguments that the command does not take, and end the program."""
        option = next((word for word in unknown if word.startswith("-")), None)
        if option is None:
            self.error(f"too many words: {' '.join(unknown)}{self._comma_advice()}")
        name = option.partition("=")[0]
        self.error(f"there is no option {name}; {_suggestion(name, self._option_string_actions)}{self.prog} --help lists them")

    def _comma_advice(self) -> str:
        """Return the clause that names the given options whose values stand in one word, between commas."""
        options = [o for o in self._options_given.values() if str(self._option_string_actions[o].metavar).endswith(",..")]
        return (
            f"; {' and '.join(options)} {'takes' if len(options) == 1 else 'take'} values with commas between them"
            if options
            else ""
        )


def _given(action: argparse.Action) -> str:
    """Return an argument as a line of usage shows it; an empty text for options that can be left out."""
    name = str(action.metavar or action.dest)
    if action.option_strings:
        return f"{action.option_strings[0]} {name}" if action.required else ""
    return {"?": f"[{name}]", "*": f"[{name} ...]"}.get(str(action.nargs), name)


class CommandLine(_Parser):
    """The parser of the whole command line, which chooses the command and leaves its options to a `Command`.

    Attributes
    ----------
    chosen_command : Command, optional
        The parser of the chosen command; None before `main.parser` sets it.
    """

    chosen_command: Command | None = None

    def __init__(self, commands: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self._commands = commands

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; unknown ones are reported by the command, with the nearest known ones."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if unknown and self.chosen_command is not None:
            self.chosen_command.refuse_unknown(unknown)
        return arguments

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.dest == "command" and value not in self._commands:
            names = ", ".join(self._commands)
            raise argparse.ArgumentError(
                None, f"there is no command {short_text(value)}; {_suggestion(value, self._commands)}known: {names}"
            )
        super()._check_value(action, value)
