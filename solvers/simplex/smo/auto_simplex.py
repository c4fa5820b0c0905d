"""``auto-simplex``: SMO with precision, cache and start for the problem's size and the memory there is."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from ....models.views import SimplexQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...records.answer import Answer
from ...records.options import Options
from .. import records
from ..start import StartRule
from .simplex import SMO, SmoState
from .simplex_state import Phase

__all__ = ["AutoSimplex", "AutoState", "choose"]

#: Up to this many points a float64 cache is small and saves the refreshes.
_DOUBLE_UP_TO = 2000
#: Share of the machine's memory for the cache where no limit is given.
_SHARE = 4


@dataclass(eq=False)
class AutoState:
    """SMO as it was configured, why so, and its state."""

    algorithm: SMO
    reason: str
    state: SmoState


def _precision(view: SimplexQP) -> Literal["single", "double"]:
    return "double" if view.n <= _DOUBLE_UP_TO else "single"


def choose(view: SimplexQP, options: Options) -> tuple[SMO, str]:
    """SMO with its parameters, and the reason in one sentence.

    It is SMO throughout, since that needs several times fewer iterations than the Frank-Wolfe methods at equal
    cost an iteration. Chosen are the precision of the columns (float64 where the whole matrix is small and fits the memory), the
    cache and the start; the run itself decides by the work left whether Newton steps end it.
    """
    n, tol = view.n, options.tolerance(SMO.info.tolerance)
    memory = options.memory_limit
    if memory is None:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _SHARE
    whole = 8 * n * n
    precision = _precision(view) if whole <= memory else "single"
    double = precision == "double"
    need = whole if double else whole // 2
    cache = int(min(memory, max(need, 32 * n)))
    start: StartRule = "farthest" if view.c.any() and view.simplices == 1 else "vertex"
    algorithm = SMO(initial=start, cache_bytes=cache, precision=precision)
    fits = "the whole matrix fits" if need <= cache else f"{cache // (need // n)} of {n} columns fit"
    reason = (
        f"smo, {'float64' if double else 'float32'} columns: n = {n}, gap {tol:g}, {fits} in {cache / 2**20:.0f} MiB; "
        "the Newton finisher starts where it costs less than the pairs left"
    )
    return algorithm, reason


@dataclass(frozen=True)
class AutoSimplex(Algorithm[SimplexQP, AutoState]):
    """SMO with parameters chosen by `choose`; ``details`` says which and why, and whether Newton steps ended the run.

    Parameters
    ----------
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    """

    stride: int | None = None

    pooled: ClassVar[bool] = True
    info = records.AUTO_SIMPLEX

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts."""
        SMO(precision=_precision(view)).load(view)

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> AutoState:
        """Choose and start."""
        algorithm, reason = choose(view, options)
        if self.stride is not None:
            algorithm = replace(algorithm, stride=self.stride)
        return AutoState(algorithm, reason, algorithm.init(view, options, rng))

    def advance(self, state: AutoState, seconds: float) -> Outcome:
        """Let SMO work."""
        return state.algorithm.advance(state.state, seconds)

    def measure(self, state: AutoState) -> Measure:
        """Return the progress of SMO."""
        return state.algorithm.measure(state.state)

    def answer(self, state: AutoState) -> Answer:
        """Return the chosen algorithm's answer, and the choice."""
        answer = state.algorithm.answer(state.state)
        finished = "smo with Newton finisher" if state.state.newton.guesses else "smo"
        if state.state.began is Phase.LOW_RANK:
            finished = "low-rank start, Newton steps" + ("" if state.state.step == "newton" else ", smo")
        return replace(answer, details={"algorithm": finished, "reason": state.reason, **answer.details})
