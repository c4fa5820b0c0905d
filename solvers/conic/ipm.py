"""``conic-ipm``, a primal-dual interior-point method for the conic SVM, and `conic_path`, which solves for many κ or λ.

The program is (21) of Cepeda, Gómez and Han (2024), the relaxation of the SVM with the 0-1 loss: min Tr W + λΣz (λ form), or
min Tr W with the budget Σz ≤ κn (κ form), over w, V = W - ww' ⪰ 0, a share z_i of each loss, and ρ_i, with z_i q_i ≥ ρ_i² and
ρ_i ≥ r_i. Here a_i = y_i x_i, r_i = 1 - a_i'w and q_i = r_i² + a_i'V a_i; γ_i is the multiplier of q_i, ζ_i that of ρ_i ≥ r_i,
μ that of the budget. `iterate` states the dual. ν is the gap over the barrier degree: every complementarity on the central path.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray, blas_threads
from ...models.conic_bound import ConicBound, ConicPoint
from ...models.views import ConicProblem
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, Purpose, SolverInfo
from ..records import Answer, Options
from .iterate import ConicData, Iterate, PointScaling, PreparedProblem, Step, Symmetric2x2, max_step
from .newton import Compliance, NewtonSystem, PointSystem, best_system


def _newton_step(point: Iterate, system: NewtonSystem) -> tuple[Iterate, float, float]:
    """Take one predictor-corrector step (Mehrotra, Nesterov-Todd direction): return the new point and both step lengths.

    Raises
    ------
    numpy.linalg.LinAlgError
        The scaling or the Newton system breaks down in floating-point arithmetic.
    """
    linear = _Linearised(point, system)
    affine = linear.step(0.0, None)
    primal, dual = linear.lengths(affine)
    nu = point.gap / point.data.degree
    target = max(linear.gap_after(affine, min(primal, 1.0), min(dual, 1.0)) / point.data.degree, 0.0)
    recentring = (1.0 - min(primal, dual, 1.0)) ** 3  # dominates for a point far from the central path
    centring = min(max((target / nu) ** 3, recentring, 1e-8), 1.0)
    step = linear.step(centring * nu, affine)
    primal, dual = linear.lengths(step)
    damping = 0.9 + 0.09 * min(primal, dual, 1.0)
    primal, dual = min(1.0, damping * primal), min(1.0, damping * dual)
    for _ in range(30):
        trial = point.moved(step, primal, dual)
        if trial.inside():
            return trial, primal, dual
        primal, dual = 0.8 * primal, 0.8 * dual
    raise np.linalg.LinAlgError("no step keeps the iterate inside the cones")


class _Linearised:
    """The step equations at a point: scalings, compliances, the factored system and the sensitivity to the budget."""

    def __init__(self, point: Iterate, system: NewtonSystem) -> None:
        self.point, self.system = point, system
        L, R = np.zeros_like(point.S), np.linalg.cholesky(point.S)
        L[0, 0], L[1:, 1:] = 1.0, np.linalg.cholesky(point.V)
        U, self.scaled, Vt = np.linalg.svd(R.T @ L)
        root = np.sqrt(self.scaled)
        self.G = (L @ Vt.T) / root  # G⁻¹ diag(1, V) G⁻ᵀ = G'SG = diag(scaled)
        self.G_inverse = (U / root).T @ R.T
        self.cones = PointScaling(point.primal, point.dual)
        a, b, c = self.cones.theta
        self.h = point.zeta / point.slack
        half_det = 0.5 * self.cones.det
        self.compliance = Compliance(
            a * a, -a * c, 1.0 / self.h + 0.5 * (a * b + c * c), 1.0 / (a * a), 1.0 / (1.0 / self.h + half_det), c / a
        )
        corner = float(self.G[0] @ self.G[0])
        system.factor(corner, self.G_inverse.T @ self.G_inverse, point.r, self.compliance)
        self.sensitivity: Step | None = None
        if point.data.budget is not None:
            zero = np.zeros_like(a)
            one = Symmetric2x2(zero, zero - 1.0, zero)  # R - dY for dβ = 1
            primal_rate = Symmetric2x2(-c * c, -b * b, -b * c)
            self.sensitivity = self._solve(np.zeros_like(point.S), one, primal_rate, zero, 1.0)

    def step(self, centre: float, affine: Step | None) -> Step:
        """Return the direction to complementarities of ``centre``, with the second-order terms of ``affine``."""
        point = self.point
        singular_values = self.scaled
        right = np.diag(centre - singular_values * singular_values)
        row = centre - point.slack * point.zeta
        budget_target = centre - point.mu * point.budget_slack if point.data.budget is not None else 0.0
        if affine is not None:
            dZ = self.G_inverse @ affine.Z @ self.G_inverse.T
            dS = self.G.T @ affine.S @ self.G
            product = dZ @ dS
            right = right - 0.5 * (product + product.T)
            row = row - (affine.rho + affine.u) * affine.zeta
            if point.data.budget is not None:
                budget_target += affine.mu * float(affine.z.sum())
        right = 2.0 * right / (singular_values[:, None] + singular_values)
        R = self.G_inverse.T @ right @ self.G_inverse
        rates = (None, None) if affine is None else (affine.primal, affine.dual)
        base = self._solve(0.5 * (R + R.T), *self.cones.target(centre, *rates), row / point.slack, 0.0)
        if self.sensitivity is None:
            return base
        # dμ - (μ/slack) Σdz = budget_target/slack, slack the budget's, with dz affine in dμ
        ratio = point.mu / point.budget_slack
        dmu = (budget_target / point.budget_slack + ratio * float(base.z.sum())) / (1.0 - ratio * float(self.sensitivity.z.sum()))
        return _combine(base, self.sensitivity, dmu)

    def _solve(self, R: FloatArray, dual: Symmetric2x2, primal: Symmetric2x2, row: FloatArray, dmu: float) -> Step:
        """Return the step for given right-hand sides: R of Z, (R, P) of the points, ``row`` of dζ + h(dρ + du), dβ = dμ.

        dρ and dz follow from the row and from the β entry of dY + Θ⁻¹dSΘ⁻¹ = R, whose coefficients are of order one. The other
        equations would amplify rounding by 1/ν.
        """
        ratio = self.compliance.ratio
        dw, dV, e_gamma, e_zeta, dS = self.system.solve(R, primal.a, row / self.h - primal.c)
        dq, du = self.system.rates(dw, dV)
        drho = (row + e_zeta) / self.h - du
        weight = (self.cones.det / self.cones.theta.a) ** 2
        dz = weight * dual.b + ratio * (2.0 * drho - ratio * dq)
        return Step(dw, dV, dz, drho, -e_gamma, -e_zeta, dS, dmu, dq, du)

    def lengths(self, step: Step) -> tuple[float, float]:
        """Return the largest primal and dual step lengths that stay in the cones."""
        point = self.point
        with np.errstate(over="ignore"):
            primal = min(
                self._matrix_step(self.G_inverse @ step.Z @ self.G_inverse.T),
                max_step(point.primal, step.primal),
                _ratio(point.slack, step.rho + step.u),
            )
            dual = min(
                self._matrix_step(self.G.T @ step.S @ self.G), max_step(point.dual, step.dual), _ratio(point.zeta, step.zeta)
            )
        if point.data.budget is not None:
            primal = min(primal, _ratio(np.array([point.budget_slack]), np.array([-step.z.sum()])))
            dual = min(dual, _ratio(np.array([point.mu]), np.array([step.mu])))
        return primal, dual

    def _matrix_step(self, scaled: FloatArray) -> float:
        root = 1.0 / np.sqrt(self.scaled)
        smallest = float(np.linalg.eigvalsh(root[:, None] * scaled * root)[0])
        return np.inf if smallest >= 0.0 else -1.0 / smallest

    def gap_after(self, step: Step, primal: float, dual: float) -> float:
        """Return the complementarity after a step, which is bilinear in the step lengths."""
        next_point = self.point.moved(step, primal, dual)
        return next_point.objective - next_point.bound if next_point.gap < 0 else next_point.gap


def _ratio(value: FloatArray, rate: FloatArray) -> float:
    decreasing = rate < 0.0
    return float((-value[decreasing] / rate[decreasing]).min(initial=np.inf))


def _combine(base: Step, sensitivity: Step, t: float) -> Step:
    """Return base + t·sensitivity, where the sensitivity was computed for dμ = 1."""
    names = ("w", "V", "z", "rho", "gamma", "zeta", "S", "q", "u")
    return replace(base, mu=t, **{name: getattr(base, name) + t * getattr(sensitivity, name) for name in names})


# Strictly feasible starting points of the interior-point method: cold, and warm from a given (w, W).
#
# For given w, V ≻ 0, β = λ or μ and ν the centre of a point's cone is a closed form: with r = 1 - a'w and q = r² + a'Va,
#
#     ρ(ρ - r) = νq/(2β),   z = ρ²/q + ν/β,   γ = βz/q,   ζ = 2βρ/q,
#
# the solution of [q ρ; ρ z][γ -ζ/2; -ζ/2 β] = νI and (ρ - r)ζ = ν. Then γ and ζ are scaled down until S ≻ 0.

#: Barrier costs of a warm start as shares of the objective, tried until the point is near the central path.
_BARRIER_SHARES = (1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Largest ratio of a warm start's gap to the gap of a central point with the same ν.
_CENTRALITY = 6.0


def cold_start(data: ConicData) -> Iterate:
    """Return the point with w = 0 and V = tI, with every cone central for its q_i = 1 + t||a_i||²."""
    n, p = data.A.shape
    norms = np.einsum("ij,ij->i", data.A, data.A)
    t = _initial_spread(data, norms)
    q = 1.0 + t * norms
    nu = t / (1.0 + 1.5 * n / p)
    mu = data.lam if data.lam is not None else nu
    while True:
        assert mu is not None
        z, _, _, _ = _centres(np.ones(n), q, mu, nu)
        if data.budget is None or not z.sum() >= 0.7 * data.budget:
            break
        mu *= 2.0
    return _complete_iterate(data, np.zeros(p), t * np.eye(p), nu, mu, nu / t)


def warm_start(data: ConicData, w: FloatArray, V: FloatArray) -> Iterate | None:
    """Return a strictly feasible point at w and near V, for the first of `_BARRIER_SHARES` at which it is near the central path.

    Return None if it is so for no share.

    Parameters
    ----------
    data : ConicData
        The scaled problem.
    w : ndarray (p,)
        The coefficients.
    V : ndarray (p, p)
        Symmetric; projected onto the semidefinite cone.
    """
    p = w.size
    values, vectors = np.linalg.eigh(V)
    V = np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
    r = 1.0 - data.A @ w
    size = float(w @ w + np.trace(V))
    if data.lam is not None:
        square = np.maximum(r, 0.0) ** 2
        q = np.maximum(r * r + np.einsum("ij,ij->i", data.A @ V, data.A), 1e-300)
        size += data.lam * float((square / q).sum())
    for share in _BARRIER_SHARES:
        nu, t = share * size / data.degree, share * size / p
        if not nu > 0.0:
            return None
        spread = (1.0 + share) * V + t * np.eye(p)
        mu = data.lam if data.lam is not None else _budget_multiplier(data, r, spread, nu)
        if mu is None:
            continue
        point = _complete_iterate(data, w, spread, nu, mu, nu / float(np.linalg.eigvalsh(spread)[-1]))
        if point.inside() and point.gap <= _CENTRALITY * nu * data.degree:
            return point
    return None


def _centres(r: FloatArray, q: FloatArray, beta: float, nu: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return (z, ρ, γ, ζ) as above, with ρ free of cancellation for r < 0."""
    product = 0.5 * nu * q / beta
    root = np.sqrt(0.25 * r * r + product)
    rho = np.where(r >= 0.0, 0.5 * r + root, product / np.maximum(root - 0.5 * r, 1e-300))
    z = rho * rho / q + nu / beta
    return z, rho, beta * z / q, 2.0 * beta * rho / q


