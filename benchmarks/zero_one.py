"""The exact 0-1 solver beside the published table and beside Gurobi and SCIP.

    python benchmarks/zero_one.py brooks  [--published hard_margin_benders.csv] [--limit 60] [--n 60 100] [--d 2 5] [--C 1 10]
    python benchmarks/zero_one.py clusters [--n 60 100 190] [--p 2 3] [--sigma .2 .5 1] [--lam 1 10 100] [--seeds 5]
                                           [--rivals gurobi scip] [--limit 60]

``brooks`` needs the archive brooks/set-a.tar.bz2 in the directory that MARGINOPT_DATA names: 60 training sets of type A, free
intercept, ½||w||² + C Σz. ``clusters`` uses the conic paper's generator; the rivals get the big-M form with M tightened by our
own optimum: their best case. Gurobi's restricted licence takes n + p + 1 ≤ 200. One thread each.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import time
from pathlib import Path

import numpy as np

from marginopt import instances
from marginopt.errors import MarginoptError
from marginopt.models.zero_one import ZeroOneSVM
from marginopt.solvers.api import solve
from marginopt.solvers.result import Result

CONSTANTS = (1.0, 10.0, 100.0, 1e3, 1e4)


def warm_up() -> None:
    """Compile everything before anything is timed."""
    for intercept, engine in itertools.product(("free", "penalised"), ("boxes", "conflicts")):
        data = instances.gaussian_clusters(30, 2, 0.5, rng=0)
        solve(ZeroOneSVM(data.X, data.y, 3.0, intercept=intercept), "zero-one-bb", engine=engine)


def gap_of(result: Result) -> float:
    """Relative gap of a result's own bound."""
    bound = result.bound if result.bound is not None else -math.inf
    return max((result.objective - bound) / max(abs(result.objective), 1e-300), 0.0)


def published_table(path: Path | None) -> dict[tuple[int, int, float], dict[str, str]]:
    if path is None:
        return {}
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == "A"]
    return {(int(row["n"]), int(row["d"]), float(row["C"])): row for row in rows}


def brooks(args: argparse.Namespace) -> None:
    """One line for each (n, d, C): ours beside combinatorial Benders' cuts (600 s) where the table is given."""
    table = published_table(args.published)
    print(
        f"{'n':>4} {'d':>3} {'C':>7} | ours: proven  mean UB      mean LB      gap%   mean s   max s   nodes"
        " | Benders: proven  mean UB   gap%"
    )
    total = {"ours": 0, "published": 0, "sets": 0}
    for n, d in itertools.product(args.n, args.d):
        sets = list(instances.brooks(n, d))
        for C in args.C:
            upper, lower, seconds, nodes, proven = [], [], [], [], 0
            for data in sets:
                model = ZeroOneSVM(np.column_stack([np.ones(n), data.X]), data.y, 2.0 * C, intercept="free")
                start = time.perf_counter()
                result = solve(model, "zero-one-bb", time_limit=args.limit, threads=1, tol=args.tol)
                seconds.append(time.perf_counter() - start)
                upper.append(result.objective / 2)
                lower.append((result.bound or 0.0) / 2)
                nodes.append(result.nodes or 0)
                proven += gap_of(result) <= args.tol
            gaps = [100 * (u - b) / u for u, b in zip(upper, lower, strict=True)]
            line = (
                f"{n:>4} {d:>3} {C:>7g} | {proven:>8}/5 {np.mean(upper):>12.4f} {np.mean(lower):>12.4f} {np.mean(gaps):>7.3f}"
                f" {np.mean(seconds):>8.1f} {max(seconds):>7.1f} {int(np.mean(nodes)):>7}"
            )
            row = table.get((n, d, C))
            if row is not None:
                upper_there, gap_there = float(row["benders_mean_upper"]), row["benders_mean_gap_pct"]
                line += f" | {row['benders_proven_of_5']:>8}/5 {upper_there:>12.4f} {gap_there:>8}"
                total["published"] += int(row["benders_proven_of_5"])
            total["ours"] += proven
            total["sets"] += len(sets)
            print(line, flush=True)
    print(f"proven: ours {total['ours']} of {total['sets']}" + (f", published {total['published']}" if table else ""))


