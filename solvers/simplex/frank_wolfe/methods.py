"""The Frank-Wolfe methods on the unit simplex: FW (Algorithm 2), MFW (Algorithm 3), and their modern relatives.

Steps run compiled (`fw_loops`), for a budget at a time; a column of Q that is not cached sends the loop back here.
Before convergence is claimed the gradient is recomputed in float64 from the data.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from ....errors import InputError
from ....models.arrays import FloatArray
from ....models.views import SimplexQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...interface.solver import Gives, Problem, SolverInfo
from ...records.answer import Answer
from ...records.options import Options
from ..answer import relative, simplex_answer
from ..column_cache import CACHE_BYTES, ColumnCache, cache_bytes
from ..start import StartRule, one_simplex, starting_point
from ..warm_up import load_loops
from .sampled import Sampled

__all__ = ["BlendedPairwiseFW", "FrankWolfe", "FrankWolfeState", "ModifiedFrankWolfe", "PairwiseFW", "StopRule"]

_SOURCE = "Frandi, Nanculef, Gasparo, Lodi, Sartori: Training SVMs using Frank-Wolfe optimization methods"
_GIVES = frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT})
_STEPS = ("", "toward", "away", "drop", "pair")


@dataclass(frozen=True)
class StopRule:
    """When to stop: relative gap ≤ ``tol``, or γ²/r² - 1 ≤ ``delta`` where ``delta`` > 0 (Δ² = ``square``)."""

    tol: float
    delta: float = 0.0
    square: float = 0.0

    @classmethod
    def of(cls, view: SimplexQP, kind: str, epsilon: float | None, tol: float) -> StopRule:
        """The rule ``"gap"``, or ``"ball"``: δ+ ≤ (1 + ε)² - 1 of FW (19), (35).

        With the gap g = a'∇ - min ∇, γ² - r² is g for the ball's dual (c = -½ diag Q), where r² = -f, and 2g for c = 0
        and a constant diagonal Δ², where r² = Δ² - 2f.

        Raises
        ------
        InputError
            ``"ball"`` on a problem that is neither.
        """
        if kind == "gap":
            return cls(tol)
        if kind != "ball":
            raise InputError(f"stop must be 'gap' or 'ball'; it is {kind!r}")
        eps = float(np.sqrt(1.0 + tol) - 1.0) if epsilon is None else epsilon
        if not eps > 0:
            raise InputError(f"epsilon must be > 0; it is {epsilon!r}")
        delta = (1.0 + eps) ** 2 - 1.0
        diagonal = view.gram.diagonal
        scale = np.abs(diagonal).max()
        if np.abs(view.c + 0.5 * diagonal).max() <= 1e-12 * scale:
            return cls(tol, delta, 0.0)
        if not view.c.any() and np.ptp(diagonal) <= 1e-12 * scale:
            return cls(tol, delta, float(diagonal[0]))
        raise InputError(
            "stop='ball' needs a ball: the dual of MEBDual, or a kernel of constant diagonal, FW (17); use stop='gap'"
        )

    def relative(self, objective: float) -> float:
        """The relative gap that meets the rule at this objective."""
        if self.delta > 0.0:
            return 0.5 * self.delta * max(self.square - 2.0 * objective, 0.0) / max(abs(objective), 1e-300)
        return self.tol

    def met(self, objective: float, gap: float) -> bool:
        """Whether the rule holds."""
        if self.delta > 0.0:
            return gap <= 0.5 * self.delta * (self.square - 2.0 * objective)
        return relative(objective, gap) <= self.tol


@dataclass(eq=False)
class FrankWolfeState:
    """State of a run; ``work`` carries the paper's symbols (`fw_loops.Work`)."""

    view: SimplexQP
    rule: StopRule
    limit: int
    cache: ColumnCache
    work: Any
    sampled: Sampled | None
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: ĥ is Qâ in float64 from the data
    refreshes: int = 0
    last_gap: float = field(default=float("inf"))  #: relative gap after the last refresh


