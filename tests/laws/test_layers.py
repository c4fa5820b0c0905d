"""Imports point one way: models ← solvers ← relaxations ← marginopt; instances needs none; the leaves are LEAVES."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from sources import PARTS, ROOT, imports_of, module_files, nodes_of, our_trees

from marginopt.late_method import LateMethod

FOLDERS = ("models", "solvers", "relaxations", "instances")
#: Modules of marginopt/ that every folder may import: errors, how others add to the folders, files, where compiled code is kept,
#: rows, pictures, a run's progress.
LEAVES = (
    "errors", "extensions", "files", "code_cache", "rows", "drawing", "display", "status_line", "late_method", "data_names",
)  # fmt: skip
#: Which parts of marginopt each part may import; "face" is marginopt/ itself without its leaves.
ALLOWED = {
    "errors": set(),
    "extensions": {"errors"},
    "files": {"errors"},
    "code_cache": set(),
    "rows": {"rows", "errors", "code_cache"},
    "data_names": {"errors"},
    "display": {"errors"},
    "status_line": {"display"},
    "late_method": set(),
    "drawing": {"errors", "files"},
    "models": {"models", *LEAVES},
    "instances": {"instances", *LEAVES},
    "solvers": {"solvers", "models", *LEAVES},
    # reports run over instances, which need nothing of ours: no cycle can come of it
    "relaxations": {"relaxations", "solvers", "models", "instances", *LEAVES},
    "face": {"face", "relaxations", "solvers", "models", "instances", *LEAVES},
}


def sources() -> list[tuple[str, Path, str]]:
    """(part, file, dotted name) of every installed module."""
    rows = []
    for name, path in module_files().items():
        first = (*name.split("."), "")[1]
        part = first if first in (*FOLDERS, *LEAVES) else "face"
        rows.append((part, path, name))
    return rows


def imports(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of everything that a module imports, inside functions as well."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for statement in imports_of(path):
        module = statement.absolute(package)
        # `from marginopt import models` names a part, `from marginopt.models import X` is in one already
        inside = statement.base is None or module == "marginopt"
        yield from ((statement.line, ".".join(filter(None, [module, alias])) if inside else module) for alias in statement.names)


def part_of(module: str) -> str | None:
    """The part that a module belongs to; None for packages that are not ours."""
    pieces = module.split(".")
    if pieces[0] != "marginopt":
        return None
    second = pieces[1] if len(pieces) > 1 else ""
    return second if second in (*FOLDERS, *LEAVES) else "face"


def test_the_check_finds_every_way_of_importing(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "import numpy\nfrom ..solvers.interface.solver import X\nfrom .. import relaxations\nfrom .form import F\n"
        "import marginopt.instances.readers\nfrom marginopt import solve\n"
        "def f():\n    from marginopt import instances\n    from ..errors import E\n"
    )
    parts = [part_of(module) for _, module in imports(file, "marginopt.models.module")]
    assert sorted(map(str, parts)) == sorted(
        ["None", "solvers", "relaxations", "models", "instances", "face", "instances", "errors"]
    )


@pytest.mark.parametrize("part", list(ALLOWED))
def test_imports_point_one_way(part: str) -> None:
    checked = 0
    wrong = []
    for owner, path, name in sources():
        if owner != part:
            continue
        checked += 1
        wrong += [
            f"{path.relative_to(ROOT)}:{line} imports {module}"
            for line, module in imports(path, name)
            if (target := part_of(module)) is not None and target not in ALLOWED[part]
        ]
    assert checked
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("solver", ["zero_one", "margin", "scoring", "exact"])
def test_the_proof_checker_shares_nothing_with_the_solver(solver: str) -> None:
    """check/ reads the user's model and a log; of the solver it imports nothing, so that no error of one hides in the other."""
    home = f"marginopt.solvers.{solver}.check"
    allowed = (f"{home}.", "marginopt.solvers.exact.check.", "marginopt.models.", "marginopt.errors", "marginopt.files")
    checked = [(path, name) for _, path, name in sources() if name == home or name.startswith(f"{home}.")]
    assert checked
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path, name in checked
        for line, module in imports(path, name)
        if module.startswith("marginopt.") and not module.startswith(allowed)
    ]
    assert not wrong, "\n".join(wrong)


