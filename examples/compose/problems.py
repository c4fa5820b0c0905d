"""Problems of the literature, each stated in one expression; run as a script it prints and solves them.

python examples/compose/problems.py [name ...]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import cvxpy as cp
import numpy as np

import marginopt as mo
from marginopt import margin

rng = np.random.default_rng(7)
y = np.repeat([-1.0, 1.0], 20)
X = np.column_stack([np.ones(40), rng.normal(size=(40, 3)) + 0.7 * y[:, None]])  # the first column is the intercept's
group = (X[:, 1] + rng.normal(size=40) > 0).astype(int)
target = X @ [0.5, 1.0, -2.0, 0.3] + rng.normal(size=40)

PROBLEMS: dict[str, Callable[[], mo.Model]] = {
    "fair L1-SVM": lambda: mo.Margin(X, y, regulariser="l1", intercept="free", subject_to=mo.parity(group, 0.02)),
    "elastic-net squared hinge": lambda: mo.Margin(X, y, "squared-hinge", margin.ElasticNet(0.3, 0.2)),
    "monotone SVM": lambda: mo.Margin(X, y, regulariser="half-l2", intercept="free", domain=margin.Signs((0, 1, 1, 0))),
    "nu-SVM": lambda: mo.Margin(X, y, margin.NuHinge(0.6), "half-l2", intercept="free", sample_weight=1 / 40),
    "one-class SVM": lambda: mo.Margin(X[:, 1:] + 2, y, margin.OneClass(0.4), "half-l2", sample_weight=1 / 40),
    "epsilon-SVR": lambda: mo.Margin(X, target, margin.EpsilonInsensitive(0.3), "half-l2", intercept="free", sample_weight=2.0),
    "ranking": lambda: mo.Margin(X[::4, 1:], np.arange(10.0), "pairwise"),
    "sparse 0-1": lambda: mo.Margin(X, y, "zero-one", subject_to=mo.at_most(3).nonzero),
    "Neyman-Pearson 0-1": lambda: mo.Margin(X, y, "zero-one", sample_weight=0.5, subject_to=mo.error_budget(-1, 0.1)),
    "ramp with L1": lambda: mo.Margin(X, y, margin.Ramp(2, 2), margin.L1(0.5), intercept="free"),
    "ramp with kernel weights": lambda: mo.Margin(
        X[::2], y[::2], margin.Ramp(2, 2), margin.KernelWeightsL1(X[::2, 1:]), intercept="free", sample_weight=0.03,
    ),  # as MIPLIB's gsvm2rl3: gsvm2rl3.py beside this file
    "twin SVM with the pinball loss": lambda: mo.Margin(
        X, y, {"near": margin.PiecewiseLinear(((-1, 1), (0, 0), (2, 1))), "far": margin.PiecewiseLinear(((0, 0), (1, -1)))},
        "half-l2", groups=np.where(y > 0, "near", "far"), intercept="free", sample_weight=np.where(y > 0, 1 / 20, 0.5 / 20),
    ),  # the hyperplane of class +1 of Xu, Yang, Pan 2017: tau = nu/c = 1/2, the margin a parameter
    "conic loss": lambda: mo.Margin(X, y, "conic", sample_weight=0.5),
    "kernel 0-1": lambda: mo.Margin(X[::6, 1:], y[::6], "zero-one", kernel=mo.RBF(0.5)),
    "parity by counts": lambda: mo.Margin(X[::3], y[::3], subject_to=mo.parity(group[::3], 0.1, by="counts")),
    "SVDD": lambda: mo.SVDD(X[:, 1:], 0.2),
    "Crammer-Singer": lambda: mo.MulticlassSVM(X, group + (y > 0), "crammer-singer", 2.0),
    "a changed hinge SVM": lambda: mo.HingeSVM(X, y, 2.0).with_constraint(lambda v: [v.w[3] >= 0.2, cp.norm1(v.w[1:]) <= 0.9]),
    "scoring system": lambda: mo.Margin(
        np.round(X), y, "zero-one", margin.L0(0.01), intercept="free", domain=margin.Integers(-5, 5), sample_weight=1 / 40,
    ),
}  # fmt: skip


def main(names: list[str]) -> None:
    """Print and solve the named problems, or all."""
    for name in names or PROBLEMS:
        model = PROBLEMS[name]()
        print(f"== {name}\n{model}\n{mo.solve(model, 'auto', time_limit=60)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