class _FrankWolfeBase(Algorithm[SimplexQP, FrankWolfeState]):
    """What the methods share; a method is its number in `fw_loops`."""

    pooled: ClassVar[bool] = True
    method: ClassVar[str]
    # fields of every concrete class
    initial: StartRule
    stop: Literal["gap", "ball"]
    epsilon: float | None
    sampling: int | None
    rescan: bool
    away: bool
    cache_bytes: int
    precision: Literal["single", "double"]
    stride: int | None

    def obstacle(self, problem: Problem) -> str | None:
        """Needs a `SimplexQP` view with one simplex."""
        found = super().obstacle(problem)
        view = None if found else self.view_of(problem)
        return found if view is None else one_simplex(view)

    def load(self) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self))

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> FrankWolfeState:
        """Start point, its product with Q in float64, an empty cache."""
        from . import loops

        if self.precision not in ("single", "double"):
            raise InputError(f"precision must be 'single' or 'double'; it is {self.precision!r}")
        if self.stride is not None and self.stride < 1:
            raise InputError(f"stride must be an integer ≥ 1; it is {self.stride!r}")
        if self.sampling is not None and self.sampling < 1:
            raise InputError(f"sampling must be an integer ≥ 1, or None for a full scan; it is {self.sampling!r}")
        rule = StopRule.of(view, self.stop, self.epsilon, options.tolerance(self.info.tolerance))
        a = starting_point(view, self.initial, options, rng)
        single = self.precision == "single"
        sampled = None
        cache = ColumnCache(view.gram, cache_bytes(self.cache_bytes, options), single=single)
        h = view.gram.product(a)
        work = make_work(view, cache, a, h)
        loops.fold(work)
        loops.scan(work)
        work.real[loops.GAP] = _gap(work)
        if self.sampling is not None and self.sampling < view.n:
            sampled = Sampled(self.sampling, rng, self.rescan)
        limit = np.iinfo(np.int64).max if options.iteration_limit is None else options.iteration_limit
        return FrankWolfeState(view, rule, limit, cache, work, sampled)

    def advance(self, state: FrankWolfeState, seconds: float) -> Outcome:
        """Steps for about ``seconds`` (or ``stride`` of them)."""
        from . import loops

        if state.sampled is not None:
            return state.sampled.advance(state, seconds, self.allowed, self.stride)
        work, end = state.work, time.perf_counter() + seconds
        method = getattr(loops, self.method)
        quota, first = self.stride, int(work.integer[loops.ITERATION])
        while True:
            left = state.limit - int(work.integer[loops.ITERATION])
            count = int(min(left, max(16, state.rate * max(end - time.perf_counter(), 0.0))))
            if quota is not None:
                count = min(count, quota)
            before, clock = int(work.integer[loops.ITERATION]), time.perf_counter()
            code = loops.run(work, method, self.allowed, count, state.rule.tol, state.rule.delta, state.rule.square)
            done = int(work.integer[loops.ITERATION]) - before
            if done:
                state.exact = False
                if done > 64:
                    state.rate = done / max(time.perf_counter() - clock, 1e-6)
            if quota is not None:
                quota -= done
            if code == loops.COLUMN:
                state.cache.load(np.array([work.integer[loops.LAST]]), int(work.integer[loops.CLOCK]))
            elif code in (loops.RULE, loops.STUCK):
                outcome = confirm(state)
                if outcome is not Outcome.RUNNING:
                    return outcome
            if int(work.integer[loops.ITERATION]) >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if met(state) else Outcome.ITERATION_LIMIT
            if quota == 0 or (time.perf_counter() >= end and int(work.integer[loops.ITERATION]) > first):
                return Outcome.RUNNING

    @property
    def allowed(self) -> bool:
        """Whether steps other than toward may be taken."""
        return self.method != "FW" and self.away

    def measure(self, state: FrankWolfeState) -> Measure:
        """Objective, Frank-Wolfe bound, support size, columns computed, kind of the last step."""
        from . import loops

        work = state.work
        f = 0.5 * float(work.real[loops.R]) + float(work.real[loops.CTA])
        return Measure(
            iteration=int(work.integer[loops.ITERATION]),
            objective=f,
            bound=f - float(work.real[loops.GAP]),
            active=int(work.integer[loops.SUPPORT]),
            columns=state.cache.computed,
            step=_STEPS[int(work.integer[loops.KIND])],
        )

    def answer(self, state: FrankWolfeState) -> Answer:
        """The point, refreshed in float64, with its multipliers; counts of the steps by kind."""
        from . import loops

        refresh(state)
        work = state.work
        steps = {
            name: int(work.integer[index])
            for name, index in (("toward", loops.TOWARDS), ("away", loops.AWAYS), ("drop", loops.DROPS), ("pair", loops.PAIRS))
        }
        details = {"steps": steps, "columns": state.cache.computed, "cache_slots": state.cache.slots}
        if state.sampled is not None:
            details["full_scans"] = state.sampled.scans
        return simplex_answer(state.view, work.a.copy(), work.h + work.c, details)


def make_work(view: SimplexQP, cache: ColumnCache, a: FloatArray, h: FloatArray) -> Any:
    """Arrays of the iteration at the point a with h = Qa."""
    from . import loops

    n = view.n
    support, place = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    positive = np.flatnonzero(a > 0)
    support[: positive.size] = positive
    place[positive] = np.arange(positive.size)
    integer, real = np.zeros(10, dtype=np.int64), np.zeros(4)
    integer[loops.SUPPORT] = positive.size
    real[loops.SCALE] = 1.0
    return loops.Work(
        cache.columns, cache.slot, cache.stamp, np.ascontiguousarray(view.gram.diagonal),
        np.ascontiguousarray(view.c, dtype=np.float64), a.copy(), np.ascontiguousarray(h), support, place, integer, real,
    )  # fmt: skip


