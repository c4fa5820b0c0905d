"""The state of K-NPSVC++'s training, and the record of each outer iteration."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ...models.arrays import FloatArray
from ...models.formulations.nonparallel.chebyshev import ChebyshevNPSVC

__all__ = ["NPSVCPoint", "NPSVCState", "NPSVCStep"]

#: Seconds that the problems of an answer have together after the time limit.
_ANSWER = 0.2


@dataclass(frozen=True)
class NPSVCStep:
    """One outer iteration after U and V: J_l, their weighted maximum, τ, Pareto stationarity; of the P-step before, its Stiefel
    gradient and how far P moved.

    ``dual`` is the dual value for the P of this iteration, Σ τ_l ϖ_l min J_l (proved: from dual points of the classes' own
    problems), and ``gap`` the relative gap of max ϖ_l J_l to it; NaN where they were not asked for. For a fixed P the
    largest dual value, all weight on the largest class, meets the primal optimum: the gap says how far τ and U, V are from
    that.
    """

    objectives: tuple[float, ...]
    largest: float
    tau: tuple[float, ...]
    pareto: float
    stiefel: float
    moved: float
    dual: float = float("nan")
    gap: float = float("nan")


@dataclass(frozen=True, eq=False)
class NPSVCPoint:
    """P with τ, U, V and the classes' dual points, and max ϖ_l J_l there."""

    value: float
    P: FloatArray
    tau: FloatArray
    U: FloatArray
    V: FloatArray
    lam: tuple[FloatArray | None, ...]


@dataclass(eq=False)
class NPSVCState:
    """U (K, features), V (K, d), P, τ and the classes' dual points λ_l."""

    model: ChebyshevNPSVC
    U: FloatArray
    V: FloatArray
    P: FloatArray
    tau: FloatArray
    lam: list[FloatArray | None]
    tol: float
    limit: float
    seed: int
    stiefel: float = float("nan")  #: Stiefel gradient of the last P-step
    moved: float = float("inf")  #: how far the last iteration moved P, ||P - P_old||/√d
    steps: list[NPSVCStep] = field(default_factory=list)
    best: NPSVCPoint | None = None  #: of the iterations so far, by the largest weighted objective
    deadline: float = float("inf")  #: by the clock of `time.perf_counter`: where the classes' problems end too

    def note(self, value: float) -> None:
        """Keep the present point if it is the best so far."""
        if self.best is None or value < self.best.value:
            self.best = NPSVCPoint(value, self.P.copy(), self.tau.copy(), self.U.copy(), self.V.copy(), tuple(self.lam))

    def go_back(self) -> None:
        """Go to the best point."""
        if self.best is not None:
            self.P, self.tau, self.U, self.V = (part.copy() for part in (self.best.P, self.best.tau, self.best.U, self.best.V))
            self.lam = list(self.best.lam)

    def last(self, share: int) -> float:
        """Return the deadline of one of so many problems of the answer, which have some time after the deadline of all."""
        return max(self.deadline, time.perf_counter() + _ANSWER / share)
