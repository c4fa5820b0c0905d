"""The picture of docs/explanation/open-instances.md: what each solver has left to prove, by its seconds.

    python benchmarks/pictures/open_instances.py [--measure] [--limit 60] [--out docs/images/open-instances.svg]

A scoring system and two ramp losses of MIPLIB, by our solvers and by general ones on the same forms, one thread each. Left to
prove is (best value - bound)/best value: all have the same best value, so that only bounds are compared. Ours are proved, the
others' are what the solvers claim. Gurobi's restricted licence takes up to 2,000 variables. The curves are in
benchmarks/results/open-instances.csv; --measure writes them anew, in processor seconds, from the instances in MARGINOPT_DATA.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import zero_one_miplib
import zero_one_slim

import marginopt as mo
from marginopt.compilation import warm_up
from marginopt.drawing import COLOURS, figure_of, svg_of
from marginopt.errors import MarginoptError
from marginopt.models.arrays import FloatArray
from marginopt.solvers.interface.solver import Solver
from marginopt.solvers.margin.algorithm import MarginBB

CURVES = Path(__file__).parents[1] / "results" / "open-instances.csv"
GENERAL = {"Gurobi": COLOURS[1], "SCIP": COLOURS[2], "HiGHS": COLOURS[3]}
OURS = COLOURS[0]
TITLES = {
    "breastcancer-best": "breastcancer-best, 683 points",
    "gsvm2rl5": "gsvm2rl5, 100 points (MIPLIB: hard)",
    "gsvm2rl11": "gsvm2rl11, 500 points (MIPLIB: open)",
}
#: The optimum of breastcancer-best, as `zero_one.py slim` proves it.
FEWEST = 12.546868421052631


@dataclass(frozen=True)
class Case:
    """A problem, our solver of it with its start, and the best value known."""

    instance: str
    model: mo.Margin
    ours: str
    solver: str | Solver
    start: dict[str, FloatArray] | None
    best: float


def cases(limit: float) -> Iterator[Case]:
    """The problems of the picture; the best values of the ramps are found first."""
    scoring = zero_one_slim.instance("breastcancer", "best")
    yield Case("breastcancer-best", scoring, "supports-bb", "supports-bb", None, FEWEST)
    for name in ("gsvm2rl5", "gsvm2rl11"):
        at = zero_one_miplib.load(name)
        point, _ = zero_one_miplib.best_point(at, limit / 10)
        start = {"w": np.concatenate([[point.b], point.w])}
        solver = MarginBB(max_coefficients=at.X.shape[1] + 1)
        yield Case(name, zero_one_miplib.model(at), "margin-bb", solver, start, point.value)


def left(case: Case, solver: str | Solver, limit: float) -> list[tuple[float, float]]:
    """Processor seconds, and per cent of the best value that was not proved by then: a row wherever the solver reports one."""
    begin = time.process_time()
    rows: list[tuple[float, float]] = []

    def share(bound: float) -> float:
        return 100.0 * max(1.0 - bound / case.best, 0.0)

    def see(row: mo.solvers.TraceRow) -> bool:
        seconds = time.process_time() - begin
        if np.isfinite(row.bound) and (not rows or share(row.bound) < rows[-1][1]):
            rows.append((seconds, share(row.bound)))
        return seconds > limit

    start = case.start if isinstance(solver, Solver) else None
    result = mo.solve(case.model, solver, time_limit=20.0 * limit, threads=1, start=start, callback=see)
    return [*rows, (time.process_time() - begin, share(result.bound if result.bound is not None else 0.0))]


def measure(limit: float) -> None:
    """Solve every case by every solver, and write the curves."""
    warm_up("supports-bb", "margin-bb", "zero-one-bb")
    rows = []
    for case in cases(limit):
        for name, solver in {case.ours: case.solver, **{name: name.lower() for name in GENERAL}}.items():
            try:
                curve = left(case, solver, limit)
            except MarginoptError as error:
                print(f"{case.instance}: {name}: {str(error).splitlines()[0]}")
                continue
            rows += [(case.instance, name, f"{seconds:.3g}", f"{rest:.3g}") for seconds, rest in curve]
            print(f"{case.instance}: {name}: {curve[-1][1]:.4g}% left after {curve[-1][0]:.1f} s", flush=True)
    with CURVES.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("instance", "solver", "seconds", "left"), *rows])


def draw(path: Path) -> None:
    """Draw a panel for each instance."""
    with CURVES.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figure = figure_of(11.0, 3.4)
    axes = figure.subplots(1, len(TITLES), sharey=True)
    for ax, (instance, title) in zip(axes, TITLES.items(), strict=True):
        shown = [row for row in rows if row["instance"] == instance]
        for solver in dict.fromkeys(row["solver"] for row in shown):
            curve = np.array([(float(row["seconds"]), float(row["left"])) for row in shown if row["solver"] == solver]).T
            colour = GENERAL.get(solver, OURS)
            ax.step(*curve, where="post", color=colour, label=solver, lw=2.0 if colour == OURS else 1.2)
        ax.set(xscale="log", xlim=(0.1, max(float(row["seconds"]) for row in shown)), ylim=(-2, 102), xlabel="seconds")
        ax.set_title(title, fontsize=9)
        ax.legend(fontsize=8, loc="lower left" if instance == "breastcancer-best" else "best")
    axes[0].set_ylabel("left to prove, %")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg_of(figure), encoding="utf-8")


def main() -> None:
    """Measure where that is asked for, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="solve; otherwise the stored curves are drawn")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds of a solve")
    parser.add_argument("--out", type=Path, default=Path("docs/images/open-instances.svg"))
    options = parser.parse_args()
    if options.measure:
        measure(options.limit)
    draw(options.out)


if __name__ == "__main__":
    main()
