"""SMO on a box with one equality, solver ``smo-box``, for the dual of the L1-SVM; `smo` runs it in working sets on one simplex.

The problem is min ½a'Qa + c'a over 0 ≤ a ≤ u, s'a = r with signs s_i = ±1; a point is a variable a_i. With the gradient
∇ = Qa + c, d = s∘∇ and K_ij = s_i s_j Q_ij a point is *up* if it can move by +s_i, *low* if it can move by -s_i; the violation of
optimality is max_low d - min_up d. A refresh recomputes ∇ in float64 from the data (`refresh_gradient`). A point *leaves* if it
is no longer active: pairs are then chosen among the active points only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...errors import InputError, short_text
from ...models.arrays import FloatArray, IntArray, SingleArray
from ...models.kernels.gram import GramOperator
from ...models.views import BoxEqualityQP, SimplexQP
from ..interface.algorithm import Algorithm, Outcome
from ..interface.named_scalars import integers_and_floats
from ..interface.numba_flags import by_reference
from ..interface.recorder import ProgressState
from ..records import Answer, Options
from . import RECORDS, box_smo_loops as loops
from .box_smo_loops import BLOCK
from .column_cache import CACHE_BYTES, ColumnCache, cache_bytes
from .common import FeasiblePoint, check_parameters, iteration_limit, load_loops, relative_gap_at

#: Numbers of the iterate: steps, the column that is missing, clock of the cache, number of active points; the objective and the
#: violation max_low d - min_up d.
_SCALARS = integers_and_floats("iteration missing clock active", "objective violation")


@by_reference
class BoxIterate(NamedTuple):
    """The current point with its gradient: arrays that the compiled loops change in place, in the order of `BoxState.order`."""

    columns: Any  #: (slots, n) cached columns of K
    slot: Any  #: (n,) slot of each column of K in ``columns``, or -1
    stamp: Any  #: (slots,) clock, a count of uses, at the last use of each slot
    diagonal: Any  #: (n,) K_ii
    short: Any  #: (n,) the diagonal in float32
    upper: Any  #: (n,) upper bounds u
    s: Any  #: (n,) signs s_i of the equality
    a: Any  #: (n,) the point
    d: Any  #: (n,) s∘∇
    rise: Any  #: (n,) 0 where the point can move by +s_i, else a huge number
    fall: Any  #: (n,) 1 where the point can move by -s_i, else 0; float32
    store: Any  #: (BLOCK,) buffer, float64
    bits: Any  #: the memory of ``store`` as int64
    slope: Any  #: (BLOCK,) buffer, float32
    slopes: Any  #: the memory of ``slope`` as int32
    gain: Any  #: (BLOCK,) buffer, float32
    gains: Any  #: the memory of ``gain`` as int32
    scalars: Any  #: the numbers, by name (`_SCALARS`)


@dataclass(eq=False)
class BoxState:
    """State of a run of `BoxSMO`."""

    view: BoxEqualityQP  #: the problem
    order: IntArray  #: (n,) the point at each place of the iterate's arrays, the active ones first
    tol: float  #: relative gap to be reached
    limit: int  #: largest number of pair steps
    cache: ColumnCache  #: columns of K, in the order of the iterate
    iterate: BoxIterate  #: current point
    epsilon: float  #: violation at which the loop is asked to stop next
    gap: float = float("inf")  #: duality gap at the last refresh
    bound: float = -float("inf")  #: best lower bound of all refreshes
    objective: float = 0.0  #: objective at the last refresh
    exact: bool = True  #: the gradient is float64 from the data
    refreshes: int = 0  #: gradients recomputed so far
    stuck: int = 0  #: refreshes in a row that did not lower the gap by a tenth
    rate: float = 1e4  #: iterations per second, as measured
    step: str = ""  #: kind of the last step
    next_shrink: int = 0  #: the iteration of the next search for points that can leave
    next_gap_check: int = 32  #: the iteration of the next check of the gap
    shrinkings: int = 0  #: times that points have left so far
    last: IntArray | None = None  #: the last working set of many points
    cached_block_streak: int = 0  #: working sets in a row that needed few new columns


def new_iterate(view: BoxEqualityQP, cache: ColumnCache, a: FloatArray, gradient: FloatArray) -> BoxIterate:
    """Return the iterate at the point a with its gradient, all points active; its columns are those of the cache."""
    diagonal = cache.gram.diagonal
    store, slope, gain = np.empty(BLOCK), np.empty(BLOCK, dtype=np.float32), np.empty(BLOCK, dtype=np.float32)
    iterate = BoxIterate(
        columns=cache.columns, slot=cache.slot, stamp=cache.stamp, diagonal=diagonal, short=diagonal.astype(np.float32),
        upper=view.upper.astype(np.float64), s=view.signs.astype(np.float64), a=a, d=view.signs * gradient,
        rise=np.zeros(view.n), fall=np.zeros(view.n, dtype=np.float32), store=store, bits=store.view(np.int64),
        slope=slope, slopes=slope.view(np.int32), gain=gain, gains=gain.view(np.int32), scalars=np.zeros(1, _SCALARS)[0],
    )  # fmt: skip
    iterate.scalars.active = view.n
    _mark_all(iterate)
    return iterate


def _mark_all(iterate: BoxIterate) -> None:
    """Mark for every point the directions in which it can move."""
    positive = iterate.s > 0
    below, above = iterate.a < iterate.upper, iterate.a > 0
    iterate.rise[:] = np.where(np.where(positive, below, above), 0.0, 1e300)
    iterate.fall[:] = np.where(positive, above, below)


def in_original_order(state: BoxState, values: FloatArray) -> FloatArray:
    """Return one of the iterate's arrays in the original order of the points."""
    result = np.empty_like(values)
    result[state.order] = values
    return result


