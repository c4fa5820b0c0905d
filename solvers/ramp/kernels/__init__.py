"""Compiled loops of `ramp-bb`: envelopes, pairs and the relaxation of a node, the tree, descents.

Matchings and Newton's method are those of the 0-1 loss's boxes.
"""

from .descent import descend
from .envelopes import loss
from .events import most_of_a_node
from .exploration import DONE, FULL, PAUSED, ROUNDS, explore
from .records import Node, Ramp, Tree, node_for, ramp_of

__all__ = [
    "DONE",
    "FULL",
    "PAUSED",
    "ROUNDS",
    "Node",
    "Ramp",
    "Tree",
    "descend",
    "explore",
    "loss",
    "most_of_a_node",
    "node_for",
    "ramp_of",
]
