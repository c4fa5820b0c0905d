"""Markdown tables of the rows that `zero_one.py brooks` and `zero_one.py targets` have measured."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from zero_one_rows import Cell


def published_table(path: Path | None) -> dict[tuple[int, int, float], dict[str, str]]:
    """Return the rows of the published table of combinatorial Benders' cuts (set A) by n, d, C; empty without a file."""
    if path is None:
        return {}
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == "A"]
    return {(int(row["n"]), int(row["d"]), float(row["C"])): row for row in rows}


def agreement(mean: float, row: dict[str, str], tol: float) -> str:
    """Return whether our mean has the digits of a published mean that is proven five times of five; '' where none is."""
    for method in ("benders", "bigM"):
        if row[f"{method}_proven_of_5"] == "5":
            printed = row[f"{method}_mean_upper"]
            digits = len(printed.partition(".")[2])
            # half a unit of the last printed digit, and what either tolerance leaves open
            return "yes" if abs(mean - float(printed)) <= 0.5 * 10.0**-digits + 2.0 * tol * mean else "NO"
    return ""


def brooks_table(rows: list[Cell], published: Path | None) -> None:
    """Print a line for each (n, d, C): runs proven and means, beside the published ones."""
    table = published_table(published)
    cells: dict[tuple[int, int, float], list[Cell]] = defaultdict(list)
    for row in rows:
        cells[int(row["n"]), int(row["d"]), float(row["C"])].append(row)
    print(
        f"\n{'n':>4} {'d':>3} {'C':>7} | ours: proven  mean UB      mean LB      gap%   mean s    max s     nodes"
        " | Benders: proven  mean UB    gap%  same digits"
    )
    ours = theirs = 0
    checked: list[str] = []
    for key in sorted(cells):
        runs = cells[key]
        upper, lower, gap, seconds, nodes = (
            [float(row[name]) for row in runs] for name in ("upper", "lower", "gap", "seconds", "nodes")
        )
        tol = max(float(row["tol"]) for row in runs)
        proven = sum(g <= float(row["tol"]) * 1.01 for g, row in zip(gap, runs, strict=True))
        mean = sum(upper) / len(runs)
        n, d, C = key
        line = (
            f"{n:>4} {d:>3} {C:>7g} | {proven:>8}/{len(runs)} {mean:>12.4f} {sum(lower) / len(runs):>12.4f}"
            f" {100 * sum(gap) / len(runs):>7.3f} {sum(seconds) / len(runs):>8.1f} {max(seconds):>8.1f}"
            f" {int(sum(nodes) / len(runs)):>9}"
        )
        ours += proven
        row = table.get(key)
        if row is not None:
            same = agreement(mean, row, tol) if len(runs) == 5 else "not all sets"
            checked += [same] if same in ("yes", "NO") else []
            theirs += int(row["benders_proven_of_5"])
            line += f" | {row['benders_proven_of_5']:>8}/5 {row['benders_mean_upper']:>12} {row['benders_mean_gap_pct']:>8}"
            line += f"  {same}"
        print(line)
    total = sum(len(runs) for runs in cells.values())
    print(f"proven: ours {ours} of {total}" + (f", published {theirs}" if table else ""))
    if checked:
        print(f"means that the published table proves 5 of 5, met to the digits: {checked.count('yes')} of {len(checked)}")


def targets_table(rows: list[Cell]) -> None:
    """Print the median and worst seconds of each group beside the time allowed."""
    groups: dict[tuple[int, int, float, float, float], list[Cell]] = defaultdict(list)
    for row in rows:
        key = (int(row["n"]), int(row["p"]), float(row["lam"]), -float(row["tol"]), float(row["allowed"]))
        groups[key].append(row)
    print(f"\n{'n':>5} {'p':>3} {'lam':>5} {'tol':>6} {'allowed':>8} {'median':>8} {'worst':>8} {'proven':>8}  met")
    for (n, p, lam, tol, allowed), runs in sorted(groups.items()):
        times = sorted(float(row["seconds"]) for row in runs)
        proven = [row for row in runs if float(row["gap"]) <= -tol * 1.01]
        met = sum(float(row["seconds"]) <= allowed for row in proven)
        print(
            f"{n:>5} {p:>3} {lam:>5g} {-tol:>6.0e} {allowed:>8g} {times[len(times) // 2]:>8.2f} {times[-1]:>8.2f}"
            f" {len(proven):>4}/{len(runs):<3}  {met}/{len(runs)}"
        )
