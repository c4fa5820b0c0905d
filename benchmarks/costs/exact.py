"""Nodes and processor seconds of the exact searches on a few fixed instances, alone or paired with another checkout.

    python benchmarks/costs/exact.py                              # this checkout
    python benchmarks/costs/exact.py --against OTHER/bin/python   # both, in turn; the ratio of the least times

Each round is a process of its own with one thread. A search has a node limit, so both checkouts do the same work where the trees
are the same; the last column is a digest of the incumbent, the bound and the proof log.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import marginopt as mo

#: Environment of a round: one thread.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def points(n: int, p: int, seed: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian points with a column of ones, and labels of which a share is flipped."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    y = np.where(X @ rng.normal(size=p + 1) > 0.0, 1.0, -1.0)
    return X, np.where(rng.random(n) < noise, -y, y)


def instances() -> Iterator[tuple[str, Callable[[], mo.Model], str, dict[str, object]]]:
    """Yield the name, the model, the solver and its options of every instance."""
    yield "boxes", lambda: mo.ZeroOneSVM(*points(200, 4, 0), lam=2.0), "zero-one-bb", {"engine": "boxes"}
    yield "boxes, proof", lambda: mo.ZeroOneSVM(*points(100, 3, 1), lam=2.0), "zero-one-bb", {"engine": "boxes", "proof": ""}
    yield "conflicts", lambda: mo.ZeroOneSVM(*points(80, 8, 2), lam=2.0), "zero-one-bb", {"engine": "conflicts"}
    yield (
        "conflicts, proof",
        lambda: mo.ZeroOneSVM(*points(45, 6, 3), lam=2.0),
        "zero-one-bb",
        {"engine": "conflicts", "proof": ""},
    )
    yield "ramp", lambda: mo.RampSVM(*points(120, 2, 4), lam=2.0), "margin-bb", {}
    yield "ramp, proof", lambda: mo.RampSVM(*points(60, 2, 5), lam=2.0), "margin-bb", {"proof": ""}
    yield "ramp in space", lambda: mo.RampSVM(*points(100, 4, 6), lam=2.0), "margin-bb", {}
    yield "scores", scores, "supports-bb", {}
    yield "scores, proof", scores, "supports-bb", {"proof": "", "branching": "signs"}
    yield "scores by pairs", lambda: scores(60, 5), "supports-bb", {"branching": "pairs"}


def scores(n: int = 200, d: int = 8) -> mo.Model:
    """Return a scoring system of binary features."""
    rng = np.random.default_rng(7)
    X = (rng.random((n, d)) < 0.4).astype(float)
    y = np.where(X @ rng.integers(-3, 4, size=d) + 2.0 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return mo.ScoringSystem(np.column_stack([np.ones(n), X]), y, (-5, 5), C0=0.005)


def measure(node_limit: int) -> dict[str, tuple[int, float, str]]:
    """Return nodes, processor seconds and digest of every instance."""
    results = {}
    for name, build, solver, options in instances():
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            native = {key: str(log) if key == "proof" else value for key, value in options.items()}
            model = build()
            mo.solve(model, solver, node_limit=2, threads=1, **{k: v for k, v in native.items() if k != "proof"})  # compiles
            begin = time.process_time()
            result = mo.solve(model, solver, node_limit=node_limit, threads=1, **native)
            seconds = time.process_time() - begin
            text = f"{result.objective!r} {result.bound!r} {result.nodes}".encode() + (log.read_bytes() if log.exists() else b"")
            results[name] = (int(result.nodes or 0), seconds, hashlib.sha256(text).hexdigest()[:12])
    return results


def round_of(python: str, node_limit: int) -> dict[str, tuple[int, float, str]]:
    """Return the measurements of one process of a checkout."""
    command = [python, __file__, "--json", "--nodes", str(node_limit)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print a table, or one round as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", help="Python of another checkout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps(measure(arguments.nodes)))
        return
    pythons = [sys.executable, *([arguments.against] if arguments.against else [])]
    rounds = [[round_of(python, arguments.nodes) for python in pythons] for _ in range(arguments.rounds)]
    for name in rounds[0][0]:
        columns = []
        for k in range(len(pythons)):
            nodes, _, digest = rounds[0][k][name]
            columns.append((nodes, min(one[k][name][1] for one in rounds), digest))
        text = "   ".join(f"{nodes:8d} nodes {seconds:8.3f} s {digest}" for nodes, seconds, digest in columns)
        print(f"{name:18s} {text}" + (f"   ratio {columns[0][1] / columns[1][1]:.3f}" if arguments.against else ""))


if __name__ == "__main__":
    main()
