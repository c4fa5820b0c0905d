"""The picture of docs/explanation/simplex.md: Frank-Wolfe with and without away steps, gap and support size by iteration.

    python benchmarks/pictures/simplex.py --out docs/images/frank-wolfe.svg

An L2-SVM dual on two overlapping Gaussian classes; every step is a row of the trace (stride 1). MFW's gap falls linearly once
the support is found, FW's like 1/k; MFW drops points, FW cannot. With away steps forbidden MFW is FW, iterate by iterate.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import marginopt as mo
from marginopt.drawing import COLOURS, figure_of, svg_of
from marginopt.models.kernels.kernels import RBF
from marginopt.solvers.certification.result import Result

STYLES = {"fw": ("FW", COLOURS[1]), "mfw": ("MFW", COLOURS[0]), "smo": ("SMO, second order", COLOURS[2])}


def model(n: int, C: float, seed: int) -> mo.L2SVMDual:
    """Two Gaussian classes in ten dimensions, γ = 1/(2·mean squared distance)."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, 10)) + 0.5 * y[:, None]
    return mo.L2SVMDual(X, y, C, RBF("frank-wolfe"))


def solve(problem: mo.L2SVMDual, name: str, iterations: int) -> Result:
    """To a gap of 1e-8, or so many iterations; SMO by pairs alone."""
    if name == "smo":
        return mo.solve(problem, solver=name, tol=1e-8, iteration_limit=iterations, stride=1, newton=False, precision="double")
    return mo.solve(problem, solver=name, tol=1e-8, iteration_limit=iterations, stride=1)


def draw(results: dict[str, Result], title: str, path: Path) -> None:
    """Gap over iterations, and points with weight over iterations."""
    figure = figure_of(9.0, 3.6)
    left, right = figure.subplots(1, 2)
    for name, result in results.items():
        label, colour = STYLES[name]
        iteration, gap = result.trace.column("iteration"), result.trace.column("gap")
        shown = np.isfinite(gap) & (gap > 0)
        left.semilogy(iteration[shown], gap[shown], color=colour, label=label, lw=1.2)
        right.plot(iteration, result.trace.column("active"), color=colour, label=label, lw=1.2)
    left.set(xlabel="iteration", ylabel="relative gap", title=title)
    right.set(xlabel="iteration", ylabel="points with weight", title="support")
    left.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg_of(figure), encoding="utf-8")


def rate(result: Result) -> float:
    """Share of the gap that is left after 100 iterations, over the last half of the run (least squares on its logarithm)."""
    iteration, gap = result.trace.column("iteration"), result.trace.column("gap")
    late = np.isfinite(gap) & (gap > 0) & (iteration >= 0.5 * iteration[-1])
    return float(np.exp(100.0 * np.polyfit(iteration[late], np.log(gap[late]), 1)[0]))


def main() -> None:
    """Solve, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--iterations", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("docs/images/frank-wolfe.svg"))
    options = parser.parse_args()
    problem = model(options.n, options.C, options.seed)
    results = {name: solve(problem, name, options.iterations) for name in STYLES}
    for name, result in results.items():
        drops = sum(row.step == "drop" for row in result.trace.rows)
        print(
            f"{name}: {result.iterations} iterations, gap {result.certificate.gap:.1e}, gap left after 100 more iterations "
            f"{rate(result):.3f}, support {int((result.values['a'] > 0).sum())}, drop steps {drops}"
        )
    draw(results, f"L2-SVM, n = {options.n}, C = {options.C:g}", options.out)


if __name__ == "__main__":
    main()