def _complete_iterate(data: ConicData, w: FloatArray, V: FloatArray, nu: float, mu: float, margin: float) -> Iterate:
    """Return the iterate at (w, V): γ, ζ scaled until S ⪰ min(½, margin)·I, the lifted cone's corner ν above its minimum."""
    A, p = data.A, w.size
    r = 1.0 - A @ w
    q = r * r + np.einsum("ij,ij->i", A @ V, A)
    z, rho, gamma, zeta = _centres(r, q, mu, nu)
    largest = float(np.linalg.eigvalsh((A * gamma[:, None]).T @ A)[-1])
    scale = min(1.0, (1.0 - min(0.5, margin)) / largest) if largest > 0 else 1.0
    gamma, zeta = scale * gamma, scale * zeta
    S = np.eye(p) - (A * gamma[:, None]).T @ A
    # with η = g/2 of `iterate`: corner - (η + Sw)'S⁻¹(η + Sw) = ν, and η + Sw = w + Σ(γr - ζ/2)a
    edge = w + A.T @ (gamma * r - 0.5 * zeta)
    corner = float(edge @ np.linalg.solve(S, edge)) + nu
    return Iterate(data, w, V, z, rho, gamma, zeta, corner, mu)


def _budget_multiplier(data: ConicData, r: FloatArray, V: FloatArray, nu: float) -> float | None:
    """Return the μ whose centres leave a slack ν/μ of the budget, Σz + ν/μ = κn; None if V is too small for any μ."""
    assert data.budget is not None
    q = r * r + np.einsum("ij,ij->i", data.A @ V, data.A)

    def excess(log_mu: float) -> float:
        mu = float(np.exp(log_mu))
        return float(_centres(r, q, mu, nu)[0].sum()) + nu / mu - data.budget  # type: ignore[operator]

    low = high = float(np.log(nu))
    while excess(high) > 0.0:
        high += 2.0
        if high > low + 80.0:
            return None
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return float(np.exp(high))