def _measure_gap(state: BoxState, a: FloatArray, gradient: FloatArray) -> None:
    """Set objective, gap and bound for a point with its gradient, in the original order of the points."""
    state.objective = 0.5 * float(a @ (gradient + state.view.c))
    state.gap = float(a @ gradient) - state.view.minimise_linear(gradient)[0]
    state.bound = max(state.bound, state.objective - state.gap)
    state.iterate.scalars.objective = state.objective


def refresh_gradient(state: BoxState) -> None:
    """Make all points active, restore s'a = r, and recompute ∇, objective and gap in float64 from the data."""
    view, iterate = state.view, state.iterate
    a = in_original_order(state, iterate.a)
    if not state.exact:
        a = move_into_box(view, a)
        gradient = view.gram.product(a) + view.c
        iterate.a[:] = a[state.order]
        _mark_all(iterate)
        iterate.d[:] = (view.signs * gradient)[state.order]
        iterate.scalars.active = view.n
        state.next_shrink = 0
        state.exact = True
        state.refreshes += 1
    _measure_gap(state, a, in_original_order(state, iterate.d * iterate.s))


def largest_violation(state: BoxState) -> float:
    """Return max_low d - min_up d over all points; -∞ if no point can move in one of the directions."""
    iterate = state.iterate
    rising, falling = iterate.rise == 0.0, iterate.fall > 0.0
    return float(iterate.d[falling].max(initial=-np.inf) - iterate.d[rising].min(initial=np.inf))


def columns_to_load(iterate: BoxIterate, missing: int, count: int) -> IntArray:
    """Return the points whose columns to compute: the missing one and the active uncached worst violators in its direction.

    They are at most ``count`` in all.
    """
    active = int(iterate.scalars.active)
    d, free = iterate.d[:active], iterate.slot[:active] < 0
    lowest = float((d + iterate.rise[:active]).min())
    score = np.where(free & (iterate.rise[:active] == 0.0), d, np.inf)
    if d[missing] > lowest:  # it is wanted as the point that falls
        score = np.where(free & (iterate.fall[:active] > 0.0), -d, np.inf)
    score[missing] = -np.inf
    chosen = np.argpartition(score, count - 1)[:count] if count < active else np.arange(active)
    return np.asarray(chosen[score[chosen] < np.inf])


