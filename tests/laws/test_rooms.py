"""Functions and their lists of arguments fit in the head (`test_circles` sees to imports between modules)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from sources import ROOT, module_files, reproduction_files

#: Lines of a function without its docstring; and its arguments without self. What a class is made from is not counted: there
#: scikit-learn wants every parameter by its name.
MOST_OF_A_FUNCTION, MOST_ARGUMENTS = 60, 8

#: Longer functions. A compiled one is read as one; what it calls is passed array by array and costs.
LONG_FUNCTIONS = {
    "solvers/zero_one/loops/boxes/exploration.py": {"explore"},
    "solvers/exact/loops/newton.py": {"newton"},
    "solvers/zero_one/loops/conflicts/active_set.py": {"active_set"},
    "solvers/zero_one/loops/conflicts/search.py": {"expand"},
    "solvers/zero_one/loops/conflicts/proving.py": {"prove"},
}
#: More arguments: what users give by name to one call, and compiled functions.
MANY_ARGUMENTS = {
    "reproduction/reproduce.py": {"reproduce"},
    "src/marginopt/selection/api.py": {"select"},
    "relaxations/report/run.py": {"gap_report", "of"},
    "solvers/zero_one/loops/boxes/bound_tightening.py": {"beyond_levels", "tighten"},
    "solvers/zero_one/loops/conflicts/proving.py": {"prove"},
}


def sources() -> Iterator[tuple[str, str]]:
    """Every module of ours with its text."""
    for path in (module_files() | reproduction_files()).values():
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


@cache
def functions() -> tuple[tuple[str, str, int, int], ...]:
    """File, name, lines and arguments of every function."""
    return tuple(
        (file, node.name, lines(node), arguments(node))
        for file, text in sources()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "__init__"
    )


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines without the docstring."""
    told = function.body[0] if ast.get_docstring(function) is not None else None
    return _span(function) - (0 if told is None else _span(told))


def _span(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Arguments without self or cls."""
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def by_file(found: Iterator[tuple[str, str]]) -> dict[str, set[str]]:
    files: dict[str, set[str]] = {}
    for file, name in found:
        files.setdefault(file, set()).add(name)
    return files


def test_functions_fit_in_the_head() -> None:
    assert by_file((file, name) for file, name, long, _ in functions() if long > MOST_OF_A_FUNCTION) == LONG_FUNCTIONS


def test_nobody_takes_more_arguments_than_one_can_name() -> None:
    assert by_file((file, name) for file, name, _, many in functions() if many > MOST_ARGUMENTS) == MANY_ARGUMENTS


def test_the_counts_count() -> None:
    code = 'class A:\n  def f(self, a, /, b, *c, d, **e):\n    """Says."""\n    return (\n      a\n    )\n'
    tree = ast.parse(code)
    (found,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert arguments(found) == 3
    assert lines(found) == 4
