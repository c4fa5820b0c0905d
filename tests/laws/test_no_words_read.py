"""Generic code knows no concrete formulation, decides by no text that it made itself, and reads nothing from ``details``.

A text that is a user's, a file's or another package's is taken apart under a comment ``# exempt (text): whose text``.
A formulation's class is asked for under ``# exempt (formulation): why``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sources import Exemptions, nodes_of, our_trees

from marginopt.models import formulations
from marginopt.models.model import Model

#: Text methods by which one decides.
PARSERS = {"startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix"}
#: Functions of ``re``.
PATTERNS = {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub"}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for file, tree in our_trees().items():
        if not file.startswith("instances/"):
            yield file, tree


def names(node: ast.AST) -> set[str]:
    """Every name and attribute in an expression."""
    values = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return values | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def taken_apart(tree: ast.Module) -> Iterator[ast.AST]:
    """Where a text is taken apart or searched; but for attributes of a module (``name.startswith("_")`` in ``__getattr__``)."""
    inside = {
        id(node) for f in nodes_of(tree) if isinstance(f, ast.FunctionDef) and f.name == "__getattr__" for node in ast.walk(f)
    }
    for node in nodes_of(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            by_pattern = ast.unparse(node.func.value) == "re" and node.func.attr in PATTERNS
            if by_pattern or node.func.attr in PARSERS:
                yield node
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Constant)
            and isinstance(node.left.value, str)
            and isinstance(node.ops[0], (ast.In, ast.NotIn))
            and names(node.comparators[0]) & {"lower", "str"}
        ):
            yield node


def kinds_asked(tree: ast.Module, concrete: set[str]) -> Iterator[ast.AST]:
    """isinstance, issubclass, a comparison of types or of class names, and a match over concrete formulations."""
    narrowed = {id(node) for check in nodes_of(tree) if isinstance(check, ast.Assert) for node in ast.walk(check)}
    for node in nodes_of(tree):
        if id(node) in narrowed:  # said to the type checker: nothing is decided
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            if names(node.args[1]) & concrete:
                yield node
        elif isinstance(node, ast.Compare):
            by_type = any(isinstance(n, ast.Call) and ast.unparse(n.func) == "type" for n in ast.walk(node))
            words = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            if (by_type and names(node) & concrete) or words & concrete:
                yield node
        elif isinstance(node, ast.MatchClass) and names(node.cls) & concrete:
            yield node
        elif isinstance(node, ast.Dict):  # a table by class or by the name of one
            keys = [key for key in node.keys if key is not None]
            words = {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
            if words & concrete or any(isinstance(key, ast.Name) and key.id in concrete for key in keys):
                yield node


def details_read(tree: ast.Module) -> Iterator[ast.AST]:
    """A key of ``details`` that is looked up, asked for, or taken out."""

    def is_details(node: ast.AST) -> bool:
        return isinstance(node, (ast.Attribute, ast.Name)) and ast.unparse(node).rpartition(".")[2] == "details"

    for node in nodes_of(tree):
        looked_up = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and is_details(node.value)
        taken = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("get", "pop", "setdefault")
            and is_details(node.func.value)
        )
        asked = isinstance(node, ast.Compare) and any(is_details(side) for side in node.comparators)
        if looked_up or taken or asked:
            yield node


def concrete() -> set[str]:
    """Class names of our formulations."""
    return {kind.__name__ for kind in models()}


def models() -> list[type[Model]]:
    """Our formulations' classes."""
    return [info.model for info in formulations().values()]


def places(scan: Callable[[ast.Module], Iterator[ast.AST]], exempt: Exemptions | None = None) -> list[str]:
    """The places in words, without the exempt ones."""
    return [
        f"{file}:{line}: {ast.unparse(node)[:100]}"
        for file, tree in sources()
        for node in scan(tree)
        for line in [getattr(node, "lineno", 0)]
        if exempt is None or (file, line) not in exempt
    ]


def test_no_text_is_taken_apart_to_decide_what_to_do() -> None:
    exempt = Exemptions("text")
    assert not places(taken_apart, exempt)
    assert exempt.lines and not exempt.idle


def test_generic_code_asks_for_no_concrete_formulation() -> None:
    known, exempt = concrete(), Exemptions("formulation")
    assert len(known) > 12
    violations = places(lambda tree: kinds_asked(tree, known), exempt)
    assert not [place for place in violations if not place.startswith("models/formulations/")]
    assert exempt.lines and not exempt.idle


def test_a_formulation_asks_for_no_other_one() -> None:
    """Its own class may be asked for (one of two solved problems, say); another formulation's file is another room."""
    known = concrete()
    home = {kind.__name__: kind.__module__.removeprefix("marginopt.").replace(".", "/") for kind in models()}
    for file, tree in sources():
        if file.startswith("models/formulations/"):
            for node in kinds_asked(tree, known):
                asked = names(node) & known
                assert all(Path(home[name]).parent == Path(file).parent for name in asked), f"{file}: {ast.unparse(node)}"


def test_no_details_key_is_read() -> None:
    assert not places(details_read)


@pytest.mark.parametrize(
    ("code", "scan"),
    [
        ("if kind.startswith('mis'): pass", taken_apart),
        ("if 'expired' in str(error).lower(): pass", taken_apart),
        ("found = re.search('n=([0-9]+)', name)", taken_apart),
        ("isinstance(m, (int, models.HingeSVM))", lambda tree: kinds_asked(tree, {"HingeSVM"})),
        ("type(m) is HingeSVM", lambda tree: kinds_asked(tree, {"HingeSVM"})),
        ("type(m).__name__ == 'HingeSVM'", lambda tree: kinds_asked(tree, {"HingeSVM"})),
        ("match m:\n    case HingeSVM(): pass", lambda tree: kinds_asked(tree, {"HingeSVM"})),
        ("t = {'HingeSVM': 1}", lambda tree: kinds_asked(tree, {"HingeSVM"})),
        ("raw.details['gap']", details_read),
        ("details.get('gap')", details_read),
        ("'gap' in raw.details", details_read),
    ],
)
def test_the_scan_finds_what_it_is_for(code: str, scan: Callable[[ast.Module], Iterator[ast.AST]]) -> None:
    assert len(list(scan(ast.parse(code)))) == 1


def test_the_scan_lets_pass_what_is_none_of_it() -> None:
    free = ast.parse("details['n'] = 1\nx = {**raw.details}\nif 'q' in parts: pass\nisinstance(m, Model)\nlabel == 'margin'")
    assert not [*taken_apart(free), *kinds_asked(free, {"HingeSVM"}), *details_read(free)]
