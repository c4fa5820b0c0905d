"""Compiled depth-first branch and bound of `supports-bb` over the integer coefficients, below one node of the search.

A scoring *system* is a vector of coefficients ρ with an intercept. A call bounds a given number of nodes, in arrays that Python
keeps between calls. A node is a box of ρ, some coefficients of which are marked as not 0 (``forced``). The others whose range
holds 0 and more are undecided, and ``needs_feature`` says that some undecided coefficient is not 0. Nodes are split in three
ways.

- *By support* (`SUPPORT`, only with ``needs_feature``): the system uses j (ρ_j is not 0) and no other undecided coefficient; or j
  and another one; or not j but another one. Without ``needs_feature`` (`BEGIN`): no undecided coefficient; or some.
- *By sign* (`SIGN`): ρ_j = 0 (where it may be), ρ_j ≥ 1, ρ_j ≤ -1.
- *In halves* (`HALVES`): ρ_j ≤ h, ρ_j > h.

Each child's number is the next free one, in this order. Every split is recorded in ``splits`` for the proof log. In the loops
``data`` is a `ScoringData`, k a `NodeStack`, and ``cut`` the bound, in units of cost, from which on nodes are closed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..interface.named_scalars import integers_and_floats
from ..interface.numba_flags import by_reference
from .bounds import BoundWorkspace, entry, inner, new_bound_workspace, tighten_and_bound
from .reduced_problem import ReducedScoringProblem

#: Kinds of splits, as the proof log has them.
BEGIN, SUPPORT, SIGN, HALVES = 1, 2, 3, 4
#: The kind of a node that holds a single system.
_NO_SPLIT = 0
#: `NodeStack.scalars`: nodes on the stack, nodes bounded so far, the next free number, splits and single systems stored so far.
_SCALARS = integers_and_floats("top nodes next splits systems", "")
#: Capacities: nodes of the stack, splits, and single systems.
_NODES, _SPLITS, _SYSTEMS = 4096, 1 << 14, 256


@by_reference
class NodeStack(NamedTuple):
    """The stack of open nodes, the last one on top, with the splits and candidate systems of the last call."""

    lower: Any  #: (nodes, d) lower ends of the node's box
    upper: Any  #: (nodes, d) upper ends
    forced: Any  #: (nodes, d) mask of the coefficients that are not 0
    needs_feature: Any  #: (nodes,) 1 if an undecided coefficient must not be 0
    bound: Any  #: (nodes,) lower bound in units
    number: Any  #: (nodes,) number of the node in the log
    splits: Any  #: (splits, 4) kind, number of the node, coefficient, largest value of the lower half
    candidates: Any  #: (systems, d) single systems of closed nodes, whose intercept is not chosen yet
    spread: Any  #: (d,) mean distance of the two classes along a feature
    order: Any  #: (d,) order of splits by support
    scalars: Any  #: the numbers, by name (`_SCALARS`)
    workspace: BoundWorkspace  #: of the nodes' bounds


def new_stack(reduced: ReducedScoringProblem, order: np.ndarray, spread: np.ndarray) -> NodeStack:
    """Return an empty stack with the given order of splits by support and spread of features."""
    d = reduced.Z.shape[1]
    boxes = {name: np.zeros((_NODES, d), np.int64) for name in ("lower", "upper")}
    numbers = {name: np.zeros(_NODES, np.int64) for name in ("needs_feature", "bound", "number")}
    return NodeStack(
        **boxes, **numbers, forced=np.zeros((_NODES, d), np.bool_), splits=np.zeros((_SPLITS, 4), np.int64),
        candidates=np.zeros((_SYSTEMS, d), np.int64), spread=spread, order=order, scalars=np.zeros(1, _SCALARS)[0],
        workspace=new_bound_workspace(reduced),
    )  # fmt: skip


@inner
def _push(data: Any, k: Any, slot: Any, cut: Any, flows: Any, parent: Any) -> Any:
    """Bound the child that lies at ``slot``, and number it; return whether its bound is below ``cut``.

    ``parent`` is the bound of the parent, which the child inherits.
    """
    units, needs_feature = tighten_and_bound(
        data, k.lower[slot], k.upper[slot], k.forced[slot], k.needs_feature[slot], cut, flows, k.workspace
    )
    k.needs_feature[slot], k.bound[slot], k.number[slot] = needs_feature, max(units, parent), k.scalars.next
    k.scalars.next += 1
    k.scalars.nodes += 1
    return k.bound[slot] < cut


@inner
def _copy(k: Any, source: Any, slot: Any) -> Any:
    for j in range(k.spread.size):
        k.lower[slot, j], k.upper[slot, j], k.forced[slot, j] = k.lower[source, j], k.upper[source, j], k.forced[source, j]
    k.needs_feature[slot] = k.needs_feature[source]


@inner
def _undecided(k: Any, slot: Any, j: Any) -> Any:
    return k.lower[slot, j] <= 0 <= k.upper[slot, j] and k.lower[slot, j] < k.upper[slot, j] and not k.forced[slot, j]


@inner
def _choose(k: Any, slot: Any, by_support: Any) -> Any:
    """Return the split of a node, (kind, coefficient); the kind is `_NO_SPLIT` if the node is a single system."""
    d = k.spread.size
    if by_support:
        for t in range(d):
            if _undecided(k, slot, k.order[t]):
                return (SUPPORT if k.needs_feature[slot] else BEGIN), k.order[t]
    best, chosen, kind = -1.0, -1, _NO_SPLIT
    for j in range(d):
        l, u = k.lower[slot, j], k.upper[slot, j]
        if l == u:
            continue
        inside = l <= 0 <= u
        value = (u - l) * k.spread[j] * (1.5 if inside else 1.0)
        if value > best:
            best, chosen, kind = value, j, SIGN if inside else HALVES
    return kind, chosen


@inner
def _child(k: Any, slot: Any, kind: Any, j: Any, half: Any, c: Any) -> Any:
    """Make the copy at ``slot`` child c of its parent."""
    d = k.spread.size
    if kind == BEGIN:
        if c == 0:
            for t in range(d):
                if _undecided(k, slot, t):
                    k.lower[slot, t] = k.upper[slot, t] = 0
        else:
            k.needs_feature[slot] = 1
    elif kind == SUPPORT:
        if c < 2:
            k.forced[slot, j] = True
        else:
            k.lower[slot, j] = k.upper[slot, j] = 0
        if c == 0:
            k.needs_feature[slot] = 0
            for t in range(d):
                if _undecided(k, slot, t):
                    k.lower[slot, t] = k.upper[slot, t] = 0
    elif kind == SIGN:
        if c == 0:
            k.lower[slot, j] = k.upper[slot, j] = 0
        elif c == 1:
            k.lower[slot, j] = max(k.lower[slot, j], 1)
        else:
            k.upper[slot, j] = min(k.upper[slot, j], -1)
    elif c == 0:
        k.upper[slot, j] = half
    else:
        k.lower[slot, j] = half + 1


@inner
def _worst_first(k: Any, base: Any, count: Any) -> Any:
    """Sort the new nodes so that the one of the least bound is on top."""
    for a in range(base, base + count - 1):
        worst = a
        for b in range(a + 1, base + count):
            if k.bound[b] > k.bound[worst]:
                worst = b
        if worst != a:
            free_slot = k.bound.size - 1
            _copy(k, a, free_slot)
            units, number = k.bound[a], k.number[a]
            _copy(k, worst, a)
            k.bound[a], k.number[a] = k.bound[worst], k.number[worst]
            _copy(k, free_slot, worst)
            k.bound[worst], k.number[worst] = units, number


@inner
def _split(data: Any, k: Any, kind: Any, j: Any, half: Any, cut: Any, flows: Any) -> Any:
    """Replace the node just above the top of the stack by its children that are below the cut."""
    node, number, parent = k.scalars.top, k.number[k.scalars.top], k.bound[k.scalars.top]
    place = k.scalars.splits
    k.splits[place, 0], k.splits[place, 1], k.splits[place, 2], k.splits[place, 3] = kind, number, j, half
    k.scalars.splits += 1
    children = 3 if kind in (SUPPORT, SIGN) else 2
    origin = k.bound.size - 2
    _copy(k, node, origin)
    pushed = 0
    for c in range(children):
        slot = node + pushed
        _copy(k, origin, slot)
        _child(k, slot, kind, j, half, c)
        pushed += _push(data, k, slot, cut, flows, parent)
    _worst_first(k, node, pushed)
    k.scalars.top += pushed


@entry
def split_node(data: Any, k: Any, kind: Any, j: Any, half: Any, cut: Any) -> Any:
    """Replace the only node, at the bottom of the stack, by its children with bounds below ``cut``.

    Children are bounded by prices and errors of equal rows. ``kind`` is `SUPPORT`, `BEGIN`, `SIGN` or `HALVES`, j the
    coefficient, ``half`` its largest value in the lower half.
    """
    k.scalars.top = 0
    _split(data, k, kind, j, half, cut, False)


@entry
def search_below(data: Any, k: Any, cut: Any, node_limit: Any, by_support: Any) -> Any:
    """Search below the nodes on the stack until it is empty, about ``node_limit`` nodes were bounded, or an array is full.

    Nodes whose bound reaches ``cut`` are closed. With ``by_support`` nodes are split by support first.
    """
    end = k.scalars.nodes + node_limit
    while k.scalars.top > 0 and k.scalars.nodes < end:
        if (
            k.scalars.splits == k.splits.shape[0]
            or k.scalars.systems == k.candidates.shape[0]
            or k.scalars.top + 5 > k.bound.size
        ):
            return
        k.scalars.top -= 1
        node = k.scalars.top
        if k.bound[node] >= cut:
            continue
        kind, j = _choose(k, node, by_support)
        if kind == _NO_SPLIT:
            for t in range(k.spread.size):
                k.candidates[k.scalars.systems, t] = k.lower[node, t]
            k.scalars.systems += 1
            continue
        half = (k.lower[node, j] + k.upper[node, j]) // 2
        _split(data, k, kind, j, half, cut, True)
