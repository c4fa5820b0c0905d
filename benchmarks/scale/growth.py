"""Largest problem of each model in a minute and four gigabytes of one processor: n doubles until either is exceeded.

    python benchmarks/scale.py growth                        # all models below
    python benchmarks/scale.py growth --models conic --seconds 20

*conic*: `ConicSVM` by `conic-ipm`, 10 features, a twentieth of outliers; *clarabel* and *scs*: the same, called directly with
the leanest statement known to us (benchmarks/conic_peers.py), to 1e-8 and 1e-7. *npsvcpp*: `KernelNPSVC`, RBF, orientation
"rest", four overlapping classes of 20 features; *nystroem*: the same with 500 Nyström components. *l2-rbf*: `L2SVMDual` by
`smo`, 20 features, RBF, C = 1, to 1e-2. Every size is a process of its own with one thread, after a small problem of its kind;
"MB" is the most that it held, the interpreter included, and the memory limit is one of address space. The gap is the relative
one of the certificate (of a peer's answer made after its time); for NPSVC++ of the classes' problems with the features as they
are in the end.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from cells import growth, in_process, row_of, spent

#: The relative gap of an answer, asked for after its time.
Gap: TypeAlias = Callable[[], float]

#: Sizes beyond which an effort does not go; the others end where seconds or memory do.
LARGEST = {"tiny": 0, "quick": 10_000}


def conic_model(n: int) -> Any:
    """The problem."""
    import marginopt as mo

    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = 0.5 * rng.standard_normal((n, 10)) + 0.2 * y[:, None]
    y[: n // 20] *= -1.0
    return mo.ConicSVM(np.column_stack([np.ones(n), X]), y, 0.05)


def conic(n: int) -> Gap:
    """By `conic-ipm`."""
    import marginopt as mo

    result = mo.solve(conic_model(n), "conic-ipm", threads=1)
    return lambda: result.certificate.gap


def conic_peer(peer: str, n: int) -> Gap:
    """By Clarabel or SCS, in the coordinates in which the penalty is a norm."""
    from conic_agreement import TOLERANCE, certified_values
    from conic_peers import PEERS

    from marginopt.models.conic_bound import coordinates
    from marginopt.models.views import ConicProblem

    problem = conic_model(n).view(ConicProblem)
    problem = replace(problem, A=coordinates(problem.A, problem.metric).rows, metric=None)
    result = next(iter(PEERS[peer](problem.A, None, problem.lam, TOLERANCE[peer])))

    def gap() -> float:
        objective, bound = certified_values(problem, result)
        return (objective - bound) / abs(objective)

    return gap


def npsvcpp(n: int, **problem: object) -> Gap:
    """The largest gap of the classes' problems."""
    import marginopt as mo

    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    X = rng.standard_normal((n, 20)) + 0.7 * rng.standard_normal((4, 20))[y]
    svc = mo.estimators.KernelNPSVC(orientation="rest", random_state=0, **problem).fit(X, y)
    return lambda: svc.certificate_.gap


def nystroem(n: int) -> Gap:
    return npsvcpp(n, approximation="nystroem", components=min(500, n // 2))


def l2_rbf(n: int) -> Gap:
    """By `smo`."""
    import marginopt as mo

    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, 20))
    X[:, :5] += 0.55 * y[:, None]
    result = mo.solve(mo.L2SVMDual(X, y, 1.0, mo.RBF("frank-wolfe")), "smo", tol=1e-2, threads=1, memory_limit=2e9)
    return lambda: result.certificate.gap


#: What is run, and the least size.
MODELS: dict[str, tuple[Callable[[int], Gap], int]] = {
    "conic": (conic, 10_000),
    "clarabel": (partial(conic_peer, "clarabel"), 10_000),
    "scs": (partial(conic_peer, "scs"), 1_000),
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
    before = {what: resource.getrlimit(what) for what in (resource.RLIMIT_CPU, resource.RLIMIT_AS)}
    allowed = (int(used + case["seconds"]) + 1, int(case["gigabytes"] * 2**30))
    for (what, (_, most)), soft in zip(before.items(), allowed, strict=True):
        resource.setrlimit(what, (soft, most))
    gap = run(case["n"])
    row = spent(begin, used)
    for what, limits in before.items():
        resource.setrlimit(what, limits)
    return row | {"gap": float(gap())}


def table(a: argparse.Namespace) -> None:
    print("| model | n | seconds | processor s | MB | gap | |\n|---|---|---|---|---|---|---|")
    rows = []
    for name in a.models:
        n, most = MODELS[name][1], LARGEST.get(a.effort, np.inf)
        while True:
            asked = {"model": name, "n": n, "seconds": a.seconds, "gigabytes": a.gigabytes, "limit": a.limit}
            row = in_process("growth", asked)
            print(row_of([name, f"{n:,}"], row), flush=True)
            rows += [((name,), n, row["cpu"])] if "cpu" in row else []
            n *= 2
            if "cpu" not in row or n > most:
                break
    print(growth(["model"], rows))
