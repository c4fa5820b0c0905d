"""The parts that the projected-gradient algorithms share: a dense matrix, the loop, its start and its answer."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from ....errors import InputError
from ....models.arrays import BoolArray, FloatArray, IntArray
from ....models.memory import check_bytes
from ....models.views import SimplexQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...records.answer import Answer
from ...records.options import Options
from ..answer import relative, simplex_answer
from ..parameters import iterations_allowed
from ..start import StartRule, starting_point

__all__ = ["DenseGradient", "DenseState", "Start"]

Start: TypeAlias = Literal["uniform", "sparse"]
_RULES: dict[Start, StartRule] = {"uniform": "uniform", "sparse": "vertex"}
#: Steps after which the gradient is computed afresh from a, so that rounding does not add up.
REFRESH = 200


@dataclass(eq=False)
class DenseState:
    """a, its gradient g = Qa + c, and what is needed to step; ``members[k]`` are the indices of simplex k."""

    view: SimplexQP
    Q: FloatArray  #: (n, n)
    a: FloatArray  #: (n,)
    g: FloatArray  #: (n,)
    members: Sequence[IntArray]
    free: BoolArray  #: (n,) variables that may move both ways
    tol: float
    limit: int
    steps: int = 0
    step: str = ""

    @property
    def objective(self) -> float:
        """½a'Qa + c'a from the gradient: ½(a'g + c'a)."""
        return 0.5 * float(self.a @ self.g + self.view.c @ self.a)

    @property
    def gap(self) -> float:
        """a'g - Σ_k min over simplex k of g."""
        return float(self.a @ self.g - sum(self.g[m].min() for m in self.members))

    @property
    def converged(self) -> bool:
        """Relative gap within the tolerance."""
        return relative(self.objective, self.gap) <= self.tol

    def move(self, d: FloatArray, length: float) -> None:
        """a ← a + length·d and its gradient; refreshed now and then."""
        self.a = self.a + length * d
        self.steps += 1
        support = np.flatnonzero(d)
        if self.steps % REFRESH == 0:
            self.refresh()
        elif support.size < 0.5 * d.size:
            self.g = self.g + length * (self.Q[:, support] @ d[support])
        else:
            self.g = self.g + length * (self.Q @ d)

    def refresh(self) -> None:
        """g = Qa + c anew."""
        self.g = self.Q @ self.a + self.view.c


S = TypeVar("S", bound=DenseState)


class DenseGradient(Algorithm[SimplexQP, S]):
    """An algorithm that keeps Q and the whole gradient; a concrete one makes its state and takes one step at a time."""

    initial: Start

    @abstractmethod
    def once(self, state: S) -> bool:
        """One step; False where none descends in floating point."""

    def begin(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> DenseState:
        """The state at the start; the n × n matrix is materialised, within the limit of memory."""
        if self.initial not in _RULES:
            raise InputError(f"initial must be 'uniform' or 'sparse'; it is {self.initial!r}")
        check_bytes(8 * view.n**2, "the dense matrix that projected-gradient algorithms work on")
        Q = view.gram.dense
        members = [np.flatnonzero(view.groups == k) for k in range(view.simplices)]
        a = starting_point(view, _RULES[self.initial], options, rng)
        tol = options.tolerance(self.info.tolerance)
        return DenseState(view, Q, a, Q @ a + view.c, members, a > 0, tol, iterations_allowed(options))

    def advance(self, state: S, seconds: float) -> Outcome:
        """Steps for about ``seconds``; an end is confirmed by a gradient computed afresh."""
        end = time.perf_counter() + seconds
        while True:
            if state.converged:
                state.refresh()
                if state.converged:
                    return Outcome.CONVERGED
            if state.steps >= state.limit:
                return Outcome.ITERATION_LIMIT
            if not self.once(state):
                return Outcome.STALLED
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def measure(self, state: S) -> Measure:
        """Objective, Frank-Wolfe bound f - gap, size of the support."""
        f = state.objective
        active = int(np.count_nonzero(state.a))
        return Measure(state.steps, f, f - state.gap, active=active, columns=state.view.n, step=state.step)

    def answer(self, state: S) -> Answer:
        """The point on the simplices to the last bit of rounding, with the multipliers of its gradient."""
        a = np.maximum(state.a, 0.0)
        for m in state.members:
            a[m] /= a[m].sum()
        return simplex_answer(state.view, a, state.Q @ a + state.view.c, {})
