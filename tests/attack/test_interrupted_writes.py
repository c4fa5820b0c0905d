"""Files whose writing is cut short: every one is whole or as it was, and what was found is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from facts import about, unwritten

import marginopt as mo
from marginopt.errors import WriteError

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and limits of POSIX")

#: A problem whose log has megabytes, and a limit on the size of files that it meets in the midst of the search.
PROBLEM = """
import resource, signal, sys, tempfile
import numpy as np
import marginopt as mo
from marginopt.errors import WriteError
rng = np.random.default_rng(0)
y = np.where(np.arange(60) % 2, 1.0, -1.0)
X = np.column_stack([np.ones(60), rng.normal(size=(60, 3)) + 0.3 * y[:, None]])
def limit(size, **problem):
    # Compiled code is written to a cache, where the limit would be met first: what runs below has run once before.
    engine = {"engine": problem.pop("engine")} if "engine" in problem else {}
    with tempfile.TemporaryDirectory() as folder:
        mo.solve(mo.ZeroOneSVM(X[:20], y[:20], **problem), "zero-one-bb", proof=folder + "/log", time_limit=60, **engine)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
"""


def _run(code: str, *arguments: object) -> str:
    done = subprocess.run([sys.executable, "-c", PROBLEM + code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@posix
@pytest.mark.parametrize("engine", ["boxes", "conflicts"])
@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_proof_log_on_a_full_disk(engine: str, suffix: str, tmp_path: Path) -> None:
    """The error holds the result; an older log is there still, and nothing else."""
    path = tmp_path / f"log{suffix}"
    path.write_text("an older log")
    said = _run(
        "limit(2000, lam=1.0, engine=sys.argv[2])\nmodel = mo.ZeroOneSVM(X[:36], y[:36], lam=1.0)\n"
        "try:\n    mo.solve(model, 'zero-one-bb', engine=sys.argv[2], proof=sys.argv[1], time_limit=60)\n"
        "except WriteError as error:\n"
        "    r = error.result\n    print(r.bound <= r.objective, r.bound_kind, np.isfinite(r.objective), error)\n",
        path,
        engine,
    )
    assert said.startswith("True proved True ") and "could not be written: File too large" in said and "as it was before" in said
    assert path.read_text() == "an older log" and list(tmp_path.iterdir()) == [path]


@posix
def test_a_proof_log_of_a_budget_on_a_full_disk(tmp_path: Path) -> None:
    said = _run(
        "limit(2000, kappa=0.2)\n"
        "try:\n    mo.solve(mo.ZeroOneSVM(X[:24], y[:24], kappa=0.2), 'zero-one-bb', proof=sys.argv[1], time_limit=60)\n"
        "except WriteError as error:\n    print(error.result.bound_kind, error.result.status.name)\n",
        tmp_path / "log",
    )
    assert said.startswith("proved") and list(tmp_path.iterdir()) == []


@posix
def test_a_search_that_is_killed_leaves_the_older_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("an older log")
    code = (
        "print('ready', flush=True)\n"
        "mo.solve(mo.ZeroOneSVM(X, y, lam=1.0), 'zero-one-bb', engine='boxes', tol=1e-9, proof=sys.argv[1], callback=said)\n"
    )
    seen = "def said(row):\n    if row.iteration > 50: print('searching', flush=True)\n"
    child = subprocess.Popen([sys.executable, "-c", PROBLEM + seen + code, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert any(line.startswith("searching") for line in child.stdout)  # stops reading there
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert path.read_text() == "an older log"


def test_a_log_that_cannot_be_written_is_refused_before_the_search(tmp_path: Path) -> None:
    model = mo.ZeroOneSVM([[1.0, 2.0], [1.0, -1.0], [1.0, 0.5]], [1.0, -1.0, 1.0], lam=1.0)
    with pytest.raises(WriteError, check=unwritten(tmp_path / "nowhere" / "log")):
        mo.solve(model, "zero-one-bb", proof=str(tmp_path / "nowhere" / "log"))
    with pytest.raises(mo.errors.InputError, check=about("proof")):
        mo.solve(model, "zero-one-bb", proof=3)
