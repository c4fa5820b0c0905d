"""Fixed cost of a solve: processor time on problems so small that solving them takes next to nothing.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/costs/fixed_costs.py [--repeat 4] [--all]

The smallest example of every formulation by every solver that reads it, warm, the best of a few; where that takes longer than the
target, two points of each class of it too, since a search over a dozen points is no fixed cost; then a path of 100 values and the
report on one instance. "in the solver" is what the result says of it, seconds of the clock: the rest is ours.
"""

from __future__ import annotations

import argparse
import cProfile
import dataclasses
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
#: What is said of a formulation on fewer points than its example has.
FEW = ", 4 points"


def least(run: Callable[[], object], repeat: int) -> float:
    """Processor time of the best run."""
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def timed(model: object, name: str, repeat: int) -> tuple[float, float]:
    """Processor seconds of the best solve, and the fewest that the result says of the solver."""
    inside: list[float] = []
    seconds = least(lambda: inside.append(mo.solve(model, name, threads=1).solve_seconds), repeat)
    return seconds, min(inside)


def four_points(model: object) -> object | None:
    """The same formulation on two points of each class; None where it has no labels."""
    if not {"X", "y"} <= {field.name for field in dataclasses.fields(model)}:  # type: ignore[arg-type]
        return None
    mask = np.concatenate([np.flatnonzero(model.y == label)[:2] for label in np.unique(model.y)])  # type: ignore[attr-defined]
    return dataclasses.replace(model, X=model.X[mask], y=model.y[mask])  # type: ignore[attr-defined,type-var]


def pairs(repeat: int) -> list[tuple[float, float, str, str]]:
    """(seconds, of them in the solver, formulation, solver), the longest first."""
    rows = []
    for formulation, info in all_formulations().items():
        model = info.example(np.random.default_rng(0))
        for name, solver in all_solvers(discover=False).items():
            if solver.obstacle(model):
                continue
            try:
                mo.solve(model, name, threads=1)
            except mo.errors.LicenceError:
                continue
            seconds, inside = timed(model, name, repeat)
            rows.append((seconds, inside, formulation, name))
            fewer = four_points(model) if seconds > TARGET else None
            if fewer is not None:
                mo.solve(fewer, name, threads=1)
                rows.append((*timed(fewer, name, repeat), f"{formulation}{FEW}", name))
    return sorted(rows, reverse=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--all", action="store_true", help="every pair, not only those above the target")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs_measured = pairs(a.repeat)
    examples = [row for row in pairs_measured if FEW not in row[2]]
    above = [row for row in examples if row[0] > TARGET]
    ours = sum(seconds - inside > TARGET for seconds, inside, *_ in above)
    print(f"{len(examples)} pairs, {len(above)} take more than {TARGET * 1e3:g} ms, {ours} of them outside the solver")
    for seconds, inside, formulation, name in (
        pairs_measured if a.all else [row for row in pairs_measured if row in above or FEW in row[2]]
    ):
        print(f"{seconds * 1e3:8.1f} ms, in the solver {inside * 1e3:8.1f} ms   {formulation:<24}{name}")
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(40), rng.standard_normal((40, 2))])
    y = np.where(X[:, 1] + rng.standard_normal(40) > 0, 1, -1)
    values = np.geomspace(0.1, 10.0, 100).tolist()
    seconds = least(lambda: mo.path(mo.HingeSVM(X, y), "lam", values, solver="clarabel"), 2)
    print(f"{seconds * 1e3 / len(values):8.1f} ms a value, a path of 100 by clarabel")
    instance = mo.instances.Instance(X, y, name="small")

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
