"""Frank-Wolfe methods for ½a'Qa + c'a on the unit simplex: solvers ``fw``, ``mfw``, ``pairwise-fw``, ``blended-pairwise-fw``.

Algorithms 2 and 3 of Frandi, Nanculef, Gasparo, Lodi and Sartori (2013) are ``fw`` and ``mfw``; numbers of formulas, sections
and theorems are theirs, (12) is the L2-SVM's dual (c = 0), (15) that of the minimum enclosing ball. ∇ is the gradient Qa + c. The
point is kept as a = σâ, so that a toward step changes one weight and the scale σ.

Steps run compiled (`frank_wolfe_loops`), a limited number at a time; the loop returns when it needs a column of Q that is not
cached. Before convergence is claimed the gradient is recomputed in float64 from the data.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import FloatArray, IntArray
from ...models.views import SimplexQP
from ..interface.algorithm import Outcome
from ..interface.named_scalars import integers_and_floats
from ..interface.numba_flags import by_reference
from ..interface.recorder import ProgressState
from ..records import Answer, Options
from . import RECORDS, frank_wolfe_loops as loops
from .column_cache import CACHE_BYTES, ColumnCache, cache_bytes
from .common import OneSimplexAlgorithm, check_parameters, iteration_limit, load_loops, relative_gap_at, simplex_answer
from .starting_points import StartRule, starting_point

#: Names of the kinds of step, by their numbers in `frank_wolfe_loops`.
STEP_KINDS = ("", "toward", "away", "drop", "pair")
#: Steps done, size of the support, argmin ∇, the column that is missing, kind of the last step (`STEP_KINDS`), steps by kind,
#: clock of the cache; σ, a'Qa, c'a, and the gap a'∇ - min ∇.
_SCALARS = integers_and_floats(
    "iteration active vertex missing kind towards aways drops pairs clock", "scale quadratic linear gap"
)


@by_reference
class FrankWolfeIterate(NamedTuple):
    """The current point with its gradient: arrays and numbers that the compiled loops change in place."""

    columns: Any  #: (slots, n) cached columns of Q
    slot: Any  #: (n,) slot of each column of Q in ``columns``, or -1
    stamp: Any  #: (slots,) clock, a count of uses, at the last use of each slot
    diagonal: Any  #: (n,) Q_ii
    c: Any  #: (n,) linear term
    a: Any  #: (n,) â
    h: Any  #: (n,) ĥ = Qâ
    support: Any  #: (n,) the indices with a > 0, unordered
    place: Any  #: (n,) place in ``support`` or -1
    scalars: Any  #: the numbers, by name (`_SCALARS`)


def new_iterate(view: SimplexQP, cache: ColumnCache, a: FloatArray, h: FloatArray) -> FrankWolfeIterate:
    """Return the iterate at the point a, whose product with Q is h; its columns are those of the cache."""
    n = view.n
    scalars = np.zeros(1, _SCALARS)[0]
    scalars.scale = 1.0
    iterate = FrankWolfeIterate(
        columns=cache.columns, slot=cache.slot, stamp=cache.stamp, diagonal=np.ascontiguousarray(view.gram.diagonal),
        c=np.ascontiguousarray(view.c, dtype=np.float64), a=a.copy(), h=np.ascontiguousarray(h),
        support=np.zeros(n, dtype=np.int64), place=np.full(n, -1, dtype=np.int64), scalars=scalars,
    )  # fmt: skip
    _set_support(iterate, np.flatnonzero(a > 0))
    return iterate


def _objective_at(iterate: FrankWolfeIterate) -> float:
    """Return the objective ½a'Qa + c'a of the iterate."""
    return 0.5 * float(iterate.scalars.quadratic) + float(iterate.scalars.linear)


def _gap_at_vertex(iterate: FrankWolfeIterate) -> float:
    """Return the Frank-Wolfe gap a'∇ - ∇_i of the iterate, i its ``vertex``, the least ∇_i."""
    scalars, i = iterate.scalars, int(iterate.scalars.vertex)
    return float(scalars.quadratic + scalars.linear - scalars.scale * iterate.h[i] - iterate.c[i])


