"""Arrays of the compiled loops of the box engine: the problem, the pool of open nodes, the current node, and the log's events.

The mathematics, with proofs and the same notation, is in ``docs/explanation/zero-one-bb.md``. All loops work on the *reduced*
problem of `solvers.zero_one.reduced`, min ||w||² + Σ_i λ_i 1{g_i'w < 1}. With ``free`` its last coordinate b is a free
intercept, outside the norm; relaxations have (b - lo)(b - hi) ≤ 0 in place of its square, the only change. A point is *kept* if
g_i'w ≥ 1, else *violated*; l_i is a lower bound of g_i'w at the solutions in the box that violate i, α_i a dual multiplier.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...exact.loops.matching import MatchArrays, empty_match_arrays
from ...exact.loops.newton import BoxRelaxation, empty_relaxation
from ...interface.named_scalars import integers_and_floats
from ...interface.numba_flags import by_reference
from . import inner

#: Number of points in a page of the pool.
PAGE = 32
#: Number of nodes for which free space is kept: below it the pool requests growth. In the frugal mode (memory is short: nodes
#: leave from the end of the heap, nearly depth-first) this reserve is used.
RESERVE = 128
#: States of a point in a box.
FREE, KEPT, VIOLATED = -1, 0, 1
#: Rounds of relaxation and bound tightening at a node.
ROUNDS = 2

#: Return codes of `explore`: the node limit of the call is reached, the search is finished, the pool or the log buffer is full, a
#: candidate was found, a leaf without free points was reached.
BUDGET, DONE, GROW, CANDIDATE, LEAF = 0, 1, 2, 3, 4
#: Fields of `BoxPool.scalars`: open nodes on the heap, free records and pages, current node (-1: none), counts of nodes, of
#: relaxations and of Newton steps, number of the next node, frugal mode, end of the log, points of all nodes,
#: whether there is a candidate.
POOL_SCALARS = integers_and_floats(
    "waiting records pages current nodes relaxations newton_steps next_id frugal log_at points candidate", ""
)


@by_reference
class BoxData(NamedTuple):
    """The reduced problem as arrays for the compiled loops."""

    rows: Any  #: (n, p) relaxed rows g_i
    weights: Any  #: (n,) λ_i
    norms: Any  #: (n,) ||g_i||, rounded up
    positive: Any  #: (n,) side of each row (`positive_side`): a pair has one point of each side
    free: bool  #: the last coordinate is a free intercept
    unit: float  #: mean weight, the scale of penalties and stopping rules
    step: float  #: every λ_i is a whole multiple of it; 0 without such a number
    #: only w scaled to ||w||² + loss = cut (that of `explore`) are searched for: boxes without such w are dropped; needs
    #: ``step`` > 0
    scaled_to_cut: bool = False


@by_reference
class BoxPool(NamedTuple):
    """All open nodes of a box search, by record and page; it can stop and resume anywhere.

    A *record* is a branched node: its box, its branching, and its undecided points in linked pages of `PAGE` points. The code of
    an open node is ``2 * record + side``.
    """

    lo: Any  #: (records, p) lower ends of the box
    hi: Any  #: (records, p) upper ends of the box
    w: Any  #: (records, p) starting point of the children's relaxation
    base: Any  #: (records,) weight of the points that are violated throughout the box
    split: Any  #: (records,) branching coordinate, or -1 - (position of the branching point)
    mid: Any  #: (records,) branching value
    page: Any  #: (records,) first page, -1 without points
    count: Any  #: (records,) number of undecided points
    refs: Any  #: (records,) number of children that are still open
    key: Any  #: (records, 2) proved lower bounds of both children
    ident: Any  #: (records,) number of the branched node in the proof log
    free_records: Any  #: stack of unused records
    heap: Any  #: codes of the open nodes, the least bound first
    point: Any  #: (pages, PAGE) undecided points
    lower: Any  #: (pages, PAGE) lower ends l_i of their margins
    state: Any  #: (pages, PAGE) their states
    link: Any  #: (pages,) next page, -1 after the last
    free_pages: Any  #: stack of unused pages
    scalars: Any  #: a structured scalar of type `POOL_SCALARS`
    candidate: Any  #: a candidate w, its value, and the bound of a leaf, whose points' states are in ``leaf``
    leaf: Any  #: (n,) states of all points of a leaf
    log: Any  #: float64 buffer of the proof log; empty without a log


@by_reference
class BoxNode(NamedTuple):
    """The current node: its box and the points that the box leaves undecided."""

    lo: Any  #: (p,) lower ends of the box
    hi: Any  #: (p,) upper ends of the box
    w: Any  #: (p,) starting point of the relaxation, then its solution
    idx: Any  #: (n,) the points; m entries of each array are in use
    z: Any  #: (n,) FREE, KEPT or VIOLATED
    l: Any  #: (n,) l_i, lower ends of the margins
    G: Any  #: (p, n) their rows, by column
    norm: Any  #: (n,) ||g_i||, rounded up
    lam: Any  #: (n,) λ_i
    alpha: Any  #: (n,) α_i of the last round


@by_reference
class BoxWorkspace(NamedTuple):
    """The work arrays of `explore`."""

    node: BoxNode  #: the current node
    relaxation: BoxRelaxation  #: arrays of Newton's method
    pairs: MatchArrays  #: arrays of the matchings
    margin: Any  #: (2n,) margins and weights of points, at whose crossings a candidate is scaled


def empty_workspace(n: int, p: int) -> BoxWorkspace:
    """Return the workspace for n points in p coordinates."""
    node = BoxNode(
        lo=np.empty(p), hi=np.empty(p), w=np.empty(p), idx=np.empty(n, np.int64), z=np.empty(n, np.int64), l=np.empty(n),
        G=np.empty((p, n)), norm=np.empty(n), lam=np.empty(n), alpha=np.zeros(n),
    )  # fmt: skip
    return BoxWorkspace(node, empty_relaxation(n, p), empty_match_arrays(n, p), np.empty(2 * n))


class EventBuffer(NamedTuple):
    """The event buffer of the proof log, with the pool's counters. `solvers.zero_one.box_log` reads the events."""

    buffer: Any  #: `BoxPool.log`
    scalars: Any  #: `BoxPool.scalars`


