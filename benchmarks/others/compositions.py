"""Nonconvex compositions solved by `margin-bb` and by mixed-integer solvers: processor seconds to a proof, or what is left.

    python benchmarks/others/compositions.py [--n 60] [--d 3] [--limit 30] [--solvers margin-bb,scip,highs,gurobi]

Two Gaussian classes; one thread. What a solver does not read is "-", what Gurobi's restricted licence does not hold too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np

import marginopt as mo
from marginopt import margin
from marginopt.errors import LicenceError, TooLargeError, UnsupportedModelError

#: A solver's answer counts as proved at this relative gap.
TOLERANCE = 1e-6


def points(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that overlap, a column of ones first."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return np.column_stack([np.ones(n), rng.normal(size=(n, d)) + 0.6 * y[:, None]]), y


def problems(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, mo.Margin]]:
    """One of each kind: the name and the composition."""
    box, group = margin.Box(-5.0, 5.0), (X[:, 1] > np.median(X[:, 1])).astype(int)
    steps = margin.PiecewiseLinear(((-1.0, 2.0), (0.0, 1.5), (0.0, 1.0), (1.0, 0.0), (2.0, 0.0)))
    budgets = [mo.error_budget(-1, 0.15)]

    def stated(loss: margin.Loss | str, regulariser: margin.Regulariser | str, **parts: object) -> mo.Margin:
        return mo.Margin(X, y, loss, regulariser, intercept="free", **parts)  # type: ignore[arg-type]

    yield "0-1, L1", stated("zero-one", "l1")
    yield "0-1, elastic net", stated("zero-one", "elastic-net")
    yield "0-1, L1, fair", stated("zero-one", "l1", subject_to=mo.parity(group, 0.05))
    yield "0-1, L1, signs", stated("zero-one", "l1", domain=margin.Signs((0, *([1] * (X.shape[1] - 1)))))
    yield (
        "0-1 of one class, Neyman-Pearson",
        stated("zero-one", "l1", subject_to=budgets, sample_weight=np.where(y > 0.0, 1.0, 0.0)),
    )
    yield "0-1, no norm, in a box", stated("zero-one", "none", domain=box)
    yield "0-1, two coefficients", stated("zero-one", "l1", domain=box, subject_to=mo.at_most(2).nonzero)
    yield "0-1, a price for each", stated("zero-one", margin.L0(1.0), domain=box)
    yield "0-1, L1, integers", stated("zero-one", margin.ElasticNet(0.1, 0.01), domain=margin.Integers(-5, 5))
    yield "ramp, L1, kept point", stated("ramp", "l1", subject_to=mo.keep([0]))
    yield "ramp, squares, integers", stated("ramp", "l2", domain=margin.Integers(-5, 5))
    yield "steps, L1", stated(steps, "l1", domain=box)


def said(model: mo.Margin, solver: str, limit: float) -> str:
    """Seconds of the processor, or the gap that is left."""
    begin = time.process_time()
    try:
        result = mo.solve(model, solver, time_limit=limit, threads=1, tol=TOLERANCE)
    except (UnsupportedModelError, LicenceError, TooLargeError):
        return "-"
    spent = time.process_time() - begin
    if result.gap <= 2.0 * TOLERANCE:
        return f"{spent:.2f}"
    return f"{100.0 * result.gap:.0f}% left"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--d", type=int, default=3)
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solvers", default="margin-bb,scip,highs,gurobi")
    asked = parser.parse_args()
    solvers = asked.solvers.split(",")
    warnings.simplefilter("ignore")
    mo.warm_up("margin-bb")
    print(f"| {asked.n} x {asked.d} | value | " + " | ".join(solvers) + " |")
    print("|---" * (len(solvers) + 2) + "|")
    for name, model in problems(*points(asked.n, asked.d, asked.seed)):
        value = mo.solve(model, "margin-bb", time_limit=asked.limit).objective
        text = " | ".join(said(model, solver, asked.limit) for solver in solvers)
        print(f"| {name} | {value:.6g} | {text} |", flush=True)


if __name__ == "__main__":
    main()
