"""The solver ``maxmin``: gradient ascent in a kernel parameter γ on the optimal value of a dual SVM.

It is Algorithm 3 of Luo, Yang, Peng, Wang and Chen (2023), *MaxMin-L2-SVC-NCH*; numbers of formulas are theirs. The problem is
the maximum over γ of f(γ) = min ½a'Q(γ)a over two unit simplices, one for each class, Q(γ)_ij = y_i y_j k_γ(x_i, x_j) plus 1/C on
the diagonal: half the squared distance of the hulls of the classes' points (φ(x_i), y_i e_i/√C), φ the kernel's feature map. a is
its minimiser, and η the step length of γ.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, as_positive, reserve_threads
from ...models.formulations.max_min import MaxMinProblem
from ...models.views import SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, Purpose, Solver, SolverInfo
from ..records import Answer, Options
from ..registry import SolverLike, SolverSpec, resolve_solver

__all__ = ["SOLVERS", "MaxMin"]

#: Rules for η: the secant of f', or η = |last move| as printed.
Rate: TypeAlias = Literal["secant", "printed"]

#: The factor by which the secant rate may change γ at once.
_FACTOR = 4.0


@dataclass(frozen=True)
class OuterStep:
    """The record of an outer iteration: γ, f, f', and the ratio of inter-class (54) to intra-class distance (55)."""

    gamma: tuple[float, ...]  #: γ, one number or one for each feature
    value: float  #: f(γ)
    derivative: tuple[float, ...]  #: f'(γ)
    ratio: float  #: the ratio of the distances (54) and (55)


@dataclass(eq=False)
class InnerRun:
    """A run of a solver on the inner problem, the minimum over a, at the present γ."""

    view: SimplexQP  #: the dual SVM at γ
    algorithm: Algorithm[SimplexQP, Any]  #: the solver of the inner problem
    state: Any  #: the state of this solver


@dataclass
class MaxMinState:
    """The state of a run: γ, an inner minimiser a with f and f' at the γ of its problem, and the last move."""

    problem: MaxMinProblem  #: the minimax problem
    gamma: FloatArray  #: (1,) or (features,) present γ
    seed: int  #: seed of the inner runs
    limit: float  #: largest number of outer iterations
    a: FloatArray | None = None  #: inner minimiser at ``solved_gamma``; None before the first
    solved_gamma: FloatArray = field(default_factory=lambda: np.zeros(0))  #: γ that a, f and f' belong to
    value: float = float("nan")  #: f at ``solved_gamma``
    derivative: FloatArray = field(default_factory=lambda: np.zeros(0))  #: f' at ``solved_gamma``
    eta: float = 1.0  #: η, length factor of the next move
    step_length: float = 0.0  #: Euclidean length of the last move
    #: f' in γ or log γ at the last move, 0 where it points out of the range, for the secant
    last_slope: FloatArray = field(default_factory=lambda: np.zeros(0))
    low: float = float("-inf")  #: if γ is one number: its largest value at which f was found to rise
    high: float = float("inf")  #: if γ is one number: its least value at which f was found to fall
    best: tuple[float, FloatArray, FloatArray, FloatArray] | None = None  #: if γ are several numbers: f, γ, a, f' to return to
    models: int = 0  #: inner problems solved so far
    run: InnerRun | None = None  #: the inner solve in progress
    steps: list[OuterStep] = field(default_factory=list)  #: records of the outer iterations


