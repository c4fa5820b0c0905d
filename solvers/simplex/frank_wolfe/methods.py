"""The Frank-Wolfe methods on the unit simplex: FW (Algorithm 2), MFW (Algorithm 3), and their modern relatives.

Steps run compiled (`loops`), for a budget at a time; a column of Q that is not cached sends the loop back here.
Before convergence is claimed the gradient is recomputed in float64 from the data.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ....errors import InputError
from ....models.model import Model
from ....models.views import SimplexQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...records.answer import Answer
from ...records.options import Options
from .. import records
from ..answer import simplex_answer
from ..column_cache import CACHE_BYTES, ColumnCache, cache_bytes
from ..parameters import check_parameters, iterations_allowed
from ..start import StartRule, one_simplex, starting_point
from ..warm_up import load_loops
from . import loops
from .iteration import STEPS, make_iteration, measured_gap, objective
from .state import FrankWolfeState, Sampled, confirm, met, refresh
from .stop_rule import StopRule

__all__ = ["BlendedPairwiseFW", "FrankWolfe", "ModifiedFrankWolfe", "PairwiseFW"]


class _FrankWolfeBase(Algorithm[SimplexQP, FrankWolfeState]):
    """The fields that the methods share; a method is its number in `loops`."""

    pooled: ClassVar[bool] = True
    variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"precision": "double"}, {"precision": "single"})
    method: ClassVar[int]
    # fields of every concrete class
    initial: StartRule
    stop: Literal["gap", "ball"]
    epsilon: float | None
    sampling: int | None
    rescan: bool
    support_candidates: bool
    away: bool
    cache_bytes: int
    precision: Literal["single", "double"]
    stride: int | None

    def obstacle(self, model: Model) -> str | None:
        """Needs a `SimplexQP` view with one simplex."""
        obstacle = super().obstacle(model)
        view = None if obstacle else self.view_of(model)
        return obstacle if view is None else one_simplex(view)

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self), self.precision)
        view.gram.load(single=self.precision == "single")

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> FrankWolfeState:
        """Start point, its product with Q in float64, an empty cache."""
        check_parameters(self)
        if self.rescan and not self.support_candidates:
            raise InputError("support_candidates=False stops on samples as the paper does: give rescan=False with it")
        rule = StopRule.of(view, self.stop, self.epsilon, options.tolerance(self.info.tolerance))
        a = starting_point(view, self.initial, options, rng)
        cache = ColumnCache(view.gram, cache_bytes(self.cache_bytes, options), single=self.precision == "single")
        work = make_iteration(view, cache, a, view.gram.product(a))
        loops.fold(work)
        loops.scan(work)
        work.now.gap = measured_gap(work)
        drawn = self.sampling if self.sampling is not None and self.sampling < view.n else None
        sampled = None if drawn is None else Sampled(drawn, rng, self.rescan, self.support_candidates)
        return FrankWolfeState(view, rule, iterations_allowed(options), cache, work, sampled)

    def advance(self, state: FrankWolfeState, seconds: float) -> Outcome:
        """Steps for about ``seconds`` (or ``stride`` of them)."""
        if state.sampled is not None:
            return state.sampled.advance(state, seconds, self.allowed, self.stride)
        now, end = state.work.now, time.perf_counter() + seconds
        first = int(now.iteration)
        stop = state.limit if self.stride is None else min(state.limit, first + self.stride)
        while True:
            outcome = self._steps(state, stop, end)
            if outcome is not Outcome.RUNNING:
                return outcome
            if now.iteration >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if met(state) else Outcome.ITERATION_LIMIT
            if now.iteration >= stop or (time.perf_counter() >= end and now.iteration > first):
                return Outcome.RUNNING

    def _steps(self, state: FrankWolfeState, stop: int, end: float) -> Outcome:
        """One call of the compiled loop, and what it returned for: a column, or the rule."""
        now, rule, clock = state.work.now, state.rule, time.perf_counter()
        before = int(now.iteration)
        count = int(min(stop - before, max(16, state.rate * max(end - clock, 0.0))))
        code = loops.run(state.work, self.method, self.allowed, count, rule.tol, rule.delta, rule.square)
        done = int(now.iteration) - before
        if done:
            state.exact = False
            if done > 64:
                state.rate = done / max(time.perf_counter() - clock, 1e-6)
        if code == loops.COLUMN:
            state.cache.load(np.array([now.missing]), int(now.clock))
        elif code in (loops.RULE, loops.STUCK):
            return confirm(state)
        return Outcome.RUNNING

    @property
    def allowed(self) -> bool:
        """Return whether steps other than toward may be taken."""
        return self.method != loops.FW and self.away

    def measure(self, state: FrankWolfeState) -> Measure:
        """Objective, Frank-Wolfe bound, support size, columns computed, kind of the last step."""
        now, f = state.work.now, objective(state.work)
        return Measure(
            iteration=int(now.iteration),
            objective=f,
            bound=f - float(now.gap),
            active=int(now.active),
            columns=state.cache.computed,
            step=STEPS[int(now.kind)],
        )

    def answer(self, state: FrankWolfeState) -> Answer:
        """The point, refreshed in float64, with its multipliers; counts of the steps by kind."""
        refresh(state)
        work, now = state.work, state.work.now
        steps = {"toward": int(now.towards), "away": int(now.aways), "drop": int(now.drops), "pair": int(now.pairs)}
        details = {"steps": steps, "columns": state.cache.computed, "cache_slots": state.cache.slots}
        if state.sampled is not None:
            details["full_scans"] = state.sampled.scans
        return simplex_answer(state.view, work.a.copy(), work.h + work.c, details)


@dataclass(frozen=True)
class FrankWolfe(_FrankWolfeBase):
    """FW, Algorithm 2: toward the vertex e_i with the least ∇_i, exact line search for any kernel.

    λ = [R - (Qa)_i - c'(e_i - a)]/(R - 2(Qa)_i + Q_ii), R = a'Qa, clipped to [0, 1], for min ½a'Qa + c'a.
    **Erratum** (section 4.4): the step of Algorithm 2 holds for kernels of constant diagonal only; on (12) with another it
    can raise the objective. Here every step is exact, and for the ball's dual (15) it is the ½(1 - r²/γ²) in print.

    Parameters
    ----------
    initial : {"random20", "farthest", "vertex", "uniform"}
        See `start.StartRule`. ``options.start`` goes before it.
    stop : {"gap", "ball"}
        ``"gap"``: relative duality gap ≤ ``tol``. ``"ball"``: δ+ ≤ (1 + ε)² - 1, FW (35): the ball of radius (1 + ε)r holds
        every point. (The result's status is judged by the relative gap: for MEBDual δ+ bounds it.)
    epsilon : float, optional
        ε of ``"ball"``; where it is not given (1 + ε)² - 1 = ``tol``.
    sampling : int, optional
        Random candidates for the vertex, 59 in the paper; all points where it is not given.
    rescan : bool
        A sampled stop is confirmed on all points, and the run goes on where it fails. False: stop like the paper; the
        certificate then shows the true gap.
    support_candidates : bool
        With ``sampling``: the support's points are candidates too, which costs nothing, since their gradients are kept. False:
        the sample alone, as section 5.2.3 has it, and ``rescan`` must be False: a sample without a point outside the ball ends
        the run, early and at random where only the few support vectors would be outside.
    away : bool
        Allow away (and pair) steps; without them every method of this family is FW, iterate by iterate.
    cache_bytes : int
        Limit of the cache of kernel columns.
    precision : {"double", "single"}
        Of the cached columns; the gradient is refreshed in float64 before convergence is claimed in any case.
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    """

    initial: StartRule = "random20"
    stop: Literal["gap", "ball"] = "gap"
    epsilon: float | None = None
    sampling: int | None = None
    rescan: bool = True
    support_candidates: bool = True
    away: bool = True
    cache_bytes: int = CACHE_BYTES
    precision: Literal["single", "double"] = "double"
    stride: int | None = None

    method: ClassVar[int] = loops.FW
    info = records.FW


@dataclass(frozen=True)
class ModifiedFrankWolfe(FrankWolfe):
    """MFW, Algorithm 3: the better of a toward step and a step away from the worst support point.

    Away from j: λ = [(Qa)_j - R - c'(a - e_j)]/(R - 2(Qa)_j + Q_jj) ≤ a_j/(1 - a_j); a drop where the bound holds.
    **Errata**: line 21 reads r²_{k+1} = (1+λ)r² - λ(1+λ)(1-δ-)r² (printed with δ- - 1); lines 8-9 read r_k for r_0;
    the text calls j* furthest, it is nearest; (31)'s "step 20" is line 18. r² is not updated by that recurrence here but
    follows from a'Qa and c'a, for any kernel. Linear convergence: Proposition 1. Parameters as `FrankWolfe`.
    """

    method: ClassVar[int] = loops.MFW
    info = records.MFW


@dataclass(frozen=True)
class PairwiseFW(FrankWolfe):
    """Pairwise Frank-Wolfe: weight moves from the worst support point to the best vertex. Parameters as `FrankWolfe`."""

    method: ClassVar[int] = loops.PAIRWISE
    info = records.PAIRWISE_FW


@dataclass(frozen=True)
class BlendedPairwiseFW(FrankWolfe):
    """Blended pairwise Frank-Wolfe: pair steps inside the support while they promise more than a toward step.

    Parameters as `FrankWolfe`.
    """

    method: ClassVar[int] = loops.BLENDED
    info = records.BLENDED_PAIRWISE_FW
