"""Extensions from outside: seen where ours are, refused clearly, and never in the way of the rest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from facts import about

import marginopt as mo
from marginopt import extensions, instances
from marginopt.errors import DataError, ExtensionError, InputError
from marginopt.instances.data_set import EXTENSIONS as DATA_SETS
from marginopt.models.views import SimplexQP
from marginopt.solvers import Solver, SolverInfo, all_solvers, get_solver
from marginopt.solvers.registry import EXTENSIONS as SOLVERS
from marginopt.solvers.simplex.smo import SMO


class Renamed(SMO):
    """Ours under another name: what is tested is how it is found."""

    info = SolverInfo("renamed-smo", "SMO by another name", views=(SimplexQP,), gives=SMO.info.gives)


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    """Leave no trace in the process."""
    before = [dict(registry.session) for registry in extensions.PluginRegistry.registries]
    yield
    for registry, session in zip(extensions.PluginRegistry.registries, before, strict=True):
        registry.session.clear()
        registry.session.update(session)
        registry.refresh()


@pytest.fixture
def model() -> mo.Model:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 2))
    return mo.L2SVMDual(X, np.where(rng.random(20) < 0.5, -1.0, 1.0), C=3.0, kernel=mo.RBF(0.4))


def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, points: str, module: str) -> None:
    """A package as pip leaves it: a module and its metadata, on the path."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    (folder / f"{name}.py").write_text(module)
    monkeypatch.syspath_prepend(folder)
    for registry in extensions.PluginRegistry.registries:
        registry.refresh()


def test_a_registered_solver_is_one_of_ours(model: mo.Model) -> None:
    mo.register(Renamed())
    assert "renamed-smo" in {row["name"] for row in mo.solvers().rows}
    result = mo.solve(model, "renamed-smo", tol=1e-8)
    assert result.solved and result.solver == "renamed-smo"
    table = mo.compare(model, ["renamed-smo", "clarabel"], tol=1e-6)
    assert table["renamed-smo"].objective == pytest.approx(table["clarabel"].objective, rel=1e-6)
    assert all(r.solved for r in mo.path(model, "C", [1.0, 2.0], solver="renamed-smo").results)
    with pytest.raises(InputError, check=about("renamed-smoo")):
        get_solver("renamed-smoo")


@pytest.mark.parametrize(
    ("thing", "name"),
    [(Renamed, "solver"), (SMO(), "name"), (3, "extension"), (dict, "extension")],
)
def test_what_is_none_of_ours_is_refused(thing: object, name: str) -> None:
    with pytest.raises(InputError, check=about(name)):
        mo.register(thing)


def test_a_name_is_taken_once_a_session() -> None:
    first = Renamed()
    mo.register(first)
    mo.register(first)  # the cell of a notebook that is run again
    second = Renamed()
    with pytest.raises(InputError, check=about("replace")):
        mo.register(second)
    mo.register(second, replace=True)
    assert get_solver("renamed-smo") is second
    SOLVERS.remove("renamed-smo")
    with pytest.raises(InputError, check=about("renamed-smo")):
        get_solver("renamed-smo")
    with pytest.raises(InputError, check=about("renamed-smo")):
        SOLVERS.remove("renamed-smo")


def test_names_are_small_letters() -> None:
    with pytest.raises(InputError, check=about("name")):
        mo.register(instances.DataSet("Mine", 2, 1, 2, "here", lambda: mo.instances.Instance([[0.0], [1.0]], [-1, 1])))


def test_a_registered_data_set_is_loaded_by_name() -> None:
    X = np.arange(6.0)[:, None]
    data = instances.DataSet(
        "three-steps", 6, 1, 3, "here", lambda: mo.instances.Instance(X, [0, 0, 1, 1, 2, 2]), note="a test's"
    )
    mo.register(data)
    assert mo.load("three-steps").name == "three-steps"
    assert mo.load("three-steps-0-2").n == 4
    assert mo.instances.catalogue()[-1].note == "a test's"
    with pytest.raises(InputError, check=about("part")):
        mo.load("three-steps", part="train")
    with pytest.raises(DataError, check=about("three-step")):
        mo.load("three-step")
    mo.register(instances.DataSet("short", 7, 1, 3, "here", data.read))
    with pytest.raises(DataError, check=about("short")):
        mo.load("short")
    with pytest.raises(InputError, check=about("data_set")):
        mo.register(mo.load("three-steps"))


