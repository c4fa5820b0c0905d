"""Accelerated projected gradient with exact simplex projections and adaptive restart, for comparison."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ....models.arrays import FloatArray, IntArray
from ....models.views import SimplexQP
from ...interface.algorithm import Algorithm, Measure, Outcome
from ...interface.solver import Gives, SolverInfo
from ...records.answer import Answer
from ...records.options import Options
from .common import Start, State, answer_of, measure_of, state_of

__all__ = ["AcceleratedProjection", "project_simplices"]

#: Safety on the largest eigenvalue found by power iteration, which approaches it from below.
_MARGIN = 1.02


@dataclass(frozen=True)
class AcceleratedProjection(Algorithm[SimplexQP, State]):
    """Nesterov's method: a⁺ = Π(y - (Qy + c)/L), y = a + β(a - a_old), momentum dropped when it points uphill.

    Parameters
    ----------
    initial : {"uniform", "sparse"}
        Barycentres, or one vertex of each simplex.
    """

    initial: Start = "uniform"

    info = SolverInfo(
        name="accelerated-projection",
        summary="accelerated projected gradient with restarts, simplex projections",
        views=(SimplexQP,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT}),
        first_order=True,
        reference="Beck, Teboulle 2009; O'Donoghue, Candes 2015 (gradient restart)",
    )

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> State:
        """The start and the largest eigenvalue of Q by 20 power iterations."""
        state = state_of(view, self.initial, options.start, options.tolerance(self.info.tolerance), options.iteration_limit)
        x = rng.standard_normal(view.n)
        for _ in range(20):
            x = state.Q @ (x / np.linalg.norm(x))
        state.extra = {
            "L": np.array(_MARGIN * np.linalg.norm(x)),
            "theta": np.array(1.0),
            "a_old": state.a,
            "g_old": state.g,
        }
        return state

    def advance(self, state: State, seconds: float) -> Outcome:
        """Steps for about ``seconds``."""
        end = time.perf_counter() + seconds
        while True:
            if state.converged:
                state.refresh()
                if state.converged:
                    return Outcome.CONVERGED
            if state.steps >= state.limit:
                return Outcome.ITERATION_LIMIT
            self._step(state)
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    @staticmethod
    def _step(state: State) -> None:
        e = state.extra
        theta = float(e["theta"])
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * theta**2))
        beta = (theta - 1.0) / following
        y = state.a + beta * (state.a - e["a_old"])
        gradient = state.g + beta * (state.g - e["g_old"])
        a = project_simplices(y - gradient / float(e["L"]), state.members)
        uphill = float((y - a) @ (a - state.a)) > 0
        state.extra = {**e, "theta": np.array(1.0 if uphill else following), "a_old": state.a, "g_old": state.g}
        change = a - state.a
        quadratic = float(change @ (state.Q @ change))
        if quadratic > float(e["L"]) * float(change @ change):  # the eigenvalue was underestimated
            state.extra["L"] = np.array(2.0 * float(e["L"]))
            return
        state.a = a
        state.steps += 1
        state.g = state.Q @ a + state.view.c
        state.step = "restart" if uphill else "momentum"

    def measure(self, state: State) -> Measure:
        """Objective, Frank-Wolfe bound, size of the support."""
        return measure_of(state)

    def answer(self, state: State) -> Answer:
        """The point and its multipliers."""
        return answer_of(state)


def project_simplices(v: FloatArray, members: tuple[IntArray, ...]) -> FloatArray:
    """Euclidean projection on a product of unit simplices (sort and threshold)."""
    projected = np.zeros_like(v)
    for m in members:
        ordered = np.sort(v[m])[::-1]
        excess = np.cumsum(ordered) - 1.0
        last = np.flatnonzero(ordered * np.arange(1, m.size + 1) > excess)[-1]
        projected[m] = np.maximum(v[m] - excess[last] / (last + 1), 0.0)
    return projected
