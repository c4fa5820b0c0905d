"""The core vector machine, solver ``cvm``: an inner QP on a growing core set, Badoiu and Clarkson's algorithm for balls.

Algorithm 1 of Frandi, Nanculef, Gasparo, Lodi and Sartori (2013), for min ½a'Qa + c'a on one unit simplex. The inner QP, (21)
there, is this problem on the variables of the core set alone. A point is a variable a_i; the furthest one has the least gradient.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...models.arrays import FloatArray
from ...models.views import SimplexQP
from ..interface.algorithm import Outcome
from ..interface.recorder import ProgressState
from ..records import Answer, Options
from . import RECORDS
from .column_cache import CACHE_BYTES, ColumnCache, cache_bytes
from .common import OneSimplexAlgorithm, check_parameters, iteration_limit, load_loops, relative_gap_at, simplex_answer
from .frank_wolfe import StopRule
from .starting_points import StartRule, solve_small_qp, starting_point

#: Largest number of pair steps of one inner QP.
_INNER_STEPS = 200_000


@dataclass(eq=False)
class CoreState:
    """State of a run: the core set with its matrix, the weights on it, and their product with all points."""

    view: SimplexQP  #: the problem
    rule: StopRule  #: stopping rule
    limit: int  #: largest number of iterations
    cache: ColumnCache  #: columns of Q
    rng: np.random.Generator  #: draws the samples
    core: np.ndarray  #: (capacity,) indices of the core's points, the first ``size`` valid
    Q: FloatArray  #: (capacity, capacity) Q on the core
    alpha: FloatArray  #: (capacity,) weights
    size: int  #: number of points of the core
    h: FloatArray  #: (n,) Qa on all points; on sampled runs only as of the last scan
    inner_tol: float  #: relative gap to which the inner QP is solved
    iteration: int = 0  #: core steps so far
    pairs: int = 0  #: pair steps of all inner QPs
    scans: int = 0  #: number of scans of all points, on sampled runs
    next_scan: int = 0  #: iteration from which the next scan may come
    objective: float = float("nan")  #: ½a'Qa + c'a
    gap: float = float("inf")  #: Frank-Wolfe gap; on sampled runs that of the last sample or scan
    clock: int = 0  #: the cache's clock, which counts its loads
    step: str = ""  #: kind of the last step
    capped: bool = False  #: the core outgrew the cache: products come from the data


@dataclass(frozen=True)
class CoreVectorMachine(OneSimplexAlgorithm[CoreState]):
    """Core vector machine (Frandi et al. 2013, Algorithm 1): add the furthest point to the core set, solve the inner QP, repeat.

    The inner QP is solved by second-order pairs from the last solution, either only to a tenth of the current relative gap (or
    tighter where the furthest point is already in the core), since a tighter solution of an unfinished core is thrown away by the
    next; or every time to the accuracy of the stopping rule, as Algorithm 1 has it.

    Parameters
    ----------
    inner : {"adaptive", "full"}
        Accuracy of the inner QP; ``"full"`` is the paper's.
    initial : {"random20" (or another number), "farthest", "vertex", "uniform"}
        The start, whose support is the first core: the solution on 20 random points, two distant points, the best one, or all.
    stop, epsilon
        ``"gap"``: relative duality gap ≤ ``tol``; ``"ball"``: all points lie in the ball, enlarged by 1 + ε (`StopRule`).
    sampling, rescan, cache_bytes, stride
        Random candidates for the furthest point, if not all; whether a stop on a sample is confirmed on all points; limit of the
        cache of columns of Q; most steps between two rows of the trace.
    """

    initial: StartRule = "random20"
    stop: Literal["gap", "ball"] = "gap"
    epsilon: float | None = None
    sampling: int | None = None
    rescan: bool = True
    cache_bytes: int = CACHE_BYTES
    stride: int | None = None
    inner: Literal["adaptive", "full"] = "adaptive"

    single_threaded_blas: ClassVar[bool] = True
    info = RECORDS["cvm"]

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self))
        view.gram.load(single=False)

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> CoreState:
        """Return the state with the start's support as the core."""
        check_parameters(self)
        tol = options.tolerance(self.info.tolerance)
        rule = StopRule.of(view, self.stop, self.epsilon, tol)
        a = starting_point(view, self.initial, options, rng)
        core = np.flatnonzero(a)
        cache = ColumnCache(view.gram, cache_bytes(self.cache_bytes, options), single=False)
        limit = iteration_limit(options)
        state = CoreState(
            view, rule, limit, cache, rng, core.copy(), np.ascontiguousarray(view.gram.block(core, core)), a[core], core.size,
            view.gram.product(a), 1e-2,
        )  # fmt: skip
        state.gap = view.gap(a, state.h)
        state.objective = 0.5 * float(a @ state.h) + float(view.c @ a)
        return state

    def advance(self, state: CoreState, seconds: float) -> Outcome:
        """Take core steps for about ``seconds``."""
        end, quota = time.perf_counter() + seconds, self.stride
        sampled = self.sampling is not None and self.sampling < state.view.n
        while True:
            if self.inner == "full":
                state.inner_tol = min(state.inner_tol, max(state.rule.required_gap(state.objective), 1e-14))
            self._inner(state, full=not sampled)
            vertex, value = self._furthest(state, sampled)
            state.gap = 2.0 * state.objective - self._linear(state) - value
            scanned = not sampled
            if state.rule.is_met(state.objective, state.gap) or (sampled and vertex in state.core[: state.size]):
                if sampled and not self.rescan and state.rule.is_met(state.objective, state.gap):
                    return Outcome.CONVERGED
                # a sample that shows nothing new proves nothing: all points decide, as often as that costs no more than the steps
                if not sampled or (self.rescan and state.iteration >= state.next_scan):
                    vertex, scanned = self._scan(state), True
                    if state.rule.is_met(state.objective, state.gap):
                        return Outcome.CONVERGED
            if state.iteration >= state.limit:
                return Outcome.ITERATION_LIMIT
            state.inner_tol = min(state.inner_tol, max(0.1 * relative_gap_at(state.objective, state.gap), 0.1 * state.rule.tol))
            if not self._add(state, vertex) and (scanned or not self.rescan):
                if state.inner_tol < 1e-15 and scanned:
                    return Outcome.STALLED
                state.inner_tol = max(0.1 * state.inner_tol, 1e-16)
            state.iteration += 1
            state.step = "core"
            quota = None if quota is None else quota - 1
            if time.perf_counter() >= end or quota == 0:
                return Outcome.RUNNING

    def _inner(self, state: CoreState, *, full: bool) -> None:
        """Solve the inner QP on the core, and with ``full`` update Qa on all points by the weights that changed."""
        m, view = state.size, state.view
        core, alpha = state.core[:m], state.alpha[:m]
        before = alpha.copy()
        Q = state.Q[:m, :m]
        c = np.ascontiguousarray(view.c[core])
        product = Q @ alpha
        state.pairs += solve_small_qp(state.Q, c, alpha, product, state.inner_tol, _INNER_STEPS)
        alpha /= alpha.sum()
        product = Q @ alpha
        state.objective = 0.5 * float(alpha @ product) + float(c @ alpha)
        if full:
            changed = np.flatnonzero(alpha != before)
            if 2 * m <= state.cache.slots and not state.capped:
                missing = core[changed][state.cache.slot[core[changed]] < 0]
                if missing.size:
                    state.clock += 1
                    state.cache.load(missing, state.clock)
                state.h += (alpha - before)[changed] @ state.cache.columns[state.cache.slot[core[changed]]]
            else:
                state.capped = True
                state.h = view.gram.product(self._point(state))

    def _linear(self, state: CoreState) -> float:
        return float(state.view.c[state.core[: state.size]] @ state.alpha[: state.size])

    def _furthest(self, state: CoreState, sampled: bool) -> tuple[int, float]:
        """Return the point with the least gradient, of all or of a sample, and its gradient."""
        view = state.view
        if not sampled:
            gradient = state.h + view.c
            i = int(np.argmin(gradient))
            return i, float(gradient[i])
        core, alpha = state.core[: state.size], state.alpha[: state.size]
        sample = state.rng.choice(view.n, size=self.sampling, replace=False)
        gradient = view.gram.block(sample, core) @ alpha + view.c[sample]
        i = int(np.argmin(gradient))
        return int(sample[i]), float(gradient[i])

    def _scan(self, state: CoreState) -> int:
        """Return the furthest of all points, Qa recomputed from the data."""
        state.h = state.view.gram.product(self._point(state))
        state.scans += 1
        state.next_scan = state.iteration + (0 if self.sampling is None else state.view.n // self.sampling)
        vertex, value = self._furthest(state, False)
        state.gap = 2.0 * state.objective - self._linear(state) - value
        return vertex

    def _add(self, state: CoreState, vertex: int) -> bool:
        """Put a point in the core with weight 0; return False if it is there already."""
        m = state.size
        if vertex in state.core[:m]:
            return False
        if m == state.core.size:
            enlarged = np.zeros((2 * m, 2 * m))
            enlarged[:m, :m] = state.Q
            state.Q = enlarged
            state.core = np.concatenate([state.core, np.zeros(m, dtype=state.core.dtype)])
            state.alpha = np.concatenate([state.alpha, np.zeros(m)])
        state.core[m] = vertex
        state.alpha[m] = 0.0
        column = state.view.gram.block(state.core[: m + 1], np.array([vertex]))[:, 0]
        state.Q[m, : m + 1] = state.Q[: m + 1, m] = column
        state.size = m + 1
        return True

    def _point(self, state: CoreState) -> FloatArray:
        a = np.zeros(state.view.n)
        a[state.core[: state.size]] = state.alpha[: state.size]
        return a

    def measure(self, state: CoreState) -> ProgressState:
        """Return objective, bound, size of the core, and number of columns computed."""
        return ProgressState(
            iteration=state.iteration,
            objective=state.objective,
            bound=state.objective - state.gap,
            active=int((state.alpha[: state.size] > 0).sum()),
            columns=state.cache.computed,
            step=state.step,
        )

    def answer(self, state: CoreState) -> Answer:
        """Return the point with the multipliers of its float64 gradient."""
        a = self._point(state)
        details = {"core": state.size, "inner_pairs": state.pairs, "columns": state.cache.computed, "full_scans": state.scans}
        return simplex_answer(state.view, a, state.view.gram.product(a) + state.view.c, details)
