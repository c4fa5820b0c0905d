"""Public functions and classes have docstrings by numpydoc: every parameter and every returned value is documented."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

import marginopt as mo

pytest.importorskip("torch", reason="marginopt.deep needs PyTorch")
#: The package and its groups, whose ``__all__`` is public.
HOMES = (mo, *(import_module(f"marginopt.{group}") for group in (*mo._GROUPS, "deep")))


def public_objects() -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of every public function and class of ours, once."""
    names = {}
    for home in HOMES:
        for name in home.__all__:
            thing = getattr(home, name)
            if callable(thing) and not inspect.ismodule(thing) and thing.__module__.startswith("marginopt"):
                names.setdefault(id(thing), (f"{home.__name__}.{name}", thing))
    yield from names.values()


def public_methods() -> Iterator[tuple[str, Any]]:
    """Yield the name and the function of every public method of data and results, which users call most."""
    for owner in (mo.instances.Instance, mo.Result):
        for name, member in vars(owner).items():
            function = getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(function):
                yield f"{owner.__name__}.{name}", function


def section(doc: str, *titles: str) -> str:
    """Return the text of the sections with these titles; empty where there are none."""
    patterns = (rf"^{title}\n-{{3,}}\n(.*?)(?=^\w[\w ]*\n-{{3,}}\n|\Z)" for title in titles)
    return "".join("".join(re.findall(pattern, doc, re.MULTILINE | re.DOTALL)) for pattern in patterns)


def documented(thing: Any) -> set[str]:
    """Return the names in the sections Parameters and Attributes, of a class also in those of its bases."""
    docs = [vars(base).get("__doc__") for base in thing.__mro__] if isinstance(thing, type) else [thing.__doc__]
    lines = "\n".join(section(inspect.cleandoc(doc or ""), "Parameters", "Attributes") for doc in docs).splitlines()
    heads = [line.split(":")[0] for line in lines if line and not line.startswith(" ")]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def undocumented(thing: Any) -> list[str]:
    """Return the parameters of a function or class that no docstring names, and "returns" for a value that none describes."""
    if isinstance(thing, type) and (issubclass(thing, enum.Enum) or getattr(thing, "_is_protocol", False)):
        return []
    try:
        signature = inspect.signature(thing)
    except ValueError:  # a mapping, whose constructor is Python's
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [name for name, p in signature.parameters.items() if p.kind not in variadic and name not in ("self", "cls")]
    missing = [name for name in names if name not in documented(thing)]
    returns = not isinstance(thing, type) and signature.return_annotation not in (None, "None", inspect.Signature.empty)
    lacks_value = returns and not section(inspect.cleandoc(thing.__doc__ or ""), "Returns", "Yields")
    return missing + ["returns"] * lacks_value


def test_every_parameter_and_value_is_documented() -> None:
    things = dict(public_objects())
    assert len(things) > 250
    assert {name: missing for name, thing in things.items() if (missing := undocumented(thing))} == {}
    for name, method in public_methods():
        assert set(undocumented(method)) <= {"returns"}, name  # the first line of a method says what it returns


def raises(function: Any) -> bool:
    """Return whether the function itself raises an error of its own; the abstract ones and Python's attribute errors aside."""
    body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    kinds = (ast.unparse(node.exc) for node in ast.walk(body) if isinstance(node, ast.Raise) and node.exc is not None)
    return any(not kind.startswith(("NotImplementedError", "AttributeError")) for kind in kinds)


def public_functions() -> Iterator[tuple[str, Any, list[str]]]:
    """Yield public functions and methods of public classes: name, function, and its docstring with those that it overrides."""
    for name, thing in public_objects():
        if not isinstance(thing, type):
            yield name, thing, [thing.__doc__ or ""]
            continue
        bases = [base for base in thing.__mro__ if base.__module__.startswith("marginopt")]
        for k, owner in enumerate(bases):
            for member, value in vars(owner).items():
                function = getattr(value, "__func__", value)
                if inspect.isfunction(function) and not member.startswith("_"):
                    overridden = [getattr(vars(base).get(member), "__doc__", None) or "" for base in bases[k:]]
                    yield f"{owner.__name__}.{member}", function, overridden


def test_every_error_is_documented() -> None:
    functions = {name: (function, docs) for name, function, docs in public_functions()}
    assert len(functions) > 1000
    missing = {
        name
        for name, (function, docs) in functions.items()
        if raises(function) and not any(section(inspect.cleandoc(doc), "Raises") for doc in docs)
    }
    assert missing == set()


def _halves(number: float, /, *, parts: int = 2) -> float:
    """Halve a number.

    Parameters
    ----------
    number : float
    """
    return number / parts


def _silent(number: float) -> None:
    """Accept a number."""


@pytest.mark.parametrize(("function", "missing"), [(_halves, ["parts", "returns"]), (_silent, ["number"])])
def test_the_check_finds_what_is_missing(function: Callable[..., object], missing: list[str]) -> None:
    assert undocumented(function) == missing
