"""Our conflict cuts in SCIP: nodes and seconds with them and without, on the big-M form of the 0-1 loss.

python benchmarks/others/cuts.py [--n 40] [--p 2] [--lam 3] [--seeds 10] [--limit 30] [--intercept free]

Clustered outliers (Conic §5.1.1); the incumbent that `relaxations.heuristic` finds, and the M that follows from it. Shifted
geometric means (10 nodes, 0.1 s) over the data seeds; processor seconds, one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from marginopt import instances
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.relaxations import heuristic
from marginopt.solvers.certification.result import Result
from marginopt.solvers.solve import solve

SHIFTS = (10.0, 0.1)


def stated(n: int, p: int, lam: float, seed: int, intercept: str) -> ZeroOneSVM:
    """The problem with its incumbent."""
    data = instances.gaussian_clusters(n, p, 0.5, outliers="clustered", seed=seed)
    plain = ZeroOneSVM(data.X, data.y, lam, intercept=intercept)  # type: ignore[arg-type]
    w, _ = heuristic(plain, seed)
    return ZeroOneSVM(data.X, data.y, lam, intercept=intercept, incumbent=w)  # type: ignore[arg-type]


def timed(model: ZeroOneSVM, name: str, limit: float, seed: int, **cuts: str) -> tuple[Result, float]:
    """The result and processor seconds."""
    begin = time.process_time()
    result = solve(model, name, start=model.start, time_limit=limit, threads=1, seed=seed, tol=1e-6, **cuts)
    return result, time.process_time() - begin


def mean(values: list[float], shift: float) -> float:
    """Shifted geometric mean."""
    return float(np.exp(np.mean(np.log(np.array(values) + shift))) - shift)


def row(arguments: argparse.Namespace, name: str) -> str:
    """Both sides of one solver on all seeds."""
    nodes: dict[str, list[float]] = {"": [], "conflicts": []}
    seconds: dict[str, list[float]] = {"": [], "conflicts": []}
    proved, added = {"": 0, "conflicts": 0}, []
    for seed in range(arguments.seeds):
        model = stated(arguments.n, arguments.p, arguments.lam, seed, arguments.intercept)
        rows = []
        for kind in nodes:
            result, spent = timed(model, name, arguments.limit, seed, **({"cuts": kind} if kind else {}))
            nodes[kind].append(float(result.nodes or 0))
            seconds[kind].append(spent)
            proved[kind] += result.status.name == "OPTIMAL"
            rows.append(result)
        if all(result.status.name == "OPTIMAL" for result in rows):
            plain, cut = (result.objective for result in rows)
            assert abs(plain - cut) <= 1e-5 * abs(plain), f"seed {seed}: {plain} without and {cut} with cuts"
        added.append(float(rows[1].details["cuts_added"]))
    cells = [
        f"{mean(nodes[k], SHIFTS[0]):.0f} nodes, {mean(seconds[k], SHIFTS[1]):.2f} s, {proved[k]}/{arguments.seeds}"
        for k in nodes
    ]
    gain = mean(nodes[""], SHIFTS[0]) / mean(nodes["conflicts"], SHIFTS[0])
    faster = mean(seconds[""], SHIFTS[1]) / mean(seconds["conflicts"], SHIFTS[1])
    what = f"{arguments.n} | {arguments.p} | {arguments.lam:g} | {arguments.intercept} | {name} | conflicts"
    return f"| {what} | {' | '.join(cells)} | {np.median(added):.0f} | {gain:.1f}x, {faster:.2f}x |"


def main() -> None:
    """Print a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, kind, default in (("n", int, 40), ("p", int, 2), ("lam", float, 3.0), ("seeds", int, 10), ("limit", float, 30.0)):
        parser.add_argument(f"--{option}", type=kind, default=default)
    parser.add_argument("--intercept", default="penalised", choices=("penalised", "free"))
    arguments = parser.parse_args()
    print(row(arguments, "scip"), flush=True)


if __name__ == "__main__":
    main()
