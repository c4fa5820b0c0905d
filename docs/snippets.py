"""Code to copy for every formulation: each states `model` on small data; `make docs` and the tests run all of them."""

from __future__ import annotations

__all__ = ["PICTURE", "SOLVE", "STATE", "snippet"]

#: The end of every example.
SOLVE = "result = mo.solve(model)\nprint(result)"
#: What draws a solved classifier of two features, and what draws the form of any other model.
PICTURE = {"points": "model.explain(result).picture()", "form": "model.form.spy()"}

_CLUSTERS = """
data = mo.instances.gaussian_clusters(40, 2, sigma=0.4, seed=1)  # ones, two features
"""
_OUTLIERS = """
data = mo.instances.gaussian_clusters(40, 2, sigma=0.2, outliers="clustered", seed=0)
"""
_RANDOM = """
import numpy as np

rng = np.random.default_rng(0)
"""
_CLASSES = """
import numpy as np

rng = np.random.default_rng(0)
y = np.repeat(["a", "b", "c"], 20)
X = np.repeat([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]], 20, axis=0) + 0.8 * rng.normal(size=(60, 2))
X = np.column_stack([np.ones(60), X])
"""

#: The statement of each formulation, by its name at the prompt.
STATE = {
    "box": f"""{_RANDOM}Z = rng.normal(size=(30, 5))  # min ½||Z'x||² + ½x'(ridge)x + q'x over a box
model = mo.BoxProgram(Z, -np.ones(30), np.zeros(30), np.ones(30), np.full(30, 0.1))""",
    "chebyshev": f"{_CLASSES}model = mo.ChebyshevNPSVC(X, y, c=1.0)",
    "conic": f"{_OUTLIERS}model = mo.ConicSVM(data.X, data.y, lam=2.0)",
    "epsilon-svr": f"""{_RANDOM}X = np.sort(rng.uniform(-3.0, 3.0, size=(30, 1)), axis=0)
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
model = mo.EpsilonSVR(X, y, C=10.0, epsilon=0.2, kernel=mo.RBF(1.0))""",
    "hard-margin": f"""{_RANDOM}X = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
y = np.where(X[:, 1] + X[:, 2] > 0.0, 1.0, -1.0)
model = mo.HardMarginSVM(X, y)""",
    "hinge": f"{_CLUSTERS}model = mo.HingeSVM(data.X, data.y, lam=1.0)",
    "hinge-quadratic": f"""{_RANDOM}H, G = np.eye(3), rng.normal(size=(20, 3))
arrays = {{"H": H, "G": G, "b": np.zeros(3), "h": np.ones(20), "weights": np.ones(20), "tau": np.zeros(20)}}
model = mo.formulations.table()["hinge-quadratic"].state(arrays)""",
    "hulls": f"{_CLUSTERS}model = mo.ConvexHullsDual(data.X[:, 1:], data.y, C=10.0, kernel=mo.Linear())",
    "l1svm": f"{_CLUSTERS}model = mo.L1SVMDual(data.X[:, 1:], data.y, C=1.0, kernel=mo.RBF(0.5))",
    "l2svm": f"{_CLUSTERS}model = mo.L2SVMDual(data.X[:, 1:], data.y, C=1.0, kernel=mo.RBF(0.5))",
    "margin": f'{_OUTLIERS}model = mo.Margin(data.X, data.y, loss="squared-hinge", subject_to=mo.parity(data.X[:, 1] > 0, 0.5))',
    "max-min": f"{_CLUSTERS}model = mo.MaxMinSVM(data.X[:, 1:], data.y, C=10.0)  # the optimum has γ, too",
    "meb": f"{_RANDOM}X = rng.normal(size=(60, 2))\nmodel = mo.MEBDual(X, kernel=mo.Linear())",
    "multiclass": f'{_CLASSES}model = mo.MulticlassSVM(X, y, loss="crammer-singer")',
    "nonparallel": f'{_CLUSTERS}model = mo.NonparallelSVM(data.X, data.y, 1.0, "twsvm", kernel=mo.Linear())',
    "nonparallel-joint": f"{_CLUSTERS}model = mo.models.JointHyperplanesSVM(data.X, data.y, target=1.0)",
    "nu": f"{_CLUSTERS}model = mo.NuSVM(data.X, data.y, nu=0.3)  # at most 30% of the points within the margin",
    "pareto": f"""{_RANDOM}gradients = rng.normal(size=(4, 5, 2))  # of four objectives
model = mo.ParetoQP(gradients, rng.random(4))""",
    "ramp": f"{_OUTLIERS}model = mo.RampSVM(data.X, data.y, lam=2.0)",
    "scoring-system": f"""{_RANDOM}X = np.column_stack([np.ones(80), (rng.uniform(size=(80, 5)) < 0.4)])
y = np.where(X @ [-1.6, 2.0, 1.0, 2.0, 0.2, 0.0] + 0.5 * rng.normal(size=80) > 0.0, 1.0, -1.0)
model = mo.ScoringSystem(X, y, coefficients=(-5, 5), max_features=3)""",
    "stiefel": f"""{_RANDOM}H, E = rng.normal(size=(6, 6)), rng.normal(size=(6, 2))
model = mo.StiefelQP(H + H.T, E)""",
    "svdd": f"{_RANDOM}X = rng.normal(size=(60, 2))\nmodel = mo.SVDD(X, nu=0.1)  # at most a tenth of the points outside",
    "zero-one": f"{_OUTLIERS}model = mo.ZeroOneSVM(data.X, data.y, lam=2.0)",
}


def snippet(name: str) -> str:
    """Return a whole example of a formulation: imports, data, statement, solution."""
    lines = STATE[name].strip()
    imports, marginopt = "import numpy as np\n\n", "import marginopt as mo\n\n"
    body = lines.removeprefix(imports)
    return f"{imports.strip() + chr(10) if body != lines else ''}{marginopt}{body}\n{SOLVE}"
