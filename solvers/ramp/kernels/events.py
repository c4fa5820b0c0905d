"""What a proof log needs of the search, as numbers in one array: `solvers.ramp.proof` reads it, without a log it has no room.

0, number, parent, side                              a node that is worked on
1, pairs, hinges, relaxed, (level, i, j)...,         a round; hinges of points 0..n-1, and where the cost begins again n..2n-1,
(hinge, α, cap)..., spend, lo, hi, p                 with multipliers that are not 0; p is the point of the polar
2, coordinate, at                                    the node's split
3, cut                                               the round found a better point: less is of interest from here on
"""

from __future__ import annotations

from typing import Any

from .compiled import inner
from .records import Node, Ramp, Tree

__all__ = ["most_of_a_node", "note_cut", "note_node", "note_round", "note_split"]


def most_of_a_node(points: int, coordinates: int, rounds: int) -> int:
    """Numbers that a node writes at most."""
    return 9 + rounds * (5 + 3 * 3 * (points // 2) + 3 * 2 * points + 3 * coordinates)


@inner
def _put(tree: Tree, number: Any) -> None:
    tree.log[tree.count[2]] = number
    tree.count[2] += 1


@inner
def note_node(tree: Tree, node: int, number: int) -> None:
    """A node begins."""
    if tree.log.size:
        for value in (0, number, tree.origin[node, 0], tree.origin[node, 1]):
            _put(tree, value)


@inner
def note_cut(tree: Tree, cut: float) -> None:
    """There is a better point."""
    if tree.log.size:
        _put(tree, 3)
        _put(tree, cut)


@inner
def note_split(tree: Tree, j: int, at: float) -> None:
    """It is split."""
    if tree.log.size:
        _put(tree, 2)
        _put(tree, j)
        _put(tree, at)


@inner
def note_round(r: Ramp, k: Node, tree: Tree, spend: float, relaxed: bool) -> None:
    """Pairs of a round, and the multipliers of its relaxation if that came to be solved."""
    if not tree.log.size:
        return
    R, rows = k.relaxation, 0
    hinges = k.counts[1] if relaxed else 0
    for t in range(hinges):
        rows += R.alpha[t] > 0.0
    _put(tree, 1)
    _put(tree, k.counts[0])
    _put(tree, rows)
    _put(tree, relaxed)
    for t in range(k.counts[0]):
        for part in range(3):
            _put(tree, k.paired[part, t])
    for t in range(hinges):
        if R.alpha[t] > 0.0:
            _put(tree, k.hinges[t])
            _put(tree, R.alpha[t])
            _put(tree, R.cap[t])
    _put(tree, spend)
    for j in range(k.lo.size):
        _put(tree, k.lo[j])
    for j in range(k.hi.size):
        _put(tree, k.hi[j])
    for j in range(k.polar.size):
        _put(tree, k.polar[j])
