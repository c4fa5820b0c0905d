"""The package pymanopt on matrices with orthonormal columns, as a solver of the projection step of NPSVC++, (19)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...errors import InputError
from ...models.arrays import FloatArray
from ...models.formulations.stiefel import polar, stiefel_gradient
from ...models.model import Model
from ...models.views import StiefelProblem
from ..interface.solver import Gives, KeptModel, Solver, SolverInfo, replace_parameters
from ..records import Answer, Options, Status
from .ascent import orthonormal_start

_CLASSES = {"trust-regions": "TrustRegions", "conjugate-gradient": "ConjugateGradient", "steepest-descent": "SteepestDescent"}


@dataclass(frozen=True)
class Pymanopt(Solver):
    """pymanopt's optimisers on min -Tr(P'HP) - 2Tr(P'E), P'P = I.

    pymanopt stops on the absolute norm of the Riemannian gradient, this package on the relative one. So pymanopt receives
    ``tol`` times the scale at its starting point, and is restarted from its result if the scale has decreased.

    Parameters
    ----------
    method : {"trust-regions", "conjugate-gradient", "steepest-descent"}
    retraction : {"qr", "polar"}

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
        first_order=False,
        extra="manifold",
        reference="Townsend, Koep, Weichwald: Pymanopt (2016); Absil, Baker, Gallivan (2007)",
    )

    def __post_init__(self) -> None:
        if self.method not in _CLASSES:
            raise InputError(f"method must be one of {', '.join(_CLASSES)}; it is {self.method!r}", name="method")
        if self.retraction not in ("qr", "polar"):
            raise InputError(f"retraction must be 'qr' or 'polar'; it is {self.retraction!r}", name="retraction")

    def obstacle(self, model: Model) -> str | None:
        """Return the reason why the model is not a problem on the Stiefel manifold; None if it is."""
        return self.info.unread(model)

    def run(self, model: Model, options: Options, kept_model: KeptModel | None = None) -> Answer:
        """Run pymanopt repeatedly until the relative Riemannian gradient is at most ``tol``, or a limit is reached."""
        solver = replace_parameters(self, options.native)
        view = model.view(StiefelProblem)
        assert view is not None
        build_start = time.perf_counter()
        initial_P = None if options.start is None else options.start.get("P")
        P = orthonormal_start(view, initial_P, np.random.default_rng(options.seed))
        manifold_problem = _problem(view, solver.retraction)
        tol = options.tolerance(self.info.tolerance)
        solve_start, iterations, native_status = time.perf_counter(), 0, "no step"
        for _ in range(5):
            scale, residual = _residual(view, P)
            remaining = _remaining_limits(options, solve_start, iterations)
            if residual <= tol or min(remaining) <= 0:
                break
            answer = _optimiser(solver.method, 0.9 * tol * scale, *remaining).run(manifold_problem, initial_point=P)
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


def _problem(view: StiefelProblem, retraction: str) -> Any:
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


def _optimiser(method: str, norm: float, seconds: float, iterations: float) -> Any:
    import pymanopt

    kind = getattr(pymanopt.optimizers, _CLASSES[method])
    return kind(min_gradient_norm=norm, max_time=seconds, max_iterations=int(min(iterations, 10_000)), verbosity=0)


def _residual(view: StiefelProblem, P: FloatArray) -> tuple[float, float]:
    """Return max(1, ||G||) and the relative Riemannian gradient."""
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
