"""The records of the box kernels: problem data, pool of open nodes, current node, its relaxation, its pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....interface.algorithm import integers_and_floats
from ....interface.by_reference import by_reference

PAGE = 32
#: Capacity in dives below which the pool requests growth; the frugal mode uses this reserve.
RESERVE = 128
FREE, KEPT, VIOLATED = -1, 0, 1
#: Largest number of points of one side that are considered for pairs.
WIDEST = 2048
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


@by_reference
class Relaxation(NamedTuple):
    """The relaxation min over the box of ||w||² + q'w + const + Σ_i φ_i(b_i - g_i'w), φ_i' = clip(h_i t, 0, cap_i)."""

    rows: Any  #: (p, n) by column; rows of violated points with opposite sign
    b: Any  #: (n,)
    cap: Any  #: (n,)
    h: Any  #: (n,)
    q: Any  #: (p,)
    alpha: Any  #: (n,)
    u: Any  #: (n,) margins at w
    curved: Any  #: (n,) h_i where φ_i is curved, else 0
    s: Any  #: (p,) Σ α_i g_i - q
    c: Any  #: (p,) clip(s/2, lo, hi)
    ds: Any  #: (p,) bound on the rounding error of s
    left: Any  #: (n,) ρ_i, the residual weight of λ_i after the pairs, by position in the node
    position: Any  #: (n,) position of each row in the node
    g: Any  #: (p,) Newton's method: gradient, step, trial point, free coordinates
    d: Any
    trial: Any
    on: Any
    H: Any  #: (p, p) Newton matrix and its Cholesky factor
    L: Any
    mid: Any  #: (p,) centre of the box, half-widths, and their error bounds
    half: Any
    wide: Any
    saved: Any  #: (4, p) w, c, s and ds during the pruning test of `levels`
    most: Any  #: (n,) largest margin at the centre less 1; hinge loss as a share of the weight; rounding error
    env: Any
    err: Any


def empty_relaxation(n: int, p: int) -> Relaxation:
    """Return the arrays of a relaxation for n points in p coordinates."""
    by_point, by_coordinate = [np.empty(n) for _ in range(9)], [np.empty(p) for _ in range(10)]
    b, cap, h, alpha, u, curved, left, most, env = by_point
    q, s, c, ds, g, d, trial, mid, half, wide = by_coordinate
    return Relaxation(
        rows=np.empty((p, n)), b=b, cap=cap, h=h, q=q, alpha=alpha, u=u, curved=curved, s=s, c=c, ds=ds, left=left,
        position=np.empty(n, np.int64), g=g, d=d, trial=trial, on=np.empty(p, np.bool_), H=np.empty((p, p)), L=np.empty((p, p)),
        mid=mid, half=half, wide=wide, most=most, env=env, err=np.empty(n),
        saved=np.empty((4, p)),
    )  # fmt: skip


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
class Pairs(NamedTuple):
    """The arrays of the pairing of a node's points."""

    side: Any  #: (2, n) the two sides by decreasing margin
    adjacent: Any  #: (n, words) adjacency bits
    free: Any  #: (words,) bit sets of columns: unmatched, without an augmenting path, visited
    dead: Any
    seen: Any
    column_of: Any  #: (n,) matched column of a row, or -1
    row_of: Any  #: (n,) matched row of a column
    parent: Any  #: (n,) row from which a column was visited
    queue: Any  #: (n,)
    code: Any  #: (n,) sixteen-bit sorting keys, and the counts of a radix pass
    bins: Any  #: (257,)
    scaled: Any  #: (p, 64 words) columns times the half-widths of the box, float32
    sums: Any  #: (64 words,) float32: values by column, and of the current row
    envs: Any
    acc: Any
    points: Any  #: (n, 2) the pairs
    price: Any  #: (n,) price of each pair


def empty_pairs(n: int, p: int) -> Pairs:
    """Return the arrays of a pairing for n points in p coordinates."""
    words = (min(n, WIDEST) >> 6) + 1
    i, single = np.int64, np.float32
    free, dead, seen = (np.empty(words, np.uint64) for _ in range(3))
    sums, envs, acc = (np.empty(64 * words, single) for _ in range(3))
    return Pairs(
        side=np.empty((2, n), i), adjacent=np.empty((min(n, WIDEST), words), np.uint64), free=free, dead=dead, seen=seen,
        column_of=np.empty(n, i), row_of=np.empty(n, i), parent=np.empty(n, i), queue=np.empty(n, i),
        code=np.empty(n, i), bins=np.empty(257, i),
        scaled=np.empty((p, 64 * words), single), sums=sums, envs=envs, acc=acc, points=np.empty((n, 2), i), price=np.empty(n),
    )  # fmt: skip


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