def rival_seconds(name: str, model: ZeroOneSVM, args: argparse.Namespace) -> tuple[float, float]:
    """(seconds, gap) of a general solver; NaN where it cannot take the model."""
    start = time.perf_counter()
    try:
        result = solve(model, name, time_limit=args.limit, threads=1, tol=args.tol)
    except MarginoptError as error:
        print(f"      {name}: {str(error).splitlines()[0][:120]}")
        return math.nan, math.nan
    return time.perf_counter() - start, gap_of(result)


def clusters(args: argparse.Namespace) -> None:
    """One line for each instance, then geometric means of the ratios where both prove."""
    ratios: dict[str, list[float]] = {name: [] for name in args.rivals}
    heads = "".join(f" | {name:>8}: s     gap" for name in args.rivals)
    print(f"{'n':>5} {'p':>3} {'sigma':>5} {'outliers':>9} {'lam':>6} {'seed':>4} | ours: s     gap     nodes  engine   {heads}")
    for n, p, sigma, outliers, lam, seed in itertools.product(
        args.n, args.p, args.sigma, args.outliers, args.lam, range(args.seeds)
    ):
        data = instances.gaussian_clusters(n, p, sigma, outliers, rng=seed)
        start = time.perf_counter()
        ours = solve(ZeroOneSVM(data.X, data.y, lam), "zero-one-bb", time_limit=args.limit, threads=1, tol=args.tol)
        seconds = time.perf_counter() - start
        line = (
            f"{n:>5} {p:>3} {sigma:>5g} {outliers:>9} {lam:>6g} {seed:>4} | {seconds:>8.2f} {gap_of(ours):>8.1e}"
            f" {ours.nodes or 0:>9}  {ours.details.get('engine', ''):<9}"
        )
        tight = ZeroOneSVM(data.X, data.y, lam, upper_bound=ours.objective * (1 + 1e-6))
        for name in args.rivals:
            theirs, gap = rival_seconds(name, tight, args)
            line += f" | {theirs:>9.2f} {gap:>8.1e}"
            if gap <= args.tol * 1.01 and gap_of(ours) <= args.tol:
                ratios[name].append(theirs / seconds)
        print(line, flush=True)
    for name, values in ratios.items():
        if values:
            mean = math.exp(sum(math.log(x) for x in values) / len(values))
            print(f"{name}: geometric mean of time ratio {mean:.1f} over {len(values)} instances that both prove")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("brooks")
    first.add_argument("--published", type=Path)
    first.add_argument("--n", type=int, nargs="+", default=[60, 100, 200, 500])
    first.add_argument("--d", type=int, nargs="+", default=[2, 5, 10])
    first.add_argument("--C", type=float, nargs="+", default=list(CONSTANTS))
    second = commands.add_parser("clusters")
    second.add_argument("--n", type=int, nargs="+", default=[60, 100, 190, 500, 1000, 2000])
    second.add_argument("--p", type=int, nargs="+", default=[2, 3, 5, 10])
    second.add_argument("--sigma", type=float, nargs="+", default=[0.2, 0.5, 1.0])
    second.add_argument("--outliers", nargs="+", default=["none", "clustered"])
    second.add_argument("--lam", type=float, nargs="+", default=[1.0, 3.0, 10.0, 30.0, 100.0])
    second.add_argument("--seeds", type=int, default=5)
    second.add_argument("--rivals", nargs="*", default=[])
    for command in (first, second):
        command.add_argument("--limit", type=float, default=60.0)
        command.add_argument("--tol", type=float, default=1e-6)
    args = parser.parse_args()
    warm_up()
    brooks(args) if args.command == "brooks" else clusters(args)


if __name__ == "__main__":
    main()
