"""The exact 0-1 solver beside the published table, and beside Gurobi and SCIP.

    python benchmarks/zero_one.py brooks  [--published hard_margin_benders.csv] [--limit 60] [--n 60 100] [--d 2 5] [--C 1 10]
                                          [--sets 0 1] [--out rows.csv]
    python benchmarks/zero_one.py clusters [--n 60 100 190] [--p 2 3] [--sigma .2 .5 1] [--lam 1 10 100] [--seeds 5]
                                           [--rivals gurobi scip] [--forms tight indicator strengthened] [--out rows.csv]
    python benchmarks/zero_one.py targets [--only 200x3 100x10] [--seeds 5] [--tols 1e-4 1e-6] [--out rows.csv]
                                          the times that the solver is to meet
    python benchmarks/zero_one.py real    [--out rows.csv]       immunotherapy, pima, the strongest features of breast-ljubljana
    python benchmarks/zero_one.py slim    [--only breastcancer-best ...] [--limit 600] [--write DIR]
                                          scoring systems, MIPLIB's and their authors' other ones, by supports-bb; with --write
                                          their proofs, checked
    python benchmarks/zero_one.py miplib  [--only gsvm2rl5 ...] [--limit 120] [--write DIR]
                                          MIPLIB's gsvm2rl: best values, bounds, and with --write points for other readers
    python benchmarks/zero_one.py easy    [--only sonar ...] [--limit 5]
                                          separable data, a class given up, two features; beside SCIP and Gurobi
    python benchmarks/zero_one.py summary rows.csv [more.csv] [--published hard_margin_benders.csv]
                                          what the rows of any of them say: shares proven, agreement with the published table,
                                          performance profile, ratios, growth, targets met

All take --threads (1 by default, 0: all) and --out; all but ``targets`` --limit (60 s; 600 for the long run) and --tol. Rows go
to ``--out`` as they come; what is there is not run again, so that an interrupted run goes on, and several processes with a file
each (``--sets``, ``--only``, ``--n``) share the work; ``summary`` reads them together.

``brooks`` needs the archive brooks/set-a.tar.bz2 in the directory that MARGINOPT_DATA names: 60 training sets of type A, free
intercept, ½||w||² + C Σz. ``clusters`` uses the conic paper's generator; the rivals get M tightened by our own optimum ("tight"),
which is their best case, indicator constraints, or the strengthened encoding with the same incumbent (its preparation is not
counted). Gurobi's restricted licence takes n + p + 1 ≤ 200.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import zero_one_easy
import zero_one_miplib
import zero_one_slim
import zero_one_summary
import zero_one_tables
from zero_one_rows import BROOKS, CLUSTERS, REAL, TARGETS, Rows, word

from marginopt import instances
from marginopt.errors import MarginoptError
from marginopt.models.formulations.zero_one import ZeroOneSVM
from marginopt.relaxations import strengthen
from marginopt.solvers.certification.result import Result
from marginopt.solvers.solve import solve

#: Values of C in the published table.
CONSTANTS = (1.0, 10.0, 100.0, 1e3, 1e4)


def warm_up() -> None:
    """Solve small problems so that all loops are compiled before anything is timed."""
    for intercept, engine in itertools.product(("free", "penalised"), ("boxes", "conflicts")):
        data = instances.gaussian_clusters(30, 2, 0.5, seed=0)
        solve(ZeroOneSVM(data.X, data.y, 3.0, intercept=intercept), "zero-one-bb", engine=engine)


def gap_of(result: Result) -> float:
    """Return the relative gap between a result's objective and its bound; infinite without a bound."""
    bound = result.bound if result.bound is not None else -math.inf
    return max((result.objective - bound) / max(abs(result.objective), 1e-300), 0.0)


def brooks(args: argparse.Namespace) -> None:
    """Add a row for each training set and C, then print (n, d, C) beside combinatorial Benders' cuts (600 s)."""
    table = Rows(BROOKS, args.out)
    for n, d, C in itertools.product(args.n, args.d, args.C):
        keys = {number: (n, d, C, number, args.threads, args.limit, args.tol) for number in args.sets}
        if all(table.has(*key) for key in keys.values()):
            continue
        for number, data in enumerate(instances.brooks(n, d)):
            if number not in keys or table.has(*keys[number]):
                continue
            model = ZeroOneSVM(np.column_stack([np.ones(n), data.X]), data.y, 2.0 * C, intercept="free")
            seconds, result = timed("zero-one-bb", model, args)
            assert result is not None
            bounds = (result.objective / 2, (result.bound or 0.0) / 2)
            table.add(*keys[number], seconds, *bounds, gap_of(result), result.nodes or 0, result.details["engine"])
    chosen = [row for row in table.all() if (row["threads"], row["limit"]) == (word(args.threads), word(args.limit))]
    zero_one_tables.brooks_table(chosen, args.published)


