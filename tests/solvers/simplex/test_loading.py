"""The loops of a solver on a kernel are compiled before its clock starts."""

import subprocess
import sys

#: Prints the loops that have more variants after a run than `load` left them with, for each case in a process of its own.
PROGRAM = """
import os, sys
import numpy as np, scipy.sparse as sp
import marginopt as mo
from marginopt.models.kernels import loops as compiled, rbf_tiles
from marginopt.solvers.records import Options
from marginopt.solvers.registry import get_solver

def loaded(kind, name, n=1600):
    rng = np.random.default_rng(0)
    X = (rng.random((n, 40)) < 0.2) * 1.0
    X = sp.csr_array(X) if kind == "bits" else X + 0.1 * rng.standard_normal(X.shape)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    model = {"smo-box": mo.L1SVMDual}.get(name, mo.L2SVMDual)(X, y, 1.0, mo.RBF(0.1))
    loops = [f for module in (compiled, rbf_tiles) for f in vars(module).values() if hasattr(f, "signatures")]
    solver = get_solver(name)
    solver.load(solver.view_of(model))
    before = [len(loop.signatures) for loop in loops]
    solver.run(model, Options(tol=1e-3, threads=1))
    later = [loop.__name__ for loop, count in zip(loops, before) if len(loop.signatures) > count]
    print(kind, name, sum(before), *later, flush=True)

for case in sys.argv[1:]:
    child = os.fork()
    if not child:
        loaded(*case.split())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_nothing_of_the_kernel_is_loaded_within_the_run() -> None:
    """Above the size from which products are compiled loops; in processes which have loaded nothing before."""
    cases = [f"{kind} {name}" for kind in ("bits", "dense") for name in ("smo-box", "smo")]
    printed = subprocess.run([sys.executable, "-c", PROGRAM, *cases], capture_output=True, text=True, check=True).stdout
    for case, line in zip(cases, printed.splitlines(), strict=True):
        kind, name, loaded, *later = line.split()
        assert f"{kind} {name}" == case and int(loaded) > 0 and later == [], line
