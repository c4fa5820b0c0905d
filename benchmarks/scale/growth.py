"""How far a model goes in a minute and four gigabytes of one processor: n doubles until either is not enough.

    python benchmarks/scale/growth.py                        # all models below
    python benchmarks/scale/growth.py conic --seconds 20

*conic*: `ConicSVM` by `conic-ipm`, 10 features, a twentieth of outliers. *npsvcpp*: `KernelNPSVC`, RBF, orientation "rest", four
overlapping classes of 20 features; *nystroem*: the same with 500 Nyström components. *l2-rbf*: `L2SVMDual` by `smo`, 20 features,
RBF, C = 1, to 1e-2. Every size is a process of its own with one thread, after a small problem of its kind; "MB" is the most that
it held, the interpreter included, and the memory limit is one of address space. The gap is the relative one of the certificate;
for NPSVC++ of the classes' problems with the features as they are in the end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


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


def case(name: str, n: int, seconds: float, gigabytes: float) -> dict[str, float]:
    """One size, in this process."""
    run, _ = MODELS[name]
    run(200)
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + seconds) + 1, int(used + seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30),) * 2)
    found = run(n)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return {"seconds": time.process_time() - used, "MB": peak, "gap": found}


def table(name: str, seconds: float, gigabytes: float) -> None:
    n, rows = MODELS[name][1], []
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    while True:
        command = [sys.executable, __file__, name, "--n", str(n), "--seconds", str(seconds), "--gigabytes", str(gigabytes)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:] if done.returncode > 0 else [f"more than {seconds:g} processor seconds"]
            print(f"| {name} | {n:,} | | | | {said[0][:110] if said else done.returncode} |", flush=True)
            break
        row = json.loads(done.stdout.strip().splitlines()[-1])
        rows.append((n, row["seconds"]))
        print(f"| {name} | {n:,} | {row['seconds']:.2f} | {row['MB']:.0f} | {row['gap']:.1e} | |", flush=True)
        n *= 2
    if len(rows) > 2:
        sizes, spent = np.array(rows).T
        print(f"{name}: processor seconds grow as n to the {np.polyfit(np.log(sizes), np.log(spent), 1)[0]:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", choices=[[], *MODELS], help="all of them where none is given")
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of processor time")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    a = parser.parse_args()
    if a.n is not None:
        print(json.dumps(case(a.models[0], a.n, a.seconds, a.gigabytes)))
        return
    print("| model | n | processor s | MB | gap | |\n|---|---|---|---|---|---|")
    for name in a.models or MODELS:
        table(name, a.seconds, a.gigabytes)


if __name__ == "__main__":
    main()
