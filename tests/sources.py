"""Where the package's modules lie and what they import, read once for all laws: ``from sources import imports_of``."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PARTS", "REPRODUCTION", "ROOT", "Imported", "imports_of", "module_files", "reproduction_files"]

ROOT = Path(__file__).parents[1]
#: Folders of the repository by the package that they are installed as. ``src`` keeps the face out of the way of a Python that is
#: started in the root: a folder ``marginopt`` there would shadow the installed package.
PARTS = {
    "marginopt": ROOT / "src" / "marginopt",
    "marginopt.models": ROOT / "models",
    "marginopt.solvers": ROOT / "solvers",
    "marginopt.relaxations": ROOT / "relaxations",
    "marginopt.instances": ROOT / "instances",
}
#: The papers' protocols, which a clone has and no wheel: laws of the code hold there too.
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
    base : str or None
        What stands between "from" and "import", without its dots; None for a plain import.
    level : int
        Dots before it.
    names : tuple of str
    top : bool
        Whether it stands at the top of the file: not in a function, nor for types alone.
    """

    line: int
    base: str | None
    level: int
    names: tuple[str, ...]
    top: bool

    def absolute(self, package: list[str]) -> str:
        """The module between "from" and "import" as a file of the package sees it."""
        above = package[: len(package) - self.level + 1] if self.level else []
        return ".".join([*above, *([self.base] if self.base else [])])


@cache
def imports_of(path: Path) -> tuple[Imported, ...]:
    """Every import of a file, inside functions as well."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found, top = [], set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = tuple(alias.name for alias in node.names)
            base, level = (node.module or "", node.level) if isinstance(node, ast.ImportFrom) else (None, 0)
            found.append(Imported(node.lineno, base, level, names, id(node) in top))
    return tuple(found)
