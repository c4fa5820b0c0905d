"""``conic-factored``: a first-order method for the conic SVM without constraints and matrix variables, with a certificate.

The program is (21) of Cepeda, Gómez and Han (2024), the relaxation of the SVM with the 0-1 loss: min Tr W + λΣz over w, a matrix
W in place of ww', V = W - ww' ⪰ 0, and a share z_i in [0, 1] of each loss, for rows a_i = y_i x_i (λ form; in κ form the budget
Σz ≤ κn replaces the cost λΣz). For given (w, V) the best z_i is (r_i)_+²/(r_i² + a_i'Va_i), and V = LL' needs no semidefinite
cone, so the λ form reduces to

    min over w, L (p × k)  of  ||w||² + ||L||² + λ Σ (r_i)_+²/((r_i)_+² + ||L'a_i||²),     r_i = 1 - a_i'w,

smooth except where r_i = 0 and L'a_i = 0. In the κ form V = tLL' with the t at which Σz = κn, a root in one variable; μ is the
multiplier of the budget, and λ in the λ form. The problem is not convex in L, but it is convex in (w, W): γ_i = μz_i²/r_i² and
v_i = 2√(μγ_i) are a dual point (`models.conic_bound`), and if its bound meets the objective the point is optimal. An evaluation
costs O(npk), memory is O(np).

If the relaxation is exact (separable data and a large λ: V = 0) the support vectors lie on those kinks. The run then stalls,
reports it, and its bound is a few digits short. ``conic-ipm`` does not have this weakness.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from ...models.arrays import FloatArray, blas_threads
from ...models.conic_bound import ConicBound, ConicPoint
from ...models.views import ConicProblem
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, SolverInfo
from ..records import Answer, Options
from .iterate import ConicData, PreparedProblem


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Value and gradient at (w, L), the scale t of V = tLL', and the dual point (γ, v, μ)."""

    value: float  #: of the reduced objective
    gradient: FloatArray  #: (p + pk,) by (w, L)
    t: float  #: scale of V = tLL'
    gamma: FloatArray  #: (n,) γ
    v: FloatArray  #: (n,) v
    mu: float  #: λ in the λ form, else the multiplier μ of the budget


def evaluate(data: ConicData, x: FloatArray, rank: int, t: float = 1.0) -> Evaluation:
    """Evaluate the reduced objective at x = (w, L) in O(npk); ``t`` is the initial value of the κ form's scale."""
    p = data.A.shape[1]
    w, L = x[:p], x[p:].reshape(p, rank)
    r = np.maximum(1.0 - data.A @ w, 0.0)
    B = data.A @ L
    d, square = np.einsum("ij,ij->i", B, B), r * r
    active = square > 0.0
    size = float(x[p:] @ x[p:])
    if data.budget is None:
        assert data.lam is not None
        t, mu = 1.0, data.lam
    else:
        t = _scale(square[active], d[active], data.budget, t)
        slope = float((square[active] * d[active] / (square[active] + t * d[active]) ** 2).sum())
        mu = size / slope if t > 0.0 and slope > 0.0 else 0.0
    hull = np.where(active, square + t * d, 1.0)
    gamma = mu * square / hull**2
    loss = data.lam * float((square / hull).sum()) if data.lam is not None else 0.0
    pull = 2.0 * mu * r * t * d / hull**2
    gradient = np.concatenate([2.0 * w - data.A.T @ pull, (2.0 * t * (L - data.A.T @ (gamma[:, None] * B))).ravel()])
    return Evaluation(float(w @ w) + t * size + loss, gradient, t, gamma, 2.0 * mu * r / hull, mu)


def _scale(square: FloatArray, d: FloatArray, budget: float, t: float) -> float:
    """Return the root of the convex decreasing Σ s/(s + td) = κn by Newton's method from the left; 0 if V = 0 suffices."""
    if square.size <= budget:
        return 0.0
    for _ in range(200):
        hull = square + t * d
        excess = float((square / hull).sum()) - budget
        slope = float((square * d / hull**2).sum())
        if slope <= 0.0:
            return np.inf  # z = 1 at every point for all t
        step = excess / slope
        if abs(step) <= 1e-15 * t:
            break
        t = max(t + step, 0.25 * t)
    return t


