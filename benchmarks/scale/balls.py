"""The smallest ball of Gaussian points: `mo.MEBDual` by `smo` to a relative gap of 1e-6, MiniballCpp and miniball.

MiniballCpp (Gärtner's exact algorithm) comes by cyminiball, miniball is Welzl's algorithm in Python. R is the radius of the ball
around a solver's centre that holds all points, recomputed; the gap is R² over our proved bound of it, less 1. A peer is stopped
at ``--limit`` processor seconds.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from cells import in_process, installed, row_of, spent

#: Points and features by effort: MiniballCpp is made for few features.
SIZES = {
    "tiny": ((200, 3),),
    "quick": ((10_000, 5), (10_000, 20), (20_000, 100)),
    "normal": ((100_000, 5), (100_000, 20), (20_000, 100), (100_000, 300)),
    "full": ((100_000, 5), (100_000, 20), (100_000, 100), (100_000, 1_000)),
}
PEERS = {"cyminiball": "cyminiball", "miniball": "miniball"}


def arguments(command: argparse.ArgumentParser) -> None:
    del command  # effort and limit, which all have


def table(a: argparse.Namespace) -> None:
    peers = installed(PEERS)
    print("| n | features | solver | seconds | processor s | MB | gap | R |\n|---|---|---|---|---|---|---|---|")
    for n, p in SIZES[a.effort]:
        bound = None
        for peer in ("smo", *peers):
            row = in_process("ball", {"n": n, "p": p, "peer": peer, "bound": bound, "limit": a.limit})
            bound = row.get("bound", bound)
            print(row_of([f"{n:,}", f"{p:,}", peer], row), flush=True)


def cell(case: dict[str, Any]) -> dict[str, Any]:
    solve = {"smo": _ours, "cyminiball": _compiled, "miniball": _python}[case["peer"]]
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


def _compiled(X: Any) -> tuple[Any, float | None]:
    import cyminiball

    return cyminiball.compute(X)[0], None


def _python(X: Any) -> tuple[Any, float | None]:
    import miniball

    return miniball.get_bounding_ball(X)[0], None
