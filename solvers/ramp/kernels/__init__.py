"""Compiled loops of `ramp-bb`: envelopes and bounds of a node, its hinge problem, the tree."""

from .envelopes import loss
from .exploration import DONE, FULL, PAUSED, explore
from .hinge import descend

__all__ = ["DONE", "FULL", "PAUSED", "descend", "explore", "loss"]