@pytest.mark.parametrize(("field", "value"), [("n", 0), ("p", 1.5), ("classes", True), ("read", 3)])
def test_a_data_set_is_checked(field: str, value: object) -> None:
    arguments = {"name": "x", "n": 5, "p": 2, "classes": 2, "source": "", "read": lambda: None} | {field: value}
    with pytest.raises(InputError, check=about(field)):
        instances.DataSet(**arguments)  # type: ignore[arg-type]


GOOD = """
from marginopt.solvers import SolverInfo
from marginopt.solvers.simplex.smo import SMO
class Mine(SMO):
    info = SolverInfo("mine", "SMO", views=SMO.info.views, gives=SMO.info.gives)
MINE = Mine()
"""


def test_a_package_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: mo.Model) -> None:
    installed(tmp_path, monkeypatch, "mine_package", "[marginopt.solvers]\nmine = mine_package:MINE\n", GOOD)
    assert SOLVERS.names == ["mine"] and "mine_package" not in sys.modules  # known, and not imported
    assert mo.solve(model, "mine", tol=1e-6).solved
    with pytest.raises(InputError, check=about("name")):
        mo.register(Renamed.__new__(type("Other", (Renamed,), {"info": SolverInfo("mine", "another")})))


@pytest.mark.parametrize(
    ("points", "module", "cause"),
    [
        ("broken = bad_package:THING", "import no_such_module\n", ModuleNotFoundError),
        ("broken = bad_package:THING", "raise RuntimeError('out of order')\n", RuntimeError),
        ("broken = bad_package:MISSING", "", AttributeError),
        ("broken = bad_package:THING", "THING = 3\n", type(None)),
        ("broken = bad_package:Mine", GOOD, InputError),
        ("broken = bad_package:MINE", GOOD, type(None)),
        ("clarabel = bad_package:MINE", GOOD, type(None)),
    ],
)
def test_a_package_that_fails_is_named_and_leaves_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: str, module: str, cause: type
) -> None:
    installed(tmp_path, monkeypatch, "bad_package", f"[marginopt.solvers]\n{points}\n", module)
    monkeypatch.delitem(sys.modules, "bad_package", raising=False)
    name = points.split()[0]
    assert "smo" in all_solvers()
    row = next(row for row in mo.solvers().rows if row["version"] == "not usable")
    assert row["name"] == name and "bad_package 1.0" in row["summary"]
    if name != "clarabel":
        with pytest.raises(ExtensionError) as caught:
            get_solver(name)
        assert (caught.value.name, caught.value.packages, str(caught.value)) == (name, ("bad_package 1.0",), row["summary"])
        assert type(caught.value.__cause__) is cause
    assert get_solver("clarabel").info.package == "clarabel"
    monkeypatch.delitem(sys.modules, "bad_package", raising=False)


def test_two_packages_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = "[marginopt.solvers]\nmine = {}:MINE\n"
    for package in ("first_package", "second_package"):
        installed(tmp_path / package, monkeypatch, package, points.format(package), GOOD)
    with pytest.raises(ExtensionError) as caught:
        get_solver("mine")
    assert caught.value.packages == ("first_package 1.0", "second_package 1.0")


def test_a_data_set_that_fails_stands_in_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, "no_data", "[marginopt.instances]\nnothing = no_data:SET\n", "SET = None\n")
    entry = mo.instances.catalogue()[-1]
    assert (entry.name, entry.available) == ("nothing", False) and "no_data 1.0" in entry.note
    assert not next(e for e in mo.instances.catalogue() if e.name == "nothing").available
    assert DATA_SETS.failures().keys() == {"nothing"}
    with pytest.raises(ExtensionError) as caught:
        mo.load("nothing")
    assert (caught.value.name, caught.value.packages) == ("nothing", ("no_data 1.0",))


def test_nothing_is_looked_up_at_import() -> None:
    """Neither `import marginopt` nor a solve by one of our names reads the packages' entry points."""
    code = """
from importlib import metadata
def never(**group):
    raise AssertionError(group)
metadata.entry_points = never
import marginopt as mo
result = mo.solve(mo.HingeSVM([[1.0, 0.0], [1.0, 1.0]], [-1, 1]), "clarabel")
assert result.solved
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_every_solver_is_a_solver() -> None:
    assert all(isinstance(solver, Solver) for solver in all_solvers().values())