def _initial_spread(data: ConicData, norms: FloatArray) -> float:
    """Return t of V = tI: twice the minimiser of tp + λΣ1/(1 + t||a||²), or the root of Σ1/(1 + t||a||²) = κn/4."""
    p = data.A.shape[1]
    t = 1.0
    if data.budget is not None:
        while (1.0 / (1.0 + t * norms)).sum() > 0.25 * data.budget:
            t *= 1.5
        return t
    assert data.lam is not None
    while data.lam * (norms / (1.0 + t * norms) ** 2).sum() > p:
        t *= 1.5
    return 2.0 * t


#: Iterations without a reduction of the gap by this factor after which the run stalls: the limit of floating-point arithmetic.
_PATIENCE, _PROGRESS = 8, 0.8
#: Multiplications per second, for the estimated time of the first step; seconds by which a step may exceed the deadline.
_FLOP_RATE, _GRACE = 1e10, 0.1
#: The patience at relative gaps above the second value, where a badly centred point may need many iterations.
_EARLY_PATIENCE, _EARLY_GAP = 40, 1e-3


@dataclass(eq=False)
class ConicState:
    """The state of a run: prepared data, the current iterate, and the best one (smallest relative gap)."""

    prepared: PreparedProblem  #: the scaled problem
    system: NewtonSystem  #: Newton system of the cheaper kind
    point: Iterate  #: current iterate
    best: Iterate  #: iterate of the smallest relative gap
    tolerance: float  #: relative gap to be reached
    limit: int  #: largest number of steps
    threads: int | None = None  #: threads of BLAS; None for one in small systems, else its default
    iteration: int = 0  #: steps so far
    steps_without_progress: int = 0  #: steps since the last progress
    reference_gap: float = np.inf  #: the last gap that counted as progress
    outcome: Outcome = Outcome.RUNNING  #: the reason why the run ended, or RUNNING
    start: str = "cold"  #: origin of the first iterate, in words
    deadline: float = np.inf  #: value of `time.perf_counter`; a step that would end much later is not started
    step_seconds: float = 0.0  #: time of the last step; initially the estimate at `_FLOP_RATE`

    @property
    def too_late(self) -> bool:
        """True if the next step would end after the deadline, and more than `_GRACE` seconds from now."""
        return self.step_seconds > max(self.deadline - time.perf_counter(), 0.0) + _GRACE


