"""Files, imports and syntax trees of the package's modules, read once for all laws: ``from sources import imports_of``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = [
    "PARTS",
    "REPRODUCTION",
    "ROOT",
    "Exemptions",
    "Imported",
    "imports_of",
    "module_files",
    "nodes_of",
    "our_sources",
    "our_trees",
    "reproduction_files",
    "statements_of",
]

#: Root of the repository.
ROOT = Path(__file__).parents[1]
#: Folders of the repository by the package that they are installed as. ``marginopt`` itself is in ``src``, since a folder
#: ``marginopt`` in the root would shadow the installed package when Python is started there.
PARTS = {
    "marginopt": ROOT / "src" / "marginopt",
    "marginopt.models": ROOT / "models",
    "marginopt.solvers": ROOT / "solvers",
    "marginopt.relaxations": ROOT / "relaxations",
    "marginopt.instances": ROOT / "instances",
}
#: Folder of the papers' protocols, which are in the repository but not in the wheel.
REPRODUCTION = ROOT / "reproduction"


@cache
def module_files() -> dict[str, Path]:
    """Return every installed module's file by the module's dotted name."""
    files = {}
    for package, folder in PARTS.items():
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            files[".".join((package, *(part for part in inside if part != "__init__")))] = path
    return files


@cache
def reproduction_files() -> dict[str, Path]:
    """Return the file of every module of the papers' protocols by the name that it has in a clone."""
    names = {path: path.relative_to(REPRODUCTION).with_suffix("").parts for path in sorted(REPRODUCTION.rglob("*.py"))}
    home = "marginopt.reproduction"
    return {".".join((home, *(part for part in inside if part != "__init__"))): path for path, inside in names.items()}


@dataclass(frozen=True)
class Imported:
    """An import statement.

    Parameters
    ----------
    line : int
        Its line number.
    base : str or None
        The module between "from" and "import", without leading dots; None for a plain import.
    level : int
        Number of leading dots.
    names : tuple of str
        The imported names.
    top : bool
        Whether the statement is at the top level of the file: not in a function, nor for types alone.
    """

    line: int
    base: str | None
    level: int
    names: tuple[str, ...]
    top: bool

    def absolute(self, package: list[str]) -> str:
        """Return the dotted name of the module between "from" and "import", for a file in the package with these parts."""
        above = package[: len(package) - self.level + 1] if self.level else []
        return ".".join([*above, *([self.base] if self.base else [])])


def statements_of(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement inside a node, at any depth."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from statements_of(inner)


@cache
def imports_of(path: Path) -> tuple[Imported, ...]:
    """Return every import of a file, also those in functions."""
    tree = _tree(path)
    result, top = [], set(map(id, tree.body))
    for node in statements_of(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = tuple(alias.name for alias in node.names)
            base, level = (node.module or "", node.level) if isinstance(node, ast.ImportFrom) else (None, 0)
            result.append(Imported(node.lineno, base, level, names, id(node) in top))
    return tuple(result)


@cache
def our_sources() -> dict[str, str]:
    """Return the text of every module, the papers' protocols among them, by its path in the repository."""
    paths = (module_files() | reproduction_files()).values()
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def our_trees() -> dict[str, ast.Module]:
    """Return the syntax tree of every module of `our_sources`; read, never changed."""
    return {file: _tree(ROOT / file) for file in our_sources()}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return every node of one of `our_trees`: several laws go through all of them."""
    return tuple(ast.walk(tree))


class Exemptions:
    """The places that a comment exempts from a law: ``# exempt (length): compiled as one function``.

    The comment is on a line of its own above the place, or (one or two of them) above the statement that holds it. At the top
    of a file it exempts the file, at the top of an ``__init__.py`` the folder. ``(file, line) in exemptions`` tells whether a
    line is exempt.

    Parameters
    ----------
    law : str
        The word in parentheses in the comment.
    sources : mapping of str to str, optional
        Texts by path; by default those of the project.

    Attributes
    ----------
    lines, used : set of (str, int)
        File and line number of every comment, and of those that have exempted a place.
    """

    def __init__(self, law: str, sources: dict[str, str] | None = None) -> None:
        comment = re.compile(rf"\s*# exempt \({law}\): \S")
        self.sources = our_sources() if sources is None else sources
        self.lines = {
            (file, number)
            for file, text in self.sources.items()
            for number, line in enumerate(text.split("\n"), start=1)
            if comment.match(line)
        }
        self.used: set[tuple[str, int]] = set()

    def __contains__(self, place: tuple[str, int]) -> bool:
        """Return whether a file's line is exempt, and record the comments that exempt it as used."""
        file, line = place
        folders = file.split("/")[:-1]
        homes = [file, *("/".join([*folders[:k], "__init__.py"]) for k in range(1, len(folders) + 1))]
        at = {(home, 1) for home in homes} | {(file, n) for n in range(_statement(self.sources[file], line) - 2, line + 1)}
        self.used |= at & self.lines
        return bool(at & self.lines)

    @property
    def idle(self) -> list[str]:
        """The comments that have exempted no place, as "file:line"."""
        return [f"{file}:{line}" for file, line in sorted(self.lines - self.used)]


@cache
def _statements(text: str) -> tuple[tuple[int, int], ...]:
    """First and last line of every statement, its decorators included."""
    rows = list(statements_of(ast.parse(text)))
    return tuple((min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", ()))]), n.end_lineno or 0) for n in rows)


def _statement(text: str, line: int) -> int:
    """The first line of the innermost statement that a line is of."""
    return max((first for first, last in _statements(text) if first <= line <= last), default=line)
