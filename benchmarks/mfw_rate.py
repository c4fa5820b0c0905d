"""The rate of MFW beside Proposition 1 of the Frank-Wolfe paper, M ≤ 1 - 1/(36 m β d_S), on small L2-SVMs.

The paper gives β as "a constant" of the MEB's dual without a number, so M is not known; a measured rate says how large β must be.

python benchmarks/mfw_rate.py
"""

from __future__ import annotations

import numpy as np

import marginopt as mo
from marginopt.models import RBF, L2SVMDual
from marginopt.solvers.simplex.frank_wolfe import ModifiedFrankWolfe

#: Points and C of the problems.
CASES = ((30, 1.0), (60, 1.0), (60, 10.0), (120, 1.0))
#: Gaps below this share of the optimum are rounding.
LEAST = 1e-8


def problem(n: int, C: float) -> L2SVMDual:
    """Return the L2-SVM dual of n points in three features, labelled by a noisy hyperplane."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    return L2SVMDual(X, y, C=C, kernel=RBF(0.5))


def row(n: int, C: float) -> str:
    """Return the least eigenvalue of K̃, d_S, the worst and the median ratio of gaps, the least β, and M at β = 1/λ_min."""
    model = problem(n, C)
    K = model.form.quadratic.csc.toarray()
    best = mo.solve(model, "smo", tol=1e-15).objective
    trace = mo.solve(model, ModifiedFrankWolfe(stride=1), tol=1e-9).trace
    gaps = np.array([one.objective for one in trace]) - best
    last = int(np.flatnonzero(gaps > LEAST * abs(best))[-1])
    ratios = gaps[1 : last + 1] / gaps[:last]
    least = float(np.linalg.eigvalsh(K)[0])
    diameter = float((np.diag(K)[:, None] + np.diag(K)[None, :] - 2.0 * K).max())
    worst = float(ratios.max())
    beta = 1.0 / (36.0 * n * diameter * (1.0 - worst))
    printed = 1.0 - least / (36.0 * n * diameter)
    cells = (n, C, least, diameter, last, worst, float(np.median(ratios)), beta, beta * least, printed)
    return "| " + " | ".join(f"{cell:.5g}" if cell != printed else f"{cell:.6f}" for cell in cells) + " |"


def main() -> None:
    """Print the table."""
    heads = ("m", "C", "λ_min", "d_S", "steps", "worst ratio", "median ratio", "least β", "times λ_min", "M at β = 1/λ_min")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for n, C in CASES:
        print(row(n, C))


if __name__ == "__main__":
    main()
