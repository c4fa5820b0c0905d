"""The L2-SVM with an RBF kernel at a million points: `smo` to a certified gap of 1e-2, peak memory, and growth with n.

The sets are Gaussian (20 features, C = 1, half of the points in the support), so that nothing of n² numbers fits.
``--effort full`` is the million, which takes hours of one processor (give ``--limit 20000``); ``--sizes`` asks for others. The
certificate is computed again by itself, in float64, after the solver's time. A stopped run cannot be continued: the low-rank
start begins with a model of the data and not with a point.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from cells import growth, in_process, row_of, spent

SIZES = {"tiny": (2_500, 3_000), "quick": (10_000, 20_000), "normal": (50_000, 100_000, 200_000), "full": (1_000_000,)}


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--sizes", type=int, nargs="+")
    command.add_argument("--cache-bytes", type=float, default=4e9, help="cache_bytes: of kernel values and of the low-rank model")
    command.add_argument("--threads", type=int, default=1)
    command.add_argument("--tol", type=float, default=1e-2)


def table(a: argparse.Namespace) -> None:
    print("| n | solver | seconds | processor s | MB | certified gap | |\n|---|---|---|---|---|---|---|")
    rows = []
    for n in a.sizes or SIZES[a.effort]:
        case = {"n": n, "memory": a.cache_bytes, "tol": a.tol, "limit": a.limit, "threads": a.threads}
        row = in_process("million", case)
        print(row_of([f"{n:,}", "smo"], row), flush=True)
        rows += [((what,), n, row[key]) for what, key in (("solving", "cpu"), ("certificate again", "certificate")) if key in row]
    print(growth(["work"], rows))


def cell(case: dict[str, Any]) -> dict[str, Any]:
    import marginopt as mo

    warnings.simplefilter("ignore")

    def run(n: int, limit: float | None) -> tuple[Any, Any]:
        rng = np.random.default_rng(0)
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        X = rng.standard_normal((n, 20))
        X[:, :5] += 0.55 * y[:, None]
        model = mo.L2SVMDual(X, y, 1.0, mo.RBF("frank-wolfe"))
        native = {"cache_bytes": int(case["memory"])}
        return model, mo.solve(model, "smo", tol=case["tol"], threads=case["threads"], time_limit=limit, **native)

    run(2_200, None)  # compiled code is loaded
    begin, cpu = time.perf_counter(), time.process_time()
    model, result = run(case["n"], case["limit"])
    row = spent(begin, cpu)
    model = mo.L2SVMDual(model.X, model.y, 1.0, model.kernel)  # which has kept no product
    again = time.process_time()
    gap = model.simplex.gap(result.values["a"]) / abs(model.simplex.objective(result.values["a"]))
    row["certificate"] = time.process_time() - again
    support = int((result.values["a"] > 0.0).sum())
    text = f"{result.status}; float64 gap {gap:.1e} again in {row['certificate']:.1f} s; {support:,} in the support"
    return row | {"gap": result.certificate.gap, "status": text}
