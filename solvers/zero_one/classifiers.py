"""Good classifiers without a proof: the primal heuristic run to its end, and the hard margin on given points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.views import ZeroOneProblem
from ..exact.limits import Limits
from .engines.engine import SharedState
from .heuristic import Heuristic, line_minima
from .incumbent import Polish, trivial_incumbent
from .reduced import evaluate, reduce_problem

__all__ = ["LeastNorm", "good_classifier"]

#: Margins within this distance below 1 are raised to 1 by scaling w.
_NEAR = 1e-7


def good_classifier(
    problem: ZeroOneProblem, rng: np.random.Generator, rounds: int, starts: Iterable[FloatArray] = ()
) -> FloatArray:
    """Return a w of small 0-1 objective, with exactly satisfied margins.

    Parameters
    ----------
    problem : ZeroOneProblem
    rng : numpy Generator
    rounds : int
        Maximum numbers of local searches and of large neighbourhoods; failures end them sooner (`heuristic`).
    starts : iterable of ndarray (p,)
        Starting points: the best multiple of each is polished.
    """
    reduced = reduce_problem(problem)
    shared = SharedState(reduced, trivial_incumbent(reduced), Polish.of(reduced), Limits())
    if not reduced.rows.size:
        return shared.incumbent.w
    origin = np.zeros(reduced.rows.shape[1])
    for w in starts:
        v = reduced.contract(w)
        steps, _ = line_minima(reduced.rows, reduced.weights, reduced.free, origin, v[:, None])
        shared.polish.improve(shared.incumbent, v * steps[0])
    heuristic = Heuristic(shared, rng, rounds, rounds)
    while not heuristic.finished:
        heuristic.step()
    return shared.incumbent.w


@dataclass(frozen=True, eq=False)
class LeastNorm:
    """The hard-margin problem min Σ_{penalised} w_j² subject to a_i'w ≥ 1 on subsets of the points of one problem."""

    polish: Polish

    @classmethod
    def of(cls, problem: ZeroOneProblem) -> LeastNorm:
        """Return the solver for all subsets, which reduces the problem once."""
        return cls(Polish.of(reduce_problem(problem)))

    def keeping(self, kept: BoolArray) -> FloatArray | None:
        """Return the w of least norm that keeps these points (n,), margins exactly met; None without a w of moderate norm."""
        reduced = self.polish.reduced
        problem, rows = reduced.problem, reduced.member[kept]
        if not rows.size:
            return np.zeros(problem.A.shape[1])
        if (rows < 0).any():  # no w keeps a row of zeros
            return None
        row_mask = np.zeros(len(reduced.weights), dtype=bool)
        row_mask[rows] = True
        solution = self.polish.solve(row_mask)
        if solution is None:
            return None
        _, w = evaluate(problem, solution, _NEAR)
        return w if (problem.A[kept] @ w >= 1.0).all() else None