@dataclass(frozen=True)
class ConicIPM(Algorithm[ConicProblem, ConicState]):
    """Feasible primal-dual predictor-corrector with Nesterov-Todd scaling for the conic SVM, λ or κ form, any metric of the norm.

    The problem has one semidefinite cone of order p + 1 and, for each point, the 2 × 2 cone z_i q_i ≥ ρ_i² and the row
    ρ_i ≥ 1 - u_i (`iterate` has the symbols), both eliminated point by point. A Newton step costs O(n p⁴ + p⁶) time with O(p⁴)
    memory, or O(n³ + n²p) time with O(n²) memory; the kind with fewer multiplications is taken. All iterates are strictly primal
    and dual feasible, so each has an objective and a lower bound.

    Parameters
    ----------
    max_iterations : int
        Maximum number of Newton steps, unless ``iteration_limit`` is given.
    """

    max_iterations: int = 200

    info = SolverInfo(
        name="conic-ipm",
        rank={Purpose.STRUCTURE: 3},
        summary="structured primal-dual interior-point method for the conic SVM",
        views=(ConicProblem,),
        gives=frozenset({Gives.DUALS, Gives.BOUND, Gives.WARM_START, Gives.TRACE, Gives.INTERRUPT}),
        tolerance=1e-8,
        reference="Cepeda, Gomez, Han, (21); Mehrotra predictor-corrector, Nesterov-Todd direction",
    )

    def init(self, view: ConicProblem, options: Options, rng: np.random.Generator) -> ConicState:
        """Prepare the data and choose a strictly feasible start: near ``options.start`` (w and W) if that is better, else cold.

        Raises
        ------
        InputError
            The start has no w, or an array of a wrong shape or with numbers that are not finite.
        """
        start_time = time.perf_counter()
        prepared = PreparedProblem.of(view)
        limit = self.max_iterations if options.iteration_limit is None else options.iteration_limit
        state = initial_state(prepared, options.tolerance(self.info.tolerance), limit)
        state.threads = options.threads
        if options.time_limit is not None:
            state.deadline = start_time + options.time_limit
        if options.start is not None and state.outcome is Outcome.RUNNING:
            _start_near(state, options.start)
        return state

    def advance(self, state: ConicState, seconds: float) -> Outcome:
        """Take Newton steps for about ``seconds`` or until the run ends."""
        end = time.perf_counter() + seconds
        with blas_threads(state.system.order, state.threads):
            while state.outcome is Outcome.RUNNING:
                if state.too_late:
                    return Outcome.TIME_LIMIT
                start = time.perf_counter()
                take_step(state)
                state.step_seconds = time.perf_counter() - start
                if time.perf_counter() >= end:
                    break
        return state.outcome

    def measure(self, state: ConicState) -> ProgressState:
        """Return objective and lower bound of the best iterate, both proved."""
        if state.outcome is Outcome.INFEASIBLE:
            return ProgressState(state.iteration, np.nan)
        offset, scale = state.prepared.offset(), state.prepared.sigma2
        objective, bound = state.best.objective / scale + offset, state.best.bound / scale + offset
        return ProgressState(state.iteration, objective, bound, step="newton")

    def answer(self, state: ConicState) -> Answer:
        """Return the feasible point, repaired multipliers of every constraint, and the certified bound."""
        if state.outcome is Outcome.INFEASIBLE:
            return Answer(details={"reason": "rows of zeros alone exceed the budget κn"})
        prepared = state.prepared
        with blas_threads(state.system.order, state.threads):
            point = prepared.point(state.best.w, state.best.V)
            bound = prepared.bound(*state.best.dual_point, point, state.tolerance)
        scale = max(abs(point.objective), abs(bound.value), 1e-300)
        details: dict[str, object] = {
            "newton_system": "points" if isinstance(state.system, PointSystem) else "gram",
            "start": state.start,
            "relative_gap": (point.objective - bound.value) / scale,
        }
        return prepared.answer(point, bound, details)


