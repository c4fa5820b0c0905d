"""Events of the search for a proof log, as numbers in one array that `solvers.margin.proof` reads; without a log the array is
empty.

0, number, parent, side                              the current node
1, pairs, hinges, relaxed, priced, (level, i, j)..., a round; hinges as `hinges` numbers them, with multipliers that are not 0;
(hinge, α)..., spend, lo, hi, p                      whether budgets have their prices; p is the point of the polar
2, coordinate, at                                    the node's split
3, cut                                               the round found a better point, which is the new cutoff
4, coordinate                                        the node is split by whether this coefficient is 0
5, point                                             the node is split by the sign of this point's margin
"""

from __future__ import annotations

from typing import Any

from .compiled import inner
from .records import LoopNode, Tree

__all__ = ["max_numbers_of_node", "note_cut", "note_node", "note_round", "note_sign", "note_split", "note_support"]


def max_numbers_of_node(pairs: int, hinges: int, coordinates: int, rounds: int) -> int:
    """Return the most numbers that a node writes."""
    return 9 + rounds * (8 + 3 * pairs + 2 * hinges + 3 * coordinates)


@inner
def _put(tree: Tree, number: Any) -> None:
    tree.log[tree.count[2]] = number
    tree.count[2] += 1


@inner
def note_node(tree: Tree, node: int, number: int) -> None:
    """Record a new node."""
    if tree.log.size:
        for value in (0, number, tree.origin[node, 0], tree.origin[node, 1]):
            _put(tree, value)


@inner
def note_cut(tree: Tree, cut: float) -> None:
    """Record a better point."""
    if tree.log.size:
        _put(tree, 3)
        _put(tree, cut)


@inner
def note_split(tree: Tree, j: int, value: float) -> None:
    """Record a split of the node."""
    if tree.log.size:
        _put(tree, 2)
        _put(tree, j)
        _put(tree, value)


@inner
def note_sign(tree: Tree, i: int) -> None:
    """Record a split by the sign of a margin."""
    if tree.log.size:
        _put(tree, 5)
        _put(tree, i)


@inner
def note_support(tree: Tree, j: int) -> None:
    """Record a split by whether a coefficient is 0."""
    if tree.log.size:
        _put(tree, 4)
        _put(tree, j)


@inner
def note_round(k: LoopNode, tree: Tree, perturbation: float, relaxed: bool, priced: bool) -> None:
    """Record the pairs of a round, and the multipliers of its relaxation if it was solved."""
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
    _put(tree, priced)
    for t in range(k.counts[0]):
        for part in range(3):
            _put(tree, k.paired[part, t])
    for t in range(hinges):
        if R.alpha[t] > 0.0:
            _put(tree, k.hinges[t])
            _put(tree, R.alpha[t])
    _put(tree, perturbation)
    for j in range(k.lo.size):
        _put(tree, k.lo[j])
    for j in range(k.hi.size):
        _put(tree, k.hi[j])
    for j in range(k.polar.size):
        _put(tree, k.polar[j])
