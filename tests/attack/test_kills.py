"""Writers killed at random moments, and disks that fill while they write: each file is one of its two versions, whole, or absent.

A process of its own forks writers and kills them (SIGKILL), or limits the size of their files (RLIMIT_FSIZE): what it then finds
is read back with the library's own readers and written once more.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from effort import trials

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs fork, SIGKILL and RLIMIT_FSIZE")

#: Two versions of what is written, how, and how it is read: as bytes, or by its reader where bytes hold the time.
PREPARED = """
import os, random, resource, signal, sys, time, warnings
from pathlib import Path
import numpy as np
import marginopt as mo
from marginopt.errors import WriteError
from marginopt.files import write_text
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
y = np.where(np.arange(400) % 2, 1.0, -1.0)
X = np.column_stack([np.ones(400), rng.normal(size=(400, 3))])
models = [mo.HingeSVM(X, y, lam=1.0), mo.HingeSVM(X, y, lam=2.0)]

def report(lam):
    from dataclasses import dataclass
    from marginopt.relaxations import BigM, gap_report
    @dataclass(frozen=True)
    class Points:
        X: np.ndarray
        y: np.ndarray
        name: str = "points"
        source: str = "drawn"
    return gap_report([Points(X[:14], y[:14])], relaxations=[BigM("zero")], exact=[], lam=[lam], progress=False, threads=1)

if kind in ("result", "comparison", "path"):
    name = "r.npz"
    if kind == "result":
        things = [mo.solve(m, "clarabel") for m in models]
        read = lambda path: mo.io.load_result(path).objective
    elif kind == "comparison":
        things = [mo.compare(m, ["clarabel", "osqp"]) for m in models]
        read = lambda path: mo.solvers.Comparison.load(path).results["clarabel"].objective
    else:
        things = [mo.path(m, "lam", [m.lam, 3.0], solver="clarabel") for m in models]
        from marginopt.solvers.path import SolutionPath
        read = lambda path: SolutionPath.load(path)[0].objective
    write = lambda k, path: things[k].save(path)
elif kind.startswith("."):
    from marginopt.models.export.file_formats import write_form
    if kind == ".cbf":
        models = [mo.ConicSVM(X[:60], y[:60], lam=m.lam) for m in models]
    name = "model" + kind
    write, read = (lambda k, path: write_form(models[k].form, path)), (lambda path: mo.read(path).n and path.read_bytes())
elif kind.startswith("report"):
    name = kind
    reports = shared.get("reports") or shared.setdefault("reports", [report(1.0), report(2.0)])
    texts = {".md": "markdown", ".csv": "csv"}  # whose other files are written by the same function
    def write(k, path):
        one = texts.get(path.suffix)
        write_text(path, getattr(reports[k], one)()) if one else reports[k].write(path)
    read = lambda path: path.read_bytes()
else:
    raise SystemExit(kind)
path = folder / name
expected = []
for k in (0, 1):
    write(k, path)
    expected.append(read(path))
assert expected[0] != expected[1]
"""

KILLED = """
draw = random.Random(0)
for p in folder.iterdir():
    p.unlink()
seen = set()
begin = time.perf_counter()
write(0, path)
once = time.perf_counter() - begin
for trial in range(trials):
    if trial % 3 == 0:
        for p in folder.iterdir():
            p.unlink()
    child = os.fork()
    if child == 0:
        try:
            k = trial
            while True:
                write(k % 2, path)
                k += 1
        finally:
            os._exit(1)
    time.sleep(draw.uniform(0.0, 4.0 * once))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    names = {p.name for p in folder.iterdir()}
    whole = {name, name + ".names.json"}  # some formats have a file of names beside them
    assert all(n in whole or (n.startswith("." + name) and n.endswith(".part")) for n in names), names
    found = read(path) if path.exists() else None
    assert found in (None, *expected), found
    seen.add(found)
write(1, path)  # afterwards it is written as if nothing had been
assert read(path) == expected[1]
"""

FULL = """
for p in folder.iterdir():
    p.unlink()

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

def there():
    return {p.name: p.read_bytes() for p in folder.iterdir()}

write(0, path)
before, size = there(), path.stat().st_size
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for share in (0.0, 0.3, 0.7, 0.99):
    for held in (before, {}):
        for p in folder.iterdir():
            p.unlink()
        for n, content in held.items():
            (folder / n).write_bytes(content)
        limit(int(share * size))
        try:
            write(1, path)
            raise SystemExit("a full disk was not noticed")
        except WriteError as error:
            assert Path(error.path).is_relative_to(folder), error
        finally:
            limit(resource.RLIM_INFINITY)
        assert there() == held
write(1, path)
assert read(path) == expected[1]
"""

#: What is written, and kinds that are only killed.
KINDS = "result comparison path .mps .lp .mof.json .cbf report.html report.md report.csv"
MORE = "report.tex report.json"
#: The process's program: kinds one after another, each in a folder of its own; it prints a line for each law and kind.
EACH = """
import sys
from pathlib import Path
prepared, killed, full, kinds, more, folder, trials = sys.argv[1:]
shared = {}
for kind in (kinds + " " + more).split():
    (place := Path(folder) / kind.strip(".")).mkdir()
    names = {"kind": kind, "folder": place, "trials": int(trials), "shared": shared}
    exec(prepared, names)
    for law, code in {"killed": killed, "full": full}.items():
        if law == "killed" or kind in kinds.split():
            try:
                exec(code, names)
            except BaseException as error:
                print(law, kind, repr(error))
            else:
                print(law, kind, "whole or absent")
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Both laws on every kind, in a process: it imports most of what there is, which takes longer than all that it writes."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    folder = str(tmp_path_factory.mktemp("written"))
    words = [sys.executable, "-c", EACH, PREPARED, KILLED, FULL, KINDS, MORE, folder, str(trials(3, 12))]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_killed_while_it_writes(outcomes: list[str]) -> None:
    every = f"{KINDS} {MORE}".split()
    assert [line for line in outcomes if line.startswith("killed ")] == [f"killed {kind} whole or absent" for kind in every]


def test_a_disk_that_fills_while_it_writes(outcomes: list[str]) -> None:
    assert [line for line in outcomes if line.startswith("full ")] == [f"full {kind} whole or absent" for kind in KINDS.split()]
