"""The arrays that the compiled loops of `margin-bb` share: the problem, the search tree, the current node, and the log of events.

The loops, compiled by `entry` and `inner`, call the `LoopProblem` r, the `LoopNode` k and the `SearchTree` ``tree``.

The events of the search, from which `solvers.margin.proof` writes the proof log, are numbers in the array `SearchTree.log`.
Without a proof log the array is empty.

0, number, parent, side                              the current node
1, pairs, hinges, relaxed, priced, (level, i, j)..., a round; hinges that have multipliers, as `relaxation` numbers them;
(hinge, α)..., spend, lo, hi, p                      whether budgets have their prices; α < 0 where the envelope of an even
                                                     loss rises; p is the point of the polar
2, coordinate, at                                    the node's split
3, cut                                               the round found a better point, which is the new cutoff
4, coordinate                                        the node is split by whether this coefficient is 0
5, point                                             the node is split by the sign of this point's margin
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...exact.loops import loops_of
from ...interface.numba_flags import by_reference

_loops = loops_of(Path(__file__).parent)
entry, inner = _loops.entry, _loops.inner


@by_reference
class LoopProblem(NamedTuple):
    """The problem: min Σ d_j w_j² + max{p'w : |x_j'p| ≤ 1} + Σ π_j 1{w_j ≠ 0} + Σ_i c_i ρ_i(a_i'w), with restrictions of w.

    Terms 0..n-1 are the points, then one for each point of each budget: the same row, a price θ_b, and the loss 1{m < 1}.
    """

    rows: Any  #: (p, N) a_i of the terms, by column
    row_errors: Any  #: (N,) error bound of a_i'w, in rotated coordinates
    costs: Any  #: (N,) c_i; θ_b of a budget's terms
    point: Any  #: (N,) the point of a term
    kind: Any  #: (N,) the number of its loss; budgets' terms have the last one
    corners: Any  #: (L, K) of each loss: corners, from the left; values from below and at the corner
    below: Any
    at: Any
    sizes: Any  #: (L,) number of corners
    height: Any  #: (L,) least upper bound of a loss without its tail
    tail: Any  #: (L,) slope of the tail, and its beginning
    rise_start: Any
    symmetric: Any  #: (L,) whether a loss is one of |m|
    chords: Any  #: (L,) whether no corner of a loss is below a chord of its bounded part
    jumps: Any  #: (L,) whether a loss jumps, and its greatest slope elsewhere
    steep: Any
    pair_distance: Any  #: (levels, L, L) distance of two margins below the last corners from which a pair pays a level's share
    full_pair_distance: Any  #: (L, L) and the whole height
    curvature: Any  #: (p,) d_j
    atoms: Any  #: (p, k) x_j, by column; empty without a norm
    atom_errors: Any  #: (k,) error bound of |x_j'p|/||p||_1
    norm_coordinates: Any  #: coordinates in the norm; then atoms with signs, a basis of them, at a vertex of the polar
    basis: Any
    signs: Any
    sides: Any  #: (q, p) d_t with x_t'd_u = [t = u]: the polar is {Σ c_t d_t: |c_t| ≤ 1}; empty if there are more atoms
    positive: Any  #: (N,) an estimate of which rows point opposite ways: pairs are searched across it
    integer: Any  #: (p,) coefficients that are integers
    price: Any  #: (p,) π_j
    counted: Any  #: (p,) coefficients of which at most ``max_nonzeros`` are not 0
    limits: Any  #: (m, p) rows, limits w ≥ row_lower
    row_lower: Any  #: (m,)
    kept_points: Any  #: (n,) points with a_i'w ≥ 1
    begins: Any  #: (budgets + 1,) the first term of each budget
    allowed: Any  #: (budgets,) errors that it allows
    rate_groups: Any  #: (rates, n) the group of each point in each restriction of equal rates
    labels: Any  #: (n,) y_i: the score of a point is y_i a_i'w
    rate_sizes: Any  #: (rates, G) number of points of each group, 0 beyond the last
    epsilon: Any  #: (rates,) largest difference of two shares of positive scores
    points: int  #: n
    max_nonzeros: int
    sparse: bool  #: whether it matters which coefficients are 0
    restricted: bool  #: whether any restriction tightens boxes or makes points infeasible


@by_reference
class SearchTree(NamedTuple):
    """The search tree: open nodes, incumbent, and events for the proof log."""

    boxes: Any  #: (capacity, 4, p): ends, a point of the polar, and marks of coefficients that are not 0
    keys: Any  #: (capacity/2, 2) bounds of the nodes' parents: that of node k is keys[k >> 1, k & 1]
    heap: Any  #: (capacity,) open nodes, the least bound first, followed by the free places
    count: Any  #: (4,) open nodes; nodes so far; numbers in the log; 1 where memory is short and nodes are taken depth-first
    state: Any  #: (4,) the objective to beat, the accepted relative gap, the least bound of leaves, 1 if a point is known
    incumbent: Any  #: (p,) the incumbent
    origin: Any  #: (capacity, 2) the number of a node's parent, and the side
    signs: Any  #: (capacity, n) signs that margins must have; (capacity, 0) without equal rates
    log: Any  #: events, as above; empty without a log


@by_reference
class LoopNode(NamedTuple):
    """The current node: its box, the data of the points on it, and workspace for its relaxation and pairs."""

    lo: Any  #: (p,) ends of the box
    hi: Any
    marks: Any  #: (p,) 1 if a coefficient is not 0 by a split
    mid: Any  #: (p,) a point of the box, and the distance from it to the ends
    half: Any
    scale: Any  #: (p,) coordinates of the relaxation are scale_j (w_j - mid_j)/half_j, from -scale_j to scale_j
    bottom: Any
    w: Any  #: (p,) start of the relaxation, and its solution
    best: Any  #: (p,) start and end of a descent
    #: (p,) a point p of the polar {p : |x_j'p| ≤ 1}, moved by each relaxation; the latest maximiser of p'w
    polar: Any
    steep: Any
    moves: Any  #: (q, p) moves of ``polar`` that do not leave the polar
    low: Any  #: (N,) least and greatest margin, and the one at ``mid``
    high: Any
    at: Any
    turn: Any  #: (N,) -1 where the envelope of an even loss rises: it is one of -m, which falls; else 1
    demanded: Any  #: (n,) demanded points here
    wanted_signs: Any  #: (n,) 1 where equal rates demand a margin ≥ 0 here, -1 where they demand one ≤ 0, else 0
    certain: Any  #: (G,) of each group, points whose scores are certainly positive, and the undecided ones
    undecided_scores: Any
    min_positive: Any  #: (G,) least and greatest number of positive scores of a group
    max_positive: Any
    undetermined: Any  #: (n,) 1 where the box does not decide the sign of the score
    undecided: Any  #: (N,) the bounded part of its loss is not constant on the box
    costs: Any  #: (N,) of this round
    left: Any  #: (N,) remaining costs after the pairs
    base: Any  #: (N,) the envelope: a constant, then slopes, begins and number of its hinges
    slopes: Any  #: (K + 1, N)
    begins: Any  #: (K + 1, N)
    pieces: Any  #: (N,)
    first: Any  #: (N,) the slope at the left end
    corner: Any  #: (K + 2,) workspace for the vertices of an envelope
    value: Any
    sides: Any  #: (2, N) the candidate terms for pairs
    pair_slack: Any  #: (side, side) distance of the sum of two margins below the last corners, single precision
    masks: Any  #: (L, words) bits of the columns of each loss
    paired: Any  #: (3, pairs) level, term and term of each pair that pays
    hinges: Any  #: (rows,) source of a row, as `relaxation` numbers them
    spread: Any  #: (rows,) range of its argument
    counts: Any  #: (2,) number of pairs that pay, and of hinges
    basis: Any  #: (q,) atoms x_b'p = ±1 at the vertex that was steepest last, and their signs
    signs: Any
    inverse: Any  #: (q, q) inverse of the basis's atoms; workspace
    factors: Any
    pivots: Any  #: (q,)
    edge: Any  #: (p,) a direction, and (k,) its products and the vertex's with the atoms
    along: Any
    products: Any
    relaxation: Any  #: workspace of `solvers.exact.loops.newton`
    pairs: Any  #: workspace of `solvers.exact.loops.matching`


def max_numbers_of_node(pairs: int, hinges: int, coordinates: int, rounds: int) -> int:
    """Return the largest number of entries that one node's events take, for these largest numbers of pairs, hinges and rounds."""
    return 9 + rounds * (8 + 3 * pairs + 2 * hinges + 3 * coordinates)


@inner
def _put(tree: SearchTree, number: Any) -> None:
    tree.log[tree.count[2]] = number
    tree.count[2] += 1


@inner
def log_node(tree: SearchTree, node: int, number: int) -> None:
    """Append the event of a new node to the log."""
    if tree.log.size:
        for value in (0, number, tree.origin[node, 0], tree.origin[node, 1]):
            _put(tree, value)


@inner
def log_cutoff(tree: SearchTree, cut: float) -> None:
    """Append the event of a new cutoff, that of a better point."""
    if tree.log.size:
        _put(tree, 3)
        _put(tree, cut)


@inner
def log_split(tree: SearchTree, j: int, value: float) -> None:
    """Append the event of a split at a value of a coefficient."""
    if tree.log.size:
        _put(tree, 2)
        _put(tree, j)
        _put(tree, value)


@inner
def log_sign_split(tree: SearchTree, i: int) -> None:
    """Append the event of a split by the sign of a margin."""
    if tree.log.size:
        _put(tree, 5)
        _put(tree, i)


@inner
def log_support_split(tree: SearchTree, j: int) -> None:
    """Append the event of a split by whether a coefficient is 0."""
    if tree.log.size:
        _put(tree, 4)
        _put(tree, j)


@inner
def log_round(k: LoopNode, tree: SearchTree, perturbation: float, relaxed: bool, priced: bool) -> None:
    """Append the event of a round: its pairs, and the multipliers of its relaxation if that was solved (``relaxed``)."""
    if not tree.log.size:
        return
    R, rows = k.relaxation, 0
    hinges = k.counts[1] if relaxed else 0
    for t in range(hinges):
        rows += R.alpha[t] > 0.0
    _put(tree, 1)
    _put(tree, k.counts[0])
    _put(tree, rows)
    _put(tree, relaxed)
    _put(tree, priced)
    for t in range(k.counts[0]):
        for part in range(3):
            _put(tree, k.paired[part, t])
    for t in range(hinges):
        if R.alpha[t] > 0.0:
            _put(tree, k.hinges[t])
            _put(tree, R.alpha[t] * (k.turn[k.hinges[t]] if k.hinges[t] < k.turn.size else 1.0))
    _put(tree, perturbation)
    for j in range(k.lo.size):
        _put(tree, k.lo[j])
    for j in range(k.hi.size):
        _put(tree, k.hi[j])
    for j in range(k.polar.size):
        _put(tree, k.polar[j])
