"""Sizes at which one solver becomes faster than another, and the choice of `auto`: processor seconds by class of problem.

python benchmarks/crossings.py [--limit 60]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import marginopt as mo
from marginopt.solvers.records import Options
from marginopt.solvers.registry import choose_solver

#: Relative gap that every solver must reach.
TOL = 1e-6
#: Seconds within which no solver counts as slower than another: imports and the measurement itself.
_EQUAL = 0.02
#: Seconds from which one run is enough.
_LONG = 5.0


@dataclass(frozen=True)
class ProblemClass:
    """A class of problems and the solvers that may be the fastest on it."""

    name: str  #: as in the printed table
    model: Callable[..., mo.Model]  #: makes the model of a size
    sizes: tuple[tuple[float, ...], ...]  #: arguments of ``model``; the first size warms the solvers up
    solvers: tuple[str, ...]  #: names of solvers


def dense(n: int, p: int, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a constant, a binary column and Gaussian ones, labels by a noisy hyperplane."""
    rng = np.random.default_rng([n, p])
    X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    X[:, 0] = 1.0
    X[:, -1] = np.sign(X[:, -1])
    return X, np.where(X @ w + noise * np.sqrt(p) * rng.normal(size=n) > 0.0, 1.0, -1.0)


def text(n: int, p: int, percent: float) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of unit length with words by Zipf's law, labels by a noisy hyperplane."""
    rng = np.random.default_rng([n, p])
    count = int(n * p * percent / 100.0)
    columns = np.minimum((p * rng.random(count) ** 3).astype(int), p - 1)
    X = sp.csr_matrix((1.0 + rng.random(count), (rng.integers(0, n, count), columns)), shape=(n, p))
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_array(sp.diags(1.0 / np.maximum(lengths, 1e-9)) @ X)
    score = X @ rng.normal(size=p)
    return X, np.where(score + 0.3 * np.std(score) * rng.normal(size=n) > 0.0, 1.0, -1.0)


def _sparse(n: int, p: int, k: int) -> mo.Model:
    return mo.Margin(*dense(n, p), loss="hinge", regulariser="half-l2", sample_weight=0.1, subject_to=[mo.at_most(k).nonzero])


def _classes(n: int, p: int, classes: int) -> mo.Model:
    rng = np.random.default_rng([n, p, classes])
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p - 1))])
    scores = X @ rng.normal(size=(p, classes)) + 0.5 * np.sqrt(p) * rng.normal(size=(n, classes))
    return mo.MulticlassSVM(X, scores.argmax(axis=1), "crammer-singer", 1.0)


def _kernel(model: Callable[..., mo.Model]) -> Callable[[int, int], mo.Model]:
    return lambda n, p: model(*dense(n, p), 1.0, mo.RBF(1.0 / p))


CLASSES = (
    ProblemClass(
        "hinge", lambda n, p: mo.HingeSVM(*dense(n, p), 2.0),
        ((200, 5), (1000, 10), (500, 100), (1000, 100), (5000, 20), (20000, 20), (1000, 300)),
        ("piqp", "clarabel", "linear-newton"),
    ),
    ProblemClass(
        "hinge, text", lambda n, p, percent: mo.HingeSVM(*text(n, p, percent), 2.0),
        ((300, 500, 2.0), (1000, 500, 2.0), (1000, 2000, 1.0), (2000, 2000, 1.0), (5000, 4000, 0.5)),
        ("piqp", "clarabel", "linear-newton"),
    ),
    ProblemClass(
        "squared hinge", lambda n, p: mo.Margin(*dense(n, p), loss="squared-hinge", regulariser="half-l2"),
        ((200, 5), (1000, 10), (1000, 100), (5000, 20)), ("piqp", "clarabel", "linear-newton"),
    ),
    ProblemClass("hinge, kernel", _kernel(mo.L1SVMDual), ((100, 5), (400, 5), (1000, 20)), ("piqp", "clarabel", "smo-box")),
    ProblemClass(
        "squared hinge, kernel", _kernel(mo.L2SVMDual), ((100, 5), (400, 5), (1000, 20)), ("auto-simplex", "smo", "mfw", "piqp")
    ),
    ProblemClass(
        "several classes", _classes, ((150, 5, 3), (500, 20, 3), (500, 20, 10), (1000, 50, 10)), ("piqp", "multiclass-ascent"),
    ),
    ProblemClass(
        "conic", lambda n, p: mo.ConicSVM(*dense(n, p), 1.0), ((50, 4), (200, 5), (200, 10)), ("conic-ipm", "clarabel"),
    ),
    ProblemClass(
        "0-1", lambda n, p: mo.ZeroOneSVM(*dense(n, p), 1.0), ((20, 3), (40, 3), (60, 3), (40, 5)),
        ("zero-one-bb", "scip"),
    ),
    ProblemClass(
        "at most k features", _sparse, ((100, 4, 2), (200, 6, 3), (100, 10, 3), (200, 20, 3), (300, 40, 4)),
        ("sparse-bb", "margin-bb", "scip"),
    ),
)  # fmt: skip


def processor_seconds(model: mo.Model, solver: str, limit: float) -> float:
    """Return processor seconds to a certified gap of `TOL`; infinite where the limit came first or the solver cannot."""
    best = np.inf
    for _ in range(2):  # the first run of a size may compile
        begin = time.process_time()
        try:
            result = mo.solve(model, solver, tol=TOL, time_limit=limit)
        except mo.errors.MarginoptError:
            return np.inf
        if result.status is not mo.Status.OPTIMAL or result.gap is None or result.gap > 2.0 * TOL:
            return np.inf
        best = min(best, time.process_time() - begin)
        if best > _LONG:
            break
    return best


def cells(limit: float) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield the name, the choice of `auto` and the seconds of every solver, for each class and size."""
    for kind in CLASSES:
        for solver in kind.solvers:  # imports and compiled loops
            processor_seconds(kind.model(*kind.sizes[0]), solver, limit)
        for size in kind.sizes:
            model = kind.model(*size)
            chosen = choose_solver(model, Options())[0]
            solvers = dict.fromkeys((*kind.solvers, chosen))
            seconds = {solver: processor_seconds(model, solver, limit) for solver in solvers}
            yield f"{kind.name} {' × '.join(f'{number:,g}' for number in size)}", chosen, seconds


def main() -> None:
    """Print a row a cell, and the share of cells where `auto` is within twice the best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0)
    warnings.simplefilter("ignore")
    within, count = 0, 0
    print("| problem | auto | over the best | processor seconds |\n| --- | --- | --- | --- |")
    for name, chosen, seconds in cells(parser.parse_args().limit):
        best = min(seconds.values())
        ratio = (seconds[chosen] + _EQUAL) / (best + _EQUAL)
        within, count = within + (ratio <= 2.0), count + 1
        shown = ", ".join(
            f"{solver} {'-' if np.isinf(s) else f'{s:.2g}'}" for solver, s in sorted(seconds.items(), key=lambda c: c[1])
        )
        print(f"| {name} | {chosen} | {ratio:.2g} | {shown} |", flush=True)
    print(f"\n`auto` is within twice the best on {within} of {count} cells.")


if __name__ == "__main__":
    main()
