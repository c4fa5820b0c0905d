"""The state of a Frank-Wolfe method between calls of its compiled loop, and its confirmation in float64."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ....models.arrays import FloatArray, IntArray
from ....models.views import SimplexQP
from ...interface.algorithm import Outcome
from ..answer import relative
from ..column_cache import ColumnCache
from . import loops
from .iteration import STEPS, Iteration, measured_gap, objective
from .stop_rule import StopRule

__all__ = ["FrankWolfeState", "Sampled", "confirm", "met", "refresh"]


@dataclass(eq=False)
class FrankWolfeState:
    """State of a run; ``work`` carries the paper's symbols."""

    view: SimplexQP
    rule: StopRule
    limit: int
    cache: ColumnCache
    work: Iteration
    sampled: Sampled | None
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: ĥ is Qâ in float64 from the data
    refreshes: int = 0
    last_gap: float = float("inf")  #: relative gap after the last refresh


def refresh(state: FrankWolfeState) -> None:
    """Recompute h = Qa in float64 from the data, and with it a'Qa, c'a and the gap."""
    work = state.work
    loops.fold(work)
    if not state.exact:
        work.h[:] = state.view.gram.product(work.a)
        loops.fold(work)
        state.exact = True
        state.refreshes += 1
    loops.scan(work)
    work.now.gap = measured_gap(work)


def met(state: FrankWolfeState) -> bool:
    """Return whether the stopping rule holds at the current numbers."""
    return state.rule.met(objective(state.work), float(state.work.now.gap))


def confirm(state: FrankWolfeState) -> Outcome:
    """After the loop says that it stopped: converged if the refreshed gap agrees, stalled if refreshing no longer helps."""
    refresh(state)
    if met(state):
        return Outcome.CONVERGED
    gap = relative(objective(state.work), float(state.work.now.gap))
    if gap == 0.0 or (state.refreshes > 3 and gap > 0.9 * state.last_gap):
        return Outcome.STALLED
    state.last_gap = min(gap, state.last_gap)
    return Outcome.RUNNING


# Sampled Frank-Wolfe steps: the vertex is the best of r random points.
#
# FW section 5.2.3: of r = 59 points drawn independently the best lies among the best 5% with probability 0.95 (Theorem 1).
# One step costs r·|support| kernel values instead of n, so it pays where n is very large. Where the cache holds all columns
# Qa is kept on all points and the steps run compiled (`loops.run_sampled`): one pass over a cached column a step, where a
# full one has the scan as well. A sampled gap proves nothing: the stopping rule is confirmed on all points (`rescan`), at
# most so often that scanning costs no more than the steps.

#: Rows of candidates that are drawn at once.
_DRAWN = 256