def instances_of(args: argparse.Namespace) -> Iterator[tuple[tuple[object, ...], ZeroOneSVM]]:
    """Yield the key of each instance of the grid, its values in the columns of a row, and its model."""
    grid = itertools.product(args.n, args.p, args.sigma, args.outliers, args.lam, range(args.seeds))
    for n, p, sigma, outliers, lam, seed in grid:
        data = instances.gaussian_clusters(n, p, sigma, outliers, seed=seed)
        yield (n, p, sigma, outliers, lam, seed), ZeroOneSVM(data.X, data.y, lam)


def timed(name: str, model: ZeroOneSVM, args: argparse.Namespace, start: object = None) -> tuple[float, Result | None]:
    """Return the wall seconds of a solve and its result; NaN and None if the solver cannot read the model."""
    begin = time.perf_counter()
    try:
        result = solve(model, name, time_limit=args.limit, threads=args.threads or None, tol=args.tol, start=start)
    except MarginoptError as error:
        print(f"      {name}: {str(error).splitlines()[0][:120]}")
        return math.nan, None
    return time.perf_counter() - begin, result


def rival_model(form: str, model: ZeroOneSVM, ours: Result) -> ZeroOneSVM:
    """Return the model for a rival, tightened by our optimum, which is its best case."""
    tight = ZeroOneSVM(model.X, model.y, model.lam, upper_bound=ours.objective * (1 + 1e-6))
    if form == "tight":
        return tight
    if form == "indicator":
        return ZeroOneSVM(model.X, model.y, model.lam, upper_bound=ours.objective * (1 + 1e-6), encoding="indicator")
    return strengthen(ZeroOneSVM(model.X, model.y, model.lam, incumbent=ours.values["w"]))


def clusters(args: argparse.Namespace) -> None:
    """Add a row for each instance and solver."""
    table = Rows(CLUSTERS, args.out)
    for key, model in instances_of(args):
        names = [("zero-one-bb", "")] + [(rival, form) for rival in args.rivals for form in args.forms]
        missing = [pair for pair in names if not table.has(*key, *pair, args.threads)]
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
            table.add(*key, name, form, args.threads, took, *figures)


#: (n, p, λ, seconds that it may take to a relative gap of 1e-4); twice that to 1e-6.
GROUPS = (
    *((200, 3, lam, 5.0) for lam in (1.0, 3.0, 10.0, 30.0, 100.0)),
    *((2000, 3, lam, 60.0) for lam in (1.0, 10.0, 100.0)),
    *((200, 5, lam, 60.0) for lam in (1.0, 10.0, 100.0)),
    *((100, 10, lam, 30.0) for lam in (1.0, 10.0, 100.0)),
)


def targets(args: argparse.Namespace) -> None:
    """Add a row for each run, then print worst and median time over seeds, σ and outliers beside the time allowed."""
    table = Rows(TARGETS, args.out)
    for (n, p, lam, seconds), tol in itertools.product(GROUPS, args.tols):
        if f"{n}x{p}" not in args.only:
            continue
        allowed = seconds if tol >= 1e-4 else 2.0 * seconds
        for sigma, outliers, seed in itertools.product(args.sigma, args.outliers, range(args.seeds)):
            key = (n, p, lam, sigma, outliers, seed, tol, args.threads)
            if table.has(*key):
                continue
            data = instances.gaussian_clusters(n, p, sigma, outliers, seed=seed)
            limits = argparse.Namespace(limit=1.5 * allowed, threads=args.threads, tol=tol)
            took, result = timed("zero-one-bb", ZeroOneSVM(data.X, data.y, lam), limits)
            assert result is not None
            table.add(*key, allowed, took, gap_of(result), result.nodes or 0)
    zero_one_tables.targets_table([row for row in table.all() if row["threads"] == word(args.threads)])


