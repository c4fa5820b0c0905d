"""Print a summary of the rows of `zero_one.py ... --out FILE`: shares solved, performance profile, ratios, growth."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from zero_one_rows import BROOKS, CLUSTERS, TARGETS, Cell, columns_of, read
from zero_one_tables import brooks_table, targets_table

#: Our solver, and the factors of the performance profile.
OURS = "zero-one-bb"
FACTORS = (1, 2, 5, 10, 20, 50, 100, 1000)


def by_instance(rows: list[Cell]) -> dict[tuple[str, ...], dict[str, Cell]]:
    """Return the rows by instance, then by solver and form."""
    cells: dict[tuple[str, ...], dict[str, Cell]] = defaultdict(dict)
    for row in rows:
        key = tuple(row[name] for name in ("n", "p", "sigma", "outliers", "lam", "seed"))
        cells[key][f"{row['solver']} {row['form']}".strip()] = row
    return cells


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(math.log(x) for x in values) / len(values))


def times(cells: dict[tuple[str, ...], dict[str, Cell]], tol: float) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the seconds to a proof by solver and instance; infinite if the limit came first."""
    values: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for key, rows in cells.items():
        for name, row in rows.items():
            if row["gap"] != "nan":
                values[name][key] = float(row["seconds"]) if float(row["gap"]) <= tol * 1.01 else math.inf
    return values


def summarise(paths: list[Path], tol: float, threads: str | None, published: Path | None) -> None:
    """Print the summary of files of one table, of the rows with this number of threads if it is given."""
    columns = columns_of(paths[0])
    rows = [row for row in read(columns, paths) if threads is None or row["threads"] == threads]
    if columns is CLUSTERS:
        compare(by_instance(rows), tol)
    elif columns is BROOKS:
        brooks_table(rows, published)
    elif columns is TARGETS:
        targets_table(rows)
    else:
        print(" ".join(f"{name:>14}" for name in columns.names))
        for row in rows:
            print(" ".join(f"{value:>14}" for value in row.values()))


def compare(cells: dict[tuple[str, ...], dict[str, Cell]], tol: float) -> None:
    """Print shares solved, performance profile, ratios and growth."""
    seconds = times(cells, tol)
    print(f"{len(cells)} instances, relative gap {tol:g}\n\nproven within the limit")
    for name, runs in sorted(seconds.items()):
        print(f"  {name:<28} {sum(math.isfinite(t) for t in runs.values()):>6} of {len(runs)}")
    print("\nperformance profile: share of the instances it took that it proves within a factor of the best time")
    print(" " * 30 + "".join(f"{factor:>7}" for factor in FACTORS))
    for name, runs in sorted(seconds.items()):
        best = {key: min(other.get(key, math.inf) for other in seconds.values()) for key in runs}
        shares = [sum(math.isfinite(t) and t <= f * best[key] for key, t in runs.items()) / len(runs) for f in FACTORS]
        print(f"  {name:<28}" + "".join(f"{share:>7.2f}" for share in shares))
    if OURS in seconds:
        ratios(seconds)
        growth(seconds[OURS])


def ratios(seconds: dict[str, dict[tuple[str, ...], float]]) -> None:
    """Print geometric means of other solvers' time over ours where both prove: of all, and at p = 3, sigma ≥ .5, n ≥ 100."""
    print("\ntheir time over ours, geometric mean where both prove")
    for name, runs in sorted(seconds.items()):
        if name == OURS:
            continue
        both = {
            k: t / seconds[OURS][k] for k, t in runs.items() if math.isfinite(t) and math.isfinite(seconds[OURS].get(k, math.inf))
        }
        hard = {k: ratio for k, ratio in both.items() if k[1] == "3" and float(k[2]) >= 0.5 and int(k[0]) >= 100}
        shown = [f"{geometric_mean(list(part.values())):.1f} over {len(part)}" if part else "none" for part in (both, hard)]
        print(f"  {name:<28} all: {shown[0]};  p = 3, sigma >= .5, n >= 100: {shown[1]}")


def growth(runs: dict[tuple[str, ...], float]) -> None:
    """Print our median seconds by n and p."""
    table: dict[tuple[int, int], list[float]] = defaultdict(list)
    for key, t in runs.items():
        table[int(key[0]), int(key[1])].append(t)
    features = sorted({p for _, p in table})
    print(
        "\nours, median seconds (inf: at least half hit the limit)\n"
        + f"{'n':>7}"
        + "".join(f"{f'p = {p}':>10}" for p in features)
    )
    for n in sorted({n for n, _ in table}):
        cells = [sorted(table.get((n, p), [])) for p in features]
        print(f"{n:>7}" + "".join(f"{part[len(part) // 2]:>10.2f}" if part else f"{'':>10}" for part in cells))
