"""The tree: nodes by their bounds, the least first."""

from __future__ import annotations

import numpy as np

from .compiled import entry, inner
from .envelopes import dual_bound, envelopes, loss, objective, tightened
from .hinge import FINE, solve_hinge
from .records import Node, Ramp, Tree

__all__ = ["DONE", "FULL", "PAUSED", "explore"]

#: What `explore` ends with: no open nodes, no room, its nodes are used up.
DONE, FULL, PAUSED = 0, 1, 2
#: Times that a node's box is tightened by its ball.
_ROUNDS = 6
#: Smoothings of a node; those of `FINE` where its bound is within this part of what closes it.
_ROUGH, _NEAR = 4, 1e-2


@inner
def _coordinate(r: Ramp, k: Node) -> int:
    """The coordinate whose width has the largest share in the gaps between ramps and envelopes at w; the widest without gaps."""
    n, p = r.A.shape
    for j in range(p):
        k.score[j] = 0.0
    for i in range(n):
        u, total = 0.0, 0.0
        for j in range(p):
            u += r.A[i, j] * k.w[j]
            k.spread[j] = abs(r.A[i, j]) * (k.hi[j] - k.lo[j])
            total += k.spread[j]
        under = k.lines[i, 0] - k.lines[i, 1] * u if k.lines[i, 1] > 0.0 else k.slopes[i] * max(1.0 - u, 0.0)
        gap = r.costs[i] * loss(u, r.height, r.width) - under
        if (k.slopes[i] > 0.0 or k.lines[i, 1] > 0.0) and gap > 0.0 and total > 0.0:
            for j in range(p):
                k.score[j] += gap * k.spread[j] / total
    most, widest = 0, 0
    for j in range(1, p):
        if k.score[j] > k.score[most]:
            most = j
        if k.hi[j] - k.lo[j] > k.hi[widest] - k.lo[widest]:
            widest = j
    return most if k.score[most] > 0.0 else widest


@inner
def _push(tree: Tree, node: int) -> None:
    """A binary heap's push, least key first."""
    heap, keys, k = tree.heap, tree.keys, tree.count[0]
    while k > 0:
        parent = (k - 1) // 2
        if keys[heap[parent]] <= keys[node]:
            break
        heap[k] = heap[parent]
        k = parent
    heap[k] = node
    tree.count[0] += 1


@inner
def _pop(tree: Tree) -> int:
    """Its pop; the node's place is free again."""
    heap, keys, k, size = tree.heap, tree.keys, 0, tree.count[0] - 1
    first, last = heap[0], heap[size]
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
    heap[size] = first
    tree.count[0] = size
    return int(first)


@inner
def _bounded(r: Ramp, k: Node, bound: float, tree: Tree) -> float:
    """The node's bound, its box tightened by its ball as long as that helps; better points go into the tree."""
    state, found = tree.state, tree.found
    cut = state[0] * (1.0 - state[1])
    for _ in range(_ROUNDS):
        constant = envelopes(r, k)
        solve_hinge(r, k, _ROUGH)
        here = dual_bound(r, k, constant)
        if cut - _NEAR * abs(cut) < here < cut:  # smoothing may be what is missing
            solve_hinge(r, k, FINE)
            here = dual_bound(r, k, constant)
        bound = max(bound, here)
        value = objective(r, k.w)
        if value < state[0]:
            state[0] = value
            for j in range(found.size):
                found[j] = k.w[j]
            cut = value * (1.0 - state[1])
        if bound >= cut or not tightened(r, k, cut - here):
            break
    return bound


@entry
def explore(r: Ramp, k: Node, tree: Tree, nodes: int) -> int:
    """Work on up to ``nodes`` nodes, least bound first; ``k`` is room for one."""
    boxes, keys, heap, count, state, found = tree.boxes, tree.keys, tree.heap, tree.count, tree.state, tree.found
    lo, hi, w, p = k.lo, k.hi, k.w, tree.found.size
    for _ in range(nodes):
        if count[0] == 0:
            return DONE
        if count[0] + 2 >= heap.size:
            return FULL
        node = _pop(tree)
        if keys[node] >= state[0] * (1.0 - state[1]):
            continue
        count[1] += 1
        for j in range(p):
            lo[j], hi[j] = boxes[node, 0, j], boxes[node, 1, j]
            w[j] = min(max(found[j], lo[j]), hi[j])
        for i in range(k.floor.size):
            k.floor[i] = -np.inf
        bound = _bounded(r, k, keys[node], tree)
        if bound >= state[0] * (1.0 - state[1]):
            continue
        j = _coordinate(r, k)
        span = hi[j] - lo[j]
        if not span > 1e-13 * (1.0 + max(abs(lo[j]), abs(hi[j]))):
            state[2] = min(state[2], bound)
            continue
        split = min(max(0.5 * (w[j] + 0.5 * (lo[j] + hi[j])), lo[j] + 0.2 * span), hi[j] - 0.2 * span)
        for side in range(2):
            child = heap[count[0]]
            for t in range(p):
                boxes[child, 0, t], boxes[child, 1, t] = lo[t], hi[t]
            boxes[child, 1 - side, j] = split
            keys[child] = bound
            _push(tree, child)
    return PAUSED
