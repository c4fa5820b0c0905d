"""Parsers that name near misses, and advice in the words of the command line."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Container, Iterable, Sequence
from typing import Any, NoReturn, TextIO

from ..errors import near_names

#: Python's words, and what does the same at the prompt.
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
    (r"missing='median' keeps", "--missing median keeps"),
    (r"\(leave_out\)", "(--leave-out)"),
    (r"leave_out names", "--leave-out names"),
    (r"Files are read by read\(path\)", "A file is given by its path"),
    (r"\b(time|node|memory)_limit\b", r"--\1-limit"),
    (r"relax them first \(form\.relaxed\(\)\.dual\(\)\)", "--relaxed takes that of the relaxation"),
)


def at_the_prompt(message: str, options: Container[str] = (), name: str = "") -> str:
    """Return the message with options in place of Python's names.

    Parameters
    ----------
    message : str
    options : container of str
        Names of the options that were given.
    name : str
        The argument that the error is about (``error.name``), which may stand at the beginning of its message.

    Returns
    -------
    str
    """
    for python, prompt in _WORDS:
        message = re.sub(python, prompt, message)
    if name in options and message.startswith(f"{name} "):
        message = f"--{name.replace('_', '-')}{message[len(name) :]}"
    return message


def say(text: str, stream: TextIO | None = None) -> None:
    """A message on standard error: broken at words where it is a terminal, one line in a file."""
    target = sys.stderr if stream is None else stream
    width = shutil.get_terminal_size().columns
    if target.isatty() and len(text) >= width:
        text = textwrap.fill(text, width - 1, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(text, file=target)


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning without the file and the line that Python shows."""
    say(f"marginopt: warning: {at_the_prompt(str(message))}")


def nearest(word: str, names: Iterable[str]) -> str:
    """``did you mean A or B? ``, or nothing where no name is like the word."""
    suggestions = near_names(word, names)
    return f"did you mean {' or '.join(suggestions)}? " if suggestions else ""


class _Parser(argparse.ArgumentParser):
    """Errors fit the screen, and name the values that an option takes."""

    def error(self, message: str) -> NoReturn:
        """Usage and what is wrong."""
        self.print_usage(sys.stderr)
        match = re.match(r"argument (--[\w-]+): expected \d+ arguments?$", message)
        metavar = self._option_string_actions[match[1]].metavar if match else None
        values = f": {' '.join(metavar)}" if isinstance(metavar, tuple) else ""
        say(f"{self.prog}: error: {message}{values}")
        sys.exit(2)


class Command(_Parser):
    """The options of one command.

    Attributes
    ----------
    words : tuple of str
        What follows the command's name: help tells of the formulations named there and of no others.
    """

    words: tuple[str, ...] = ()

    def format_usage(self) -> str:
        """Return one line of what must be given; `format_help` lists the options."""
        needed = [text for text in map(_given, self._actions) if text]
        return f"usage: {' '.join([self.prog, *needed, '[options]'])}\n"

    def format_help(self) -> str:
        """Help that begins with that line."""
        self.usage = " ".join(self.format_usage().split()[1:]).replace("%", "%%")
        return super().format_help()

    def refuse(self, unknown: Sequence[str]) -> None:
        """End the program: there are no such options."""
        option = next((word for word in unknown if word.startswith("-")), None)
        if option is None:
            self.error(f"too many words: {' '.join(unknown)}")
        name = option.partition("=")[0]
        self.error(f"there is no option {name}; {nearest(name, self._option_string_actions)}{self.prog} --help lists them")


def _given(action: argparse.Action) -> str:
    """Return the value of an option in a line of usage; empty for options that can be left out."""
    name = str(action.metavar or action.dest)
    if action.option_strings:
        return f"{action.option_strings[0]} {name}" if action.required else ""
    return {"?": f"[{name}]", "*": f"[{name} ...]"}.get(str(action.nargs), name)


class Top(_Parser):
    """The commands.

    Attributes
    ----------
    chosen_command : Command, optional
        The one that has its options.
    """

    chosen_command: Command | None = None

    def __init__(self, commands: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self._commands = commands

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; unknown ones are reported by the command, with the nearest known ones."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if unknown and self.chosen_command is not None:
            self.chosen_command.refuse(unknown)
        return arguments

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.dest == "command" and value not in self._commands:
            names = ", ".join(self._commands)
            raise argparse.ArgumentError(None, f"there is no command {value!r}; {nearest(value, self._commands)}known: {names}")
        super()._check_value(action, value)
