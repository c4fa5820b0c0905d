"""Solvers of max f(P) = Tr(P'HP) + 2 Tr(P'E) over matrices P with orthonormal columns (the Stiefel manifold).

H is symmetric n × n, E and P are n × d. The solvers are generalised power iteration, the same with momentum, Barzilai-Borwein
steps, and the package pymanopt; all look for a stationary point. The relative Riemannian gradient is the norm of the gradient of
f on the manifold over max(1, ||G||), G = 2(HP + E). Training of NPSVC++ (Zhang, Lai, Zhou and Liang, 2024) solves such a problem
in every iteration, (19) there. The *polar factor* of a matrix is the nearest one with orthonormal columns.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse.linalg

from ...errors import InputError, short_text
from ...models.arrays import FloatArray
from ...models.formulations.stiefel import polar, stiefel_gradient
from ...models.model import Model
from ...models.views import StiefelProblem
from ..interface.algorithm import Algorithm, Outcome
from ..interface.native_options import replace_parameters
from ..interface.recorder import ProgressState
from ..interface.solver import Gives, KeptModel, Purpose, Solver, SolverInfo
from ..records import Answer, Options, Status

__all__ = ["GPI", "SOLVERS", "BarzilaiBorwein", "MomentumGPI", "Pymanopt"]

_GIVES = frozenset({Gives.TRACE, Gives.WARM_START, Gives.INTERRUPT})


@dataclass(eq=False)
class StiefelState:
    """The state of an ascent: P, HP, f(P), the relative Riemannian gradient, and the data of the single methods."""

    problem: StiefelProblem  #: divided by ``scale``
    scale: float  #: ratio of the user's objective to that of ``problem``
    P: FloatArray  #: current point
    HP: FloatArray  #: the product H P
    tol: float  #: relative Riemannian gradient to be reached
    limit: float  #: largest number of steps
    f: float = float("-inf")  #: objective of ``problem`` at P
    residual: float = float("inf")  #: relative Riemannian gradient at P
    steps: int = 0  #: steps so far
    step: str = ""  #: kind of the last step, for the trace
    shift: float = 0.0  #: α in the steps P ← polar(HP + αP + E) of the power iterations
    # momentum
    previous: FloatArray | None = None  #: point before the last step
    previous_HP: FloatArray | None = None  #: its product with H
    age: int = 1  #: steps since the last restart of the momentum, from 1
    # Barzilai-Borwein, of the minimised -f
    gradient: FloatArray | None = None  #: Riemannian gradient of f at P
    length: float = 0.0  #: length of the next step
    reference: float = 0.0  #: weighted mean of past values of -f, for the line search
    weight: float = 1.0  #: sum of the weights in ``reference``

    def move(self, P: FloatArray, HP: FloatArray | None = None) -> None:
        """Move to P and compute its product, value and gradient."""
        E = self.problem.E
        self.P = P
        self.HP = self.problem.H @ P if HP is None else HP
        self.f = float(np.sum(P * (self.HP + 2.0 * E)))
        G = 2.0 * (self.HP + E)
        self.gradient = stiefel_gradient(P, G)
        self.residual = float(np.linalg.norm(self.gradient)) / max(1.0 / self.scale, float(np.linalg.norm(G)))
        self.steps += 1


@dataclass(frozen=True)
class _StiefelAscent(Algorithm[StiefelProblem, StiefelState]):
    """The common part of the methods: start, stopping rule on the Riemannian gradient, and answer."""

    def init(self, view: StiefelProblem, options: Options, rng: np.random.Generator) -> StiefelState:
        """Return the state at the polar factor of the given start, or at a random point."""
        start = None if options.start is None else options.start.get("P")
        P = orthonormal_start(view, start, rng)
        limit = np.inf if options.iteration_limit is None else float(options.iteration_limit)
        view, scale = view.scaled()
        state = StiefelState(view, scale, P, view.H @ P, options.tolerance(self.info.tolerance), limit)
        state.move(P, state.HP)
        state.steps = 0
        self.prepare(state, rng)
        return state

    @abstractmethod
    def prepare(self, state: StiefelState, rng: np.random.Generator) -> None:
        """Initialise the method's data before the first step."""

    @abstractmethod
    def take_step(self, state: StiefelState) -> bool:
        """Take one step; return False if none makes progress in floating-point arithmetic."""

    def advance(self, state: StiefelState, seconds: float) -> Outcome:
        """Take steps for about ``seconds``."""
        end = time.perf_counter() + seconds
        while True:
            if state.residual <= state.tol:
                return Outcome.STATIONARY
            if state.steps >= state.limit:
                return Outcome.ITERATION_LIMIT
            if not self.take_step(state):
                return Outcome.STALLED
            if time.perf_counter() >= end and not state.residual <= state.tol:
                return Outcome.RUNNING

    def measure(self, state: StiefelState) -> ProgressState:
        """Return the objective -f; there is no bound."""
        return ProgressState(state.steps, -state.f * state.scale, step=state.step)

    def answer(self, state: StiefelState) -> Answer:
        """Return P with its stationarity measure."""
        return Answer(values={"P": state.P}, stationarity=state.residual, details={"shift": state.shift * state.scale})


