"""The binary problems of a set, trained one after the other by one algorithm with the paper's options."""

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
EPSILON = 1e-6


def paper_options(algorithm: str, kernel: Kernel, seed: int, steps: int | None) -> Options:
    """20 random points to start, 59 sampled candidates, the stop on a sample: of the ball, else a relative gap of 2ε."""
    native: dict[str, Any] = {"initial": "random20", "sampling": 59, "rescan": False, **ALGORITHMS[algorithm][1]}
    stop = {"stop": "ball", "epsilon": EPSILON} if kernel.constant_diagonal else {}
    return Options.of(None, tol=2.0 * EPSILON, seed=seed, iteration_limit=steps, **native, **stop)


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
            answer = solve_raw(solver, model, options)
            self.seconds += time.process_time() - begin
            assert answer.values is not None
            self.values.append({"a": answer.values["a"]})
            self.iterations += answer.iterations or 0
            self.cut += "limit" in str(answer.status).lower()
        return self

    def scores(self, X: FloatArray) -> FloatArray:
        """Decision values of the problems, points × pairs."""
        decisions = [model.decision_function(value, X) for model, value in zip(self.models, self.values, strict=True)]
        return np.column_stack(decisions)

    def voted(self, scores: FloatArray) -> np.ndarray:
        """Return the class with most votes, one vote for each pair."""
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
