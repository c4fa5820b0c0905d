"""The template package, built, put on the path and used: what it adds is seen wherever ours is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from effort import part
from scripts import COMMANDS

TEMPLATE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip would install it; its wheel is built from a copy, without a network."""
    work = tmp_path_factory.mktemp("plugin")
    shutil.copytree(TEMPLATE, work / "source", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(work), str(work / "source")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (wheel,) = work.glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        held.extractall(work / "site")
    return work / "site"


def run(site: Path, *arguments: str) -> str:
    """Return what a fresh interpreter prints that has the package on its path."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "PYTHONPATH": str(site)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def told(site: Path, module: str, commands: list[list[str]]) -> list[str]:
    """Return the output of each command; all of them run in one interpreter that has the package on its path."""
    return list(json.loads(run(site, "-c", COMMANDS, module, json.dumps(commands))))


SESSION = """
import pathlib, sys, tempfile
import marginopt as mo
from marginopt.models import formulations
from marginopt.relaxations import relaxations
assert "marginopt_huber" not in sys.modules  # nothing is imported before it is asked for
data = mo.load("two-moons").prepared()
assert "marginopt_huber.data" in sys.modules and "marginopt_huber.solver" in sys.modules  # the package imports its modules
assert "two-moons" in {entry.name for entry in mo.instances.catalogue()}
assert "box-fista" in {row["name"] for row in mo.solvers().rows}
assert "huber" in formulations() and "SVM with the Huber loss" in str(formulations())
assert "huber-bound" in relaxations()
model = formulations()["huber"].make_model({"X": data.X, "y": data.y}, {"lam": 2.0})
assert "s_i^2" in str(model) and "aligned" in model.latex() and "margin" in str(model.form)
with tempfile.TemporaryDirectory() as folder:
    for suffix in (".mps", ".lp", ".nl", ".qplib", ".mof.json"):
        assert mo.read(model.write(pathlib.Path(folder) / f"huber{suffix}")).diff(model.form).empty
assert abs(model.to_cvxpy().solve(solver="CLARABEL") - mo.solve(model, "clarabel").objective) < 1e-6
table = mo.compare(model, ["box-fista", "clarabel", "boxqp"], tol=1e-6)
values = [table[name].objective for name in ("box-fista", "clarabel", "boxqp")]
assert max(values) - min(values) < 1e-5 * values[0], values
assert mo.solve(model).solved
path = mo.path(model, "delta", [2.0, 1.0, 0.5], solver="box-fista")
assert all(r.solved for r in path) and path.objectives[0] < path.objectives[-1]
small = data.subsample(20, seed=0)
report = mo.gap_report([small], [relaxations()["huber-bound"].reduction], exact=None, progress=False, solver="box-fista")
(cell,) = report.relaxations
assert cell.solver == "box-fista" and cell.kind == "proved" and not cell.reason, cell
print("seen")
"""


def test_a_session_sees_everything(site: Path) -> None:
    assert run(site, "-c", SESSION).strip() == "seen"


def test_the_prompt_sees_everything(site: Path, tmp_path: Path) -> None:
    bounds = ["--relaxations", "huber-bound,hinge-incumbent", "--exact", "none"]
    report = ["report", "two-moons", "--n", "16", "--quiet", "--out"]
    commands = [
        ["formulations"],
        ["solve", "huber", "two-moons", "--delta", "0.5", "--solver", "box-fista", "--quiet"],
        ["inspect", "huber", "two-moons"],
        ["report", "--help"],
        [*report, str(tmp_path / "bounds"), *bounds],
        [*report, str(tmp_path / "problems"), "--formulations", "huber", "--exact", "box-fista"],
    ]
    listed, solved, inspected, shown, *_ = told(site, "marginopt.cli.main", commands)
    assert "huber" in listed
    assert "optimal" in solved and "box-fista" in solved
    assert "1 - s_i - r_i" in inspected
    assert "huber-bound" in shown
    assert "Huber, delta = 1" in (tmp_path / "bounds" / "report.md").read_text(encoding="utf-8")
    assert "two-moons, huber" in (tmp_path / "problems" / "report.md").read_text(encoding="utf-8")


def test_it_stands_in_the_matrix(site: Path) -> None:
    """The tests of the laws, run beside the package, have its rows and columns, and these pass."""
    tests = Path(__file__).parents[1] / "laws" / "test_matrix.py"
    asked = "huber or test_solver[box-fista]"
    out = run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests), "-k", asked, "-vv")
    for row in ("test_solver[box-fista]", "test_formulation[huber]", "test_relaxation[huber-bound]"):
        assert f"{row} PASSED" in out


def test_it_obeys_the_laws(site: Path) -> None:
    """The conformance suite, as its author would run it."""
    commands = [
        ["huber", "--on", ",".join(part(["box-fista", "boxqp", "clarabel", "scs", "highs"], 2))],
        ["box-fista", "--on", ",".join(part(["huber", "box", "hinge-quadratic", "nonparallel"], 2))],
        ["huber-bound"],
    ]
    for out in told(site, "marginopt.conformance.__main__", commands):
        assert "0 does not hold" in out
        assert "holds" in out
