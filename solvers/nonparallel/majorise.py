"""Majorisation-minimisation for nonparallel classifiers with non-convex losses, from several starts.

The problem is one class's of `NonparallelSVM`: min over u of Σ ℓ_s(f(x_i)) over the class + c Σ ℓ_d(f(x_i)) over the other points
+ r/2||u||² (+ the term of a neighbour graph), f(x) = u'ψ(x) with features ψ. ℓ_s draws the class to the hyperplane f = 0, ℓ_d
pushes the other points away. ℓ_s(a) is concave in |a|; its majorant is the tangent in |a| at the current u.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, as_integer
from ...models.formulations.nonparallel.hinge_quadratic import HingeQuadratic
from ...models.formulations.nonparallel.npsvc import NonparallelSVM
from ..box.descent import box_minimum
from ..box.state import load_descent
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..records import Answer, Options, relative_gap
from . import RECORDS


@dataclass(eq=False)
class MajorisationRun:
    """A run from one start: u, the majorant that touches the objective at u, its dual point λ, and the past objectives."""

    u: FloatArray  #: (features,) current point
    majorant: HingeQuadratic  #: the majorant that equals the objective at u
    lam: FloatArray  #: dual point λ of the majorant's problem
    objectives: list[float]  #: objective of every point so far
    #: decrease of the majorant from u to its minimum, relative; 0 at a stationary point
    stationarity: float = float("inf")
    outcome: Outcome = Outcome.RUNNING  #: the reason why the run ended, or RUNNING


@dataclass(eq=False)
class MajorisationState:
    """The state of the algorithm: the current run, the best of the ended runs, and the remaining starts."""

    model: NonparallelSVM  #: the model
    tol: float  #: stationarity at which a run ends
    limit: float  #: largest number of steps of all runs
    run: MajorisationRun  #: current run
    waiting: list[FloatArray]  #: unit directions of the remaining starts, scaled to the length of the best u when they begin
    best: MajorisationRun | None = None  #: the ended run of the least objective
    steps: int = 0  #: steps of all runs
    starts: int = 1  #: number of starts so far
    deadline: float = np.inf  #: by the clock of `time.perf_counter`: minimisations of majorants end there too

    @property
    def best_run(self) -> MajorisationRun:
        """Return the run with the least objective."""
        best = self.best
        return self.run if best is None or self.run.objectives[-1] < best.objectives[-1] else best


@dataclass(frozen=True)
class Majorisation(Algorithm[NonparallelSVM, MajorisationState]):
    """Majorisation: the next u is the minimiser of the majorant at the current u.

    The majorant lies above the objective and equals it at u, so the objective cannot rise. Each majorant is a convex problem with
    hinge losses, minimised by `box_minimum` from the last dual point. A run ends where u is optimal for its own majorant to the
    tolerance, that is, stationary (for differences of convex functions: critical). Such points differ much in value, so several
    starts are run, one after the other, and the best end is the answer.

    Parameters
    ----------
    initial : {"npsvm", "zero"}
        First start if ``options.start`` holds no "u": the minimiser of the majorant at u = 0, where ℓ_s(a) becomes its slope at 0
        times |a|; or u = 0.
    starts : int
        Number of starts; those after the first are Gaussian directions, drawn with the seed, of the length of the best u so far.

    Raises
    ------
    InputError
        An unknown start, or fewer than one; a given u of the wrong shape.
    """

    initial: Literal["npsvm", "zero"] = "npsvm"
    starts: int = 8

    info = RECORDS["npsvc-mm"]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "starts", as_integer(self.starts, "starts", 1))

    def load(self, view: NonparallelSVM) -> None:
        """Load the loop of the majorants' dual problems."""
        load_descent()

    def init(self, view: NonparallelSVM, options: Options, rng: np.random.Generator) -> MajorisationState:
        """Return the state with the first start, its majorant, and the directions of the other starts."""
        tol = options.tolerance(self.info.tolerance)
        limit = np.inf if options.iteration_limit is None else float(options.iteration_limit)
        size = view.features.dimension
        deadline = np.inf if options.time_limit is None else time.perf_counter() + options.time_limit
        start = None if options.start is None else options.start.get("u")
        first = self._initial_run(view, tol, deadline) if start is None else _new_run(view, _as_start(start, size))
        directions = [rng.standard_normal(size) for _ in range(self.starts - 1)]
        return MajorisationState(view, tol, limit, first, [d / np.linalg.norm(d) for d in directions], deadline=deadline)

    def _initial_run(self, view: NonparallelSVM, tol: float, deadline: float) -> MajorisationRun:
        """Return the first start by the ``initial`` rule."""
        run = _new_run(view, np.zeros(view.features.dimension))
        if self.initial == "zero":
            return run
        lam, _ = box_minimum(run.majorant.box, None, 0.1 * tol, deadline=deadline)
        return _new_run(view, run.majorant.primal(lam), lam)

    def advance(self, state: MajorisationState, seconds: float) -> Outcome:
        """Minimise majorants for about ``seconds``."""
        end = time.perf_counter() + seconds
        while True:
            state.run.outcome = self._step(state, state.run)
            if state.run.outcome is Outcome.ITERATION_LIMIT:
                return Outcome.ITERATION_LIMIT
            if state.run.outcome is not Outcome.RUNNING:
                state.best = state.best_run
                if not state.waiting:
                    return state.best.outcome
                length = float(np.linalg.norm(state.best.u)) or 1.0
                state.run = _new_run(state.model, length * state.waiting.pop(0))
                state.starts += 1
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _step(self, state: MajorisationState, run: MajorisationRun) -> Outcome:
        """Minimise the majorant, and move to the minimiser."""
        box = run.majorant.box
        lam, gap = box_minimum(box, np.clip(run.lam, box.lower, box.upper), 0.1 * state.tol, deadline=state.deadline)
        objective = run.objectives[-1]
        u = run.majorant.primal(lam)
        run.stationarity = relative_gap(objective, run.majorant.value(u) - gap)
        if run.stationarity <= state.tol:
            run.lam = lam
            return Outcome.STATIONARY
        if state.steps >= state.limit:
            return Outcome.ITERATION_LIMIT
        value = state.model.objective(u)
        if value >= objective:
            return Outcome.RUNNING if time.perf_counter() >= state.deadline else Outcome.STALLED
        run.u, run.lam, run.majorant = u, lam, state.model.majorant(u)
        run.objectives.append(value)
        state.steps += 1
        return Outcome.RUNNING

    def measure(self, state: MajorisationState) -> ProgressState:
        """Return the least objective; there is no bound."""
        return ProgressState(state.steps, state.best_run.objectives[-1], step="majorant")

    def answer(self, state: MajorisationState) -> Answer:
        """Return u with the multipliers of its own majorant, whose certificate measures the stationarity of u."""
        run = state.best_run
        box = run.majorant.box
        point = run.majorant.recover(np.clip(run.lam, box.lower, box.upper))
        return Answer(
            values={"u": run.u, "xi": run.majorant.losses(run.u)},
            multipliers=point.multipliers,
            reduced=point.reduced,
            model=run.majorant,
            stationarity=run.stationarity,
            details={"objectives": run.objectives, "starts": state.starts},
        )


def _new_run(model: NonparallelSVM, u: FloatArray, lam: FloatArray | None = None) -> MajorisationRun:
    majorant = model.majorant(u)
    return MajorisationRun(u, majorant, np.zeros(majorant.h.size) if lam is None else lam, [model.objective(u)])


def _as_start(start: FloatArray, size: int) -> FloatArray:
    u = np.asarray(start, dtype=np.float64)
    if u.shape != (size,) or not np.isfinite(u).all():
        raise InputError(f"start['u'] must hold {size} finite numbers; it has shape {u.shape}", name="start")
    return u
