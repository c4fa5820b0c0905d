"""How far a model goes in a minute and four gigabytes of one processor: n doubles until either is not enough.

    python benchmarks/scale.py growth                        # all models below
    python benchmarks/scale.py growth --models conic --seconds 20

*conic*: `ConicSVM` by `conic-ipm`, 10 features, a twentieth of outliers. *npsvcpp*: `KernelNPSVC`, RBF, orientation "rest", four
overlapping classes of 20 features; *nystroem*: the same with 500 Nyström components. *l2-rbf*: `L2SVMDual` by `smo`, 20 features,
RBF, C = 1, to 1e-2. Every size is a process of its own with one thread, after a small problem of its kind; "MB" is the most that
it held, the interpreter included, and the memory limit is one of address space. The gap is the relative one of the certificate;
for NPSVC++ of the classes' problems with the features as they are in the end.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cells import in_process, row_of, spent

#: Sizes beyond which an effort does not go; the others end where seconds or memory do.
LARGEST = {"tiny": 0, "quick": 10_000}


def conic(n: int) -> float:
    """The relative gap of the solution."""
    import marginopt as mo

    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = 0.5 * rng.standard_normal((n, 10)) + 0.2 * y[:, None]
    y[: n // 20] *= -1.0
    return gap(mo.solve(mo.ConicSVM(np.column_stack([np.ones(n), X]), y, 0.05), "conic-ipm", threads=1))


def gap(result: object) -> float:
    certificate = result.certificate  # type: ignore[attr-defined]
    return float(certificate.gap)


def npsvcpp(n: int, **given: object) -> float:
    """The largest gap of the classes' problems."""
    import marginopt as mo

    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    X = rng.standard_normal((n, 20)) + 0.7 * rng.standard_normal((4, 20))[y]
    svc = mo.KernelNPSVC(orientation="rest", random_state=0, **given).fit(X, y)
    return float(svc.certificate_.gap)


def nystroem(n: int) -> float:
    return npsvcpp(n, approximation="nystroem", components=min(500, n // 2))


def l2_rbf(n: int) -> float:
    """The relative gap of the solution."""
    import marginopt as mo

    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, 20))
    X[:, :5] += 0.55 * y[:, None]
    return gap(mo.solve(mo.L2SVMDual(X, y, 1.0, mo.RBF("frank-wolfe")), "smo", tol=1e-2, threads=1, memory_limit=2e9))


MODELS: dict[str, tuple[Callable[[int], float], int]] = {
    "conic": (conic, 10_000),
    "npsvcpp": (npsvcpp, 1000),
    "nystroem": (nystroem, 5000),
    "l2-rbf": (l2_rbf, 12_500),
}


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    command.add_argument("--seconds", type=float, default=60.0, help="of processor time")
    command.add_argument("--gigabytes", type=float, default=4.0)


def cell(case: dict[str, Any]) -> dict[str, Any]:
    """One size, in this process."""
    run, _ = MODELS[case["model"]]
    run(200)
    begin, used = time.perf_counter(), time.process_time()
    allowed = int(used + case["seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed + 1))
    resource.setrlimit(resource.RLIMIT_AS, (int(case["gigabytes"] * 2**30),) * 2)
    gap = run(case["n"])
    return spent(begin, used) | {"gap": gap}


def table(a: argparse.Namespace) -> None:
    print("| model | n | seconds | processor s | MB | gap | |\n|---|---|---|---|---|---|---|")
    for name in a.models:
        n, rows, most = MODELS[name][1], [], LARGEST.get(a.effort, np.inf)
        while True:
            asked = {"model": name, "n": n, "seconds": a.seconds, "gigabytes": a.gigabytes, "limit": a.limit}
            row = in_process("growth", asked)
            print(row_of([name, f"{n:,}"], row), flush=True)
            rows += [(n, row["cpu"])] if "cpu" in row else []
            n *= 2
            if "cpu" not in row or n > most:
                break
        if len(rows) > 2:
            sizes, spends = np.log(np.array(rows)).T
            print(f"{name}: processor seconds grow as n to the {np.polyfit(sizes, spends, 1)[0]:.2f}", flush=True)
