"""Sampled Frank-Wolfe steps: the vertex is the best of r random points.

FW section 5.2.3: of r = 59 random points the best lies among the best 5% with probability 0.95 (Theorem 1). One step
costs r·|support| kernel values instead of n, so it pays where n is very large. Where the cache holds all columns Qa is kept
on all points, one pass over a cached column a step: less than r·|support| look-ups as soon as |support| > n/r. A sampled gap
proves nothing: the stopping rule is confirmed on all points (`rescan`), at most so often that scanning costs no more than
the steps.
"""

from __future__ import annotations

import time

import numpy as np

from ....models.arrays import FloatArray, IntArray
from ...interface.algorithm import Outcome
from .iteration import STEPS, Iteration
from .state import FrankWolfeState, met, refresh

__all__ = ["Sampled"]


class Sampled:
    """Steps of FW and MFW on samples; pair methods take their toward and away steps here as MFW does."""

    def __init__(self, size: int, rng: np.random.Generator, rescan: bool) -> None:
        self.size, self.rng, self.rescan = size, rng, rescan
        self.scans = 0
        self._next_scan = 0

    def advance(self, state: FrankWolfeState, seconds: float, allowed: bool, stride: int | None) -> Outcome:
        """Steps for about ``seconds``; ends by the rule on a full scan (or on the sample without ``rescan``)."""
        work, end, quota = state.work, time.perf_counter() + seconds, stride
        while True:
            support = work.support[: int(work.now.active)]
            i, value = self._candidate(state, support)
            gap = float(work.now.quadratic + work.now.linear) - value
            work.now.gap = max(gap, 0.0)
            iteration = int(work.now.iteration)
            if met(state):
                if not self.rescan:
                    return Outcome.CONVERGED
                if iteration >= self._next_scan:
                    refresh(state)
                    self.scans += 1
                    if met(state):
                        return Outcome.CONVERGED
                    i = int(work.now.vertex)
                    value = float(work.h[i] + work.c[i])
                    self._next_scan = iteration + state.view.n // self.size
            if iteration >= state.limit:
                refresh(state)
                return Outcome.CONVERGED if met(state) else Outcome.ITERATION_LIMIT
            self._step(state, i, value, allowed)
            state.exact = False
            if quota is not None:
                quota -= 1
            if time.perf_counter() >= end or quota == 0:
                return Outcome.RUNNING

    def _candidate(self, state: FrankWolfeState, support: IntArray) -> tuple[int, float]:
        """The best of the sample and the support: index and ∇_i."""
        work = state.work
        drawn = self.rng.choice(state.view.n, size=self.size, replace=False)
        if _whole(state):
            gradient = work.h[drawn] + work.c[drawn]
        else:
            gradient = state.view.gram.block(drawn, support) @ work.a[support] + work.c[drawn]
        inside = work.h[support] + work.c[support]
        best, near = int(np.argmin(gradient)), int(np.argmin(inside))
        if gradient[best] < inside[near]:
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
            _move(work, support, j, *_column(state, j, support), away=True)
        else:
            if work.place[i] < 0:
                support = np.append(support, i)
            _move(work, support, i, *_column(state, i, support), away=False)
        work.now.iteration += 1


def _whole(state: FrankWolfeState) -> bool:
    """Whether Qa is kept on all points."""
    return state.cache.slots >= state.view.n


def _column(state: FrankWolfeState, k: int, support: IntArray) -> tuple[FloatArray, IntArray | slice]:
    """Column k of Q on the points on which Qa is kept, and these."""
    if not _whole(state):
        return state.view.gram.block(np.array([k]), support)[0], support
    cache = state.cache
    if cache.slot[k] < 0:
        cache.load(np.array([k]), 0)
    return cache.columns[cache.slot[k]], slice(None)


def _move(work: Iteration, support: IntArray, k: int, column: FloatArray, among: IntArray | slice, *, away: bool) -> None:
    """The exact line search of `loops` on the support alone (σ stays 1); h is updated ``among`` the column's points."""
    a, h, c, now = work.a, work.h, work.c, work.now
    sign = -1.0 if away else 1.0
    slope = sign * float(now.quadratic + now.linear - h[k] - c[k])
    curvature = float(now.quadratic - 2.0 * h[k]) + float(work.diagonal[k])
    longest = float(a[k] / (1.0 - a[k])) if away else 1.0
    bounded = slope >= longest * curvature
    step = sign * (longest if bounded else slope / curvature)
    a[support] *= 1.0 - step
    a[k] += step
    h[among] = (1.0 - step) * h[among] + step * column
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
