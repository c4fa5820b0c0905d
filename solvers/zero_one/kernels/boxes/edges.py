"""Which two points of opposite sides no w of a box keeps both."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import inner
from .records import WIDEST, Data, Node, Pairs, Relaxation

SINGLE_ZERO = np.float32(0.0)  # a zero of double precision would widen what it is compared to


@inner
def by_falling(key: Any, m: int, order: Any, P: Pairs) -> None:
    """Positions 0 .. m - 1 by falling key: counted by sixteen bits of t/(1 + |t|), then neighbours of equal bits exchanged.

    Comparisons alone, which a processor cannot foresee, took a fifth of the time of a node.
    """
    code, other, bins = P.code, P.row_of, P.bins
    for i in range(m):
        code[i] = np.int64(32767.0 - 32767.0 * (key[i] / (1.0 + abs(key[i]))))
    for turn in range(2):
        shift = 8 * turn
        source, target = (other, order) if turn == 1 else (order, other)
        for k in range(257):
            bins[k] = 0
        for i in range(m):
            bins[((code[i] >> shift) & 255) + 1] += 1
        for k in range(256):
            bins[k + 1] += bins[k]
        for t in range(m):
            i = t if turn == 0 else source[t]
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
def one_side(data: Data, node: Node, m: int, R: Relaxation, P: Pairs, which: int) -> tuple[int, int]:
    """Points of one side that a pair can gain from, by falling margin: from where to where in ``P.side[which]``.

    Of very many those whose margin is nearest to 1.
    """
    idx, order, u, left, env, side = node.idx, P.queue, R.u, R.left, R.env, P.side[which]
    positive = which == 1
    count = above = 0
    for t in range(m):
        i = order[t]
        if data.positive[idx[i]] == positive and left[i] > 0.0 and env[i] < 1.0:
            side[count] = i
            count += 1
            above += u[i] >= 1.0
    first = max(min(above - WIDEST // 2, count - WIDEST), 0)
    return first, min(first + WIDEST, count)


@inner
def edges(G: Any, rows: Any, columns: Any, most: Any, env: Any, half: Any, P: Pairs) -> None:
    """Bit k of ``adjacent[r]``: rows[r] and columns[k] cannot both be kept in the box, max (g_i + g_j)'w < 2, and it pays.

    ``most`` is g_i'mid - 1 with an allowance for the rounding of all that follows, which is in single precision.
    """
    p, nr, nc = half.size, rows.size, columns.size
    M, sums, envs, acc = P.scaled, P.sums, P.envs, P.acc
    words = (nc + 63) >> 6
    for k in range(nc, words << 6):
        sums[k], envs[k] = np.inf, 0.0  # with -∞ of a row not a number: no pair either
        for c in range(p):
            M[c, k] = 0.0
    for k in range(nc):
        j = columns[k]
        sums[k], envs[k] = most[j], env[j]
        for c in range(p):
            M[c, k] = G[c, j] * half[c]
    for r in range(nr):
        i = rows[r]
        base, room = np.float32(most[i]), np.float32(1.0 - env[i])
        for k in range(words << 6):
            acc[k] = base + sums[k]
        c = 0  # three coordinates in a pass: the loop waits for ``acc``, not for the arithmetic
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
            acc[k] = max(acc[k], envs[k] - room)
        for q in range(words):
            word = acc[q << 6 : (q << 6) + 64]
            bits = np.uint64(0)
            for k in range(64):
                bits |= np.uint64(word[k] < SINGLE_ZERO) << np.uint64(k)
            P.adjacent[r, q] = bits
