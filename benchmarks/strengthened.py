"""Strengthened against big-M encodings of the 0-1 loss in SCIP: nodes and time over data seeds and solver seeds.

    python benchmarks/strengthened.py --store strengthened.db [--n 40 60] [--p 2 3] [--sigma .2 .5] [--lam .2 .5 1]
                                      [--outliers clustered] [--data-seeds 10] [--solver-seeds 3] [--limit 120]
                                      [--variants bigm fixed strengthened strengthened-fixed]

Every variant starts from the same incumbent (`relaxations.heuristic`) and has M tightened by it:

- ``bigm``: Conic (3);                     ``fixed``: the same with `relaxations.Fixing` at γ*, M and z from the dual point;
- ``strengthened``: `relaxations.strengthen` (γ*, row with M for every point);  ``strengthened-fixed``: the same with `Fixing`.

Time is SCIP's; that of the SDP and of the fixing is told apart. Trivial optima (w a multiple of the intercept) are set apart: on
them every method is quick or the instance says little. Shifted geometric means: 10 nodes, 1 second. Runs that reach the limit
count with what they had and are told. Every run is kept in the store, so an interrupted benchmark continues.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from marginopt import instances
from marginopt.models import ZeroOneSVM
from marginopt.relaxations import CellStore, fix_variables, heuristic, strengthen
from marginopt.relaxations.reduction import restated
from marginopt.solvers import solve

VARIANTS = ("bigm", "fixed", "strengthened", "strengthened-fixed")
Record = dict[str, Any]


def shifted(values: Sequence[float], shift: float) -> float:
    """Shifted geometric mean."""
    return float(np.exp(np.mean(np.log(np.asarray(values) + shift))) - shift)


def prepared(n: int, p: int, sigma: float, lam: float, outliers: str, seed: int) -> tuple[ZeroOneSVM, ZeroOneSVM, float]:
    """Big-M model with incumbent, strengthened model, seconds of strengthening."""
    data = instances.gaussian_clusters(n, p, sigma, outliers=outliers, rng=seed)
    model = ZeroOneSVM(data.X, data.y, lam)
    w, _ = heuristic(model, seed)
    model = restated(model, incumbent=w)
    begin = time.perf_counter()
    strong = strengthen(model, rounds=0)
    return restated(model, incumbent=strong.incumbent), strong, time.perf_counter() - begin


def one(variant: str, model: ZeroOneSVM, strong: ZeroOneSVM, solver: str, seed: int, limit: float) -> Record:
    """One solve."""
    chosen = strong if variant.startswith("strengthened") else model
    begin = time.perf_counter()
    target: Any = chosen
    if variant.endswith("fixed"):
        fixing = fix_variables(model)
        target = fixing.apply(chosen)
    before = time.perf_counter() - begin
    result = solve(target, solver, start=chosen.start, seed=seed, time_limit=limit, threads=1, tol=1e-6)
    w = result.values["w"]
    return {
        "status": str(result.status),
        "nodes": result.nodes,
        "seconds": result.solve_seconds,
        "before": before,
        "objective": min(model.objective(w, tol=1e-6), model.incumbent_value),
        "bound": float(result.best_bound[0]),
        "root": result.details.get("root_bound"),
        "trivial": bool(np.linalg.norm(w[1:]) <= 1e-6 * max(1.0, np.linalg.norm(w))),
    }


def cell(args: argparse.Namespace, store: CellStore, where: tuple[int, int, float, float]) -> list[Record]:
    """All runs of one (n, p, σ, λ)."""
    n, p, sigma, lam = where
    found = []
    for data_seed in range(args.data_seeds):
        made: list[tuple[ZeroOneSVM, ZeroOneSVM, float]] = []
        for solver_seed, variant in itertools.product(range(args.solver_seeds), args.variants):
            parts = {"where": list(where), "outliers": args.outliers, "data": data_seed, "seed": solver_seed,
                     "variant": variant, "limit": args.limit, "solver": args.solver}  # fmt: skip

            def run(
                variant: str = variant, solver_seed: int = solver_seed, data_seed: int = data_seed, made: list[Any] = made
            ) -> tuple[Record, bool]:
                if not made:
                    made.append(prepared(n, p, sigma, lam, args.outliers, data_seed))
                model, strong, seconds = made[0]
                record = one(variant, model, strong, args.solver, solver_seed, args.limit)
                record["before"] += seconds if variant.startswith("strengthened") else 0.0
                return record, True

            record, _ = store.remember("strengthened", parts, run)
            found.append({**record, "variant": variant, "data": data_seed, "seed": solver_seed})
    return found


def told(args: argparse.Namespace, where: tuple[int, int, float, float], runs: list[Record]) -> str:
    """One line: means of the non-trivial instances, ratios to big-M."""
    by = {(r["data"], r["seed"], r["variant"]): r for r in runs}
    optima: dict[int, list[float]] = {}
    for r in runs:
        if r["status"] == "optimal":
            optima.setdefault(r["data"], []).append(r["objective"])
    spread = max((max(v) / min(v) - 1.0 for v in optima.values()), default=0.0)
    trivial = {
        d
        for d in range(args.data_seeds)
        if any(by[d, 0, v]["trivial"] and by[d, 0, v]["status"] == "optimal" for v in args.variants)
    }
    rest = [(d, s) for d in range(args.data_seeds) if d not in trivial for s in range(args.solver_seeds)]
    head = "| {} | {} | {:g} | {:g} | {} of {} |".format(*where, args.data_seeds - len(trivial), args.data_seeds)
    if not rest:
        return head + " all trivial |"
    base = None
    for variant in args.variants:
        runs_of = [by[d, s, variant] for d, s in rest]
        nodes, seconds = shifted([r["nodes"] for r in runs_of], 10.0), shifted([r["seconds"] for r in runs_of], 1.0)
        open_ = sum(r["status"] != "optimal" for r in runs_of)
        base = base or (nodes, seconds)
        text = f"{nodes:.0f} nodes, {seconds:.1f} s" + (f", {open_} open" if open_ else "")
        if variant != args.variants[0]:
            text += f" ({base[0] / max(nodes, 1e-9):.1f}x, {base[1] / max(seconds, 1e-9):.2f}x)"
        head += f" {text} |"
    return head + ("" if spread < 1e-5 else f" OPTIMA DIFFER by {spread:.1e} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True, help="file that keeps the runs (SQLite)")
    parser.add_argument("--n", type=int, nargs="+", default=[40, 60])
    parser.add_argument("--p", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--sigma", type=float, nargs="+", default=[0.2, 0.5])
    parser.add_argument("--lam", type=float, nargs="+", default=[0.2, 0.5, 1.0])
    parser.add_argument("--outliers", default="clustered")
    parser.add_argument("--data-seeds", type=int, default=10)
    parser.add_argument("--solver-seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--solver", default="scip")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    args = parser.parse_args()
    store = CellStore(args.store)
    print("| n | p | σ | λ | not trivial | " + " | ".join(args.variants) + " |")
    print("|---" * (5 + len(args.variants)) + "|")
    for where in itertools.product(args.n, args.p, args.sigma, args.lam):
        print(told(args, where, cell(args, store, where)), flush=True)


if __name__ == "__main__":
    main()
