"""The check of names and docstrings of ``make lint``: banned identifiers and paths, beginnings of docstrings.

``.ci/names.csv`` lists names that the project no longer uses, with the field's standard term. Its column ``banned`` holds
alternatives separated by bars: a regular expression that an identifier must not match, or ``path:`` and one that the name of a
module or folder must not match.
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("models", "solvers", "relaxations", "instances", "reproduction", "src/marginopt")
QUESTION = re.compile(r"(What|Whether|Whose|That|As|Where|Which|Who|How|When)\b")
#: Beginnings of public docstrings that name nothing.
FRAGMENT = re.compile(r"(Of|With|Without|From|By|For|In|Its|It|Those|Such|Nothing|Also|Again)\b")


def banned() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of banned identifiers and of banned names of modules and folders."""
    words, paths = [], []
    with (ROOT / ".ci" / "names.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            for part in re.split(r"\|(?![^(]*\))", row["banned"]):
                if part:
                    (paths if part.startswith("path:") else words).append(part.removeprefix("path:"))
    return re.compile("|".join(words)), re.compile("|".join(paths))


def identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every class, function, parameter and class-level field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.lineno, node.name.lstrip("_")
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield line.lineno, line.target.id


def questions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the first words of every docstring that begins with a question word, or, if public, with a fragment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node)
            public = not isinstance(node, ast.Module) and not node.name.startswith("_")
            if text and (QUESTION.match(text) or (public and FRAGMENT.match(text))):
                yield node.body[0].lineno, text[:40]


def main() -> int:
    """Print every fault with its place; return 1 if there is one."""
    words, paths = banned()
    faults = []
    for file in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        name, tree = file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))
        faults += [
            f"{name}: the path has a banned name, {part}" for part in Path(name).with_suffix("").parts if paths.fullmatch(part)
        ]
        faults += [f"{name}:{line}: the name {word} is banned" for line, word in identifiers(tree) if words.fullmatch(word)]
        faults += [f"{name}:{line}: the docstring names nothing at its beginning: {text}" for line, text in questions(tree)]
    print("\n".join(faults) or "names and docstrings: no fault")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