def move_into_box(view: BoxEqualityQP, start: FloatArray) -> FloatArray:
    """Return a feasible point: ``start`` clipped to the box, the heavier side of s'a = r scaled down, its free part first.

    Raise InputError for a start of another shape or with entries that are not finite.
    """
    if start.shape != (view.n,) or not np.isfinite(start).all():
        raise InputError(
            f"start[{short_text(view.label)}] must hold {view.n} finite numbers; it has shape {start.shape}", name="start"
        )
    a = np.clip(start, 0.0, view.upper)
    plus = view.signs > 0
    up, down = float(a[plus].sum()), float(a[~plus].sum()) + view.total
    if abs(up - down) <= 1e-13 * max(up, down):  # rounding; scaling would move points off their bounds
        return a
    heavy, excess = (plus, up - down) if up > down or plus.all() else (~plus, down - up)
    free = heavy & (a < view.upper)
    surplus = float(a[free].sum())
    if surplus <= 2.0 * abs(excess):
        free, surplus = heavy, float(a[heavy].sum())
    a[free] *= max(surplus - excess, 0.0) / surplus
    return a


# Working sets of many points for SMO on a box: pairs within a block, whose columns come in one product.
#
# A pair step passes over all n points; one within a block of q passes over q, and the gradient follows once for the whole block
# (as in Wen et al. 2018, ThunderSVM). It takes more pairs, as they are chosen among fewer points, and pays as long as sets need
# new columns: points on their way to a bound. The free points at the end are left to pairs chosen among all.

#: Number of working sets in a row with few new columns after which pairs among all points follow.
CACHED_SET_LIMIT = 2
#: Share of the violation at which pairs within the block stop.
_INNER = 0.1
#: Share of a set whose columns must be new for blocks to pay.
_NEW = 0.05
#: Pairs within a block, for each of its points, at most.
_PAIRS = 20


def optimise_working_set(state: BoxState, size: int, pairs: int) -> bool:
    """Take at most ``pairs`` pair steps within one working set, the ``size`` points that violate most.

    Returns
    -------
    bool
        Whether the violation over the active points is above ``state.epsilon``. If no pair step was taken, the run goes over to
        pairs among all points.
    """
    iterate, cache = state.iterate, state.cache
    chosen, iterate.scalars.violation = _working_set(state, size)
    if iterate.scalars.violation <= state.epsilon:
        return False
    iterate.scalars.clock += 1
    iterate.stamp[iterate.slot[chosen[iterate.slot[chosen] >= 0]]] = iterate.scalars.clock
    missing = chosen[iterate.slot[chosen] < 0]
    if missing.size:
        cache.load(missing, int(iterate.scalars.clock))
    state.cached_block_streak = 0 if missing.size >= _NEW * chosen.size else state.cached_block_streak + 1
    block = _block(iterate, cache, chosen)
    before = block.a.copy()
    loops.run_pairs(block, min(pairs, _PAIRS * chosen.size), max(state.epsilon, _INNER * float(iterate.scalars.violation)))
    if not block.scalars.iteration:
        state.cached_block_streak = CACHED_SET_LIMIT
        return True
    changed = np.flatnonzero(block.a != before)
    places = chosen[changed]
    iterate.a[places] = block.a[changed]
    loops.add_columns(iterate, iterate.slot[places], block.s[changed] * (block.a[changed] - before[changed]))
    loops.mark_directions(iterate, places)
    iterate.scalars.objective += block.scalars.objective
    iterate.scalars.iteration += block.scalars.iteration
    state.last, state.exact, state.step = chosen, False, "block"
    return True


