"""Box QPs of nonparallel classifiers and quadratics on the Stiefel manifold: ours and the peers side by side, one run.

    python benchmarks/npsvc.py --out out/npsvc.json
    python benchmarks/npsvc.py --only stiefel --sizes 1000 --tol 1e-6

Seconds are of the process (one thread, after a warm-up), so the ratios of one run are what counts. *Box QPs*: the dual of
TWSVM's class problem, ½λ'ZZ'λ - 1'λ over 0 ≤ λ ≤ c with m others of the class; the factorisation that gives Z (and ZZ' where a
peer wants that) is counted for everyone. Every peer is given the dual as its own interface takes it best (dense for PIQP) and
asked for the same relative gap; what it reached is recomputed. *Stiefel*: max Tr(P'HP) + 2Tr(P'E) from the same start to the same
relative Riemannian gradient; "gpi-svd" is the published iteration, polar factor by SVD, with the exact shift.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the threads are limited)
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

#: Clock of all times.
clock = time.process_time


# Box QPs.


def class_problem(kind: str, m: int, c: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return H and the rows G of TWSVM's problem for one class of m points against m others.

    ``kind`` is "linear", or "rbf" for 500 columns of the kernel as features.
    """
    from sklearn.datasets import make_classification

    X, y = make_classification(
        2 * m, n_features=60, n_informative=20, n_redundant=12, n_clusters_per_class=4, class_sep=1.5, flip_y=0.02,
        random_state=seed,
    )  # fmt: skip
    X = (X - X.mean(0)) / X.std(0)
    if kind == "rbf":
        chosen = X[:500]
        distances = np.maximum((X**2).sum(1)[:, None] + (chosen**2).sum(1) - 2 * X @ chosen.T, 0.0)
        X = np.exp(-distances / distances.mean())
    X = np.column_stack([X, np.ones(len(X))])
    A, B = X[y == 1], X[y == 0][:m]
    return A.T @ A + 1e-2 * np.eye(X.shape[1]), np.ascontiguousarray(B)


def box_peers(m: int, c: float, tol: float) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return the installed peers by name: functions from the dense ZZ' (m, m) to λ (m,)."""

    def clarabel(Q: np.ndarray) -> np.ndarray:
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tol
        rows = sp.vstack([sp.eye_array(m), -sp.eye_array(m)]).tocsc()
        solver = clarabel.DefaultSolver(
            sp.csc_array(np.triu(Q)), -np.ones(m), rows, np.r_[np.full(m, c), np.zeros(m)], [clarabel.NonnegativeConeT(2 * m)],
            settings,
        )  # fmt: skip
        return np.array(solver.solve().x)

    def piqp(Q: np.ndarray) -> np.ndarray:
        import piqp

        solver = piqp.DenseSolver()
        solver.settings.eps_abs, solver.settings.eps_rel = tol, tol
        solver.setup(Q, -np.ones(m), x_l=np.zeros(m), x_u=np.full(m, c))
        solver.solve()
        return np.array(solver.result.x)

    def osqp(Q: np.ndarray) -> np.ndarray:
        import osqp

        solver = osqp.OSQP()
        solver.setup(
            sp.csc_matrix(np.triu(Q)), -np.ones(m), sp.csc_matrix(sp.eye_array(m)), np.zeros(m), np.full(m, c), verbose=False,
            eps_abs=tol, eps_rel=tol, max_iter=20000,
        )  # fmt: skip
        return np.array(solver.solve().x)

    return {
        name: peer for name, peer in (("clarabel", clarabel), ("piqp", piqp), ("osqp", osqp)) if importlib.util.find_spec(name)
    }


def box_case(kind: str, m: int, c: float, tol: float, repeats: int) -> dict[str, Any]:
    """Return seconds and recomputed relative gaps of our solver and of every peer on one problem."""
    from marginopt.models.formulations.nonparallel.hinge_quadratic import HingeQuadratic
    from marginopt.models.formulations.nonparallel.quadratic_factors import HingeFactor
    from marginopt.solvers.box.descent import box_minimum

    H, G = class_problem(kind, m, c)
    m = len(G)
    ones = np.ones(m)
    judge = HingeQuadratic(HingeFactor(H, G), np.zeros(H.shape[0]), ones, c * ones, 0 * ones)

    def gap(lam: np.ndarray) -> float:
        lam = np.clip(lam, 0.0, c)
        value, bound = judge.value(judge.primal(lam)), judge.bound(None, {"margin": lam}).value
        return (value - bound) / max(abs(value), abs(bound))

    def ours() -> np.ndarray:
        model = HingeQuadratic(HingeFactor(H, G), np.zeros(H.shape[0]), ones, c * ones, 0 * ones)
        return box_minimum(model.box, None, tol)[0]

    def theirs(peer: Callable[[np.ndarray], np.ndarray]) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            Z = HingeFactor(H, G).Z
            return peer(Z @ Z.T)

        return run

    peers = {name: theirs(peer) for name, peer in box_peers(m, c, tol).items()}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in ("boxqp", *peers)}
    for _ in range(repeats):  # in turn, so that a busy machine slows everyone
        rounds["boxqp"].append(measure(ours, 7, gap))
        for name, run in peers.items():
            rounds[name].append(measure(run, 1, gap))
    rows = {}
    for name, runs in rounds.items():
        ratios = [run["seconds"] / direct["seconds"] for run, direct in zip(runs, rounds["boxqp"], strict=True)]
        rows[name] = {key: float(np.median([run[key] for run in runs])) for key in ("seconds", "reached")}
        rows[name] |= {"ratio": float(np.median(ratios)), "ratio_least": min(ratios), "ratio_largest": max(ratios)}
    return {"case": f"{kind} m={m} c={c:g}", "rows": rows}


