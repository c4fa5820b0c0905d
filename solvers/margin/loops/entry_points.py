"""Python's entry points to the loops: nodes of a tree, a descent, the objective of a point."""

from __future__ import annotations

import numpy as np

from ....models.arrays import FloatArray
from .exploration import DESCEND, EVALUATE, EXPLORE, run_task
from .records import LoopNode, LoopProblem, Tree

__all__ = ["descend", "explore", "new_tree", "objective"]


def new_tree(p: int, room: int, tol: float, signed: int = 0) -> Tree:
    """Allocate a tree with the root as its only open node.

    Parameters
    ----------
    p, room : int
        Number of coefficients, and of nodes.
    tol : float
        The accepted relative gap of the objective.
    signed : int
        Number of points whose signs a node remembers.
    """
    return Tree(
        boxes=np.zeros((room, 4, p)), keys=np.full(room, -np.inf), heap=np.arange(room), count=np.array([1, 0, 0]),
        state=np.array([np.inf, tol, np.inf, 0.0]), incumbent=np.zeros(p), origin=np.zeros((room, 2), dtype=np.int64),
        signs=np.zeros((room, signed), dtype=np.int8), log=np.zeros(0),
    )  # fmt: skip


def explore(problem: LoopProblem, node: LoopNode, tree: Tree, nodes: int) -> int:
    """Explore up to ``nodes`` nodes, least bound first, in the workspace ``node``. Return DONE, FULL or PAUSED."""
    return int(run_task(problem, node, tree, EXPLORE, nodes, 0.0))


def descend(problem: LoopProblem, node: LoopNode, w: FloatArray, infeasible_value: float) -> float:
    """Run the convex-concave procedure from w within the node's box, and return the objective of its end; w in place."""
    node.best[:] = w
    value = run_task(problem, node, new_tree(w.size, 0, 0.0), DESCEND, 0, infeasible_value)
    w[:] = node.best
    return float(value)


def objective(problem: LoopProblem, node: LoopNode, w: FloatArray) -> float:
    """Return the objective of w; infinite if w is infeasible by more than rounding."""
    node.best[:] = w
    return float(run_task(problem, node, new_tree(w.size, 0, 0.0), EVALUATE, 0, 0.0))