@inner
def log_node(log: EventBuffer, ident: int, parent: int, side: int) -> None:
    """Append the event that a node begins: 0, node, parent, side."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2], buffer[start + 3] = 0.0, ident, parent, side
    log.scalars.log_at = start + 4


@inner
def log_split(log: EventBuffer, ident: int, split: float, mid: float) -> None:
    """Append the branching of a node: 2, node, coordinate or -1 - point, branching value."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2], buffer[start + 3] = 2.0, ident, split, mid
    log.scalars.log_at = start + 4


@inner
def log_multipliers(log: EventBuffer, ident: int, idx: Any, z: Any, al: Any, m: int) -> None:
    """Append the multipliers of a round of m points: 1, node, count, then (point, state, α) for every α > 0."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1] = 1.0, ident
    k = start + 3
    for i in range(m):
        if al[i] > 0.0:
            buffer[k], buffer[k + 1], buffer[k + 2] = idx[i], z[i], al[i]
            k += 3
    buffer[start + 2] = (k - start - 3) // 3
    log.scalars.log_at = k


@inner
def log_loss_factor(log: EventBuffer, ident: int, theta: float) -> None:
    """Append the factor on the losses in the next round: 4, node, θ."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2] = 4.0, ident, theta
    log.scalars.log_at = start + 3


@inner
def log_pairs(log: EventBuffer, ident: int, idx: Any, P: MatchArrays, count: int) -> None:
    """Append the pairs of the next round: 3, node, count, then (point, point, price)."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2] = 3.0, ident, count
    for k in range(count):
        buffer[start + 3 + 3 * k], buffer[start + 4 + 3 * k] = idx[P.points[k, 0]], idx[P.points[k, 1]]
        buffer[start + 5 + 3 * k] = P.price[k]
    log.scalars.log_at = start + 3 + 3 * count