@dataclass(frozen=True)
class GPI(_StiefelAscent):
    """Generalised power iteration P ← polar(HP + αP + E), as published, with α ≥ 0 such that H + αI is positive semidefinite.

    Then f is convex up to a constant on the manifold, and the step maximises its linearisation, so f never decreases but for
    rounding. α is 0 for a positive semidefinite H and 1.001 |λ_min| otherwise, by Lanczos for n > 64. A larger shift, such as the
    Frobenius norm, needs more iterations.

    Parameters
    ----------
    factor : {"gram", "svd"}
        Computation of the polar factor: by the d × d Gram matrix, or by the singular value decomposition as published.

    Raises
    ------
    InputError
        The factor is unknown, or the start has another shape.
    """

    factor: Literal["gram", "svd"] = "gram"

    info: ClassVar[SolverInfo] = SolverInfo(
        name="gpi",
        summary="generalised power iteration on the Stiefel manifold",
        views=(StiefelProblem,),
        gives=_GIVES,
        first_order=True,
        reference="Nie, Zhang, Li: A generalized power iteration method (2017)",
    )

    def prepare(self, state: StiefelState, rng: np.random.Generator) -> None:
        """Compute the shift."""
        state.shift = _power_shift(state.problem.H, rng)

    def take_step(self, state: StiefelState) -> bool:
        """Take one power step."""
        M = state.HP + state.shift * state.P + state.problem.E
        state.step = "power"
        state.move(polar(M) if self.factor == "gram" else _polar_svd(M))
        return True


@dataclass(frozen=True)
class MomentumGPI(_StiefelAscent):
    """GPI from the extrapolated point P + β(P - P_old), β = (k-1)/(k+2), with a restart of the momentum when f decreases.

    k counts the steps since the last restart, from 1. A step that decreases f is rejected and repeated without momentum, so the
    accepted values of f never decrease.
    """

    info: ClassVar[SolverInfo] = SolverInfo(
        name="gpi-momentum",
        summary="generalised power iteration with restarted momentum",
        views=(StiefelProblem,),
        gives=_GIVES,
        first_order=True,
        reference="Nie, Zhang, Li (2017); O'Donoghue, Candes (2015)",
    )

    def prepare(self, state: StiefelState, rng: np.random.Generator) -> None:
        """Compute the shift and reset the momentum."""
        state.shift = _power_shift(state.problem.H, rng)
        state.previous, state.previous_HP, state.age = state.P, state.HP, 1

    def take_step(self, state: StiefelState) -> bool:
        """Take one extrapolated power step, or a plain one if that decreases f."""
        assert state.previous is not None
        assert state.previous_HP is not None
        P, HP, f = state.P, state.HP, state.f
        beta = (state.age - 1.0) / (state.age + 2.0)
        Y, HY = P + beta * (P - state.previous), HP + beta * (HP - state.previous_HP)
        state.step = "momentum" if beta > 0 else "power"
        state.move(polar(HY + state.shift * Y + state.problem.E))
        if state.f < f and beta > 0:
            state.age, state.step = 1, "restart"
            state.move(polar(HP + state.shift * P + state.problem.E))
        state.previous, state.previous_HP = P, HP
        state.age += 1
        return True


