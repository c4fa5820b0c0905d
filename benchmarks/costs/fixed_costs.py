"""What a solve costs where there is next to nothing to solve, in processor time.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/costs/fixed_costs.py [--repeat 4] [--all]

The smallest example of every formulation by every solver that reads it, warm, the best of a few; then a path of 100 values and
the report on one instance. "in the solver" is what the result says of it, seconds of the clock: the rest is ours.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
import warnings
from collections.abc import Callable

import numpy as np

import marginopt as mo
from marginopt.models.formulations import all_formulations
from marginopt.solvers.registry import all_solvers

#: Seconds that a small solve may take.
TARGET = 0.02


def least(run: Callable[[], object], repeat: int) -> float:
    """Processor time of the best run."""
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def pairs(repeat: int) -> list[tuple[float, float, str, str]]:
    """(seconds, of them in the solver, formulation, solver), the longest first."""
    found = []
    for formulation, info in all_formulations().items():
        model = info.example(np.random.default_rng(0))
        for name, solver in all_solvers(discover=False).items():
            if solver.obstacle(model):
                continue
            try:
                mo.solve(model, name, threads=1)
            except mo.LicenceError:
                continue
            inside: list[float] = []

            def run(model: object = model, name: str = name, inside: list[float] = inside) -> None:
                inside.append(mo.solve(model, name, threads=1).solve_seconds)

            found.append((least(run, repeat), min(inside), formulation, name))
    return sorted(found, reverse=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--all", action="store_true", help="every pair, not only those above the target")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    found = pairs(a.repeat)
    above = [row for row in found if row[0] > TARGET]
    ours = sum(seconds - inside > TARGET for seconds, inside, *_ in found)
    print(f"{len(found)} pairs, {len(above)} take more than {TARGET * 1e3:g} ms, {ours} of them outside the solver")
    for seconds, inside, formulation, name in found if a.all else above:
        print(f"{seconds * 1e3:8.1f} ms, in the solver {inside * 1e3:8.1f} ms   {formulation:<24}{name}")
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40), rng.standard_normal((40, 2))])
    y = np.where(X[:, 1] + rng.standard_normal(40) > 0, 1, -1)
    values = np.geomspace(0.1, 10.0, 100).tolist()
    seconds = least(lambda: mo.path(mo.HingeSVM(X, y), "lam", values, solver="clarabel"), 2)
    print(f"{seconds * 1e3 / len(values):8.1f} ms a value, a path of 100 by clarabel")
    instance = mo.Instance(X, y, name="small")

    def report() -> object:
        return mo.gap_report([instance], progress=False, threads=1, jobs=1)

    print(f"{least(report, 2):8.2f} s, the report on one instance of 40 points in two dimensions")
    profile = cProfile.Profile()
    profile.runcall(report)
    calls = {name: row[1] for name, row in pstats.Stats(profile).stats.items()}  # type: ignore[attr-defined]
    python = sum(count for (file, _, _), count in calls.items() if file != "~")  # the profiler's name for what is built in
    print(f"{python:8d} calls of Python functions in it, {sum(calls.values())} with those that are built in")


if __name__ == "__main__":
    main()
