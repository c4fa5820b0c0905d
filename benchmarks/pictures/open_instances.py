"""The picture of docs/explanation/open-instances.md: what each solver has left to prove, by its seconds.

    python benchmarks/pictures/open_instances.py [--limit 100] [--out docs/images/open-instances.png]

A scoring system and two ramp losses of MIPLIB, by our solvers and by general ones on the same forms, one thread each. Left to
prove is (best value - bound)/best value: all have the same best value, so that only bounds are compared. Ours are proved, the
others' are what the solvers claim. Gurobi's restricted licence takes up to 2,000 variables. The instances are in MARGINOPT_DATA.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import zero_one_miplib
import zero_one_slim

import marginopt as mo
from marginopt.compilation import warm_up
from marginopt.drawing import COLOURS
from marginopt.errors import MarginoptError
from marginopt.models.arrays import FloatArray
from marginopt.solvers.interface.solver import Solver
from marginopt.solvers.margin.algorithm import MarginBB

GENERAL = {"gurobi": ("Gurobi", COLOURS[1]), "scip": ("SCIP", COLOURS[2]), "highs": ("HiGHS", COLOURS[3])}
OURS = COLOURS[0]
#: The optimum of breastcancer-best, as `zero_one.py slim` proves it.
FEWEST = 12.546868421052631


@dataclass(frozen=True)
class Panel:
    """A problem, our solver of it with its start, and the best value known."""

    title: str
    model: mo.Margin
    ours: str
    solver: str | Solver
    start: dict[str, FloatArray] | None
    best: float


def panels(limit: float) -> Iterator[Panel]:
    """The problems of the picture; the best values of the ramps are found first."""
    scoring = zero_one_slim.instance("breastcancer", "best")
    yield Panel("breastcancer-best, 683 points", scoring, "supports-bb", "supports-bb", None, FEWEST)
    for name in ("gsvm2rl5", "gsvm2rl11"):
        at = zero_one_miplib.load(name)
        point, _ = zero_one_miplib.best_point(at, limit / 10)
        start = {"w": np.concatenate([[point.b], point.w])}
        title = f"{name}, {len(at.y)} points (MIPLIB: {zero_one_miplib.PUBLISHED[name][1]})"
        yield Panel(
            title, zero_one_miplib.model(at), "margin-bb", MarginBB(max_coefficients=at.X.shape[1] + 1), start, point.value
        )


def left(panel: Panel, solver: str | Solver, limit: float) -> tuple[FloatArray, FloatArray]:
    """Seconds, and per cent of the best value that was not proved by then: a row wherever the bound rose."""
    start = panel.start if isinstance(solver, Solver) else None
    result = mo.solve(panel.model, solver, time_limit=limit, threads=1, start=start)
    rows = [(row.seconds, row.bound) for row in result.trace.rows if np.isfinite(row.bound)]
    ended = result.status is mo.Status.OPTIMAL
    rows.append((result.solve_seconds if ended else limit, result.bound if result.bound is not None else 0.0))
    seconds, bounds = np.array(rows).T
    return np.maximum(seconds, 0.01), 100.0 * np.maximum(1.0 - np.maximum.accumulate(bounds) / panel.best, 0.0)


def draw(limit: float, path: Path) -> None:
    """One panel a problem."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.4), layout="constrained", sharey=True)
    for ax, panel in zip(axes, panels(limit), strict=True):
        for solver, (label, colour) in {panel.solver: (panel.ours, OURS), **GENERAL}.items():
            try:
                seconds, rest = left(panel, solver, limit)
            except MarginoptError as error:
                print(f"{panel.title}: {label}: {str(error).splitlines()[0]}")
                continue
            ax.step(seconds, rest, where="post", color=colour, label=label, lw=2.0 if colour == OURS else 1.2)
            print(f"{panel.title}: {label}: {rest[-1]:.4g}% left after {seconds[-1]:.1f} s", flush=True)
        ax.set(xscale="log", xlim=(0.1, limit), ylim=(-2, 102), xlabel="seconds", title=panel.title)
        ax.title.set_fontsize(9)
    axes[0].set_ylabel("left to prove, %")
    axes[0].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Solve, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=100.0)
    parser.add_argument("--out", type=Path, default=Path("docs/images/open-instances.png"))
    options = parser.parse_args()
    warm_up("supports-bb", "margin-bb", "zero-one-bb")
    draw(options.limit, options.out)


if __name__ == "__main__":
    main()
