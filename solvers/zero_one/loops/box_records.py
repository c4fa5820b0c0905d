"""Records that the compiled loops of the box engine work on: the problem's data, the pool of open nodes, the current node, and
the event buffer of the proof log.

The mathematics, with proofs and the same notation, is in ``docs/explanation/zero-one-bb.md``. All loops work on the *reduced*
problem of `solvers.zero_one.reduced`, min ||w||² + Σ_i λ_i 1{g_i'w < 1}. With ``free`` its last coordinate is a free
intercept, whose square is replaced by (w - lo)(w - hi) ≤ 0, the only change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...exact.loops.matching import Pairs, empty_pairs
from ...exact.loops.newton import BoxRelaxation, empty_relaxation
from ...interface.algorithm import integers_and_floats
from ...interface.numba_flags import by_reference
from . import inner

PAGE = 32
#: Capacity in dives below which the pool requests growth; the frugal mode uses this reserve.
RESERVE = 128
FREE, KEPT, VIOLATED = -1, 0, 1
#: Rounds of relaxation and bound tightening at a node.
ROUNDS = 2

# Return codes of `explore`: the reason for stopping.
BUDGET, DONE, GROW, CANDIDATE, LEAF = 0, 1, 2, 3, 4
#: Fields of `BoxPool.scalars`: open nodes on the heap, free records and pages, current node (-1: none), counts of nodes, of
#: relaxations and of Newton steps, number of the next node, frugal mode, end of the log, points of all nodes,
#: whether there is a candidate.
SCALARS = integers_and_floats(
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
    #: a box needs to be searched only where ||w||² = cut - loss for a possible loss; false unless ``step`` is positive
    scaled: bool = False


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
    scalars: Any  #: a structured scalar of type `SCALARS`
    candidate: Any  #: a candidate w, its value, and the bound of a leaf, whose points' states are in ``leaf``
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


@by_reference
class BoxWorkspace(NamedTuple):
    """The workspace of the processing of nodes."""

    node: BoxNode
    relaxation: BoxRelaxation
    pairs: Pairs
    margin: Any  #: (2n,)


def empty_workspace(n: int, p: int) -> BoxWorkspace:
    """Return the workspace for n points in p coordinates."""
    node = BoxNode(
        lo=np.empty(p), hi=np.empty(p), w=np.empty(p), idx=np.empty(n, np.int64), z=np.empty(n, np.int64), l=np.empty(n),
        G=np.empty((p, n)), norm=np.empty(n), lam=np.empty(n), alpha=np.zeros(n),
    )  # fmt: skip
    return BoxWorkspace(node, empty_relaxation(n, p), empty_pairs(n, p), np.empty(2 * n))


class Log(NamedTuple):
    """The buffer of the proof log, and the counts of the pool."""

    buffer: Any  #: `BoxPool.log`
    scalars: Any  #: `BoxPool.scalars`


@inner
def log_node(log: Log, ident: int, parent: int, side: int) -> None:
    """Write the start of a node: 0, node, parent, side."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2], buffer[start + 3] = 0.0, ident, parent, side
    log.scalars.log_at = start + 4


@inner
def log_split(log: Log, ident: int, name: float, mid: float) -> None:
    """Write the branching of a node: 2, node, coordinate or -1 - point, branching value."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2], buffer[start + 3] = 2.0, ident, name, mid
    log.scalars.log_at = start + 4


@inner
def log_multipliers(log: Log, ident: int, idx: Any, z: Any, al: Any, m: int) -> None:
    """Write the multipliers of one round of m points: 1, node, count, then (point, state, α) for every α > 0."""
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
def log_scale(log: Log, ident: int, theta: float) -> None:
    """Write the factor on the losses in the next round: 4, node, θ."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2] = 4.0, ident, theta
    log.scalars.log_at = start + 3


@inner
def log_pairs(log: Log, ident: int, idx: Any, P: Pairs, count: int) -> None:
    """Write the pairs of the next round: 3, node, count, then (point, point, price)."""
    buffer, start = log.buffer, log.scalars.log_at
    buffer[start], buffer[start + 1], buffer[start + 2] = 3.0, ident, count
    for k in range(count):
        buffer[start + 3 + 3 * k], buffer[start + 4 + 3 * k] = idx[P.points[k, 0]], idx[P.points[k, 1]]
        buffer[start + 5 + 3 * k] = P.price[k]
    log.scalars.log_at = start + 3 + 3 * count
