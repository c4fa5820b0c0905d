"""Advice in the words of the command line, where errors speak of Python."""

from __future__ import annotations

import re

__all__ = ["at_the_prompt"]

#: Python's words, and what does the same at the prompt.
_WORDS: tuple[tuple[str, str], ...] = (
    (r"Instance\.pair\([^)]*\)", "--pair A B"),
    (r"Instance\.prepared\([^)]*\) puts it there", "leave out --raw, and it is put there"),
    (r"Instance\.prepared(\([^)]*\))?", "leaving out --raw"),
    (r"Instance\.subsample(\([^)]*\))?", "--n N"),
    (r"leave part out, or use Instance\.split", "leave --part out"),
    (r"(?:marginopt|mo)\.load\('?([^)']*)'?\)", r"marginopt data \1"),
    (r"(?:marginopt|mo)\.(solvers|formulations|estimators)\(\)", r"marginopt \1"),
    (r"\b(time|node|memory)_limit\b", r"--\1-limit"),
)


def at_the_prompt(message: str) -> str:
    """The message with options for Python's names."""
    for python, prompt in _WORDS:
        message = re.sub(python, prompt, message)
    return message
