"""Compiled loops of the search `margin-bb`: the tree of boxes, the relaxation of a node (envelopes of the losses, pairs of
points), and descents.

`entry_points` is their interface; matching and Newton's method come from `solvers.exact.loops`.
"""

from .entry_points import descend, explore, loop_problem, new_node, new_tree, objective
from .exploration import DONE, FULL, PAUSED, RESERVE, ROUNDS
from .records import LoopNode, LoopProblem, Tree, max_numbers_of_node

__all__ = [
    "DONE",
    "FULL",
    "PAUSED",
    "RESERVE",
    "ROUNDS",
    "LoopNode",
    "LoopProblem",
    "Tree",
    "descend",
    "explore",
    "loop_problem",
    "max_numbers_of_node",
    "new_node",
    "new_tree",
    "objective",
]
