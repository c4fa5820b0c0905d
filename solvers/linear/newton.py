"""Newton steps on linear classifiers whose rows are read in blocks, with multipliers that are feasible for the dual throughout.

The squared hinge is once differentiable with piecewise constant second derivatives: Newton steps with an exact line search end in
a handful (Mangasarian 2002; Keerthi and DeCoste 2005). The hinge is smoothed towards the last multipliers a, as in the proximal
method of multipliers (Rockafellar 1976): max_{0 ≤ α ≤ c} α r - (α - a)²/(2σ), r = 1 - u; the same Newton steps minimise
μ||w||² plus the sum of these, then a becomes α and σ grows. Either way α is feasible for the dual at every step, so that every
step has a duality gap:

    P(w) - D(α) = (what the smoothing hides) + ||2μw - Σ α_i y_i x_i||²/(4μ).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from ...errors import InputError, TooLargeError
from ...models.arrays import FloatArray
from ...models.memory import most_held
from ...models.views import LinearProblem
from ...rows import BLOCK_BYTES
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..records.answer import Answer
from ..records.options import Options
from . import records
from .direction import MOST_COLUMNS, newton_direction
from .loops import slope
from .passes import margins, pulled, second_derivatives
from .state import LinearState

__all__ = ["LinearNewton"]

#: Growth of σ from one set of multipliers to the next.
_GROWTH = 5.0
#: Share of the smoothing's part of the gap to which Newton steps bring the rest.
_SHARE = 0.1
#: Points from which on the hinge is solved on a sample first, and the sample's gap.
_MANY, _SAMPLE_TOL = 20_000, 3e-3
#: n-vectors that a run holds, labels and the answer's among them; blocks of rows that reading one takes.
_VECTORS, _BLOCKS = 8, 4
#: Changes of the multipliers without progress after which float64 has no more to give.
_STALE = 4
#: Times that the gap may be reached without stationarity.
_TRIALS = 4
#: Tolerance from which on the answer need not be stationary.
_LOOSE = 1e-4
#: Newton steps without progress after which the multipliers change, or the run ends.
_IDLE = 4


@dataclass(frozen=True)
class LinearNewton(Algorithm[LinearProblem, LinearState]):
    """Newton steps and the method of multipliers, two passes over the rows for each step.

    Memory, beside what the process held before: 8 vectors of n numbers, 3p² numbers and four blocks of rows (32 MiB each), which
    ``memory_limit`` makes smaller. With more than 2,000 columns directions come from preconditioned conjugate gradients, a pass
    for each product, and there is no p × p matrix.

    Parameters
    ----------
    sample : bool
        Whether the hinge is first solved on a fiftieth of the rows, for the first w and σ.

    Raises
    ------
    InputError
        A start that is not finite or of another length.
    TooLargeError
        ``memory_limit`` holds less than the vectors need.
    """

    sample: bool = True

    info = records.LINEAR_NEWTON

    def load(self, view: LinearProblem) -> None:
        """Import of the compiled loops; they are compiled at their first call."""

    def init(self, view: LinearProblem, options: Options, rng: np.random.Generator) -> LinearState:
        """w = 0, the given start, or the sample's classifier."""
        n, p = view.rows.shape
        room = _room(n, p, options.memory_limit)
        tol = options.tolerance(self.info.tolerance)
        end = np.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        c = float(view.least_costs.mean())
        w, sigma, centre = np.zeros(p), c, 0.0
        given = None if options.start is None else options.start.get("w")
        if given is not None:
            w = np.array(given, dtype=np.float64)
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"the start of linear-newton must hold {p} finite numbers; it has shape {w.shape}")
        elif self.sample and view.power == 1 and n >= _MANY and n >= 4 * 50 * p:
            w, sigma = self._sampled(view, end)
            centre = 0.5
        state = LinearState(view, tol, room, w, sigma, limit=options.iteration_limit or sys.maxsize)
        state.a += centre * view.least_costs
        if w.any():
            state.u = margins(view, w, room)
            state.passes += 1
        state.evaluate()
        state.see(None)
        return state

    def _sampled(self, view: LinearProblem, end: float) -> tuple[FloatArray, float]:
        """Classifier and σ of a problem on some of the rows, as heavy as all."""
        n, p = view.rows.shape
        count = max(n // 50, 50 * p)
        rows = view.rows.sampled(count)
        pieces = [slice(start, stop) for start, stop in view.rows.sample_pieces(count)]
        y = np.concatenate([view.y[piece] for piece in pieces])
        costs = np.concatenate([view.costs[piece] for piece in pieces]) * (n / y.size)
        state = self.__class__(sample=False).init(
            LinearProblem(rows, y, costs, view.mu, view.power), Options(tol=_SAMPLE_TOL), np.random.default_rng(0)
        )
        while self.advance(state, 0.0) is Outcome.RUNNING and time.perf_counter() < end:
            pass
        return state.best_w, state.sigma * y.size / n

    def advance(self, state: LinearState, seconds: float) -> Outcome:
        """One Newton step, or one change of the multipliers; at least a pass over the rows."""
        if state.steps >= state.limit:
            return Outcome.ITERATION_LIMIT
        problem = state.problem
        if state.gap <= np.sqrt(state.tol) or problem.rows.shape[1] > MOST_COLUMNS:
            # the end is near: a look at the gap first, without second derivatives
            state.see(pulled(problem, state.alpha, state.room))
            if self._ends(state):
                return Outcome.CONVERGED
            if state.settled(_SHARE):
                return self._multipliers(state)
        H = None
        if problem.rows.shape[1] <= MOST_COLUMNS:
            v, H = second_derivatives(problem, state.alpha, state.curved, state.room)
            state.see(v)
            if self._ends(state):
                return Outcome.CONVERGED
            if state.settled(_SHARE):
                return self._multipliers(state)
        try:
            s = newton_direction(state, H)
        except np.linalg.LinAlgError:
            return self._multipliers(state)
        small = state.residual <= 1e-9 * state.best_primal
        state.idle = state.idle + 1 if small and state.residual > 0.5 * state.previous else 0
        state.previous = state.residual
        if state.idle >= _IDLE:  # rounding is all that is left of the gradient
            return self._multipliers(state)
        self._move(state, s)
        return Outcome.RUNNING

    def _ends(self, state: LinearState) -> bool:
        """Whether the gap is small enough at α and the w that follows from it, so that stationarity is exact; one more pass.

        Where rounding keeps the two apart, the best of both is the answer after some trials. At a loose tolerance it is at once:
        the gap proves it, and stationarity would take the hinge twice the passes.
        """
        if state.gap > state.tol or state.tol >= _LOOSE:
            return state.gap <= state.tol
        state.trials += 1
        if state.trials > _TRIALS and state.residual <= 1e-12 * state.best_primal:
            return True
        view, w = state.problem, state.w - state.gradient / (2.0 * state.problem.mu)
        u = margins(view, w, state.room)
        state.passes += 1
        shortfall = np.maximum(1.0 - u, 0.0, out=u)
        loss = float((view.costs * (shortfall if view.power == 1 else shortfall * shortfall)).sum())
        return state.ends_at(w, view.mu * float(w @ w) + loss)

    def _multipliers(self, state: LinearState) -> Outcome:
        """The next multipliers of the hinge, and a larger σ; stalled where that has not helped for some time."""
        state.stale = state.stale + 1 if state.gap > 0.9 * state.before else 0
        state.before = min(state.gap, state.before)
        if state.problem.power == 2 or state.stale >= _STALE:
            return Outcome.STALLED
        state.a, state.alpha = state.alpha, state.a
        state.sigma *= _GROWTH
        state.inner = state.idle = 0
        state.evaluate()
        return Outcome.RUNNING

    def _move(self, state: LinearState, s: FloatArray) -> None:
        """Along s to where the slope is a tenth of what it was: it grows with t, so a bracket is halved."""
        view, w = state.problem, state.w
        du = margins(view, s, state.room)
        state.passes += 1
        linear, square = 2.0 * view.mu * float(w @ s), 2.0 * view.mu * float(s @ s)
        costs = view.least_costs

        def rise(t: float) -> float:
            fall = slope(t, state.u, du, state.a, costs, int(costs.size > 1), state.sigma, view.power == 2)
            return linear + t * square - fall

        enough, t, low, high = 0.1 * abs(rise(0.0)), 1.0, 0.0, np.inf
        for _ in range(60):
            value = rise(t)
            if abs(value) <= enough:
                break
            low, high = (t, high) if value < 0 else (low, t)
            t = 2.0 * t if high == np.inf else 0.5 * (low + high)
        state.w = w + t * s
        du *= t
        state.u += du
        state.steps += 1
        state.inner += 1
        state.evaluate()

    def measure(self, state: LinearState) -> Measure:
        """Objective and bound, the best so far; points at which the loss is curved."""
        return Measure(state.steps, state.best_primal, state.best_dual, active=int(state.sums[2]), step="newton")

    def answer(self, state: LinearState) -> Answer:
        """The best w and the best α, which need not be of the same step."""
        view, alpha = state.problem, state.best_alpha
        reduced = np.zeros(state.w.size + view.n)
        if view.power == 1:
            np.subtract(view.costs, alpha, out=reduced[state.w.size :])
        details = {"passes": state.passes, "sigma": state.sigma, "block_bytes": int(state.room)}
        return Answer(values={"w": state.best_w}, multipliers={"margin": alpha}, reduced=reduced, details=details)


def _room(n: int, p: int, limit: float | None) -> float:
    """Bytes of a block of rows.

    Raises
    ------
    TooLargeError
        The limit is less than what the process holds and the vectors need.
    InputError
        There is a limit, and the system (Windows) does not say how much a process has held.
    """
    if limit is None:
        return float(BLOCK_BYTES)
    try:
        held = most_held()
    except ImportError as error:
        said = "memory_limit of linear-newton needs a system that counts what a process holds; leave it out here"
        raise InputError(said) from error
    need = held + 8 * _VECTORS * n + (24 * p * p if p <= MOST_COLUMNS else 200 * p)
    room = (limit - need) / _BLOCKS
    if room < 2**18:
        raise TooLargeError(
            f"linear-newton needs {need + _BLOCKS * 2**18:,.0f} bytes for {n:,} rows of {p:,} columns, {held:,} of which the "
            f"process has had already; memory_limit is {limit:,.0f}"
        )
    return min(room, float(BLOCK_BYTES))
