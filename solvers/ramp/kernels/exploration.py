"""The tree: nodes by their bounds, the least first."""

from __future__ import annotations

import numpy as np

from ....models.arrays import BoolArray, FloatArray, IntArray
from .compiled import entry, inner
from .envelopes import dual_bound, envelopes, loss, objective, tightened
from .hinge import FINE, solve_hinge

__all__ = ["DONE", "FULL", "PAUSED", "explore"]

#: What `explore` ends with: no open nodes, no room, its nodes are used up.
DONE, FULL, PAUSED = 0, 1, 2
#: Times that a node's box is tightened by its ball.
_ROUNDS = 6
#: Smoothings of a node; those of `FINE` where its bound is within this part of what closes it.
_ROUGH, _NEAR = 4, 1e-2


@inner
def _coordinate(
    A: FloatArray, costs: FloatArray, height: float, width: float, slopes: FloatArray, lines: FloatArray, lo: FloatArray,
    hi: FloatArray, w: FloatArray,
) -> int:
    """The coordinate whose width has the largest share in the gaps between ramps and envelopes at w; the widest without gaps."""
    n, p = A.shape
    score, spread = np.zeros(p), np.empty(p)
    for i in range(n):
        u, total = 0.0, 0.0
        for j in range(p):
            u += A[i, j] * w[j]
            spread[j] = abs(A[i, j]) * (hi[j] - lo[j])
            total += spread[j]
        under = lines[i, 0] - lines[i, 1] * u if lines[i, 1] > 0.0 else slopes[i] * max(1.0 - u, 0.0)
        gap = costs[i] * loss(u, height, width) - under
        if (slopes[i] > 0.0 or lines[i, 1] > 0.0) and gap > 0.0 and total > 0.0:
            for j in range(p):
                score[j] += gap * spread[j] / total
    j = int(np.argmax(score))
    return j if score[j] > 0.0 else int(np.argmax(hi - lo))


@inner
def _push(heap: IntArray, keys: FloatArray, count: int, node: int) -> None:
    """A binary heap's push, least key first; ``count`` nodes are there."""
    k = count
    while k > 0:
        parent = (k - 1) // 2
        if keys[heap[parent]] <= keys[node]:
            break
        heap[k] = heap[parent]
        k = parent
    heap[k] = node


@inner
def _pop(heap: IntArray, keys: FloatArray, count: int) -> int:
    """Its pop."""
    first, last = heap[0], heap[count - 1]
    k, size = 0, count - 1
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[last] <= keys[heap[child]]:
            break
        heap[k] = heap[child]
        k = child
    if size > 0:
        heap[k] = last
    return int(first)


@entry
def explore(
    A: FloatArray, costs: FloatArray, penalised: BoolArray, ramp: FloatArray, boxes: FloatArray, keys: FloatArray, heap: IntArray,
    count: IntArray, state: FloatArray, found: FloatArray, nodes: int,
) -> int:
    """Work on up to ``nodes`` nodes, least bound first.

    Parameters
    ----------
    A, costs, penalised, ramp
        The problem; ``ramp`` is (height, width).
    boxes : ndarray (room, 2, p)
    keys : ndarray (room,)
        Bounds of the nodes' parents.
    heap, count : ndarray of int
        Open nodes; how many, the free places behind them in ``heap``, and the nodes so far.
    state : ndarray (3,)
        The objective to beat, the part of it that may be left, the least bound of nodes that could not be branched on.
    found : ndarray (p,)
        The incumbent.
    """
    n, p = A.shape
    height, width = ramp[0], ramp[1]
    slopes, alpha, q, floor = np.empty(n), np.empty(n), np.empty(p), np.empty(n)
    lo, hi, w, best, lines = np.empty(p), np.empty(p), np.empty(p), np.empty(p), np.empty((n, 2))
    for _ in range(nodes):
        if count[0] == 0:
            return DONE
        if count[0] + 2 >= heap.size:
            return FULL
        node = _pop(heap, keys, count[0])
        count[0] -= 1
        heap[count[0]] = node  # its place is free again
        cut = state[0] * (1.0 - state[1])
        bound = keys[node]
        if bound >= cut:
            continue
        count[1] += 1
        lo[:], hi[:] = boxes[node, 0], boxes[node, 1]
        floor[:] = -np.inf
        for j in range(p):
            w[j] = min(max(found[j], lo[j]), hi[j])
        for _ in range(_ROUNDS):
            constant = envelopes(A, costs, height, width, lo, hi, floor, slopes, lines, q)
            solve_hinge(A, slopes, q, penalised, lo, hi, w, alpha, _ROUGH)
            here = dual_bound(A, alpha, q, constant, penalised, lo, hi, best)
            if cut - _NEAR * abs(cut) < here < cut:  # smoothing may be what is missing
                solve_hinge(A, slopes, q, penalised, lo, hi, w, alpha, FINE)
                here = dual_bound(A, alpha, q, constant, penalised, lo, hi, best)
            bound = max(bound, here)
            value = objective(A, costs, penalised, height, width, w)
            if value < state[0]:
                state[0] = value
                found[:] = w
                cut = value * (1.0 - state[1])
            if bound >= cut:
                break
            if not tightened(A, penalised, cut - here, best, lo, hi, floor):
                break
        if bound >= cut:
            continue
        j = _coordinate(A, costs, height, width, slopes, lines, lo, hi, w)
        span = hi[j] - lo[j]
        if not span > 1e-13 * (1.0 + max(abs(lo[j]), abs(hi[j]))):
            state[2] = min(state[2], bound)
            continue
        split = min(max(0.5 * (w[j] + 0.5 * (lo[j] + hi[j])), lo[j] + 0.2 * span), hi[j] - 0.2 * span)
        for side in range(2):
            child = int(heap[count[0]])
            boxes[child, 0], boxes[child, 1] = lo, hi
            boxes[child, 1 - side, j] = split
            keys[child] = bound
            _push(heap, keys, count[0], child)
            count[0] += 1
    return PAUSED
