"""The state of SMO on a box between calls of its compiled loop, and the work on it there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....errors import InputError
from ....models.arrays import FloatArray, IntArray
from ....models.views import BoxEqualityQP
from ...interface.by_reference import by_reference
from ...records.named_scalars import integers_and_floats, named_scalars
from ..column_cache import ColumnCache
from .box_loops import BLOCK

__all__ = [
    "SCALARS",
    "BoxState",
    "BoxWork",
    "into_box",
    "make_work",
    "measure_gap",
    "next_violators",
    "refresh",
    "restored",
    "violation",
]

#: Numbers of the iteration: steps, the column that is missing, clock of the cache, points that take part; the objective and the
#: violation max_low d - min_up d.
SCALARS = integers_and_floats("iteration missing clock active", "objective violation")


@by_reference
class BoxWork(NamedTuple):
    """The iteration: arrays and numbers that compiled code changes in place; the points stand in the order of `BoxState`."""

    columns: Any  #: (slots, n) of K
    slot: Any  #: (n,)
    stamp: Any  #: (slots,)
    diagonal: Any  #: (n,)
    short: Any  #: (n,) the diagonal in float32
    upper: Any  #: (n,)
    s: Any  #: (n,)
    a: Any  #: (n,)
    d: Any  #: (n,) s∘∇
    rise: Any  #: (n,) 0 where the point can move by +s_i, else a huge number
    fall: Any  #: (n,) 1 where the point can move by -s_i, else 0; float32
    store: Any  #: room for a block, and the same bits as whole numbers
    bits: Any
    slope: Any  #: room for a block, float32, and the same bits as whole numbers
    slopes: Any
    gain: Any
    gains: Any
    now: Any  #: the numbers, by name (`SCALARS`)


@dataclass(eq=False)
class BoxState:
    """State of a run; the arrays of ``work`` stand in the order ``order``."""

    view: BoxEqualityQP
    order: IntArray
    tol: float
    limit: int
    cache: ColumnCache
    work: BoxWork
    epsilon: float  #: violation at which the loop is asked to stop next
    gap: float = float("inf")  #: at the last refresh
    bound: float = -float("inf")  #: the best of all refreshes
    objective: float = 0.0
    exact: bool = True  #: the gradient is float64 from the data
    refreshes: int = 0
    stuck: int = 0  #: refreshes in a row that found the gap no smaller
    rate: float = 1e4  #: iterations per second, as measured
    step: str = ""
    next_shrink: int = 0  #: the iteration of the next look
    shrinkings: int = 0
    last: IntArray | None = None  #: the last working set of many points
    cached_block_streak: int = 0  #: such sets in a row that needed few new columns


def make_work(view: BoxEqualityQP, cache: ColumnCache, a: FloatArray, gradient: FloatArray) -> BoxWork:
    """The iteration at the point a with its gradient, every point taking part."""
    diagonal = cache.gram.diagonal
    store, slope, gain = np.empty(BLOCK), np.empty(BLOCK, dtype=np.float32), np.empty(BLOCK, dtype=np.float32)
    work = BoxWork(
        columns=cache.columns,
        slot=cache.slot,
        stamp=cache.stamp,
        diagonal=diagonal,
        short=diagonal.astype(np.float32),
        upper=view.upper.astype(np.float64),
        s=view.signs.astype(np.float64),
        a=a,
        d=view.signs * gradient,
        rise=np.zeros(view.n),
        fall=np.zeros(view.n, dtype=np.float32),
        store=store,
        bits=store.view(np.int64),
        slope=slope,
        slopes=slope.view(np.int32),
        gain=gain,
        gains=gain.view(np.int32),
        now=named_scalars(SCALARS),
    )
    work.now.active = view.n
    _mark_all(work)
    return work


def _mark_all(work: BoxWork) -> None:
    """Note in which directions every point can move."""
    positive = work.s > 0
    below, above = work.a < work.upper, work.a > 0
    work.rise[:] = np.where(np.where(positive, below, above), 0.0, 1e300)
    work.fall[:] = np.where(positive, above, below)


def restored(state: BoxState, values: FloatArray) -> FloatArray:
    """Numbers of the iteration's order in the order of the points."""
    result = np.empty_like(values)
    result[state.order] = values
    return result


def measure_gap(state: BoxState, a: FloatArray, gradient: FloatArray) -> None:
    """Objective, gap and bound at a point with its gradient, in the order of the points."""
    state.objective = 0.5 * float(a @ (gradient + state.view.c))
    state.gap = float(a @ gradient) - state.view.level(gradient)[0]
    state.bound = max(state.bound, state.objective - state.gap)
    state.work.now.objective = state.objective


def refresh(state: BoxState) -> None:
    """All points active, s'a = 0 to rounding, ∇ in float64 from the data, and with it objective and gap."""
    view, work = state.view, state.work
    a = restored(state, work.a)
    if not state.exact:
        a = into_box(view, a)
        gradient = view.gram.product(a) + view.c
        work.a[:] = a[state.order]
        _mark_all(work)
        work.d[:] = (view.signs * gradient)[state.order]
        work.now.active = view.n
        state.next_shrink = 0
        state.exact = True
        state.refreshes += 1
    measure_gap(state, a, restored(state, work.d * work.s))


def violation(state: BoxState) -> float:
    """max_low d - min_up d over all points; -∞ where nothing can move one way."""
    work = state.work
    rising, falling = work.rise == 0.0, work.fall > 0.0
    return float(work.d[falling].max(initial=-np.inf) - work.d[rising].min(initial=np.inf))


def next_violators(work: BoxWork, missing: int, count: int) -> IntArray:
    """The missing place and active ones not cached that violate most in the same direction, ``count`` in all at most."""
    active = int(work.now.active)
    d, free = work.d[:active], work.slot[:active] < 0
    lowest = float((d + work.rise[:active]).min())
    score = np.where(free & (work.rise[:active] == 0.0), d, np.inf)
    if d[missing] > lowest:  # it is wanted as the point that falls
        score = np.where(free & (work.fall[:active] > 0.0), -d, np.inf)
    score[missing] = -np.inf
    chosen = np.argpartition(score, count - 1)[:count] if count < active else np.arange(active)
    return np.asarray(chosen[score[chosen] < np.inf])


def into_box(view: BoxEqualityQP, given: FloatArray) -> FloatArray:
    """A point clipped to the box, with the heavier side of s'a = 0 scaled down: its free part where that is enough.

    Raises
    ------
    InputError
        Wrong shape or not finite.
    """
    if given.shape != (view.n,) or not np.isfinite(given).all():
        raise InputError(f"start[{view.label!r}] must hold {view.n} finite numbers; it has shape {given.shape}")
    a = np.clip(given, 0.0, view.upper)
    plus = view.signs > 0
    up, down = float(a[plus].sum()), float(a[~plus].sum())
    if abs(up - down) <= 1e-13 * max(up, down):  # rounding; scaling would move points off their bounds
        return a
    heavy = plus if up > down else ~plus
    free = heavy & (a < view.upper)
    spare = float(a[free].sum())
    if spare <= 2.0 * abs(up - down):
        free, spare = heavy, max(up, down)
    a[free] *= max(spare - abs(up - down), 0.0) / spare
    return a
