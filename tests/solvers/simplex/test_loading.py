"""What a run of a solver on a kernel compiles is there before its clock starts."""

import subprocess
import sys

import pytest

#: Prints the loops that have more variants after a run than `load` left them with.
PROGRAM = """
import sys
import numpy as np, scipy.sparse as sp
import marginopt as mo
from marginopt.models.kernels import loops as compiled, powers
from marginopt.solvers.records import Options
from marginopt.solvers.registry import get_solver

kind, name, n = sys.argv[1], sys.argv[2], 1600
rng = np.random.default_rng(0)
X = (rng.random((n, 40)) < 0.2) * 1.0
X = sp.csr_array(X) if kind == "bits" else X + 0.1 * rng.standard_normal(X.shape)
y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
model = {"smo-box": mo.L1SVMDual}.get(name, mo.L2SVMDual)(X, y, 1.0, mo.RBF(0.1))
loops = [f for module in (compiled, powers) for f in vars(module).values() if hasattr(f, "signatures")]
solver = get_solver(name)
solver.load(solver.view_of(model))
before = [len(loop.signatures) for loop in loops]
solver.run(model, Options(tol=1e-3, threads=1))
print(sum(before), [loop.__name__ for loop, count in zip(loops, before) if len(loop.signatures) > count])
"""


@pytest.mark.parametrize("name", ["smo-box", "smo"])
@pytest.mark.parametrize("kind", ["bits", "dense"])
def test_nothing_of_the_kernel_is_loaded_within_the_run(kind: str, name: str) -> None:
    """Above the size from which products are compiled loops; a fresh process, which has loaded nothing before."""
    told = subprocess.run([sys.executable, "-c", PROGRAM, kind, name], capture_output=True, text=True, check=True).stdout
    loaded, later = told.split(maxsplit=1)
    assert int(loaded) > 0
    assert later.strip() == "[]"
