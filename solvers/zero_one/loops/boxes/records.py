"""The records of the box kernels: problem data, pool of open nodes, current node, its relaxation, its pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....exact.loops.matching import Pairs, empty_pairs
from ....exact.loops.newton import Relaxation, empty_relaxation
from ....interface.by_reference import by_reference
from ....records.named_scalars import integers_and_floats

PAGE = 32
#: Capacity in dives below which the pool requests growth; the frugal mode uses this reserve.
RESERVE = 128
FREE, KEPT, VIOLATED = -1, 0, 1
#: Rounds of relaxation and bound tightening at a node.
ROUNDS = 2

# Return codes of `explore`: the reason for stopping.
BUDGET, DONE, GROW, CANDIDATE, LEAF = 0, 1, 2, 3, 4
#: Fields of `Pool.now`: open nodes on the heap, free records and pages, current node (-1: none), counts of nodes, relaxations and
#: Newton steps, number of the next node, frugal mode, end of the log, points of all nodes, whether there is a candidate.
NOW = integers_and_floats(
    "waiting records pages current nodes relaxations newton_steps next_id frugal log_at points candidate", ""
)


@by_reference
class BoxData(NamedTuple):
    """The reduced problem as arrays for the kernels."""

    rows: Any  #: (n, p) relaxed rows g_i
    weights: Any  #: (n,) λ_i
    norms: Any  #: (n,) ||g_i||, rounded up
    positive: Any  #: (n,) a guess of the rows' sides: pairs have one point of each side
    free: bool  #: the last coordinate is a free intercept
    unit: float  #: mean weight, the scale of penalties and stopping rules
    step: float  #: every λ_i is a whole multiple of it; 0 without such a number


@by_reference
class BoxPool(NamedTuple):
    """All arrays of the search: open nodes by record and page, so that a run can stop and resume anywhere.

    A *record* is a branched node: its box, its branching, and its undecided points in linked pages of `PAGE` points. The code of
    an open node is ``2 * record + side``.
    """

    lo: Any
    hi: Any
    w: Any
    base: Any
    split: Any  #: branching coordinate, or -1 - (position of the branching point)
    mid: Any
    page: Any
    count: Any
    refs: Any
    key: Any  #: (records, 2) proved lower bounds of both children
    ident: Any  #: number of the branched node in the proof log
    free_records: Any
    heap: Any
    point: Any  #: (pages, PAGE)
    lower: Any
    state: Any
    link: Any
    free_pages: Any
    now: Any  #: a structured scalar of type `NOW`
    found: Any  #: a candidate w, its value, and the bound of a leaf, whose points' states are in ``leaf``
    leaf: Any
    log: Any  #: float64 buffer of the proof log; empty without a log


@by_reference
class BoxNode(NamedTuple):
    """The current node: its box and the points that the box leaves undecided."""

    lo: Any  #: (p,)
    hi: Any  #: (p,)
    w: Any  #: (p,) starting point of the relaxation, then its solution
    idx: Any  #: (n,) the points; m entries of each array are in use
    z: Any  #: (n,) FREE, KEPT or VIOLATED
    l: Any  #: (n,) l_i
    G: Any  #: (p, n) their rows, by column
    norm: Any  #: (n,) ||g_i||, rounded up
    lam: Any  #: (n,) λ_i
    alpha: Any  #: (n,) α_i of the last round


def empty_node(n: int, p: int) -> BoxNode:
    """Return the arrays of a node for n points in p coordinates."""
    i = np.int64
    return BoxNode(
        np.empty(p),
        np.empty(p),
        np.empty(p),
        np.empty(n, i),
        np.empty(n, i),
        np.empty(n),
        np.empty((p, n)),
        np.empty(n),
        np.empty(n),
        np.zeros(n),
    )


@by_reference
class BoxWorkspace(NamedTuple):
    """The workspace of the processing of nodes."""

    node: BoxNode
    relaxation: Relaxation
    pairs: Pairs
    margin: Any  #: (2n,)


def empty_workspace(n: int, p: int) -> BoxWorkspace:
    """Return the workspace for n points in p coordinates."""
    return BoxWorkspace(empty_node(n, p), empty_relaxation(n, p), empty_pairs(n, p), np.empty(2 * n))


class Log(NamedTuple):
    """The buffer of the proof log, and the counts of the pool."""

    buffer: Any  #: `Pool.log`
    now: Any  #: `Pool.now`
