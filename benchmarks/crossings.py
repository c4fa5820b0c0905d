"""Where solvers of the linear hinge cross: processor seconds by size and density, with the rule of `auto` beside them.

python benchmarks/crossings.py [--limit 60]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp

import marginopt as mo
from marginopt.models.views import LinearProblem

SOLVERS = ("piqp", "clarabel", "linear-newton")


def dense(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows with a constant, labels by a noisy hyperplane."""
    rng = np.random.default_rng([n, p])
    X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    X[:, 0] = 1.0
    return X, np.where(X @ w + 0.5 * np.sqrt(p) * rng.normal(size=n) > 0.0, 1.0, -1.0)


def text(n: int, p: int, density: float) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of unit length with words by Zipf's law, labels by a noisy hyperplane."""
    rng = np.random.default_rng([n, p])
    count = int(n * p * density)
    columns = np.minimum((p * rng.random(count) ** 3).astype(int), p - 1)
    X = sp.csr_matrix((1.0 + rng.random(count), (rng.integers(0, n, count), columns)), shape=(n, p))
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_array(sp.diags(1.0 / np.maximum(lengths, 1e-9)) @ X)
    score = X @ rng.normal(size=p)
    return X, np.where(score + 0.3 * np.std(score) * rng.normal(size=n) > 0.0, 1.0, -1.0)


def main() -> None:
    """Print one row a data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0)
    limit = parser.parse_args().limit
    cases = {f"{n:,} x {p}": dense(n, p) for n, p in ((200, 5), (1000, 10), (1000, 100), (5000, 20), (20000, 20), (3000, 300))}
    cases |= {
        f"{n:,} x {p:,} at {100 * d:g}%": text(n, p, d)
        for n, p, d in ((1000, 500, 0.02), (2000, 2000, 0.01), (15000, 5000, 0.0075))
    }
    print(f"| data | auto | forecast | {' | '.join(SOLVERS)} |")
    print("| --- " * (len(SOLVERS) + 3) + "|")
    for name, (X, y) in cases.items():
        model = mo.HingeSVM(X, y, 2.0)
        view = model.view(LinearProblem)
        assert view is not None
        forecast = view.interior_point_seconds
        cells = [name, "linear-newton" if forecast > 0.1 else "piqp", f"{forecast:.2g}"]
        for solver in SOLVERS:
            begin = time.process_time()
            result = mo.solve(model, solver, time_limit=limit) if solver == "linear-newton" or forecast < limit else None
            seconds = time.process_time() - begin
            cells.append("-" if result is None else f"{seconds:.3g}" if result.solved else f"more than {limit:g}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
