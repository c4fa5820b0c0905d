"""Python's entry points to the loops: nodes of a tree, a descent, the objective of a point."""

from __future__ import annotations

import numpy as np

from ....models.arrays import FloatArray
from .exploration import DESCEND, EXPLORE, JUDGE, work
from .records import LoopNode, LoopProblem, Tree

__all__ = ["descend", "explore", "objective", "tree_for"]


def tree_for(p: int, room: int, tol: float) -> Tree:
    """Allocate a tree with the root as its only open node. ``tol`` is the accepted relative gap of the objective."""
    return Tree(
        boxes=np.zeros((room, 4, p)), keys=np.full(room, -np.inf), heap=np.arange(room), count=np.array([1, 0, 0]),
        state=np.array([np.inf, tol, np.inf, 0.0]), found=np.zeros(p), origin=np.zeros((room, 2), dtype=np.int64),
        log=np.zeros(0),
    )  # fmt: skip


def explore(problem: LoopProblem, node: LoopNode, tree: Tree, nodes: int) -> int:
    """Explore up to ``nodes`` nodes, least bound first, in the workspace ``node``. Return DONE, FULL or PAUSED."""
    return int(work(problem, node, tree, EXPLORE, nodes, 0.0))


def descend(problem: LoopProblem, node: LoopNode, w: FloatArray, most: float) -> float:
    """Run the convex-concave procedure from w within the node's box, and return the objective of its end; w in place."""
    node.best[:] = w
    value = work(problem, node, tree_for(w.size, 0, 0.0), DESCEND, 0, most)
    w[:] = node.best
    return float(value)


def objective(problem: LoopProblem, node: LoopNode, w: FloatArray) -> float:
    """Return the objective of w; infinite if w is infeasible by more than rounding."""
    node.best[:] = w
    return float(work(problem, node, tree_for(w.size, 0, 0.0), JUDGE, 0, 0.0))
