"""Commands on a set of problems: ``marginopt benchmark``, solvers with their performance profile, and ``marginopt export``, files."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

from ..display import StatusLine
from ..errors import InputError
from ..files import write_texts
from ..performance import PerformanceProfile, performance_profile
from ..relaxations.report.means import SECONDS, shifted_geometric_mean
from ..solvers import compare
from ..solvers.compare import Comparison
from ..solvers.registry import resolve
from .commands import NOT_SOLVED, SOLVED, json_text
from .data_options import problems
from .screen import folder_of, print_table, print_tables, print_text


def benchmark(a: argparse.Namespace) -> int:
    """Every solver on every problem."""
    names = [name.strip() for name in a.solvers.split(",") if name.strip()]
    if len(set(names)) < len(names) or not names:
        raise InputError(f"SOLVERS are different names separated by commas; they are {a.solvers!r}")
    folder = None if a.out is None else folder_of(a.out, "--out")
    for name in names:
        resolve(name)  # what there is not, or cannot be stated, is an error before anything is solved
    stated = list(problems(a))
    line = StatusLine()
    tables: dict[str, Comparison] = {}
    for k, (formulation, data, model) in enumerate(stated, 1):
        if not a.quiet:
            line.keep(f"[{k}/{len(stated)}] {formulation} on {data}: {', '.join(names)}")
        tables[f"{formulation} on {data}"] = compare(
            model, names, time_limit=a.time_limit, tol=a.tol, threads=a.threads, seed=a.seed
        )
    profile = performance_profile(tables)
    records = [{"problem": name, **record} for name, table in tables.items() for record in table.records()]
    if folder is not None:
        _write(folder, records, profile)
    if a.json:
        print(json_text(records))
    else:
        _show(names, tables, profile)
    return SOLVED if any(r.solved for table in tables.values() for r in table.results.values()) else NOT_SOLVED


def _show(names: list[str], tables: dict[str, Comparison], profile: PerformanceProfile) -> None:
    columns = ("solver", "status", "objective", "gap", "solve s")
    print_tables(columns, {name: table.cells(columns) for name, table in tables.items()}, right=(2, 3, 4))
    for name, table in tables.items():
        for row in table.rows:
            if row.result is None:
                print_text(f"{row.solver} did not run {name}: {row.reason}")
    print()
    print(profile)
    means = []
    for solver in names:
        results = [table.results[solver] for table in tables.values() if solver in table.results]
        seconds = f"{shifted_geometric_mean([r.solve_seconds for r in results], SECONDS):.3g}" if results else ""
        means.append((solver, f"{sum(r.solved for r in results)} of {len(tables)}", seconds))
    print()
    print_table(("solver", "solved", f"mean s (shifted geometric, {SECONDS:g} s)"), means, right=(1, 2))


def _write(folder: Path, records: list[dict[str, Any]], profile: PerformanceProfile) -> None:
    """Runs as CSV and JSON, the profile as SVG."""
    from ..drawing import figure_of, svg_of

    buffer = io.StringIO()
    columns = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    figure = figure_of(6.5, 3.6)
    profile.plot(figure.subplots())
    write_texts(
        {
            folder / "runs.csv": buffer.getvalue(),
            folder / "runs.json": json_text(records) + "\n",
            folder / "profile.svg": svg_of(figure),
        }
    )
