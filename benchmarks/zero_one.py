"""The exact 0-1 solver beside the published table, and beside Gurobi and SCIP.

    python benchmarks/zero_one.py brooks  [--published hard_margin_benders.csv] [--limit 60] [--n 60 100] [--d 2 5] [--C 1 10]
    python benchmarks/zero_one.py clusters [--n 60 100 190] [--p 2 3] [--sigma .2 .5 1] [--lam 1 10 100] [--seeds 5]
                                           [--rivals gurobi scip] [--forms tight indicator strengthened] [--out rows.csv]
    python benchmarks/zero_one.py summary rows.csv      shares proven, performance profile, ratios, growth
    python benchmarks/zero_one.py targets               the times that the solver is to meet
    python benchmarks/zero_one.py real                  immunotherapy, pima, the strongest features of breast-ljubljana

All take --limit (60 s; 600 for the long run), --tol and --threads (1 by default, 0: all).

``brooks`` needs the archive brooks/set-a.tar.bz2 in the directory that MARGINOPT_DATA names: 60 training sets of type A, free
intercept, ½||w||² + C Σz. ``clusters`` uses the conic paper's generator; the rivals get M tightened by our own optimum ("tight"),
which is their best case, indicator constraints, or the strengthened encoding with the same incumbent (its preparation is not
counted). Gurobi's restricted licence takes n + p + 1 ≤ 200. Rows go to ``--out`` as they come; what is there is not run again.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import zero_one_summary

from marginopt import instances
from marginopt.errors import MarginoptError
from marginopt.models.zero_one import ZeroOneSVM
from marginopt.relaxations import strengthen
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
                result = solve(model, "zero-one-bb", time_limit=args.limit, threads=args.threads or None, tol=args.tol)
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


FIELDS = ("n", "p", "sigma", "outliers", "lam", "seed", "solver", "form", "threads", "seconds", "gap", "nodes", "objective")
KEY = FIELDS[:9]


def instances_of(args: argparse.Namespace) -> Iterator[tuple[tuple[object, ...], ZeroOneSVM]]:
    """The grid: what identifies each instance, and the model."""
    grid = itertools.product(args.n, args.p, args.sigma, args.outliers, args.lam, range(args.seeds))
    for n, p, sigma, outliers, lam, seed in grid:
        data = instances.gaussian_clusters(n, p, sigma, outliers, rng=seed)
        yield (n, p, sigma, outliers, lam, seed), ZeroOneSVM(data.X, data.y, lam)


def timed(name: str, model: ZeroOneSVM, args: argparse.Namespace, start: object = None) -> tuple[float, Result | None]:
    """Seconds and the result; None where the solver cannot take the model."""
    begin = time.perf_counter()
    try:
        result = solve(model, name, time_limit=args.limit, threads=args.threads or None, tol=args.tol, start=start)
    except MarginoptError as error:
        print(f"      {name}: {str(error).splitlines()[0][:120]}")
        return math.nan, None
    return time.perf_counter() - begin, result


def rival_model(form: str, model: ZeroOneSVM, ours: Result) -> ZeroOneSVM:
    """Their best case: everything that our optimum can tell them."""
    tight = ZeroOneSVM(model.X, model.y, model.lam, upper_bound=ours.objective * (1 + 1e-6))
    if form == "tight":
        return tight
    if form == "indicator":
        return ZeroOneSVM(model.X, model.y, model.lam, upper_bound=ours.objective * (1 + 1e-6), encoding="indicator")
    return strengthen(ZeroOneSVM(model.X, model.y, model.lam, incumbent=ours.values["w"]))


class Table:
    """Rows on the screen and, as they come, in a file; rows of an earlier run are kept and not run again."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.known: dict[tuple[str, ...], dict[str, str]] = {}
        if path is not None and path.exists():
            with path.open() as file:
                self.known = {tuple(row[name] for name in KEY): row for row in csv.DictReader(file)}
        elif path is not None:
            path.write_text(",".join(FIELDS) + "\n")

    def add(self, row: dict[str, object]) -> None:
        line = [f"{row[name]:.6g}" if isinstance(row[name], float) else str(row[name]) for name in FIELDS]
        print(" ".join(f"{value:>10}" for value in line), flush=True)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(",".join(line) + "\n")


def clusters(args: argparse.Namespace) -> None:
    """One row for each instance and solver."""
    table = Table(args.out)
    print(" ".join(f"{name:>10}" for name in FIELDS))
    for key, model in instances_of(args):
        names = [("zero-one-bb", "")] + [(rival, form) for rival in args.rivals for form in args.forms]
        keys = {pair: (*(f"{x:g}" if isinstance(x, float) else str(x) for x in key), *pair, str(args.threads)) for pair in names}
        missing = [pair for pair in names if keys[pair] not in table.known]
        if not missing:
            continue
        seconds, ours = timed("zero-one-bb", model, args)
        assert ours is not None
        for name, form in missing:
            result: Result | None = ours
            took = seconds
            if name != "zero-one-bb":
                theirs = rival_model(form, model, ours)
                took, result = timed(name, theirs, args, theirs.start if form == "strengthened" else None)
            figures: tuple[object, ...] = (math.nan, 0, math.nan)
            if result is not None:
                figures = (gap_of(result), result.nodes or 0, float(result.objective))
            cell = (*key, name, form, args.threads, took, *figures)
            table.add(dict(zip(FIELDS, cell, strict=True)))