@dataclass(frozen=True)
class StopRule:
    """A stopping rule: relative gap ≤ ``tol``, or γ²/r² - 1 ≤ ``delta`` for a ball of squared radius r².

    γ is the distance of the farthest point from the ball's centre (19); δ+ is γ²/r² - 1. f is the objective.
    """

    tol: float  #: largest relative gap, unless ``delta`` is positive
    delta: float = 0.0  #: 0 for the rule of the relative gap
    square: float = 0.0  #: Δ², the constant diagonal of Q: r² = Δ² - 2f; 0 for the ball's own dual

    @classmethod
    def of(cls, view: SimplexQP, kind: str, epsilon: float | None, tol: float) -> StopRule:
        """Return the rule of the parameters ``stop`` and ``epsilon``: ``"gap"``, or ``"ball"``, δ+ ≤ (1 + ε)² - 1 of (35).

        With f = ½a'Qa + c'a and the gap g = a'∇ - min ∇, γ² - r² is g for the ball's dual (Q = 2K with the points' Gram matrix K,
        c = -½ diag Q), where r² = -f, and 2g for c = 0 and a constant diagonal Δ², where r² = Δ² - 2f.

        Raises
        ------
        InputError
            Another ``kind``, an ``epsilon`` that is not positive, or ``"ball"`` on a problem that is neither.
        """
        if kind == "gap":
            return cls(tol)
        if kind != "ball":
            raise InputError(f"stop must be 'gap' or 'ball'; it is {short_text(kind)}", name="stop")
        eps = float(np.sqrt(1.0 + tol) - 1.0) if epsilon is None else epsilon
        if not eps > 0:
            raise InputError(f"epsilon must be > 0; it is {short_text(epsilon)}", name="epsilon")
        delta = (1.0 + eps) ** 2 - 1.0
        diagonal = view.gram.diagonal
        scale = np.abs(diagonal).max()
        if np.abs(view.c + 0.5 * diagonal).max() <= 1e-12 * scale:
            return cls(tol, delta, 0.0)
        if not view.c.any() and np.ptp(diagonal) <= 1e-12 * scale:
            return cls(tol, delta, float(diagonal[0]))
        raise InputError(
            "stop='ball' needs a ball: the dual of MEBDual, or a kernel of constant diagonal, FW (17); use stop='gap'",
            name="stop",
        )

    def required_gap(self, objective: float) -> float:
        """Return the largest relative gap that meets the rule at this objective; for the ball relative to |f|."""
        if self.delta > 0.0:
            return 0.5 * self.delta * max(self.square - 2.0 * objective, 0.0) / max(abs(objective), 1e-300)
        return self.tol

    def is_met(self, objective: float, gap: float) -> bool:
        """Return whether this objective and gap meet the rule."""
        if self.delta > 0.0:
            return gap <= 0.5 * self.delta * (self.square - 2.0 * objective)
        return relative_gap_at(objective, gap) <= self.tol


@dataclass(eq=False)
class FrankWolfeState:
    """State of a run of any Frank-Wolfe method."""

    view: SimplexQP  #: the problem
    rule: StopRule  #: stopping rule
    limit: int  #: largest number of steps
    cache: ColumnCache  #: columns of Q
    iterate: FrankWolfeIterate  #: current point
    sampled: SampledSteps | None  #: steps on random candidates; None where all points are candidates
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: ĥ is Qâ in float64 from the data
    refreshes: int = 0  #: gradients recomputed so far
    last_gap: float = float("inf")  #: least relative gap of the refreshes that did not end the run


def refresh_gradient(state: FrankWolfeState) -> None:
    """Recompute the iterate's product Qa in float64 from the data, and with it a'Qa, c'a and the gap."""
    iterate = state.iterate
    loops.fold_scale(iterate)
    if not state.exact:
        iterate.h[:] = state.view.gram.product(iterate.a)
        loops.fold_scale(iterate)
        state.exact = True
        state.refreshes += 1
    loops.find_vertex(iterate)
    iterate.scalars.gap = _gap_at_vertex(iterate)


def _rule_is_met(state: FrankWolfeState) -> bool:
    """Return whether the stopping rule holds at the current objective and gap."""
    return state.rule.is_met(_objective_at(state.iterate), float(state.iterate.scalars.gap))


