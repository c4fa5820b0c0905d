"""The conic SVM along κ or λ: one preparation, one Newton system, warm starts from central points of the previous problem."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InputError
from ...models.conic_dual.bound import ConicBound
from ...models.conic_dual.point import ConicPoint
from ...models.kernels.threads import blas_threads
from ...models.views import ConicProblem
from ..interface.algorithm import Outcome
from .coordinates import Prepared
from .ipm import ConicState, begin, iterate
from .iterate import Iterate
from .newton import NewtonSystem, best_system

__all__ = ["ConicPathPoint", "conic_path"]

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
    point : ConicPoint or None
        Feasible point; None for an infeasible problem.
    bound : ConicBound or None
        Proved lower bound with γ, v and μ.
    iterations : int
        Number of Newton steps.
    seconds : float
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
        Exactly one sequence of values > 0 (κ = 0 is the hard-margin QP).
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
        Not exactly one sequence is given, or a value is not finite and > 0.
    """
    if (kappas is None) == (lams is None):
        raise InputError("give exactly one of kappas and lams")
    values = np.asarray(kappas if kappas is not None else lams, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError(f"kappas and lams must be finite numbers > 0 (κ = 0 is the hard-margin QP); they are {values}")

    def parameters(value: float) -> tuple[float | None, float | None]:
        return (None, value) if kappas is not None else (value, None)

    if values.size == 0:
        return []
    lam, kappa = parameters(float(values[0]))
    base = Prepared.of(replace(problem, lam=lam, kappa=kappa))
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
    prepared: Prepared, system: NewtonSystem, central: Iterate | None, tolerance: float, limit: int
) -> tuple[ConicState, Iterate | None]:
    """Run from the previous problem's central point if it is suitable, else (or if that run stalls) from the cold start."""
    state = begin(prepared, tolerance, limit, system)
    previous_steps = 0
    if central is not None and _continue_from(state, central):
        next_central = _run(state)
        if state.outcome is not Outcome.STALLED:
            return state, next_central
        previous_steps, state = state.iteration, begin(prepared, tolerance, limit, system)
    next_central = _run(state)
    state.iteration += previous_steps
    return state, next_central


def _continue_from(state: ConicState, central: Iterate) -> bool:
    """Move the previous problem's central point into this problem; return False if it is infeasible or far from central."""
    data = state.prepared.data
    if state.outcome is not Outcome.RUNNING:
        return False
    mu = central.mu if data.lam is None else data.lam
    moved = Iterate(data, central.w, central.V, central.z, central.rho, central.gamma, central.zeta, central.corner, mu)
    if not moved.inside() or moved.gap > _MAX_START_GAP * abs(moved.objective):
        return False
    state.point = state.best = moved
    return True


def _run(state: ConicState) -> Iterate | None:
    """Run to the end and return the first iterate that is central enough for the next problem."""
    central: Iterate | None = None
    while state.outcome is Outcome.RUNNING:
        iterate(state)
        if central is None and state.point.relative_gap <= _WARM_GAP:
            central = state.point
    return central


def _finish(value: float, state: ConicState, begun: float) -> ConicPathPoint:
    if state.outcome is Outcome.INFEASIBLE:
        return ConicPathPoint(value, state.outcome, None, None, 0, time.perf_counter() - begun)
    point = state.prepared.point(state.best.w, state.best.V)
    bound = state.prepared.bound(*state.best.dual_point, point, state.tolerance)
    return ConicPathPoint(value, state.outcome, point, bound, state.iteration, time.perf_counter() - begun)
