"""Compiled loops of `margin-bb`: envelopes, pairs and the relaxation of a node, the tree, descents.

Matchings and Newton's method are those of the 0-1 loss's boxes.
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
