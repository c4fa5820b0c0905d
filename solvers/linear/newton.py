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
from ...rows import BLOCK_BYTES, sampled
from ..interface.algorithm import Algorithm, Measure, Outcome
from ..records.answer import Answer
from ..records.options import Options
from . import records
from .direction import MOST_COLUMNS, newton_direction
from .loops import slope
from .passes import margins, margins_and_pulled, pulled, second_derivatives
from .state import LinearState

__all__ = ["LinearNewton"]

#: Growth of σ from one set of multipliers to the next.
_GROWTH = 5.0
#: Share of the smoothing's part of the gap to which Newton steps bring the rest.
_SHARE = 0.1
#: Points from which on a sample is solved first, and the sample's gap by the loss's power.
_MANY, _SAMPLE_TOL = 20_000, {1: 3e-3, 2: 1e-4}
#: n-vectors that a run holds, labels and the answer's among them; p × p matrices; blocks of rows that reading one takes.
_VECTORS, _MATRICES, _BLOCKS = 8, 4, 4
#: Copies of a sample while it is put together.
_COPIES = 2.5
#: Share of ||gradient||² that a step by the sample's second derivatives may leave for another one to be made.
_FALL = 0.1
#: Rows of a sample for each column, by the loss's power: second derivatives need more than a first w.
_ROWS = {1: 50, 2: 200}
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

    Memory, beside what the process held before: 8 vectors of n numbers, 4p² numbers, and four blocks of rows (1 to 32 MiB each)
    or the sample, which ``memory_limit`` makes smaller or leaves out. With more than 2,000 columns directions come from
    preconditioned conjugate gradients, a pass for each product, and there is no p × p matrix.

    Parameters
    ----------
    sample : bool
        Whether a fiftieth of the rows is solved first where there are many, for the first w; for the hinge's first σ; and for
        second derivatives of its square, which serve as long as steps by them pay: such a step is one pass.

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
        spare = _spare(n, p, options.memory_limit)
        room = min(spare / _BLOCKS, float(np.clip(32 * p * p, view.rows.pass_bytes, BLOCK_BYTES)))
        tol = options.tolerance(self.info.tolerance)
        end = np.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        c = float(view.least_costs.mean())
        w, sigma, centre, H = np.zeros(p), c, 0.0, None
        given = None if options.start is None else options.start.get("w")
        if given is not None:
            w = np.array(given, dtype=np.float64)
            if w.shape != (p,) or not np.isfinite(w).all():
                raise InputError(f"the start of linear-newton must hold {p} finite numbers; it has shape {w.shape}")
        elif self.sample and n >= max(_MANY, 4 * _ROWS[view.power] * p) and _sample_bytes(view) <= spare:
            w, sigma, H = self._sampled(view, end)
            centre = 0.5 if view.power == 1 else 0.0
        state = LinearState(view, tol, room, w, sigma, limit=options.iteration_limit or sys.maxsize, model=H, full=H is not None)
        state.a += centre * view.least_costs
        state.see(None)
        if w.any():
            state.u, v = self._margins(state, w)
            state.evaluate()
            if v is not None:
                state.see(v)
        else:
            state.evaluate()
        return state

    def _sampled(self, view: LinearProblem, end: float) -> tuple[FloatArray, float, FloatArray | None]:
        """Classifier, σ and second derivatives (of the squared hinge) of a problem on some of the rows, as heavy as all."""
        n, p = view.rows.shape
        count = _sample_size(view)
        rows = sampled(view.rows, count)
        pieces = [slice(start, stop) for start, stop in view.rows.sample_pieces(count)]
        y = np.concatenate([view.y[piece] for piece in pieces])
        costs = np.concatenate([view.costs[piece] for piece in pieces]) * (n / y.size)
        state = self.__class__(sample=False).init(
            LinearProblem(rows, y, costs, view.mu, view.power), Options(tol=_SAMPLE_TOL[view.power]), np.random.default_rng(0)
        )
        while self.advance(state, 0.0) is Outcome.RUNNING and time.perf_counter() < end:
            pass
        H = None
        if view.power == 2 and p <= MOST_COLUMNS:
            H = second_derivatives(state.problem, None, state.curved, state.room)[1]
        return state.best_w, state.sigma * y.size / n, H

    def advance(self, state: LinearState, seconds: float) -> Outcome:
        """One Newton step, or one change of the multipliers; at least a pass over the rows."""
        if state.steps >= state.limit:
            return Outcome.ITERATION_LIMIT
        outcome, H = self._looked(state)
        if outcome is not None:
            return outcome
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

    def _looked(self, state: LinearState) -> tuple[Outcome | None, FloatArray | None]:
        """Gradient and gap where they are not known, and what follows; where nothing does, second derivatives for a step."""
        problem, wide = state.problem, state.problem.rows.shape[1] > MOST_COLUMNS
        near = state.gap <= np.sqrt(state.tol)  # a look at the gap first, without second derivatives
        if not state.seen and (near or wide or state.model is not None):
            state.see(pulled(problem, state.alpha, state.room))
        if state.seen and (outcome := self._judged(state)) is not None:
            return outcome, None
        if state.model is not None and state.residual <= _FALL * state.previous:
            return None, state.model.copy()
        state.model = None
        if wide:
            return None, None
        v, H = second_derivatives(problem, None if state.seen else state.alpha, state.curved, state.room)
        if state.seen:
            return None, H
        state.see(v)
        return self._judged(state), H

    def _judged(self, state: LinearState) -> Outcome | None:
        """The end, or the next multipliers; None where a Newton step is next."""
        if self._ends(state):
            return Outcome.CONVERGED
        return self._multipliers(state) if state.settled(_SHARE) else None

    def _ends(self, state: LinearState) -> bool:
        """Return whether the gap is small enough at α and the w that follows from it, so that stationarity is exact; one more
        pass.

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

    def _margins(self, state: LinearState, s: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Margins of a direction; where full steps are good, with the gradient's sum after one."""
        if state.full:
            return margins_and_pulled(state.problem, s, state.weights, state.room)
        state.passes += 1
        return margins(state.problem, s, state.room), None

    def _move(self, state: LinearState, s: FloatArray) -> None:
        """Along s to where the slope is a tenth of what it was."""
        du, v = self._margins(state, s)
        t = self._length(state, s, du)
        state.w = state.w + t * s
        du *= t
        state.u += du
        state.steps += 1
        state.inner += 1
        state.evaluate()
        if v is not None and t == 1.0:
            state.see(v)
        elif v is not None:
            state.passes += 1
        state.full = t == 1.0 and state.problem.power == 2

    def _length(self, state: LinearState, s: FloatArray, du: FloatArray) -> float:
        """The slope grows with t, so a bracket is halved."""
        view, costs = state.problem, state.problem.least_costs
        linear, square = 2.0 * view.mu * float(state.w @ s), 2.0 * view.mu * float(s @ s)

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
        return t

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


def _sample_size(view: LinearProblem) -> int:
    return max(view.n // 50, _ROWS[view.power] * view.rows.shape[1])


def _sample_bytes(view: LinearProblem) -> float:
    return _COPIES * _sample_size(view) * view.rows.row_bytes


def _spare(n: int, p: int, limit: float | None) -> float:
    """Bytes for blocks of rows; inf without a limit.

    Raises
    ------
    TooLargeError
        The limit is less than what the process holds and the vectors need.
    InputError
        There is a limit, and the system (Windows) does not say how much a process has held.
    """
    if limit is None:
        return np.inf
    try:
        held = most_held()
    except ImportError as error:
        said = "memory_limit of linear-newton needs a system that counts what a process holds; leave it out here"
        raise InputError(said) from error
    need = held + 8 * _VECTORS * n + (8 * _MATRICES * p * p if p <= MOST_COLUMNS else 200 * p)
    if limit - need < _BLOCKS * 2**18:
        raise TooLargeError(
            f"linear-newton needs {need + _BLOCKS * 2**18:,.0f} bytes for {n:,} rows of {p:,} columns, {held:,} of which the "
            f"process has had already; memory_limit is {limit:,.0f}"
        )
    return limit - need
