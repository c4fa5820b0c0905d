"""What a run of SMO holds between calls of its compiled loop, and what is done with it there: points, gradients, costs."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....models.arrays import FloatArray
from ....models.views import SimplexQP
from ..column_cache import ColumnCache
from ..newton.exact import Finish

__all__ = ["FINISH_FROM", "SmoState", "make_work", "move", "newton_seconds", "next_violators", "pair_seconds", "refresh"]

#: Relative gap from which the finisher is considered, decade by decade: before, the support is not known well enough.
FINISH_FROM = 1.0


@dataclass(eq=False)
class SmoState:
    """State of a run; ``work`` is the iteration (`smo_loops.SmoWork`)."""

    view: SimplexQP
    tol: float
    limit: int
    cache: ColumnCache
    work: Any
    memory: float | None
    rate: float = 1e4  #: iterations per second, as measured
    exact: bool = True  #: the gradient is float64 from the data
    refreshes: int = 0
    target: float = 1e-3  #: gap at which the loop is asked to stop next
    last_gap: float = float("inf")
    step: str = ""
    marks: list[tuple[float, int]] = field(default_factory=list)  #: (relative gap, iteration) at every refresh or decade
    finisher: Generator[Finish | None, None, Finish] | None = None
    opening: bool = False  #: what runs as the finisher is the low-rank start
    start: str = "pairs"  #: what the run began with
    tried: float = float("inf")  #: relative gap at which the finisher was last started
    guesses: int = 0  #: of the finisher
    inexact: int = 2  #: runs that the finisher by conjugate gradients may still have
    rough: bool = False  #: the finisher that runs is that one


def move(state: SmoState, point: Finish) -> None:
    """Replace point and gradient by a finisher's."""
    from . import simplex_loops as loops

    set_point(state.work, point.a)
    state.work.g[:] = point.gradient
    state.step, state.exact = "newton", point.exact
    loops.vertices(state.work)
    loops.restore(state.work)


def newton_seconds(n: int, size: int) -> float:
    """Rough cost of the finisher: a factor of Q_SS (seldom a second one), and four products with all columns of S."""
    return 1.5 * size**3 / 3.0 / 5e10 + 4.0 * 5e-9 * n * size


def pair_seconds(state: SmoState, gap: float) -> float:
    """Rough cost of the pairs still expected: twice as many for each decade of the gap as the last decade took.

    Pairs that only bring a point in, one for each point of the support, are not counted to the first decade.
    """
    entries = int(state.work.size.sum()) if len(state.marks) == 1 else 0
    marks = [(10.0 * FINISH_FROM, min(entries, state.marks[0][1])), *state.marks]
    (before, begin), (after, now) = marks[-2], marks[-1]
    decades = max(np.log10(before / max(after, 1e-300)), 0.1)
    left = max(np.log10(gap / state.tol), 0.0)
    return float(2.0 * (now - begin) / decades * left * (2e-9 * state.view.n + 5e-6))


def make_work(view: SimplexQP, cache: ColumnCache, a: FloatArray, gradient: FloatArray) -> Any:
    """Arrays of the iteration at the point a with its gradient."""
    from . import simplex_loops as loops

    n, groups = view.n, view.simplices
    members = np.argsort(view.groups, kind="stable").astype(np.int64)
    offset = np.concatenate([[0], np.cumsum(np.bincount(view.groups, minlength=groups))]).astype(np.int64)
    work = loops.SmoWork(
        cache.columns, cache.slot, cache.stamp, np.ascontiguousarray(view.gram.diagonal),
        np.ascontiguousarray(view.c, dtype=np.float64), a.copy(), np.ascontiguousarray(gradient), view.groups.astype(np.int64),
        members, offset, np.zeros(n, dtype=np.int64), np.zeros(groups, dtype=np.int64), np.full(n, -1, dtype=np.int64),
        np.zeros(n, dtype=np.float32), np.zeros(groups, dtype=np.int64), np.zeros(4, dtype=np.int64), np.zeros(3),
    )  # fmt: skip
    set_point(work, a)
    return work


def set_point(work: Any, a: FloatArray) -> None:
    """Replace the point (not the gradient): weights and support lists."""
    work.a[:] = a
    work.place[:] = -1
    work.live[:] = a > 0
    for s in range(work.size.size):
        inside = work.members[work.offset[s] : work.offset[s + 1]]
        positive = inside[a[inside] > 0]
        first = int(work.offset[s])
        work.support[first : first + positive.size] = positive
        work.place[positive] = np.arange(first, first + positive.size)
        work.size[s] = positive.size


def refresh(state: SmoState) -> None:
    """Σa = 1 exactly in every simplex, ∇ in float64 from the data, and with it objective and gap."""
    from . import simplex_loops as loops

    work, view = state.work, state.view
    if not state.exact:
        work.a[:] /= np.bincount(view.groups, weights=work.a, minlength=view.simplices)[view.groups]
        work.g[:] = view.gram.product(work.a) + view.c
        state.exact = True
        state.refreshes += 1
    loops.vertices(work)
    loops.restore(work)


def next_violators(work: Any, missing: int, count: int) -> np.ndarray:
    """The missing index and the uncached ones with the least gradient, ``count`` in all."""
    g = np.where(work.slot < 0, work.g, np.inf)
    g[missing] = -np.inf
    lowest = np.argpartition(g, count - 1)[:count] if count < g.size else np.arange(g.size)
    return np.asarray(lowest[g[lowest] < np.inf])
