"""Gap and test error of every relaxation of the 0-1 loss over a generated family whose optima are proved.

    python benchmarks/gaps.py --store gaps.db [--seeds 2] [--budget 1200] [--out benchmarks/results/gaps.csv]
                              [--picture docs/images/gap-and-error.svg]
    python benchmarks/gaps.py --table [--out benchmarks/results/gaps.csv]

Two Gaussian classes at distance 1 (Conic §5.1.1) with deviation σ, labels flipped with probability τ, λ = 1. Each relaxation
that reads the problem is solved; its classifier is judged on 20,000 fresh points without noise, as are the optimum's and
Bayes's rule. Test errors are in excess of Bayes's rule. RLT and hulls of pairs are left to 20
points.

Three questions. Within an instance: have relaxations of smaller gap a smaller test error (the mean of the instances' Spearman
correlations)? Within a relaxation, among all instances, and among those of one (n, p, σ, τ): does a smaller gap tell of a smaller
error? And is the optimum better than each relaxation? Intervals are of 95%, by resampling instances (cells of the family) 1,000
times.

The store keeps each solve when it is done: an interrupted study continues. After ``--budget`` processor seconds no further
instance is begun, and the rows of complete instances are written.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from marginopt import instances
from marginopt.drawing import colour_of, draw_legend_below, figure_of, marker_of, set_log_ticks, svg_of
from marginopt.models.arrays import FloatArray
from marginopt.relaxations import ReportRow, gap_report, relaxations
from marginopt.relaxations.report.report_data import is_trivial

#: Values of each parameter of the family.
FAMILY = {"n": (20, 40, 60), "p": (2, 4, 8), "sigma": (0.25, 0.5, 1.0), "tau": (0.0, 0.1, 0.2)}
#: The most expensive relaxations, solved for up to 20 points.
SMALL = ("products", "hulls-pairs")
#: Relaxations that are too expensive for 20 points or of other problems; `products-separated` has the bound of `products`.
LEFT_OUT = ("products-separated", "moments", "thresholds", "lagrangian-budget")
#: Number of test points; seconds of each solve; number of resamples for an interval.
FRESH, LIMIT, RESAMPLES = 20_000, 60.0, 1_000
#: Relaxations in the picture.
DRAWN = ("big-m", "big-m-incumbent", "single-point", "conic", "rank-one")
#: A row of the study: values by column.
Record = dict[str, Any]


def draw(n: int, p: int, sigma: float, tau: float, seed: int) -> tuple[instances.Instance, instances.Instance]:
    """Draw training points with flipped labels, and test points without."""
    number = [n, p, round(100 * sigma), round(100 * tau), seed]
    generator = np.random.default_rng(number)
    clean = instances.gaussian_clusters(n, p, sigma, seed=generator)
    while True:
        training = clean.with_label_noise(tau, generator)
        if training.y.min() < training.y.max():
            return training, instances.clean_test_set(clean, generator, FRESH)
        clean = instances.gaussian_clusters(n, p, sigma, seed=generator)


def solve_instance(cell: dict[str, Any], seed: int, names: Sequence[str], store: Path) -> list[Record]:
    """Solve one instance by every relaxation and return its rows; none if its optimum is trivial.

    Raises
    ------
    RuntimeError
        The optimum was not proved within the limit.
    """
    training, fresh = draw(**cell, seed=seed)
    report = gap_report(
        [training], [name for name in names if cell["n"] <= 20 or name not in SMALL], "zero-one-bb", progress=False, store=store,
        held_out={training.name: fresh}, time_limit=LIMIT, threads=1,
    )  # fmt: skip
    exact, key = report.exacts[0], report.instances[0].key
    if not exact.proven:
        raise RuntimeError(f"{training.name}, seed {seed}: {exact.status}")
    if is_trivial(report.instances[0], report.best[key]):
        return []
    assert fresh.bayes is not None
    bayes = float(np.mean(np.where(fresh.dense().X @ fresh.bayes >= 0.0, 1.0, -1.0) != fresh.y))
    common = {**cell, "seed": seed, "optimum": exact.incumbent, "violations": exact.violations, "bayes": bayes}
    first = {
        **common,
        "relaxation": "optimum",
        "bound": exact.bound,
        "kind": exact.kind,
        "gap": 0.0,
        "recovered": exact.incumbent,
    }
    titles = {record.reduction.name: name for name, record in relaxations().items()}
    rows = [{**common, **relaxation_columns(row, titles)} for row in report.rows]
    return [{**first, "rank_ratio": None, "test_error": exact.test_error}, *rows]


def relaxation_columns(row: ReportRow, titles: dict[str, str]) -> Record:
    """Return the columns of one relaxation; ``gap`` is None if its optimum is no bound."""
    cell = row.relaxation
    return {
        "relaxation": titles[cell.relaxation], "bound": cell.bound, "kind": cell.kind if cell.bound is not None else "none",
        "gap": None if row.gap is None else row.gap.high, "recovered": cell.recovered, "rank_ratio": cell.rank_ratio,
        "test_error": cell.test_error,
    }  # fmt: skip


def study(args: argparse.Namespace) -> list[Record]:
    """Return the rows of the family until the budget ends, in random order, so that they are a sample of it."""
    names = [name for name, record in relaxations().items() if name not in LEFT_OUT]
    rows, begin = list[Record](), time.process_time()
    cells = [dict(zip(FAMILY, values, strict=True)) for values in itertools.product(*FAMILY.values())]
    order = np.random.default_rng(0).permutation(len(cells)).tolist()
    draws = [(cells[k], seed) for seed in range(args.seeds) for k in order]
    for number, (cell, seed) in enumerate(draws):
        spent = time.process_time() - begin
        if spent > args.budget:
            print(f"{len(draws) - number} of {len(draws)} instances were not begun")
            break
        rows += solve_instance(cell, seed, names, args.store)
        print(f"{number + 1} of {len(draws)}, {spent:.0f} s of the processor: {cell}, seed {seed}", flush=True)
    return rows


# Statistics of the rows.


def excess(row: Record) -> float:
    """Return the test error above that of Bayes's rule."""
    return float(row["test_error"] - row["bayes"])


