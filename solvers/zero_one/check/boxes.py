"""The part of the independent checker that verifies trees of boxes: see `check` and ``docs/zero-one-bb.md``."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .arithmetic import Array, InvalidProofError
from .box_problem import FREE, KEPT, BoxProblem, CheckedBox, Packing, levelled, reduced_problem
from .box_rules import apply_box, linear_bound, multipliers, pack, square_bound, tighten
from .trees import PARTS, Tree, VerifierPool, parted, tree_of

__all__ = ["check_box_tree"]

#: A node to verify, its box and points as its ancestors leave them.
Pending: TypeAlias = tuple[dict[str, Any], CheckedBox]


def check_box_tree(
    header: dict[str, Any],
    A: Array,
    weights: Array,
    penalised: npt.NDArray[np.bool_],
    bound: float,
    records: list[dict[str, Any]],
    crew: VerifierPool | None = None,
) -> int:
    """Nodes of a tree of boxes that proves the bound.

    With a crew the tree is verified from the root until there are several subtrees for each member, then subtree by subtree: a
    node's verdict depends on its ancestors' alone, so that one who has the state of a subtree's root can go on from there.

    Raises
    ------
    InvalidProofError
        It does not.
    """
    problem = reduced_problem(header, A, weights, penalised, bound)
    if problem is None:
        return 0
    tree = tree_of(records)
    pending = [_root(problem, tree)]
    if crew is None or crew.size < 2:
        return _check_tree(problem, tree, pending)
    parts = PARTS * crew.size
    nodes = _check_tree(problem, tree, pending, until=parts)
    return nodes + sum(crew.all(_check_part, [(problem, *part) for part in parted(tree, pending, parts)]))


def _root(problem: BoxProblem, tree: Tree) -> Pending:
    """The root's record, and its state before any multiplier."""
    n = problem.g.shape[0]
    root = CheckedBox(problem.lo.copy(), problem.hi.copy(), np.full(n, FREE), np.full(n, -np.inf), 0.0)
    root.state[problem.weights >= problem.target] = KEPT
    roots = [key for key in tree if key[0] == -1]
    if len(roots) != 1:
        raise InvalidProofError(f"the tree has {len(roots)} roots")
    return tree[roots[0]], root


def _check_tree(problem: BoxProblem, tree: Tree, pending: list[Pending], until: int | None = None) -> int:
    """Nodes below those that are pending; each must end proved, empty, or split into two that do.

    Depth-first to the end, or breadth-first ``until`` so many are pending, which are left in the list.
    """
    n, p = problem.g.shape
    visited = 0
    while pending and (until is None or len(pending) < until):
        record, node = pending.pop(-1 if until is None else 0)
        ident = int(record["id"])
        visited += 1
        if _settled(problem, node, record["rounds"]):
            continue
        if "split" not in record:
            raise InvalidProofError(f"node {ident} is neither proved ({node.bound:g} < {problem.target:g}) nor split")
        for side in (0, 1):
            child = _child(node, record["split"], side, p, n)
            if (ident, side) in tree:
                pending.append((tree[(ident, side)], child))
            elif not node.bound >= problem.target:
                raise InvalidProofError(f"child {side} of node {ident} is missing")
    return visited


def _check_part(task: tuple[BoxProblem, Tree, list[Pending]], threads: int | None) -> int:
    """Nodes of some subtrees, in any process."""
    with np.errstate(all="ignore"):
        return _check_tree(*task)


def _child(node: CheckedBox, split: list[Any], side: int, p: int, n: int) -> CheckedBox:
    name, mid = int(split[0]), float(split[1])
    child = CheckedBox(node.lo.copy(), node.hi.copy(), node.state.copy(), node.lower.copy(), node.bound)
    if name >= 0:
        if name >= p or not math.isfinite(mid):
            raise InvalidProofError("a split names no coordinate")
        if side == 0:
            child.hi[name] = min(child.hi[name], mid)
        else:
            child.lo[name] = max(child.lo[name], mid)
        return child
    point = -1 - name
    if point >= n:
        raise InvalidProofError("a split names no point")
    if child.state[point] not in (FREE, side):
        child.bound = math.inf
    child.state[point] = side
    return child


def _settled(problem: BoxProblem, node: CheckedBox, rounds: list[Any]) -> bool:
    """Apply the box and the rounds; True where nothing below the target remains."""
    if node.bound >= problem.target or not apply_box(problem, node) or _settled_by_count(problem, node):
        return True
    for entry in rounds:
        if len(entry) > 5:
            if _emptied_by_levels(problem, node, entry):
                return True
            continue
        packing = pack(problem, node, entry)
        if packing is None:
            return True
        alpha, flipped = multipliers(problem, node, entry, packing)
        bound, c, slope = square_bound(problem, node, alpha, flipped, packing)
        node.bound = max(node.bound, bound, linear_bound(problem, node, alpha, flipped, packing))
        if node.bound >= problem.target:
            return True
        if not tighten(problem, node, alpha, packing, bound, c, slope) or not apply_box(problem, node):
            return True
        if _settled_by_count(problem, node):
            return True
    return False


def _emptied_by_levels(problem: BoxProblem, node: CheckedBox, entry: list[Any]) -> bool:
    """Return whether a round that weighs losses by the entry's last number leaves nothing of interest: what it proves is no
    bound.
    """
    theta = float(entry[5])
    scaled = levelled(problem, node, theta)
    packing = pack(scaled, node, [*entry[:4], [theta * float(price) for price in entry[4]]])
    if packing is None:
        return True
    alpha, flipped = multipliers(scaled, node, entry, packing)
    bound = square_bound(scaled, node, alpha, flipped, packing)[0]
    return max(bound, linear_bound(scaled, node, alpha, flipped, packing)) >= scaled.target


def _settled_by_count(problem: BoxProblem, node: CheckedBox) -> bool:
    """The bound of no multipliers at all: violated points and the least norm in the box."""
    none: Array = np.zeros(len(problem.weights))
    nothing = Packing(problem.weights, 0.0)
    bounds = square_bound(problem, node, none, none, nothing)[0], linear_bound(problem, node, none, none, nothing)
    node.bound = max(node.bound, *bounds)
    return node.bound >= problem.target
