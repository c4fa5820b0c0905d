"""The part of the independent checker that verifies trees of boxes: see `check` and ``docs/zero-one-bb.md``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...exact.check.arithmetic import Array, InvalidProofError
from ...exact.check.trees import VerifierPool, tree_of, verify_tree
from .box_problem import FREE, KEPT, BoxProblem, CheckedBox, Packing, levelled, reduced_problem
from .box_rules import apply_box, linear_bound, multipliers, pack, square_bound, tighten

__all__ = ["check_box_tree"]


@dataclass(frozen=True, eq=False)
class BoxRules:
    """The rules of the nodes of a tree of boxes."""

    problem: BoxProblem

    def for_records(self, records: Iterable[dict[str, Any]]) -> BoxRules:
        """Return the rules: nodes need no other data."""
        return self

    def children(self, record: dict[str, Any], node: CheckedBox) -> list[CheckedBox]:
        """Apply a node's box and rounds; return its children, none if nothing below the target remains."""
        if _settled(self.problem, node, record["rounds"]):
            return []
        if "split" not in record:
            raise InvalidProofError(
                f"node {int(record['id'])} is neither proved ({node.bound:g} < {self.problem.target:g}) nor split"
            )
        n, p = self.problem.g.shape
        return [_child(node, record["split"], side, p, n) for side in (0, 1)]


def check_box_tree(
    header: dict[str, Any],
    A: Array,
    weights: Array,
    penalised: npt.NDArray[np.bool_],
    bound: float,
    records: list[dict[str, Any]],
    crew: VerifierPool | None = None,
) -> int:
    """Verify the tree of a log of boxes, with a crew subtree by subtree; return the number of its nodes.

    Raises
    ------
    InvalidProofError
        The tree does not prove the bound.
    """
    problem = reduced_problem(header, A, weights, penalised, bound)
    if problem is None:
        return 0
    tree = tree_of(records)
    roots = [key for key in tree if key[0] == -1]
    if len(roots) != 1:
        raise InvalidProofError(f"the tree has {len(roots)} roots")
    n = problem.g.shape[0]
    root = CheckedBox(problem.lo.copy(), problem.hi.copy(), np.full(n, FREE), np.full(n, -np.inf), 0.0)
    root.state[problem.weights >= problem.target] = KEPT
    return verify_tree(BoxRules(problem), tree, (tree[roots[0]], root), crew)


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