def test_nobody_imports_a_folder_by_its_bare_name() -> None:
    """``import models`` works by accident in the repository's root and nowhere else."""
    wrong = []
    others = [p for folder in ("tests", "benchmarks", "docs") for p in sorted((ROOT / folder).rglob("*.py"))]
    bare = re.compile(rf"^\s*(?:from|import)\s+(?:[\w\s.,]*,\s*)?(?:{'|'.join(FOLDERS)})\b", flags=re.MULTILINE)
    for path, name in [(path, name) for _, path, name in sources()] + [(p, p.stem) for p in others]:
        if not bare.search(path.read_text(encoding="utf-8")):  # parsing all of them takes seconds
            continue
        wrong += [f"{path.relative_to(ROOT)}:{line}" for line, module in imports(path, name) if module.split(".")[0] in FOLDERS]
    assert not wrong, wrong


def test_folders_use_relative_imports_inside_and_tests_absolute_ones() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for owner, path, name in sources()
        if owner in FOLDERS
        for line, module in _absolute(path)
        if module.split(".")[0] == "marginopt"
    ]
    assert not wrong, wrong


def _absolute(path: Path) -> Iterator[tuple[int, str]]:
    for statement in imports_of(path):
        if statement.base is None:
            yield from ((statement.line, alias) for alias in statement.names)
        elif statement.level == 0:
            yield statement.line, statement.base


def test_library_code_does_not_print() -> None:
    """Only the command line and the progress line write to the terminal."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for owner, path, _ in sources()
        if owner in (*FOLDERS, "errors")
        for node in nodes_of(our_trees()[path.relative_to(ROOT).as_posix()])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not wrong, wrong


def rooms_that(part: str) -> dict[str, set[str]]:
    """Which rooms of a part (its folders, and its own files) import which, at the top of their files."""
    names = {name: path for name, path in module_files().items() if path.is_relative_to(PARTS[part])}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        here = _room(path, part)
        graph.setdefault(here, set())
        package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        for statement in imports_of(path):
            if statement.top and statement.level:
                base = statement.absolute(package)
                for module in {base, *(f"{base}.{alias}" for alias in statement.names)} & names.keys():
                    graph[here].add(_room(names[module], part))
    return {room: {other for other in others if other != room} for room, others in graph.items()}


def _room(path: Path, part: str) -> str:
    """The folder of a part that a file is in; a file of the part itself is a room of its own."""
    return f"{PARTS[part].name}/{path.relative_to(PARTS[part]).parts[0]}"


@pytest.mark.parametrize("part", PARTS)
def test_rooms_have_an_order(part: str) -> None:
    """Room after room is taken away that imports none of those that are left: with a circle among them some stay."""
    graph = {room: set(others) for room, others in rooms_that(part).items() if not room.endswith("__init__.py")}
    assert len(graph) > 3
    while True:
        free = {room for room, others in graph.items() if not others & graph.keys()}
        if not free:
            break
        graph = {room: others for room, others in graph.items() if room not in free}
    assert not graph, {room: sorted(others & graph.keys()) for room, others in graph.items()}


def test_every_verb_has_a_home_that_does_it() -> None:
    """A method that a folder offers and another implements (`marginopt.late_method`): the package names where, and there the
    function is given."""
    texts = [path.read_text(encoding="utf-8") for _, path, _ in sources()]
    stated = {
        name for text in texts for name in re.findall(r'^[A-Z_]+: LateMethod\[.*\] = LateMethod\("(\w+)"\)', text, re.MULTILINE)
    }
    assert stated == set(LateMethod.modules)
    code = "import sys, marginopt.models.program.form; print([m for m in sys.modules if m.startswith('marginopt.solvers')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60).stdout.strip() == b"[]"
    for home in LateMethod.modules.values():
        text = Path(import_module(home).__file__ or "").read_text(encoding="utf-8")
        assert re.search(r"^[A-Z_]+\.implemented_by\(\w+\)$", text, re.MULTILINE)


def test_a_verb_that_its_home_does_not_do_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LateMethod.modules, "nothing", "marginopt.late_method")
    verb: LateMethod[[], None] = LateMethod("nothing")
    with pytest.raises(RuntimeError):
        verb()
