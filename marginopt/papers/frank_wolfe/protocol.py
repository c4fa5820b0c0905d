"""The Frank-Wolfe paper's training runs: one-versus-one L2-SVMs by CVM, FW and MFW, with its stop and its samples.

§5.2: σ² the mean squared distance of the training points; C of 2^0, .., 2^12 by the accuracy on a random 30%
validation part, one for all algorithms (chosen there by CVM, here by the optimum of the same problem at a gap of
1e-4; the values are not published); ε = 1e-6, 20 random points to start, the best of 59 random candidates in each
step, the stop on a sample as in the paper. The budget is a number of steps for each binary problem, which a machine's
load does not change. Polynomial kernel: the homogeneous (γx'z)², whose diagonal is not constant: the stop is a
relative gap of 2ε.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...estimators.multiclass import binary_problems, class_scores
from ...models.arrays import FloatArray
from ...models.formulations.l2_svm import L2SVMDual
from ...models.kernels.kernels import RBF, Kernel, Polynomial
from ...solvers.records.options import Options
from ...solvers.unjudged import unjudged
from ..effort import Effort
from ..record import Experiment, Run
from .data import SOURCES, parts

__all__ = ["ALGORITHMS", "TRAINING", "training_runs"]

#: Solver with its own options; CVM solves its inner problem to the accuracy of the stop, as Algorithm 1 has it.
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {"CVM": ("cvm", {"inner": "full"}), "FW": ("fw", {}), "MFW": ("mfw", {})}
EPSILON = 1e-6
_STEPS = (200_000, 20_000)
_POWERS = (tuple(range(13)), (0, 3, 6, 9, 12))
#: Points of the validation's training part at most, where thinned.
_VALIDATED = (0, 2000)


def training_runs(effort: Effort, name: str, algorithm: str, kernel: str = "rbf", C: float | None = None) -> tuple[Run, ...]:
    """The five repetitions of a cell; C by validation where none is given."""
    return tuple(
        Run.of(
            TRAINING, dataset=name, algorithm=algorithm, kernel=kernel, seed=seed, C=C, thin=effort.thin,
            steps=effort.grid(*_STEPS),
        )
        for seed in effort.repetitions(5)
    )  # fmt: skip


def _kernel(kind: str, X: FloatArray) -> Kernel:
    return (RBF("frank-wolfe") if kind == "rbf" else Polynomial(2, "frank-wolfe-polynomial", 0.0)).fitted(X)


class OneVersusOne:
    """The binary problems of a set, trained one after the other by one solver."""

    def __init__(self, X: FloatArray, y: np.ndarray, kernel: Kernel, C: float) -> None:
        self.classes, codes = np.unique(y, return_inverse=True)
        self.pairs = binary_problems(codes, self.classes.size, "ovo")
        self.models = [L2SVMDual(X[pair.index], pair.labels, C, kernel) for pair in self.pairs]
        self.values: list[Mapping[str, FloatArray]] = []
        self.iterations, self.cut, self.seconds = 0, 0, 0.0

    def train(self, solver: str, options: Options) -> OneVersusOne:
        """Solve every problem; certificates cost a scan of all points and are not a part of what is timed."""
        for model in self.models:
            begin = time.process_time()
            answer = unjudged(solver, model, options)
            self.seconds += time.process_time() - begin
            assert answer.values is not None
            self.values.append({"a": answer.values["a"]})
            self.iterations += answer.iterations or 0
            self.cut += "limit" in str(answer.status).lower()
        return self

    def scores(self, X: FloatArray) -> FloatArray:
        """Decision values of the problems, points × pairs."""
        found = [model.decision_function(value, X) for model, value in zip(self.models, self.values, strict=True)]
        return np.column_stack(found)

    def voted(self, scores: FloatArray) -> np.ndarray:
        """One vote for each pair."""
        return np.asarray(self.classes[class_scores(scores, self.pairs, self.classes.size).argmax(axis=1)])

    def by_graph(self, scores: FloatArray) -> np.ndarray:
        """DDAG: the first and the last class that are left are compared, and the loser goes."""
        place = {(pair.negative, pair.positive): k for k, pair in enumerate(self.pairs)}
        low, high = np.zeros(len(scores), dtype=np.int64), np.full(len(scores), self.classes.size - 1)
        pair_of = np.zeros((self.classes.size, self.classes.size), dtype=np.int64)
        for (i, j), k in place.items():
            pair_of[i, j] = k
        for _ in range(self.classes.size - 1):
            wins = scores[np.arange(len(scores)), pair_of[low, high]] > 0
            low, high = np.where(wins, low + 1, low), np.where(wins, high, high - 1)
        return np.asarray(self.classes[low])


@lru_cache(maxsize=4)
def _chosen(name: str, kind: str, thin: bool) -> float:
    """C by the accuracy on a random 30%; the smallest of equals."""
    found = parts(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(found.y))
    held, kept = np.split(order, [int(0.3 * len(order))])
    most = _VALIDATED[int(thin)]
    kept, held = (kept[:most], held[:most]) if most else (kept, held)
    kernel = _kernel(kind, found.X)
    powers = _POWERS[int(thin)]
    right = []
    for power in powers:
        trained = OneVersusOne(found.X[kept], found.y[kept], kernel, 2.0**power).train("smo", Options(tol=1e-4))
        right.append(float((trained.voted(trained.scores(found.X[held])) == found.y[held]).mean()))
    return 2.0 ** powers[int(np.argmax(right))]


def _training(run: Mapping[str, Any]) -> dict[str, Any]:
    """Choose C, train all binary problems, test by votes and by DDAG."""
    found = parts(run["dataset"])
    kernel = _kernel(run["kernel"], found.X)
    C = run["C"] if run["C"] is not None else _chosen(run["dataset"], run["kernel"], run["thin"])
    solver, own = ALGORITHMS[run["algorithm"]]
    native: dict[str, Any] = {"initial": "random20", "sampling": 59, "rescan": False, **own}
    stop = {"stop": "ball", "epsilon": EPSILON} if kernel.constant_diagonal else {}
    options = Options.of(None, tol=2.0 * EPSILON, seed=run["seed"], iteration_limit=run["steps"], **native, **stop)
    _compiled(solver)
    trained = OneVersusOne(found.X, found.y, kernel, C).train(solver, options)
    scores = trained.scores(found.X_test)
    return {
        "accuracy": float((trained.voted(scores) == found.y_test).mean()),
        "ddag": float((trained.by_graph(scores) == found.y_test).mean()),
        "seconds": trained.seconds,
        "iterations": trained.iterations,
        "cut": trained.cut,
        "problems": len(trained.pairs),
        "C": C,
        "tested": len(found.y_test),
        "how": found.how,
    }


@lru_cache(maxsize=8)
def _compiled(solver: str) -> None:
    """Imports and compiled loops, which belong to no run."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    options = Options.of(None, tol=1e-2, iteration_limit=50, initial="random20", sampling=59, rescan=False)
    unjudged(solver, L2SVMDual(rng.normal(size=(60, 2)) + y[:, None], y, 1.0, RBF(1.0)), options)


def _sets(run: Mapping[str, Any]) -> Sequence[str]:
    return [name for name in SOURCES[run["dataset"]] if name]


TRAINING = Experiment("frank-wolfe training", _training, _sets, layout=2)