def _confirm_convergence(state: FrankWolfeState) -> Outcome:
    """Refresh the gradient; return CONVERGED if the rule holds in float64, STALLED if refreshing does not help, else RUNNING."""
    refresh_gradient(state)
    if _rule_is_met(state):
        return Outcome.CONVERGED
    gap = relative_gap_at(_objective_at(state.iterate), float(state.iterate.scalars.gap))
    if gap == 0.0 or (state.refreshes > 3 and gap > 0.9 * state.last_gap):
        return Outcome.STALLED
    state.last_gap = min(gap, state.last_gap)
    return Outcome.RUNNING


# Sampled Frank-Wolfe steps: the vertex is the best of r random points.
#
# Section 5.2.3: of r = 59 points drawn independently the best lies among the best 5% with probability 0.95 (Theorem 1).
# One step costs r·|support| kernel values instead of n, so it pays where n is very large. Where the cache holds all columns
# Qa is kept on all points and the steps run compiled (`loops.run_sampled_steps`): a step passes over one cached column, and the
# scan of all points is left out. A sampled gap proves nothing: the stopping rule is confirmed on all points (`rescan`), at
# most so often that scanning costs no more than the steps.

#: Rows of candidates that are drawn at once.
_DRAWN = 256


@dataclass(eq=False)
class SampledSteps:
    """Steps of ``fw`` and ``mfw`` that choose the vertex among random points; the pairwise methods step as ``mfw`` does."""

    size: int  #: number of points of a sample
    rng: np.random.Generator  #: draws the samples
    rescan: bool  #: whether the stopping rule is confirmed on all points
    support: bool  #: whether the points of the support are candidates too
    scans: int = 0  #: number of scans of all points so far

    def __post_init__(self) -> None:
        self._next_scan = 0
        self._drawn, self._at = np.zeros((0, self.size), dtype=np.int64), 0

    def advance(self, state: FrankWolfeState, seconds: float, other_steps: bool, stride: int | None) -> Outcome:
        """Take steps for about ``seconds``, ``stride`` at most; the rule ends them on a full scan, or on the sample without
        ``rescan``. ``other_steps`` allows away steps.
        """
        scalars, end = state.iterate.scalars, time.perf_counter() + seconds
        stop = state.limit if stride is None else min(state.limit, int(scalars.iteration) + stride)
        while True:
            if scalars.iteration >= state.limit:
                refresh_gradient(state)
                return Outcome.CONVERGED if _rule_is_met(state) else Outcome.ITERATION_LIMIT
            if scalars.iteration >= stop:
                return Outcome.RUNNING
            cached = state.cache.slots >= state.view.n  # so that Qa is known on all points
            finished = self._compiled(state, other_steps, stop) if cached else self._step_by_step(state, other_steps)
            if finished and self._confirmed(state):
                return Outcome.CONVERGED
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _rows(self, n: int, count: int) -> IntArray:
        """Return the next rows of candidates, at most ``count``; many are drawn at a time."""
        if self._at == len(self._drawn):
            self._drawn, self._at = self.rng.integers(0, n, size=(_DRAWN, self.size)), 0
        return self._drawn[self._at : self._at + count]

    def _compiled(self, state: FrankWolfeState, other_steps: bool, stop: int) -> bool:
        """Run as many compiled steps as there are rows; return whether the stopping rule holds on a sample."""
        iterate, rule = state.iterate, state.rule
        before = int(iterate.scalars.iteration)
        rows = self._rows(state.view.n, stop - before)
        code = loops.run_sampled_steps(
            iterate, rows, self.support, other_steps, self._next_scan, rule.tol, rule.delta, rule.square
        )
        steps = int(iterate.scalars.iteration) - before
        self._at += steps
        state.exact = state.exact and not steps
        if code == loops.COLUMN:
            state.cache.load(np.array([iterate.scalars.missing]), int(iterate.scalars.clock))
        return bool(code == loops.RULE)

    def _step_by_step(self, state: FrankWolfeState, other_steps: bool) -> bool:
        """Take one step with Qa known on the support alone; return whether the rule holds on the sample, then without a step."""
        iterate = state.iterate
        if iterate.scalars.scale != 1.0:
            loops.fold_scale(iterate)
        support = iterate.support[: int(iterate.scalars.active)]
        i, value = self._candidate(state, support, self._rows(state.view.n, 1)[0])
        iterate.scalars.gap = max(float(iterate.scalars.quadratic + iterate.scalars.linear) - value, 0.0)
        if int(iterate.scalars.iteration) >= self._next_scan and _rule_is_met(state):
            return True
        self._step(state, i, value, other_steps)
        self._at += 1
        state.exact = False
        return False

    def _confirmed(self, state: FrankWolfeState) -> bool:
        """Return whether the rule holds on all points after it held on a sample; if not, the best point is the next candidate."""
        if not self.rescan:
            return True
        refresh_gradient(state)
        self.scans += 1
        scalars = state.iterate.scalars
        self._next_scan = int(scalars.iteration) + max(1, state.view.n // self.size)
        self._rows(state.view.n, 1)[0, 0] = int(scalars.vertex)
        return _rule_is_met(state)

    def _candidate(self, state: FrankWolfeState, support: IntArray, sample: IntArray) -> tuple[int, float]:
        """Return the best point of the sample (and the support), and its ∇_i."""
        iterate = state.iterate
        gradient = state.view.gram.block(sample, support) @ iterate.a[support] + iterate.c[sample]
        inside = iterate.h[support] + iterate.c[support]
        best, local_vertex = int(np.argmin(gradient)), int(np.argmin(inside))
        if not self.support or gradient[best] < inside[local_vertex]:
            iterate.h[sample[best]] = gradient[best] - iterate.c[sample[best]]
            return int(sample[best]), float(gradient[best])
        return int(support[local_vertex]), float(inside[local_vertex])

    def _step(self, state: FrankWolfeState, i: int, value: float, other_steps: bool) -> None:
        """Take a toward step, or an away step if that promises more; h is updated on the support."""
        iterate = state.iterate
        size = int(iterate.scalars.active)
        support = iterate.support[:size].copy()
        mean = float(iterate.scalars.quadratic + iterate.scalars.linear)
        inside = iterate.h[support] + iterate.c[support]
        j = int(support[np.argmax(inside)])
        if other_steps and size > 1 and float(inside.max()) - mean > mean - value:
            _move(iterate, support, j, _column(state, j, support), away=True)
        else:
            if iterate.place[i] < 0:
                support = np.append(support, i)
            _move(iterate, support, i, _column(state, i, support), away=False)
        iterate.scalars.iteration += 1


def _column(state: FrankWolfeState, k: int, support: IntArray) -> FloatArray:
    """Return column k of Q on the points where Qa is known."""
    return state.view.gram.block(np.array([k]), support)[0]


def _move(iterate: FrankWolfeIterate, support: IntArray, k: int, column: FloatArray, *, away: bool) -> None:
    """Move by the exact line search of `loops`, with h on the support alone (σ stays 1)."""
    a, h, c, scalars = iterate.a, iterate.h, iterate.c, iterate.scalars
    sign = -1.0 if away else 1.0
    slope = sign * float(scalars.quadratic + scalars.linear - h[k] - c[k])
    curvature = float(scalars.quadratic - 2.0 * h[k]) + float(iterate.diagonal[k])
    longest = float(a[k] / (1.0 - a[k])) if away else 1.0
    bounded = slope >= longest * curvature
    step = sign * (longest if bounded else slope / curvature)
    a[support] *= 1.0 - step
    a[k] += step
    h[support] = (1.0 - step) * h[support] + step * column
    kind, keep = "away" if away else "toward", support
    if bounded and away:
        a[k] = 0.0
        kind, keep = "drop", support[support != k]
    elif bounded:
        a[support] = 0.0
        a[k] = 1.0
        keep = np.array([k])
    _set_support(iterate, keep)
    a[keep] /= a[keep].sum()
    scalars.kind = STEP_KINDS.index(kind)
    scalars[f"{kind}s"] += 1
    scalars.quadratic = float(a[keep] @ h[keep])
    scalars.linear = float(a[keep] @ c[keep])


def _set_support(iterate: FrankWolfeIterate, members: IntArray) -> None:
    support, place = iterate.support, iterate.place
    place[support[: int(iterate.scalars.active)]] = -1
    support[: members.size] = members
    place[members] = np.arange(members.size)
    iterate.scalars.active = members.size


@dataclass(frozen=True)
class FrankWolfe(OneSimplexAlgorithm[FrankWolfeState]):
    """The Frank-Wolfe method (Frandi et al. 2013, Algorithm 2): exact steps toward the vertex e_i with the least ∇_i.

    The step is a + λ(e_i - a), λ = [R - (Qa)_i - c'(e_i - a)]/(R - 2(Qa)_i + Q_ii), R = a'Qa, clipped to [0, 1].
    **Erratum** (section 4.4): the step of Algorithm 2 holds for kernels of constant diagonal only; on (12) with another it
    can raise the objective. Here every step is exact, and for the ball's dual (15) it is the ½(1 - r²/γ²) in print (`StopRule`
    defines r and γ).

    Parameters
    ----------
    initial : {"random20" (or another number), "farthest", "vertex", "uniform"}
        The exact solution on 20 random points, a random point and the farthest from it, the point of least objective, or equal
        weights; ``options.start`` takes precedence.
    stop : {"gap", "ball"}
        ``"gap"``: relative duality gap ≤ ``tol``. ``"ball"``: δ+ ≤ (1 + ε)² - 1, (35): the ball of radius (1 + ε)r holds
        every point. (The result's status is judged by the relative gap: for MEBDual δ+ bounds it.)
    epsilon : float, optional
        ε of ``"ball"``; where it is not given (1 + ε)² - 1 = ``tol``.
    sampling : int, optional
        Random candidates for the vertex, 59 in the paper; all points where it is not given.
    rescan : bool
        A sampled stop is confirmed on all points, and the run goes on where it fails. False: stop like the paper; the
        certificate then shows the true gap.
    support_candidates : bool
        With ``sampling``: the support's points are candidates too, which costs nothing, since their gradients are kept. False:
        the sample alone, as section 5.2.3 has it, and ``rescan`` must be False: a sample without a point outside the ball ends
        the run, early and at random where only the few support vectors would be outside.
    away : bool
        Allow away (and pair) steps; without them every method of this family is ``fw``, iterate by iterate.
    cache_bytes : int
        Limit of the cache of kernel columns.
    precision : {"double", "single"}
        Precision of the cached columns; the gradient is refreshed in float64 before convergence is claimed in any case.
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    """

    initial: StartRule = "random20"
    stop: Literal["gap", "ball"] = "gap"
    epsilon: float | None = None
    sampling: int | None = None
    rescan: bool = True
    support_candidates: bool = True
    away: bool = True
    cache_bytes: int = CACHE_BYTES
    precision: Literal["single", "double"] = "double"
    stride: int | None = None

    #: Number of the method in `loops`.
    method: ClassVar[int] = loops.FW
    single_threaded_blas: ClassVar[bool] = True
    #: Parameters for which other code is compiled: `marginopt.warm_up` runs with each.
    compiled_variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"precision": "double"}, {"precision": "single"})
    info = RECORDS["fw"]

    def load(self, view: SimplexQP) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self), self.precision)
        view.gram.load(single=self.precision == "single")

    def init(self, view: SimplexQP, options: Options, rng: np.random.Generator) -> FrankWolfeState:
        """Return the state at the starting point, with its product with Q in float64 and an empty cache."""
        check_parameters(self)
        if self.rescan and not self.support_candidates:
            raise InputError(
                "support_candidates=False stops on samples as the paper does: give rescan=False with it", name="rescan"
            )
        rule = StopRule.of(view, self.stop, self.epsilon, options.tolerance(self.info.tolerance))
        a = starting_point(view, self.initial, options, rng)
        cache = ColumnCache(view.gram, cache_bytes(self.cache_bytes, options), single=self.precision == "single")
        iterate = new_iterate(view, cache, a, view.gram.product(a))
        loops.fold_scale(iterate)
        loops.find_vertex(iterate)
        iterate.scalars.gap = _gap_at_vertex(iterate)
        sample_size = self.sampling if self.sampling is not None and self.sampling < view.n else None
        sampled = None if sample_size is None else SampledSteps(sample_size, rng, self.rescan, self.support_candidates)
        return FrankWolfeState(view, rule, iteration_limit(options), cache, iterate, sampled)

    def advance(self, state: FrankWolfeState, seconds: float) -> Outcome:
        """Take steps for about ``seconds``, or ``stride`` of them."""
        if state.sampled is not None:
            return state.sampled.advance(state, seconds, self.allows_other_steps, self.stride)
        scalars, end = state.iterate.scalars, time.perf_counter() + seconds
        first = int(scalars.iteration)
        stop = state.limit if self.stride is None else min(state.limit, first + self.stride)
        while True:
            outcome = self._steps(state, stop, end)
            if outcome is not Outcome.RUNNING:
                return outcome
            if scalars.iteration >= state.limit:
                refresh_gradient(state)
                return Outcome.CONVERGED if _rule_is_met(state) else Outcome.ITERATION_LIMIT
            if scalars.iteration >= stop or (time.perf_counter() >= end and scalars.iteration > first):
                return Outcome.RUNNING

    def _steps(self, state: FrankWolfeState, stop: int, end: float) -> Outcome:
        """Call the compiled loop once, and handle the reason for its return: a missing column, or the stopping rule."""
        scalars, rule, clock = state.iterate.scalars, state.rule, time.perf_counter()
        before = int(scalars.iteration)
        count = int(min(stop - before, max(16, state.rate * max(end - clock, 0.0))))
        code = loops.run_steps(state.iterate, self.method, self.allows_other_steps, count, rule.tol, rule.delta, rule.square)
        steps = int(scalars.iteration) - before
        if steps:
            state.exact = False
            if steps > 64:
                state.rate = steps / max(time.perf_counter() - clock, 1e-6)
        if code == loops.COLUMN:
            state.cache.load(np.array([scalars.missing]), int(scalars.clock))
        elif code in (loops.RULE, loops.STUCK):
            return _confirm_convergence(state)
        return Outcome.RUNNING

    @property
    def allows_other_steps(self) -> bool:
        """Return whether the method may take other steps than toward steps."""
        return self.method != loops.FW and self.away

    def measure(self, state: FrankWolfeState) -> ProgressState:
        """Return objective, Frank-Wolfe bound, support size, number of columns computed, and kind of the last step."""
        scalars, f = state.iterate.scalars, _objective_at(state.iterate)
        return ProgressState(
            iteration=int(scalars.iteration),
            objective=f,
            bound=f - float(scalars.gap),
            active=int(scalars.active),
            columns=state.cache.computed,
            step=STEP_KINDS[int(scalars.kind)],
        )

    def answer(self, state: FrankWolfeState) -> Answer:
        """Return the point, refreshed in float64, with multipliers and the number of steps of each kind."""
        refresh_gradient(state)
        iterate, scalars = state.iterate, state.iterate.scalars
        steps = {kind: int(scalars[f"{kind}s"]) for kind in STEP_KINDS[1:]}
        details = {"steps": steps, "columns": state.cache.computed, "cache_slots": state.cache.slots}
        if state.sampled is not None:
            details["full_scans"] = state.sampled.scans
        return simplex_answer(state.view, iterate.a.copy(), iterate.h + iterate.c, details)