@dataclass(eq=False)
class FactoredState:
    """The state of a run: x = (w, L), its evaluation, pairs (s, y) of the last steps, and the best proved bound."""

    prepared: PreparedProblem  #: the scaled problem
    rank: int  #: k, columns of L
    x: FloatArray  #: (p + pk,) w and L
    evaluation: Evaluation  #: at x
    tolerance: float  #: relative gap to be reached
    limit: int  #: largest number of iterations
    threads: int | None  #: threads of BLAS; None for one in small systems, else its default
    memory: deque[tuple[FloatArray, FloatArray]] = field(default_factory=deque)  #: pairs (s, y): step, change of gradient
    iteration: int = 0  #: iterations so far
    iterations_since_check: int = 0  #: iterations since the last certificate
    best: ConicBound | None = None  #: best proved bound; None before the first certificate
    outcome: Outcome = Outcome.RUNNING  #: the reason why the run ended, or RUNNING

    @property
    def w(self) -> FloatArray:
        """The coefficients."""
        return self.x[: self.prepared.data.A.shape[1]]

    @property
    def L(self) -> FloatArray:
        """The factor of V, up to its scale."""
        p = self.prepared.data.A.shape[1]
        return self.x[p:].reshape(p, self.rank)


@dataclass(frozen=True)
class ConicFactored(Algorithm[ConicProblem, FactoredState]):
    """Limited-memory quasi-Newton method on the conic SVM with W = ww' + LL', whose bound is certified by the dual.

    Parameters
    ----------
    rank : int, optional
        Number of columns k of L; by default min(p, 32). If the run stalls, a direction is missing (the top eigenvector of Σγaa',
        for an eigenvalue above 1) and L has a nearly unused column, that direction replaces the column.
    memory : int
        Number of stored pairs (s, y), steps and changes of the gradient.
    check_every : int
        Number of iterations between two evaluations of the dual bound.
    max_iterations : int
        Largest number of quasi-Newton steps, unless ``iteration_limit`` is given.
    """

    rank: int | None = None
    memory: int = 20
    check_every: int = 20
    max_iterations: int = 20000

    info = SolverInfo(
        name="conic-factored",
        summary="first-order method for the conic SVM: quasi-Newton on W = ww' + LL', certified by the dual",
        views=(ConicProblem,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.TRACE, Gives.INTERRUPT}),
        tolerance=1e-6,
        first_order=True,
        reference="Cepeda, Gomez, Han, (21), reduced; low-rank factorisation after Burer and Monteiro",
    )

    def init(self, view: ConicProblem, options: Options, rng: np.random.Generator) -> FactoredState:
        """Start at w = 0 and a random L with orthonormal columns."""
        prepared = PreparedProblem.of(view)
        p = prepared.data.A.shape[1]
        rank = min(p, self.rank or 32)
        Q, _ = np.linalg.qr(rng.standard_normal((p, rank)))
        x = np.concatenate([np.zeros(p), (Q if rank < p else np.eye(p)).ravel()])
        limit = self.max_iterations if options.iteration_limit is None else options.iteration_limit
        feasible = prepared.feasible
        evaluation = evaluate(prepared.data if feasible else prepared.at(1.0, None).data, x, rank)
        state = FactoredState(prepared, rank, x, evaluation, options.tolerance(self.info.tolerance), limit, options.threads)
        state.memory = deque(maxlen=self.memory)
        if not feasible:
            state.outcome = Outcome.INFEASIBLE
        return state

    def advance(self, state: FactoredState, seconds: float) -> Outcome:
        """Take quasi-Newton steps, with a certificate every ``check_every`` iterations."""
        end = time.perf_counter() + seconds
        with blas_threads(state.prepared.data.A.size // 100, state.threads):
            while state.outcome is Outcome.RUNNING and time.perf_counter() < end:
                if state.iteration >= state.limit:
                    state.outcome = Outcome.ITERATION_LIMIT
                    break
                progressed = _quasi_newton_step(state)
                if not progressed or state.iterations_since_check >= self.check_every:
                    self._check_optimality(state, progressed)
        return state.outcome

    def _check_optimality(self, state: FactoredState, progressed: bool) -> None:
        """Evaluate the bound; if no step is possible, widen L or stop."""
        state.iterations_since_check = 0
        point, bound = _certify(state, improve=not progressed)
        if point.objective - bound.value <= state.tolerance * max(abs(point.objective), abs(bound.value)):
            state.outcome = Outcome.CONVERGED
        elif not progressed and (state.rank == state.prepared.data.A.shape[1] or not _widen(state)):
            state.outcome = Outcome.STALLED

    def measure(self, state: FactoredState) -> ProgressState:
        """Return the objective of the current point and the best proved bound."""
        if state.outcome is Outcome.INFEASIBLE:
            return ProgressState(state.iteration, np.nan)
        objective = state.evaluation.value / state.prepared.sigma2 + state.prepared.offset()
        bound = -np.inf if state.best is None else state.best.value
        return ProgressState(state.iteration, objective, bound, step="quasi-newton")

    def answer(self, state: FactoredState) -> Answer:
        """Return the feasible point, repaired multipliers, and the certified bound."""
        if state.outcome is Outcome.INFEASIBLE:
            return Answer(details={"reason": "rows of zeros alone exceed the budget κn"})
        prepared = state.prepared
        point, bound = _certify(state, improve=True)
        return prepared.answer(point, bound, {"rank": state.rank})


def _certify(state: FactoredState, *, improve: bool) -> tuple[ConicPoint, ConicBound]:
    """Return the current feasible point and the best bound proved so far."""
    prepared, evaluation = state.prepared, state.evaluation
    point = prepared.point(state.w, max(evaluation.t, 0.0) * (state.L @ state.L.T))
    reached = state.best is not None and state.best.value >= point.objective - state.tolerance * abs(point.objective)
    if not reached:
        bound = prepared.bound(evaluation.gamma, evaluation.v, evaluation.mu, point, state.tolerance, improve=improve)
        if state.best is None or bound.value > state.best.value:
            state.best = bound
    assert state.best is not None
    return point, state.best


def _quasi_newton_step(state: FactoredState) -> bool:
    """Take one two-loop step with backtracking; return False if no step lowers the value in floating-point arithmetic."""
    gradient = state.evaluation.gradient
    direction = -_two_loops(state.memory, gradient)
    slope = float(direction @ gradient)
    if slope >= 0.0:
        state.memory.clear()
        direction, slope = -gradient, -float(gradient @ gradient)
    length = 1.0 if state.memory else min(1.0, 1.0 / max(float(np.abs(gradient).sum()), 1e-300))
    for _ in range(40):
        x = state.x + length * direction
        trial = evaluate(state.prepared.data, x, state.rank, state.evaluation.t)
        if np.isfinite(trial.value) and trial.value <= state.evaluation.value + 1e-4 * length * slope:
            break
        length *= 0.5
    else:
        return False
    s, y = x - state.x, trial.gradient - gradient
    if s @ y > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
        state.memory.append((s, y))
    progress = state.evaluation.value - trial.value > 1e-15 * abs(trial.value)
    state.x, state.evaluation = x, trial
    state.iteration += 1
    state.iterations_since_check += 1
    return progress


def _two_loops(memory: deque[tuple[FloatArray, FloatArray]], gradient: FloatArray) -> FloatArray:
    """Return the approximate inverse Hessian times the gradient by the limited-memory two-loop recursion."""
    q = gradient.copy()
    weights = []
    for s, y in reversed(memory):
        weight = float(s @ q) / float(s @ y)
        q -= weight * y
        weights.append(weight)
    if memory:
        s, y = memory[-1]
        q *= float(s @ y) / float(y @ y)
    for (s, y), weight in zip(memory, reversed(weights), strict=True):
        q += s * (weight - float(y @ q) / float(s @ y))
    return q


def _widen(state: FactoredState) -> bool:
    """Replace the least used direction of L by an eigenvector of Σγaa' with an eigenvalue above one; return True on success."""
    A = state.prepared.data.A
    values, vectors = np.linalg.eigh((A * state.evaluation.gamma[:, None]).T @ A)
    U, sizes, _ = np.linalg.svd(state.L, full_matrices=False)
    if values[-1] <= 1.0 or sizes[-1] > 1e-3 * sizes[0]:
        return False  # dual feasible, or all directions are in use and a larger rank is needed
    L = U * sizes
    L[:, -1] = 1e-3 * sizes[0] * vectors[:, -1]
    x = np.concatenate([state.w, L.ravel()])
    state.memory.clear()
    state.x, state.evaluation = x, evaluate(state.prepared.data, x, state.rank, state.evaluation.t)
    return True