def measure(run: Callable[[], np.ndarray], repeats: int, quality: Callable[[np.ndarray], float]) -> dict[str, float]:
    """Return the median processor seconds of ``run``, and the quality of its last point."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        point = run()
        seconds.append(clock() - start)
    return {"seconds": float(np.median(seconds)), "reached": quality(point)}


# Quadratics on the Stiefel manifold.


def stiefel_problem(kind: str, n: int, d: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return H (n, n), E (n, d) and a start (n, d).

    H is a Gaussian symmetric matrix ("indefinite"), negative definite (least squares, "negative"), or positive definite with
    decaying eigenvalues and a small E ("positive").
    """
    rng = np.random.default_rng(seed)
    if kind == "indefinite":
        A = rng.standard_normal((n, n))
        H, E = (A + A.T) / np.sqrt(2 * n), rng.standard_normal((n, d)) / np.sqrt(n)
    elif kind == "negative":
        X = rng.standard_normal((n, 2 * n)) * np.linspace(0.1, 2, n)[:, None]
        P = np.linalg.qr(rng.standard_normal((n, d)))[0]
        H, E = -(X @ X.T) / (2 * n), X @ (X.T @ P + 0.5 * rng.standard_normal((2 * n, d))) / (2 * n)
    else:
        X = rng.standard_normal((n, 2 * n)) / np.sqrt(np.arange(1, n + 1))[:, None]
        H, E = X @ X.T / (2 * n), 0.05 * rng.standard_normal((n, d)) / np.sqrt(n)
    return 0.5 * (H + H.T), E, np.linalg.qr(rng.standard_normal((n, d)))[0]


def stiefel_case(kind: str, n: int, d: int, tol: float, limit: float) -> dict[str, Any]:
    """Return seconds, iterations, stationarity and value of every method from the same start."""
    from marginopt.models import StiefelQP
    from marginopt.solvers.records import Options
    from marginopt.solvers.stiefel import GPI, BarzilaiBorwein, MomentumGPI, Pymanopt

    H, E, P = stiefel_problem(kind, n, d)
    model = StiefelQP(H, E)
    methods: dict[str, Any] = {"stiefel-bb": BarzilaiBorwein(), "gpi-momentum": MomentumGPI(), "gpi": GPI()}
    methods["gpi-svd"] = GPI(factor="svd")
    if importlib.util.find_spec("pymanopt"):
        methods["pymanopt-tr"], methods["pymanopt-cg"] = Pymanopt(), Pymanopt("conjugate-gradient")
    rows = {}
    for name, method in methods.items():
        start = clock()
        raw = method.run(model, Options(tol=tol, start={"P": P}, time_limit=limit))
        rows[name] = {
            "seconds": clock() - start, "iterations": raw.iterations, "reached": model.stationarity(raw.values["P"]),
            "value": model.problem.objective(raw.values["P"]), "status": raw.status.value,
        }  # fmt: skip
    for row in rows.values():
        row["ratio"] = row["seconds"] / rows["stiefel-bb"]["seconds"]
    return {"case": f"{kind} n={n} d={d}", "rows": rows}


# The run.


def show(case: dict[str, Any]) -> None:
    """Print the results of `box_case` or `stiefel_case`."""
    print(case["case"])
    for name, row in case["rows"].items():
        more = f"  iterations {row['iterations']:6d}  value {row['value']:.8g}  {row['status']}" if "iterations" in row else ""
        print(f"  {name:12s} {row['seconds']:9.3f} s  x{row['ratio']:8.1f}  reached {row['reached']:.1e}{more}", flush=True)


def main() -> None:
    """Run the cases and print their results; with --out write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("box", "stiefel"))
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000])
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each method on the manifold")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    threadpool_limits(1)
    cases: list[dict[str, Any]] = []
    for warm in ("linear", "rbf"):
        box_case(warm, 700, 1.0, arguments.tol, 1)
    stiefel_case("negative", 40, 3, 1e-4, 5.0)
    for size in arguments.sizes:
        if arguments.only != "stiefel":
            for kind in ("linear", "rbf"):
                for c in (1.0, 10.0):
                    cases.append(box_case(kind, size, c, arguments.tol, arguments.repeats))
                    show(cases[-1])
        if arguments.only != "box":
            for kind in ("indefinite", "negative", "positive"):
                for d in (9, 36):
                    cases.append(stiefel_case(kind, size, d, arguments.tol, arguments.limit))
                    show(cases[-1])
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        record = {"machine": platform.processor(), "python": platform.python_version(), "tol": arguments.tol, "cases": cases}
        arguments.out.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
