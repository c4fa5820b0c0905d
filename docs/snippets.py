"""The examples on the pages of formulations and algorithms, which `make docs` runs, and whom each formulation serves."""

from __future__ import annotations

__all__ = ["PICTURE", "READ_BY", "SERVES", "SOLVE", "STATE", "snippet"]

#: The end of every example.
SOLVE = "result = mo.solve(model)\nprint(result)"
#: Expressions that draw a solved classifier of two features, and the form of any other model.
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
model = mo.formulations.table()["hinge-quadratic"].make_model(arrays)""",
    "hulls": f"{_CLUSTERS}model = mo.ConvexHullsDual(data.X[:, 1:], data.y, C=10.0, kernel=mo.Linear())",
    "l1svm": f"{_CLUSTERS}model = mo.L1SVMDual(data.X[:, 1:], data.y, C=1.0, kernel=mo.RBF(0.5))",
    "l2svm": f"{_CLUSTERS}model = mo.L2SVMDual(data.X[:, 1:], data.y, C=1.0, kernel=mo.RBF(0.5))",
    "margin": f'{_OUTLIERS}model = mo.Margin(data.X, data.y, loss="squared-hinge", subject_to=mo.parity(data.X[:, 1] > 0, 0.5))',
    "max-min": f"{_CLUSTERS}model = mo.MaxMinSVM(data.X[:, 1:], data.y, C=10.0)  # the optimum has γ, too",
    "meb": f"{_RANDOM}X = rng.normal(size=(60, 2))\nmodel = mo.MEBDual(X, kernel=mo.Linear())",
    "multiclass": f'{_CLASSES}model = mo.MulticlassSVM(X, y, loss="crammer-singer")',
    "nonparallel": f'{_CLUSTERS}model = mo.NonparallelSVM(data.X, data.y, 1.0, "twsvm", kernel=mo.Linear())',
    "nonparallel-joint": f"{_CLUSTERS}model = mo.models.JointHyperplanesSVM(data.X, data.y, target=1.0)",
    "nonparallel-pinball": f"{_CLUSTERS}model = mo.models.PinballTwinSVM(data.X, data.y, target=1.0)",
    "nu": f"{_CLUSTERS}model = mo.NuSVM(data.X, data.y, nu=0.3)  # at most 30% of the points have y x'w < rho",
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


#: The sentence on each formulation that says whom it serves.
SERVES = {
    "box": "For those who develop solvers: the dual of an SVM whose intercept is penalised",
    "chebyshev": "For several classes whose hyperplanes and features are found together",
    "conic": "For data with outliers that are too large for an exact search, and for a strong bound on the 0-1 loss",
    "epsilon-svr": "For regression in which small errors cost nothing",
    "hard-margin": "For classes that a hyperplane separates without errors",
    "hinge": "For two classes with few outliers: the usual linear SVM",
    "hinge-quadratic": "For those who develop solvers: the problem of one class in nonparallel classifiers",
    "hulls": "For two classes and a kernel, where the distance of the classes is asked for",
    "l1svm": "For two classes and a kernel: the problem that LIBSVM solves",
    "l2svm": "For two classes and a kernel: squared slacks have the faster solvers",
    "margin": "For a problem that has no name here: fair, sparse, integer or robust",
    "max-min": "For two classes and a kernel whose parameter is to be found without validation data",
    "meb": "For one class: points outside the ball are unusual",
    "multiclass": "For several classes in one problem",
    "nonparallel": "For classes that lie along hyperplanes of their own",
    "nonparallel-joint": "For two classes whose pair of hyperplanes is found by one problem",
    "nonparallel-pinball": "For classes of which a quantile, not the mean, is to lie on its hyperplane",
    "nu": "For two classes where the share of errors is known, and their price is not",
    "pareto": "For training with several objectives: a direction in which all of them fall",
    "ramp": "For two classes with outliers, none of which may cost more than a fixed price",
    "scoring-system": "For decisions that people make by adding up a few whole points",
    "stiefel": "For orthonormal directions that maximise a quadratic, as in nonparallel classifiers",
    "svdd": "For one class with outliers: a share of the points may lie outside the ball",
    "zero-one": "For two classes with outliers: each violated margin costs the same, however far the point is",
}

_SCORES = STATE["scoring-system"].replace("max_features=3", 'C0=0.01, loss="logistic"')
#: By algorithm: the formulation whose example shows it, and another statement, or "" for that of `STATE`.
READ_BY = {
    "alternating": ("chebyshev", ""),
    "auto-simplex": ("l2svm", ""),
    "blended-pairwise-fw": ("l2svm", ""),
    "boxqp": ("box", ""),
    "conic-factored": ("conic", ""),
    "conic-ipm": ("conic", ""),
    "cvm": ("l2svm", ""),
    "fw": ("l2svm", ""),
    "gpi": ("stiefel", ""),
    "gpi-momentum": ("stiefel", ""),
    "kernel-npsvcpp": ("chebyshev", ""),
    "linear-newton": ("hinge", ""),
    "margin-bb": ("ramp", ""),
    "maxmin": ("max-min", ""),
    "mfw": ("l2svm", ""),
    "multiclass-ascent": ("multiclass", ""),
    "npsvc-mm": ("nonparallel", f'{_CLUSTERS}model = mo.NonparallelSVM(data.X, data.y, 1.0, "capped", kernel=mo.Linear())'),
    "pairwise-fw": ("l2svm", ""),
    "pga": ("hulls", ""),
    "pymanopt": ("stiefel", ""),
    "ramp-bb": (
        "margin",
        f'{_CLUSTERS}model = mo.Margin(data.X, data.y, mo.margin.Ramp(2, 2), "l1", intercept="free", sample_weight=0.3)',
    ),
    "risk-bb": ("scoring-system", _SCORES),
    "smo": ("l2svm", ""),
    "smo-box": ("l1svm", ""),
    "sparse-bb": (
        "margin",
        f'{_CLUSTERS}model = mo.Margin(data, regulariser="half-l2", intercept="free", subject_to=mo.at_most(1).nonzero)',
    ),
    "stiefel-bb": ("stiefel", ""),
    "supports-bb": ("scoring-system", ""),
    "zero-one-bb": ("zero-one", ""),
}


def snippet(name: str, solver: str = "") -> str:
    """Return the code of a formulation's example, solved by auto or by ``solver``: imports, data, statement, solution."""
    lines = (READ_BY[solver][1] if solver else "") or STATE[name]
    solve = SOLVE.replace("(model)\n", f'(model, "{solver}")\n') if solver else SOLVE
    lines = lines.strip()
    imports, marginopt = "import numpy as np\n\n", "import marginopt as mo\n\n"
    body = lines.removeprefix(imports)
    return f"{imports.strip() + chr(10) if body != lines else ''}{marginopt}{body}\n{solve}"