@dataclass(frozen=True)
class BarzilaiBorwein(_StiefelAscent):
    """Riemannian gradient steps of Barzilai-Borwein length, polar retraction, non-monotone line search (Zhang, Hager 2004).

    The two lengths alternate. The method needs no shift and no eigenvalue.
    """

    info: ClassVar[SolverInfo] = SolverInfo(
        name="stiefel-bb",
        rank={Purpose.STRUCTURE: 11},
        summary="Riemannian Barzilai-Borwein steps on the Stiefel manifold",
        views=(StiefelProblem,),
        gives=_GIVES,
        first_order=True,
        reference="Wen, Yin: A feasible method for optimization with orthogonality constraints (2013)",
    )

    def prepare(self, state: StiefelState, rng: np.random.Generator) -> None:
        """Set the first length, 1/(2||H||_1), or 1 for H = 0, and the reference value of the line search."""
        norm = float(np.abs(state.problem.H).sum(axis=0).max())
        state.length = 0.5 / norm if norm > 0 else 1.0
        state.reference, state.weight = -state.f, 1.0

    def take_step(self, state: StiefelState) -> bool:
        """Take one gradient step."""
        assert state.gradient is not None
        P, R = state.P, -state.gradient  # gradient of -f
        square, initial_steps, length = float(np.sum(R * R)), state.steps, state.length
        while True:
            state.move(polar(P - length * R))
            if -state.f <= state.reference - 1e-4 * length * square:
                break
            length *= 0.3
            if not length * np.sqrt(square) >= 1e-15:  # too short, or the gradient has overflowed
                return False
        state.step = "gradient"
        state.steps = initial_steps + 1
        S, Y = state.P - P, -state.gradient - R
        product = abs(float(np.sum(S * Y)))
        if product > 0:
            long_step = state.steps % 2 == 1
            length = float(np.sum(S * S)) / product if long_step else product / float(np.sum(Y * Y))
        state.length = float(np.clip(length, 1e-10, 1e10))
        weight = 0.85 * state.weight + 1.0
        state.reference = (0.85 * state.weight * state.reference - state.f) / weight
        state.weight = weight
        return True


def orthonormal_start(view: StiefelProblem, start: FloatArray | None, rng: np.random.Generator) -> FloatArray:
    """Return the polar factor of a given start, or the Q of a Gaussian matrix.

    Raise InputError for a start of another shape than E, or with entries that are not finite.
    """
    if start is None:
        return np.asarray(np.linalg.qr(rng.standard_normal(view.E.shape))[0])
    P = np.asarray(start, dtype=np.float64)
    if P.shape != view.E.shape or not np.isfinite(P).all():
        raise InputError(f"start['P'] must be a finite matrix of shape {view.E.shape}; its shape is {P.shape}", name="start")
    return polar(P)


def _power_shift(H: FloatArray, rng: np.random.Generator) -> float:
    """Return max(0, -λ_min(H)) with a margin of a thousandth, by Lanczos, or by all eigenvalues of a small H."""
    n = H.shape[0]
    if n <= 64:
        lowest = float(np.linalg.eigvalsh(H)[0])
    else:
        lowest = float(
            scipy.sparse.linalg.eigsh(H, 1, which="SA", tol=1e-3, v0=rng.standard_normal(n), return_eigenvectors=False)[0]
        )
    scale = float(np.linalg.norm(H)) / np.sqrt(n)
    return max(0.0, -lowest + 1e-3 * abs(lowest)) if lowest < -1e-12 * scale else 0.0


def _polar_svd(M: FloatArray) -> FloatArray:
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return np.asarray(U @ Vt)


#: pymanopt's optimisers by the values of ``method``.
_PYMANOPT_CLASSES = {
    "trust-regions": "TrustRegions",
    "conjugate-gradient": "ConjugateGradient",
    "steepest-descent": "SteepestDescent",
}


