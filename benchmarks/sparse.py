"""Sparse support vector machines by `sparse-bb`, each with a checked proof log.

    python benchmarks/sparse.py [--limit SECONDS] [--price C ...] [--wide]

Rows are drawn from N(0, Σ), Σ_ij = .5^|i-j|; labels are the sign of the sum of k features, spread evenly. 5% of the labels are
flipped (n = 500, p = 200, k = 5), or with ``--wide`` none (n = 1,000, p = 1,000, k = 10). Times are processor seconds, the limit
is of wall time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import marginopt as mo

TOLERANCE = 1e-4


def rows(n: int, p: int, k: int, flipped: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows and labels."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, p))
    X = noise.copy()
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * noise[:, j]
    y = np.where(X[:, np.arange(k) * p // k + p // (2 * k)].sum(axis=1) > 0.0, 1.0, -1.0)
    y[rng.permutation(n)[: round(flipped * n)]] *= -1.0
    return X, y


def measure(X: np.ndarray, y: np.ndarray, k: int, loss: str, C: float, limit: float) -> str:
    """Return a row of the table."""
    model = mo.Margin(X, y, loss, "half-l2", sample_weight=C, subject_to=[mo.at_most(k).nonzero])
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder) / "sparse.log")
        begin = time.process_time()
        result = mo.solve(model, "sparse-bb", tol=TOLERANCE, time_limit=limit, proof=log)
        solved = time.process_time()
        valid = mo.check_proof(log, model).valid
        checked = time.process_time()
    left = (result.objective - result.bound) / result.objective
    cells = (
        f"{X.shape[0]}×{X.shape[1]}", k, loss, f"{C:g}", f"{result.objective:.4f}", f"{100 * left:.3f}%", result.nodes,
        f"{solved - begin:.1f}", f"{checked - solved:.1f}", "valid" if valid else "refused",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--price", type=float, nargs="*", default=[0.1, 1.0, 10.0])
    parser.add_argument("--wide", action="store_true")
    options = parser.parse_args()
    n, p, k, flipped = (1000, 1000, 10, 0.0) if options.wide else (500, 200, 5, 0.05)
    X, y = rows(n, p, k, flipped)
    print("| n×p | k | loss | C | value | left | nodes | s | check s | log |\n|---|---|---|---|---|---|---|---|---|---|")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure(X[:50, :10], y[:50], 2, "hinge", 1.0, 60.0)  # compiled loops are loaded
        for loss in ("hinge", "squared-hinge"):
            for C in options.price:
                print(measure(X, y, k, loss, C, options.limit), flush=True)


if __name__ == "__main__":
    main()
