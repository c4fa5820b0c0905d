"""Functions and their lists of arguments fit in the head, and a module binds a constant once (`test_circles`: its imports).

Others stand under a comment: ``# exempt (length): why`` (a compiled function is read as one; what it calls is passed array by
array and costs), ``# exempt (arguments): why`` (what users give by name to one call, and compiled functions).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

import pytest
from sources import Exemptions, our_trees, statements_of

#: Lines of a function without its docstring; and its arguments without self. What a class is made from is not counted: there
#: scikit-learn wants every parameter by its name.
MOST_OF_A_FUNCTION, MOST_ARGUMENTS = 60, 8


@cache
def functions() -> tuple[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef], ...]:
    """Every function, with its file."""
    return tuple(
        (file, node)
        for file, tree in our_trees().items()
        for node in statements_of(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "__init__"
    )


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines without the docstring."""
    expected = function.body[0] if ast.get_docstring(function) is not None else None
    return _span(function) - (0 if expected is None else _span(expected))


def _span(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Arguments without self or cls."""
    signature = function.args
    names = [a.arg for a in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


@pytest.mark.parametrize(
    ("law", "count", "most"), [("length", lines, MOST_OF_A_FUNCTION), ("arguments", arguments, MOST_ARGUMENTS)]
)
def test_functions_fit_in_the_head(law: str, count: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], int], most: int) -> None:
    exempt = Exemptions(law)
    long = [(file, node) for file, node in functions() if count(node) > most]
    assert not [f"{file}:{node.lineno}: {node.name}" for file, node in long if (file, node.lineno) not in exempt]
    assert len(functions()) > 1000 and exempt.lines and not exempt.idle


def test_the_counts_count() -> None:
    code = 'class A:\n  def f(self, a, /, b, *c, d, **e):\n    """Says."""\n    return (\n      a\n    )\n'
    tree = ast.parse(code)
    (result,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert arguments(result) == 3
    assert lines(result) == 4


def test_an_exemption_is_of_its_place_alone() -> None:
    text = "x = 1\n# exempt (text): a user's\ny = (\n    2,\n)\nz = 3  # exempt (text): not on a line of its own\n"
    folder = {"a/__init__.py": "# exempt (text): files\n", "a/b/c.py": "x = 1\n", "d.py": text}
    exempt = Exemptions("text", folder)
    assert [(file, line) in exempt for file, line in (("a/b/c.py", 1), ("d.py", 1), ("d.py", 4), ("d.py", 6))] == [
        True, False, True, False,
    ]  # fmt: skip
    assert not exempt.idle
    assert Exemptions("text", folder).idle == ["a/__init__.py:1", "d.py:2"]
    assert not Exemptions("length", folder).lines


def rebound(tree: ast.Module) -> list[tuple[int, str]]:
    """Names that the top level of a module binds a second time: the first constant is lost, and no linter says so."""
    seen, again = set(), []
    for node in tree.body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = [e for t in node.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        again += [(node.lineno, name) for name in names if name in seen]
        seen.update(names)
    return again


def test_a_module_binds_a_constant_once() -> None:
    assert not [f"{file}:{line}: {name}" for file, tree in our_trees().items() for line, name in rebound(tree)]
    assert rebound(ast.parse("A, B = 1, 2\nC: int\nC = 3\nB = 4\n")) == [(4, "B")]