def instance_of(row: Record) -> tuple[Any, ...]:
    """Return the key of a row's instance."""
    return (*cell_of(row), row["seed"])


def cell_of(row: Record) -> tuple[Any, ...]:
    """Return the cell (n, p, σ, τ) of a row."""
    return tuple(row[name] for name in FAMILY)


def grouped(rows: Iterable[Record], key: Callable[[Record], Any]) -> list[list[Record]]:
    """Return the rows in groups of equal keys."""
    groups: dict[Any, list[Record]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())


def correlation(pairs: Sequence[tuple[float, float]] | FloatArray) -> float:
    """Return Spearman's correlation of pairs; 0 if one side is constant."""
    a, b = rankdata(np.asarray(pairs, dtype=np.float64), axis=0).T
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else 0.0


def interval(groups: Sequence[Any], statistic: Callable[[list[Any]], float]) -> str:
    """Return the statistic of all groups, and its interval of 95% over resampled groups, as text."""
    generator = np.random.default_rng(0)
    drawn = [
        statistic([groups[k] for k in generator.integers(len(groups), size=len(groups))]) for _ in range(RESAMPLES)
    ]  # fmt: skip
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{statistic(list(groups)):+.2f} [{low:+.2f}, {high:+.2f}]"


def rows_with_gap(rows: Iterable[Record]) -> list[Record]:
    """Return the rows with a gap and a test error."""
    return [row for row in rows if row["gap"] is not None and row["test_error"] is not None]


def within_instances(rows: Sequence[Record]) -> str:
    """Return the mean over instances of the correlation of gap and test error among the relaxations."""
    groups = grouped(rows_with_gap(rows), instance_of)
    values = [correlation([(row["gap"], row["test_error"]) for row in group]) for group in groups]
    return interval(values, lambda sample: float(np.mean(sample)))


def among_instances(rows: Sequence[Record]) -> str:
    """Return the correlation of gap and excess test error among the instances of one relaxation."""
    return interval([(row["gap"], excess(row)) for row in rows], correlation)


def within_cells(rows: Sequence[Record]) -> str:
    """Return the same correlation within cells: both numbers less their cell's mean; empty if no cell has two instances."""
    groups = [np.array([(row["gap"], excess(row)) for row in group]) for group in grouped(rows, cell_of) if len(group) > 1]
    moved = [group - group.mean(axis=0) for group in groups]
    return interval(moved, lambda sample: correlation(np.concatenate(sample))) if moved else ""


def with_ratio(rows: Sequence[Record]) -> str:
    """Return the correlation of gap and rank ratio; empty without ratios."""
    pairs = [(row["gap"], row["rank_ratio"]) for row in rows if row["rank_ratio"] is not None]
    return interval(pairs, correlation) if pairs else ""


def with_trait(rows: Sequence[Record], trait: Callable[[Record], float]) -> str:
    """Return the correlation of the gap and a number of the instance, without interval."""
    return f"{correlation([(row['gap'], trait(row)) for row in rows]):+.2f}"


