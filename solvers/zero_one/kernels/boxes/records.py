"""What the kernels of the box engine hold in hand: the problem, the pool of open nodes, a node, its relaxation, its pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....interface.by_reference import by_reference
from ....records.named_scalars import integers_and_floats

PAGE = 32
#: Dives that the pool must have room for before it asks to grow: what the frugal mode then lives on.
RESERVE = 128
FREE, KEPT, VIOLATED = -1, 0, 1
#: Points of one side that are looked at for pairs.
WIDEST = 2048
#: Rounds of relaxing and tightening at a node.
ROUNDS = 2

# Why `explore` returned.
BUDGET, DONE, GROW, CANDIDATE, LEAF = 0, 1, 2, 3, 4
#: `Pool.now`: open nodes on the heap, free records and pages, the node in hand (-1: none), counts of nodes, relaxations and
#: Newton steps, the next node's number, whether memory is short, the log's end, points of all nodes, whether a candidate waits.
NOW = integers_and_floats(
    "waiting records pages current nodes relaxations newton_steps next_id frugal log_at points candidate", ""
)


@by_reference
class Data(NamedTuple):
    """The reduced problem as the kernels read it."""

    rows: Any  #: (n, p) relaxed rows g_i
    weights: Any  #: (n,) λ_i
    norms: Any  #: (n,) ||g_i||, rounded up
    positive: Any  #: (n,) a guess of which rows point opposite ways: pairs are looked for across it
    free: bool  #: the last coordinate is a free intercept
    unit: float  #: size of the objective's steps: penalties and stopping rules are relative to it
    step: float  #: every λ_i is a whole multiple of it; 0 where there is no such number


@by_reference
class Pool(NamedTuple):
    """Every array of the search: open nodes by record and page, so a run stops and resumes anywhere.

    A *record* is a branched node: its box, its branching, the points that its box leaves undecided (in linked pages of
    `PAGE`). An open node is a record and a side, ``2 * record + side``.
    """

    lo: Any
    hi: Any
    w: Any
    base: Any
    split: Any  #: coordinate, or -1 - (position of the point) when the branching is on z
    mid: Any
    page: Any
    count: Any
    refs: Any
    key: Any  #: (records, 2): proved lower bound of either side
    ident: Any  #: number of the branched node in the proof log
    free_records: Any
    heap: Any
    point: Any  #: (pages, PAGE)
    lower: Any
    state: Any
    link: Any
    free_pages: Any
    now: Any  #: a structured scalar of type `NOW`
    found: Any  #: a candidate w (and, for LEAF, the states of all points in ``leaf``)
    leaf: Any
    log: Any  #: float64 buffer of the proof log, or empty


@by_reference
class Node(NamedTuple):
    """The node in hand: its box and the points that the box leaves undecided."""

    lo: Any  #: (p,)
    hi: Any  #: (p,)
    w: Any  #: (p,) where the relaxation starts, and its solution
    idx: Any  #: (n,) the points, the first m of these arrays
    z: Any  #: (n,) FREE, KEPT or VIOLATED
    l: Any  #: (n,) l_i
    G: Any  #: (p, n) their rows, by column
    norm: Any  #: (n,) ||g_i||, rounded up
    lam: Any  #: (n,) λ_i
    alpha: Any  #: (n,) α_i of the last round


@by_reference
class Relaxation(NamedTuple):
    """min over the box of ||w||² + q'w + const + Σ_i φ_i(b_i - g_i'w), φ_i' = clip(h_i t, 0, cap_i), and its solution."""

    rows: Any  #: (p, n) by column, those of violated points with the sign turned
    b: Any  #: (n,)
    cap: Any  #: (n,)
    h: Any  #: (n,)
    q: Any  #: (p,)
    alpha: Any  #: (n,)
    u: Any  #: (n,) margins at w
    curved: Any  #: (n,) h_i where φ_i is curved
    s: Any  #: (p,) Σ α_i g_i - q
    c: Any  #: (p,) clip(s/2, lo, hi)
    ds: Any  #: (p,) bound on the rounding error of s
    left: Any  #: (n,) ρ_i, what the pairs leave of λ_i, by the node's position
    position: Any  #: (n,) the node's position of each row
    g: Any  #: (p,) gradient, step, trial point and free coordinates of Newton's method
    d: Any
    trial: Any
    on: Any
    H: Any  #: (p, p) its matrix, and the factor
    L: Any
    mid: Any  #: (p,) the box's centre, half its widths, and what these may be off by
    half: Any
    wide: Any
    saved: Any  #: (4, p) w, c, s and ds while another scale is tried
    most: Any  #: (n,) the greatest margin but for the half widths, less 1; the share of the hinge; the rounding
    env: Any
    err: Any


def empty_relaxation(n: int, p: int) -> Relaxation:
    """Room for n points in p coordinates."""
    by_point, by_coordinate = [np.empty(n) for _ in range(9)], [np.empty(p) for _ in range(10)]
    b, cap, h, alpha, u, curved, left, most, env = by_point
    q, s, c, ds, g, d, trial, mid, half, wide = by_coordinate
    return Relaxation(
        rows=np.empty((p, n)), b=b, cap=cap, h=h, q=q, alpha=alpha, u=u, curved=curved, s=s, c=c, ds=ds, left=left,
        position=np.empty(n, np.int64), g=g, d=d, trial=trial, on=np.empty(p, np.bool_), H=np.empty((p, p)), L=np.empty((p, p)),
        mid=mid, half=half, wide=wide, most=most, env=env, err=np.empty(n),
        saved=np.empty((4, p)),
    )  # fmt: skip


def empty_node(n: int, p: int) -> Node:
    """Room for n points in p coordinates."""
    i = np.int64
    return Node(
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
    """Room for the pairing of a node's points."""

    side: Any  #: (2, n) the two sides by falling margin
    adjacent: Any  #: (n, words) bits
    free: Any  #: (words,) columns: free, without a way to a free one, met
    dead: Any
    seen: Any
    column_of: Any  #: (n,) a row's column or -1
    row_of: Any  #: (n,) a column's row
    parent: Any  #: (n,) from which row a column was met
    queue: Any  #: (n,)
    code: Any  #: (n,) keys to be sorted by, in sixteen bits, and how many have which eight
    bins: Any  #: (257,)
    scaled: Any  #: (p, 64 words) columns times the box's half-widths, float32
    sums: Any  #: (64 words,) float32: by column, and of a row
    envs: Any
    acc: Any
    points: Any  #: (n, 2) the pairs found
    price: Any  #: (n,) and what each is paid


def empty_pairs(n: int, p: int) -> Pairs:
    """Room for n points in p coordinates."""
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
class Room(NamedTuple):
    """What the processing of nodes works with."""

    node: Node
    relaxation: Relaxation
    pairs: Pairs
    margin: Any  #: (2n,)


def empty_room(n: int, p: int) -> Room:
    """Room for n points in p coordinates."""
    return Room(empty_node(n, p), empty_relaxation(n, p), empty_pairs(n, p), np.empty(2 * n))


class Log(NamedTuple):
    """Where the events of the proof log go, and the counts."""

    buffer: Any  #: `Pool.log`
    now: Any  #: `Pool.now`
