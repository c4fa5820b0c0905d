"""Arrays of the compiled loops of the box engine: the problem, the pool of open nodes and its growth, the current node, and the
log's events.

The mathematics, with proofs and the same notation, is in ``docs/explanation/zero-one-bb.md``. All loops work on the *reduced*
problem of `solvers.zero_one.reduced`, min ||w||² + Σ_i λ_i 1{g_i'w < 1}. With ``free`` its last coordinate b is a free
intercept, outside the norm; relaxations have (b - lo)(b - hi) ≤ 0 in place of its square, the only change. A point is *kept* if
g_i'w ≥ 1, else *violated*; l_i is a lower bound of g_i'w at the solutions in the box that violate i, α_i a dual multiplier.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ....models.arrays import BoolArray, FloatArray
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


# The pool of open nodes: made, filled with the root, and enlarged.


def allocate_pool(n: int, p: int, log: int, records: int = 0, pages: int = 0) -> BoxPool:
    """Return a new pool of arrays without open nodes.

    Parameters
    ----------
    n, p : int
        Numbers of points and coordinates.
    log : int
        Length of the log's event buffer; 0 without a log.
    records, pages : int
        Capacity beyond the default.
    """
    f, i = np.float64, np.int64
    records, pages = records + 4096, pages + 2 * RESERVE * (n // PAGE + 2) + 4096
    return BoxPool(
        lo=np.zeros((records, p), f), hi=np.zeros((records, p), f), w=np.zeros((records, p), f), base=np.zeros(records, f),
        split=np.zeros(records, np.int32), mid=np.zeros(records, f), page=np.full(records, -1, np.int32),
        count=np.zeros(records, np.int32), refs=np.zeros(records, np.int8), key=np.zeros((records, 2), f),
        ident=np.full(records, -1, i), free_records=np.zeros(records, np.int32), heap=np.zeros(2 * records, np.int32),
        point=np.zeros((pages, PAGE), np.int32), lower=np.zeros((pages, PAGE), f),
        state=np.zeros((pages, PAGE), np.int8), link=np.full(pages, -1, np.int32), free_pages=np.zeros(pages, np.int32),
        scalars=np.zeros(1, POOL_SCALARS)[0], candidate=np.zeros(p + 2, f), leaf=np.zeros(n, np.int8), log=np.zeros(log, f),
    )  # fmt: skip


def initialise_pool(pool: BoxPool, half: FloatArray | None, demanded: BoolArray | None) -> None:
    """Mark all records and pages as free. Unless ``half`` is None, the box |w| ≤ half becomes the current node.

    Points of the mask ``demanded`` are kept in that node.
    """
    scalars, n = pool.scalars, len(pool.leaf)
    pool.free_records[:] = np.arange(len(pool.base))[::-1]
    pool.free_pages[:] = np.arange(len(pool.link))[::-1]
    scalars.records, scalars.pages, scalars.current = len(pool.base), len(pool.link), -1
    if half is None or demanded is None:
        return
    scalars.records -= 1
    scalars.current = 0
    pool.lo[0], pool.hi[0], pool.count[0], pool.refs[0], pool.split[0] = -half, half, n, 1, 0
    pool.mid[0] = half[0] if half.size else 0.0
    page = -1
    for start in range(0, n, PAGE):
        scalars.pages -= 1
        new_page = pool.free_pages[scalars.pages]
        pool.link[new_page] = -1
        if page < 0:
            pool.page[0] = new_page
        else:
            pool.link[page] = new_page
        page = new_page
        indices = np.arange(start, min(start + PAGE, n))
        pool.point[page, : len(indices)] = indices
        pool.state[page, : len(indices)] = np.where(demanded[indices], KEPT, FREE)
        pool.lower[page, : len(indices)] = -np.inf


def enlarge_pool(pool: BoxPool, times: int = 2) -> BoxPool:
    """Return the pool with ``times`` as many records, or pages, if less than half of them are free.

    Arrays that need not grow are shared with the old pool, which must no longer be used.
    """
    scalars = pool.scalars
    records, pages = len(pool.base), len(pool.link)
    more_records = (times - 1) * records if scalars.records < max(2 * RESERVE, records // 2) else 0
    more_pages = (times - 1) * pages if scalars.pages < max(RESERVE * (len(pool.leaf) // PAGE + 2), pages // 2) else 0

    def extended(array: Any, extra: int) -> Any:
        if not extra:
            return array
        result = np.zeros((len(array) + extra, *array.shape[1:]), array.dtype)  # untouched pages take no memory
        result[: len(array)] = array
        return result

    by_record = ("lo", "hi", "w", "base", "split", "mid", "page", "count", "refs", "key", "ident", "free_records")
    changes = {name: extended(getattr(pool, name), more_records) for name in by_record}
    changes |= {name: extended(getattr(pool, name), more_pages) for name in ("point", "lower", "state", "link", "free_pages")}
    changes["heap"] = extended(pool.heap, 2 * more_records)
    for name, old_size, extra in (("records", records, more_records), ("pages", pages, more_pages)):
        free_count = int(scalars[name])
        changes[f"free_{name}"][free_count : free_count + extra] = np.arange(old_size, old_size + extra)[::-1]
        scalars[name] += extra
    return pool._replace(**changes)


#: Default memory limit of a pool in bytes; beyond it the search continues nearly depth-first.
DEFAULT_MEMORY = 2e9
#: Largest growth factor of a pool. Growth copies the whole pool, and untouched pages take no memory.
_LARGEST_GROWTH = 4


def enlarge_within_memory(pool: BoxPool, memory: float) -> BoxPool | None:
    """Return a larger pool of at most ``memory`` bytes, or else the same pool in the frugal mode; None if it is in that mode.

    In the frugal mode the search is nearly depth-first.
    """
    growth = int(memory / sum(array.nbytes for array in pool))
    if growth >= 2:
        return enlarge_pool(pool, min(growth, _LARGEST_GROWTH))
    if pool.scalars.frugal:
        return None
    pool.scalars.frugal = 1
    return pool


def least_bound(pool: BoxPool) -> float:
    """Return the least bound of the pool's open nodes, in reduced units; ∞ without nodes."""
    # In the frugal mode nodes leave from the end of the heap, so its first node always has the least bound.
    codes = [int(pool.heap[0])] if pool.scalars.waiting > 0 else []
    codes += [int(pool.scalars.current)] if pool.scalars.current >= 0 else []
    return min((float(pool.key[code >> 1, code & 1]) for code in codes), default=math.inf)


# The events of the proof log.


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
