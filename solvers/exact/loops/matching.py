"""Largest matching in a bipartite graph given by bit sets, by augmenting paths.

The pair bounds of the exact solvers match points of opposite classes that no w of a box gives both a margin of 1 or more: one of
the two points pays its loss.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...interface.numba_flags import by_reference
from . import inner

#: Largest number of points on either side of the graph, since time and memory grow with its square.
WIDEST = 2048


@by_reference
class MatchArrays(NamedTuple):
    """Work arrays of a matching of a node's points, and of the pair bounds that build its graph and record its pairs."""

    side: Any  #: (2, n) the points of both sides, by decreasing margin
    adjacent: Any  #: (rows, words of 64 bits) bit k of row r: an edge between row r and column k
    free: Any  #: (words,) bit set of the unmatched columns
    dead: Any  #: (words,) bit set of the columns from which no augmenting path starts
    visited: Any  #: (words,) bit set of the columns that a search has visited
    column_of: Any  #: (n,) matched column of a row, or -1
    row_of: Any  #: (n,) matched row of a column
    parent: Any  #: (n,) row from which a column was visited
    queue: Any  #: (n,) rows to be searched; pair bounds use it as a buffer
    code: Any  #: (n,) sixteen-bit keys of a radix sort
    bins: Any  #: (257,) counts of one pass of that sort
    scaled: Any  #: (p, 64 words) columns times the half-widths of the box, float32
    #: (64 words,) float32: margin at the box's centre less a threshold, plus an allowance for rounding
    column_margins: Any
    column_losses: Any  #: (64 words,) float32: share of the full loss that a column's point pays in the relaxation
    row_excess: Any  #: (64 words,) float32: for each pair of the current row a number below 0 if the box excludes the pair
    points: Any  #: (n, 2) the recorded pairs
    price: Any  #: (n,) price of each pair: the weight that both points pay


def empty_match_arrays(n: int, p: int) -> MatchArrays:
    """Return uninitialised arrays for n points in p coordinates."""
    words = (min(n, WIDEST) >> 6) + 1
    i, single = np.int64, np.float32
    free, dead, visited = (np.empty(words, np.uint64) for _ in range(3))
    column_margins, column_losses, row_excess = (np.empty(64 * words, single) for _ in range(3))
    return MatchArrays(
        side=np.empty((2, n), i), adjacent=np.empty((min(n, WIDEST), words), np.uint64), free=free, dead=dead, visited=visited,
        column_of=np.empty(n, i), row_of=np.empty(n, i), parent=np.empty(n, i), queue=np.empty(n, i),
        code=np.empty(n, i), bins=np.empty(257, i),
        scaled=np.empty((p, 64 * words), single), column_margins=column_margins, column_losses=column_losses,
        row_excess=row_excess, points=np.empty((n, 2), i), price=np.empty(n),
    )  # fmt: skip


#: A de Bruijn sequence, and the position of a single set bit by the top six bits of its product with the sequence.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT_POSITION = np.zeros(64, np.int64)
for _k in range(64):
    _BIT_POSITION[((1 << _k) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _k


@inner
def _lowest_bit(x: Any) -> int:
    """Return the position of the lowest set bit, by a de Bruijn sequence."""
    return int(_BIT_POSITION[((x & (~x + np.uint64(1))) * _DE_BRUIJN) >> np.uint64(58)])


@inner
def _augment(P: MatchArrays, root: int, words: int) -> bool:
    """Match row ``root`` by an alternating path; return False, and mark the visited columns as ``dead``, if there is none."""
    free, dead, visited, row_of, column_of = P.free, P.dead, P.visited, P.row_of, P.column_of
    for q in range(words):
        visited[q] = dead[q]
    P.queue[0] = root
    head, tail = 0, 1
    while head < tail:
        r = P.queue[head]
        head += 1
        for q in range(words):
            bits = P.adjacent[r, q] & ~visited[q]
            if bits == 0:
                continue
            if bits & free[q] != 0:
                k = (q << 6) + _lowest_bit(bits & free[q])
                free[q] &= ~(np.uint64(1) << np.uint64(k & 63))
                while True:
                    previous = column_of[r]
                    column_of[r], row_of[k] = k, r
                    if r == root:
                        return True
                    k = previous
                    r = P.parent[k]
            visited[q] |= bits
            while bits != 0:
                k = (q << 6) + _lowest_bit(bits)
                bits &= bits - np.uint64(1)
                P.parent[k] = r
                P.queue[tail] = row_of[k]
                tail += 1
    for q in range(words):
        dead[q] = visited[q]
    return False


@inner
def match(P: MatchArrays, rows: Any, columns: Any, left: Any) -> None:
    """Find a largest matching of the rows and columns with positive ``left``; ``P.column_of`` is the column of each row, or -1.

    ``rows`` and ``columns`` are indices of points, ``P.adjacent`` holds the edges, ``left`` (n,) the residual weights of points.
    """
    words = (columns.size + 63) >> 6
    free, dead = P.free, P.dead
    for q in range(words):
        free[q] = dead[q] = np.uint64(0)
    for k in range(columns.size):
        bit = np.uint64(1) << np.uint64(k & 63)
        if left[columns[k]] > 0.0:
            free[k >> 6] |= bit
        else:
            dead[k >> 6] |= bit
    for r in range(rows.size):
        P.column_of[r] = -1
        if not left[rows[r]] > 0.0:
            continue
        for q in range(words):
            bits = P.adjacent[r, q] & free[q]
            if bits != 0:
                k = (q << 6) + _lowest_bit(bits)
                free[q] &= ~(np.uint64(1) << np.uint64(k & 63))
                P.column_of[r], P.row_of[k] = k, r
                break
    for r in range(rows.size):
        if P.column_of[r] >= 0 or not left[rows[r]] > 0.0:
            continue
        for q in range(words):
            if P.adjacent[r, q] & ~dead[q] != 0:
                _augment(P, r, words)
                break
