"""Messages of our errors and warnings show a user's value by `short_text`, in one line, whatever its size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
import pytest
from sources import nodes_of, our_trees

from marginopt.errors import short_text

#: What Python calls with a name: the names of modules and attributes are short.
BUILTIN = {
    "AttributeError",
    "KeyError",
    "TypeError",
    "ValueError",
    "ImportError",
    "AssertionError",
    "RuntimeError",
    "LookupError",
}


def messages(tree: ast.Module) -> Iterator[ast.AST]:
    """Arguments of calls of errors and warnings, and the values of the variables in them within the same function."""
    for scope in (tree, *(node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef))):
        arguments = [
            argument for node in ast.walk(scope) if isinstance(node, ast.Call) and ours(node.func) for argument in node.args
        ]
        yield from arguments
        if isinstance(scope, ast.FunctionDef):
            names = {n.id for argument in arguments for n in ast.walk(argument) if isinstance(n, ast.Name)}
            for node in ast.walk(scope):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in names:
                    yield node.value


def ours(function: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    return name.endswith(("Error", "Warning")) and name not in BUILTIN


def long_values(tree: ast.Module) -> Iterator[ast.AST]:
    """Values in messages by their full representation: ``{value!r}``, ``{array.tolist()}``."""
    for message in messages(tree):
        for node in ast.walk(message):
            if isinstance(node, ast.FormattedValue):
                call = node.value.func if isinstance(node.value, ast.Call) else None
                if node.conversion == ord("r") or (isinstance(call, ast.Attribute) and call.attr == "tolist"):
                    yield node


def test_messages_show_values_in_short() -> None:
    assert [f"{file}:{node.lineno}" for file, tree in our_trees().items() for node in long_values(tree)] == []


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((99, 99)),
        list(range(9999)),
        {k: k for k in range(999)},
        "x" * 9999,
        np.random.default_rng(1),
        10**99,
        [np.eye(9)] * 9,
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_value_is_short_in_one_line(value: object) -> None:
    text = short_text(value)
    assert len(text) <= 300
    assert "\n" not in text


@pytest.mark.parametrize("value", ["yes", "it's", 3, [1, 2], None, {"a": 1.5}, "/a/path/" * 20])
def test_a_short_value_is_shown_whole(value: object) -> None:
    assert short_text(value) == repr(value)
