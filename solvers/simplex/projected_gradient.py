"""Projected gradients on faces of unit simplices, solver ``pga``, for a dense matrix Q held in memory.

Algorithm 1 of Luo, Yang, Peng, Wang and Chen, *MaxMin-L2-SVC-NCH* (2023), whose numbers of formulas are used below, with its
errata corrected. The problem is min ½a'Qa + c'a over a ≥ 0 with sum 1 in each simplex; ∇ is the gradient Qa + c.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ...models.arrays import BoolArray, FloatArray, IntArray, as_integer, check_bytes
from ...models.views import SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..interface.recorder import ProgressState
from ..records import Answer, Options
from . import RECORDS
from .common import iteration_limit, relative_gap_at, simplex_answer
from .starting_points import StartRule, starting_point

#: Rules for the start of `ProjectedGradient`.
InitialRule: TypeAlias = Literal["uniform", "sparse"]
#: The rule of `starting_points` for each of them.
_RULES: dict[InitialRule, StartRule] = {"uniform": "uniform", "sparse": "vertex"}
#: Steps after which the gradient is recomputed from a, so that rounding does not add up.
_REFRESH_EVERY = 200


@dataclass(eq=False)
class ProjectedGradientState:
    """State of a run: the point, its gradient and the free variables."""

    view: SimplexQP  #: the problem
    Q: FloatArray  #: (n, n)
    a: FloatArray  #: (n,) the point
    g: FloatArray  #: (n,) Qa + c
    members: Sequence[IntArray]  #: the variables of each simplex
    free: BoolArray  #: (n,) variables that may move both ways
    tol: float  #: relative gap to be reached
    limit: int  #: largest number of steps
    steps: int = 0  #: steps so far
    step: str = ""  #: kind of the last step

    @property
    def objective(self) -> float:
        """Return ½a'Qa + c'a, from the gradient: ½(a'g + c'a)."""
        return 0.5 * float(self.a @ self.g + self.view.c @ self.a)

    @property
    def gap(self) -> float:
        """Return the Frank-Wolfe gap a'g - Σ_k min over simplex k of g."""
        return float(self.a @ self.g - sum(self.g[m].min() for m in self.members))

    @property
    def converged(self) -> bool:
        """Return whether the relative gap is within the tolerance."""
        return relative_gap_at(self.objective, self.gap) <= self.tol

    def move(self, d: FloatArray, length: float) -> None:
        """Move to a + length·d and update the gradient, which is refreshed every 200 steps."""
        self.a = self.a + length * d
        self.steps += 1
        support = np.flatnonzero(d)
        if self.steps % _REFRESH_EVERY == 0:
            self.refresh_gradient()
        elif support.size < 0.5 * d.size:
            self.g = self.g + length * (self.Q[:, support] @ d[support])
        else:
            self.g = self.g + length * (self.Q @ d)

    def refresh_gradient(self) -> None:
        """Recompute g = Qa + c."""
        self.g = self.Q @ self.a + self.view.c


