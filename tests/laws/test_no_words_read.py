"""Generic code knows no concrete formulation, decides by no text that it made itself, and reads nothing from ``details``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sources import ROOT, module_files, reproduction_files

from marginopt.models import formulations
from marginopt.models.model import Model

#: Rooms whose trade is text: files, other people's objects and programs, printed tables, the command line.
READERS = (
    "models/export/", "models/importing/", "src/marginopt/cli/", "src/marginopt/files.py", "reproduction/",
    "src/marginopt/reading.py", "src/marginopt/svg.py", "src/marginopt/drawing.py", "src/marginopt/unpickling.py",
    "solvers/result_file.py",
)  # fmt: skip

#: Where a text is taken apart, and whose text it is.
TEXTS = {
    "src/marginopt/proof_page/writing.py": "the first line of a proof log, a file format",
    "src/marginopt/conformance/formulation_laws.py": "LaTeX, which a law looks into",
    "src/marginopt/deep/estimator.py": "a user's 'name:part' of a data set",
    "src/marginopt/display.py": "signs in names that a screen obeys and does not show",
    "models/changes/changed_model.py": "labels of a user's form, names that have the change's words",
    "models/changes/expressions.py": "printed rows of CVXPY",
    "src/marginopt/labelled.py": "the module of an object, which may be pandas's or polars's",
    "models/formulations/margin/model.py": "the module of an object that is no part, which may be CVXPY's",
    "models/formulations/max_min.py": "a user's 'log-gamma'",
    "models/kernels/families.py": "a user's 'first.gamma'; formulas of the parts inside the mixture's, as they are shown",
    "models/inspection/explanation.py": "a title in a message",
    "models/arrays.py": "Linux's table of what a process holds",
    "models/statement.py": "numbers in a statement, as LaTeX shows them",
    "relaxations/report/formats/csv.py": "a cell that a spreadsheet would run",
    "relaxations/report/run.py": "a user's '100x zero'",
    "relaxations/report/cells/heuristic.py": "a cell stored before instances had families has them in its name alone",
    "relaxations/report/cells/relaxation.py": "a cell stored before its field has its relaxation's name and nothing else",
    "solvers/backends/clarabel.py": "attributes of Clarabel's settings",
    "solvers/backends/gurobi.py": "attributes of gurobipy's modules, and its message of an expired licence",
    "solvers/backends/highs.py": "attributes of HiGHS's options",
    "solvers/backends/mosek.py": "MOSEK's words for a status and for an expired licence",
    "solvers/backends/osqp.py": "attributes of OSQP's settings",
    "solvers/backends/piqp.py": "attributes of PIQP's settings",
    "solvers/backends/qpsolvers.py": "requirements in the metadata of qpsolvers, and the message of a native solver",
    "solvers/interface/solver.py": "an option that a user misspelt; a path to a class, as entry points write it",
    "solvers/records/answer.py": "an update in a file of results",
}
#: Where a formulation's class is asked for outside the formulations.
KINDS = {
    "relaxations/bounds/lagrangian.py": "its target is the 0-1 loss at a price, or a form with prices: one of its own two",
    "relaxations/composed/reductions.py": "these relaxations read a problem from parts, and say so of any other",
    "src/marginopt/estimators/hulls.py": "an estimator states one formulation; what it draws is that one's",
    "src/marginopt/estimators/exact.py": "an estimator states one formulation; its exact answers are of the one with λ",
    "src/marginopt/questions/good_classifiers.py": "these questions read a problem from parts",
    "src/marginopt/questions/lam_selection.py": "the whole path over λ is of this formulation alone",
    "src/marginopt/questions/stability.py": "the counterfactual optimum is of this formulation alone",
    "solvers/whole_path.py": "the whole path over λ is of this formulation alone",
    "solvers/zero_one/algorithm.py": "only its own formulation has an incumbent to hold",
    "solvers/zero_one/check/checker.py": "a proof log is about this formulation alone",
}
#: Text methods by which one decides.
PARSERS = {"startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix"}
#: Functions of ``re``.
PATTERNS = {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub"}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for name, path in (module_files() | reproduction_files()).items():
        if not name.startswith("marginopt.instances"):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def names(node: ast.AST) -> set[str]:
    """Every name and attribute in an expression."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def taken_apart(tree: ast.Module) -> Iterator[ast.AST]:
    """Where a text is taken apart or searched; but for attributes of a module (``name.startswith("_")`` in ``__getattr__``)."""
    inside = {
        id(node) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.name == "__getattr__" for node in ast.walk(f)
    }
    for node in ast.walk(tree):
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
    narrowed = {id(node) for check in ast.walk(tree) if isinstance(check, ast.Assert) for node in ast.walk(check)}
    for node in ast.walk(tree):
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

    for node in ast.walk(tree):
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


def where(found: Callable[[ast.Module], Iterator[ast.AST]]) -> dict[str, list[str]]:
    """The places by file, in words."""
    return {
        file: lines
        for file, tree in sources()
        if (lines := [f"{file}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)[:100]}" for node in found(tree)])
    }


def test_no_text_is_taken_apart_to_decide_what_to_do() -> None:
    found = {file: lines for file, lines in where(taken_apart).items() if not file.startswith(READERS)}
    more = {file: lines for file, lines in found.items() if file not in TEXTS}
    assert not more, more
    assert set(TEXTS) <= set(found), f"TEXTS names what is gone: {set(TEXTS) - set(found)}"


def test_generic_code_asks_for_no_concrete_formulation() -> None:
    known = concrete()
    assert len(known) > 12
    found = where(lambda tree: kinds_asked(tree, known))
    others = {file: lines for file, lines in found.items() if not file.startswith("models/formulations/") and file not in KINDS}
    assert not others, others
    assert set(KINDS) <= set(found), f"KINDS names what is gone: {set(KINDS) - set(found)}"


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
    assert not where(details_read)


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
