"""Ctrl-C during the search of another package's solver: a process that is interrupted, and its result."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

#: Script of the process: solves a hard 0-1 problem by the solver ``argv[1]``, and creates the file ``argv[2]`` at an incumbent.
INTERRUPTED = """
import sys, numpy as np
from pathlib import Path
from marginopt.models import ZeroOneSVM
from marginopt.solvers.records import Options
from marginopt.solvers.solve import solve_problem
rng = np.random.default_rng(0)
X = np.column_stack([np.ones(90), rng.normal(size=(90, 8))])
model = ZeroOneSVM(X, np.where(rng.random(90) < 0.5, -1.0, 1.0), lam=10.0)
def callback(row):
    if np.isfinite(row.objective) and np.isfinite(row.bound):
        Path(sys.argv[2]).touch()
r = solve_problem(model, sys.argv[1], Options(time_limit=60, threads=1, callback=callback))
print("result:", r.status.name, r.certificate.feasible(1e-6), r.solve_seconds < 50, 0 < r.bound < r.objective)
"""


def interrupted(solver: str, folder: Path) -> str:
    """Run `INTERRUPTED`, send Ctrl-C once there is an incumbent and a bound, and return the printed line of the result.

    Solvers may print lines of their own, before or (from C's buffers) after it.
    """
    flag = folder / "ready"
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED, solver, str(flag)], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            if flag.exists():
                break
            try:
                child.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        out = _interrupted(child)
    finally:
        child.kill()
        child.communicate()
    (line,) = [line for line in out.splitlines() if line.startswith("result: ")]
    return line.removeprefix("result: ")


def _interrupted(child: subprocess.Popen[str]) -> str:
    """Send Ctrl-C, again after ten seconds without an end, and return the output of the process."""
    for _ in range(4):
        child.send_signal(signal.SIGINT)
        try:
            return child.communicate(timeout=10)[0]
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("four times Ctrl-C did not end the search")
