"""Working sets of many points for SMO on a box: pairs within a block, whose columns come in one product.

A pair step passes over all n points; one within a block of q passes over q, and the gradient follows once for the whole block
(as in Wen et al. 2018, ThunderSVM). It takes more pairs, as they are chosen among fewer points, and pays as long as sets need new
columns: points on their way to a bound. The free points at the end are left to pairs chosen among all.
"""

from __future__ import annotations

import numpy as np

from ....models.arrays import IntArray
from ...records.named_scalars import named_scalars
from . import box_loops as loops
from .box_state import SCALARS, BoxState, BoxWork

__all__ = ["CALM", "block_round"]

#: Sets in a row with few new columns after which blocks have done their work.
CALM = 2
#: Share of the violation at which pairs within the block stop.
_INNER = 0.1
#: Share of a set whose columns must be new for blocks to pay.
_NEW = 0.05
#: Pairs within a block, for each of its points, at most.
_PAIRS = 20


def block_round(state: BoxState, size: int, pairs: int) -> bool:
    """One working set: the ``size`` points that violate most; at most ``pairs`` pair steps among them.

    Returns
    -------
    bool
        Whether the violation of all is above ``state.epsilon``, and a pair was found. Where none was, blocks are over.
    """
    work, cache = state.work, state.cache
    chosen, work.now.violation = _working_set(state, size)
    if work.now.violation <= state.epsilon:
        return False
    work.now.clock += 1
    work.stamp[work.slot[chosen[work.slot[chosen] >= 0]]] = work.now.clock
    missing = chosen[work.slot[chosen] < 0]
    if missing.size:
        cache.load(missing, int(work.now.clock))
    state.cached_block_streak = 0 if missing.size >= _NEW * chosen.size else state.cached_block_streak + 1
    block = _block(work, chosen)
    before = block.a.copy()
    loops.run(block, min(pairs, _PAIRS * chosen.size), max(state.epsilon, _INNER * float(work.now.violation)))
    if not block.now.iteration:
        state.cached_block_streak = CALM
        return True
    moved = np.flatnonzero(block.a != before)
    places = chosen[moved]
    work.a[places] = block.a[moved]
    loops.add_columns(work, work.slot[places], block.s[moved] * (block.a[moved] - before[moved]))
    loops.mark(work, places)
    work.now.objective += block.now.objective
    work.now.iteration += block.now.iteration
    state.last, state.exact, state.step = chosen, False, "block"
    return True


def _working_set(state: BoxState, size: int) -> tuple[IntArray, float]:
    """Half of them those that violate most in either direction, half of the last set; and max_low d - min_up d."""
    work = state.work
    n = int(work.now.active)
    d = work.d[:n]
    rising, falling = work.rise[:n] == 0.0, work.fall[:n] > 0.0
    up, down = np.where(rising, d, np.inf), np.where(falling, -d, np.inf)
    violation = -float(down.min(initial=np.inf)) - float(up.min(initial=np.inf))
    size = min(size, n)
    kept = state.last[: size // 2] if state.last is not None else np.zeros(0, np.int64)
    taken = np.zeros(n, dtype=np.bool_)
    parts = []
    half = max((size - kept.size) // 2, 1)
    taken[kept] = True
    for key in (up, down):
        key[taken] = np.inf
        first = np.argpartition(key, half - 1)[:half] if half < n else np.arange(n)
        first = first[key[first] < np.inf]
        first = first[np.argsort(key[first], kind="stable")]
        taken[first] = True
        parts.append(first)
    longest = max(part.size for part in parts)
    merged = [part[k] for k in range(longest) for part in parts if k < part.size]
    return np.concatenate([np.array(merged, dtype=np.int64), kept]), violation


def _block(work: BoxWork, chosen: IntArray) -> BoxWork:
    """The iteration on the block alone."""
    q = chosen.size
    now = named_scalars(SCALARS)
    now.active = q
    return BoxWork(
        columns=work.columns[np.ix_(work.slot[chosen], chosen)],
        slot=np.arange(q), stamp=np.zeros(q, dtype=np.int64), diagonal=work.diagonal[chosen], short=work.short[chosen],
        upper=work.upper[chosen], s=work.s[chosen], a=work.a[chosen], d=work.d[chosen], rise=work.rise[chosen],
        fall=work.fall[chosen], store=work.store, bits=work.bits, slope=work.slope, slopes=work.slopes, gain=work.gain,
        gains=work.gains, now=now,
    )  # fmt: skip