@dataclass(frozen=True)
class Pymanopt(Solver):
    """pymanopt's optimisers on min -Tr(P'HP) - 2Tr(P'E), P'P = I.

    pymanopt stops on the absolute norm of the Riemannian gradient, this package on the relative one. So pymanopt receives
    ``tol`` times the scale at its starting point, and is restarted from its result if the scale has decreased.

    Parameters
    ----------
    method : {"trust-regions", "conjugate-gradient", "steepest-descent"}
        Optimiser of pymanopt.
    retraction : {"qr", "polar"}
        Map of a step back to the manifold.

    Raises
    ------
    InputError
        The method or retraction is unknown, or the start has another shape.
    """

    method: str = "trust-regions"
    retraction: Literal["qr", "polar"] = "qr"

    info: ClassVar[SolverInfo] = SolverInfo(
        name="pymanopt",
        summary="pymanopt on the Stiefel manifold: Riemannian trust regions, conjugate gradients or steepest descent",
        package="pymanopt",
        module="pymanopt",
        views=(StiefelProblem,),
        gives=frozenset({Gives.WARM_START}),
        extra="manifold",
        reference="Townsend, Koep, Weichwald: Pymanopt (2016); Absil, Baker, Gallivan (2007)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in _PYMANOPT_CLASSES:
            raise InputError(
                f"method must be one of {', '.join(_PYMANOPT_CLASSES)}; it is {short_text(self.method)}", name="method"
            )

    def obstacle(self, model: Model) -> str | None:
        """Return the reason why the model is not a problem on the Stiefel manifold; None if it is."""
        return self.info.missing_view_reason(model)

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Run pymanopt until the relative Riemannian gradient is at most ``tol`` or a limit is reached, five times at most."""
        solver = replace_parameters(self, options.native)
        view = model.view(StiefelProblem)
        assert view is not None
        build_start = time.perf_counter()
        initial_P = None if options.start is None else options.start.get("P")
        P = orthonormal_start(view, initial_P, np.random.default_rng(options.seed))
        manifold_problem = _pymanopt_problem(view, solver.retraction)
        tol = options.tolerance(self.info.tolerance)
        solve_start, iterations, native_status = time.perf_counter(), 0, "no step"
        for _ in range(5):
            scale, residual = _residual(view, P)
            remaining = _remaining_limits(options, solve_start, iterations)
            if residual <= tol or min(remaining) <= 0:
                break
            answer = _pymanopt_optimiser(solver.method, 0.9 * tol * scale, *remaining).run(manifold_problem, initial_point=P)
            P, native_status = polar(np.asarray(answer.point)), str(answer.stopping_criterion)
            iterations += int(answer.iterations)
        residual = _residual(view, P)[1]
        return Answer(
            status=_status(residual <= tol, options, solve_start, iterations),
            native_status=native_status,
            values={"P": P},
            objective=-view.objective(P),
            iterations=iterations,
            build_seconds=solve_start - build_start,
            solve_seconds=time.perf_counter() - solve_start,
            stationarity=residual,
        )


def _pymanopt_problem(view: StiefelProblem, retraction: str) -> Any:
    """Return the problem in pymanopt's form."""
    import pymanopt

    manifold = pymanopt.manifolds.Stiefel(*view.E.shape, retraction=retraction)
    on_manifold = pymanopt.function.numpy(manifold)

    def cost(P: FloatArray) -> float:
        return -view.objective(P)

    def gradient(P: FloatArray) -> FloatArray:
        return -view.gradient(P)

    def hessian(P: FloatArray, D: FloatArray) -> FloatArray:
        return -2.0 * (view.H @ D)

    return pymanopt.Problem(
        manifold, on_manifold(cost), euclidean_gradient=on_manifold(gradient), euclidean_hessian=on_manifold(hessian)
    )


def _pymanopt_optimiser(method: str, norm: float, seconds: float, iterations: float) -> Any:
    import pymanopt

    kind = getattr(pymanopt.optimizers, _PYMANOPT_CLASSES[method])
    return kind(min_gradient_norm=norm, max_time=seconds, max_iterations=int(min(iterations, 10_000)), verbosity=0)


def _residual(view: StiefelProblem, P: FloatArray) -> tuple[float, float]:
    """Return max(1, ||G||), G the Euclidean gradient, and the relative Riemannian gradient."""
    G = view.gradient(P)
    scale = max(1.0, float(np.linalg.norm(G)))
    return scale, float(np.linalg.norm(stiefel_gradient(P, G))) / scale


def _remaining_limits(options: Options, start: float, iterations: int) -> tuple[float, float]:
    seconds = np.inf if options.time_limit is None else options.time_limit - (time.perf_counter() - start)
    return float(seconds), np.inf if options.iteration_limit is None else float(options.iteration_limit - iterations)


def _status(stationary: bool, options: Options, start: float, iterations: int) -> Status:
    if stationary:
        return Status.STATIONARY
    seconds, count = _remaining_limits(options, start, iterations)
    if seconds <= 0:
        return Status.TIME_LIMIT
    return Status.ITERATION_LIMIT if count <= 0 else Status.STALLED


#: Read by the registry.
SOLVERS: tuple[Solver, ...] = (BarzilaiBorwein(), MomentumGPI(), GPI(), Pymanopt())