def lines(rows: Sequence[Record]) -> Iterator[str]:
    """Yield the lines of the tables, in Markdown."""
    by_name = {group[0]["relaxation"]: group for group in grouped(rows_with_gap(rows), lambda row: row["relaxation"])}
    optimum = {instance_of(row): excess(row) for row in by_name["optimum"]}
    yield f"{len(optimum)} instances; within an instance, gap and test error: {within_instances(rows)}\n"
    yield "| relaxation | instances | gap, mean | gap ≤ 1e-4 | test error above Bayes, % | less the optimum's, points |"
    yield "|---|---|---|---|---|---|"
    for name, group in by_name.items():
        gaps, errors = np.array([row["gap"] for row in group]), [100 * excess(row) for row in group]
        beyond = [100 * (excess(row) - optimum[instance_of(row)]) for row in group]
        difference = "" if name == "optimum" else interval(beyond, lambda sample: float(np.mean(sample)))
        yield f"| {name} | {len(group)} | {gaps.mean():.1%} | {np.sum(gaps <= 1e-4)} | {np.mean(errors):.2f} | {difference} |"
    yield "\n| relaxation | gap ~ np | gap ~ σ | gap ~ τ | gap ~ rank ratio | gap ~ error, all | gap ~ error, same n, p, σ, τ |"
    yield "|---|---|---|---|---|---|---|"
    for name, group in by_name.items():
        if name != "optimum":
            traits = [with_trait(group, trait) for trait in (lambda r: r["n"] * r["p"], lambda r: r["sigma"], lambda r: r["tau"])]
            yield f"| {' | '.join([name, *traits, with_ratio(group), among_instances(group), within_cells(group)])} |"
    yield "\n| n | p | σ | τ | " + " | ".join(DRAWN) + " |"
    yield "|---" * (4 + len(DRAWN)) + "|"
    for trait, values in FAMILY.items():
        for value in values:
            means = [np.mean([row["gap"] for row in by_name[name] if row[trait] == value]) for name in DRAWN]
            place = [f"{value:g}" if trait == column else "" for column in FAMILY]
            yield f"| {' | '.join([*place, *(f'{mean:.1%}' for mean in means)])} |"


def picture(rows: Sequence[Record]) -> str:
    """Return a picture as SVG: gap over n·p, gap over rank ratio, and test error over gap."""
    by_name = {group[0]["relaxation"]: group for group in grouped(rows_with_gap(rows), lambda row: row["relaxation"])}
    figure = figure_of(12.0, 4.2)
    left, middle, right = figure.subplots(1, 3)
    for k, name in enumerate(DRAWN):
        sizes = grouped(by_name[name], lambda row: row["n"] * row["p"])
        points = sorted((group[0]["n"] * group[0]["p"], 100 * np.mean([row["gap"] for row in group])) for group in sizes)
        left.plot(*zip(*points, strict=True), color=colour_of(k), marker=marker_of(k), ms=4, lw=1.0, label=name)
    left.set(xscale="log", xlabel="n · p", ylabel="mean gap, %", ylim=(0, 102), title="size")
    set_log_ticks(left.xaxis)
    for k, sigma in enumerate(FAMILY["sigma"]):
        group = [row for row in by_name["conic"] if row["sigma"] == sigma]
        ratios, gaps = [row["rank_ratio"] for row in group], [100 * row["gap"] for row in group]
        middle.scatter(ratios, gaps, s=10, color=colour_of(k), marker=marker_of(k), label=f"σ = {sigma:g}")
    middle.set(xlabel="second over first eigenvalue of W", ylabel="gap of conic, %", ylim=(0, 102), title="rank and separability")
    for k, name in enumerate(("optimum", *DRAWN)):
        errors = np.array([100 * excess(row) for row in by_name[name]])
        gap, spread = 100 * np.mean([row["gap"] for row in by_name[name]]), 1.96 * errors.std() / np.sqrt(errors.size)
        look = (
            {"color": "#000000", "marker": "X"} if name == "optimum" else {"color": colour_of(k - 1), "marker": marker_of(k - 1)}
        )
        right.errorbar(gap, errors.mean(), yerr=spread, ms=5, lw=1.0, ls="", **look)
        if name == "optimum":
            right.annotate(name, (gap, errors.mean()), xytext=(5, 4), textcoords="offset points", fontsize=8)
    right.set(xlabel="mean gap, %", ylabel="test error above Bayes, points", xlim=(-5, 102), title="test error")
    draw_legend_below(figure)
    return svg_of(figure)


def read(path: Path) -> list[Record]:
    """Return the rows of a file of the study."""
    words = ("relaxation", "kind")
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            {key: value if key in words else float(value) if value else None for key, value in row.items()}
            for row in csv.DictReader(stream)
        ]


def main() -> None:
    """Solve, write, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=Path("gaps.db"), help="file that keeps the solves (SQLite)")
    parser.add_argument("--seeds", type=int, default=2, help="instances of each n, p, σ, τ")
    parser.add_argument("--budget", type=float, default=float("inf"), help="processor seconds after which no instance is begun")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gaps.csv")
    parser.add_argument("--picture", type=Path, help="the picture's file")
    parser.add_argument("--table", action="store_true", help="print the tables of --out and solve nothing")
    args = parser.parse_args()
    if not args.table:
        rows = study(args)
        with args.out.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    rows = read(args.out)
    print("\n".join(lines(rows)))
    if args.picture is not None:
        args.picture.write_text(picture(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
