"""Sparse support vector machines by `sparse-bb`, each with a checked proof log.

    python benchmarks/sparse.py [--limit SECONDS] [--price C ...] [--seed N ...] [--wide | --small] [--others SOLVER ...]
    python benchmarks/sparse.py --curve NAME_OR_FILE ... [--loss LOSS ...] [--most K] [--limit SECONDS] [--price C ...]

Rows are drawn from N(0, Σ), Σ_ij = .5^|i-j|; labels are the sign of the sum of k features, spread evenly. 5% of the labels are
flipped (n = 500, p = 200, k = 5; with ``--small`` n = 100, p = 30, k = 3), or with ``--wide`` none (n = p = 1,000, k = 10).
Times are processor seconds, the limit is of wall time. ``--others`` names solvers of the model's mixed-integer quadratic form.

``--curve`` takes data sets instead, by the names of `marginopt.load` or as LIBSVM files, with standardised columns and a free
intercept, and k from the largest to 1; the search of each k carries its bound and its point to the next one. Its limit is of
processor time.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import marginopt as mo
from marginopt.models.arrays import to_dense
from marginopt.models.formulations.margin.problems import SparseProblem
from marginopt.solvers.exact.search import Incumbent, TreeSearch
from marginopt.solvers.sparse.search import SparseRule

#: Relative gap of every search.
TOLERANCE = 1e-4


def rows(n: int, p: int, k: int, flipped: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw X (n, p) and labels ±1 of k features, a share ``flipped`` of which is wrong."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, p))
    X = noise.copy()
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * noise[:, j]
    y = np.where(X[:, np.arange(k) * p // k + p // (2 * k)].sum(axis=1) > 0.0, 1.0, -1.0)
    y[rng.permutation(n)[: round(flipped * n)]] *= -1.0
    return X, y


def measure(X: np.ndarray, y: np.ndarray, k: int, loss: str, C: float, limit: float, other: str = "") -> str:
    """Return a row of the table: of `sparse-bb` with a checked log, or of another solver."""
    model = mo.Margin(X, y, loss, "half-l2", sample_weight=C, subject_to=[mo.at_most(k).nonzero])
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder) / "sparse.log")
        begin = time.process_time()
        if other:
            result = mo.solve(model, other, tol=TOLERANCE, time_limit=limit)
        else:
            result = mo.solve(model, "sparse-bb", tol=TOLERANCE, time_limit=limit, proof=log)
        solved = time.process_time()
        valid = "none" if other else "valid" if mo.check_proof(log, model).valid else "refused"
        checked = time.process_time()
    cells = (
        f"{X.shape[0]}×{X.shape[1]}", k, loss, f"{C:g}", result.solver, f"{result.objective:.4f}", f"{100 * result.gap:.3f}%",
        result.nodes, f"{solved - begin:.1f}", f"{checked - solved:.1f}", valid,
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def standardised(source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a constant column and the columns of a data set with mean 0 and variance 1, and its labels."""
    data = mo.read(source) if Path(source).exists() else mo.load(source)
    X, y = np.asarray(to_dense(data.X), dtype=np.float64), np.asarray(data.y)
    deviation = X.std(axis=0)
    X = (X[:, deviation > 0.0] - X[:, deviation > 0.0].mean(axis=0)) / deviation[deviation > 0.0]
    return np.column_stack([np.ones(y.size), X]), np.where(y > y.min(), 1.0, -1.0)


def curve(source: str, loss: str, C: float, most: int, limit: float) -> str:
    """Return a row: of each k the gap in percent and the processor seconds, or the seconds alone where it is proved."""
    X, y = standardised(source)
    cells, bound, w = [], 0.0, None
    for k in range(most, 0, -1):
        model = mo.Margin(X, y, loss, "half-l2", intercept="free", sample_weight=C, subject_to=[mo.at_most(k).nonzero])
        problem = model.view(SparseProblem)
        assert problem is not None
        begin = time.process_time()
        rule = SparseRule(problem)
        rule.lower_bound = max(rule.lower_bound, bound)
        search = TreeSearch(rule, Incumbent(TOLERANCE))
        if w is not None:
            rule.improve(w, search.incumbent)
        while not search.done and time.process_time() - begin < limit:
            search.process_node()
        bound, w, seconds = search.bound, search.incumbent.w, time.process_time() - begin
        gap = 1.0 - bound / search.incumbent.value
        cells.append(f"{seconds:.1f}" if search.done else f"{100.0 * gap:.1f}%")
    n, p = X.shape[0], X.shape[1] - 1
    return f"| {Path(source).name.split('.')[0]} | {n}×{p} | {loss} | {C:g} | " + " | ".join(reversed(cells)) + " |"


def print_curves(options: argparse.Namespace) -> None:
    """Print a row for each set, loss and C."""
    print("| set | n×p | loss | C | " + " | ".join(f"k = {k}" for k in range(1, options.max_nonzeros + 1)) + " |")
    print("|---" * (4 + options.max_nonzeros) + "|")
    SparseRule.load()
    for C, loss, source in itertools.product(options.price, options.loss, options.curve):
        print(curve(source, loss, C, options.max_nonzeros, options.limit), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--price", type=float, nargs="*", default=[0.1, 1.0, 10.0])
    parser.add_argument("--seed", type=int, nargs="*", default=[0])
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--others", nargs="*", default=[])
    parser.add_argument("--curve", nargs="*", default=[])
    parser.add_argument("--loss", nargs="*", default=["hinge", "squared-hinge"])
    parser.add_argument("--most", type=int, default=10, dest="max_nonzeros", help="largest k of --curve")
    options = parser.parse_args()
    if options.curve:
        print_curves(options)
        return
    n, p, k, flipped = 500, 200, 5, 0.05
    if options.wide:
        n, p, k, flipped = 1000, 1000, 10, 0.0
    elif options.small:
        n, p, k = 100, 30, 3
    print("| n×p | k | loss | C | solver | value | left | nodes | s | check s | log |")
    print("|---" * 11 + "|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = rows(50, 10, 2, 0.0)
        measure(X, y, 2, "hinge", 1.0, 60.0)  # compiled loops are loaded
        for seed, loss, C in itertools.product(options.seed, options.loss, options.price):
            X, y = rows(n, p, k, flipped, seed)
            for other in ("", *options.others):
                print(measure(X, y, k, loss, C, options.limit, other), flush=True)


if __name__ == "__main__":
    main()