@dataclass(frozen=True)
class ModifiedFrankWolfe(FrankWolfe):
    """The modified Frank-Wolfe method (Frandi et al. 2013, Algorithm 3): a toward step, or away from a support point if better.

    Away from j, a + λ(a - e_j): λ = [(Qa)_j - R - c'(a - e_j)]/(R - 2(Qa)_j + Q_jj) with R = a'Qa, at most a_j/(1 - a_j); where
    λ is cut at that, j leaves the support (a drop). **Errata**: line 21 reads r²_{k+1} = (1+λ)r² - λ(1+λ)(1-δ-)r², (1-δ-)r² the
    squared distance of the support point j from the ball's centre (printed with δ- - 1); lines 8-9 read r_k for r_0; the text
    calls j furthest, it is nearest; "step 20" of (31) is line 18. r² is not updated by that recurrence here but follows from a'Qa
    and c'a, for any kernel. Linear convergence: Proposition 1. Parameters as `FrankWolfe`.
    """

    #: Number of the method in `loops`.
    method: ClassVar[int] = loops.MFW
    info = RECORDS["mfw"]


@dataclass(frozen=True)
class PairwiseFW(FrankWolfe):
    """Pairwise Frank-Wolfe: weight moves from the worst support point to the best vertex. Parameters as `FrankWolfe`."""

    #: Number of the method in `loops`.
    method: ClassVar[int] = loops.PAIRWISE
    info = RECORDS["pairwise-fw"]


@dataclass(frozen=True)
class BlendedPairwiseFW(FrankWolfe):
    """Blended pairwise Frank-Wolfe: pair steps inside the support while they promise more than a toward step.

    Parameters as `FrankWolfe`.
    """

    #: Number of the method in `loops`.
    method: ClassVar[int] = loops.BLENDED
    info = RECORDS["blended-pairwise-fw"]
