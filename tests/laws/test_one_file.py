"""A new formulation is one file, and so is a new relaxation: put into a copy of the package, they are seen everywhere.

The files are those of the template package, with the line that a file inside has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from effort import at_full_effort
from scripts import COMMANDS

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples" / "plugin" / "marginopt_huber"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed, with one file more in two folders."""
    home = tmp_path_factory.mktemp("site") / "marginopt"
    skip = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")  # what another process is writing; what is compiled comes along
    shutil.copytree(ROOT / "src" / "marginopt", home, ignore=skip)
    for folder in ("models", "solvers", "relaxations", "instances"):
        shutil.copytree(ROOT / folder, home / folder, ignore=skip)
    formulation = (TEMPLATE / "formulation.py").read_text(encoding="utf-8")
    (home / "models" / "formulations" / "huber.py").write_text(formulation + "\nFORMULATIONS = (HUBER,)\n", encoding="utf-8")
    relaxation = (TEMPLATE / "relaxation.py").read_text(encoding="utf-8")
    inside = relaxation.replace("from .formulation import", "from marginopt.models.formulations.huber import")
    (home / "relaxations" / "bounds" / "huber.py").write_text(inside + "\nRELAXATIONS = (HUBER_BOUND,)\n", encoding="utf-8")
    return home.parent


def run(site: Path, *arguments: str) -> str:
    """Return what a fresh interpreter prints that has the copy first on its path."""
    done = subprocess.run(
        [sys.executable, "-P", *arguments],  # not the folder that it runs in
        capture_output=True, text=True, check=False, timeout=300, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(site)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


SESSION = """
import pathlib, sys, tempfile
import numpy as np
import marginopt as mo
assert mo.__file__.startswith(sys.argv[1]), mo.__file__
X = np.column_stack([np.ones(6), [0.0, 1.0, 2.0, 1.5, 3.0, 4.0]])
model = mo.HuberSVM(X, [-1, -1, -1, 1, 1, 1], lam=2.0)
assert "HuberSVM" in mo.__all__ and "HuberSVM" in dir(mo.models)
assert "margin" in str(model.form) and "s_i^2" in str(model) and "aligned" in model.latex()
with tempfile.TemporaryDirectory() as folder:
    for suffix in (".mps", ".lp", ".nl", ".qplib", ".mof.json"):
        assert mo.read(model.write(pathlib.Path(folder) / f"huber{suffix}")).diff(model.form).empty
assert mo.solve(model, "clarabel").objective == mo.io.load_result(mo.solve(model, "clarabel").save(sys.argv[2])).objective
report = mo.gap_report([model], exact="clarabel", progress=False)
(row,), (exact,) = report.instances, report.exacts
assert row.instance == "HuberSVM" and exact.proven, (row, exact)
assert abs(model.to_cvxpy().solve(solver="CLARABEL") - mo.solve(model, "clarabel").objective) < 1e-6
from marginopt.cli.main import main
with tempfile.TemporaryDirectory() as folder:
    command = ["report", "wdbc", "--n", "16", "--formulations", "huber", "--exact", "clarabel", "--quiet", "--out", folder]
    assert main(command) == 0 and "wdbc, huber" in (pathlib.Path(folder) / "report.md").read_text(encoding="utf-8")
print("seen")
"""


def test_it_is_printed_exported_and_solved(site: Path, tmp_path: Path) -> None:
    assert run(site, "-c", SESSION, str(site), str(tmp_path / "result.npz")).split()[-1] == "seen"


def test_it_is_at_the_prompt_and_in_the_report(site: Path, tmp_path: Path) -> None:
    commands = [
        ["formulations"],
        ["inspect", "huber", "wdbc", "--n", "20", "--delta", "0.5"],
        ["report", "--help"],
        ["report", "wdbc", "--n", "16", "--relaxations", "huber-bound", "--exact", "none", "--quiet", "--out", str(tmp_path)],
    ]
    listed, inspected, shown, _ = json.loads(run(site, "-c", COMMANDS, "marginopt.cli.main", json.dumps(commands)))
    assert "HuberSVM" in listed
    assert "SVM with the Huber loss" in inspected
    assert "huber-bound" in shown
    assert "Huber, delta = 1" in (tmp_path / "report.md").read_text(encoding="utf-8")


@at_full_effort  # examples/test_plugin.py does the same of an installed package
def test_it_stands_in_the_matrix(site: Path) -> None:
    """The tests of the laws, run on the copy, have its rows, and these pass."""
    asked = "test_matrix and (huber or test_solver[clarabel])"
    out = run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/laws/test_matrix.py", "-k", asked, "-vv")
    for row in ("test_solver[clarabel]", "test_formulation[huber]", "test_relaxation[huber-bound]"):
        assert f"{row} PASSED" in out