def _start_near(state: ConicState, start: Mapping[str, FloatArray]) -> None:
    """Start at a strictly feasible point near the user's w (and W) if its gap is smaller than that of the cold start."""
    point = warm_start(state.prepared.data, *state.prepared.read_start(start))
    better = point is not None and point.gap < state.point.gap
    state.start = "near the given w and W" if better else "cold: no central point near the given w and W has a smaller gap"
    if point is not None and better:
        state.point = state.best = point


def initial_state(prepared: PreparedProblem, tolerance: float, limit: int, system: NewtonSystem | None = None) -> ConicState:
    """Return the state at the strictly feasible start, with outcome INFEASIBLE if rows of zeros use up the budget."""
    feasible = prepared.feasible
    point = cold_start(prepared.data if feasible else prepared.at(1.0, None).data)
    state = ConicState(prepared, system or best_system(prepared.data.A), point, point, tolerance, limit)
    state.step_seconds = state.system.work(*prepared.data.A.shape) / _FLOP_RATE
    if not feasible:
        state.outcome = Outcome.INFEASIBLE
    return state


def take_step(state: ConicState) -> None:
    """Take one Newton step and update the state of the run."""
    if state.iteration >= state.limit:
        state.outcome = Outcome.ITERATION_LIMIT
        return
    try:
        state.point, _, _ = _newton_step(state.point, state.system)
    except np.linalg.LinAlgError:
        state.outcome = _final_outcome(state)
        return
    state.iteration += 1
    gap = state.point.gap
    if state.point.relative_gap < state.best.relative_gap:
        state.best = state.point
    state.steps_without_progress += 1
    if gap <= _PROGRESS * state.reference_gap:
        state.steps_without_progress, state.reference_gap = 0, gap
    if state.point.relative_gap <= 0.5 * state.tolerance:  # the other half covers the repair of γ and rounding
        state.outcome = Outcome.CONVERGED
    elif state.steps_without_progress >= (_PATIENCE if state.best.relative_gap < _EARLY_GAP else _EARLY_PATIENCE):
        state.outcome = _final_outcome(state)


