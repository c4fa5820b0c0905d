"""The loops' entry points for Python: nodes of a tree, a descent, the objective of a point."""

from __future__ import annotations

import numpy as np

from ....models.arrays import FloatArray
from .exploration import DESCEND, EXPLORE, JUDGE, work
from .records import LoopNode, LoopProblem, Tree

__all__ = ["descend", "explore", "objective", "tree_for"]


def tree_for(p: int, room: int, tol: float) -> Tree:
    """Room for open nodes; the root is the only one. ``tol`` is the part of the objective that may be left."""
    return Tree(
        boxes=np.zeros((room, 4, p)), keys=np.full(room, -np.inf), heap=np.arange(room), count=np.array([1, 0, 0]),
        state=np.array([np.inf, tol, np.inf, 0.0]), found=np.zeros(p), origin=np.zeros((room, 2), dtype=np.int64),
        log=np.zeros(0),
    )  # fmt: skip


def explore(problem: LoopProblem, node: LoopNode, tree: Tree, nodes: int) -> int:
    """Work on up to ``nodes`` nodes, least bound first; ``node`` is room for one. Returns DONE, FULL or PAUSED."""
    return int(work(problem, node, tree, EXPLORE, nodes, 0.0))


def descend(problem: LoopProblem, node: LoopNode, w: FloatArray, most: float) -> float:
    """The convex-concave procedure from w within the node's box: the objective of where it ends; w in place."""
    node.best[:] = w
    value = work(problem, node, tree_for(w.size, 0, 0.0), DESCEND, 0, most)
    w[:] = node.best
    return float(value)


def objective(problem: LoopProblem, node: LoopNode, w: FloatArray) -> float:
    """The objective of w; infinite where it is none of the problem's, but for rounding."""
    node.best[:] = w
    return float(work(problem, node, tree_for(w.size, 0, 0.0), JUDGE, 0, 0.0))