def real(args: argparse.Namespace) -> None:
    """Add a row for each real set, standardised, with all features or those most correlated with the label."""
    table = Rows(REAL, args.out)
    for name, features in (("immunotherapy", (None,)), ("pima", (2, 3, 5, None)), ("breast-ljubljana", (2, 3, 5, 9))):
        try:
            data = instances.load(name).prepared()
        except MarginoptError as error:
            print(f"{name:<26} {str(error).splitlines()[0][:100]}")
            continue
        strength = np.abs((data.X[:, 1:] * data.y[:, None]).mean(axis=0) - data.X[:, 1:].mean(axis=0) * data.y.mean())
        for count, lam in itertools.product(features, args.lam):
            best = np.arange(strength.size) if count is None else np.sort(np.argsort(-strength, kind="stable")[:count])
            key = (name, len(data.y), best.size, lam, args.threads, args.limit, args.tol)
            if table.has(*key):
                continue
            seconds, result = timed("zero-one-bb", ZeroOneSVM(data.X[:, [0, *(1 + best)]], data.y, lam), args)
            assert result is not None
            counts = (int(result.summary["margin_violations"]), int(result.summary["misclassified"]))
            table.add(*key, float(result.objective), gap_of(result), seconds, result.nodes or 0, *counts)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("brooks")
    first.add_argument("--published", type=Path)
    first.add_argument("--n", type=int, nargs="+", default=[60, 100, 200, 500])
    first.add_argument("--d", type=int, nargs="+", default=[2, 5, 10])
    first.add_argument("--C", type=float, nargs="+", default=list(CONSTANTS))
    first.add_argument("--sets", type=int, nargs="+", default=list(range(5)), help="which of the five training sets")
    second = commands.add_parser("clusters")
    second.add_argument("--n", type=int, nargs="+", default=[60, 100, 190, 500, 1000, 2000])
    second.add_argument("--p", type=int, nargs="+", default=[2, 3, 5, 10])
    second.add_argument("--sigma", type=float, nargs="+", default=[0.2, 0.5, 1.0])
    second.add_argument("--lam", type=float, nargs="+", default=[1.0, 3.0, 10.0, 30.0, 100.0])
    second.add_argument("--rivals", nargs="*", default=[])
    second.add_argument("--forms", nargs="*", default=["tight"], choices=["tight", "indicator", "strengthened"])
    third = commands.add_parser("targets")
    groups = sorted({f"{n}x{p}" for n, p, *_ in GROUPS})
    third.add_argument("--only", nargs="+", default=groups, choices=groups, help="groups, n x p")
    third.add_argument("--tols", type=float, nargs="+", default=[1e-4, 1e-6])
    third.add_argument("--sigma", type=float, nargs="+", default=[0.5, 1.0])
    for grid, seeds in ((second, 5), (third, 2)):
        grid.add_argument("--outliers", nargs="+", default=["none", "clustered"])
        grid.add_argument("--seeds", type=int, default=seeds)
    fourth = commands.add_parser("real")
    fourth.add_argument("--lam", type=float, nargs="+", default=[1.0, 10.0])
    for command in (first, second, third, fourth):
        command.add_argument("--threads", type=int, default=1)
        command.add_argument("--out", type=Path, help="rows go here as they come; what is there is not run again")
    for command in (first, second, fourth):
        command.add_argument("--limit", type=float, default=60.0)
        command.add_argument("--tol", type=float, default=1e-6)
    fifth = commands.add_parser("slim")
    fifth.add_argument("--only", nargs="+", default=[], choices=["-".join(key) for key in zero_one_slim.PUBLISHED])
    fifth.add_argument("--write", type=Path, help="a folder for proof logs, each checked")
    fifth.add_argument("--limit", type=float, default=600.0)
    open_ones = commands.add_parser("miplib")
    open_ones.add_argument("--only", nargs="+", default=[], choices=list(zero_one_miplib.PUBLISHED))
    open_ones.add_argument("--limit", type=float, default=120.0, help="seconds for the point, and again for the bound")
    open_ones.add_argument("--write", type=Path, help="a folder for instances (MPS) and points (sol)")
    sixth = commands.add_parser("easy")
    sixth.add_argument("--only", nargs="+", default=[], help="sets by name")
    sixth.add_argument("--limit", type=float, default=5.0)
    last = commands.add_parser("summary")
    last.add_argument("files", type=Path, nargs="+")
    last.add_argument("--published", type=Path)
    last.add_argument("--tol", type=float, default=1e-6)
    last.add_argument("--only-threads", help="rows of this many threads")
    args = parser.parse_args()
    if args.command == "summary":
        zero_one_summary.summarise(args.files, args.tol, args.only_threads, args.published)
        return
    if args.command == "slim":
        zero_one_slim.slim(args.only, args.limit, args.write)
        return
    if args.command == "miplib":
        zero_one_miplib.miplib(args.only, args.limit, args.write)
        return
    warm_up()
    if args.command == "easy":
        zero_one_easy.easy(args.only, args.limit)
        return
    {"brooks": brooks, "clusters": clusters, "targets": targets, "real": real}[args.command](args)


if __name__ == "__main__":
    main()
