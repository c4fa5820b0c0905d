"""Train one-versus-one L2-SVMs by CVM, FW or MFW with the paper's options, and predict by votes or by a decision graph."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from marginopt.estimators.training_set import binary_problems, class_scores
from marginopt.models import FloatArray, Kernel, L2SVMDual
from marginopt.solvers import Options, solve_raw

#: Solver with its own options. CVM solves its inner problem to the accuracy of the stop, as Algorithm 1 has it; FW and MFW look
#: for the next point among the 59 drawn ones alone (§5.2.3).
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "CVM": ("cvm", {"inner": "full"}),
    "FW": ("fw", {"support_candidates": False}),
    "MFW": ("mfw", {"support_candidates": False}),
}
#: ε of the stopping rule.
EPSILON = 1e-6


def paper_options(algorithm: str, kernel: Kernel, seed: int, steps: int | None) -> Options:
    """Return the paper's options: 20 random points to start, 59 sampled candidates, and a stop on the sample.

    The stop is that of the enclosing ball for a kernel of constant diagonal, else a relative gap of 2ε. ``steps`` limits each
    problem.
    """
    native: dict[str, Any] = {"initial": "random20", "sampling": 59, "rescan": False, **ALGORITHMS[algorithm][1]}
    stop = {"stop": "ball", "epsilon": EPSILON} if kernel.constant_diagonal else {}
    return Options.of(None, tol=2.0 * EPSILON, seed=seed, iteration_limit=steps, **native, **stop)


class OneVersusOne:
    """One-versus-one classifier: an L2-SVM for each pair of classes.

    Attributes
    ----------
    iterations : int
        Steps over all problems.
    limited : int
        Number of problems that ended at the limit of steps.
    seconds : float
        Processor seconds of the training.
    """

    def __init__(self, X: FloatArray, y: np.ndarray, kernel: Kernel, C: float) -> None:
        self.classes, codes = np.unique(y, return_inverse=True)
        self.pairs = binary_problems(codes, self.classes.size, "ovo")
        self.models = [L2SVMDual(X[pair.index], pair.labels, C, kernel) for pair in self.pairs]
        self.values: list[Mapping[str, FloatArray]] = []
        self.iterations, self.limited, self.seconds = 0, 0, 0.0

    def train(self, solver: str, options: Options) -> OneVersusOne:
        """Solve every problem, without certificates, which would add a scan of all points to the time; return self."""
        for model in self.models:
            begin = time.process_time()
            answer = solve_raw(solver, model, options)
            self.seconds += time.process_time() - begin
            assert answer.values is not None
            self.values.append({"a": answer.values["a"]})
            self.iterations += answer.iterations or 0
            self.limited += "limit" in str(answer.status).lower()
        return self

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the decision values of all pairs for new rows, points × pairs."""
        decisions = [model.decision_function(value, X) for model, value in zip(self.models, self.values, strict=True)]
        return np.column_stack(decisions)

    def predict_by_votes(self, scores: FloatArray) -> np.ndarray:
        """Return for each point the class with most votes, one vote for each pair."""
        return np.asarray(self.classes[class_scores(scores, self.pairs, self.classes.size).argmax(axis=1)])

    def predict_by_graph(self, scores: FloatArray) -> np.ndarray:
        """Return each point's class by the decision graph (DDAG): first and last class left compete until one remains."""
        place = {(pair.negative, pair.positive): k for k, pair in enumerate(self.pairs)}
        low, high = np.zeros(len(scores), dtype=np.int64), np.full(len(scores), self.classes.size - 1)
        pair_of = np.zeros((self.classes.size, self.classes.size), dtype=np.int64)
        for (i, j), k in place.items():
            pair_of[i, j] = k
        for _ in range(self.classes.size - 1):
            wins = scores[np.arange(len(scores)), pair_of[low, high]] > 0
            low, high = np.where(wins, low + 1, low), np.where(wins, high, high - 1)
        return np.asarray(self.classes[low])
