"""The house: folders hold few modules, and no file imports in a circle, lazily or for types."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("models", "solvers", "relaxations", "instances", "marginopt")
MOST_MODULES = 16

#: Circles that stay, each with its reason in docs/design.md.
KNOWN: tuple[frozenset[str], ...] = ()


def modules() -> dict[str, Path]:
    """Every installed module by its dotted name."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts if parts[0] == "marginopt" else ("marginopt", *parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Our modules that a file imports: at its top, inside functions, and for types."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                target = f"{source}.{alias.name}"
                if target in known or source in known:
                    yield target if target in known else source


def circles(graph: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """The strongly connected components of more than one node, by repeated trimming of what has no way in or out."""
    reach = {node: _reachable(node, graph) for node in graph}
    found = {frozenset(other for other in reach[node] if node in reach[other]) for node in graph if node in reach[node]}
    return sorted(found, key=len)


def _reachable(node: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[node])
    while todo:
        other = todo.pop()
        if other not in seen:
            seen.add(other)
            todo += graph[other]
    return seen


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set()}
    assert circles(graph) == [frozenset("abc")]


def test_no_file_imports_in_a_circle() -> None:
    known = modules()
    graph = {name: set(imported(name, path, known)) - {name} for name, path in known.items()}
    assert len(graph) > 200
    new = [sorted(circle) for circle in circles(graph) if not any(circle <= allowed for allowed in KNOWN)]
    assert not new, "\n".join(map(str, new))


@pytest.mark.parametrize("top", [*FOLDERS, "tests", "benchmarks"])
def test_folders_fit_in_the_head(top: str) -> None:
    crowded = {
        str(folder.relative_to(ROOT)): count
        for folder in [ROOT / top, *(p for p in (ROOT / top).rglob("*") if p.is_dir())]
        if (count := sum(p.name != "__init__.py" for p in folder.glob("*.py"))) > MOST_MODULES
    }
    assert not crowded
