"""Words of the generated pages: docstrings as Markdown, displays, tables, trees of contents, places of the code."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from marginopt.models.statement import latex_numbers, typeset

__all__ = ["displays", "escaped", "place", "table", "toctree"]

#: Code, bold and italics.
_KEPT = re.compile(r"(``[^`]+``|`[^`]+`|\*\*[^*\s][^*]*\*\*|(?<![\w*])\*[A-Za-z][^*`]*[\w.]\*(?![\w*]))")


def escaped(text: str) -> str:
    """A docstring's text as Markdown: code stays code, bold and italics stay what they are, mathematics is set, no more."""
    parts = re.split(_KEPT, inspect.cleandoc(text) if text else "")
    for k, part in enumerate(parts):
        if k % 2 == 0:
            parts[k] = re.sub(r"([\\*_$<>|{}\[\]#~])", r"\\\1", typeset(part))
    return re.sub(r"(?m)^( {0,3})(\d+)\.", r"\1\2\\.", re.sub(r"(?m)^ +", "", "".join(parts)))


def displays(latex: str) -> str:
    r"""Displays \[...\] as Markdown's, words between them as they are."""
    return re.sub(r"\\\[\n(.*?)\n\\\]", lambda at: f"\n$$\n{at[1]}\n$$\n", latex_numbers(latex), flags=re.DOTALL)


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def toctree(names: Iterable[str]) -> str:
    return "```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```"


def place(thing: type) -> str:
    """The file of a class in the repository."""
    path = Path(sys.modules[thing.__module__].__file__ or "").resolve()
    root = Path(__file__).resolve().parents[1]
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else thing.__module__
