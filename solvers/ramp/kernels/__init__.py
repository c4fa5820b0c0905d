"""Compiled loops of `ramp-bb`: envelopes and bounds of a node, its hinge problem, the tree."""

from .envelopes import loss
from .exploration import DONE, FULL, PAUSED, explore
from .hinge import descend
from .records import Node, Ramp, Tree, node_for

__all__ = ["DONE", "FULL", "PAUSED", "Node", "Ramp", "Tree", "descend", "explore", "loss", "node_for"]