@dataclass(frozen=True)
class ProjectedGradient(Algorithm[SimplexQP, ProjectedGradientState]):
    """Projected gradients on faces: an exact step to the first bound; a bound is released where the face is stationary.

    On a face the direction is d_i = mean of ∇ over the free variables of i's simplex - ∇_i, so every simplex keeps its sum. A
    variable is free while a_i > 0, and once released (a_i = 1 is free too: else the mean in (24) of Luo et al. would be 0/0).

    **Erratum**: lines 13-22 of Algorithm 1 leave the released variable j out of the averages and set d_j = 0; the direction
    then does not sum to zero, and the point leaves the simplex, or nothing moves. Here the most violating j (the least
    ∇_j - mean, below 0) joins the free set first and means and direction are computed again.

    Parameters
    ----------
    components : int, optional
        How many components a step may change, from two to all (None). With fewer than all, a step takes from the simplex that
        violates most the variables of the smallest gradients and the positive ones of the largest, (41)-(42); with two it is
        the maximal violating pair of one simplex, and the step is that of SMO (the paper's claim; (49)-(50) omit the index
        sets).
    initial : {"uniform", "sparse"}
        Starting point: equal weights in each simplex, as printed, or one vertex of each simplex.
    """

    components: int | None = None
    initial: InitialRule = "uniform"

    info = RECORDS["pga"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.components is not None:
            object.__setattr__(self, "components", as_integer(self.components, "components", 2))

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> ProjectedGradientState:
        """Return the state at the start; the n × n matrix is materialised, within the limit of memory."""
        check_bytes(8 * view.n**2, "the dense matrix that projected-gradient algorithms work on")
        Q = view.gram.dense
        members = [np.flatnonzero(view.groups == k) for k in range(view.simplices)]
        a = starting_point(view, _RULES[self.initial], options, rng)
        tol = options.tolerance(self.info.tolerance)
        return ProjectedGradientState(view, Q, a, Q @ a + view.c, members, a > 0, tol, iteration_limit(options))

    def advance(self, state: ProjectedGradientState, seconds: float) -> Outcome:
        """Take steps for about ``seconds``; convergence is confirmed by a gradient computed afresh."""
        end = time.perf_counter() + seconds
        while True:
            if state.converged:
                state.refresh_gradient()
                if state.converged:
                    return Outcome.CONVERGED
            if state.steps >= state.limit:
                return Outcome.ITERATION_LIMIT
            if not self.take_step(state):
                return Outcome.STALLED
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def measure(self, state: ProjectedGradientState) -> ProgressState:
        """Return objective, Frank-Wolfe bound f - gap, and size of the support."""
        f = state.objective
        active = int(np.count_nonzero(state.a))
        return ProgressState(state.steps, f, f - state.gap, active=active, columns=state.view.n, step=state.step)

    def answer(self, state: ProjectedGradientState) -> Answer:
        """Return the point, scaled onto the simplices, with the multipliers of its gradient."""
        a = np.maximum(state.a, 0.0)
        for m in state.members:
            a[m] /= a[m].sum()
        return simplex_answer(state.view, a, state.Q @ a + state.view.c, {})

    def take_step(self, state: ProjectedGradientState) -> bool:
        """Take a step along the projected gradient of a face, or of a few components; return False if none descends."""
        unrestricted = self.components is None or self.components >= state.view.n
        d = _face_direction(state) if unrestricted else _few_components(state, self.components or 0)
        return d is not None and _search(state, d)


def _face_direction(state: ProjectedGradientState) -> FloatArray | None:
    """Return the projected gradient on the face of free variables; a stationary face first releases its most violating bound."""
    d, reduced = _projected(state, state.free)
    violation = float(-reduced[~state.free].min(initial=0.0))
    # stationary, relative to what a release promises: the gap is bounded by both
    if violation > 0 and np.abs(d).max(initial=0.0) <= 0.5 * violation:
        released = int(np.argmin(np.where(state.free, 0.0, reduced)))
        state.free[released] = True
        state.step = "release"
        d, _ = _projected(state, state.free)
    else:
        state.step = "face"
    return d if np.any(d) else None


def _projected(state: ProjectedGradientState, free: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return d on the free variables of every simplex, and ∇ - mean for all."""
    d, reduced = np.zeros(state.view.n), np.zeros(state.view.n)
    for m in state.members:
        f = m[free[m]]
        mean = state.g[f].mean()
        d[f] = mean - state.g[f]
        reduced[m] = state.g[m] - mean
    return d, reduced


def _few_components(state: ProjectedGradientState, k: int) -> FloatArray | None:
    """Return a direction that changes at most k components of one simplex, the one whose pair violates most."""
    g, a = state.g, state.a
    spread = [g[m[a[m] > 0]].max() - g[m].min() for m in state.members]
    m = state.members[int(np.argmax(spread))]
    if max(spread) <= 0:
        return None
    half = k // 2
    low = m[np.argsort(g[m], kind="stable")[: k - half]]
    support = m[a[m] > 0]
    high = support[np.argsort(-g[support], kind="stable")[:half]]
    chosen = np.union1d(low, high)
    while True:
        d = np.zeros(state.view.n)
        d[chosen] = g[chosen].mean() - g[chosen]
        blocked = chosen[(a[chosen] <= 0) & (d[chosen] < 0)]
        if not blocked.size:
            break
        chosen = np.setdiff1d(chosen, blocked)
    state.step = "pair" if k == 2 else "few"
    return d if np.any(d) else None


def _search(state: ProjectedGradientState, d: FloatArray) -> bool:
    """Take the exact step along d, cut at the first bound; return False if no descent is left in floating point.

    d sums to zero on every simplex and is a mean minus ∇ there, so the slope ∇'d is -d'd: without cancellation.
    """
    support = np.flatnonzero(d)
    slope = -float(d @ d)
    if slope == 0:
        return False
    block = state.Q[np.ix_(support, support)] if support.size < 64 else None
    Qd = block @ d[support] if block is not None else (state.Q @ d)[support]
    curvature = float(d[support] @ Qd)
    falling = support[d[support] < 0]
    ratios = -state.a[falling] / d[falling]
    first = int(np.argmin(ratios))
    length = min(-slope / curvature if curvature > 0 else np.inf, float(ratios[first]))
    if not length > 0:
        # a free variable of weight zero that must fall: it is at its bound
        state.free[falling[ratios <= 0]] = False
        state.steps += 1
        return True
    state.move(d, length)
    if length == ratios[first]:
        state.a[falling[first]] = 0.0
        state.free[falling[first]] = False
        state.step = "drop"
    state.a[state.a < 0] = 0.0
    return True
