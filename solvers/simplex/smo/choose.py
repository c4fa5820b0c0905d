"""``auto-simplex``: the algorithm for a simplex QP by its size, the gap asked for and the memory there is."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ....models.views import SimplexQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...interface.solver import Gives, SolverInfo
from ...records.answer import Answer
from ...records.options import Options
from ..newton.inexact import load_passes
from ..warm_up import load_loops
from .simplex import SMO, SmoState

__all__ = ["AutoSimplex", "AutoState", "choose"]

#: Up to this many points a float64 cache is small and saves the refreshes.
_DOUBLE_UP_TO = 2000
#: Share of the machine's memory for the cache where no limit is given.
_SHARE = 4


@dataclass(eq=False)
class AutoState:
    """The algorithm that was picked, why, and its state."""

    algorithm: SMO
    reason: str
    state: SmoState


def choose(view: SimplexQP, options: Options) -> tuple[SMO, str]:
    """An algorithm with its parameters, and the reason in one sentence.

    Second-order SMO is the engine throughout: it needs several times fewer iterations than the Frank-Wolfe methods at equal
    cost an iteration. Chosen are the precision of the columns (float64 where the whole matrix is small or the gap is out of
    float32's reach and the matrix fits), the cache, and whether its Newton finisher may be
    used (where its matrix fits the memory; the run itself then decides by the work left).
    """
    n, tol = view.n, options.tolerance(SMO.info.tolerance)
    memory = options.memory_limit
    if memory is None:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _SHARE
    whole = 8 * n * n
    double = n <= _DOUBLE_UP_TO and whole <= memory
    need = whole if double else whole // 2
    cache = int(min(memory, max(need, 32 * n)))
    start = "farthest" if view.c.any() and view.simplices == 1 else "vertex"
    algorithm = SMO(initial=start, cache_bytes=cache, precision="double" if double else "single")  # type: ignore[arg-type]
    fits = "the whole matrix fits" if need <= cache else f"{cache // (need // n)} of {n} columns fit"
    reason = (
        f"smo, {'float64' if double else 'float32'} columns: n = {n}, gap {tol:g}, {fits} in {cache / 2**20:.0f} MiB; "
        "the Newton finisher starts where it costs less than the pairs left"
    )
    return algorithm, reason


@dataclass(frozen=True)
class AutoSimplex(Algorithm[SimplexQP, AutoState]):
    """Picks the algorithm (`choose`), runs it, and says in ``details`` what was picked and why.

    Parameters
    ----------
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    """

    stride: int | None = None

    pooled: ClassVar[bool] = True
    info: ClassVar[SolverInfo] = SolverInfo(
        name="auto-simplex",
        summary="the fastest of the simplex algorithms for the size, gap and memory",
        views=(SimplexQP,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        reference="docs/simplex.md",
    )

    def load(self) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self))
        load_passes()

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> AutoState:
        """Pick and start."""
        algorithm, reason = choose(view, options)
        algorithm = replace(algorithm, stride=self.stride)
        return AutoState(algorithm, reason, algorithm.init(view, options, rng))

    def advance(self, state: AutoState, seconds: float) -> Outcome:
        """Let the picked algorithm work."""
        return state.algorithm.advance(state.state, seconds)

    def measure(self, state: AutoState) -> Measure:
        """Where the picked algorithm stands."""
        return state.algorithm.measure(state.state)

    def answer(self, state: AutoState) -> Answer:
        """Its answer, with what was picked."""
        answer = state.algorithm.answer(state.state)
        finished = "smo with Newton finisher" if state.state.guesses else "smo"
        if state.state.start == "low rank":
            finished = "low-rank start, Newton steps" + ("" if state.state.step == "newton" else ", smo")
        return replace(answer, details={"algorithm": finished, "reason": state.reason, **answer.details})