#: (n, p, λ, seconds that it may take to a relative gap of 1e-4); twice that to 1e-6.
TARGETS = (
    *((200, 3, lam, 5.0) for lam in (1.0, 3.0, 10.0, 30.0, 100.0)),
    *((2000, 3, lam, 60.0) for lam in (1.0, 10.0, 100.0)),
    *((200, 5, lam, 60.0) for lam in (1.0, 10.0, 100.0)),
    *((100, 10, lam, 30.0) for lam in (1.0, 10.0, 100.0)),
)


def targets(args: argparse.Namespace) -> None:
    """Worst and median time over the seeds, σ and outliers, against what the solver is to meet."""
    print(f"{'n':>5} {'p':>3} {'lam':>5} {'tol':>6} {'target':>7} {'median':>8} {'worst':>8} {'proven':>8}  met")
    for n, p, lam, seconds in TARGETS:
        if n not in args.n or p not in args.p:
            continue
        for tol, allowed in ((1e-4, seconds), (1e-6, 2.0 * seconds)):
            runs = []
            for sigma, outliers, seed in itertools.product(args.sigma, args.outliers, range(args.seeds)):
                data = instances.gaussian_clusters(n, p, sigma, outliers, rng=seed)
                begin = time.perf_counter()
                model = ZeroOneSVM(data.X, data.y, lam)
                result = solve(model, "zero-one-bb", time_limit=1.5 * allowed, threads=args.threads or None, tol=tol)
                runs.append((time.perf_counter() - begin, gap_of(result) <= tol * 1.01))
            times = sorted(t for t, _ in runs)
            met = sum(proven and t <= allowed for t, proven in runs)
            print(
                f"{n:>5} {p:>3} {lam:>5g} {tol:>6.0e} {allowed:>7g} {times[len(times) // 2]:>8.2f} {times[-1]:>8.2f}"
                f" {sum(proven for _, proven in runs):>4}/{len(runs):<3}  {met}/{len(runs)}",
                flush=True,
            )


def real(args: argparse.Namespace) -> None:
    """Real sets, every point of them, standardised; all features, or those most correlated with the label."""
    print(f"{'set':<26} {'n':>5} {'p':>3} {'lam':>6} {'objective':>14} {'gap':>8} {'seconds':>8} {'nodes':>9}  violated wrong")
    for name, features in (("immunotherapy", (None,)), ("pima", (2, 3, 5, None)), ("breast-ljubljana", (2, 3, 5, 9))):
        try:
            data = instances.load(name).prepared()
        except MarginoptError as error:
            print(f"{name:<26} {str(error).splitlines()[0][:100]}")
            continue
        strength = np.abs((data.X[:, 1:] * data.y[:, None]).mean(axis=0) - data.X[:, 1:].mean(axis=0) * data.y.mean())
        for count, lam in itertools.product(features, args.lam):
            best = np.arange(strength.size) if count is None else np.sort(np.argsort(-strength, kind="stable")[:count])
            model = ZeroOneSVM(data.X[:, [0, *(1 + best)]], data.y, lam)
            seconds, result = timed("zero-one-bb", model, args)
            assert result is not None
            print(
                f"{name:<26} {len(data.y):>5} {best.size:>3} {lam:>6g} {result.objective:>14.8g} {gap_of(result):>8.1e}"
                f" {seconds:>8.2f} {result.nodes or 0:>9}  {int(result.summary['margin_violations']):>8}"
                f" {int(result.summary['misclassified']):>5}",
                flush=True,
            )


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
    second.add_argument("--lam", type=float, nargs="+", default=[1.0, 3.0, 10.0, 30.0, 100.0])
    second.add_argument("--rivals", nargs="*", default=[])
    second.add_argument("--forms", nargs="*", default=["tight"], choices=["tight", "indicator", "strengthened"])
    second.add_argument("--out", type=Path)
    third = commands.add_parser("targets")
    third.add_argument("--n", type=int, nargs="+", default=[100, 200, 2000])
    third.add_argument("--p", type=int, nargs="+", default=[3, 5, 10])
    third.add_argument("--sigma", type=float, nargs="+", default=[0.5, 1.0])
    for grid, seeds in ((second, 5), (third, 2)):
        grid.add_argument("--outliers", nargs="+", default=["none", "clustered"])
        grid.add_argument("--seeds", type=int, default=seeds)
    fourth = commands.add_parser("real")
    fourth.add_argument("--lam", type=float, nargs="+", default=[1.0, 10.0])
    for command in (first, second, third, fourth):
        command.add_argument("--limit", type=float, default=60.0)
        command.add_argument("--tol", type=float, default=1e-6)
        command.add_argument("--threads", type=int, default=1)
    last = commands.add_parser("summary")
    last.add_argument("file", type=Path)
    last.add_argument("--tol", type=float, default=1e-6)
    last.add_argument("--only-threads", help="rows of this many threads")
    args = parser.parse_args()
    if args.command == "summary":
        zero_one_summary.summarise(args.file, args.tol, args.only_threads)
        return
    warm_up()
    {"brooks": brooks, "clusters": clusters, "targets": targets, "real": real}[args.command](args)


if __name__ == "__main__":
    main()
