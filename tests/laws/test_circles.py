"""No file imports in a circle, at the top, inside a function or for types; but for those that the page on the design names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, imports_of, module_files


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that one imports, wherever the import stands."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for found in imports_of(path):
        module = found.absolute(package)
        for alias in found.names:  # a submodule, or a name of the module
            inner = ".".join(filter(None, [module, alias]))
            if inner in known or module in known:
                yield inner if inner in known else module


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(v: str) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(graph[v]):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            cut = stack.index(v)
            if len(stack) - cut > 1:
                found.append(sorted(stack[cut:]))
            del stack[cut:]

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return sorted(found)


def test_the_check_finds_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert circles({"a": {"b"}, "b": set()}) == []


def doors() -> set[tuple[str, str]]:
    """Return the imports that docs/explanation/design.md names, ``- `a` → `b`: reason``: methods that a later module does."""
    text = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    return {(f"marginopt.{a}", f"marginopt.{b}") for a, b in re.findall(r"^- `([\w.]+)` → `([\w.]+)`: \S", text, re.MULTILINE)}


def test_nobody_imports_in_a_circle_but_through_a_door() -> None:
    known = module_files()
    graph = {name: set(imports(name, path, known)) - {name} for name, path in known.items()}
    gone = [f"{a} → {b}" for a, b in doors() if b not in graph.get(a, ())]
    assert not gone, f"docs/explanation/design.md names imports that are not there: {gone}"
    found = circles({name: {other for other in others if (name, other) not in doors()} for name, others in graph.items()})
    assert len(known) > 300
    assert not found, "\n".join(" ".join(circle) for circle in found)
