"""The part of the independent checker that verifies trees of boxes: see `check` and ``docs/zero-one-bb.md``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import Array, InvalidProofError
from .box_problem import FREE, KEPT, Node, Packing, Problem, reduced_problem
from .box_rules import apply_box, linear_bound, multipliers, pack, square_bound, tighten

__all__ = ["check_box_tree"]


def check_box_tree(
    header: dict[str, Any],
    A: Array,
    weights: Array,
    penalised: npt.NDArray[np.bool_],
    bound: float,
    records: list[dict[str, Any]],
) -> int:
    """Nodes of a tree of boxes that proves the bound.

    Raises
    ------
    InvalidProofError
        It does not.
    """
    problem = reduced_problem(header, A, weights, penalised, bound)
    return 0 if problem is None else _check_tree(problem, _tree(records))


def _check_tree(problem: Problem, tree: dict[tuple[int, int], dict[str, Any]]) -> int:
    """Depth-first through the tree; every node must end proved, empty, or split into two that do."""
    n, p = problem.g.shape
    root = Node(problem.lo.copy(), problem.hi.copy(), np.full(n, FREE), np.full(n, -np.inf), 0.0)
    root.state[problem.weights >= problem.target] = KEPT
    roots = [key for key in tree if key[0] == -1]
    if len(roots) != 1:
        raise InvalidProofError(f"the tree has {len(roots)} roots")
    stack = [(tree[roots[0]], root)]
    visited: set[int] = set()
    while stack:
        record, node = stack.pop()
        ident = int(record["id"])
        if ident in visited:
            raise InvalidProofError(f"node {ident} occurs twice")
        visited.add(ident)
        if _settled(problem, node, record["rounds"]):
            continue
        if "split" not in record:
            raise InvalidProofError(f"node {ident} is neither proved ({node.bound:g} < {problem.target:g}) nor split")
        for side in (0, 1):
            child = _child(node, record["split"], side, p, n)
            if (ident, side) in tree:
                stack.append((tree[(ident, side)], child))
            elif not node.bound >= problem.target:
                raise InvalidProofError(f"child {side} of node {ident} is missing")
    return len(visited)


def _child(node: Node, split: list[Any], side: int, p: int, n: int) -> Node:
    name, mid = int(split[0]), float(split[1])
    child = Node(node.lo.copy(), node.hi.copy(), node.state.copy(), node.lower.copy(), node.bound)
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


def _settled(problem: Problem, node: Node, rounds: list[Any]) -> bool:
    """Apply the box and the rounds; True where nothing below the target remains."""
    if node.bound >= problem.target or not apply_box(problem, node) or _settled_by_count(problem, node):
        return True
    for entry in rounds:
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


def _settled_by_count(problem: Problem, node: Node) -> bool:
    """The bound of no multipliers at all: violated points and the least norm in the box."""
    none: Array = np.zeros(len(problem.weights))
    nothing = Packing(problem.weights, 0.0)
    bounds = square_bound(problem, node, none, none, nothing)[0], linear_bound(problem, node, none, none, nothing)
    node.bound = max(node.bound, *bounds)
    return node.bound >= problem.target


def _tree(records: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    """Nodes by parent and side."""
    tree: dict[tuple[int, int], dict[str, Any]] = {}
    for record in records:
        if "id" not in record:
            raise InvalidProofError("a record is neither a node nor the last one")
        key = (int(record["parent"]), int(record["side"]))
        if key in tree:
            raise InvalidProofError(f"two nodes are child {key[1]} of node {key[0]}")
        tree[key] = record
    return tree
