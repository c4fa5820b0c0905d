"""What the rows of `zero_one.py clusters --out FILE` say: shares solved, performance profile, ratios, growth with n and p."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from pathlib import Path

OURS = "zero-one-bb"
FACTORS = (1, 2, 5, 10, 20, 50, 100, 1000)


def read(path: Path, threads: str | None = None) -> dict[tuple[str, ...], dict[str, dict[str, str]]]:
    """Rows by instance, then by solver and form; the last row of each counts."""
    cells: dict[tuple[str, ...], dict[str, dict[str, str]]] = defaultdict(dict)
    with path.open() as file:
        for row in csv.DictReader(file):
            if threads is None or row["threads"] == threads:
                key = tuple(row[name] for name in ("n", "p", "sigma", "outliers", "lam", "seed"))
                cells[key][f"{row['solver']} {row['form']}".strip()] = row
    return cells


def mean_of_logs(values: list[float]) -> float:
    return math.exp(sum(math.log(x) for x in values) / len(values))


def times(cells: dict[tuple[str, ...], dict[str, dict[str, str]]], tol: float) -> dict[str, dict[tuple[str, ...], float]]:
    """Seconds to proof by solver and instance; infinite where the limit came first."""
    found: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for key, rows in cells.items():
        for name, row in rows.items():
            if row["gap"] != "nan":
                found[name][key] = float(row["seconds"]) if float(row["gap"]) <= tol * 1.01 else math.inf
    return found


def summarise(path: Path, tol: float, threads: str | None) -> None:
    cells = read(path, threads)
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
    """Geometric mean of their time over ours where both prove: everywhere, and at p = 3, sigma ≥ .5, n ≥ 100."""
    print("\ntheir time over ours, geometric mean where both prove")
    for name, runs in sorted(seconds.items()):
        if name == OURS:
            continue
        both = {
            k: t / seconds[OURS][k] for k, t in runs.items() if math.isfinite(t) and math.isfinite(seconds[OURS].get(k, math.inf))
        }
        hard = {k: ratio for k, ratio in both.items() if k[1] == "3" and float(k[2]) >= 0.5 and int(k[0]) >= 100}
        shown = [f"{mean_of_logs(list(part.values())):.1f} over {len(part)}" if part else "none" for part in (both, hard)]
        print(f"  {name:<28} all: {shown[0]};  p = 3, sigma >= .5, n >= 100: {shown[1]}")


def growth(runs: dict[tuple[str, ...], float]) -> None:
    """Median seconds of ours by n and p."""
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
