"""Parsers that say what was meant: near misses of commands and options, one line of usage, help on what is asked about."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ..errors import near_names
from .messages import say

__all__ = ["Command", "Top", "nearest"]


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean A or B? ``, or nothing where no name is like the word."""
    near = near_names(word, known)
    return f"did you mean {' or '.join(near)}? " if near else ""


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
        """One line of what must be given; `format_help` lists the options."""
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
    asked : Command, optional
        The one that has its options.
    """

    asked: Command | None = None

    def __init__(self, commands: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self._commands = commands

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; unknown ones are reported by the command, with the nearest known ones."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown and self.asked is not None:
            self.asked.refuse(unknown)
        return found

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.dest == "command" and value not in self._commands:
            known = ", ".join(self._commands)
            raise argparse.ArgumentError(None, f"there is no command {value!r}; {nearest(value, self._commands)}known: {known}")
        super()._check_value(action, value)
