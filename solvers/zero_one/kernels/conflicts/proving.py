"""The nodes of a proof by norm-conflicts: steps and conflicts of each into a book."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....interface.by_reference import by_reference
from ....records.named_scalars import integers_and_floats
from ..compiled import entry, inner
from .active_set import active_set, certified
from .pricing import threshold
from .records import CONFLICT, DELETED, FREE, KEEN, KEEN_AWAY, KEPT, Active, Room, Rows, Scratch, copy_active, dot

#: `Book.now`: conflicts, those of the last packing, steps, entries.
BOOK = integers_and_floats("booked packed steps entries", "")
PACK, CUT = 0, 1
# What `prove` returns besides the point to branch on (≥ 0): the node is proved; nothing is left to branch on.
PROVED, OPEN_LEAF = -1, -2
#: Multipliers are whole numbers up to one of these where that proves enough: short to write, exact to read.
_WHOLE = (2.0**10, 2.0**20)


@by_reference
class Book(NamedTuple):
    """Conflicts and steps of one node of a proof."""

    points: Any  #: (capacity, 2p + 6)
    alpha: Any  #: multipliers α of the rows a_i'w ≥ 1, negative of points that are violated
    size: Any  #: (capacity,) points of each
    packing: Any  #: conflicts of the last packing
    share: Any  #: and their weights in it
    steps: Any  #: kind, first and last entry of each step
    entry: Any  #: conflicts of all steps
    entry_share: Any
    now: Any  #: see `BOOK`


@inner
def _whole(active: Active, q: int, reach: float, T: float, before: Any) -> float:
    """Round the multipliers to whole numbers where they still prove T; the norm then, 0 where they do not.

    ``before`` is room for them.
    """
    most = 0.0
    for k in range(q):
        most = max(most, active.u[k])
    if not most > 0.0:
        return 0.0
    for k in range(q):
        before[k] = active.u[k]
    for size in _WHOLE:
        for k in range(q):
            active.u[k] = np.rint(before[k] / most * size)
        N = certified(active, q, reach)
        if N >= T:
            return N
    for k in range(q):
        active.u[k] = before[k]
    return 0.0


@inner
def _book(rows: Rows, active: Active, T: float, exactly: bool, book: Book, scratch: Scratch) -> int:
    """Write an S-pair's conflict into the book: its number there, -1 where the book is full."""
    at = book.now.booked
    if at >= book.size.size:
        return -1
    q, m = active.count[0], 0
    whole = _whole(active, q, rows.reach, T, scratch.r) if exactly else 0.0
    for k in range(q):
        if active.u[k] <= 0.0:
            continue
        i, j = active.pair[k, 0], active.pair[k, 1]
        scale = rows.tau[i] + rows.tau[j] if j >= 0 else threshold(rows.tau[i], j)
        share = math.copysign(active.u[k], scale) if whole > 0.0 else active.u[k] / scale
        for side in range(2):
            point = active.pair[k, side]
            if point < 0:
                continue
            place = 0
            while place < m and book.points[at, place] != point:
                place += 1
            if place == m:
                book.points[at, m], book.alpha[at, m] = point, 0.0
                m += 1
            book.alpha[at, place] += share
    book.size[at] = m
    book.now.booked = at + 1
    return at


@inner
def _note(book: Book, kind: int, number: int) -> None:
    """One step: the packing in hand, or a conflict."""
    s, e = book.now.steps, book.now.entries
    book.steps[s, 0], book.steps[s, 1] = kind, e
    if kind == CUT:
        book.entry[e] = number
        e += 1
    else:
        for k in range(book.now.packed):
            book.entry[e], book.entry_share[e] = book.packing[k], book.share[k]
            e += 1
    book.steps[s, 2] = e
    book.now.steps, book.now.entries = s + 1, e


