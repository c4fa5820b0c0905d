"""The plug-in's solver, `BoxFista`: accelerated projected gradients on box QPs, such as the dual of `HuberSVM`."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from marginopt.models import BoxQP
from marginopt.models.arrays import FloatArray
from marginopt.solvers import Algorithm, Answer, Gives, Options, Outcome, ProgressState, SolverInfo

__all__ = ["BOX_FISTA", "BoxFista"]


@dataclass(eq=False)
class State:
    """The state of a run: the point a, the extrapolated point ``ahead``, the momentum t, and objective and gap at a."""

    view: BoxQP
    tol: float
    limit: float
    step: float
    a: FloatArray
    ahead: FloatArray
    t: float = 1.0
    iteration: int = 0
    objective: float = np.inf
    gap: float = np.inf

    @property
    def pair(self) -> tuple[float, float]:
        """Return objective and lower bound of the model's form."""
        if self.view.offset is None:  # the form is the box QP itself
            return self.objective, self.objective - self.gap
        return self.view.offset - self.objective + self.gap, self.view.offset - self.objective

    def look(self) -> None:
        """Compute objective and duality gap at a."""
        gradient = self.view.gradient(self.a)
        self.objective, self.gap = self.view.objective(self.a, gradient), self.view.gap(self.a, gradient)


@dataclass(frozen=True)
class BoxFista(Algorithm[BoxQP, State]):
    """FISTA (Beck and Teboulle, 2009) with restarts where the momentum points uphill (O'Donoghue and Candès, 2015).

    Parameters
    ----------
    every : int
        Iterations between two computations of the duality gap.
    """

    every: int = 10

    info = SolverInfo(
        name="box-fista",
        summary="accelerated projected gradients on box QPs, with restarts",
        views=(BoxQP,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.INTERRUPT}),
        first_order=True,
        reference="Beck, Teboulle: A fast iterative shrinkage-thresholding algorithm, 2009",
    )

    def init(self, view: BoxQP, options: Options, rng: np.random.Generator) -> State:
        """Return the state at the box's point nearest to 0, with step 1/L, L = 1.05 ||ZZ' + D|| by power iteration."""
        v = rng.normal(size=view.n)
        norm = 1.0
        for _ in range(30):
            v = view.product(v) + view.ridge * v
            norm = float(np.linalg.norm(v))
            if norm == 0.0:
                break
            v /= norm
        a = np.clip(np.zeros(view.n), view.lower, view.upper)
        limit = np.inf if options.iteration_limit is None else float(options.iteration_limit)
        state = State(view, options.tolerance(self.info.tolerance), limit, 1.0 / max(1.05 * norm, 1e-12), a, a.copy())
        state.look()
        return state

    def advance(self, state: State, seconds: float) -> Outcome:
        """Iterate for about ``seconds``, and return the outcome, or that the run goes on."""
        end = time.perf_counter() + seconds
        view = state.view
        while True:
            primal, bound = state.pair
            if primal - bound <= state.tol * max(abs(primal), abs(bound), 1e-12):
                return Outcome.CONVERGED
            if state.iteration >= state.limit:
                return Outcome.ITERATION_LIMIT
            if time.perf_counter() >= end:
                return Outcome.RUNNING
            for _ in range(self.every):
                new = np.clip(state.ahead - state.step * view.gradient(state.ahead), view.lower, view.upper)
                uphill = float((state.ahead - new) @ (new - state.a)) > 0.0
                t = 1.0 if uphill else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * state.t**2))
                state.ahead = new if uphill else new + (state.t - 1.0) / t * (new - state.a)
                state.a, state.t = new, t
                state.iteration += 1
            state.look()

    def measure(self, state: State) -> ProgressState:
        """Return iteration, objective, bound and the number of variables inside their bounds."""
        primal, bound = state.pair
        free = int(np.count_nonzero((state.a > state.view.lower) & (state.a < state.view.upper)))
        return ProgressState(state.iteration, primal, bound, active=free, step="fista")

    def answer(self, state: State) -> Answer:
        """Return the point and the multipliers of the model's form that a gives."""
        point = state.view.recover(state.a)
        return Answer(values=point.values, multipliers=point.multipliers, reduced=point.reduced)


#: Named in pyproject.toml under the same name.
BOX_FISTA = BoxFista()
