"""The conic paper's experiments: train along a path of the parameter, choose it on validation points, count test errors.

§5.1.2: 100 values of the parameter, the first with the fewest misclassified validation points, misclassification on the test
set. Conic loss: κ = 0.005, 0.01, .., 0.5 (Appendix C; κ = 0 is the hard-margin problem, mostly infeasible: left out). Hinge:
λ = β/(1 - β), β = k/101. Which of several best parameters the paper takes is not said.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from marginopt.instances import FlippedLabels, GaussianClusters, flipped_labels
from marginopt.models import ConicProblem, FloatArray, HingeSVM
from marginopt.relaxations.reduction import without_warnings
from marginopt.solvers import solve
from marginopt.solvers.conic import conic_path

from ..inputs import data_set, dense_arrays
from ..record import Experiment, MeasuredNumber, Run

#: Sizes (n, p) of the training sets, §5.1.1.
TRAINING_SIZES = tuple((n, p) for n in (100, 200, 500, 1000) for p in (3, 5, 10, 30))
#: Number of training sets that a mean of Table 1 is taken over: 20 for each size.
DRAWS = 20 * len(TRAINING_SIZES)
#: Numbers of values of the parameter on a path: the paper's, and that of a thinned grid.
PATH_LENGTHS = (100, 20)
#: Points of the test set.
_TEST = 100_000
#: Rows (n, p) and labels (n,).
Sample = tuple[FloatArray, FloatArray]


def _conic(train: Sample, count: int) -> FloatArray:
    """Return w for each of ``count`` values of κ, p × count."""
    X, y = train
    kappas = [0.5 * k / count for k in range(1, count + 1)]
    points = conic_path(ConicProblem(y[:, None] * X, None, 0.5), kappas=kappas, tolerance=1e-6)
    return np.column_stack([np.zeros(X.shape[1]) if p.point is None else p.point.values["w"] for p in points])


def _hinge(train: Sample, count: int) -> FloatArray:
    """Return w for each of ``count`` values of λ, p × count."""
    betas = np.arange(1, count + 1) / (count + 1.0)
    with without_warnings():
        models = [HingeSVM(*train, lam) for lam in betas / (1.0 - betas)]
    return np.column_stack([solve(model, "piqp", tol=1e-6).values["w"] for model in models])


_PATHS = {"conic": _conic, "hinge": _hinge}


def _errors(W: FloatArray, sample: Sample) -> FloatArray:
    """Return the number of misclassified points (u ≤ 0) for each column of W."""
    X, y = sample
    return np.asarray((y[:, None] * (X @ W) <= 0.0).sum(axis=0), dtype=np.float64)


def _selected(method: str, train: Sample, validation: Sample, test: Sample, count: int) -> dict[str, Any]:
    """Return the test error at the parameter that validation chooses, the least over all parameters, and the path's seconds."""
    begin = time.process_time()
    W = _PATHS[method](train, count)
    seconds = time.process_time() - begin
    chosen = int(np.argmin(_errors(W, validation)))
    errors = _errors(W, test) / len(test[1])
    return {"error": float(errors[chosen]), "least": float(errors.min()), "seconds": seconds, "index": chosen, "values": count}


def _synthetic(run: Mapping[str, Any]) -> dict[str, Any]:
    """Run §5.1: training, validation and clean test points of one direction, the same points for all methods."""
    rng = np.random.default_rng([run["n"], run["p"], run["seed"], int(1000 * run["sigma"]), len(run["outliers"])])
    direction = rng.uniform(-1.0, 1.0, run["p"])
    population = GaussianClusters(direction, run["sigma"], run["outliers"], run["share"])
    train, validation = (_sample(population, run["n"], rng) for _ in range(2))
    test = population.sample_clean(_TEST, rng)
    points = np.asarray(test.X), np.asarray(test.y)
    if run["method"] == "bayes":
        return {"error": float(_errors(population.bayes[:, None], points)[0]) / _TEST}
    return _selected(run["method"], train, validation, points, run["values"])


def _sample(population: GaussianClusters | FlippedLabels, n: int, rng: np.random.Generator) -> Sample:
    instance = population.sample(n, rng)
    return np.asarray(instance.X), np.asarray(instance.y)


def _flipped(run: Mapping[str, Any]) -> dict[str, Any]:
    """Run Appendix B: separable points of the cube; labels of training and validation points are flipped."""
    rng = np.random.default_rng([run["n"], run["p"], run["seed"], int(1000 * run["tau"])])
    train = flipped_labels(run["n"], run["p"], run["tau"], rng)
    population = train.population
    assert isinstance(population, FlippedLabels)
    test = population.sample_clean(_TEST, rng)
    sample = np.asarray(train.X), np.asarray(train.y)
    validation = _sample(population, run["n"], rng)
    return _selected(run["method"], sample, validation, (np.asarray(test.X), np.asarray(test.y)), run["values"])


def _real(run: Mapping[str, Any]) -> dict[str, Any]:
    """Run §5.2: a 35/35/30 split; labels of the first two parts are flipped with probability τ, features stay as they are."""
    X, y = dense_arrays(data_set(run["dataset"]))
    rng = np.random.default_rng([run["seed"], int(1000 * run["tau"])])
    order = rng.permutation(len(y))
    parts = np.split(order, [round(0.35 * len(y)), round(0.7 * len(y))])
    noisy = np.where(rng.random(len(y)) < run["tau"], -y, y)
    Z = np.column_stack([np.ones(len(y)), X])
    train, validation, test = ((Z[part], labels[part]) for part, labels in zip(parts, (noisy, noisy, y), strict=True))
    return _selected(run["method"], train, validation, test, run["values"])


def seconds_of_100(records: Sequence[tuple[Run, Mapping[str, Any]]]) -> MeasuredNumber:
    """Return the mean and deviation of the seconds for 100 problems of a path; those of a thinned path are scaled."""
    seconds = np.array([100.0 * record["seconds"] / record["values"] for _, record in records])
    return MeasuredNumber(float(seconds.mean()), float(seconds.std(ddof=1)) if seconds.size > 1 else None, seconds.size)


#: Generated points with outliers (§5.1), separable points with flipped labels (Appendix B), real sets with flipped labels (§5.2).
SYNTHETIC = Experiment("conic synthetic", _synthetic)
FLIPPED = Experiment("conic flipped labels", _flipped, layout=2)
REAL = Experiment("conic real", _real, lambda run: (run["dataset"],))