def _final_outcome(state: ConicState) -> Outcome:
    """Return the outcome of a run without further progress, by the certified gap."""
    point = state.prepared.point(state.best.w, state.best.V)
    bound = state.prepared.bound(*state.best.dual_point, point, state.tolerance)
    gap = point.objective - bound.value
    converged = gap <= state.tolerance * max(abs(point.objective), abs(bound.value))
    return Outcome.CONVERGED if converged else Outcome.STALLED


#: Relative gap of the iterate from which the next problem starts: a central point, not a boundary point.
_WARM_GAP = 0.1
#: Largest relative gap of a warm start; beyond it a cold start is better.
_MAX_START_GAP = 3.0


@dataclass(frozen=True, eq=False)
class ConicPathPoint:
    """One problem of a path, solved and certified.

    Parameters
    ----------
    parameter : float
        κ or λ.
    outcome : Outcome
        The reason why the run ended.
    point : ConicPoint or None
        Feasible point; None for an infeasible problem.
    bound : ConicBound or None
        Proved lower bound, with its dual point: γ, v (= ζ) and μ.
    iterations : int
        Number of Newton steps.
    seconds : float
        Wall time of the solve with its certificate.
    """

    parameter: float
    outcome: Outcome
    point: ConicPoint | None
    bound: ConicBound | None
    iterations: int
    seconds: float

    @property
    def relative_gap(self) -> float:
        """(objective - bound)/max(|objective|, |bound|); infinite without a point."""
        if self.point is None or self.bound is None:
            return np.inf
        scale = max(abs(self.point.objective), abs(self.bound.value))
        return (self.point.objective - self.bound.value) / scale if scale > 0.0 else 0.0


