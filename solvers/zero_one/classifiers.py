"""Good classifiers without a proof: the solver's own heuristic run to its end, and the least norm that keeps given points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...models.arrays import BoolArray, FloatArray
from ...models.views import ZeroOneProblem
from .engines.engine import Limits, Shared
from .heuristic import Heuristic
from .incumbent import Polish, trivial_incumbent
from .local_search import line_minima
from .reduced import evaluate, reduce_problem

__all__ = ["LeastNorm", "good_classifier"]

#: Margins this far below 1 are brought to 1 by scaling w.
_NEAR = 1e-7


def good_classifier(
    problem: ZeroOneProblem, rng: np.random.Generator, rounds: int, starts: Iterable[FloatArray] = ()
) -> FloatArray:
    """A w of small 0-1 objective, its margins met exactly.

    Parameters
    ----------
    problem : ZeroOneProblem
    rng : numpy Generator
    rounds : int
        Local searches, and large neighbourhoods, at most; those in vain end them sooner (`heuristic`).
    starts : iterable of ndarray (p,)
        Points to begin with: the best multiple of each is polished.
    """
    reduced = reduce_problem(problem)
    shared = Shared(reduced, trivial_incumbent(reduced), Polish.of(reduced), Limits())
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
    """min Σ_{penalised} w_j² subject to a_i'w ≥ 1 for given points i of one problem: the hard margin on any of its subsets."""

    polish: Polish

    @classmethod
    def of(cls, problem: ZeroOneProblem) -> LeastNorm:
        """Reduced once for all subsets."""
        return cls(Polish.of(reduce_problem(problem)))

    def keeping(self, kept: BoolArray) -> FloatArray | None:
        """The w that keeps these points (n,), their margins met exactly; None where none does, or only one of enormous norm."""
        reduced = self.polish.reduced
        problem, rows = reduced.problem, reduced.member[kept]
        if not rows.size:
            return np.zeros(problem.A.shape[1])
        if (rows < 0).any():  # a row of zeros is kept by no w
            return None
        among = np.zeros(len(reduced.weights), dtype=bool)
        among[rows] = True
        found = self.polish.solve(among)
        if found is None:
            return None
        _, w = evaluate(problem, found, _NEAR)
        return w if (problem.A[kept] @ w >= 1.0).all() else None