@entry
def prove(
    rows: Rows,
    exact: Rows,
    weights: Any,
    order: Any,
    activity: Any,
    room_for: Room,
    state: Any,
    extra: Any,
    kept: Active,
    book: Book,
    cut: float,
    budget: float,
) -> int:
    """Process a node of a proof: steps and conflicts into the book; the point to branch on, `PROVED` or `OPEN_LEAF`.

    With a finite ``budget`` (of deletions) solutions have ||w||² < cut; without one, deletions are paid from the cut.
    """
    n = rows.a.shape[0]
    counted = budget < np.inf
    price, away = (0.0, 0.0) if counted else (1.0, -KEEN_AWAY)
    active, pairs, ok, keen, left, points = (
        room_for.active, room_for.pairs, room_for.ok, room_for.keen, room_for.left, room_for.points,
    )  # fmt: skip
    scratch = room_for.scratch
    exactly = True
    for i in range(n):
        exactly = exactly and abs(rows.tau[i] - 1.0) < 1e-11
    most_steps = book.steps.shape[0] - 4
    while True:
        spent = 0.0
        for i in range(n):
            spent += weights[i] if state[i] == DELETED else 0.0
        room = cut if counted else cut - spent
        allowed = budget - spent if counted else room
        # paid: nothing may be left of the room; counted: one more than what is allowed
        if extra[0] > allowed or (not counted and extra[0] >= allowed):
            return PROVED
        if book.now.steps >= most_steps or book.now.entries + 4 * n > book.entry.size:
            return OPEN_LEAF
        for i in range(n):
            if counted and state[i] == FREE and weights[i] > allowed:
                state[i] = KEPT
            ok[i] = state[i] != FREE
            keen[i] = 1.0 if state[i] == FREE else KEEN if state[i] == KEPT else away
        T = room - price * extra[0]
        if active_set(rows, ok, keen, T, kept, scratch)[0] == CONFLICT:
            _note(book, CUT, _book(rows, kept, T, exactly, book, scratch))
            return PROVED
        norm = certified(kept, kept.count[0], rows.reach)
        forced = -1
        for _turn in range(1 if counted else 2):  # counted: T does not fall
            packed = 0.0
            book.now.packed = 0
            for i in range(n):
                left[i] = weights[i] if state[i] == FREE else 0.0
            done, forcing = False, -1
            while True:
                most = max(packed, extra[0])
                T = room - price * most
                if most > allowed or (not counted and most >= allowed):
                    done = True
                    break
                if norm >= T:
                    copy_active(kept, active)
                    forcing, done = _book(rows, active, T, exactly, book, scratch), True
                    break
                if book.now.booked >= book.size.size - 2:
                    break
                for i in range(n):
                    ok[i] = state[i] != FREE or left[i] > 0.0
                copy_active(kept, active)
                number = -1
                if active_set(rows, ok, keen, T, active, scratch)[0] == CONFLICT:
                    number = _book(rows, active, T, exactly, book, scratch)
                elif packed == 0.0 and exact.free:
                    pairs.count[0] = pairs.ready[0] = 0
                    for j in range(pairs.w.size):
                        pairs.w[j] = 0.0
                    if active_set(exact, ok, keen, T, pairs, room_for.exact)[0] == CONFLICT:
                        number = _book(exact, pairs, T, exactly, book, scratch)
                if number < 0:
                    break
                m, least = 0, np.inf
                for k in range(book.size[number]):
                    i = book.points[number, k]
                    if state[i] == FREE:
                        points[m] = i
                        m += 1
                        least = min(least, left[i])
                if m < 2:
                    forcing, done = number, m == 0
                    forced = points[0] if m == 1 else -1
                    break
                for k in range(m):
                    left[points[k]] -= least
                    activity[points[k]] += 1.0
                packed += least
                book.packing[book.now.packed], book.share[book.now.packed] = number, least
                book.now.packed += 1
            better = packed > extra[0]
            if better:
                _note(book, PACK, -1)
                extra[0] = packed
            if forcing >= 0:
                _note(book, CUT, forcing)
            if done:
                return PROVED
            if forced >= 0 or not better:
                break
        if forced < 0:
            break
        state[forced] = DELETED
        extra[0] = max(extra[0] - weights[forced], 0.0)
    at, top = -1, -1.0
    for i in range(n):
        if state[i] == FREE:
            short = max(rows.tau[i] - dot(rows.a[i], kept.w), 0.0) * rows.pull[i]
            score = short * activity[i] * order[i] * order[i]
            if score > top:
                at, top = i, score
    return at if at >= 0 else OPEN_LEAF
