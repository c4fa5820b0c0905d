"""The tree: nodes by their bounds, the least first."""

from __future__ import annotations

import math

from .compiled import EPS, entry, inner
from .envelopes import classify, objective
from .events import note_cut, note_node, note_round, note_split
from .pairing import pair_up
from .records import Node, Ramp, Tree
from .relaxation import relax, shrink

__all__ = ["DONE", "FULL", "PAUSED", "ROUNDS", "explore"]

#: What `explore` ends with: no open nodes, no room, its nodes are used up, or half of the log.
DONE, FULL, PAUSED = 0, 1, 2
#: Times that a node is relaxed and shrunk. Parts of the cut and of what is missing that squares may spend of its bound.
ROUNDS, _SPEND, _OF_MISSING = 30, 1e-3, 0.1
#: A width or a gap that falls by less than this part is not worth another round, nor are squares that spend less of the gap.
_WORTH, _ENOUGH = 0.02, 0.3
#: A coordinate is split so far from its middle to the relaxation's solution.
_ASIDE = 0.2


@inner
def _coordinate(r: Ramp, k: Node, missing: float) -> int:
    """The coordinate to split: the one along which the margin of some undecided point ranges most; the widest without one.

    Where all their losses range less than what the bound is missing, boxes of thinner margins would not help: the one along which
    the norm's two points differ most.
    """
    best, most, widest, ranges = 0, 0.0, 0, 0.0
    A, costs, undecided, low, high = r.rows, r.costs, k.undecided, k.low, k.high
    for i in range(costs.size):
        if undecided[i]:
            ranges += costs[i] * r.slope * (high[i] - low[i])
    of_norm = ranges < missing and k.basis.size > r.sides.shape[0]
    for j in range(k.w.size):
        largest = abs(k.steep[j] - k.polar[j]) if of_norm else 0.0
        if not of_norm:
            for i in range(costs.size):
                if undecided[i]:
                    largest = max(largest, abs(A[j, i]))
        if largest * (k.hi[j] - k.lo[j]) > most:
            best, most = j, largest * (k.hi[j] - k.lo[j])
        if k.hi[j] - k.lo[j] > k.hi[widest] - k.lo[widest]:
            widest = j
    return best if most > 0.0 else widest


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
    """The node's bound, its box shrunk as long as that helps; better points go into the tree."""
    state, found = tree.state, tree.found
    for turn in range(ROUNDS):
        cut = state[0] * (1.0 - state[1])
        for j in range(found.size):
            k.w[j] = min(max(k.w[j], k.lo[j]), k.hi[j])
        sure = classify(r, k)
        sure = (sure + pair_up(r, k)) * (1.0 - 8.0 * EPS * (r.costs.size + 8))
        if sure >= cut:
            note_round(r, k, tree, 0.0, False)
            return sure
        spend = min(_SPEND * cut, _OF_MISSING * (cut - max(bound, sure)))
        here = relax(r, k, sure, cut, spend, False)
        note_round(r, k, tree, spend, here > -math.inf)
        if here == -math.inf:
            break
        gain = here - bound
        bound = max(bound, here)
        if bound >= cut:
            break
        if turn == 0:
            value = objective(r, k)
            if value < state[0]:
                state[0] = value
                for j in range(found.size):
                    found[j] = k.w[j]
                cut = value * (1.0 - state[1])
                note_cut(tree, cut)
        shrunk = shrink(k, cut)
        if shrunk > 1.0:
            return cut
        if shrunk < _WORTH and gain < _WORTH * (cut - bound) and spend < _ENOUGH * (cut - bound):
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
        if count[2] > tree.log.size // 2:
            return PAUSED
        node = _pop(tree)
        if keys[node] >= state[0] * (1.0 - state[1]):
            continue
        count[1] += 1
        note_node(tree, node, count[1])
        for j in range(p):
            lo[j], hi[j], k.polar[j] = boxes[node, 0, j], boxes[node, 1, j], boxes[node, 2, j]
            w[j] = found[j]
        bound = _bounded(r, k, keys[node], tree)
        if bound >= state[0] * (1.0 - state[1]):
            continue
        j = _coordinate(r, k, state[0] * (1.0 - state[1]) - bound)
        span = hi[j] - lo[j]
        if not span > 1e-13 * (1.0 + max(abs(lo[j]), abs(hi[j]))):
            state[2] = min(state[2], bound)
            continue
        at = 0.5 * (lo[j] + hi[j]) * (1.0 - _ASIDE) + _ASIDE * min(max(w[j], lo[j]), hi[j])
        note_split(tree, j, at)
        for side in range(2):
            child = heap[count[0]]
            for t in range(p):
                boxes[child, 0, t], boxes[child, 1, t], boxes[child, 2, t] = lo[t], hi[t], k.polar[t]
            boxes[child, 1 - side, j] = at
            keys[child] = bound
            tree.origin[child, 0], tree.origin[child, 1] = count[1], side
            _push(tree, child)
    return PAUSED