class Sampled:
    """Steps of FW and MFW on samples; pair methods take their toward and away steps here as MFW does."""

    def __init__(self, size: int, rng: np.random.Generator, rescan: bool, support: bool) -> None:
        self.size, self.rng, self.rescan, self.support = size, rng, rescan, support
        self.scans = 0
        self._next_scan = 0
        self._drawn, self._at = np.zeros((0, size), dtype=np.int64), 0

    def advance(self, state: FrankWolfeState, seconds: float, allowed: bool, stride: int | None) -> Outcome:
        """Steps for about ``seconds``; ends by the rule on a full scan (or on the sample without ``rescan``)."""
        now, end = state.work.now, time.perf_counter() + seconds
        stop = state.limit if stride is None else min(state.limit, int(now.iteration) + stride)
        while True:
            if now.iteration >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if met(state) else Outcome.ITERATION_LIMIT
            if now.iteration >= stop:
                return Outcome.RUNNING
            ended = self._compiled(state, allowed, stop) if _whole(state) else self._step_by_step(state, allowed)
            if ended and self._confirmed(state):
                return Outcome.CONVERGED
            if time.perf_counter() >= end:
                return Outcome.RUNNING

    def _rows(self, n: int, most: int) -> IntArray:
        """The next rows of candidates, drawn many at a time; at most so many."""
        if self._at == len(self._drawn):
            self._drawn, self._at = self.rng.integers(0, n, size=(_DRAWN, self.size)), 0
        return self._drawn[self._at : self._at + most]

    def _compiled(self, state: FrankWolfeState, allowed: bool, stop: int) -> bool:
        """Run as many compiled steps as there are rows; return whether the stopping rule holds on a sample."""
        work, rule = state.work, state.rule
        before = int(work.now.iteration)
        rows = self._rows(state.view.n, stop - before)
        code = loops.run_sampled(work, rows, self.support, allowed, self._next_scan, rule.tol, rule.delta, rule.square)
        done = int(work.now.iteration) - before
        self._at += done
        state.exact = state.exact and not done
        if code == loops.COLUMN:
            state.cache.load(np.array([work.now.missing]), int(work.now.clock))
        return bool(code == loops.RULE)

    def _step_by_step(self, state: FrankWolfeState, allowed: bool) -> bool:
        """One step with Qa on the support alone; whether the rule holds on the sample, and then no step."""
        work = state.work
        if work.now.scale != 1.0:
            loops.fold(work)
        support = work.support[: int(work.now.active)]
        i, value = self._candidate(state, support, self._rows(state.view.n, 1)[0])
        work.now.gap = max(float(work.now.quadratic + work.now.linear) - value, 0.0)
        if int(work.now.iteration) >= self._next_scan and met(state):
            return True
        self._step(state, i, value, allowed)
        self._at += 1
        state.exact = False
        return False

    def _confirmed(self, state: FrankWolfeState) -> bool:
        """After the rule holds on a sample: whether it does on all points; else the best of these is a next candidate."""
        if not self.rescan:
            return True
        refresh(state)
        self.scans += 1
        now = state.work.now
        self._next_scan = int(now.iteration) + max(1, state.view.n // self.size)
        self._rows(state.view.n, 1)[0, 0] = int(now.vertex)
        return met(state)

    def _candidate(self, state: FrankWolfeState, support: IntArray, drawn: IntArray) -> tuple[int, float]:
        """The best of the sample (and the support): index and ∇_i."""
        work = state.work
        gradient = state.view.gram.block(drawn, support) @ work.a[support] + work.c[drawn]
        inside = work.h[support] + work.c[support]
        best, near = int(np.argmin(gradient)), int(np.argmin(inside))
        if not self.support or gradient[best] < inside[near]:
            work.h[drawn[best]] = gradient[best] - work.c[drawn[best]]
            return int(drawn[best]), float(gradient[best])
        return int(support[near]), float(inside[near])

    def _step(self, state: FrankWolfeState, i: int, value: float, allowed: bool) -> None:
        """A toward step, or an away step where it promises more; h is updated on the support."""
        work = state.work
        size = int(work.now.active)
        support = work.support[:size].copy()
        mean = float(work.now.quadratic + work.now.linear)
        inside = work.h[support] + work.c[support]
        j = int(support[np.argmax(inside)])
        if allowed and size > 1 and float(inside.max()) - mean > mean - value:
            _move(work, support, j, _column(state, j, support), away=True)
        else:
            if work.place[i] < 0:
                support = np.append(support, i)
            _move(work, support, i, _column(state, i, support), away=False)
        work.now.iteration += 1


def _whole(state: FrankWolfeState) -> bool:
    """Return whether Qa is kept on all points."""
    return state.cache.slots >= state.view.n


def _column(state: FrankWolfeState, k: int, support: IntArray) -> FloatArray:
    """Column k of Q on the support, on which Qa is kept."""
    return state.view.gram.block(np.array([k]), support)[0]


def _move(work: Iteration, support: IntArray, k: int, column: FloatArray, *, away: bool) -> None:
    """The exact line search of `loops` on the support alone (σ stays 1); as is h."""
    a, h, c, now = work.a, work.h, work.c, work.now
    sign = -1.0 if away else 1.0
    slope = sign * float(now.quadratic + now.linear - h[k] - c[k])
    curvature = float(now.quadratic - 2.0 * h[k]) + float(work.diagonal[k])
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
    _set_support(work, keep)
    a[keep] /= a[keep].sum()
    now.kind = STEPS.index(kind)
    now[f"{kind}s"] += 1
    now.quadratic = float(a[keep] @ h[keep])
    now.linear = float(a[keep] @ c[keep])


def _set_support(work: Iteration, members: IntArray) -> None:
    support, place = work.support, work.place
    place[support[: int(work.now.active)]] = -1
    support[: members.size] = members
    place[members] = np.arange(members.size)
    work.now.active = members.size