def _gap(work: Any) -> float:
    from . import loops

    i = int(work.integer[loops.VERTEX])
    return float(work.real[loops.R] + work.real[loops.CTA] - work.real[loops.SCALE] * work.h[i] - work.c[i])


def refresh(state: FrankWolfeState) -> None:
    """Recompute h = Qa in float64 from the data, and with it a'Qa, c'a and the gap."""
    from . import loops

    work = state.work
    loops.fold(work)
    if not state.exact:
        work.h[:] = state.view.gram.product(work.a)
        loops.fold(work)
        state.exact = True
        state.refreshes += 1
    loops.scan(work)
    work.real[loops.GAP] = _gap(work)


def met(state: FrankWolfeState) -> bool:
    """Whether the stopping rule holds at the current numbers."""
    from . import loops

    work = state.work
    return state.rule.met(0.5 * float(work.real[loops.R]) + float(work.real[loops.CTA]), float(work.real[loops.GAP]))


def confirm(state: FrankWolfeState) -> Outcome:
    """After the loop says that it stopped: converged if the refreshed gap agrees, stalled if refreshing no longer helps."""
    from . import loops

    refresh(state)
    if met(state):
        return Outcome.CONVERGED
    work = state.work
    f = 0.5 * float(work.real[loops.R]) + float(work.real[loops.CTA])
    gap = relative(f, float(work.real[loops.GAP]))
    if gap == 0.0 or (state.refreshes > 3 and gap > 0.9 * state.last_gap):
        return Outcome.STALLED
    state.last_gap = min(gap, state.last_gap)
    return Outcome.RUNNING


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
    away: bool = True
    cache_bytes: int = CACHE_BYTES
    precision: Literal["single", "double"] = "double"
    stride: int | None = None

    method: ClassVar[str] = "FW"
    info: ClassVar[SolverInfo] = SolverInfo(
        name="fw",
        summary="Frank-Wolfe on the unit simplex, exact line search",
        views=(SimplexQP,),
        gives=_GIVES,
        first_order=True,
        reaches=1e-3,  # sublinear
        reference=f"{_SOURCE}, Algorithm 2",
    )


@dataclass(frozen=True)
class ModifiedFrankWolfe(FrankWolfe):
    """MFW, Algorithm 3: the better of a toward step and a step away from the worst support point.

    Away from j: λ = [(Qa)_j - R - c'(a - e_j)]/(R - 2(Qa)_j + Q_jj) ≤ a_j/(1 - a_j); a drop where the bound holds.
    **Errata**: line 21 reads r²_{k+1} = (1+λ)r² - λ(1+λ)(1-δ-)r² (printed with δ- - 1); lines 8-9 read r_k for r_0;
    the text calls j* furthest, it is nearest; (31)'s "step 20" is line 18. r² is not updated by that recurrence here but
    follows from a'Qa and c'a, for any kernel. Linear convergence: Proposition 1. Parameters as `FrankWolfe`.
    """

    method: ClassVar[str] = "MFW"
    info: ClassVar[SolverInfo] = SolverInfo(
        name="mfw",
        summary="modified Frank-Wolfe with away steps on the unit simplex",
        views=(SimplexQP,),
        gives=_GIVES,
        first_order=True,
        reference=f"{_SOURCE}, Algorithm 3",
    )


@dataclass(frozen=True)
class PairwiseFW(FrankWolfe):
    """Pairwise Frank-Wolfe: weight moves from the worst support point to the best vertex. Parameters as `FrankWolfe`."""

    method: ClassVar[str] = "PAIRWISE"
    info: ClassVar[SolverInfo] = SolverInfo(
        name="pairwise-fw",
        summary="pairwise Frank-Wolfe on the unit simplex",
        views=(SimplexQP,),
        gives=_GIVES,
        first_order=True,
        reference="Lacoste-Julien, Jaggi: Global linear convergence of Frank-Wolfe optimization variants (2015), Algorithm 2",
    )


@dataclass(frozen=True)
class BlendedPairwiseFW(FrankWolfe):
    """Blended pairwise Frank-Wolfe: pair steps inside the support while they promise more than a toward step.

    Parameters as `FrankWolfe`.
    """

    method: ClassVar[str] = "BLENDED"
    info: ClassVar[SolverInfo] = SolverInfo(
        name="blended-pairwise-fw",
        summary="blended pairwise Frank-Wolfe on the unit simplex",
        views=(SimplexQP,),
        gives=_GIVES,
        first_order=True,
        reference="Tsuji, Tanaka, Pokutta: Pairwise conditional gradients without swap steps (2022), Algorithm 1",
    )
