"""Compiled loops of `margin-bb`: envelopes, pairs and the relaxation of a node, the tree, descents.

Matchings and Newton's method are those of the 0-1 loss's boxes.
"""

from .entry_points import descend, explore, objective, tree_for
from .events import most_of_a_node
from .exploration import DONE, FULL, PAUSED, ROUNDS
from .records import LoopNode, LoopProblem, Tree
from .workspace import node_for, problem_of

__all__ = [
    "DONE",
    "FULL",
    "PAUSED",
    "ROUNDS",
    "LoopNode",
    "LoopProblem",
    "Tree",
    "descend",
    "explore",
    "most_of_a_node",
    "node_for",
    "objective",
    "problem_of",
    "tree_for",
]