@dataclass(frozen=True)
class MaxMin(Algorithm[MaxMinProblem, MaxMinState]):
    """Gradient ascent on f(γ), the optimal value of the two-hulls dual at γ: solve it, then move γ by η f'(γ), Luo et al. (52).

    η is halved until ½a'Q(γ)a rises at *fixed* a, which trains no further model. The paper does not say which f
    must rise; the authors' code takes this one. It bounds the optimal value at the new γ from above, so its rise is necessary and
    not sufficient. The answer is a stationary point, called local. γ is kept in its range, where f' counts only if it points
    inside.

    ``rate="printed"`` is the paper's rule, with two defects. The first move has η = 1 whatever the scale of γ: on standardised
    data of many features it ends where the kernel matrix is the identity, f is flat, and |f'| < ε2 (``stationarity``) holds. And
    η, the size of the last move, (53), makes |Δγ_k+1| = |Δγ_k||f'|: once |f'| < 1 the moves shrink faster than any geometric
    sequence, and the run ends (`Status.STALLED`) short of a stationary point.

    ``rate="secant"``, the default, takes η = |Δγ|/|Δf'|, the secant of f' (Barzilai and Borwein's step for several γ), changes
    no γ by more than a factor of 4 at once (the first move by that much), and stops where the elasticity |d log f/d log γ| ≤ ε2,
    which has no scale. One γ stays between the last places where f rose and where it fell (else their geometric mean is taken, or
    the middle in a range that contains 0); several go back to the best and halve η where the optimal value fell.

    Parameters
    ----------
    inner : str, Solver or pair
        Solver of the inner problem, an algorithm that reads `SimplexQP`: "smo", "pga".
    rate : {"secant", "printed"}
        How η follows from the last moves.
    inner_tol : float
        ε1, the relative gap of the inner solve.
    stationarity : float
        ε2: the largest |d log f/d log γ_k| at which to stop, in a range that contains 0 |d log f/dγ| times the width of the
        range; with the printed rate |f'(γ)| (for log γ: |df/d log γ|).
    warm : bool
        Whether the inner solve starts from the last minimiser; printed: cold, False.
    """

    inner: SolverLike = "smo"
    rate: Rate = "secant"
    inner_tol: float = 1e-6
    stationarity: float = 1e-3
    warm: bool = True

    info = SolverInfo(
        name="maxmin",
        rank={Purpose.STRUCTURE: 8},
        summary="gradient ascent in the kernel parameter over the two-hulls dual",
        views=(MaxMinProblem,),
        gives=frozenset({Gives.DUALS, Gives.TRACE, Gives.INTERRUPT}),
        reference="Luo et al.: MaxMin-L2-SVC-NCH, Algorithm 3",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("inner_tol", "stationarity"):
            as_positive(getattr(self, name), name)

    def load(self, view: MaxMinProblem) -> None:
        """Load the inner algorithm's loops."""
        self._inner_solver()[0].load(view.inner_problem(view.gamma0).simplex)

    def init(self, view: MaxMinProblem, options: Options, rng: np.random.Generator) -> MaxMinState:
        """Return the state at γ0; the first ``advance`` solves the first inner problem."""
        limit = 500.0 if options.iteration_limit is None else float(options.iteration_limit)
        return MaxMinState(view, view.gamma0.copy(), options.seed, limit)

    def advance(self, state: MaxMinState, seconds: float) -> Outcome:
        """Run the inner solve for about ``seconds``; when it has ended, move γ."""
        run = state.run = state.run or self._begin_inner(state)
        with reserve_threads(None) if run.algorithm.single_threaded_blas else nullcontext():
            if run.algorithm.advance(run.state, seconds) is Outcome.RUNNING:
                return Outcome.RUNNING
            self._record_inner(state, run)
        state.run = None
        worsened = self._return_to_best(state)
        slope = self._slope(state)
        if self._stationarity(state) <= self.stationarity:
            return Outcome.STATIONARY
        if len(state.steps) >= state.limit:
            return Outcome.ITERATION_LIMIT
        if self.rate == "secant" and not worsened:
            self._secant(state, slope)
        return Outcome.RUNNING if self._move(state, slope) else Outcome.STALLED

    def _return_to_best(self, state: MaxMinState) -> bool:
        """Return to the best γ and halve η if f fell, for several γ, by more than the inner solves' error; return
        whether it did.
        """
        if state.best is None or state.value >= state.best[0] * (1.0 - 2.0 * self.inner_tol):
            return False
        state.value, state.gamma, state.a, state.derivative = state.best
        state.solved_gamma = state.gamma
        state.eta *= 0.5
        return True

    def _secant(self, state: MaxMinState, slope: FloatArray) -> None:
        """Set η by the secant and, for one γ, the bracket by the sign of f'; for several γ record the best point."""
        assert state.a is not None
        if state.gamma.size == 1:
            rises = float(slope[0]) > 0
            state.low, state.high = (state.gamma[0], state.high) if rises else (state.low, state.gamma[0])
        else:
            state.best = (state.value, state.gamma, state.a, state.derivative)
        if state.last_slope.size:
            slope_change = float(np.linalg.norm(slope - state.last_slope))
            state.eta = state.step_length / slope_change if slope_change > 0 else 2.0 * state.eta
        else:
            state.eta = self._first_move_length(state) / float(np.abs(slope).max())
        state.last_slope = slope

    def _first_move_length(self, state: MaxMinState) -> float:
        """Return the length of the first move: a factor of 4, or a quarter of a range that contains 0."""
        if state.problem.logarithmic:
            return float(np.log(_FACTOR))
        if state.problem.range_contains_zero:
            return (state.problem.upper - state.problem.lower) / _FACTOR
        return (_FACTOR - 1.0) * float(state.gamma.max())

    def _inner_solver(self) -> tuple[Algorithm[SimplexQP, Any], SolverSpec]:
        """Return the inner algorithm and its specification."""
        spec = resolve_solver(self.inner)
        if not isinstance(spec.solver, Algorithm) or SimplexQP not in spec.solver.info.views:
            raise InputError(
                f"inner must be an algorithm that reads a SimplexQP, such as 'smo' or 'pga'; it is {spec.label}", name="inner"
            )
        return spec.solver, spec

    def _begin_inner(self, state: MaxMinState) -> InnerRun:
        """Begin the inner problem at γ, from the last minimiser if ``warm``."""
        start = {"a": state.a} if self.warm and state.a is not None else None
        algorithm, spec = self._inner_solver()
        options = spec.merge_options(Options(tol=self.inner_tol, seed=state.seed, start=start))
        view = state.problem.inner_problem(state.gamma).simplex
        return InnerRun(view, algorithm, algorithm.init(view, options, np.random.default_rng(state.seed)))

    def _record_inner(self, state: MaxMinState, run: InnerRun) -> None:
        """Compute f and f' at the inner minimiser."""
        values = run.algorithm.answer(run.state).values
        assert values is not None
        problem, a = state.problem, np.asarray(values["a"])
        state.a, state.solved_gamma, state.models = a, state.gamma, state.models + 1
        state.value = 0.5 * float(a @ run.view.gram.product(a))
        state.derivative = problem.derivative(a, state.gamma)
        state.steps.append(
            OuterStep(tuple(state.gamma.tolist()), state.value, tuple(state.derivative.tolist()), problem.ratio(state.gamma))
        )

    def _slope(self, state: MaxMinState) -> FloatArray:
        """Return the derivative in the parameter that is moved, zero if it points out of the range."""
        problem, gamma = state.problem, state.solved_gamma
        slope = state.derivative * (gamma if problem.logarithmic else 1.0)
        leaves = ((gamma <= problem.lower) & (slope < 0)) | ((gamma >= problem.upper) & (slope > 0))
        return np.where(leaves, 0.0, slope)

    def _stationarity(self, state: MaxMinState) -> float:
        """Return the largest |d log f/d log γ_k| of the moves within the range; with the printed rate the largest |f'|."""
        slope = self._slope(state)
        if self.rate == "printed":
            return float(np.abs(slope).max())
        problem = state.problem
        factor = (
            1.0 if problem.logarithmic else problem.upper - problem.lower if problem.range_contains_zero else state.solved_gamma
        )
        return float(np.abs(slope * factor).max()) / state.value

    def _clip(self, state: MaxMinState, gamma: FloatArray) -> FloatArray:
        """Clip γ to the range, to a factor of the last γ and to the bracket."""
        problem = state.problem
        if self.rate == "printed":
            return np.clip(gamma, problem.lower, problem.upper)
        if problem.range_contains_zero:
            reach = self._first_move_length(state)
            gamma = np.clip(gamma, state.gamma - reach, state.gamma + reach)
        else:
            gamma = np.clip(gamma, state.gamma / _FACTOR, state.gamma * _FACTOR)
        if gamma.size == 1 and not state.low < gamma[0] < state.high:
            low, high = max(state.low, problem.lower), min(state.high, problem.upper)
            gamma = np.array([0.5 * (low + high) if problem.range_contains_zero else np.sqrt(low * high)])
        return np.clip(gamma, problem.lower, problem.upper)

    def _move(self, state: MaxMinState, slope: FloatArray) -> bool:
        """Set γ ← γ + η·slope with η halved until ½a'Q(γ)a rises; return False if it does not rise in floating point."""
        assert state.a is not None
        problem, value = state.problem, state.problem.value(state.a, state.gamma)
        logarithmic = problem.logarithmic
        while state.eta > 1e-15:
            # the range ends long before e^100, where a long secant step would overflow
            grown = state.gamma * np.exp(np.clip(state.eta * slope, -100.0, 100.0))
            next_gamma = grown if logarithmic else state.gamma + state.eta * slope
            next_gamma = self._clip(state, next_gamma)
            if problem.value(state.a, next_gamma) > value:
                change = np.log(next_gamma / state.gamma) if logarithmic else next_gamma - state.gamma
                state.gamma, state.step_length = next_gamma, float(np.linalg.norm(change))
                if self.rate == "printed":
                    state.eta = state.step_length
                return True
            state.eta *= 0.5
        return False

    def measure(self, state: MaxMinState) -> ProgressState:
        """Return f(γ); there is no bound in γ."""
        active = -1 if state.a is None else int(np.count_nonzero(state.a))
        return ProgressState(
            len(state.steps), state.value, active=active, columns=state.models, step="gamma", checkpoint=state.run is None
        )

    def answer(self, state: MaxMinState) -> Answer:
        """Return the current inner solution at the γ of its problem: the last one, or the best if f fell for several γ."""
        if not state.steps or state.a is None:
            return Answer(details={"reason": "stopped before the first inner problem was solved"})
        gamma, problem = state.solved_gamma, state.problem
        model = problem.inner_problem(gamma)
        gradient = model.simplex.gram.product(state.a)
        view: SimplexQP = model.simplex
        nu, zeta = view.multipliers(gradient)
        return Answer(
            values={"a": state.a},
            multipliers={"sum": nu},
            reduced=zeta,
            model=model,
            optimised_parameters={problem.label: float(gamma[0]) if gamma.size == 1 else gamma.tolist()},
            stationarity=self._stationarity(state),
            history=[vars(step) for step in state.steps],
            details={"models_trained": state.models},
        )


#: The solvers of this folder, read by the registry.
SOLVERS: tuple[Solver, ...] = (MaxMin(),)
