"""Files whose writing is cut short: every one is whole or as it was, and what was found is kept."""

from __future__ import annotations

import json
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
import json, resource, signal, sys, tempfile
from pathlib import Path
import numpy as np
import marginopt as mo
from marginopt.errors import WriteError
rng = np.random.default_rng(0)
y = np.where(np.arange(60) % 2, 1.0, -1.0)
X = np.column_stack([np.ones(60), rng.normal(size=(60, 3)) + 0.3 * y[:, None]])
"""

#: A search whose log does not fit, for each kind of it, in a process: what the error says and holds.
FULL = """
folder = Path(sys.argv[1])
cells = {
    "boxes.jsonl": ("boxes", {"lam": 1.0}, 36), "boxes.jsonl.gz": ("boxes", {"lam": 1.0}, 36),
    "conflicts.jsonl": ("conflicts", {"lam": 1.0}, 36), "conflicts.jsonl.gz": ("conflicts", {"lam": 1.0}, 36),
    "budget.log": (None, {"kappa": 0.2}, 24),
}

def search(n, engine, words, proof):
    engine = {} if engine is None else {"engine": engine}
    mo.solve(mo.ZeroOneSVM(X[:n], y[:n], **words), "zero-one-bb", proof=str(proof), time_limit=60, **engine)

with tempfile.TemporaryDirectory() as warm:
    # Compiled code is written to a cache, where the limit would be met first: what runs below has run once before.
    for name, (engine, words, _) in cells.items():
        search(20, engine, words, Path(warm) / name)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for name, (engine, words, n) in cells.items():
    try:
        search(n, engine, words, folder / name)
    except WriteError as error:
        r = error.result
        said = [bool(r.bound <= r.objective), r.bound_kind, bool(np.isfinite(r.objective)), str(error)]
        print(json.dumps([name, *said]), flush=True)
"""


@posix
def test_a_proof_log_on_a_full_disk(tmp_path: Path) -> None:
    """The error holds the result; an older log is there still, and nothing else. A budget's has no older one here."""
    names = ["boxes.jsonl", "boxes.jsonl.gz", "conflicts.jsonl", "conflicts.jsonl.gz"]
    for name in names:
        (tmp_path / name).write_text("an older log")
    done = subprocess.run([sys.executable, "-c", PROBLEM + FULL, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cells = {name: rest for name, *rest in map(json.loads, done.stdout.splitlines())}
    assert list(cells) == [*names, "budget.log"]
    for name in names:
        below, kind, finite, words = cells[name]
        assert (below, kind, finite) == (True, "proved", True), name
        assert "could not be written: File too large" in words and "as it was before" in words
        assert (tmp_path / name).read_text() == "an older log"
    assert cells["budget.log"][1] == "proved"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


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
