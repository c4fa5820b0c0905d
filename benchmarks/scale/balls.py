"""The smallest ball of Gaussian points: `mo.MEBDual` by `smo` to a relative gap of 1e-6, beside MiniballCpp.

MiniballCpp is Gärtner's own code of his exact algorithm, made for few features (``pip install MiniballCpp``; cyminiball binds the
same code and does not compile with NumPy 2). R is the radius of the ball around a solver's centre that holds all points,
recomputed; the gap is R² over our proved bound of it, less 1. A peer is stopped at ``--limit`` processor seconds.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from cells import growth, in_process, installed, row_of, spent

#: Points and features by effort.
SIZES = {
    "tiny": ((200, 3),),
    "quick": ((10_000, 5), (10_000, 20), (20_000, 100)),
    "normal": ((25_000, 20), (100_000, 5), (100_000, 20), (20_000, 100), (100_000, 300)),
    "full": ((25_000, 20), (50_000, 20), (100_000, 5), (100_000, 20), (25_000, 1_000), (50_000, 1_000), (100_000, 1_000)),
}
PEERS = {"MiniballCpp": "miniball"}


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--sizes", nargs="+", help="in place of the effort's, points and features: 100000x1000")


def table(a: argparse.Namespace) -> None:
    peers = installed(PEERS)
    print("| n | features | solver | seconds | processor s | MB | gap | R |\n|---|---|---|---|---|---|---|---|")
    sizes = [tuple(map(int, size.split("x"))) for size in a.sizes] if a.sizes else SIZES[a.effort]
    rows = []
    for n, p in sizes:
        bound = None
        for peer in ("smo", *peers):
            row = in_process("ball", {"n": n, "p": p, "peer": peer, "bound": bound, "limit": a.limit})
            bound = row.get("bound", bound)
            print(row_of([f"{n:,}", f"{p:,}", peer], row), flush=True)
            rows += [((f"{p:,}", peer), n, row["cpu"])] if "cpu" in row else []
    print(growth(["features", "solver"], rows))


def cell(case: dict[str, Any]) -> dict[str, Any]:
    solve = {"smo": _ours, "MiniballCpp": _theirs}[case["peer"]]
    solve(np.random.default_rng(1).standard_normal((50, case["p"] if case["peer"] == "smo" else 3)))  # code is loaded
    X = np.random.default_rng(0).standard_normal((case["n"], case["p"]))
    if case["peer"] != "smo":
        allowed = int(time.process_time() + case["limit"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 1))
    begin, cpu = time.perf_counter(), time.process_time()
    centre, bound = solve(X)
    row = spent(begin, cpu)
    radius = max(float(np.linalg.norm(X[k : k + 1000] - centre, axis=1).max()) for k in range(0, len(X), 1000))
    bound = case["bound"] if bound is None else bound
    return row | {"bound": bound, "gap": radius**2 / bound - 1.0, "status": f"{radius:.8f}"}


def _ours(X: Any) -> tuple[Any, float | None]:
    import marginopt as mo

    result = mo.solve(mo.MEBDual(X), "smo", tol=1e-6, threads=1)
    return X.T @ result.values["a"], float(result.objective)


def _theirs(X: Any) -> tuple[Any, float | None]:
    from miniball import Miniball

    return np.asarray(Miniball(X).center()), None