def _working_set(state: BoxState, size: int) -> tuple[IntArray, float]:
    """Return the working set, half of it the worst violators in either direction, half from the last set, and the violation."""
    iterate = state.iterate
    n = int(iterate.scalars.active)
    d = iterate.d[:n]
    rising, falling = iterate.rise[:n] == 0.0, iterate.fall[:n] > 0.0
    up, down = np.where(rising, d, np.inf), np.where(falling, -d, np.inf)
    violation = -float(down.min(initial=np.inf)) - float(up.min(initial=np.inf))
    size = min(size, n)
    previous = state.last[: size // 2] if state.last is not None else np.zeros(0, np.int64)
    chosen_mask = np.zeros(n, dtype=np.bool_)
    parts = []
    half = max((size - previous.size) // 2, 1)
    chosen_mask[previous] = True
    for key in (up, down):
        key[chosen_mask] = np.inf
        first = np.argpartition(key, half - 1)[:half] if half < n else np.arange(n)
        first = first[key[first] < np.inf]
        first = first[np.argsort(key[first], kind="stable")]
        chosen_mask[first] = True
        parts.append(first)
    longest = max(part.size for part in parts)
    merged = [part[k] for k in range(longest) for part in parts if k < part.size]
    return np.concatenate([np.array(merged, dtype=np.int64), previous]), violation


def _block(iterate: BoxIterate, cache: ColumnCache, chosen: IntArray) -> BoxIterate:
    """Return the iteration restricted to the working set."""
    q = chosen.size
    if cache.single and cache.gram.has_fast_blocks:
        columns = cache.gram.single_block(chosen, chosen)
    else:
        columns = iterate.columns[np.ix_(iterate.slot[chosen], chosen)]
    scalars = np.zeros(1, _SCALARS)[0]
    scalars.active = q
    return BoxIterate(
        columns=columns,
        slot=np.arange(q), stamp=np.zeros(q, dtype=np.int64), diagonal=iterate.diagonal[chosen], short=iterate.short[chosen],
        upper=iterate.upper[chosen], s=iterate.s[chosen], a=iterate.a[chosen], d=iterate.d[chosen], rise=iterate.rise[chosen],
        fall=iterate.fall[chosen], store=iterate.store, bits=iterate.bits, slope=iterate.slope, slopes=iterate.slopes,
        gain=iterate.gain, gains=iterate.gains, scalars=scalars,
    )  # fmt: skip


# The order of the points in SMO on a box: the active ones first, and kernel columns in that order.

#: The share of the active points that must be ready to leave: moving columns about costs as much as a few steps.
_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class OrderedGram(GramOperator):
    """K_ij = s_i s_j Q_ij of a box problem, with the points in the given order."""

    view: BoxEqualityQP  #: the box problem
    order: IntArray  #: (n,) the point at each place; changed in place by `_shrink_active_set`

    @property
    def n(self) -> int:
        """Return the number of points."""
        return self.view.n

    @property
    def diagonal(self) -> FloatArray:
        """Return K_ii = Q_ii."""
        return self.view.gram.diagonal[self.order]

    @cached_property
    def _signs(self) -> SingleArray | None:
        """The signs; None where all are 1."""
        return None if (self.view.signs == 1.0).all() else self.view.signs.astype(np.float32)

    def columns(self, indices: IntArray) -> FloatArray:
        """Return columns of K, float64."""
        chosen, signs = self.order[indices], self.view.signs
        block = self.view.gram.columns(chosen) * (signs[:, None] * signs[chosen])
        return np.asarray(block[self.order])

    @property
    def has_fast_blocks(self) -> bool:
        """Return whether blocks of Q are computed from the points, without a stored matrix."""
        return self.view.gram.has_fast_blocks

    def single_block(self, rows: IntArray, columns: IntArray) -> SingleArray:
        """Return K[rows, columns], float32."""
        chosen, others, signs = self.order[rows], self.order[columns], self._signs
        block = self.view.gram.single_block(chosen, others)
        if signs is not None:
            block *= signs[others]
            block *= signs[chosen][:, None]
        return block

    def single_columns(self, indices: IntArray, out: SingleArray | None = None) -> SingleArray:
        """Return columns of K as rows, float32."""
        chosen, signs = self.order[indices], self._signs
        permutation = bool((self.order != np.arange(self.n)).any())
        block = self.view.gram.single_columns(chosen, None if permutation else out)
        if signs is not None:
            block *= signs
            block *= signs[chosen][:, None]
        if not permutation:
            return block
        return np.take(block, self.order, axis=1, out=out, mode="clip")  # other modes copy by way of a buffer


def _shrink_active_set(iterate: Any, cache: ColumnCache, order: IntArray) -> bool:
    """Move points that no violating pair can contain behind the active ones; return False if they are too few or nearly all."""
    active = int(iterate.scalars.active)
    keep = np.empty(active, dtype=np.bool_)
    leaving = loops.mark_shrinkable(iterate, keep)
    if leaving < max(1, _SHARE * active) or leaving > active - 2:
        return False
    remaining = active - leaving
    front, kept_places = np.flatnonzero(~keep[:remaining]), remaining + np.flatnonzero(keep[remaining:])
    by_variable = (iterate.diagonal, iterate.short, iterate.upper, iterate.s, iterate.a, iterate.d, iterate.rise, iterate.fall)
    for array in (order, iterate.slot, *by_variable):
        array[front], array[kept_places] = array[kept_places], array[front]
    for place in (front, kept_places):
        cached = place[iterate.slot[place] >= 0]
        cache.owner[iterate.slot[cached]] = cached
    loops.swap_entries(cache.columns, cache.used, front, kept_places)
    iterate.scalars.active = remaining
    return True


#: Fewest pairs between two searches for points that can leave the iteration.
_SHRINK_EVERY = 1000
#: Reciprocal of the share of more pairs after which the gap is checked again.
_LOOKS = 16
#: Share of the violation asked for at which the loop stops: its gradient is of float32 columns.
_AIM = 0.7


@dataclass(frozen=True)
class BoxSMO(Algorithm[BoxEqualityQP, BoxState]):
    """Sequential minimal optimisation with second-order pairs on 0 ≤ a ≤ u, s'a = r.

    The loop stops on the violation max_low d - min_up d ≤ ε; then the gradient is refreshed in float64 and the true
    gap (`BoxEqualityQP.gap`) decides, or ε falls. With ``shrinking`` points at a bound that no violating pair needs leave the
    iteration (LIBSVM's rule) until the next refresh, which sees all points. Searches for such points are at least
    `_SHRINK_EVERY` pairs and two pairs for each cached column apart, since moving a column costs about as much as two pairs.

    It begins with working sets of ``block`` points (`optimise_working_set`) and goes over to pairs among all points when these
    sets need few new columns.

    Parameters
    ----------
    cache_bytes : int
        Limit of the cache of kernel columns.
    precision : {"single", "double"}
        Precision of the cached columns.
    prefetch : int
        Columns computed at once where the cache has room: the missing one and those of the worst violators.
    shrinking : bool
        Whether points leave the iteration.
    stride : int, optional
        At most so many steps between two rows of the trace; as many as fit in the driver's budget where it is not given.
    block : int
        Points of a working set at the beginning; 2 for pairs throughout, as with a ``stride`` or a cache of fewer than two sets.
    violation : float, optional
        Stop only where max_low d - min_up d is at most this too (LIBSVM's tolerance): the gap alone may leave a few points that
        violate more.
    """

    cache_bytes: int = CACHE_BYTES
    precision: Literal["single", "double"] = "single"
    prefetch: int = 4
    shrinking: bool = True
    stride: int | None = None
    block: int = 256
    violation: float | None = None

    single_threaded_blas: ClassVar[bool] = True
    #: Parameters for which other code is compiled: `marginopt.warm_up` runs with each.
    compiled_variants: ClassVar[Sequence[Mapping[str, Any]]] = ({"precision": "double"}, {"precision": "single"})
    info = RECORDS["smo-box"]

    def load(self, view: BoxEqualityQP) -> None:
        """Load the compiled loops before the clock starts."""
        load_loops(type(self), self.precision)
        view.gram.load(single=self.precision == "single")

    def init(self, view: BoxEqualityQP, options: Options, rng: np.random.Generator) -> BoxState:
        """Return the state at a = 0, or at the user's point moved into the feasible set."""
        check_parameters(self)
        a = np.zeros(view.n)
        if options.start is not None and view.label in options.start:
            a = move_into_box(view, np.asarray(options.start[view.label], dtype=np.float64))
        gradient = view.gram.product(a) + view.c
        order = np.arange(view.n)
        gram = OrderedGram(view, order)
        cache = ColumnCache(gram, cache_bytes(self.cache_bytes, options), single=self.precision == "single")
        iterate = new_iterate(view, cache, a, gradient)
        tol, violation = options.tolerance(self.info.tolerance), 1e-2 * float(np.abs(view.c).max() or 1.0)
        if self.violation is not None:
            violation = min(violation, _AIM * self.violation)  # the run must reach this violation: no refresh before
        state = BoxState(view, order, tol, iteration_limit(options), cache, iterate, violation)
        _measure_gap(state, a, gradient)
        blocks = self.block > 2 and self.stride is None and cache.slots >= min(2 * self.block, view.n)
        state.cached_block_streak = 0 if blocks else CACHED_SET_LIMIT
        return state

    def advance(self, state: BoxState, seconds: float) -> Outcome:
        """Take pair steps for about ``seconds``."""
        scalars, end = state.iterate.scalars, time.perf_counter() + seconds
        first = int(scalars.iteration)
        stop = state.limit if self.stride is None else min(state.limit, first + self.stride)
        while True:
            self._shrink(state, int(scalars.iteration))
            if state.cached_block_streak >= CACHED_SET_LIMIT:
                outcome = self._pairs(state, min(stop, state.next_gap_check), end)
            else:
                outcome = self._block(state, stop)  # whole: a block that ends early needs its columns again
            if outcome is not Outcome.RUNNING:
                return outcome
            if scalars.iteration >= state.next_gap_check and self._gap_is_closed(state):
                return Outcome.CONVERGED
            if scalars.iteration >= state.limit:
                refresh_gradient(state)
                return Outcome.CONVERGED if relative_gap_at(state.objective, state.gap) <= state.tol else Outcome.ITERATION_LIMIT
            if scalars.iteration >= stop or (time.perf_counter() >= end and scalars.iteration > first):
                return Outcome.RUNNING

    def _gap_is_closed(self, state: BoxState) -> bool:
        """Return whether the gap is within the tolerance before the violation is, and set the next check.

        A check costs one pass over the active points, about as much as a pair. Only a gap that seems closed is worth a
        gradient in float64. If the float64 gap is not closed, because of float32 columns or of points that have left, the next
        check comes after half as many steps as have been taken.
        """
        iteration = int(state.iterate.scalars.iteration)
        state.next_gap_check = iteration + iteration // _LOOKS + 1
        if self.violation is not None:
            return False
        if relative_gap_at(float(state.iterate.scalars.objective), loops.active_gap(state.iterate)) > state.tol:
            return False
        state.next_gap_check = int(1.5 * iteration) + 1
        refresh_gradient(state)
        return relative_gap_at(state.objective, state.gap) <= state.tol

    def _block(self, state: BoxState, stop: int) -> Outcome:
        go_on = optimise_working_set(state, self.block, stop - int(state.iterate.scalars.iteration))
        return Outcome.RUNNING if go_on else self._confirm(state)

    def _pairs(self, state: BoxState, stop: int, end: float) -> Outcome:
        """Call the compiled loop once, and handle the reason for its return: a missing column, or the violation."""
        scalars, clock = state.iterate.scalars, time.perf_counter()
        before = int(scalars.iteration)
        count = int(min(stop - before, max(16.0, state.rate * max(end - clock, 0.0))))
        code = loops.run_pairs(state.iterate, count, state.epsilon)
        steps = int(scalars.iteration) - before
        if steps:
            state.exact, state.step = False, "pair"
            if steps > 64:
                state.rate = steps / max(time.perf_counter() - clock, 1e-6)
        if code == loops.COLUMN:
            self._load_columns(state, int(scalars.missing))
        elif code in (loops.RULE, loops.STUCK):
            return self._confirm(state)
        return Outcome.RUNNING

    def _shrink(self, state: BoxState, iteration: int) -> None:
        wait = max(_SHRINK_EVERY, 2 * state.cache.used)
        if not self.shrinking or state.cached_block_streak < CACHED_SET_LIMIT or iteration < max(state.next_shrink, wait):
            return
        state.shrinkings += _shrink_active_set(state.iterate, state.cache, state.order)
        state.next_shrink = iteration + wait

    def _load_columns(self, state: BoxState, missing: int) -> None:
        iterate, cache = state.iterate, state.cache
        chosen = np.array([missing])
        if self.prefetch > 1 and cache.slots - cache.used > self.prefetch:
            chosen = columns_to_load(iterate, missing, self.prefetch)
        cache.load(chosen, int(iterate.scalars.clock))

    def _confirm(self, state: BoxState) -> Outcome:
        """Refresh, and return whether the run has converged, has stalled, or continues with a smaller ε."""
        before, shrunk = state.gap, state.iterate.scalars.active < state.view.n
        refresh_gradient(state)
        gap = relative_gap_at(state.objective, state.gap)
        if gap <= state.tol and (self.violation is None or largest_violation(state) <= self.violation):
            return Outcome.CONVERGED
        state.stuck = 0 if state.gap < 0.9 * before else state.stuck + 1  # a gap that is no number stays one
        if state.stuck > 4:
            return Outcome.STALLED
        # the gap is at most ε·Σ min(a, u - a) and in practice proportional to it; points that came back may violate more than ε
        factor = 1.0 if shrunk and gap <= state.tol else float(np.clip(0.5 * state.tol / max(gap, 1e-300), 1e-2, 0.5))
        state.epsilon = max(state.epsilon * factor, 1e-16)
        return Outcome.RUNNING

    def measure(self, state: BoxState) -> ProgressState:
        """Return objective, bound (the best of all refreshes while points have left), support size, number of columns."""
        iterate, view = state.iterate, state.view
        objective, bound = float(iterate.scalars.objective), state.bound
        if iterate.scalars.active == view.n:
            gradient = in_original_order(state, iterate.d * iterate.s)
            bound = objective - (float(iterate.a @ (iterate.d * iterate.s)) - view.minimise_linear(gradient)[0])
        return ProgressState(
            iteration=int(iterate.scalars.iteration),
            objective=objective,
            bound=bound,
            active=int((iterate.a > 0).sum()),
            columns=state.cache.computed,
            step=state.step,
        )

    def answer(self, state: BoxState) -> Answer:
        """Return the point; ν of s'a = r under ``"balance"``; reduced costs ζ = ∇ - νs."""
        refresh_gradient(state)
        view, iterate = state.view, state.iterate
        gradient = in_original_order(state, iterate.d * iterate.s)
        nu = view.minimise_linear(gradient)[1]
        details = {"columns": state.cache.computed, "cache_slots": state.cache.slots, "refreshes": state.refreshes}
        details["shrinkings"] = state.shrinkings
        return Answer(
            values={view.label: in_original_order(state, iterate.a)},
            multipliers={"balance": np.array([nu])},
            reduced=gradient - nu * view.signs,
            details=details,
        )


# Pairs within working sets of many points on one simplex, where the low-rank start is not worth its rounds.
#
# One simplex is a box with one equality, Σa = 1, on which `BoxSMO` begins with working sets and lets points leave that no
# violating pair needs. The violation asked for follows the objective, which falls by orders of magnitude from a vertex on.

#: Seconds between two checks of the objective; largest violation ε at which the loop stops, as a multiple of tol·|f|, since the
#: gap is mostly a part of the violation.
_LOOK_SECONDS, _VIOLATION_SHARE = 0.02, 1.5


@dataclass(frozen=True, eq=False)
class WorkingSetRun:
    """A run of `BoxSMO` in working sets on one unit simplex, as a phase of `SMO`."""

    algorithm: BoxSMO  #: the algorithm with its parameters
    state: BoxState  #: state of its run on the simplex as a box problem

    @classmethod
    def start_at(cls, view: SimplexQP, a: FloatArray, algorithm: BoxSMO, tol: float, limit: int) -> WorkingSetRun:
        """Begin at a feasible point a of the simplex, with at most ``limit`` pair steps."""
        box = BoxEqualityQP(view.gram, view.c, np.ones(view.n), np.ones(view.n), view.label, total=1.0)
        options = Options(tol=tol, iteration_limit=limit, start={view.label: a})
        return cls(algorithm, algorithm.init(box, options, np.random.default_rng(0)))

    @property
    def pairs(self) -> int:
        """Return the number of pair steps so far."""
        return int(self.state.iterate.scalars.iteration)

    @property
    def columns(self) -> int:
        """Return the number of kernel columns computed so far."""
        return self.state.cache.computed

    def steps(self) -> Iterator[None]:
        """Run to a gap within the tolerance, to the limit, or to the end of progress in float32, and yield on the way."""
        state = self.state
        while self.algorithm.advance(state, _LOOK_SECONDS) is Outcome.RUNNING:
            state.epsilon = min(state.epsilon, _VIOLATION_SHARE * state.tol * abs(float(state.iterate.scalars.objective)))
            yield

    def point(self) -> FeasiblePoint:
        """Return the point with its gradient in float64 from the data."""
        refresh_gradient(self.state)
        iterate = self.state.iterate
        return FeasiblePoint(
            in_original_order(self.state, iterate.a), in_original_order(self.state, iterate.d * iterate.s), 0, exact=True
        )
