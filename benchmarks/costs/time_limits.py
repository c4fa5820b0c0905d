"""Time limits: processor time of every solver on every large model that it reads, over a limit, with what it had to prepare.

    OPENBLAS_NUM_THREADS=1 python benchmarks/costs/time_limits.py [--limits 0.3,1] [--only clarabel,scs] [--models hinge]

The model is stated and its form made before the clock starts; with ``--fresh`` after it. Compiled code is loaded before. Time is
that of this process and of those that it ended. A tenth of the limit and half a second are allowed beyond it: the rest is LATE.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
import warnings
from collections.abc import Callable

import numpy as np

import marginopt as mo
from marginopt import margin
from marginopt.errors import MarginoptError
from marginopt.models import NonparallelSVM
from marginopt.solvers.interface.algorithm import Algorithm
from marginopt.solvers.registry import get_solver, solvers_that_read

#: The model on so many points.
State = Callable[[int], mo.Model]


def points(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes, a first column of ones."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, p))])
    X[:, 1] += y
    return X, y


def classes(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes."""
    return points(n, p)[0], np.arange(n) % 3


#: Model and number of points.
MODELS: dict[str, tuple[State, int]] = {
    "hinge": (lambda n: mo.HingeSVM(*points(n, 50), lam=1.0), 20_000),
    "hinge, wide": (lambda n: mo.HingeSVM(*points(n, max(n // 2, 3)), lam=1.0), 1_000),
    "L2 dual, RBF": (lambda n: mo.L2SVMDual(*points(n, 30), C=1e4, kernel=mo.RBF(0.1)), 1_500),
    "L2 dual, RBF, large": (lambda n: mo.L2SVMDual(*points(n, 30), C=1e4, kernel=mo.RBF(0.1)), 5_000),
    "L1 dual, RBF": (lambda n: mo.L1SVMDual(*points(n, 30), C=1e4, kernel=mo.RBF(0.1)), 1_500),
    "conic, κ": (lambda n: mo.ConicSVM(*points(n, max(n // 50, 2)), kappa=0.1), 1_500),
    "0-1 loss": (lambda n: mo.ZeroOneSVM(*points(n, max(n // 100, 3)), lam=1.0), 2_000),
    "ramp loss": (lambda n: mo.RampSVM(*points(n, 4), lam=1.0), 300),
    "nonparallel": (lambda n: NonparallelSVM(*classes(n, max(n // 30, 3)), 1, c=1e3), 1_200),
    "several classes": (lambda n: mo.MulticlassSVM(*classes(n, max(n // 50, 3))), 2_000),
    "L1 and hinge": (lambda n: mo.Margin(*points(n, max(n // 20, 3)), margin.Hinge(), margin.L1()), 4_000),
}


def spent() -> float:
    """Processor seconds of this process and of its children that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def measured(state: State, n: int, solver: str, limit: float, *, fresh: bool) -> str:
    """One cell: processor seconds, the wall's, the status; least of three where it is late."""
    chosen = get_solver(solver)
    if isinstance(chosen, Algorithm) and chosen.compiles:
        mo.warm_up(solver)
    mo.solve(state(40), solver, time_limit=5.0)
    best = (np.inf, np.inf, "")
    for _ in range(3):
        model = state(n)
        if not fresh:
            str(model.form.rows)
        begin, wall = spent(), time.perf_counter()
        result = mo.solve(model, solver, tol=1e-13, time_limit=limit)
        cpu, wall = spent() - begin, time.perf_counter() - wall
        for thread in threading.enumerate():
            if thread.name == "marginopt: a solver's call":
                thread.join()
        best = min(best, (cpu, wall, result.status.name.lower().replace("_", " ")))
        if cpu <= 1.1 * limit + 0.5:
            break
    late = " LATE" if best[0] > 1.1 * limit + 0.5 else ""
    return f"{best[0]:.2f} s, wall {best[1]:.2f} s, {best[2]}{late}"


def main() -> None:
    """Every model, every solver that reads it, every limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", default="0.3,1")
    parser.add_argument("--only", default="")
    parser.add_argument("--models", default="")
    parser.add_argument("--fresh", action="store_true")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    for title, (state, n) in MODELS.items():
        if a.models and title not in a.models.split(";"):
            continue
        for solver in solvers_that_read(state(40)):
            if a.only and solver not in a.only.split(","):
                continue
            for limit in map(float, a.limits.split(",")):
                try:
                    measurement = measured(state, n, solver, limit, fresh=a.fresh)
                except MarginoptError as error:
                    measurement = f"refused: {str(error)[:80]}"
                print(f"{title}, {n:,} points | {solver} | {limit:g} s | {measurement}", flush=True)


if __name__ == "__main__":
    main()