def conic_path(
    problem: ConicProblem,
    *,
    kappas: Sequence[float] | None = None,
    lams: Sequence[float] | None = None,
    tolerance: float = 1e-8,
    warm: bool = True,
    max_iterations: int = 200,
    threads: int | None = None,
) -> list[ConicPathPoint]:
    """Solve ``problem`` for every given κ or λ and return the results in the given order.

    The problems are solved in ascending order. A primal point remains feasible when the budget κn grows, a dual point when λ
    grows, so a central iterate of one problem (relative gap ≤ 0.1) is strictly feasible for the next one.
    Quantities of the data alone (whitening, scaling, the rows svec(a_i a_i')) are computed once.

    Parameters
    ----------
    problem : ConicProblem
        Its own λ or κ is ignored.
    kappas, lams : sequence of float
        Values > 0 (κ = 0 is the hard-margin QP); exactly one of the two is given.
    tolerance : float
        Relative gap.
    warm : bool
        Whether to use warm starts.
    max_iterations : int
        Maximum number of Newton steps per problem.
    threads : int, optional
        Number of BLAS threads; by default one for small systems.

    Raises
    ------
    InputError
        Both or none of ``kappas`` and ``lams``, or a value that is not finite and positive; every row of the data is zero.
    """
    if (kappas is None) == (lams is None):
        raise InputError("give exactly one of kappas and lams", name="kappas")
    values = np.asarray(kappas if kappas is not None else lams, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError(
            f"kappas and lams must be finite numbers > 0 (κ = 0 is the hard-margin QP); they are {values}", name="kappas"
        )

    def parameters(value: float) -> tuple[float | None, float | None]:
        return (None, value) if kappas is not None else (value, None)

    if values.size == 0:
        return []
    lam, kappa = parameters(float(values[0]))
    base = PreparedProblem.of(replace(problem, lam=lam, kappa=kappa))
    system = best_system(base.data.A)
    results: dict[int, ConicPathPoint] = {}
    central: Iterate | None = None
    with blas_threads(system.order, threads):
        for index in np.argsort(values, kind="stable").tolist():
            value = float(values[index])
            start = time.perf_counter()
            prepared = base.at(*parameters(value))
            state, central = _solve(prepared, system, central if warm else None, tolerance, max_iterations)
            results[index] = _finish(value, state, start)
    return [results[index] for index in range(values.size)]


def _solve(
    prepared: PreparedProblem, system: NewtonSystem, central: Iterate | None, tolerance: float, limit: int
) -> tuple[ConicState, Iterate | None]:
    """Run from the previous problem's central point if it is suitable, else (or if that run stalls) from the cold start."""
    state = initial_state(prepared, tolerance, limit, system)
    previous_steps = 0
    if central is not None and _continue_from(state, central):
        next_central = _run(state)
        if state.outcome is not Outcome.STALLED:
            return state, next_central
        previous_steps, state = state.iteration, initial_state(prepared, tolerance, limit, system)
    next_central = _run(state)
    state.iteration += previous_steps
    return state, next_central


def _continue_from(state: ConicState, central: Iterate) -> bool:
    """Move the previous problem's central point into this problem; return False if it is infeasible or far from central."""
    data = state.prepared.data
    if state.outcome is not Outcome.RUNNING:
        return False
    mu = central.mu if data.lam is None else data.lam
    iterate = Iterate(data, central.w, central.V, central.z, central.rho, central.gamma, central.zeta, central.corner, mu)
    if not iterate.inside() or iterate.gap > _MAX_START_GAP * abs(iterate.objective):
        return False
    state.point = state.best = iterate
    return True


def _run(state: ConicState) -> Iterate | None:
    """Run to the end and return the first iterate that is central enough for the next problem."""
    central: Iterate | None = None
    while state.outcome is Outcome.RUNNING:
        take_step(state)
        if central is None and state.point.relative_gap <= _WARM_GAP:
            central = state.point
    return central


def _finish(value: float, state: ConicState, begin: float) -> ConicPathPoint:
    if state.outcome is Outcome.INFEASIBLE:
        return ConicPathPoint(value, state.outcome, None, None, 0, time.perf_counter() - begin)
    point = state.prepared.point(state.best.w, state.best.V)
    bound = state.prepared.bound(*state.best.dual_point, point, state.tolerance)
    return ConicPathPoint(value, state.outcome, point, bound, state.iteration, time.perf_counter() - begin)
