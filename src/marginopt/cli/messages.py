"""Advice in the words of the command line, where errors speak of Python."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Container
from typing import TextIO

__all__ = ["at_the_prompt", "say", "show_warning"]

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
)


def at_the_prompt(message: str, options: Container[str] = ()) -> str:
    """The message with options for Python's names; ``options`` are the names of those that were given."""
    for python, prompt in _WORDS:
        message = re.sub(python, prompt, message)
    first = re.match(r"(\w+)(?= must )", message)
    if first is not None and first[1] in options:
        message = f"--{first[1].replace('_', '-')}{message[first.end() :]}"
    return message


def say(text: str, stream: TextIO | None = None) -> None:
    """A message on standard error: broken at words where it is a terminal, one line in a file."""
    to = sys.stderr if stream is None else stream
    width = shutil.get_terminal_size().columns
    if to.isatty() and len(text) >= width:
        text = textwrap.fill(text, width - 1, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(text, file=to)


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning without the file and the line that Python shows."""
    say(f"marginopt: warning: {at_the_prompt(str(message))}")
