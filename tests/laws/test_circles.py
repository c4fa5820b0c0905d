"""No file imports in a circle, at the top, inside a function or for types; but for methods that a later module implements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sources import imports_of, module_files

#: Methods whose work a later module does, because users look for them on the object.
DOORS = frozenset(
    {
        # with_constraint, with_variables, with_fixed and relaxed return another model, of a formulation or of a form
        ("marginopt.models.export_methods", "marginopt.models.changed_model"),
        ("marginopt.models.export_methods", "marginopt.models.model"),
        # a form is written, handed to other packages and dualised by its own methods
        ("marginopt.models.program.form", "marginopt.models.export_methods"),
        # a form prints itself, and has latex(); the types of the arguments lead back
        ("marginopt.models.program.form", "marginopt.models.program.form_text"),
        # form.inspect() and form.spy(); the types of the arguments lead back
        ("marginopt.models.program.form", "marginopt.models.program.inspection"),
        # the κ form has an algorithm of its own over the same solver
        ("marginopt.solvers.zero_one.algorithm", "marginopt.solvers.zero_one.budget"),
    }
)


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that one imports, wherever the import stands."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for statement in imports_of(path):
        module = statement.absolute(package)
        for alias in statement.names:  # a submodule, or a name of the module
            inner = ".".join(filter(None, [module, alias]))
            if inner in known or module in known:
                yield inner if inner in known else module


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    rows: list[list[str]] = []

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
                rows.append(sorted(stack[cut:]))
            del stack[cut:]

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return sorted(rows)


def test_the_check_finds_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert circles({"a": {"b"}, "b": set()}) == []


def test_nobody_imports_in_a_circle_but_through_a_door() -> None:
    known = module_files()
    graph = {name: set(imports(name, path, known)) - {name} for name, path in known.items()}
    gone = [f"{a} → {b}" for a, b in DOORS if b not in graph.get(a, ())]
    assert not gone, f"imports that are not there: {gone}"
    remaining = circles({name: {other for other in others if (name, other) not in DOORS} for name, others in graph.items()})
    assert len(known) > 300
    assert not remaining, "\n".join(" ".join(circle) for circle in remaining)
