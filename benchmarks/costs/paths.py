"""Re-solving along a parameter: time of rebuilding every model over time of updating one in place.

    python benchmarks/costs/paths.py [--values 100] [--repeats 3] [--only clarabel,osqp]

Both ways run in turn in one process; a ratio is that of the medians. "Building" is stating the solver's model (or changing it),
"whole" includes stating the formulations and recomputing certificates, which is the same for both.
"""

from __future__ import annotations

import argparse
from statistics import median

import numpy as np

import marginopt as mo


def points(n: int, p: int, seed: int = 0, *, constant: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes; a first column of ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X @ rng.normal(size=p) + rng.normal(size=n) > 0, 1.0, -1.0)
    return (np.column_stack([np.ones(n), X]) if constant else X), y


def cases(count: int) -> list[tuple[str, mo.Model, str, np.ndarray, tuple[str, ...]]]:
    """Title, model, parameter, values, solvers."""
    small, hinge, tiny = points(60, 3), points(400, 10), points(50, 3)
    kernel = points(150, 5, constant=False)
    costs = np.geomspace(0.1, 10, count)
    return [
        ("ConicSVM, κ, 60 × 3", mo.ConicSVM(*small, kappa=0.1), "kappa", np.linspace(0.01, 0.5, count), ("clarabel",)),
        ("ConicSVM, λ, 60 × 3", mo.ConicSVM(*small, lam=1.0), "lam", costs, ("clarabel",)),
        ("HingeSVM, λ, 400 × 10", mo.HingeSVM(*hinge), "lam", costs, ("clarabel", "osqp", "piqp", "scs")),
        ("HingeSVM, λ, 50 × 3", mo.HingeSVM(*tiny), "lam", costs, ("gurobi", "highs")),
        (
            "L1SVMDual, C, 150 points, RBF",
            mo.L1SVMDual(*kernel, C=1.0, kernel=mo.RBF(0.2)),
            "C",
            costs,
            ("clarabel", "osqp", "piqp", "gurobi"),
        ),
        ("L2SVMDual, C, 150 points, RBF", mo.L2SVMDual(*kernel, C=1.0, kernel=mo.RBF(0.2)), "C", costs, ("piqp", "osqp")),
    ]


def measured(model: mo.Model, parameter: str, values: np.ndarray, solver: str, repeats: int) -> str:
    """One row of the table."""
    mo.path(model, parameter, values[:2], solver=solver)  # imports and compiled loops
    times: dict[bool, list[tuple[float, float, float]]] = {True: [], False: []}
    entries = {}
    for _ in range(repeats):
        for update in (True, False):
            path = mo.path(model, parameter, values, solver=solver, update=update)
            build = sum(r.build_seconds for r in path)
            times[update].append((build, build + sum(r.solve_seconds for r in path), path.seconds))
            entries[update] = path
    remaining, anew = entries[True], entries[False]
    usable = np.isfinite(remaining.objectives) & np.isfinite(anew.objectives)
    worst = np.abs(remaining.objectives / anew.objectives - 1)[usable].max()
    ratios = [median(t[k] for t in times[False]) / median(t[k] for t in times[True]) for k in range(3)]
    same = sum(a.status is b.status for a, b in zip(remaining, anew, strict=True))
    return (
        f"{remaining.in_place_updates:>7} {same:>6} {worst:>10.0e} "
        + " ".join(f"{r:>8.1f}" for r in ratios)
        + f" {remaining.seconds:>8.2f}"
    )


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    only = set(arguments.only.split(",")) - {""}
    installed = {row["name"] for row in mo.solvers.table().rows if row["installed"] == "yes"}
    heads = f"{'updated':>7} {'status':>6} {'difference':>10} {'building':>8} {'+ solve':>8} {'whole':>8} {'seconds':>8}"
    print(f"{'path':<32} {'solver':<9} {heads}")
    for title, model, parameter, values, solvers in cases(arguments.values):
        for solver in solvers:
            if solver in installed and (not only or solver in only):
                row = measured(model, parameter, values, solver, arguments.repeats)
                print(f"{title:<32} {solver:<9} {row}", flush=True)


if __name__ == "__main__":
    main()
