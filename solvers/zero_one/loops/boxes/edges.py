"""The bipartite graph of pairs of points of opposite sides that no w of a box keeps both."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....exact.loops.matching import WIDEST, Pairs
from ....exact.loops.newton import Relaxation
from ..compiled import inner
from .records import BoxData, BoxNode

SINGLE_ZERO = np.float32(0.0)  # a double-precision zero would widen the comparison


@inner
def by_falling(key: Any, m: int, order: Any, P: Pairs) -> None:
    """Sort positions 0 .. m - 1 by decreasing key into ``order``.

    A radix sort by sixteen bits of t/(1 + |t|), which avoids unpredictable branches, is followed by an insertion sort of
    neighbours with equal bits.
    """
    code, other, bins = P.code, P.row_of, P.bins
    for i in range(m):
        code[i] = np.int64(32767.0 - 32767.0 * (key[i] / (1.0 + abs(key[i]))))
    for digit in range(2):
        shift = 8 * digit
        source, target = (other, order) if digit == 1 else (order, other)
        for k in range(257):
            bins[k] = 0
        for i in range(m):
            bins[((code[i] >> shift) & 255) + 1] += 1
        for k in range(256):
            bins[k + 1] += bins[k]
        for t in range(m):
            i = t if digit == 0 else source[t]
            k = (code[i] >> shift) & 255
            target[bins[k]] = i
            bins[k] += 1
    for t in range(1, m):
        item = order[t]
        k = t
        while k > 0 and key[order[k - 1]] < key[item]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = item


@inner
def one_side(data: BoxData, node: BoxNode, m: int, R: Relaxation, P: Pairs, which: int) -> tuple[int, int]:
    """Write the points of one side that a pair can gain from, by decreasing margin, and return the range to use.

    The range of ``P.side[which]`` has at most `WIDEST` points, those with margins nearest to 1.
    """
    idx, order, u, residual, env, side = node.idx, P.queue, R.u, R.left, R.env, P.side[which]
    positive = which == 1
    count = above = 0
    for t in range(m):
        i = order[t]
        if data.positive[idx[i]] == positive and residual[i] > 0.0 and env[i] < 1.0:
            side[count] = i
            count += 1
            above += u[i] >= 1.0
    first = max(min(above - WIDEST // 2, count - WIDEST), 0)
    return first, min(first + WIDEST, count)


@inner
def edges(G: Any, rows: Any, columns: Any, most: Any, env: Any, half: Any, P: Pairs) -> None:
    """Set bit k of ``adjacent[r]`` if rows[r] and columns[k] are a useful pair that the box excludes: max (g_i + g_j)'w < 2.

    ``most`` is g_i'mid - 1 plus an allowance for the rounding of all later operations, which are in single precision.
    """
    p, nr, nc = half.size, rows.size, columns.size
    M, sums, envs, acc = P.scaled, P.sums, P.envs, P.acc
    words = (nc + 63) >> 6
    for k in range(nc, words << 6):
        sums[k], envs[k] = np.inf, 0.0  # NaN together with -∞ of a row, which is no pair either
        for c in range(p):
            M[c, k] = 0.0
    for k in range(nc):
        j = columns[k]
        sums[k], envs[k] = most[j], env[j]
        for c in range(p):
            M[c, k] = G[c, j] * half[c]
    for r in range(nr):
        i = rows[r]
        base, slack = np.float32(most[i]), np.float32(1.0 - env[i])
        for k in range(words << 6):
            acc[k] = base + sums[k]
        c = 0  # three coordinates per pass, since memory access to ``acc`` dominates
        while c + 2 < p:
            x, y, z = np.float32(G[c, i] * half[c]), np.float32(G[c + 1, i] * half[c + 1]), np.float32(G[c + 2, i] * half[c + 2])
            for k in range(words << 6):
                acc[k] += abs(x + M[c, k]) + abs(y + M[c + 1, k]) + abs(z + M[c + 2, k])
            c += 3
        while c < p:
            x = np.float32(G[c, i] * half[c])
            for k in range(words << 6):
                acc[k] += abs(x + M[c, k])
            c += 1
        for k in range(words << 6):
            acc[k] = max(acc[k], envs[k] - slack)
        for q in range(words):
            word = acc[q << 6 : (q << 6) + 64]
            bits = np.uint64(0)
            for k in range(64):
                bits |= np.uint64(word[k] < SINGLE_ZERO) << np.uint64(k)
            P.adjacent[r, q] = bits
