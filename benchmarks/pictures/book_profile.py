"""The picture of docs/book.md: performance profiles of all solvers that are installed, on drawn instances of the book.

    python benchmarks/pictures/book_profile.py [--limit 60] [--out docs/images/book-profile.svg]

For each model the entries of flipped labels and of spread outliers with seed 0 and λ = 1 (0-1: up to 40 points), by every solver
that reads the model and is installed, one thread. A problem counts as solved where the solver's status says so: the gap of 1e-6
is shown by a certificate. Costs are seconds of the processor, 0.01 s at least; each solver has solved one instance before, so
that no compilation is in them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib.figure import Figure

from marginopt.book.data import build_data
from marginopt.book.entries import Entry, load_entries
from marginopt.book.verification import make_entry_model
from marginopt.drawing import svg_of
from marginopt.errors import MarginoptError
from marginopt.models.model import Model
from marginopt.performance import PerformanceProfile
from marginopt.relaxations.report.means import SHORTEST_TIME, performance_ratios
from marginopt.solvers.registry import get_solver, is_installed, solvers_that_read
from marginopt.solvers.solve import solve

MODELS = ("zero-one", "ramp", "hinge", "conic")
#: Points of 0-1 instances at most.
_LARGEST = 40


def chosen(model: str) -> list[Entry]:
    """The entries of a model, the smallest first."""
    entries = [e for e in load_entries() if e.model == model and e.data["kind"] in ("flipped", "clusters")]
    drawn = [e for e in entries if e.data["seed"] == 0 and e.parameters["lam"] == 1.0]
    drawn = [e for e in drawn if e.data.get("outliers", "spread") == "spread"]
    return sorted((e for e in drawn if model != "zero-one" or e.data["n"] <= _LARGEST), key=lambda e: (e.data["n"], e.name))


def cost(model: Model, solver: str, limit: float) -> float:
    """Processor seconds to a solved status; infinite without it."""
    begin = time.process_time()
    try:
        solved = solve(model, solver, time_limit=limit, threads=1).solved
    except MarginoptError:
        return float("inf")
    return max(time.process_time() - begin, SHORTEST_TIME) if solved else float("inf")


def profile(model: str, limit: float) -> PerformanceProfile:
    """The profile of a model's instances, of the solvers that solved one."""
    entries = chosen(model)
    models = {e.name: make_entry_model(e.model, e.parameters, *build_data(e.data)) for e in entries}
    first = next(iter(models.values()))
    names = [name for name in solvers_that_read(first) if is_installed(get_solver(name))]
    names = [name for name in names if cost(first, name, limit) < float("inf")]
    costs: dict[str, list[float]] = {name: [] for name in names}
    for instance, stated in models.items():
        for name in names:
            costs[name].append(cost(stated, name, limit))
        print(instance, {name: round(values[-1], 3) for name, values in costs.items()}, flush=True)
    return PerformanceProfile("seconds", tuple(models), performance_ratios(costs))


def draw(profiles: Mapping[str, PerformanceProfile], path: Path) -> None:
    """Draw a panel for each model."""
    figure = Figure(figsize=(4.6 * len(profiles), 3.6), layout="constrained")
    for ax, (model, measured) in zip(figure.subplots(1, len(profiles), squeeze=False).flat, profiles.items(), strict=True):
        measured.plot(ax)
        ax.set_title(f"{model}: {len(measured.instances)} instances", fontsize=10)
        ax.set_xlabel("factor of the fewest processor seconds")
        ax.legend(fontsize=7)
    path.write_text(svg_of(figure), encoding="utf-8")


def main() -> None:
    """Measure, draw, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a solve")
    parser.add_argument("--only", nargs="*", default=MODELS, choices=MODELS, help="models")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "docs" / "images" / "book-profile.svg")
    a = parser.parse_args()
    profiles = {model: profile(model, a.limit) for model in a.only}
    for model, measured in profiles.items():
        print(f"{model}\n{measured}")
    draw(profiles, a.out)


if __name__ == "__main__":
    main()
