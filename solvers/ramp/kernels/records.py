"""What the loops of `ramp-bb` hold in hand: the problem, the tree, and the node that is worked on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...interface.by_reference import by_reference

__all__ = ["Node", "Ramp", "Tree", "node_for"]


@by_reference
class Ramp(NamedTuple):
    """min Σ_penalised w_j² + Σ c_i (h/d) min{(1 - a_i'w)_+, d}."""

    A: Any  #: (n, p) rows a_i
    costs: Any  #: (n,) c_i
    penalised: Any  #: (p,)
    height: float
    width: float


@by_reference
class Tree(NamedTuple):
    """Open nodes and the incumbent."""

    boxes: Any  #: (room, 2, p)
    keys: Any  #: (room,) bounds of the nodes' parents
    heap: Any  #: (room,) open nodes, the least bound first, and behind them the free places
    count: Any  #: (2,) open nodes; nodes so far
    state: Any  #: (3,) the objective to beat, the part of it that may be left, the least bound of leaves
    found: Any  #: (p,) the incumbent


@by_reference
class Node(NamedTuple):
    """A node: its box, its hinge problem min Σ w_j² - q'w + Σ s_i (1 - a_i'w)_+ (`envelopes`), and where that stands."""

    lo: Any  #: (p,)
    hi: Any  #: (p,)
    floor: Any  #: (n,) lower bounds of the margins that the ball gives
    slopes: Any  #: (n,) s_i
    lines: Any  #: (n, 2) value at 0 and slope of the chords
    q: Any  #: (p,)
    w: Any  #: (p,) where the hinge problem starts, and its solution
    alpha: Any  #: (n,) its dual values
    best: Any  #: (p,) minimiser of the dual bound's Lagrangian
    u: Any  #: (n,) margins
    gradient: Any  #: (p,) of the smoothed problem; step, trial point, free coordinates and matrix of Newton's method
    step: Any
    trial: Any
    free: Any
    H: Any
    score: Any  #: (p,) shares of the coordinates in the gaps, and in one of them
    spread: Any


def node_for(n: int, p: int) -> Node:
    """Room for nodes of n points and p coefficients."""
    room = {name: np.zeros(n if name in ("floor", "slopes", "alpha", "u") else p) for name in Node._fields}
    return Node(**room | {"lines": np.zeros((n, 2)), "free": np.zeros(p, dtype=np.bool_), "H": np.zeros((p, p))})
